//! A register that is read beside the operands of instructions.

use serde::{Deserialize, Serialize};

use super::collector_groups::numbered;
use super::geometry::Geometry;
use super::main_register_file::MainRegisterFileIo;
use super::operand_collectors::OperandCollectorsIo;
use crate::rtl::{In, Module, Out, Ports, Signal};

/// Whether a register of each scheduler is read a cycle beside the operands of instructions, and who reads first if both want a
/// bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtraRead {
    /// None is.
    None,
    /// Operands are read first.
    AfterOperands,
    /// The extra read comes first if operands had its bank in the cycle before.
    InTurn,
    /// The extra read comes first.
    BeforeOperands,
}

/// A register to be read for others than an instruction.
#[derive(Ports)]
#[params(Geometry)]
pub struct ExtraReadIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is read in this cycle.
    pub ready_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits())]
    pub register_i: In<'m>,
    /// What was read in the cycle before.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// The banks read for operands and, where these leave them or it comes first, for extra reads. Of several groups of
/// collectors, and of several extra reads, the first has its pick; an extra read that was refused comes before one that was not.
/// In turn, one comes before operands if they had its bank in the cycle before.
pub(crate) fn read_beside<'m>(
    m: &Module<'m>,
    (geometry, extra_read): (&Geometry, ExtraRead),
    extras: &[ExtraReadIo<'m>],
    groups: &[&OperandCollectorsIo<'m>],
    mrf: &MainRegisterFileIo<'m>,
) {
    let none = m.lit(geometry.banks, 0);
    let name = |name: &str, number: usize| numbered(name, extras.len(), number);
    let all: Vec<Extra<'m>> = (extras.iter().enumerate())
        .map(|(number, extra)| {
            let wanted = extra.valid_i.replicate(geometry.banks) & geometry.bank(m, extra.register_i);
            let comes_first = match extra_read {
                ExtraRead::InTurn => m.register(name("extra_read_lost", number), 1).reset(0),
                ExtraRead::BeforeOperands => m.lit(1, 1),
                ExtraRead::None | ExtraRead::AfterOperands => m.lit(1, 0),
            };
            let is_turned = extra_read == ExtraRead::InTurn && extras.len() > 1;
            let refused = is_turned.then(|| m.register(name("extra_read_refused", number), 1).reset(0));
            let kept = wanted & comes_first.replicate(geometry.banks);
            Extra { wanted, comes_first, refused, kept: kept.named(name("extra_read_taken", number)) }
        })
        .collect();
    // The banks that operands have to leave to extra reads.
    let taken = all.iter().fold(none, |taken, extra| taken | extra.kept);
    let read = groups.iter().fold(none, |read, group| {
        for (bank, busy) in group.bank_busy_i.iter().enumerate() {
            busy.set((taken | read).bit(bank));
        }
        read | m.cat(group.read.iter().map(|read| read.valid_o))
    });
    let mut granted = none;
    let mut grants = Vec::new();
    for (number, (extra, port)) in all.iter().zip(extras).enumerate() {
        let before = (0..all.len()).filter(|&other| other != number).fold(none, |before, other| {
            let precedes = all[other].precedes(m, extra, other < number);
            before | (all[other].wanted & precedes.replicate(geometry.banks))
        });
        let grant = (extra.wanted & !read & !before).named(name("extra_read_banks", number));
        port.ready_o.set(grant.any());
        let bank = m.register(name("extra_read_bank", number), geometry.banks).reset(0);
        bank.set(grant);
        let value = bank.one_hot_select(m.cat(mrf.read.iter().map(|read| read.value_o)));
        port.value_o.set(value).valid_when(bank.any());
        if extra_read == ExtraRead::InTurn {
            extra.comes_first.set((extra.wanted & read).any());
        }
        if let Some(refused) = extra.refused {
            refused.set(port.valid_i & !grant.any());
        }
        granted = granted | grant;
        grants.push(grant);
    }
    for (bank, port) in mrf.read.iter().enumerate() {
        let reads = |group: &&OperandCollectorsIo<'m>| group.read[bank].valid_o;
        let (first, others) = (&groups[0].read[bank], &groups[1..]);
        let (mut valid, mut row, mut lanes) = (first.valid_o, first.row_o, first.lanes_o);
        for group in others {
            let other = &group.read[bank];
            (row, lanes) = (valid.mux(row, other.row_o), valid.mux(lanes, other.lanes_o));
            valid = valid | reads(group);
        }
        for (extra, grant) in extras.iter().zip(&grants) {
            let is_extra = grant.bit(bank);
            row = is_extra.mux(geometry.row(extra.register_i), row);
            lanes = is_extra.mux(m.ones(geometry.lanes), lanes);
            valid = valid | is_extra;
        }
        port.valid_i.set(valid);
        port.row_i.set(row);
        port.lanes_i.set(lanes);
        groups.iter().for_each(|group| {
            group.read[bank].value_i.set(port.value_o);
        });
    }
    m.invariant("operands_leave_a_bank_only_to_an_extra_read_that_comes_first", !(taken & !granted).any());
    m.invariant("a_bank_reads_for_one_at_a_time", {
        let twice = grants.iter().enumerate().fold(granted & read, |twice, (number, &grant)| {
            grants[..number].iter().fold(twice, |twice, &other| twice | (grant & other))
        });
        !twice.any()
    });
    if let ([extra], [grant], ExtraRead::InTurn) = (&all[..], &grants[..], extra_read) {
        let waits = extra.comes_first & extras[0].valid_i;
        m.invariant("an_extra_read_waits_a_cycle_at_most", waits.implies(grant.any()));
    }
}

/// An extra read.
#[derive(Clone, Copy)]
struct Extra<'m> {
    /// Its bank, one-hot.
    wanted: Signal<'m>,
    /// It comes before operands; in turn, because they had its bank in the cycle before.
    comes_first: Signal<'m>,
    /// Of several that take turns: it was refused in the cycle before.
    refused: Option<Signal<'m>>,
    /// Its bank, if it comes first.
    kept: Signal<'m>,
}

impl<'m> Extra<'m> {
    /// Whether it comes before another: the one that was refused does, or else the one with the lower number.
    fn precedes(&self, m: &Module<'m>, other: &Extra<'m>, is_lower: bool) -> Signal<'m> {
        match (self.refused, other.refused, is_lower) {
            (Some(own), Some(other), true) => own | !other,
            (Some(own), Some(other), false) => own & !other,
            (.., is_lower) => m.lit(1, u64::from(is_lower)),
        }
    }
}
