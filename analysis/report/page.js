"use strict";

// The page holds the rank of every cell, so sorting compares whole numbers. A cell without one comes last, either way.
function rank(row, column, sign) {
  const known = row.cells[column].dataset.rank;
  return known === undefined ? Infinity : sign * Number(known);
}

function sort(rows, body, head) {
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const column = head.cellIndex;
  const keyed = rows.map((row) => [rank(row, column, sign), row]);
  // From the order of the report, not the last one: equal rows stay as they were written.
  keyed.sort(([a], [b]) => (a === b ? 0 : a - b));
  body.append(...keyed.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(rows, body, head));
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelector(".view:target .close")?.click();
});
