//! Integer expressions over named variables: `ceil_div(columns, 16 - 2 * steps)`.
//!
//! `+ - * / %`, parentheses, unary minus, decimal numbers, names, and the functions `min(a, b)`, `max(a, b)`
//! and `ceil_div(a, b)`. Division truncates. Everything is 64-bit and checked: overflow is an error.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::error::{LaunchError, Origin, suggest};

/// Values of the variables: those of the chosen size, and of the loops around a step.
pub type Variables = BTreeMap<String, i64>;

/// Longest expression text, in bytes.
const MAX_LENGTH: usize = 1000;
/// Deepest nesting of parentheses, calls and unary minus.
const MAX_DEPTH: usize = 32;
const FUNCTIONS: [(&str, Operator); 3] =
    [("min", Operator::Min), ("max", Operator::Max), ("ceil_div", Operator::CeilDiv)];

/// An integer expression and where it was written.
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
    Number(i64),
    Variable(String),
    Binary(Operator, Box<Node>, Box<Node>),
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
}

impl Expression {
    /// A number written as such.
    pub fn number(origin: Origin, value: i64) -> Self {
        Expression { origin, text: value.to_string(), root: Node::Number(value) }
    }

    /// Parses an expression.
    pub fn parse(origin: Origin, text: &str) -> Result<Self, LaunchError> {
        if text.len() > MAX_LENGTH {
            return Err(origin
                .error(format!("an expression of {} bytes; at most {MAX_LENGTH} are accepted", text.len())));
        }
        let mut parser = Parser { rest: text, depth: 0 };
        let root = parser
            .sum()
            .and_then(|root| parser.end().map(|()| root))
            .map_err(|message| origin.error(format!("in the expression `{text}`: {message}")))?;
        Ok(Expression { origin, text: text.to_string(), root })
    }

    /// Its value; an unknown variable, an overflow and a division by zero are errors.
    pub fn evaluate(&self, variables: &Variables) -> Result<i64, LaunchError> {
        evaluate(&self.root, variables)
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

    /// Checks that every variable it uses has a value.
    pub fn check_variables(&self, variables: &Variables) -> Result<(), LaunchError> {
        check(&self.root, variables).map_err(|message| self.origin.error(message))
    }
}

fn evaluate(node: &Node, variables: &Variables) -> Result<i64, String> {
    let (operator, left, right) = match node {
        Node::Number(value) => return Ok(*value),
        Node::Variable(name) => return lookup(name, variables),
        Node::Binary(operator, left, right) => {
            (*operator, evaluate(left, variables)?, evaluate(right, variables)?)
        }
    };
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
    };
    value.ok_or_else(|| "the value does not fit 64 bits".to_string())
}

fn ceil_div(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let rounded_down = left % right != 0 && (left < 0) == (right < 0);
    quotient.checked_add(i64::from(rounded_down))
}

fn lookup(name: &str, variables: &Variables) -> Result<i64, String> {
    variables
        .get(name)
        .copied()
        .ok_or_else(|| format!("no variable `{name}`{}", suggest(name, variables.keys().map(String::as_str))))
}

fn check(node: &Node, variables: &Variables) -> Result<(), String> {
    match node {
        Node::Number(_) => Ok(()),
        Node::Variable(name) => lookup(name, variables).map(|_| ()),
        Node::Binary(_, left, right) => check(left, variables).and_then(|()| check(right, variables)),
    }
}

/// Recursive descent over the text that is left.
struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
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
                Ok(binary(Operator::Subtract, Node::Number(0), self.factor()?))
            }
            Some('(') => {
                self.take();
                let inner = self.sum()?;
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

    fn number(&mut self) -> Result<Node, String> {
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '_');
        let value =
            digits.replace('_', "").parse().map_err(|_| format!("`{digits}` does not fit 64 bits"))?;
        Ok(Node::Number(value))
    }

    fn name(&mut self) -> Result<Node, String> {
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.peek() != Some('(') {
            return Ok(Node::Variable(name.to_string()));
        }
        let Some(&(_, operator)) = FUNCTIONS.iter().find(|&&(function, _)| function == name) else {
            return Err(format!("no function `{name}`{}", suggest(name, FUNCTIONS.map(|(f, _)| f))));
        };
        self.take();
        let left = self.sum()?;
        self.expect(',')?;
        let right = self.sum()?;
        self.expect(')')?;
        Ok(binary(operator, left, right))
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
        let variables = Variables::from([("n".to_string(), 100), ("tile".to_string(), 16)]);
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
        assert!(message("ceildiv(n, 2)").contains("did you mean `ceil_div`?"));
        assert!(message("n / (tile - 16)").contains("100 is divided by zero"));
        assert!(message("9223372036854775807 + n").contains("64 bits"));
        assert!(message("99999999999999999999").contains("64 bits"));
        assert!(message(&"(".repeat(500)).contains("nested more than"));
        assert!(message(&"1+".repeat(5000)).contains("at most 1000"));
    }
}
