//! Waveforms: circuits as scopes; ports, named signals and registers as wires; in any [`Format`].
//!
//! A cycle takes [`PERIOD_NS`]: the clock rises as it begins, together with the values it settles to, and
//! falls halfway. Qualified outputs are written as they are, meaningful or not. Signals that are one value under several
//! names, as a port and what it is connected to, are written once.

mod fst;
mod vcd;

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use thiserror::Error;

use crate::plan::{OutPort, Plan};
use crate::{Engine, EngineError, is_within};

pub use fst::Fst;
pub use vcd::Vcd;

/// Length of a cycle in a waveform, in nanoseconds.
pub const PERIOD_NS: u64 = 10;

/// A format that waveforms are written in. Scopes and signals are declared first; then come times, each with the changes at
/// that time.
pub trait Format {
    /// Begins a scope within the current one.
    fn enter_scope(&mut self, name: &str) -> io::Result<()>;

    /// Ends the current scope.
    fn leave_scope(&mut self) -> io::Result<()>;

    /// Declares a signal of `width` bits in the current scope. It is either the next new one, numbered from 0, or has the
    /// number of one of the same width that was declared before, whose values are then its own.
    fn declare(&mut self, name: &str, width: u32, signal: SignalNumber) -> io::Result<()>;

    /// Everything is declared.
    fn end_declarations(&mut self) -> io::Result<()>;

    /// Later than the time before, in nanoseconds. At the first time every signal has a change; the last, after which none
    /// follows, is the end of the waveform. There are none at all if nothing has been recorded.
    fn time(&mut self, nanoseconds: u64) -> io::Result<()>;

    /// The value of a signal from the current time on: 64-bit words, lowest first, with nothing above its width.
    fn change(&mut self, signal: SignalNumber, words: &[u64]) -> io::Result<()>;

    /// Nothing follows. What has been written is complete, and flushed.
    fn finish(&mut self) -> io::Result<()>;
}

/// Number of a signal in a waveform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalNumber(u32);

impl SignalNumber {
    /// From 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveformOptions {
    /// Only this circuit and those below, by path; empty for all.
    pub scope: String,
    /// Only these cycles.
    pub cycles: Range<u64>,
}

impl Default for WaveformOptions {
    /// Everything.
    fn default() -> WaveformOptions {
        WaveformOptions { scope: String::new(), cycles: 0..u64::MAX }
    }
}

/// Why a waveform could not be written.
#[derive(Debug, Error)]
pub enum WaveformError {
    /// The circuit has no such scope.
    #[error(transparent)]
    Scope(#[from] EngineError),
    /// Writing failed.
    #[error("cannot write the waveform: {0}")]
    Io(#[from] io::Error),
}

/// Writes the cycles of an engine, or of several that step together, changes only.
pub struct WaveformRecorder<'f> {
    format: Box<dyn Format + 'f>,
    cycles: Range<u64>,
    signals: Vec<Recorded>,
    /// Values last written, all signals one after the other.
    last: Vec<u64>,
    /// The cycle last written and its reset.
    written: Option<(u64, bool)>,
}

/// A value that is written, under as many names as it has.
struct Recorded {
    /// Which of the engines.
    engine: usize,
    value: OutPort,
}

const CLOCK: SignalNumber = SignalNumber(0);
const RESET: SignalNumber = SignalNumber(1);
/// Number of the first signal of an engine.
const FIRST: u32 = 2;

impl<'f> WaveformRecorder<'f> {
    /// Declares all signals. What can be recorded is what the engine observes.
    ///
    /// # Errors
    /// There is no such scope, or writing fails.
    pub fn new(
        engine: &dyn Engine,
        options: &WaveformOptions,
        format: Box<dyn Format + 'f>,
    ) -> Result<WaveformRecorder<'f>, WaveformError> {
        let plan = engine.state().plan();
        if !plan.scopes.iter().any(|scope| scope.path == options.scope) {
            let paths = plan.scopes.iter().map(|scope| scope.path.as_str());
            let paths = paths.filter(|path| !path.is_empty());
            return Err(EngineError::unknown("scope", &options.scope, &plan.circuit, paths).into());
        }
        let mut header = Header::new(&plan.scopes[0].name, format)?;
        header.declare(0, plan, &options.scope, 0)?;
        header.finish(&[engine], options)
    }

