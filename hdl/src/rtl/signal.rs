//! Signals: values of a module, and the operations on whole words.

use std::cell::RefCell;
use std::fmt;
use std::ops;

use super::assign::TargetKind;
use super::builder::{ModuleBuilder, POISON, caller};
use super::error::Problem;
use super::netlist::{NodeId, Op};
use super::operand::Operand;

/// A value of a module: an unsigned bit vector of a fixed width. Copyable; belongs to its module for as long
/// as the description runs.
///
/// Operators: `&` `|` `^` `!`, and `+` `-` `*` modulo 2^width, `<<` `>>` by a signal of any width.
/// Operands of one operation have one width, except where the operation says otherwise; a number takes the
/// width of the signal beside it. Nothing is extended or cut silently: see [`zext`](Signal::zext),
/// [`low`](Signal::low).
///
/// A signal cannot leave the module it belongs to:
///
/// ```compile_fail
/// use warpfile_hdl::rtl::{Module, Signal};
/// fn leak<'m>(m: &Module<'m>) -> Signal<'static> {
///     m.lit(1, 0)
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Signal<'m> {
    pub(super) m: &'m RefCell<ModuleBuilder>,
    pub(super) id: NodeId,
}

/// An input port, `…_i`.
pub type In<'m> = Signal<'m>;
/// An output port, `…_o`.
pub type Out<'m> = Signal<'m>;

impl fmt::Debug for Signal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signal({})", self.with(|b| b.describe(self.id)))
    }
}

impl<'m> Signal<'m> {
    /// Bits.
    pub fn width(self) -> usize {
        self.bits() as usize
    }

    // Comparisons: one bit.

    /// Equal.
    #[track_caller]
    pub fn eq(self, other: impl Operand<'m>) -> Signal<'m> {
        self.compare("eq", other.signal_beside(self), Op::Eq)
    }

    /// Not equal.
    #[track_caller]
    pub fn ne(self, other: impl Operand<'m>) -> Signal<'m> {
        !self.compare("ne", other.signal_beside(self), Op::Eq)
    }

    /// Less than, unsigned.
    #[track_caller]
    pub fn lt(self, other: impl Operand<'m>) -> Signal<'m> {
        self.compare("lt", other.signal_beside(self), Op::Lt)
    }

    /// Less than or equal, unsigned.
    #[track_caller]
    pub fn le(self, other: impl Operand<'m>) -> Signal<'m> {
        !self.compare("le", other.signal_beside(self), |a, b| Op::Lt(b, a))
    }

    /// Greater than, unsigned.
    #[track_caller]
    pub fn gt(self, other: impl Operand<'m>) -> Signal<'m> {
        self.compare("gt", other.signal_beside(self), |a, b| Op::Lt(b, a))
    }

    /// Greater than or equal, unsigned.
    #[track_caller]
    pub fn ge(self, other: impl Operand<'m>) -> Signal<'m> {
        !self.compare("ge", other.signal_beside(self), Op::Lt)
    }

    /// For one-bit signals: the other holds wherever this one does.
    #[track_caller]
    pub fn implies(self, consequence: impl Operand<'m>) -> Signal<'m> {
        let premise = self.one_bit("the premise of `implies`");
        let consequence = consequence.signal_beside(premise);
        !premise | consequence
    }

    // Parts.

    /// The lowest `width` bits.
    #[track_caller]
    pub fn low(self, width: usize) -> Signal<'m> {
        self.slice(0, width)
    }

    /// The highest `width` bits.
    #[track_caller]
    pub fn high(self, width: usize) -> Signal<'m> {
        self.slice(self.width().saturating_sub(width), width)
    }

    /// Bit `index`, counted from the lowest.
    #[track_caller]
    pub fn bit(self, index: usize) -> Signal<'m> {
        self.slice(index, 1)
    }

    /// Bits `low .. low + width`.
    #[track_caller]
    pub fn slice(self, low: usize, width: usize) -> Signal<'m> {
        let (source, own) = (caller(), self.bits());
        self.make(|b| {
            if self.is_poison() {
                return POISON;
            }
            if width == 0 {
                return b.size_error("the width of a slice".to_string(), 0, source);
            }
            if low.checked_add(width).is_none_or(|end| end > own as usize) {
                let value = b.describe(self.id);
                let (low, taken) = (low as u64, width as u64);
                return b.error(source, Problem::SliceBeyond { value, width: own, low, taken });
            }
            b.node(Op::Slice { value: self.id, low: low as u32 }, width as u32, source)
        })
    }

    /// Zeros put above, to `width` bits.
    #[track_caller]
    pub fn zext(self, width: usize) -> Signal<'m> {
        let (source, own) = (caller(), self.bits());
        self.make(|b| {
            if !self.is_poison() && width < own as usize {
                let value = b.describe(self.id);
                return b.error(source, Problem::NotAnExtension { value, width: own, asked: width as u64 });
            }
            b.node(Op::ZeroExtend(self.id), clamp(width), source)
        })
    }

    /// This in the low bits, `high` above it.
    #[track_caller]
    pub fn concat(self, high: Signal<'m>) -> Signal<'m> {
        self.emit(Op::Concat(vec![self.id, high.id]), self.bits().saturating_add(high.bits()))
    }

    /// The signal repeated `times` times, side by side.
    #[track_caller]
    pub fn replicate(self, times: usize) -> Signal<'m> {
        self.emit(Op::Replicate(self.id), clamp(self.width().saturating_mul(times)))
    }

    /// For a one-bit signal: `then` where it is 1, else `otherwise`.
    #[track_caller]
    pub fn mux(self, then: Signal<'m>, otherwise: impl Operand<'m>) -> Signal<'m> {
        let condition = self.one_bit("the condition of `mux`");
        let otherwise = otherwise.signal_beside(then);
        then.binary("mux", otherwise, |then, otherwise| Op::Mux { condition: condition.id, then, otherwise })
    }

    // Reductions: one bit.

    /// 1 if any bit is 1.
    #[track_caller]
    pub fn any(self) -> Signal<'m> {
        self.emit(Op::ReduceOr(self.id), 1)
    }

