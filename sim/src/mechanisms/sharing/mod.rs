//! Sharing of what blocks do not use: two blocks share registers, or scratchpad, of which there is too little for both.
//!
//! Layers `reg-share`, `spad-share` and, with early release, `spad-share-relssp`; of both resources at once, `both-share`; and the
//! scheduler of all, `owf`. The contract, cycle by cycle, is in `docs/sharing-pipeline.md`.
//!
//! Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur, 2018, chapters 2 and 3,
//! §6.1.

mod accesses;
mod blocks;
mod both;
mod dynamic_execution;
mod owf;
mod pairs;
mod plan;
mod registers;
mod release;
mod scratchpad;
mod shared_registers;
mod shared_scratchpad;
mod users;

use warpfile_engine::EngineError;
use warpfile_hdl::rtl::count_bits;
use warpfile_hdl::sharing::{
    DynamicExecution, RegisterAccessUnit, ReleaseUnit, ResourceAccessUnit, ScratchpadAccessUnit,
};
use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::compile::cfg::Cfg;
use warpfile_kernels::compile::listing::listing;
use warpfile_kernels::compile::sharing::{self, Placement, ScratchpadOptions, Threshold, order};
use warpfile_kernels::program::{LANES, Program};

use super::waves::WaveGroup;
use super::{Build, Code, Info, Mechanism, NamedCircuit, Notes, Part, Pass, RegisterRows, Role};
use crate::config::{Accepted, Config, ConfigError, SectionInfo, conflict};
use crate::counters::{Group, Row, Shown};
use crate::energy::structure::{Account, ArrayAccesses, Structure};
use crate::sm::design::Layer;
use crate::sm::{RunReport, SimError};
use crate::{counters, parameters};
use both::BothSharing;
pub use owf::Owf;
use registers::RegisterSharing;
use scratchpad::ScratchpadSharing;

/// Name of the group of counters.
pub const COUNTERS: &str = "sharing";
/// Names of the circuits in waveforms, recordings and Verilog.
const REGISTER_CIRCUIT: &str = "register_access_unit";
const SCRATCHPAD_CIRCUIT: &str = "scratchpad_access_unit";
const RELEASE_CIRCUIT: &str = "release_unit";
const DYNAMIC_CIRCUIT: &str = "dynamic_execution";
const RESOURCE_CIRCUIT: &str = "resource_access_unit";
/// Bits of a register's number, counted from 1: a thread has at most 255.
const REGISTER_BITS: usize = 8;

parameters! {
    /// Sharing of registers and scratchpad: reg-share, spad-share, spad-share-relssp, both-share.
    pub struct Parameters in "sharing" {
        /// Part of its registers or scratchpad that a sharing block has for itself, in percent: 100 t of §2.2.4.
        private_percent: u64 = 10, Accepted::integer(1, 100);
        /// Registers lie in the order of their first use where blocks share them (§2.3.2).
        reorder_registers: bool = true, Accepted::Flag;
        /// A warp waits for the warp that it shares registers with to end (§2.2.1, §2.5.1.6), and not for all warps of that block
        /// that have used such registers (§2.2.3): of reg-share.
        warp_locks: bool = false, Accepted::Flag;
        /// Memory instructions of warps that do not own their shared registers are executed as rarely as the SM stalls more than
        /// the chip's first (§2.3.3): of reg-share; of no effect if one SM is simulated.
        dynamic_execution: bool = true, Accepted::Flag;
        /// Cycles after which SMs compare their stalls (§2.3.3).
        stall_window: u64 = 1000, Accepted::integer(2, 65536);
        /// Steps of the probability of such an instruction from 0 to 1 (§2.3.3: 0.1 each).
        probability_steps: u64 = 10, Accepted::integer(1, 16);
        /// Where spad-share-relssp and both-share put relssp: optimal, as early as every path allows (Equations 3.1, 3.2); postdominator,
        /// where all accesses are over (§3.2.3); none, nowhere: variables of scratchpad are only laid out.
        relssp: Placement = Placement::Optimal, Accepted::one_of::<Placement>();
    }
}

