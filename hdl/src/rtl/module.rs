//! A module under construction: where constants, wires, registers, tables and sub-circuits come from.

use std::cell::RefCell;

use super::assign::{Scope, TargetKind};
use super::bits::Bits;
use super::builder::{ModuleBuilder, POISON, caller};
use super::circuit::Circuit;
use super::elaborate::{InstancePort, add_instance, add_netlist};
use super::error::Problem;
use super::netlist::{self, Invariant, KeptBy, Netlist, NodeId, Op, RegisterId, SourceLine};
use super::operand::Literal;
use super::ports::{Bundle, Connect};
use super::signal::{Signal, clamp};
use super::table::{Record, Table};

/// The module that a circuit describes itself into.
#[derive(Clone, Copy)]
pub struct Module<'m> {
    pub(super) arena: &'m RefCell<ModuleBuilder>,
}

impl<'m> Module<'m> {
    /// A constant of `width` bits.
    #[track_caller]
    pub fn lit(&self, width: usize, value: impl Literal) -> Signal<'m> {
        let source = caller();
        self.make(|b| match b.size(|| "the width of a constant".to_string(), width, source) {
            Some(width) => match value.to_bits(width) {
                Some(bits) => b.constant(bits, source),
                None => b.error(source, Problem::ConstantTooWide { value: value.text(), width }),
            },
            None => POISON,
        })
    }

    /// `width` ones.
    #[track_caller]
    pub fn ones(&self, width: usize) -> Signal<'m> {
        !self.lit(width, 0)
    }

    /// A value assigned later, with [`set`](Signal::set).
    #[track_caller]
    pub fn wire(&self, name: impl Into<String>, width: usize) -> Signal<'m> {
        let (source, name) = (caller(), name.into());
        self.make(|b| {
            b.take_name(&name, "wire", source);
            let Some(width) = b.size(|| format!("the width of `{name}`"), width, source) else {
                return POISON;
            };
            let node = b.fresh_node(Op::Wire(POISON), width, Some(name.clone()), source);
            b.target(node, TargetKind::Wire, name, source);
            node
        })
    }

    /// A register of `width` bits; say `.reset(value)` or `.no_reset()` to have it.
    #[track_caller]
    pub fn register(&self, name: impl Into<String>, width: usize) -> NewRegister<'m> {
        NewRegister { m: *self, name: name.into(), width, source: caller() }
    }

    /// A table of `depth` rows of a record whose widths follow from `params`: see [`Table`].
    #[track_caller]
    pub fn table<R: Record>(
        &self,
        name: impl Into<String>,
        depth: usize,
        params: &R::Params,
    ) -> Table<'m, R> {
        Table::new(*self, name.into(), depth, params, caller())
    }

    /// The parts joined, the first in the lowest bits.
    #[track_caller]
    pub fn cat(&self, parts: impl IntoIterator<Item = Signal<'m>>) -> Signal<'m> {
        let source = caller();
        let parts: Vec<Signal<'m>> = parts.into_iter().collect();
        self.make(|b| {
            if parts.is_empty() {
                return b.error(source, Problem::Empty { operation: "cat" });
            }
            let width: u64 = parts.iter().map(|part| u64::from(b.width(part.id))).sum();
            let ids = parts.iter().map(|part| part.id).collect();
            b.node(Op::Concat(ids), clamp(width as usize), source)
        })
    }

    /// Assignments and table updates inside `body` happen only where `condition` (one bit) is 1.
    #[track_caller]
    pub fn when(&self, condition: Signal<'m>, body: impl FnOnce()) -> When<'m> {
        let outer = self.arena.borrow().scopes.clone();
        When::new(*self, outer, condition, caller(), body)
    }

    /// A sub-circuit, seen from outside: its inputs are to be set, its outputs can be read. Every output is to
    /// be read, or [`ignore`](Signal::ignore)d.
    #[track_caller]
    pub fn instance<C: Circuit>(&self, name: impl Into<String>, circuit: C) -> C::Io<'m> {
        add_instance(*self, name.into(), circuit, caller())
    }

    /// A sub-circuit that is elaborated already, as [`instance`](Module::instance), for those who do not know
    /// its type: its ports in order. The design shares modules that are equal; it must not describe another one
    /// of the same name.
    #[track_caller]
    pub fn instance_of(&self, name: impl Into<String>, netlist: &Netlist) -> Vec<InstancePort<'m>> {
        add_netlist(*self, name.into(), netlist, caller())
    }

    /// Gives the ports of a sub-circuit to the circuit around it: `outer` are its own, `inner` are equal ones of the
    /// sub-circuit. The inputs come from outside, the outputs from inside; when an output is meaningful is not passed
    /// on.
    #[track_caller]
    pub fn pass_through<B: Bundle<'m>>(&self, outer: &B, inner: &B) {
        outer.pass_through(self, inner);
    }

    /// Connects ports of two sub-circuits, or of two sides of one, that mirror each other: the outputs of each drive the
    /// inputs of the other.
    #[track_caller]
    pub fn connect<A: Connect<'m, B>, B>(&self, one: &A, other: &B) {
        one.connect(self, other);
    }

    /// An error unless two lists of ports or groups that are to be connected have one length.
    #[doc(hidden)]
    #[track_caller]
    pub fn same_length(&self, left: usize, right: usize) {
        if left != right {
            self.arena.borrow_mut().error(caller(), Problem::Lengths { left, right });
        }
    }

    /// A property that holds in every cycle outside reset, named as a sentence.
    #[track_caller]
    pub fn invariant(&self, name: impl Into<String>, condition: Signal<'m>) {
        self.property(name.into(), condition, KeptBy::Circuit, caller());
    }

    /// What the circuit relies on at its inputs, in every cycle outside reset, named as a sentence. Random stimulus is
    /// drawn so that it holds, a proof of the circuit takes it for granted, and a proof of a circuit around this one has
    /// to show it. It must be possible to keep it: whatever the state is, some inputs do.
    #[track_caller]
    pub fn assumption(&self, name: impl Into<String>, condition: Signal<'m>) {
        self.property(name.into(), condition, KeptBy::Environment, caller());
    }

    #[track_caller]
    fn property(&self, name: String, condition: Signal<'m>, kept_by: KeptBy, source: SourceLine) {
        let (kind, place) = match kept_by {
            KeptBy::Circuit => ("invariant", "an invariant"),
            KeptBy::Environment | KeptBy::Surroundings => ("assumption", "an assumption"),
        };
        let condition = condition.one_bit(place);
        let mut b = self.arena.borrow_mut();
        b.take_name(&name, kind, source);
        b.module.invariants.push(Invariant { name, condition: condition.id, kept_by, source });
    }

    pub(super) fn make(&self, f: impl FnOnce(&mut ModuleBuilder) -> NodeId) -> Signal<'m> {
        let id = f(&mut self.arena.borrow_mut());
        Signal { m: self.arena, id }
    }
}

