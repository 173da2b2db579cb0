//! SAIF 2.0: how long every net was 0 and 1 and how often it changed, for other tools.
//!
//! Names are those of the mapped Verilog; one bit of a vector is `name\[3\]`, hierarchy as in the netlist. Times are in
//! ps. The clock changes twice a cycle.

use std::collections::BTreeMap;
use std::fmt::Write;

use thiserror::Error;

use crate::activity::Activity;
use crate::gates::{Gates, Net, Scope};

/// What a file says of one net.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetActivity {
    /// Time at 0, ps.
    pub zero: u64,
    /// Time at 1, ps.
    pub one: u64,
    /// Time unknown, ps.
    pub unknown: u64,
    /// Changes.
    pub toggles: u64,
}

/// A file, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saif {
    /// Length, ps.
    pub duration: u64,
    /// By path: `top/queue/count_q[3]`.
    pub nets: BTreeMap<String, NetActivity>,
}

/// A text that is no SAIF as it is written here.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}: {problem}")]
pub struct SaifError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// The activity of a circuit whose clock has a period of `period_ps` ps, even so that it has halves.
pub fn write(gates: &Gates<'_>, activity: &Activity, period_ps: u64) -> String {
    let mut text = format!(
        "(SAIFILE\n(SAIFVERSION \"2.0\")\n(DIRECTION \"backward\")\n(DESIGN \"{0}\")\n(DIVIDER / )\n\
         (TIMESCALE 1 ps)\n(DURATION {1})\n",
        gates.scope.name,
        activity.cycles * period_ps
    );
    let clock = gates.inputs.get("clk_i").map(|nets| nets[0]);
    let writer = Writer { activity, clock, period_ps };
    writer.scope(&gates.scope, &mut text);
    text += ")\n";
    text
}

struct Writer<'a> {
    activity: &'a Activity,
    clock: Option<Net>,
    period_ps: u64,
}

impl Writer<'_> {
    fn scope(&self, scope: &Scope, text: &mut String) {
        let _ = writeln!(text, "(INSTANCE {}\n(NET", escaped(&scope.name));
        for (name, nets) in &scope.nets {
            for (bit, &net) in nets.iter().enumerate() {
                let index = if nets.len() == 1 { String::new() } else { format!("\\[{bit}\\]") };
                let of = self.net(net);
                let _ = writeln!(
                    text,
                    "({}{index} (T0 {}) (T1 {}) (TX {}) (TC {}) (IG 0))",
                    escaped(name),
                    of.zero,
                    of.one,
                    of.unknown,
                    of.toggles
                );
            }
        }
        *text += ")\n";
        scope.scopes.iter().for_each(|inner| self.scope(inner, text));
        *text += ")\n";
    }

    fn net(&self, net: Net) -> NetActivity {
        let duration = self.activity.cycles * self.period_ps;
        if Some(net) == self.clock {
            let half = duration / 2;
            return NetActivity {
                zero: duration - half,
                one: half,
                unknown: 0,
                toggles: 2 * self.activity.cycles,
            };
        }
        let one = self.activity.ones[net as usize] * self.period_ps;
        let toggles = self.activity.toggles[net as usize];
        NetActivity { zero: duration - one, one, unknown: 0, toggles }
    }
}

/// Everything but letters, digits and underscores behind a backslash.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for character in name.chars() {
        if !character.is_ascii_alphanumeric() && character != '_' {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// Reads what [`write()`] writes.
pub fn read(text: &str) -> Result<Saif, SaifError> {
    let mut saif = Saif::default();
    let mut path: Vec<String> = Vec::new();
    let mut in_nets = false;
    for (index, line) in text.lines().enumerate() {
        let error = |problem: &str| SaifError { line: index + 1, problem: format!("{problem}: `{line}`") };
        let words: Vec<&str> = line.split([' ', '(', ')']).filter(|word| !word.is_empty()).collect();
        match (&words[..], in_nets) {
            (["DURATION", duration], _) => {
                saif.duration = duration.parse().map_err(|_| error("no whole number"))?;
            }
            (["INSTANCE", name], _) => path.push(unescaped(name)),
            (["NET"], _) => in_nets = true,
            ([], true) => in_nets = false,
            ([], false) => drop(path.pop()),
            ([name, "T0", zero, "T1", one, "TX", unknown, "TC", toggles, "IG", _], true) => {
                let number = |text: &str| text.parse().map_err(|_| error("no whole number"));
                let net = NetActivity {
                    zero: number(zero)?,
                    one: number(one)?,
                    unknown: number(unknown)?,
                    toggles: number(toggles)?,
                };
                saif.nets.insert(format!("{}/{}", path.join("/"), unescaped(name)), net);
            }
            (["SAIFILE" | "SAIFVERSION" | "DIRECTION" | "DESIGN" | "DIVIDER" | "TIMESCALE", ..], false) => {}
            (_, _) => return Err(error("not understood")),
        }
    }
    Ok(saif)
}

fn unescaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        text.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    text
}
