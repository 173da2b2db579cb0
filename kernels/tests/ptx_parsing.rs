//! The PTX front end: what it accepts, and what it says of what it does not.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use warpfile_kernels::exec::PtxRun;
use warpfile_kernels::launch::LaunchFile;
use warpfile_kernels::ptx;
use warpfile_kernels::ptx::PtxErrors;
use warpfile_kernels::ptx::ir::{Kernel, Module, Op, Type};

const OMNIBUS: &str = include_str!("ptx/omnibus.ptx");

/// Parses a file; what is wrong with its first entry that cannot be run is wrong with the file.
fn parse(file: &str, text: &str) -> Result<Module, PtxErrors> {
    let module = ptx::parse(file, text)?;
    module.refused.first().map_or(Ok(()), |refused| Err(refused.errors.clone()))?;
    Ok(module)
}

/// An entry with the given body and registers of every type.
fn kernel(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .f64 %fd<4>;\n\
         {body}\n}}\n"
    )
}

fn parsed(body: &str) -> Kernel {
    let mut module = parse("test.ptx", &kernel(body)).unwrap();
    module.kernels.remove(0)
}

/// The message for a body, or for a whole file.
fn message(text: &str) -> String {
    parse("bad.ptx", text).unwrap_err().to_string()
}

#[test]
fn everything_in_the_census_and_common_elsewhere_is_accepted() {
    let module = parse("omnibus.ptx", OMNIBUS).unwrap();
    let kernel = module.kernel("_Z5mixedPjf").unwrap();
    assert_eq!(kernel.parameter_bytes, 40);
    assert_eq!(kernel.shared_bytes, 68);
    assert_eq!(kernel.max_threads, Some(256));
    assert_eq!(module.variables[1].initial[4..8], 2.0_f32.to_le_bytes());
    assert_eq!(module.variables[2].initial, [1, 2, 0, 16, 3, 15]);
}

#[test]
fn scalar_arguments_of_inlined_calls_are_registers() {
    let module = parse("omnibus.ptx", OMNIBUS).unwrap();
    let instructions = module.kernels[0].instructions.iter();
    let passing: Vec<_> =
        instructions.filter(|inst| inst.text.contains("param0") || inst.text.contains("retval0")).collect();
    assert!(passing.len() >= 4);
    for instruction in passing {
        assert_eq!(instruction.op, Op::Mov { ty: Type::B32 }, "{}", instruction.text);
    }
}

#[test]
fn every_branch_target_is_an_instruction() {
    let module = parse("omnibus.ptx", OMNIBUS).unwrap();
    for kernel in &module.kernels {
        for instruction in &kernel.instructions {
            for target in instruction.targets() {
                assert!(target.index() < kernel.instructions.len());
            }
        }
        assert!(!kernel.instructions.last().unwrap().falls_through());
    }
}

#[test]
fn labels_of_sibling_scopes_are_different() {
    let kernel = parsed("{ L: bra L; } { L: bra L; }");
    let targets: Vec<usize> =
        kernel.instructions.iter().flat_map(|inst| inst.targets()).map(|t| t.index()).collect();
    assert_eq!(targets, [0, 1]);
}

#[test]
fn inner_registers_hide_outer_ones() {
    let kernel = parsed(
        "mov.u32 %r1, 1; { .reg .f64 %r1; mov.f64 %r1, 0d0; } mov.u32 %r1, 2; ret;"
            .replace("0d0", "0d0000000000000000")
            .as_str(),
    );
    let types: Vec<Type> = kernel.registers.iter().map(|register| register.ty).collect();
    assert_eq!(types, [Type::B32, Type::F64]);
}

#[test]
fn control_that_would_fall_off_the_end_exits() {
    let kernel = parsed("@%p1 bra L; L:");
    assert_eq!(kernel.instructions.last().unwrap().op, Op::Exit);
}

#[test]
fn a_byte_of_a_wider_argument_is_converted() {
    let text = format!(
        ".func f(.param .b32 a) {{ .reg .b16 %rs<2>; ld.param.s8 %rs1, [a]; ret; }}\n{}",
        kernel("{ .param .b32 q; st.param.b32 [q], %r1; call f, (q); } ret;")
    );
    let module = parse("test.ptx", &text).unwrap();
    let ops: Vec<&Op> = module.kernels[0].instructions.iter().map(|inst| &inst.op).collect();
    assert!(matches!(ops[0], Op::Mov { ty: Type::B32 }), "{ops:?}");
    assert!(matches!(ops[1], Op::Cvt { to: Type::S16, from: Type::S8, .. }), "{ops:?}");
    assert_eq!(module.kernels[0].local_bytes, 0);
}

