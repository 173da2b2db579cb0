//! What a memory costs.

use serde::Serialize;
use warpfile_sim::energy::grid::{Grid, GridError, Origin, Ports};

use super::Memory;

/// Technology node of the runs, nm: the one nearest to the libraries that are free to use.
pub const NODE_NM: u32 = 45;

/// Port sets of the runs with separate ports, the smallest first: reads and writes.
const PORT_SETS: [(u32, u32); 5] = [(1, 1), (2, 1), (2, 2), (4, 1), (6, 2)];

/// Widest word of one array; wider ones are several beside each other.
const SLICE_BITS: u32 = 128;

/// What a memory costs, at [`NODE_NM`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Area, µm².
    pub area_um2: f64,
    /// A read of a row, pJ.
    pub read_pj: f64,
    /// A write of a row, pJ.
    pub write_pj: f64,
    /// Leakage, mW at 350 K.
    pub leakage_mw: f64,
    /// The same with all rows in SLEEP, mW: CACTI's array gating.
    pub sleep_mw: f64,
    /// The least of the figures it was found from.
    pub origin: Origin,
}

/// The ports of the runs that serve so many reads and writes; none if there are no such runs.
pub(super) fn ports(reads: usize, writes: usize) -> Option<Ports> {
    let serves = |&&(read, write): &&(u32, u32)| read as usize >= reads && write as usize >= writes;
    PORT_SETS.iter().find(serves).map(|&(read, write)| Ports { read, write, read_write: 0 })
}

impl Memory {
    /// By the runs: words of more than 128 bits as slices of equal width beside each other.
    pub fn cost(&self, grid: &Grid) -> Result<Cost, GridError> {
        let wanted = Ports { read: self.reads, write: self.writes.len() as u32, read_write: 0 };
        let ports = ports(self.reads as usize, self.writes.len()).unwrap_or(wanted);
        let slices = self.bits.div_ceil(SLICE_BITS);
        let array = grid.array(self.rows, self.bits.div_ceil(slices), ports)?;
        let all = f64::from(slices);
        Ok(Cost {
            area_um2: all * array.area_um2,
            read_pj: all * array.read_pj,
            write_pj: all * array.write_pj,
            leakage_mw: all * array.leakage_mw,
            sleep_mw: all * array.gated_mw,
            origin: array.origin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(rows: u32, bits: u32, reads: u32, writes: usize) -> Memory {
        let module = "sram".to_owned();
        Memory { module, rows, bits, lanes: 1, reads, writes: vec![false; writes] }
    }

    #[test]
    fn the_smallest_ports_that_serve_are_taken() {
        let name = |reads, writes| ports(reads, writes).map(|ports| ports.to_string());
        assert_eq!(name(1, 1).as_deref(), Some("1r1w"));
        assert_eq!(name(2, 2).as_deref(), Some("2r2w"));
        assert_eq!(name(3, 1).as_deref(), Some("4r1w"));
        assert_eq!(name(3, 2).as_deref(), Some("6r2w"));
        assert_eq!(name(7, 1), None);
    }

    #[test]
    fn a_wide_word_costs_as_much_as_its_slices() {
        let grid = Grid::at(NODE_NM).expect("the project's runs");
        let slice = memory(64, 128, 1, 1).cost(&grid).expect("in the grid");
        let wide = memory(64, 1024, 1, 1).cost(&grid).expect("slices are in the grid");
        assert_eq!((wide.area_um2, wide.read_pj), (8.0 * slice.area_um2, 8.0 * slice.read_pj));
        assert_eq!(slice.origin, Origin::Runs);
    }
}
