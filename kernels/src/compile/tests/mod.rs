//! Whole compilations.

mod isa;
mod random;
mod warp;

use super::*;
use crate::program::Computation;
use crate::ptx;

fn workload_files() -> Vec<std::path::PathBuf> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
    let mut files: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_workload_is_allocated_correctly_and_close_to_the_minimum() {
    for file in workload_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let module = ptx::parse(&file.display().to_string(), &text).unwrap();
        let all = module.kernels.iter().flat_map(|kernel| Schedule::ALL.map(|schedule| (kernel, schedule)));
        for (kernel, schedule) in all {
            let options = CompileOptions { check_allocation: true, schedule, ..CompileOptions::default() };
            let compiled = compile(&module, &kernel.name, &options).unwrap();
            let Statistics { registers, max_live, .. } = compiled.statistics;
            assert!(registers >= max_live, "{}: {registers} registers, {max_live} values live", kernel.name);
            // Pairs and vectors of registers leave gaps; in the order of the scheduler more of them live at a time, most of all
            // the copies of a loop around a load of four words.
            let has_copied_fours = kernel.name == "compute_q" && kernel.address_bits == 32;
            let gaps = match schedule {
                Schedule::List if has_copied_fours => 6,
                Schedule::None => 2,
                Schedule::Blocks | Schedule::List => 3,
            };
            assert!(
                registers <= max_live + gaps,
                "{}, {schedule:?}: {registers} registers, {max_live} values live",
                kernel.name
            );
        }
    }
}

fn text_of(body: &str) -> String {
    format!(
        ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<5>;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .f32 %f<9>;\n.reg .f64 %g<9>;\n{body}\nret;\n}}\n"
    )
}

fn compiled(body: &str) -> Compiled {
    let module = ptx::parse("test.ptx", &text_of(body)).unwrap();
    compile(&module, "k", &CompileOptions { check_allocation: true, ..CompileOptions::default() }).unwrap()
}

/// Names of the machine instructions, the final exit left out.
fn names(body: &str) -> Vec<String> {
    let program = compiled(body).program;
    let (last, rest) = program.instructions.split_last().unwrap();
    assert_eq!(last.operation, crate::program::Operation::Exit);
    rest.iter().map(|instruction| instruction.text.clone()).collect()
}

#[test]
fn parameters_conversions_and_copies_need_no_instruction() {
    let body = "ld.param.u64 %d0, [p];\ncvta.to.global.u64 %d1, %d0;\nld.param.u32 %r0, [n];\n\
                mov.u32 %r1, %tid.x;\nmov.u32 %r2, %r1;\nadd.s32 %r3, %r2, %r0;\ncvt.u64.u32 %d2, %r3;\n\
                add.s64 %d3, %d1, %d2;\nst.global.u32 [%d3], %r1;";
    let names = names(body);
    assert_eq!(names, ["mov.u32", "add.s32", "add.s64.lo", "add.s64.hi", "st.global.u32"]);
    let high = &compiled(body).program.instructions[3];
    assert!(high.sources.is_empty(), "the high words are a parameter's and 0; only the carry is read");
}

#[test]
fn a_special_register_is_read_once() {
    let body = "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.x;\nadd.u32 %r2, %r0, %r1;\nst.shared.u32 [0], %r2;";
    assert_eq!(names(body), ["mov.u32", "add.u32", "st.shared.u32"]);
}

#[test]
fn code_whose_result_nobody_reads_is_removed() {
    let body =
        "mov.u32 %r0, %tid.x;\nadd.u32 %r2, %r0, 1;\nmul.lo.u32 %r3, %r2, %r2;\nst.shared.u32 [0], %r0;";
    assert_eq!(names(body), ["mov.u32", "st.shared.u32"]);
}

#[test]
fn only_the_low_word_of_a_shared_address_is_computed() {
    let body =
        "mov.u32 %r0, %tid.x;\nmul.wide.u32 %d0, %r0, 4;\nadd.s64 %d1, %d0, 64;\nst.shared.u32 [%d1], %r0;";
    assert_eq!(names(body), ["mov.u32", "mul.wide.u32.lo", "add.s64.lo", "st.shared.u32"]);
}

