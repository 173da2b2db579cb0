// Runs under several kernels, designs and parameters: filters, charts to look around with, a table.

const BASELINE = "baseline";
/** Per cent that a part is drawn from. */
const SMALL = 1.5;
const MEAN = "mean of the kernels shown";

class Runs {
  constructor({ axes, figures, rows, views, columns, values_are }) {
    Object.assign(this, { axes, figures, views, columns, valuesAre: values_are });
    this.rows = rows.map(({ at, values, error }) => ({ at: at.map((value, axis) => (value === null ? null : axes[axis].values[value])), values, error }));
    this.position = new Map(figures.map((name, index) => [name, index]));
    this.axis = new Map(axes.map(({ name }, index) => [name, index]));
    this.hasBaseline = this.rows.some((row) => this.of(row, "design") === BASELINE) && values_are === null;
    this.baselines = new Map();
  }

  of(row, axis) { return row.at[this.axis.get(axis)]; }

  value(row, figure) { return row?.values[this.position.get(figure)] ?? null; }

  isShown(row) { return !row.error && this.axes.every(({ name }, index) => row.at[index] === null || !isHidden(name, row.at[index])); }

  get shown() { return this.rows.filter((row) => this.isShown(row)); }

  /** The baseline on the same machine and kernel: it has no parameters of mechanisms. */
  baseline(row) {
    if (!this.baselines.has(row)) {
      const isSame = (other) => this.of(other, "design") === BASELINE && this.axes.every(({ name }, index) => name === "design" || other.at[index] === null || other.at[index] === row.at[index]);
      this.baselines.set(row, this.rows.find(isSame) ?? null);
    }
    return this.baselines.get(row);
  }

  relative(row, figure) {
    const [own, other] = [this.value(row, figure), this.value(this.baseline(row), figure)];
    return own === null || !other ? null : own / other;
  }

  /** What tells a row apart from others but for some axes, in words. */
  label(row, without) {
    const words = this.axes.map(({ name, values }, index) => {
      if (without.includes(name) || row.at[index] === null || (values.length < 2 && name !== "design")) return null;
      return name === "design" || name === "kernel" ? row.at[index] : `${name}=${row.at[index]}`;
    });
    return words.filter((word) => word !== null).join(" ") || "runs";
  }

  /** Bars of a figure along an axis. */
  bars({ figure, relative, along, kernel }) {
    const value = (row) => (relative ? this.relative(row, figure) : this.value(row, figure));
    const isOne = along !== "kernel" && kernel !== MEAN;
    const rows = this.shown.filter((row) => this.of(row, along) !== null && (!isOne || this.of(row, "kernel") === kernel) && !(relative && this.of(row, "design") === BASELINE));
    const groups = this.axes[this.axis.get(along)].values.filter((group) => rows.some((row) => this.of(row, along) === group));
    const without = along === "kernel" ? ["kernel"] : ["kernel", along];
    // The values of each bar, by label and group; `null` has those of all groups.
    const found = new Map();
    for (const row of rows) {
      const bars = grouped(found, this.label(row, without), () => new Map());
      const own = value(row);
      if (own !== null) [this.of(row, along), null].forEach((group) => grouped(bars, group, () => []).push(own));
    }
    const one = (values) => (values.length === 0 ? null : relative && values.every((one) => one > 0) ? geometricMean(values) : mean(values));
    const cell = (label, group) => one(found.get(label).get(group) ?? []);
    const withMean = along === "kernel" && relative && groups.length > 1;
    const series = [...found.keys()].map((name) => ({ name, values: [...groups.map((group) => cell(name, group)), ...(withMean ? [cell(name, null)] : [])] }));
    const of = along === "kernel" ? "" : kernel === MEAN ? `, ${relative ? "geometric " : ""}mean of kernels` : `, ${kernel}`;
    const unit = this.valuesAre ?? (relative ? "relative to the baseline" : "");
    return {
      title: `${figure}${unit ? `, ${unit}` : ""}${of}`,
      x_label: along,
      y_label: unit || figure,
      plot: { kind: "bars", groups: withMean ? [...groups, "geometric mean"] : groups, series, stacked: false },
    };
  }

  /** Bars of a view's parts, stacked: for each design and its parameters, of one kernel or the mean of them. */
  parts(view, kernel) {
    const [parts, wholes] = [view.prefix, view.whole].map((prefix) => this.figures.filter((name) => name.startsWith(prefix)));
    // Shares of the whole, by label: a list for each row.
    const found = new Map();
    for (const row of this.shown.filter((row) => kernel === MEAN || this.of(row, "kernel") === kernel)) {
      const whole = wholes.reduce((sum, name) => sum + (this.value(row, name) ?? 0), 0);
      const values = parts.map((name) => this.value(row, name));
      if (whole > 0 && values.some((value) => value !== null)) {
        grouped(found, this.label(row, ["kernel"]), () => []).push(values.map((value) => ((value ?? 0) / whole) * 100));
      }
    }
    const series = parts.map((name, part) => ({
      name: name.slice(view.prefix.length).replace(/_pj$/, "").replaceAll("_", " "),
      values: [...found.values()].map((rows) => mean(rows.map((shares) => shares[part]))),
    }));
    return {
      title: view.title + (kernel === MEAN ? ", mean of kernels" : `, ${kernel}`),
      note: view.note,
      x_label: "",
      y_label: "%",
      plot: { kind: "bars", groups: [...found.keys()], series: found.size > 0 ? withoutSmall(series) : [], stacked: true },
    };
  }

