//! Charts as SVG: panels that flow into rows, axes with round ticks, legends, maps of colours.

mod ratios;

use std::fmt::Write;

use super::chart::{Bars, Chart, Line, LineStyle, Plot};

/// Units of an inch of paper. Letters are 12 units high, the smallest 10: 8.4 and 7 points.
const UNITS_PER_INCH: f64 = 72.0 / 0.7;
/// Room above a figure's panels for its title, in units.
const TITLE_HEIGHT: f64 = 40.0;
/// Width below which a panel gets a row for itself.
const NARROWEST: f64 = 330.0;
/// Room around a panel's axes; more where a legend or names need it.
const LEFT: f64 = 58.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 54.0;
/// Groups of bars that fit on half a row.
const NARROW_GROUPS: usize = 6;
/// Bars of a half row beyond which a full one is used.
const NARROW_BARS: usize = 18;
/// Numbers of a horizontal axis that fit on half a row; of more, round ones are written.
const NARROW_NUMBERS: usize = 20;
/// Radius of a marker that stands alone, px.
const MARK: f64 = 4.0;
/// Width of a mark of the paper's that belongs to no bar, px.
const PAPER_MARK: f64 = 14.0;
/// Radius of one among many, px.
const DOT: f64 = 1.3;
/// Estimated width of a legend's letter, and of a title's.
const LETTER: f64 = 6.2;
const TITLE_LETTER: f64 = 6.8;
/// Where the first line of a panel's title stands.
const TITLE_TOP: f64 = 18.0;
/// Height of a line of a panel's title, and of a legend.
const TITLE_LINE: f64 = 15.0;
const LEGEND_LINE: f64 = 14.0;
/// Decimals of the smallest number that is written in full.
const MOST_DECIMALS: usize = 6;
/// Lines of a legend that there is room for in any panel.
const LEGEND_LINES: usize = 2;
/// Distance of groups below which their names stand upright, and what an upright letter needs of height.
const UPRIGHT: f64 = 20.0;
const UPRIGHT_LETTER: f64 = 5.2;

/// What the paper's values are called in a legend.
const PAPER: &str = "the paper";
/// Colours that colour-blind readers can tell apart (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8a00", "#444444"];

/// What a figure is drawn on.
#[derive(Clone, Copy, Debug)]
pub struct Sheet<'t> {
    /// Units; on a screen px.
    width: f64,
    panel_height: f64,
    /// Inches of paper; `None` on a screen.
    inches: Option<f64>,
    title: Option<&'t str>,
}

/// How wide a figure is in a paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PaperWidth {
    /// A column of two, 3.3 inches.
    Column,
    /// Both columns, 7 inches.
    #[default]
    Page,
}

