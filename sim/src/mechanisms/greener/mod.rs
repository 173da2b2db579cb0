//! Registers that sleep: each row of the main register file is ON, in SLEEP or OFF, as the compiler says or at once.
//!
//! Three layers, for any storage whose rows are those of the main register file, or that allocates lines to registers in their
//! place and says of each what becomes of it, and for physical registers that are said so of: GREENER, GREENER without its lookup table
//! (Comp-OPT in Fig. 4.9), and Sleep-Reg (the thesis's reading of the Warped Register File: SLEEP after every access). The
//! contract, cycle by cycle, is in `docs/greener-pipeline.md`.
//!
//! Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur, 2018, chapter 4.

mod kernel;
mod layer;
mod partition;

use warpfile_hdl::greener::{RegisterPowerUnit, Rows};
use warpfile_kernels::compile::greener::{self, Liveness, PowerStates};
use warpfile_kernels::program::{MAX_RESULTS, MAX_SOURCES, Program};

use super::waves::{Occupancy, WaveGroup};
use super::{Build, Code, Info, Mechanism, NamedCircuit, Notes, Part, Pass, RegisterRows, Role};
use crate::config::{Accepted, Config, ConfigError, SectionInfo, conflict};
use crate::counters::{Group, Row, Shown};
use crate::energy::structure::{Account, ArrayAccesses, PowerGating, RowControl, RowCycles, Structure};
use crate::sm::{RunReport, SimError};
use crate::{counters, parameters};
use layer::PowerLayer;

/// Name of the group of counters.
pub const COUNTERS: &str = "power";
/// Name of the circuit in waveforms, recordings and Verilog.
const CIRCUIT: &str = "register_power_unit";
/// Bits of a register's number: a thread has at most 255.
const REGISTER_BITS: usize = 8;
/// Registers of a thread at most.
pub(crate) const MAX_REGISTERS: usize = 1 << REGISTER_BITS;
/// Bits of an instruction's number in the lookup table: 127 younger ones are told from older ones.
const NUMBER_BITS: usize = 8;

/// A layer that puts registers to sleep.
pub struct Sleeping {
    policy: Policy,
    info: Info,
}

/// How registers are put to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// As the compiler says, unless a decoded instruction needs the register.
    Greener,
    /// As the compiler says.
    CompilerOnly,
    /// SLEEP after every access.
    SleepReg,
}

impl Sleeping {
    const fn new(policy: Policy, name: &'static str, summary: &'static str) -> Sleeping {
        let info = Info { name, summary, design: Some((name, summary)), preset: "k20x-greener" };
        Sleeping { policy, info }
    }
}

/// GREENER: the compiler's states, corrected by the lookup table (§4.2).
pub static GREENER: Sleeping = Sleeping::new(
    Policy::Greener,
    "greener",
    "registers that sleep as compiler and lookup table say (Jatala, ch. 4)",
);
/// The same without the lookup table (§4.3.4).
pub static COMPILER_ONLY: Sleeping = Sleeping::new(
    Policy::CompilerOnly,
    "greener-comp-opt",
    "greener without its lookup table (Jatala, §4.3.4)",
);
/// SLEEP after every access (§4.3).
pub static SLEEP_REG: Sleeping =
    Sleeping::new(Policy::SleepReg, "sleep-reg", "registers that sleep after every access (Jatala, §4.3)");

parameters! {
    /// Registers that sleep: greener, greener-comp-opt, sleep-reg.
    pub struct Parameters in "greener" {
        /// Instructions to the next access of a register at most for which it stays ON: W of §4.2.
        threshold: u64 = 3, Accepted::integer(1, greener::MAX_THRESHOLD as u64);
        /// Whose values an OFF must not destroy: sound, those of all lanes; thesis, those of one thread alone, where
        /// would-be losses are counted.
        liveness: Liveness = Liveness::Sound, Accepted::one_of::<Liveness>();
        /// Cycles to wake a register up from SLEEP (§4.3).
        sleep_latency: u64 = 1, Accepted::integer(1, 16);
        /// Cycles to wake a register up that is OFF (§4.3).
        off_latency: u64 = 2, Accepted::integer(1, 16);
        /// Rows of a bank that begin to wake up in a cycle at most; 0: no limit.
        rush_limit: u64 = 0, Accepted::integer(0, 8);
        /// Entries of the lookup table for each warp (§4.2.4: fewer than two on average).
        lookup_entries: u64 = 2, Accepted::integer(1, 8);
        /// Leakage of a row that is OFF, as a part of one that is ON.
        off_leakage: f64 = 0.0, Accepted::real(0.0, 1.0);
        /// Energy to wake a row up from SLEEP or to put it to SLEEP, pJ: Table 4.4's 0.0373 nJ over 2048 rows.
        sleep_transition_pj: f64 = 0.018_213, Accepted::real(0.0, 1000.0);
        /// Energy to wake a row up that is OFF or to switch it off, pJ: Table 4.4's 0.11774 nJ over 2048 rows.
        off_transition_pj: f64 = 0.057_490, Accepted::real(0.0, 1000.0);
    }
}

