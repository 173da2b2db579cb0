//! `both-share`: blocks that share registers and scratchpad at once (Jatala, §6.1, future work).

mod layer;

use warpfile_hdl::rtl::count_bits;
use warpfile_hdl::sharing::ResourceAccessUnit;
use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::compile::cfg::Cfg;
use warpfile_kernels::program::Program;

use super::{
    COUNTERS, Parameters, REGISTER_BITS, RELEASE_CIRCUIT, Shared, check_alone, check_bytes,
    check_movable_rows, check_sizes, leave_order, listing_of_registers, looked_at, partner_bits, release,
    release_bits, release_circuit, rows, scratchpad_options, tables, threshold,
};
use crate::config::{Config, ConfigError, SectionInfo};
use crate::counters::{Group, Row};
use crate::energy::structure::{ArrayAccesses, Structure};
use crate::mechanisms::waves::WaveGroup;
use crate::mechanisms::{Build, Info, Mechanism, NamedCircuit, Notes, Part, Pass, Role};
use crate::sm::{RunReport, SimError};
use layer::BothSharing;

/// Name of the circuit in waveforms, recordings and Verilog.
const CIRCUIT: &str = "resource_access_unit";

pub(super) const INFO: Info = Info {
    name: "both-share",
    summary: "blocks that share registers and scratchpad in pairs with one owner for both (Jatala, §6.1)",
    design: Some((
        "both-share",
        "register and scratchpad sharing at once with relssp, OWF scheduler (Jatala, §6.1)",
    )),
    preset: "jatala-ch3",
};

/// Register and scratchpad sharing.
pub struct ShareBoth;

impl Mechanism for ShareBoth {
    fn info(&self) -> Info {
        INFO
    }

    fn role(&self) -> Role {
        Role::Layer
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
    fn has_fixed_rows(&self) -> bool {
        false
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        check_sizes(config)?;
        check_bytes(config)?;
        check_alone(config, INFO.name)?;
        check_movable_rows(config, INFO.name)
    }

    fn code(&self, config: &Config, options: CompileOptions) -> CompileOptions {
        scratchpad_options(config, options)
    }

    fn pass(&self) -> Pass {
        Pass::Notes
    }

    fn compile(
        &self,
        config: &Config,
        program: &Program,
        notes: &mut Notes,
    ) -> Result<Option<Program>, SimError> {
        leave_order(config, program, notes);
        Ok(None)
    }

    fn listing(&self, config: &Config, program: &Program, cfg: &Cfg) -> Result<Option<String>, SimError> {
        Ok(Some(listing_of_registers(config, program, cfg)))
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Shared::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![
            NamedCircuit::of_sm(config, CIRCUIT, &circuit(config))?,
            NamedCircuit::of_sm(config, RELEASE_CIRCUIT, &release_circuit(config))?,
        ])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config);
        let engine = at.circuit(&circuit, &layer::FORESEEN)?;
        let release = release::build(at)?;
        let layer = BothSharing::new(at.config, threshold(at.config), (engine, &circuit), release);
        Ok(Part::Layer(Box::new(layer.map_err(|error| SimError::circuit(at.config, error))?)))
    }

    /// Of the tables of §2.4 those that one owner for both leaves, and what is released.
    fn structures(&self, config: &Config) -> Vec<Structure> {
        let (warps, blocks) = (config.sm.warps, config.sm.blocks);
        let bits = 2 + blocks * partner_bits(blocks) + warps + blocks;
        vec![tables("resource sharing", bits, owners_and_releases), release_bits(config)]
    }

    fn rows(&self) -> Vec<Row> {
        rows()
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![WaveGroup {
            title: "Resource sharing",
            scope: CIRCUIT,
            signals: &["held_o", "owner_o", "shared_o", "scratchpad_o", "release_i", "block_ended_i"],
        }]
    }
}

/// Accesses to the tables: an owner changes, or a block has released.
fn owners_and_releases(report: &RunReport) -> ArrayAccesses {
    let shared: Shared = report.counters.get(COUNTERS);
    looked_at(report, shared.handovers + shared.releases)
}

fn circuit(config: &Config) -> ResourceAccessUnit {
    ResourceAccessUnit {
        warps: config.sm.warps as usize,
        blocks: config.sm.blocks as usize,
        register_bits: REGISTER_BITS,
        byte_bits: count_bits(config.sm.shared_memory_bytes as usize),
    }
}
