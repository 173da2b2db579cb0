//! One or two groups of operand collectors in front of one main register file: what they share, and who comes first.

use super::banked_register_file::{IssueIo, SourceIo};
use super::main_register_file::MainRegisterFileIo;
use super::operand_collectors::OperandCollectorsIo;
use super::ports::RegisterWriteIo;
use crate::rtl::{Module, Signal};

/// Instructions taken and dispatched a cycle at most: one to and from each group.
pub(crate) const WAYS: usize = 2;

/// The name of a part of a circuit for `issues` instructions a cycle, the `number`th of its kind: an only one has no
/// number.
pub(crate) fn numbered(name: &str, issues: usize, number: usize) -> String {
    if issues > 1 { format!("{name}{number}") } else { name.to_owned() }
}

/// How instructions, in program order, go to the groups.
pub(crate) struct Dealt<'m> {
    /// Whether each can be taken.
    pub ready: Vec<Signal<'m>>,
    /// Whether each is taken.
    pub taken: Vec<Signal<'m>>,
    /// The first goes to the second group, and the second to the first; `None` with one group.
    pub crossed: Option<Signal<'m>>,
}

/// Which of the instructions goes to a group.
#[derive(Clone, Copy)]
pub(crate) struct Choice<'m> {
    /// The first of two; `None` if there is only one.
    first: Option<Signal<'m>>,
}

impl<'m> Choice<'m> {
    /// For group `group`, if instructions are `crossed`.
    pub fn new(crossed: Option<Signal<'m>>, group: usize) -> Choice<'m> {
        Choice { first: crossed.map(|crossed| if group == 0 { !crossed } else { crossed }) }
    }

    /// What the instruction says, of what each of them says.
    pub fn of(self, each: impl Fn(usize) -> Signal<'m>) -> Signal<'m> {
        match self.first {
            Some(first) => first.mux(each(0), each(1)),
            None => each(0),
        }
    }
}

/// Deals instructions that are `valid` to groups that are `ready`, as many, in turn; the second is taken only together
/// with the first.
pub(crate) fn take_turns<'m>(m: &Module<'m>, valid: &[Signal<'m>], ready: &[Signal<'m>]) -> Dealt<'m> {
    let &[first_ready, second_ready] = ready else {
        return Dealt { ready: vec![ready[0]], taken: vec![valid[0] & ready[0]], crossed: None };
    };
    // The group that the next instruction goes to.
    let turn = m.register("turn", 1).reset(0);
    let ready = [first_ready, second_ready];
    let first_ready = turn.mux(ready[1], ready[0]);
    let first = (valid[0] & first_ready).named("first_taken");
    let second_ready = first & turn.mux(ready[0], ready[1]);
    let second = (valid[1] & second_ready).named("second_taken");
    turn.set(turn ^ first ^ second);
    Dealt { ready: vec![first_ready, second_ready], taken: vec![first, second], crossed: Some(turn) }
}

/// Takes each of two instructions that are `valid` if its group is `ready`. Neither waits for the other; in the cycle after
/// one was offered they go to the groups the other way round.
fn take_each<'m>(m: &Module<'m>, valid: [Signal<'m>; WAYS], ready: [Signal<'m>; WAYS]) -> Dealt<'m> {
    let turn = m.register("turn", 1).reset(0);
    let ready = vec![turn.mux(ready[1], ready[0]), turn.mux(ready[0], ready[1])];
    let taken = valid.iter().zip(&ready).map(|(&valid, &ready)| valid & ready).collect();
    turn.set(turn ^ (valid[0] | valid[1]));
    Dealt { ready, taken, crossed: Some(turn) }
}

/// Deals instructions of one scheduler to the groups of collectors in turn.
pub(crate) fn deal<'m>(
    m: &Module<'m>,
    issue: &[IssueIo<'m>],
    groups: &[OperandCollectorsIo<'m>],
) -> Dealt<'m> {
    let valid: Vec<_> = issue.iter().map(|issue| issue.valid_i).collect();
    let ready: Vec<_> = groups.iter().map(|group| group.issue.ready_o).collect();
    let dealt = take_turns(m, &valid, &ready);
    offer(issue, groups, &dealt);
    dealt
}

