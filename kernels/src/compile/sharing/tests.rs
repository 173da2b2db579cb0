//! The thesis's tables and figures, random graphs through the checker, and the kernels of the workloads.

use proptest::collection::vec;
use proptest::prelude::*;

use super::check::{ReleaseError, check};
use super::ranges::{Point, Ranges};
use super::release::{Insertion, at_postdominator, optimal};
use super::variables::Variables;
use super::*;
use crate::compile::cfg::{Block, Cfg, Flow};
use crate::compile::divergence::ptx_cfg;
use crate::compile::executed::follow_warps;
use crate::compile::schedule::Schedule;
use crate::compile::{CompileOptions, compile};
use crate::program::{
    Instruction, LANES, Launches, MemoryAccess, Operation, Space, StreamError, WarpInstruction,
};
use crate::ptx::ir::Place;
use crate::{ptx, workloads};

/// Tables 2.5 to 2.8: percentages of sharing.
const SHARING: [u64; 6] = [0, 10, 30, 50, 70, 90];
/// Table 2.3.
const REGISTERS: u64 = 32_768;
const SCRATCHPAD: u64 = 16 * 1024;
const BLOCKS: u64 = 8;
const THREADS: u64 = 1536;

fn rows(needed: u64, available: u64, threads: u64) -> [u64; 6] {
    let limit = BLOCKS.min(THREADS / threads);
    SHARING.map(|percent| {
        let threshold = Threshold::from_percent(100 - percent).unwrap();
        residents(&[Resource { available, needed }], limit, threshold).blocks()
    })
}

/// Threads and registers a thread from Table 2.1, blocks from Table 2.6.
#[test]
fn as_many_blocks_share_registers_as_in_table_2_6() {
    for (name, threads, registers, blocks) in [
        ("backprop", 256, 24, [5, 5, 5, 5, 6, 6]),
        ("b+tree", 508, 24, [2, 2, 2, 3, 3, 3]),
        ("hotspot", 256, 36, [3, 3, 3, 4, 4, 6]),
        ("LIB", 192, 36, [4, 4, 5, 5, 6, 8]),
        ("MUM", 256, 28, [4, 4, 4, 5, 5, 6]),
        ("mri-q", 256, 24, [5, 5, 5, 5, 6, 6]),
        ("sgemm", 128, 48, [5, 5, 5, 5, 6, 8]),
        ("stencil", 512, 28, [2, 2, 2, 2, 2, 3]),
    ] {
        assert_eq!(rows(threads * registers, REGISTERS, threads), blocks, "{name}");
    }
}

/// Threads and bytes from Table 2.2, blocks from Table 2.8.
#[test]
fn as_many_blocks_share_scratchpad_as_in_table_2_8() {
    for (name, threads, bytes, blocks) in [
        ("CONV1", 64, 2560, [6, 6, 6, 6, 7, 8]),
        ("CONV2", 128, 5184, [3, 3, 3, 3, 3, 4]),
        ("lavaMD", 128, 7200, [2, 2, 2, 2, 2, 4]),
        ("NW1", 16, 2180, [7, 7, 7, 8, 8, 8]),
        ("NW2", 16, 2180, [7, 7, 7, 8, 8, 8]),
        ("SRAD1", 256, 6144, [2, 2, 2, 3, 4, 4]),
        ("SRAD2", 256, 5120, [3, 3, 3, 3, 3, 5]),
    ] {
        assert_eq!(rows(bytes, SCRATCHPAD, threads), blocks, "{name}");
    }
}

/// Example 2.2.1: 35 units, 10 a block, t = 0.5: TB₀ and TB₁ alone, TB₂ and TB₃ share.
#[test]
fn two_blocks_share_what_is_left_of_three() {
    let shared =
        residents(&[Resource { available: 35_000, needed: 10_000 }], 8, Threshold::from_percent(50).unwrap());
    assert_eq!(shared, Residents { unshared: 2, pairs: 1 });
    assert_eq!(Threshold::from_percent(50).unwrap().private(10_000), 5_000);
    assert_eq!(Threshold::from_percent(0), None);
}

