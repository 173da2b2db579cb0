//! Instructions: operations of a netlist with operands resolved to places in the arena.
//!
//! Every field that names a value is the offset of its first word. `d` is the result, and lies above all
//! its operands. Widths are in bits, `n` counts words.

/// One instruction. The first group works on values of one word each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "operands are those of the operation of the same name")]
pub enum Inst {
    Copy {
        d: u32,
        a: u32,
    },
    Not {
        d: u32,
        a: u32,
        width: u32,
    },
    And {
        d: u32,
        a: u32,
        b: u32,
    },
    Or {
        d: u32,
        a: u32,
        b: u32,
    },
    Xor {
        d: u32,
        a: u32,
        b: u32,
    },
    Add {
        d: u32,
        a: u32,
        b: u32,
        width: u32,
    },
    Sub {
        d: u32,
        a: u32,
        b: u32,
        width: u32,
    },
    Mul {
        d: u32,
        a: u32,
        b: u32,
        width: u32,
    },
    Eq {
        d: u32,
        a: u32,
        b: u32,
    },
    Lt {
        d: u32,
        a: u32,
        b: u32,
    },
    ShiftLeft {
        d: u32,
        a: u32,
        b: u32,
        width: u32,
    },
    ShiftRight {
        d: u32,
        a: u32,
        b: u32,
    },
    Mux {
        d: u32,
        condition: u32,
        then: u32,
        otherwise: u32,
    },
    Slice {
        d: u32,
        a: u32,
        low: u32,
        width: u32,
    },
    Join {
        d: u32,
        a: u32,
        b: u32,
        shift: u32,
    },
    NonZero {
        d: u32,
        a: u32,
    },
    AllOnes {
        d: u32,
        a: u32,
        width: u32,
    },
    Parity {
        d: u32,
        a: u32,
    },
    FirstOne {
        d: u32,
        a: u32,
    },
    LowestOne {
        d: u32,
        a: u32,
    },
    Decode {
        d: u32,
        a: u32,
        width: u32,
    },
    PopCount {
        d: u32,
        a: u32,
    },
    Read {
        d: u32,
        address: u32,
        base: u32,
        depth: u32,
        bytes: u32,
    },
    ReadBit {
        d: u32,
        address: u32,
        base: u32,
        depth: u32,
    },

