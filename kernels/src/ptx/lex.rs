//! PTX text to tokens.
//!
//! Source: PTX ISA, chapter 4 (syntax).

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    /// `main`, `%r1`, `$L__BB0_2`, `_`.
    Name(&'a str),
    /// `.f32`, `.shared`, `.L1::evict_last`: without the first dot.
    Dot(&'a str),
    /// An integer literal.
    Int(u64),
    /// A single-precision literal's bits.
    Single(u32),
    /// A double-precision literal.
    Double(f64),
    /// A quoted string.
    Text,
    /// One character of punctuation.
    Mark(char),
    /// The end of the file.
    End,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    /// Line, from 1.
    pub(super) line: u32,
    /// Byte range in the text.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Characters that are no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// Line, from 1.
    pub(super) line: u32,
    /// Where they begin in the text.
    pub(super) start: usize,
    /// What was found and what is accepted.
    pub(super) message: String,
}

/// All tokens of a text, the last being [`TokenKind::End`], and what is none between them.
pub(super) fn tokens(text: &str) -> (Vec<Token<'_>>, Vec<Unreadable>) {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line: 1 };
    let mut tokens = Vec::new();
    let mut unreadable = Vec::new();
    loop {
        let start = lexer.at;
        match lexer.token() {
            Ok(token) => {
                tokens.push(token);
                if token.kind == TokenKind::End {
                    return (tokens, unreadable);
                }
            }
            Err(message) => unreadable.push(Unreadable { line: lexer.line, start, message }),
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

fn continues_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn token(&mut self) -> Result<Token<'a>, String> {
        self.skip_blank()?;
        let (start, line) = (self.at, self.line);
        let kind = match self.peek(0) {
            0 if self.at >= self.bytes.len() => TokenKind::End,
            b'.' if continues_name(self.peek(1)) => self.dot_word(),
            b'0'..=b'9' => self.number()?,
            b'"' => self.string()?,
            b'%' if continues_name(self.peek(1)) => self.name(),
            byte if byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' => self.name(),
            byte if byte.is_ascii_punctuation() => {
                self.at += 1;
                TokenKind::Mark(char::from(byte))
            }
            _other => {
                let found = self.text[self.at..].chars().next().unwrap_or('\u{fffd}');
                self.at += found.len_utf8();
                return Err(format!(
                    "found the character {found:?}; accepted outside comments and strings: printable ASCII"
                ));
            }
        };
        Ok(Token { kind, line, start, end: self.at })
    }

    fn skip_blank(&mut self) -> Result<(), String> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c', _) => self.at += 1,
                (b'/', b'/') => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                (b'/', b'*') => self.skip_block_comment()?,
                // nvcc and cuobjdump end the text of an embedded module with a zero byte.
                (0, 0) if self.at + 1 == self.bytes.len() => self.at += 1,
                (_, _) => return Ok(()),
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<(), String> {
        let opened = self.line;
        self.at += 2;
        while self.at < self.bytes.len() {
            if self.peek(0) == b'*' && self.peek(1) == b'/' {
                self.at += 2;
                return Ok(());
            }
            if self.peek(0) == b'\n' {
                self.line += 1;
            }
            self.at += 1;
        }
        Err(format!("the comment opened on line {opened} is not closed with */"))
    }

    fn name(&mut self) -> TokenKind<'a> {
        let start = self.at;
        self.at += 1;
        while continues_name(self.peek(0)) {
            self.at += 1;
        }
        TokenKind::Name(&self.text[start..self.at])
    }

    fn dot_word(&mut self) -> TokenKind<'a> {
        self.at += 1;
        let start = self.at;
        while continues_name(self.peek(0))
            || (self.peek(0) == b':' && self.peek(1) == b':')
            || (self.peek(0) == b':' && self.at > start && self.bytes[self.at - 1] == b':')
        {
            self.at += 1;
        }
        TokenKind::Dot(&self.text[start..self.at])
    }

    fn string(&mut self) -> Result<TokenKind<'a>, String> {
        self.at += 1;
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            match self.peek(0) {
                b'"' => {
                    self.at += 1;
                    return Ok(TokenKind::Text);
                }
                b'\\' if self.at + 1 < self.bytes.len() && self.peek(1) != b'\n' => self.at += 2,
                _other => self.at += 1,
            }
        }
        Err("a string is not closed with \" on its line".to_owned())
    }

    fn number(&mut self) -> Result<TokenKind<'a>, String> {
        let start = self.at;
        while continues_name(self.peek(0)) {
            self.at += 1;
        }
        let is_prefixed = matches!(self.bytes.get(start + 1), Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D'))
            && self.bytes[start] == b'0';
        if !is_prefixed && self.peek(0) == b'.' && !self.peek(1).is_ascii_alphabetic() {
            self.at += 1;
            while continues_name(self.peek(0)) {
                self.at += 1;
            }
        }
        let exponent = !is_prefixed && matches!(self.bytes[self.at - 1], b'e' | b'E');
        if exponent && matches!(self.peek(0), b'+' | b'-') {
            self.at += 1;
            while continues_name(self.peek(0)) {
                self.at += 1;
            }
        }
        let literal = &self.text[start..self.at];
        literal_value(literal).ok_or_else(|| {
            format!(
                "found the number `{literal}`; accepted: decimal, 0x, 0b and 0 (octal) integers below 2^64, \
                 0f and 0d with 8 and 16 hexadecimal digits, decimal fractions"
            )
        })
    }
}

fn literal_value<'a>(literal: &str) -> Option<TokenKind<'a>> {
    let lower = literal.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0f") {
        let bits = u32::from_str_radix(digits, 16).ok()?;
        return (digits.len() == 8).then_some(TokenKind::Single(bits));
    }
    if let Some(digits) = lower.strip_prefix("0d") {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        return (digits.len() == 16).then_some(TokenKind::Double(f64::from_bits(bits)));
    }
    let digits = lower.strip_suffix('u').unwrap_or(&lower);
    if let Some(hex) = digits.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(TokenKind::Int);
    }
    if let Some(binary) = digits.strip_prefix("0b") {
        return u64::from_str_radix(binary, 2).ok().map(TokenKind::Int);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let radix = if digits.len() > 1 && digits.starts_with('0') { 8 } else { 10 };
        return u64::from_str_radix(digits, radix).ok().map(TokenKind::Int);
    }
    lower.parse().ok().map(TokenKind::Double)
}