#[test]
fn malformed_files_say_what_is_accepted() {
    let bodies = [
        "foo.u32 %r1, %r2;",
        "add.u32 %r1, %r2;",
        "add.u32 %r1, %r2, %rd1;",
        "add.u32 %r1, %r2, %r9;",
        "add.rn.u32 %r1, %r2, %r3;",
        "add.ftz.bf16 %rs1, %rs2, %rs3;",
        "mov.f32 %f1, 0f3F80;",
        "bra NOWHERE;",
        "cvt.s32.f32 %r1, %f1;",
        "ld.shared.f32 %f1, [p];",
        "st.const.u32 [%rd1], %r1;",
        "ld.global.v4.f64 {%fd1, %fd2, %fd1, %fd2}, [%rd1];",
        "call (%r1), vprintf, (%r2, %r3);",
        "call (%r1), sprintf, (%r2, %r3);",
        "cp.async.cg.shared.global [%r1], [%rd1], 8;",
        "cp.async.ca.shared.global [%r1], [%rd1], %r2;",
        "mul.u32 %r1, %r2, %r3;",
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd1];",
        "setp.ltu.s32 %p1, %r1, %r2;",
        "add.u32 %r1, %r2, 0f3F800000;",
        "L: bra L; L: bra L;",
        "add.u32 %r1 %r2, %r3;",
        ".reg .b32 %r<2>;",
    ];
    let messages: Vec<String> = bodies.iter().map(|body| message(&kernel(body))).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn what_is_left_out_says_so_in_one_sentence() {
    let bodies = [
        "cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;",
        "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%f0,%f1,%f2,%f3}, {%r0}, {%r1}, {%f0};",
        "barrier.cluster.arrive;",
        "mapa.u64 %rd1, %rd2, %r1;",
        "mov.u32 %r1, %cluster_ctaid.x;",
        "mov.u32 %r1, %clusterid.y;",
        "mov.u32 %r1, %envreg2;",
        "call (%rd1), malloc, (%rd2);",
        "call cudaCGSynchronizeGrid, (%rd1);",
        "call (%r1), %rd1, (%r2), prototype;",
        "mov.u64 %rd1, helper;",
        "ld.global.u64 %rd1, [table+8];",
        "call helper;",
    ];
    let helper = ".func helper() { call helper; ret; }\n.global .u64 table[2] = {helper, 0};\n";
    let messages: Vec<String> = bodies
        .iter()
        .map(|body| message(&kernel(body).replace(".visible", &format!("{helper}.visible"))))
        .collect();
    let cluster = kernel("ret;").replace("\n{", "\n.reqnctapercluster 2, 1, 1\n{");
    insta::assert_snapshot!(messages.join("\n") + "\n" + &message(&cluster));
}

