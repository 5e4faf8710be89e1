/* What was typed is not lost with the session: it waits in this tab while its author signs in again, and stands in the
   form once more. The same when the language or the colours are chosen in the middle of a form. Nobody else gets it:
   it is thrown away on any other page, for another person, and on signing out. Passwords are never kept. */
(function () {
  "use strict";

  const KEY = "giveway-typed";
  const doc = document;
  const note = doc.getElementById("typed-again");
  const person = note ? note.dataset.person : "";
  const between = doc.getElementById("typed-kept"); // on pages that stand between a form and its saving
  const NEVER = /^(hidden|password|file|submit|button|image|reset)$/;
  let sent = null; // the form that is on its way
  let comesBack = false;
  let signingOut = false;

  const forms = () => [...doc.querySelectorAll("main form[method=post]")];
  const nameOf = (form) => form.id || form.getAttribute("action") || "";
  const fields = (form) => [...form.elements].filter((field) =>
    field.name && field.tagName !== "BUTTON" && !NEVER.test(field.type) && !field.readOnly && !field.disabled);
  const ticked = (field) => field.type === "checkbox" || field.type === "radio";
  const valueOf = (field) => (ticked(field) ? field.checked : field.value);

  function untouched(field) {
    if (ticked(field)) return field.checked === field.defaultChecked;
    if (field.tagName !== "SELECT") return field.value === field.defaultValue;
    const said = [...field.options].findIndex((option) => option.defaultSelected);
    return field.selectedIndex === Math.max(said, 0);
  }

  /* Only what was changed: the rest of the form may have been changed by others meanwhile. A form that came back with
     something wrong in it has all of it from its author. */
  function typed(form) {
    const all = form.querySelector("[aria-invalid=true]") !== null;
    const seen = {};
    return fields(form).map((field) => {
      seen[field.name] = (seen[field.name] || 0) + 1;
      return all || !untouched(field) ? [field.name, seen[field.name] - 1, valueOf(field)] : null;
    }).filter(Boolean);
  }

  function keep() {
    if (!person || signingOut) return sessionStorage.removeItem(KEY);
    const kept = forms().map((form, index) => [nameOf(form), index, typed(form)]).filter((each) => each[2].length);
    if (!kept.length) return sessionStorage.removeItem(KEY);
    const path = location.pathname + location.search;
    sessionStorage.setItem(KEY, JSON.stringify({ person, path, kept, lost: comesBack && !sent }));
  }

  function fill(form, values) {
    let filled = 0;
    values.forEach(([name, nth, value]) => {
      const field = fields(form).filter((each) => each.name === name)[nth];
      if (!field || valueOf(field) === value) return;
      if (ticked(field)) field.checked = value;
      else field.value = value;
      filled += 1;
      ["input", "change"].forEach((what) => field.dispatchEvent(new Event(what, { bubbles: true })));
    });
    return filled;
  }

  function giveBack(stored) {
    const here = forms();
    const filled = stored.kept.map(([name, index, values]) => {
      const form = here.find((each, at) => nameOf(each) === name && at === index)
        || here.find((each) => nameOf(each) === name);
      return form ? fill(form, values) : 0;
    });
    if (note && filled.some(Boolean)) note.hidden = false;
  }

  function arrived() {
    const stored = JSON.parse(sessionStorage.getItem(KEY) || "null");
    if (!stored) return;
    if (between) {
      sessionStorage.setItem(KEY, JSON.stringify({ ...stored, lost: true }));
      between.hidden = false;
      const back = between.querySelector("a");
      if (back) back.href = stored.path;
      return;
    }
    sessionStorage.removeItem(KEY);
    const same = stored.person === person && stored.path === location.pathname + location.search;
    if (stored.lost && same) giveBack(stored);
  }

  doc.addEventListener("submit", (event) => {
    const to = event.target.getAttribute("action") || "";
    if (event.target.closest("main")) sent = event.target;
    else if (/\/(language|theme)\/$/.test(to)) comesBack = true;
    else if (/\/sign-out\/$/.test(to)) signingOut = true;
  });
  addEventListener("pagehide", () => { if (!between) keep(); });
  arrived();
})();
