//! What the cache keeps, evicts and writes back, on sequences worked out by hand.

use warpfile_engine::waves::waves;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regfile::{ExtraRead, Geometry};
use warpfile_hdl::rfc::{CachedRegisterFile, RegisterFileCache, Replacement};
use warpfile_testbenches::mutation::elaborate;

use super::bench::Bench;
use super::cached_register_file_ref::{Flush, Inputs, Instruction, Outputs, Write};
use super::register_file_cache_ref::{Lanes, Source};

pub const ALL: u32 = 0b1111;
pub const SLOT: usize = 1;
/// Cycles within which a single operation must end.
const PATIENCE: usize = 20;

pub fn parameters(entries: usize, replacement: Replacement) -> CachedRegisterFile {
    CachedRegisterFile {
        geometry: Geometry { banks: 2, rows: 8, lanes: 4, lanes_per_cluster: 2 },
        collectors: 3,
        access_cycles: 3,
        id_bits: 4,
        units: 2,
        slots: 3,
        entries,
        replacement,
        allocate_sources: false,
        liveness: true,
        bypass_idle: false,
        evict_idle_first: false,
        issues: 1,
        gated: false,
        shared: false,
        extra_read: ExtraRead::None,
    }
}

pub fn bench(parameters: &CachedRegisterFile) -> Bench {
    Bench::new(parameters, 7)
}

fn fifo(entries: usize) -> Bench {
    bench(&parameters(entries, Replacement::Fifo))
}

/// Operations on one slot, one at a time.
impl Bench {
    /// Repeats the offer until `taken`; the cycle in which it was.
    pub fn until(&mut self, inputs: &Inputs, taken: impl Fn(&Outputs) -> bool) -> Outputs {
        let mut cycles = (0..PATIENCE).map(|_| self.step(inputs));
        cycles.find(taken).expect("not taken")
    }

    /// A result; what was spilled for it.
    fn write(&mut self, register: usize, lanes: u32) -> Option<Lanes> {
        self.write_as(write(register, lanes))
    }

    pub fn write_as(&mut self, write: Write) -> Option<Lanes> {
        let outputs =
            self.until(&Inputs { result: Some(write), ..Inputs::default() }, |o| o.first.result_taken);
        outputs.spill.map(|(lanes, _)| lanes)
    }

    pub fn fill(&mut self, register: usize, lanes: u32) {
        self.until(&Inputs { fill: Some(write(register, lanes)), ..Inputs::default() }, |o| o.fill_taken);
    }

    /// An instruction with one operand; the lanes found in the cache and the operand.
    pub fn read(&mut self, active: u32, source: Source) -> (u32, Vec<u32>) {
        let issue = Some(instruction(active, [Some(source), None, None]));
        let found =
            self.until(&Inputs { issue, ..Inputs::default() }, |o| o.first.issue_taken).first.found[0];
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        // Groups of collectors take instructions in turn.
        let outputs = self.until(&ready, |o| o.first.operands.is_some() || o.second.operands.is_some());
        let (_, operands) = outputs.first.operands.or(outputs.second.operands).unwrap();
        (found, operands[0].clone())
    }

    /// Everything written back until the slot is no longer busy, sorted.
    pub fn flush(&mut self, discard: bool) -> Vec<Lanes> {
        let mut inputs = Inputs { flush: Some(Flush { slot: SLOT, discard }), ..Inputs::default() };
        let mut spilled = Vec::new();
        for _ in 0..PATIENCE {
            let outputs = self.step(&inputs);
            spilled.extend(outputs.spill.map(|(lanes, _)| lanes));
            if outputs.busy == 0 {
                spilled.sort_by_key(|lanes| lanes.register);
                return spilled;
            }
            inputs.flush = None;
        }
        panic!("the flush does not end");
    }
}

/// Lane l of register r holds 100 r + l, with `version` more in the thousands.
pub fn value(register: usize, version: u32) -> Vec<u32> {
    (0..4).map(|lane| 1000 * version + 100 * register as u32 + lane).collect()
}

pub fn write(register: usize, lanes: u32) -> Write {
    Write { slot: SLOT, in_slot: true, register, lanes, value: value(register, 0), idle: false }
}

pub fn instruction(active: u32, sources: [Option<Source>; 3]) -> Instruction {
    Instruction { id: 3, unit: 1, slot: SLOT, active, sources }
}

pub fn plain(register: usize) -> Source {
    Source { register, ..Source::default() }
}

pub fn lanes(register: usize, lanes: u32) -> Option<Lanes> {
    Some(Lanes { register, lanes })
}

#[test]
fn fifo_evicts_what_was_allocated_first_and_lru_what_was_not_used_for_longest() {
    for (replacement, victims) in [(Replacement::Fifo, [0, 1, 2]), (Replacement::Lru, [1, 2, 0])] {
        let mut bench = bench(&parameters(3, replacement));
        for register in 0..3 {
            assert_eq!(bench.write(register, ALL), None);
        }
        bench.read(ALL, plain(0));
        let spilled = [3, 4, 5].map(|register| bench.write(register, ALL));
        assert_eq!(spilled, victims.map(|victim| lanes(victim, ALL)), "{replacement:?}");
    }
}