/// Registers for three blocks and a half, scratchpad for five and a bit: one set of pairs, for which both have room.
#[test]
fn pairs_of_both_resources_are_the_same_blocks() {
    let of = |percent, registers, scratchpad, limit| {
        let resource = |available| Resource { available, needed: 1000 };
        let resources = [resource(registers), resource(scratchpad)];
        let Residents { unshared, pairs } =
            residents(&resources, limit, Threshold::from_percent(percent).unwrap());
        (unshared, pairs)
    };
    assert_eq!(of(10, 3500, 5200, 8), (0, 3));
    assert_eq!(of(25, 3500, 5200, 8), (1, 2));
    // Scratchpad for three blocks and no more: however many registers there are, nobody shares.
    assert_eq!(of(10, 3500, 3000, 8), (3, 0));
    assert_eq!(of(10, 3500, 3150, 8), (2, 1));
    assert_eq!(of(10, 3500, 5200, 4), (2, 1));
    let none = Resource { available: 1000, needed: 0 };
    let some = Resource { available: 2500, needed: 1000 };
    let threshold = Threshold::from_percent(50).unwrap();
    assert_eq!(residents(&[none, some], 8, threshold), residents(&[some], 8, threshold));
    assert_eq!(residents(&[none, none], 8, threshold), Residents { unshared: 8, pairs: 0 });
}

/// Room for five blocks and two tenths, of which pieces of an SM may hold four.
#[test]
fn fewer_blocks_that_are_there_alone_leave_room_for_more_pairs() {
    let resource = Resource { available: 5200, needed: 1000 };
    let of = |limit, alone| -> Vec<(u64, u64)> {
        let ways = with_pairs(&[resource], limit, Threshold::from_percent(10).unwrap(), alone);
        ways.map(|Residents { unshared, pairs }| (unshared, pairs)).collect()
    };
    assert_eq!(of(8, 5), [(3, 2), (4, 1)]);
    assert_eq!(of(8, 4), [(0, 4), (3, 2), (1, 3), (4, 1), (2, 2), (3, 1)]);
    assert_eq!(of(6, 4), [(4, 1), (2, 2), (3, 1)]);
    assert_eq!(of(5, 5), []);
}

proptest! {
    /// Equations 2.1 and 2.2 for every resource, and that sharing never costs a block.
    #[test]
    fn pairs_fit_and_no_fewer_blocks_make_progress(
        resources in vec((1..100_000_u64, 1..20_000_u64), 1..4), limit in 1..64_u64, percent in 1..=100_u64,
    ) {
        let resources: Vec<Resource> =
            resources.into_iter().map(|(available, needed)| Resource { available, needed }).collect();
        let threshold = Threshold::from_percent(percent).unwrap();
        let Residents { unshared, pairs } = residents(&resources, limit, threshold);
        let fitting = resources.iter().map(|of| of.available / of.needed).min().unwrap();
        let alone = fitting.min(limit);
        prop_assert!(unshared + 2 * pairs <= limit.max(alone));
        prop_assert!(unshared + pairs == alone);
        for Resource { available, needed } in resources {
            let taken = 100 * (unshared + pairs) * needed + percent * pairs * needed;
            prop_assert!(taken <= 100 * available);
        }
    }

    /// The same of all ways, for an SM that has its resource in several pieces: none is left out, and more blocks come first.
    #[test]
    fn ways_to_share_are_those_that_fit(
        available in 1..100_000_u64, needed in 1..20_000_u64, limit in 1..32_u64, lost in 0..3_u64, percent in 1..=100_u64,
    ) {
        let alone = (available / needed).min(limit).saturating_sub(lost);
        let threshold = Threshold::from_percent(percent).unwrap();
        let ways: Vec<Residents> = with_pairs(&[Resource { available, needed }], limit, threshold, alone).collect();
        let mut all = Vec::new();
        for pairs in 1..=limit {
            for unshared in 0..=limit {
                let taken = 100 * (unshared + pairs) * needed + percent * pairs * needed;
                let way = Residents { unshared, pairs };
                if taken <= 100 * available && unshared + pairs >= alone && (alone + 1..=limit).contains(&way.blocks()) {
                    all.push(way);
                }
            }
        }
        all.sort_by_key(|way| (std::cmp::Reverse(way.blocks()), way.pairs));
        prop_assert_eq!(ways, all);
    }
}

