//! What the whole SM has, whatever its schedulers could do: slots a cycle and arithmetic units.
//!
//! After GPGPU-Sim's SM, whose pipeline registers between issue and operand collectors (`ID_OC_*`), between collectors and
//! units (`OC_EX_*`) and before writeback (`EX_WB`) are all schedulers' together, as are its SP, SFU and DP units.

use super::super::design::Unit;
use super::super::kernel::Action;
use crate::config::{ArithmeticUnit, Config, Slots, Units};

/// Classes of instructions with slots of their own.
pub(in super::super) const CLASSES: usize = 4;

/// What an instruction takes a slot of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in super::super) enum SlotClass {
    /// ALUs; branches, barriers and fences.
    Alu,
    /// Double-precision units.
    Double,
    /// Special function units.
    Sfu,
    /// Memory of any kind, textures.
    Memory,
}

impl SlotClass {
    /// Of an instruction for a unit; one in double precision has a class of its own if it has units of its own.
    pub fn of(action: Action, unit: Unit, units: &Units) -> SlotClass {
        match (action, unit) {
            (Action::Double, _) if units.double > 0 => SlotClass::Double,
            (_, unit) => SlotClass::of_unit(unit),
        }
    }

    fn of_unit(unit: Unit) -> SlotClass {
        match unit {
            Unit::Alu | Unit::Control => SlotClass::Alu,
            Unit::Sfu => SlotClass::Sfu,
            Unit::Texture | Unit::Memory | Unit::Scratchpad => SlotClass::Memory,
        }
    }
}

/// The unit that executes an instruction, where that is not the same on every machine.
pub(in super::super) fn arithmetic_unit(unit: ArithmeticUnit) -> Unit {
    match unit {
        ArithmeticUnit::Alu => Unit::Alu,
        ArithmeticUnit::Sfu => Unit::Sfu,
    }
}

/// Slots of one kind. A cycle that gives away more than it has, because several instructions go at once, is made up for by
/// the next.
struct Rate {
    /// `None`: no limit.
    width: Option<i64>,
    left: i64,
}

impl Rate {
    fn new(width: u64) -> Rate {
        Rate { width: (width > 0).then_some(width as i64), left: 1 }
    }

    fn start_cycle(&mut self) {
        if let Some(width) = self.width {
            self.left = (self.left.min(0) + width).min(width);
        }
    }

    /// Whether there are so many.
    fn has(&self, slots: usize) -> bool {
        self.width.is_none() || self.left >= slots as i64
    }

    fn take(&mut self) {
        if self.width.is_some() {
            self.left -= 1;
        }
    }
}

/// Slots and units of the SM.
pub(in super::super) struct SharedPipeline {
    is_limited: bool,
    issue: [Rate; CLASSES],
    dispatch: [Rate; CLASSES],
    write_back: Option<WriteBack>,
    /// When each unit takes the next instruction; without units the schedulers have their own.
    alus: Vec<u64>,
    sfus: Vec<u64>,
    doubles: Vec<u64>,
}

impl SharedPipeline {
    pub fn new(config: &Config) -> SharedPipeline {
        let Slots {
            fetch: _,
            issue_alu,
            issue_double,
            issue_sfu,
            issue_memory,
            dispatch_alu,
            dispatch_sfu,
            dispatch_memory,
            write_back,
        } = config.slots;
        let issue = [issue_alu, issue_double, issue_sfu, issue_memory];
        let dispatch = [dispatch_alu, 0, dispatch_sfu, dispatch_memory];
        let Units { alu, sfu, double, double_on: _, int_multiply_on: _ } = config.units;
        let free = |count: u64| vec![0; count as usize];
        SharedPipeline {
            is_limited: issue.iter().chain(&dispatch).any(|width| *width > 0),
            issue: issue.map(Rate::new),
            dispatch: dispatch.map(Rate::new),
            write_back: (write_back > 0).then(|| WriteBack::new(write_back)),
            alus: free(alu),
            sfus: free(sfu),
            doubles: free(double),
        }
    }

    /// Whether something is limited a cycle.
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    pub fn start_cycle(&mut self) {
        if self.is_limited {
            self.issue.iter_mut().chain(&mut self.dispatch).for_each(Rate::start_cycle);
        }
    }

    /// Whether an instruction of a class can be issued in this cycle.
    pub fn can_issue(&self, class: SlotClass) -> bool {
        self.issue[class as usize].has(1)
    }

    pub fn issue(&mut self, class: SlotClass) {
        self.issue[class as usize].take();
    }

