//! RegLess's arrays: of a configuration, and by capacity for Figs. 11 and 12.
//!
//! Each shard has eight banks of values with their tags and with the bits that say which registers memory has a copy of,
//! and a compressor. Around them stand the queues of the banks, the read units of the execution units, the capacity manager
//! and the metadata store. Source: Kloosterman et al., "RegLess", MICRO 2017, §5.2, §5.3, Fig. 10; decisions 33 and 103.
//! Bits of control are flip-flops as they are mapped (docs/area.md).

use serde::Serialize;
use warpfile_hdl::regless::{BASES_BITS, Pattern, ShardGeometry, StagingBank};
use warpfile_hdl::rtl::Circuit as _;

use super::{Parameters, bank_lines, staging};
use crate::config::Config;
use crate::energy::ArrayPrices;
use crate::energy::grid::{GridError, Ports};
use crate::energy::structure::{Account, ArrayAccesses, Part, SLICE_BITS, Structure, Wire};
use crate::mechanisms::register_file::buffered;
use crate::sm::design::Unit;
use crate::sm::{RunReport, TableAccesses};

/// Shards of an SM, one for each scheduler (§5).
pub const SHARDS: u32 = 4;
/// Compressed registers in a line (§5.3).
const SLOTS: u32 = 15;
/// Bits of a word of metadata as decoded: 9,504 flip-flops for 16 warps of 16 words.
const METADATA_BITS: u32 = 37;
/// Bits of an access that waits for a bank: source or result, warp, register, fate, lanes, whether a write comes, whose.
const QUEUED_BITS: u32 = 1 + 4 + 8 + 2 + 32 + 1 + 6;
/// Bits of a line's state: its list, whether memory has its value, whether it was written, the turn of the search.
const LINE_STATE_BITS: u32 = 7;
/// Bits of a request to memory beside the register's: kind, warp, register, line.
const REQUEST_BITS: u32 = 22;
/// Bits of an instruction in a read unit beside its operands: 12,591 flip-flops less 4 × 3 × 1024 in four entries.
const READ_STATE_BITS: u32 = 76;
/// Sources of an instruction.
const SOURCES: u32 = 3;
/// Bits of the capacity manager for a warp: 12,389 flip-flops less those of the metadata store, for 16 warps.
const MANAGER_BITS: u32 = 180;
/// Bits of an instruction in the access distributor: 244 flip-flops for two.
const DISTRIBUTED_BITS: u32 = 122;

/// The arrays of a configuration.
pub(super) fn of(config: &Config) -> Vec<Structure> {
    let parameters = config.of::<Parameters>();
    let shards = config.partitions() as u32;
    let geometry = ShardGeometry {
        warps: config.warps_per_partition() as usize,
        lines: bank_lines(config),
        ..ShardGeometry::GTX980
    };
    let mut structures = shard_arrays(shards, geometry, parameters.compressor_lines as u32 / shards);
    structures.extend(control_arrays(shards, geometry, &parameters));
    // A queue for each warp; each word is written once and read once.
    structures.push(Structure::table(
        "metadata stores",
        Account::Metadata,
        (shards * geometry.warps as u32, parameters.metadata_words as u32, METADATA_BITS),
        |report| ArrayAccesses::queued(report.metadata_instructions),
    ));
    structures
}

