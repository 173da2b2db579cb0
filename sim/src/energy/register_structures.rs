//! Area, leakage and energy per access of what holds an SM's registers: a register file, one with a hierarchy before it,
//! or RegLess's staging unit with its tags and its compressor.
//!
//! Every part is an array of the CACTI grid; words of 1024 bits are eight slices of 128 bits side by side. What is
//! an array and what is not modelled (logic, flip-flops, wires): decision 33. Sections and tables are those of
//! Kloosterman et al., "RegLess", MICRO 2017.

use serde::Serialize;
use warpfile_hdl::regless::{BASES_BITS, PATTERN_BITS, ShardGeometry};

use super::grid::{Array, Cam, Grid, GridError, Origin, Ports};

/// Shards of an SM, one for each scheduler (§5).
pub const SHARDS: u32 = 4;
/// Compressed registers in a line (§5.3).
const SLOTS: u32 = 15;
/// Bits of a slice of a wide word.
const SLICE_BITS: u32 = 128;
/// Bits of a register of a warp.
const REGISTER_BITS: u32 = 1024;

/// What holds an SM's registers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegisterStructure {
    /// Warp-wide registers it holds, in an SM.
    pub lines: u32,
    /// Its arrays.
    pub parts: Vec<Part>,
    /// A source operand of 1024 bits, pJ.
    pub read_pj: f64,
    /// A result of 1024 bits, pJ.
    pub write_pj: f64,
}

/// What an array of a register structure holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Values of registers.
    Registers,
    /// Which warp's which register a line holds.
    Tags,
    /// Registers that memory has a copy of.
    Copies,
    /// Compressed registers.
    CompressedLines,
    /// Numbers of the lines of compressed registers.
    CompressedTags,
    /// Which registers are compressed.
    CompressedRegisters,
    /// Values in the last result files of a register file hierarchy.
    LastResults,
    /// Values in its operand register files.
    Operands,
}

impl PartKind {
    /// As it is printed.
    fn as_str(self) -> &'static str {
        match self {
            PartKind::Registers => "registers",
            PartKind::Tags => "tags",
            PartKind::Copies => "copies in memory",
            PartKind::CompressedLines => "compressed lines",
            PartKind::CompressedTags => "tags of compressed lines",
            PartKind::CompressedRegisters => "compressed registers",
            PartKind::LastResults => "last result files",
            PartKind::Operands => "operand register files",
        }
    }
}

/// Arrays of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What it holds.
    #[serde(skip)]
    pub kind: PartKind,
    /// The same as it is printed.
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

/// Accesses of an SM in a cycle, and how long that is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessRate {
    /// Source operands of 1024 bits a cycle.
    pub reads_per_cycle: f64,
    /// Results of 1024 bits a cycle.
    pub writes_per_cycle: f64,
    /// Cycles a nanosecond.
    pub clock_ghz: f64,
}

/// Why there is no such structure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// The banks would differ in size, or be too small.
    #[error("{lines} lines an SM; accepted is a multiple of {banks} (4 shards of 8 banks) from {banks} on")]
    Lines {
        /// As asked for.
        lines: u32,
        /// Banks of an SM.
        banks: u32,
    },
    /// The grid has no figure.
    #[error(transparent)]
    Grid(#[from] GridError),
}

/// A register file of `lines` registers in as many banks as RegLess has (preset `gtx980-regless`), which have `ports`.
pub fn register_file(grid: &Grid, lines: u32, ports: Ports) -> Result<RegisterStructure, StructureError> {
    let data = data(grid, lines, ports)?;
    let (read_pj, write_pj) = (data.read_pj, data.write_pj);
    Ok(RegisterStructure { lines, parts: vec![data], read_pj, write_pj })
}

/// The levels before a register file that a compiler fills: a last result file and an operand register file a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Schedulers of an SM.
    pub schedulers: u32,
    /// Warps of a scheduler that have entries.
    pub slots: u32,
    /// Entries of a warp in the operand register file; in the last result file it has one.
    pub orf_entries: u32,
    /// Ports of both.
    pub ports: Ports,
}

/// A register file of `lines` registers whose banks have `ports`, behind `hierarchy`. A source and a result are those of
/// the register file.
pub fn register_file_hierarchy(
    grid: &Grid,
    lines: u32,
    ports: Ports,
    hierarchy: Hierarchy,
) -> Result<RegisterStructure, StructureError> {
    let mut structure = register_file(grid, lines, ports)?;
    let level = |kind, entries| {
        let slices = REGISTER_BITS / SLICE_BITS;
        let shape = Shape { arrays: hierarchy.schedulers, entries, slices, bits: SLICE_BITS };
        shape.array(kind, grid, hierarchy.ports)
    };
    structure.parts.push(level(PartKind::LastResults, hierarchy.slots)?);
    structure.parts.push(level(PartKind::Operands, hierarchy.slots * hierarchy.orf_entries)?);
    Ok(structure)
}

