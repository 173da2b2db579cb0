//! Warp-level divergence: a further block runs with as many of its warps as there are registers for, and gets those that other
//! blocks' warps leave behind when they end.
//!
//! Source: Xiang, Yang, Zhou, "Warp-Level Divergence in GPUs: Characterization, Impact, and Mitigation", HPCA 2014, as described in
//! Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §2.5.1.9 and chapter 5.

mod layer;

use warpfile_hdl::rtl::index_bits;
use warpfile_hdl::warp_level_divergence::RegisterSlots;

use super::waves::WaveGroup;
use super::{Build, Info, Mechanism, NamedCircuit, Part, RegisterRows, Role};
use crate::config::{Config, ConfigError, conflict};
use crate::counters;
use crate::counters::{Group, Row, Shown};
use crate::energy::structure::{Account, ArrayAccesses, Structure};
use crate::sm::{RunReport, SimError};
use layer::WarpLevelDivergence;

/// Name of the group of counters.
pub const COUNTERS: &str = "register_slots";
/// Name of the circuit in waveforms, recordings and Verilog.
const CIRCUIT: &str = "register_slots";

counters! {
    /// What came of blocks that run with a part of their warps.
    pub struct Placed {
        /// Warps that got registers.
        warps: sum("warps"),
        /// Warps without registers, summed over cycles.
        waits: sum("warp cycles"),
    }
}

const INFO: Info = Info {
    name: "warp-level-divergence",
    summary: "a further block with as many warps as there are registers for (Xiang et al., HPCA 2014)",
    design: Some((
        "warp-level-divergence",
        "a further block with as many warps as there are registers for, LRR (Xiang et al., HPCA 2014)",
    )),
    preset: "jatala-ch2",
};

/// Warp-level divergence.
pub struct Divergence;

impl Mechanism for Divergence {
    fn info(&self) -> Info {
        INFO
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn admits_more_blocks(&self) -> bool {
        true
    }

    /// A warp gets its rows after it has started.
    fn register_rows(&self, _config: &Config) -> RegisterRows {
        RegisterRows::Chosen
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let others = || config.design.mechanisms().filter(|other| other.info().name != INFO.name);
        let refuse = |other: &str, why: &str| {
            let nearest = INFO.name;
            Err(conflict("design", &config.design, format!("{other} {why}; nearest: {nearest}")))
        };
        if let Some(other) = others().find(|other| other.admits_more_blocks()) {
            return refuse(other.info().name, "has a say of its own in how many blocks there are");
        }
        if let Some(other) = others().find(|other| other.power_gating(config).is_some()) {
            return refuse(other.info().name, "takes a row to be one warp's for as long as it is there");
        }
        let is_storage = |other: &&'static dyn Mechanism| matches!(other.role(), Role::Storage { .. });
        match others()
            .filter(is_storage)
            .find(|storage| storage.register_rows(config) != RegisterRows::Movable)
        {
            Some(storage) => {
                refuse(storage.info().name, "does not follow registers that get their rows later")
            }
            None => Ok(()),
        }
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Placed::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, CIRCUIT, &circuit(config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config);
        let partitions = at.of_partitions(&circuit, &[], |engine| layer::Partition::new(engine, &circuit))?;
        Ok(Part::Layer(Box::new(WarpLevelDivergence::new(partitions))))
    }

    /// Of each scheduler the slot of each warp, and the warps that wait.
    fn structures(&self, config: &Config) -> Vec<Structure> {
        let warps = config.warps_per_partition();
        let bits = 2 + 2 * index_bits(warps as usize) as u32;
        let shape = (config.partitions() as u32, warps as u32, bits);
        vec![Structure::table("register slots", Account::Control, shape, |report: &RunReport| {
            let placed: Placed = report.counters.get(COUNTERS);
            let [row_writes, row_reads] = [2 * placed.warps, placed.warps];
            ArrayAccesses { row_writes, row_reads, ..ArrayAccesses::default() }
        })]
    }

    fn rows(&self) -> Vec<Row> {
        let rows = [
            ("warps given registers", Shown::Count("register_slots.warps")),
            ("waits for registers", Shown::Count("register_slots.waits")),
        ];
        rows.map(|(label, shown)| Row { label, shown }).to_vec()
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![WaveGroup {
            title: "Register slots",
            scope: CIRCUIT,
            signals: &[
                "waiting_o",
                "arrive_valid_i",
                "placed_valid_o",
                "placed_warp_o",
                "placed_slot_o",
                "ended_i",
            ],
        }]
    }
}

fn circuit(config: &Config) -> RegisterSlots {
    RegisterSlots { warps: config.warps_per_partition() as usize }
}