/// Fig. 3.3: a chain Entry, BB1 … BB6, Exit of one instruction each, with an edge from BB3 back to BB2.
fn figure_3_3() -> (Cfg, Vec<VariableSet>) {
    let mut flow = vec![Flow::Next; 8];
    flow[3] = Flow::To { targets: vec![2, 4], exits: false };
    let [a, b, c] = [1, 2, 4];
    (Cfg::new(&flow).unwrap(), vec![0, a, b, b, a, c, c, 0])
}

/// Every instruction a block: the flow names its successor.
fn single_blocks(accessed: &[VariableSet]) -> Cfg {
    let last = accessed.len() - 1;
    let to = |targets: Vec<usize>, exits| Flow::To { targets, exits };
    let flow: Vec<Flow> = (0..accessed.len())
        .map(|at| match at {
            3 => to(vec![2, 4], false),
            at if at == last => to(vec![], true),
            at => to(vec![at + 1], false),
        })
        .collect();
    Cfg::new(&flow).unwrap()
}

/// Table 3.1: columns IN A B C, OUT A B C, IN AB BC CA, OUT AB BC CA.
#[test]
fn access_ranges_are_those_of_table_3_1() {
    let (_, accessed) = figure_3_3();
    let cfg = single_blocks(&accessed);
    let ranges = Ranges::new(&cfg, &accessed);
    let table = [
        ("Entry", "fff fff fff fff"),
        ("BB1", "fff tff fff tft"),
        ("BB2", "ttf ttf ttt ttt"),
        ("BB3", "ttf ttf ttt ttt"),
        ("BB4", "tff fff ttt ftt"),
        ("BB5", "fff fft ftt ftt"),
        ("BB6", "fft fff ftt fff"),
        ("Exit", "fff fff fff fff"),
    ];
    let (a, b, c) = (1, 2, 4);
    let columns = [(Point::In, [a, b, c]), (Point::Out, [a, b, c])]
        .into_iter()
        .chain([(Point::In, [a | b, b | c, c | a]), (Point::Out, [a | b, b | c, c | a])]);
    let columns: Vec<(Point, [VariableSet; 3])> = columns.collect();
    for (at, (name, row)) in table.into_iter().enumerate() {
        let found: Vec<String> = columns
            .iter()
            .map(|(point, sets)| {
                let letter = |set: &VariableSet| {
                    if ranges.contains(*set, Block(at as u32), *point) { 't' } else { 'f' }
                };
                sets.iter().map(letter).collect()
            })
            .collect();
        assert_eq!(found.join(" "), row, "{name}");
    }
}

/// Example 3.2.3: of equal sizes, two of them shared, A and B have the fewest instructions in range.
#[test]
fn the_set_with_the_shortest_range_is_shared() {
    let (cfg, accessed) = figure_3_3();
    let ranges = Ranges::new(&cfg, &accessed);
    assert_eq!(layout::choose(&[8, 8, 8], 16, &ranges), 0b011);
    // Fig. 3.2: V1 to V4 begin one after the other and end in the reverse order; V3 within V2 within V1.
    let flow = vec![Flow::Next; 8];
    let cfg = Cfg::new(&flow).unwrap();
    let nested = [1, 2, 4, 4, 2, 8, 8, 1];
    assert_eq!(layout::choose(&[4; 4], 8, &Ranges::new(&cfg, &nested)), 0b0110);
}

#[test]
fn without_a_set_of_the_size_the_smallest_larger_one_is_shared() {
    let (cfg, accessed) = figure_3_3();
    let ranges = Ranges::new(&cfg, &accessed);
    // 12 bytes: A, B, C take 8, 8, 20; AB takes 16, C 20.
    assert_eq!(layout::choose(&[8, 8, 20], 12, &ranges), 0b011);
    assert_eq!(layout::choose(&[], 0, &ranges), 0);
}

#[test]
fn variables_that_are_not_shared_come_first() {
    let (offsets, end) = layout::place(&[(20, 4), (16, 16), (8, 8)], 0b001);
    assert_eq!((offsets, end), (vec![24, 0, 16], 44));
}

