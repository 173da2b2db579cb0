//! Charts as SVG: panels that flow into rows, axes with round ticks, legends.

use std::fmt::Write;

use super::chart::{Bars, Chart, Line, LineStyle, Plot};

/// Width of a figure, px.
const WIDTH: f64 = 960.0;
/// Height of a panel, px.
const PANEL_HEIGHT: f64 = 320.0;
/// Room above a figure's panels for its title, px.
const TITLE_HEIGHT: f64 = 40.0;
/// Room around a panel's axes, px.
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
/// Radius of one among many, px.
const DOT: f64 = 1.3;
/// Estimated width of a legend's letter, px.
const LETTER: f64 = 6.2;

/// Colours that colour-blind readers can tell apart (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8a00", "#444444"];

/// A figure's charts below its title.
pub fn draw(title: &str, charts: &[Chart]) -> String {
    let panels = lay_out(charts);
    let height = panels.last().map_or(TITLE_HEIGHT, |(_, frame)| frame.y + frame.height) + 8.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut out, (WIDTH / 2.0, 26.0), "middle", "font-size=\"16\" font-weight=\"bold\"", title);
    for (chart, frame) in panels {
        draw_panel(&mut out, chart, frame);
    }
    out += "</svg>\n";
    out
}

/// A rectangle, px.
#[derive(Clone, Copy, Debug)]
struct Frame {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Puts two narrow panels, or one wide one, in a row.
fn lay_out(charts: &[Chart]) -> Vec<(&Chart, Frame)> {
    let mut placed = Vec::new();
    let (mut x, mut y) = (0.0, TITLE_HEIGHT);
    for (index, chart) in charts.iter().enumerate() {
        let alone = x == 0.0 && charts.get(index + 1).is_none_or(is_wide);
        let width = if is_wide(chart) || alone { WIDTH } else { WIDTH / 2.0 };
        placed.push((chart, Frame { x, y, width, height: PANEL_HEIGHT }));
        x += width;
        if x >= WIDTH {
            (x, y) = (0.0, y + PANEL_HEIGHT);
        }
    }
    placed
}

fn is_wide(chart: &Chart) -> bool {
    match &chart.plot {
        Plot::Lines(lines) => numbers(lines).len() > NARROW_NUMBERS,
        Plot::Bars { groups, series, .. } => {
            groups.len() > NARROW_GROUPS || groups.len() * series.len() > NARROW_BARS
        }
    }
}

fn draw_panel(out: &mut String, chart: &Chart, frame: Frame) {
    let axes = Frame {
        x: frame.x + LEFT,
        y: frame.y + TOP,
        width: frame.width - LEFT - RIGHT,
        height: frame.height - TOP - BOTTOM,
    };
    let centre = axes.x + axes.width / 2.0;
    text(out, (centre, frame.y + 18.0), "middle", "font-weight=\"bold\"", &chart.title);
    text(out, (centre, frame.y + frame.height - 8.0), "middle", "", &chart.x_label);
    let (x, y) = (frame.x + 14.0, axes.y + axes.height / 2.0);
    text(out, (x, y), "middle", &format!("transform=\"rotate(-90 {x:.1} {y:.1})\""), &chart.y_label);
    draw_legend(out, &chart.names(), chart.has_paper(), (axes.x, frame.y + 38.0), axes.width);
    let ticks = ticks(chart.extent());
    let scale = Scale { low: ticks[0], high: ticks[ticks.len() - 1], axes };
    draw_y_axis(out, &ticks, &scale);
    match &chart.plot {
        Plot::Lines(lines) => draw_lines(out, lines, &scale),
        Plot::Bars { groups, series, stacked } => draw_bars(out, groups, series, *stacked, &scale),
    }
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

/// Names with their colours, in rows of the width given.
fn draw_legend(out: &mut String, names: &[&str], paper: bool, (left, top): (f64, f64), width: f64) {
    let (mut x, mut y) = (left, top);
    for (index, name) in names.iter().enumerate() {
        let needed = 22.0 + LETTER * name.chars().count() as f64;
        if x + needed > left + width && x > left {
            (x, y) = (left, y + 14.0);
        }
        let colour = COLOURS[index % COLOURS.len()];
        rectangle(out, Frame { x, y: y - 9.0, width: 10.0, height: 10.0 }, colour);
        text(out, (x + 14.0, y), "start", "font-size=\"11\"", name);
        x += needed;
    }
    if paper {
        draw_paper(out, (x, 10.0), y - 4.0);
        text(out, (x + 14.0, y), "start", "font-size=\"11\"", "the paper");
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
    for (index, series) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let at: Vec<(f64, f64)> = series.points.iter().map(|&(px, py)| (x(px), scale.y(py))).collect();
        let width = match series.style {
            LineStyle::Thin => Some(1.5),
            LineStyle::Bold => Some(3.0),
            LineStyle::Marks | LineStyle::Dots => None,
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
}

fn draw_bars(out: &mut String, groups: &[String], series: &[Bars], stacked: bool, scale: &Scale) {
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
                text(out, (x, y), "start", &turn, &format!("{value:.2}"));
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
        if tilt {
            let turn = format!("transform=\"rotate(-24 {x:.1} {y:.1})\" font-size=\"10\"");
            text(out, (x + 8.0, y), "end", &turn, name);
        } else {
            text(out, (x, y), "middle", "", name);
        }
    }
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
