//! Reference of the register file with a register cache in front: what every lane of every register must read, the
//! instructions under way, and the tags of the cache. Written from Bailey et al., §III-A and §IV-D, and the port contract in
//! `docs/sm-pipeline.md`. It follows when instructions leave; what a write does, and whether it is taken, it says itself but
//! for registers that leave the cache while the main register file is still read.

use std::collections::BTreeMap;

use warpfile_hdl::hybrid::RegisterCacheHierarchy;

use super::register_cache_ref::{CacheReference, Lanes, Place, Source};

/// An instruction that is offered.
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    pub warp: usize,
    pub id: u64,
    pub unit: u64,
    pub active: u32,
    pub sources: [Option<Source>; 3],
}

/// A result or a fill that is offered.
#[derive(Clone, Debug, Default)]
pub struct Write {
    pub warp: usize,
    pub register: usize,
    pub lanes: u32,
    pub value: Vec<u32>,
}

/// What goes in, in a cycle. Of instructions and results the second of a register file that takes one is never there.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub issue: [Option<Instruction>; 2],
    pub result: [Option<Write>; 2],
    pub fill: Option<Write>,
    pub ended: u64,
    pub units_ready: u64,
    /// Registers that are told to leave.
    pub leave: [Option<usize>; 4],
    /// What a scratchpad in parallel transfers.
    pub transfer: Option<Write>,
}

/// What came out of one port, or one group of collectors.
#[derive(Clone, Debug, Default)]
pub struct Way {
    pub issue_taken: bool,
    pub result_taken: bool,
    /// Identifier and unit.
    pub dispatch: Option<(u64, u64)>,
    pub operands: Option<(u64, [Vec<u32>; 3])>,
    /// Lanes that the cache found for each operand of the instruction taken.
    pub found: [u32; 3],
    /// Operands of the instruction taken that are said to miss the cache.
    pub misses: [bool; 3],
    /// Lanes of each operand that the cache delivers, of a group of collectors.
    pub cached: [u32; 3],
}

/// What came out, and what the cache was seen to do.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    pub way: [Way; 2],
    pub fill_taken: bool,
    /// The second instruction was looked up for the first group of collectors, and the first for the second.
    pub crossed: bool,
    /// What was written to the main register file.
    pub spill: Option<(Lanes, Vec<u32>)>,
    /// Registers that are told to leave and are said to be held.
    pub held: [bool; 4],
    pub transfer_taken: bool,
    /// Registers of the main register file whose rows are off.
    pub off: Vec<usize>,
    /// Write ports that take an operand of an instruction that is out.
    pub copied: [bool; 2],
}

/// An instruction whose operands have not been delivered.
#[derive(Clone, Debug)]
struct UnderWay {
    unit: u64,
    taken_in: u64,
    operands: [Vec<u32>; 3],
    /// Lines of the cache that its operands are read from, and which lanes.
    found: [Option<Place>; 3],
    cached: [u32; 3],
    /// Registers that it reads from the main register file.
    main: [Option<usize>; 3],
    dispatched: bool,
    /// What the cache is to copy: an operand, unless its register has been written since.
    copied: Option<Copied>,
}

/// An operand that the cache copies from the main register file.
#[derive(Clone, Copy, Debug)]
struct Copied {
    source: usize,
    warp: usize,
    lanes: Lanes,
}

/// How often the interesting things happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub hits: usize,
    /// Operands of which the cache had some executing lanes.
    pub partial_hits: usize,
    pub misses: usize,
    pub evictions: usize,
    /// Writes that waited for a line, for an eviction, and for the other port's use of the set.
    pub waits: [usize; 3],
    /// Two writes to one set taken together.
    pub in_one_set: usize,
    /// Fills that came before a result.
    pub fills_first: usize,
    /// Instructions that left as soon as they may: with all operands in the cache, and with others.
    pub at_once: [usize; 2],
    /// Copies that ended by a read elsewhere.
    pub ended_elsewhere: usize,
    /// Registers that left when they were told to, and cycles in which one waited.
    pub told: [usize; 2],
    /// Transfers, and cycles in which one waited.
    pub transfers: [usize; 2],
    /// Operands that were copied, that found no place, that were written before, and whose port or register somebody else wrote.
    pub copies: [usize; 4],
}

