//! The source allocator beside its reference.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::rfc::SourceAllocator;
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::source_allocator_ref::{AllocatorCycle, Followed, SourceAllocatorReference};
use crate::regfile::traffic::masks;

fn circuits() -> impl Strategy<Value = SourceAllocator> {
    (1..6_usize, 1..5_usize, 1..6_usize, 2..6_usize, 1..4_usize).prop_map(
        |(slots, lanes, register_bits, collectors, writers)| SourceAllocator {
            slots,
            lanes,
            register_bits,
            collectors,
            writers,
        },
    )
}

fn traffic(cycles: usize) -> impl Strategy<Value = (SourceAllocator, Vec<AllocatorCycle>)> {
    circuits().prop_flat_map(move |circuit| {
        let SourceAllocator { slots, lanes, register_bits, writers, .. } = circuit;
        let registers = 1_usize << register_bits;
        let source = move || {
            let followed = (0..registers, masks(lanes), any::<bool>())
                .prop_map(|(register, lanes, idle)| Followed { register, lanes, idle });
            option::weighted(0.8, followed)
        };
        let value = move || vec(any::<u32>(), lanes);
        let cycle = (
            option::weighted(0.6, (0..slots, [source(), source(), source()])),
            option::weighted(0.5, any::<usize>()),
            [value(), value(), value()],
            vec(option::weighted(0.1, 0..registers), writers),
            option::weighted(0.05, 0..slots),
            any::<bool>(),
        );
        let cycle = cycle.prop_map(|(collect, dispatch, values, writes, flush, ready)| AllocatorCycle {
            collect,
            dispatch,
            values,
            writes,
            flush,
            ready,
        });
        (Just(circuit), vec(cycle, 1..cycles))
    })
}

fn check(circuit: &SourceAllocator, how: Lockstep, cycles: &[AllocatorCycle]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &SourceAllocatorReference::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(64))]
    #[test]
    fn operands_are_offered_in_order_until_they_are_taken_or_stale((circuit, cycles) in traffic(120)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in traffic(60)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}
