//! Tokens to syntax: module level. Function bodies are in `body`, literals and initialisers in `values`.
//!
//! Source: PTX ISA, chapters 4, 5 and 11 (directives).

mod body;
mod values;

use std::ops::Range;

use super::ast::{Declaration, File, Function, Storage};
use super::error::{Complaint, Reporter};
use super::ir::Type;
use super::lex::{Token, TokenKind, Unreadable, tokens};
use crate::program::Space;

/// Directives without meaning here whose arguments are numbers and names separated by commas.
const IGNORED_WITH_ARGUMENTS: [&str; 3] = ["maxnctapersm", "maxclusterrank", "noreturn"];
/// What `.target` may name beside an architecture.
const TARGET_OPTIONS: [&str; 4] = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];
/// Linking directives in front of a declaration.
const LINKING: [&str; 4] = ["visible", "extern", "weak", "common"];

/// The syntax of a file; what cannot be read is skipped. It is reported, but for what belongs to a function, which has it.
pub(super) fn parse<'a>(text: &'a str, reporter: &mut Reporter) -> File<'a> {
    let (tokens, unreadable) = tokens(text);
    let mut parser = Parser { text, tokens, unreadable, at: 0, reporter };
    let file = parser.file();
    parser.report_unreadable(0..text.len());
    file
}

struct Parser<'a, 'r> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    /// What is no token, as far as it has not been reported.
    unreadable: Vec<Unreadable>,
    at: usize,
    reporter: &'r mut Reporter,
}

/// The part of a variable declaration that is common to all names it declares.
#[derive(Clone, Copy)]
struct Head {
    storage: Storage,
    ty: Type,
    elements: u64,
    align: Option<u32>,
}

