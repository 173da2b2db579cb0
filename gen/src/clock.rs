//! The clock that a circuit is meant for.

/// A clock's period, whole picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    period_ps: u64,
}

impl Default for Clock {
    /// 1,000 MHz, about that of the machines in the papers.
    fn default() -> Clock {
        Clock { period_ps: 1000 }
    }
}

impl Clock {
    /// A clock of a frequency, if it is above 0 and at most 100,000 MHz; the period is rounded to picoseconds.
    pub fn of_mhz(mhz: f64) -> Option<Clock> {
        let period_ps = (mhz > 0.0 && mhz <= 100_000.0).then(|| (1e6 / mhz).round())?;
        // What is slower than once in 1,000 seconds is no clock.
        (period_ps < 1e15).then_some(Clock { period_ps: period_ps as u64 })
    }

    /// Its frequency, as a person writes it.
    pub(crate) fn mhz(self) -> String {
        let text = format!("{:.3}", 1e6 / self.period_ps as f64);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// Its period, ns.
    pub(crate) fn period_ns(self) -> String {
        nanoseconds(self.period_ps)
    }

    /// Half of its period, rounded down to whole picoseconds, ns.
    pub(crate) fn half_period_ns(self) -> String {
        nanoseconds(self.period_ps / 2)
    }
}

fn nanoseconds(ps: u64) -> String {
    format!("{}.{:03}", ps / 1000, ps % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_whole_picoseconds() {
        let clock = Clock::of_mhz(300.0).unwrap();
        assert_eq!((clock.period_ns(), clock.half_period_ns()), ("3.333".into(), "1.666".into()));
        assert_eq!(Clock::of_mhz(500.0).unwrap().mhz(), "500");
        assert_eq!(Clock::default().period_ns(), "1.000");
    }

    #[test]
    fn what_is_no_frequency_is_refused() {
        assert_eq!([0.0, -1.0, f64::NAN, f64::INFINITY, 100_001.0, 1e-12].map(Clock::of_mhz), [None; 6]);
    }
}
