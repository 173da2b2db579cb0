//! The compressor under random requests, and what it does one request at a time.

use num_bigint::BigUint;
use proptest::prelude::*;
use warpfile_engine::waves::waves;
use warpfile_engine::{Interpreter, Options};
use warpfile_gen::{Style, emit};
use warpfile_hdl::regless::{Compressor, Pattern, RequestKind};
use warpfile_random::config;
use warpfile_testbenches::mutation::elaborate;
use warpfile_testbenches::witness::verilog_equals_engines;

use super::compressor_bench::{Bench, Counts, Outputs};
use super::memory::{Fill, Memory, Pace, Request};
use super::osu::{Mix, Osu};
use super::patterns_ref::{joined, value};

/// Cycles within which everything must end.
const PATIENCE: usize = 10_000;

/// Six slots a line: 22 compressed lines for 64 registers of 2 warps.
const SMALL: Compressor =
    Compressor { warps: 2, register_bits: 6, osu_lines: 6, lanes: 14, lines: 2, queue: 3 };

const AT_ONCE: Pace = Pace { ready: 100, latency: 1 };

fn parameters() -> impl Strategy<Value = Compressor> {
    let table1 = Compressor { warps: 16, register_bits: 8, osu_lines: 16, lanes: 32, lines: 12, queue: 4 };
    prop_oneof![
        Just(table1.clone()),
        Just(Compressor { lines: 4, ..table1 }),
        Just(SMALL),
        Just(Compressor { lines: 1, queue: 1, ..SMALL }),
        Just(Compressor { warps: 5, register_bits: 3, osu_lines: 1, lanes: 4, lines: 3, queue: 2 }),
        Just(Compressor { warps: 5, register_bits: 3, osu_lines: 8, lanes: 4, lines: 3, queue: 2 }),
    ]
}

fn mix() -> impl Strategy<Value = Mix> {
    let compressible = prop::sample::select(vec![0usize, 50, 90, 100]);
    (prop::sample::select(vec![30usize, 100]), compressible).prop_map(|(busy, compressible)| Mix {
        busy,
        compressible,
        registers: 6,
    })
}

fn pace() -> impl Strategy<Value = Pace> {
    (prop::sample::select(vec![20usize, 80, 100]), prop::sample::select(vec![1usize, 40]))
        .prop_map(|(ready, latency)| Pace { ready, latency })
}

/// Random requests, then everything that has a copy is fetched.
fn run(parameters: &Compressor, mix: Mix, pace: Pace, seed: u64, cycles: usize) -> Bench {
    let registers = mix.registers.min(1 << parameters.register_bits);
    let mut bench = Bench::new(parameters, Memory::new(seed ^ 1, pace), seed);
    let mut osu = Osu::new(seed, Mix { registers, ..mix }, parameters);
    for cycle in 0..cycles + PATIENCE {
        if cycle < cycles {
            osu.think();
        } else {
            osu.fetch_everything();
        }
        let outputs = bench.step(osu.offer.as_ref());
        if outputs.taken {
            osu.taken();
        }
        if let Some(fill) = &outputs.fill {
            osu.filled(fill);
        }
        if cycle >= cycles && osu.is_idle() && osu.copies().is_empty() {
            break;
        }
    }
    assert!(osu.is_idle() && osu.copies().is_empty(), "what was asked for has not come");
    bench
}

proptest! {
    #![proptest_config(config(24))]
    #[test]
    fn what_is_fetched_is_what_was_written_last(
        parameters in parameters(), mix in mix(), pace in pace(), seed in any::<u64>(),
    ) {
        let bench = run(&parameters, mix, pace, seed, 600);
        // Writes may still wait for their lines; nothing else is left.
        let expected = &bench.reference.expected;
        prop_assert!(expected.passed.is_empty() && expected.answers.is_empty() && expected.reads.is_empty());
    }
}

#[test]
fn the_engines_and_the_verilog_do_the_same() {
    let mix = Mix { busy: 100, compressible: 80, registers: 12 };
    let bench = run(&SMALL, mix, Pace { ready: 80, latency: 6 }, 5, 300);
    assert!(bench.counts.lines_written > 10 && bench.counts.lines_fetched > 10, "{:?}", bench.counts);
    verilog_equals_engines(&bench.netlist, Style::default(), 5, &bench.stimuli).unwrap();
}

