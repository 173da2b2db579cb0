//! Matrix products of a warp against products of matrices, and fragments as the tables of the manual have them (PTX ISA,
//! §9.7.14.5).

use proptest::prelude::*;
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::ptx::parse;

use crate::cuda::{Argument, outcome, run, words};

const PROGRAM: &str = include_str!("ptx/tiles.ptx");

/// Bits of a small integer in half precision, or its upper half in single precision.
fn half(value: i32, brain: bool) -> u16 {
    if brain {
        return ((value as f32).to_bits() >> 16) as u16;
    }
    let sign = u16::from(value < 0) << 15;
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let exponent = magnitude.ilog2();
    sign | ((exponent + 15) << 10) as u16 | (magnitude << (10 - exponent) & 0x3ff) as u16
}

/// Row and column of element `i` of a lane, as the manual says it of a shape and a width.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    k: usize,
    of_a: fn(usize, usize) -> (usize, usize),
    of_b: fn(usize, usize) -> (usize, usize),
}

fn of_c(lane: usize, i: usize) -> (usize, usize) {
    let (group, in_group) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, in_group * 2 + (i & 1))
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "m16n8k8",
        k: 8,
        of_a: |lane, i| (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 2 + (i & 1)),
        of_b: |lane, i| (lane % 4 * 2 + i, lane >> 2),
    },
    Shape {
        name: "m16n8k16",
        k: 16,
        of_a: |lane, i| {
            let row = if i < 2 || (4..6).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
            (row, lane % 4 * 2 + (i & 1) + if i >= 4 { 8 } else { 0 })
        },
        of_b: |lane, i| (lane % 4 * 2 + (i & 1) + if i >= 2 { 8 } else { 0 }, lane >> 2),
    },
    Shape {
        name: "m16n8k16",
        k: 16,
        of_a: |lane, i| (if i < 4 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 4 + (i & 3)),
        of_b: |lane, i| (lane % 4 * 4 + i, lane >> 2),
    },
    Shape {
        name: "m16n8k32",
        k: 32,
        of_a: |lane, i| {
            let row = if i < 4 || (8..12).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
            (row, lane % 4 * 4 + (i & 3) + if i >= 8 { 16 } else { 0 })
        },
        of_b: |lane, i| (lane % 4 * 4 + (i & 3) + if i >= 4 { 16 } else { 0 }, lane >> 2),
    },
];

type Matrix = Vec<Vec<i32>>;

/// Elements of lanes packed into registers: for each lane its registers.
fn registers(bits: usize, count: usize, element: impl Fn(usize, usize) -> u32) -> Vec<Vec<u32>> {
    let in_register = 32 / bits;
    let register = |lane: usize, register: usize| {
        (0..in_register).map(|at| element(lane, register * in_register + at) << (at * bits)).sum()
    };
    (0..32).map(|lane| (0..count / in_register).map(|at| register(lane, at)).collect()).collect()
}

