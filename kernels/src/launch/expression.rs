//! Expressions over named variables: `ceil_div(columns, 16 - 2 * steps)`, `sum(partial) / cells`.
//!
//! `+ - * / %`, comparisons (1 or 0), parentheses, unary minus, decimal numbers, names, and functions. Integers have 64
//! bits and are checked, and their division truncates; with a real number among two operands the other becomes one. What
//! is not finite is an error. Where the host has results of the device before it, an expression reads elements of
//! buffers (`flags[0]`) and their sum, least and greatest.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use super::error::{LaunchError, Origin, suggest};

/// Values of the variables: those of the chosen size, of the loops around a step, and what the host has computed.
pub type Variables = BTreeMap<String, Value>;

/// The value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Integer(i64),
    /// A finite real number.
    Real(f64),
}

impl Value {
    /// As a real number, rounded.
    pub fn real(self) -> f64 {
        match self {
            Value::Integer(value) => value as f64,
            Value::Real(value) => value,
        }
    }

    /// Whether it is not zero.
    pub fn holds(self) -> bool {
        match self {
            Value::Integer(value) => value != 0,
            Value::Real(value) => value != 0.0,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
        }
    }
}

/// Buffers whose contents an expression may read.
pub trait Buffers {
    /// An element.
    fn element(&mut self, buffer: &str, index: i64) -> Result<Value, String>;

    /// What all elements come to.
    fn reduce(&mut self, reduction: Reduction, buffer: &str) -> Result<Value, String>;
}

/// What the elements of a buffer come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// Longest expression text, in bytes.
const MAX_LENGTH: usize = 1000;
/// Deepest nesting of parentheses, calls and unary minus.
const MAX_DEPTH: usize = 32;
/// What buffers are read with.
const REDUCTIONS: [(&str, Reduction); 3] =
    [("sum", Reduction::Sum), ("min", Reduction::Min), ("max", Reduction::Max)];
const FUNCTIONS: [(&str, Function); 10] = [
    ("min", Function::Two(Operator::Min)),
    ("max", Function::Two(Operator::Max)),
    ("ceil_div", Function::Two(Operator::CeilDiv)),
    ("abs", Function::One(Unary::Abs)),
    ("sqrt", Function::One(Unary::Sqrt)),
    ("exp", Function::One(Unary::Exp)),
    ("log", Function::One(Unary::Log)),
    ("floor", Function::One(Unary::Floor)),
    ("ceil", Function::One(Unary::Ceil)),
    ("round", Function::One(Unary::Round)),
];

