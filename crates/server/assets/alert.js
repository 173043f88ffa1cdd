// Does what a button of an alert's page says, with the words beside it.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);

  /** The call of a verb, and what goes with it; what belongs to nobody is assigned to nobody. */
  function order(verb, words) {
    if (verb === "assign") return ["assign", { to: words }];
    return verb === "unassign" ? ["assign", { to: "" }] : [verb, { text: words }];
  }

  async function review(verb) {
    const [call, body] = order(verb, byId("text").value);
    const answer = await fetch(`${byId("verbs").dataset.at}/${call}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ ...body, by: "dashboard" }),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.detail ?? told.title);
    byId("text").value = "";
    await window.live.refresh();
  }

  const disable = (isDisabled) => document.querySelectorAll("#verbs button").forEach((button) => { button.disabled = isDisabled; });

  /** No second click while the first is under way. */
  async function alone(verb) {
    disable(true);
    byId("told").hidden = true;
    try {
      await review(verb);
    } catch (problem) {
      byId("told").textContent = problem.message;
      byId("told").hidden = false;
    }
    disable(false);
  }

  /** What is refused without words is not sent without them. */
  function isUnsaid(button) {
    if (!("needsWhy" in button.dataset) || byId("text").value.trim() !== "") return false;
    byId("told").textContent = button.dataset.verb === "assign" ? "Write first whose it is." : "Say it in words first; they go on record.";
    byId("told").hidden = false;
    byId("text").focus();
    return true;
  }

  function start() {
    // Buttons come and go, for others look at it too.
    byId("verbs").addEventListener("click", (event) => {
      const button = event.target.closest("[data-verb]");
      if (button !== null && !isUnsaid(button)) alone(button.dataset.verb);
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
