//! Two groups of operand collectors in front of one main register file: what they share, and who comes first.

use super::banked_register_file::{IssueIo, SourceIo};
use super::main_register_file::MainRegisterFileIo;
use super::operand_collectors::OperandCollectorsIo;
use crate::rtl::{Module, Signal};

/// Instructions taken and dispatched a cycle at most: one to and from each group.
pub(crate) const WAYS: usize = 2;

/// How two instructions, in program order, go to the groups.
pub(crate) struct Dealt<'m> {
    /// Whether each can be taken.
    pub ready: [Signal<'m>; WAYS],
    /// Whether each is taken.
    pub taken: [Signal<'m>; WAYS],
    /// The first goes to the second group, and the second to the first.
    pub crossed: Signal<'m>,
}

/// Deals instructions to the groups in turn; the second is taken only together with the first.
pub(crate) fn deal<'m>(
    m: &Module<'m>,
    issue: &[IssueIo<'m>],
    groups: &[OperandCollectorsIo<'m>],
) -> Dealt<'m> {
    // The group that the next instruction goes to.
    let turn = m.register("turn", 1).reset(0);
    let ready = [groups[0].issue.ready_o, groups[1].issue.ready_o];
    let first_ready = turn.mux(ready[1], ready[0]);
    let first = (issue[0].valid_i & first_ready).named("first_taken");
    let second_ready = first & turn.mux(ready[0], ready[1]);
    let second = (issue[1].valid_i & second_ready).named("second_taken");
    turn.set(turn ^ first ^ second);

    for (number, group) in groups.iter().enumerate() {
        let takes_first = takes_first(turn, number);
        let choose = |of: fn(&IssueIo<'m>) -> Signal<'m>| takes_first.mux(of(&issue[0]), of(&issue[1]));
        group.issue.valid_i.set(takes_first.mux(first, second));
        group.issue.id_i.set(choose(|issue| issue.id_i));
        group.issue.unit_i.set(choose(|issue| issue.unit_i));
        for (k, source) in group.issue.source.iter().enumerate() {
            let choose_source = |of: fn(&SourceIo<'m>) -> Signal<'m>| {
                takes_first.mux(of(&issue[0].source[k]), of(&issue[1].source[k]))
            };
            source.valid_i.set(choose_source(|source| source.valid_i));
            source.register_i.set(choose_source(|source| source.register_i));
            source.lanes_i.set(choose(|issue| issue.active_i));
        }
    }
    Dealt { ready: [first_ready, second_ready], taken: [first, second], crossed: turn }
}

/// Whether a group takes the first of two instructions.
pub(crate) fn takes_first<'m>(crossed: Signal<'m>, group: usize) -> Signal<'m> {
    if group == 0 { !crossed } else { crossed }
}

/// A unit that the first group dispatches to is not ready for the second.
pub(crate) fn share_units<'m>(unit_ready: Signal<'m>, groups: &[OperandCollectorsIo<'m>]) {
    let units = unit_ready.width();
    let mut ready = unit_ready;
    for group in groups {
        group.unit_ready_i.set(ready);
        let dispatch = &group.dispatch;
        let taken = dispatch.valid_o.replicate(units) & dispatch.unit_o.decode(units);
        ready = ready & !taken;
    }
}

/// The first group reads from any bank, the second from those that are left over.
pub(crate) fn share_banks<'m>(mrf: &MainRegisterFileIo<'m>, groups: &[OperandCollectorsIo<'m>]) {
    let (first, second) = (&groups[0], &groups[1]);
    for (b, bank) in mrf.read.iter().enumerate() {
        let (read, other) = (&first.read[b], &second.read[b]);
        second.bank_busy_i[b].set(read.valid_o);
        bank.valid_i.set(read.valid_o | other.valid_o);
        bank.row_i.set(read.valid_o.mux(read.row_o, other.row_o));
        bank.lanes_i.set(read.valid_o.mux(read.lanes_o, other.lanes_o));
        read.value_i.set(bank.value_o);
        other.value_i.set(bank.value_o);
    }
}

/// Whether a group has still to read the register that a writer is about to write.
pub(crate) fn blocked<'m>(
    m: &Module<'m>,
    groups: &[OperandCollectorsIo<'m>],
    writer: usize,
    register: Signal<'m>,
) -> Signal<'m> {
    groups.iter().fold(m.lit(1, 0), |blocked, group| {
        group.write[writer].register_i.set(register);
        blocked | group.write[writer].blocked_o
    })
}
