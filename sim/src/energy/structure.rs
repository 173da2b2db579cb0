//! The arrays that a mechanism's energy is of: what they are like, what accesses them, what an access costs.
//!
//! A mechanism states [`Structure`]s; a technology prices any of them: memories from the CACTI runs of its node, flip-flops
//! from synthesised arrays ([`ArrayPrices`]) or, where a paper has published a figure for the array, with that
//! ([`Published`]).

use serde::Serialize;

use super::calibration::{ArrayPrices, FlipFlops, XorTrees};
use super::grid::{Array, Cam, GridError, Ports};
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
    /// Where the supply of its rows is gated by a mechanism that puts registers to sleep, if the design has one: the circuit
    /// whose memories they are.
    pub sleeping_rows: Option<&'static str>,
}

/// How an array is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// SRAM with these ports.
    Sram(Ports),
    /// Content-addressed, one search port.
    Cam,
    /// Flip-flops with gated clocks, of any number of ports. A search compares all rows.
    FlipFlops,
    /// No storage: a tree of exclusive ors for each bit, over half of so many inputs as there are rows. A search is an
    /// evaluation.
    XorTrees,
}

/// Where figures of an array come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Accesses: a paper's table. Leakage and area as without it.
    Published,
    /// Runs of CACTI, or interpolated between runs.
    Runs,
    /// The runs of 32 and 64 entries extended in a line to 8 and 16.
    Extrapolated,
    /// The polynomial fitted to the runs.
    Fit,
    /// Synthesised arrays of flip-flops.
    FlipFlops,
    /// Our gates, mapped.
    Gates,
    /// Accesses: in proportion to the capacity, from the full register file's. Leakage and area as without it.
    Capacity,
}

impl Source {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Published => "published",
            Source::Runs => "runs",
            Source::Extrapolated => "extrapolated",
            Source::Fit => "fit",
            Source::FlipFlops => "flip-flops",
            Source::Gates => "gates",
            Source::Capacity => "capacity",
        }
    }
}

/// Whose energy a structure's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// Values of registers, and the tags they are found by.
    Registers,
    /// What stands around them: collectors, queues, states, tables of names.
    Control,
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
    /// Of the slices read, those that go to the level behind, and not to the ALUs.
    pub slice_moves: u64,
}

/// How a mechanism gates the supply of rows that hold registers.
#[derive(Clone, Copy, Debug)]
pub struct PowerGating {
    /// How long rows were in each power state in a run.
    pub rows: fn(&RunReport) -> RowCycles,
    /// Leakage of a row that is OFF, as a part of one that is ON.
    pub off_leakage: f64,
    /// To wake a row up from SLEEP or to put it to SLEEP, pJ.
    pub sleep_transition_pj: f64,
    /// To wake a row up that is OFF or to switch it off, pJ.
    pub off_transition_pj: f64,
    /// What drives the sleep transistors; `None` if no circuit does.
    pub control: Option<RowControl>,
}

/// The circuit of a scheduler that drives the sleep transistors of its rows, and its outputs, one bit a row each.
#[derive(Clone, Copy, Debug)]
pub struct RowControl {
    /// Name of the circuit in the design.
    pub circuit: &'static str,
    /// Rows that are ON.
    pub on: &'static str,
    /// Rows in SLEEP.
    pub sleep: &'static str,
    /// Rows that are OFF.
    pub off: &'static str,
    /// Rows that are waking up, from SLEEP or OFF: they leak as rows that are ON.
    pub waking: &'static str,
}

/// Power states of rows in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCycles {
    /// Rows that were ON, summed over cycles.
    pub on: u64,
    /// Rows in SLEEP: they keep their values.
    pub sleep: u64,
    /// Rows that were OFF.
    pub off: u64,
    /// Rows that went to SLEEP or came from there.
    pub sleep_transitions: u64,
    /// Rows that were switched off, or on again.
    pub off_transitions: u64,
}

impl PowerGating {
    /// Leakage of gated arrays as a part of what they leak ungated. The state that keeps values leaks `gated` of it.
    pub fn leakage_share(&self, rows: RowCycles, gated: f64) -> f64 {
        let RowCycles { on, sleep, off, .. } = rows;
        let all = on + sleep + off;
        if all == 0 {
            return 1.0;
        }
        (on as f64 + sleep as f64 * gated + off as f64 * self.off_leakage) / all as f64
    }

    /// What rows took to change their states, pJ.
    pub fn transitions_pj(&self, rows: RowCycles) -> f64 {
        let RowCycles { sleep_transitions, off_transitions, .. } = rows;
        sleep_transitions as f64 * self.sleep_transition_pj + off_transitions as f64 * self.off_transition_pj
    }
}

/// Slices that go from level to level: by so many all levels together are read more often than instructions ask for. `above`:
/// slices read in the levels before the main register file.
pub fn moves_between_levels(above: u64, report: &RunReport) -> u64 {
    (above + report.mrf().cluster_reads).saturating_sub(report.operands.cluster_reads)
}

impl ArrayAccesses {
    /// Of warp-wide registers: slices of four lanes, those that are needed.
    pub fn of(accesses: Accesses) -> ArrayAccesses {
        let Accesses { cluster_reads, cluster_writes, .. } = accesses;
        ArrayAccesses { slice_reads: cluster_reads, slice_writes: cluster_writes, ..ArrayAccesses::default() }
    }

    /// The same, with so many slices that go to the level behind; no more than are read.
    pub fn moving(self, slices: u64) -> ArrayAccesses {
        ArrayAccesses { slice_moves: slices.min(self.slice_reads), ..self }
    }

