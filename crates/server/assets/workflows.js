// Keeps a page live: reads it again when the server says that something has changed, and from time to time, and puts in place what is new. Does what a button of the page of a
// workflow or a step says: what it would do is tried first and told, and done when told to.
"use strict";

(() => {
  const EVERY_MS = 3000;
  // However much happens, it is not read more often.
  const SOON_MS = 500;
  const byId = (id) => document.getElementById(id);
  const parts = (root) => root.querySelectorAll("[data-live]");
  // What was last received of each part; what stands on the page may have been opened or closed since.
  const seen = new Map();
  let timer = 0;
  let source = null;
  let chosen = null;

  function put(old, fresh) {
    const open = new Map();
    old.querySelectorAll("details[data-key]").forEach((details) => open.set(details.dataset.key, details.open));
    old.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
    old.querySelectorAll("details[data-key]").forEach((details) => {
      details.open = open.get(details.dataset.key) ?? details.open;
    });
  }

  function show(page) {
    parts(page).forEach((fresh) => {
      const name = fresh.dataset.live;
      const old = document.querySelector(`[data-live="${name}"]`);
      if (old === null || seen.get(name) === fresh.innerHTML) return;
      seen.set(name, fresh.innerHTML);
      put(old, fresh);
      if (name === "verbs") offer();
    });
    document.documentElement.dataset.live = "yes";
  }

  /** There may be other buttons now, or none. */
  function offer() {
    byId("sure").hidden = true;
    byId("verbs").hidden = document.querySelector("#verbs [data-verb]") === null;
  }

  const isLost = (lost) => { byId("lost").hidden = !lost; };

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
    if (isWatched()) timer = setTimeout(refresh, inMs);
    else follow();
  }

  /** The figures of everything change when anything does; a page that waits for its turn to be read need not be told again. */
  function follow() {
    if (!isWatched()) {
      if (source !== null) source.close();
      source = null;
    } else if (source === null) {
      source = new EventSource("/step-dispatcher/live");
      source.addEventListener("message", () => again(SOON_MS));
    }
  }

  const buttonOf = (verb) => document.querySelector(`#verbs [data-verb="${verb}"]`);

  /** Where a verb is sent, and with which words: a step takes the trial run in its address, a decision about a workflow has its own. */
  function order(verb, dryRun) {
    const { at, query } = byId("verbs").dataset;
    const said = { why: byId("why").value, by: "dashboard" };
    const button = buttonOf(verb);
    if (query !== undefined) return [`${at}/${verb}?dry_run=${dryRun}`, said];
    if (button !== null && "resolve" in button.dataset) {
      return [`${at}/resolve`, { ...said, decision: verb, dry_run: dryRun, step: byId("from-step").value, mode: byId("from-mode").value }];
    }
    return [`${at}/${verb}`, { ...said, dry_run: dryRun, force: button !== null && "force" in button.dataset }];
  }

  async function operate(verb, dryRun) {
    const [at, said] = order(verb, dryRun);
    const answer = await fetch(at, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(said),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.faults?.map(({ field, problem, fix }) => `${field}: ${problem}; ${fix}`).join(" ") || told.detail || told.title);
    return told;
  }

  const disable = (isDisabled) => document.querySelectorAll("#verbs button").forEach((button) => { button.disabled = isDisabled; });

  /** No second click while the first is under way. */
  async function alone(work) {
    disable(true);
    byId("told").hidden = true;
    try {
      await work();
    } catch (problem) {
      byId("sure").hidden = true;
      byId("told").textContent = problem.message;
      byId("told").hidden = false;
    }
    disable(false);
  }

  async function act(verb) {
    await operate(verb, false);
    byId("sure").hidden = true;
    byId("why").value = "";
    await refresh();
  }

  /** What would be moved beside it, in words. */
  function effects(would) {
    const others = (would.moves ?? []).filter((move) => move.step_id !== would.step_id);
    const counts = new Map();
    others.forEach((move) => counts.set(move.to, (counts.get(move.to) ?? 0) + 1));
    const moved = [...counts].map(([to, n]) => `${n === 1 ? "1 other step" : `${n} other steps`} would be ${to}`);
    return [...(would.effects ?? []), ...moved];
  }

  function sentence(would, isForGood) {
    if (would.from === would.to) return `It is ${would.from} and would stay so.`;
    return `It is ${would.from} and would be ${would.to}${isForGood ? " for good" : ""}.`;
  }

  async function ask(button) {
    chosen = button.dataset.verb;
    const would = await operate(chosen, true);
    byId("would").textContent = sentence(would, "asks" in button.dataset);
    byId("effects").replaceChildren(...effects(would).map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
    byId("do").textContent = `Yes, ${button.textContent.toLowerCase()}`;
    byId("sure").hidden = false;
    disable(false);
    byId("do").focus();
  }

  function listen() {
    byId("verbs").addEventListener("click", (event) => {
      const button = event.target.closest("[data-verb]");
      if (button === null) return;
      byId("sure").hidden = true;
      alone(() => ask(button));
    });
    byId("do").addEventListener("click", () => alone(() => act(chosen)));
    byId("leave").addEventListener("click", () => { byId("sure").hidden = true; });
  }

  function start() {
    parts(document).forEach((part) => seen.set(part.dataset.live, part.innerHTML));
    if (byId("verbs") !== null) listen();
    document.addEventListener("visibilitychange", () => {
      follow();
      if (document.hidden) clearTimeout(timer);
      else refresh();
    });
    follow();
    again();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
