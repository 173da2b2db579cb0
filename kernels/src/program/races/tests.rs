//! Launches in which it is known who races.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{LANES, MemoryAccess, Operation, Races, Space, Stream, StreamError, WORD_BYTES, WarpInstruction};
use crate::program::{BlockIndex, InstId, Instruction, LaneMask, Launch, Program, Spills};

/// Bytes of a block's scratchpad.
const SHARED_BYTES: u32 = 256;
/// An address in global memory.
const DATA: u64 = 0x1000_0000;

/// What a warp does: lane 0 alone, at an address.
type Step = (Operation, u64);
/// What the warps of a block do.
type Block = Vec<Vec<Step>>;

const BARRIER: Step = (Operation::Barrier, 0);

fn access(space: Space, bytes: u8) -> MemoryAccess {
    MemoryAccess { space, bytes }
}

fn load(space: Space, address: u64) -> Step {
    (Operation::Load(access(space, 4)), address)
}

fn store(space: Space, address: u64) -> Step {
    (Operation::Store(access(space, 4)), address)
}

fn atomic(space: Space, address: u64) -> Step {
    (Operation::Atomic(access(space, 4)), address)
}

/// Blocks with as many warps each.
struct Script {
    program: Program,
    launch: Launch,
    blocks: Vec<Vec<Vec<(InstId, LaneMask, u64)>>>,
    next: BTreeMap<(BlockIndex, usize), usize>,
}

impl Script {
    fn new(blocks: &[Block], active: LaneMask) -> Script {
        let warps = blocks[0].len();
        let mut instructions: Vec<Instruction> = Vec::new();
        let mut number = |&(operation, address): &Step| {
            instructions.push(Instruction {
                pc: 0,
                line: 0,
                text: String::new(),
                operation,
                sources: Vec::new(),
                results: Vec::new(),
                predicate_sources: Vec::new(),
                predicate_results: Vec::new(),
                suspends: false,
                operand: None,
            });
            (InstId(instructions.len() as u32 - 1), active, address)
        };
        let mut of_block =
            |block: &Block| block.iter().map(|warp| warp.iter().map(&mut number).collect()).collect();
        let blocks: Vec<_> = blocks.iter().map(&mut of_block).collect();
        let program = Program {
            name: "script".to_owned(),
            instructions,
            registers_per_thread: 0,
            shared_bytes: SHARED_BYTES,
            control: None,
            spills: Spills::default(),
            computations: Vec::new(),
        };
        let grid = [blocks.len() as u32, 1, 1];
        let launch = Launch { grid, block: [32 * warps as u32, 1, 1], shared_bytes: SHARED_BYTES };
        Script { program, launch, blocks, next: BTreeMap::new() }
    }
}

impl Stream for Script {
    fn program(&self) -> &Program {
        &self.program
    }

    fn launch(&self) -> &Launch {
        &self.launch
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        let warps = self.launch.warps_per_block();
        self.next.extend((0..warps).map(|warp| ((block, warp), 0)));
        Ok(())
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        let next = self.next.get_mut(&(block, warp)).expect("a started block's warp");
        let Some(&(inst, active, address)) = self.blocks[block as usize][warp].get(*next) else {
            return Ok(false);
        };
        *next += 1;
        // Lanes that do not execute have addresses of their own.
        *into = WarpInstruction { inst, active, addresses: [DATA; LANES], ..WarpInstruction::default() };
        into.addresses[0] = address;
        Ok(true)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.next.retain(|&(held, _), _| held != block);
    }
}

fn races(blocks: &[Block]) -> Races {
    Races::of(&mut Script::new(blocks, 1)).expect("a launch that ends")
}

/// Of one block, whether its warps race for the word of an address, whichever of them is executed first.
fn race(space: Space, address: u64, warps: [&[Step]; 2]) -> bool {
    let [first, second] = warps.map(<[Step]>::to_vec);
    let found = races(&[vec![first.clone(), second.clone()]]).contains(space, address, 4);
    assert_eq!(races(&[vec![second, first]]).contains(space, address, 4), found, "in the other order");
    found
}

