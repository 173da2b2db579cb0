//! Launch files: how the kernels of a PTX file are run (`docs/launch-files.md`).
//!
//! A launch file declares named sizes, buffers with their contents, and a sequence of steps: kernel launches,
//! loops of them, and what a host program would do between them. [`LaunchFile`] is the parsed file, still in
//! expressions; [`Sequence`] walks through its steps for one size.

mod arguments;
mod compare;
mod element;
mod error;
mod expected;
mod expression;
mod fill;
mod host;
mod object;
mod parse;
mod sequence;
mod toml_value;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use arguments::{Reference, parameter_block};
pub use compare::{CheckReport, Difference, Mismatch, SHOWN, Tolerance, compare};
pub use element::{ElementType, Number};
pub use error::{LaunchError, Origin, suggest};
pub use expected::{CheckError, check_results, expected_files};
pub use expression::{Buffers, Expression, Reduction, Value, Variables};
pub use object::{AddressMode, Filter, Object, ObjectArgument, ObjectKind, Reads};
pub use sequence::{ArgumentValue, HostMemory, MemberValue, Planned, Sequence};

/// Most bytes that a launch file may have.
pub const MAX_FILE_BYTES: u64 = 1 << 20;
/// Most PTX files that a launch file may name.
pub const MAX_PTX_FILES: usize = 64;
/// Most bytes that the buffers of one run may have together.
pub const MAX_BUFFER_BYTES: u64 = 1 << 30;
/// Most threads of a block.
pub const MAX_BLOCK_THREADS: i64 = 1024;
/// Most bytes of dynamic shared memory a block.
pub const MAX_DYNAMIC_SHARED_BYTES: i64 = 227 << 10;
/// Most elements of buffers that `let` and `while` of one run may read.
pub const MAX_READ_ELEMENTS: u64 = 1 << 32;
/// Most steps of one run, every repetition counted.
pub const MAX_STEPS: u64 = 1_000_000;
/// The size that is used when none is named.
pub const DEFAULT_SIZE: &str = "default";

/// A parsed launch file.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchFile {
    /// Where it was read from; relative paths in it start in its folder.
    pub path: PathBuf,
    /// What the kernels do, in a line.
    pub description: String,
    /// The PTX files it names. If there are none: the launch file's own name with `.ptx`.
    pub ptx: Vec<PathBuf>,
    /// Names of the sizes and the variables of each, in the order of the file. All have the same variables.
    pub sizes: Vec<(String, Variables)>,
    /// Buffers in device memory, in the order of the file.
    pub buffers: Vec<Buffer>,
    /// What is run.
    pub steps: Arc<[Step]>,
}

/// A buffer in device memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Where it is declared.
    pub origin: Origin,
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// Elements.
    pub length: Expression,
    /// What it holds at first.
    pub fill: Fill,
    /// Elements that are different, later ones on top.
    pub patches: Vec<Patch>,
    /// The variable of a PTX file that it is or, for a texture, is bound to.
    pub symbol: Option<Symbol>,
    /// The image that it is, if its symbol is a `.texref`; words of one row if nothing is said.
    pub texture: Option<ObjectArgument>,
    /// Whether it is a result, and how it is compared.
    pub result: Option<ResultCheck>,
}

/// A `.const` or `.global` variable, or a `.texref`, of a PTX file.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// The PTX file, as the launch file names it; any that has the variable if it is left out.
    pub ptx: Option<PathBuf>,
}

/// What a buffer, or a part of it, holds at first.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// One value.
    Constant(Scalar),
    /// `start`, `start + step`, `start + 2 step`, …
    Iota {
        /// The first value.
        start: Scalar,
        /// From one value to the next.
        step: Scalar,
    },
    /// Independent uniform values from `low` to `high`, both possible.
    Random {
        /// Seed of the generator.
        seed: u64,
        /// Least value.
        low: Scalar,
        /// Greatest value.
        high: Scalar,
    },
    /// Running sums of random integers: 0, then each `low` to `high` more than the one before. Row offsets of
    /// a sparse matrix or a graph.
    Cumulative {
        /// Seed of the generator.
        seed: u64,
        /// Least difference.
        low: Scalar,
        /// Greatest difference.
        high: Scalar,
    },
    /// The values themselves, as many as there are elements.
    Values(Vec<Scalar>),
    /// Structures of members, one after the other, in a buffer of bytes.
    Structures(Vec<Vec<Member>>),
    /// Raw little-endian elements in a file, as many as there are elements.
    File(PathBuf),
}

