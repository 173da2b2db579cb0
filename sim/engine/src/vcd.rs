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

/// Writes the cycles of an engine, or of several that step together, to `W`, changes only.
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
    /// Which of the engines.
    engine: usize,
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
        let mut header = Header::new(&plan.scopes[0].name, output)?;
        declare(&mut header, 0, plan, &options.scope, 0)?;
        header.finish(&[engine], options)
    }

    /// As [`new`](VcdRecorder::new) for circuits that step together: each is a scope of its own name below
    /// `top`, and paths of scopes begin with that name.
    pub fn together(
        top: &str,
        circuits: &[(&str, &dyn Engine)],
        options: &VcdOptions,
        output: W,
    ) -> Result<VcdRecorder<W>, VcdError> {
        let (wanted, inner) = options.scope.split_once('.').unwrap_or((&options.scope, ""));
        let known = |(name, engine): &(&str, &dyn Engine)| {
            *name == wanted && engine.state().plan().scopes.iter().any(|scope| scope.path == inner)
        };
        if !wanted.is_empty() && !circuits.iter().any(known) {
            let paths = circuits.iter().flat_map(|(name, engine)| {
                engine.state().plan().scopes.iter().map(move |scope| match scope.path.as_str() {
                    "" => (*name).to_owned(),
                    path => format!("{name}.{path}"),
                })
            });
            let paths: Vec<String> = paths.collect();
            return Err(
                EngineError::unknown("scope", &options.scope, top, paths.iter().map(String::as_str)).into()
            );
        }
        let mut header = Header::new(top, output)?;
        for (index, (name, engine)) in circuits.iter().enumerate() {
            if wanted.is_empty() || *name == wanted {
                header.writer.add_module(name)?;
                declare(&mut header, index, engine.state().plan(), inner, 0)?;
                header.writer.upscope()?;
            }
        }
        let engines: Vec<&dyn Engine> = circuits.iter().map(|(_, engine)| *engine).collect();
        header.finish(&engines, options)
    }

    /// Writes the cycle just stepped, if it is among those to record.
    pub fn record(&mut self, engine: &dyn Engine) -> io::Result<()> {
        self.record_together(&[engine])
    }

    /// As [`record`](VcdRecorder::record), for the engines given at the start, in the same order. The first
    /// says which cycle it is and whether it is one of reset.
    pub fn record_together(&mut self, engines: &[&dyn Engine]) -> io::Result<()> {
        let Some(first) = engines.first() else {
            return Ok(());
        };
        let Some(cycle) = first.cycle().checked_sub(1).filter(|cycle| self.cycles.contains(cycle)) else {
            return Ok(());
        };
        let reset = first.state().is_reset();
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
            let words = engines[signal.engine].get_words(signal.value);
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

/// A dump before its first cycle.
struct Header<W: io::Write> {
    writer: Writer<W>,
    clock: IdCode,
    reset: IdCode,
    signals: Vec<Recorded>,
}

impl<W: io::Write> Header<W> {
    fn new(top: &str, output: W) -> io::Result<Header<W>> {
        let mut writer = Writer::new(output);
        writer.timescale(1, TimescaleUnit::NS)?;
        writer.add_module(top)?;
        let clock = writer.add_wire(1, "clk_i")?;
        let reset = writer.add_wire(1, "rst_i")?;
        Ok(Header { writer, clock, reset, signals: Vec::new() })
    }

    fn finish(mut self, engines: &[&dyn Engine], options: &VcdOptions) -> Result<VcdRecorder<W>, VcdError> {
        self.writer.upscope()?;
        self.writer.enddefinitions()?;
        let words =
            self.signals.iter().map(|signal| engines[signal.engine].get_words(signal.value).len()).sum();
        Ok(VcdRecorder {
            writer: self.writer,
            cycles: options.cycles.clone(),
            clock: self.clock,
            reset: self.reset,
            signals: self.signals,
            last: vec![0; words],
            written: None,
        })
    }
}

/// Declares the signals of a circuit, then the circuits in it.
fn declare<W: io::Write>(
    header: &mut Header<W>,
    engine: usize,
    plan: &Plan,
    wanted: &str,
    scope: usize,
) -> io::Result<()> {
    if is_within(&plan.scopes[scope].path, wanted) {
        for signal in plan.signals.iter().filter(|signal| signal.scope == scope) {
            let id = header.writer.add_wire(signal.value.width(), &signal.name)?;
            header.signals.push(Recorded { engine, id, value: signal.value });
        }
    }
    for (child, inner) in plan.scopes.iter().enumerate().filter(|(_, inner)| inner.parent == Some(scope)) {
        if is_within(&inner.path, wanted) || is_within(wanted, &inner.path) {
            header.writer.add_module(&inner.name)?;
            declare(header, engine, plan, wanted, child)?;
            header.writer.upscope()?;
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
