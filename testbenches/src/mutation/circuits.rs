//! Which tests are the testbench of a circuit.

use warpfile_hdl::FOLDERS;
use warpfile_hdl::library::Testbench;

/// A circuit and its testbench.
#[derive(Clone, Copy, Debug)]
pub struct Tested {
    /// Name of the circuit.
    pub circuit: &'static str,
    /// The folder of both, in `hdl/src` and in `testbenches/tests`.
    pub folder: &'static str,
    tests: &'static [&'static str],
}

/// Tests whose names contain one of these compare texts and tools, in which a mutant is as good as any circuit.
pub const SKIPPED: [&str; 3] = ["verilog", "clean", "compiled"];

impl Tested {
    /// Tests whose paths begin so, as `cargo test` lists them.
    pub fn tests(&self) -> impl Iterator<Item = String> {
        let folder = self.folder;
        self.tests.iter().map(move |test| format!("{folder}::{test}::"))
    }
}

/// All circuits that have a testbench, in the order of the folders.
pub fn circuits() -> Vec<Tested> {
    let of_folder = FOLDERS.iter().flat_map(|folder| folder.testbenches.iter().map(|of| (folder.name, of)));
    of_folder.map(|(folder, &Testbench { circuit, tests })| Tested { circuit, folder, tests }).collect()
}