/// Elements `first`, `first + every`, … of a buffer, `count` of them, with contents of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Where it is declared.
    pub origin: Origin,
    /// Index of the first element.
    pub first: Expression,
    /// From one index to the next.
    pub every: Expression,
    /// Elements.
    pub count: Expression,
    /// What they hold.
    pub fill: Fill,
}

/// A number in a launch file.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A number or an expression.
    Expression(Expression),
    /// A real number written as such.
    Real(Origin, f64),
    /// The address of a buffer's element.
    Address(Address),
}

/// The address of an element of a buffer, or of its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// Where it stands.
    pub origin: Origin,
    /// The buffer's index.
    pub buffer: usize,
    /// Elements from the start of the buffer.
    pub offset: Expression,
}

/// How a result buffer is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultCheck {
    /// How far it may be off.
    pub tolerance: Tolerance,
    /// Raw little-endian elements that are expected, if the launch file names a file of them.
    pub expected: Option<PathBuf>,
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A kernel launch.
    Launch(Box<LaunchStep>),
    /// `body` for `variable` = `from`, `from + by`, … while it is less than `to`.
    For {
        /// The loop's variable.
        variable: String,
        /// Its first value.
        from: Expression,
        /// The first value that it does not get.
        to: Expression,
        /// From one value to the next, at least 1.
        by: Expression,
        /// The loop's steps.
        body: Arc<[Step]>,
    },
    /// `body` once, then again as long as a buffer has an element that is not zero.
    RepeatWhile {
        /// Where it stands.
        origin: Origin,
        /// The buffer's index.
        buffer: usize,
        /// Most repetitions; more is an error.
        at_most: Expression,
        /// The loop's steps.
        body: Arc<[Step]>,
    },
    /// `body` as long as a condition holds.
    While {
        /// What must not be zero.
        condition: Expression,
        /// Most repetitions; more is an error.
        at_most: Expression,
        /// The loop's steps.
        body: Arc<[Step]>,
    },
    /// Gives variables values, one after the other.
    Let {
        /// Each variable with its value.
        values: Vec<(String, Expression)>,
    },
    /// Gives a buffer its first contents again.
    Fill {
        /// The buffer's index.
        buffer: usize,
    },
    /// Exchanges two buffers' names, as a host program exchanges pointers.
    Swap {
        /// Where it stands.
        origin: Origin,
        /// The buffers' indices.
        buffers: [usize; 2],
    },
    /// Copies one buffer to another of the same type and length.
    Copy {
        /// Where it stands.
        origin: Origin,
        /// The source's index.
        from: usize,
        /// The destination's index.
        to: usize,
    },
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchStep {
    /// Where it stands.
    pub origin: Origin,
    /// The kernel's name, in the PTX file or demangled; may be left out when the file has only one kernel.
    pub entry: Option<String>,
    /// Blocks in x, y, z.
    pub grid: [Expression; 3],
    /// Threads of a block in x, y, z.
    pub block: [Expression; 3],
    /// Bytes of dynamic shared memory a block.
    pub dynamic_shared_bytes: Expression,
    /// Arguments in the order of the kernel's parameters.
    pub arguments: Vec<Argument>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// An address, a number with its type, or a handle.
    Member(Member),
    /// A number, written as such, of the type that the kernel declares.
    Number(Scalar),
    /// The value of an expression, of the type that the kernel declares.
    Expression(Expression),
    /// A structure passed by value: its members, each aligned to its size.
    Structure(Vec<Member>),
}

