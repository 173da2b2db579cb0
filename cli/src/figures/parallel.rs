//! Independent jobs on all cores, results in the order of the jobs.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;

/// Does `jobs` jobs on at most as many threads as there are cores. After a failure no further job is started;
/// of several failures the first by number is returned.
pub fn parallel<T: Send>(jobs: usize, job: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(jobs);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(jobs));
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= jobs {
                return;
            }
            let result = job(number);
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::parallel;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let squares = parallel(100, |number| Ok(number * number)).expect("no job fails");
        assert_eq!(squares, (0..100).map(|number| number * number).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_ends_the_work() {
        let result = parallel(100, |number| if number == 3 { anyhow::bail!("job {number}") } else { Ok(()) });
        assert_eq!(result.expect_err("a job fails").to_string(), "job 3");
    }
}