/// RegLess's structures with `lines` lines of operands and `compressor_lines` compressed lines a shard; without
/// compressor if 0.
///
/// A source searches the tags and reads a line. A result searches the tags when its line is reserved, writes a tag and
/// the line: as if no result found a line of its register.
pub fn staging_unit(
    grid: &Grid,
    lines: u32,
    compressor_lines: u32,
) -> Result<RegisterStructure, StructureError> {
    let geometry = ShardGeometry::GTX980;
    // Each bank reads or writes once a cycle (§5.2).
    let data = data(grid, lines, Ports::SINGLE)?;
    let tags = tags(grid, geometry, data.entries)?;
    let lookup_pj = tags.search_pj.unwrap_or(0.0);
    let (read_pj, write_pj) = (lookup_pj + data.read_pj, lookup_pj + tags.write_pj + data.write_pj);
    let mut parts = vec![data, tags, copies(grid, geometry)?];
    if compressor_lines > 0 {
        parts.extend(compressor(grid, geometry, compressor_lines)?);
    }
    Ok(RegisterStructure { lines, parts, read_pj, write_pj })
}

impl RegisterStructure {
    /// Area of all arrays, µm².
    pub fn area_um2(&self) -> f64 {
        self.parts.iter().map(|part| part.area_um2).sum()
    }

    /// Leakage of all arrays, mW.
    pub fn leakage_mw(&self) -> f64 {
        self.parts.iter().map(|part| part.leakage_mw).sum()
    }

    /// Leakage, and the energy of the accesses, mW. Accesses of the compressor are not in it.
    pub fn power_mw(&self, rate: AccessRate) -> f64 {
        let pj_per_cycle = rate.reads_per_cycle * self.read_pj + rate.writes_per_cycle * self.write_pj;
        self.leakage_mw() + pj_per_cycle * rate.clock_ghz
    }
}

fn banks() -> u32 {
    SHARDS * ShardGeometry::GTX980.banks as u32
}

/// The registers' values.
fn data(grid: &Grid, lines: u32, ports: Ports) -> Result<Part, StructureError> {
    let banks = banks();
    if lines == 0 || !lines.is_multiple_of(banks) {
        return Err(StructureError::Lines { lines, banks });
    }
    let slices = REGISTER_BITS / SLICE_BITS;
    let shape = Shape { arrays: banks, entries: lines / banks, slices, bits: SLICE_BITS };
    Ok(shape.array(PartKind::Registers, grid, ports)?)
}

/// Which warp's which register is in a line of the staging unit: searched, so a CAM (Fig. 10).
fn tags(grid: &Grid, geometry: ShardGeometry, entries: u32) -> Result<Part, GridError> {
    let bits = (geometry.warp_bits() + geometry.register_bits) as u32;
    Shape { arrays: banks(), entries, slices: 1, bits }.cam(PartKind::Tags, grid)
}

/// For each register of a bank, whether memory has a copy: a row a warp, so that its exit clears a row (decision 24).
fn copies(grid: &Grid, geometry: ShardGeometry) -> Result<Part, GridError> {
    let bits = (1 << geometry.register_bits) / geometry.banks as u32;
    let shape = Shape { arrays: banks(), entries: geometry.warps as u32, slices: 1, bits };
    shape.array(PartKind::Copies, grid, Ports::DUAL)
}

/// The compressor's lines, their tags, and one bit a register: it is compressed (§5.3). Each shard has one.
fn compressor(grid: &Grid, geometry: ShardGeometry, lines: u32) -> Result<[Part; 3], GridError> {
    let registers = geometry.warps as u32 * (1 << geometry.register_bits);
    let numbers = registers.div_ceil(SLOTS);
    let number_bits = u32::BITS - (numbers - 1).leading_zeros();
    let line_bits = SLOTS * (BASES_BITS + PATTERN_BITS) as u32;
    let of_shard = |entries, slices, bits| Shape { arrays: SHARDS, entries, slices, bits };

    let values = of_shard(lines, line_bits.div_ceil(SLICE_BITS), SLICE_BITS);
    let tags = of_shard(lines, 1, number_bits);
    let presence = (1 << geometry.register_bits) / SLICE_BITS;
    let presence = of_shard(geometry.warps as u32, presence, SLICE_BITS);
    Ok([
        // One read or write a cycle (Table 1).
        values.array(PartKind::CompressedLines, grid, Ports::SINGLE)?,
        tags.cam(PartKind::CompressedTags, grid)?,
        presence.array(PartKind::CompressedRegisters, grid, Ports::DUAL)?,
    ])
}

/// How many arrays of what size.
struct Shape {
    arrays: u32,
    entries: u32,
    slices: u32,
    bits: u32,
}

impl Shape {
    fn array(self, kind: PartKind, grid: &Grid, ports: Ports) -> Result<Part, GridError> {
        let Array { read_pj, write_pj, leakage_mw, area_um2, origin } =
            grid.array(self.entries, self.bits, ports)?;
        let slices = f64::from(self.slices);
        let all = f64::from(self.arrays) * slices;
        Ok(Part {
            kind,
            name: kind.as_str(),
            arrays: self.arrays,
            entries: self.entries,
            slices: self.slices,
            bits: self.bits,
            ports: ports.to_string(),
            origin,
            area_um2: all * area_um2,
            leakage_mw: all * leakage_mw,
            read_pj: slices * read_pj,
            write_pj: slices * write_pj,
            search_pj: None,
        })
    }