    /// Of a queue: each row is written once and read once.
    pub fn queued(rows: u64) -> ArrayAccesses {
        ArrayAccesses { row_reads: rows, row_writes: rows, ..ArrayAccesses::default() }
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
            sleeping_rows: None,
        }
    }

    /// The same as flip-flops.
    pub fn of_flip_flops(self) -> Structure {
        Structure { cells: Cells::FlipFlops, ..self }
    }

    /// A table of one slice: arrays, rows and bits of each.
    pub fn table(
        name: &'static str,
        account: Account,
        (arrays, entries, bits): (u32, u32, u32),
        accesses: fn(&RunReport) -> ArrayAccesses,
    ) -> Structure {
        Structure {
            name,
            arrays,
            entries,
            slices: 1,
            bits,
            cells: Cells::FlipFlops,
            account,
            accesses,
            wire: Wire::None,
            published: None,
            sleeping_rows: None,
        }
    }

    /// What its arrays cost at a node, but for wires and published figures, which are the technology's to add.
    ///
    /// # Errors
    /// Arrays with such ports were not run.
    pub fn price(&self, prices: &ArrayPrices) -> Result<Part, GridError> {
        let Structure { name, arrays, entries, slices, bits, .. } = *self;
        let (all, row) = (f64::from(arrays) * f64::from(slices), f64::from(slices));
        let part = Part {
            name,
            arrays,
            entries,
            slices,
            bits,
            ports: String::new(),
            source: Source::FlipFlops,
            area_um2: 0.0,
            leakage_mw: 0.0,
            gated_mw: 0.0,
            read_pj: 0.0,
            write_pj: 0.0,
            search_pj: None,
            clock_pj: 0.0,
            wire_pj: 0.0,
            mm: 0.0,
        };
        Ok(match self.cells {
            Cells::Sram(ports) => {
                let Array { read_pj, write_pj, leakage_mw, gated_mw, area_um2, origin } =
                    prices.memory(entries, bits, ports)?;
                Part {
                    ports: ports.to_string(),
                    source: origin.into(),
                    area_um2: all * area_um2,
                    leakage_mw: all * leakage_mw,
                    gated_mw: all * gated_mw,
                    read_pj: row * read_pj,
                    write_pj: row * write_pj,
                    ..part
                }
            }
            Cells::Cam => {
                let Cam { search_pj, read_pj, write_pj, leakage_mw, area_um2 } = prices.cam(entries, bits)?;
                Part {
                    ports: "cam".to_owned(),
                    source: Source::Fit,
                    area_um2: all * area_um2,
                    leakage_mw: all * leakage_mw,
                    read_pj: row * read_pj,
                    write_pj: row * write_pj,
                    search_pj: Some(row * search_pj),
                    ..part
                }
            }
            Cells::FlipFlops => {
                let FlipFlops { read_pj, write_pj, search_pj, clock_pj, leakage_mw, area_um2 } =
                    prices.flip_flops(entries, bits)?;
                Part {
                    ports: "any".to_owned(),
                    area_um2: all * area_um2,
                    leakage_mw: all * leakage_mw,
                    read_pj: row * read_pj,
                    write_pj: row * write_pj,
                    search_pj: Some(row * search_pj),
                    clock_pj: all * clock_pj,
                    ..part
                }
            }
            Cells::XorTrees => {
                let XorTrees { search_pj, leakage_mw, area_um2 } = prices.xor_trees(entries, bits)?;
                Part {
                    ports: "none".to_owned(),
                    source: Source::Gates,
                    area_um2: all * area_um2,
                    leakage_mw: all * leakage_mw,
                    search_pj: Some(row * search_pj),
                    ..part
                }
            }
        })
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
    /// Ports as in the grid's files, `cam`, `any` of flip-flops, `none` of logic.
    pub ports: String,
    /// Where the figures come from.
    pub source: Source,
    /// All of them, µm².
    pub area_um2: f64,
    /// All of them, mW.
    pub leakage_mw: f64,
    /// The same with all rows in SLEEP, mW; 0 of what is not a memory.
    #[serde(skip)]
    pub gated_mw: f64,
    /// Read of a row over all slices, pJ.
    pub read_pj: f64,
    /// Write of a row over all slices, pJ.
    pub write_pj: f64,
    /// Search in all rows, pJ; none where none is possible.
    pub search_pj: Option<f64>,
    /// Clock that is not gated, of all of them, pJ a cycle.
    pub clock_pj: f64,
    /// Wires that a row over all slices travels, pJ.
    pub wire_pj: f64,
    /// Their length, mm.
    pub mm: f64,
}

impl Part {
    /// What accesses cost in the arrays, pJ.
    pub fn access_pj(&self, accesses: ArrayAccesses) -> f64 {
        let ArrayAccesses { slice_reads, slice_writes, row_reads, row_writes, searches, slice_moves: _ } =
            accesses;
        (slice_reads as f64 * self.read_pj + slice_writes as f64 * self.write_pj) / f64::from(self.slices)
            + row_reads as f64 * self.read_pj
            + row_writes as f64 * self.write_pj
            + searches as f64 * self.search_pj.unwrap_or(0.0)
    }

    /// What moving the accessed bits costs, pJ. What goes to the level behind travels the rest of the way there; that level's
    /// write is charged from the ALUs, so that this distance comes off twice.
    pub fn wires_pj(&self, accesses: ArrayAccesses) -> f64 {
        let ArrayAccesses { slice_reads, slice_writes, row_reads, row_writes, searches: _, slice_moves } =
            accesses;
        let slices = (slice_reads + slice_writes) as f64 - 2.0 * slice_moves as f64;
        (slices / f64::from(self.slices) + (row_reads + row_writes) as f64) * self.wire_pj
    }
}

#[cfg(test)]
mod tests;