/// A register whose reset has not been decided.
#[must_use = "say `.reset(value)` or `.no_reset()`"]
pub struct NewRegister<'m> {
    m: Module<'m>,
    name: String,
    width: usize,
    source: SourceLine,
}

impl<'m> NewRegister<'m> {
    /// The register: its current value to read, its next value to [`set`](Signal::set); `value` after reset.
    #[track_caller]
    pub fn reset(self, value: impl Literal) -> Signal<'m> {
        let reset = |b: &mut ModuleBuilder, width| match value.to_bits(width) {
            Some(bits) => Some(bits),
            None => {
                b.error(self.source, Problem::ConstantTooWide { value: value.text(), width });
                None
            }
        };
        self.finish(reset)
    }

    /// As [`reset`](NewRegister::reset), but the register holds anything until it is first assigned.
    pub fn no_reset(self) -> Signal<'m> {
        self.finish(|_, _| None)
    }

    fn finish(&self, reset: impl FnOnce(&mut ModuleBuilder, u32) -> Option<Bits>) -> Signal<'m> {
        let NewRegister { m, name, width, source } = self;
        m.make(|b| {
            b.take_register_name(name, *source);
            let Some(width) = b.size(|| format!("the width of `{name}`"), *width, *source) else {
                return POISON;
            };
            let reset = reset(b, width);
            let register = RegisterId(b.module.registers.len() as u32);
            let (name, source, enable) = (name.clone(), *source, None);
            let node = b.fresh_node(Op::Register(register), width, None, source);
            b.target(node, TargetKind::Register(register), name.clone(), source);
            b.module.registers.push(netlist::Register { name, width, reset, next: node, enable, source });
            node
        })
    }
}

/// A conditional block just closed; what happens otherwise can follow.
pub struct When<'m> {
    m: Module<'m>,
    outer: Vec<Scope>,
    block: u32,
    condition: NodeId,
}

impl<'m> When<'m> {
    #[track_caller]
    fn new(
        m: Module<'m>,
        outer: Vec<Scope>,
        condition: Signal<'m>,
        source: SourceLine,
        body: impl FnOnce(),
    ) -> When<'m> {
        let condition = condition.one_bit("the condition of `when`").id;
        let block = {
            let b = &mut *m.arena.borrow_mut();
            b.blocks += 1;
            b.blocks
        };
        let when = When { m, outer, block, condition };
        when.arm(true, source, body);
        when
    }

    /// What happens where the condition is 0.
    #[track_caller]
    pub fn otherwise(self, body: impl FnOnce()) {
        self.arm(false, caller(), body);
    }

    /// What happens where the condition is 0 and `condition` is 1.
    #[track_caller]
    pub fn else_when(self, condition: Signal<'m>, body: impl FnOnce()) -> When<'m> {
        let source = caller();
        let mut otherwise = Vec::new();
        self.arm(false, source, || otherwise.clone_from(&self.m.arena.borrow().scopes));
        let before = std::mem::replace(&mut self.m.arena.borrow_mut().scopes, otherwise.clone());
        let when = When::new(self.m, otherwise, condition, source, body);
        self.m.arena.borrow_mut().scopes = before;
        when
    }

    /// Runs `body` inside one arm.
    fn arm(&self, arm: bool, source: SourceLine, body: impl FnOnce()) {
        let before = {
            let b = &mut *self.m.arena.borrow_mut();
            let before = std::mem::replace(&mut b.scopes, self.outer.clone());
            b.enter(self.block, self.condition, arm, source);
            before
        };
        body();
        self.m.arena.borrow_mut().scopes = before;
    }
}