#[test]
fn writing_a_register_again_is_a_use_but_not_an_allocation() {
    for (replacement, victim) in [(Replacement::Fifo, 0), (Replacement::Lru, 1)] {
        let mut bench = bench(&parameters(2, replacement));
        assert_eq!([0, 1, 0].map(|register| bench.write(register, ALL)), [None; 3]);
        assert_eq!(bench.write(2, ALL), lanes(victim, ALL), "{replacement:?}");
    }
}

#[test]
fn a_partial_hit_merges_lanes_of_the_cache_and_of_the_main_register_file() {
    let mut bench = fifo(2);
    bench.write(4, ALL);
    bench.flush(false);
    bench.write_as(Write { value: value(4, 1), ..write(4, 0b0101) });
    assert_eq!(bench.read(0b0111, plain(4)), (0b0101, vec![1400, 401, 1402, 0]));
}

#[test]
fn the_last_read_of_a_diverged_warp_keeps_the_lanes_of_its_siblings() {
    let mut bench = fifo(2);
    bench.write(4, ALL);
    let last = Source { last_read: true, ..plain(4) };
    assert_eq!(bench.read(0b0101, last), (0b0101, vec![400, 0, 402, 0]));
    assert_eq!(bench.read(0b1010, plain(4)), (0b1010, vec![0, 401, 0, 403]));
    assert_eq!(bench.flush(false), [Lanes { register: 4, lanes: 0b1010 }]);
}

#[test]
fn without_liveness_a_last_read_ends_nothing() {
    let mut bench = bench(&CachedRegisterFile { liveness: false, ..parameters(2, Replacement::Fifo) });
    bench.write(4, ALL);
    bench.read(ALL, Source { last_read: true, ..plain(4) });
    assert_eq!(bench.flush(false), [Lanes { register: 4, lanes: ALL }]);
}

#[test]
fn a_fill_ends_the_copy_of_its_lanes() {
    let mut bench = fifo(2);
    bench.write_as(Write { value: value(4, 1), ..write(4, ALL) });
    bench.fill(4, 0b0110);
    assert_eq!(bench.read(ALL, plain(4)), (0b1001, vec![1400, 401, 402, 1403]));
    assert_eq!(bench.flush(false), [Lanes { register: 4, lanes: 0b1001 }]);
}

#[test]
fn an_eviction_writes_back_exactly_the_dirty_lanes() {
    let mut bench = fifo(1);
    bench.write(4, 0b0011);
    bench.write(4, 0b1000);
    assert_eq!(bench.write(5, ALL), lanes(4, 0b1011));
}

#[test]
fn an_entry_without_dirty_lanes_makes_room_without_a_write() {
    let mut bench = fifo(1);
    bench.write(4, ALL);
    bench.read(ALL, Source { last_read: true, ..plain(4) });
    assert_eq!(bench.write(5, ALL), None);
    bench.fill(5, ALL);
    assert_eq!(bench.write(6, ALL), None);
}

#[test]
fn idle_values_make_room_first_if_asked_for() {
    for (evict_idle_first, victim) in [(false, 0), (true, 1)] {
        let parameters = CachedRegisterFile { evict_idle_first, ..parameters(3, Replacement::Fifo) };
        let mut bench = bench(&parameters);
        assert_eq!([0, 1, 2].map(|register| bench.write(register, ALL)), [None; 3]);
        bench.read(ALL, Source { idle: true, ..plain(1) });
        assert_eq!(bench.write(3, ALL), lanes(victim, ALL));
    }
}

#[test]
fn an_idle_value_stays_idle_when_some_of_its_lanes_end() {
    let mut bench = bench(&CachedRegisterFile { evict_idle_first: true, ..parameters(2, Replacement::Fifo) });
    bench.write(0, ALL);
    bench.write_as(Write { idle: true, ..write(1, ALL) });
    bench.read(0b0011, Source { last_read: true, ..plain(1) });
    assert_eq!(bench.write(2, ALL), lanes(1, 0b1100));
}

#[test]
fn idle_results_pass_the_cache_by_if_asked_for_and_end_the_copy_of_their_lanes() {
    let mut bench = bench(&CachedRegisterFile { bypass_idle: true, ..parameters(2, Replacement::Fifo) });
    bench.write(4, ALL);
    bench.write_as(Write { idle: true, value: value(4, 1), ..write(4, 0b0011) });
    assert_eq!(bench.read(ALL, plain(4)), (0b1100, vec![1400, 1401, 402, 403]));
}

