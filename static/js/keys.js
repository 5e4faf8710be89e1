/* Keyboard: `/` goes to the search, `g` and a letter to a page, `?` to the help. Never while somebody types. */
(function () {
  "use strict";

  const WAIT_MS = 1200;
  let leader = 0;

  function typing(target) {
    return target.closest("input, textarea, select, [contenteditable]") !== null;
  }

  function go(name) {
    const link = document.querySelector(`[data-key="${name}"]`);
    if (link) link.click();
    return Boolean(link);
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && typing(event.target)) event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const second = Date.now() - leader < WAIT_MS;
    leader = 0;
    if (second && /^[a-z]$/.test(event.key) && go(`g ${event.key}`)) {
      event.preventDefault();
    } else if (event.key === "g") {
      leader = Date.now();
    } else if (event.key === "/") {
      const box = document.querySelector("main [type=search]") || document.querySelector("[type=search]");
      if (box) { event.preventDefault(); box.focus(); box.select(); }
    } else if (event.key === "?") {
      go("?");
    }
  });
})();
