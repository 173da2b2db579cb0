//! Ports that the circuits of a register file share.

use super::geometry::{Geometry, LANE_BITS, SOURCES};
use crate::rtl::{In, Out, Ports, index_bits};

/// What the widths of these ports follow from.
#[derive(Clone, Copy, Debug)]
pub struct Widths {
    /// Bits of a register's number.
    pub register_bits: usize,
    /// Lanes of a warp.
    pub lanes: usize,
    /// Bits of an instruction's identifier.
    pub id_bits: usize,
    /// Functional units.
    pub units: usize,
}

impl Widths {
    /// For a register file; `id_bits` and `units` of its instructions.
    pub fn new(geometry: &Geometry, id_bits: usize, units: usize) -> Widths {
        Widths { register_bits: geometry.register_bits(), lanes: geometry.lanes, id_bits, units }
    }
}

/// A register to be written.
#[derive(Ports)]
#[params(Widths)]
pub struct RegisterWriteIo<'m> {
    /// A write is offered.
    pub valid_i: In<'m>,
    /// An offered write is taken.
    pub ready_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Lanes written.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.lanes.saturating_mul(LANE_BITS))]
    pub value_i: In<'m>,
}

/// The instruction whose last operand is read in this cycle; its unit takes it.
#[derive(Ports)]
#[params(Widths)]
pub struct DispatchIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// Its identifier.
    #[bits(p.id_bits)]
    #[valid_when(valid_o)]
    pub id_o: Out<'m>,
    /// The unit.
    #[bits(index_bits(p.units))]
    #[valid_when(valid_o)]
    pub unit_o: Out<'m>,
}

/// Operands of the instruction dispatched in the cycle before.
#[derive(Ports)]
#[params(Widths)]
pub struct OperandsIo<'m> {
    /// There are some.
    pub valid_o: Out<'m>,
    /// The instruction's identifier.
    #[bits(p.id_bits)]
    #[valid_when(valid_o)]
    pub id_o: Out<'m>,
    /// The operands, 0 in lanes that were not asked for.
    #[repeat(SOURCES)]
    #[bits(p.lanes.saturating_mul(LANE_BITS))]
    #[valid_when(valid_o)]
    pub source_o: Vec<Out<'m>>,
}