/// An expression and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Where it stands.
    pub origin: Origin,
    /// As written.
    pub text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(Value),
    Variable(String),
    Element(String, Box<Node>),
    Reduce(Reduction, String),
    Unary(Unary, Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    One(Unary),
    Two(Operator),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unary {
    Abs,
    Sqrt,
    Exp,
    Log,
    /// To an integer, as the next two.
    Floor,
    Ceil,
    Round,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Min,
    Max,
    CeilDiv,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// Comparisons, the longer ones first where one begins like another.
const COMPARISONS: [(&str, Operator); 6] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Expression {
    /// A number written as such.
    pub fn number(origin: Origin, value: i64) -> Self {
        Expression { origin, text: value.to_string(), root: Node::Number(Value::Integer(value)) }
    }

    /// A finite real number written as such.
    pub fn real(origin: Origin, value: f64) -> Self {
        Expression { origin, text: format!("{value:?}"), root: Node::Number(Value::Real(value)) }
    }

    /// Parses an expression.
    pub fn parse(origin: Origin, text: &str) -> Result<Self, LaunchError> {
        if text.len() > MAX_LENGTH {
            return Err(origin
                .error(format!("an expression of {} bytes; at most {MAX_LENGTH} are accepted", text.len())));
        }
        let mut parser = Parser { rest: text, depth: 0 };
        let root = parser
            .comparison()
            .and_then(|root| parser.end().map(|()| root))
            .map_err(|message| origin.error(format!("in the expression `{text}`: {message}")))?;
        Ok(Expression { origin, text: text.to_string(), root })
    }

    /// Its value, which must be an integer; an unknown variable, an overflow and a division by zero are errors.
    pub fn evaluate(&self, variables: &Variables) -> Result<i64, LaunchError> {
        match self.value(variables)? {
            Value::Integer(value) => Ok(value),
            Value::Real(value) => Err(self.origin.error(format!(
                "in the expression `{}`: {value:?} where an integer is expected (floor, ceil and round make one)",
                self.text
            ))),
        }
    }

    /// Its value without the contents of buffers.
    pub fn value(&self, variables: &Variables) -> Result<Value, LaunchError> {
        self.value_over(variables, &mut Unreadable)
    }

    /// Its value, with the contents of buffers.
    pub fn value_over(&self, variables: &Variables, buffers: &mut dyn Buffers) -> Result<Value, LaunchError> {
        evaluate(&self.root, variables, buffers)
            .map_err(|message| self.origin.error(format!("in the expression `{}`: {message}", self.text)))
    }

    /// Its value, which must lie in `low..=high`.
    pub fn evaluate_within(&self, variables: &Variables, low: i64, high: i64) -> Result<i64, LaunchError> {
        let value = self.evaluate(variables)?;
        if (low..=high).contains(&value) {
            return Ok(value);
        }
        let written =
            if self.text == value.to_string() { String::new() } else { format!("`{}` is ", self.text) };
        let accepted = match low.cmp(&high) {
            Ordering::Less => format!("{low} to {high} is accepted"),
            Ordering::Equal => format!("{low} is accepted"),
            Ordering::Greater => "no number is accepted here".to_owned(),
        };
        Err(self.origin.error(format!("{written}{value}; {accepted}")))
    }

    /// Checks that every variable it uses has a value, and every buffer it reads is among `buffers`; `None` where none may
    /// be read.
    pub fn check(&self, variables: &Variables, buffers: Option<&[&str]>) -> Result<(), LaunchError> {
        check(&self.root, variables, buffers).map_err(|message| self.origin.error(message))
    }

    /// The offset of `buffer + offset`, and the buffer; the expression itself if it does not begin with one.
    pub(super) fn offset_from(
        mut self,
        is_buffer: impl Fn(&str) -> bool,
    ) -> Result<(String, Expression), Expression> {
        let mut node = &mut self.root;
        loop {
            match node {
                Node::Binary(Operator::Add | Operator::Subtract, left, _) => node = left,
                Node::Variable(name) if is_buffer(name) => {
                    let buffer = std::mem::take(name);
                    *node = Node::Number(Value::Integer(0));
                    return Ok((buffer, self));
                }
                Node::Number(_)
                | Node::Variable(_)
                | Node::Element(..)
                | Node::Reduce(..)
                | Node::Unary(..)
                | Node::Binary(..) => return Err(self),
            }
        }
    }
}

/// Where no buffer may be read.
struct Unreadable;

/// What is said where no buffer may be read.
fn unreadable(buffer: &str) -> String {
    format!("the contents of `{buffer}`, which only `let` and `while` may read")
}

impl Buffers for Unreadable {
    fn element(&mut self, buffer: &str, _index: i64) -> Result<Value, String> {
        Err(unreadable(buffer))
    }

    fn reduce(&mut self, _reduction: Reduction, buffer: &str) -> Result<Value, String> {
        Err(unreadable(buffer))
    }
}

fn evaluate(node: &Node, variables: &Variables, buffers: &mut dyn Buffers) -> Result<Value, String> {
    let value = match node {
        Node::Number(value) => *value,
        Node::Variable(name) => lookup(name, variables)?,
        Node::Element(buffer, index) => match evaluate(index, variables, buffers)? {
            Value::Integer(index) => buffers.element(buffer, index)?,
            Value::Real(index) => return Err(format!("`{buffer}[{index:?}]`; an integer is accepted")),
        },
        Node::Reduce(reduction, buffer) => buffers.reduce(*reduction, buffer)?,
        Node::Unary(function, of) => unary(*function, evaluate(of, variables, buffers)?)?,
        Node::Binary(operator, left, right) => {
            let (left, right) = (evaluate(left, variables, buffers)?, evaluate(right, variables, buffers)?);
            match (left, right) {
                (Value::Integer(left), Value::Integer(right)) => {
                    Value::Integer(of_integers(*operator, left, right)?)
                }
                (Value::Real(_), _) | (_, Value::Real(_)) => of_reals(*operator, left.real(), right.real())?,
            }
        }
    };
    match value {
        Value::Real(value) if !value.is_finite() => Err(format!("the value {value:?}, which is not finite")),
        Value::Real(_) | Value::Integer(_) => Ok(value),
    }
}

fn of_integers(operator: Operator, left: i64, right: i64) -> Result<i64, String> {
    let value = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Min => Some(left.min(right)),
        Operator::Max => Some(left.max(right)),
        Operator::Divide | Operator::Remainder | Operator::CeilDiv if right == 0 => {
            return Err(format!("{left} is divided by zero"));
        }
        Operator::Divide => left.checked_div(right),
        Operator::Remainder => left.checked_rem(right),
        Operator::CeilDiv => ceil_div(left, right),
        Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual
        | Operator::Equal
        | Operator::NotEqual => Some(i64::from(compares(operator, left.cmp(&right)))),
    };
    value.ok_or_else(|| "the value does not fit 64 bits".to_string())
}

fn of_reals(operator: Operator, left: f64, right: f64) -> Result<Value, String> {
    let value = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide | Operator::Remainder if right == 0.0 => {
            return Err(format!("{left:?} is divided by zero"));
        }
        Operator::Divide => left / right,
        Operator::Remainder => left % right,
        Operator::Min => left.min(right),
        Operator::Max => left.max(right),
        Operator::CeilDiv => {
            return Err(format!("ceil_div of {left:?} and {right:?}; integers are accepted"));
        }
        Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual
        | Operator::Equal
        | Operator::NotEqual => {
            // Both are finite.
            let ordering = left.partial_cmp(&right).unwrap_or(Ordering::Equal);
            return Ok(Value::Integer(i64::from(compares(operator, ordering))));
        }
    };
    Ok(Value::Real(value))
}