counters! {
    /// What came of sharing.
    pub struct Shared {
        /// Warps of blocks that shared.
        sharing_warps: sum("warps"),
        /// Locks taken; of both-share, which has none, warps that accessed shared registers and blocks that accessed shared
        /// scratchpad for the first time.
        locks: sum("locks"),
        /// Times that a block became the owner of its pair after its launch.
        handovers: sum("blocks"),
        /// Warps that waited for what they share, summed over cycles.
        lock_waits: sum("warp cycles"),
        /// Warps of blocks that share with the owner, summed over cycles: additional warps, until they are the owner's.
        additional: sum("warp cycles"),
        /// Of these, warps that waited for a lock.
        additional_waits: sum("warp cycles"),
        /// Instructions of additional warps that access memory off the chip.
        additional_memory: sum("warp instructions"),
        /// Additional warps whose memory instructions waited for dynamic warp execution.
        memory_waits: sum("warp cycles"),
        /// Windows of an SM whose stalls were compared with those of the first.
        windows: sum("windows"),
        /// Steps of the probability that memory instructions of additional warps are executed, summed over these windows.
        probability: sum("steps"),
        /// Blocks that share scratchpad, summed over cycles before they have had its lock.
        before_lock: sum("block cycles"),
        /// The same while they have it.
        with_lock: sum("block cycles"),
        /// The same from when they have released it on.
        after_lock: sum("block cycles"),
        /// Instructions with registers that two warps share.
        register_accesses: sum("warp instructions"),
        /// Accesses to scratchpad that two blocks share.
        shared_accesses: sum("warp instructions"),
        /// Blocks whose threads have all released what they share before the block's end.
        releases: sum("blocks"),
        /// Executions of relssp.
        relssp: sum("thread instructions"),
    }
}

impl Shared {
    /// Counts the additional warps of a cycle, and those of them that are held; one bit a warp.
    fn count_additional(&mut self, additional: blocks::Warps, held: blocks::Warps) {
        self.additional += u64::from(additional.count_ones());
        self.additional_waits += u64::from((additional & held).count_ones());
    }

    /// Counts the blocks of a cycle that share scratchpad, those that use the shared part, and those that use it or did; one bit
    /// a block.
    fn count_scratchpad(&mut self, sharing: u64, using: u64, used: u64) {
        let count = |blocks: u64| u64::from((sharing & blocks).count_ones());
        self.before_lock += count(!using & !used);
        self.with_lock += count(using);
        self.after_lock += count(!using & used);
    }
}

/// The notes of the pass: the place of each register in the order of first use.
struct RegisterOrder(Vec<u16>);

fn threshold(config: &Config) -> Threshold {
    let Parameters { private_percent, .. } = config.of();
    // The parameter's range is the threshold's.
    Threshold::from_percent(private_percent).unwrap_or_else(Threshold::none)
}

/// Why a layer does not go with what else is in its stack.
fn refuse(config: &Config, reason: String) -> Result<(), ConfigError> {
    Err(conflict("design", &config.design, reason))
}

fn check_sizes(config: &Config) -> Result<(), ConfigError> {
    let accepted = |key, value: u64, range: std::ops::RangeInclusive<u64>| match range.contains(&value) {
        true => Ok(()),
        false => Err(conflict(key, value, format!("{} to {}", range.start(), range.end()))),
    };
    accepted("sm.warps", config.sm.warps, 2..=blocks::MAX_WARPS)?;
    accepted("sm.blocks", config.sm.blocks, 2..=32)
}

/// Two sharing layers would each have owners of their own. The layer that has one for both resources is both-share.
fn check_alone(config: &Config, own: &Sharing) -> Result<(), ConfigError> {
    let sharing = [&SHARE_REGISTERS, &SHARE_SCRATCHPAD, &SHARE_SCRATCHPAD_RELSSP, &SHARE_BOTH];
    let mut others = sharing.into_iter().filter(|layer| layer.info.name != own.info.name);
    let Some(other) = others.find(|layer| config.design.contains(layer.info.name)) else { return Ok(()) };
    let share_scratchpad = [own, other].iter().all(|layer| !layer.registers());
    let nearest = if share_scratchpad { SHARE_SCRATCHPAD_RELSSP.info.name } else { SHARE_BOTH.info.name };
    let (own, other) = (own.info.name, other.info.name);
    refuse(config, format!("{own} and {other} each have owners of their own; nearest: {nearest}"))
}

