//! What the SMs of a chip tell each other while they run, each in a run of its own.
//!
//! The first SM tells, the others ask: a number that is not there yet is waited for, so that no figure depends on which SM is
//! run when. The first SM's run must have ended, or go on meanwhile.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// One SM's end of what the SMs of a chip tell each other; of the first, nothing more is told once it is dropped.
#[derive(Debug)]
pub struct ChipSm {
    is_first: bool,
    told: Arc<Told>,
}

/// The SMs of a chip, the first before the others.
pub fn chip_sms(count: u64) -> impl Iterator<Item = ChipSm> {
    let told = Arc::new(Told::default());
    (0..count).map(move |sm| ChipSm { is_first: sm == 0, told: told.clone() })
}

impl ChipSm {
    /// What a mechanism of this SM and the same of the others know each other by.
    pub(crate) fn channel(&self, mechanism: &'static str) -> Channel {
        Channel { mechanism, is_first: self.is_first, told: self.told.clone() }
    }
}

impl Drop for ChipSm {
    fn drop(&mut self) {
        if self.is_first {
            self.told.change(|numbers| numbers.is_over = true);
        }
    }
}

/// From a mechanism of the first SM to the same mechanism of the others: numbers, launch after launch.
#[derive(Debug)]
pub struct Channel {
    mechanism: &'static str,
    is_first: bool,
    told: Arc<Told>,
}

impl Channel {
    /// Whether this is the end of the first SM.
    pub fn is_first(&self) -> bool {
        self.is_first
    }

    /// The next launch begins on the first SM.
    pub fn tell_launch(&self) {
        self.told.change(|numbers| numbers.of(self.mechanism).push(Vec::new()));
    }

    /// The launch's next number.
    pub fn tell(&self, number: u64) {
        self.told.change(|numbers| {
            if let Some(launch) = numbers.of(self.mechanism).last_mut() {
                launch.push(number);
            }
        });
    }

    /// A number of a launch, each counted from 0; `None` if the launch has ended on the first SM before it. Waits for it.
    pub fn ask(&self, launch: usize, index: usize) -> Option<u64> {
        let mut numbers = self.told.lock();
        loop {
            let is_over = numbers.is_over;
            let launches = numbers.of(self.mechanism);
            let number = launches.get(launch).and_then(|launch| launch.get(index)).copied();
            if number.is_some() || is_over || launches.len() > launch + 1 {
                return number;
            }
            numbers = self.told.changed.wait(numbers).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What the first SM has told so far.
#[derive(Debug, Default)]
struct Told {
    numbers: Mutex<Numbers>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Numbers {
    /// By mechanism, launch and position.
    of_mechanisms: BTreeMap<&'static str, Vec<Vec<u64>>>,
    /// The first SM has ended.
    is_over: bool,
}

impl Numbers {
    fn of(&mut self, mechanism: &'static str) -> &mut Vec<Vec<u64>> {
        self.of_mechanisms.entry(mechanism).or_default()
    }
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Numbers)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// The ends of three SMs, and a mechanism's channels there.
    fn three() -> (Vec<ChipSm>, Vec<Channel>) {
        let sms: Vec<ChipSm> = chip_sms(3).collect();
        let channels = sms.iter().map(|sm| sm.channel("one")).collect();
        (sms, channels)
    }

    #[test]
    fn what_is_not_there_yet_is_waited_for() {
        let (mut sms, channels) = three();
        let [first, others @ ..] = &channels[..] else { panic!("three") };
        assert!(first.is_first() && others.iter().all(|other| !other.is_first()));
        let asked = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)];
        let expected = [Some(7), Some(8), None, None, None, None];
        thread::scope(|scope| {
            let answers: Vec<_> = others
                .iter()
                .map(|other| scope.spawn(move || asked.map(|(launch, index)| other.ask(launch, index))))
                .collect();
            first.tell_launch();
            for number in [7, 8] {
                thread::yield_now();
                first.tell(number);
            }
            first.tell_launch();
            drop(sms.remove(0));
            for answer in answers {
                assert_eq!(answer.join().expect("no panic"), expected);
            }
        });
    }

    #[test]
    fn mechanisms_do_not_hear_each_other() {
        let (sms, channels) = three();
        let other = sms[0].channel("another");
        channels[0].tell_launch();
        channels[0].tell(5);
        other.tell_launch();
        other.tell(6);
        assert_eq!((channels[1].ask(0, 0), sms[2].channel("another").ask(0, 0)), (Some(5), Some(6)));
    }
}
