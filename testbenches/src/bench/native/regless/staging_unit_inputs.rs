//! Where the inputs of the operand staging unit lie in the noise.

use super::super::noise::{Field, Fields};
use super::{BANKS, PLACE_BITS, REGISTER_DRAWN, WARP_DRAWN, WRITES};

/// What drives the inputs of a bank.
#[derive(Clone, Copy)]
pub(super) struct BankFields {
    pub access: Field,
    pub reads: Field,
    pub reserves: Field,
    pub warp: Field,
    pub register: Field,
    pub fate: Field,
    pub lanes: Field,
    pub written: Field,
    pub place: Field,
    pub may_hold: Field,
    pub note: Field,
    pub kind: Field,
    pub note_warp: Field,
    pub note_register: Field,
}

#[derive(Clone, Copy)]
pub(super) struct WriteFields {
    pub valid: Field,
    pub blocked: Field,
    pub warp: Field,
    pub register: Field,
    pub line: Field,
    pub fate: Field,
    pub lanes: Field,
}

pub(super) struct RestFields {
    pub exit: Field,
    pub exit_warp: Field,
    pub request_ready: Field,
    pub fill: Field,
    pub fill_warp: Field,
    pub fill_register: Field,
    pub fill_line: Field,
}

/// What drives the unit, in the order of its inputs.
pub(super) struct UnitFields {
    pub banks: [BankFields; BANKS],
    pub writes: [WriteFields; WRITES],
    pub rest: RestFields,
    pub words: usize,
}

pub(super) const FIELDS: UnitFields = UnitFields::new();
/// Words of noise.
pub(super) const WORDS: usize = FIELDS.words;

impl UnitFields {
    const fn new() -> UnitFields {
        let mut fields = Fields::NONE;
        let mut banks = [BankFields::next(&mut fields); BANKS];
        let mut bank = 1;
        while bank < BANKS {
            banks[bank] = BankFields::next(&mut fields);
            bank += 1;
        }
        let mut writes = [WriteFields::next(&mut fields); WRITES];
        let mut write = 1;
        while write < WRITES {
            writes[write] = WriteFields::next(&mut fields);
            write += 1;
        }
        let rest = RestFields::next(&mut fields);
        let words = rest.fill_line.word + 1;
        UnitFields { banks, writes, rest, words }
    }
}

impl BankFields {
    const fn next(fields: &mut Fields) -> BankFields {
        BankFields {
            access: fields.next(8),
            reads: fields.next(1),
            reserves: fields.next(1),
            warp: fields.next(WARP_DRAWN),
            register: fields.next(REGISTER_DRAWN),
            fate: fields.next(1),
            lanes: fields.next(2),
            written: fields.next(8),
            place: fields.next(PLACE_BITS),
            may_hold: fields.next(8),
            note: fields.next(8),
            kind: fields.next(1),
            note_warp: fields.next(WARP_DRAWN),
            note_register: fields.next(REGISTER_DRAWN),
        }
    }
}

impl WriteFields {
    const fn next(fields: &mut Fields) -> WriteFields {
        WriteFields {
            valid: fields.next(8),
            blocked: fields.next(8),
            warp: fields.next(WARP_DRAWN),
            register: fields.next(REGISTER_DRAWN),
            line: fields.next(4),
            fate: fields.next(1),
            lanes: fields.next(2),
        }
    }
}

impl RestFields {
    const fn next(fields: &mut Fields) -> RestFields {
        let (exit, exit_warp, request_ready) = (fields.next(8), fields.next(WARP_DRAWN), fields.next(8));
        let fill = fields.next(8);
        let _compressed = fields.next(8);
        RestFields {
            exit,
            exit_warp,
            request_ready,
            fill,
            fill_warp: fields.next(WARP_DRAWN),
            fill_register: fields.next(REGISTER_DRAWN),
            fill_line: fields.next(4),
        }
    }
}

/// Words that inputs take their data from: of a bank its lanes and what the warps may hold, of a result its lanes and
/// value, of a fill its value.
pub(super) const fn bank_data(bank: usize) -> [usize; 2] {
    [2 * bank % WORDS, (2 * bank + 1) % WORDS]
}

pub(super) const fn write_data(write: usize) -> [usize; 2] {
    [(2 * BANKS + 2 * write) % WORDS, (2 * BANKS + 2 * write + 1) % WORDS]
}

pub(super) const FILL_DATA: usize = (2 * BANKS + 2 * WRITES) % WORDS;
