//! Independent jobs on several threads. What they give does not depend on the number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// Most threads that can be asked for.
const MAX_THREADS: usize = 1024;

/// How many threads.
#[derive(clap::Args)]
pub struct ThreadArguments {
    /// Threads that runs are spread over; 0 takes as many as there are cores.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number)]
    threads: usize,
}

impl ThreadArguments {
    /// Their number; 0 for as many as there are cores.
    pub fn number(&self) -> usize {
        self.threads
    }
}

fn number(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| *threads <= MAX_THREADS);
    threads.ok_or_else(|| format!("accepted: a whole number from 0 to {MAX_THREADS}"))
}

/// Does every job and gives the results in the order of the jobs. After a failure no job behind it is started;
/// the failure returned is the first in the order of the jobs, however many threads there are.
pub fn parallel<J: Send, T: Send>(
    threads: usize,
    jobs: Vec<J>,
    work: impl Fn(J) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let first_failed = AtomicUsize::new(usize::MAX);
    let attempt = |(number, job)| {
        if number > first_failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = work(job);
        if result.is_err() {
            first_failed.fetch_min(number, Ordering::Relaxed);
        }
        Some(result)
    };
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start threads")?;
    let results: Vec<Option<Result<T>>> =
        pool.install(|| jobs.into_par_iter().with_max_len(1).enumerate().map(attempt).collect());
    // Jobs that were not started are behind the failure that ends the collection.
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::parallel;

    const THREADS: [usize; 4] = [0, 1, 2, 7];

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for threads in THREADS {
            let squares = parallel(threads, (0..100).collect(), |n| Ok(n * n)).expect("no job fails");
            assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_failure_in_the_order_of_the_jobs_is_told() {
        for threads in THREADS {
            let work = |job| if job % 10 == 3 { anyhow::bail!("job {job}") } else { Ok(()) };
            let result = parallel(threads, (0..100).collect::<Vec<_>>(), work);
            assert_eq!(result.expect_err("a job fails").to_string(), "job 3");
        }
    }
}
