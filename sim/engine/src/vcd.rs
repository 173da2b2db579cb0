//! Waveforms as value change dumps: circuits as scopes; ports, named signals and registers as wires.
//!
//! A cycle takes [`PERIOD_NS`]: the clock rises as it begins, together with the values it settles to, and
//! falls halfway. Qualified outputs are written as they are, meaningful or not.

use std::io;
use std::ops::Range;

use thiserror::Error;
use vcd::{IdCode, TimescaleUnit, Value, Writer};

use crate::plan::{OutPort, Plan};
use crate::{Engine, EngineError, is_within};

/// Length of a cycle in the dump, in nanoseconds.
pub const PERIOD_NS: u64 = 10;

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VcdOptions {
    /// Only this circuit and those below, by path; empty for all.
    pub scope: String,
    /// Only these cycles.
    pub cycles: Range<u64>,
}

impl Default for VcdOptions {
    /// Everything.
    fn default() -> VcdOptions {
        VcdOptions { scope: String::new(), cycles: 0..u64::MAX }
    }
}

/// Why a dump could not be written.
#[derive(Debug, Error)]
pub enum VcdError {
    /// The circuit has no such scope.
    #[error(transparent)]
    Scope(#[from] EngineError),
    /// Writing failed.
    #[error("cannot write the waveform: {0}")]
    Io(#[from] io::Error),
}

/// Writes the cycles of an engine to `W`, changes only.
pub struct VcdRecorder<W: io::Write> {
    writer: Writer<W>,
    cycles: Range<u64>,
    clock: IdCode,
    reset: IdCode,
    signals: Vec<Recorded>,
    /// Values last written, all signals one after the other.
    last: Vec<u64>,
    /// The cycle last written and its reset.
    written: Option<(u64, bool)>,
}

struct Recorded {
    id: IdCode,
    value: OutPort,
}

impl<W: io::Write> VcdRecorder<W> {
    /// Writes the header. What can be recorded is what the engine observes.
    pub fn new(engine: &dyn Engine, options: &VcdOptions, output: W) -> Result<VcdRecorder<W>, VcdError> {
        let plan = engine.state().plan();
        if !plan.scopes.iter().any(|scope| scope.path == options.scope) {
            let paths = plan.scopes.iter().map(|scope| scope.path.as_str());
            let paths = paths.filter(|path| !path.is_empty());
            return Err(EngineError::unknown("scope", &options.scope, &plan.circuit, paths).into());
        }
        let mut writer = Writer::new(output);
        writer.timescale(1, TimescaleUnit::NS)?;
        writer.add_module(&plan.scopes[0].name)?;
        let clock = writer.add_wire(1, "clk_i")?;
        let reset = writer.add_wire(1, "rst_i")?;
        let mut signals = Vec::new();
        declare(&mut writer, plan, &options.scope, 0, &mut signals)?;
        writer.upscope()?;
        writer.enddefinitions()?;
        let words = signals.iter().map(|signal| engine.get_words(signal.value).len()).sum();
        let cycles = options.cycles.clone();
        Ok(VcdRecorder { writer, cycles, clock, reset, signals, last: vec![0; words], written: None })
    }

    /// Writes the cycle just stepped, if it is among those to record.
    pub fn record(&mut self, engine: &dyn Engine) -> io::Result<()> {
        let Some(cycle) = engine.cycle().checked_sub(1).filter(|cycle| self.cycles.contains(cycle)) else {
            return Ok(());
        };
        let reset = engine.state().is_reset();
        self.writer.timestamp(cycle * PERIOD_NS)?;
        if self.written.is_none() {
            self.writer.begin(vcd::SimulationCommand::Dumpvars)?;
        }
        self.writer.change_scalar(self.clock, true)?;
        if self.written.is_none_or(|(_, before)| before != reset) {
            self.writer.change_scalar(self.reset, reset)?;
        }
        let mut last = self.last.as_mut_slice();
        for signal in &self.signals {
            let words = engine.get_words(signal.value);
            let (before, rest) = last.split_at_mut(words.len());
            last = rest;
            if self.written.is_none() || before != words {
                before.copy_from_slice(words);
                write_value(&mut self.writer, signal, words)?;
            }
        }
        if self.written.is_none() {
            self.writer.end()?;
        }
        self.writer.timestamp(cycle * PERIOD_NS + PERIOD_NS / 2)?;
        self.writer.change_scalar(self.clock, false)?;
        self.written = Some((cycle, reset));
        Ok(())
    }

    /// Ends the last cycle and flushes.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some((cycle, _)) = self.written {
            self.writer.timestamp((cycle + 1) * PERIOD_NS)?;
        }
        self.writer.flush()
    }
}

/// Declares the signals of a circuit, then the circuits in it.
fn declare<W: io::Write>(
    writer: &mut Writer<W>,
    plan: &Plan,
    wanted: &str,
    scope: usize,
    signals: &mut Vec<Recorded>,
) -> io::Result<()> {
    if is_within(&plan.scopes[scope].path, wanted) {
        for signal in plan.signals.iter().filter(|signal| signal.scope == scope) {
            let id = writer.add_wire(signal.value.width(), &signal.name)?;
            signals.push(Recorded { id, value: signal.value });
        }
    }
    for (child, inner) in plan.scopes.iter().enumerate().filter(|(_, inner)| inner.parent == Some(scope)) {
        if is_within(&inner.path, wanted) || is_within(wanted, &inner.path) {
            writer.add_module(&inner.name)?;
            declare(writer, plan, wanted, child, signals)?;
            writer.upscope()?;
        }
    }
    Ok(())
}

fn write_value<W: io::Write>(writer: &mut Writer<W>, signal: &Recorded, words: &[u64]) -> io::Result<()> {
    match signal.value.width() {
        1 => writer.change_scalar(signal.id, words[0] == 1),
        width => {
            let bits =
                (0..width as usize).rev().map(|bit| Value::from(words[bit / 64] >> (bit % 64) & 1 == 1));
            writer.change_vector(signal.id, bits)
        }
    }
}