/// Runs one `mma` on registers of 32 lanes, and gives the registers of the result.
fn multiply(modifiers: &str, sources: &[Vec<Vec<u32>>; 3], results: usize) -> Vec<Vec<u32>> {
    let counts = sources.each_ref().map(|source| source[0].len());
    let names = |letter: char, count: usize| -> String {
        let names: Vec<String> = (0..count).map(|at| format!("%{letter}{at}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let loads: String = "abc"
        .chars()
        .zip(counts)
        .flat_map(|(letter, count)| (0..count).map(move |at| (letter, at)))
        .enumerate()
        .map(|(place, (letter, at))| format!("ld.global.b32 %{letter}{at}, [%at+{}]; ", 4 * place))
        .collect();
    let stores: String = (0..results).map(|at| format!("st.global.b32 [%at+{}], %d{at}; ", 4 * at)).collect();
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 buffer)\n{{\n\
         .reg .b64 %at, %t; .reg .b32 %a<4>, %b<4>, %c<4>, %d<4>, %lane;\n\
         ld.param.u64 %at, [buffer]; mov.u32 %lane, %tid.x; mul.wide.u32 %t, %lane, 64; add.u64 %at, %at, %t;\n{loads}\n\
         mma.sync.aligned.{modifiers} {}, {}, {}, {};\n{stores}\nret;\n}}\n",
        names('d', results),
        names('a', counts[0]),
        names('b', counts[1]),
        names('c', counts[2]),
    );
    let mut rows = Vec::new();
    for lane in 0..32 {
        let mut row: Vec<u32> = sources.iter().flat_map(|source| source[lane].clone()).collect();
        row.resize(16, 0);
        rows.extend(row);
    }
    let found = words(&run(&text, "k", 32, &[Argument::words(&rows)])[0]);
    found.chunks(16).map(|lane| lane[..results].to_vec()).collect()
}

fn product(a: &Matrix, b: &Matrix, c: &Matrix) -> Vec<Vec<i64>> {
    let element = |row: usize, column: usize| {
        let products = (0..b.len()).map(|k| i64::from(a[row][k]) * i64::from(b[k][column]));
        i64::from(c[row][column]) + products.sum::<i64>()
    };
    (0..16).map(|row| (0..8).map(|column| element(row, column)).collect()).collect()
}

fn matrix(rows: usize, columns: usize, range: std::ops::Range<i32>) -> impl Strategy<Value = Matrix> {
    prop::collection::vec(prop::collection::vec(range, columns), rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Integers that are exact in every format, so that the order of sums does not show.
    #[test]
    fn halves_are_multiplied_as_matrices(a in matrix(16, 16, -9..10), b in matrix(16, 8, -9..10), c in matrix(16, 8, -99..100)) {
        for shape in &SHAPES[..2] {
            let b: Matrix = b[..shape.k].to_vec();
            let expected = product(&a, &b, &c);
            for (brain, c_bits, d_bits) in [(false, 32, 32), (false, 16, 16), (false, 16, 32), (false, 32, 16), (true, 32, 32)] {
                let input = if brain { "bf16" } else { "f16" };
                let number = |value: i32, bits: usize| {
                    if bits == 32 { (value as f32).to_bits() } else { u32::from(half(value, false)) }
                };
                let at = |matrix: &Matrix, (row, column): (usize, usize)| matrix[row][column];
                let sources = [
                    registers(16, shape.k / 2, |lane, i| u32::from(half(at(&a, (shape.of_a)(lane, i)), brain))),
                    registers(16, shape.k / 4, |lane, i| u32::from(half(at(&b, (shape.of_b)(lane, i)), brain))),
                    registers(c_bits, 4, |lane, i| number(at(&c, of_c(lane, i)), c_bits)),
                ];
                let modifiers = format!("{}.row.col.f{d_bits}.{input}.{input}.f{c_bits}", shape.name);
                let found = multiply(&modifiers, &sources, 4 * d_bits / 32);
                let expected = registers(d_bits, 4, |lane, i| {
                    let (row, column) = of_c(lane, i);
                    number(expected[row][column] as i32, d_bits)
                });
                prop_assert_eq!(&found, &expected, "{}", modifiers);
            }
        }
    }

    #[test]
    fn bytes_are_multiplied_as_matrices(
        a in matrix(16, 32, -128..256), b in matrix(32, 8, -128..256), c in matrix(16, 8, i32::MIN..i32::MAX),
    ) {
        for shape in &SHAPES[2..] {
            for (a_type, b_type) in [("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8")] {
                let typed = |matrix: &Matrix, ty: &str| -> Matrix {
                    let element = |&value: &i32| if ty == "s8" { i32::from(value as i8) } else { i32::from(value as u8) };
                    matrix.iter().take(if matrix.len() == 32 { shape.k } else { 16 })
                        .map(|row| row.iter().map(element).collect()).collect()
                };
                let (a, b) = (typed(&a, a_type), typed(&b, b_type));
                let byte = |matrix: &Matrix, (row, column): (usize, usize)| matrix[row][column] as u32 & 0xff;
                let sources = [
                    registers(8, shape.k / 2, |lane, i| byte(&a, (shape.of_a)(lane, i))),
                    registers(8, shape.k / 4, |lane, i| byte(&b, (shape.of_b)(lane, i))),
                    registers(32, 4, |lane, i| { let (row, column) = of_c(lane, i); c[row][column] as u32 }),
                ];
                let exact = product(&a, &b, &c);
                for saturates in [false, true] {
                    let satfinite = if saturates { ".satfinite" } else { "" };
                    let modifiers = format!("{}.row.col{satfinite}.s32.{a_type}.{b_type}.s32", shape.name);
                    let found = multiply(&modifiers, &sources, 4);
                    let expected = registers(32, 4, |lane, i| {
                        let (row, column) = of_c(lane, i);
                        let exact = exact[row][column];
                        if saturates { exact.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { exact as u32 }
                    });
                    prop_assert_eq!(&found, &expected, "{}", modifiers);
                }
            }
        }
    }
}

#[test]
fn sums_are_rounded_once() {
    // 2048 + 16 × 0.125 × 0.5 = 2049, halfway between 2048 and 2050 in half precision; 2048 + 1.0625 is nearer to 2050.
    let all = |bits: usize, count: usize, value: u32| registers(bits, count, |_, _| value);
    let c = all(16, 4, 0x6800);
    let modifiers = "m16n8k16.row.col.f16.f16.f16.f16";
    let even = multiply(modifiers, &[all(16, 8, 0x3000), all(16, 4, 0x3800), c.clone()], 2);
    assert_eq!(even, all(16, 4, 0x6800));
    let above = multiply(modifiers, &[all(16, 8, 0x3000), all(16, 4, 0x3840), c], 2);
    assert_eq!(above, all(16, 4, 0x6801));
    // Infinity times zero is NaN, as PTX has it.
    let modifiers = "m16n8k8.row.col.f32.bf16.bf16.f32";
    let nan = multiply(modifiers, &[all(16, 4, 0x7f80), all(16, 2, 0), all(32, 4, 0)], 4);
    assert_eq!(nan, all(32, 4, 0x7fff_ffff));
}

#[test]
fn a_cuda_program_multiplies_tiles_of_halves() {
    const K: usize = 48;
    let a: Matrix = (0..16).map(|row| (0..K as i32).map(|k| (row * 7 + k * 5) % 13 - 6).collect()).collect();
    let b: Matrix =
        (0..K as i32).map(|k| (0..8).map(|column| (k * 3 + column * 11) % 17 - 8).collect()).collect();
    let zeros = vec![vec![0; 8]; 16];
    let bytes = |matrix: &Matrix| {
        Argument::Buffer(
            matrix.iter().flatten().flat_map(|&value| half(value, false).to_le_bytes()).collect(),
        )
    };
    let arguments = [
        bytes(&a),
        bytes(&b),
        Argument::words(&[0; 128]),
        Argument::Value((K as u32).to_le_bytes().to_vec()),
    ];
    let found = words(&run(PROGRAM, "halves", 32, &arguments)[2]);
    let expected: Vec<u32> =
        product(&a, &b, &zeros).iter().flatten().map(|&value| (value as f32).to_bits()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_cuda_program_multiplies_tiles_of_bytes() {
    const K: usize = 64;
    let a: Matrix =
        (0..16).map(|row| (0..K as i32).map(|k| (row * 37 + k * 91) % 256 - 128).collect()).collect();
    let b: Matrix =
        (0..K as i32).map(|k| (0..8).map(|column| (k * 53 + column * 29) % 256).collect()).collect();
    let columns = (0..8).flat_map(|column| b.iter().map(move |row| row[column] as u8)).collect();
    let rows = a.iter().flatten().map(|&value| value as u8).collect();
    let arguments = [
        Argument::Buffer(rows),
        Argument::Buffer(columns),
        Argument::words(&[0; 128]),
        Argument::Value((K as u32).to_le_bytes().to_vec()),
    ];
    let found = words(&run(PROGRAM, "bytes", 32, &arguments)[2]);
    let expected: Vec<u32> =
        product(&a, &b, &vec![vec![0; 8]; 16]).iter().flatten().map(|&value| value as u32).collect();
    assert_eq!(found, expected);
}

/// A body that loads matrices from 512 bytes that hold 0, 1, 2, … in 16 bits, for 32 lanes.
fn loading(count: usize, transposed: bool) -> String {
    let registers: Vec<String> = (0..count).map(|at| format!("%r{at}")).collect();
    let stores: String = (0..count).map(|at| format!("st.global.b32 [%at+{}], %r{at}; ", 4 * at)).collect();
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 area[512];\n\
         .entry k(.param .u64 buffer)\n{{\n.reg .b64 %at, %t; .reg .b32 %r<4>, %lane, %to, %v; .reg .pred %p;\n\
         ld.param.u64 %at, [buffer]; mov.u32 %lane, %tid.x; mul.wide.u32 %t, %lane, 16; add.u64 %at, %at, %t;\n\
         mov.u32 %to, area; mad.lo.u32 %to, %lane, 16, %to; mul.lo.u32 %v, %lane, 0x80008; add.u32 %v, %v, 0x10000;\n\
         st.shared.b32 [%to], %v; add.u32 %v, %v, 0x20002; st.shared.b32 [%to+4], %v; add.u32 %v, %v, 0x20002;\n\
         st.shared.b32 [%to+8], %v; add.u32 %v, %v, 0x20002; st.shared.b32 [%to+12], %v; bar.warp.sync -1;\n\
         ldmatrix.sync.aligned.m8n8.x{count}{}.shared.b16 {{{}}}, [%to];\n{stores}\nret;\n}}\n",
        if transposed { ".trans" } else { "" },
        registers.join(", ")
    )
}

#[test]
fn rows_of_matrices_are_dealt_to_the_lanes() {
    for (count, transposed) in [(1, false), (2, false), (4, false), (1, true), (2, true), (4, true)] {
        let found = words(&run(&loading(count, transposed), "k", 32, &[Argument::words(&[0; 128])])[0]);
        for lane in 0..32_u32 {
            for matrix in 0..count as u32 {
                let at = |row: u32, column: u32| 64 * matrix + 8 * row + column;
                let (row, column) = (lane / 4, lane % 4 * 2);
                let [low, high] = if transposed {
                    [at(column, row), at(column + 1, row)]
                } else {
                    [at(row, column), at(row, column + 1)]
                };
                assert_eq!(
                    found[(4 * lane + matrix) as usize],
                    low | high << 16,
                    "x{count} lane {lane} {transposed}"
                );
            }
        }
    }
}

#[test]
fn a_part_of_a_warp_and_a_row_that_is_not_aligned_are_refused() {
    let error = |text: &str, threads: u32| {
        outcome(text, "k", threads, &[Argument::words(&[0; 128])], Schedule::None).unwrap_err().to_string()
    };
    let told = error(&loading(4, false), 16);
    assert!(told.contains("16 lanes take part; accepted: all 32 of a warp"), "{told}");
    let told = error(
        &loading(4, false).replace(".b16 {%r0, %r1, %r2, %r3}, [%to]", ".b16 {%r0, %r1, %r2, %r3}, [%to+8]"),
        32,
    );
    assert!(told.contains("a row at address 0x8; accepted: multiples of 16"), "{told}");
}

#[test]
fn fragments_lie_side_by_side_and_each_register_is_read_and_written_once() {
    let module = parse("tiles.ptx", PROGRAM).unwrap();
    let compiled = compile(&module, "halves", &CompileOptions::default()).unwrap();
    let parts: Vec<_> =
        compiled.program.instructions.iter().filter(|inst| inst.text.contains("mma")).collect();
    let read: Vec<u16> =
        parts.iter().flat_map(|inst| &inst.sources).map(|source| source.register.0).collect();
    let written: Vec<u16> =
        parts.iter().flat_map(|inst| &inst.results).map(|result| result.register.0).collect();
    assert_eq!((read.len(), written.len()), (10, 4));
    let (a, b, c) = (&read[..4], &read[4..6], &read[6..]);
    for fragment in [a, b, c, &written] {
        let first = fragment[0];
        assert_eq!(first as usize % fragment.len(), 0, "{fragment:?}");
        assert!(
            fragment.iter().zip(first..).all(|(&register, expected)| register == expected),
            "{fragment:?}"
        );
    }
}
