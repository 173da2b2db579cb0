//! The syntax of a PTX file, names not yet resolved. All text is borrowed from the file.

use super::error::PtxErrors;
use super::ir::Type;
use crate::program::Space;

/// A file.
#[derive(Debug)]
pub(super) struct File<'a> {
    /// Bits of an address: 32 or 64.
    pub(super) address_bits: u32,
    pub(super) variables: Vec<Declaration<'a>>,
    pub(super) functions: Vec<Function<'a>>,
}

/// An `.entry` or `.func`.
#[derive(Debug)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) line: u32,
    pub(super) entry: bool,
    pub(super) results: Vec<Declaration<'a>>,
    pub(super) parameters: Vec<Declaration<'a>>,
    pub(super) max_threads: Option<u32>,
    /// `.maxnreg`.
    pub(super) max_registers: Option<u32>,
    /// `.minnctapersm`.
    pub(super) min_blocks: Option<u32>,
    pub(super) required_block: Option<[u32; 3]>,
    /// `None` for a declaration without a body.
    pub(super) body: Option<Vec<Statement<'a>>>,
    /// What of it could not be read.
    pub(super) unreadable: Option<PtxErrors>,
}

/// What a declaration declares, beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// A memory variable.
    Memory(Space),
    /// `.reg`, as parameter of a `.func`.
    Register,
    /// `.texref`.
    Texture,
}

/// A variable.
#[derive(Clone, Debug)]
pub(super) struct Declaration<'a> {
    pub(super) name: &'a str,
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) storage: Storage,
    pub(super) external: bool,
    pub(super) ty: Type,
    pub(super) align: u32,
    /// Bytes; `None` for `[]` without an initialiser.
    pub(super) bytes: Option<u64>,
    /// Elements of the initialiser, flattened.
    pub(super) initial: Vec<Initial<'a>>,
}

/// An element of an initialiser.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Initial<'a> {
    Number(Number),
    /// Address of a variable plus an offset, generic or within its space.
    Symbol {
        name: &'a str,
        addend: i64,
        generic: bool,
    },
    /// That many elements that are 0: the rest of an inner brace.
    Zeros(u64),
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i128),
    Single(u32),
    Double(f64),
}

/// A statement of a function body.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) line: u32,
    pub(super) kind: StatementKind<'a>,
}

#[derive(Debug)]
pub(super) enum StatementKind<'a> {
    Label(&'a str),
    Instruction(RawInstruction<'a>),
    /// `.reg .b32 %r<8>, %x;`: name and count, or no count for a single register.
    Registers(Type, Vec<(&'a str, Option<u64>)>),
    Variable(Declaration<'a>),
    /// `name: .branchtargets a, b;`
    BranchTargets(&'a str, Vec<&'a str>),
    Open,
    Close,
}

/// An instruction.
#[derive(Debug)]
pub(super) struct RawInstruction<'a> {
    pub(super) text: String,
    /// Name and whether it is negated.
    pub(super) guard: Option<(&'a str, bool)>,
    pub(super) opcode: &'a str,
    pub(super) modifiers: Vec<&'a str>,
    pub(super) operands: Vec<RawOperand<'a>>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RawOperand<'a> {
    /// A register, variable, label or special register.
    Name(&'a str),
    /// `!%p`
    Not(&'a str),
    /// `-%r1` is not PTX; `%tid.x` is.
    Member(&'a str, &'a str),
    Number(Number),
    /// `name+8`
    Offset(&'a str, i64),
    /// `generic(name)+8`
    Generic(&'a str, i64),
    /// `[name+8]`, `[8]`
    Address(Option<&'a str>, i64),
    /// `[texture, {coordinates}]`
    Texel(&'a str, Vec<RawOperand<'a>>),
    /// `{a, b}`
    Vector(Vec<RawOperand<'a>>),
    /// `p|q`
    Pair(Box<RawOperand<'a>>, Box<RawOperand<'a>>),
    /// `(a, b)`, of a call
    Group(Vec<RawOperand<'a>>),
}
