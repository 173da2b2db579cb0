//! The arrays that a mechanism's energy is of: what they are like, what accesses them, what an access costs.
//!
//! A mechanism states [`Structure`]s; a technology prices any of them, from the CACTI runs of its node or, where a paper
//! has published a figure for the array, with that ([`Published`]).

use serde::Serialize;

use super::grid::{Array, Cam, Grid, GridError, Origin, Ports};
use crate::sm::{Accesses, RunReport, TableAccesses};

/// Bits of a slice of a wide word: four lanes.
pub const SLICE_BITS: u32 = 128;
/// Bits of a register of a warp.
pub const REGISTER_BITS: u32 = 1024;

/// Arrays of one kind in an SM, and what accesses them.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// What they hold, as it is printed.
    pub name: &'static str,
    /// Arrays of an SM, each of `slices` slices.
    pub arrays: u32,
    /// Rows of each.
    pub entries: u32,
    /// Slices side by side.
    pub slices: u32,
    /// Bits of each slice's rows.
    pub bits: u32,
    /// How they are made.
    pub cells: Cells,
    /// Whose energy it is.
    pub account: Account,
    /// How often they are accessed in a run.
    pub accesses: fn(&RunReport) -> ArrayAccesses,
    /// Where the accessed bits go.
    pub wire: Wire,
    /// Whose published figure it takes where there is one.
    pub published: Option<Published>,
}

/// How an array is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// SRAM with these ports.
    Sram(Ports),
    /// Content-addressed, one search port.
    Cam,
}

/// Whose energy a structure's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The registers'.
    Registers,
    /// The metadata's.
    Metadata,
}

/// Where the accessed bits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Nowhere.
    None,
    /// From the main register file to the ALUs, or back.
    FromMainRegisterFile,
    /// From a level before it to the ALUs, or back.
    FromUpperLevel,
}

/// An array of which a paper may have published a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// A bank of the main register file.
    MainRegisterFile,
    /// A register file cache.
    RegisterFileCache,
}

/// Accesses to arrays in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayAccesses {
    /// Reads of a slice.
    pub slice_reads: u64,
    /// Writes of a slice.
    pub slice_writes: u64,
    /// Reads of a row over all slices.
    pub row_reads: u64,
    /// Writes of a row over all slices.
    pub row_writes: u64,
    /// Searches in all rows.
    pub searches: u64,
}

impl ArrayAccesses {
    /// Of warp-wide registers: slices of four lanes, those that are needed.
    pub fn of(accesses: Accesses) -> ArrayAccesses {
        let Accesses { cluster_reads, cluster_writes, .. } = accesses;
        ArrayAccesses { slice_reads: cluster_reads, slice_writes: cluster_writes, ..ArrayAccesses::default() }
    }

    /// Of a table whose rows are accessed as a whole.
    pub fn of_table(accesses: TableAccesses) -> ArrayAccesses {
        let TableAccesses { reads, writes, searches } = accesses;
        ArrayAccesses { row_reads: reads, row_writes: writes, searches, ..ArrayAccesses::default() }
    }
}

impl Structure {
    /// Arrays of warp-wide registers.
    pub fn of_warp_registers(
        name: &'static str,
        arrays: u32,
        entries: u32,
        ports: Ports,
        accesses: fn(&RunReport) -> ArrayAccesses,
    ) -> Structure {
        Structure {
            name,
            arrays,
            entries,
            slices: REGISTER_BITS / SLICE_BITS,
            bits: SLICE_BITS,
            cells: Cells::Sram(ports),
            account: Account::Registers,
            accesses,
            wire: Wire::None,
            published: None,
        }
    }

    /// What its arrays cost at a node.
    ///
    /// # Errors
    /// Arrays with such ports were not run.
    pub fn price(&self, grid: &Grid) -> Result<Part, GridError> {
        let all = f64::from(self.arrays) * f64::from(self.slices);
        let slices = f64::from(self.slices);
        Ok(match self.cells {
            Cells::Sram(ports) => {
                let Array { read_pj, write_pj, leakage_mw, area_um2, origin } =
                    grid.array(self.entries, self.bits, ports)?;
                Part {
                    area_um2: all * area_um2,
                    leakage_mw: all * leakage_mw,
                    read_pj: slices * read_pj,
                    write_pj: slices * write_pj,
                    search_pj: None,
                    ..self.unpriced(ports.to_string(), origin)
                }
            }
            Cells::Cam => {
                let Cam { search_pj, read_pj, write_pj, leakage_mw, area_um2 } =
                    grid.cam(self.entries, self.bits)?;
                Part {
                    area_um2: all * area_um2,
                    leakage_mw: all * leakage_mw,
                    read_pj,
                    write_pj,
                    search_pj: Some(search_pj),
                    ..self.unpriced("cam".to_owned(), Origin::Fit)
                }
            }
        })
    }

    fn unpriced(&self, ports: String, origin: Origin) -> Part {
        let Structure { name, arrays, entries, slices, bits, .. } = *self;
        let (area_um2, leakage_mw, read_pj, write_pj, search_pj) = (0.0, 0.0, 0.0, 0.0, None);
        Part {
            name,
            arrays,
            entries,
            slices,
            bits,
            ports,
            origin,
            area_um2,
            leakage_mw,
            read_pj,
            write_pj,
            search_pj,
        }
    }
}

/// Arrays of one kind, priced.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What they hold.
    pub name: &'static str,
    /// Arrays of an SM, each of `slices` slices.
    pub arrays: u32,
    /// Rows of each.
    pub entries: u32,
    /// Slices side by side.
    pub slices: u32,
    /// Bits of each slice's rows.
    pub bits: u32,
    /// Ports as in the grid's files, or `cam`.
    pub ports: String,
    /// Where the figures come from.
    pub origin: Origin,
    /// All of them, µm².
    pub area_um2: f64,
    /// All of them, mW.
    pub leakage_mw: f64,
    /// Read of a row over all slices, pJ.
    pub read_pj: f64,
    /// Write of a row over all slices, pJ.
    pub write_pj: f64,
    /// Search in all rows, pJ.
    pub search_pj: Option<f64>,
}

impl Part {
    /// What accesses cost, pJ.
    pub fn access_pj(&self, accesses: ArrayAccesses) -> f64 {
        let ArrayAccesses { slice_reads, slice_writes, row_reads, row_writes, searches } = accesses;
        (slice_reads as f64 * self.read_pj + slice_writes as f64 * self.write_pj) / f64::from(self.slices)
            + row_reads as f64 * self.read_pj
            + row_writes as f64 * self.write_pj
            + searches as f64 * self.search_pj.unwrap_or(0.0)
    }
}