    fn cam(self, kind: PartKind, grid: &Grid) -> Result<Part, GridError> {
        let Cam { search_pj, read_pj, write_pj, leakage_mw, area_um2 } = grid.cam(self.entries, self.bits)?;
        let all = f64::from(self.arrays);
        Ok(Part {
            kind,
            name: kind.as_str(),
            arrays: self.arrays,
            entries: self.entries,
            slices: self.slices,
            bits: self.bits,
            ports: "cam".to_owned(),
            origin: Origin::Fit,
            area_um2: all * area_um2,
            leakage_mw: all * leakage_mw,
            read_pj,
            write_pj,
            search_pj: Some(search_pj),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Capacities of Figs. 11 and 12.
    const CAPACITIES: [u32; 7] = [128, 192, 256, 384, 512, 1024, 2048];

    fn grid() -> Grid {
        Grid::at(28).expect("complete")
    }

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 1e-9
    }

    /// cacti_sram.csv, 28 nm, 64 entries of 128 bits, 1rw and 1r1w: 32 banks of eight slices.
    #[test]
    fn a_register_file_is_its_banks_slices() {
        let single = register_file(&grid(), 2048, Ports::SINGLE).expect("even banks");
        assert!(near(single.area_um2(), 256.0 * 2065.44));
        assert!(near(single.leakage_mw(), 256.0 * 0.330263));
        assert!(near(single.read_pj, 8.0 * 1.1087));
        assert!(near(single.write_pj, 8.0 * 1.6941));
        let dual = register_file(&grid(), 2048, Ports::DUAL).expect("even banks");
        assert!(near(dual.area_um2(), 256.0 * 4726.32));
    }

    #[test]
    fn a_staging_unit_of_the_same_capacity_costs_its_tags_and_its_compressor_more() {
        let file = register_file(&grid(), 2048, Ports::SINGLE).expect("even banks");
        let staging = staging_unit(&grid(), 2048, 12).expect("even banks");
        let names: Vec<&str> = staging.parts.iter().map(|part| part.name).collect();
        let added = ["tags", "copies in memory", "compressed lines", "tags of compressed lines"];
        assert_eq!(names, [&["registers"], &added[..], &["compressed registers"]].concat());
        let more: f64 = staging.parts[1..].iter().map(|part| part.area_um2).sum();
        assert!(near(staging.area_um2(), file.area_um2() + more));
        let tags = &staging.parts[1];
        let search_pj = tags.search_pj.expect("searched");
        assert!(near(staging.read_pj, file.read_pj + search_pj));
        assert!(near(staging.write_pj, file.write_pj + search_pj + tags.write_pj));
        let without = staging_unit(&grid(), 2048, 0).expect("even banks");
        assert_eq!(without.parts, staging.parts[..3]);
    }

    /// 12-bit tags (16 warps, 256 registers), 32 registers a warp and bank, 273.07 lines of 15 registers, of 1005 bits.
    #[test]
    fn widths_follow_from_the_shards_geometry() {
        let staging = staging_unit(&grid(), 512, 12).expect("even banks");
        let shapes: Vec<[u32; 4]> =
            staging.parts.iter().map(|part| [part.arrays, part.entries, part.slices, part.bits]).collect();
        let expected = [
            [32, 16, 8, 128],
            [32, 16, 1, 12],
            [32, 16, 1, 32],
            [4, 12, 8, 128],
            [4, 12, 1, 9],
            [4, 16, 2, 128],
        ];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn area_leakage_and_energy_grow_with_the_capacity() {
        let structures = CAPACITIES.map(|lines| staging_unit(&grid(), lines, 12).expect("even banks"));
        for pair in structures.windows(2) {
            assert!(pair[0].area_um2() < pair[1].area_um2(), "{}", pair[1].lines);
            assert!(pair[0].leakage_mw() < pair[1].leakage_mw(), "{}", pair[1].lines);
            assert!(pair[0].read_pj < pair[1].read_pj, "{}", pair[1].lines);
            assert!(pair[0].write_pj < pair[1].write_pj, "{}", pair[1].lines);
        }
    }

    #[test]
    fn power_is_leakage_and_the_accesses_of_a_second() {
        let file = register_file(&grid(), 2048, Ports::SINGLE).expect("even banks");
        let rate = AccessRate { reads_per_cycle: 2.0, writes_per_cycle: 1.0, clock_ghz: 1.5 };
        let pj = 2.0 * 8.0 * 1.1087 + 8.0 * 1.6941;
        assert!(near(file.power_mw(rate), 256.0 * 0.330263 + 1.5 * pj));
    }

    #[test]
    fn lines_that_do_not_fill_the_banks_evenly_are_refused() {
        for lines in [0, 500] {
            let error = staging_unit(&grid(), lines, 12).expect_err("uneven").to_string();
            let accepted = "accepted is a multiple of 32 (4 shards of 8 banks) from 32 on";
            assert_eq!(error, format!("{lines} lines an SM; {accepted}"));
        }
    }
}