#[test]
fn more_lines_mean_fewer_requests_to_memory() {
    let mix = Mix { busy: 60, compressible: 90, registers: 16 };
    let table1 = Compressor { warps: 16, register_bits: 8, osu_lines: 16, lanes: 32, lines: 12, queue: 4 };
    let of_lines = |lines: usize| {
        let parameters = Compressor { lines, ..table1.clone() };
        let counts = run(&parameters, mix, Pace { ready: 90, latency: 20 }, 3, 3000).counts;
        counts.lines_written + counts.lines_fetched
    };
    let [none, some, all] = [4, 12, 18].map(of_lines);
    assert!(none > some && some > all && all == 0, "{none} {some} {all}");
}

/// One request at a time.
impl Bench {
    fn small(pace: Pace) -> Bench {
        Bench::new(&SMALL, Memory::new(1, pace), 7)
    }

    /// Offers until it is taken; the cycles from the one in which it was, as many as asked for.
    fn ask(&mut self, request: &Request, cycles: usize) -> Vec<Outputs> {
        let first = (0..PATIENCE).map(|_| self.step(Some(request))).find(|outputs| outputs.taken);
        let mut seen = vec![first.expect("the request is not taken")];
        seen.extend((1..cycles).map(|_| self.step(None)));
        seen
    }

    /// Asks, and waits until nothing happens any more; what happened.
    fn do_all(&mut self, requests: &[Request]) -> Counts {
        let before = self.counts;
        for request in requests {
            self.ask(request, 40);
        }
        let after = self.counts;
        Counts {
            passed: after.passed - before.passed,
            lines_written: after.lines_written - before.lines_written,
            lines_fetched: after.lines_fetched - before.lines_fetched,
            hits: after.hits - before.hits,
            misses: after.misses - before.misses,
        }
    }
}

fn request(kind: RequestKind, register: usize) -> Request {
    Request { kind, place: (false, register, 1), line: 5, invalidates: false, value: BigUint::ZERO }
}

fn fetch(register: usize) -> Request {
    request(RequestKind::Fetch, register)
}

fn invalidating_fetch(register: usize) -> Request {
    Request { invalidates: true, ..fetch(register) }
}

fn write(register: usize, value: &[u32]) -> Request {
    Request { value: joined(value), ..request(RequestKind::Write, register) }
}

/// A value of 14 lanes with a pattern.
fn short(first: u32) -> Vec<u32> {
    value(Pattern::HalfStride4, [first, !first], 14)
}

/// One without.
fn long(first: u32) -> Vec<u32> {
    (0..14).map(|lane| first.wrapping_mul(lane * lane + 3)).collect()
}

fn passed(counts: Counts) -> Counts {
    Counts { passed: 1, ..counts }
}

const NOTHING: Counts = Counts { passed: 0, lines_written: 0, lines_fetched: 0, hits: 0, misses: 0 };

#[test]
fn a_register_that_is_not_compressed_costs_one_cycle_and_a_compressed_one_three() {
    let mut bench = Bench::small(Pace { ready: 100, latency: 9 });
    bench.do_all(&[write(1, &long(1)), write(2, &short(2))]);
    let seen = bench.ask(&fetch(1), 12);
    assert_eq!(seen.iter().position(|outputs| outputs.request.is_some()), Some(1));
    let seen = bench.ask(&fetch(2), 12);
    assert_eq!(seen.iter().position(|outputs| outputs.fill.is_some()), Some(3));
    assert!(seen.iter().all(|outputs| outputs.request.is_none()));
}

#[test]
fn compressed_registers_come_one_a_cycle() {
    let mut bench = Bench::small(AT_ONCE);
    let registers = [0, 1, 2, 0, 1, 2];
    bench.do_all(&[0, 1, 2].map(|register| write(register, &short(register as u32 + 9))));
    let mut seen: Vec<Outputs> = registers.iter().map(|&r| bench.step(Some(&fetch(r)))).collect();
    seen.extend((0..3).map(|_| bench.step(None)));
    assert!(seen[..6].iter().all(|outputs| outputs.taken));
    let fills: Vec<Option<usize>> =
        seen.iter().map(|outputs| outputs.fill.as_ref().map(|Fill { place, .. }| place.1)).collect();
    assert_eq!(fills[..3], [None; 3]);
    assert_eq!(fills[3..], registers.map(Some));
}

