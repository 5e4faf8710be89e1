/* The node map and its squares: one stop of the tab key, arrow keys, a job's blocks on all its nodes shown
   together, and the job under the pointer or the focus named in one line. Without this script every node and block
   is an ordinary link. */
(function () {
  "use strict";

  const doc = document;
  const STOPS = "[data-map] a";
  let place = ""; // where the focus was, so that a refreshed map keeps it

  function stops() {
    return [...doc.querySelectorAll(STOPS)];
  }

  function key(link) {
    const node = link.closest(".node"); // a square is no bar: its address says enough
    const id = node ? node.querySelector(".node-name").id : "";
    return `${id} ${link.getAttribute("href")}`;
  }

  let stop = null; // the one with the tab key

  function rove(current) {
    if (stop) stop.setAttribute("tabindex", "-1");
    stop = current;
    stop.setAttribute("tabindex", "0");
  }

  function settle(focus) {
    const all = stops();
    const kept = all.find((link) => place && key(link) === place);
    const first = kept || all[0];
    stop = null;
    if (!first) return;
    all.forEach((link) => link.setAttribute("tabindex", "-1"));
    rove(first);
    if (focus && kept) kept.focus({ preventScroll: true });
  }

  function tell(link) {
    const line = doc.querySelector(".map-told");
    if (line) line.textContent = link ? link.getAttribute("aria-label") || link.title : line.dataset.told;
    doc.querySelectorAll("[data-map] .same").forEach((other) => other.classList.remove("same"));
    if (!link || !link.closest(".cells")) return;
    const href = link.getAttribute("href");
    doc.querySelectorAll(".cells a").forEach((other) => {
      if (other.getAttribute("href") === href) other.classList.add("same");
    });
  }

  /* The nearest link in the rows above or below, by what is seen on the screen. */
  function vertical(from, down) {
    const box = from.getBoundingClientRect();
    const here = from.closest(".node");
    let best = null;
    let least = Infinity;
    stops().forEach((link) => {
      if (here && link.closest(".node") === here) return;
      const other = link.getBoundingClientRect();
      const rows = down ? other.top - box.top : box.top - other.top;
      if (rows <= 8) return;
      const far = rows * 1000 + Math.abs(other.left - box.left);
      if (far < least) { least = far; best = link; }
    });
    return best;
  }

  function next(link, pressed) {
    const all = stops();
    const at = all.indexOf(link);
    switch (pressed) {
      case "ArrowRight": return all[at + 1];
      case "ArrowLeft": return all[at - 1];
      case "ArrowDown": return vertical(link, true);
      case "ArrowUp": return vertical(link, false);
      case "Home": return all[0];
      case "End": return all[all.length - 1];
      default: return null;
    }
  }

  doc.addEventListener("keydown", (event) => {
    const link = event.target.closest ? event.target.closest(STOPS) : null;
    if (!link || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = next(link, event.key);
    if (to) { event.preventDefault(); rove(to); to.focus(); }
  });
  doc.addEventListener("focusin", (event) => {
    const link = event.target.closest ? event.target.closest(STOPS) : null;
    if (link) { place = key(link); rove(link); tell(link); }
  });
  doc.addEventListener("pointerover", (event) => {
    if (event.target.closest && event.target.closest("[data-map]")) tell(event.target.closest(STOPS));
  });

  let inMap = false;
  doc.addEventListener("htmx:beforeSwap", () => { inMap = Boolean(doc.activeElement && doc.activeElement.closest(STOPS)); });
  doc.addEventListener("htmx:afterSwap", () => { settle(inMap); if (!inMap) tell(null); });
  /* A thousand links: when the page has been drawn, or when the tab key asks for them. */
  const begin = () => { if (!stop) settle(false); };
  doc.addEventListener("keydown", begin, { capture: true, once: true });
  doc.addEventListener("DOMContentLoaded", () => {
    tell(null);
    (window.requestIdleCallback || window.setTimeout)(begin);
  });
})();
