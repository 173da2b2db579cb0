//! The whole memory behind one SM, asked transaction by transaction.

use super::*;
use crate::config::{CacheIndex, preset};

/// Memory, and the cycle that it is in.
struct Bench {
    memory: QueuedMemory,
    now: u64,
    /// Waiters and lines that have come back, and when.
    data: Vec<(u16, u64)>,
    lines: Vec<(FilledLine, u64)>,
}

impl Bench {
    /// A machine of its own: one SM, one slice, one channel, so that every share is whole.
    fn new(change: impl FnOnce(&mut Config)) -> Bench {
        let mut config = preset("gtx980-gpgpusim").expect("complete");
        (config.chip.sms, config.slices.count, config.dram.channels) = (1, 1, 1);
        (config.l2.mshrs, config.l2.bytes_per_cycle, config.dram.bytes_per_cycle) = (32, 32, 32);
        change(&mut config);
        Bench { memory: QueuedMemory::new(&config), now: 0, data: Vec::new(), lines: Vec::new() }
    }

    fn step(&mut self) {
        self.now += 1;
        self.memory.cycle(self.now);
        while let Some(returned) = self.memory.pop_returned() {
            match returned {
                Returned::Data(waiter) => self.data.push((waiter, self.now)),
                Returned::Line(line) => self.lines.push((line, self.now)),
            }
        }
    }

    /// Runs until nothing is under way.
    fn drain(&mut self) {
        for _ in 0..1_000_000 {
            self.step();
            if self.memory.is_idle() {
                return;
            }
        }
        panic!("something stays under way");
    }

    fn try_access(&mut self, kind: MemoryKind, address: u64, waiter: u16) -> bool {
        let access = Access { address, bytes: 128, kind };
        self.memory.access(self.now, access, waiter).is_some()
    }

    /// Asks until it is taken.
    fn access(&mut self, kind: MemoryKind, address: u64, waiter: u16) {
        while !self.try_access(kind, address, waiter) {
            self.step();
        }
    }

    fn request(&mut self, request: &LineRequest<'_>) {
        for _ in 0..100_000 {
            if self.memory.request(self.now, request).is_some() {
                return;
            }
            self.step();
        }
        panic!("the request is never taken");
    }

    /// Cycles until the data of one load is back, with nothing else under way.
    fn latency(&mut self, address: u64) -> u64 {
        let begin = self.now;
        self.access(MemoryKind::Load, address, 0);
        self.drain();
        self.data.pop().expect("it is back").1 - begin
    }

    fn statistics(&self) -> MemoryStatistics {
        let mut statistics = MemoryStatistics::default();
        self.memory.report(&mut statistics);
        statistics
    }
}

fn values(seed: u32) -> LaneValues {
    std::array::from_fn(|lane| seed << 8 | lane as u32)
}

fn line(register: usize) -> Line {
    Line { compressed: false, warp: 3, register }
}

/// Caches so small that lines reach DRAM: two lines in the L1, two in the L2.
fn tiny(config: &mut Config) {
    (config.l1.bytes, config.l1.ways, config.l1.index) = (256, 2, CacheIndex::Linear);
    (config.l2.bytes, config.l2.ways) = (256, 2);
}

#[test]
fn a_load_takes_the_stages_that_it_goes_through() {
    let mut bench = Bench::new(|_| ());
    let far = bench.latency(0);
    let near = bench.latency(0);
    // A cycle in the queue before the network, 4 and a flit there; the L2's pipeline of 150; as many cycles and 5 flits back.
    assert_eq!(near, 1 + 4 + 1 + 150 + 1 + 4 + 5, "L2");
    // To that DRAM's pipeline of 130, RCD and CL of 12 and two bursts, of a memory that has 1753 of 1126 MHz.
    assert!((near + 130 + 16..near + 130 + 40).contains(&far), "{near} and {far}");
}

