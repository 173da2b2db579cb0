//! What arrays of any node cost, scaled to one process.
//!
//! Memories are CACTI's arrays times what one compiled memory of 40 nm costs over CACTI's of the same size, at the supply
//! of the technology, not at that which CACTI has at the node; arrays of flip-flops are lines through the synthesised ones
//! of the same process and characterisation, scaled to the node. So what an access to the one costs beside an access to
//! the other is that of a commercial library, not of two models.
//! Source: Gebhart et al., ISCA 2011, §4.3, Tables 2 and 3; decisions 103 and 135.

use super::EnergyError;
use super::grid::{Array, Cam, Grid, GridError, Origin, Ports};
use super::structure::SLICE_BITS;
use super::technology::{RfcEnergy, Technology, TechnologyError};

/// Energy of a flip-flop's clock pin in a cycle, pJ at [`CELLS_NM`] and [`CELLS_V`]: what `warpfile power fifo` gives for
/// the clock pins over the number of flip-flops.
const CLOCK_PIN_PJ: f64 = 0.208;
/// Node of the default library of cells, nm.
const CELLS_NM: f64 = 180.0;
/// Its supply, V.
const CELLS_V: f64 = 1.8;
/// Comparison of a bit with one searched for, pJ at [`MATCH_NM`] and [`MATCH_V`]: 3.8 mW at 1 GHz for 1024 bits (decision 47).
const MATCH_PJ: f64 = 3.8 / 1024.0;
/// Node of that figure, nm.
const MATCH_NM: f64 = 45.0;
/// Its supply, V.
const MATCH_V: f64 = 1.1;
/// Area of a gate with two inputs that is an exclusive or, µm² at [`MATCH_NM`]: XOR2_X1 of the Nangate library.
const XOR_UM2: f64 = 1.596;
/// Supply of CACTI's high-performance devices by node, nm and V: ITRS's, as `vdd[0]` of the `itrs-hp` parameters of CACTI 6.5 and
/// 7.0. Nodes between are interpolated there, as all parameters are.
const GRID_SUPPLY: [(f64, f64); 3] = [(45.0, 1.0), (32.0, 0.9), (22.0, 0.8)];
/// Rows of the largest array of Table 2. Deeper ones are divided, so that an access costs no more.
const MOST_ROWS: u32 = 64;

/// A line: what is there for no row, and for each row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    constant: f64,
    per_row: f64,
}

/// An array of flip-flops with gated clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlipFlops {
    /// Read of a row, pJ.
    pub read_pj: f64,
    /// Write of a row, its clock included, pJ.
    pub write_pj: f64,
    /// Search for a word in all rows, pJ.
    pub search_pj: f64,
    /// What is not gated of the clock, pJ a cycle.
    pub clock_pj: f64,
    /// Leakage, mW at 350 K.
    pub leakage_mw: f64,
    /// Area, µm².
    pub area_um2: f64,
}

/// Trees of exclusive ors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XorTrees {
    /// An evaluation of all, pJ.
    pub search_pj: f64,
    /// Leakage, mW at 350 K.
    pub leakage_mw: f64,
    /// Area, µm².
    pub area_um2: f64,
}

/// What arrays of a node cost.
#[derive(Clone, Debug)]
pub struct ArrayPrices {
    grid: Grid,
    /// What a compiled memory has for one of CACTI's.
    read_factor: f64,
    write_factor: f64,
    area_factor: f64,
    /// What accesses to memories take at the technology's supply, of those at the supply of the runs.
    supply_factor: f64,
    /// Of flip-flops at the node, for a bit of a row.
    read_pj: Line,
    write_pj: Line,
    area_um2: Line,
    match_pj: f64,
    xor_um2: f64,
    clock_pin_pj: f64,
    leakage_mw_per_um2: f64,
}

impl ArrayPrices {
    /// Of a node with logic at `supply_v` V.
    ///
    /// # Errors
    /// A data file.
    pub fn new(node_nm: u32, supply_v: f64) -> Result<ArrayPrices, EnergyError> {
        let published = Technology::named(Technology::GEBHART2011)?;
        let Some(mrf) = &published.mrf else {
            let origin = format!("{}.toml", published.name);
            return Err(TechnologyError::Malformed { origin, message: "no [mrf]".to_owned() }.into());
        };
        let compiled = Grid::at(published.node_nm)?.array(mrf.entries, published.access_bits, Ports::DUAL)?;
        let area_factor = mrf.bank_area_um2.value / compiled.area_um2;
        let grid = Grid::at(node_nm)?;
        // Flip-flops leak as much an area as memories of the node.
        let memory = grid.array(MOST_ROWS, SLICE_BITS, Ports::DUAL)?;
        let leakage_mw_per_um2 = memory.leakage_mw / (area_factor * memory.area_um2);
        let scale = |from_nm: f64, from_v: f64| f64::from(node_nm) / from_nm * (supply_v / from_v).powi(2);
        let published_nm = f64::from(published.node_nm);
        // The runs of a node have its supply, so that of two nodes they differ by more than their capacitances.
        let above_grid = |volts: f64, nm: f64| volts / grid_supply_v(nm);
        let supply =
            above_grid(supply_v, f64::from(node_nm)) / above_grid(published.supply_v.value, published_nm);
        let energy = scale(published_nm, published.supply_v.value);
        let area = (f64::from(node_nm) / published_nm).powi(2);
        let line = |of: fn(&RfcEnergy) -> f64, factor: f64| {
            Line::through(&published.rfc, of).times(factor / f64::from(published.access_bits))
        };
        Ok(ArrayPrices {
            read_factor: mrf.read_pj.value / compiled.read_pj,
            write_factor: mrf.write_pj.value / compiled.write_pj,
            area_factor,
            supply_factor: supply.powi(2),
            read_pj: line(|rfc| rfc.read_pj.value, energy),
            write_pj: line(|rfc| rfc.write_pj.value, energy),
            area_um2: line(|rfc| rfc.area_um2.value, area),
            match_pj: MATCH_PJ * scale(MATCH_NM, MATCH_V),
            xor_um2: XOR_UM2 * (f64::from(node_nm) / MATCH_NM).powi(2),
            clock_pin_pj: CLOCK_PIN_PJ * scale(CELLS_NM, CELLS_V),
            leakage_mw_per_um2,
            grid,
        })
    }

