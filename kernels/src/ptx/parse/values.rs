//! Literals, constant expressions and initialisers.

use super::super::ast::{Initial, Number};
use super::super::error::Complaint;
use super::super::lex::TokenKind;
use super::Parser;

/// Depth of parentheses and braces at most.
const MAX_DEPTH: u32 = 16;

/// Elements that an initialiser gives.
pub(super) fn elements(initial: &[Initial<'_>]) -> u64 {
    initial
        .iter()
        .map(|element| match element {
            Initial::Zeros(count) => *count,
            Initial::Number(_) | Initial::Symbol { .. } => 1,
        })
        .sum()
}

impl<'a> Parser<'a, '_> {
    /// Whether a literal or constant expression starts here.
    pub(super) fn at_number(&self) -> bool {
        matches!(
            self.kind(),
            TokenKind::Int(_)
                | TokenKind::Single(_)
                | TokenKind::Double(_)
                | TokenKind::Mark('-' | '+' | '~' | '(' | '!')
        )
    }

    /// A literal or constant expression.
    pub(super) fn number(&mut self) -> Result<Number, Complaint> {
        let negative = self.is_mark('-');
        let literal = if negative { self.next_kind() } else { self.kind() };
        match literal {
            TokenKind::Single(bits) => {
                self.skip(1 + usize::from(negative));
                Ok(Number::Single(bits ^ (u32::from(negative) << 31)))
            }
            TokenKind::Double(value) => {
                self.skip(1 + usize::from(negative));
                Ok(Number::Double(if negative { -value } else { value }))
            }
            _other => self.integer().map(Number::Int),
        }
    }

    fn skip(&mut self, tokens: usize) {
        for _ in 0..tokens {
            self.bump();
        }
    }

    /// An integer constant expression: `+ - * / << >> & | ^ ~` and parentheses, as in C.
    pub(super) fn integer(&mut self) -> Result<i128, Complaint> {
        self.binary(0, 0)
    }

    fn binary(&mut self, lowest: u32, depth: u32) -> Result<i128, Complaint> {
        let mut left = self.unary(depth)?;
        while let Some((operator, binding)) = self.operator().filter(|&(_, binding)| binding > lowest) {
            self.skip(if matches!(operator, '<' | '>') { 2 } else { 1 });
            let right = self.binary(binding, depth)?;
            left = apply(operator, left, right).ok_or_else(|| {
                format!("the constant expression {left} {operator} {right} has no value in 64 bits")
            })?;
        }
        Ok(left)
    }

    /// The binary operator at hand and how strongly it binds.
    fn operator(&self) -> Option<(char, u32)> {
        let TokenKind::Mark(mark) = self.kind() else {
            return None;
        };
        match mark {
            '*' | '/' => Some((mark, 6)),
            '+' | '-' => Some((mark, 5)),
            '<' | '>' if self.next_kind() == TokenKind::Mark(mark) => Some((mark, 4)),
            '&' => Some((mark, 3)),
            '^' => Some((mark, 2)),
            '|' => Some((mark, 1)),
            _other => None,
        }
    }

    fn unary(&mut self, depth: u32) -> Result<i128, Complaint> {
        if depth > MAX_DEPTH {
            return Err(format!("a constant expression is nested deeper than {MAX_DEPTH}"));
        }
        match self.kind() {
            TokenKind::Int(value) => {
                self.bump();
                Ok(i128::from(value))
            }
            TokenKind::Mark('-') => {
                self.bump();
                Ok(-self.unary(depth + 1)?)
            }
            TokenKind::Mark('+') => {
                self.bump();
                self.unary(depth + 1)
            }
            TokenKind::Mark('~') => {
                self.bump();
                Ok(i128::from(!(self.unary(depth + 1)? as i64)))
            }
            TokenKind::Mark('!') => {
                self.bump();
                Ok(i128::from(self.unary(depth + 1)? == 0))
            }
            TokenKind::Mark('(') => {
                self.bump();
                let value = self.binary(0, depth + 1)?;
                self.mark(')')?;
                Ok(value)
            }
            _other => Err(self.expected("a number")),
        }
    }

    /// What follows `=`: a value or nested braces. Inner braces are filled up with zeros to their dimension.
    pub(super) fn initialiser(
        &mut self,
        dimensions: &[u64],
        unsized_first: bool,
    ) -> Result<Vec<Initial<'a>>, Complaint> {
        let mut elements = Vec::new();
        if self.is_mark('{') {
            let inner = if unsized_first { dimensions } else { dimensions.get(1..).unwrap_or(&[]) };
            self.braces(inner, &mut elements, 0)?;
        } else {
            elements.push(self.initial()?);
        }
        Ok(elements)
    }

    fn braces(
        &mut self,
        inner: &[u64],
        elements: &mut Vec<Initial<'a>>,
        depth: u32,
    ) -> Result<(), Complaint> {
        if depth > MAX_DEPTH {
            return Err(format!("an initialiser is nested deeper than {MAX_DEPTH}"));
        }
        self.mark('{')?;
        while !self.take_mark('}') {
            if self.is_mark('{') {
                let before = self::elements(elements);
                self.braces(inner.get(1..).unwrap_or(&[]), elements, depth + 1)?;
                let full = inner.iter().fold(1_u64, |product, &size| product.saturating_mul(size));
                let given = self::elements(elements) - before;
                if given < full && !inner.is_empty() {
                    elements.push(Initial::Zeros(full - given));
                }
            } else {
                elements.push(self.initial()?);
            }
            if !self.is_mark('}') {
                self.mark(',')?;
            }
        }
        Ok(())
    }

    fn initial(&mut self) -> Result<Initial<'a>, Complaint> {
        if self.at_number() {
            return self.number().map(Initial::Number);
        }
        let name = self.name("a number or the name of a variable")?;
        if name == "generic" && self.take_mark('(') {
            let name = self.name("the name of a variable")?;
            self.mark(')')?;
            let addend = self.addend()?;
            return Ok(Initial::Symbol { name, addend, generic: true });
        }
        let addend = self.addend()?;
        Ok(Initial::Symbol { name, addend, generic: false })
    }

    /// `+8`, `-8`, `+-8` or nothing.
    pub(super) fn addend(&mut self) -> Result<i64, Complaint> {
        if !self.is_mark('+') && !self.is_mark('-') {
            return Ok(0);
        }
        let value = self.integer()?;
        i64::try_from(value)
            .map_err(|_| format!("found the offset {value}; accepted: 64-bit signed integers"))
    }
}

fn apply(operator: char, left: i128, right: i128) -> Option<i128> {
    let value = match operator {
        '*' => left.checked_mul(right),
        '/' => left.checked_div(right),
        '+' => left.checked_add(right),
        '-' => left.checked_sub(right),
        '<' => u32::try_from(right).ok().filter(|&by| by < 64).map(|by| left << by),
        '>' => u32::try_from(right).ok().filter(|&by| by < 64).map(|by| left >> by),
        '&' => Some(left & right),
        '^' => Some(left ^ right),
        _or => Some(left | right),
    };
    value.filter(|value| value.unsigned_abs() <= 1 << 64)
}
