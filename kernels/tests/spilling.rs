//! Kernels with values in local memory do what they do with enough registers.

use proptest::prelude::*;
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileError, CompileOptions, Compiled, MAX_REGISTERS, compile};
use warpfile_kernels::exec::{BlockExecution, Configuration, ExecOptions, Execution, Loaded, Memory};
use warpfile_kernels::ptx::ir::Module;
use warpfile_kernels::ptx::parse;

const LANES: usize = 32;
/// Registers of each type.
const REGISTERS: usize = 8;
/// Name, type and bytes.
const TYPES: [(&str, &str, usize); 4] =
    [("%h", "b16", 2), ("%r", "b32", 4), ("%d", "b64", 8), ("%f", "f32", 4)];
/// Bytes that a lane reads, and that it writes.
const BYTES_OF_LANE: usize = 256;

fn register(ty: usize, number: usize) -> String {
    format!("{}{}", TYPES[ty].0, number % REGISTERS)
}

/// An instruction over registers of one type, or a conversion.
fn instruction() -> impl Strategy<Value = String> {
    let guard =
        prop_oneof![3 => Just(String::new()), 1 => Just("@%p0 ".to_owned()), 1 => Just("@!%p1 ".to_owned())];
    (guard, 0_usize..9, 0_usize..4, 0..REGISTERS, 0..REGISTERS, 0..REGISTERS).prop_map(
        |(guard, kind, ty, to, a, b)| {
            let [to_name, a_name, b_name] = [to, a, b].map(|number| register(ty, number));
            let bits = 8 * TYPES[ty].2;
            let add = if ty == 3 { "f32".to_owned() } else { format!("u{bits}") };
            match kind {
                0..=3 => format!("{guard}add.{add} {to_name}, {a_name}, {b_name};"),
                4 => format!("{guard}mov.b{bits} {to_name}, {a_name};"),
                5 => format!("{guard}cvt.u32.u16 %r{to}, %h{a};"),
                6 => format!("{guard}mul.wide.u32 %d{to}, %r{a}, %r{b};"),
                7 => format!("{guard}cvt.u16.u64 %h{to}, %d{a};"),
                _more => format!("setp.lt.u32 %p{}, %r{a}, %r{b};", to % 2),
            }
        },
    )
}

fn instructions() -> impl Strategy<Value = String> {
    proptest::collection::vec(instruction(), 0..12).prop_map(|lines| lines.join("\n"))
}

/// All registers are read, changed on two sides of a branch and in a loop, and written.
fn kernel() -> impl Strategy<Value = String> {
    (proptest::collection::vec(instructions(), 5), 0..REGISTERS).prop_map(|(parts, count)| {
        let mut at = 0;
        let mut loads = String::new();
        let mut stores = String::new();
        for (name, bits, bytes) in TYPES {
            for number in 0..REGISTERS {
                loads += &format!("ld.global.{bits} {name}{number}, [%in+{at}];\n");
                stores += &format!("st.global.{bits} [%out+{at}], {name}{number};\n");
                at += bytes;
            }
        }
        let [first, taken, other, turn, last] = &parts[..] else { unreachable!("five parts are drawn") };
        format!(
            "{loads}and.b32 %n, %r{count}, 3;\nsetp.lt.u32 %p0, %r0, %r1;\nsetp.lt.u32 %p1, %r2, %r3;\n{first}\n\
             @%p0 bra TAKEN;\n{other}\nbra MEET;\nTAKEN:\n{taken}\nMEET:\n\
             LOOP:\n{turn}\nsub.u32 %n, %n, 1;\nsetp.gt.s32 %p2, %n, 0;\n@%p2 bra LOOP;\n{last}\n\
             add.u32 %r0, %r0, %i;\nadd.u32 %r1, %r1, %c;\n{stores}"
        )
    })
}

fn module(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n\
         .visible .entry k(.param .u64 input, .param .u64 output)\n{{\n\
         .reg .pred %p<3>; .reg .b16 %h<{REGISTERS}>; .reg .b32 %r<{REGISTERS}>; .reg .b64 %d<{REGISTERS}>;\n\
         .reg .f32 %f<{REGISTERS}>; .reg .b32 %t, %n, %i, %w, %c; .reg .b64 %in, %out, %lane;\n\
         mov.u32 %t, %tid.x; mul.wide.u32 %lane, %t, {BYTES_OF_LANE};\n\
         mov.u32 %i, %laneid; mov.u32 %w, %ntid.x; mul.lo.u32 %c, %w, 12;\n\
         ld.param.u64 %in, [input]; add.u64 %in, %in, %lane;\n\
         ld.param.u64 %out, [output]; add.u64 %out, %out, %lane;\n{body}\nret;\n}}\n"
    );
    parse("spilling.ptx", &text).unwrap()
}

fn compiled(module: &Module, max_registers: u16, schedule: Schedule) -> Result<Compiled, CompileError> {
    compile(
        module,
        "k",
        &CompileOptions { check_allocation: true, schedule, max_registers, ..CompileOptions::default() },
    )
}

/// What one warp writes.
fn output(module: &Module, compiled: &Compiled, input: &[u8]) -> Vec<u8> {
    let mut memory = Memory::new();
    let loaded = Loaded::new(module, &mut memory).unwrap();
    let given = memory.allocate("input", input.len() as u64).unwrap();
    let output = memory.allocate("output", input.len() as u64).unwrap();
    memory.write(given, input).unwrap();
    let parameters = [memory.address(given).to_le_bytes(), memory.address(output).to_le_bytes()];
    let configuration = Configuration {
        grid: [1, 1, 1],
        block: [LANES as u32, 1, 1],
        dynamic_shared_bytes: 0,
        parameters: parameters.concat(),
        options: ExecOptions::default(),
    };
    let execution =
        Execution::new(&compiled.kernel, &compiled.reconvergence, &loaded, configuration).unwrap();
    BlockExecution::new(&execution, 0).run(&mut memory, &mut ()).unwrap();
    memory.read(output)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn few_registers_change_no_result(
        body in kernel(),
        max_registers in 8_u16..56,
        input in proptest::collection::vec(any::<u8>(), BYTES_OF_LANE * LANES),
    ) {
        let module = module(&body);
        let enough = compiled(&module, MAX_REGISTERS, Schedule::None).unwrap();
        let expected = output(&module, &enough, &input);
        for schedule in Schedule::ALL {
            let few = compiled(&module, max_registers, schedule).unwrap();
            prop_assert!(few.statistics.registers <= max_registers);
            let fits = enough.statistics.registers <= max_registers;
            prop_assert!(schedule != Schedule::None || few.program.spills.is_none() == fits);
            prop_assert_eq!(&output(&module, &few, &input), &expected);
        }
    }
}