#[test]
fn a_barrier_between_them_orders_two_accesses_of_a_block() {
    for (space, at) in [(Space::Shared, 8), (Space::Global, DATA)] {
        let (load, store) = (load(space, at), store(space, at));
        assert!(race(space, at, [&[store], &[load]]));
        assert!(race(space, at, [&[BARRIER, store], &[BARRIER, load]]));
        assert!(race(space, at, [&[store, BARRIER], &[load, BARRIER]]));
        assert!(!race(space, at, [&[store, BARRIER], &[BARRIER, load]]));
        assert!(!race(space, at, [&[BARRIER, store], &[load, BARRIER]]));
        // One of two loads is on the store's side of the barrier.
        assert!(race(space, at, [&[BARRIER, store], &[load, BARRIER, load]]));
        assert!(race(space, at, [&[load, store, BARRIER, load], &[load, BARRIER]]));
    }
}

#[test]
fn a_barrier_that_no_lane_executes_is_none() {
    let (load, store) = (load(Space::Global, DATA), store(Space::Global, DATA));
    let mut script = Script::new(&[vec![vec![store, BARRIER], vec![BARRIER, load]]], 1);
    for warp in &mut script.blocks[0] {
        for (inst, active, _) in warp {
            let is_barrier = script.program.instructions[inst.0 as usize].operation == Operation::Barrier;
            *active = if is_barrier { 0 } else { *active };
        }
    }
    assert!(Races::of(&mut script).expect("ends").contains(Space::Global, DATA, 4));
}

#[test]
fn a_warp_does_not_race_with_itself() {
    for (space, at) in [(Space::Shared, 8), (Space::Global, DATA)] {
        let all = [load(space, at), store(space, at), atomic(space, at), load(space, at), store(space, at)];
        assert!(!race(space, at, [&all, &[]]));
        assert!(!race(space, at, [&all, &[store(space, at + WORD_BYTES)]]));
    }
}

#[test]
fn loads_do_not_race_nor_do_atomics_but_each_does_with_all_others() {
    for (space, at) in [(Space::Shared, 8), (Space::Global, DATA)] {
        let [load, store, atomic] = [load(space, at), store(space, at), atomic(space, at)];
        assert!(!race(space, at, [&[load], &[load]]));
        assert!(!race(space, at, [&[atomic], &[atomic]]));
        for [one, other] in [[load, store], [load, atomic], [store, store], [store, atomic]] {
            assert!(race(space, at, [&[one], &[other]]), "{one:?} {other:?}");
        }
    }
}

/// Blocks run in any order and have no barrier between them; each has a scratchpad of its own.
#[test]
fn blocks_race_for_global_memory_and_not_for_the_scratchpad() {
    for (first, second, races_in_global) in [
        (vec![store(Space::Global, DATA)], vec![BARRIER, load(Space::Global, DATA)], true),
        (vec![BARRIER, load(Space::Global, DATA)], vec![store(Space::Global, DATA), BARRIER], true),
        (
            vec![store(Space::Global, DATA), BARRIER, load(Space::Global, DATA)],
            vec![load(Space::Global, DATA)],
            true,
        ),
        (vec![load(Space::Global, DATA)], vec![load(Space::Global, DATA)], false),
        (vec![atomic(Space::Global, DATA)], vec![atomic(Space::Global, DATA)], false),
        (vec![store(Space::Global, DATA)], vec![load(Space::Global, DATA + 4)], false),
    ] {
        let found = races(&[vec![first.clone()], vec![second.clone()]]);
        assert_eq!(found.contains(Space::Global, DATA, 4), races_in_global, "{first:?} {second:?}");
    }
    let [one, other] = [store(Space::Shared, 8), load(Space::Shared, 8)];
    assert_eq!(races(&[vec![vec![one]], vec![vec![other]]]).words(), 0);
    // What warps of one block race for is raced for, whatever the others do.
    let found = races(&[vec![vec![one], vec![other]], vec![vec![one], vec![]], vec![vec![other], vec![]]]);
    assert!(found.contains(Space::Shared, 8, 4) && found.words() == 1);
}

#[test]
fn an_access_is_to_all_words_that_it_covers() {
    let wide = (Operation::Store(access(Space::Global, 16)), DATA);
    let found = |at| races(&[vec![vec![wide], vec![load(Space::Global, at)]]]);
    assert!(found(DATA + 12).contains(Space::Global, DATA + 12, 4));
    assert!(found(DATA + 12).contains(Space::Global, DATA + 8, 8));
    assert!(!found(DATA + 12).contains(Space::Global, DATA + 8, 4));
    assert_eq!(found(DATA + 16).words(), 0);
    // Bytes of a word are not told apart.
    let byte = |operation: fn(MemoryAccess) -> Operation, at| (operation(access(Space::Global, 1)), at);
    let bytes = races(&[vec![vec![byte(Operation::Store, DATA)], vec![byte(Operation::Load, DATA + 3)]]]);
    assert!(bytes.contains(Space::Global, DATA + 1, 1) && bytes.words() == 1);
}