#[test]
fn a_result_of_a_suspended_warp_passes_the_cache_by() {
    let mut bench = fifo(2);
    bench.write(4, ALL);
    bench.flush(false);
    bench.write_as(Write { in_slot: false, value: value(4, 1), ..write(4, ALL) });
    bench.step(&Inputs::default());
    assert_eq!(bench.main_register(4), value(4, 1));
    assert_eq!(bench.read(ALL, plain(4)), (0, value(4, 1)));
}

#[test]
fn a_flush_writes_an_entry_a_cycle_and_the_slot_is_busy_until_it_is_empty() {
    let mut bench = fifo(3);
    bench.write(4, 0b0011);
    bench.write(5, 0b1110);
    bench.write(6, ALL);
    bench.read(ALL, Source { last_read: true, ..plain(6) });
    let start = Inputs { flush: Some(Flush { slot: SLOT, discard: false }), ..Inputs::default() };
    let mut cycles = vec![bench.step(&start)];
    cycles.extend((0..4).map(|_| bench.step(&Inputs::default())));
    let spilled: Vec<_> = cycles.iter().map(|o| o.spill.as_ref().map(|(lanes, _)| *lanes)).collect();
    assert_eq!(spilled, [None, lanes(4, 0b0011), lanes(5, 0b1110), None, None]);
    let busy: Vec<u64> = cycles.iter().map(|o| o.busy).collect();
    assert_eq!(busy, [0b010, 0b010, 0b010, 0b010, 0]);
    assert_eq!(bench.read(0b0011, plain(4)), (0, vec![400, 401, 0, 0]));
}

#[test]
fn a_discard_writes_nothing_and_empties_the_slot_at_once() {
    let mut bench = fifo(3);
    bench.write(4, ALL);
    assert_eq!(bench.flush(true), []);
    bench.reference.registers[4] = {
        bench.step(&Inputs::default());
        bench.main_register(4)
    };
    assert_eq!(bench.read(ALL, plain(4)).0, 0);
}

#[test]
fn a_read_under_way_gets_its_value_although_its_slot_is_discarded_and_used_again() {
    let mut bench = fifo(1);
    bench.write(4, ALL);
    let issue = Some(instruction(ALL, [Some(plain(4)), None, None]));
    bench.until(&Inputs { issue, ..Inputs::default() }, |o| o.first.issue_taken);
    bench.flush(true);
    let next = Inputs { result: Some(write(5, ALL)), ..Inputs::default() };
    assert!((0..6).all(|_| !bench.step(&next).first.result_taken), "the entry has still to be read");
    let ready = Inputs { units_ready: 0b11, ..next };
    assert!(bench.until(&ready, |o| o.first.result_taken).first.operands.is_some());
}

#[test]
fn tags_take_one_cycle_and_access_three_wherever_the_operands_are() {
    let mut bench = fifo(2);
    bench.write(4, ALL);
    bench.flush(false);
    bench.write(5, ALL);
    for sources in [[5, 5, 5], [4, 5, 4], [5, 4, 5]].map(|s| s.map(|register| Some(plain(register)))) {
        let issue = Some(instruction(ALL, sources));
        let offer = Inputs { issue, units_ready: 0b11, ..Inputs::default() };
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        let cycles: Vec<_> = (0..6).map(|c| bench.step(if c == 0 { &offer } else { &ready })).collect();
        assert!(cycles[0].first.issue_taken);
        assert_eq!(cycles.iter().position(|o| o.first.dispatch == Some((3, 1))), Some(3));
        assert_eq!(cycles.iter().position(|o| o.first.operands.is_some()), Some(4));
    }
}

#[test]
fn the_cache_is_read_in_the_last_access_cycle() {
    let mut bench = fifo(2);
    bench.write(4, ALL);
    let issue = Some(instruction(ALL, [Some(plain(4)), None, None]));
    bench.until(&Inputs { issue, ..Inputs::default() }, |o| o.first.issue_taken);
    let port = bench.engine.activity_handle("cache.values.operand0").unwrap();
    for units_ready in [0, 0, 0, 0, 0b10, 0b11] {
        let before = bench.engine.activity_count(port).cycles;
        let outputs = bench.step(&Inputs { units_ready, ..Inputs::default() });
        let read = bench.engine.activity_count(port).cycles - before;
        assert_eq!(read, u64::from(outputs.first.dispatch.is_some()));
        assert_eq!(outputs.first.dispatch.is_some(), units_ready == 0b10);
    }
}

#[test]
fn an_operand_that_has_still_to_be_read_is_not_overwritten() {
    let mut bench = fifo(2);
    bench.write(4, ALL);
    let issue = Some(instruction(ALL, [Some(plain(4)), None, None]));
    bench.until(&Inputs { issue, ..Inputs::default() }, |o| o.first.issue_taken);
    let next = Inputs { result: Some(Write { value: value(4, 1), ..write(4, ALL) }), ..Inputs::default() };
    assert!((0..6).all(|_| !bench.step(&next).first.result_taken));
    let ready = Inputs { units_ready: 0b11, ..next };
    let (_, operands) = bench.until(&ready, |o| o.first.result_taken).first.operands.unwrap();
    assert_eq!(operands[0], value(4, 0));
}