/// Register sharing puts two warps beside each other, and registers where no other mechanism expects them.
fn check_movable_rows(config: &Config, own: &str) -> Result<(), ConfigError> {
    let warps = config.warps_per_partition();
    if !warps.is_multiple_of(2) {
        let reason = "an even number of warps for each scheduler: two that share are neighbours";
        return Err(conflict("sm.warps", config.sm.warps, reason.to_owned()));
    }
    let others = || config.design.mechanisms().filter(|other| other.info().name != own);
    if let Some(other) = others().find(|other| other.power_gating(config).is_some()) {
        let other = other.info().name;
        return refuse(config, format!("{other} takes a row to be one warp's; nearest: {own}"));
    }
    let is_storage = |other: &&'static dyn Mechanism| matches!(other.role(), Role::Storage { .. });
    match others().filter(is_storage).find(|storage| storage.register_rows(config) != RegisterRows::Movable) {
        Some(storage) => {
            let storage = storage.info().name;
            refuse(config, format!("{own} moves registers, which {storage} does not follow; nearest: {own}"))
        }
        None => Ok(()),
    }
}

fn check_bytes(config: &Config) -> Result<(), ConfigError> {
    match config.sm.shared_memory_bytes {
        1..=0xf_ffff => Ok(()),
        bytes => Err(conflict("sm.shared_memory_bytes", bytes, "1 to 1048575".to_owned())),
    }
}

/// Leaves the order of first use for the layer, if registers are to lie in it.
fn leave_order(config: &Config, program: &Program, notes: &mut Notes) {
    let Parameters { reorder_registers, .. } = config.of();
    if reorder_registers {
        notes.leave(RegisterOrder(order::by_first_use(program)));
    }
}

fn listing_of_registers(config: &Config, program: &Program, cfg: &Cfg) -> String {
    let Parameters { reorder_registers, .. } = config.of();
    let numbers = match reorder_registers {
        true => order::by_first_use(program),
        false => (0..program.registers_per_thread).collect(),
    };
    order::listing(program, &numbers, threshold(config), cfg)
}

/// How scratchpad is shared, for the compiler.
fn of_scratchpad(config: &Config) -> ScratchpadOptions {
    let Parameters { relssp: placement, .. } = config.of();
    let unlimited_bytes = (config.sm.shared_memory_bytes / config.sm.blocks) as u32;
    ScratchpadOptions { threshold: threshold(config), placement, unlimited_bytes }
}

/// What two blocks share.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resources {
    Registers,
    Scratchpad,
    Both,
}

/// Blocks that share in pairs.
pub struct Sharing {
    info: Info,
    resources: Resources,
    /// Threads release scratchpad before their block ends, which the compiler sees to.
    relssp: bool,
}

/// Register sharing (§2.2.1).
pub static SHARE_REGISTERS: Sharing = Sharing {
    info: Info {
        name: "reg-share",
        summary: "blocks that share registers in pairs (Jatala, §2.2.1)",
        design: Some((
            "reg-share",
            "register sharing, OWF scheduler, registers in the order of first use (Jatala, ch. 2)",
        )),
        preset: "jatala-ch2",
    },
    resources: Resources::Registers,
    relssp: false,
};
/// Scratchpad sharing (§2.2.2).
pub static SHARE_SCRATCHPAD: Sharing = Sharing {
    info: Info {
        name: "spad-share",
        summary: "blocks that share scratchpad in pairs (Jatala, §2.2.2)",
        design: Some(("spad-share", "scratchpad sharing, OWF scheduler (Jatala, ch. 2)")),
        preset: "jatala-ch3",
    },
    resources: Resources::Scratchpad,
    relssp: false,
};
/// The same with the compiler's layout and `relssp` (chapter 3).
pub static SHARE_SCRATCHPAD_RELSSP: Sharing = Sharing {
    info: Info {
        name: "spad-share-relssp",
        summary: "blocks that share scratchpad in pairs and release it with relssp (Jatala, ch. 3)",
        design: Some(("spad-share-relssp", "scratchpad sharing with relssp, OWF scheduler (Jatala, ch. 3)")),
        preset: "jatala-ch3",
    },
    resources: Resources::Scratchpad,
    relssp: true,
};
/// Register and scratchpad sharing at once (§6.1, future work).
pub static SHARE_BOTH: Sharing = Sharing {
    info: Info {
        name: "both-share",
        summary: "blocks that share registers and scratchpad in pairs with one owner for both (Jatala, §6.1)",
        design: Some((
            "both-share",
            "register and scratchpad sharing at once with relssp, OWF scheduler (Jatala, §6.1)",
        )),
        preset: "jatala-ch3",
    },
    resources: Resources::Both,
    relssp: true,
};

