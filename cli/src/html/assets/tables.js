// Tables whose rows are sorted by a click on a heading.

/** A table in a box that scrolls: `columns` have a name, decimals, whether they are text, and what they filter by. */
function table({ title, columns, rows }) {
  let by = null;
  let descending = false;
  const body = element("tbody");
  const headings = columns.map(({ name, text }, index) => element("th", { scope: "col", class: text ? null : "number", "aria-sort": "none" },
    element("button", { type: "button", onclick: () => sort(index) }, name || "row")));
  const isKept = (row) => columns.every(({ dimension }, index) => !dimension || !isHidden(dimension, String(row[index])));
  const draw = () => {
    const kept = rows.filter(isKept);
    if (by !== null) kept.sort((one, other) => compare(one[by], other[by], descending));
    body.replaceChildren(...kept.map((row) => element("tr", {}, ...row.map((value, index) =>
      element("td", { class: columns[index].text ? null : "number" }, shown(value, columns[index].decimals))))));
  };
  const sort = (index) => {
    descending = by === index && !descending;
    by = index;
    headings.forEach((heading, at) => heading.setAttribute("aria-sort", at === by ? (descending ? "descending" : "ascending") : "none"));
    draw();
  };
  draw();
  const made = element("table", {}, element("caption", {}, title), element("thead", {}, element("tr", {}, ...headings)), body);
  onRedraw(made, draw);
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title }, made);
}

/** Numbers by size, texts by letters, what is missing last. */
function compare(one, other, descending) {
  const isMissing = (value) => value === null || value === undefined || value === "";
  if (isMissing(one) || isMissing(other)) return isMissing(one) - isMissing(other);
  const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
  return descending ? -order : order;
}
