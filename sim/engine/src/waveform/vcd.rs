//! Waveforms as value change dumps, which every viewer reads.

use std::io::{self, Write};

use vcd::{IdCode, SimulationCommand, TimescaleUnit, VarType, Writer};

use super::{Format, SignalNumber};

/// A value change dump.
pub struct Vcd<W: Write> {
    writer: Writer<W>,
    signals: Vec<Signal>,
    times: Times,
    /// A line that is being made: digit by digit through the formatting machinery would take most of the time.
    line: Vec<u8>,
}

struct Signal {
    width: u32,
    /// What ends the lines of its changes.
    code: Box<[u8]>,
}

/// How many times there have been: the changes of the first are in brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    None,
    One,
    Several,
}

impl<W: Write> Vcd<W> {
    /// Writes to `output`, line by line: a buffer pays.
    pub fn new(output: W) -> Vcd<W> {
        Vcd { writer: Writer::new(output), signals: Vec::new(), times: Times::None, line: Vec::new() }
    }

    /// The changes at the first time end.
    fn end_first(&mut self) -> io::Result<()> {
        if self.times == Times::One {
            self.writer.end()?;
            self.times = Times::Several;
        }
        Ok(())
    }
}

impl<W: Write> Format for Vcd<W> {
    fn enter_scope(&mut self, name: &str) -> io::Result<()> {
        if self.signals.is_empty() {
            self.writer.timescale(1, TimescaleUnit::NS)?;
        }
        self.writer.add_module(name)
    }

    fn leave_scope(&mut self) -> io::Result<()> {
        self.writer.upscope()
    }

    fn declare(&mut self, name: &str, width: u32, signal: SignalNumber) -> io::Result<()> {
        let code = IdCode::from(signal.0);
        if signal.index() == self.signals.len() {
            self.signals.push(Signal { width, code: code.to_string().into_bytes().into() });
        }
        self.writer.var_def(VarType::Wire, width, code, name, None)
    }

    fn end_declarations(&mut self) -> io::Result<()> {
        self.writer.enddefinitions()
    }

    fn time(&mut self, nanoseconds: u64) -> io::Result<()> {
        self.end_first()?;
        self.writer.timestamp(nanoseconds)?;
        if self.times == Times::None {
            self.writer.begin(SimulationCommand::Dumpvars)?;
            self.times = Times::One;
        }
        Ok(())
    }

    fn change(&mut self, signal: SignalNumber, words: &[u64]) -> io::Result<()> {
        let Signal { width, code } = &self.signals[signal.index()];
        self.line.clear();
        if *width > 1 {
            self.line.push(b'b');
        }
        push_digits(words, &mut self.line);
        if *width > 1 {
            self.line.push(b' ');
        }
        self.line.extend_from_slice(code);
        self.line.push(b'\n');
        self.writer.writer().write_all(&self.line)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end_first()?;
        self.writer.flush()
    }
}

/// Binary digits from the highest 1 on, which the format lets stand for the whole value; `0` of zero.
fn push_digits(words: &[u64], line: &mut Vec<u8>) {
    let highest = words.iter().rposition(|word| *word != 0).unwrap_or(0);
    let mut bits = 64 - (words[highest] | 1).leading_zeros();
    for word in words[..=highest].iter().rev() {
        line.extend((0..bits).rev().map(|bit| b'0' + (word >> bit & 1) as u8));
        bits = 64;
    }
}