impl Sharing {
    fn registers(&self) -> bool {
        self.resources != Resources::Scratchpad
    }

    fn scratchpad(&self) -> bool {
        self.resources != Resources::Registers
    }

    /// Whether memory instructions wait by what other SMs do: not if there are none.
    fn compares_sms(&self, config: &Config) -> bool {
        let Parameters { dynamic_execution, .. } = config.of();
        self.resources == Resources::Registers && dynamic_execution && config.chip.simulated_sms > 1
    }
}

impl Mechanism for Sharing {
    fn info(&self) -> Info {
        self.info
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    /// A pair's warps would ask for its lock in one cycle.
    fn serves_several_schedulers(&self) -> bool {
        false
    }

    fn scheduler(&self) -> Option<&'static str> {
        Some("owf")
    }

    fn admits_more_blocks(&self) -> bool {
        true
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    /// Two warps may have one row.
    fn register_rows(&self, _config: &Config) -> RegisterRows {
        if self.registers() { RegisterRows::Chosen } else { RegisterRows::Fixed }
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        check_sizes(config)?;
        if self.scratchpad() {
            check_bytes(config)?;
        }
        check_alone(config, self)?;
        if self.registers() { check_movable_rows(config, self.info.name) } else { Ok(()) }
    }

    fn code(&self, config: &Config, options: CompileOptions) -> CompileOptions {
        let scratchpad = self.relssp.then(|| of_scratchpad(config));
        CompileOptions { scratchpad: scratchpad.or(options.scratchpad), ..options }
    }

    /// Of scratchpad it is the code that changes.
    fn pass(&self) -> Pass {
        if self.registers() || self.relssp { Pass::Notes } else { Pass::None }
    }

    fn compile(
        &self,
        config: &Config,
        program: &Program,
        notes: &mut Notes,
    ) -> Result<Option<Program>, SimError> {
        if self.registers() {
            leave_order(config, program, notes);
        }
        Ok(None)
    }

    /// Of registers (§2.3.2), and of scratchpad with `relssp` (§3.2).
    fn pass_name(&self) -> Option<&'static str> {
        match self.resources {
            Resources::Registers => Some("sharing"),
            Resources::Scratchpad if self.relssp => Some("relssp"),
            Resources::Scratchpad | Resources::Both => None,
        }
    }

