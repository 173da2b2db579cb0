//! Ratios as a map of colours: 1 is white, less is blue, more is orange.

use super::{Frame, LETTER, RIGHT, UPRIGHT_LETTER, rectangle, text};
use crate::figures::chart::Ratios;

/// Height of a row.
const ROW: f64 = 15.0;
/// Room below the rows.
const BELOW: f64 = 14.0;
/// Between names and what they are of.
const GAP: f64 = 6.0;
/// Width that a number needs.
const NUMBER: f64 = 30.0;
/// Red, green and blue of what is less than 1, and of what is more: two that colour-blind readers can tell apart.
const LESS: [f64; 3] = [0.0, 114.0, 178.0];
const MORE: [f64; 3] = [213.0, 94.0, 0.0];
/// What there is no ratio of.
const NONE: &str = "#eee";
/// From how full a blue on numbers are white; on orange dark ones are easier to read.
const DARK: f64 = 0.9;

/// Height that a map needs.
pub(super) fn height(ratios: &Ratios) -> f64 {
    names_height(ratios) + ROW * ratios.rows.len() as f64 + BELOW
}

/// Draws one: names of the columns above, upright; numbers where there is room.
pub(super) fn draw(out: &mut String, ratios: &Ratios, (left, top): (f64, f64), width: f64) {
    let first = left + GAP + LETTER * longest(&ratios.rows) + GAP;
    let column = (left + width - RIGHT - first) / ratios.columns.len().max(1) as f64;
    let top = top + names_height(ratios);
    for (index, name) in ratios.columns.iter().enumerate() {
        let (x, y) = (first + column * (index as f64 + 0.5) + 4.0, top - GAP);
        text(
            out,
            (x, y),
            "start",
            &format!("transform=\"rotate(-90 {x:.1} {y:.1})\" font-size=\"11\""),
            name,
        );
    }
    for (index, (name, values)) in ratios.rows.iter().zip(&ratios.values).enumerate() {
        let y = top + ROW * index as f64;
        text(out, (first - GAP, y + 11.0), "end", "font-size=\"11\"", name);
        for (place, &value) in values.iter().enumerate() {
            let x = first + column * place as f64;
            let cell = Frame { x, y, width: column - 1.0, height: ROW - 1.0 };
            let Some(ratio) = value.map(rounded) else {
                rectangle(out, cell, NONE);
                continue;
            };
            let share = share(ratio, ratios.full);
            rectangle(out, cell, &colour(share));
            if column >= NUMBER {
                let ink = if share < -DARK { " fill=\"#fff\"" } else { "" };
                let place = (x + (column - 1.0) / 2.0, y + 11.0);
                text(out, place, "middle", &format!("font-size=\"10\"{ink}"), &format!("{ratio:.3}"));
            }
        }
    }
}

/// Room for the names of the columns.
fn names_height(ratios: &Ratios) -> f64 {
    GAP + (UPRIGHT_LETTER + 0.4) * longest(&ratios.columns) + GAP
}

/// Letters of the longest name.
fn longest(names: &[String]) -> f64 {
    names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64
}

/// A ratio as it is written: what looks the same has the same colour.
fn rounded(ratio: f64) -> f64 {
    (1000.0 * ratio).round() / 1000.0
}

/// How full the colour of a ratio is, -1 to 1: as far from 0 as that of its inverse.
fn share(ratio: f64, full: f64) -> f64 {
    (ratio.ln() / full.ln()).clamp(-1.0, 1.0)
}

/// A colour that is so full.
fn colour(share: f64) -> String {
    let target = if share < 0.0 { LESS } else { MORE };
    let [red, green, blue] = target.map(|part| 255.0 + (part - 255.0) * share.abs());
    format!("#{:02x}{:02x}{:02x}", red.round() as u8, green.round() as u8, blue.round() as u8)
}

#[cfg(test)]
mod tests {
    use super::{LESS, MORE, colour, draw, height, share};
    use crate::figures::chart::Ratios;

    fn hex([red, green, blue]: [f64; 3]) -> String {
        format!("#{:02x}{:02x}{:02x}", red as u8, green as u8, blue as u8)
    }

    #[test]
    fn one_is_white_and_a_ratio_is_as_full_as_its_inverse() {
        let of = |ratio| colour(share(ratio, 1.5));
        assert_eq!((of(1.0), of(1.5), of(0.1)), ("#ffffff".to_owned(), hex(MORE), hex(LESS)));
        assert!((share(1.2, 1.5) + share(1.0 / 1.2, 1.5)).abs() < 1e-12);
    }

    /// Where a text stands.
    fn place(drawn: &str, written: &str) -> (f64, f64) {
        let found: Vec<&str> =
            drawn.lines().filter(|line| line.ends_with(&format!(">{written}</text>"))).collect();
        let [line] = found[..] else { panic!("{written}: {found:?}") };
        let number = |name: &str| -> f64 {
            let rest = line.split_once(&format!(" {name}=\"")).expect("an attribute").1;
            rest.split_once('"').expect("its end").0.parse().expect("a number")
        };
        (number("x"), number("y"))
    }

    #[test]
    fn every_ratio_is_written_in_its_row_and_column() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let ratios = Ratios {
            rows: names(&["rfc", "regless"]),
            columns: names(&["one", "other"]),
            values: vec![vec![Some(0.5), None], vec![Some(1.0004), Some(2.0)]],
            full: 1.5,
        };
        let mut out = String::new();
        draw(&mut out, &ratios, (0.0, 10.0), 400.0);
        for (written, row, column) in
            [("0.500", "rfc", "one"), ("1.000", "regless", "one"), ("2.000", "regless", "other")]
        {
            let (x, y) = place(&out, written);
            assert_eq!(y, place(&out, row).1, "{written}");
            assert!((x - place(&out, column).0).abs() < 10.0, "{written}: {out}");
        }
        assert_eq!(out.matches("<rect").count(), 4, "one that is not there has a place too");
        assert_eq!(out.matches("fill=\"#fff\"").count(), 1, "on full blue");
        let mut narrow = String::new();
        draw(&mut narrow, &ratios, (0.0, 10.0), 100.0);
        assert!(!narrow.contains("0.500"), "no room for numbers");
        assert!(height(&ratios) > 2.0 * super::ROW);
    }
}
