// Marks where one is, and listens to a few keys: `?` tells which.
"use strict";

(() => {
  const sheet = () => document.getElementById("keys");
  const links = () => [...document.querySelectorAll(".side a[data-key], .menu a[data-key]")];
  let isGoing = false;

  /** The most exact address that the page lies under. */
  function mark() {
    const here = location.pathname;
    const under = (link) => here === link.pathname || here.startsWith(`${link.pathname}/`);
    const longest = Math.max(0, ...links().filter(under).map((link) => link.pathname.length));
    links().filter((link) => under(link) && link.pathname.length === longest)
      .forEach((link) => link.setAttribute("aria-current", "page"));
  }

  const isWriting = (element) => element.closest("input, textarea, select, [contenteditable]") !== null;

  function go(key) {
    const link = links().find((one) => one.dataset.key === key);
    if (link !== undefined) location.assign(link.href);
    return link !== undefined;
  }

  function first() {
    const field = document.querySelector("main input:not([type=hidden]), main select, main textarea");
    if (field !== null) field.focus();
    return field !== null;
  }

  /** Whether the key meant something. */
  function press(key) {
    if (isGoing) {
      isGoing = false;
      return go(key);
    }
    if (key === "?") sheet().showModal();
    else if (key === "g") isGoing = true;
    else if (key === "/") return first();
    else return false;
    return true;
  }

  function start() {
    mark();
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target) || sheet().open) return;
      if (press(event.key)) event.preventDefault();
    });
    document.getElementById("keys-open").addEventListener("click", () => sheet().showModal());
    document.getElementById("keys-close").addEventListener("click", () => sheet().close());
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
