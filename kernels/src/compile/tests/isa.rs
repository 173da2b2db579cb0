//! Machine code of PTXPlus.

use super::*;
use crate::program::{Instruction, Operation};

/// The code of a body, all but the exit.
fn code(body: &str) -> Vec<(Instruction, Computation)> {
    let module = ptx::parse("test.ptx", &text_of(body)).unwrap();
    let options =
        CompileOptions { check_allocation: true, isa: Isa::PtxPlus, ..CompileOptions::as_written() };
    let Program { instructions, computations, .. } = compile(&module, "k", &options).unwrap().program;
    let all = instructions.into_iter().zip(computations);
    all.filter(|(instruction, _)| instruction.operation != Operation::Exit).collect()
}

fn form((_, computation): &(Instruction, Computation)) -> u32 {
    match computation {
        Computation::Function { form, .. } => *form,
        other => panic!("{other:?} is no function"),
    }
}

fn read((instruction, _): &(Instruction, Computation)) -> Vec<u16> {
    instruction.sources.iter().map(|source| source.register.0).collect()
}

fn written((instruction, _): &(Instruction, Computation)) -> Vec<u16> {
    instruction.results.iter().map(|result| result.register.0).collect()
}

#[test]
fn a_predicate_is_a_register_that_is_written_and_read_as_an_operand() {
    let code = code(
        "ld.shared.v2.u32 {%r0, %r1}, [0];\nsetp.lt.u32 %p1, %r0, %r1;\nselp.b32 %r2, %r0, %r1, %p1;\nst.shared.u32 [0], %r2;",
    );
    let [_, compared, selected, _] = &code[..] else { panic!("{code:?}") };
    let [predicate] = written(compared)[..] else { panic!("{compared:?}") };
    assert_eq!(read(selected), [read(compared), vec![predicate]].concat());
    assert_ne!(form(compared), form(selected));
    // Guards and the scoreboard have it as well.
    assert_eq!(compared.0.predicate_results, selected.0.predicate_sources);
}

#[test]
fn a_guard_is_no_operand() {
    let code = code(
        "ld.shared.v2.u32 {%r0, %r1}, [0];\nsetp.lt.u32 %p1, %r0, %r1;\n@%p1 add.u32 %r0, %r0, %r1;\nst.shared.u32 [0], %r0;",
    );
    let [_, _, guarded, _] = &code[..] else { panic!("{code:?}") };
    assert_eq!(guarded.0.sources.len(), 2);
    form(guarded);
}

#[test]
fn what_reads_a_negated_predicate_has_another_form() {
    let loads = "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [0];\nsetp.lt.u32 %p1, %r0, %r1;\n";
    let two = |first: &str, second: &str| {
        let rest = "selp.b32 %r4, 1, 0, %p2;\nselp.b32 %r5, 1, 0, %p3;\nst.shared.v2.u32 [0], {%r4, %r5};";
        let code = code(&format!(
            "{loads}setp.lt.and.u32 %p2, %r0, %r2, {first}%p1;\nsetp.lt.and.u32 %p3, %r0, %r3, {second}%p1;\n{rest}"
        ));
        [form(&code[2]), form(&code[3])]
    };
    let [one, same] = two("!", "!");
    assert_eq!(one, same);
    let [negated, plain] = two("!", "");
    assert_ne!(negated, plain);
}

#[test]
fn a_predicate_beside_another_result_is_no_register() {
    let code = code(
        "ld.shared.v2.u32 {%r0, %r1}, [0];\nshfl.sync.idx.b32 %r2|%p1, %r0, 0, 31, -1;\nselp.b32 %r3, %r2, %r1, %p1;\nst.shared.u32 [0], %r3;",
    );
    let [_, shuffled, selected, _] = &code[..] else { panic!("{code:?}") };
    assert_eq!(written(shuffled).len(), 1);
    assert_eq!(selected.0.sources.len(), 2);
    assert_eq!(selected.1, Computation::Other);
}

#[test]
fn a_predicate_whose_other_result_is_the_sink_is_a_register() {
    let code = code(
        "ld.shared.v2.u32 {%r0, %r1}, [0];\nsetp.lt.u32 %p1|_, %r0, %r1;\nselp.b32 %r2, %r0, %r1, %p1;\nst.shared.u32 [0], %r2;",
    );
    assert_eq!([written(&code[1]).len(), read(&code[2]).len()], [1, 3]);
}

/// Where a factor has been copied from says whether it has 16 bits.
#[test]
fn a_copy_of_a_short_factor_is_one() {
    let steps = |factor: &str| {
        let body = format!(
            "ld.shared.u32 %r0, [0];\nmov.u32 %r1, {factor};\nmov.u32 %r2, %r1;\nmul.lo.u32 %r3, %r0, %r2;\nst.shared.u32 [%r1], %r3;"
        );
        code(&body).iter().filter(|(instruction, _)| instruction.text.starts_with("mul")).count()
    };
    assert_eq!(["100", "%tid.x", "%ntid.y", "65535", "65536", "%clock"].map(steps), [3, 3, 3, 3, 4, 4]);
}

/// The table of `docs/expansions.md`.
#[test]
fn products_of_32_bits_are_made_of_16_bit_ones() {
    let expected: [(&str, &[&str]); 6] = [
        ("mul.lo.u32 %r4, %r0, %r1;", &[":half_product", ":half_product", ":up", ":half_product"]),
        ("mul.lo.u32 %r4, %r0, 100;", &[":half_product", ":up", ":half_product"]),
        ("mul.lo.u32 %r4, %r0, 100000;", &[":half_product", ":half_product", ":up", ":half_product"]),
        (
            "mad.lo.u32 %r4, %r0, %r1, %r2;",
            &[":half_product", ":half_product", ":up", ":half_product", ":add"],
        ),
        ("mad.lo.u32 %r4, %r3, 100, %r2;", &[""]),
        ("mul24.lo.u32 %r4, %r0, %r1;", &[""]),
    ];
    for (ptx, steps) in expected {
        let name = ptx.split(' ').next().unwrap();
        let code = code(&format!(
            "ld.shared.v2.u32 {{%r0, %r1}}, [0];\nld.shared.u32 %r2, [8];\nmov.u32 %r3, %tid.x;\n{ptx}\nst.shared.u32 [%r3], %r4;"
        ));
        let of_product: Vec<&(Instruction, Computation)> =
            code.iter().filter(|(instruction, _)| instruction.text.starts_with(name)).collect();
        let found: Vec<&str> =
            of_product.iter().map(|(instruction, _)| &instruction.text[name.len()..]).collect();
        assert_eq!(found, steps, "{ptx}");
        of_product
            .into_iter()
            .for_each(|one| assert!(matches!(one.1, Computation::Function { .. }), "{ptx}, {one:?}"));
    }
}