/// An address, a number with its type, or a handle.
#[derive(Clone, Debug, PartialEq)]
pub enum Member {
    /// The address of a buffer's element.
    Address(Address),
    /// A number.
    Scalar(ElementType, Scalar),
    /// The handle of a texture or surface.
    Object(Box<ObjectArgument>),
}

impl LaunchFile {
    /// Reads and parses a file.
    pub fn read(path: &Path) -> Result<Self, LaunchError> {
        let text = read_bounded(path, MAX_FILE_BYTES)?;
        Self::parse(path, &text)
    }

    /// Parses the text of a launch file; `path` is for messages and relative paths.
    pub fn parse(path: &Path, text: &str) -> Result<Self, LaunchError> {
        parse::launch_file(path, text)
    }

    /// The variables of a size; of several names, separated by commas, of the first that is known. If none is, it is an error that
    /// lists the near ones.
    pub fn size(&self, name: &str) -> Result<&Variables, LaunchError> {
        let named = |wanted: &str| self.sizes.iter().find(|(known, _)| known == wanted);
        let found = name.split(',').find_map(named);
        found.map(|(_, variables)| variables).ok_or_else(|| {
            let near = suggest(name, self.sizes.iter().map(|(known, _)| known.as_str()));
            Origin::of_file(&self.path).error(format!("no size `{name}`{near}"))
        })
    }

    /// Every launch, those in loops once.
    pub fn launches(&self) -> Vec<&LaunchStep> {
        launches(&self.steps)
    }

    /// Paths of the PTX files: as named, relative to the launch file, or the launch file's name with `.ptx`.
    pub fn ptx_paths(&self) -> Vec<PathBuf> {
        if self.ptx.is_empty() {
            return vec![self.path.with_extension("ptx")];
        }
        self.ptx.iter().map(|named| self.folder().join(named)).collect()
    }

    /// Paths of the files that buffers are filled from or compared with, relative to where the launch file's path is.
    pub fn data_paths(&self) -> Vec<PathBuf> {
        let of_buffer = |buffer: &Buffer| {
            let fills = std::iter::once(&buffer.fill).chain(buffer.patches.iter().map(|patch| &patch.fill));
            let filled = fills.filter_map(Fill::file).cloned();
            let expected = buffer.result.iter().filter_map(|result| result.expected.clone());
            filled.chain(expected).map(|named| self.folder().join(named)).collect::<Vec<_>>()
        };
        self.buffers.iter().flat_map(of_buffer).collect()
    }

    /// The folder where relative paths start.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

impl Fill {
    /// The file that it is read from, if it is.
    fn file(&self) -> Option<&PathBuf> {
        match self {
            Fill::File(path) => Some(path),
            Fill::Zeros
            | Fill::Constant(_)
            | Fill::Iota { .. }
            | Fill::Random { .. }
            | Fill::Cumulative { .. }
            | Fill::Values(_)
            | Fill::Structures(_) => None,
        }
    }
}

fn launches(steps: &[Step]) -> Vec<&LaunchStep> {
    steps
        .iter()
        .flat_map(|step| match step {
            Step::Launch(launch) => vec![launch.as_ref()],
            Step::For { body, .. } | Step::RepeatWhile { body, .. } | Step::While { body, .. } => {
                launches(body)
            }
            Step::Let { .. } | Step::Fill { .. } | Step::Swap { .. } | Step::Copy { .. } => Vec::new(),
        })
        .collect()
}

/// Reads a text file of at most `most` bytes.
pub(crate) fn read_bounded(path: &Path, most: u64) -> Result<String, LaunchError> {
    let origin = Origin::of_file(path);
    let mut text = String::new();
    // What says that it is empty may be endless, as /dev/zero.
    let bytes = File::open(path).and_then(|file| file.take(most + 1).read_to_string(&mut text));
    let bytes = bytes.map_err(|error| origin.error(format!("cannot be read: {error}")))?;
    if bytes as u64 > most {
        return Err(origin.error(format!("longer than the {most} bytes that are accepted")));
    }
    Ok(text)
}
