//! How often warps compute what has just been computed: a layer that looks on.

use std::cell::RefCell;
use std::collections::HashMap;

use anyhow::Result;
use warpfile_kernels::program::{Computation, LaneMask, Operation, WarpInstruction};
use warpfile_kernels::workloads::OpenWorkload;
use warpfile_sim::config::Config;
use warpfile_sim::mechanisms::{Build, Compiled};
use warpfile_sim::sm::design::{Layer, WarpPlace};
use warpfile_sim::sm::{self, EngineName, RunOptions, SimError};

use super::recent_values::{Found, RecentValues};
use super::report::Effort;
use crate::cache;

/// Instructions of a window (Kim & Ro, §III-A).
const WINDOW: u64 = 1000;
/// A computation that is found more often than this in a window is a frequent one (§III-A).
const FREQUENT: u64 = 10;

/// Instructions of a run, in the order in which an SM issues them, by how often their computation is found in their window.
///
/// A computation is an opcode with its constants and the values of operands and results in all lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// What it took.
    pub effort: Effort,
    /// Instructions.
    pub instructions: u64,
    /// Those whose computation an instruction before them in the window has made.
    pub repeated: u64,
    /// Those, the first ones included, whose computation is found twice or more.
    pub shared: u64,
    /// Of these, those whose computation is found more than ten times.
    pub frequent: u64,
    /// Results of full warps whose value has come before.
    pub values: Found,
}

impl Repeats {
    /// A window of `instructions` is over, with computations found so often.
    fn end_window(&mut self, instructions: u64, counts: impl Iterator<Item = u64>) {
        self.instructions += instructions;
        for count in counts.filter(|&count| count > 1) {
            self.repeated += count - 1;
            self.shared += count;
            self.frequent += if count > FREQUENT { count } else { 0 };
        }
    }
}

/// Runs a workload and looks on; every operand is checked, and so are the results.
pub fn repeats(config: &Config, opened: &mut OpenWorkload, engine: EngineName) -> Result<Repeats> {
    let found = RefCell::new(Repeats::default());
    let options = RunOptions { engine, code_cache: cache::code(), ..RunOptions::default() };
    let mut design = config.design.build(&Build::new(config, &options))?;
    design.layers.push(Box::new(Onlooker::new(&found)));
    let report = sm::run_design(config, design, opened, options)?;
    opened.check_results()?;
    Ok(Repeats { effort: Effort::of(&report), ..found.into_inner() })
}

/// What an instruction of the kernel computes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Static {
    /// Opcode and constants; none of what is never a repeated computation: control flow, stores, atomics.
    opcode: Option<Vec<u32>>,
    sources: usize,
    results: usize,
    accesses_memory: bool,
    /// It works on values that stand for those of a hardware that is not known.
    invented: bool,
}

/// Holds nothing back and counts computations.
struct Onlooker<'f> {
    found: &'f RefCell<Repeats>,
    instructions: Vec<Static>,
    /// The window so far: computations with how often they have been found.
    window: HashMap<Vec<u32>, u64>,
    in_window: u64,
    values: RecentValues,
}