fn to(targets: &[usize], exits: bool) -> Flow {
    Flow::To { targets: targets.to_vec(), exits }
}

/// Blocks of two instructions; `accesses` names those whose first one accesses the shared scratchpad. Block 0 is the first.
fn blocks_of_two(successors: &[&[usize]], accesses: &[usize]) -> (Vec<Flow>, Vec<bool>) {
    let mut flow = Vec::new();
    for next in successors {
        flow.push(Flow::Next);
        flow.push(to(&next.iter().map(|block| 2 * block).collect::<Vec<_>>(), next.is_empty()));
    }
    let shared = (0..flow.len()).map(|at| at % 2 == 0 && accesses.contains(&(at / 2))).collect();
    (flow, shared)
}

fn placed(flow: &[Flow], shared: &[bool]) -> (Vec<Insertion>, Vec<Insertion>) {
    let cfg = Cfg::new(flow).unwrap();
    let both = (optimal(&cfg, shared), at_postdominator(&cfg, shared));
    assert_eq!(check(flow, shared, &both.0), Ok(()), "{:?}", both.0);
    assert_eq!(check(flow, shared, &both.1), Ok(()), "{:?}", both.1);
    both
}

/// Example 3.2.4, Fig. 3.6, whose drawing the text does not have: last accesses L1 in BB3 and L2 in BB9, BB4 is beside BB3
/// without one, all meet in BB12.
#[test]
fn threads_release_on_each_path_of_fig_3_6() {
    let successors: [&[usize]; 13] =
        [&[1], &[2, 8], &[3, 4], &[5], &[6], &[7], &[7], &[12], &[9, 10], &[11], &[11], &[12], &[]];
    let (flow, shared) = blocks_of_two(&successors, &[3, 9]);
    let (optimal, postdominator) = placed(&flow, &shared);
    // OPT1 and OPT3 right behind the accesses, OPT2 at the beginning of BB4, and of BB10, which is beside BB9.
    assert_eq!(
        optimal,
        [Insertion::Before(7), Insertion::Before(8), Insertion::Before(19), Insertion::Before(20)]
    );
    assert_eq!(postdominator, [Insertion::Before(24)]);
}

/// Example 3.2.5, Fig. 3.7 (a): behind the access of its block (π2), not before it (π3).
#[test]
fn a_release_moves_up_to_the_access_of_fig_3_7_a() {
    let flow = vec![Flow::Next; 4];
    let shared = [false, true, false, false];
    assert_eq!(placed(&flow, &shared).0, [Insertion::Before(2)]);
    let too_early = check(&flow, &shared, &[Insertion::Before(1)]);
    assert_eq!(too_early, Err(ReleaseError::AccessAfterRelease { access: 1 }));
    assert_eq!(check(&flow, &shared, &[]), Err(ReleaseError::NotReleased { at: 3 }));
    let twice = check(&flow, &shared, &[Insertion::Before(2), Insertion::Before(3)]);
    assert_eq!(twice, Err(ReleaseError::ReleasedTwice { at: 3 }));
}

/// Fig. 3.7 (b): BB1 goes to BB2, which accesses, or BB3; both to BB4. At π5 behind L2 and π7 in BB3, not at π8 in BB1.
#[test]
fn a_release_moves_to_both_sides_of_fig_3_7_b() {
    let (flow, shared) = blocks_of_two(&[&[1, 2], &[3], &[3], &[]], &[1]);
    let (optimal, postdominator) = placed(&flow, &shared);
    assert_eq!(optimal, [Insertion::Before(3), Insertion::Before(4)]);
    assert_eq!(postdominator, [Insertion::Before(6)]);
}

/// BB0 goes to BB1, which accesses, or straight to BB2: that edge is critical.
#[test]
fn a_critical_edge_is_split() {
    let (flow, shared) = blocks_of_two(&[&[1, 2], &[2], &[]], &[1]);
    let edge = Insertion::Edge { from: 1, to: Some(4) };
    assert_eq!(placed(&flow, &shared).0, [Insertion::Before(3), edge]);
}