#[test]
fn waveform_of_allocation_hit_and_eviction() {
    let cache = RegisterFileCache {
        slots: 1,
        entries: 1,
        replacement: Replacement::Fifo,
        liveness: true,
        evict_idle_first: false,
        lanes: 1,
        lanes_per_cluster: 1,
        register_bits: 4,
        collectors: 2,
        issues: 1,
        shared: false,
    };
    let mut engine = Interpreter::new(&elaborate(&cache).unwrap(), &Options::checked()).unwrap();
    let names = [
        "result_valid_i",
        "result_ready_o",
        "result_register_i",
        "result_value_i",
        "lookup_valid_i",
        "lookup_source0_lanes_o",
        "dispatch_valid_i",
        "operand0_lanes_o",
        "operand0_value_o",
        "spill_valid_o",
        "spill_register_o",
        "spill_value_o",
    ];
    let result = |register, value| {
        [
            ("result_valid_i", 1),
            ("result_register_i", register),
            ("result_lanes_i", 1),
            ("result_value_i", value),
            ("spill_ready_i", 1),
        ]
    };
    let look_up = [
        ("lookup_valid_i", 1),
        ("lookup_active_i", 1),
        ("lookup_source0_valid_i", 1),
        ("lookup_source0_register_i", 4),
    ];
    let collect = [("waiting_i", 1), ("collect_valid_i", 1)];
    let (first, second) = (result(4, 0xa), result(5, 0xb));
    let eviction_meets_read = [&second[..], &[("dispatch_valid_i", 1)]].concat();
    let cycles: [&[(&str, u64)]; 7] = [&first, &look_up, &collect, &eviction_meets_read, &second, &[], &[]];
    insta::assert_snapshot!(waves(&mut engine, &names, &cycles).unwrap());
}

/// Registers that lie in one bank and are read one a cycle, register 8 last.
fn bench_with_reads_under_way(entries: usize, lanes: usize) -> Bench {
    let mut parameters = parameters(entries, Replacement::Fifo);
    parameters.geometry = Geometry { banks: 1, rows: 16, lanes, lanes_per_cluster: 1 };
    let mut bench = bench(&parameters);
    for register in (0..9).rev() {
        let fill = Some(of_lanes(write(register, ALL), lanes));
        bench.until(&Inputs { fill, ..Inputs::default() }, |o| o.fill_taken);
    }
    for (id, registers) in [(0, [0, 1, 2]), (1, [3, 4, 5]), (2, [6, 7, 8])] {
        let sources = registers.map(|register| Some(plain(register)));
        let issue = Some(Instruction { id, ..instruction(ALL >> (4 - lanes), sources) });
        assert!(bench.step(&Inputs { issue, units_ready: 0b11, ..Inputs::default() }).first.issue_taken);
    }
    bench.step(&Inputs { units_ready: 0b11, ..Inputs::default() });
    bench
}

/// The lowest lanes of what is written.
fn of_lanes(write: Write, lanes: usize) -> Write {
    Write { lanes: write.lanes & (ALL >> (4 - lanes)), value: write.value[..lanes].to_vec(), ..write }
}

/// Offers this until the third instruction is delivered; the cycles, with what it read of register 8.
fn until_register_8_is_read(bench: &mut Bench, offered: &Inputs) -> (Vec<Outputs>, Vec<u32>) {
    let offered = Inputs { units_ready: 0b11, ..offered.clone() };
    let cycles: Vec<_> = (0..12).map(|_| bench.step(&offered)).collect();
    let last = cycles.iter().filter_map(|o| o.first.operands.as_ref()).find(|(id, _)| *id == 2).unwrap();
    let read = last.1[2].clone();
    (cycles, read)
}

#[test]
fn no_lane_of_an_operand_is_out_before_one_is_read() {
    for (mut bench, operands) in [(fifo(2), 3), (two_issues(2), 6)] {
        bench.step(&Inputs::default());
        for k in 0..operands {
            let lanes = bench.engine.probe(&format!("cache.operand{k}_lanes_o")).unwrap();
            assert_eq!(bench.engine.get(lanes), 0, "operand {k}");
        }
    }
}

#[test]
fn instructions_follow_cycle_by_cycle_and_a_row_that_has_still_to_be_read_is_not_written() {
    let next = Write { value: value(8, 1), ..write(8, ALL) };
    let fill = Inputs { fill: Some(next.clone()), ..Inputs::default() };
    let past_the_cache = Write { in_slot: false, ..next };
    let result = Inputs { result: Some(past_the_cache), ..Inputs::default() };
    for (offered, taken) in
        [(fill, (|o| o.fill_taken) as fn(&Outputs) -> bool), (result, |o| o.first.result_taken)]
    {
        let mut bench = bench_with_reads_under_way(2, 4);
        let (cycles, read) = until_register_8_is_read(&mut bench, &offered);
        assert!(!taken(&cycles[0]) && taken(&cycles[11]));
        assert_eq!(read, value(8, 0));
    }
}

