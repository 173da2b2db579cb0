//! The allocation limiter beside its reference, and the promise that it is there for.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::rfv::AllocationLimiter;
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::allocation_limiter_ref::{Intent, LimiterReference};

fn intents(limiter: &AllocationLimiter) -> impl Strategy<Value = Intent> + use<> {
    let AllocationLimiter { warps, registers } = *limiter;
    let take = || (0..warps, 0..5_usize);
    let free = || option::weighted(0.7, 0..warps);
    let who = (any::<u64>(), option::weighted(0.8, 0..warps), 0..=registers, 0..=registers);
    ([take(), take()], [free(), free()], who).prop_map(|(takes, frees, (oldest, first, quota, slack))| {
        Intent { takes, frees, oldest, first, quota, slack }
    })
}

fn traffic(cycles: usize) -> impl Strategy<Value = (AllocationLimiter, Vec<Intent>)> {
    let limiters = (1..=17_usize, 4..300_usize);
    limiters.prop_flat_map(move |(warps, registers)| {
        let limiter = AllocationLimiter { warps, registers };
        let intents = vec(intents(&limiter), 1..cycles);
        (Just(limiter), intents)
    })
}

fn check(limiter: &AllocationLimiter, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(limiter).unwrap(), &LimiterReference::new(limiter), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(64))]
    #[test]
    fn each_warp_may_take_what_is_not_kept_for_others((limiter, cycles) in traffic(100)) {
        check(&limiter, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((limiter, cycles) in traffic(60)) {
        check(&limiter, Lockstep::with_verilog(), &cycles)?;
    }
}

/// Warps of two blocks of three that take registers as long as they may, one a cycle, in random order.
#[derive(Clone, Debug)]
struct Crowd {
    /// Most registers of a warp at once, and at a barrier.
    most: usize,
    at_barrier: usize,
    /// Registers beyond those that one block needs.
    spare: usize,
    /// Who asks, cycle by cycle.
    order: Vec<usize>,
}

fn crowds() -> impl Strategy<Value = Crowd> {
    (1..12_usize, 0..12_usize, 0..20_usize, vec(0..WARPS, 200)).prop_map(
        |(most, at_barrier, spare, order)| Crowd { most, at_barrier: at_barrier.min(most), spare, order },
    )
}

const WARPS: usize = 6;
const BLOCK: usize = 3;

proptest! {
    #![proptest_config(config(64))]
    /// Whoever goes first finds a register, however the others have taken theirs; then it waits at its barrier, and the
    /// next goes first.
    #[test]
    fn the_warp_that_goes_first_always_finds_a_register(crowd in crowds()) {
        let Crowd { most, at_barrier, spare, ref order } = crowd;
        let registers = (most + (BLOCK - 1) * at_barrier + spare).max(2);
        let netlist = elaborate(&AllocationLimiter { warps: WARPS, registers }).unwrap();
        let mut engine = Interpreter::new(&netlist, &Options::checked()).unwrap();
        let set = |engine: &mut Interpreter, port: &str, value: usize| {
            engine.set(engine.input(port).unwrap(), value as u64);
        };
        let slack = registers - most - (BLOCK - 1) * at_barrier;
        set(&mut engine, "limits_oldest_i", 0b111);
        set(&mut engine, "limits_quota_i", at_barrier);
        set(&mut engine, "limits_slack_i", slack);
        let mut held = [0_usize; WARPS];
        for first in 0..BLOCK {
            set(&mut engine, "limits_first_i", 1 << first);
            set(&mut engine, "allocated0_count_i", 0);
            set(&mut engine, "freed0_valid_i", 0);
            engine.step();
            for &warp in order.iter().chain(std::iter::repeat_n(&first, most)) {
                let allowance = engine.get(engine.output("limits_allowance_o").unwrap()) >> (4 * warp) & 15;
                // A warp that has come to the barrier takes no more.
                let takes = warp >= first && held[warp] < most && allowance > 0;
                if takes {
                    prop_assert!(held.iter().sum::<usize>() < registers, "{held:?}");
                    held[warp] += 1;
                }
                set(&mut engine, "allocated0_warp_i", warp);
                set(&mut engine, "allocated0_count_i", usize::from(takes));
                engine.step();
            }
            prop_assert_eq!(held[first], most);
            // To the barrier.
            set(&mut engine, "allocated0_count_i", 0);
            set(&mut engine, "freed0_warp_i", first);
            set(&mut engine, "freed0_valid_i", 1);
            while held[first] > at_barrier {
                held[first] -= 1;
                engine.step();
            }
        }
    }
}