    /// With the places of registers, or of scratchpad variables and of `relssp`.
    fn listing(&self, config: &Config, code: Code<'_>) -> Result<Option<String>, SimError> {
        let Code { program, cfg, kernel } = code;
        let variables = match kernel.filter(|_| self.relssp) {
            Some(kernel) => {
                let options = of_scratchpad(config);
                sharing::listing::table(kernel, options).map_err(SimError::mechanism)?
            }
            None => String::new(),
        };
        Ok(match self.registers() {
            true => Some(variables + &listing_of_registers(config, program, cfg)),
            false => self.relssp.then(|| variables + &listing(program, cfg)),
        })
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Shared::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        let mut circuits = vec![match self.resources {
            Resources::Registers => NamedCircuit::of_sm(config, REGISTER_CIRCUIT, &register_circuit(config))?,
            Resources::Scratchpad => {
                NamedCircuit::of_sm(config, SCRATCHPAD_CIRCUIT, &scratchpad_circuit(config))?
            }
            Resources::Both => NamedCircuit::of_sm(config, RESOURCE_CIRCUIT, &resource_circuit(config))?,
        }];
        if self.compares_sms(config) {
            circuits.push(NamedCircuit::of_sm(config, DYNAMIC_CIRCUIT, &dynamic_circuit(config))?);
        }
        if self.relssp {
            circuits.push(NamedCircuit::of_sm(config, RELEASE_CIRCUIT, &release_circuit(config))?);
        }
        Ok(circuits)
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let (config, threshold) = (at.config, threshold(at.config));
        let release = self.relssp.then(|| release::build(at)).transpose()?;
        let layer: Result<Box<dyn Layer>, EngineError> = match self.resources {
            Resources::Registers => {
                let circuit = register_circuit(config);
                let engine = at.circuit(&circuit, &registers::FORESEEN)?;
                let channel = at.channel(self.info.name).filter(|_| self.compares_sms(config));
                let dynamic = channel.map(|channel| dynamic_execution::build(at, channel)).transpose()?;
                RegisterSharing::new(config, threshold, (engine, &circuit), dynamic).map(boxed)
            }
            Resources::Scratchpad => {
                let circuit = scratchpad_circuit(config);
                let engine = at.circuit(&circuit, &scratchpad::FORESEEN)?;
                ScratchpadSharing::new(config, threshold, (engine, &circuit), release).map(boxed)
            }
            Resources::Both => {
                let circuit = resource_circuit(config);
                let engine = at.circuit(&circuit, &both::FORESEEN)?;
                BothSharing::new(config, threshold, (engine, &circuit), release).map(boxed)
            }
        };
        Ok(Part::Layer(layer.map_err(|error| SimError::circuit(config, error))?))
    }

    /// The tables of §2.4, which are looked at in every cycle; that they change is counted by locks. Of both resources those that
    /// one owner leaves, and what is released.
    fn structures(&self, config: &Config) -> Vec<Structure> {
        let (warps, blocks) = (config.sm.warps, config.sm.blocks);
        let partners = blocks * partner_bits(blocks);
        let of_unit = match self.resources {
            Resources::Registers => {
                let lock = warps / 2 * index_bits(warps);
                tables("register sharing", 1 + partners + 2 * warps + lock, locks_and_owners)
            }
            Resources::Scratchpad => {
                let lock = blocks / 2 * index_bits(blocks);
                tables("scratchpad sharing", 1 + partners + warps + lock, locks_and_owners)
            }
            Resources::Both => tables("resource sharing", 2 + partners + warps + blocks, owners_and_releases),
        };
        let dynamic = self.compares_sms(config).then(|| dynamic_state(config));
        let release = self.relssp.then(|| release_bits(config));
        [of_unit].into_iter().chain(dynamic).chain(release).collect()
    }

    fn rows(&self) -> Vec<Row> {
        let of_memory = [
            ("waits of memory instructions", Shown::Count("sharing.memory_waits")),
            (
                "probability of memory instructions, steps",
                Shown::Mean("sharing.probability", "sharing.windows"),
            ),
        ];
        let of_memory = of_memory.into_iter().filter(|_| self.resources == Resources::Registers);
        rows().into_iter().chain(of_memory.map(|(label, shown)| Row { label, shown })).collect()
    }

    fn waves(&self) -> Vec<WaveGroup> {
        match self.resources {
            Resources::Registers => vec![
                WaveGroup {
                    title: "Register sharing",
                    scope: REGISTER_CIRCUIT,
                    signals: &["held_o", "owner_o", "shared_o", "locked_o", "issue_i", "ended_i"],
                },
                WaveGroup {
                    title: "Dynamic warp execution",
                    scope: DYNAMIC_CIRCUIT,
                    signals: &["held_o", "memory_i", "additional_i", "stall_i", "window_stalls_o"],
                },
            ],
            Resources::Scratchpad => vec![WaveGroup {
                title: "Scratchpad sharing",
                scope: SCRATCHPAD_CIRCUIT,
                signals: &["held_o", "owner_o", "shared_o", "locked_o", "issue_i", "block_ended_i"],
            }],
            Resources::Both => vec![WaveGroup {
                title: "Resource sharing",
                scope: RESOURCE_CIRCUIT,
                signals: &["held_o", "owner_o", "shared_o", "scratchpad_o", "release_i", "block_ended_i"],
            }],
        }
    }
}

fn boxed<'l>(layer: impl Layer + 'l) -> Box<dyn Layer + 'l> {
    Box::new(layer)
}