impl<'t> Sheet<'t> {
    /// For looking at it alone.
    pub fn screen(title: &'t str) -> Sheet<'t> {
        Sheet { width: 960.0, panel_height: 320.0, inches: None, title: Some(title) }
    }

    /// For a paper, which says below it what it is.
    pub fn paper(width: PaperWidth, title: Option<&'t str>) -> Sheet<'t> {
        let inches = match width {
            PaperWidth::Column => 3.3,
            PaperWidth::Page => 7.0,
        };
        Sheet { width: inches * UNITS_PER_INCH, panel_height: 236.0, inches: Some(inches), title }
    }

    /// Room above the panels.
    fn above(&self) -> f64 {
        if self.title.is_some() { TITLE_HEIGHT } else { 0.0 }
    }
}

/// A figure's charts, below its title if it has one.
pub fn draw(sheet: Sheet<'_>, charts: &[Chart]) -> String {
    let panels = lay_out(&sheet, charts);
    let below = if sheet.inches.is_some() { 0.0 } else { 8.0 };
    let height = panels.last().map_or(sheet.above(), |(_, frame)| frame.y + frame.height) + below;
    let Sheet { width, inches, title, .. } = sheet;
    let size = match inches {
        None => format!("viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\""),
        Some(inches) => format!(
            "viewBox=\"0 0 {width:.2} {height:.2}\" width=\"{inches}in\" height=\"{:.4}in\"",
            height / UNITS_PER_INCH
        ),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    if let Some(title) = title {
        text(&mut out, (width / 2.0, 26.0), "middle", "font-size=\"16\" font-weight=\"bold\"", title);
    }
    for (chart, frame) in panels {
        draw_panel(&mut out, chart, frame);
    }
    out += "</svg>\n";
    out
}

/// A rectangle.
#[derive(Clone, Copy, Debug)]
struct Frame {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Puts two narrow panels, or one wide one, in a row. The panels of a row are equally high.
fn lay_out<'c>(sheet: &Sheet<'_>, charts: &'c [Chart]) -> Vec<(&'c Chart, Frame)> {
    let mut placed: Vec<(&Chart, Frame)> = Vec::new();
    let (mut x, mut y) = (0.0, sheet.above());
    let is_wide = |chart: &Chart| sheet.width / 2.0 < NARROWEST || is_wide(chart);
    for (index, chart) in charts.iter().enumerate() {
        let alone = x == 0.0 && charts.get(index + 1).is_none_or(is_wide);
        let width = if is_wide(chart) || alone { sheet.width } else { sheet.width / 2.0 };
        let height = match &chart.plot {
            Plot::Ratios(ratios) => title_height(&titled(chart, width)) + ratios::height(ratios),
            Plot::Lines(_) | Plot::Bars { .. } => {
                let room = Room::of(chart, width);
                sheet.panel_height + (room.above - TOP) + (room.below - BOTTOM)
            }
        };
        placed.push((chart, Frame { x, y, width, height }));
        x += width;
        if x >= sheet.width {
            let row = || placed.iter().filter(|(_, frame)| frame.y == y);
            let highest = row().map(|(_, frame)| frame.height).fold(0.0, f64::max);
            for (_, frame) in placed.iter_mut().filter(|(_, frame)| frame.y == y) {
                frame.height = highest;
            }
            (x, y) = (0.0, y + highest);
        }
    }
    placed
}

/// The lines of a panel's title.
fn titled(chart: &Chart, width: f64) -> Vec<String> {
    wrapped(&chart.title, width / TITLE_LETTER)
}

/// Room that a panel's title needs.
fn title_height(title: &[String]) -> f64 {
    TITLE_TOP + TITLE_LINE * title.len() as f64
}

/// Writes a panel's title.
fn draw_title(out: &mut String, title: &[String], (centre, top): (f64, f64)) {
    for (index, line) in title.iter().enumerate() {
        let y = top + TITLE_TOP + TITLE_LINE * index as f64;
        text(out, (centre, y), "middle", "font-weight=\"bold\"", line);
    }
}

/// Room that a panel needs beside its axes.
struct Room {
    above: f64,
    below: f64,
    title: Vec<String>,
    /// Names of groups stand upright.
    upright: bool,
}

impl Room {
    fn of(chart: &Chart, width: f64) -> Room {
        let axes = width - LEFT - RIGHT;
        let title = titled(chart, width);
        let legend = legend_lines(&chart.names(), chart.has_paper(), axes);
        let above = TOP
            + TITLE_LINE * title.len().saturating_sub(1) as f64
            + LEGEND_LINE * legend.saturating_sub(LEGEND_LINES) as f64;
        let groups: &[String] = match &chart.plot {
            Plot::Bars { groups, .. } => groups,
            Plot::Lines(_) | Plot::Ratios(_) => &[],
        };
        let longest = groups.iter().map(|group| group.chars().count()).max().unwrap_or(0) as f64;
        let pitch = axes / groups.len().max(1) as f64;
        let upright = pitch < UPRIGHT && LETTER * longest > pitch;
        let below = if upright { BOTTOM.max(30.0 + UPRIGHT_LETTER * longest) } else { BOTTOM };
        Room { above, below, title, upright }
    }
}

/// Lines of at most so many letters.
fn wrapped(text: &str, letters: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if ((line.chars().count() + 1 + word.chars().count()) as f64) <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn is_wide(chart: &Chart) -> bool {
    match &chart.plot {
        Plot::Lines(lines) => numbers(lines).len() > NARROW_NUMBERS,
        Plot::Bars { groups, series, .. } => {
            groups.len() > NARROW_GROUPS || groups.len() * series.len() > NARROW_BARS
        }
        Plot::Ratios(_) => true,
    }
}

fn draw_panel(out: &mut String, chart: &Chart, frame: Frame) {
    match &chart.plot {
        Plot::Lines(lines) => {
            let (scale, _) = draw_axes(out, chart, frame);
            draw_lines(out, lines, &scale);
        }
        Plot::Bars { groups, series, stacked } => {
            let (scale, upright) = draw_axes(out, chart, frame);
            draw_bars(out, groups, series, (*stacked, upright), &scale);
        }
        Plot::Ratios(ratios) => {
            let title = titled(chart, frame.width);
            draw_title(out, &title, (frame.x + frame.width / 2.0, frame.y));
            ratios::draw(out, ratios, (frame.x, frame.y + title_height(&title)), frame.width);
        }
    }
}

/// What is around lines and bars: title, legend and vertical axis. Where values stand, and whether names of groups stand upright.
fn draw_axes(out: &mut String, chart: &Chart, frame: Frame) -> (Scale, bool) {
    let room = Room::of(chart, frame.width);
    let axes = Frame {
        x: frame.x + LEFT,
        y: frame.y + room.above,
        width: frame.width - LEFT - RIGHT,
        height: frame.height - room.above - room.below,
    };
    let centre = axes.x + axes.width / 2.0;
    draw_title(out, &room.title, (centre, frame.y));
    text(out, (centre, frame.y + frame.height - 8.0), "middle", "", &chart.x_label);
    let (x, y) = (frame.x + 14.0, axes.y + axes.height / 2.0);
    text(out, (x, y), "middle", &format!("transform=\"rotate(-90 {x:.1} {y:.1})\""), &chart.y_label);
    let legend = (axes.x, frame.y + title_height(&room.title) + 5.0);
    draw_legend(out, &chart.names(), chart.has_paper(), legend, axes.width);
    let ticks = ticks(chart.extent());
    let scale = Scale { low: ticks[0], high: ticks[ticks.len() - 1], axes };
    draw_y_axis(out, &ticks, &scale);
    (scale, room.upright)
}

/// Places a value on the vertical axis.
struct Scale {
    low: f64,
    high: f64,
    axes: Frame,
}

impl Scale {
    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.axes.y + self.axes.height * (1.0 - share)
    }
}

/// Round numbers at equal distances that cover the extent: four to eleven of them.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let span = if high > low { high - low } else { 1.0 };
    let power = 10_f64.powf((span / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|step| span / step <= 6.0).unwrap_or(10.0 * power);
    let first = (low / step).floor() as i64;
    let last = ((low + span) / step - 1e-9).ceil() as i64;
    (first..=last).map(|tick| tick as f64 * step).collect()
}

/// Decimals that tell numbers apart that are a step apart.
fn decimals_of(step: f64) -> usize {
    (-step.log10().floor()).max(0.0) as usize
}

fn draw_y_axis(out: &mut String, ticks: &[f64], scale: &Scale) {
    let axes = scale.axes;
    let step = ticks[1] - ticks[0];
    let decimals = decimals_of(step);
    for &tick in ticks {
        let y = scale.y(tick);
        let colour = if tick == 0.0 { "#222" } else { "#ddd" };
        line(out, (axes.x, y), (axes.x + axes.width, y), &format!("stroke=\"{colour}\""));
        text(out, (axes.x - 6.0, y + 4.0), "end", "", &format!("{tick:.decimals$}"));
    }
    line(out, (axes.x, axes.y), (axes.x, axes.y + axes.height), "stroke=\"#222\"");
}

/// Places of the names of a legend in rows of a width: how far to the right, and which row. The paper's comes last.
fn legend_places(names: &[&str], paper: bool, width: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (0.0, 0);
    let names = names.iter().copied().chain(paper.then_some(PAPER));
    let place = |name: &str| {
        let needed = 22.0 + LETTER * name.chars().count() as f64;
        if x + needed > width && x > 0.0 {
            (x, row) = (0.0, row + 1);
        }
        let place = (x, row);
        x += needed;
        place
    };
    names.map(place).collect()
}

/// Rows of a legend.
fn legend_lines(names: &[&str], paper: bool, width: f64) -> usize {
    legend_places(names, paper, width).last().map_or(0, |(_, row)| row + 1)
}

/// Names with their colours, in rows of the width given.
fn draw_legend(out: &mut String, names: &[&str], paper: bool, (left, top): (f64, f64), width: f64) {
    for (index, (x, row)) in legend_places(names, paper, width).into_iter().enumerate() {
        let (x, y) = (left + x, top + LEGEND_LINE * row as f64);
        let name = match names.get(index) {
            Some(name) => {
                rectangle(
                    out,
                    Frame { x, y: y - 9.0, width: 10.0, height: 10.0 },
                    COLOURS[index % COLOURS.len()],
                );
                name
            }
            None => {
                draw_paper(out, (x, 10.0), y - 4.0);
                PAPER
            }
        };
        text(out, (x + 14.0, y), "start", "font-size=\"11\"", name);
    }
}

/// Where lines have points, in increasing order, each number once.
fn numbers(lines: &[Line]) -> Vec<f64> {
    let mut numbers: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

fn draw_lines(out: &mut String, lines: &[Line], scale: &Scale) {
    let axes = scale.axes;
    let mut numbers = numbers(lines);
    let (Some(&low), Some(&high)) = (numbers.first(), numbers.last()) else {
        return;
    };
    let (inset, span) = (16.0, (high - low).max(1e-9));
    let x = |number: f64| axes.x + inset + (axes.width - 2.0 * inset) * (number - low) / span;
    let mut decimals = None;
    if numbers.len() > NARROW_NUMBERS || numbers.iter().any(|number| number.fract() != 0.0) {
        let ticks = ticks((low, high));
        decimals = Some(decimals_of(ticks[1] - ticks[0]));
        numbers = ticks.into_iter().filter(|number| (low..=high).contains(number)).collect();
    }
    for &number in &numbers {
        let label = decimals.map_or_else(|| number.to_string(), |decimals| format!("{number:.decimals$}"));
        text(out, (x(number), axes.y + axes.height + 16.0), "middle", "", &label);
    }
    let (of_paper, ours): (Vec<&Line>, Vec<&Line>) =
        lines.iter().partition(|line| line.style == LineStyle::Paper);
    for (index, series) in ours.into_iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let at: Vec<(f64, f64)> = series.points.iter().map(|&(px, py)| (x(px), scale.y(py))).collect();
        let width = match series.style {
            LineStyle::Thin => Some(1.5),
            LineStyle::Bold => Some(3.0),
            LineStyle::Marks | LineStyle::Dots | LineStyle::Paper => None,
        };
        if let Some(width) = width {
            let path: Vec<String> = at.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let path = path.join(" ");
            let _ = writeln!(
                out,
                "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
            );
        }
        let radius = if series.style == LineStyle::Dots { DOT } else { width.unwrap_or(MARK) };
        for (x, y) in at {
            let _ =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{colour}\"/>");
        }
    }
    for &(px, py) in of_paper.into_iter().flat_map(|line| &line.points) {
        draw_paper(out, (x(px) - PAPER_MARK / 2.0, PAPER_MARK), scale.y(py));
    }
}

fn draw_bars(
    out: &mut String,
    groups: &[String],
    series: &[Bars],
    (stacked, upright): (bool, bool),
    scale: &Scale,
) {
    let axes = scale.axes;
    let pitch = axes.width / groups.len().max(1) as f64;
    let columns = if stacked { 1 } else { series.len().max(1) };
    let width = (pitch * 0.8 / columns as f64).min(46.0);
    let tilt = groups.iter().any(|group| LETTER * group.chars().count() as f64 > pitch);
    for (group, name) in groups.iter().enumerate() {
        let centre = axes.x + pitch * (group as f64 + 0.5);
        let left = centre - width * columns as f64 / 2.0;
        let mut base = 0.0;
        for (index, bars) in series.iter().enumerate() {
            let Some(value) = bars.values[group].filter(|value| value.is_finite()) else {
                continue;
            };
            let column = if stacked { 0 } else { index };
            let (from, to) = (scale.y(base), scale.y((base + value).min(scale.high)));
            let x = left + width * column as f64;
            let bar = Frame { x: x + 0.5, y: from.min(to), width: width - 1.0, height: (from - to).abs() };
            rectangle(out, bar, COLOURS[index % COLOURS.len()]);
            if base + value > scale.high {
                let (x, y) = (x + width / 2.0 + 4.0, scale.axes.y + 30.0);
                let turn = format!("transform=\"rotate(-90 {x:.1} {y:.1})\" font-size=\"10\" fill=\"#fff\"");
                text(out, (x, y), "start", &turn, &cut_label(value));
            }
            if let Some(&deviation) = bars.deviations.get(group) {
                let middle = x + width / 2.0;
                let (low, high) = (scale.y((value - deviation).max(scale.low)), scale.y(value + deviation));
                line(out, (middle, low), (middle, high), "stroke=\"#222\"");
                for y in [low, high] {
                    line(out, (middle - 4.0, y), (middle + 4.0, y), "stroke=\"#222\"");
                }
            }
            base = if stacked { base + value } else { 0.0 };
        }
        for (index, bars) in series.iter().enumerate() {
            if let Some(paper) = bars.paper_of(group) {
                let x = left + width * if stacked { 0.0 } else { index as f64 };
                draw_paper(out, (x, width), scale.y(paper));
            }
        }
        let (x, y) = (centre, axes.y + axes.height + 16.0);
        if upright {
            let (x, y) = (x + 3.5, y - 8.0);
            let turn = format!("transform=\"rotate(-90 {x:.1} {y:.1})\" font-size=\"10\"");
            text(out, (x, y), "end", &turn, name);
        } else if tilt {
            let turn = format!("transform=\"rotate(-24 {x:.1} {y:.1})\" font-size=\"10\"");
            text(out, (x + 8.0, y), "end", &turn, name);
        } else {
            text(out, (x, y), "middle", "", name);
        }
    }
}

/// How high a bar is that is cut off: two decimals, of a small one two digits.
fn cut_label(value: f64) -> String {
    let decimals = if value.abs() < 1.0 { decimals_of(value.abs() / 10.0).min(MOST_DECIMALS) } else { 2 };
    format!("{value:.decimals$}")
}

/// The paper's value: a line across the bar's place, with a rim so that it is seen on any colour.
fn draw_paper(out: &mut String, (x, width): (f64, f64), y: f64) {
    let (left, right) = (x - 1.0, x + width + 1.0);
    line(out, (left, y), (right, y), "stroke=\"#fff\" stroke-width=\"5\"");
    line(out, (left, y), (right, y), "stroke=\"#000\" stroke-width=\"2.5\"");
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, attributes: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let space = if attributes.is_empty() { "" } else { " " };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{space}{attributes}>{content}</text>"
    );
}

fn line(out: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), attributes: &str) {
    let _ = writeln!(out, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {attributes}/>");
}

fn rectangle(out: &mut String, Frame { x, y, width, height }: Frame, colour: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}
