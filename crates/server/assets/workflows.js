// Does what a button of the page of a workflow or a step says: what it would do is tried first and told, and done when told to.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  let chosen = null;

  /** There may be other buttons now, or none; what is about to be done stays if it still can be. */
  function offer() {
    if (buttonOf(chosen) === null) byId("sure").hidden = true;
    byId("verbs").hidden = document.querySelector("#verbs [data-verb]") === null;
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
    await window.live.refresh();
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
    const is = `It ${would.from === "failed" ? "has" : "is"} ${would.from}`;
    if (would.from === would.to) return `${is} and would stay so.`;
    const goesOn = ["pending", "running", "paused", "compensating"].includes(would.to);
    return `${is} and would be ${would.to}${isForGood && !goesOn ? " for good" : ""}.`;
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

  /** What throws work away is refused without a reason, so it is asked for before anything is tried. */
  function isUnsaid(button) {
    const undoes = button.dataset.verb === "retry_from_step" && byId("from-mode").value === "compensate_then_retry";
    if (!(undoes || "needsWhy" in button.dataset) || byId("why").value.trim() !== "") return false;
    byId("told").textContent = "Say why first; it goes on record with what is done.";
    byId("told").hidden = false;
    byId("why").focus();
    return true;
  }

  function listen() {
    byId("verbs").addEventListener("click", (event) => {
      const button = event.target.closest("[data-verb]");
      if (button === null || isUnsaid(button)) return;
      byId("sure").hidden = true;
      alone(() => ask(button));
    });
    byId("do").addEventListener("click", () => alone(() => act(chosen)));
    byId("leave").addEventListener("click", () => { byId("sure").hidden = true; });
  }

  function start() {
    if (byId("verbs") === null) return;
    listen();
    document.addEventListener("put", (event) => { if (event.detail === "verbs") offer(); });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
