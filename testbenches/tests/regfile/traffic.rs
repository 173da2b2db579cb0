//! Random geometry, lanes and writes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::regfile::Geometry;

use super::offers_ref::Instruction;

/// A register, or a row of a bank, to be written.
#[derive(Clone, Debug)]
pub struct Write {
    pub register: usize,
    pub lanes: u32,
    pub values: Vec<u32>,
}

/// Few registers, so that accesses meet; odd numbers of rows and lanes among them, and rows whose numbers are as wide as
/// the masks of their lanes.
pub fn geometries() -> impl Strategy<Value = Geometry> {
    let lanes = prop_oneof![Just((1, 1)), Just((3, 1)), Just((4, 2)), Just((8, 4)), Just((6, 6))];
    let any = (0..4_u32, 2..4_usize, lanes).prop_map(|(banks, rows, (lanes, lanes_per_cluster))| Geometry {
        banks: 1 << banks,
        rows,
        lanes,
        lanes_per_cluster,
    });
    prop_oneof![4 => any, 1 => Just(Geometry { banks: 8, rows: 2, lanes: 1, lanes_per_cluster: 1 })]
}

/// Registers that `geometry` has.
pub fn registers(geometry: Geometry) -> usize {
    geometry.banks * geometry.rows
}

/// All lanes as a mask.
pub fn all_lanes(lanes: usize) -> u32 {
    u32::MAX >> (32 - lanes)
}

/// All lanes, one, or some: what has no lane is not offered.
pub fn masks(lanes: usize) -> impl Strategy<Value = u32> {
    let all = all_lanes(lanes);
    prop_oneof![Just(all), (0..lanes).prop_map(|lane| 1 << lane), 1..=all]
}

/// An instruction for one of `units`, seven times in ten, most of whose operands are among the first `registers` registers.
pub fn instructions(
    units: usize,
    registers: usize,
    lanes: usize,
) -> impl Strategy<Value = Option<Instruction>> {
    let source = || option::weighted(0.8, 0..registers);
    let instruction = (0..64_usize, 0..units, masks(lanes), [source(), source(), source()])
        .prop_map(|(id, unit, active, sources)| Instruction { id, unit, active, sources });
    option::weighted(0.7, instruction)
}

/// Writes to the first `registers` registers.
pub fn writes(registers: usize, lanes: usize) -> impl Strategy<Value = Write> {
    (0..registers, masks(lanes), vec(any::<u32>(), lanes)).prop_map(|(register, lanes, values)| Write {
        register,
        lanes,
        values,
    })
}
