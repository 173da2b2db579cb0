//! Short waveforms as text, for snapshots.
//!
//! ```text
//! clk_i        ▁▁▔▔▁▁▔▔▁▁▔▔
//! valid_i      ▔▔▔▔▁▁▁▁▁▁▁▁
//! count_o      ═0══╳1══════
//! ```
//!
//! A cycle is as wide as the widest value shown needs. A bus shows its value in hex where it begins and `╳`
//! where it changes; cycles in which a qualified output means nothing are left blank (`═`).

use crate::{Engine, EngineError, OutPort};

/// Runs one cycle per entry of `inputs` and draws the signals of `names` (inputs, outputs or any observed
/// path). An input that an entry does not name is 0 in that cycle.
pub fn waves(
    engine: &mut dyn Engine,
    names: &[&str],
    inputs: &[&[(&str, u64)]],
) -> Result<String, EngineError> {
    let signals = names.iter().map(|name| engine.probe(name)).collect::<Result<Vec<_>, _>>()?;
    let used = inputs.iter().copied().flatten();
    let ports = used.map(|(name, _)| engine.input(name)).collect::<Result<Vec<_>, _>>()?;

    let mut rows = vec![Vec::with_capacity(inputs.len()); names.len()];
    for cycle in inputs {
        ports.iter().for_each(|&port| engine.set(port, 0));
        for (name, value) in *cycle {
            engine.set(engine.input(name)?, *value);
        }
        engine.step();
        for (row, &signal) in rows.iter_mut().zip(&signals) {
            row.push(sample(engine, signal));
        }
    }
    Ok(draw(names, &signals, &rows))
}

/// A value in hex; `None` in a cycle in which it means nothing.
type Sample = Option<String>;

fn sample(engine: &dyn Engine, signal: OutPort) -> Sample {
    engine.is_meaningful(signal).then(|| format!("{:x}", engine.get_big(signal)))
}

fn draw(names: &[&str], signals: &[OutPort], rows: &[Vec<Sample>]) -> String {
    let buses = signals.iter().zip(rows).filter(|(signal, _)| signal.width() > 1);
    let digits = buses.flat_map(|(_, row)| row).flatten().map(String::len).max();
    // A bus needs a column on each side of its digits. Even, so that the clock has two halves.
    let columns = digits.map_or(2, |digits| digits + 2).next_multiple_of(2);
    let margin = names.iter().map(|name| name.chars().count()).chain(["clk_i".len()]).max().unwrap_or(0) + 2;

    let cycles = rows.first().map_or(0, Vec::len);
    let half = columns / 2;
    let clock = format!("{}{}", "▁".repeat(half), "▔".repeat(half)).repeat(cycles);
    let mut lines = vec![format!("{:margin$}{clock}", "clk_i")];
    for ((name, signal), row) in names.iter().zip(signals).zip(rows) {
        let wave = if signal.width() == 1 { draw_bit(row, columns) } else { draw_bus(row, columns) };
        lines.push(format!("{name:margin$}{wave}"));
    }
    lines.join("\n")
}

fn draw_bit(row: &[Sample], columns: usize) -> String {
    let level = |sample: &Sample| match sample.as_deref() {
        Some("0") => "▁",
        Some(_) => "▔",
        None => "═",
    };
    row.iter().map(|sample| level(sample).repeat(columns)).collect()
}

fn draw_bus(row: &[Sample], columns: usize) -> String {
    let mut wave = String::new();
    let mut before: Option<&Sample> = None;
    for sample in row {
        let changed = before != Some(sample);
        let edge = if changed && before.is_some() { '╳' } else { '═' };
        let text = sample.as_deref().filter(|_| changed).unwrap_or_default();
        wave.push(edge);
        wave.push_str(text);
        wave.push_str(&"═".repeat(columns - 1 - text.len()));
        before = Some(sample);
    }
    wave
}
