//! What stands on the right of an operation: a signal, or a number that takes the width it needs there.

use super::bits::Bits;
use super::error::Problem;
use super::signal::Signal;

/// A number that a constant can be made from.
pub trait Literal {
    /// As `width` bits; `None` if it does not fit.
    fn to_bits(&self, width: u32) -> Option<Bits>;
    /// As text, for error messages.
    fn text(&self) -> String;
}

macro_rules! unsigned_literal {
    ($($number:ty),*) => {$(
        impl Literal for $number {
            fn to_bits(&self, width: u32) -> Option<Bits> { Bits::new(width, u64::from(*self)) }
            fn text(&self) -> String { self.to_string() }
        }
    )*};
}
unsigned_literal!(bool, u8, u16, u32, u64);

impl Literal for usize {
    fn to_bits(&self, width: u32) -> Option<Bits> {
        Bits::new(width, *self as u64)
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

/// The type of an integer literal; a negative one never fits.
impl Literal for i32 {
    fn to_bits(&self, width: u32) -> Option<Bits> {
        Bits::new(width, u64::try_from(*self).ok()?)
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Literal for Bits {
    fn to_bits(&self, width: u32) -> Option<Bits> {
        (self.width() == width).then(|| self.clone())
    }
    fn text(&self) -> String {
        format!("{} of {} bits", self.to_biguint(), self.width())
    }
}

/// A signal, or a number that becomes a constant as wide as the signal beside it.
pub trait Operand<'m> {
    /// The operand, next to `beside`.
    #[track_caller]
    fn signal_beside(self, beside: Signal<'m>) -> Signal<'m>;
}

impl<'m> Operand<'m> for Signal<'m> {
    fn signal_beside(self, _: Signal<'m>) -> Signal<'m> {
        self
    }
}

impl<'m, L: Literal> Operand<'m> for L {
    #[track_caller]
    fn signal_beside(self, beside: Signal<'m>) -> Signal<'m> {
        let source = super::builder::caller();
        beside.make(|b| {
            if beside.is_poison() {
                return beside.id;
            }
            let width = b.width(beside.id);
            match self.to_bits(width) {
                Some(bits) => b.constant(bits, source),
                None => b.error(source, Problem::ConstantTooWide { value: self.text(), width }),
            }
        })
    }
}