    /// The same with memories as CACTI has them.
    pub fn with_unscaled_memories(self) -> ArrayPrices {
        ArrayPrices { read_factor: 1.0, write_factor: 1.0, area_factor: 1.0, supply_factor: 1.0, ..self }
    }

    /// A memory of `entries` words of `bits` bits. Words of more than 128 bits are better built of several.
    ///
    /// # Errors
    /// Arrays with such ports were not run.
    pub fn memory(&self, entries: u32, bits: u32, ports: Ports) -> Result<Array, GridError> {
        let Array { read_pj, write_pj, leakage_mw, gated_mw, area_um2, origin } =
            self.grid.array(entries, bits, ports)?;
        Ok(Array {
            read_pj: self.supply_factor * self.read_factor * read_pj,
            write_pj: self.supply_factor * self.write_factor * write_pj,
            leakage_mw,
            gated_mw,
            area_um2: self.area_factor * area_um2,
            origin,
        })
    }

    /// A content-addressed memory, at the supply of the runs (decision 135).
    ///
    /// # Errors
    /// It has no entries or no bits.
    pub fn cam(&self, entries: u32, bits: u32) -> Result<Cam, GridError> {
        let Cam { search_pj, read_pj, write_pj, leakage_mw, area_um2 } = self.grid.cam(entries, bits)?;
        Ok(Cam {
            search_pj: self.read_factor * search_pj,
            read_pj: self.read_factor * read_pj,
            write_pj: self.write_factor * write_pj,
            leakage_mw,
            area_um2: self.area_factor * area_um2,
        })
    }

    /// An array of flip-flops.
    ///
    /// # Errors
    /// It has no entries or no bits.
    pub fn flip_flops(&self, entries: u32, bits: u32) -> Result<FlipFlops, GridError> {
        if entries == 0 || bits == 0 {
            return Err(GridError::Empty { entries, bits });
        }
        let (rows, width) = (f64::from(entries.min(MOST_ROWS)), f64::from(bits));
        let cells = f64::from(entries) * width;
        let area_um2 = width * self.area_um2.at(f64::from(entries));
        Ok(FlipFlops {
            read_pj: width * self.read_pj.at(rows),
            write_pj: width * self.write_pj.at(rows),
            search_pj: cells * self.match_pj,
            // The clock ends at a gate in cycles without a write; the gates of rows behind it are in a write's energy, as in
            // Table 2, whose arrays are accessed in every cycle.
            clock_pj: self.clock_pin_pj,
            leakage_mw: area_um2 * self.leakage_mw_per_um2,
            area_um2,
        })
    }

    /// A tree of exclusive ors for each of `bits` bits, over half of `inputs`; a gate takes what the comparison of a bit does, which is
    /// one.
    ///
    /// # Errors
    /// There are no inputs or no bits.
    pub fn xor_trees(&self, inputs: u32, bits: u32) -> Result<XorTrees, GridError> {
        if inputs == 0 || bits == 0 {
            return Err(GridError::Empty { entries: inputs, bits });
        }
        let gates = f64::from(bits) * f64::from(inputs) / 2.0;
        let area_um2 = gates * self.xor_um2;
        Ok(XorTrees {
            search_pj: gates * self.match_pj,
            leakage_mw: area_um2 * self.leakage_mw_per_um2,
            area_um2,
        })
    }
}

/// Supply of CACTI's runs at a node, V.
fn grid_supply_v(node_nm: f64) -> f64 {
    let upper =
        GRID_SUPPLY.iter().rposition(|&(nm, _)| nm >= node_nm).unwrap_or(0).min(GRID_SUPPLY.len() - 2);
    let ((from_nm, from_v), (to_nm, to_v)) = (GRID_SUPPLY[upper], GRID_SUPPLY[upper + 1]);
    from_v + (to_v - from_v) * (from_nm - node_nm) / (from_nm - to_nm)
}

impl Line {
    /// The line of the least squares through a quantity of arrays by their rows.
    fn through(arrays: &[RfcEnergy], of: fn(&RfcEnergy) -> f64) -> Line {
        let points = || arrays.iter().map(|rfc| ((rfc.entries * rfc.active_warps) as f64, of(rfc)));
        let count = arrays.len() as f64;
        let rows = points().map(|(rows, _)| rows).sum::<f64>() / count;
        let mean = points().map(|(_, value)| value).sum::<f64>() / count;
        let covariance: f64 = points().map(|(x, y)| (x - rows) * (y - mean)).sum();
        let variance: f64 = points().map(|(x, _)| (x - rows).powi(2)).sum();
        let per_row = covariance / variance;
        Line { constant: mean - per_row * rows, per_row }
    }

    fn times(self, factor: f64) -> Line {
        Line { constant: factor * self.constant, per_row: factor * self.per_row }
    }

    fn at(self, rows: f64) -> f64 {
        self.constant + self.per_row * rows
    }
}

impl From<Origin> for super::structure::Source {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Runs => Self::Runs,
            Origin::Extrapolated => Self::Extrapolated,
            Origin::Fit => Self::Fit,
        }
    }
}

#[cfg(test)]
mod tests;
