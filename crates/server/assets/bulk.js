// Asks for a bulk operation: how many are meant and what would become of a few is told first, and it is run when told to.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const form = () => byId("order");
  // What was previewed is what is run.
  let previewed = null;

  /** Which are meant: what is left empty is not asked for. */
  function filter() {
    const said = {};
    form().querySelectorAll("[data-filter]").forEach((field) => {
      const text = field.value.trim();
      if (text === "") return;
      if (field.dataset.filter === "list") said[field.name] = text.split(",");
      else if (field.dataset.filter === "label") said.labels = { ...said.labels, ...label(text) };
      else said[field.name] = text;
    });
    return said;
  }

  function label(text) {
    const at = text.indexOf(":");
    if (at < 0) throw new Error(`\`${text}\` is no label; write name:value`);
    return { [text.slice(0, at)]: text.slice(at + 1) };
  }

  function order() {
    const rate = byId("per_second").value;
    return { what: form().dataset.what, filter: filter(), verb: byId("verb").value, ...(rate === "" ? {} : { per_second: Number(rate) }) };
  }

  async function send(body) {
    const answer = await fetch("/v1/bulk", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ ...body, by: "dashboard" }),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.faults?.map(({ field, problem, fix }) => `${field}: ${problem}; ${fix}`).join(" ") || told.detail || told.title);
    return told;
  }

  const disable = (isDisabled) => document.querySelectorAll("#order button, #sure button").forEach((button) => { button.disabled = isDisabled; });

  function tell(text) {
    byId("told").textContent = text;
    byId("told").hidden = text === "";
  }

  /** No second click while the first is under way, or while another page is opened. */
  async function alone(work) {
    disable(true);
    tell("");
    try {
      await work();
    } catch (problem) {
      tell(problem.message);
      disable(false);
    }
  }

  function meant({ matched, more }) {
    const what = form().dataset.what;
    const n = Number(matched).toLocaleString("en-US");
    return `${more ? "more than " : ""}${n} ${matched === 1 ? what.slice(0, -1) : what}`;
  }

  /** One of them, with the way to it and what would become of it. */
  function tried({ id, would, refused }) {
    const [item, link] = [document.createElement("li"), document.createElement("a")];
    link.href = `${form().dataset.what === "steps" ? "/step-dispatcher/steps" : "/workflows"}/${encodeURIComponent(id)}`;
    link.textContent = id;
    item.append(link, refused ? ` would be refused: ${would}` : ` ${would}`);
    return item;
  }

  function foretell(preview) {
    const isNone = preview.matched === 0;
    const rest = preview.matched > preview.sample.length ? "; these are a few of them" : "";
    byId("would").textContent = isNone ? "Nothing is like that." : `This means ${meant(preview)}${rest}:`;
    byId("sample").replaceChildren(...preview.sample.map(tried));
    byId("do").hidden = isNone;
    byId("do").textContent = `Yes, ${byId("verb").selectedOptions[0].textContent} ${meant(preview)}`;
    byId("sure").hidden = false;
    disable(false);
    byId(isNone ? "would" : "do").focus();
  }

  async function ask() {
    leave();
    const body = order();
    const preview = await send({ ...body, dry_run: true });
    previewed = { ...body, confirm: preview.matched };
    foretell(preview);
  }

  async function run() {
    const why = byId("why").value.trim();
    if (why === "") {
      byId("why").focus();
      throw new Error("Say why first; it goes on record with each.");
    }
    const { id } = await send({ ...previewed, why });
    location.assign(`/bulk/${encodeURIComponent(id)}`);
  }

  function leave() {
    byId("sure").hidden = true;
    previewed = null;
  }

  function start() {
    form().addEventListener("submit", (event) => {
      event.preventDefault();
      alone(ask);
    });
    // Something else is meant then, or something else is done.
    form().addEventListener("input", (event) => { if (event.target.id !== "why") leave(); });
    byId("do").addEventListener("click", () => alone(run));
    byId("leave").addEventListener("click", leave);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