    /// Units that do not take so many instructions in cycle `now`, whichever scheduler asks: bit [`Unit`] each.
    #[inline]
    pub fn busy_units(&self, now: u64, instructions: usize) -> u8 {
        let mut busy = 0;
        if self.is_limited {
            for unit in Unit::ALL {
                let rate = &self.dispatch[SlotClass::of_unit(unit) as usize];
                busy |= u8::from(!rate.has(instructions)) << unit as u8;
            }
        }
        for (unit, free_at) in [(Unit::Alu, &self.alus), (Unit::Sfu, &self.sfus)] {
            if !free_at.is_empty() {
                let free = free_at.iter().filter(|free_at| **free_at <= now).count();
                busy |= u8::from(free < instructions) << unit as u8;
            }
        }
        busy
    }

    /// An instruction goes from operand access to a unit.
    pub fn dispatch(&mut self, unit: Unit) {
        self.dispatch[SlotClass::of_unit(unit) as usize].take();
    }

    /// Whether the schedulers have units of their own for what `unit` does.
    pub fn has_own_units(&self, unit: Unit) -> bool {
        match unit {
            Unit::Alu => self.alus.is_empty(),
            Unit::Sfu => self.sfus.is_empty(),
            Unit::Texture | Unit::Memory | Unit::Scratchpad | Unit::Control => true,
        }
    }

    /// An arithmetic instruction starts in cycle `now` in one of the SM's units, which takes the next one after
    /// `initiation` cycles; its results are there `done` cycles after its start. Gives by how many cycles it starts later,
    /// because every double-precision unit is busy or because it would find no slot to write back.
    pub fn start(&mut self, now: u64, action: Action, unit: Unit, (initiation, done): (u64, u64)) -> u64 {
        let none: &mut [u64] = &mut [];
        let free_at = match (action, unit) {
            (Action::Double, _) if !self.doubles.is_empty() => &mut self.doubles,
            (_, Unit::Alu) => &mut self.alus,
            (_, Unit::Sfu) => &mut self.sfus,
            (_, Unit::Texture | Unit::Memory | Unit::Scratchpad | Unit::Control) => none,
        };
        let first = free_at.iter_mut().min();
        let begin = first.as_ref().map_or(now, |free_at| now.max(**free_at));
        let written = match &mut self.write_back {
            Some(write_back) => write_back.reserve(now, begin + done),
            None => begin + done,
        };
        let start = written - done;
        if let Some(first) = first {
            *first = start + initiation;
        }
        start - now
    }

    /// A branch takes a slot of those that write back, if there is one, and does not wait for it.
    pub fn pass(&mut self, now: u64, done: u64) {
        if let Some(write_back) = &mut self.write_back {
            write_back.reserve(now, now + done);
        }
    }
}

/// Slots that are taken in the cycles to come.
struct WriteBack {
    width: u8,
    /// By cycle, modulo its length.
    taken: Vec<u8>,
    /// Slots of cycles before this one have been given back.
    now: u64,
}

impl WriteBack {
    /// Cycles ahead. The longest latency and what the operand storages hold fit in.
    const AHEAD: usize = 8192;

    fn new(width: u64) -> WriteBack {
        WriteBack { width: width as u8, taken: vec![0; WriteBack::AHEAD], now: 0 }
    }

    /// Takes a slot in cycle `at`, or in the first after it that has one; gives the cycle. If there is none as far ahead as
    /// is known, the last.
    fn reserve(&mut self, now: u64, at: u64) -> u64 {
        for past in self.now..now.min(self.now + WriteBack::AHEAD as u64) {
            self.taken[(past % WriteBack::AHEAD as u64) as usize] = 0;
        }
        self.now = now;
        let last = now + WriteBack::AHEAD as u64 - 1;
        for cycle in at..last {
            let taken = &mut self.taken[(cycle % WriteBack::AHEAD as u64) as usize];
            if *taken < self.width {
                *taken += 1;
                return cycle;
            }
        }
        last.max(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_writes_back_as_many_as_it_has_slots() {
        let mut write_back = WriteBack::new(2);
        let cycles: Vec<u64> = [10, 10, 10, 11, 11, 10].map(|at| write_back.reserve(0, at)).to_vec();
        assert_eq!(cycles, [10, 10, 11, 11, 12, 12]);
        assert_eq!(write_back.reserve(20, 20), 20);
        let again = 10 + WriteBack::AHEAD as u64;
        assert_eq!([again; 3].map(|at| write_back.reserve(30, at)), [again, again, again + 1], "given back");
    }

    #[test]
    fn what_a_cycle_gives_away_too_much_the_next_makes_up_for() {
        let mut rate = Rate::new(2);
        let mut given = 0;
        for _ in 0..10 {
            rate.start_cycle();
            if rate.has(1) {
                (0..3).for_each(|_| rate.take());
                given += 3;
            }
        }
        assert!((18..=21).contains(&given), "{given} in ten cycles");
    }

    #[test]
    fn without_a_limit_everything_goes() {
        let mut rate = Rate::new(0);
        for _ in 0..3 {
            rate.start_cycle();
            assert!(rate.has(2));
            rate.take();
        }
    }
}
