//! Which code runs fastest, and where.
//!
//! A processor keeps instructions that it has decoded in sets that follow from their address. Code of a few thousand
//! instructions nearly fills these: at some addresses it runs twice as fast as at others, and nothing says at which. Nor
//! does a number of instructions say what code costs. So several run in turns, and what took the least time goes on, until
//! it is tried again.

use std::time::Duration;

/// How many times as many cycles are run before the first trial as before code is made again.
pub const FIRST_AFTER: u64 = 4;

/// Turns of each code in a trial.
const TURNS: usize = 7;

/// Fewest and most cycles of a turn in which the processor learns, and as many that are timed then. Fewer than three would
/// not come to the edge between cycles that follow each other in one call.
const SHORTEST: u64 = 4;
const LONGEST: u64 = 512;

/// What a clock may not tell from nothing, in seconds.
const NANOSECOND: f64 = 1e-9;

/// Codes that run in turns, by number, and how long that takes.
#[derive(Clone, Debug)]
pub struct Trial {
    /// By code, how long each turn took that it has had.
    times: Vec<Vec<Duration>>,
    /// By code, how many times the time of the fastest it took, summed over the trials so far.
    slowness: Vec<f64>,
    /// The code whose turn it is.
    code: usize,
    /// Cycles that are not timed, and cycles that are, of a turn.
    length: u64,
    /// Cycles left of both.
    left: u64,
    /// How long the timed ones have taken.
    time: Duration,
    /// Cycles until the next trial.
    pause: u64,
}

/// What is to be run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A cycle from which on the code with this number runs.
    Begins(usize),
    /// So many cycles or fewer of the same code.
    GoesOn(u64),
    /// A cycle from which on the fastest code runs, and so many more before there is another trial.
    IsOver { fastest: usize, pause: u64 },
}

impl Trial {
    /// Nothing known yet of so many codes, of a circuit that was compiled again after so many cycles.
    pub fn new(codes: usize, recompiled_after: u64) -> Trial {
        let length = (recompiled_after / 512).clamp(SHORTEST, LONGEST);
        let times = vec![Vec::with_capacity(TURNS); codes];
        Trial {
            times,
            slowness: vec![0.0; codes],
            code: 0,
            length,
            left: 2 * length,
            time: Duration::ZERO,
            pause: recompiled_after.saturating_mul(FIRST_AFTER).max(1),
        }
    }

    /// What is to be run now. A trial that is over begins anew, with twice as many cycles until the one after it.
    pub fn next(&mut self) -> Turn {
        if self.times[self.code].len() == TURNS {
            let (fastest, pause) = (self.fastest(), self.pause);
            self.times.iter_mut().for_each(Vec::clear);
            self.pause = pause.saturating_mul(2);
            return Turn::IsOver { fastest, pause };
        }
        match self.left {
            left if left == 2 * self.length => Turn::Begins(self.code),
            left if left > self.length => Turn::GoesOn(left - self.length),
            left => Turn::GoesOn(left),
        }
    }

    /// Notes that so many cycles took so long.
    pub fn ran(&mut self, cycles: u64, time: Duration) {
        if self.left <= self.length {
            self.time += time;
        }
        self.left -= cycles;
        if self.left == 0 {
            self.times[self.code].push(std::mem::take(&mut self.time));
            self.left = 2 * self.length;
            self.code = (self.code + 1) % self.times.len();
        }
    }

    /// The code that has been the fastest in the trials so far. Of a code's turns the median counts, as what else the machine
    /// does disturbs some of them; it may disturb a whole trial.
    fn fastest(&mut self) -> usize {
        let median =
            |times: &mut Vec<Duration>| times.select_nth_unstable(TURNS / 2).1.as_secs_f64().max(NANOSECOND);
        let medians: Vec<f64> = self.times.iter_mut().map(median).collect();
        let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
        self.slowness.iter_mut().zip(&medians).for_each(|(slowness, median)| *slowness += median / least);
        let codes = self.slowness.iter().enumerate();
        codes.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(code, _)| code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a trial in which a code takes so many nanoseconds a cycle in its so manieth turn; what is said at its end.
    fn run(trial: &mut Trial, time: impl Fn(usize, usize) -> u64) -> Turn {
        let mut turns = vec![0; trial.times.len()];
        let mut code = 0;
        loop {
            let (cycles, nanoseconds) = match trial.next() {
                Turn::Begins(next) => {
                    code = next;
                    turns[code] += 1;
                    (1, 0)
                }
                // Not all at once, as those who step do.
                Turn::GoesOn(left) if trial.left > trial.length => (left.min(100), 1_000_000),
                Turn::GoesOn(left) => (left.min(100), time(code, turns[code])),
                end @ Turn::IsOver { .. } => {
                    assert!(turns.iter().all(|&turns| turns == TURNS));
                    return end;
                }
            };
            trial.ran(cycles, Duration::from_nanos(nanoseconds * cycles));
        }
    }

    #[test]
    fn the_fastest_code_is_found() {
        for fastest in 0..3 {
            let end = run(&mut Trial::new(3, 1000), |code, _| if code == fastest { 10 } else { 11 });
            assert_eq!(end, Turn::IsOver { fastest, pause: 4000 });
        }
    }

    #[test]
    fn a_disturbed_trial_changes_little_and_several_that_agree_do() {
        let mut trial = Trial::new(2, 1000);
        let mut fastest_of = |times: [u64; 2], pause| {
            let end = run(&mut trial, |code, _| times[code]);
            let Turn::IsOver { fastest, pause: next } = end else { panic!("a trial that ends with {end:?}") };
            assert_eq!(next, pause);
            fastest
        };
        assert_eq!(fastest_of([30, 10], 4000), 1);
        assert_eq!(fastest_of([30, 32], 8000), 1, "disturbed");
        assert_eq!(fastest_of([10, 20], 16_000), 1);
        assert_eq!(fastest_of([10, 20], 32_000), 0, "it is another circuit now");
    }

    #[test]
    fn turns_that_are_disturbed_do_not_count() {
        for disturbed in [0, 1000] {
            let mut trial = Trial::new(2, 1 << 18);
            let time = |code, turn| match (code, turn) {
                (0, turn) if turn % 3 == 0 => disturbed,
                (0, _) => 20,
                _ => 19,
            };
            assert_eq!(run(&mut trial, time), Turn::IsOver { fastest: 1, pause: 1 << 20 });
        }
    }

    #[test]
    fn turns_are_short_where_code_is_made_again_early() {
        assert_eq!(Trial::new(1, 0).length, SHORTEST);
        assert_eq!(Trial::new(1, 1 << 18).length, LONGEST);
    }
}
