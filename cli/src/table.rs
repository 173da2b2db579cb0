//! Aligned text tables.

/// Which side of its column a cell keeps to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Space between columns.
const GAP: &str = "  ";

/// Rows as lines, each column as wide as its widest cell; the last alignment holds for all further columns.
pub fn lines(rows: &[Vec<String>], align: &[Align]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    rows.iter().map(|row| line(row, &widths, align)).collect()
}

fn line(row: &[String], widths: &[usize], align: &[Align]) -> String {
    let cells: Vec<String> = row
        .iter()
        .enumerate()
        .map(|(column, cell)| {
            let space = " ".repeat(widths[column] - width(cell));
            match align.get(column).or(align.last()) {
                Some(Align::Right) => space + cell,
                Some(Align::Left) | None => cell.clone() + &space,
            }
        })
        .collect();
    format!("{}\n", cells.join(GAP).trim_end())
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

/// A count with its thousands apart: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["cycles".to_owned(), "1,200".to_owned()], vec!["IPC".to_owned(), "0.5".to_owned()]];
        assert_eq!(lines(&rows, &[Align::Left, Align::Right]), "cycles  1,200\nIPC       0.5\n");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