counters! {
    /// Power states of rows of the main register file, or of the lines that hold registers in its place.
    pub struct Power {
        /// Rows that were ON or waking up, summed over cycles.
        on: sum("row cycles"),
        /// Rows in SLEEP, summed over cycles.
        sleep: sum("row cycles"),
        /// Rows that were OFF, summed over cycles.
        off: sum("row cycles"),
        /// Rows woken up from SLEEP.
        sleep_to_on: sum("rows"),
        /// Rows woken up that were OFF.
        off_to_on: sum("rows"),
        /// Rows put to SLEEP.
        on_to_sleep: sum("rows"),
        /// Rows switched off that were ON.
        on_to_off: sum("rows"),
        /// Rows switched off that were in SLEEP.
        sleep_to_off: sum("rows"),
        /// Rows that stayed ON for a decoded instruction, where the compiler had said SLEEP or OFF.
        kept_on: sum("rows"),
        /// Decoded instructions that the lookup table had no room for.
        not_entered: sum("warp instructions"),
        /// Warps whose next instruction waited for rows to wake up, summed over cycles.
        wake_waits: sum("warp cycles"),
        /// Warps whose next instruction waited for a register to be read by an earlier one, summed over cycles.
        read_waits: sum("warp cycles"),
        /// Lanes read whose value an OFF has destroyed, or would have (liveness = "thesis").
        lost_lanes: sum("lanes"),
    }
}

impl Mechanism for Sleeping {
    fn info(&self) -> Info {
        self.info
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let refuse = |reason: &str| Err(conflict("design", &config.design, reason.to_owned()));
        let own = self.info.name;
        let others = || config.design.mechanisms().filter(|other| other.info().name != own);
        if let Some(other) = others().find(|other| other.power_gating(config).is_some()) {
            let other = other.info().name;
            return refuse(&format!("{own} and {other} both put rows to sleep; nearest: {own}"));
        }
        if let Some(storage) = others().find(|other| other.register_rows(config) == RegisterRows::Chosen) {
            return refuse(&format!(
                "{own} does not go with {}: a register has no row of its own in a main register file; nearest: {own}",
                storage.info().name
            ));
        }
        let banks = config.register_file.bank_groups;
        if !(1..=32).contains(&banks) {
            return Err(conflict("register_file.bank_groups", banks, "1 to 32".to_owned()));
        }
        let rows = config.register_file.rows;
        if !(1..=1024).contains(&rows) {
            return Err(conflict("register_file.rows", rows, "1 to 1024".to_owned()));
        }
        Ok(())
    }

    fn pass(&self) -> Pass {
        if self.policy == Policy::SleepReg { Pass::None } else { Pass::Notes }
    }

    fn compile(
        &self,
        config: &Config,
        program: &Program,
        notes: &mut Notes,
    ) -> Result<Option<Program>, SimError> {
        if let Some(states) = self.states(config, program)? {
            notes.leave(states);
        }
        Ok(None)
    }

