//! Latency under load, and bandwidth at saturation, of the memory that one SM of a preset sees.
//!
//! `cargo run --release -p warpfile-sim --example memory_curve [preset]…` prints a Markdown table for each preset (those
//! with `memory.model = "queued"` if none is named). Warps chase pointers: each has one load of 128 bytes under way, and
//! asks for the next line when it has come, so by Little's law the mean latency is warps × cycles / loads. The lines are of
//! the L2, or each is a new one of DRAM. A last column has stores only. Start and end of the run are taken out by the
//! difference of a long and a short one.

use warpfile_kernels::program::{
    BlockIndex, ControlFlow, Flow, InstId, Instruction, LANES, Launch, Launches, MemoryAccess, Operation,
    PhysReg, Program, ResultRegister, Source, Space, Stream, StreamError, WarpInstruction,
};
use warpfile_sim::config::{Config, MemoryModel, preset, preset_names};
use warpfile_sim::sm::{RunOptions, run};

/// Bytes of a line, all of which a warp asks for at once.
const LINE: u64 = 128;
/// Lines of a run that stays in the L2, at least: less than one SM's part of any L2 here.
const L2_LINES: u64 = 256;
/// Accesses of a warp in the short run, and in the long one.
const SHORT: u64 = 300;
const LONG: u64 = 900;
/// Blocks at a time on every preset.
const BLOCKS: u32 = 8;

/// What the warps do.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    LoadFromL2,
    LoadFromDram,
    Store,
}

/// A loop of one access.
struct Chase {
    access: Access,
    program: Program,
    launch: Launch,
    /// Lines of a run that stays in the L2.
    l2_lines: u64,
    /// Accesses of a warp.
    length: u64,
    /// How many each warp has made.
    made: Vec<u64>,
    launched: bool,
}

impl Chase {
    fn new(access: Access, l2_lines: u64, warps: u32, length: u64) -> Chase {
        let space = MemoryAccess { space: Space::Global, bytes: 4 };
        let address = Source { register: PhysReg(0), last_read: false, idle_until_suspension: false };
        let result = ResultRegister { register: PhysReg(0), soft: false, idle_until_suspension: false };
        let (operation, results) = match access {
            Access::LoadFromL2 | Access::LoadFromDram => (Operation::Load(space), vec![result]),
            Access::Store => (Operation::Store(space), Vec::new()),
        };
        let instruction = Instruction {
            pc: 0,
            line: 0,
            text: "access".to_owned(),
            operation,
            sources: vec![address],
            results,
            predicate_sources: Vec::new(),
            predicate_results: Vec::new(),
            suspends: false,
            operand: None,
        };
        let flow = vec![Flow::To { targets: vec![0], exits: true }];
        let blocks = warps.min(BLOCKS);
        Chase {
            access,
            program: Program {
                name: "chase".to_owned(),
                instructions: vec![instruction],
                registers_per_thread: 1,
                shared_bytes: 0,
                spills: warpfile_kernels::program::Spills::default(),
                computations: Vec::new(),
                control: Some(ControlFlow {
                    flow,
                    may_diverge: vec![false],
                    switches: Vec::new(),
                    seen: None,
                }),
            },
            l2_lines,
            launch: Launch { grid: [blocks, 1, 1], block: [32 * (warps / blocks), 1, 1], shared_bytes: 0 },
            length,
            made: vec![0; warps as usize],
            launched: false,
        }
    }
}

impl Launches for Chase {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        if self.launched {
            return Ok(None);
        }
        self.launched = true;
        Ok(Some(Box::new(ChaseStream(self))))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(true)
    }
}

struct ChaseStream<'c>(&'c mut Chase);

impl Stream for ChaseStream<'_> {
    fn program(&self) -> &Program {
        &self.0.program
    }

    fn launch(&self) -> &Launch {
        &self.0.launch
    }

    fn start_block(&mut self, _block: BlockIndex) -> Result<(), StreamError> {
        Ok(())
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        let Chase { access, launch, l2_lines, length, made, .. } = &mut *self.0;
        let warps = made.len() as u64;
        let number = block as usize * launch.warps_per_block() + warp;
        let step = made[number];
        if step == *length {
            return Ok(false);
        }
        made[number] += 1;
        let line = step * warps + number as u64;
        let line = if *access == Access::LoadFromL2 { line % *l2_lines } else { line };
        *into = WarpInstruction { inst: InstId(0), active: !0, ..WarpInstruction::default() };
        into.defined[0] = if step > 0 && *access != Access::Store { !0 } else { 0 };
        into.sources[0] = [number as u32; LANES];
        into.results[0] = [number as u32; LANES];
        for (lane, address) in (0..).zip(&mut into.addresses) {
            *address = line * LINE + 4 * lane;
        }
        Ok(true)
    }

    fn finish_block(&mut self, _block: BlockIndex) {}
}

/// Lines that no L1 keeps, whether or not it keeps data.
fn l2_lines(config: &Config) -> u64 {
    let in_l1 = if config.memory.data_in_l1 { config.l1.bytes / LINE } else { 0 };
    L2_LINES.max(2 * in_l1)
}

/// Cycles of an access of each of so many warps, when many have gone before and many follow.
fn cycles(config: &Config, access: Access, warps: u32) -> f64 {
    let of = |length| {
        let report =
            run(config, &mut Chase::new(access, l2_lines(config), warps, length), RunOptions::default());
        report.unwrap_or_else(|error| panic!("{error}")).cycles
    };
    (of(LONG) - of(SHORT)) as f64 / (LONG - SHORT) as f64
}

fn print_curve(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let config = preset(name)?.with_design("baseline")?;
    let peak = config.dram.bytes_per_cycle as f64 / config.chip.sms as f64;
    println!("`{name}`: one of {} SMs, {peak:.1} bytes a cycle of DRAM\n", config.chip.sms);
    println!(
        "| warps | L2: latency | bytes/cycle | DRAM: latency | bytes/cycle | of peak | stores: bytes/cycle |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    for warps in [1, 2, 4, 8, 16, 32, 48, 64] {
        if u64::from(warps) > config.sm.warps {
            continue;
        }
        let bytes = |cycles: f64| f64::from(warps) * LINE as f64 / cycles;
        let near = cycles(&config, Access::LoadFromL2, warps);
        let far = cycles(&config, Access::LoadFromDram, warps);
        let stores = cycles(&config, Access::Store, warps);
        println!(
            "| {warps} | {near:.0} | {:.1} | {far:.0} | {:.1} | {:.0} % | {:.1} |",
            bytes(near),
            bytes(far),
            100.0 * bytes(far) / peak,
            bytes(stores)
        );
    }
    println!();
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let queued = |name: &&str| preset(name).is_ok_and(|config| config.memory.model == MemoryModel::Queued);
    let names =
        if named.is_empty() { preset_names().filter(queued).map(str::to_owned).collect() } else { named };
    for name in names {
        print_curve(&name)?;
    }
    Ok(())
}