#[test]
fn malformed_declarations_say_what_is_accepted() {
    let texts = [
        "",
        ".version 7.0\n.address_size 16\n",
        ".entry k() {",
        ".entry k() { /* open",
        ".global .align 3 .b8 x[4];",
        ".global .b8 x[4] = {1, 2, 3, 4, 5};",
        ".global .f16x2 x;",
        ".global .u32 x; .global .u32 x;",
        ".extern .global .u32 x; .entry k() { .reg .b32 %r<2>; ld.global.u32 %r1, [x]; ret; }",
        ".extern .global .u32 x; .global .u64 y = x;",
        ".func f() { call f; } .entry k() { call f; }",
        "hello",
        ".entry k() { .reg .b32 %r<2>; add.u32 %r1, %r1, 1\n}",
    ];
    let messages: Vec<String> = texts.iter().map(|text| message(text)).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

/// A file with an entry that is fine, one that is not, and functions that only these call.
fn mixed() -> String {
    let bad = kernel(" add.u32 %r1, %r2, %r3;\n foo.u32 %r1, %r2;\n call broken;\n ret;")
        .replace("entry k", "entry _Z3badPj");
    let good = ".visible .entry _Z4goodPf(.param .u64 p)\n{\n call fine;\n ret;\n}\n";
    let declared = ".version 7.0\n.target sm_50\n.address_size 64\n";
    let functions = ".func fine()\n{\n ret;\n}\n.func broken()\n{\n bar.foo;\n ld.f32 0f1;\n ret;\n}\n\
                     .func unread(.param .b128 x)\n{\n ret;\n}\n.func cyclic()\n{\n call cyclic;\n ret;\n}\n";
    format!("{declared}{functions}{good}{}", bad.replace(declared, ""))
}

#[test]
fn an_entry_that_cannot_be_run_is_an_error_only_if_it_is_asked_for() {
    let text = mixed();
    let module = ptx::parse("mixed.ptx", &text).unwrap();
    assert_eq!(module.kernel("good").unwrap().name, "_Z4goodPf");
    let error = module.kernel("bad(unsigned int*)").unwrap_err().to_string();
    let line = |of: &str| 1 + text[..text.find(of).unwrap()].matches('\n').count();
    // The literal is wrong, and the load has no operands without it.
    let expected = ["bar.foo", "ld.f32", "ld.f32", "foo.u32"].map(|of| format!("mixed.ptx:{}: ", line(of)));
    let found: Vec<&str> = error.lines().collect();
    assert_eq!(found.len(), expected.len(), "{error}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found.starts_with(expected), "{error}");
    }
}

#[test]
fn a_launch_file_runs_the_entry_that_is_fine_and_is_refused_before_its_first_step_otherwise() {
    let run = |entries: &[&str]| {
        let module = ptx::parse("mixed.ptx", &mixed()).unwrap();
        let steps: String = entries
            .iter()
            .map(|entry| {
                format!("[[steps]]\nentry = \"{entry}\"\ngrid = 1\nblock = 32\narguments = [{{ u64 = 0 }}]\n")
            })
            .collect();
        let file = LaunchFile::parse(Path::new("mixed.toml"), &steps).unwrap();
        PtxRun::new(module, Arc::new(file), "default").map_err(|error| error.to_string())
    };
    assert_eq!(run(&["good(float*)", "_Z4goodPf"]).unwrap().run_to_end().unwrap(), 2);
    let error = run(&["good", "bad"]).unwrap_err();
    assert!(error.starts_with("mixed.ptx:10: `bar.foo`: "), "{error}");
    let error = run(&["good", "god"]).unwrap_err();
    assert_eq!(
        error,
        "mixed.toml:6: `steps[1]`: mixed.ptx: no kernel `god`; it has `good(float*)`, `bad(unsigned int*)`"
    );
}

#[test]
fn a_function_whose_parameters_cannot_be_read_is_an_error_only_if_it_is_called() {
    let called = mixed().replace("call fine", "call unread");
    let error = ptx::parse("mixed.ptx", &called).unwrap().kernel("good").unwrap_err().to_string();
    assert!(error.contains("`.func unread(.param`: found `.b128`; accepted here: "), "{error}");
    assert!(error.contains("`unread`, on line 14, cannot be read"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_is_an_error_whatever_is_asked_for() {
    let text = mixed();
    let cut = &text[..text.rfind("ret;").unwrap()];
    let error = ptx::parse("cut.ptx", cut).unwrap_err().to_string();
    assert!(error.contains("the body of `_Z3badPj`, opened on line "), "{error}");
    let error = ptx::parse("cut.ptx", &format!("{text}\n.foo x;")).unwrap_err().to_string();
    assert!(error.contains("found `.foo`; accepted here: "), "{error}");
}

#[test]
fn an_external_variable_that_is_not_used_is_accepted() {
    let declared = ".extern .global .align 1 .b8 threadIdx[1];\n";
    let module = parse("unoptimised.ptx", &format!("{declared}{}", kernel("ret;"))).unwrap();
    assert!(module.variables.is_empty());
}

#[test]
fn an_external_variable_may_be_defined_later() {
    let declared = ".extern .global .u32 x;\n.global .u32 x = 7;\n";
    let module =
        parse("later.ptx", &format!("{declared}{}", kernel("ld.global.u32 %r1, [x]; ret;"))).unwrap();
    assert_eq!(module.variables[0].initial, [7, 0, 0, 0]);
}

#[test]
fn every_error_of_a_file_is_reported_up_to_a_bound() {
    let text = kernel(&"foo;\n".repeat(100));
    let errors = parse("bad.ptx", &text).unwrap_err();
    assert_eq!((errors.errors.len(), errors.more), (20, 80));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_truncated_file_never_panics(cut in 0..OMNIBUS.len()) {
        let _outcome = parse("cut.ptx", &OMNIBUS[..cut]);
    }

    #[test]
    fn a_damaged_file_never_panics(damage in prop::collection::vec((0..OMNIBUS.len(), 0_u8..128), 1..12)) {
        let mut bytes = OMNIBUS.as_bytes().to_vec();
        for (at, byte) in damage {
            bytes[at] = byte;
        }
        let _outcome = parse("damaged.ptx", &String::from_utf8(bytes).unwrap());
    }

    #[test]
    fn shuffled_pieces_never_panic(pieces in prop::collection::vec((0..OMNIBUS.len(), 1_usize..60), 1..40)) {
        let text: String = pieces
            .iter()
            .map(|&(at, length)| &OMNIBUS[at..(at + length).min(OMNIBUS.len())])
            .collect();
        let _outcome = parse("pieces.ptx", &text);
        let _outcome = parse("pieces.ptx", &kernel(&text));
    }
}

/// Every instruction with more than one destination: what comes before them, how they are written, and what follows.
const SEVERAL_DESTINATIONS: [(&str, [&str; 3], usize, char, &str); 13] = [
    ("ld.global.v2.f32 ", BRACES, 2, 'f', ", [%rd3]"),
    ("ld.global.v4.f32 ", BRACES, 4, 'f', ", [%rd3]"),
    ("ld.shared.v2.u64 ", BRACES, 2, 'd', ", [%r3]"),
    ("ld.global.v4.u8 ", BRACES, 4, 'h', ", [%rd3]"),
    ("ld.param.v2.b32 ", BRACES, 2, 'r', ", [p]"),
    ("mov.b32 ", BRACES, 2, 'h', ", %r3"),
    ("mov.b64 ", BRACES, 2, 'r', ", %rd3"),
    ("mov.b64 ", BRACES, 4, 'h', ", %rd3"),
    ("setp.lt.s32 ", BAR, 2, 'p', ", %r0, %r1"),
    ("setp.lt.and.f32 ", BAR, 2, 'p', ", %f0, %f1, %p3"),
    ("setp.eq.s64 ", BAR, 2, 'p', ", %rd0, %rd1"),
    ("setp.eq.f64 ", BAR, 2, 'p', ", %fd0, %fd1"),
    ("@%p0 ld.local.v4.s32 ", BRACES, 4, 'r', ", [%rd3]"),
];
const BRACES: [&str; 3] = ["{", ", ", "}"];
const BAR: [&str; 3] = ["", "|", ""];

proptest! {
    #[test]
    fn a_register_is_one_destination_of_an_instruction_at_most(
        which in 0..SEVERAL_DESTINATIONS.len(), numbers in prop::array::uniform4(0..4_usize),
    ) {
        let (opcode, [open, between, close], count, bank, rest) = SEVERAL_DESTINATIONS[which];
        let bank = match bank {
            'd' => "rd".to_owned(),
            'h' => "rs".to_owned(),
            other => other.to_string(),
        };
        let numbers = &numbers[..count];
        let names: Vec<String> = numbers.iter().map(|number| format!("%{bank}{number}")).collect();
        let body = format!("{opcode}{open}{}{close}{rest};\nret;", names.join(between));
        let twice = (1..count).find(|&index| numbers[..index].contains(&numbers[index]));
        match (twice, parse("bad.ptx", &kernel(&body))) {
            (None, outcome) => prop_assert!(outcome.is_ok(), "{body}: {outcome:?}"),
            (Some(index), Err(error)) => {
                let error = error.to_string();
                prop_assert!(error.starts_with("bad.ptx:7: `"), "{error}");
                let found = format!("found `{}` as two of the destinations; accepted: ", names[index]);
                prop_assert!(error.contains(&found), "{error}");
            }
            (Some(_), Ok(_)) => prop_assert!(false, "accepted: {body}"),
        }
    }
}

/// Integer types by their names, with the bits of each.
const INTEGERS: [(&str, u32, &str); 8] = [
    ("u16", 16, "%rs0"),
    ("s16", 16, "%rs0"),
    ("b16", 16, "%rs0"),
    ("u32", 32, "%r0"),
    ("s32", 32, "%r0"),
    ("b32", 32, "%r0"),
    ("u64", 64, "%rd0"),
    ("s64", 64, "%rd0"),
];

proptest! {
    #[test]
    fn an_integer_fits_the_type_it_is_used_as(
        which in 0..INTEGERS.len(), magnitude in any::<u64>(), shift in 0..64_u32, negative in any::<bool>(),
    ) {
        let (ty, bits, register) = INTEGERS[which];
        let value = i128::from(magnitude >> shift) * if negative { -1 } else { 1 };
        let fits = |value: i128| value >= -(1 << (bits - 1)) && value < 1 << bits;
        let text = kernel(&format!("mov.{ty} {register}, {value};\nret;"));
        // -1 may be written as 0xffffffffffffffff.
        if fits(value) || fits(i128::from(value as i64)) {
            prop_assert!(parse("good.ptx", &text).is_ok(), "{value} as {ty}");
        } else {
            let told = message(&text);
            prop_assert!(told.starts_with(&format!("bad.ptx:7: `mov.{ty} ")), "{told}");
            prop_assert!(told.contains(&format!("found the number {value} for .{ty}; accepted: ")), "{told}");
        }
    }

    /// However many variables there are, of whatever sizes and alignments.
    #[test]
    fn variables_in_const_take_64_kilobytes_at_most_and_in_global_4_gigabytes(
        sizes in prop::collection::vec((1..40_000_u64, 0..4_u32), 1..6), huge in prop::option::of(any::<u64>()),
        (space, scale) in prop::sample::select(vec![("const", 1), ("global", 1 << 16)]),
    ) {
        let mut end = 0_u64;
        let mut first_beyond = None;
        let mut lines = String::new();
        let sizes = sizes.into_iter().chain(huge.map(|bytes| (bytes.max(1), 0)));
        for (index, (bytes, align)) in sizes.enumerate() {
            let (bytes, align) = (bytes.saturating_mul(scale), 1_u64 << align);
            end = end.next_multiple_of(align).saturating_add(bytes);
            if end > scale << 16 {
                first_beyond.get_or_insert(index);
            }
            lines += &format!(".{space} .align {align} .b8 c{index}[{bytes}];\n");
        }
        let text = format!(".version 7.0\n.target sm_50\n.address_size 64\n{lines}.entry k() {{ ret; }}\n");
        match (first_beyond, parse("bad.ptx", &text)) {
            (None, outcome) => prop_assert!(outcome.is_ok(), "{outcome:?}"),
            (Some(index), Err(error)) => {
                let error = error.to_string();
                prop_assert!(error.starts_with(&format!("bad.ptx:{}: ", 4 + index)), "{error}");
            }
            (Some(_), Ok(_)) => prop_assert!(false, "accepted: {text}"),
        }
    }
}

#[test]
fn versions_targets_and_thread_limits_are_what_they_may_be() {
    let file = |version: &str, target: &str, limit: &str| {
        format!(".version {version}\n.target {target}\n.address_size 64\n.entry k() {limit} {{ ret; }}\n")
    };
    for (version, target, limit) in [
        ("7.0", "sm_50", ".maxntid 1, 1, 1"),
        ("8.5", "sm_90a, debug", ".reqntid 32"),
        ("1.4", "sm_10, map_f64_to_f32", ""),
        ("8.7", "sm_120f", ".maxnreg 32"),
        ("3.2", "compute_30, texmode_independent", ""),
    ] {
        assert!(parse("good.ptx", &file(version, target, limit)).is_ok(), "{version} {target} {limit}");
    }
    for (version, target, limit, told) in [
        ("x.y", "sm_50", "", "bad.ptx:1: `.version`: found `x`; accepted here: a version, as 7.0"),
        ("7", "sm_50", "", "bad.ptx:1: `.version`: found `7`; accepted here: a version, as 7.0"),
        ("7.0", "bogus", "", "bad.ptx:2: `.target`: found `bogus`; accepted here: sm_ and a number, "),
        ("7.0", "sm_", "", "bad.ptx:2: `.target`: found `sm_`"),
        ("7.0", "sm_5x", "", "bad.ptx:2: `.target`: found `sm_5x`"),
        ("7.0", "sm_50,", "", "bad.ptx:3: `.target sm_50,`: found `.address_size`"),
        ("7.0", "sm_50", ".maxntid 0", "found `0`; accepted: one to three numbers of at least 1"),
        ("7.0", "sm_50", ".reqntid 32, 0", "found `32`; accepted: one to three numbers of at least 1"),
        ("7.0", "sm_50", ".maxntid", "found `{`; accepted: one to three numbers of at least 1"),
    ] {
        let found = message(&file(version, target, limit));
        assert!(found.contains(told), "{found}");
    }
}