    WideCopy {
        d: u32,
        a: u32,
        n: u32,
    },
    WideNot {
        d: u32,
        a: u32,
        width: u32,
    },
    WideAnd {
        d: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    WideOr {
        d: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    WideXor {
        d: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    WideAdd {
        d: u32,
        a: u32,
        b: u32,
        width: u32,
    },
    WideSub {
        d: u32,
        a: u32,
        b: u32,
        width: u32,
    },
    WideMul {
        d: u32,
        a: u32,
        b: u32,
        width: u32,
    },
    WideEq {
        d: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    WideLt {
        d: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    WideShiftLeft {
        d: u32,
        a: u32,
        b: u32,
        b_n: u32,
        width: u32,
    },
    WideShiftRight {
        d: u32,
        a: u32,
        b: u32,
        b_n: u32,
        width: u32,
    },
    WideMux {
        d: u32,
        condition: u32,
        then: u32,
        otherwise: u32,
        n: u32,
    },
    WideSlice {
        d: u32,
        a: u32,
        low: u32,
        width: u32,
    },
    Concat {
        d: u32,
        n: u32,
        parts: u32,
        count: u32,
    },
    WideNonZero {
        d: u32,
        a: u32,
        n: u32,
    },
    WideAllOnes {
        d: u32,
        a: u32,
        width: u32,
    },
    /// The or of the parts of `n` whole words whose bits of `select` are 1: nearly always of one part.
    PartSelect {
        d: u32,
        select: u32,
        parts: u32,
        count: u32,
        n: u32,
    },
    FoldWords {
        d: u32,
        a: u32,
        n: u32,
        op: FoldOp,
    },
    WideParity {
        d: u32,
        a: u32,
        n: u32,
    },
    WideFirstOne {
        d: u32,
        a: u32,
        n: u32,
    },
    WideLowestOne {
        d: u32,
        a: u32,
        n: u32,
    },
    WideDecode {
        d: u32,
        a: u32,
        a_n: u32,
        width: u32,
    },
    WidePopCount {
        d: u32,
        a: u32,
        n: u32,
    },
    LaneSelect {
        d: u32,
        vector: u32,
        index: u32,
        index_n: u32,
        lanes: u32,
        lane: u32,
    },
    OneHotSelect {
        d: u32,
        select: u32,
        vector: u32,
        lanes: u32,
        lane: u32,
    },
    LaneMux {
        d: u32,
        mask: u32,
        then: u32,
        otherwise: u32,
        lanes: u32,
        lane: u32,
    },
    LaneEq {
        d: u32,
        a: u32,
        b: u32,
        lanes: u32,
        lane: u32,
    },
    LaneAdd {
        d: u32,
        a: u32,
        b: u32,
        lanes: u32,
        lane: u32,
    },
    Replicate {
        d: u32,
        a: u32,
        from: u32,
        width: u32,
    },
    SpreadLanes {
        d: u32,
        a: u32,
        lanes: u32,
        lane: u32,
    },
    GroupOr {
        d: u32,
        a: u32,
        groups: u32,
        size: u32,
    },
    PrefixOr {
        d: u32,
        a: u32,
        width: u32,
    },
    PrefixCount {
        d: u32,
        a: u32,
        lanes: u32,
        lane: u32,
    },
    XorHash {
        d: u32,
        a: u32,
        n: u32,
        masks: u32,
        rows: u32,
    },
    WideRead {
        d: u32,
        address: u32,
        base: u32,
        depth: u32,
        n: u32,
    },
    Column {
        column: u32,
    },
}

/// How words are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoldOp {
    /// Sum modulo 2^64.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Bytes of a value in an array: 1, 2 or 4 where it fits, else whole words. Byte 0 is the lowest of a word.
pub fn element_bytes(width: u32) -> u32 {
    match width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8 * width.div_ceil(64),
    }
}

/// Words of an array of `rows` values.
pub fn array_words(width: u32, rows: u32) -> u32 {
    (u64::from(element_bytes(width)) * u64::from(rows)).div_ceil(8) as u32
}

/// A part of a concatenation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Where its value is.
    pub a: u32,
    /// Where its lowest bit goes.
    pub low: u32,
    /// Bits.
    pub width: u32,
}

/// A value for every row of a table: that of row `r` begins `r * bytes` bytes behind `base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// First row's value.
    pub base: u32,
    /// Bytes from one row's value to the next's; 0 if all rows share one.
    pub bytes: u32,
    /// Bits of a value.
    pub width: u32,
}

/// An operation on whole columns, for associative ports. Multi-bit results are columns at `d` with
/// [`element_bytes`] a row; one-bit results are bit vectors at `d`, bit `r` for row `r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColumnInst {
    /// What is done.
    pub op: ColumnOp,
    /// Result.
    pub d: u32,
    /// First operand.
    pub a: Column,
    /// Second operand; the first again where there is only one.
    pub b: Column,
    /// Rows.
    pub depth: u32,
}

/// What a [`ColumnInst`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnOp {
    /// Bit vector: equal.
    Eq,
    /// Bit vector: bits of the first, from `low`, equal to the second, which is the same for all rows.
    EqSlice {
        /// Lowest bit.
        low: u32,
        /// Bits.
        width: u32,
    },
    /// Bit vector: the first and the second, which is the same for all rows, have no bit in common.
    Disjoint,
    /// Bit vector: less than.
    Lt,
    /// Bit vector of a one-bit column.
    Pack,
    /// Column: complement.
    Not,
    /// Column: and.
    And,
    /// Column: or.
    Or,
    /// Column: bits from `low`, as many as given.
    Slice {
        /// Lowest bit.
        low: u32,
        /// Bits.
        width: u32,
    },
}
