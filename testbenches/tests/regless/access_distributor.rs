//! Reference of the access distributor: a list of accesses in order. Written from §5 and §5.2 of Kloosterman et al. and
//! the contract, not from the circuit.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::regless::{AccessDistributor, ISSUES, RESULTS, SOURCES, ShardGeometry};
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

/// Bits of the number of a source, and of a result.
const OPERAND_BITS: usize = 2;

#[derive(Clone, Debug)]
struct Instruction {
    unit: usize,
    warp: usize,
    lanes: u32,
    /// Register and fate.
    sources: [Option<(usize, usize)>; SOURCES],
    /// Register, fate, and whether a write will come.
    results: [Option<(usize, usize, bool)>; RESULTS],
}

#[derive(Clone, Debug)]
struct Cycle {
    /// Of these as many as are taken a cycle.
    offered: [Option<Instruction>; ISSUES],
    room: Vec<bool>,
    room_for_two: Vec<bool>,
    /// For each unit the entry that comes next.
    next: Vec<usize>,
    /// Banks whose queues take an access.
    ready: Vec<bool>,
    /// Warp and register of each result about to be written.
    writes: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    reads: bool,
    reserves: bool,
    warp: usize,
    register: usize,
    fate: usize,
    lanes: u32,
    written: bool,
    place: usize,
}

#[derive(Clone)]
struct DistributorReference {
    distributor: AccessDistributor,
    /// What has not gone to its bank, the oldest first.
    left_over: Vec<Access>,
}

impl Instruction {
    fn accesses(&self) -> usize {
        let alone = (0..RESULTS).filter(|&k| self.results[k].is_some() && self.source_of(k).is_none());
        self.sources.iter().flatten().count() + alone.count()
    }

    /// The source whose access reserves the line of result `k`: the last with its register, for the first such result.
    fn source_of(&self, k: usize) -> Option<usize> {
        let register = |result: usize| self.results[result].map(|(register, ..)| register);
        let wanted = register(k)?;
        if (0..k).any(|before| register(before) == Some(wanted)) {
            return None;
        }
        (0..SOURCES).rev().find(|&source| self.sources[source].is_some_and(|(other, _)| other == wanted))
    }

    fn writes(&self) -> usize {
        self.results.iter().flatten().filter(|(.., written)| *written).count()
    }
}

impl DistributorReference {
    /// Which of the offered instructions are taken.
    fn taken(&self, cycle: &Cycle) -> [bool; ISSUES] {
        let idle = self.left_over.is_empty();
        let [first, second] = cycle.offered.each_ref().map(Option::as_ref);
        let takes_first = first.is_some_and(|first| idle && cycle.room[first.unit]);
        let takes_second = second.is_some_and(|second| {
            let shared = first.is_some_and(|first| first.unit == second.unit);
            let room = if shared { &cycle.room_for_two } else { &cycle.room };
            idle && room[second.unit] && (takes_first || first.is_none())
        });
        [takes_first, takes_second]
    }

    /// The accesses of the instruction at a port, sources before results.
    fn of_instruction(&self, cycle: &Cycle, port: usize) -> Vec<Access> {
        let Some(instruction) = &cycle.offered[port] else { return Vec::new() };
        let Instruction { unit, warp, lanes, .. } = *instruction;
        let behind = cycle.offered[..port].iter().flatten().filter(|before| before.unit == unit).count();
        let entry = (cycle.next[unit] + behind) % self.distributor.entries;
        let entry_bits = self.distributor.entries.ilog2() as usize;
        let place = |source: usize, result: usize| {
            let operands = source | result << OPERAND_BITS;
            operands | entry << (2 * OPERAND_BITS) | unit << (2 * OPERAND_BITS + entry_bits)
        };
        let sources = instruction.sources.iter().enumerate().filter_map(|(k, source)| {
            let (register, fate) = (*source)?;
            let reads = Access {
                reads: true,
                reserves: false,
                warp,
                register,
                fate,
                lanes,
                written: false,
                place: place(k, 0),
            };
            let result = (0..RESULTS).find(|&result| instruction.source_of(result) == Some(k));
            let Some(result) = result else { return Some(reads) };
            let (_, fate, written) = instruction.results[result].expect("a result with that source");
            Some(Access { reserves: true, fate, written, place: place(k, result), ..reads })
        });
        let results = instruction.results.iter().enumerate().filter_map(|(k, result)| {
            let (register, fate, written) = (*result)?;
            let place = place(0, k);
            let reserves =
                Access { reads: false, reserves: true, warp, register, fate, lanes: 0, written, place };
            instruction.source_of(k).is_none().then_some(reserves)
        });
        sources.chain(results).collect()
    }
}