    /// As [`new`](WaveformRecorder::new) for circuits that step together: each is a scope of its own name below
    /// `top`, and paths of scopes begin with that name.
    ///
    /// # Errors
    /// As `new`.
    pub fn together(
        top: &str,
        circuits: &[(&str, &dyn Engine)],
        options: &WaveformOptions,
        format: Box<dyn Format + 'f>,
    ) -> Result<WaveformRecorder<'f>, WaveformError> {
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
        let mut header = Header::new(top, format)?;
        for (index, (name, engine)) in circuits.iter().enumerate() {
            if wanted.is_empty() || *name == wanted {
                header.format.enter_scope(name)?;
                header.declare(index, engine.state().plan(), inner, 0)?;
                header.format.leave_scope()?;
            }
        }
        let engines: Vec<&dyn Engine> = circuits.iter().map(|(_, engine)| *engine).collect();
        header.finish(&engines, options)
    }

    /// Writes the cycle just stepped, if it is among those to record.
    pub fn record(&mut self, engine: &dyn Engine) -> io::Result<()> {
        self.record_together(&[engine])
    }

    /// As [`record`](WaveformRecorder::record), for the engines given at the start, in the same order. The first
    /// says which cycle it is and whether it is one of reset.
    pub fn record_together(&mut self, engines: &[&dyn Engine]) -> io::Result<()> {
        let Some(first) = engines.first() else {
            return Ok(());
        };
        let Some(cycle) = first.cycle().checked_sub(1).filter(|cycle| self.cycles.contains(cycle)) else {
            return Ok(());
        };
        let reset = first.state().is_reset();
        self.format.time(cycle * PERIOD_NS)?;
        self.format.change(CLOCK, &[1])?;
        if self.written.is_none_or(|(_, before)| before != reset) {
            self.format.change(RESET, &[u64::from(reset)])?;
        }
        let mut last = self.last.as_mut_slice();
        for (number, signal) in (FIRST..).zip(&self.signals) {
            let words = engines[signal.engine].get_words(signal.value);
            let (before, rest) = last.split_at_mut(words.len());
            last = rest;
            if self.written.is_none() || before != words {
                before.copy_from_slice(words);
                self.format.change(SignalNumber(number), words)?;
            }
        }
        self.format.time(cycle * PERIOD_NS + PERIOD_NS / 2)?;
        self.format.change(CLOCK, &[0])?;
        self.written = Some((cycle, reset));
        Ok(())
    }

    /// Ends the last cycle and flushes.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some((cycle, _)) = self.written {
            self.format.time((cycle + 1) * PERIOD_NS)?;
        }
        self.format.finish()
    }
}

/// A waveform before its first cycle.
struct Header<'f> {
    format: Box<dyn Format + 'f>,
    signals: Vec<Recorded>,
    /// Numbers of values, by engine, first word and width.
    numbers: HashMap<(usize, u32, u32), SignalNumber>,
}

impl<'f> Header<'f> {
    fn new(top: &str, mut format: Box<dyn Format + 'f>) -> io::Result<Header<'f>> {
        format.enter_scope(top)?;
        format.declare("clk_i", 1, CLOCK)?;
        format.declare("rst_i", 1, RESET)?;
        Ok(Header { format, signals: Vec::new(), numbers: HashMap::new() })
    }

    /// Declares the signals of a circuit that are in what is wanted, then the circuits in it.
    fn declare(&mut self, engine: usize, plan: &Plan, wanted: &str, scope: usize) -> io::Result<()> {
        if is_within(&plan.scopes[scope].path, wanted) {
            for signal in plan.signals.iter().filter(|signal| signal.scope == scope) {
                let number = self.number(engine, signal.value);
                self.format.declare(&signal.name, signal.value.width, number)?;
            }
        }
        for (child, inner) in plan.scopes.iter().enumerate().filter(|(_, inner)| inner.parent == Some(scope))
        {
            if is_within(&inner.path, wanted) || is_within(wanted, &inner.path) {
                self.format.enter_scope(&inner.name)?;
                self.declare(engine, plan, wanted, child)?;
                self.format.leave_scope()?;
            }
        }
        Ok(())
    }

    /// The number of a value, a new one if it has not been named before.
    fn number(&mut self, engine: usize, value: OutPort) -> SignalNumber {
        let signals = &mut self.signals;
        *self.numbers.entry((engine, value.offset, value.width)).or_insert_with(|| {
            signals.push(Recorded { engine, value });
            SignalNumber(FIRST + signals.len() as u32 - 1)
        })
    }

    fn finish(
        mut self,
        engines: &[&dyn Engine],
        options: &WaveformOptions,
    ) -> Result<WaveformRecorder<'f>, WaveformError> {
        self.format.leave_scope()?;
        self.format.end_declarations()?;
        let words =
            self.signals.iter().map(|signal| engines[signal.engine].get_words(signal.value).len()).sum();
        Ok(WaveformRecorder {
            format: self.format,
            cycles: options.cycles.clone(),
            signals: self.signals,
            last: vec![0; words],
            written: None,
        })
    }
}