pub struct HierarchyReference {
    pub seen: Seen,
    access_cycles: u64,
    lanes: usize,
    issues: usize,
    banks: usize,
    read_allocates: bool,
    liveness: bool,
    pub cache: CacheReference,
    /// What each lane of each register must read.
    pub registers: Vec<Vec<u32>>,
    under_way: BTreeMap<u64, UnderWay>,
    /// What each group of collectors has dispatched.
    delivers: [Option<u64>; 2],
    /// What each group may copy in this cycle, with its value.
    out: [Option<Write>; 2],
    /// A fill had to let a result pass.
    fill_waited: bool,
    /// The next instruction goes to the second group of collectors.
    crosses: bool,
    cycle: u64,
}

pub fn has(lanes: u32, lane: usize) -> bool {
    lanes >> lane & 1 == 1
}

impl HierarchyReference {
    pub fn new(parameters: &RegisterCacheHierarchy) -> HierarchyReference {
        let &RegisterCacheHierarchy { geometry, sets, liveness, .. } = parameters;
        HierarchyReference {
            seen: Seen::default(),
            access_cycles: parameters.access_cycles as u64,
            lanes: geometry.lanes,
            issues: parameters.issues,
            banks: geometry.banks,
            read_allocates: parameters.read_allocates,
            liveness,
            cache: CacheReference::new(sets, geometry.register_bits(), liveness),
            registers: vec![vec![0; geometry.lanes]; geometry.banks * geometry.rows],
            under_way: BTreeMap::new(),
            delivers: [None; 2],
            out: [None, None],
            fill_waited: false,
            crosses: false,
            cycle: 0,
        }
    }