impl Reference for DistributorReference {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        for (i, instruction) in cycle.offered[..self.distributor.issues].iter().enumerate() {
            let Some(instruction) = instruction else { continue };
            inputs.set(&format!("issue{i}_valid_i"), 1u8);
            inputs.set(&format!("issue{i}_unit_i"), instruction.unit);
            inputs.set(&format!("issue{i}_warp_i"), instruction.warp);
            inputs.set(&format!("issue{i}_lanes_i"), instruction.lanes);
            for (k, source) in instruction.sources.iter().enumerate() {
                let Some((register, fate)) = *source else { continue };
                inputs.set(&format!("issue{i}_source{k}_valid_i"), 1u8);
                inputs.set(&format!("issue{i}_source{k}_register_i"), register);
                inputs.set(&format!("issue{i}_source{k}_fate_i"), fate);
            }
            for (k, result) in instruction.results.iter().enumerate() {
                let Some((register, fate, written)) = *result else { continue };
                inputs.set(&format!("issue{i}_result{k}_valid_i"), 1u8);
                inputs.set(&format!("issue{i}_result{k}_register_i"), register);
                inputs.set(&format!("issue{i}_result{k}_fate_i"), fate);
                inputs.set(&format!("issue{i}_result{k}_written_i"), u8::from(written));
            }
        }
        inputs.set("room_i", mask(&cycle.room));
        if self.distributor.issues > 1 {
            inputs.set("room_for_two_i", mask(&cycle.room_for_two));
        }
        let entry_bits = self.distributor.entries.ilog2();
        let next = cycle.next.iter().rev().fold(0_u64, |next, &entry| next << entry_bits | entry as u64);
        inputs.set("next_i", next);
        for (b, ready) in cycle.ready.iter().enumerate() {
            inputs.set(&format!("push{b}_ready_i"), u8::from(*ready));
        }
        for (w, (warp, register)) in cycle.writes.iter().enumerate() {
            inputs.set(&format!("write{w}_warp_i"), *warp);
            inputs.set(&format!("write{w}_register_i"), *register);
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        for (w, write) in cycle.writes.iter().enumerate() {
            let mut reads = self.left_over.iter().filter(|access| access.reads);
            let is_read = reads.any(|access| (access.warp, access.register) == *write);
            outputs.set(&format!("write{w}_blocked_o"), u8::from(is_read));
        }
        let taken = self.taken(cycle);
        for (i, instruction) in cycle.offered[..self.distributor.issues].iter().enumerate() {
            let offered = u8::from(instruction.is_some());
            outputs.set_known(&format!("issue{i}_ready_o"), u8::from(taken[i]), offered);
            let count = |of: fn(&Instruction) -> usize| instruction.as_ref().map_or(0, of);
            outputs.set(&format!("issue{i}_accesses_o"), count(Instruction::accesses));
            outputs.set(&format!("issue{i}_writes_o"), count(Instruction::writes));
        }
        for port in (0..self.distributor.issues).filter(|port| taken[*port]) {
            let accesses = self.of_instruction(cycle, port);
            self.left_over.extend(accesses);
        }
        let banks = self.distributor.geometry.banks;
        for (b, ready) in cycle.ready.iter().enumerate() {
            let here = |access: &Access| (access.warp + access.register) % banks == b;
            let oldest = self.left_over.iter().position(here);
            outputs.set(&format!("push{b}_valid_o"), u8::from(oldest.is_some()));
            let Some(oldest) = oldest else { continue };
            let access = self.left_over[oldest];
            outputs.set(&format!("push{b}_reads_o"), u8::from(access.reads));
            outputs.set(&format!("push{b}_reserves_o"), u8::from(access.reserves));
            outputs.set(&format!("push{b}_warp_o"), access.warp);
            outputs.set(&format!("push{b}_register_o"), access.register);
            outputs.set(&format!("push{b}_fate_o"), access.fate);
            outputs.set(&format!("push{b}_lanes_o"), access.lanes);
            outputs.set(&format!("push{b}_written_o"), u8::from(access.written));
            outputs.set(&format!("push{b}_place_o"), access.place);
            if *ready {
                self.left_over.remove(oldest);
            }
        }
    }
}