/// A loop whose body accesses is left by a guarded `ret`: the edge to the exit, and the end.
#[test]
fn a_guarded_return_is_an_edge_to_the_exit() {
    let flow = [Flow::Next, to(&[2], true), Flow::Next, to(&[0, 4], false), to(&[], true)];
    let shared = [true, false, false, false, false];
    let (optimal, postdominator) = placed(&flow, &shared);
    assert_eq!(optimal, [Insertion::Before(4), Insertion::Edge { from: 1, to: None }]);
    assert_eq!(postdominator, [Insertion::Edge { from: 1, to: None }, Insertion::Edge { from: 4, to: None }]);
}

#[test]
fn a_kernel_without_accesses_releases_at_once() {
    let flow = vec![to(&[0, 1], false), to(&[], true)];
    let (optimal, postdominator) = placed(&flow, &[false; 2]);
    assert_eq!((optimal, postdominator), (vec![Insertion::Start], vec![Insertion::Start]));
}

/// Random graphs: most instructions go on, some branch anywhere, some return.
fn random_flow() -> impl Strategy<Value = (Vec<Flow>, Vec<bool>)> {
    let step = |count: usize| {
        prop_oneof![
            4 => Just(Flow::Next),
            2 => (0..count, 0..count).prop_map(|(one, other)| to(&[one, other], false)),
            1 => (0..count).prop_map(|one| to(&[one], true)),
            1 => Just(to(&[], true)),
        ]
    };
    (1..24_usize)
        .prop_flat_map(move |count| (vec(step(count), count), vec(prop::bool::weighted(0.25), count)))
}

proptest! {
    /// Whatever the graph: each path releases once, after its last access.
    #[test]
    fn every_path_releases_once((mut flow, mut shared) in random_flow()) {
        for (step, shared) in flow.iter_mut().zip(&mut shared) {
            if let Flow::To { targets, .. } = step {
                targets.dedup();
                // A branch accesses nothing.
                *shared = false;
            }
        }
        let cfg = Cfg::new(&flow).unwrap();
        prop_assert_eq!(check(&flow, &shared, &optimal(&cfg, &shared)), Ok(()));
        prop_assert_eq!(check(&flow, &shared, &at_postdominator(&cfg, &shared)), Ok(()));
    }

    /// No release can be left out, or be one instruction earlier.
    #[test]
    fn a_release_is_needed_and_early((mut flow, mut shared) in random_flow(), which in any::<prop::sample::Index>()) {
        for (step, shared) in flow.iter_mut().zip(&mut shared) {
            if let Flow::To { targets, .. } = step {
                targets.dedup();
                *shared = false;
            }
        }
        let cfg = Cfg::new(&flow).unwrap();
        let placed = optimal(&cfg, &shared);
        prop_assume!(!placed.is_empty());
        let mut moved = placed.clone();
        let at = which.index(placed.len());
        if let Insertion::Before(instruction) = moved[at]
            && cfg.block(cfg.block_of(instruction)).instructions.start < instruction
        {
            moved[at] = Insertion::Before(instruction - 1);
            let error = check(&flow, &shared, &moved);
            prop_assert_eq!(error, Err(ReleaseError::AccessAfterRelease { access: instruction - 1 }));
        }
    }
}

/// In every kernel that comes with the project: the variables of each access are known to be among those found, all paths
/// release once, and the chosen set has the size.
#[test]
fn kernels_of_the_workloads_release_once() {
    let mut with_scratchpad = 0;
    for workload in workloads::list() {
        let module = ptx::parse(workload.name, workload.ptx).unwrap();
        for kernel in &module.kernels {
            let variables = Variables::of(kernel).unwrap();
            let cfg = ptx_cfg(kernel).unwrap();
            let bytes: Vec<u64> =
                variables.variables.iter().map(|id| kernel.symbols[id.index()].bytes).collect();
            let total: u64 = bytes.iter().sum();
            with_scratchpad += usize::from(total > 0);
            let ranges = Ranges::new(&cfg, &variables.accessed);
            let private = Threshold::from_percent(10).unwrap().private(total);
            let shared = layout::choose(&bytes, total - private, &ranges);
            let size: u64 = layout::members(shared).map(|variable| bytes[variable]).sum();
            assert!(size >= total - private, "{}: {size} of {total}", kernel.name);
            let accesses: Vec<bool> =
                variables.accessed.iter().map(|accessed| accessed & shared != 0).collect();
            let flow = flow_of(&cfg);
            for placed in [optimal(&cfg, &accesses), at_postdominator(&cfg, &accesses)] {
                assert_eq!(check(&flow, &accesses, &placed), Ok(()), "{}", kernel.name);
            }
        }
    }
    assert!(with_scratchpad >= 10, "{with_scratchpad}");
}

