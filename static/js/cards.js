/* On a phone the rows of a table are cards (phone.css): each cell then says under which head it stands. */
(function () {
  "use strict";

  const phone = matchMedia("(max-width: 30rem), (pointer: coarse) and (max-width: 60rem)");
  const TABLES = ".scroll.phone-cards > .table";

  function name(table) {
    const heads = [...table.querySelectorAll(":scope > thead > tr:last-child > *")].map((head) => head.textContent.trim());
    for (const row of table.querySelectorAll(":scope > tbody > tr")) {
      let at = 0;
      for (const cell of row.cells) {
        if (at > 0 && cell.colSpan === 1 && heads[at] && !cell.dataset.head) cell.dataset.head = heads[at];
        at += cell.colSpan;
      }
    }
  }

  /* A cell of a form: its field's own label is what the heads say together. */
  function nameFields(table) {
    for (const cell of table.querySelectorAll(":scope > tbody > tr > td")) {
      const field = cell.querySelector(":is(input, select, textarea)[aria-label]");
      if (field) cell.dataset.head = field.getAttribute("aria-label");
    }
  }

  function nameAll() {
    if (!phone.matches) return;
    document.querySelectorAll("table.rows").forEach(nameFields);
    for (const table of document.querySelectorAll(TABLES)) {
      // Some tables name some of their cells themselves: what is clear without a head has none.
      if (!table.closest("[data-names-cells]")) name(table);
    }
  }

  phone.addEventListener("change", nameAll);
  document.addEventListener("htmx:afterSwap", nameAll);
  document.addEventListener("click", () => setTimeout(nameAll)); // a row may have been added
  document.addEventListener("htmx:oobAfterSwap", nameAll);
  document.addEventListener("giveway:rows", nameAll); // rows that a script has written
  nameAll();
})();
