//! Every workload's results against its CPU reference.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::compile::operands::{ACCESS, Operands};
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, Compiled, compile};
use warpfile_kernels::exec::PtxRun;
use warpfile_kernels::launch::{LaunchFile, Sequence, parameter_block};
use warpfile_kernels::program::{Launches, Operation, WarpInstruction};
use warpfile_kernels::ptx;
use warpfile_kernels::workloads::{self, AddressBits, CheckError, Workload};

use crate::host_buffers::HostBuffers;

fn filled(workload: &Workload) -> (Sequence, HostBuffers) {
    let sequence = Sequence::new(Arc::new(workload.launch_file().unwrap()), "tiny").unwrap();
    let mut buffers = HostBuffers::default();
    sequence.fill_all(&mut buffers).unwrap();
    (sequence, buffers)
}

#[test]
fn a_run_that_computes_nothing_is_a_mismatch() {
    for workload in workloads::all() {
        let (sequence, buffers) = filled(workload);
        match workload.check(&sequence, &buffers) {
            Err(CheckError::Mismatch { mismatch, .. }) => assert!(mismatch.wrong > 0),
            other => panic!("{}: {other:?}", workload.name),
        }
    }
}

#[test]
fn the_ptx_of_every_workload_has_the_kernels_that_its_launch_file_names() {
    for (workload, addresses) in all() {
        let (path, ptx) = workload.ptx_of(addresses);
        let module = ptx::parse(&path.display().to_string(), ptx).unwrap();
        let (mut sequence, mut buffers) = filled(workload);
        while let Some(planned) = sequence.next(&mut buffers).unwrap() {
            let entry = planned.entry.clone().unwrap();
            let kernel = module.kernel(&entry).unwrap_or_else(|error| panic!("{}: {error}", workload.name));
            parameter_block(&planned, kernel, |_| Ok(0)).unwrap();
        }
    }
}

/// A variant is named after its program.
#[test]
fn a_variant_is_of_a_program_of_the_list() {
    for variant in workloads::variants() {
        let (program, _) = variant.name.rsplit_once('-').expect("a program and what is other");
        assert!(workloads::list().iter().any(|workload| workload.name == program), "{}", variant.name);
    }
}

/// All workloads, with addresses of either size.
fn all() -> impl Iterator<Item = (&'static Workload, AddressBits)> {
    workloads::all().iter().flat_map(|workload| AddressBits::ALL.map(|addresses| (workload, addresses)))
}

fn run(workload: &Workload, addresses: AddressBits) -> PtxRun {
    let (path, ptx) = workload.ptx_of(addresses);
    let module = ptx::parse(&path.display().to_string(), ptx).unwrap();
    PtxRun::new(module, Arc::new(workload.launch_file().unwrap()), "tiny").unwrap()
}

#[test]
fn every_workload_computes_what_its_reference_computes() {
    for (workload, addresses) in all() {
        for schedule in Schedule::ALL {
            let mut run = run(workload, addresses);
            run.set_options(CompileOptions { schedule, ..CompileOptions::default() });
            run.run_to_end().unwrap_or_else(|error| panic!("{}, {schedule:?}: {error}", workload.name));
            let report = workload.check(run.sequence(), run.host_memory()).unwrap();
            assert!(report.elements > 0);
        }
    }
}

/// Launch, block and warp, and the PTX instruction of a load.
type Loaded = (usize, u64, usize, usize);
/// The lanes that read, their addresses, and whether it is as an operand.
type Lanes = (u32, [u64; 32], bool);