/// Names in the order of their first appearance.
fn first_uses(instructions: &[Instruction]) -> Vec<u16> {
    let mut seen = Vec::new();
    for instruction in instructions {
        let sources = instruction.sources.iter().map(|source| source.register.0);
        for register in sources.chain(instruction.results.iter().map(|result| result.register.0)) {
            if !seen.contains(&register) {
                seen.push(register);
            }
        }
    }
    seen
}

/// Fig. 2.10: what is used first is declared first, in every kernel as far as vectors allow, and nothing else changes.
#[test]
fn registers_are_numbered_by_first_use() {
    let mut moved = 0;
    for workload in workloads::list() {
        let module = ptx::parse(workload.name, workload.ptx).unwrap();
        for kernel in &module.kernels {
            let compiled = compile(&module, &kernel.name, &CompileOptions::default()).unwrap();
            let program = &compiled.program;
            let numbers = order::by_first_use(program);
            let count = program.registers_per_thread;
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..count).collect::<Vec<u16>>(), "{}", kernel.name);
            let before = first_uses(&program.instructions);
            let after: Vec<u16> = before.iter().map(|old| numbers[usize::from(*old)]).collect();
            moved += usize::from(before != after);
            // The first third of what is used first lies low.
            let early = after.len() / 3;
            let low = after[..early].iter().filter(|register| usize::from(**register) < early + 4);
            assert!(3 * low.count() >= 2 * early, "{}: {after:?}", kernel.name);
        }
    }
    assert!(moved > 20, "{moved}");
}

/// Every kernel that comes with the project, at its test size, with variables laid out and `relssp` put in: it computes what it
/// did, each thread executes exactly one `relssp` if there is scratchpad, and none accesses what is shared after it.
#[test]
fn every_thread_of_the_workloads_releases_once() {
    let threshold = Threshold::from_percent(10).unwrap();
    let mut released = 0;
    for workload in workloads::list() {
        for placement in [Placement::Optimal, Placement::Postdominator] {
            let mut open = workload.open("tiny").unwrap();
            let scratchpad = Some(ScratchpadOptions { threshold, placement, unlimited_bytes: 0 });
            open.set_options(CompileOptions { scratchpad, ..CompileOptions::default() });
            while let Some(mut stream) = open.next_launch().unwrap() {
                let program = stream.program().clone();
                let launch = stream.launch().clone();
                let private = threshold.private(launch.shared_bytes.into());
                let count = |warp: &mut [u8; LANES], executed: &WarpInstruction| -> Result<(), StreamError> {
                    let instruction = &program.instructions[executed.inst.0 as usize];
                    let lanes = (0..LANES).filter(|lane| executed.active >> lane & 1 == 1);
                    match instruction.operation {
                        Operation::Release => lanes.for_each(|lane| warp[lane] += 1),
                        Operation::Load(MemoryAccess { space: Space::Shared, bytes })
                        | Operation::Store(MemoryAccess { space: Space::Shared, bytes })
                        | Operation::Atomic(MemoryAccess { space: Space::Shared, bytes }) => {
                            for lane in lanes {
                                let end = executed.addresses[lane] + u64::from(bytes);
                                assert!(
                                    warp[lane] == 0 || end <= private,
                                    "{}: {instruction:?}",
                                    program.name
                                );
                            }
                        }
                        _ => {}
                    }
                    Ok(())
                };
                let mut threads = 0;
                follow_warps(
                    stream.as_mut(),
                    || [0_u8; LANES],
                    count,
                    |warp| {
                        assert!(warp.iter().all(|count| *count <= 1), "{}: {warp:?}", program.name);
                        threads += warp.iter().map(|count| u64::from(*count)).sum::<u64>();
                        Ok(())
                    },
                )
                .unwrap();
                let all = launch.blocks() * u64::from(launch.threads_per_block());
                // Nobody shares what is not there.
                let releasing = if launch.shared_bytes == 0 { 0 } else { all };
                assert_eq!(threads, releasing, "{}", program.name);
                released += threads;
            }
            open.check_results().unwrap();
        }
    }
    assert!(released > 10_000, "{released}");
}