#[test]
fn an_access_of_any_space_is_to_the_memory_that_has_its_address() {
    let last = u64::from(SHARED_BYTES) - 4;
    let found = races(&[vec![vec![store(Space::Generic, last)], vec![load(Space::Shared, last)]]]);
    assert!(found.contains(Space::Shared, last, 4) && found.contains(Space::Generic, last, 4));
    assert!(!found.contains(Space::Global, last, 4));
    let found = races(&[vec![vec![store(Space::Generic, DATA)], vec![load(Space::Global, DATA)]]]);
    assert!(found.contains(Space::Global, DATA, 4) && found.contains(Space::Generic, DATA, 4));
    assert!(!found.contains(Space::Local, DATA, 4) && !found.contains(Space::Constant, DATA, 4));
    let own = races(&[vec![vec![store(Space::Local, DATA)], vec![store(Space::Local, DATA)]]]);
    assert_eq!(own.words(), 0);
}

#[test]
fn lanes_that_do_not_execute_access_nothing() {
    let blocks = [vec![vec![store(Space::Global, DATA)], vec![load(Space::Global, DATA)]]];
    assert_eq!(Races::of(&mut Script::new(&blocks, 0)).expect("ends").words(), 0);
    // All lanes but the first are at one address.
    let shared = [vec![vec![store(Space::Global, 4 + DATA)], vec![store(Space::Global, 8 + DATA)]]];
    let found = Races::of(&mut Script::new(&shared, 0b101)).expect("ends");
    assert!(found.contains(Space::Global, DATA, 4) && found.words() == 1);
}

/// An access as the definition has it.
#[derive(Clone, Copy, Debug)]
struct Made {
    operation: Operation,
    block: usize,
    warp: usize,
    barriers: usize,
    address: u64,
}

fn all_made(blocks: &[Block]) -> Vec<Made> {
    let mut all = Vec::new();
    for (block, warps) in blocks.iter().enumerate() {
        for (warp, steps) in warps.iter().enumerate() {
            let mut barriers = 0;
            for &(operation, address) in steps {
                match operation {
                    Operation::Barrier => barriers += 1,
                    _access => all.push(Made { operation, block, warp, barriers, address }),
                }
            }
        }
    }
    all
}

fn race_by_definition(one: &Made, other: &Made) -> bool {
    let is_load = |made: &Made| matches!(made.operation, Operation::Load(_));
    let is_atomic = |made: &Made| matches!(made.operation, Operation::Atomic(_));
    let agree = is_load(one) && is_load(other) || is_atomic(one) && is_atomic(other);
    let is_global = one.address >= DATA;
    let unordered = if one.block == other.block {
        one.warp != other.warp && one.barriers == other.barriers
    } else {
        is_global
    };
    one.address == other.address && !agree && unordered
}

fn any_step() -> impl Strategy<Value = Step> {
    (0..8_u8, any::<bool>(), 0..3_u64).prop_map(|(kind, is_global, word)| {
        let (space, at) = if is_global { (Space::Global, DATA) } else { (Space::Shared, 0) };
        match kind {
            0 => BARRIER,
            1 => atomic(space, at + 4 * word),
            2 | 3 => store(space, at + 4 * word),
            _more => load(space, at + 4 * word),
        }
    })
}

proptest! {
    #[test]
    fn what_races_is_what_the_definition_says(
        blocks in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any_step(), 0..6), 3),
            1..4,
        ),
    ) {
        let found = races(&blocks);
        let made = all_made(&blocks);
        let mut expected = BTreeSet::new();
        for one in &made {
            if made.iter().any(|other| race_by_definition(one, other)) {
                expected.insert(one.address);
            }
        }
        for (space, start) in [(Space::Shared, 0), (Space::Global, DATA)] {
            for at in (0..3).map(|word| start + 4 * word) {
                prop_assert_eq!(found.contains(space, at, 4), expected.contains(&at), "{:#x}", at);
            }
        }
        prop_assert_eq!(found.words(), expected.len() as u64);
    }
}
