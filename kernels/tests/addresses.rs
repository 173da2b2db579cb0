//! Modules whose addresses have 32 bits.

use std::path::Path;
use std::sync::Arc;

use warpfile_kernels::exec::PtxRun;
use warpfile_kernels::launch::LaunchFile;
use warpfile_kernels::ptx;

const HEAD: &str = ".version 4.0\n.target sm_50\n.address_size 32\n";
const REGISTERS: &str = ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<4>;";

fn run(kernel: &str, launch: &str) -> Result<Vec<u32>, String> {
    let module = ptx::parse("k.ptx", &format!("{HEAD}{kernel}")).map_err(|error| error.to_string())?;
    let file = LaunchFile::parse(Path::new("k.toml"), launch).map_err(|error| error.to_string())?;
    let last = file.buffers.len() - 1;
    let mut run = PtxRun::new(module, Arc::new(file), "default").map_err(|error| error.to_string())?;
    run.run_to_end().map_err(|error| error.to_string())?;
    let bytes = run.host_memory().read(run.sequence().bound(last)).unwrap();
    Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect())
}

#[test]
fn generic_addresses_reach_every_space() {
    let kernel = format!(
        ".const .u32 answer = 42; .global .u32 counter = 7; .global .u32 link = generic(answer);\n\
         .extern .shared .align 4 .b8 pool[];\n\
         .visible .entry k(.param .u32 out)\n{{\n{REGISTERS}\n.local .u32 own[2];\n\
         mov.u32 %r0, %tid.x; mov.u32 %r1, own; cvta.local.u32 %r1, %r1; st.u32 [%r1+4], %r0;\n\
         ld.local.u32 %r3, [own+4]; mov.u32 %r2, pool; cvta.shared.u32 %r2, %r2; st.u32 [%r2+8], 1000;\n\
         ld.shared.u32 %r4, [pool+8]; ld.global.u32 %r5, [link]; ld.u32 %r5, [%r5]; ld.global.u32 %r6, [counter];\n\
         isspacep.shared %p1, %r2; isspacep.local %p2, %r2; selp.u32 %r7, 10000, 0, %p1;\n\
         @%p2 mov.u32 %r7, 0; cvta.to.shared.u32 %r8, %r2; ld.shared.u32 %r8, [%r8+8];\n\
         add.u32 %r9, %r3, %r4; add.u32 %r9, %r9, %r5; add.u32 %r9, %r9, %r6; add.u32 %r9, %r9, %r7;\n\
         add.u32 %r9, %r9, %r8;\n\
         ld.param.u32 %r10, [out]; cvta.to.global.u32 %r10, %r10; shl.b32 %r11, %r0, 2; add.s32 %r10, %r10, %r11;\n\
         st.global.u32 [%r10], %r9;\nret;\n}}\n"
    );
    let launch = r#"
        [buffers]
        out = { type = "u32", length = 32, fill = "zeros" }
        [[steps]]
        grid = 1
        block = 32
        shared = 64
        arguments = ["out"]
    "#;
    let found = run(&kernel, launch).unwrap();
    assert!((0..32).all(|lane| found[lane as usize] == lane + 12049), "{found:?}");
}

/// Pointers that buffers hold, by themselves and in a structure, some in a structure of arguments, and offsets that wrap at 32
/// bits.
#[test]
fn pointers_have_four_bytes() {
    let kernel = format!(
        ".visible .entry k(.param .u32 rows, .param .align 4 .b8 pair[8], .param .u32 scene)\n{{\n{REGISTERS}\n\
         ld.param.u32 %r1, [rows]; ld.global.u32 %r2, [%r1+4]; add.s32 %r2, %r2, 0x80000004;\n\
         ld.global.u32 %r3, [%r2-2147483648]; ld.param.u32 %r4, [pair]; ld.param.u32 %r5, [pair+4];\n\
         ld.param.u32 %r8, [scene]; ld.global.u32 %r9, [%r8+4]; ld.global.u32 %r10, [%r9]; add.s32 %r3, %r3, %r10;\n\
         sub.s32 %r6, %r4, 0x7ffffff0; ld.u32 %r7, [%r6+2147483632]; add.s32 %r3, %r3, %r7;\n\
         st.global.u32 [%r5], %r3;\nret;\n}}\n"
    );
    let launch = r#"
        [buffers]
        matrix = { type = "u32", length = 8, fill = { iota = { start = 0, step = 1 } } }
        rows = { type = "u32", length = 2, fill = { values = [0, { address = "matrix", offset = 4 }] } }
        scene = { type = "u8", length = 8, fill = { structures = [[{ s32 = -1 }, "matrix + 2"]] } }
        out = { type = "u32", length = 2, fill = "zeros" }
        [[steps]]
        grid = 1
        block = 1
        arguments = ["rows", ["matrix + 7", "out + 1"], "scene"]
    "#;
    assert_eq!(run(&kernel, launch).unwrap(), [0, 5 + 7 + 2]);
}

