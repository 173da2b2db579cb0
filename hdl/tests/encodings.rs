//! Enumerations with a code in hardware.

use insta::assert_snapshot;
use warpfile_hdl::rtl::netlist::Op;
use warpfile_hdl::rtl::{Encoding, elaborate};

use crate::probe::{errors_of, probe};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encoding)]
enum Fruit {
    Apple,
    Pear,
    Plum,
    Quince,
    Sloe,
}

#[test]
fn codes_are_places_and_have_names() {
    assert_eq!(Fruit::BITS, 3);
    assert_eq!(Fruit::ALL.map(Fruit::code), [0, 1, 2, 3, 4]);
    assert_eq!(Fruit::CODES[2], (2, "Plum"));
    for fruit in Fruit::ALL {
        assert_eq!(Fruit::of_code(fruit.code()), Some(fruit));
    }
    assert_eq!(Fruit::of_code(5), None);
    assert_eq!(Fruit::of_code(u64::MAX), None);
}

probe!(Basket, |m, io| {
    let fruit = io.valid_i.mux(m.lit(Fruit::BITS, Fruit::Quince), Fruit::Sloe);
    io.out_o.set(fruit.zext(8) + fruit.eq(Fruit::Pear).zext(8));
});

#[test]
fn a_value_stands_where_a_number_may() {
    let netlist = elaborate(&Basket {}).unwrap();
    let constants: Vec<(u32, u64)> = netlist.modules[0]
        .nodes
        .iter()
        .filter_map(|node| match &node.op {
            Op::Constant(bits) => Some((bits.width(), bits.to_biguint().try_into().unwrap())),
            _ => None,
        })
        .collect();
    for expected in [(3, Fruit::Quince.code()), (3, Fruit::Sloe.code()), (3, Fruit::Pear.code())] {
        assert!(constants.contains(&expected), "{constants:?}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_named() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(0);
        m.invariant("a_plum", io.valid_i.eq(Fruit::Plum));
    }), @"probe: the constant Fruit::Plum does not fit 1 bits (encodings.rs:LINE)");
}