/// What stands around the banks of so many shards.
fn control_arrays(shards: u32, geometry: ShardGeometry, parameters: &Parameters) -> Vec<Structure> {
    let (banks, warps) = (shards * geometry.banks as u32, geometry.warps as u32);
    let (queue, entries) = (parameters.queue as u32, parameters.read_entries as u32);
    let table = |name, size, accesses| Structure::table(name, Account::Control, size, accesses);
    let units = shards * Unit::COUNT as u32;
    let operands = Structure::of_warp_registers(
        "register read units",
        units * SOURCES,
        entries,
        Ports::DUAL,
        |report| buffered(report.operands.cluster_reads),
    );
    // The value of an evicted line waits in its bank, then at the shard's port.
    let requests =
        Structure::of_warp_registers("requests to memory", banks + 2 * shards, 1, Ports::DUAL, |report| {
            buffered(2 * SLICES * (report.memory.register_lines.writes + staging(report).preloads.fetched))
        });
    vec![
        Structure { account: Account::Control, ..operands.of_flip_flops() },
        table("state of register read units", (units, entries, READ_STATE_BITS), |report| {
            ArrayAccesses::queued(report.warp_instructions)
        }),
        table("access queues", (banks, queue, QUEUED_BITS), |report| {
            ArrayAccesses::queued(report.operands.reads + report.operands.writes)
        }),
        table("access distributors", (shards, 2, DISTRIBUTED_BITS), |report| {
            ArrayAccesses::queued(report.warp_instructions)
        }),
        table("states of lines", (banks, geometry.lines as u32, LINE_STATE_BITS), |report| {
            let TableAccesses { reads, writes, searches } = staging(report).tags;
            ArrayAccesses { row_reads: searches, row_writes: reads + writes + searches, ..Default::default() }
        }),
        Structure { account: Account::Control, ..requests.of_flip_flops() },
        table("requests to memory: which", (banks, 1, REQUEST_BITS), |report| {
            let lines = &report.memory.register_lines;
            ArrayAccesses::queued(lines.writes + lines.invalidations + staging(report).preloads.fetched)
        }),
        table("capacity managers", (shards, warps, MANAGER_BITS), |report| {
            ArrayAccesses::queued(2 * staging(report).regions + report.metadata_instructions)
        }),
    ]
}

/// Slices of a register.
const SLICES: u64 = 8;

/// The arrays of so many shards with `compressor_lines` compressed lines each; without compressor if 0.
fn shard_arrays(shards: u32, geometry: ShardGeometry, compressor_lines: u32) -> Vec<Structure> {
    let banks = shards * geometry.banks as u32;
    let warps = geometry.warps as u32;
    let registers = 1 << geometry.register_bits;
    let table = |name, size, accesses| Structure::table(name, Account::Registers, size, accesses);
    // Each bank reads or writes once a cycle (§5.2), and so does its circuit.
    let values = Structure {
        wire: Wire::FromUpperLevel,
        sleeping_rows: Some(StagingBank::NAME),
        ..Structure::of_warp_registers("registers", banks, geometry.lines as u32, Ports::SINGLE, |report| {
            ArrayAccesses::of(staging(report).values)
        })
    };
    let tag_bits = (geometry.warp_bits() + geometry.register_bits) as u32;
    // Which warp's which register is in a line: searched (Fig. 10).
    let tags = table("tags", (banks, geometry.lines as u32, tag_bits), |report| {
        ArrayAccesses::of_table(staging(report).tags)
    });
    // For each register of a bank, whether memory has a copy: a row a warp, so that its exit clears a row (decision 24).
    let copies = table("copies in memory", (banks, warps, registers / geometry.banks as u32), |report| {
        ArrayAccesses::of_table(copies(report))
    });
    let mut structures = vec![values, tags, copies];
    if compressor_lines > 0 {
        structures.extend(compressor_arrays(shards, warps, registers, compressor_lines));
    }
    structures
}

/// The compressor's lines, their tags, and one bit a register: it is compressed (§5.3). Each shard has one.
fn compressor_arrays(shards: u32, warps: u32, registers: u32, lines: u32) -> [Structure; 3] {
    let table = |name, size, accesses| Structure::table(name, Account::Registers, size, accesses);
    let numbers = (warps * registers).div_ceil(SLOTS);
    let number_bits = u32::BITS - (numbers - 1).leading_zeros();
    let line_slices = (SLOTS * (BASES_BITS + Pattern::BITS) as u32).div_ceil(SLICE_BITS);
    // One read or write of a line a cycle (Table 1).
    let values = Structure {
        slices: line_slices,
        ..table("compressed lines", (shards, lines, SLICE_BITS), |report| {
            ArrayAccesses::of_table(staging(report).compressed_lines)
        })
    };
    let tags = table("tags of compressed lines", (shards, lines, number_bits), |report| {
        ArrayAccesses::of_table(staging(report).compressed_tags)
    });
    let presence = Structure {
        slices: registers / SLICE_BITS,
        ..table("compressed registers", (shards, warps, SLICE_BITS), |report| {
            ArrayAccesses::of_table(staging(report).compressed_registers)
        })
    };
    [values, tags, presence]
}