#[test]
fn a_register_that_has_still_to_be_read_is_not_spilled() {
    for lanes in [1, 4] {
        let mut bench = bench_with_reads_under_way(1, lanes);
        bench.write_as(of_lanes(Write { value: value(8, 1), ..write(8, ALL) }, lanes));
        let evicts = Inputs { result: Some(of_lanes(write(9, ALL), lanes)), ..Inputs::default() };
        let (cycles, read) = until_register_8_is_read(&mut bench, &evicts);
        assert!(cycles[0].spill.is_none() && cycles.iter().any(|o| o.spill.is_some()));
        assert_eq!(read, value(8, 0)[..lanes]);
        assert_eq!(bench.main_register(8), value(8, 1)[..lanes]);
    }
}

#[test]
fn an_operand_whose_instruction_waits_for_a_collector_is_allocated_too() {
    for position in 0..3 {
        let mut bench =
            bench(&CachedRegisterFile { allocate_sources: true, ..parameters(2, Replacement::Fifo) });
        bench.fill(4, ALL);
        let mut sources = [None; 3];
        for id in 0..4 {
            if id == 3 {
                sources[position] = Some(plain(4));
            }
            let issue = Some(Instruction { id, ..instruction(ALL, sources) });
            assert!(bench.step(&Inputs { issue, ..Inputs::default() }).first.issue_taken);
        }
        (0..3).for_each(|_| drop(bench.step(&Inputs::default())));
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        let allocated = (0..PATIENCE).filter_map(|_| bench.step(&ready).allocated);
        assert_eq!(allocated.map(|operand| operand.register).collect::<Vec<_>>(), [4], "position {position}");
    }
}

#[test]
fn an_operand_is_allocated_although_another_slot_is_flushed_while_its_instruction_waits() {
    let mut bench = bench(&CachedRegisterFile { allocate_sources: true, ..parameters(2, Replacement::Fifo) });
    bench.fill(4, ALL);
    for id in 0..4 {
        let sources = [(id == 3).then(|| plain(4)), None, None];
        let issue = Some(Instruction { id, ..instruction(ALL, sources) });
        assert!(bench.step(&Inputs { issue, ..Inputs::default() }).first.issue_taken);
    }
    let flush = Some(Flush { slot: SLOT + 1, discard: false });
    bench.step(&Inputs { flush, ..Inputs::default() });
    let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
    let allocated = (0..PATIENCE).filter_map(|_| bench.step(&ready).allocated);
    assert_eq!(allocated.map(|operand| operand.register).collect::<Vec<_>>(), [4]);
}

#[test]
fn an_operand_is_allocated_after_a_result_that_comes_in_the_same_cycle() {
    let parameters = parameters(3, Replacement::Fifo);
    let mut bench = bench(&CachedRegisterFile { allocate_sources: true, collectors: 2, ..parameters });
    bench.fill(4, ALL);
    bench.read(ALL, plain(4));
    let first = bench.step(&Inputs { result: Some(write(5, ALL)), ..Inputs::default() });
    assert!(first.first.result_taken && first.allocated.is_none());
    let second = bench.step(&Inputs::default());
    assert_eq!(second.allocated.map(|operand| operand.register), Some(4));
}

#[test]
fn a_result_is_written_at_once_when_its_register_has_been_read() {
    for position in 0..3 {
        let mut bench = fifo(2);
        bench.write(4, ALL);
        let mut sources = [None; 3];
        sources[position] = Some(plain(4));
        let issue = Some(instruction(ALL, sources));
        bench.until(&Inputs { issue, ..Inputs::default() }, |o| o.first.issue_taken);
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        bench.until(&ready, |o| o.first.operands.is_some());
        let result = Some(Write { value: value(4, 1), ..write(4, ALL) });
        assert!(
            bench.step(&Inputs { result, ..Inputs::default() }).first.result_taken,
            "position {position}"
        );
    }
}

#[test]
fn a_register_leaves_through_an_operand_port_that_is_left_over() {
    for ports in 0..8 {
        let mut bench = fifo(2);
        bench.write(5, ALL);
        bench.write(4, ALL);
        let sources = [0, 1, 2].map(|k| (ports >> k & 1 == 1).then(|| plain(4)));
        let issue = Some(instruction(ALL, sources));
        bench.until(&Inputs { issue, ..Inputs::default() }, |o| o.first.issue_taken);
        (0..4).for_each(|_| drop(bench.step(&Inputs::default())));
        let evicts = Inputs { result: Some(write(6, ALL)), units_ready: 0b11, ..Inputs::default() };
        let outputs = bench.step(&evicts);
        let leaves = outputs.spill.map(|(lanes, _)| lanes) == lanes(5, ALL);
        assert_eq!((outputs.first.dispatch.is_some(), leaves), (true, ports != 0b111), "operands {ports:b}");
    }
}

