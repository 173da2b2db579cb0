//! Rows that sleep: which physical registers can be accessed in a cycle, and what is said of their rows.

use warpfile_hdl::greener;
use warpfile_hdl::regfile::Geometry;
use warpfile_kernels::program::{LaneMask, LaneValues};

use crate::config::Config;
use crate::mechanisms::register_file::{geometry, spoiled};
use crate::sm::design::{MAX_ROW_ACCESSES, RowAccess, RowAccessKind, RowStates, WarpSlot};

/// The rows of a partition's physical registers.
pub struct Rows {
    /// Where each register is among the rows, and the register of each place.
    places: Vec<usize>,
    registers: Vec<usize>,
    /// Rows that can be accessed in this cycle, one bit each, bank after bank; none is looked at if none ever sleeps.
    on: Vec<u64>,
    sleep: bool,
    /// What is said in this cycle.
    pub said: Vec<RowAccess>,
}

impl Rows {
    pub fn new(config: &Config) -> Rows {
        let Geometry { banks, rows, .. } = geometry(config);
        let file = greener::Rows { banks, rows };
        let places: Vec<usize> = (0..file.rows_of_all()).map(|register| file.place(register)).collect();
        let mut registers = vec![0; places.len()];
        places.iter().enumerate().for_each(|(register, &place)| registers[place] = register);
        let on = vec![0; places.len().div_ceil(u64::BITS as usize)];
        Rows { places, registers, on, sleep: false, said: Vec::with_capacity(8 * MAX_ROW_ACCESSES) }
    }

    /// A cycle begins. `values`: of each register, which is lost with its row's in the register file.
    pub fn begin(&mut self, states: Option<RowStates<'_>>, values: &mut [LaneValues]) {
        self.sleep = states.is_some();
        let Some(RowStates { on, lost }) = states else { return };
        self.on.copy_from_slice(on);
        for (word, &lost) in lost.iter().enumerate() {
            let mut left = lost;
            while left != 0 {
                let place = word * u64::BITS as usize + left.trailing_zeros() as usize;
                values[self.registers[place]].iter_mut().for_each(|lane| *lane = spoiled(*lane));
                left &= left - 1;
            }
        }
    }

    /// Whether rows sleep at all.
    pub fn sleep(&self) -> bool {
        self.sleep
    }

    /// Whether a register can be read and written in this cycle.
    pub fn is_on(&self, register: u32) -> bool {
        let is_set = |place: usize| self.on[place / 64] >> (place % 64) & 1 == 1;
        !self.sleep || is_set(self.places[register as usize])
    }

    /// Says what is done to a register's row, if rows sleep.
    pub fn say(&mut self, row: u32, of: Option<(WarpSlot, u16)>, lanes: LaneMask, kind: RowAccessKind) {
        if self.sleep {
            self.said.push(RowAccess { row, of, lanes, kind });
        }
    }
}
