//! That values stay where they are, and loads come apart from their uses.

use std::collections::BTreeMap;

use super::*;
use crate::compile::schedule::{Schedule, again, latency, stretches};
use crate::compile::{CompileOptions, compile, divergence};
use crate::program::{Operation, Space};
use crate::ptx;
use crate::workloads;

/// The machine instruction that wrote what a place holds; without an entry it is what it was before the stretch.
type Writers = BTreeMap<Place, usize>;

fn places(instruction: &program::Instruction) -> [Vec<Place>; 2] {
    let predicates = |predicates: &[Predicate]| predicates.iter().copied().map(Place::Predicate).collect();
    let [mut read, mut written]: [Vec<Place>; 2] =
        [predicates(&instruction.predicate_sources), predicates(&instruction.predicate_results)];
    read.extend(instruction.sources.iter().map(|source| Place::Register(source.register)));
    written.extend(instruction.results.iter().map(|result| Place::Register(result.register)));
    [read, written]
}

/// Whose values the machine instructions of a stretch find where they read or write, and whose are there in the end.
fn found(
    compiled: &Compiled,
    order: impl Iterator<Item = usize>,
) -> (BTreeMap<usize, Vec<Option<usize>>>, Writers) {
    let (mut writers, mut found) = (Writers::new(), BTreeMap::new());
    for at in order.flat_map(|position| compiled.lowering.ranges[position].clone()) {
        let at = at as usize;
        let [read, written] = places(&compiled.program.instructions[at]);
        let here = read.iter().chain(&written).map(|place| writers.get(place).copied()).collect();
        found.insert(at, here);
        writers.extend(written.into_iter().map(|place| (place, at)));
    }
    (found, writers)
}

#[test]
fn every_value_stays_in_its_register() {
    let mut improved = 0;
    for workload in workloads::list() {
        let module = ptx::parse(workload.name, workload.ptx).unwrap();
        for kernel in &module.kernels {
            let compiled = compile(&module, &kernel.name, &CompileOptions::as_written()).unwrap();
            let cfg = divergence::ptx_cfg(&compiled.kernel).unwrap();
            let latencies = latency::of(&compiled.kernel, &compiled);
            let of =
                |block| stretches::between_barriers(&compiled.kernel, cfg.block(block).instructions.clone());
            for range in cfg.block_ids().flat_map(of) {
                let stretch = Stretch::new(&compiled, &latencies, range.clone());
                let Some(better) = stretch.better() else { continue };
                improved += 1;
                let source: Vec<usize> = (0..range.len()).collect();
                assert!(stretch.cost(&better).near < stretch.cost(&source).near);
                let of_kernel = |order: Vec<usize>| order.into_iter().map(|at| range.start + at);
                assert_eq!(
                    found(&compiled, of_kernel(better)),
                    found(&compiled, of_kernel(source)),
                    "{}, instructions {range:?}",
                    kernel.name
                );
            }
        }
    }
    assert!(improved > 50, "{improved}");
}

fn compiled(body: &str, schedule: Schedule) -> Compiled {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<5>;\n.reg .b32 %r<99>;\n.reg .b64 %d<99>;\n{body}\nret;\n}}\n"
    );
    let module = ptx::parse("test.ptx", &text).unwrap();
    let options = CompileOptions { check_allocation: true, schedule, ..CompileOptions::default() };
    compile(&module, "k", &options).unwrap()
}

/// Machine instructions from each load from device memory to the first that reads what it loads.
fn distances(compiled: &Compiled) -> Vec<usize> {
    let all = &compiled.program.instructions;
    let is_load =
        |at: &usize| matches!(all[*at].operation, Operation::Load(access) if access.space == Space::Global);
    let first_use = |at: usize| {
        let loaded = all[at].results[0].register;
        let mut behind = all[at + 1..].iter();
        1 + behind.position(|reader| reader.sources.iter().any(|source| source.register == loaded)).unwrap()
    };
    (0..all.len()).filter(is_load).map(first_use).collect()
}

#[test]
fn a_load_behind_a_store_gets_some_of_what_the_first_load_has() {
    // Each load waits for the store before it; only addresses, and what the last store needs, can stand behind them.
    let turn = |n: usize| {
        format!(
            "add.u32 %r{0}, %r1, {n};\nmul.wide.u32 %d{0}, %r{0}, 4;\nadd.u64 %d{1}, %d2, %d{0};\n\
             ld.global.u32 %r{1}, [%d{1}];\nshr.u32 %r{2}, %r{1}, %r3;\nst.global.u32 [%d3+{3}], %r{2};\n",
            10 * n,
            10 * n + 1,
            10 * n + 2,
            4 * n
        )
    };
    let turns: String = (1..4).map(turn).collect();
    let body = format!(
        "ld.param.u64 %d2, [p];\nld.param.u32 %r3, [n];\nmov.u32 %r1, %tid.x;\nadd.u64 %d3, %d2, 4096;\n\
         {turns}add.u32 %r4, %r1, 1;\nst.shared.u32 [%r3], %r4;\nsetp.ne.u32 %p1, %r4, 7;\n\
         @%p1 st.shared.u32 [%r3+4], %r4;"
    );
    let distances = distances(&compiled(&body, Schedule::List));
    assert!(distances.len() == 3 && distances.iter().all(|&distance| distance >= FAR), "{distances:?}");
}

/// Whether a load that is used at once gets something in between that stands behind what comes after its use.
fn gets_what_is_behind(between: &str) -> bool {
    let body = format!(
        "ld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\nadd.u32 %r2, %r1, 1;\n{between}\nmov.u32 %r3, %tid.x;\n\
         st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], %r2;\nst.global.u32 [%d1+8], %r3;"
    );
    let compiled = compiled(&body, Schedule::None);
    let cfg = divergence::ptx_cfg(&compiled.kernel).unwrap();
    again(&cfg, &compiled).unwrap().is_some()
}

#[test]
fn nothing_passes_a_barrier() {
    assert!(gets_what_is_behind(""));
    assert!(!gets_what_is_behind("bar.sync 0;"));
}