#[test]
fn a_result_that_replaces_a_register_is_kept_when_a_fill_ends_the_copy_in_the_same_cycle() {
    for (issues, port, way) in
        [(1, 0), (2, 0), (2, 1)].iter().flat_map(|&(n, p)| (0..4).map(move |w| (n, p, w)))
    {
        let parameters = parameters(4, Replacement::Fifo);
        let mut bench = bench(&CachedRegisterFile {
            allocate_sources: true,
            evict_idle_first: true,
            issues,
            ..parameters
        });
        bench.fill(4, ALL);
        (0..way).for_each(|other| assert_eq!(bench.write(8 + other, ALL), None));
        bench.read(ALL, Source { idle: true, ..plain(4) });
        bench.step(&Inputs::default());
        (way + 1..4).for_each(|other| assert_eq!(bench.write(8 + other, ALL), None));
        let fill = Some(Write { value: value(4, 1), ..write(4, ALL) });
        let outputs = bench.step(&Inputs { fill, ..result_on(port, write(5, ALL)) });
        let taken = [&outputs.first, &outputs.second][port].result_taken;
        assert!(outputs.fill_taken && taken && outputs.spill.is_none(), "port {port}, way {way}");
        assert_eq!(bench.read(ALL, plain(5)), (ALL, value(5, 0)));
        assert_eq!(bench.read(ALL, plain(4)), (0, value(4, 1)));
    }
}

/// A result on a port.
fn result_on(port: usize, write: Write) -> Inputs {
    let (result, second_result) = if port == 0 { (Some(write), None) } else { (None, Some(write)) };
    Inputs { result, second_result, ..Inputs::default() }
}

/// An instruction on an issue port; on the second behind one without operands.
fn issue_on(port: usize, instruction: Instruction) -> Inputs {
    let without_operands = Instruction { id: 12, unit: 0, sources: [None; 3], ..instruction.clone() };
    let (first, second_issue) =
        if port == 0 { (instruction, None) } else { (without_operands, Some(instruction)) };
    Inputs { issue: Some(first), second_issue, ..Inputs::default() }
}

#[test]
fn an_operand_of_either_group_is_not_overwritten_until_it_is_read_and_then_at_once() {
    for (over, port, position, early) in (0..24).map(|n| (n % 2, n / 2 % 2, n / 4 % 3, n / 12 == 1)) {
        let mut bench = two_issues(2);
        bench.write(4, ALL);
        let mut sources = [None; 3];
        sources[position] = Some(plain(4));
        let offered = issue_on(port, instruction(ALL, sources));
        let outputs = bench.step(&offered);
        assert!([&outputs.first, &outputs.second][port].issue_taken);
        let overwrites = result_on(over, write(4, ALL));
        if early {
            assert!((0..6).all(|_| !is_taken(over, &bench.step(&overwrites))), "{port}, {position}");
        }
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        let delivers = |o: &Outputs| [&o.first, &o.second][port].operands.is_some();
        bench.until(&ready, delivers);
        assert!(is_taken(over, &bench.step(&overwrites)), "result {over}, port {port}, operand {position}");
    }
}

#[test]
fn two_lookups_that_mark_one_entry_in_one_cycle_both_count() {
    // The one ends some lanes, the other says that the rest is idle; instructions go to the groups in turn.
    for (turn, idle_first) in [(0, false), (0, true), (1, false), (1, true)] {
        let parameters =
            CachedRegisterFile { issues: 2, evict_idle_first: true, ..parameters(2, Replacement::Fifo) };
        let mut bench = bench(&parameters);
        write_both(&mut bench, write(0, ALL), write(1, ALL));
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        for _ in 0..turn {
            bench.step(&issue_on(0, instruction(ALL, [None; 3])));
        }
        (0..6).for_each(|_| drop(bench.step(&ready)));
        let ends = instruction(0b0011, [Some(Source { last_read: true, ..plain(1) }), None, None]);
        let idles = Instruction {
            id: 7,
            unit: 0,
            ..instruction(0b1100, [Some(Source { idle: true, ..plain(1) }), None, None])
        };
        let (first, second) = if idle_first { (idles, ends) } else { (ends, idles) };
        let both = Inputs { issue: Some(first), second_issue: Some(second), ..Inputs::default() };
        assert!(bench.step(&both).second.issue_taken);
        (0..6).for_each(|_| drop(bench.step(&ready)));
        assert_eq!(bench.write(2, ALL), lanes(1, 0b1100), "turn {turn}, idle first: {idle_first}");
    }
}

