// Charts: a description as figures and runs give it, drawn by ECharts, with its numbers as a table below.

// Colours that colour-blind readers can tell apart (Okabe and Ito); the last is for the ground that it is on. Of more than
// eight the others are paler.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8a00"];
const colours = () => {
  const eight = [...COLOURS, isDark() ? "#bbbbbb" : "#444444"];
  return [...eight, ...eight.map((colour) => `${colour}80`)];
};
const PAPER = "the paper";
const PAPER_STYLE = "paper";
const WIDE_BARS = 18;
const WIDE_POINTS = 20;

/** A chart in a card of its own; `describe` gives its description whenever it is drawn. */
function chartCard(describe, { controls = null, heading: level = "h3" } = {}) {
  const rows = describe().plot.rows?.length ?? 0;
  const plot = element("div", { class: rows > 20 ? "plot tall" : "plot", role: "img" });
  const heading = element(level, { class: "card-title" });
  const note = element("p", { class: "quiet" });
  const numbers = element("div");
  const details = element("details", { ontoggle: () => fill() }, element("summary", {}, "Numbers"), numbers);
  const card = element("section", { class: "card" }, heading, controls, plot, note, details);
  let drawn = null;
  let chart = null;
  const fill = () => numbers.replaceChildren(...(details.open && chart ? [table(numbersOf(chart))] : []));
  const draw = () => {
    chart = describe();
    heading.textContent = chart.title;
    note.textContent = chart.note ?? "";
    note.hidden = !chart.note;
    plot.setAttribute("aria-label", `${chart.title}. ${chart.y_label}. The numbers are in the table below.`);
    card.classList.toggle("wide", isWide(chart));
    fill();
    if (!drawn) return;
    drawn.resize();
    drawn.setOption(option(chart, plot.clientWidth), { notMerge: true });
  };
  draw();
  onRedraw(card, draw);
  // A chart measures the room that it has, so it is drawn once it has some.
  afterLayout.push(() => { drawn = start(plot, chart); });
  return card;
}

/** What waits until its element has a size. */
const afterLayout = [];
function layOut() {
  afterLayout.splice(0).forEach((draw) => draw());
  if (afterLayout.length > 0) layOut();
}

function start(plot, chart) {
  const drawn = echarts.init(plot, null, { renderer: isMap(chart) ? "canvas" : "svg" });
  drawn.setOption(option(chart, plot.clientWidth));
  return drawn;
}

/** Whether it is rows and columns of colours. */
const isMap = ({ plot }) => plot.kind === "heat" || plot.kind === "ratios";

function isWide(chart) {
  const { plot } = chart;
  if (isMap(chart)) return true;
  if (plot.kind === "lines") return pointsOf(plot.lines).length > WIDE_POINTS;
  return plot.groups.length * (plot.stacked ? 1 : plot.series.length) > WIDE_BARS || plot.groups.length > 6;
}

/** Names of a legend. */
function namesOf({ plot }) {
  switch (plot.kind) {
    case "heat": case "ratios": return [];
    case "lines": return plot.lines.map(({ name }) => name);
    default: return [...plot.series.map(({ name }) => name), PAPER];
  }
}

const pointsOf = (lines) => [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))];

/** Widths of a letter of an axis and of a legend, of a legend's mark, and the height of one of its lines, px. */
const LETTER = 6.5;
const MARK = 44;
const LEGEND_LINE = 22;
/** What an axis shows of a long name, px, and how much of that is height when it is tilted. */
const LONGEST = 130;
const TILTED = 0.65;

/** Lines that a legend of these names takes. */
function legendLines(names, width) {
  let lines = 1;
  let used = 0;
  for (const name of names) {
    const own = MARK + LETTER * name.length;
    if (used > 0 && used + own > width) [lines, used] = [lines + 1, 0];
    used += own;
  }
  return lines;
}

