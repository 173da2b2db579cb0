"use strict";
// What the others stand on: the page's data, elements, numbers, what is filtered out.

const page = JSON.parse(document.getElementById("data").textContent);

/** An element with attributes and children; text is never read as HTML. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A number as people read it; with so many decimals if they are said. */
function shown(value, decimals = null) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value !== "number") return String(value);
  if (decimals !== null) return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 1000 ? 7 : 4 });
}

/** Values of a dimension that are filtered out, by dimension: kernels, designs, parameters. */
const hidden = new Map();
const isHidden = (dimension, value) => hidden.get(dimension)?.has(value) ?? false;

/** What is drawn again when a filter or the theme changes: elements, and how. */
let redrawn = [];
const onRedraw = (made, draw) => redrawn.push([made, draw]);
function redraw() {
  redrawn = redrawn.filter(([made]) => made.isConnected);
  redrawn.forEach(([, draw]) => draw());
}

/** Check boxes for the values of a dimension. */
function filter(dimension, title, values) {
  const own = hidden.get(dimension) ?? new Set();
  hidden.set(dimension, own);
  const boxes = values.map((value) => element("input", {
    type: "checkbox",
    checked: true,
    onchange: (event) => {
      if (event.target.checked) own.delete(value); else own.add(value);
      redraw();
    },
  }));
  const set = (checked) => {
    own.clear();
    if (!checked) values.forEach((value) => own.add(value));
    boxes.forEach((box) => { box.checked = checked; });
    redraw();
  };
  const labels = values.map((value, index) => element("label", {}, boxes[index], ` ${value}`));
  const all = values.length > 3
    ? [element("button", { type: "button", onclick: () => set(true) }, "all"), element("button", { type: "button", onclick: () => set(false) }, "none")]
    : [];
  return element("fieldset", { "data-dimension": dimension }, element("legend", {}, title), ...all, ...labels);
}

/** A list to choose one of. */
function choice(label, options, chosen, onchange) {
  const select = element("select", { onchange: () => onchange(select.value) });
  for (const [value, text] of options) select.append(element("option", { value, selected: value === chosen }, text));
  return element("label", {}, `${label} `, select);
}

const geometricMean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