    /// 1 if all bits are 1.
    #[track_caller]
    pub fn all(self) -> Signal<'m> {
        self.emit(Op::ReduceAnd(self.id), 1)
    }

    /// Exclusive or of all bits.
    #[track_caller]
    pub fn parity(self) -> Signal<'m> {
        self.emit(Op::ReduceXor(self.id), 1)
    }

    // Names and assignment.

    /// The same value under a name of its own, in Verilog and waveforms, as long as something uses it.
    #[track_caller]
    pub fn named(self, name: impl Into<String>) -> Signal<'m> {
        let (source, width, name) = (caller(), self.bits(), name.into());
        self.make(|b| {
            b.take_name(&name, "signal", source);
            match self.is_poison() {
                true => POISON,
                false => b.fresh_node(Op::Wire(self.id), width, Some(name), source),
            }
        })
    }

    /// Assigns an output, a wire, an input of a sub-circuit, or the next value of a register. Inside `when`
    /// the assignment holds under its conditions; of several that hold the last in program order wins. A
    /// register without an assignment that holds keeps its value; anything else needs a default.
    #[track_caller]
    pub fn set(self, value: impl Operand<'m>) -> Assigned<'m> {
        let source = caller();
        let value = value.signal_beside(self);
        self.with(|b| b.assign(self.id, value.id, source));
        Assigned(self)
    }

    /// For an output: it is meaningful only in cycles where `condition` (one bit) is 1. Everywhere else its
    /// value is nobody's business, and may depend on state that has no reset.
    #[track_caller]
    pub fn valid_when(self, condition: Signal<'m>) {
        let source = caller();
        let condition = condition.one_bit("the condition of `valid_when`");
        self.with(|b| {
            if self.is_poison() || condition.is_poison() {
                return;
            }
            match b.targets.get(&self.id).map(|target| target.kind) {
                Some(TargetKind::Output(port)) => {
                    b.module.ports[port.index()].valid_when = Some(condition.id);
                }
                Some(_) | None => {
                    let value = b.describe(self.id);
                    b.error(source, Problem::NotAnOutput { value, needed: "an output of this circuit" });
                }
            }
        });
    }

    /// For an output of a sub-circuit: it is meant that nobody reads it.
    #[track_caller]
    pub fn ignore(self) {
        let source = caller();
        self.with(|b| match b.module.nodes.get(self.id.index()).map(|n| &n.op) {
            Some(&Op::InstanceOutput { instance, port }) => b.ignored.push((instance, port)),
            Some(_) => {
                let value = b.describe(self.id);
                b.error(source, Problem::NotAnOutput { value, needed: "an output of a sub-circuit" });
            }
            None => {}
        });
    }

    // For the operations here and in `vector`.

    pub(super) fn with<R>(self, f: impl FnOnce(&mut ModuleBuilder) -> R) -> R {
        f(&mut self.m.borrow_mut())
    }

    pub(super) fn make(self, f: impl FnOnce(&mut ModuleBuilder) -> NodeId) -> Signal<'m> {
        Signal { m: self.m, id: self.with(f) }
    }

    #[track_caller]
    pub(super) fn emit(self, op: Op, width: u32) -> Signal<'m> {
        let source = caller();
        self.make(|b| b.node(op, width, source))
    }

    pub(super) fn bits(self) -> u32 {
        self.with(|b| b.width(self.id))
    }

    pub(super) fn is_poison(self) -> bool {
        self.id == POISON
    }

    /// This signal if it has one bit, else an error.
    #[track_caller]
    pub(super) fn one_bit(self, place: &str) -> Signal<'m> {
        let source = caller();
        self.make(|b| b.of_width(self.id, 1, || place.to_string(), source))
    }

    /// `op` of two operands of one width, giving that width.
    #[track_caller]
    pub(super) fn binary(
        self,
        operation: &'static str,
        other: Signal<'m>,
        op: impl FnOnce(NodeId, NodeId) -> Op,
    ) -> Signal<'m> {
        let other = self.same_width(operation, other);
        self.emit(op(self.id, other.id), self.bits())
    }

    #[track_caller]
    fn compare(
        self,
        operation: &'static str,
        other: Signal<'m>,
        op: impl FnOnce(NodeId, NodeId) -> Op,
    ) -> Signal<'m> {
        let other = self.same_width(operation, other);
        self.emit(op(self.id, other.id), 1)
    }

    /// `other` if it is as wide as this one, else an error.
    #[track_caller]
    pub(super) fn same_width(self, operation: &'static str, other: Signal<'m>) -> Signal<'m> {
        let source = caller();
        other.make(|b| {
            if self.is_poison() || other.is_poison() {
                return POISON;
            }
            let (left_width, right_width) = (b.width(self.id), b.width(other.id));
            if left_width == right_width {
                return other.id;
            }
            let (left, right) = (b.describe(self.id), b.describe(other.id));
            b.error(source, Problem::OperandWidths { operation, left, left_width, right, right_width })
        })
    }
}