#[test]
fn a_line_that_memory_never_had_is_not_fetched() {
    let mut bench = Bench::small(AT_ONCE);
    assert_eq!(bench.do_all(&[write(0, &short(1)), write(3, &short(2))]), NOTHING);
    // The third line finds both in use: one is written back, no line is fetched.
    assert_eq!(bench.do_all(&[write(6, &short(3))]), Counts { lines_written: 1, ..NOTHING });
}

#[test]
fn a_write_to_a_line_that_is_only_in_memory_fetches_it_and_keeps_its_other_registers() {
    let mut bench = Bench::small(AT_ONCE);
    bench.do_all(&[write(0, &short(1)), write(1, &short(2)), write(3, &short(3)), write(6, &short(4))]);
    let counts = bench.do_all(&[write(0, &short(5))]);
    assert_eq!(counts, Counts { lines_written: 1, lines_fetched: 1, ..NOTHING });
    assert_eq!(bench.do_all(&[fetch(1), fetch(0)]), Counts { hits: 2, ..NOTHING });
}

#[test]
fn a_read_whose_line_is_only_in_memory_is_a_miss_and_a_clean_line_is_not_written_back() {
    let mut bench = Bench::small(AT_ONCE);
    bench.do_all(&[write(0, &short(1)), write(3, &short(3)), write(6, &short(4))]);
    let counts = bench.do_all(&[fetch(0)]);
    assert_eq!(counts, Counts { lines_written: 1, lines_fetched: 1, misses: 1, ..NOTHING });
    bench.do_all(&[fetch(6)]);
    assert_eq!(bench.do_all(&[fetch(3)]), Counts { lines_fetched: 1, misses: 1, ..NOTHING });
}

#[test]
fn the_line_used_longest_ago_makes_room() {
    let mut bench = Bench::small(AT_ONCE);
    bench.do_all(&[write(0, &short(1)), write(3, &short(2)), fetch(0), write(6, &short(3))]);
    assert_eq!(bench.do_all(&[fetch(0)]), Counts { hits: 1, ..NOTHING });
    assert_eq!(bench.do_all(&[fetch(3)]).misses, 1);
}

#[test]
fn the_last_write_says_whether_a_register_is_compressed() {
    let mut bench = Bench::small(AT_ONCE);
    assert_eq!(bench.do_all(&[write(1, &short(1)), write(1, &long(2))]), passed(NOTHING));
    assert_eq!(bench.do_all(&[fetch(1)]), passed(NOTHING));
    assert_eq!(bench.do_all(&[write(1, &short(3)), fetch(1)]), Counts { hits: 1, ..NOTHING });
}

#[test]
fn a_compressed_register_is_invalidated_without_a_request_to_memory() {
    let mut bench = Bench::small(AT_ONCE);
    for invalidation in [request(RequestKind::Invalidate, 1), invalidating_fetch(1)] {
        bench.do_all(&[write(1, &short(1)), invalidation]);
        // No longer compressed: the next one goes to memory.
        assert_eq!(bench.do_all(&[request(RequestKind::Invalidate, 1)]), passed(NOTHING));
    }
}

#[test]
fn a_warp_that_ends_takes_its_bits_along_and_no_others() {
    let mut bench = Bench::small(AT_ONCE);
    let of_other_warp = |request: Request| Request { place: (false, request.place.1, 0), ..request };
    bench.do_all(&[write(1, &short(1)), write(2, &short(2)), of_other_warp(write(1, &short(3)))]);
    assert_eq!(bench.do_all(&[request(RequestKind::Drop, 0)]), passed(NOTHING));
    for register in [1, 2] {
        assert_eq!(bench.do_all(&[request(RequestKind::Invalidate, register)]), passed(NOTHING));
    }
    assert_eq!(bench.do_all(&[of_other_warp(fetch(1))]), Counts { hits: 1, ..NOTHING });
}