/// Two instructions a cycle.
fn two_issues(entries: usize) -> Bench {
    bench(&CachedRegisterFile { issues: 2, ..parameters(entries, Replacement::Fifo) })
}

/// Two results in one cycle: whether each is taken, and what is spilled.
fn write_both(bench: &mut Bench, first: Write, second: Write) -> ([bool; 2], Option<Lanes>) {
    let both = Inputs { result: Some(first), second_result: Some(second), ..Inputs::default() };
    let outputs = bench.step(&both);
    ([outputs.first.result_taken, outputs.second.result_taken], outputs.spill.map(|(lanes, _)| lanes))
}

#[test]
fn two_results_for_a_slot_get_an_entry_each_in_one_cycle() {
    let mut bench = two_issues(3);
    assert_eq!(write_both(&mut bench, write(4, ALL), write(5, ALL)), ([true; 2], None));
    // Now register 4 is the oldest, then 5; the third entry is free.
    assert_eq!(write_both(&mut bench, write(6, ALL), write(7, ALL)), ([true; 2], lanes(4, ALL)));
    for register in 5..8 {
        assert_eq!(bench.read(ALL, plain(register)), (ALL, value(register, 0)));
    }
}

#[test]
fn of_two_results_that_evict_the_second_waits() {
    let mut bench = two_issues(2);
    write_both(&mut bench, write(4, ALL), write(5, ALL));
    assert_eq!(write_both(&mut bench, write(6, ALL), write(7, ALL)), ([true, false], lanes(4, ALL)));
    assert_eq!(bench.write(7, ALL), lanes(5, ALL));
    let other_slot = Write { slot: SLOT + 1, ..write(1, ALL) };
    write_both(&mut bench, other_slot.clone(), Write { register: 2, ..other_slot.clone() });
    let evicts = Write { register: 3, ..other_slot };
    assert_eq!(write_both(&mut bench, write(0, ALL), evicts), ([true, false], lanes(6, ALL)));
}

#[test]
fn two_results_for_one_entry_come_one_after_the_other() {
    let mut bench = two_issues(1);
    assert_eq!(write_both(&mut bench, write(4, ALL), write(5, ALL)), ([true, false], None));
    assert_eq!(bench.write(5, ALL), lanes(4, ALL));
    let mut bench = two_issues(2);
    write_both(&mut bench, write(4, ALL), write(5, ALL));
    // The entry that the first evicts is the second's own.
    assert_eq!(write_both(&mut bench, write(6, ALL), write(4, ALL)), ([true, false], lanes(4, ALL)));
}

#[test]
fn two_instructions_find_their_operands_in_one_cycle_and_leave_in_one() {
    let mut bench = two_issues(2);
    write_both(&mut bench, write(4, ALL), write(5, ALL));
    let sources = [4, 5, 4].map(|register| Some(plain(register)));
    let first = instruction(ALL, sources);
    let second = Instruction { id: 7, unit: 0, ..instruction(ALL, sources) };
    let both =
        Inputs { issue: Some(first), second_issue: Some(second), units_ready: 0b11, ..Inputs::default() };
    let taken = bench.step(&both);
    assert!(taken.first.issue_taken && taken.second.issue_taken);
    let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
    let cycles: Vec<_> = (0..4).map(|_| bench.step(&ready)).collect();
    let left = |o: &Outputs| (o.first.dispatch, o.second.dispatch) == (Some((3, 1)), Some((7, 0)));
    assert_eq!(cycles.iter().position(left), Some(2));
}

#[test]
fn of_two_lookups_that_of_the_second_group_uses_its_entry_last() {
    let mut bench = bench(&CachedRegisterFile { issues: 2, ..parameters(2, Replacement::Lru) });
    write_both(&mut bench, write(4, ALL), write(5, ALL));
    let reads = |id, register| Instruction { id, ..instruction(ALL, [Some(plain(register)), None, None]) };
    let both = Inputs { issue: Some(reads(1, 5)), second_issue: Some(reads(2, 4)), ..Inputs::default() };
    assert!(bench.step(&both).second.issue_taken);
    let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
    (0..6).for_each(|_| drop(bench.step(&ready)));
    assert_eq!(bench.write(6, ALL), lanes(5, ALL));
}

/// Writers of the main register file that come from outside: both result ports, and the fill.
const WRITERS: std::ops::Range<usize> = 0..3;

/// A write past the cache.
fn past_the_cache(writer: usize, write: Write) -> Inputs {
    match writer {
        2 => Inputs { fill: Some(write), ..Inputs::default() },
        port => result_on(port, Write { in_slot: false, ..write }),
    }
}

fn is_taken(writer: usize, outputs: &Outputs) -> bool {
    [outputs.first.result_taken, outputs.second.result_taken, outputs.fill_taken][writer]
}