#[test]
fn a_store_of_more_than_three_registers_reads_them_in_passes() {
    let body = "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d0];\nst.global.v4.f32 [%d0], {%f0, %f1, %f2, %f3};";
    let program = compiled(body).program;
    let read: Vec<usize> = program.instructions.iter().map(|instruction| instruction.sources.len()).collect();
    assert_eq!(read, [2, 3, 3, 0]);
    assert_eq!(program.instructions[0].results.len(), 4);
    let first = program.instructions[0].results[0].register.0;
    let registers: Vec<u16> =
        program.instructions[0].results.iter().map(|result| result.register.0).collect();
    assert_eq!(registers, [first, first + 1, first + 2, first + 3]);
    assert!(first.is_multiple_of(4), "a 128-bit load fills an aligned group");
}

#[test]
fn double_precision_takes_a_pass_for_each_word() {
    let body = "ld.global.f64 %g0, [%d0];\nfma.rn.f64 %g1, %g0, %g0, %g0;\nst.shared.f64 [0], %g1;";
    assert_eq!(names(body), ["ld.global.f64", "fma.rn.f64:pass", "fma.rn.f64:pass", "st.shared.f64"]);
}

#[test]
fn a_64_bit_value_lies_in_an_aligned_pair() {
    let program = compiled("ld.global.u64 %d1, [%d0];\nst.global.u64 [%d0], %d1;").program;
    let results = &program.instructions[0].results;
    assert!(results[0].register.0.is_multiple_of(2));
    assert_eq!(results[1].register.0, results[0].register.0 + 1);
}

/// The results and the form of each instruction that computes only from what it reads.
fn forms(body: &str) -> Vec<(usize, u32)> {
    let program = compiled(body).program;
    let form = |computation: &Computation| match computation {
        Computation::Function { form, .. } | Computation::Load { form, .. } => Some(*form),
        Computation::Ordering | Computation::Invented | Computation::Wide | Computation::Other => None,
    };
    let all = program.instructions.iter().zip(&program.computations);
    all.filter_map(|(one, computation)| Some((one.results.len(), form(computation)?))).collect()
}

#[test]
fn forms_of_several_results_come_behind_those_of_one() {
    let load = "ld.global.v2.u32 {%r1, %r2}, [%d1];";
    let rest = "ld.global.u32 %r3, [%d1];\nadd.u32 %r4, %r1, %r2;\nadd.u32 %r4, %r4, %r3;\n\
                ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d1];\nst.global.v2.u32 [%d1], {%r4, %r8};";
    // Loads come as soon as their address is there.
    assert_eq!(forms(&format!("{load}\n{rest}")), [(2, 2), (1, 0), (4, 3), (1, 1), (1, 1)]);
}

#[test]
fn loads_of_other_elements_have_other_forms() {
    let body = "ld.global.v2.u32 {%r1, _}, [%d1];\nld.global.v2.u32 {_, %r2}, [%d1];\n\
                ld.global.v2.u32 {%r3, _}, [%d1];\nadd.u32 %r4, %r1, %r2;\nadd.u32 %r4, %r4, %r3;\n\
                st.global.u32 [%d1], %r4;";
    assert_eq!(forms(body), [(1, 0), (1, 1), (1, 0), (1, 2), (1, 2)]);
}

#[test]
fn what_needs_more_than_it_reads_is_too_wide_for_a_row() {
    let body = "ld.global.f64 %g0, [%d0];\nfma.rn.f64 %g1, %g0, %g0, %g0;\nst.shared.f64 [0], %g1;";
    let computations = compiled(body).program.computations;
    assert_eq!(computations[1..3], [Computation::Wide, Computation::Wide]);
}

