//! The power-state decoder: every instruction of three codes, and random ones of other numbers.

use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::greener::PowerStateDecoder;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::packed;

/// OFF, SLEEP, ON by their codes (§4.2.2); what is no code is taken as ON.
const STATES: [usize; 4] = [0, 1, 2, 2];
const SLEEP: usize = 1;

#[derive(Clone)]
struct Table;

/// The codes of an instruction, and the one that a register takes.
type Asked = (Vec<usize>, Option<usize>);

impl Reference for Table {
    type Operation = Asked;

    fn inputs(&self, (codes, code): &Asked, inputs: &mut Pins) {
        inputs.set("codes_i", packed(codes, 2));
        inputs.set("has_code_i", u8::from(code.is_some()));
        inputs.set("code_i", code.unwrap_or(0));
    }

    fn cycle(&mut self, (codes, code): &Asked, outputs: &mut Pins) {
        outputs.set("state_o", code.map_or(SLEEP, |code| STATES[codes[code]]));
    }
}

fn all_of_three() -> Vec<Asked> {
    let codes = |number: usize| vec![number % 4, number / 4 % 4, number / 16];
    (0..64).flat_map(|number| [None, Some(0), Some(1), Some(2)].map(|code| (codes(number), code))).collect()
}

#[test]
fn every_register_of_every_instruction_gets_its_state() {
    let netlist = elaborate(&PowerStateDecoder { codes: 3 }).unwrap();
    Lockstep::default().run(&netlist, &Table, &all_of_three()).unwrap();
}

#[test]
fn the_verilog_does_the_same() {
    let netlist = elaborate(&PowerStateDecoder { codes: 3 }).unwrap();
    Lockstep::with_verilog().run(&netlist, &Table, &all_of_three()).unwrap();
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn so_it_does_with_other_numbers_of_codes(
        (codes, asked) in (1..9_usize).prop_flat_map(|codes| {
            let asked = (prop::collection::vec(0..4_usize, codes), prop::option::of(0..codes));
            (Just(codes), prop::collection::vec(asked, 1..20))
        })
    ) {
        let netlist = elaborate(&PowerStateDecoder { codes }).unwrap();
        Lockstep::default().run(&netlist, &Table, &asked).map_err(|error| TestCaseError::fail(error.to_string()))?;
    }
}

#[test]
fn verilog() {
    let files = emit(&elaborate(&PowerStateDecoder { codes: 3 }).unwrap()).modules;
    let text: Vec<String> = files.into_iter().map(|file| file.text).collect();
    insta::assert_snapshot!(text.join("\n"));
}
