/* What htmx does not do by itself: ages that count, polling that rests while nobody looks, a page that holds still
   under the pointer, and a clear word when the console or the cluster no longer answers. */
(function () {
  "use strict";

  const HOLD_MS = 4000; // a swap waits this long after the last touch of the part
  const READ_MS = 30000; // the same in a table or a map
  const IDLE_MS = 120000; // after this, only one poll in five is made
  const doc = document;
  const started = Date.now();
  const skew = serverClock() - started; // the server's clock minus ours
  let paused = false;
  let polls = 0;
  let lastActive = started;
  let lastTouch = 0;
  let lastY = 0;
  let opened = new Set();

  function serverClock() {
    const stamp = doc.documentElement.dataset.now;
    return stamp ? Date.parse(stamp) : Date.now();
  }

  // --- Ages: the same words as console/core/saying.py --------------------------------------------------------
  function duration(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    const [d, h, min, sec] = doc.documentElement.dataset.units.split(",");
    const two = (long, unit, rest, part) => (rest ? `${long} ${unit} ${rest} ${part}` : `${long} ${unit}`);
    if (s >= 86400) return two(Math.floor(s / 86400), d, Math.floor((s % 86400) / 3600), h);
    if (s >= 3600) return two(Math.floor(s / 3600), h, Math.floor((s % 3600) / 60), min);
    return s >= 60 ? `${Math.floor(s / 60)} ${min}` : `${s} ${sec}`;
  }

  function ageOf(element) {
    return (Date.now() + skew - Date.parse(element.getAttribute("datetime"))) / 1000;
  }

  function say(template, time) {
    return template.replace("{time}", time);
  }

  function tellAges() {
    const words = doc.documentElement.dataset;
    doc.querySelectorAll("time[data-age]").forEach((element) => {
      const age = ageOf(element);
      let text = duration(Math.abs(age));
      if (element.dataset.age === "ago") text = say(age <= -1 ? words.wordIn : words.wordAgo, text);
      if (element.textContent !== text) element.textContent = text;
    });
    const observed = doc.getElementById("observed-at");
    const banner = doc.getElementById("stale");
    if (observed && banner) banner.hidden = ageOf(observed) < Number(banner.dataset.after);
  }

  // --- Polling ---------------------------------------------------------------------------------------------
  /* The element that asked: some events carry the target as `elt`, the asker stands in the request's configuration. */
  function isPoll(event) {
    const asker = event.detail.requestConfig ? event.detail.requestConfig.elt : event.detail.elt;
    return Boolean(asker && asker.hasAttribute && asker.hasAttribute("data-poll"));
  }

  function resting() {
    if (paused || doc.hidden) return true;
    polls += 1;
    return Date.now() - lastActive > IDLE_MS && polls % 5 !== 0;
  }

  /* A part is held while it is touched: its rows must not move under the pointer or the focus, nor a reader's
     selection be lost. In tables and maps ([data-hold]) somebody who rests is reading; elsewhere for a moment only. */
  function held(part) {
    const selection = doc.getSelection();
    if (selection && !selection.isCollapsed && part.contains(selection.anchorNode)) return true;
    const rested = Date.now() - lastTouch;
    if (rested < HOLD_MS && (part.matches(":hover") || part.contains(doc.activeElement))) return true;
    return rested < READ_MS && doc.querySelector("[data-hold]:hover, [data-hold] :focus-visible, #hold-note:hover") !== null;
  }

  /* How far down the window somebody is busy: the note must not cover what they are about to click. */
  function attention() {
    const focused = doc.querySelector("[data-hold] :focus-visible");
    return focused ? focused.getBoundingClientRect().top : lastY;
  }

  function hold(on, changes) {
    const note = doc.getElementById("hold-note");
    if (!note) return;
    if (on && note.hidden) note.classList.toggle("above", attention() > window.innerHeight / 2);
    note.hidden = !on;
    const words = note.querySelector("[data-count]");
    if (!words) return;
    const text = changes === 1 ? words.dataset.one : words.dataset.many.replace("{n}", changes);
    words.textContent = on && changes ? text : "";
  }

  /* A job's row in words, without what changes by itself. */
  function rows(root) {
    const found = new Map();
    root.querySelectorAll("[data-row]").forEach((row) => {
      const copy = row.cloneNode(true);
      copy.querySelectorAll("time").forEach((time) => time.remove());
      found.set(row.dataset.row, copy.textContent.replace(/\s+/g, " "));
    });
    return found;
  }

  /* How many rows an answer that was held back would change, add or take away; and when the cluster was seen. */
  function heldBack(part, answer) {
    const fresh = new DOMParser().parseFromString(answer, "text/html");
    const [before, after] = [rows(part), rows(fresh)];
    const keys = new Set([...before.keys(), ...after.keys()]);
    const seen = fresh.getElementById("observed-at");
    const shown = doc.getElementById("observed-at");
    if (seen && shown) shown.setAttribute("datetime", seen.getAttribute("datetime"));
    return [...keys].filter((key) => before.get(key) !== after.get(key)).length;
  }

  doc.addEventListener("htmx:beforeRequest", (event) => {
    if (isPoll(event) && resting()) event.preventDefault();
  });

  /* Filters that say nothing do not stand in the address that people send each other. */
  doc.addEventListener("htmx:configRequest", (event) => {
    const { verb, parameters } = event.detail;
    if (verb !== "get") return;
    Object.keys(parameters).forEach((name) => { if (parameters[name] === "") delete parameters[name]; });
  });

  doc.addEventListener("htmx:beforeSwap", (event) => {
    const part = event.detail.target;
    if (isPoll(event) && paused) event.detail.shouldSwap = false; // asked before the click on "Freeze view"
    if (isPoll(event) && event.detail.shouldSwap && held(part)) {
      event.detail.shouldSwap = false;
      hold(true, heldBack(part, event.detail.serverResponse));
      return;
    }
    if (!event.detail.shouldSwap) return;
    hold(false);
    opened = new Set([...part.querySelectorAll("details[open][id]")].map((element) => element.id));
  });

  doc.addEventListener("htmx:afterSwap", (event) => {
    opened.forEach((id) => {
      const element = doc.getElementById(id);
      if (element) element.open = true;
    });
    announce(event.detail.target);
    tellAges();
  });

  let lastSummary = null;
  function announce(part) {
    const source = part && part.querySelector ? part.querySelector("[data-summary]") : null;
    if (!source || source.dataset.summary === lastSummary) return;
    if (lastSummary !== null) doc.getElementById("announce").textContent = source.dataset.summary;
    lastSummary = source.dataset.summary;
  }

  doc.addEventListener("giveway:observed", (event) => {
    if (paused) return; // what is shown was seen before
    const observed = doc.getElementById("observed-at");
    const cycle = doc.getElementById("observed-cycle");
    if (observed && event.detail.at) observed.setAttribute("datetime", event.detail.at);
    if (cycle && event.detail.cycle !== undefined) cycle.textContent = event.detail.cycle;
    tellAges();
  });

  ["pointermove", "pointerdown", "keydown", "wheel"].forEach((name) =>
    doc.addEventListener(name, (event) => {
      lastActive = Date.now();
      if (event.clientY !== undefined) lastY = event.clientY;
      if (event.target.closest && event.target.closest("[data-part]")) lastTouch = lastActive;
    }, { passive: true })
  );
  doc.addEventListener("visibilitychange", () => { if (!doc.hidden) refresh(); });

  function refresh() {
    lastTouch = 0;
    const poller = doc.querySelector("[data-poll]");
    if (poller && window.htmx) window.htmx.trigger(poller, "giveway:refresh");
  }

  doc.addEventListener("click", (event) => {
    const button = event.target.closest("[data-pause]");
    if (button) {
      paused = !paused;
      button.setAttribute("aria-pressed", String(paused));
      button.querySelector("[data-label]").textContent = paused ? button.dataset.resume : button.dataset.label;
      if (!paused) refresh();
    }
    if (event.target.closest("[data-refresh]")) {
      hold(false);
      refresh();
    }
  });

  /* On a narrow screen the navigation and the tabs run off the side: bring the present one into their middle. */
  function show(current) {
    const row = current.closest("nav, .tabs");
    const [box, around] = [current.getBoundingClientRect(), row.getBoundingClientRect()];
    row.scrollLeft += box.left + box.width / 2 - around.left - around.width / 2;
  }

  // --- Not live --------------------------------------------------------------------------------------------
  function offline(on) {
    const banner = doc.getElementById("offline");
    if (!banner || banner.hidden === !on) return;
    banner.hidden = !on;
    if (on) banner.querySelector("[data-clock]").textContent = new Date().toLocaleTimeString(doc.documentElement.lang, { timeZoneName: "short" });
  }
  ["htmx:sendError", "htmx:timeout"].forEach((name) => doc.addEventListener(name, () => offline(true)));
  doc.addEventListener("htmx:responseError", (event) => offline(event.detail.xhr.status >= 500 || isPoll(event)));
  doc.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) offline(false); });

  doc.addEventListener("DOMContentLoaded", () => {
    doc.querySelectorAll(".bar nav [aria-current], .tabs [aria-current]").forEach(show);
    announce(doc);
    tellAges();
    window.setInterval(tellAges, 1000);
  });
})();
