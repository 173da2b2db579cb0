//! Memory behind the L1 port: real contents, random latencies, no promise about the order of fills.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use warpfile_hdl::regless::RequestKind;

use crate::random::Random;

/// Of the compressed lines or of the others, then register, then warp.
pub type Place = (bool, usize, usize);

/// A request as it travels; `value` is what is written, 0 if nothing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub kind: RequestKind,
    pub place: Place,
    /// Where a line fetched goes.
    pub line: usize,
    pub invalidates: bool,
    pub value: BigUint,
}

/// A line that comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    pub place: Place,
    pub line: usize,
    pub value: BigUint,
}

/// How memory behaves.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Per cent of cycles in which it takes a request.
    pub ready: usize,
    /// A fill comes so many cycles after its request at most, or later if another one comes in that cycle.
    pub latency: usize,
}

pub struct Memory {
    random: Random,
    pace: Pace,
    lines: BTreeMap<Place, BigUint>,
    under_way: Vec<(u64, Fill)>,
    cycle: u64,
}

impl Memory {
    pub fn new(seed: u64, pace: Pace) -> Memory {
        Memory { random: Random(seed), pace, lines: BTreeMap::new(), under_way: Vec::new(), cycle: 0 }
    }

    /// Whether it takes a request in the coming cycle, and the fill of that cycle.
    pub fn cycle(&mut self) -> (bool, Option<Fill>) {
        self.cycle += 1;
        let due: Vec<usize> =
            (0..self.under_way.len()).filter(|&i| self.under_way[i].0 <= self.cycle).collect();
        let fill = (!due.is_empty()).then(|| {
            let chosen = due[self.random.below(due.len())];
            self.under_way.swap_remove(chosen).1
        });
        (self.random.chance(self.pace.ready), fill)
    }

    /// Takes a request.
    pub fn take(&mut self, request: &Request) {
        match request.kind {
            RequestKind::Write => {
                self.lines.insert(request.place, request.value.clone());
            }
            RequestKind::Fetch => {
                let value =
                    self.lines.get(&request.place).expect("only what memory holds is fetched").clone();
                if request.invalidates {
                    self.lines.remove(&request.place);
                }
                let due = self.cycle + 1 + self.random.below(self.pace.latency) as u64;
                self.under_way.push((due, Fill { place: request.place, line: request.line, value }));
            }
            RequestKind::Invalidate => {
                self.lines.remove(&request.place);
            }
            RequestKind::Drop => {
                let (_, _, dropped) = request.place;
                self.lines.retain(|&(compressed, _, warp), _| compressed || warp != dropped);
            }
        }
    }

    /// From now on a fill comes so many cycles after its request at most.
    pub fn set_latency(&mut self, latency: usize) {
        self.pace.latency = latency;
    }
}
