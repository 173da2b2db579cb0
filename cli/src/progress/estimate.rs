//! How much time is left, by what has been done.

use std::time::Duration;

/// Time left of a run that has issued `done` of `total` warp instructions in `elapsed`; `None` while it has issued none, or
/// more than it should have.
pub fn left_of_run(elapsed: Duration, done: u64, total: u64) -> Option<Duration> {
    let left = total.checked_sub(done).filter(|_| done > 0)?;
    Some(elapsed.mul_f64(left as f64 / done as f64))
}

/// Runs that have been made and that are left, by what they are of. One of another kernel can take a thousand times as long,
/// so a run counts by the warp instructions of its kernel, which are known once a run of it has ended. A kernel of which
/// none has ended counts as much as the mean of the others.
pub struct Estimate {
    kernels: Vec<Kernel>,
    /// Warp instructions of runs that were made now.
    made: f64,
}

#[derive(Clone, Default)]
struct Kernel {
    runs: usize,
    ended: usize,
    /// Warp instructions of a run, as the last one had it.
    instructions: Option<f64>,
}

impl Estimate {
    /// Of kernels with so many runs each.
    pub fn new(runs: impl IntoIterator<Item = usize>) -> Estimate {
        let kernels = runs.into_iter().map(|runs| Kernel { runs, ..Kernel::default() }).collect();
        Estimate { kernels, made: 0.0 }
    }

    /// A run of a kernel has ended with so many warp instructions, `None` if it failed. One that is not `new` was kept from
    /// before: it says what a run of the kernel is, not how long it takes.
    pub fn ended(&mut self, kernel: usize, warp_instructions: Option<u64>, is_new: bool) {
        let Some(kernel) = self.kernels.get_mut(kernel) else { return };
        kernel.ended += 1;
        kernel.instructions = warp_instructions.map(|count| count as f64).or(kernel.instructions);
        if is_new {
            self.made += kernel.instructions.unwrap_or(0.0);
        }
    }

    /// Time left, if the runs made now have taken `elapsed`. `None` while none has been made, or while it is known of less
    /// than half of all runs what they are.
    pub fn left(&self, elapsed: Duration) -> Option<Duration> {
        let known = || self.kernels.iter().filter_map(|kernel| Some((kernel, kernel.instructions?)));
        let runs_known: usize = known().map(|(kernel, _)| kernel.runs).sum();
        let runs: usize = self.kernels.iter().map(|kernel| kernel.runs).sum();
        if self.made == 0.0 || 2 * runs_known < runs {
            return None;
        }
        let mean = known().map(|(kernel, instructions)| kernel.runs as f64 * instructions).sum::<f64>()
            / runs_known as f64;
        let left: f64 = self
            .kernels
            .iter()
            .map(|kernel| {
                kernel.runs.saturating_sub(kernel.ended) as f64 * kernel.instructions.unwrap_or(mean)
            })
            .sum();
        Some(elapsed.mul_f64(left / self.made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_SECONDS: Duration = Duration::from_secs(10);

    fn seconds(left: Option<Duration>) -> Option<u64> {
        left.map(|left| left.as_secs_f64().round() as u64)
    }

    #[test]
    fn runs_count_by_the_instructions_of_their_kernel() {
        let mut estimate = Estimate::new([2, 2]);
        estimate.ended(0, Some(1000), true);
        estimate.ended(1, Some(99_000), true);
        // Two runs of 100,000 instructions together have taken 10 s, and the same is left.
        assert_eq!(seconds(estimate.left(TEN_SECONDS)), Some(10));
        estimate.ended(1, Some(99_000), true);
        // 199,000 instructions in 20 s: 1,000 are a tenth of a second.
        assert_eq!(estimate.left(2 * TEN_SECONDS).map(|left| left.as_millis()), Some(100));
        estimate.ended(0, Some(1000), true);
        assert_eq!(seconds(estimate.left(2 * TEN_SECONDS)), Some(0));
    }

    #[test]
    fn a_kernel_that_is_not_known_counts_as_the_mean_of_the_others() {
        let mut estimate = Estimate::new([1, 3, 2]);
        estimate.ended(0, Some(1000), true);
        assert_eq!(estimate.left(TEN_SECONDS), None, "one of six runs is known");
        estimate.ended(1, Some(5000), true);
        // Known are 1 × 1,000 and 3 × 5,000, a mean of 4,000: 2 × 5,000 and 2 × 4,000 are left, 6,000 took 10 s.
        assert_eq!(seconds(estimate.left(TEN_SECONDS)), Some(30));
    }

    #[test]
    fn runs_that_were_there_are_no_progress_made_now() {
        let mut estimate = Estimate::new([4]);
        estimate.ended(0, Some(1000), false);
        estimate.ended(0, Some(1000), false);
        assert_eq!(estimate.left(Duration::from_millis(1)), None);
        estimate.ended(0, Some(1000), true);
        assert_eq!(seconds(estimate.left(TEN_SECONDS)), Some(10));
    }

    #[test]
    fn nothing_is_estimated_from_nothing() {
        assert_eq!(Estimate::new([]).left(TEN_SECONDS), None);
        assert_eq!(Estimate::new([3]).left(TEN_SECONDS), None);
        let mut failed = Estimate::new([3]);
        failed.ended(0, None, true);
        assert_eq!(failed.left(TEN_SECONDS), None);
        failed.ended(0, Some(500), true);
        assert_eq!(seconds(failed.left(TEN_SECONDS)), Some(10));
        assert_eq!((left_of_run(TEN_SECONDS, 0, 100), left_of_run(TEN_SECONDS, 101, 100)), (None, None));
        assert_eq!(seconds(left_of_run(TEN_SECONDS, 25, 100)), Some(30));
    }
}