impl<'a> Parser<'a, '_> {
    fn token(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    fn kind(&self) -> TokenKind<'a> {
        self.token().kind
    }

    fn next_kind(&self) -> TokenKind<'a> {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    fn bump(&mut self) -> Token<'a> {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn is_mark(&self, mark: char) -> bool {
        self.kind() == TokenKind::Mark(mark)
    }

    fn take_mark(&mut self, mark: char) -> bool {
        let found = self.is_mark(mark);
        if found {
            self.bump();
        }
        found
    }

    fn take_dot(&mut self, word: &str) -> bool {
        let found = self.kind() == TokenKind::Dot(word);
        if found {
            self.bump();
        }
        found
    }

    /// A complaint about the token at hand.
    fn expected(&self, accepted: &str) -> Complaint {
        let token = self.token();
        let found = match token.kind {
            TokenKind::End => "the end of the file".to_owned(),
            _other => format!("`{}`", &self.text[token.start..token.end]),
        };
        format!("found {found}; accepted here: {accepted}")
    }

    fn mark(&mut self, mark: char) -> Result<(), Complaint> {
        if self.take_mark(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn name(&mut self, what: &str) -> Result<&'a str, Complaint> {
        if let TokenKind::Name(name) = self.kind() {
            self.bump();
            Ok(name)
        } else {
            Err(self.expected(what))
        }
    }

    /// The source from a byte position to the token at hand, on one line.
    fn text_from(&self, start: usize) -> String {
        let end = self.tokens[self.at.saturating_sub(1)].end.max(start);
        let mut words = String::new();
        for word in self.text[start..end].split_whitespace() {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        }
        let cut = words.char_indices().nth(200).map_or(words.len(), |(at, _)| at);
        words.truncate(cut);
        words
    }

    /// Reports what is no token within a range of the text.
    fn report_unreadable(&mut self, range: Range<usize>) {
        let first = self.unreadable.partition_point(|found| found.start < range.start);
        let end = self.unreadable.partition_point(|found| found.start < range.end).max(first);
        for Unreadable { line, message, .. } in self.unreadable.drain(first..end) {
            self.reporter.report(line, "", message);
        }
    }

    fn file(&mut self) -> File<'a> {
        let mut file = File { address_bits: 64, variables: Vec::new(), functions: Vec::new() };
        while self.kind() != TokenKind::End && !self.reporter.is_full() {
            let token = self.token();
            if let Err(message) = self.item(&mut file) {
                let text = self.text_from(token.start);
                self.reporter.report(self.token().line, &text, message);
                self.skip_item();
            }
        }
        file
    }

    /// Skips to behind the next `;` or closing brace.
    fn skip_item(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.bump().kind {
                TokenKind::End => return,
                TokenKind::Mark(';') if depth == 0 => return,
                TokenKind::Mark('{') => depth += 1,
                TokenKind::Mark('}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                _other => {}
            }
        }
    }

    /// Skips a directive that ends with its line.
    fn skip_line(&mut self) {
        let line = self.token().line;
        while self.token().line == line && self.kind() != TokenKind::End {
            self.bump();
        }
    }

    fn item(&mut self, file: &mut File<'a>) -> Result<(), Complaint> {
        let start = self.token().start;
        if self.take_mark(';') {
            return Ok(());
        }
        if self.is_mark('@') && self.next_kind() == TokenKind::Mark('@') {
            self.skip_line();
            return Ok(());
        }
        let mut external = false;
        while let TokenKind::Dot(word) = self.kind() {
            if !LINKING.contains(&word) {
                break;
            }
            external |= word == "extern";
            self.bump();
        }
        let TokenKind::Dot(word) = self.kind() else {
            return Err(self.expected("a directive such as .entry, .func, .global, .const, .shared"));
        };
        match word {
            "version" => self.version()?,
            "target" => self.target()?,
            "file" | "loc" => self.skip_line(),
            "address_size" => file.address_bits = self.address_size()?,
            "pragma" => self.skip_item(),
            "section" => {
                self.bump();
                self.skip_item();
            }
            "entry" | "func" => {
                let function = self.function(start, word == "entry")?;
                file.functions.push(function);
            }
            "global" | "const" | "shared" | "tex" => {
                file.variables.extend(self.declarations(start, external)?);
            }
            _other => {
                return Err(self.expected(
                    ".version .target .address_size .entry .func .global .const .shared .tex .file .loc \
                     .section .pragma .visible .extern .weak .common",
                ));
            }
        }
        Ok(())
    }

    /// `.version 7.0`
    fn version(&mut self) -> Result<(), Complaint> {
        self.bump();
        let token = self.token();
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        match self.text[token.start..token.end].split_once('.') {
            Some((major, minor)) if is_number(major) && is_number(minor) => {
                self.bump();
                Ok(())
            }
            Some(_) | None => Err(self.expected("a version, as 7.0")),
        }
    }

    /// `.target sm_70, debug`
    fn target(&mut self) -> Result<(), Complaint> {
        self.bump();
        loop {
            let accepted = "sm_ and a number, compute_ and a number, texmode_unified, texmode_independent, debug, \
                            map_f64_to_f32";
            let TokenKind::Name(name) = self.kind() else { return Err(self.expected(accepted)) };
            let architecture = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"));
            let is_architecture = architecture.is_some_and(|number| {
                let digits = number.trim_end_matches(['a', 'f']);
                (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
            });
            if !is_architecture && !TARGET_OPTIONS.contains(&name) {
                return Err(self.expected(accepted));
            }
            self.bump();
            if !self.take_mark(',') {
                return Ok(());
            }
        }
    }

    /// `.address_size 64`
    fn address_size(&mut self) -> Result<u32, Complaint> {
        self.bump();
        let bits = match self.kind() {
            TokenKind::Int(32) => 32,
            TokenKind::Int(64) => 64,
            _other => return Err(self.expected("32 or 64")),
        };
        self.bump();
        Ok(bits)
    }

    /// A function. What is wrong with it behind its name is kept with it, as long as the rest of the file can be read.
    fn function(&mut self, start: usize, entry: bool) -> Result<Function<'a>, Complaint> {
        let line = self.bump().line;
        self.skip_function_attributes()?;
        let results = if self.is_mark('(') { self.parameters()? } else { Vec::new() };
        let name = self.name("a function name")?;
        let mut function = Function {
            name,
            line,
            entry,
            results,
            parameters: Vec::new(),
            max_threads: None,
            max_registers: None,
            min_blocks: None,
            required_block: None,
            body: None,
            unreadable: None,
        };
        let own = self.reporter.of_part();
        let of_file = std::mem::replace(self.reporter, own);
        let outcome = self.definition(&mut function);
        let end_of_file = outcome.is_err() && self.kind() == TokenKind::End;
        if let Err(message) = &outcome {
            let text = self.text_from(start);
            self.reporter.report(self.token().line, &text, message.clone());
            self.skip_item();
        }
        // What was no token is often why something else could not be read.
        let last = self.reporter.of_part();
        let of_syntax = std::mem::replace(self.reporter, last).finish();
        self.report_unreadable(start..self.token().start);
        if let Err(errors) = of_syntax {
            self.reporter.add(&errors);
        }
        let own = std::mem::replace(self.reporter, of_file);
        function.unreadable = own.finish().err();
        if let Some(errors) = function.unreadable.as_ref().filter(|_| end_of_file) {
            self.reporter.add(errors);
        }
        Ok(function)
    }

    /// What follows the name of a function.
    fn definition(&mut self, function: &mut Function<'a>) -> Result<(), Complaint> {
        if self.is_mark('(') {
            function.parameters = self.parameters()?;
        }
        loop {
            match self.kind() {
                TokenKind::Dot(directive @ ("maxntid" | "reqntid")) => {
                    self.bump();
                    let extents = self.extents()?;
                    let threads = extents.into_iter().map(u64::from).fold(1, u64::saturating_mul);
                    function.max_threads = Some(u32::try_from(threads).unwrap_or(u32::MAX));
                    if directive == "reqntid" {
                        function.required_block = Some(extents);
                    }
                }
                TokenKind::Dot(directive @ ("maxnreg" | "minnctapersm")) => {
                    self.bump();
                    let number = Some(self.number_of(directive)?);
                    if directive == "maxnreg" {
                        function.max_registers = number;
                    } else {
                        function.min_blocks = number;
                    }
                }
                TokenKind::Dot("reqnctapercluster" | "explicitcluster" | "blocksareclusters") => {
                    return Err(
                        "clusters of blocks are not supported; accepted: kernels without them".to_owned()
                    );
                }
                TokenKind::Dot(word) if IGNORED_WITH_ARGUMENTS.contains(&word) => {
                    self.bump();
                    self.numbers()?;
                }
                TokenKind::Dot("pragma") => self.skip_item(),
                TokenKind::Mark(';') => {
                    self.bump();
                    return Ok(());
                }
                TokenKind::Mark('{') => {
                    function.body = Some(self.body(function.name)?);
                    return Ok(());
                }
                _other => {
                    return Err(
                        self.expected("`{`, `;`, .maxntid, .reqntid, .minnctapersm, .maxnreg, .pragma")
                    );
                }
            }
        }
    }

    fn skip_function_attributes(&mut self) -> Result<(), Complaint> {
        if self.take_dot("attribute") {
            self.mark('(')?;
            while !self.take_mark(')') {
                if self.bump().kind == TokenKind::End {
                    return Err(self.expected("`)`"));
                }
            }
        }
        Ok(())
    }

    /// Threads in x, y, z; those that are left out are 1.
    fn extents(&mut self) -> Result<[u32; 3], Complaint> {
        let at = self.token();
        let numbers = self.numbers()?;
        if !(1..=3).contains(&numbers.len()) || numbers.contains(&0) {
            let found = &self.text[at.start..at.end];
            return Err(format!("found `{found}`; accepted: one to three numbers of at least 1"));
        }
        let mut extents = [1; 3];
        for (extent, number) in extents.iter_mut().zip(numbers) {
            *extent = u32::try_from(number).unwrap_or(u32::MAX);
        }
        Ok(extents)
    }

    /// The one number of a directive.
    fn number_of(&mut self, directive: &str) -> Result<u32, Complaint> {
        let at = self.token();
        if let [number] = self.numbers()?[..]
            && number > 0
        {
            return Ok(u32::try_from(number).unwrap_or(u32::MAX));
        }
        let found = &self.text[at.start..at.end];
        Err(format!("found `{found}` after .{directive}; accepted: one number of at least 1"))
    }

    /// Numbers separated by commas; possibly none.
    fn numbers(&mut self) -> Result<Vec<u64>, Complaint> {
        let mut numbers = Vec::new();
        while let TokenKind::Int(number) = self.kind() {
            self.bump();
            numbers.push(number);
            if !self.take_mark(',') {
                break;
            }
        }
        Ok(numbers)
    }

    fn parameters(&mut self) -> Result<Vec<Declaration<'a>>, Complaint> {
        self.mark('(')?;
        let mut parameters = Vec::new();
        while !self.take_mark(')') {
            let start = self.token().start;
            let head = self.head()?;
            parameters.push(self.declared(start, head, false)?);
            if !self.is_mark(')') {
                self.mark(',')?;
            }
        }
        Ok(parameters)
    }

    /// `.global .align 4 .b8 a[4] = {1, 2}, b;`
    fn declarations(&mut self, start: usize, external: bool) -> Result<Vec<Declaration<'a>>, Complaint> {
        let head = self.head()?;
        let mut declarations = vec![self.declared(start, head, external)?];
        while self.take_mark(',') {
            declarations.push(self.declared(start, head, external)?);
        }
        self.mark(';')?;
        Ok(declarations)
    }

    fn head(&mut self) -> Result<Head, Complaint> {
        let mut storage = None;
        let mut align = None;
        let mut elements = 1;
        loop {
            let TokenKind::Dot(word) = self.kind() else {
                return Err(self.expected("a state space, .align or a type"));
            };
            if let Some(ty) = type_named(word).filter(|&ty| is_declared(ty) && ty != Type::F16x2) {
                self.bump();
                self.skip_pointer_attributes()?;
                let storage = storage.ok_or("a declaration needs a state space in front of its type")?;
                return Ok(Head { storage, ty, elements, align });
            }
            match word {
                "global" | "const" | "shared" | "local" | "param" => {
                    storage = Some(Storage::Memory(space_named(word)));
                    self.bump();
                }
                "tex" => {
                    storage = Some(Storage::Texture);
                    self.bump();
                }
                "reg" => {
                    storage = Some(Storage::Register);
                    self.bump();
                }
                "texref" => {
                    self.bump();
                    return Ok(Head { storage: Storage::Texture, ty: Type::B64, elements: 0, align: None });
                }
                "attribute" => self.skip_function_attributes()?,
                "v2" | "v4" => {
                    elements = if word == "v2" { 2 } else { 4 };
                    self.bump();
                }
                "align" => {
                    self.bump();
                    align = Some(self.alignment()?);
                }
                _other => {
                    return Err(self.expected(
                        "a state space (.global .const .shared .local .param .reg), .align, .v2, .v4, .texref, \
                         or a type (.b8 .b16 .b32 .b64 .u8 … .s64 .f16 .f32 .f64 .pred)",
                    ));
                }
            }
        }
    }

    /// `.ptr .global .align 8` behind the type of a parameter.
    fn skip_pointer_attributes(&mut self) -> Result<(), Complaint> {
        if !self.take_dot("ptr") {
            return Ok(());
        }
        loop {
            match self.kind() {
                TokenKind::Dot("align") => {
                    self.bump();
                    self.alignment()?;
                }
                TokenKind::Dot(_) => {
                    self.bump();
                }
                _other => return Ok(()),
            }
        }
    }

    fn alignment(&mut self) -> Result<u32, Complaint> {
        match self.kind() {
            TokenKind::Int(align) if align.is_power_of_two() && align <= 128 => {
                self.bump();
                Ok(align as u32)
            }
            _other => Err(self.expected("an alignment: a power of two up to 128")),
        }
    }

    fn declared(&mut self, start: usize, head: Head, external: bool) -> Result<Declaration<'a>, Complaint> {
        let line = self.token().line;
        let name = self.name("a variable name")?;
        let (dimensions, unsized_first) = self.dimensions()?;
        let mut initial = Vec::new();
        if self.take_mark('=') {
            initial = self.initialiser(&dimensions, unsized_first)?;
        }
        let element = u64::from(head.ty.bytes());
        let mut count = Some(head.elements);
        for &dimension in &dimensions {
            count = count.and_then(|count: u64| count.checked_mul(dimension));
        }
        let too_large = || format!("`{name}` is larger than 2^40 bytes");
        let mut bytes = Some(
            count
                .and_then(|count| count.checked_mul(element))
                .filter(|&bytes| bytes <= 1 << 40)
                .ok_or_else(too_large)?,
        );
        if unsized_first {
            let given = values::elements(&initial);
            bytes = (given > 0).then_some(given.saturating_mul(element));
        }
        let natural = head.ty.bytes() * if head.elements == 0 { 1 } else { head.elements as u32 };
        Ok(Declaration {
            name,
            line,
            text: self.text_from(start),
            storage: head.storage,
            external,
            ty: head.ty,
            align: head.align.unwrap_or(natural),
            bytes,
            initial,
        })
    }

    /// `[4][8]`: the sizes, and whether the first was left out (it is then not among the sizes).
    fn dimensions(&mut self) -> Result<(Vec<u64>, bool), Complaint> {
        let mut sizes = Vec::new();
        let mut unsized_first = false;
        while self.take_mark('[') {
            if self.take_mark(']') {
                if !sizes.is_empty() || unsized_first {
                    return Err("only the first dimension of an array may be left out".to_owned());
                }
                unsized_first = true;
                continue;
            }
            let size = self.integer()?;
            let size = u64::try_from(size)
                .map_err(|_| format!("found the array size {size}; accepted: 0 and above"))?;
            sizes.push(size);
            self.mark(']')?;
            if sizes.len() > 8 {
                return Err("an array has at most 8 dimensions".to_owned());
            }
        }
        Ok((sizes, unsized_first))
    }
}

