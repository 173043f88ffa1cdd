// Keeps the parts of a page that say so live: reads the page again when the server says that something has changed, and from time to time, and puts in place
// what is new. What somebody writes, opens or is about to do stands outside of such parts, and stays.
"use strict";

(() => {
  const EVERY_MS = 3000;
  // However much happens, it is not read more often.
  const SOON_MS = 500;
  const parts = (root) => root.querySelectorAll("body [data-live]");
  // What was last received of each part; what stands on the page may have been opened or closed since.
  const seen = new Map();
  let timer = 0;
  let source = null;
  let told = null;

  const marked = (name, value) => `[${name}="${CSS.escape(value)}"]`;

  /** The same thing in what comes in its place. Buttons of a list that say the same have rows of their own. */
  function twin(element, within) {
    if (element.id !== "") return within.querySelector(`#${CSS.escape(element.id)}`);
    const row = element.closest("[data-row]")?.dataset.row;
    const place = row === undefined ? within : within.querySelector(marked("data-row", row));
    if (element.tagName === "SUMMARY") return place?.querySelector(`${marked("data-key", element.parentElement.dataset.key ?? "")} > summary`);
    if (element.matches(".scroll")) return within.querySelector(`.scroll${marked("aria-label", element.ariaLabel)}`);
    const mark = ["href", "data-verb", "data-post"].find((name) => element.hasAttribute(name));
    return mark === undefined ? null : place?.querySelector(marked(mark, element.getAttribute(mark)));
  }

  /** What is wider than its place stays where it was scrolled to. */
  const scrolled = (root) => root.querySelectorAll(".scroll[aria-label]");

  /** What somebody chose stays chosen while it can be. */
  function choose(select, value) {
    if ([...select.options].some((option) => option.value === value)) select.value = value;
  }

  function put(old, fresh) {
    const [open, chosen, far] = [new Map(), new Map(), new Map()];
    const held = old.contains(document.activeElement) ? document.activeElement : null;
    old.querySelectorAll("details[data-key]").forEach((details) => open.set(details.dataset.key, details.open));
    old.querySelectorAll("select[id]").forEach((select) => chosen.set(select.id, select.value));
    scrolled(old).forEach((region) => far.set(region.ariaLabel, region.scrollLeft));
    old.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
    old.querySelectorAll("details[data-key]").forEach((details) => {
      details.open = open.get(details.dataset.key) ?? details.open;
    });
    old.querySelectorAll("select[id]").forEach((select) => choose(select, chosen.get(select.id)));
    scrolled(old).forEach((region) => { region.scrollLeft = far.get(region.ariaLabel) ?? 0; });
    if (held !== null) twin(held, old)?.focus({ preventScroll: true });
  }

  function show(page) {
    parts(page).forEach((fresh) => {
      const name = fresh.dataset.live;
      const old = document.querySelector(`body [data-live="${name}"]`);
      if (old === null || seen.get(name) === fresh.innerHTML) return;
      seen.set(name, fresh.innerHTML);
      put(old, fresh);
      document.dispatchEvent(new CustomEvent("put", { detail: name }));
    });
    document.documentElement.dataset.live = "yes";
  }

  function isLost(lost) {
    const notice = document.getElementById("lost");
    if (notice !== null) notice.hidden = !lost;
  }

  async function refresh() {
    clearTimeout(timer);
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
      isLost(false);
    } catch {
      isLost(true);
    }
    again();
  }

  /** Not for what is over, and not while nobody looks. */
  const isWatched = () => !document.hidden && document.querySelector("[data-over]") === null;

  function again(inMs = EVERY_MS) {
    clearTimeout(timer);
    follow();
    if (isWatched()) timer = setTimeout(refresh, inMs);
  }

  /** The figures without what the time alone changes. */
  function news(text) {
    const { now, words, ...figures } = JSON.parse(text) ?? {};
    return JSON.stringify(figures);
  }

  /** A browser that was refused once does not come back by itself. */
  const isUnheard = () => source === null || source.readyState === EventSource.CLOSED;

  /** The figures of everything change when anything does; a page that waits for its turn to be read need not be told again. */
  function follow() {
    if (!isWatched()) {
      if (source !== null) source.close();
      source = null;
    } else if (isUnheard() && "listens" in document.documentElement.dataset) {
      source = new EventSource("/step-dispatcher/live");
      source.addEventListener("message", (event) => {
        const figures = news(event.data);
        if (figures === told) return;
        told = figures;
        again(SOON_MS);
      });
    }
  }

  function start() {
    if (parts(document).length === 0) return;
    parts(document).forEach((part) => seen.set(part.dataset.live, part.innerHTML));
    document.addEventListener("visibilitychange", () => {
      follow();
      if (document.hidden) clearTimeout(timer);
      else refresh();
    });
    again();
  }

  // For whoever has changed something and wants to see it.
  window.live = { refresh };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