    /// Nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.under_way.is_empty()
    }

    /// The cycle in which the oldest instruction was taken whose operands are not out.
    pub fn oldest(&self) -> Option<u64> {
        self.under_way.values().map(|instruction| instruction.taken_in).min()
    }

    /// Compares a cycle with what it may do; panics where it differs.
    pub fn follow(&mut self, inputs: &Inputs, outputs: &Outputs) {
        for (group, way) in outputs.way.iter().enumerate() {
            self.deliver(group, way);
        }
        let before = self.cache.clone();
        self.take(inputs, outputs);
        let written = self.writes(inputs, outputs);
        let copies = self.copies(&written);
        let offered: Vec<(Option<&Write>, bool)> = (written.iter().zip(&copies).enumerate())
            .map(|(port, (&(write, taken), copy))| match copy {
                Some(copy) => (Some(copy), outputs.copied[port]),
                None => (write, taken),
            })
            .collect();
        let (plan, left) = self.plan(&before, &offered, inputs, outputs);
        self.check_transfer(inputs, outputs);
        self.cache.drop_warps(inputs.ended);
        left.into_iter().for_each(|register| self.cache.leave(register));
        self.use_operands(inputs, outputs);
        for (port, ((write, taken), place)) in offered.iter().zip(plan).enumerate() {
            let Some(write) = write else { continue };
            let is_copy = copies[port].is_some();
            let value = Lanes { register: write.register, lanes: write.lanes };
            assert_eq!(place.is_some(), *taken, "cycle {}: {write:x?} is taken, or not", self.cycle);
            self.seen.copies[usize::from(place.is_none())] += usize::from(is_copy);
            let Some(place) = place else { continue };
            self.cache.write(place, write.warp, value, is_copy);
            if is_copy {
                self.compare_copy(write);
            } else {
                self.set(write);
            }
            self.forget_copies(write.register);
        }
        if let Some(transfer) = inputs.transfer.as_ref().filter(|_| outputs.transfer_taken) {
            self.set(transfer);
        }
        for (group, way) in outputs.way.iter().enumerate() {
            self.dispatch(inputs, group, way);
        }
        let units = [0, 1].map(|group| outputs.way[group].dispatch.map(|(_, unit)| unit));
        assert!(units[0].is_none() || units[0] != units[1], "cycle {}: two for one unit", self.cycle);
        self.cycle += 1;
    }

    /// What each write port of the cache is offered, and whether it was taken. A fill has the last one if no result wants it,
    /// or if it let one pass in the cycle before.
    fn writes<'i>(&mut self, inputs: &'i Inputs, outputs: &Outputs) -> Vec<(Option<&'i Write>, bool)> {
        let last = self.issues - 1;
        let fills = inputs.fill.is_some() && (self.fill_waited || inputs.result[last].is_none());
        self.fill_waited = inputs.fill.is_some() && !fills;
        self.seen.fills_first += usize::from(fills && inputs.result[last].is_some());
        let (lost, name) =
            if fills { (outputs.way[last].result_taken, "result") } else { (outputs.fill_taken, "fill") };
        assert!(!lost, "cycle {}: a {name} without the port", self.cycle);
        (0..self.issues)
            .map(|port| match (port == last && fills, &inputs.fill) {
                (true, Some(fill)) => (Some(fill), outputs.fill_taken),
                _ => (inputs.result[port].as_ref(), outputs.way[port].result_taken),
            })
            .collect()
    }

    /// What each write port copies: the operand that is out of its group, if nothing else is offered there and no port before
    /// it, or anybody else, offers the register.
    fn copies(&mut self, written: &[(Option<&Write>, bool)]) -> Vec<Option<Write>> {
        let mut copies: Vec<Option<Write>> = Vec::new();
        for (port, (write, _)) in written.iter().enumerate() {
            let out = self.out[port].take();
            let offered = written.iter().filter_map(|(write, _)| *write).chain(copies.iter().flatten());
            let others: Vec<usize> = offered.map(|write| write.register).collect();
            let may_be = |out: &Write| write.is_none() && !others.contains(&out.register);
            self.seen.copies[3] += usize::from(out.as_ref().is_some_and(|out| !may_be(out)));
            copies.push(out.filter(may_be));
        }
        copies
    }

    /// What is copied is what the register holds.
    fn compare_copy(&self, copy: &Write) {
        for lane in (0..self.lanes).filter(|&lane| has(copy.lanes, lane)) {
            let expected = self.registers[copy.register][lane];
            assert_eq!(copy.value[lane], expected, "cycle {}: {copy:x?}, lane {lane}", self.cycle);
        }
    }

    /// A register that is written is not copied by those who read it before.
    fn forget_copies(&mut self, register: usize) {
        for other in self.under_way.values_mut() {
            let written = other.copied.take_if(|copied| copied.lanes.register == register);
            self.seen.copies[2] += usize::from(written.is_some());
        }
    }

    /// Where each write goes, if it is taken in this cycle; checks what leaves for it. Gives, too, what left because it was told
    /// to: the first that is held, if nothing leaves for a write.
    fn plan(
        &mut self,
        before: &CacheReference,
        offered: &[(Option<&Write>, bool)],
        inputs: &Inputs,
        outputs: &Outputs,
    ) -> (Vec<Option<Place>>, Option<usize>) {
        let mut wanted: Vec<Option<Place>> = Vec::new();
        for (write, _) in offered {
            let Some(write) = write else {
                wanted.push(None);
                continue;
            };
            let beside = wanted.last().copied().flatten();
            let pinned = |place: Place| self.is_to_be_read(place);
            let place = before.target(write.register, |place| pinned(place) || beside == Some(place));
            let alone = before.target(write.register, pinned);
            self.seen.waits[0] += usize::from(place.is_none());
            self.seen.waits[2] += usize::from(place.is_none() && alone.is_some());
            wanted.push(place);
        }
        let evicted: Vec<Option<Lanes>> = offered
            .iter()
            .zip(&wanted)
            .map(|((write, _), place)| before.evicted((*place)?, write.as_ref()?.register))
            .collect();
        let evicting = evicted.iter().position(Option::is_some);
        let held = |register: usize| before.place(register).map_or(0, |place| before.line(place).held);
        let told = inputs.leave.map(|told| told.is_some_and(|register| held(register) != 0));
        assert_eq!(outputs.held, told, "cycle {}: held of what is told to leave", self.cycle);
        let first_told = told.iter().position(|&held| held).and_then(|number| inputs.leave[number]);
        let first_told = first_told.filter(|_| evicting.is_none());
        let leaving = first_told.map(|register| Lanes { register, lanes: held(register) });
        let spilled = self.spill(evicting.and_then(|port| evicted[port]).or(leaving), outputs);
        let left = first_told.filter(|_| spilled);
        let told_and_waits = told.iter().filter(|&&held| held).count() - usize::from(left.is_some());
        self.seen.told[0] += usize::from(left.is_some());
        self.seen.told[1] += told_and_waits;
        let plan: Vec<Option<Place>> = wanted
            .iter()
            .zip(&evicted)
            .enumerate()
            .map(|(port, (&place, leaving))| {
                let waits = leaving.is_some() && !(evicting == Some(port) && spilled);
                self.seen.waits[1] += usize::from(waits);
                place.filter(|_| !waits)
            })
            .collect();
        if let [Some(first), Some(second)] = plan[..] {
            self.seen.in_one_set += usize::from(first.0 == second.0);
        }
        (plan, left)
    }

    /// A transfer waits only for an operand that is read from the main register file, or for the bank's write port.
    fn check_transfer(&mut self, inputs: &Inputs, outputs: &Outputs) {
        let Some(Write { register, .. }) = &inputs.transfer else { return };
        let cycle = self.cycle;
        assert_eq!(self.cache.place(*register).map(|place| self.cache.line(place).held).unwrap_or(0), 0);
        let is_read = |other: &UnderWay| !other.dispatched && other.main.contains(&Some(*register));
        let spills_there = outputs
            .spill
            .as_ref()
            .is_some_and(|(spilled, _)| spilled.register % self.banks == register % self.banks);
        let is_off = outputs.off.contains(register);
        assert!(!outputs.transfer_taken || !is_off, "cycle {cycle}: the row of {register} is off");
        let waits = spills_there || is_off || self.under_way.values().any(is_read);
        assert!(outputs.transfer_taken || waits, "cycle {cycle}: the transfer of {register} waits");
        self.seen.transfers[usize::from(!outputs.transfer_taken)] += 1;
    }

    /// Whether an operand has still to be read from a line: the instruction leaves in this cycle or later.
    fn is_to_be_read(&self, place: Place) -> bool {
        self.under_way.values().any(|other| !other.dispatched && other.found.contains(&Some(place)))
    }

    /// A register leaves for a write of this cycle or not at all; it waits only for an operand that is read from the main
    /// register file, or for the read ports. Whether it left.
    fn spill(&mut self, evicted: Option<Lanes>, outputs: &Outputs) -> bool {
        let cycle = self.cycle;
        if let Some((Lanes { register, lanes }, value)) = &outputs.spill {
            for lane in (0..self.lanes).filter(|&lane| has(*lanes, lane)) {
                let expected = self.registers[*register][lane];
                assert_eq!(value[lane], expected, "cycle {cycle}: spilled register {register}, lane {lane}");
            }
        }
        match (evicted, outputs.spill.as_ref().map(|(lanes, _)| *lanes)) {
            (None, spilled) => assert_eq!(spilled, None, "cycle {cycle}: nobody asked for it"),
            (Some(evicted), None) => {
                let is_read =
                    |other: &UnderWay| !other.dispatched && other.main.contains(&Some(evicted.register));
                let last = outputs.way[self.issues - 1].dispatch.map(|(id, _)| &self.under_way[&id]);
                let no_port = last.is_some_and(|leaving| leaving.found.iter().all(Option::is_some));
                let is_off = outputs.off.contains(&evicted.register);
                let waits_for_something = no_port || is_off || self.under_way.values().any(is_read);
                assert!(waits_for_something, "cycle {cycle}: {evicted:x?} waits");
            }
            (Some(evicted), Some(spilled)) => {
                assert_eq!(evicted, spilled, "cycle {cycle}: evicted");
                assert!(!outputs.off.contains(&spilled.register), "cycle {cycle}: {spilled:x?} is off");
                self.seen.evictions += 1;
                return true;
            }
        }
        false
    }

    /// Both instructions find what is there before the cycle.
    fn take(&mut self, inputs: &Inputs, outputs: &Outputs) {
        let [first, second] = &outputs.way;
        assert!(first.issue_taken || !second.issue_taken, "cycle {}: second alone", self.cycle);
        assert_eq!(outputs.crossed, self.crosses, "cycle {}: groups take turns", self.cycle);
        self.crosses ^= self.issues == 2 && first.issue_taken != second.issue_taken;
        for (instruction, way) in inputs.issue.iter().zip(&outputs.way) {
            if let Some(instruction) = instruction.as_ref().filter(|_| way.issue_taken) {
                self.enter(instruction, way);
            } else {
                assert_eq!(way.misses, [false; 3], "cycle {}: nothing is taken that misses", self.cycle);
            }
        }
    }

    fn enter(&mut self, instruction: &Instruction, way: &Way) {
        let Instruction { id, unit, active, sources, .. } = instruction;
        let lanes = way.found;
        let sources = sources.map(|source| source.filter(|source| !source.elsewhere));
        let found = sources.map(|source| self.cache.look_up(source?.register, *active));
        let found_lanes = found.map(|found| found.map_or(0, |(_, lanes)| lanes));
        assert_eq!(lanes, found_lanes, "cycle {}: lanes found for {instruction:x?}", self.cycle);
        let main = [0, 1, 2].map(|k| {
            let register = sources[k].map(|source| source.register).filter(|_| *active != 0);
            self.seen.hits += usize::from(register.is_some() && lanes[k] == *active);
            self.seen.partial_hits += usize::from(lanes[k] != 0 && lanes[k] != *active);
            self.seen.misses += usize::from(register.is_some() && lanes[k] == 0);
            register.filter(|_| lanes[k] != *active)
        });
        assert_eq!(way.misses, main.map(|main| main.is_some()), "cycle {}: misses", self.cycle);
        let operands = sources.map(|source| {
            let value = |lane| source.map_or(0, |source| self.registers[source.register][lane]);
            (0..self.lanes).map(|lane| if has(*active, lane) { value(lane) } else { 0 }).collect()
        });
        let found = found.map(|found| found.map(|(place, _)| place));
        let copied = main.iter().enumerate().find_map(|(k, main)| {
            let register = main.filter(|_| !(self.liveness && sources[k].is_some_and(|s| s.last_read)))?;
            let lanes = Lanes { register, lanes: active & !lanes[k] };
            Some(Copied { source: k, warp: instruction.warp, lanes })
        });
        let new = UnderWay {
            copied: copied.filter(|_| self.read_allocates),
            unit: *unit,
            taken_in: self.cycle,
            operands,
            found,
            cached: found_lanes,
            main,
            dispatched: false,
        };
        assert!(self.under_way.insert(*id, new).is_none(), "identifier {id} is in use");
    }

    /// What was found is used, group after group; then last reads end copies.
    fn use_operands(&mut self, inputs: &Inputs, outputs: &Outputs) {
        let groups = if outputs.crossed { [1, 0] } else { [0, 1] };
        let taken = groups.map(|way| inputs.issue[way].as_ref().filter(|_| outputs.way[way].issue_taken));
        for instruction in taken.into_iter().flatten() {
            for place in self.under_way[&instruction.id].found.into_iter().flatten() {
                self.cache.touch(place);
            }
        }
        for Instruction { active, sources, .. } in taken.into_iter().flatten() {
            for &source in sources.iter().flatten() {
                self.seen.ended_elsewhere +=
                    usize::from(source.elsewhere && self.cache.look_up(source.register, *active).is_some());
                self.cache.end(source, *active);
            }
        }
    }

    /// Operands come in the cycle after the dispatch, and are what the registers held at issue.
    fn deliver(&mut self, group: usize, way: &Way) {
        let cycle = self.cycle;
        let id = way.operands.as_ref().map(|(id, _)| *id);
        assert_eq!(id, self.delivers[group].take(), "cycle {cycle}: operands");
        if let Some((id, operands)) = &way.operands {
            let expected = self.under_way.remove(id).unwrap();
            assert_eq!(operands, &expected.operands, "cycle {cycle}: operands of instruction {id}");
            assert_eq!(way.cached, expected.cached, "cycle {cycle}: what the cache has of instruction {id}");
            self.out[group] =
                expected.copied.map(|Copied { source, warp, lanes: Lanes { register, lanes } }| Write {
                    warp,
                    register,
                    lanes,
                    value: operands[source].clone(),
                });
        } else {
            assert_eq!(way.cached, [0; 3], "cycle {cycle}: the cache delivers something");
        }
    }

    /// One that reads the main register file takes a cycle more.
    fn dispatch(&mut self, inputs: &Inputs, group: usize, way: &Way) {
        let Some((id, unit)) = way.dispatch else { return };
        let cycle = self.cycle;
        let Some(instruction) = self.under_way.get_mut(&id) else {
            panic!("cycle {cycle}: instruction {id} is not under way")
        };
        assert_eq!(unit, instruction.unit, "cycle {cycle}: unit of instruction {id}");
        assert!(inputs.units_ready >> unit & 1 == 1, "cycle {cycle}: unit {unit} is not ready");
        assert!(!instruction.dispatched, "cycle {cycle}: instruction {id} is dispatched twice");
        let misses = instruction.main.iter().any(Option::is_some);
        let earliest = instruction.taken_in + self.access_cycles - 1 + u64::from(misses);
        assert!(cycle >= earliest, "cycle {cycle}: too early");
        self.seen.at_once[usize::from(misses)] += usize::from(cycle == earliest);
        instruction.dispatched = true;
        self.delivers[group] = Some(id);
    }

    fn set(&mut self, write: &Write) {
        for lane in (0..self.lanes).filter(|&lane| has(write.lanes, lane)) {
            self.registers[write.register][lane] = write.value[lane];
        }
    }
}
