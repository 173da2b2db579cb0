//! Random requests of an operand staging unit that keep the promises of `docs/regless-pipeline.md`.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use warpfile_hdl::regless::{Compressor, Pattern, RequestKind};

use super::memory::{Fill, Request};
use super::patterns_ref::{joined, value};
use crate::random::Random;

/// Register, then warp.
type Register = (usize, usize);

/// What the requests are like.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Per cent of cycles in which a request is ready to be offered.
    pub busy: usize,
    /// Per cent of values that have a pattern.
    pub compressible: usize,
    /// Registers of a warp that are used.
    pub registers: usize,
}

pub struct Osu {
    random: Random,
    mix: Mix,
    parameters: Compressor,
    /// Registers with a copy in memory or in the compressor, and its value.
    copies: BTreeMap<Register, BigUint>,
    /// Registers that are being fetched: where they go, and the value that must come.
    fetching: BTreeMap<Register, (usize, BigUint)>,
    /// The request that is offered.
    pub offer: Option<Request>,
}

impl Osu {
    pub fn new(seed: u64, mix: Mix, parameters: &Compressor) -> Osu {
        Osu {
            random: Random(seed),
            mix,
            parameters: parameters.clone(),
            copies: BTreeMap::new(),
            fetching: BTreeMap::new(),
            offer: None,
        }
    }

    /// Decides on a request if none is offered.
    pub fn think(&mut self) {
        if self.offer.is_none() && self.random.chance(self.mix.busy) {
            self.offer = self.request();
        }
    }

    /// Asks for a register with a copy that is not being fetched, until there is none.
    pub fn fetch_everything(&mut self) {
        if self.offer.is_none() {
            let next = self.copies.keys().find(|register| !self.fetching.contains_key(register)).copied();
            self.offer = next.map(|register| self.ask(RequestKind::Fetch, register, true));
        }
    }

    fn request(&mut self) -> Option<Request> {
        let register = (self.random.below(self.mix.registers), self.random.below(self.parameters.warps));
        if self.fetching.contains_key(&register) {
            return None;
        }
        let has_copy = self.copies.contains_key(&register);
        match self.random.below(100) {
            0..45 => {
                let value = self.value();
                Some(Request { value, ..self.ask(RequestKind::Write, register, false) })
            }
            45..90 if has_copy => {
                let invalidates = self.random.chance(25);
                Some(self.ask(RequestKind::Fetch, register, invalidates))
            }
            90..97 if has_copy => Some(self.ask(RequestKind::Invalidate, register, false)),
            97 if !self.fetching.keys().any(|&(_, warp)| warp == register.1) => {
                Some(self.ask(RequestKind::Drop, (0, register.1), false))
            }
            _ => None,
        }
    }

    fn ask(&mut self, kind: RequestKind, (register, warp): Register, invalidates: bool) -> Request {
        let line = self.random.below(self.parameters.osu_lines);
        Request { kind, place: (false, register, warp), line, invalidates, value: BigUint::ZERO }
    }

    /// A value with a pattern, one that differs from such a value in one lane, or any.
    fn value(&mut self) -> BigUint {
        let lanes = self.parameters.lanes;
        let has_pattern = self.random.chance(self.mix.compressible);
        let pattern = Pattern::COMPRESSED[self.random.below(Pattern::COMPRESSED.len())];
        let bases = [self.random.next() as u32, self.random.next() as u32];
        let mut value = value(pattern, bases, lanes);
        if !has_pattern {
            match self.random.chance(50) {
                true => {
                    let lane = self.random.below(lanes);
                    value[lane] ^= 1 << self.random.below(32);
                }
                false => value.iter_mut().for_each(|lane| *lane = self.random.next() as u32),
            }
        }
        joined(&value)
    }

    /// The request offered has been taken.
    pub fn taken(&mut self) -> Request {
        let request = self.offer.take().expect("a request is offered");
        let (_, register, warp) = request.place;
        match request.kind {
            RequestKind::Write => {
                self.copies.insert((register, warp), request.value.clone());
            }
            RequestKind::Fetch => {
                let value = self.copies[&(register, warp)].clone();
                self.fetching.insert((register, warp), (request.line, value));
                if request.invalidates {
                    self.copies.remove(&(register, warp));
                }
            }
            RequestKind::Invalidate => {
                self.copies.remove(&(register, warp));
            }
            RequestKind::Drop => self.copies.retain(|&(_, of), _| of != warp),
        }
        request
    }

    /// A line has come; it must be one that was asked for, with the value written last.
    pub fn filled(&mut self, fill: &Fill) {
        let (_, register, warp) = fill.place;
        let expected = self.fetching.remove(&(register, warp));
        assert_eq!(expected, Some((fill.line, fill.value.clone())), "R{register} of warp {warp}");
    }

    pub fn is_idle(&self) -> bool {
        self.offer.is_none() && self.fetching.is_empty()
    }

    /// Registers with a copy.
    pub fn copies(&self) -> BTreeSet<Register> {
        self.copies.keys().copied().collect()
    }
}