/// A block that fits as often as there is room for blocks has nothing to release.
#[test]
fn kernels_that_no_block_shares_are_as_they_were() {
    let text = "
        .version 7.0
        .target sm_50
        .address_size 64
        .visible .entry k(.param .u32 n)
        {
            .reg .b32 %r<3>;
            .shared .align 4 .b8 all[400];
            mov.u32 %r1, %tid.x;
            st.shared.u32 [all], %r1;
            ret;
        }";
    let module = ptx::parse("k.ptx", text).unwrap();
    let threshold = Threshold::from_percent(10).unwrap();
    let releases = |unlimited_bytes| {
        let scratchpad =
            Some(ScratchpadOptions { threshold, placement: Placement::Optimal, unlimited_bytes });
        let options = CompileOptions { scratchpad, ..CompileOptions::default() };
        let compiled = compile(&module, "k", &options).unwrap();
        compiled.kernel.instructions.iter().filter(|one| one.text == "relssp").count()
    };
    assert_eq!([0, 399, 400, 16_384].map(releases), [1, 1, 0, 0]);
    let dynamic = text
        .replace(".shared .align 4 .b8 all[400];", "")
        .replace(".visible .entry", ".extern .shared .align 4 .b8 all[];\n        .visible .entry");
    let module = ptx::parse("k.ptx", &dynamic).unwrap();
    let scratchpad =
        Some(ScratchpadOptions { threshold, placement: Placement::Optimal, unlimited_bytes: 16_384 });
    let options = CompileOptions { scratchpad, ..CompileOptions::default() };
    let compiled = compile(&module, "k", &options).unwrap();
    assert!(
        compiled.kernel.instructions.iter().any(|one| one.text == "relssp"),
        "how much it is is not known"
    );
}

/// A kernel with every kind of edge that is split: a branch, the way on, and a guarded `ret`.
#[test]
fn split_edges_get_blocks_of_their_own() {
    let text = "
        .version 7.0
        .target sm_50
        .address_size 64
        .visible .entry k(.param .u32 n)
        {
            .reg .pred %p<3>;
            .reg .b32 %r<5>;
            .shared .align 4 .b8 first[40];
            .shared .align 4 .b8 second[400];
            ld.param.u32 %r1, [n];
            mov.u32 %r2, %tid.x;
            setp.lt.u32 %p1, %r2, %r1;
            @%p1 bra meet;
            st.shared.u32 [second], %r2;
            setp.eq.u32 %p2, %r2, 7;
            @%p2 ret;
        meet:
            st.shared.u32 [first], %r2;
            ret;
        }";
    let module = ptx::parse("k.ptx", text).unwrap();
    let threshold = Threshold::from_percent(10).unwrap();
    // Behind the store, and on the branch to `meet`, whose edge is split: a block with a jump. Or nowhere.
    for (placement, expected, last) in [(Placement::Optimal, 2, "bra"), (Placement::None, 0, "ret")] {
        let scratchpad = Some(ScratchpadOptions { threshold, placement, unlimited_bytes: 0 });
        let options = CompileOptions { scratchpad, schedule: Schedule::None, ..CompileOptions::default() };
        let compiled = compile(&module, "k", &options).unwrap();
        let texts: Vec<&str> = compiled.kernel.instructions.iter().map(|one| one.text.as_str()).collect();
        let releases = texts.iter().filter(|text| **text == "relssp").count();
        assert_eq!((releases, texts.last()), (expected, Some(&last)), "{texts:?}");
        let places: Vec<(&str, Place)> =
            compiled.kernel.symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.place)).collect();
        assert!(
            places.contains(&("first", Place::Offset(0))) && places.contains(&("second", Place::Offset(40)))
        );
    }
}
