//! Kernels of any length, in several shapes of code.

use std::fmt::Write as _;

/// Writes the lines of one step of a shape.
type Step = fn(&mut String, usize);

/// Registers that are alive between two steps.
const ALIVE: usize = 8;

/// A shape of code.
pub struct Shape {
    pub name: &'static str,
    /// Instructions and labels of a step.
    length: usize,
    /// Letter and bits of the registers that it computes.
    result: (char, u32),
    step: Step,
}

/// All shapes.
pub const SHAPES: [Shape; 7] = [
    Shape {
        name: "straight",
        length: 1,
        result: ('r', 32),
        step: |text, step| {
            let (a, b) = (step + ALIVE / 2, step);
            let _ = writeln!(text, "mad.lo.u32 %r{}, %r{a}, %r{b}, %r{};", step + ALIVE, step + ALIVE - 1);
        },
    },
    Shape {
        name: "predicates",
        length: 2,
        result: ('r', 32),
        step: |text, step| {
            let _ = writeln!(text, "setp.lt.u32 %p{step}, %r{step}, %r{};", step + 1);
            let _ = writeln!(text, "selp.b32 %r{}, %r{step}, %r{}, %p{step};", step + ALIVE, step + 1);
        },
    },
    Shape {
        name: "vectors",
        length: 3,
        result: ('r', 32),
        step: |text, step| {
            let (x, y) = (format!("%v{step}"), format!("%w{step}"));
            let _ = writeln!(text, "ld.global.v2.u32 {{{x}, {y}}}, [%rd1+{}];", 8 * (step % 1000));
            let _ = writeln!(text, "add.u32 %s{step}, {x}, {y};");
            let _ = writeln!(text, "add.u32 %r{}, %s{step}, %r{step};", step + ALIVE);
        },
    },
    Shape {
        name: "branches",
        length: 5,
        result: ('r', 32),
        step: |text, step| {
            let _ = writeln!(text, "setp.lt.u32 %p{step}, %r{step}, %r{};", step + 1);
            let _ = writeln!(text, "mov.u32 %r{}, %r{step};", step + ALIVE);
            let _ = writeln!(text, "@%p{step} bra L{step};");
            let _ = writeln!(text, "add.u32 %r{}, %r{}, %r{step};\nL{step}:", step + ALIVE, step + 1);
        },
    },
    Shape {
        name: "loops",
        length: 5,
        result: ('r', 32),
        step: |text, step| {
            let _ = writeln!(text, "mov.u32 %r{}, %r{step};\nL{step}:", step + ALIVE);
            let _ = writeln!(text, "add.u32 %r{}, %r{}, %r{};", step + ALIVE, step + ALIVE, step + 1);
            let _ = writeln!(text, "setp.lt.u32 %p{step}, %r{}, %r0;", step + ALIVE);
            let _ = writeln!(text, "@%p{step} bra L{step};");
        },
    },
    Shape {
        name: "counted loops",
        length: 5,
        result: ('r', 32),
        step: |text, step| {
            let _ = writeln!(text, "mov.u32 %r{}, %r{step};\nL{step}:", step + ALIVE);
            let _ = writeln!(text, "add.u32 %r{}, %r{}, 1;", step + ALIVE, step + ALIVE);
            let _ = writeln!(text, "setp.lt.u32 %p{step}, %r{}, %r0;", step + ALIVE);
            let _ = writeln!(text, "@%p{step} bra L{step};");
        },
    },
    Shape {
        name: "wide",
        length: 1,
        result: ('d', 64),
        step: |text, step| {
            let _ = writeln!(text, "add.s64 %d{}, %d{step}, %d{};", step + ALIVE, step + ALIVE - 1);
        },
    },
];

/// A kernel of about so many instructions and labels.
pub fn kernel(shape: &Shape, instructions: usize) -> String {
    let (steps, mut text) = (instructions / shape.length, String::new());
    text.push_str(".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n");
    let _ = writeln!(text, ".reg .b32 %r<{}>, %s<{steps}>, %v<{steps}>, %w<{steps}>;", steps + ALIVE);
    let _ = writeln!(text, ".reg .b64 %rd<2>, %d<{}>;\n.reg .pred %p<{steps}>;", steps + ALIVE);
    text.push_str("ld.param.u64 %rd1, [a];\n");
    for register in 0..ALIVE {
        let _ = writeln!(text, "ld.global.u32 %r{register}, [%rd1+{}];", 8 * register);
        let _ = writeln!(text, "ld.global.u64 %d{register}, [%rd1+{}];", 8 * register);
    }
    (0..steps).for_each(|step| (shape.step)(&mut text, step));
    let (letter, bits) = shape.result;
    for register in steps..steps + ALIVE {
        let _ = writeln!(text, "st.global.u{bits} [%rd1], %{letter}{register};");
    }
    text.push_str("ret;\n}\n");
    text
}