/** What ECharts is told of a chart that is so wide. */
function option(chart, width) {
  const text = isDark() ? "#e8eaee" : "#1c1f24";
  const edge = isDark() ? "#3a414d" : "#d5d9e0";
  const axis = {
    axisLine: { show: true, lineStyle: { color: text } },
    axisLabel: { color: text },
    nameTextStyle: { color: text },
    nameLocation: "middle",
    splitLine: { lineStyle: { color: edge } },
  };
  const common = {
    animation: false,
    color: colours(),
    textStyle: { fontFamily: "system-ui, Helvetica Neue, Arial, sans-serif", color: text },
    legend: { type: "plain", top: 0, textStyle: { color: text } },
    grid: { left: 64, right: 16, top: 18 + LEGEND_LINE * legendLines(namesOf(chart), width), bottom: 56 },
    tooltip: { confine: true, backgroundColor: isDark() ? "#1e232b" : "#ffffff", borderColor: edge, textStyle: { color: text }, valueFormatter: (value) => shown(value) },
  };
  const y = { ...axis, type: "value", name: chart.y_label, nameGap: 48 };
  switch (chart.plot.kind) {
    case "lines": return lineOption(chart, common, axis, y);
    case "heat": return heatOption(chart, common, axis);
    case "ratios": return ratiosOption(chart, common, axis, width);
    default: return barOption(chart, common, axis, y, { text, width });
  }
}

function lineOption(chart, common, axis, y) {
  const lines = chart.plot.lines.filter(({ name }) => !isHidden("series", name));
  const series = lines.map(({ name, points, style }) => ({
    name,
    type: ["thin", "bold"].includes(style) ? "line" : "scatter",
    data: points,
    lineStyle: { width: style === "bold" ? 3.5 : 1.5 },
    symbol: style === PAPER_STYLE ? "rect" : "circle",
    symbolSize: { thin: 5, bold: 7, marks: 10, dots: 3, [PAPER_STYLE]: [14, 3] }[style],
    large: style === "dots",
    itemStyle: { color: style === PAPER_STYLE ? common.textStyle.color : colourOf(chart.plot.lines, name) },
    z: style === PAPER_STYLE ? 10 : 2,
  }));
  const x = pointsOf(lines);
  const margin = 0.02 * (Math.max(...x) - Math.min(...x));
  return {
    ...common,
    tooltip: { ...common.tooltip, trigger: "item", formatter: ({ seriesName, value }) => tip([seriesName, [chart.x_label, shown(value[0])], [chart.y_label, shown(value[1])]]) },
    xAxis: { ...axis, type: "value", name: chart.x_label, nameGap: 30, min: Math.min(...x) - margin, max: Math.max(...x) + margin, axisLabel: { ...axis.axisLabel, formatter: (value) => shown(value), showMinLabel: margin === 0, showMaxLabel: margin === 0 } },
    yAxis: { ...y, scale: !series.some(({ type }) => type === "line") },
    series,
  };
}

/** Lines of a tooltip: a heading, then names with values. */
function tip([heading, ...rows]) {
  return element("div", {}, element("strong", {}, heading), ...rows.map(([name, value]) => element("div", {}, `${name}: ${value}`)));
}

const colourOf = (all, name) => colours()[all.findIndex((one) => one.name === name) % colours().length];

