// Keeps the step dispatcher's page live: the server sends the figures when they change, and they are put in place as text. While it does
// not, they are asked for.
"use strict";

(() => {
  const EVERY_MS = 3000;
  // The charts have a point a minute, so they are read from the page itself, and seldom.
  const CHARTS_EVERY_MS = 30000;
  const byId = (id) => document.getElementById(id);
  const told = (n) => Number(n).toLocaleString("en-US");
  // An answer that was asked for before the switch was used must not put the switch back.
  let asked = 0;
  let discardUpTo = 0;
  let timer = 0;
  let chartsTimer = 0;
  let source = null;

  function make(tag, classes, ...children) {
    const element = document.createElement(tag);
    if (classes) element.className = classes;
    element.append(...children);
    return element;
  }

  const tinted = (tone, n) => `${tone} ${n === 0 ? "zero" : "some"}`.trim();
  const cell = (n, tone) => make("td", `n ${tinted(tone, n)}`, told(n));
  /** The name of a row, which leads to its steps. */
  const rowHead = (text, filter) => {
    const link = make("a", "", text);
    link.href = `/step-dispatcher/steps?${filter}=${encodeURIComponent(text)}`;
    const head = make("th", "", link);
    head.scope = "row";
    return head;
  };

  function table(columns, rows) {
    const heads = columns.map(([name, isNumber, classes]) => make("th", `${isNumber ? "n " : ""}${classes ?? ""}`.trim(), name));
    return make("table", "figures", make("thead", "", make("tr", "", ...heads)), make("tbody", "", ...rows));
  }

  function actions(rows) {
    if (rows.length === 0) return make("p", "empty", "Nothing is running.");
    const columns = [["Action", false], ["Running", true], ["Child running", true], ["Throttled", true], ["Dispatched", true, "minor"]];
    return table(columns, rows.map((row) => make("tr", "", rowHead(row.action, "action"), cell(row.running, "cyan"),
      cell(row.child_running, "purple"), cell(row.throttled, "orange"), cell(row.dispatched, "minor"))));
  }

  function host(row, isOpen) {
    const figures = [["Running", row.running, "cyan"], ["Child running", row.child_running, "purple"],
      ["Throttled", row.throttled, "orange"], ["Dispatched", row.dispatched, ""],
      ["Completed", row.completed, "green"], ["Failed", row.failed, "red"]];
    const about = row.online ? `${row.sessions} online, room for ${told(row.capacity)}` : "offline";
    const summary = make("summary", "", make("span", row.online ? "dot online" : "dot offline"),
      make("span", "who", row.hostname), make("span", "aside", about),
      make("span", `sum ${row.running === 0 ? "zero" : "some"}`, `${told(row.running)} running`));
    const strip = make("dl", "strip", ...figures.map(([name, n, tone]) =>
      make("div", "", make("dt", "", name), make("dd", tinted(tone, n), told(n)))));
    const details = make("details", "", summary, strip, actions(row.actions));
    details.dataset.host = row.hostname;
    details.open = isOpen;
    return details;
  }

  function hosts(rows) {
    if (rows.length === 0) return [make("p", "empty", "No worker has connected yet.")];
    const open = new Map();
    document.querySelectorAll("#hosts details").forEach((d) => open.set(d.dataset.host, d.open));
    const areFew = rows.length <= Number(byId("hosts").dataset.openMax);
    return rows.map((row) => host(row, open.get(row.hostname) ?? areFew));
  }

  function groups(rows) {
    const columns = [["Group", false], ["Pending", true], ["Running", true], ["Throttled", true, "minor"],
      ["Completed", true, "minor"], ["Failed", true], ["Dispatch", false, "last"]];
    const standing = (row) => (!row.owned ? "no owner" : row.can_dispatch_steps === true ? "on" : "off");
    return table(columns, rows.map((row) => make("tr", "", rowHead(row.dispatch_group, "dispatch_group"), cell(row.pending, ""),
      cell(row.running, "cyan"), cell(row.throttled, "orange minor"), cell(row.completed, "green minor"),
      cell(row.failed, "red"), make("td", "last", standing(row)))));
  }

  function showSwitch(canDispatch) {
    const isOn = canDispatch === true;
    byId("switch").setAttribute("aria-checked", String(isOn));
    byId("switch-text").textContent = isOn ? "Dispatch on" : "Dispatch off";
  }

  /** Whoever is on a link of a row, or on a host, stays there. */
  function showRows(view) {
    const held = document.activeElement;
    const [href, name] = [held?.getAttribute("href"), held?.closest("#hosts details")?.dataset.host];
    byId("actions").replaceChildren(actions(view.actions));
    byId("hosts").replaceChildren(...hosts(view.hostnames));
    byId("groups").replaceChildren(groups(view.dispatch_groups));
    if ((!href && name === undefined) || document.activeElement !== document.body) return;
    const place = document.querySelector(name === undefined ? "main" : `#hosts details[data-host="${CSS.escape(name)}"]`);
    place?.querySelector(href ? `a[href="${CSS.escape(href)}"]` : "summary")?.focus({ preventScroll: true });
  }

  function show(view) {
    document.querySelectorAll("#global [data-figure]").forEach((element) => {
      const n = view.global[element.dataset.figure];
      element.textContent = told(n);
      element.classList.toggle("zero", n === 0);
      element.classList.toggle("some", n !== 0);
    });
    showSwitch(view.can_dispatch_steps);
    const light = view.safe_to_restart === true ? "safe" : view.breaker.off === true ? "draining" : "busy";
    byId("restart").className = `light ${light}`;
    byId("restart-text").textContent = view.words.restart;
    byId("notice").textContent = view.words.breaker ?? "";
    byId("notice").hidden = view.words.breaker === null;
    byId("alerts-text").textContent = view.words.alerts ?? "";
    byId("alerts").hidden = view.words.alerts === null;
    byId("oldest").textContent = view.words.oldest ?? "nothing waits to start";
    showRows(view);
    byId("left-out").textContent = `${told(view.left_out)} more actions and hosts are not shown.`;
    byId("left-out").hidden = view.left_out === 0;
    byId("updated").textContent = `${view.now.slice(0, 19).replace("T", " ")} UTC`;
    document.documentElement.dataset.live = "yes";
  }

  function isLost(lost) {
    byId("lost").hidden = !lost;
    document.body.classList.toggle("old", lost);
  }

  async function refresh() {
    clearTimeout(timer);
    const mine = ++asked;
    try {
      const answer = await fetch("/step-dispatcher/api", { headers: { Accept: "application/json" }, cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const view = await answer.json();
      if (mine > discardUpTo) show(view);
      isLost(false);
      // A browser that was refused once does not come back by itself.
      if (source?.readyState === EventSource.CLOSED) listen();
    } catch {
      isLost(true);
    }
    if (mine === asked && !isHeard()) later();
  }

  /** Only while nobody tells and somebody looks. */
  function later() {
    clearTimeout(timer);
    if (document.hidden) return;
    timer = setTimeout(refresh, EVERY_MS);
    byId("again").hidden = false;
  }

  const isHeard = () => source !== null && source.readyState === EventSource.OPEN;

  /** Not while nobody looks: a browser has few connections to one server, and every tab would keep one. */
  function listen() {
    if (source !== null) source.close();
    source = null;
    clearTimeout(timer);
    if (document.hidden) return;
    source = new EventSource("/step-dispatcher/live");
    source.addEventListener("message", (event) => {
      clearTimeout(timer);
      byId("again").hidden = true;
      asked += 1;
      show(JSON.parse(event.data));
      isLost(false);
    });
    // It comes back by itself; if it does not, asking tells why.
    source.addEventListener("error", later);
  }

  async function redraw() {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      byId("charts").replaceChildren(...[...page.getElementById("charts").childNodes].map((node) => document.importNode(node, true)));
    } catch {
      // The figures say that the server is lost; the charts are tried again.
    }
    redrawLater();
  }

  function redrawLater() {
    clearTimeout(chartsTimer);
    if (!document.hidden) chartsTimer = setTimeout(redraw, CHARTS_EVERY_MS);
  }

  function tell(text) {
    byId("told").textContent = text;
    byId("told").hidden = text === "";
  }

  /** What was refused is told; what was not answered is lost. */
  async function send(body) {
    const answer = await fetch("/step-dispatcher/toggle", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (answer.ok) {
      discardUpTo = asked;
      showSwitch(said.can_dispatch_steps === true);
    } else {
      tell((said.faults ?? []).map(({ field, problem, fix }) => `${field}: ${problem}; ${fix}`).join(" ") || said.detail || said.title);
    }
  }

  async function toggle(body) {
    const button = byId("switch");
    button.disabled = true;
    tell("");
    try {
      await send(body);
    } catch {
      isLost(true);
    }
    button.disabled = false;
    refresh();
  }

  /** What is switched off has somebody wonder why, so it is asked for; what is switched on is back as it was. */
  function press() {
    if (byId("switch").getAttribute("aria-checked") !== "true") return toggle({ enabled: true });
    byId("off-why").value = "";
    byId("off").showModal();
    return byId("off-why").focus();
  }

  function switchOff() {
    const why = byId("off-why").value.trim();
    if (why === "") return byId("off-why").focus();
    byId("off").close();
    return toggle({ enabled: false, why });
  }

  function listenToSwitch() {
    byId("switch").addEventListener("click", press);
    byId("off-do").addEventListener("click", switchOff);
    byId("off-leave").addEventListener("click", () => byId("off").close());
  }

  function start() {
    if (byId("off") !== null) listenToSwitch();
    document.addEventListener("visibilitychange", () => {
      listen();
      clearTimeout(chartsTimer);
      if (document.hidden) return;
      refresh();
      redraw();
    });
    listen();
    if (!document.hidden) refresh();
    redrawLater();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