fn mask(bits: &[bool]) -> u32 {
    bits.iter().enumerate().fold(0, |mask, (place, bit)| mask | u32::from(*bit) << place)
}

fn distributors() -> impl Strategy<Value = AccessDistributor> {
    (0..4_u32, 0..4_u32, 1..5_usize, 4..6_usize, 1..5_usize, 1..4_u32, 1..4_usize, 1..=ISSUES).prop_map(
        |(warps, banks, lanes, register_bits, units, entries, writes, issues)| {
            let (warps, banks) = (1 << warps, 1 << banks);
            let geometry = ShardGeometry { warps, banks, lines: 4, lanes, lanes_per_slice: 1, register_bits };
            AccessDistributor { geometry, units, entries: 1 << entries, writes, issues }
        },
    )
}

fn instructions(distributor: &AccessDistributor) -> impl Strategy<Value = Instruction> + use<> {
    let ShardGeometry { warps, lanes, register_bits, .. } = distributor.geometry;
    let registers = 1_usize << register_bits;
    let source = move || option::of((0..registers, 0..3_usize));
    let result = move || option::weighted(0.3, (0..registers, 0..3_usize, any::<bool>()));
    let results = [result(), result(), result(), result()];
    let lanes = 0..1_u32 << lanes;
    // Results go to registers that are read more often than chance would have it.
    let reused = [0, 1, 2, 3].map(|_| option::weighted(0.3, 0..SOURCES));
    (0..distributor.units, 0..warps, lanes, [source(), source(), source()], results, reused).prop_map(
        |(unit, warp, lanes, sources, mut results, reused)| {
            for (result, source) in results.iter_mut().zip(reused) {
                let read = source.and_then(|source| sources[source]);
                if let (Some((register, ..)), Some((read, _))) = (result, read) {
                    *register = read;
                }
            }
            Instruction { unit, warp, lanes, sources, results }
        },
    )
}

fn traffic(cycles: usize) -> impl Strategy<Value = (AccessDistributor, Vec<Cycle>)> {
    distributors().prop_flat_map(move |distributor| {
        let AccessDistributor { geometry, units, entries, writes, .. } = distributor.clone();
        let offered = || option::weighted(0.8, instructions(&distributor));
        let likely = |count: usize| vec(prop::bool::weighted(0.8), count);
        let writes = vec((0..geometry.warps, 0..1_usize << geometry.register_bits), writes);
        let cycle = (
            [offered(), offered()],
            likely(units),
            likely(units),
            vec(0..entries, units),
            likely(geometry.banks),
            writes,
        );
        let cycle = cycle.prop_map(|(offered, room, room_for_two, next, ready, writes)| Cycle {
            offered,
            room,
            room_for_two,
            next,
            ready,
            writes,
        });
        (Just(distributor), vec(cycle, 1..cycles))
    })
}

fn check(distributor: &AccessDistributor, how: &Lockstep, cycles: &[Cycle]) -> Result<(), TestCaseError> {
    let reference = DistributorReference { distributor: distributor.clone(), left_over: Vec::new() };
    how.run(&elaborate(distributor).unwrap(), &reference, cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(64))]
    #[test]
    fn each_bank_gets_its_accesses_in_order((distributor, cycles) in traffic(120)) {
        check(&distributor, &Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(2))]
    #[test]
    fn the_verilog_of_a_distributor_does_the_same((distributor, cycles) in traffic(60)) {
        check(&distributor, &Lockstep::with_verilog(), &cycles)?;
    }
}