function barOption(chart, common, axis, y, { text, width }) {
  const { stacked } = chart.plot;
  const kept = chart.plot.groups.map((group, index) => [group, index]).filter(([group]) => !isHidden("kernel", group));
  const groups = kept.map(([group]) => group);
  const bars = chart.plot.series.filter(({ name }) => !isHidden("series", name));
  const pick = (values) => kept.map(([, index]) => values[index] ?? null);
  const highest = chart.plot.cut ?? Infinity;
  const series = bars.map(({ name, values }) => ({
    name,
    type: "bar",
    stack: stacked ? "all" : undefined,
    data: pick(values),
    barMaxWidth: 46,
    itemStyle: { color: colourOf(chart.plot.series, name) },
  }));
  // Marks that belong to a bar: what the paper says, spread, and how high a bar is that does not fit.
  const marks = [];
  bars.forEach(({ values, deviations, paper }, column) => pick(values).forEach((value, group) => {
    const of = (list) => list?.[kept[group][1]] ?? null;
    const cut = value > highest && !stacked ? value : null;
    const mark = { group, column: stacked ? 0 : column, value, deviation: of(deviations), paper: of(paper), cut };
    if (mark.paper !== null || mark.deviation !== null || cut !== null) marks.push(mark);
  }));
  const columns = stacked ? 1 : bars.length;
  series.push({
    name: PAPER,
    type: "custom",
    silent: true,
    itemStyle: { color: text },
    data: marks.map((mark) => [mark.group, Math.min(mark.paper ?? mark.value, highest)]),
    z: 10,
    renderItem: (parameters, api) => drawMark(api, marks[parameters.dataIndex], columns, text, highest),
    tooltip: { show: false },
  });
  const longest = Math.max(0, ...groups.map((group) => group.length));
  const tilted = LETTER * (longest + 1) > (width - 80) / groups.length;
  const said = new Map(bars.map(({ name, paper }) => [name, paper ? pick(paper) : []]));
  return {
    ...common,
    legend: { ...common.legend, data: [...bars.map(({ name }) => name), ...(marks.some((mark) => mark.paper !== null) ? [{ name: PAPER, icon: "rect" }] : [])] },
    tooltip: {
      ...common.tooltip,
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (rows) => tip([groups[rows[0].dataIndex], ...rows.filter(({ seriesType }) => seriesType === "bar").map(({ seriesName, value, dataIndex }) => {
        const paper = said.get(seriesName)[dataIndex] ?? null;
        return [seriesName, shown(value) + (paper === null ? "" : ` (paper: ${shown(paper)})`)];
      })]),
    },
    grid: { ...common.grid, bottom: tilted ? 24 + TILTED * Math.min(LONGEST, LETTER * longest) : 56 },
    xAxis: { ...axis, type: "category", data: groups, name: tilted ? "" : chart.x_label, nameGap: 30, axisLabel: { ...axis.axisLabel, interval: 0, rotate: tilted ? 40 : 0, width: LONGEST, overflow: "truncate" }, splitLine: { show: false } },
    yAxis: { ...y, max: Number.isFinite(highest) ? highest : undefined },
    series,
  };
}

function drawMark(api, { group, column, value, deviation, paper, cut }, columns, text, highest) {
  const place = api.barLayout({ count: columns, barMaxWidth: 46 })[column];
  const at = (height) => api.coord([group, Math.min(height, highest)]);
  const left = at(0)[0] + place.offset;
  const middle = left + place.width / 2;
  const stroke = (x1, y1, x2, y2, width, colour) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colour, lineWidth: width } });
  const children = [];
  if (paper !== null) {
    const y = at(paper)[1];
    children.push(stroke(left - 1, y, left + place.width + 1, y, 5, isDark() ? "#14171c" : "#ffffff"), stroke(left - 1, y, left + place.width + 1, y, 2.5, text));
  }
  if (deviation !== null) {
    const [low, high] = [at(value - deviation)[1], at(value + deviation)[1]];
    children.push(stroke(middle, low, middle, high, 1, text), ...[low, high].map((y) => stroke(middle - 4, y, middle + 4, y, 1, text)));
  }
  if (cut !== null) {
    children.push({ type: "text", x: middle, y: at(highest)[1] + 4, rotation: -Math.PI / 2, style: { text: shown(cut, cut < 1 ? null : 2), fill: "#ffffff", font: "11px sans-serif", align: "right", verticalAlign: "middle" } });
  }
  return { type: "group", children };
}

/** Rows over time, as dark as they are busy. */
function heatOption(chart, common, axis) {
  const { most } = chart.plot;
  const ramp = isDark() ? ["#232a34", "#0072b2", "#56b4e9", "#f0e442"] : ["#eceff3", "#56b4e9", "#0072b2", "#1c1f24"];
  return {
    ...mapOption(chart, common, axis),
    visualMap: { min: 0, max: most, calculable: false, orient: "vertical", right: 0, top: "middle", itemHeight: 160, inRange: { color: ramp }, text: [shown(most), "0"], textStyle: { color: axis.axisLabel.color } },
  };
}

