// Heat maps of a run over time: one kernel and design at a time.

/** The section of timelines. */
function timelinesSection({ runs }) {
  if (runs.length === 0) return element("div");
  const unique = (values) => [...new Set(values)];
  const chosen = { kernel: runs[0].kernel, design: runs[runs.length - 1].design };
  const maps = element("div", { class: "charts" });
  const fill = () => {
    const run = runs.find(({ kernel, design }) => kernel === chosen.kernel && design === chosen.design);
    // What is drawn in parts may still be drawing.
    const gone = [...maps.querySelectorAll(".plot")].map((plot) => echarts.getInstanceByDom(plot));
    requestAnimationFrame(() => gone.forEach((chart) => chart?.dispose()));
    maps.replaceChildren(...run.maps.map((map) => chartCard(() => heatMap(run, map))));
    layOut();
  };
  const pick = (name) => choice(name, unique(runs.map((run) => run[name])).map((value) => [value, value]), chosen[name], (value) => {
    chosen[name] = value;
    fill();
  });
  afterLayout.push(fill);
  return element("section", { "data-kind": "timelines" }, element("h2", {}, "Over time"), element("div", { class: "controls" }, pick("kernel"), pick("design")), maps);
}

function heatMap({ kernel, design, cycles_per_column: cycles }, { title, unit, rows, values }) {
  const columns = (values[0] ?? []).map((_, column) => `${shown(column * cycles)}`);
  const most = Math.max(0, ...values.flat().filter((value) => value !== null));
  return {
    title: `${title}: ${kernel}, ${design}`,
    note: `A column is ${shown(cycles)} cycles. A cell is empty where there is nothing: a slot without a warp.`,
    x_label: "from cycle",
    y_label: unit,
    plot: { kind: "heat", rows, columns, values, most: unit.startsWith("%") ? 100 : most },
  };
}
