//! How long the turns of a side took.

use serde::Serialize;

/// Turns of one side, all of as many cycles.
#[derive(Clone, Debug)]
pub(super) struct Times {
    cycles: u64,
    nanoseconds: Vec<f64>,
}

/// Rates over the turns of a side.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rates {
    /// Of the median turn.
    pub cycles_per_second: f64,
    /// Of the fastest quarter of turns together.
    pub best_quarter_cycles_per_second: f64,
    /// Slowest over fastest turn.
    pub spread: f64,
}

/// Rates of one side over those of another.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ratios {
    /// Of the medians.
    pub median: f64,
    /// Of the best quarters.
    pub best_quarter: f64,
}

impl Times {
    /// None yet, of turns of so many cycles.
    pub fn of_turns(cycles: u64) -> Times {
        Times { cycles, nanoseconds: Vec::new() }
    }

    /// Adds a turn.
    pub fn push(&mut self, nanoseconds: f64) {
        self.nanoseconds.push(nanoseconds);
    }

    /// Rates over all turns, of which there is one at least.
    pub fn rates(&mut self) -> Rates {
        self.nanoseconds.sort_by(f64::total_cmp);
        let turns = &self.nanoseconds;
        let quarter = &turns[..turns.len().div_ceil(4)];
        let rate = |nanoseconds: f64| self.cycles as f64 * 1e9 / nanoseconds;
        Rates {
            cycles_per_second: rate(turns[turns.len() / 2]),
            best_quarter_cycles_per_second: rate(quarter.iter().sum::<f64>() / quarter.len() as f64),
            spread: turns[turns.len() - 1] / turns[0],
        }
    }
}

impl Rates {
    /// This side's over the other's.
    pub fn over(self, other: Rates) -> Ratios {
        Ratios {
            median: self.cycles_per_second / other.cycles_per_second,
            best_quarter: self.best_quarter_cycles_per_second / other.best_quarter_cycles_per_second,
        }
    }
}

impl Ratios {
    /// Geometric means, of medians and of best quarters; 1 for no ratios.
    pub(super) fn geometric_mean(ratios: impl Iterator<Item = Ratios> + Clone) -> Ratios {
        let count = ratios.clone().count().max(1) as f64;
        let mean =
            |of: fn(Ratios) -> f64| (ratios.clone().map(|ratio| of(ratio).ln()).sum::<f64>() / count).exp();
        Ratios { median: mean(|ratio| ratio.median), best_quarter: mean(|ratio| ratio.best_quarter) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_that_slows_half_of_the_turns_does_not_touch_the_best_quarter() {
        let mut times = Times::of_turns(1000);
        [1.0, 3.0, 1.0, 3.0, 3.0, 1.0, 3.0, 3.0].iter().for_each(|micro| times.push(micro * 1e3));
        let alone = times.rates();
        assert_eq!(alone.cycles_per_second.round(), 333_333_333.0);
        assert_eq!(alone.best_quarter_cycles_per_second, 1e9);
        assert_eq!(alone.spread, 3.0);

        let mut other = Times::of_turns(1000);
        other.push(2e3);
        let ratios = alone.over(other.rates());
        assert!((ratios.median - 2.0 / 3.0).abs() < 1e-9 && (ratios.best_quarter - 2.0).abs() < 1e-9);
    }

    #[test]
    fn means_are_of_each_kind_by_itself() {
        let ratios = [(2.0, 4.0), (8.0, 16.0)].map(|(median, best_quarter)| Ratios { median, best_quarter });
        let mean = Ratios::geometric_mean(ratios.into_iter());
        assert!((mean.median - 4.0).abs() < 1e-9 && (mean.best_quarter - 8.0).abs() < 1e-9);
        assert_eq!(Ratios::geometric_mean([].into_iter()).median, 1.0);
    }
}