#[test]
fn a_missing_line_holds_up_no_register_that_is_not_compressed() {
    let mut bench = Bench::small(AT_ONCE);
    bench.do_all(&[write(0, &short(1)), write(3, &short(2)), write(6, &short(3)), write(20, &long(4))]);
    // Its line is in memory, which takes its time from now on.
    bench.memory.set_latency(1000);
    bench.ask(&fetch(0), 8);
    let seen = bench.ask(&fetch(20), 3);
    assert!(seen[1].request.as_ref().is_some_and(|request| request.place == (false, 20, 1)));
}

#[test]
fn a_fetch_behind_a_write_that_waits_for_its_line_gets_what_was_written() {
    let mut bench = Bench::small(Pace { ready: 100, latency: 30 });
    bench.do_all(&[write(0, &short(1)), write(3, &short(2)), write(6, &short(3))]);
    bench.ask(&write(0, &short(8)), 1);
    let seen = bench.ask(&fetch(0), 60);
    let fills: Vec<&Fill> = seen.iter().filter_map(|outputs| outputs.fill.as_ref()).collect();
    assert_eq!(fills.iter().map(|fill| fill.value.clone()).collect::<Vec<_>>(), [joined(&short(8))]);
}

#[test]
fn a_line_that_passes_comes_before_a_register_that_is_ready() {
    let mut bench = Bench::small(Pace { ready: 100, latency: 1 });
    bench.do_all(&[write(1, &long(1)), write(2, &short(2))]);
    // Taken in one cycle after the other: the line comes two cycles after its request, as the register is ready.
    let mut seen = vec![bench.step(Some(&fetch(2))), bench.step(Some(&fetch(1)))];
    seen.extend((0..4).map(|_| bench.step(None)));
    let fills: Vec<Option<usize>> =
        seen.iter().map(|outputs| outputs.fill.as_ref().map(|fill| fill.place.1)).collect();
    assert_eq!(fills, [None, None, None, Some(1), Some(2), None]);
}

#[test]
fn verilog() {
    let files = emit(&elaborate(&Compressor { lines: 2, ..tiny() }).unwrap());
    let compressor = files.modules.iter().find(|file| file.text.contains("module compressor_")).unwrap();
    insta::assert_snapshot!("compressor_verilog", compressor.text);
}

/// One slot a line, one line.
fn tiny() -> Compressor {
    Compressor { warps: 2, register_bits: 1, osu_lines: 2, lanes: 4, lines: 1, queue: 2 }
}

#[test]
fn waveform_of_a_write_a_hit_and_a_miss() {
    let mut engine = Interpreter::new(&elaborate(&tiny()).unwrap(), &Options::checked()).unwrap();
    let names = [
        "osu_request_valid_i",
        "osu_request_ready_o",
        "osu_request_kind_i",
        "osu_request_register_i",
        "memory_request_valid_o",
        "memory_request_kind_o",
        "memory_request_compressed_o",
        "memory_request_register_o",
        "memory_fill_valid_i",
        "osu_fill_valid_o",
        "osu_fill_register_o",
        "osu_fill_value_o",
        "hit_o",
        "miss_o",
    ];
    let ready = ("memory_request_ready_i", 1);
    let asks = |kind: RequestKind, register| {
        vec![
            ("osu_request_valid_i", 1),
            ("osu_request_kind_i", kind as u64),
            ("osu_request_register_i", register),
            ready,
        ]
    };
    let comes = [("memory_fill_valid_i", 1), ("memory_fill_compressed_i", 1), ready];
    let idle = vec![ready];
    let mut cycles =
        vec![asks(RequestKind::Write, 0), asks(RequestKind::Fetch, 0), asks(RequestKind::Write, 1)];
    cycles.extend(vec![idle.clone(); 6]);
    cycles.push(asks(RequestKind::Fetch, 0));
    cycles.extend(vec![idle.clone(); 5]);
    cycles.push(comes.to_vec());
    cycles.extend(vec![idle; 3]);
    let cycles: Vec<&[(&str, u64)]> = cycles.iter().map(Vec::as_slice).collect();
    insta::assert_snapshot!(waves(&mut engine, &names, &cycles).unwrap());
}
