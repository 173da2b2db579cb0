//! Whose machine code PTX becomes.

use serde::Serialize;

/// Whose machine code PTX becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isa {
    /// That of GPUs since Maxwell: predicates have a file of their own, and the low word of a product is one instruction.
    #[default]
    Maxwell,
    /// That of the first GPUs with CUDA, which GPGPU-Sim runs as PTXPlus: a predicate is a register that is written, and read as
    /// an operand, like any other (guards read it at issue), and the low word of a product of 32 bits is made of 16-bit products.
    PtxPlus,
}

impl Isa {
    /// All of them.
    pub const ALL: [Isa; 2] = [Isa::Maxwell, Isa::PtxPlus];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Isa::Maxwell => "maxwell",
            Isa::PtxPlus => "ptxplus",
        }
    }
}