/// Whether a comparison holds of two numbers in that order.
fn compares(operator: Operator, ordering: Ordering) -> bool {
    match operator {
        Operator::Less => ordering.is_lt(),
        Operator::LessOrEqual => ordering.is_le(),
        Operator::Greater => ordering.is_gt(),
        Operator::GreaterOrEqual => ordering.is_ge(),
        Operator::Equal => ordering.is_eq(),
        Operator::NotEqual => ordering.is_ne(),
        Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Remainder
        | Operator::Min
        | Operator::Max
        | Operator::CeilDiv => false,
    }
}

fn unary(function: Unary, of: Value) -> Result<Value, String> {
    let to_integer = |rounded: f64| {
        // 2^63 is the first number above the 64-bit integers.
        const BOUND: f64 = 9_223_372_036_854_775_808.0;
        let fits = (-BOUND..BOUND).contains(&rounded);
        if fits {
            Ok(Value::Integer(rounded as i64))
        } else {
            Err(format!("{rounded:?} does not fit 64 bits"))
        }
    };
    match (function, of) {
        (Unary::Floor | Unary::Ceil | Unary::Round, Value::Integer(_)) => Ok(of),
        (Unary::Floor, Value::Real(value)) => to_integer(value.floor()),
        (Unary::Ceil, Value::Real(value)) => to_integer(value.ceil()),
        (Unary::Round, Value::Real(value)) => to_integer(value.round()),
        (Unary::Abs, Value::Integer(value)) => {
            value.checked_abs().map(Value::Integer).ok_or_else(|| "the value does not fit 64 bits".to_owned())
        }
        (Unary::Abs, Value::Real(value)) => Ok(Value::Real(value.abs())),
        (Unary::Sqrt, _) => Ok(Value::Real(of.real().sqrt())),
        (Unary::Exp, _) => Ok(Value::Real(of.real().exp())),
        (Unary::Log, _) => Ok(Value::Real(of.real().ln())),
    }
}

