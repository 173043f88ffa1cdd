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
  let source = null;

  function make(tag, classes, ...children) {
    const element = document.createElement(tag);
    if (classes) element.className = classes;
    element.append(...children);
    return element;
  }

  const tinted = (tone, n) => `${tone} ${n === 0 ? "zero" : "some"}`.trim();
  const cell = (n, tone) => make("td", `n ${tinted(tone, n)}`, told(n));
  const rowHead = (text) => {
    const head = make("th", "", text);
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
    return table(columns, rows.map((row) => make("tr", "", rowHead(row.action), cell(row.running, "cyan"),
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
    return rows.map((row) => host(row, open.get(row.hostname) ?? rows.length === 1));
  }

  function groups(rows) {
    const columns = [["Group", false], ["Pending", true], ["Running", true], ["Throttled", true, "minor"],
      ["Completed", true, "minor"], ["Failed", true], ["Dispatch", false, "last"]];
    const standing = (row) => (!row.owned ? "no owner" : row.can_dispatch_steps === true ? "on" : "off");
    return table(columns, rows.map((row) => make("tr", "", rowHead(row.dispatch_group), cell(row.pending, ""),
      cell(row.running, "cyan"), cell(row.throttled, "orange minor"), cell(row.completed, "green minor"),
      cell(row.failed, "red"), make("td", "last", standing(row)))));
  }

  function showSwitch(canDispatch) {
    const isOn = canDispatch === true;
    byId("switch").setAttribute("aria-checked", String(isOn));
    byId("switch-text").textContent = isOn ? "Dispatch on" : "Dispatch off";
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
    byId("actions").replaceChildren(actions(view.actions));
    byId("hosts").replaceChildren(...hosts(view.hostnames));
    byId("groups").replaceChildren(groups(view.dispatch_groups));
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
    } catch {
      isLost(true);
    }
    if (mine === asked && !isHeard()) timer = setTimeout(refresh, EVERY_MS);
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
      asked += 1;
      show(JSON.parse(event.data));
      isLost(false);
    });
    // It comes back by itself; if it does not, asking tells why.
    source.addEventListener("error", () => {
      clearTimeout(timer);
      timer = setTimeout(refresh, EVERY_MS);
    });
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
    setTimeout(redraw, CHARTS_EVERY_MS);
  }

  async function toggle() {
    const button = byId("switch");
    const enabled = button.getAttribute("aria-checked") !== "true";
    button.disabled = true;
    try {
      const answer = await fetch("/step-dispatcher/toggle", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ enabled }),
      });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const set = await answer.json();
      discardUpTo = asked;
      showSwitch(set.can_dispatch_steps === true);
    } catch {
      isLost(true);
    }
    button.disabled = false;
    refresh();
  }

  function start() {
    byId("switch").addEventListener("click", toggle);
    document.addEventListener("visibilitychange", listen);
    listen();
    refresh();
    setTimeout(redraw, CHARTS_EVERY_MS);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
