//! Bandwidth, coalescing, back-pressure.

use warpfile_kernels::program::Operation;
use warpfile_sim::config::MemoryModel;

use crate::kernels::{Kernel, global};
use crate::stand_ins::{cycles, gebhart, run_single_level};

#[test]
fn memory_moves_32_bytes_a_cycle() {
    let loads = |count: u16| (0..count).fold(Kernel::new(), |kernel, r| kernel.load(r % 16, 0));
    let independent = |count| {
        let kernel = loads(count).warps(1, 8);
        run_single_level(&gebhart(), kernel).expect("runs").0
    };
    let (few, many) = (independent(4), independent(8));
    // A full warp of words is 128 bytes: four cycles.
    assert_eq!(many.memory.bytes - few.memory.bytes, 32 * 128);
    assert_eq!(many.cycles - few.cycles, 32 * 4);
}

#[test]
fn lanes_that_share_a_sector_share_a_transaction() {
    let transactions = |stride| {
        let kernel = Kernel::new().load(1, 0).stride(stride);
        run_single_level(&gebhart(), kernel).expect("runs").0.memory.transactions
    };
    assert_eq!((transactions(0), transactions(4), transactions(8), transactions(64)), (1, 4, 8, 32));
}

#[test]
fn stores_take_bandwidth_but_nobody_waits_for_them() {
    let alone = cycles(Kernel::new().alu(1, &[]).alu(2, &[]));
    let with_store = cycles(Kernel::new().alu(1, &[]).store(0, 0).alu(2, &[]));
    assert!(with_store < alone + 20, "{with_store} against {alone}");
    let kernel = Kernel::new().store(0, 0).load(1, 0).alu(2, &[1]);
    let load_only = Kernel::new().alu(5, &[]).load(1, 0).alu(2, &[1]);
    assert_eq!(cycles(kernel) - cycles(load_only), 3, "the store's four sectors go first");
}

#[test]
fn a_full_memory_unit_holds_instructions_back_without_losing_any() {
    let mut config = gebhart();
    config.memory.queue = 1;
    let kernel = (0..64).fold(Kernel::new().warps(2, 4), |kernel, r| kernel.load(r % 16, 0).stride(128));
    let (report, _) = run_single_level(&config, kernel).expect("runs");
    assert_eq!(report.memory.instructions, 2 * 4 * 64);
    assert_eq!(report.memory.transactions, 2 * 4 * 64 * 32);
    assert!(report.stalls.issue_blocked > 0);
}

#[test]
fn a_store_is_awaited_however_slow_the_memory_is() {
    let mut config = gebhart();
    config.sm.watchdog_cycles = 1000;
    config.memory.fixed_bytes_per_cycle = 1;
    config.memory.sector_bytes = 2048;
    (config.l1.line_bytes, config.l2.line_bytes) = (2048, 2048);
    let stores = (0..8).fold(Kernel::new(), |kernel, _| kernel.store(0, 0));
    let (report, _) = run_single_level(&config, stores.clone()).expect("2048 cycles a sector");
    assert!(report.cycles > 2048, "{}", report.cycles);

    let mut config = gebhart();
    config.sm.watchdog_cycles = 1000;
    config.memory.model = MemoryModel::Caches;
    config.chip.sms = 256;
    config.l2.bytes_per_cycle = 1;
    config.l2.mshrs = 1;
    let stores = stores.stride(4096);
    let (report, _) = run_single_level(&config, stores).expect("32,768 cycles a line of a 256th of the L2");
    assert!(report.cycles > 32_768, "{}", report.cycles);
}

#[test]
fn a_cache_with_more_lines_than_are_kept_is_refused() {
    let mut config = gebhart();
    (config.memory.sector_bytes, config.l2.ways) = (4, 4);
    (config.l1.line_bytes, config.l2.line_bytes, config.l2.bytes) = (4, 4, 1 << 25);
    let refused = config.validate().expect_err("8,388,608 lines").to_string();
    assert!(
        refused.contains("l2.bytes = 33554432") && refused.contains("at most 4194304 lines"),
        "{refused}"
    );
    config.l2.bytes = 1 << 24;
    config.validate().expect("as many as are kept");
}

#[test]
fn caches_serve_a_second_load_sooner() {
    let mut config = gebhart();
    config.memory.model = MemoryModel::Caches;
    let kernel = Kernel::new().load(1, 0).load(2, 1).load(3, 2).alu(4, &[3]);
    let (report, _) = run_single_level(&config, kernel).expect("runs");
    assert_eq!((report.memory.l1.misses, report.memory.l1.hits), (1, 2));
    assert_eq!(report.memory.dram_bytes, 128);
}

#[test]
fn a_fence_waits_for_the_warps_memory_accesses() {
    let with = cycles(Kernel::new().load(1, 0).op(Operation::Fence, &[], &[]).alu(2, &[]));
    let without = cycles(Kernel::new().load(1, 0).alu(2, &[]));
    assert!(with > without && with > 400, "{with} against {without}");
}

#[test]
fn an_atomic_that_returns_a_value_is_a_load() {
    let atomic = Kernel::new().op(Operation::Atomic(global(4)), &[1], &[0]).alu(2, &[1]);
    assert_eq!(cycles(atomic), cycles(Kernel::new().load(1, 0).alu(2, &[1])));
}

#[test]
fn an_operand_in_scratchpad_takes_as_long_as_its_words() {
    let run = |stride| {
        let kernel = Kernel::new().alu(1, &[]).with_operand().stride(stride).alu(2, &[1]);
        run_single_level(&gebhart(), kernel).expect("runs").0
    };
    let (one, all) = (run(0), run(4));
    assert_eq!((one.memory.shared_words, all.memory.shared_words), (1, 32));
    let words_a_cycle = gebhart().throughput.shared_bytes / 4;
    assert!(words_a_cycle < 32, "{words_a_cycle}");
    assert_eq!(all.cycles - one.cycles, 32 / words_a_cycle - 1);
    // It has nothing else of a load.
    assert_eq!(one.cycles, cycles(Kernel::new().alu(1, &[]).alu(2, &[1])));
}
