/* Where the keyboard is after a form has been swapped: on the row that was added or moved, on the first field that is
   wrong, on the question that is asked; never at the top of the page. What htmx finds again by its id keeps the focus.
   And a double click sends a form once: to the same a second time the answer would be that somebody has changed it. */
(function () {
  "use strict";

  const doc = document;
  const FIELD = "input:not([type=hidden]), select, textarea";
  const UNPROCESSABLE = 422;
  const ONCE_MS = 3000;
  let sent = new WeakMap();

  function button(part, prefix, what, index) {
    return part.querySelector(`[name=row][value="${prefix}:${what}:${index}"]:not(:disabled)`);
  }

  /* After a button that adds, moves or removes a row: `levels:add`, `levels:up:2`. */
  function inRows(part, pressed) {
    const [prefix, what, at] = pressed.split(":");
    const last = part.querySelectorAll(`[name=row][value^="${prefix}:remove:"]`).length - 1;
    const row = (index) => button(part, prefix, "remove", index);
    if (what === "add") return last < 0 ? null : row(last).closest("tr").querySelector(FIELD);
    if (what === "remove") return row(Math.min(Number(at), last)) || part.querySelector(`[name=row][value="${prefix}:add"]`);
    const to = Number(at) + (what === "up" ? -1 : 1);
    return button(part, prefix, what, to) || row(to);
  }

  function here(element) {
    element.setAttribute("tabindex", "-1");
    return element;
  }

  function asked(part) {
    const heading = part.querySelector("h2");
    return heading && here(heading);
  }

  doc.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.getAttribute("method") !== "post") return; // htmx sends it, or nothing changes
    const told = String(new URLSearchParams(new FormData(form, event.submitter)));
    const last = sent.get(form);
    if (last && last.told === told && Date.now() - last.at < ONCE_MS) event.preventDefault();
    else sent.set(form, { told, at: Date.now() });
  });
  addEventListener("pageshow", () => { sent = new WeakMap(); });

  doc.addEventListener("htmx:afterSettle", (event) => {
    const { target, xhr, requestConfig } = event.detail;
    const cause = requestConfig && requestConfig.triggeringEvent;
    if (!target || !cause || !["submit", "click"].includes(cause.type)) return;
    const submitter = cause.submitter;
    const pressed = submitter && submitter.name === "row" ? submitter.value : "";
    const lost = !doc.activeElement || doc.activeElement === doc.body;
    if (!pressed && xhr.status === UNPROCESSABLE) {
      const wrong = target.querySelector("[aria-invalid=true]");
      if (wrong) wrong.focus();
    } else if (lost && target.contains(event.target)) {
      const next = pressed ? inRows(target, pressed) : asked(target);
      (next || here(target)).focus();
    }
  });
})();