/// The type a modifier names.
pub(super) fn type_named(word: &str) -> Option<Type> {
    Some(match word {
        "pred" => Type::Pred,
        "b8" => Type::B8,
        "b16" => Type::B16,
        "b32" => Type::B32,
        "b64" => Type::B64,
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        "s8" => Type::S8,
        "s16" => Type::S16,
        "s32" => Type::S32,
        "s64" => Type::S64,
        "u16x2" => Type::U16x2,
        "s16x2" => Type::S16x2,
        "f16" => Type::F16,
        "f16x2" => Type::F16x2,
        "bf16" => Type::Bf16,
        "bf16x2" => Type::Bf16x2,
        "f32" => Type::F32,
        "f64" => Type::F64,
        _other => return None,
    })
}

/// Whether registers are declared with a type; the others are types of instructions only (PTX ISA, §5.2).
fn is_declared(ty: Type) -> bool {
    !matches!(ty, Type::U16x2 | Type::S16x2 | Type::Bf16 | Type::Bf16x2)
}

/// The state space of a declaration's directive; callers pass only the five names.
fn space_named(word: &str) -> Space {
    match word {
        "global" => Space::Global,
        "const" => Space::Constant,
        "shared" => Space::Shared,
        "local" => Space::Local,
        _param => Space::Parameter,
    }
}