/// Accesses to the bits that say of which registers memory has a copy: read by each preload, written when memory gets
/// or loses a copy.
fn copies(report: &RunReport) -> TableAccesses {
    let (staging, lines) = (staging(report), &report.memory.register_lines);
    TableAccesses {
        reads: staging.preloads.staged + staging.preloads.unwritten + staging.preloads.fetched,
        writes: lines.writes - lines.compressed_writes
            + staging.compressed_lines.writes
            + lines.invalidations,
        searches: 0,
    }
}

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
///
/// # Errors
/// The banks would differ in size, or arrays with such ports were not run.
pub fn register_file(
    prices: &ArrayPrices,
    lines: u32,
    ports: Ports,
) -> Result<RegisterStructure, StructureError> {
    let entries = bank_entries(lines)?;
    let no_run = |_: &RunReport| ArrayAccesses::default();
    let data = Structure::of_warp_registers("registers", banks(), entries, ports, no_run).price(prices)?;
    let (read_pj, write_pj) = (data.read_pj, data.write_pj);
    Ok(RegisterStructure { lines, parts: vec![data], read_pj, write_pj })
}

/// RegLess's structures with `lines` lines of operands and `compressor_lines` compressed lines a shard; without
/// compressor if 0.
///
/// A source searches the tags and reads a line. A result searches the tags when its line is reserved, writes a tag and
/// the line: as if no result found a line of its register.
///
/// # Errors
/// The banks would differ in size.
pub fn staging_unit(
    prices: &ArrayPrices,
    lines: u32,
    compressor_lines: u32,
) -> Result<RegisterStructure, StructureError> {
    let geometry = ShardGeometry { lines: bank_entries(lines)? as usize, ..ShardGeometry::GTX980 };
    let arrays = shard_arrays(SHARDS, geometry, compressor_lines);
    let parts = arrays.iter().map(|array| array.price(prices)).collect::<Result<Vec<Part>, GridError>>()?;
    let (data, tags) = (&parts[0], &parts[1]);
    let lookup_pj = tags.search_pj.unwrap_or(0.0);
    let (read_pj, write_pj) = (lookup_pj + data.read_pj, lookup_pj + tags.write_pj + data.write_pj);
    Ok(RegisterStructure { lines, parts, read_pj, write_pj })
}

fn bank_entries(lines: u32) -> Result<u32, StructureError> {
    let banks = banks();
    if lines == 0 || !lines.is_multiple_of(banks) {
        return Err(StructureError::Lines { lines, banks });
    }
    Ok(lines / banks)
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

    /// Leakage, clocks that are not gated, and the energy of the accesses, mW. Accesses of the compressor are not in it.
    pub fn power_mw(&self, rate: AccessRate) -> f64 {
        let pj_per_cycle = rate.reads_per_cycle * self.read_pj + rate.writes_per_cycle * self.write_pj;
        let clock_pj: f64 = self.parts.iter().map(|part| part.clock_pj).sum();
        self.leakage_mw() + (pj_per_cycle + clock_pj) * rate.clock_ghz
    }
}