fn rows() -> Vec<Row> {
    let rows = [
        ("warps of sharing blocks", Shown::Count("sharing.sharing_warps")),
        ("locks taken", Shown::Count("sharing.locks")),
        ("changes of owner", Shown::Count("sharing.handovers")),
        ("waits for locks", Shown::Count("sharing.lock_waits")),
    ];
    rows.map(|(label, shown)| Row { label, shown }).to_vec()
}

fn index_bits(count: u64) -> u64 {
    warpfile_hdl::rtl::index_bits(count as usize) as u64
}

/// Bits of a slot, or of none (§2.4.1, item 2).
fn partner_bits(blocks: u64) -> u64 {
    count_bits(blocks as usize) as u64
}

/// The tables of an access unit as one row of so many bits.
fn tables(name: &'static str, bits: u64, accesses: fn(&RunReport) -> ArrayAccesses) -> Structure {
    Structure::table(name, Account::Control, (1, 1, bits as u32), accesses)
}

/// The tables are looked at for every instruction, and written so often.
fn looked_at(report: &RunReport, row_writes: u64) -> ArrayAccesses {
    ArrayAccesses { row_writes, row_reads: report.warp_instructions, ..ArrayAccesses::default() }
}

/// Accesses to the tables of the units for one resource.
fn locks_and_owners(report: &RunReport) -> ArrayAccesses {
    let shared: Shared = report.counters.get(COUNTERS);
    looked_at(report, shared.locks + shared.handovers)
}

/// Accesses to the tables of the unit for both: an owner changes, or a block has released.
fn owners_and_releases(report: &RunReport) -> ArrayAccesses {
    let shared: Shared = report.counters.get(COUNTERS);
    looked_at(report, shared.handovers + shared.releases)
}

/// Two bits a thread.
fn release_bits(config: &Config) -> Structure {
    let size = (1, config.sm.warps as u32, 2 * LANES as u32);
    Structure::table("release bits", Account::Control, size, |report: &RunReport| {
        let shared: Shared = report.counters.get(COUNTERS);
        ArrayAccesses { row_writes: shared.relssp / LANES as u64, ..ArrayAccesses::default() }
    })
}

fn register_circuit(config: &Config) -> RegisterAccessUnit {
    let Parameters { warp_locks, .. } = config.of();
    RegisterAccessUnit {
        warps: config.sm.warps as usize,
        blocks: config.sm.blocks as usize,
        register_bits: REGISTER_BITS,
        warp_locks,
    }
}

fn dynamic_circuit(config: &Config) -> DynamicExecution {
    let Parameters { stall_window, probability_steps, .. } = config.of();
    DynamicExecution {
        warps: config.sm.warps as usize,
        window: stall_window as usize,
        steps: probability_steps as usize,
    }
}

/// Counters and random number of dynamic warp execution, as one row that changes in every cycle.
fn dynamic_state(config: &Config) -> Structure {
    let DynamicExecution { window, steps, .. } = dynamic_circuit(config);
    let flags = 3;
    let bits = flags + index_bits(window as u64) as usize + 2 * count_bits(window) + count_bits(steps) + 16;
    Structure::table("dynamic execution", Account::Control, (1, 1, bits as u32), |report: &RunReport| {
        ArrayAccesses { row_writes: report.sm_cycles(), ..ArrayAccesses::default() }
    })
}

fn release_circuit(config: &Config) -> ReleaseUnit {
    ReleaseUnit {
        warps: config.sm.warps as usize,
        lanes: LANES,
        blocks: config.sm.blocks as usize,
        ports: config.partitions() as usize,
    }
}

fn scratchpad_circuit(config: &Config) -> ScratchpadAccessUnit {
    ScratchpadAccessUnit {
        warps: config.sm.warps as usize,
        blocks: config.sm.blocks as usize,
        byte_bits: count_bits(config.sm.shared_memory_bytes as usize),
    }
}

fn resource_circuit(config: &Config) -> ResourceAccessUnit {
    ResourceAccessUnit {
        warps: config.sm.warps as usize,
        blocks: config.sm.blocks as usize,
        register_bits: REGISTER_BITS,
        byte_bits: count_bits(config.sm.shared_memory_bytes as usize),
    }
}
