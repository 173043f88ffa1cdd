// What is wrong with a page for somebody who cannot see it well, cannot use a mouse, or holds a phone; one line for each fault.
(() => {
  const faults = [];
  const tell = (rule, element, more) => {
    const what = element ? element.outerHTML.slice(0, 160) : "";
    faults.push(`${rule}: ${more ?? ""} ${what}`.replace(/\s+/g, " "));
  };
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const seen = (selector) => [...document.querySelectorAll(selector)].filter(isSeen);
  const textOf = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();

  /** What it is called by whoever reads it aloud. */
  function nameOf(element) {
    if (element.getAttribute("aria-labelledby")) return textOf(element.getAttribute("aria-labelledby"));
    if (element.getAttribute("aria-label")) return element.getAttribute("aria-label").trim();
    if (element.labels?.length > 0) return [...element.labels].map((label) => label.textContent).join(" ").trim();
    const images = [...element.querySelectorAll("img[alt]")].map((image) => image.alt).join(" ");
    return `${element.textContent} ${images} ${element.title ?? ""}`.trim();
  }

  if (!document.documentElement.lang) tell("the page has no language");
  if (document.title.trim() === "") tell("the page has no title");
  if (seen("h1").length !== 1) tell("one heading of the first order", null, `there are ${seen("h1").length}`);
  if (seen("main").length !== 1) tell("one main part", null, `there are ${seen("main").length}`);
  if (seen("header").length < 1) tell("a banner");
  const inMain = (element) => element.closest("main") !== null;
  let order = 0;
  seen("h1, h2, h3, h4, h5, h6").filter(inMain).forEach((heading) => {
    const level = Number(heading.tagName[1]);
    if (level > order + 1) tell("a heading passes over an order", heading);
    if (heading.textContent.trim() === "") tell("a heading says nothing", heading);
    order = level;
  });
  const landmarks = new Map();
  seen("nav, section[aria-label], section[aria-labelledby], [role=region], [role=search]").forEach((part) => {
    const name = `${part.getAttribute("role") ?? part.tagName} ${nameOf(part).slice(0, 80)}`;
    if (!part.getAttribute("aria-label") && !part.getAttribute("aria-labelledby")) tell("a part of the page has no name", part);
    if (part.tagName === "NAV" && landmarks.has(name)) tell("two parts of the page have the same name", part);
    landmarks.set(name, part);
  });

  const skip = document.querySelector("a[href='#main']");
  const isBare = document.querySelector("nav") === null;
  if (!isBare && (skip === null || document.getElementById("main") === null)) tell("no way past the bar");
  else if (!isBare && document.querySelector("a, button, input, select, textarea, summary") !== skip) tell("the way past the bar is not the first");

  seen("a[href], button, summary, [role=switch]").forEach((one) => { if (nameOf(one) === "") tell("it cannot be told what it is", one); });
  seen("input:not([type=hidden]), select, textarea, progress, meter").forEach((field) => {
    const called = field.getAttribute("aria-label") || field.getAttribute("aria-labelledby") || field.labels?.length > 0;
    if (!called || nameOf(field) === "") tell("a field has no label", field);
  });
  seen("img").forEach((image) => { if (!image.hasAttribute("alt")) tell("a picture has no words", image); });
  seen("svg").forEach((picture) => {
    if (picture.getAttribute("aria-hidden") !== "true" && !(["img", "group"].includes(picture.getAttribute("role")) && nameOf(picture) !== "")) tell("a drawing has no words", picture);
  });
  seen("svg[role=img] a").forEach((link) => tell("a link within a picture is not read aloud", link));
  seen("table").forEach((table) => { if (table.querySelector("th") === null) tell("a table has no head", table); });
  seen("th").forEach((head) => { if (head.textContent.trim() === "") tell("a column has no name", head); });
  seen("ul, ol").forEach((list) => [...list.children].forEach((child) => { if (child.tagName !== "LI") tell("a list holds what is no item", child); }));
  seen("dl").forEach((list) => [...list.children].forEach((child) => { if (!["DT", "DD", "DIV"].includes(child.tagName)) tell("a list of terms holds something else", child); }));
  seen("[tabindex]").forEach((one) => { if (one.tabIndex > 0) tell("the order of the keyboard is not that of the page", one); });
  seen("*").forEach((one) => {
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth + 1;
    if (scrolls && one.tabIndex < 0 && one.querySelector("a, button, input") === null) tell("it scrolls, and no key reaches it", one);
  });
  const ids = new Map();
  document.querySelectorAll("[id]").forEach((one) => {
    if (ids.has(one.id)) tell("two things have the same id", one);
    ids.set(one.id, one);
  });
  document.querySelectorAll("[aria-labelledby], [aria-describedby], label[for]").forEach((one) => {
    const named = one.getAttribute("aria-labelledby") ?? one.getAttribute("aria-describedby") ?? one.getAttribute("for");
    named.split(/\s+/).forEach((id) => { if (!ids.has(id)) tell("it points to what is not there", one); });
  });

  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = seen("body *").filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && one.closest(".scroll, .graph, pre") === null);
    tell("the page is wider than the screen", wide.at(-1), `${document.documentElement.scrollWidth} of ${innerWidth}`);
  }
  seen("button, a.button, a.chip, summary").forEach((one) => {
    const box = one.getBoundingClientRect();
    if (box.height < 24 || box.width < 24) tell("too small for a finger", one, `${Math.round(box.width)} x ${Math.round(box.height)}`);
  });

  const rgba = (text) => {
    const parts = (text.match(/[\d.]+/g) ?? []).map(Number);
    return [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0, parts[3] ?? 1];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  const ground = (element) => {
    if (element === null) return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, ground(element.parentElement));
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const dim = (element) => (element === null ? 1 : Number(getComputedStyle(element).opacity) * dim(element.parentElement));
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
  seen("body *").filter(hasText).filter((one) => one.closest("svg, [disabled], .unseen, option, .skip") === null).forEach((one) => {
    const style = getComputedStyle(one);
    const behind = ground(one);
    const ink = over([...rgba(style.color).slice(0, 3), rgba(style.color)[3] * dim(one)], behind);
    const [a, b] = [light(ink), light(behind)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (contrast < needed) tell("too little contrast", one, contrast.toFixed(2));
  });

  // Whatever came from outside is text.
  if (document.querySelector("[onerror], [onclick], [onload], script:not([src]), img[src='x'], [style]") !== null) {
    tell("something planted is markup", document.querySelector("[onerror], [onclick], [onload], script:not([src]), img[src='x'], [style]"));
  }
  return faults;
})()