fn banks() -> u32 {
    SHARDS * ShardGeometry::GTX980.banks as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Capacities of Figs. 11 and 12.
    const CAPACITIES: [u32; 7] = [128, 192, 256, 384, 512, 1024, 2048];

    fn prices() -> ArrayPrices {
        ArrayPrices::new(28, 0.9).expect("complete")
    }

    /// What Gebhart et al. have for CACTI's bank of 256 × 128 at 40 nm, 1r1w: read, write, area.
    const FACTORS: (f64, f64, f64) = (SUPPLY * 8.0 / 3.63974, SUPPLY * 11.0 / 9.79755, 38000.0 / 24164.1);
    /// What 0.9 V at 28 nm, where CACTI has 0.86 V, is over 0.9 V at 40 nm, where it has 12.5/13 V.
    const SUPPLY: f64 = (12.5 / 13.0 / 0.86) * (12.5 / 13.0 / 0.86);

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 1e-9
    }

    /// cacti_sram.csv, 28 nm, 64 entries of 128 bits, 1rw and 1r1w: 32 banks of eight slices.
    #[test]
    fn a_register_file_is_its_banks_slices() {
        let single = register_file(&prices(), 2048, Ports::SINGLE).expect("even banks");
        assert!(near(single.area_um2(), 256.0 * 2065.44 * FACTORS.2));
        assert!(near(single.leakage_mw(), 256.0 * 0.330263));
        assert!(near(single.read_pj, 8.0 * 1.1087 * FACTORS.0));
        assert!(near(single.write_pj, 8.0 * 1.6941 * FACTORS.1));
        let dual = register_file(&prices(), 2048, Ports::DUAL).expect("even banks");
        assert!(near(dual.area_um2(), 256.0 * 4726.32 * FACTORS.2));
    }

    #[test]
    fn a_staging_unit_of_the_same_capacity_costs_its_tags_and_its_compressor_more() {
        let file = register_file(&prices(), 2048, Ports::SINGLE).expect("even banks");
        let staging = staging_unit(&prices(), 2048, 12).expect("even banks");
        let names: Vec<&str> = staging.parts.iter().map(|part| part.name).collect();
        let added = ["tags", "copies in memory", "compressed lines", "tags of compressed lines"];
        assert_eq!(names, [&["registers"], &added[..], &["compressed registers"]].concat());
        let more: f64 = staging.parts[1..].iter().map(|part| part.area_um2).sum();
        assert!(near(staging.area_um2(), file.area_um2() + more));
        let tags = &staging.parts[1];
        let search_pj = tags.search_pj.expect("searched");
        assert!(near(staging.read_pj, file.read_pj + search_pj));
        assert!(near(staging.write_pj, file.write_pj + search_pj + tags.write_pj));
        let without = staging_unit(&prices(), 2048, 0).expect("even banks");
        assert_eq!(without.parts, staging.parts[..3]);
    }

    /// 12-bit tags (16 warps, 256 registers), 32 registers a warp and bank, 273.07 lines of 15 registers, of 1005 bits.
    #[test]
    fn widths_follow_from_the_shards_geometry() {
        let staging = staging_unit(&prices(), 512, 12).expect("even banks");
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
        let structures = CAPACITIES.map(|lines| staging_unit(&prices(), lines, 12).expect("even banks"));
        for pair in structures.windows(2) {
            assert!(pair[0].area_um2() < pair[1].area_um2(), "{}", pair[1].lines);
            assert!(pair[0].leakage_mw() < pair[1].leakage_mw(), "{}", pair[1].lines);
            assert!(pair[0].read_pj < pair[1].read_pj, "{}", pair[1].lines);
            assert!(pair[0].write_pj < pair[1].write_pj, "{}", pair[1].lines);
        }
    }

    #[test]
    fn power_is_leakage_clocks_and_the_accesses_of_a_second() {
        let file = register_file(&prices(), 2048, Ports::SINGLE).expect("even banks");
        let rate = AccessRate { reads_per_cycle: 2.0, writes_per_cycle: 1.0, clock_ghz: 1.5 };
        let pj = 2.0 * 8.0 * 1.1087 * FACTORS.0 + 8.0 * 1.6941 * FACTORS.1;
        assert!(near(file.power_mw(rate), 256.0 * 0.330263 + 1.5 * pj));
        let staging = staging_unit(&prices(), 512, 12).expect("even banks");
        let idle = AccessRate { reads_per_cycle: 0.0, writes_per_cycle: 0.0, clock_ghz: 1.0 };
        // A gate a slice of flip-flops: tags, copies, compressed lines, their tags, bits of compressed registers.
        let gates = 32.0 * (1.0 + 1.0) + 4.0 * (8.0 + 1.0 + 2.0);
        let clock_pj = gates * 0.208 * (28.0 / 180.0) * 0.25;
        assert!(near(staging.power_mw(idle), staging.leakage_mw() + clock_pj));
    }

    #[test]
    fn lines_that_do_not_fill_the_banks_evenly_are_refused() {
        for lines in [0, 500] {
            let error = staging_unit(&prices(), lines, 12).expect_err("uneven").to_string();
            let accepted = "accepted is a multiple of 32 (4 shards of 8 banks) from 32 on";
            assert_eq!(error, format!("{lines} lines an SM; {accepted}"));
        }
    }
}
