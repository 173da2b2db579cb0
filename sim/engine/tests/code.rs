//! How long the code of a circuit is.

use warpfile_engine::{Compiled, Options};
use warpfile_hdl::rtl::netlist::*;

use crate::behaviour::Sketch;

/// Bytes of code of a circuit in which several outputs, each under a condition of its own, read one value that takes `steps` to
/// work out.
fn bytes(steps: usize, outputs: usize) -> usize {
    let mut top = Sketch::new("shared");
    let [a, b] = ["a_i", "b_i"].map(|name| top.input(name, 32));
    let none = top.constant(32, 0);
    let step = |top: &mut Sketch, sum, turn: usize| {
        top.node(if turn.is_multiple_of(2) { Op::Add(sum, b) } else { Op::Xor(sum, a) }, 32)
    };
    let shared = (0..steps).fold(a, |sum, turn| step(&mut top, sum, turn));
    for output in 0..outputs {
        let enable = top.input(&format!("enable{output}_i"), 1);
        let own = top.input(&format!("own{output}_i"), 32);
        // Enough for a branch.
        let first = top.node(Op::Xor(shared, own), 32);
        let value = (0..40).fold(first, |sum, turn| step(&mut top, sum, turn));
        let shown = top.node(Op::Mux { condition: enable, then: value, otherwise: none }, 32);
        top.output(&format!("value{output}_o"), shown, None);
    }
    let netlist = Netlist { modules: vec![top.0], top: ModuleId(0) };
    let engine = Compiled::new(&netlist, &Options::default()).expect("a sound netlist");
    let description = format!("{engine:?}");
    let (_, behind) = description.split_once("Code { bytes: ").expect("its code");
    let digits = behind.split(|character: char| !character.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).expect("a number of bytes")
}

/// What eight branches read is worked out once, before them.
#[test]
fn what_branches_have_in_common_is_worked_out_once() {
    let of_one = bytes(300, 1) - bytes(100, 1);
    let of_eight = bytes(300, 8) - bytes(100, 8);
    assert!(of_eight < 2 * of_one, "200 steps take {of_one} bytes for one branch, {of_eight} for eight");
}