/// An assignment just made: `io.data_o.set(value).valid_when(io.valid_o)`.
#[derive(Clone, Copy, Debug)]
pub struct Assigned<'m>(Signal<'m>);

impl<'m> Assigned<'m> {
    /// See [`Signal::valid_when`].
    #[track_caller]
    pub fn valid_when(self, condition: Signal<'m>) {
        self.0.valid_when(condition);
    }
}

/// A size as the netlist has it; one beyond every limit stays beyond it.
pub(super) fn clamp(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

macro_rules! operator {
    ($trait:ident, $method:ident, $symbol:literal, $op:path) => {
        impl<'m, R: Operand<'m>> ops::$trait<R> for Signal<'m> {
            type Output = Signal<'m>;
            #[track_caller]
            fn $method(self, other: R) -> Signal<'m> {
                self.binary($symbol, other.signal_beside(self), $op)
            }
        }
    };
}
operator!(BitAnd, bitand, "&", Op::And);
operator!(BitOr, bitor, "|", Op::Or);
operator!(BitXor, bitxor, "^", Op::Xor);
operator!(Add, add, "+", Op::Add);
operator!(Sub, sub, "-", Op::Sub);
operator!(Mul, mul, "*", Op::Mul);

/// Shifted towards the high bits by a signal of any width; 0 if that is the width or more.
impl<'m> ops::Shl<Signal<'m>> for Signal<'m> {
    type Output = Signal<'m>;
    #[track_caller]
    fn shl(self, amount: Signal<'m>) -> Signal<'m> {
        self.emit(Op::ShiftLeft(self.id, amount.id), self.bits())
    }
}

/// Shifted towards the low bits by a signal of any width; 0 if that is the width or more.
impl<'m> ops::Shr<Signal<'m>> for Signal<'m> {
    type Output = Signal<'m>;
    #[track_caller]
    fn shr(self, amount: Signal<'m>) -> Signal<'m> {
        self.emit(Op::ShiftRight(self.id, amount.id), self.bits())
    }
}

impl<'m> ops::Not for Signal<'m> {
    type Output = Signal<'m>;
    #[track_caller]
    fn not(self) -> Signal<'m> {
        self.emit(Op::Not(self.id), self.bits())
    }
}