#[test]
fn a_buffer_of_pointers_counts_on_by_elements_of_what_they_point_to() {
    let kernel = format!(
        ".visible .entry k(.param .u32 rows, .param .u32 out)\n{{\n{REGISTERS}\n\
         ld.param.u32 %r1, [rows]; ld.global.u32 %r2, [%r1+4]; ld.global.u32 %r3, [%r2];\n\
         ld.param.u32 %r4, [out]; st.global.u32 [%r4], %r3;\nret;\n}}\n"
    );
    let launch = |element: &str| {
        format!(
            "[buffers]\n\
             matrix = {{ type = 'u32', length = 8, fill = {{ iota = {{ start = 0, step = 1 }} }} }}\n\
             rows = {{ type = '{element}', length = 2, fill = {{ iota = {{ start = {{ address = 'matrix' }}, step = 4 }} }} }}\n\
             out = {{ type = 'u32', length = 1, fill = 'zeros' }}\n\
             [[steps]]\ngrid = 1\nblock = 1\narguments = ['rows', 'out']\n"
        )
    };
    assert_eq!(run(&kernel, &launch("u32")).unwrap(), [4]);
    let refused = run(&kernel, &launch("u64")).unwrap_err();
    assert!(refused.ends_with("an address, of 4 bytes, as u64; u32 is accepted"), "{refused}");
}

#[test]
fn addresses_of_the_other_size_are_errors() {
    let message = |parameter: &str, body: &str| {
        let kernel =
            format!(".visible .entry k(.param {parameter} out)\n{{\n{REGISTERS}\n{body}\nret;\n}}\n");
        let launch = r#"
            [buffers]
            out = { type = "u32", length = 2, fill = "zeros" }
            [[steps]]
            grid = 1
            block = 1
            arguments = ["out"]
        "#;
        run(&kernel, launch).unwrap_err()
    };
    insta::assert_snapshot!(
        [
            message(".u32", "cvta.to.global.u64 %rd1, %rd2;"),
            message(".u32", "isspacep.shared %p1, %rd1;"),
            message(".u64", ""),
        ]
        .join("\n")
    );
}

#[test]
fn a_long_that_is_printed_has_four_bytes() {
    let kernel = ".extern .func (.param .b32 r) vprintf(.param .b32 f, .param .b32 a);\n\
                  .visible .entry k(.param .u32 format, .param .u32 arguments)\n{\n.reg .b32 %f, %a, %r;\n\
                  ld.param.u32 %f, [format]; ld.param.u32 %a, [arguments];\ncall (%r), vprintf, (%f, %a);\nret;\n}\n";
    let module = ptx::parse("k.ptx", &format!("{HEAD}{kernel}")).unwrap();
    // "%ld %lld %s", and -1, nothing, 2^32 in eight bytes, and the format's address.
    let launch = r#"
        [buffers]
        format = { type = "u8", length = 12, fill = { values = [37, 108, 100, 32, 37, 108, 108, 100, 32, 37, 115, 0] } }
        arguments = { type = "u8", length = 20, fill = { structures = [
            [{ s32 = -1 }, { s32 = 0 }, { s32 = 0 }, { s32 = 1 }, "format"],
        ] } }
        [[steps]]
        grid = 1
        block = 1
        arguments = ["format", "arguments"]
    "#;
    let file = LaunchFile::parse(Path::new("k.toml"), launch).unwrap();
    let mut run = PtxRun::new(module, Arc::new(file), "default").unwrap();
    run.run_to_end().unwrap();
    assert_eq!(run.printed().text, b"-1 4294967296 %ld %lld %s");
}
