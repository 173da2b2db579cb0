//! Function bodies: statements and operands.

use super::super::ast::{RawInstruction, RawOperand, Statement, StatementKind};
use super::super::error::Complaint;
use super::super::lex::TokenKind;
use super::{Parser, is_declared, type_named};

/// Depth of braces within a function at most.
const MAX_SCOPES: usize = 64;

impl<'a> Parser<'a, '_> {
    /// Everything between the braces of a function.
    pub(super) fn body(&mut self, function: &str) -> Result<Vec<Statement<'a>>, Complaint> {
        let opened = self.token().line;
        self.mark('{')?;
        let mut statements = Vec::new();
        let mut depth = 0_usize;
        loop {
            let line = self.token().line;
            match self.kind() {
                TokenKind::End => {
                    return Err(format!(
                        "the body of `{function}`, opened on line {opened}, is not closed with }}"
                    ));
                }
                TokenKind::Mark('{') => {
                    self.bump();
                    depth += 1;
                    if depth > MAX_SCOPES {
                        return Err(format!("scopes are nested deeper than {MAX_SCOPES}"));
                    }
                    statements.push(Statement { line, kind: StatementKind::Open });
                }
                TokenKind::Mark('}') => {
                    self.bump();
                    if depth == 0 {
                        return Ok(statements);
                    }
                    depth -= 1;
                    statements.push(Statement { line, kind: StatementKind::Close });
                }
                _other => self.statement_or_skip(&mut statements),
            }
        }
    }

    fn statement_or_skip(&mut self, statements: &mut Vec<Statement<'a>>) {
        let token = self.token();
        if let Err(message) = self.statement(statements) {
            let text = self.text_from(token.start);
            self.reporter.report(token.line, &text, message);
            self.skip_statement();
        }
    }

    /// Skips to behind the next `;`, or to a brace.
    fn skip_statement(&mut self) {
        loop {
            match self.kind() {
                TokenKind::End | TokenKind::Mark('}') => return,
                TokenKind::Mark(';') => {
                    self.bump();
                    return;
                }
                _other => {
                    self.bump();
                }
            }
        }
    }

    fn statement(&mut self, statements: &mut Vec<Statement<'a>>) -> Result<(), Complaint> {
        let token = self.token();
        let line = token.line;
        match token.kind {
            TokenKind::Mark(';') => {
                self.bump();
            }
            TokenKind::Dot("loc" | "file") => self.skip_line(),
            TokenKind::Mark('@') if self.next_kind() == TokenKind::Mark('@') => self.skip_line(),
            TokenKind::Dot("pragma") => self.skip_statement(),
            TokenKind::Dot("reg") => statements.push(Statement { line, kind: self.registers()? }),
            TokenKind::Dot("shared" | "local" | "param" | "global" | "const") => {
                for declaration in self.declarations(token.start, false)? {
                    let kind = StatementKind::Variable(declaration);
                    statements.push(Statement { line, kind });
                }
            }
            TokenKind::Name(name) if self.next_kind() == TokenKind::Mark(':') => {
                self.bump();
                self.bump();
                statements.push(Statement { line, kind: self.labelled(name)? });
            }
            TokenKind::Name(_) | TokenKind::Mark('@') => {
                statements.push(Statement { line, kind: StatementKind::Instruction(self.instruction()?) })
            }
            _other => {
                return Err(self.expected(
                    "an instruction, a label, .reg, .shared, .local, .param, .loc, .pragma, `{` or `}`",
                ));
            }
        }
        Ok(())
    }

    /// A label, or a directive that needs one.
    fn labelled(&mut self, name: &'a str) -> Result<StatementKind<'a>, Complaint> {
        if self.take_dot("branchtargets") {
            let mut labels = vec![self.name("a label")?];
            while self.take_mark(',') {
                labels.push(self.name("a label")?);
            }
            self.mark(';')?;
            return Ok(StatementKind::BranchTargets(name, labels));
        }
        if self.take_dot("callprototype") || self.take_dot("calltargets") {
            self.skip_statement();
        }
        Ok(StatementKind::Label(name))
    }

    /// `.reg .b32 %r<8>, %x;`
    fn registers(&mut self) -> Result<StatementKind<'a>, Complaint> {
        self.bump();
        let ty = match self.kind() {
            TokenKind::Dot(word) => type_named(word).filter(|&ty| is_declared(ty)),
            _other => None,
        };
        let ty = ty.ok_or_else(|| {
            self.expected(
                "a register type: .pred .b8 .b16 .b32 .b64 .u8 … .u64 .s8 … .s64 .f16 .f16x2 .f32 .f64",
            )
        })?;
        self.bump();
        let mut names = Vec::new();
        loop {
            let name = self.name("a register name")?;
            let mut count = None;
            if self.take_mark('<') {
                let TokenKind::Int(value) = self.kind() else {
                    return Err(self.expected("the number of registers"));
                };
                self.bump();
                self.mark('>')?;
                count = Some(value);
            }
            names.push((name, count));
            if !self.take_mark(',') {
                break;
            }
        }
        self.mark(';')?;
        Ok(StatementKind::Registers(ty, names))
    }

    fn instruction(&mut self) -> Result<RawInstruction<'a>, Complaint> {
        let start = self.token().start;
        let mut guard = None;
        if self.take_mark('@') {
            let negated = self.take_mark('!');
            guard = Some((self.name("a predicate register")?, negated));
        }
        let opcode = self.name("an opcode")?;
        let mut modifiers = Vec::new();
        while let TokenKind::Dot(word) = self.kind() {
            self.bump();
            modifiers.push(word);
        }
        let mut operands = Vec::new();
        if !self.is_mark(';') {
            operands.push(self.operand(opcode)?);
            while self.take_mark(',') {
                operands.push(self.operand(opcode)?);
            }
        }
        if !self.is_mark(';') {
            return Err(self.expected("`,` or `;`"));
        }
        let text = self.text_from(start);
        self.bump();
        Ok(RawInstruction { text, guard, opcode, modifiers, operands })
    }

    fn operand(&mut self, opcode: &str) -> Result<RawOperand<'a>, Complaint> {
        let first = match self.kind() {
            TokenKind::Mark('[') => return self.address(),
            TokenKind::Mark('{') => return self.list('{', '}').map(RawOperand::Vector),
            TokenKind::Mark('(') if opcode == "call" => {
                return self.list('(', ')').map(RawOperand::Group);
            }
            _other => self.plain_operand()?,
        };
        if self.take_mark('|') {
            let second = self.plain_operand()?;
            return Ok(RawOperand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn plain_operand(&mut self) -> Result<RawOperand<'a>, Complaint> {
        if self.is_mark('!') && matches!(self.next_kind(), TokenKind::Name(_)) {
            self.bump();
            return self.name("a predicate register").map(RawOperand::Not);
        }
        if self.at_number() {
            return self.number().map(RawOperand::Number);
        }
        let name = self.name("a register, a variable, a number, `[`, `{` or `!`")?;
        if let TokenKind::Dot(member) = self.kind() {
            self.bump();
            return Ok(RawOperand::Member(name, member));
        }
        if name == "generic" && self.take_mark('(') {
            let name = self.name("the name of a variable")?;
            self.mark(')')?;
            return Ok(RawOperand::Generic(name, self.addend()?));
        }
        if self.is_mark('+') || self.is_mark('-') {
            return Ok(RawOperand::Offset(name, self.addend()?));
        }
        Ok(RawOperand::Name(name))
    }

    fn list(&mut self, open: char, close: char) -> Result<Vec<RawOperand<'a>>, Complaint> {
        self.mark(open)?;
        let mut operands = Vec::new();
        while !self.take_mark(close) {
            operands.push(self.plain_operand()?);
            if !self.is_mark(close) {
                self.mark(',')?;
            }
        }
        Ok(operands)
    }

    fn address(&mut self) -> Result<RawOperand<'a>, Complaint> {
        self.mark('[')?;
        if self.at_number() {
            let value = self.integer()?;
            self.mark(']')?;
            // Absolute addresses are written unsigned; the upper half wraps into the offset's sign.
            let offset = i64::try_from(value).unwrap_or(value as u64 as i64);
            return Ok(RawOperand::Address(None, offset));
        }
        let name = self.name("a register, a variable or a number")?;
        if self.take_mark(',') {
            let coordinates = match self.kind() {
                TokenKind::Mark('{') => self.list('{', '}')?,
                _other => vec![self.plain_operand()?],
            };
            self.mark(']')?;
            return Ok(RawOperand::Texel(name, coordinates));
        }
        let offset = self.addend()?;
        self.mark(']')?;
        Ok(RawOperand::Address(Some(name), offset))
    }
}
