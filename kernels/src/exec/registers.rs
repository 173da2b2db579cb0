//! The registers of one warp.

use crate::program::{LANES, LaneMask};
use crate::ptx::ir::{Kernel, Reg, Type};

/// A value in every lane, zero-extended from its register's width.
pub type Lanes = [u64; LANES];

/// Where a register is: predicates are kept as masks, everything else as rows of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Row(u32),
    Mask(u32),
}

/// Which slot each virtual register has.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) slots: Vec<Slot>,
    pub(super) rows: usize,
    pub(super) masks: usize,
}

impl Layout {
    pub(super) fn new(kernel: &Kernel) -> Layout {
        let (mut rows, mut masks) = (0, 0);
        let slots = kernel
            .registers
            .iter()
            .map(|register| {
                let counter = if register.ty == Type::Pred { &mut masks } else { &mut rows };
                *counter += 1;
                if register.ty == Type::Pred { Slot::Mask(*counter - 1) } else { Slot::Row(*counter - 1) }
            })
            .collect();
        // Operands that an instruction does not have are row 0 and mask 0, which are there in a kernel without registers too.
        Layout { slots, rows: (rows as usize).max(1), masks: (masks as usize).max(1) }
    }
}

/// The registers of one warp.
#[derive(Clone, Debug)]
pub struct Registers {
    layout: std::sync::Arc<Layout>,
    /// Virtual registers, then constants and special registers.
    pub(super) rows: Vec<Lanes>,
    /// Predicates, then constants.
    pub(super) masks: Vec<LaneMask>,
}

impl Registers {
    pub(super) fn new(
        layout: std::sync::Arc<Layout>,
        constant_rows: &[Lanes],
        constant_masks: &[LaneMask],
    ) -> Self {
        let mut rows = vec![[0; LANES]; layout.rows];
        rows.extend_from_slice(constant_rows);
        let mut masks = vec![0; layout.masks];
        masks.extend_from_slice(constant_masks);
        Registers { layout, rows, masks }
    }

    /// The value of a register in every lane, if it is not a predicate.
    pub fn lanes(&self, register: Reg) -> Option<&Lanes> {
        match self.layout.slots[register.index()] {
            Slot::Row(row) => Some(&self.rows[row as usize]),
            Slot::Mask(_) => None,
        }
    }

    /// The lanes in which a predicate is true, if the register is one.
    pub fn predicate(&self, register: Reg) -> Option<LaneMask> {
        match self.layout.slots[register.index()] {
            Slot::Row(_) => None,
            Slot::Mask(mask) => Some(self.masks[mask as usize]),
        }
    }

    /// The value of a register in one lane; a predicate as 0 or 1.
    pub fn value(&self, register: Reg, lane: usize) -> u64 {
        match self.layout.slots[register.index()] {
            Slot::Row(row) => self.rows[row as usize][lane],
            Slot::Mask(mask) => u64::from(self.masks[mask as usize] >> lane & 1),
        }
    }

    /// Writes a row in the lanes of a mask.
    pub(super) fn write(&mut self, row: u32, lanes: LaneMask, values: &Lanes) {
        let target = &mut self.rows[row as usize];
        if lanes == LaneMask::MAX {
            *target = *values;
            return;
        }
        for (lane, (to, from)) in target.iter_mut().zip(values).enumerate() {
            if lanes >> lane & 1 == 1 {
                *to = *from;
            }
        }
    }

    /// Writes a predicate in the lanes of a mask.
    pub(super) fn write_mask(&mut self, mask: u32, lanes: LaneMask, values: LaneMask) {
        let target = &mut self.masks[mask as usize];
        *target = *target & !lanes | values & lanes;
    }
}
