// Does what a button of the page of a message group or a flow says: what it would do is tried first and told, and done when told to.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  let chosen = null;
  /** The step that was told to be the head: another may have passed over it meanwhile. */
  let head = null;

  async function operate(verb, dryRun) {
    const answer = await fetch(`${byId("verbs").dataset.at}/${verb}?dry_run=${dryRun}${head === null ? "" : `&head=${head}`}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ why: byId("why").value, by: "dashboard" }),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.faults?.map(({ field, problem, fix }) => `${field}: ${problem}; ${fix}`).join(" ") || told.detail || told.title);
    return told;
  }

  const counted = (n, what) => `${n === 1 ? "1 step" : `${n} steps`} would be ${what}`;

  /** What would be done, in a sentence. */
  function would(done, button) {
    const { would: known } = button.dataset;
    if (known !== undefined) {
      const state = done.flow?.state;
      return state === undefined ? known : `It ${state === "failed" ? "has" : "is"} ${state}. ${known}`;
    }
    const ends = new Map();
    done.moved.forEach((move) => ends.set(move.to, (ends.get(move.to) ?? 0) + 1));
    const parts = [[done.replaced.length, "made anew"], [done.forgiven.length, "forgiven"], ...[...ends].map(([to, n]) => [n, to])];
    const told = parts.filter(([n]) => n > 0).map(([n, what]) => counted(n, what)).join(", ");
    return `${told === "" ? "No step would be changed" : told}${done.more ? "; there are more, so do it again then" : ""}.`;
  }

  function refuse(problem) {
    byId("sure").hidden = true;
    byId("told").textContent = problem.message;
    byId("told").hidden = false;
  }

  const buttonOf = (verb) => document.querySelector(`#verbs [data-verb="${verb}"]`);

  /** There may be other buttons now, or none; what is about to be done stays if it still can be. */
  function offer() {
    if (buttonOf(chosen) === null) byId("sure").hidden = true;
    byId("verbs").hidden = document.querySelector("#verbs [data-verb]") === null;
  }

  /** What throws work away is refused without a reason, so it is asked for before anything is tried. */
  function isUnsaid(button) {
    if (!("needsWhy" in button.dataset) || byId("why").value.trim() !== "") return false;
    refuse(new Error("Say why first; it goes on record with what is done."));
    byId("why").focus();
    return true;
  }

  const disable = (isDisabled) => document.querySelectorAll("#verbs button").forEach((button) => { button.disabled = isDisabled; });

  /** No second click while the first is under way. */
  async function alone(work) {
    disable(true);
    byId("told").hidden = true;
    try {
      await work();
    } catch (problem) {
      refuse(problem);
    }
    disable(false);
  }

  async function act(verb) {
    await operate(verb, false);
    byId("sure").hidden = true;
    byId("why").value = "";
    await window.live.refresh();
  }

  async function ask(button) {
    chosen = button.dataset.verb;
    head = null;
    const tried = await operate(chosen, true);
    if (chosen === "skip-head") head = tried.forgiven[0] ?? tried.moved[0].step_id;
    byId("would").textContent = would(tried, button);
    byId("do").textContent = `Yes, ${button.textContent.toLowerCase()}`;
    byId("sure").hidden = false;
    disable(false);
    byId("do").focus();
  }

  function start() {
    byId("verbs").addEventListener("click", (event) => {
      const button = event.target.closest("[data-verb]");
      if (button === null || isUnsaid(button)) return;
      byId("sure").hidden = true;
      alone(() => ask(button));
    });
    document.addEventListener("put", (event) => { if (event.detail === "verbs") offer(); });
    byId("do").addEventListener("click", () => alone(() => act(chosen)));
    byId("leave").addEventListener("click", () => { byId("sure").hidden = true; });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
