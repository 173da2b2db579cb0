//! RegLess's compiler: divides a program into regions and tells the hardware what each of them needs.
//!
//! It runs on a [`Program`] alone, so it serves PTX and traces alike, and leaves [`Regions`]. Phases: the graphs of lanes
//! and of warps ([`graph`](super::graph)); which definitions are soft ([`soft`]) and what lives where
//! ([`lifetime`](super::lifetime)); regions ([`split`]) by the lines they hold ([`usage`]); marks, preloads and
//! invalidations ([`annotate`]) with the metadata instructions that carry them ([`metadata`]); register numbers that
//! spread over the banks ([`renumber`]); text ([`listing`]). Whether the outcome is right is for [`check`] and
//! [`check_static`] to say, which know nothing of this.
//!
//! Source: Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017, §4 and §5.4.

pub mod annotate;
pub mod check;
pub mod check_static;
pub mod listing;
pub mod metadata;
pub mod regions;
pub mod renumber;
pub mod split;
pub mod statistics;
pub mod usage;

use serde::{Deserialize, Serialize};

use super::graph::{GraphError, Graphs};
use super::lifetime::Lifetimes;
use super::soft;
use crate::program::Program;

pub use regions::{BANKS, Fate, Marks, Preload, Region, RegionId, Regions, bank};

/// How regions are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// Most lines that a region may hold at once ("maximum registers per region", Algorithm 1).
    pub max_live_registers: u16,
    /// Lines of a bank of the operand staging unit ("registers in each OSU bank", Algorithm 1).
    pub bank_lines: u8,
    /// Instructions that a split leaves in the first region where it can (Algorithm 1: six).
    pub minimum_instructions: u16,
    /// Which definitions may leave lanes of a register as they were.
    pub soft_defs: SoftDefs,
    /// Renumber registers so that those of a region lie in different banks (§5.2).
    pub spread_banks: bool,
}

/// The rule that says which definitions are soft (§4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SoftDefs {
    /// Those after which lanes that did not execute may read the value they had: guarded ones, and those that
    /// lanes of the same warp wait out.
    #[default]
    Sound,
    /// Algorithm 2 as printed. It loses values where both arms of a branch define a register, where lanes leave a
    /// loop early, and under guards.
    Paper,
}

/// Lines of one scheduler's operand staging unit in the paper's main configuration: 512 an SM, four schedulers.
pub const DEFAULT_SHARD_LINES: u16 = 128;

impl Parameters {
    /// Parameters for an operand staging unit of `lines` lines: a region may hold a quarter of them.
    pub fn for_shard(lines: u16) -> Parameters {
        Parameters {
            max_live_registers: lines / 4,
            bank_lines: u8::try_from(lines / BANKS as u16).unwrap_or(u8::MAX),
            minimum_instructions: 6,
            soft_defs: SoftDefs::default(),
            spread_banks: true,
        }
    }
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters::for_shard(DEFAULT_SHARD_LINES)
    }
}

/// Why a program cannot be divided into regions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// It has no graphs.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// An instruction that alone holds more than a region may.
    #[error(
        "kernel `{kernel}`: region {} cannot be made to fit: its first instruction (pc {pc}, line {line}: `{text}`) holds {needed} \
         {what}; accepted: at most {limit} ({parameter})",
        region.0
    )]
    DoesNotFit {
        /// The kernel.
        kernel: String,
        /// The region, counted in program order.
        region: RegionId,
        /// Address of the instruction.
        pc: u32,
        /// Line of its source.
        line: u32,
        /// The instruction as printed.
        text: String,
        /// Lines that it holds.
        needed: u16,
        /// Which lines are counted.
        what: &'static str,
        /// Lines that a region may hold.
        limit: u16,
        /// The parameter that says so.
        parameter: &'static str,
    },
}

/// The program, its registers renumbered if that is asked for, and its regions as it is numbered then.
///
/// A renumbered program runs on the same stream: a stream names instructions and operands by position.
///
/// # Errors
/// The program's control flow is not known, or an instruction holds more lines than a region may.
pub fn compile(program: &Program, parameters: &Parameters) -> Result<(Program, Regions), RegionError> {
    let mut program = program.clone();
    if parameters.spread_banks {
        // The banks of the old numbers say nothing of the new ones.
        let unlimited = Parameters { bank_lines: u8::MAX, ..*parameters };
        let unbanked = regions(&program, &unlimited)?;
        renumber::spread(&mut program, &unbanked);
    }
    let regions = regions(&program, parameters)?;
    Ok((program, regions))
}

/// The regions of a program as it is numbered.
///
/// # Errors
/// As [`compile`].
pub fn regions(program: &Program, parameters: &Parameters) -> Result<Regions, RegionError> {
    if program.instructions.is_empty() {
        return Ok(Regions { regions: Vec::new(), region_of: Vec::new(), marks: Vec::new() });
    }
    let graphs = Graphs::of(program)?;
    let soft = match parameters.soft_defs {
        SoftDefs::Sound => soft::as_marked(program),
        SoftDefs::Paper => soft::algorithm_2(&graphs.lanes),
    };
    let lifetimes = Lifetimes::new(&graphs.warps, &soft);
    let ranges = split::regions(&graphs.warps, &lifetimes, parameters)
        .map_err(|too_large| too_large.describe(program, parameters))?;
    Ok(annotate::annotate(&graphs.warps, &lifetimes, ranges))
}

#[cfg(test)]
pub(crate) mod tests;