#[test]
fn an_unknown_kernel_is_an_error_that_names_those_there_are() {
    let module =
        ptx::parse("x.ptx", ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k() { ret; }")
            .unwrap();
    let error = compile(&module, "other", &CompileOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "x.ptx: no kernel `other`; it has `k`");
}

#[test]
fn the_listing_shows_blocks_registers_and_annotations() {
    let compiled = compiled(
        "ld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, 0;\nmul.wide.u32 %d1, %r0, 4;\n\
         add.s64 %d2, %d0, %d1;\nL: ld.global.u32 %r2, [%d2];\nadd.u32 %r1, %r1, %r2;\n\
         setp.lt.u32 %p1, %r1, %r0;\n@%p1 bra L;\nst.global.u32 [%d2], %r1;",
    );
    insta::assert_snapshot!(listing::listing(&compiled.program, &compiled.cfg));
}

fn wide(directives: &str, values: usize) -> ptx::ir::Module {
    let lines = |line: fn(usize) -> String| (0..values).map(line).collect::<String>();
    let loads = lines(|n| format!("ld.shared.u32 %x{n}, [{}];\n", 4 * n));
    let stores = lines(|n| format!("st.shared.u32 [{}], %x{n};\n", 4 * n));
    let text = format!(
        ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k() {directives}\n{{\n.reg .b32 %x<{values}>;\n{loads}{stores}ret;\n}}\n"
    );
    ptx::parse("wide.ptx", &text).unwrap()
}

#[test]
fn what_does_not_fit_in_the_registers_is_in_local_memory() {
    let options = CompileOptions { check_allocation: true, ..CompileOptions::default() };
    for (directives, most) in [
        ("", 255),
        (".maxnreg 40", 40),
        (".maxntid 1024", 64),
        (".maxntid 32, 24", 80),
        (".reqntid 200 .minnctapersm 2", 144),
        (".maxntid 1024 .minnctapersm 32", MIN_REGISTERS),
        (".minnctapersm 32", 255),
        (".maxnreg 1000", 255),
    ] {
        let compiled = compile(&wide(directives, 303), "k", &options).unwrap();
        let Spills { values, recomputed, frame_bytes, store_bytes, load_bytes } = compiled.program.spills;
        assert_eq!(compiled.statistics.registers, most, "{directives}");
        assert_eq!([values, recomputed], [303 - u32::from(most), 0], "{directives}");
        assert_eq!([frame_bytes, store_bytes, load_bytes, compiled.kernel.local_bytes], [4 * values; 4]);
    }
    let few = CompileOptions { max_registers: 30, ..options };
    assert_eq!(compile(&wide(".maxnreg 40", 303), "k", &few).unwrap().statistics.registers, 30);
    assert!(compile(&wide("", 255), "k", &options).unwrap().program.spills.is_none());
}

#[test]
fn a_thread_is_given_registers_that_its_code_does_not_need() {
    let given = |directives: &str, min_registers, max_registers| {
        let options = CompileOptions { min_registers, max_registers, ..CompileOptions::default() };
        compile(&wide(directives, 20), "k", &options).unwrap().program.registers_per_thread
    };
    let needed = given("", 0, 255);
    assert!(needed < 24, "{needed}");
    assert_eq!(given("", needed - 1, 255), needed);
    assert_eq!(given("", 36, 255), 36);
    assert_eq!(given("", 36, 30), 30);
    assert_eq!(given(".maxnreg 24", 36, 255), 24);
}

#[test]
fn a_value_of_a_loop_stays_in_its_register() {
    let reads: String = (0..8).map(|n| format!("ld.shared.u32 %r{n}, [{}];\n", 4 * n)).collect();
    let sums: String = (1..8).map(|n| format!("add.u32 %r0, %r0, %r{n};\n")).collect();
    let body = format!(
        "{reads}L: ld.shared.u32 %r8, [%r0];\nadd.u32 %r0, %r0, %r8;\nsetp.lt.u32 %p1, %r0, 99;\n@%p1 bra L;\n{sums}st.shared.u32 [0], %r0;"
    );
    let module = ptx::parse("test.ptx", &text_of(&body)).unwrap();
    let options = CompileOptions { check_allocation: true, max_registers: 8, ..CompileOptions::default() };
    let compiled = compile(&module, "k", &options).unwrap();
    assert_eq!(
        compiled.program.spills,
        Spills { values: 1, frame_bytes: 4, store_bytes: 4, load_bytes: 4, recomputed: 0 }
    );
    let of_loop = compiled.cfg.blocks().iter().find(|block| block.successors.len() == 2).unwrap();
    let code = &compiled.program.instructions[of_loop.instructions.clone()];
    let names: Vec<&str> = code.iter().map(|instruction| instruction.text.as_str()).collect();
    assert_eq!(names, ["ld.shared.u32", "add.u32", "setp.lt.u32", "@P0 bra"]);
}

#[test]
fn what_is_cheap_is_computed_again_and_needs_no_memory() {
    let reads: String = (0..5).map(|n| format!("ld.shared.u32 %r{n}, [{}];\n", 4 * n)).collect();
    let sums: String = (1..5).map(|n| format!("add.u32 %r0, %r0, %r{n};\n")).collect();
    let body = format!(
        "mov.u32 %r6, %laneid;\nmov.u32 %r5, %ntid.x;\nmul.lo.u32 %r7, %r5, 12;\nadd.u32 %r8, %r6, %r7;\n\
         st.shared.u32 [32], %r8;\n{reads}{sums}add.u32 %r0, %r0, %r6;\nadd.u32 %r0, %r0, %r7;\nst.shared.u32 [0], %r0;"
    );
    let module = ptx::parse("test.ptx", &text_of(&body)).unwrap();
    let options = CompileOptions { check_allocation: true, max_registers: 5, ..CompileOptions::default() };
    let compiled = compile(&module, "k", &options).unwrap();
    assert_eq!(compiled.statistics.registers, 5);
    assert_eq!(compiled.program.spills, Spills { recomputed: 2, ..Spills::default() });
    assert_eq!(compiled.kernel.local_bytes, 0);
}

/// A predicate is in no register and has no words, but it may have changed.
#[test]
fn what_hangs_on_a_predicate_is_not_computed_again() {
    let reads: String = (0..6).map(|n| format!("ld.shared.u32 %r{}, [{}];\n", n + 3, 4 * n)).collect();
    let sums: String = (3..9).map(|n| format!("add.u32 %r2, %r2, %r{n};\n")).collect();
    let body = format!(
        "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p1, %r0, 5;\nL: selp.b32 %r1, 1, 0, %p1;\nsetp.gt.u32 %p1, %r0, %r2;\n\
         {reads}{sums}add.u32 %r2, %r2, %r1;\n@%p1 bra L;\nst.shared.u32 [0], %r2;"
    );
    let module = ptx::parse("test.ptx", &text_of(&body)).unwrap();
    for (isa, max_registers) in [(Isa::Maxwell, 6), (Isa::PtxPlus, 8)] {
        let options =
            CompileOptions { check_allocation: true, max_registers, isa, ..CompileOptions::as_written() };
        let Compiled { kernel, program, .. } = compile(&module, "k", &options).unwrap();
        assert!(program.spills.values > 0, "{isa:?}");
        let selections = kernel.instructions.iter().filter(|one| matches!(one.op, ptx::ir::Op::Selp { .. }));
        assert_eq!(selections.count(), 1, "{isa:?}");
    }
}

#[test]
fn fewer_registers_than_one_instruction_needs_are_an_error_that_says_how_many() {
    let body = "ld.shared.v2.f64 {%g0, %g1}, [0];\nld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [16];\n                st.shared.v2.f64 [0], {%g1, %g0};\nst.shared.v4.u32 [16], {%r3, %r2, %r1, %r0};";
    let module = ptx::parse("wide.ptx", &text_of(body)).unwrap();
    let compiled =
        |max_registers| compile(&module, "k", &CompileOptions { max_registers, ..CompileOptions::default() });
    assert_eq!(compiled(4).unwrap().statistics.registers, 4);
    let expected = "wide.ptx: kernel `k` needs at least 4 registers a thread, there are 3, \
                    however much is kept in local memory";
    assert_eq!(compiled(3).unwrap_err().to_string(), expected);
}

/// The table of `docs/expansions.md`.
#[test]
fn expansions_have_the_documented_length() {
    let loads = "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [0];\nld.shared.v2.u64 {%d0, %d1}, [0];\n\
                 ld.shared.u64 %d2, [16];\nld.shared.v2.f32 {%f0, %f1}, [0];\nld.shared.v2.f64 {%g0, %g1}, [0];\n";
    let stores =
        "st.shared.u32 [0], %r4;\nst.shared.u64 [0], %d4;\nst.shared.f32 [0], %f4;\nst.shared.f64 [0], %g4;";
    let base = names(&format!("{loads}{stores}")).len();
    let expected = [
        ("bfe.u32 %r4, %r0, 3, 4;", 1),
        ("bfe.u32 %r4, %r0, %r1, %r2;", 2),
        ("mad24.lo.u32 %r4, %r0, %r1, %r2;", 3),
        ("mul.wide.s32 %d4, %r0, %r1;", 2),
        ("mul.lo.u64 %d4, %d0, %d1;", 4),
        ("mul.lo.u64 %d4, %d0, 12;", 3),
        ("mad.lo.u64 %d4, %d0, %d1, %d2;", 4),
        ("mul.hi.u64 %d4, %d0, %d1;", 7),
        ("mad.hi.u64 %d4, %d0, %d1, %d2;", 9),
        ("min.s64 %d4, %d0, %d1;", 4),
        ("abs.s64 %d4, %d0;", 3),
        ("sad.u64 %d4, %d0, %d1, %d2;", 6),
        ("popc.b64 %r4, %d0;", 3),
        ("brev.b64 %d4, %d0;", 2),
        ("shl.b64 %d4, %d0, %r0;", 2),
        ("shl.b64 %d4, %d0, 40;", 1),
        ("div.u32 %r4, %r0, %r1;", 16),
        ("rem.u32 %r4, %r0, %r1;", 15),
        ("div.s32 %r4, %r0, %r1;", 18),
        ("rem.s32 %r4, %r0, %r1;", 17),
        ("div.u32 %r4, %r0, 7;", 2),
        ("rem.u32 %r4, %r0, 7;", 3),
        ("div.u32 %r4, %r0, 8;", 1),
        ("fma.rn.f64 %g4, %g0, %g1, %g1;", 2),
        ("neg.f64 %g4, %g0;", 1),
        ("div.approx.ftz.f32 %f4, %f0, %f1;", 2),
        ("div.approx.f32 %f4, %f0, %f1;", 5),
        ("div.rn.f32 %f4, %f0, %f1;", 9),
        ("rcp.rn.f32 %f4, %f0;", 4),
        ("sqrt.approx.f32 %f4, %f0;", 2),
        ("sqrt.rn.f32 %f4, %f0;", 6),
        ("sin.approx.f32 %f4, %f0;", 2),
        ("ex2.approx.f32 %f4, %f0;", 4),
        ("ex2.approx.ftz.f32 %f4, %f0;", 1),
        ("div.rn.f64 %g4, %g0, %g1;", 16),
        ("rcp.rn.f64 %g4, %g0;", 14),
        ("sqrt.rn.f64 %g4, %g0;", 18),
        ("div.u64 %d4, %d0, %d1;", 41),
        ("div.s64 %d4, %d0, %d1;", 45),
    ];
    let counted: Vec<(&str, usize)> = expected
        .iter()
        .map(|&(ptx, _)| (ptx, names(&format!("{loads}{ptx}\n{stores}")).len() - base))
        .collect();
    assert_eq!(counted, expected);
}

/// A kernel of `length` instructions in a line: over eight registers again and again, or each with a register of its own.
fn straight_line(length: usize, reused: bool) -> String {
    let register = |index: usize| if reused { index % 8 } else { index };
    let lines = (8..length + 8)
        .map(|n| format!("add.s32 %r{}, %r{}, %r{};\n", register(n), register(n - 1), register(n - 7)));
    let body: String = (0..8).map(|n| format!("mov.u32 %r{n}, %tid.x;\n")).chain(lines).collect();
    format!(
        ".version 7.0\n.target sm_50\n.address_size 64\n.entry k(.param .u64 p)\n{{\n.reg .b32 %r<{}>; .reg .b64 %rd;\n\
         {body}ld.param.u64 %rd, [p];\nst.global.u32 [%rd], %r{};\nret;\n}}\n",
        length + 8,
        register(length + 7),
    )
}

/// The allocation is not checked here: that is for tests.
#[test]
fn four_times_the_code_compiles_in_far_less_than_sixteen_times_the_time() {
    for reused in [true, false] {
        let fastest = |length| {
            let module = crate::ptx::parse("long.ptx", &straight_line(length, reused)).unwrap();
            let compile = || {
                let begun = std::time::Instant::now();
                let compiled = compile(
                    &module,
                    "k",
                    &CompileOptions { check_allocation: false, ..CompileOptions::default() },
                )
                .unwrap();
                assert!(compiled.program.instructions.len() > length);
                begun.elapsed()
            };
            (0..3).map(|_| compile()).min().unwrap()
        };
        let (short, long) = (fastest(4000), fastest(16_000));
        println!("reused {reused}: {short:?} and {long:?}");
        assert!(long < short * 12, "reused {reused}: {short:?} and {long:?}");
    }
}