/// The words of scratchpad that are read, each time, with the code of these options: as operands, or by loads.
fn words_read(
    workload: &Workload,
    addresses: AddressBits,
    operands: Operands,
) -> BTreeMap<Loaded, Vec<Lanes>> {
    let options = CompileOptions { operands, ..CompileOptions::as_written() };
    let (path, ptx) = workload.ptx_of(addresses);
    let module = ptx::parse(&path.display().to_string(), ptx).unwrap();
    let mut run = run(workload, addresses);
    run.set_options(options);
    let mut found: BTreeMap<Loaded, Vec<Lanes>> = BTreeMap::new();
    let mut launches = 0;
    while let Some(mut stream) = run.next_launch().unwrap() {
        let Compiled { program, lowering, .. } = compile(&module, &stream.program().name, &options).unwrap();
        let instructions = program.instructions.iter().zip(&lowering.instructions);
        let loads: Vec<_> = instructions
            .map(|(instruction, lowered)| match instruction.operation {
                Operation::Load(ACCESS) => Some(lowered.ptx),
                _ => lowered.operand,
            })
            .collect();
        let mut inst = WarpInstruction::default();
        for block in 0..stream.launch().blocks() {
            stream.start_block(block).unwrap();
            for warp in 0..stream.launch().warps_per_block() {
                while stream.next(block, warp, &mut inst).unwrap() {
                    if let Some(load) = loads[inst.inst.0 as usize] {
                        let is_operand = program.instructions[inst.inst.0 as usize].operand.is_some();
                        let place = (launches, block, warp, load.index());
                        found.entry(place).or_default().push((inst.active, inst.addresses, is_operand));
                    }
                }
            }
            stream.finish_block(block);
        }
        launches += 1;
    }
    if operands == Operands::Scratchpad {
        workload.check(run.sequence(), run.host_memory()).unwrap();
    }
    found
}

