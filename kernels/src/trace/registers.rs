//! The registers of one warp as far as a trace has told.

use crate::program::{LANES, LaneMask, LaneValues, PhysReg};

/// Value of every register written so far, and in which lanes.
///
/// Grows with the highest register written: 132 bytes a register.
#[derive(Clone, Debug, Default)]
pub(super) struct WarpRegisters {
    values: Vec<LaneValues>,
    defined: Vec<LaneMask>,
}

impl WarpRegisters {
    /// The register's value (0 in lanes never written) and the lanes in which it was written.
    pub fn read(&self, register: PhysReg) -> (&LaneValues, LaneMask) {
        let row = usize::from(register.0);
        match self.values.get(row) {
            Some(values) => (values, self.defined[row]),
            None => (&[0; LANES], 0),
        }
    }

    /// Writes the lanes of `mask`.
    pub fn write(&mut self, register: PhysReg, mask: LaneMask, values: &LaneValues) {
        let row = usize::from(register.0);
        if row >= self.values.len() {
            self.values.resize(row + 1, [0; LANES]);
            self.defined.resize(row + 1, 0);
        }
        for lane in lanes(mask) {
            self.values[row][lane] = values[lane];
        }
        self.defined[row] |= mask;
    }

    /// Declares the lanes of `mask` not known, as if never written.
    pub fn forget(&mut self, register: PhysReg, mask: LaneMask) {
        if let Some(values) = self.values.get_mut(usize::from(register.0)) {
            for lane in lanes(mask) {
                values[lane] = 0;
            }
            self.defined[usize::from(register.0)] &= !mask;
        }
    }

    /// Bytes held.
    #[cfg(test)]
    pub fn held_bytes(&self) -> usize {
        self.values.capacity() * size_of::<LaneValues>() + self.defined.capacity() * size_of::<LaneMask>()
    }
}

/// The lanes of a mask, lowest first.
pub(super) fn lanes(mask: LaneMask) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(mask), |&rest| Some(rest & rest.wrapping_sub(1)))
        .take_while(|&rest| rest != 0)
        .map(|rest| rest.trailing_zeros() as usize)
}