    fn listing(&self, config: &Config, code: Code<'_>) -> Result<Option<String>, SimError> {
        let Code { program, cfg, .. } = code;
        let states = self.states(config, program)?;
        Ok(states.map(|states| greener::listing::listing(program, &states, &pass_parameters(config), cfg)))
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Power::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, CIRCUIT, &circuit(config, self.policy))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config, self.policy);
        let rows = register_rows(at.config);
        let part = |engine| partition::Partition::new(engine, &circuit, rows);
        let partitions = at.of_partitions(&circuit, &layer::FORESEEN, part)?;
        Ok(Part::Layer(Box::new(PowerLayer::new(at.config, self.policy, partitions))))
    }

    /// Rows of the lookup table are as wide as the circuit's. The scoreboard has the registers
    /// that a warp is about to read (§4.3.5), if they have rows of their own.
    fn structures(&self, config: &Config) -> Vec<Structure> {
        let partitions = config.partitions() as u32;
        let circuit = circuit(config, self.policy);
        let waiting = Structure::table(
            "registers being read",
            Account::Control,
            (partitions, circuit.warps as u32, (MAX_SOURCES * REGISTER_BITS) as u32),
            |report: &RunReport| ArrayAccesses::queued(report.operands.reads),
        );
        let lookup = (circuit.entries > 0).then(|| {
            let bits = NUMBER_BITS + circuit.operands * (REGISTER_BITS + 1);
            Structure::table(
                "lookup tables",
                Account::Control,
                (partitions, (circuit.warps * circuit.entries) as u32, bits as u32),
                |report: &RunReport| ArrayAccesses {
                    row_writes: report.warp_instructions,
                    row_reads: report.operands.reads + report.operands.writes + report.warp_instructions,
                    ..ArrayAccesses::default()
                },
            )
        });
        let waiting = (register_rows(config) != RegisterRows::Shared).then_some(waiting);
        waiting.into_iter().chain(lookup).collect()
    }

    fn power_gating(&self, config: &Config) -> Option<PowerGating> {
        let Parameters { off_leakage, sleep_transition_pj, off_transition_pj, .. } = config.of();
        let control =
            RowControl { circuit: CIRCUIT, on: "on_o", sleep: "sleep_o", off: "off_o", waking: "waking_o" };
        Some(PowerGating {
            rows: row_cycles,
            off_leakage,
            sleep_transition_pj,
            off_transition_pj,
            control: Some(control),
        })
    }

    fn rows(&self) -> Vec<Row> {
        let rows = [
            ("row cycles ON", Shown::Count("power.on")),
            ("row cycles in SLEEP", Shown::Count("power.sleep")),
            ("row cycles OFF", Shown::Count("power.off")),
            ("waits for rows to wake up", Shown::Count("power.wake_waits")),
        ];
        rows.map(|(label, shown)| Row { label, shown }).to_vec()
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        let rows = |title, register| Occupancy {
            title,
            instance: "transistors",
            register: (register, "_q"),
            counts_zeros: false,
        };
        vec![
            rows("Rows of the register file that are on", "on"),
            rows("Rows of the register file that sleep", "sleep"),
        ]
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![POWER]
    }
}

impl Sleeping {
    /// The compiler's states; none if it says nothing.
    fn states(&self, config: &Config, program: &Program) -> Result<Option<PowerStates>, SimError> {
        if self.policy == Policy::SleepReg {
            return Ok(None);
        }
        greener::compile(program, &pass_parameters(config)).map(Some).map_err(SimError::mechanism)
    }
}

/// What a run says of its rows.
fn row_cycles(report: &RunReport) -> RowCycles {
    let power: Power = report.counters.get(COUNTERS);
    RowCycles {
        on: power.on,
        sleep: power.sleep,
        off: power.off,
        sleep_transitions: power.sleep_to_on + power.on_to_sleep,
        off_transitions: power.off_to_on + power.on_to_off + power.sleep_to_off,
    }
}

fn pass_parameters(config: &Config) -> greener::Parameters {
    let Parameters { threshold, liveness, .. } = config.of();
    greener::Parameters {
        // The parameter's range is the pass's.
        threshold: threshold as u8,
        liveness,
    }
}

/// Where registers lie, if a mechanism says of each row what becomes of it; fixed if none does.
fn register_rows(config: &Config) -> RegisterRows {
    let says = |rows: &RegisterRows| matches!(rows, RegisterRows::Lines { .. } | RegisterRows::Shared);
    let all = config.design.mechanisms().map(|mechanism| mechanism.register_rows(config));
    all.into_iter().find(says).unwrap_or(RegisterRows::Fixed)
}

fn circuit(config: &Config, policy: Policy) -> RegisterPowerUnit {
    let parameters: Parameters = config.of();
    let issues = config.issues_per_partition() as usize;
    let (banks, rows) = match register_rows(config) {
        RegisterRows::Lines { banks, lines } => (banks, lines),
        RegisterRows::Fixed | RegisterRows::Movable | RegisterRows::Chosen | RegisterRows::Shared => {
            (config.register_file.bank_groups as usize, config.register_file.rows as usize)
        }
    };
    RegisterPowerUnit {
        file: Rows { banks, rows },
        warps: config.warps_per_partition() as usize,
        sleep_latency: parameters.sleep_latency as usize,
        off_latency: parameters.off_latency as usize,
        rush_limit: parameters.rush_limit as usize,
        // The operands of as many instructions, their results, and one that took long.
        accesses: issues * (MAX_SOURCES + 1) + 1,
        entries: if policy == Policy::Greener { parameters.lookup_entries as usize } else { 0 },
        operands: MAX_SOURCES + MAX_RESULTS,
        register_bits: REGISTER_BITS,
        number_bits: NUMBER_BITS,
    }
}

const POWER: WaveGroup = WaveGroup {
    title: "Power",
    scope: CIRCUIT,
    signals: &["request_i", "waking_o", "on_o", "sleep_o", "off_o", "access0_valid_i", "access0_row_i"],
};