#[test]
fn loads_of_a_line_on_its_way_share_one_request_to_dram() {
    let mut bench = Bench::new(|_| ());
    (0..4).for_each(|waiter| bench.access(MemoryKind::Load, 0, waiter));
    bench.drain();
    let statistics = bench.statistics();
    assert_eq!((statistics.l2.misses, statistics.l2.merged_misses, statistics.dram_bytes), (1, 3, 128));
    assert_eq!(bench.data.iter().map(|(waiter, _)| *waiter).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn no_more_loads_than_there_are_places_wait_for_a_line() {
    let mut bench = Bench::new(|config| config.l2.mshr_merge = 2);
    (0..4).for_each(|waiter| bench.access(MemoryKind::Load, 0, waiter));
    bench.drain();
    // The third waits before the lookup until the line is there.
    assert_eq!((bench.statistics().l2.merged_misses, bench.statistics().l2.hits), (1, 2));
}

#[test]
fn a_store_stream_is_held_back_to_the_bandwidth_of_dram_and_nothing_is_lost() {
    let mut bench = Bench::new(|config| {
        config.l2.write_policy = WritePolicy::WriteThrough;
        config.dram.bytes_per_cycle = 8;
    });
    let lines = 2000;
    (0..lines).for_each(|line| bench.access(MemoryKind::Store, 128 * line, 0));
    let cycles = bench.now;
    assert!(cycles > 128 * (lines - 500) / 8, "{cycles} cycles for {lines} lines at 8 bytes a cycle");
    bench.drain();
    assert_eq!(bench.statistics().dram_bytes, 128 * lines);
    assert_eq!(bench.statistics().l2.misses, lines);
}

#[test]
fn a_full_queue_refuses_and_takes_again_when_it_moves() {
    let mut bench = Bench::new(|config| config.network.queue = 2);
    let taken = (0..3).filter(|line| {
        bench.memory.l1.port_free_at = 0;
        bench.try_access(MemoryKind::Load, 128 * line, 0)
    });
    assert_eq!(taken.count(), 2);
    bench.step();
    assert!(bench.try_access(MemoryKind::Load, 128 * 3, 0));
}

#[test]
fn every_load_comes_back_once_through_the_smallest_queues() {
    let mut bench = Bench::new(|config| {
        tiny(config);
        config.memory.data_in_l1 = true;
        config.l1.write_policy = WritePolicy::WriteBack;
        (config.l1.mshrs, config.l1.mshr_merge, config.l2.mshrs, config.l2.mshr_merge) = (2, 1, 1, 1);
        config.network.queue = 2;
        (config.slices.input_queue, config.slices.reply_queue, config.slices.dram_queue) = (1, 1, 2);
        (config.dram.queue, config.dram.return_queue, config.dram.banks) = (1, 1, 1);
    });
    let mut loads = Vec::new();
    for step in 0..600_u16 {
        let address = 128 * u64::from(step * 7 % 23);
        match step % 3 {
            0 => bench.access(MemoryKind::Store, address, step),
            1 => bench.access(MemoryKind::Atomic, address, step),
            _ => bench.access(MemoryKind::Load, address, step),
        }
        if step % 3 > 0 {
            loads.push(step);
        }
    }
    bench.drain();
    let mut back: Vec<u16> = bench.data.iter().map(|(waiter, _)| *waiter).collect();
    back.sort_unstable();
    assert_eq!(back, loads);
}

#[test]
fn a_register_line_keeps_its_contents_through_every_level() {
    let mut bench = Bench::new(tiny);
    for register in 0..12 {
        bench.request(&LineRequest::Write { line: line(register), values: &values(register as u32) });
    }
    for round in 0..3 {
        for register in [3, 11, 0, 7, 10, 5, 1, 9, 2, 8, 4, 6] {
            let line = line(register);
            bench.request(&LineRequest::Fetch { line, invalidates: round == 2, tag: register as u16 });
        }
    }
    bench.drain();
    assert_eq!(bench.lines.len(), 36);
    for (filled, _) in &bench.lines {
        assert_eq!(filled.values, values(u32::from(filled.tag)), "register {}", filled.tag);
        assert_eq!(filled.line.register, usize::from(filled.tag));
    }
    let lines = bench.statistics().register_lines;
    assert!(lines.written_to_l2 > 0 && lines.written_to_dram > 0 && lines.fetched_from_dram > 0, "{lines:?}");
    assert_eq!(lines.fetches(), 36);
}

#[test]
fn a_line_that_has_left_is_read_as_it_was_written_last() {
    let mut bench = Bench::new(tiny);
    // Each write pushes older lines out; the fetch right behind overtakes none of them.
    for round in 0..50_u32 {
        for register in 0..6 {
            bench.request(&LineRequest::Write {
                line: line(register),
                values: &values(round + register as u32),
            });
        }
        for register in 0..6 {
            let tag = (round + register as u32) as u16;
            bench.request(&LineRequest::Fetch { line: line(register), invalidates: false, tag });
        }
    }
    bench.drain();
    assert_eq!(bench.lines.len(), 300);
    assert!(bench.lines.iter().all(|(filled, _)| filled.values == values(u32::from(filled.tag))));
}

#[test]
fn fetches_of_one_line_on_its_way_share_a_request() {
    let mut bench = Bench::new(|_| ());
    for tag in 0..3 {
        bench.request(&LineRequest::Fetch { line: line(1), invalidates: false, tag });
    }
    bench.drain();
    assert_eq!(bench.lines.iter().map(|(filled, _)| filled.tag).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(bench.statistics().dram_bytes, 128);
}

#[test]
fn a_dropped_line_is_written_nowhere() {
    let mut bench = Bench::new(tiny);
    bench.request(&LineRequest::Write { line: line(0), values: &values(7) });
    bench.request(&LineRequest::Invalidate { line: line(0) });
    for register in 1..9 {
        bench.request(&LineRequest::Fetch { line: line(register), invalidates: false, tag: 0 });
    }
    bench.drain();
    let lines = bench.statistics().register_lines;
    assert_eq!((lines.written_to_l2, lines.written_to_dram), (0, 0));
}

#[test]
fn one_of_several_sms_gets_its_part_of_the_bandwidth() {
    let cycles = |sms| {
        let mut bench = Bench::new(|config| {
            (config.chip.sms, config.slices.count, config.dram.channels) = (sms, 4, 4);
            (config.l2.bytes_per_cycle, config.dram.bytes_per_cycle, config.l2.mshrs) = (128, 128, 512);
            config.l2.bytes = 1 << 20;
        });
        (0..4000).for_each(|line| bench.access(MemoryKind::Load, 128 * line, 0));
        bench.drain();
        bench.now
    };
    let (whole, part) = (cycles(4), cycles(16));
    let ratio = part as f64 / whole as f64;
    assert!((3.5..4.5).contains(&ratio), "{whole} cycles of one in 4, {part} of one in 16");
}

#[test]
fn the_same_requests_take_the_same_cycles() {
    let run = || {
        let mut bench = Bench::new(tiny);
        for step in 0..300_u16 {
            let kind = if step % 4 == 0 { MemoryKind::Store } else { MemoryKind::Load };
            bench.access(kind, 128 * u64::from(step * 31 % 97), step);
        }
        bench.drain();
        bench.data
    };
    assert_eq!(run(), run());
}
