// Sends what a form or a button of a page says, as JSON. What cannot be taken back is asked about first; what came of it is shown
// where the form says so, and else by reading the page anew.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  let pending = null;

  function read(field) {
    const text = field.value.trim();
    if (text === "") return undefined;
    if (field.dataset.as === "number") return Number(text);
    if (field.dataset.as === "list") return text.split(/[\s,]+/).filter((word) => word !== "");
    return text;
  }

  function bodyOf(form) {
    const fields = [...form.elements].filter((field) => field.name !== "");
    return Object.fromEntries(fields.map((field) => [field.name, read(field)]).filter(([, value]) => value !== undefined));
  }

  async function send({ at, method, body }) {
    const answer = await fetch(at, {
      method: method ?? "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ ...body, by: "dashboard" }),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(reason(told));
    return told;
  }

  /** What was wrong, field by field where that is known. */
  function reason(problem) {
    const faults = (problem.faults ?? []).map((fault) => `${fault.field}: ${fault.problem}; ${fault.fix}`);
    return faults.length > 0 ? faults.join(" · ") : problem.detail ?? problem.title;
  }

  function tell(text) {
    byId("told").textContent = text;
    byId("told").hidden = text === "";
  }

  const disable = (isDisabled) => document.querySelectorAll("[data-post] button, button[data-post]").forEach((button) => {
    button.disabled = isDisabled;
  });

  /** What is told once stays until it is put away: it is on no page again. */
  function show(form, told) {
    byId("made-text").textContent = told[form.dataset.shows];
    byId("made").hidden = false;
    byId("made-text").focus();
    form.reset();
    window.live.refresh();
  }

  /** No second click while the first is under way, or while the page is read anew. */
  async function act(order, then) {
    tell("");
    disable(true);
    try {
      then(await send(order));
    } catch (problem) {
      tell(problem.message);
      disable(false);
    }
  }

  function submitted(event) {
    const form = event.target;
    event.preventDefault();
    const order = { at: form.dataset.post, body: bodyOf(form) };
    act(order, (told) => {
      if (form.dataset.shows === undefined) return location.reload();
      disable(false);
      return show(form, told);
    });
  }

  function pressed(button) {
    const { post, method, body, asks } = button.dataset;
    pending = { at: post, method, body: body === undefined ? {} : JSON.parse(body) };
    byId("sure-why").required = "needsWhy" in button.dataset;
    byId("sure-because").hidden = !("why" in button.dataset);
    byId("sure-why").value = "";
    byId("sure-text").textContent = asks;
    byId("sure-do").textContent = button.textContent;
    byId("sure").showModal();
  }

  function agreed() {
    const why = byId("sure-why").value.trim();
    // It would be refused.
    if (why === "" && byId("sure-why").required) return byId("sure-why").focus();
    byId("sure").close();
    return act({ ...pending, body: why === "" ? pending.body : { ...pending.body, why } }, () => location.reload());
  }

  function start() {
    document.querySelectorAll("form[data-post]").forEach((form) => form.addEventListener("submit", submitted));
    // Buttons come and go where a page is kept live.
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-post]");
      if (button !== null) pressed(button);
    });
    byId("sure-do").addEventListener("click", agreed);
    byId("sure-leave").addEventListener("click", () => byId("sure").close());
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