/// Deals instructions of two schedulers, one each, to two groups of collectors. Gives whether each can be taken.
pub(crate) fn deal_each<'m>(
    m: &Module<'m>,
    issue: &[IssueIo<'m>],
    groups: &[OperandCollectorsIo<'m>],
) -> Vec<Signal<'m>> {
    let valid = [issue[0].valid_i, issue[1].valid_i];
    let ready = [groups[0].issue.ready_o, groups[1].issue.ready_o];
    let dealt = take_each(m, valid, ready);
    offer(issue, groups, &dealt);
    dealt.ready
}

/// Offers each group the instruction that is dealt to it.
fn offer<'m>(issue: &[IssueIo<'m>], groups: &[OperandCollectorsIo<'m>], dealt: &Dealt<'m>) {
    for (number, group) in groups.iter().enumerate() {
        let choice = Choice::new(dealt.crossed, number);
        let choose = |of: fn(&IssueIo<'m>) -> Signal<'m>| choice.of(|way| of(&issue[way]));
        group.issue.valid_i.set(choice.of(|way| dealt.taken[way]));
        group.issue.id_i.set(choose(|issue| issue.id_i));
        group.issue.unit_i.set(choose(|issue| issue.unit_i));
        for (k, source) in group.issue.source.iter().enumerate() {
            let choose_source =
                |of: fn(&SourceIo<'m>) -> Signal<'m>| choice.of(|way| of(&issue[way].source[k]));
            source.valid_i.set(choose_source(|source| source.valid_i));
            source.register_i.set(choose_source(|source| source.register_i));
            source.lanes_i.set(choose(|issue| issue.active_i));
        }
    }
}

/// A unit that the first group dispatches to is not ready for the second, unless it `takes_two`.
pub(crate) fn share_units<'m>(
    unit_ready: Signal<'m>,
    takes_two: Option<Signal<'m>>,
    groups: &[OperandCollectorsIo<'m>],
) {
    let units = unit_ready.width();
    let mut ready = unit_ready;
    for (number, group) in groups.iter().enumerate() {
        group.unit_ready_i.set(ready);
        if number + 1 < groups.len() {
            let dispatch = &group.dispatch;
            let taken = dispatch.valid_o.replicate(units) & dispatch.unit_o.decode(units);
            ready = ready & takes_two.map_or(!taken, |takes_two| !taken | takes_two);
        }
    }
}

/// The first group reads from any bank, the second from those that are left over.
pub(crate) fn share_banks<'m>(mrf: &MainRegisterFileIo<'m>, groups: &[OperandCollectorsIo<'m>]) {
    for (b, bank) in mrf.read.iter().enumerate() {
        let read = &groups[0].read[b];
        read.value_i.set(bank.value_o);
        let (mut valid, mut row, mut lanes) = (read.valid_o, read.row_o, read.lanes_o);
        if let [_, second] = groups {
            let other = &second.read[b];
            second.bank_busy_i[b].set(read.valid_o);
            other.value_i.set(bank.value_o);
            valid = valid | other.valid_o;
            row = read.valid_o.mux(row, other.row_o);
            lanes = read.valid_o.mux(lanes, other.lanes_o);
        }
        bank.valid_i.set(valid);
        bank.row_i.set(row);
        bank.lanes_i.set(lanes);
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

/// Writes registers, as soon as no group has still to read them.
pub(crate) fn write<'m>(
    m: &Module<'m>,
    writes: &[&RegisterWriteIo<'m>],
    mrf: &MainRegisterFileIo<'m>,
    groups: &[OperandCollectorsIo<'m>],
) {
    for (w, (write, port)) in writes.iter().zip(&mrf.write).enumerate() {
        let blocked = blocked(m, groups, w, write.register_i);
        port.valid_i.set(write.valid_i & !blocked);
        port.register_i.set(write.register_i);
        port.lanes_i.set(write.lanes_i);
        port.value_i.set(write.value_i);
        write.ready_o.set(port.ready_o & !blocked);
    }
}
