//! Real kernels through the harness: every operand is checked, and the results are those of the references.

use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::compile::operands::Operands;
use warpfile_kernels::program::Launches;
use warpfile_kernels::workloads;
use warpfile_random::slice;
use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::Registry;
use warpfile_sim::sm::{RunOptions, RunReport, SimError};

use crate::circuits::run_circuit;
use crate::stand_ins::{gebhart, run_two_level};
use crate::tiny::{run_checked, run_tiny_with};

/// Runs every workload at its test size and checks what it computed.
fn run_all(mut run: impl FnMut(&mut dyn Launches) -> Result<RunReport, SimError>) -> Vec<RunReport> {
    workloads::list().iter().map(|workload| run_checked(workload.name, &mut run)).collect()
}

#[test]
fn every_workload_runs_with_a_register_file_circuit() {
    for report in run_all(|launches| run_circuit(launches, RunOptions::default())) {
        assert_eq!(report.mrf(), report.operands);
    }
}

/// Runs workloads on one in six of the designs, drawn, on their machines: compiled with each of two sets of options.
fn on_drawn_designs(names: [&str; 2], options: [CompileOptions; 2], check: impl Fn(&Config, [RunReport; 2])) {
    for name in names {
        for stack in slice(6, Registry::shipped().stacks()) {
            let machine = stack.preset().expect("there is one");
            let config = preset(machine).expect("complete").with_stack(stack.clone());
            check(&config, options.map(|options| run_tiny_with(&config, name, options)));
        }
    }
}

/// Programs whose arithmetic reads constant memory and scratchpad.
#[test]
fn operands_in_memory_are_read_on_every_design() {
    let options = [Operands::Registers, Operands::Scratchpad]
        .map(|operands| CompileOptions { operands, ..CompileOptions::default() });
    on_drawn_designs(["convolution", "pathfinder"], options, |config, [loads, operands]| {
        assert!(operands.warp_instructions < loads.warp_instructions, "{}", config.design);
    });
}

/// Programs whose predicates are registers; who answers instructions answers comparisons, too.
#[test]
fn machine_code_of_ptxplus_runs_on_every_design() {
    let options = Isa::ALL.map(|isa| CompileOptions { isa, ..CompileOptions::default() });
    on_drawn_designs(["hotspot", "sobel"], options, |config, [maxwell, ptxplus]| {
        assert!(ptxplus.operands.writes > maxwell.operands.writes, "{}", config.design);
        let [before, now] = [maxwell, ptxplus].map(|report| report.answered_instructions);
        assert!(now > before || before + now == 0, "{}: {before}, {now}", config.design);
    });
}

#[test]
fn every_workload_runs_with_four_active_warps() {
    let mut config = gebhart();
    config.scheduler.active_warps = 4;
    let reports = run_all(|launches| run_two_level(&config, 6, launches).map(|(report, _)| report));
    assert!(reports.iter().all(|report| report.scheduler.suspensions > 0));
}

#[test]
fn what_a_kernel_reads_and_writes_does_not_depend_on_the_scheduler() {
    let config = gebhart();
    let circuit = run_all(|launches| run_circuit(launches, RunOptions::default()));
    let two_level = run_all(|launches| run_two_level(&config, 6, launches).map(|(report, _)| report));
    for (a, b) in circuit.iter().zip(&two_level) {
        assert_eq!(a.operands, b.operands);
        assert_eq!(a.operands_checked, b.operands_checked);
        assert_eq!(a.warp_instructions, b.warp_instructions);
    }
}
