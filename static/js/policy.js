/* The policy's page: nobody leaves with what is typed and not saved without being asked, and a section that a link
   leads to is unfolded. */
(function () {
  "use strict";

  const doc = document;
  let before = null; // the form as it came from the server
  let saved = false;

  const guarded = () => doc.querySelector("form[data-guard]");
  const written = (form) => new URLSearchParams(new FormData(form)).toString();

  function dirty() {
    const form = guarded();
    if (!form || saved) return false;
    return form.dataset.guard === "typed" || (before !== null && written(form) !== before);
  }

  function remember() {
    const form = guarded();
    before = form ? written(form) : null;
  }

  /* On a phone the bar is folded (css/phone.css): what changes unfolds all of it, and so does a field that is wrong. */
  let unfolded = false;
  function foldBar(folded) {
    const bar = doc.querySelector(".save-bar");
    if (!bar) return;
    unfolded = !folded;
    bar.classList.toggle("unfolded", unfolded);
    bar.querySelector(".bar-more").setAttribute("aria-expanded", String(unfolded));
  }

  function unfold() {
    const at = location.hash && doc.getElementById(location.hash.slice(1));
    if (at && at.tagName === "DETAILS") at.open = true;
  }

  addEventListener("beforeunload", (event) => {
    if (!dirty()) return;
    event.preventDefault();
    event.returnValue = ""; // older browsers ask by this
  });
  /* Why it is changed changes nothing: what is typed there asks no "what if". */
  ["input", "change"].forEach((name) => doc.addEventListener(name, (event) => {
    if (event.target.closest(".bar-save")) event.stopPropagation();
  }, true));
  addEventListener("hashchange", unfold);
  doc.addEventListener("click", (event) => {
    const link = event.target.closest(".section-list a"); // the same link again changes no hash
    const at = link && doc.getElementById(link.hash.slice(1));
    if (at && at.tagName === "DETAILS") at.open = true;
  });
  /* A form that is sent as a whole page leaves by being sent. */
  doc.addEventListener("submit", (event) => {
    if (!event.defaultPrevented && event.target === guarded()) saved = true;
  });
  doc.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.getResponseHeader("HX-Redirect")) saved = true;
  });
  doc.addEventListener("htmx:afterSettle", (event) => {
    if (!event.detail.target || event.detail.target.id !== "policy-form") return;
    remember();
    foldBar(!unfolded && !doc.querySelector(".save-bar.unfolded"));
  });
  doc.addEventListener("toggle", (event) => { if (event.target.id === "bar-now") foldBar(!event.target.open); }, true);
  doc.addEventListener("invalid", (event) => { if (event.target.closest(".save-bar")) foldBar(false); }, true);
  doc.addEventListener("click", (event) => { if (event.target.closest(".bar-more")) foldBar(unfolded); });
  addEventListener("pageshow", () => { saved = false; });

  remember();
  unfold();
  foldBar(!doc.querySelector(".save-bar.unfolded"));
})();
