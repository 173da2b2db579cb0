// The page: its sections one after the other, its theme, how it is printed.

let theme = null;
const isDark = () => (theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
}

const paragraphs = (texts) => texts.map((text) => element("p", {}, text));

const SECTIONS = {
  heading: ({ title, text }) => element("div", {}, element("h2", {}, title), ...paragraphs(text)),
  command: ({ title, command }) => element("div", {}, element("h3", {}, title), element("pre", {}, command)),
  text: ({ title, text }) => element("details", { open: true }, element("summary", {}, title), ...paragraphs(text)),
  table: (section) => table(section),
  filters: ({ filters }) => element("div", {}, ...filters.map(({ dimension, title, values }) => filter(dimension, title, values))),
  charts: ({ charts }) => element("div", { class: "charts" }, ...charts.map((chart) => chartCard(() => chart))),
  runs: (section) => runsSection(section),
  timelines: (section) => timelinesSection(section),
};

applyTheme();
document.getElementById("theme").addEventListener("click", () => {
  theme = isDark() ? "light" : "dark";
  applyTheme();
  redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { applyTheme(); redraw(); });

document.getElementById("main").append(...page.sections.map((section) => SECTIONS[section.kind](section)));
document.getElementById("footer").append(page.made_by);
layOut();

// Legends and labels are laid out for a width. A phone changes its height alone when its bars come and go.
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  redraw();
});
// Paper is white, and has its own width.
let before = null;
addEventListener("beforeprint", () => {
  before = theme;
  theme = "light";
  applyTheme();
  redraw();
});
addEventListener("afterprint", () => {
  theme = before;
  applyTheme();
  redraw();
});
