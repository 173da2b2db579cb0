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
    let AllocationLimiter { warps, registers, .. } = *limiter;
    let take = || (0..warps, 0..5_usize);
    let free = || option::weighted(0.7, 0..warps);
    // Few warps end in a cycle, so that claims add up.
    let ended = (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(a, b, c)| a & b & c);
    let sets = (any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>());
    let counts = (0..=registers.min(3 + registers / warps), 0..=registers);
    ([take(), take()], [free(), free()], sets, ended, counts).prop_map(
        |(takes, frees, (oldest, turn, parked, same), ended, (claim, quota))| Intent {
            takes,
            frees,
            oldest,
            turn: if same { oldest } else { turn & !oldest },
            parked,
            ended,
            claim,
            quota: quota.min(claim),
        },
    )
}

fn traffic(cycles: usize) -> impl Strategy<Value = (AllocationLimiter, Vec<Intent>)> {
    let limiters = (1..=17_usize, 4..300_usize, 1..=2_usize);
    limiters.prop_flat_map(move |(warps, registers, issues)| {
        let limiter = AllocationLimiter { warps, registers, issues };
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
    fn warps_are_admitted_whose_claims_fit((limiter, cycles) in traffic(100)) {
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

/// All warps but one of the oldest block are at its barrier, and that one asks in vain: of the others gives up its claim
/// who holds no more than at a barrier, whichever it is.
#[test]
fn a_warp_at_the_barrier_gives_up_what_the_last_of_its_block_needs() {
    const WARPS: usize = 17;
    // Enough for the claims of all others and the last one's quota.
    let limiter = AllocationLimiter { warps: WARPS, registers: 2 * WARPS - 1, issues: 1 };
    let all = (1_u64 << WARPS) - 1;
    for low in 0..WARPS {
        let last = if low == 0 { WARPS - 1 } else { 0 };
        let others = all & !(1 << last);
        let quiet = Intent {
            takes: [(0, 0); 2],
            frees: [None; 2],
            oldest: all,
            turn: 0,
            parked: 0,
            ended: 0,
            claim: 2,
            quota: 1,
        };
        let mut cycles = vec![Intent { turn: others, ..quiet.clone() }];
        let takes = |warp| [(warp, if warp == low { 1 } else { 2 }), (0, 0)];
        let take = |warp| Intent { takes: takes(warp), ..quiet.clone() };
        cycles.extend((0..WARPS).filter(|warp| *warp != last).map(take));
        let asks = Intent { turn: 1 << last, parked: others, ..quiet };
        cycles.extend([asks.clone(), asks.clone(), asks]);
        check(&limiter, Lockstep::default(), &cycles).unwrap();
    }
}

/// Thread blocks over several partitions, each with a limiter of its own.
#[derive(Clone, Debug)]
struct Crowd {
    /// Warps that each block has in each partition.
    blocks: Vec<Vec<usize>>,
    /// Most registers of a warp at once, and at a barrier.
    most: usize,
    at_barrier: usize,
    /// Registers beyond those that the largest block needs.
    spare: usize,
    /// Barriers that each warp comes to before its end.
    barriers: usize,
    /// What the warps hold in between, and which of them goes on, in turn.
    draws: Vec<usize>,
}

/// Warps of a partition.
const WARPS: usize = 8;
/// Cycles in which no warp moves after which a test gives up.
const PATIENCE: usize = 4 * WARPS;

fn crowds() -> impl Strategy<Value = Crowd> {
    let blocks = (1..4_usize).prop_flat_map(|partitions| vec(vec(0..4_usize, partitions), 1..12));
    let counts = (1..12_usize, 0..12_usize, 0..20_usize, 0..4_usize);
    (blocks, counts, vec(any::<usize>(), 61)).prop_map(
        |(blocks, (most, at_barrier, spare, barriers), draws)| Crowd {
            blocks,
            most,
            at_barrier: at_barrier.min(most),
            spare,
            barriers,
            draws,
        },
    )
}

/// What a warp does next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Takes or gives back registers until it holds so many.
    Hold(usize),
    /// Waits until all warps of its block have come here.
    Barrier,
}

/// A resident warp.
#[derive(Clone, Debug)]
struct Warp {
    block: usize,
    held: usize,
    /// What it has still to do, the next last.
    steps: Vec<Step>,
    parked: bool,
}

struct Partition {
    engine: Interpreter,
    warps: [Option<Warp>; WARPS],
    ended: u64,
    registers: usize,
}

impl Partition {
    fn new(crowd: &Crowd) -> Partition {
        let largest = crowd.blocks.iter().flatten().copied().max().unwrap_or(0).max(1);
        let registers = (crowd.most + (largest - 1) * crowd.at_barrier + crowd.spare).max(2);
        let netlist = elaborate(&AllocationLimiter { warps: WARPS, registers, issues: 2 }).unwrap();
        let engine = Interpreter::new(&netlist, &Options::checked()).unwrap();
        let mut partition = Partition { engine, warps: Default::default(), ended: 0, registers };
        partition.set("limits_claim_i", crowd.most as u64);
        partition.set("limits_quota_i", crowd.at_barrier as u64);
        partition
    }

    fn set(&mut self, port: &str, value: u64) {
        self.engine.set(self.engine.input(port).unwrap(), value);
    }

    fn room(&self) -> usize {
        self.warps.iter().filter(|warp| warp.is_none()).count()
    }

    /// Warps of a kind, one bit each.
    fn those(&self, is_one: impl Fn(&Warp) -> bool) -> u64 {
        let bit =
            |(slot, warp): (usize, &Option<Warp>)| u64::from(warp.as_ref().is_some_and(&is_one)) << slot;
        self.warps.iter().enumerate().map(bit).sum()
    }

    /// The oldest block with a warp that is not in `silent`; its warps, one bit each.
    fn oldest(&self, silent: u64) -> u64 {
        let speaks = |(slot, warp): (usize, &Option<Warp>)| {
            warp.as_ref().filter(|_| silent >> slot & 1 == 0).map(|warp| warp.block)
        };
        let block = self.warps.iter().enumerate().filter_map(speaks).min();
        self.those(|warp| Some(warp.block) == block)
    }

    /// One cycle, in which one warp takes a step, `chosen` if it can. Gives whether one has.
    fn cycle(&mut self, chosen: usize) -> bool {
        let admitted = self.engine.get(self.engine.output("limits_admitted_o").unwrap()) & !self.ended;
        let (oldest, parked) = (self.oldest(0), self.those(|warp| warp.parked));
        self.set("limits_oldest_i", oldest);
        self.set("limits_turn_i", self.oldest(admitted | (oldest & parked)));
        self.set("limits_parked_i", parked);
        self.set("limits_ended_i", self.ended);
        self.set("allocated0_count_i", 0);
        self.set("freed0_valid_i", 0);
        self.ended = 0;
        let moves = (0..WARPS).any(|k| self.advance((chosen + k) % WARPS, admitted));
        self.engine.step();
        assert_eq!(self.engine.violation(), None);
        moves
    }

    /// The next step of a warp. Gives whether it can take one.
    fn advance(&mut self, slot: usize, admitted: u64) -> bool {
        let in_use: usize = self.warps.iter().flatten().map(|warp| warp.held).sum();
        let Some(warp) = self.warps[slot].as_mut().filter(|warp| !warp.parked) else { return false };
        match warp.steps.last() {
            Some(&Step::Hold(goal)) if warp.held < goal => {
                if admitted >> slot & 1 == 0 {
                    return false;
                }
                assert!(in_use < self.registers, "an admitted warp finds no register");
                warp.held += 1;
                self.set("allocated0_warp_i", slot as u64);
                self.set("allocated0_count_i", 1);
            }
            Some(&Step::Hold(goal)) if warp.held > goal => {
                warp.held -= 1;
                self.set("freed0_warp_i", slot as u64);
                self.set("freed0_valid_i", 1);
            }
            Some(step) => {
                warp.parked = *step == Step::Barrier;
                warp.steps.pop();
            }
            None => {
                self.ended |= 1 << slot;
                self.warps[slot] = None;
            }
        }
        true
    }
}

/// A block's barrier opens when none of its warps is anywhere else, in any partition.
fn open_barriers(partitions: &mut [Partition]) {
    let warps = partitions.iter().flat_map(|partition| partition.warps.iter().flatten());
    let on_their_way: Vec<usize> = warps.filter(|warp| !warp.parked).map(|warp| warp.block).collect();
    for warp in partitions.iter_mut().flat_map(|partition| partition.warps.iter_mut().flatten()) {
        warp.parked &= on_their_way.contains(&warp.block);
    }
}

/// Starts a block if there is room for it in every partition.
fn start(
    partitions: &mut [Partition],
    crowd: &Crowd,
    block: usize,
    draw: &mut impl Iterator<Item = usize>,
) -> bool {
    let shape = &crowd.blocks[block];
    if partitions.iter().zip(shape).any(|(partition, warps)| partition.room() < *warps) {
        return false;
    }
    for (partition, &warps) in partitions.iter_mut().zip(shape) {
        for slot in partition.warps.iter_mut().filter(|slot| slot.is_none()).take(warps) {
            let mut hold = |most: usize| Step::Hold(draw.next().unwrap_or(0) % (most + 1));
            let mut steps = vec![Step::Hold(0), hold(crowd.most)];
            for _ in 0..crowd.barriers {
                steps.extend([Step::Barrier, hold(crowd.at_barrier), hold(crowd.most)]);
            }
            *slot = Some(Warp { block, held: 0, steps, parked: false });
        }
    }
    true
}

proptest! {
    #![proptest_config(config(96))]
    /// Whatever the warps hold and whoever goes on, none waits forever: not for a register, and not at a barrier for a
    /// warp of another partition that waits for one. No limiter knows of another.
    #[test]
    fn every_warp_of_every_partition_comes_to_its_end(crowd in crowds()) {
        let count = crowd.blocks[0].len();
        let mut partitions: Vec<Partition> = (0..count).map(|_| Partition::new(&crowd)).collect();
        let mut draw = crowd.draws.iter().copied().cycle();
        let (mut next, mut idle) = (0, 0);
        while next < crowd.blocks.len() || partitions.iter().any(|partition| partition.room() < WARPS) {
            if next < crowd.blocks.len() && start(&mut partitions, &crowd, next, &mut draw) {
                next += 1;
            }
            let mut moves = false;
            for partition in &mut partitions {
                moves |= partition.cycle(draw.next().unwrap_or(0));
            }
            open_barriers(&mut partitions);
            idle = if moves { 0 } else { idle + 1 };
            prop_assert!(idle < PATIENCE, "nothing moves: {:?}", partitions.iter().map(|p| &p.warps).collect::<Vec<_>>());
        }
    }
}
