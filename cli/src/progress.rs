//! Progress on the terminal, for whatever takes longer than a second.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpfile_kernels::program::{
    BlockIndex, Launch, Launches, Program, Races, Stream, StreamError, WarpInstruction,
};

use crate::table::count;

mod estimate;

pub use estimate::{Estimate, left_of_run};

/// What ends sooner shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lines that say how far things are that go on at the same time, one below the other.
pub struct Meters(MultiProgress);

impl Meters {
    /// No lines yet.
    pub fn new() -> Meters {
        Meters(MultiProgress::with_draw_target(ProgressDrawTarget::stderr()))
    }

    /// A line of its own, until it is dropped.
    pub fn meter(&self, label: &str) -> Meter {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        let lines = self.0.clone();
        Meter {
            lines,
            bar,
            label: label.to_owned(),
            started: Instant::now(),
            shown: false,
            told: String::new(),
        }
    }
}

/// A line that says how far something is; nothing where standard error is no terminal.
pub struct Meter {
    lines: MultiProgress,
    bar: ProgressBar,
    label: String,
    started: Instant,
    shown: bool,
    /// What has been printed last where there is no terminal.
    told: String,
}

impl Meter {
    /// The only line there is; starts the clock.
    pub fn new(label: &str) -> Meter {
        Meters::new().meter(label)
    }

    /// How far it is.
    pub fn update(&mut self, state: impl FnOnce() -> String) {
        if !self.shown && self.started.elapsed() >= PATIENCE {
            self.bar = self.lines.add(self.bar.clone());
            self.shown = true;
        }
        if self.shown {
            self.bar.set_message(format!("{}: {}", self.label, state()));
        }
    }

    /// How far it is; where standard error is no terminal a line whenever that has changed.
    pub fn tell(&mut self, state: impl FnOnce() -> String) {
        if io::stderr().is_terminal() {
            return self.update(state);
        }
        let state = state();
        if state != self.told {
            eprintln!("{}: {state}", self.label);
            self.told = state;
        }
    }

    /// Prints a line that stays, above those that change.
    pub fn say(&self, line: &str) {
        self.lines.suspend(|| eprintln!("{line}"));
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.lines.remove(&self.bar);
    }
}

/// `, about 3 min 20 s left`; nothing where there is no estimate.
pub fn about_left(left: Option<Duration>) -> String {
    left.map_or_else(String::new, |left| format!(", about {} left", duration(left)))
}

/// `2 h 5 min`, `3 min 20 s`, `7 s`.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// Launches whose progress is shown.
pub struct Watched<'a> {
    launches: &'a mut dyn Launches,
    meter: Meter,
    opened: u64,
}

impl<'a> Watched<'a> {
    /// Shows how far `launches` are.
    pub fn new(launches: &'a mut dyn Launches, label: &str) -> Watched<'a> {
        Watched { launches, meter: Meter::new(label), opened: 0 }
    }
}

impl Launches for Watched<'_> {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        self.opened += 1;
        let stream = self.launches.next_launch()?;
        let (meter, number) = (&mut self.meter, self.opened);
        Ok(stream.map(|stream| -> Box<dyn Stream + '_> { Box::new(WatchedStream { stream, meter, number }) }))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        self.launches.has_values()
    }
}

struct WatchedStream<'a> {
    stream: Box<dyn Stream + 'a>,
    meter: &'a mut Meter,
    /// Of the launch, from 1.
    number: u64,
}

impl Stream for WatchedStream<'_> {
    fn program(&self) -> &Program {
        self.stream.program()
    }

    fn launch(&self) -> &Launch {
        self.stream.launch()
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        let blocks = self.stream.launch().blocks();
        let number = self.number;
        self.meter.update(|| format!("launch {number}, block {} of {}", count(block + 1), count(blocks)));
        self.stream.start_block(block)
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        self.stream.next(block, warp, into)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.stream.finish_block(block);
    }

    fn races(&mut self) -> Result<Option<Arc<Races>>, StreamError> {
        self.stream.races()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let shown = [0, 59, 61, 3600, 90061].map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(shown, ["0 s", "59 s", "1 min 1 s", "1 h 0 min", "25 h 1 min"]);
    }

    #[test]
    fn without_an_estimate_nothing_is_said_of_time() {
        assert_eq!(about_left(None), "");
        assert_eq!(about_left(Some(Duration::from_secs(75))), ", about 1 min 15 s left");
    }
}
