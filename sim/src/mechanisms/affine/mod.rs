//! Affine registers: a register whose lanes follow each other by one stride is held as base and stride, in one of the banks that
//! it has lanes in.
//!
//! An interposer right at a banked register file, one for each partition. It changes no cycle and no value: it knows which
//! registers are tuples, and counts what that saves. The contract, cycle by cycle, is in `docs/affine-pipeline.md`.
//!
//! Source: Kim & Ro, "WIR: Warp Instruction Reuse to Minimize Repeated Computations in GPUs", §VII-A: Affine.

mod interposer;
mod kernel;

use warpfile_hdl::affine::{AffineDetector, TupleTable};
use warpfile_hdl::regfile::ExtraRead;
use warpfile_kernels::program::MAX_SOURCES;

use super::register_file::{LANES, REGISTERS};
use super::waves::{Occupancy, WaveGroup};
use super::wir::Pipelines;
use super::{Build, Combination, Info, Mechanism, NamedCircuit, Part, Role};
use crate::config::{Config, ConfigError, conflict};
use crate::counters;
use crate::counters::{Group, Row, Shown};
use crate::energy::structure::{Account, ArrayAccesses, Structure};
use crate::sm::design::Interposer;
use crate::sm::{Operations, RunReport, SimError};

/// Name of the group of counters.
pub const COUNTERS: &str = "affine";
/// Names of the circuits in waveforms, recordings and Verilog.
const DETECTOR: &str = "affine_detector";
const TABLE: &str = "tuple_table";

counters! {
    /// Registers that are held as base and stride.
    pub struct Counted {
        /// Reads of registers that are tuples.
        reads: sum("registers"),
        /// Entries of four lanes that they did not read: all that have lanes which execute, but one.
        reads_spared: sum("entries"),
        /// Registers written as tuples.
        writes: sum("registers"),
        /// Entries of four lanes that they did not write.
        writes_spared: sum("entries"),
        /// Tuples that were written in part, and so expanded: each is read, one entry, before.
        expanded: sum("registers"),
        /// Entries of four lanes written with them, of which no lane executes.
        expansion_writes: sum("entries"),
        /// Instructions that the register file has taken.
        executed: group(Pipelines),
        /// Of these, those whose operands and results are tuples, and that compute base and stride: one lane can do them.
        one_lane: group(Pipelines),
        /// Lanes that units did not work for in these.
        lanes_spared: group(Operations),
    }
}

const INFO: Info = Info {
    name: "affine",
    summary: "registers of one stride as base and stride, in one bank of eight (Kim & Ro, Affine)",
    design: Some((
        "affine",
        "banked register file with registers of one stride as base and stride (Kim & Ro, Affine)",
    )),
    preset: "fermi-wir",
};

/// Affine registers.
pub struct AffineRegisters;

impl Mechanism for AffineRegisters {
    fn info(&self) -> Info {
        INFO
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    /// §VII-A: Affine+RLPV.
    fn combinations(&self) -> &'static [Combination] {
        &[Combination {
            name: "affine-rlpv",
            summary: "wir-rlpv on affine instead of on a banked register file (Kim & Ro, Affine+RLPV)",
            mechanisms: &["affine", "wir-rlpv"],
        }]
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let own = INFO.name;
        let refuse = |reason: String| Err(conflict("design", &config.design, reason));
        let mechanisms: Vec<&dyn Mechanism> = config.design.mechanisms().map(|other| other as _).collect();
        let is_other_storage = |other: &&&dyn Mechanism| {
            matches!(other.role(), Role::Storage { .. }) && other.info().name != "banked"
        };
        if let Some(other) = mechanisms.iter().find(is_other_storage) {
            let other = other.info().name;
            return refuse(format!(
                "{own} does not go with {other}: it follows the rows of banked; nearest: {own}"
            ));
        }
        if let Some(other) = mechanisms.iter().find(|other| other.power_gating(config).is_some()) {
            let other = other.info().name;
            return refuse(format!(
                "{own} does not go with {other}, which gates all banks of a row at once; nearest: {own}"
            ));
        }
        let before = mechanisms.iter().take_while(|other| other.info().name != own);
        if let Some(other) = before.clone().find(|other| other.register_rows(config).is_chosen()) {
            let other = other.info().name;
            return refuse(format!("{own} knows rows, which {other} gives away; nearest: {own}+{other}"));
        }
        let registers = config.register_file.bank_groups * config.register_file.rows;
        if registers > 4096 {
            let reason = format!("at most 4096 registers for each register file, there are {registers}");
            return Err(conflict("register_file.rows", config.register_file.rows, reason));
        }
        Ok(())
    }

