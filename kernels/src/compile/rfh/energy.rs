//! What an access costs, for the choice between levels: only ratios matter.
//!
//! Energy of a 128-bit access and of its wires over the level's distance from the ALUs. Accesses and wires are those of
//! Gebhart et al., ISCA 2011, Tables 2 and 3: an operand register file of three entries for eight warps is as large
//! as a cache of six entries for four; the last result file is half as large as the smallest cache there and counts as
//! that. Distances are those of ISCA 2011, §5.4, and a quarter of the cache's for the last result file, which lies
//! beside the ALUs.

/// Energy of a read and a write, pJ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessEnergy {
    /// A read.
    pub read: f64,
    /// A write.
    pub write: f64,
}

/// Wires of a 128-bit access, pJ a mm (Table 3: 1.9 for 32 bits).
const WIRES_PJ_PER_MM: f64 = 4.0 * 1.9;

impl AccessEnergy {
    /// The main register file.
    pub const MRF: AccessEnergy = AccessEnergy::new(8.0, 11.0, 1.0);
    /// The operand register file.
    pub const ORF: AccessEnergy = AccessEnergy::new(1.2, 4.4, 0.2);
    /// The last result file.
    pub const LRF: AccessEnergy = AccessEnergy::new(1.2, 3.8, 0.05);

    const fn new(read_pj: f64, write_pj: f64, mm: f64) -> AccessEnergy {
        let wires = WIRES_PJ_PER_MM * mm;
        AccessEnergy { read: read_pj + wires, write: write_pj + wires }
    }
}
