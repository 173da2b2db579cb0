//! Which code runs fastest, and where.
//!
//! A processor keeps instructions that it has decoded in sets that follow from their address. Code of a few thousand
//! instructions nearly fills these: at some addresses it runs twice as fast as at others, and nothing says at which. Nor
//! does a number of instructions say what code costs. So several run in turns, and what took the least time goes on.

use std::time::Duration;

/// Turns of each code.
const TURNS: usize = 9;

/// Most cycles of a turn in which the processor learns, and as many that are timed then.
const LONGEST: u64 = 512;

/// Codes that run in turns, by number, and how long that takes.
#[derive(Clone, Debug)]
pub struct Trial {
    /// By code, how long each turn took that it has had.
    times: Vec<Vec<Duration>>,
    /// The code whose turn it is.
    code: usize,
    /// Cycles that are not timed, and cycles that are, of a turn.
    length: u64,
    /// Cycles left of both.
    left: u64,
    /// How long the timed ones have taken.
    time: Duration,
}

impl Trial {
    /// Nothing known yet of so many codes, of a circuit that was compiled again after so many cycles.
    pub fn new(codes: usize, recompiled_after: u64) -> Trial {
        let length = (recompiled_after / 512).clamp(1, LONGEST);
        let times = vec![Vec::with_capacity(TURNS); codes];
        Trial { times, code: 0, length, left: 2 * length, time: Duration::ZERO }
    }

    /// The code whose turn begins, if one does.
    pub fn begins(&self) -> Option<usize> {
        (self.left == 2 * self.length).then_some(self.code)
    }

    /// How many cycles to run next at most.
    pub fn cycles(&self) -> u64 {
        if self.left > self.length { self.left - self.length } else { self.left }
    }

    /// Notes that so many cycles took so long; says which code was the fastest when all have had their turns.
    pub fn ran(&mut self, cycles: u64, time: Duration) -> Option<usize> {
        if self.left <= self.length {
            self.time += time;
        }
        self.left -= cycles;
        if self.left > 0 {
            return None;
        }
        self.times[self.code].push(std::mem::take(&mut self.time));
        self.left = 2 * self.length;
        self.code = (self.code + 1) % self.times.len();
        (self.times[self.code].len() == TURNS).then(|| self.fastest())
    }

    /// The code whose turns took the least time in the median: what else the machine does disturbs some of them.
    fn fastest(&mut self) -> usize {
        let median = |times: &mut Vec<Duration>| *times.select_nth_unstable(TURNS / 2).1;
        let medians: Vec<Duration> = self.times.iter_mut().map(median).collect();
        let fastest = medians.iter().enumerate().min_by_key(|&(_, time)| time);
        fastest.map_or(0, |(code, _)| code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a trial in which a code takes so many nanoseconds in its so manieth turn; what is said at its end.
    fn fastest(codes: usize, time: impl Fn(usize, usize) -> u64) -> usize {
        let mut trial = Trial::new(codes, 1 << 18);
        let mut turns = vec![0; codes];
        let mut code = 0;
        loop {
            if let Some(next) = trial.begins() {
                code = next;
                turns[code] += 1;
            }
            // Not all at once, as those who step do.
            let cycles = trial.cycles().min(100);
            let is_learning = trial.left > trial.length;
            let nanoseconds = if is_learning { 1_000_000 } else { time(code, turns[code]) };
            if let Some(fastest) = trial.ran(cycles, Duration::from_nanos(nanoseconds * cycles)) {
                assert!(turns.iter().all(|&turns| turns == TURNS));
                return fastest;
            }
        }
    }

    #[test]
    fn the_fastest_code_is_found() {
        for code in 0..3 {
            assert_eq!(fastest(3, |tried, _| if tried == code { 10 } else { 11 }), code);
        }
        assert_eq!(fastest(1, |_, _| 1), 0);
    }

    #[test]
    fn turns_that_are_disturbed_do_not_count() {
        assert_eq!(
            fastest(2, |code, turn| if code == 1 && turn % 3 == 0 { 1000 } else { 20 - code as u64 }),
            1
        );
        assert_eq!(fastest(2, |code, turn| if code == 0 && turn % 3 == 0 { 0 } else { 20 - code as u64 }), 1);
    }
}