/// The group that instructions of this issue port go to fills up, because its unit is not ready: the fourth instruction,
/// which reads register 4, waits behind its tags.
fn wait_behind_tags(bench: &mut Bench, port: usize, position: usize) {
    for id in 0..4 {
        let mut sources = [None; 3];
        sources[position] = (id == 3).then(|| plain(4));
        let waits = Instruction { id, ..instruction(ALL, sources) };
        let passes = Instruction { id: 8 + id, unit: 0, ..instruction(ALL, [None; 3]) };
        let (first, second) = if port == 0 { (waits, passes) } else { (passes, waits) };
        let issues = (Some(first), Some(second));
        let both = Inputs { issue: issues.0, second_issue: issues.1, units_ready: 0b01, ..Inputs::default() };
        assert!(bench.step(&both).second.issue_taken);
    }
}

#[test]
fn an_operand_of_either_group_that_waits_behind_its_tags_is_allocated_unless_its_slot_is_flushed() {
    for (port, position, flushed) in
        (0..18).map(|n| (n % 2, n / 2 % 3, [None, Some(SLOT + 1), Some(SLOT)][n / 6]))
    {
        let parameters = parameters(2, Replacement::Fifo);
        let mut bench = bench(&CachedRegisterFile { issues: 2, allocate_sources: true, ..parameters });
        bench.fill(4, ALL);
        wait_behind_tags(&mut bench, port, position);
        let flush = flushed.map(|slot| Flush { slot, discard: false });
        bench.step(&Inputs { flush, ..Inputs::default() });
        (0..3).for_each(|_| drop(bench.step(&Inputs::default())));
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        let allocated = (0..PATIENCE).filter_map(|_| bench.step(&ready).allocated);
        let registers: Vec<usize> = allocated.map(|operand| operand.register).collect();
        let expected: &[usize] = if flushed == Some(SLOT) { &[] } else { &[4] };
        assert_eq!(registers, expected, "port {port}, operand {position}, {flushed:?}");
    }
}

#[test]
fn a_write_waits_for_an_instruction_that_was_passed_in_its_tag_stage() {
    for (writer, port, position) in WRITERS.flat_map(|writer| (0..6).map(move |n| (writer, n % 2, n / 2))) {
        let mut bench = two_issues(2);
        bench.fill(4, ALL);
        wait_behind_tags(&mut bench, port, position);
        // A write to another register does not wait.
        let other = Inputs { units_ready: 0b01, ..past_the_cache(writer, write(7, ALL)) };
        assert!(is_taken(writer, &bench.step(&other)), "writer {writer}, port {port}, operand {position}");
        let write = Write { value: value(4, 1), ..write(4, ALL) };
        let offered = Inputs { units_ready: 0b01, ..past_the_cache(writer, write) };
        assert!((0..6).all(|_| !is_taken(writer, &bench.step(&offered))));
        let ready = Inputs { units_ready: 0b11, ..offered };
        let cycles: Vec<_> = (0..PATIENCE).map(|_| bench.step(&ready)).collect();
        let operands = cycles.iter().filter_map(|o| [&o.first, &o.second][port].operands.as_ref());
        let read = operands.into_iter().find(|(id, _)| *id == 3).unwrap();
        assert_eq!(read.1[position], value(4, 0));
        assert_eq!(bench.main_register(4), value(4, 1));
    }
}

#[test]
fn an_operand_of_either_group_gets_an_entry_though_others_are_written() {
    for (writer, port, position) in WRITERS.flat_map(|writer| (0..6).map(move |n| (writer, n % 2, n / 2))) {
        let parameters = parameters(4, Replacement::Fifo);
        let mut bench = bench(&CachedRegisterFile { issues: 2, allocate_sources: true, ..parameters });
        bench.fill(5, ALL);
        // From then on the writer shows register 4, without offering it.
        let first = past_the_cache(writer, write(4, ALL));
        bench.until(&first, |outputs| is_taken(writer, outputs));
        bench.step(&Inputs::default());
        for written_beside in [false, true] {
            let mut sources = [None; 3];
            sources[position] = Some(plain(if written_beside { 5 } else { 4 }));
            let outputs = bench.step(&issue_on(port, instruction(ALL, sources)));
            assert!([&outputs.first, &outputs.second][port].issue_taken);
            let beside =
                if written_beside { past_the_cache(writer, write(7, ALL)) } else { Inputs::default() };
            bench.step(&beside);
            let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
            let allocated = bench.until(&ready, |outputs| outputs.allocated.is_some()).allocated;
            let expected = sources[position].map(|source| source.register);
            let found = allocated.map(|operand| operand.register);
            assert_eq!(found, expected, "writer {writer}, port {port}, operand {position}");
            (0..6).for_each(|_| drop(bench.step(&ready)));
            // Instructions go to the groups in turn, and on the second port two have gone.
            if port == 0 {
                bench.step(&Inputs { units_ready: 0b11, ..issue_on(0, instruction(ALL, [None; 3])) });
                (0..6).for_each(|_| drop(bench.step(&ready)));
            }
        }
    }
}