    /// Which registers are tuples is a matter of their values.
    fn without_values(&self, config: &mut Config) -> Result<Option<&'static str>, ConfigError> {
        let reason = "one without affine: the trace has no values, and which registers have one stride is not known; run the \
                      kernel's PTX, or record the trace with values"
            .to_owned();
        Err(conflict("design", &config.design, reason))
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Counted::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        let Circuits { detector, table } = Circuits::new(config);
        Ok(vec![
            NamedCircuit::of_partition(config, DETECTOR, &detector)?,
            NamedCircuit::of_partition(config, TABLE, &table)?,
        ])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let partitions = interposer::Affine::of_partitions(at, &Circuits::new(at.config))?;
        let one = |affine| -> Box<dyn Interposer> { Box::new(affine) };
        Ok(Part::Interposers(partitions.into_iter().map(one).collect()))
    }

    /// One bit a register, looked at and set with each access.
    fn structures(&self, config: &Config) -> Vec<Structure> {
        let table = Circuits::new(config).table;
        let shape = (config.partitions() as u32, table.registers as u32, 1);
        vec![Structure::table("tuple bits", Account::Control, shape, |report: &RunReport| {
            let (reads, writes) = (report.mrf().reads, report.mrf().writes);
            ArrayAccesses { row_reads: reads + writes, row_writes: writes, ..ArrayAccesses::default() }
        })]
    }

    /// "Functional units consume energy as much as 1 FU lane" (§VII-A).
    fn operations(&self, report: &RunReport, operations: Operations) -> Operations {
        operations.without(report.counters.get::<Counted>(COUNTERS).lanes_spared)
    }

    /// A tuple is in one bank of eight (§VII-A).
    fn revised(&self, structure: Structure) -> Structure {
        match structure.name {
            REGISTERS => Structure { accesses: bank_accesses, ..structure },
            _other => structure,
        }
    }

    fn rows(&self) -> Vec<Row> {
        let rows = [
            ("reads of tuples", Shown::Count("affine.reads")),
            ("writes of tuples", Shown::Count("affine.writes")),
            ("tuples expanded", Shown::Count("affine.expanded")),
            ("instructions for one lane", Shown::Count("affine.one_lane.sp")),
        ];
        rows.map(|(label, shown)| Row { label, shown }).to_vec()
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![
            WaveGroup {
                title: "Results",
                scope: DETECTOR,
                signals: &["value0_affine_o", "value0_base_o", "value0_stride_o"],
            },
            WaveGroup {
                title: "Tuples",
                scope: TABLE,
                signals: &[
                    "read0_valid_i",
                    "read0_register_i",
                    "read0_tuple_o",
                    "write0_valid_i",
                    "write0_register_i",
                    "write0_tuple_o",
                    "write0_expands_o",
                ],
            },
        ]
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        let register = ("tuples", "");
        vec![Occupancy { title: "Registers held as tuples", instance: TABLE, register, counts_zeros: false }]
    }
}

/// Entries of four lanes that are read and written.
fn bank_accesses(report: &RunReport) -> ArrayAccesses {
    let accesses = report.mrf();
    let Counted { reads_spared, writes_spared, expanded, expansion_writes, .. } =
        report.counters.get(COUNTERS);
    ArrayAccesses {
        slice_reads: accesses.cluster_reads + expanded - reads_spared,
        slice_writes: accesses.cluster_writes + expansion_writes - writes_spared,
        ..ArrayAccesses::default()
    }
}

/// The circuits of one partition.
struct Circuits {
    detector: AffineDetector,
    table: TupleTable,
}

impl Circuits {
    fn new(config: &Config) -> Circuits {
        let issues = config.issues_per_partition() as usize;
        let registers = config.register_file.bank_groups * config.register_file.rows;
        Circuits {
            // Results of short operations, and one of a long-latency operation.
            detector: AffineDetector { lanes: LANES, values: issues + 1 },
            table: TupleTable {
                registers: registers as usize,
                // Operands, and what a layer reads beside them.
                reads: issues * MAX_SOURCES
                    + if config.design.extra_read(config) == ExtraRead::None {
                        0
                    } else {
                        config.sm.schedulers_per_partition as usize
                    },
                writes: issues + 1,
            },
        }
    }
}