#[test]
fn operands_in_scratchpad_are_where_the_loads_are_that_they_stand_for() {
    let (mut compared, mut words) = (0, 0);
    for workload in workloads::all() {
        let [loads, operands] = [Operands::Registers, Operands::Scratchpad]
            .map(|operands| words_read(workload, AddressBits::Bits32, operands));
        assert_eq!(loads.len(), operands.len(), "{}", workload.name);
        for ((place, loads), (other, operands)) in loads.iter().zip(&operands) {
            assert_eq!((place, loads.len()), (other, operands.len()), "{}", workload.name);
            for ((path, loaded, _), (active, read, is_operand)) in loads.iter().zip(operands) {
                assert_eq!(active & !path, 0, "{}: {place:?}", workload.name);
                assert!(*is_operand || active == path, "{}: {place:?}", workload.name);
                if !is_operand {
                    continue;
                }
                for lane in (0..32).filter(|lane| active >> lane & 1 == 1) {
                    assert_eq!(loaded[lane], read[lane], "{}: {place:?}", workload.name);
                    words += 1;
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 1000 && words > 10_000, "{compared} {words}");
}

/// Fewer registers than any of the larger kernels needs, and enough for each of its instructions.
const FEW_REGISTERS: u16 = 12;

#[test]
fn workloads_compute_the_same_with_few_registers() {
    let mut spilled = 0;
    for (workload, addresses) in all() {
        for schedule in Schedule::ALL {
            let mut run = run(workload, addresses);
            run.set_options(CompileOptions {
                schedule,
                max_registers: FEW_REGISTERS,
                ..CompileOptions::default()
            });
            let drained = drain(&mut run);
            assert!(drained > 100, "{}", workload.name);
            assert!(workload.check(run.sequence(), run.host_memory()).unwrap().elements > 0);
            for (name, compiled) in run.compiled() {
                assert!(compiled.statistics.registers <= FEW_REGISTERS, "{name}");
                spilled += usize::from(!compiled.program.spills.is_none());
            }
        }
    }
    assert!(spilled > 30, "{spilled} kernels");
}

/// Hands out all warps of the stream in an order that changes from block to block, and checks that each
/// source has the value that was last written to its register.
fn drain(launches: &mut impl Launches) -> u64 {
    let mut executed = 0;
    let mut inst = WarpInstruction::default();
    while let Some(mut stream) = launches.next_launch().unwrap() {
        let program = stream.program().clone();
        let (blocks, warps) = (stream.launch().blocks(), stream.launch().warps_per_block());
        for block in 0..blocks {
            stream.start_block(block).unwrap();
            for warp in (0..warps).map(|warp| if block % 2 == 0 { warp } else { warps - 1 - warp }) {
                let mut registers = vec![([0; 32], 0_u32); usize::from(program.registers_per_thread)];
                while stream.next(block, warp, &mut inst).unwrap() {
                    executed += 1;
                    check(&program.instructions[inst.inst.0 as usize], &inst, &mut registers);
                }
            }
            stream.finish_block(block);
        }
    }
    executed
}

fn check(
    machine: &warpfile_kernels::program::Instruction,
    inst: &WarpInstruction,
    registers: &mut [([u32; 32], u32)],
) {
    let lanes = |mask: u32| (0..32).filter(move |lane| mask >> lane & 1 == 1);
    for (index, source) in machine.sources.iter().enumerate() {
        let (values, written) = &registers[usize::from(source.register.0)];
        let known = inst.active & inst.defined[index];
        assert_eq!(known & !written, 0, "{}: {source:?} is known but was never written", machine.text);
        for lane in lanes(known) {
            assert_eq!(inst.sources[index][lane], values[lane], "{}: {source:?}, lane {lane}", machine.text);
        }
    }
    for (index, result) in machine.results.iter().enumerate() {
        let (values, written) = &mut registers[usize::from(result.register.0)];
        for lane in lanes(inst.active) {
            values[lane] = inst.results[index][lane];
        }
        *written |= inst.active;
    }
}

/// Registers and warp instructions are those of the page.
#[test]
fn every_source_has_the_value_last_written_to_its_register() {
    for workload in workloads::all() {
        let mut run = run(workload, AddressBits::Bits64);
        let drained = drain(&mut run);
        let report = workload.check(run.sequence(), run.host_memory()).unwrap();
        assert!(report.elements > 0);
        let kernels = run.compiled().map(|(_, kernel)| &kernel.program);
        let mut kernels: Vec<String> =
            kernels.map(|program| format!("{} ({})", program.name, program.registers_per_thread)).collect();
        kernels.sort();
        let here = (kernels.join(", "), drained.to_string());
        assert_eq!(here, on_the_page(workload.name), "docs/workloads.md: --example workload_table");
    }
}

/// Predicates that are registers, and steps of products, are written and read like any other value.
#[test]
fn every_source_has_the_value_last_written_in_ptxplus() {
    for (workload, addresses) in all() {
        for schedule in [Schedule::List, Schedule::None] {
            let mut run = run(workload, addresses);
            run.set_options(CompileOptions {
                check_allocation: true,
                schedule,
                isa: Isa::PtxPlus,
                ..CompileOptions::default()
            });
            assert!(drain(&mut run) > 100, "{}", workload.name);
            assert!(workload.check(run.sequence(), run.host_memory()).unwrap().elements > 0);
        }
    }
}

/// Kernels with their registers, and warp instructions, of a workload at `tiny` in docs/workloads.md.
fn on_the_page(workload: &str) -> (String, String) {
    let start = format!("| `{workload}` | tiny |");
    let mut lines = include_str!("../../docs/workloads.md").lines();
    let row = lines.find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row of {workload}"));
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    (cells[3].to_owned(), cells[6].to_owned())
}

/// Values that depend on a register that was never written must not be claimed known: the compiler removes copies
/// of them, so nothing writes the register that stands for the copy.
#[test]
fn what_is_computed_from_a_register_never_written_is_not_known() {
    let kernels = [
        "mov.b64 {%r1, %r2}, %rd2; st.global.u32 [%rd1], %r2;",
        "mov.b64 %rd2, {%r1, %r2}; mov.u64 %rd3, %rd2; st.global.u64 [%rd1], %rd3;",
        "@%p1 bra L; mov.u32 %r2, %r3; L: add.u32 %r4, %r2, 1; st.global.u32 [%rd1], %r4;",
        "cvt.u32.u64 %r1, %rd2; cvt.u64.u32 %rd3, %r1; setp.gt.s64 %p1, %rd3, %rd2; @%p1 st.global.u32 [%rd1], %r1;",
        "mov.u32 %r1, 5; @%p1 mov.u32 %r1, %r2; mov.u32 %r3, %r1; st.global.u32 [%rd1], %r3;",
    ];
    let launch = "[buffers]\no = { type = \"u64\", length = 1, fill = \"zeros\" }\n\
                  [[steps]]\ngrid = 1\nblock = 40\narguments = [\"o\"]\n";
    for body in kernels {
        let text = format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n.entry k(.param .u64 o)\n{{\n\
             .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\nld.param.u64 %rd1, [o];\n{body}\nret;\n}}\n"
        );
        let module = ptx::parse("undefined.ptx", &text).unwrap();
        let launch = LaunchFile::parse(Path::new("undefined.toml"), launch).unwrap();
        let mut run = PtxRun::new(module, Arc::new(launch), "default").unwrap();
        assert!(drain(&mut run) > 0, "{body}");
    }
}