/** Width of a column that has room for a ratio, px, and from how full a blue on it is white. */
const RATIO = 40;
const DARK = 0.9;

/** Ratios, as blue or orange as they are far from 1. */
function ratiosOption(chart, common, axis, width) {
  const { rows, columns, full } = chart.plot;
  const longest = (names) => Math.max(0, ...names.map((name) => name.length));
  const left = LETTER * longest(rows) + 16;
  const map = mapOption(chart, common, axis);
  const [less, one, more] = ["#0072b2", isDark() ? "#14171c" : "#ffffff", "#d55e00"];
  const share = (value) => Math.log(value) / Math.log(full);
  // What is as far from 1 as its inverse has as much colour.
  const data = map.series[0].data.map(([x, y, value]) => {
    if (value === "-") return { value: [x, y, value] };
    const ink = isDark() || share(value) < -DARK ? "#ffffff" : "#1c1f24";
    return { value: [x, y, Math.log(value), value], label: { color: ink } };
  });
  return {
    ...map,
    grid: { ...common.grid, left, right: 70, top: 16 + LETTER * longest(columns), bottom: 8 },
    tooltip: { ...map.tooltip, formatter: ({ value: [x, y, , value] }) => tip([rows[y], [columns[x], value === undefined ? "–" : shown(value, 3)]]) },
    xAxis: { ...map.xAxis, position: "top", axisLabel: { ...axis.axisLabel, interval: 0, rotate: 90 } },
    yAxis: { ...map.yAxis, axisLabel: { ...axis.axisLabel, interval: 0 } },
    visualMap: { dimension: 2, min: -Math.log(full), max: Math.log(full), calculable: false, orient: "vertical", right: 0, top: "middle", itemHeight: 160, inRange: { color: [less, one, more] }, text: [shown(full), shown(1 / full, 2)], textStyle: { color: axis.axisLabel.color } },
    series: [{ ...map.series[0], data, label: { show: (width - left - 70) / columns.length >= RATIO, fontSize: 10, formatter: ({ value: [, , , value] }) => value === undefined ? "" : shown(value, 3) } }],
  };
}

/** Rows and columns of colours. */
function mapOption(chart, common, axis) {
  const { rows, columns, values } = chart.plot;
  const cells = values.flatMap((row, y) => row.map((value, x) => [x, y, value ?? "-"]));
  return {
    ...common,
    legend: undefined,
    grid: { ...common.grid, left: 110, right: 90, top: 10 },
    tooltip: { ...common.tooltip, formatter: ({ value: [x, y, value] }) => tip([rows[y], [chart.x_label, columns[x]], [chart.y_label, shown(value)]]) },
    xAxis: { ...axis, type: "category", data: columns, name: chart.x_label, nameGap: 30, splitLine: { show: false } },
    yAxis: { ...axis, type: "category", data: rows, inverse: true, splitLine: { show: false } },
    series: [{ type: "heatmap", data: cells, progressive: 0 }],
  };
}

/** A chart's numbers as a table. */
function numbersOf({ title, x_label, plot }) {
  const column = (name, text = false) => ({ name, text, decimals: null });
  if (isMap({ plot })) {
    return { title, columns: [column("", true), ...plot.columns.map((name) => column(name))], rows: plot.rows.map((row, index) => [row, ...plot.values[index]]) };
  }
  if (plot.kind === "lines") {
    const rows = plot.lines.flatMap(({ name, points }) => points.map(([x, y]) => [name, x, y]));
    return { title, columns: [column("line", true), column(x_label), column("value")], rows };
  }
  const has = plot.series.some(({ paper }) => paper?.some((value) => value !== null));
  const columns = [{ ...column(x_label || "group", true), dimension: "kernel" }, ...plot.series.flatMap(({ name }) => [column(name), ...(has ? [column(`${name}, paper`)] : [])])];
  const rows = plot.groups.map((group, index) => [group, ...plot.series.flatMap(({ values, paper }) => [values[index], ...(has ? [paper?.[index] ?? null] : [])])]);
  return { title, columns, rows };
}
