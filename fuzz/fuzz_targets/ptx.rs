//! A PTX file: parsed, compiled, and a block of every kernel executed for a while.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, Compiled, compile};
use warpfile_kernels::exec::{BlockExecution, Configuration, ExecOptions, Execution, Loaded, Memory};
use warpfile_kernels::ptx;
use warpfile_kernels::ptx::ir::Module;

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    let Ok(module) = ptx::parse("k.ptx", text) else { return Corpus::Keep };
    for kernel in &module.kernels {
        let compiled = Schedule::ALL.map(|schedule| {
            let options = CompileOptions { check_allocation: true, schedule, ..CompileOptions::default() };
            compile(&module, &kernel.name, &options)
        });
        // An order that breaks a dependence, or an allocation that does not hold, is an error of ours.
        assert_eq!(compiled[0].is_ok(), compiled[1].is_ok(), "{:?}", compiled.map(Result::err));
        for compiled in compiled.into_iter().flatten() {
            execute(&module, &compiled);
        }
    }
    Corpus::Keep
});

/// Executes a block for a while.
fn execute(module: &Module, compiled: &Compiled) {
    let kernel = &compiled.kernel;
    let mut memory = Memory::new();
    let Ok(loaded) = Loaded::new(module, &mut memory) else { return };
    let configuration = Configuration {
        grid: [1; 3],
        block: [40, 1, 1],
        dynamic_shared_bytes: 64,
        parameters: vec![0; kernel.parameter_bytes as usize],
        options: ExecOptions { max_warp_instructions: 10_000, ..ExecOptions::default() },
    };
    if let Ok(execution) = Execution::new(kernel, &compiled.reconvergence, &loaded, configuration) {
        let _ = BlockExecution::new(&execution, 0).run(&mut memory, &mut ());
    }
}