fn ceil_div(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let rounded_down = left % right != 0 && (left < 0) == (right < 0);
    quotient.checked_add(i64::from(rounded_down))
}

fn lookup(name: &str, variables: &Variables) -> Result<Value, String> {
    variables
        .get(name)
        .copied()
        .ok_or_else(|| format!("no variable `{name}`{}", suggest(name, variables.keys().map(String::as_str))))
}

fn check(node: &Node, variables: &Variables, buffers: Option<&[&str]>) -> Result<(), String> {
    let readable = |name: &str| match buffers {
        None => Err(unreadable(name)),
        Some(buffers) if buffers.contains(&name) => Ok(()),
        Some(buffers) => Err(format!("no buffer `{name}`{}", suggest(name, buffers.iter().copied()))),
    };
    match node {
        Node::Number(_) => Ok(()),
        Node::Variable(name) => lookup(name, variables).map(|_| ()),
        Node::Element(buffer, index) => readable(buffer).and_then(|()| check(index, variables, buffers)),
        Node::Reduce(_, buffer) => readable(buffer),
        Node::Unary(_, of) => check(of, variables, buffers),
        Node::Binary(_, left, right) => {
            check(left, variables, buffers).and_then(|()| check(right, variables, buffers))
        }
    }
}

/// Recursive descent over the text that is left.
struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn comparison(&mut self) -> Result<Node, String> {
        let left = self.sum()?;
        self.peek();
        let found = COMPARISONS.iter().find(|(sign, _)| self.rest.starts_with(sign));
        let Some(&(sign, operator)) = found else { return Ok(left) };
        self.rest = &self.rest[sign.len()..];
        Ok(binary(operator, left, self.sum()?))
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                Some(_) | None => return Ok(left),
            };
            self.take();
            left = binary(operator, left, self.product()?);
        }
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut left = self.factor()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                Some('%') => Operator::Remainder,
                Some(_) | None => return Ok(left),
            };
            self.take();
            left = binary(operator, left, self.factor()?);
        }
    }

    fn factor(&mut self) -> Result<Node, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let node = match self.peek() {
            Some('-') => {
                self.take();
                Ok(binary(Operator::Subtract, Node::Number(Value::Integer(0)), self.factor()?))
            }
            Some('(') => {
                self.take();
                let inner = self.comparison()?;
                self.expect(')').map(|()| inner)
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            Some(c) => Err(format!("`{c}` where a number, a name or `(` is expected")),
            None => Err("it ends where a number, a name or `(` is expected".to_string()),
        };
        self.depth -= 1;
        node
    }

    /// `12`, `1_000`, `0.5`, `1e-3`.
    fn number(&mut self) -> Result<Node, String> {
        let text = self.rest;
        let is_digit = |c: char| c.is_ascii_digit() || c == '_';
        self.take_while(is_digit);
        let mut is_real = false;
        if self.rest.starts_with('.') {
            is_real = true;
            self.take();
            self.take_while(is_digit);
        }
        if self.rest.starts_with(['e', 'E']) {
            is_real = true;
            self.take();
            if self.rest.starts_with(['+', '-']) {
                self.take();
            }
            self.take_while(is_digit);
        }
        let text = &text[..text.len() - self.rest.len()];
        let digits = text.replace('_', "");
        if !is_real {
            let value = digits.parse().map_err(|_| format!("`{text}` does not fit 64 bits"))?;
            return Ok(Node::Number(Value::Integer(value)));
        }
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Node::Number(Value::Real(value))),
            Ok(_) | Err(_) => Err(format!("`{text}` where a finite number is expected")),
        }
    }

    fn name(&mut self) -> Result<Node, String> {
        let name = self.identifier();
        match self.peek() {
            Some('(') => self.call(name),
            Some('[') => {
                self.take();
                let index = self.sum()?;
                self.expect(']')?;
                Ok(Node::Element(name.to_string(), Box::new(index)))
            }
            Some(_) | None => Ok(Node::Variable(name.to_string())),
        }
    }

    fn call(&mut self, name: &str) -> Result<Node, String> {
        self.take();
        if let Some(reduction) = self.reduction(name) {
            return reduction;
        }
        let Some(&(_, function)) = FUNCTIONS.iter().find(|&&(function, _)| function == name) else {
            let known = FUNCTIONS.map(|(function, _)| function).into_iter().chain(["sum"]);
            return Err(format!("no function `{name}`{}", suggest(name, known)));
        };
        let first = self.comparison()?;
        let node = match function {
            Function::One(function) => Node::Unary(function, Box::new(first)),
            Function::Two(operator) => {
                self.expect(',')?;
                binary(operator, first, self.comparison()?)
            }
        };
        self.expect(')')?;
        Ok(node)
    }

    /// `sum(buffer)`; nothing if what follows is no name alone.
    fn reduction(&mut self, function: &str) -> Option<Result<Node, String>> {
        let &(_, reduction) = REDUCTIONS.iter().find(|&&(name, _)| name == function)?;
        let before = self.rest;
        self.peek();
        let buffer = self.identifier();
        if !buffer.is_empty() && self.peek() == Some(')') {
            self.take();
            return Some(Ok(Node::Reduce(reduction, buffer.to_string())));
        }
        self.rest = before;
        let needs_buffer = reduction == Reduction::Sum;
        needs_buffer.then(|| Err("the name of a buffer is expected, as in `sum(partial)`".to_string()))
    }

    fn identifier(&mut self) -> &'a str {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    fn end(&mut self) -> Result<(), String> {
        match self.peek() {
            None => Ok(()),
            Some(c) => Err(format!("`{c}` where an operator or the end is expected")),
        }
    }

    fn expect(&mut self, expected: char) -> Result<(), String> {
        match self.peek() {
            Some(c) if c == expected => {
                self.take();
                Ok(())
            }
            Some(c) => Err(format!("`{c}` where `{expected}` is expected")),
            None => Err(format!("it ends where `{expected}` is expected")),
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

fn binary(operator: Operator, left: Node, right: Node) -> Node {
    Node::Binary(operator, Box::new(left), Box::new(right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn value(text: &str) -> Result<i64, String> {
        let variables =
            [("n", 100), ("tile", 16)].map(|(name, value)| (name.to_string(), Value::Integer(value)));
        let variables = Variables::from(variables);
        Expression::parse(Origin::of_file(Path::new("x.toml")), text)
            .and_then(|expression| expression.evaluate(&variables))
            .map_err(|error| error.message)
    }

    #[test]
    fn products_bind_tighter_than_sums_and_both_go_left_to_right() {
        assert_eq!(value("2 + 3 * 4 - 20 / 2 / 5 % 3"), Ok(12));
        assert_eq!(value("-(n - 1) * 2"), Ok(-198));
    }

    #[test]
    fn ceil_div_rounds_up_for_every_sign() {
        assert_eq!(value("ceil_div(n, tile)"), Ok(7));
        assert_eq!(value("ceil_div(-n, tile)"), Ok(-6));
        assert_eq!(value("ceil_div(96, tile)"), Ok(6));
    }

    #[test]
    fn mistakes_are_explained() {
        let message = |text: &str| value(text).unwrap_err();
        assert!(message("n +").contains("it ends where a number"));
        assert!(message("n 2").contains("`2` where an operator"));
        assert!(message("tiles * 2").contains("did you mean `tile`?"));
        assert!(message("ceildiv(n, 2)").contains("`ceil_div`"));
        assert!(message("n / (tile - 16)").contains("100 is divided by zero"));
        assert!(message("9223372036854775807 + n").contains("64 bits"));
        assert!(message("99999999999999999999").contains("64 bits"));
        assert!(message(&"(".repeat(500)).contains("nested more than"));
        assert!(message(&"1+".repeat(5000)).contains("at most 1000"));
    }

    /// Buffer `a` holds 1, 2, … 4; `x` holds 0.5.
    struct Four;

    impl Buffers for Four {
        fn element(&mut self, buffer: &str, index: i64) -> Result<Value, String> {
            match buffer {
                "a" => Ok(Value::Integer(index + 1)),
                _ => Ok(Value::Real(0.5)),
            }
        }

        fn reduce(&mut self, reduction: Reduction, _buffer: &str) -> Result<Value, String> {
            Ok(match reduction {
                Reduction::Sum => Value::Integer(10),
                Reduction::Min => Value::Integer(1),
                Reduction::Max => Value::Real(4.0),
            })
        }
    }

    fn over(text: &str) -> Result<Value, String> {
        let variables =
            Variables::from([("half".to_string(), Value::Real(0.5)), ("n".to_string(), Value::Integer(4))]);
        Expression::parse(Origin::of_file(Path::new("x.toml")), text)
            .and_then(|expression| expression.value_over(&variables, &mut Four))
            .map_err(|error| error.message)
    }

    #[test]
    fn a_real_operand_makes_the_other_one_real() {
        assert_eq!(over("n / 8"), Ok(Value::Integer(0)));
        assert_eq!(over("n / 8.0"), Ok(Value::Real(0.5)));
        assert_eq!(over("1e1 + half - 1_0.5E0"), Ok(Value::Real(0.0)));
        assert_eq!(over("max(n, 4.5)"), Ok(Value::Real(4.5)));
        assert_eq!(over("round(n * half + 0.6) + floor(-0.5) + ceil(half) + abs(-2)"), Ok(Value::Integer(5)));
        assert_eq!(over("sqrt(n) + exp(0) + log(1)"), Ok(Value::Real(3.0)));
    }

    #[test]
    fn comparisons_are_one_or_zero_and_bind_weakest() {
        for (text, expected) in [
            ("n + 1 > n * half", 1),
            ("n <= 3", 0),
            ("half == 0.5", 1),
            ("(n != 4) + (n >= 4)", 1),
            ("n < 4.5", 1),
        ] {
            assert_eq!(over(text), Ok(Value::Integer(expected)), "{text}");
        }
    }

    #[test]
    fn buffers_are_read_by_element_and_as_a_whole() {
        assert_eq!(over("a[n - 1] * x[0]"), Ok(Value::Real(2.0)));
        assert_eq!(over("sum(a) / n + min( a )"), Ok(Value::Integer(3)));
        assert_eq!(over("max(a) > min(n, a[0])"), Ok(Value::Integer(1)));
        assert!(over("a[half]").unwrap_err().contains("`a[0.5]`; an integer is accepted"));
        assert!(over("sum(a + 1)").unwrap_err().contains("the name of a buffer is expected"));
        assert!(
            value("sum(a)")
                .unwrap_err()
                .contains("the contents of `a`, which only `let` and `while` may read")
        );
    }

    #[test]
    fn what_is_not_finite_is_an_error() {
        for text in ["1.0 / 0", "log(0)", "sqrt(-1)", "exp(1000)", "1e300 * 1e300", "1e999", "half % 0.0"] {
            assert!(over(text).is_err(), "{text}");
        }
        assert!(over("round(1e30)").unwrap_err().contains("does not fit 64 bits"));
        assert!(value("n * 0.5").unwrap_err().contains("50.0 where an integer is expected"));
    }
}
