//! What surrounds the registers of a GPU, as data: figures that the arrays of the grid do not give, each with its
//! source.

use serde::{Deserialize, Serialize};

use super::{Figure, TechnologyError};

/// Name and text of the file that comes with the program.
const OURS: (&str, &str) = ("gtx980-28nm.toml", include_str!("../../technologies/gtx980-28nm.toml"));

/// A GPU around its registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surroundings {
    /// Name.
    pub name: String,
    /// Technology node of the arrays, nm.
    pub node_nm: u32,
    /// Cycles a nanosecond.
    pub clock_ghz: Figure,
    /// Share of the registers in the baseline's energy.
    pub registers_share: Figure,
    /// Share of the rest that is spent by time, not by work.
    pub rest_by_time_share: Figure,
    /// A line of 128 bytes from or to DRAM, pJ.
    pub dram_line_pj: Figure,
    /// Energy of moving a bit by one millimetre, pJ.
    pub wire_pj_per_mm_per_bit: Figure,
    /// From an SM to the L2, mm.
    pub l2_distance_mm: Figure,
    /// Rows of an array of the L2.
    pub l2_rows: Figure,
    /// Bits of tag and state of a cache line.
    pub tag_bits: Figure,
    /// Words of 64 bits of an SM's instruction cache.
    pub instruction_cache_words: Figure,
}

impl Surroundings {
    /// Name of the technology of a GTX 980, 28 nm.
    pub const GTX980: &'static str = "gtx980-28nm";

    /// A GTX 980, 28 nm.
    pub fn gtx980() -> Result<Surroundings, TechnologyError> {
        let (origin, text) = OURS;
        toml::from_str(text).map_err(|error| TechnologyError::Malformed {
            origin: origin.to_owned(),
            message: error.to_string().trim().to_owned(),
        })
    }
}