  table(columns) {
    const axes = this.axes.map(({ name }) => ({ name, text: true, dimension: name }));
    const rows = this.rows.map((row) => [...row.at.map((value) => value ?? ""), ...columns.map(({ figure, relative }) => (relative ? this.relative(row, figure) : this.value(row, figure))), ...(this.hasErrors ? [row.error ?? ""] : [])]);
    const errors = this.hasErrors ? [{ name: "error", text: true }] : [];
    return { title: "Runs", columns: [...axes, ...columns.map(({ figure, relative }) => ({ name: relative ? `${figure}, relative` : figure, decimals: relative ? 3 : null })), ...errors], rows };
  }

  get hasErrors() { return this.rows.some((row) => row.error); }
}

/** What a map has under a key; `made` is put there if there is nothing. */
function grouped(map, key, made) {
  if (!map.has(key)) map.set(key, made());
  return map.get(key);
}

/** Parts that are small in every bar are drawn as one. */
function withoutSmall(series) {
  const most = ({ values }) => Math.max(0, ...values);
  const some = series.filter((part) => most(part) > 0);
  const small = some.filter((part) => most(part) < SMALL);
  if (small.length < 2) return some;
  const sum = some[0].values.map((_, group) => small.reduce((total, { values }) => total + (values[group] ?? 0), 0));
  return [...some.filter((part) => most(part) >= SMALL), { name: `${small.length} smaller ones`, values: sum }];
}

/** The section of runs. */
function runsSection(section) {
  const runs = new Runs(section);
  const filters = runs.axes.filter(({ values }) => values.length > 1).map(({ name, values }) => filter(name, name, values));
  const kernels = runs.axes[runs.axis.get("kernel")].values;
  const kernelChoices = [...(kernels.length > 1 ? [[MEAN, MEAN]] : []), ...kernels.map((name) => [name, name])];
  const along = runs.axes.filter(({ name, values }) => name !== "design" && (values.length > 1 || name === "kernel"));
  const chosen = {
    figure: runs.figures.includes("cycles") ? "cycles" : runs.figures[0],
    relative: runs.hasBaseline,
    along: along.find(({ name }) => name.includes("."))?.name ?? "kernel",
    kernel: kernelChoices[0][0],
  };
  const cards = [];
  const explorer = element("div", { class: "controls", id: "explorer" });
  const again = (set) => (value) => { set(value); redraw(); };
  explorer.append(
    choice("Figure", runs.figures.map((name) => [name, name]), chosen.figure, again((value) => { chosen.figure = value; })),
    choice("along", along.map(({ name }) => [name, name]), chosen.along, again((value) => { chosen.along = value; })),
    choice("of", kernelChoices, chosen.kernel, again((value) => { chosen.kernel = value; })),
  );
  if (runs.hasBaseline) {
    const box = element("input", { type: "checkbox", checked: true, onchange: () => again((value) => { chosen.relative = value; })(box.checked) });
    explorer.append(element("label", {}, box, " relative to the baseline"));
  }
  cards.push(chartCard(() => runs.bars(chosen), { controls: explorer, heading: "h2" }));
  for (const view of runs.views) {
    let kernel = kernelChoices[0][0];
    const controls = kernelChoices.length > 1 ? element("div", { class: "controls" }, choice("Kernel", kernelChoices, kernel, again((value) => { kernel = value; }))) : null;
    cards.push(chartCard(() => runs.parts(view, kernel), { controls, heading: "h2" }));
  }
  const columns = runs.columns.flatMap((figure) => [{ figure, relative: false }, ...(runs.hasBaseline && figure === "cycles" ? [{ figure, relative: true }] : [])]);
  const box = element("div");
  const fill = () => box.replaceChildren(table(runs.table(columns)));
  const others = runs.figures.filter((name) => !runs.columns.includes(name));
  const more = choice("Add a column", [["", "…"], ...others.map((name) => [name, name])], "", (figure) => {
    if (figure && !columns.some((column) => column.figure === figure)) columns.push({ figure, relative: false });
    fill();
  });
  fill();
  const whole = columns.length === 0 ? [] : [element("div", { class: "controls" }, more), box];
  return element("section", { "data-kind": "runs" }, ...filters, element("div", { class: "charts" }, ...cards), ...whole);
}