impl<'f> Onlooker<'f> {
    fn new(found: &'f RefCell<Repeats>) -> Onlooker<'f> {
        let (instructions, window, values) = (Vec::new(), HashMap::new(), RecentValues::default());
        Onlooker { found, instructions, window, in_window: 0, values }
    }

    fn end_window(&mut self) {
        let counts = self.window.drain().map(|(_, count)| count);
        self.found.borrow_mut().end_window(self.in_window, counts);
        self.in_window = 0;
    }

    /// Opcode and constants, values in the lanes that execute, and addresses.
    fn computation(&self, executed: &WarpInstruction) -> Option<Vec<u32>> {
        let instruction = &self.instructions[executed.inst.0 as usize];
        let mut computation = instruction.opcode.clone()?;
        computation.push(executed.active);
        let sources = &executed.sources[..instruction.sources];
        let results = &executed.results[..instruction.results];
        for values in sources.iter().chain(results) {
            computation.extend(of_lanes(executed.active).map(|lane| values[lane]));
        }
        if instruction.accesses_memory {
            let addresses = of_lanes(executed.active).map(|lane| executed.addresses[lane]);
            computation.extend(addresses.flat_map(|address| [address as u32, (address >> 32) as u32]));
        }
        Some(computation)
    }
}

fn of_lanes(active: LaneMask) -> impl Iterator<Item = usize> {
    (0..LaneMask::BITS as usize).filter(move |lane| active >> lane & 1 == 1)
}

impl Layer for Onlooker<'_> {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        let program = kernel.program;
        let mut names: HashMap<&str, u32> = HashMap::new();
        let mut instructions = Vec::with_capacity(program.instructions.len());
        for (index, one) in program.instructions.iter().enumerate() {
            let next = names.len() as u32;
            let name = *names.entry(&one.text).or_insert(next);
            instructions.push(Static {
                opcode: computes(&one.operation).then(|| match program.computations.get(index) {
                    Some(Computation::Function { form, immediates }) => {
                        [0, *form].into_iter().chain(immediates.iter().copied().map(u32::from)).collect()
                    }
                    // Nothing tells its constants, but a result is the same only if they had no part in it.
                    _other if !one.results.is_empty() => vec![1, name],
                    _without_result => vec![2, index as u32],
                }),
                sources: one.sources.len(),
                results: one.results.len(),
                accesses_memory: one.has_addresses(),
                invented: matches!(program.computations.get(index), Some(Computation::Invented)),
            });
        }
        // Forms are numbered kernel by kernel.
        self.end_window();
        self.instructions = instructions;
        Ok(())
    }

    fn issue(&mut self, _at: WarpPlace, executed: &WarpInstruction) {
        if let Some(computation) = self.computation(executed) {
            *self.window.entry(computation).or_default() += 1;
        }
        let instruction = &self.instructions[executed.inst.0 as usize];
        if executed.active == LaneMask::MAX && !instruction.invented {
            executed.results[..instruction.results].iter().for_each(|value| self.values.see(value));
        }
        self.in_window += 1;
        if self.in_window == WINDOW {
            self.end_window();
        }
    }
}

impl Drop for Onlooker<'_> {
    fn drop(&mut self) {
        self.end_window();
        self.found.borrow_mut().values = self.values.found;
    }
}

/// Whether an operation is a computation that can be repeated (§III-A).
fn computes(operation: &Operation) -> bool {
    match operation {
        Operation::Alu | Operation::Sfu | Operation::Double | Operation::Texture | Operation::Load(_) => true,
        Operation::Store(_)
        | Operation::Atomic(_)
        | Operation::Barrier
        | Operation::Fence
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => false,
    }
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::workloads;
    use warpfile_sim::sm::EngineName;

    use super::{Repeats, repeats};
    use crate::figures::sweep::Point;
    use crate::figures::variation::Variation;

    #[test]
    fn all_but_the_first_of_equal_computations_are_repeated() {
        let mut found = Repeats::default();
        found.end_window(1000, [1, 2, 10, 11].into_iter());
        assert_eq!((found.instructions, found.repeated), (1000, 1 + 9 + 10));
        assert_eq!((found.shared, found.frequent), (2 + 10 + 11, 11));
    }

    #[test]
    fn equal_blocks_repeat_their_index_arithmetic_and_every_instruction_is_in_a_window() {
        let config = Variation::of("tiny", &[]).config(&Point::new("fermi-wir", "baseline")).expect("valid");
        let mut opened = workloads::by_name("hotspot").expect("known").open("tiny").expect("opens");
        let found = repeats(&config, &mut opened, EngineName::default()).expect("runs");
        assert_eq!(found.instructions, found.effort.warp_instructions);
        assert!(found.repeated > 0 && found.repeated < found.shared && found.frequent <= found.shared);
        assert!(found.shared < found.instructions, "{found:?}");
        let among = found.values.among;
        assert!(among.is_sorted() && among[0] > 0 && among[3] < found.values.results, "{found:?}");
    }
}
