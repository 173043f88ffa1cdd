// Keeps the pages of workflows live: reads the page again every three seconds and puts in place what has changed. Does what a button
// of a workflow's page says; what cannot be taken back is tried first and told, and done when told to.
"use strict";

(() => {
  const EVERY_MS = 3000;
  const byId = (id) => document.getElementById(id);
  const parts = (root) => root.querySelectorAll("[data-live]");
  // What was last received of each part; what stands on the page may have been opened or closed since.
  const seen = new Map();
  let timer = 0;
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
  function again() {
    clearTimeout(timer);
    if (document.hidden || document.querySelector("[data-over]") !== null) return;
    timer = setTimeout(refresh, EVERY_MS);
  }

  const isForced = (verb) => document.querySelector(`#verbs [data-verb="${verb}"][data-force]`) !== null;

  async function operate(verb, dryRun) {
    const answer = await fetch(`${byId("verbs").dataset.at}/${verb}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ why: byId("why").value, by: "dashboard", dry_run: dryRun, force: isForced(verb) }),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.detail ?? told.title);
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

  async function ask(button) {
    chosen = button.dataset.verb;
    const would = await operate(chosen, true);
    byId("would").textContent = `It is ${would.from} and would be ${would.to} for good.`;
    byId("do").textContent = `Yes, ${button.textContent.toLowerCase()} it`;
    byId("sure").hidden = false;
    disable(false);
    byId("do").focus();
  }

  function listen() {
    byId("verbs").addEventListener("click", (event) => {
      const button = event.target.closest("[data-verb]");
      if (button === null) return;
      byId("sure").hidden = true;
      alone(() => ("asks" in button.dataset ? ask(button) : act(button.dataset.verb)));
    });
    byId("do").addEventListener("click", () => alone(() => act(chosen)));
    byId("leave").addEventListener("click", () => { byId("sure").hidden = true; });
  }

  function start() {
    parts(document).forEach((part) => seen.set(part.dataset.live, part.innerHTML));
    if (byId("verbs") !== null) listen();
    document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : refresh()));
    again();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
