//! Boolean functions of a cell's pins, as Liberty writes them.
//!
//! Operators by strength: `'` behind or `!` before an operand is not; `^` is exclusive or; `*`, `&` or nothing between
//! two operands is and; `+` or `|` is or.

/// Most inputs of a function: its truth table is one word.
pub const MOST_INPUTS: usize = 6;

/// A function as its truth table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Names of the inputs; input `i` is bit `i` of the table's index.
    pub inputs: Vec<String>,
    /// Bit `n` is the value when the inputs are `n`.
    pub table: u64,
}

impl Function {
    /// Reads an expression. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Function, String> {
        let tokens = tokens(text)?;
        let mut inputs: Vec<String> = Vec::new();
        for token in &tokens {
            if let Token::Name(name) = token
                && !inputs.contains(name)
            {
                inputs.push(name.clone());
            }
        }
        if inputs.len() > MOST_INPUTS {
            return Err(format!("{} inputs; at most {MOST_INPUTS} are accepted", inputs.len()));
        }
        let mut parser = Parser { tokens: &tokens, next: 0, inputs: &inputs };
        let table = parser.or()?;
        match parser.peek() {
            None => Ok(Function { table: table & mask(inputs.len()), inputs }),
            Some(token) => Err(format!("{token:?} behind the end of the expression")),
        }
    }

    /// The value for inputs packed into a number, input `i` in bit `i`.
    pub fn value(&self, inputs: u32) -> bool {
        self.table >> inputs & 1 == 1
    }
}

/// The rows of a truth table of `inputs` inputs.
fn mask(inputs: usize) -> u64 {
    if inputs == MOST_INPUTS { u64::MAX } else { (1u64 << (1 << inputs)) - 1 }
}

/// The truth table of input `index` itself.
fn projection(index: usize) -> u64 {
    (0..64).filter(|row| row >> index & 1 == 1).fold(0, |table, row| table | 1 << row)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Constant(bool),
    Not,
    NotBehind,
    And,
    Or,
    Xor,
    Open,
    Close,
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            ' ' | '\t' | '\n' => continue,
            '!' => Token::Not,
            '\'' => Token::NotBehind,
            '*' | '&' => Token::And,
            '+' | '|' => Token::Or,
            '^' => Token::Xor,
            '(' => Token::Open,
            ')' => Token::Close,
            '0' => Token::Constant(false),
            '1' => Token::Constant(true),
            _ if character.is_ascii_alphabetic() || character == '_' => {
                let mut name = String::from(character);
                while let Some(more) = characters.next_if(|c| c.is_ascii_alphanumeric() || "_[]".contains(*c))
                {
                    name.push(more);
                }
                Token::Name(name)
            }
            _ => return Err(format!("`{character}` is no part of a function")),
        });
    }
    Ok(tokens)
}

/// Every function gives a truth table over all six inputs.
struct Parser<'t> {
    tokens: &'t [Token],
    next: usize,
    inputs: &'t [String],
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    fn or(&mut self) -> Result<u64, String> {
        let mut table = self.and()?;
        while self.take(&Token::Or) {
            table |= self.and()?;
        }
        Ok(table)
    }

    fn and(&mut self) -> Result<u64, String> {
        let mut table = self.xor()?;
        loop {
            let begins_operand =
                matches!(self.peek(), Some(Token::Name(_) | Token::Constant(_) | Token::Not | Token::Open));
            if !self.take(&Token::And) && !begins_operand {
                return Ok(table);
            }
            table &= self.xor()?;
        }
    }

    fn xor(&mut self) -> Result<u64, String> {
        let mut table = self.not()?;
        while self.take(&Token::Xor) {
            table ^= self.not()?;
        }
        Ok(table)
    }

    fn not(&mut self) -> Result<u64, String> {
        if self.take(&Token::Not) {
            return Ok(!self.not()?);
        }
        let mut table = self.operand()?;
        while self.take(&Token::NotBehind) {
            table = !table;
        }
        Ok(table)
    }

    fn operand(&mut self) -> Result<u64, String> {
        let token = self.peek().cloned().ok_or("it ends where an operand is expected")?;
        self.next += 1;
        match token {
            Token::Name(name) => {
                let index = self.inputs.iter().position(|input| *input == name);
                index.map(projection).ok_or_else(|| format!("`{name}` is not an input"))
            }
            Token::Constant(value) => Ok(if value { u64::MAX } else { 0 }),
            Token::Open => {
                let table = self.or()?;
                if self.take(&Token::Close) { Ok(table) } else { Err("a `)` is missing".to_owned()) }
            }
            Token::Not | Token::NotBehind | Token::And | Token::Or | Token::Xor | Token::Close => {
                Err(format!("{token:?} where an operand is expected"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> u64 {
        Function::parse(text).expect("a function").table
    }

    #[test]
    fn an_and_may_be_written_without_an_operator() {
        assert_eq!(table("(A B)"), 0b1000);
        assert_eq!(table("(A B)"), table("A * B"));
        assert_eq!(table("!(A B)"), table("!(A&B)"));
    }

    #[test]
    fn operators_bind_as_liberty_says() {
        assert_eq!(table("A + B C"), table("A + (B * C)"));
        assert_eq!(table("A ^ B C"), table("(A ^ B) * C"));
        assert_eq!(table("!A B"), table("(!A) * B"));
        assert_eq!(table("(A+B)'"), table("!(A|B)"));
    }

    #[test]
    fn inputs_are_numbered_as_they_appear() {
        let multiplexer = Function::parse("(S (!A) + (!S) (!B))").expect("a function");
        assert_eq!(multiplexer.inputs, ["S", "A", "B"]);
        assert!(multiplexer.value(0b001) && !multiplexer.value(0b011) && !multiplexer.value(0b100));
        assert!(multiplexer.value(0b000) && multiplexer.value(0b010));
    }

    #[test]
    fn what_is_no_function_says_why() {
        let problem = |text| Function::parse(text).expect_err("no function");
        assert_eq!(problem("A +"), "it ends where an operand is expected");
        assert_eq!(problem("(A"), "a `)` is missing");
        assert_eq!(problem("A ? B"), "`?` is no part of a function");
        assert_eq!(problem("A )"), "Close behind the end of the expression");
        assert_eq!(problem("a b c d e f g"), "7 inputs; at most 6 are accepted");
    }
}
