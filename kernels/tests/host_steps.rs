//! Launch files that do what a host program does between launches, run on kernels.

use std::path::Path;
use std::sync::Arc;

use warpfile_kernels::exec::PtxRun;
use warpfile_kernels::launch::LaunchFile;
use warpfile_kernels::ptx;

const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// Each thread its own element of every buffer, at `%rd1`, and so on.
fn kernel(name: &str, parameters: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}({parameters})\n{{\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n\
         mov.u32 %r1, %tid.x; mul.wide.u32 %rd7, %r1, 4;\n{body}\nret;\n}}\n"
    )
}

/// Runs to the end, and gives the buffers as f32.
fn run(kernels: &str, launch: &str) -> Result<Vec<Vec<f32>>, String> {
    let module = ptx::parse("host.ptx", &format!("{HEAD}{kernels}")).map_err(|error| error.to_string())?;
    let file = LaunchFile::parse(Path::new("host.toml"), launch).map_err(|error| error.to_string())?;
    let count = file.buffers.len();
    let mut run = PtxRun::new(module, Arc::new(file), "default").map_err(|error| error.to_string())?;
    run.run_to_end().map_err(|error| error.to_string())?;
    let floats = |buffer: usize| {
        let bytes = run.host_memory().read(run.sequence().bound(buffer)).unwrap();
        bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    Ok((0..count).map(floats).collect())
}

#[test]
fn a_kernel_follows_pointers_that_a_buffer_and_a_constant_hold() {
    let gather = kernel(
        "gather",
        ".param .u64 rows, .param .u64 out",
        "ld.param.u64 %rd1, [rows]; ld.param.u64 %rd2, [out]; add.u64 %rd2, %rd2, %rd7;\n\
         shl.b64 %rd3, %rd7, 1; add.u64 %rd1, %rd1, %rd3; ld.global.u64 %rd4, [%rd1]; ld.global.f32 %f1, [%rd4];\n\
         ld.const.s32 %r2, [scene]; ld.const.u64 %rd5, [scene+8]; mul.wide.s32 %rd6, %r2, 4;\n\
         add.u64 %rd5, %rd5, %rd6; ld.f32 %f2, [%rd5]; add.f32 %f1, %f1, %f2; st.global.f32 [%rd2], %f1;",
    );
    let launch = r#"
        [buffers]
        matrix = { type = "f32", length = 32, fill = { iota = { start = 0, step = 1 } } }
        rows = { type = "u64", length = 4, fill = { iota = { start = { address = "matrix" }, step = 8 } } }
        weights = { type = "f32", length = 4, fill = { iota = { start = 100, step = 100 } } }
        scene = { type = "u8", length = 16, symbol = "scene", fill = { structures = [[{ s32 = -1 }, "weights + 3"]] } }
        out = { type = "f32", length = 8, fill = "zeros" }
        [[steps]]
        grid = 1
        block = 4
        arguments = ["rows", "out + 2"]
    "#;
    let found = run(&format!(".const .align 8 .b8 scene[16];\n{gather}"), launch).unwrap();
    assert_eq!(found[4], [0.0, 0.0, 300.0, 308.0, 316.0, 324.0, 0.0, 0.0]);
}

/// As srad does: the statistics of an image are an argument of the next launch.
#[test]
fn statistics_of_results_are_arguments_of_the_next_launch() {
    let scale = kernel(
        "scale",
        ".param .u64 a, .param .f32 factor, .param .u32 n",
        "ld.param.u64 %rd1, [a]; add.u64 %rd1, %rd1, %rd7; ld.param.f32 %f1, [factor]; ld.param.u32 %r2, [n];\n\
         setp.ge.s32 %p1, %r1, %r2; @%p1 ret; ld.global.f32 %f2, [%rd1]; mul.f32 %f2, %f2, %f1;\n\
         st.global.f32 [%rd1], %f2;",
    );
    let launch = r#"
        [sizes]
        default = { n = 4 }
        [buffers]
        a = { type = "f32", length = "2 * n", fill = { iota = { start = 1, step = 1 } } }
        [[steps]]
        grid = 1
        block = 8
        arguments = ["a", 2, 100]
        [[steps]]
        let = { mean = "sum(a) / (2 * n)", q0 = "(a[7] - mean) / mean" }
        [[steps]]
        grid = 1
        block = 8
        arguments = ["a", "1 + q0", "n"]
    "#;
    let found = run(&scale, launch).unwrap();
    // Twice 1 to 8 has the mean 9, so that q0 is 7/9.
    let factor = (1.0 + 7.0 / 9.0) as f32;
    let expected: Vec<f32> = (1..=8).map(|i| 2.0 * i as f32 * if i <= 4 { factor } else { 1.0 }).collect();
    assert_eq!(found[0], expected);
}

#[test]
fn a_loop_ends_when_results_have_converged() {
    let halve = kernel(
        "halve",
        ".param .u64 a, .param .u64 change",
        "ld.param.u64 %rd1, [a]; add.u64 %rd1, %rd1, %rd7; ld.param.u64 %rd2, [change]; add.u64 %rd2, %rd2, %rd7;\n\
         ld.global.f32 %f1, [%rd1]; mul.f32 %f2, %f1, 0f3F000000; st.global.f32 [%rd1], %f2; sub.f32 %f3, %f1, %f2;\n\
         st.global.f32 [%rd2], %f3;",
    );
    let launch = |at_most: u32| {
        format!(
            "[buffers]\na = {{ type = 'f32', length = 4, fill = {{ iota = {{ start = 1, step = 1 }} }} }}\n\
             change = {{ type = 'f32', length = 4, fill = {{ constant = 1 }} }}\n\
             [[steps]]\nwhile = 'max(change) > 1e-2'\nat_most = {at_most}\n\
             [[steps.body]]\ngrid = 1\nblock = 4\narguments = ['a', 'change']\n"
        )
    };
    // 4 / 2^9 is the first below 1/100.
    let found = run(&halve, &launch(9)).unwrap();
    assert_eq!(found[0], [1.0, 2.0, 3.0, 4.0].map(|value: f32| value / 512.0));
    let endless = run(&halve, &launch(8)).unwrap_err();
    let told = "host.toml:5: `steps[0].while`: `max(change) > 1e-2` still holds after 8 repetitions";
    assert!(endless.starts_with(told), "{endless}");
}

#[test]
fn a_number_without_a_type_that_the_parameter_cannot_hold_names_argument_and_parameter() {
    let kernel = kernel("k", ".param .u32 n, .param .f32 x", "");
    let told = |arguments: &str| {
        run(&kernel, &format!("[[steps]]\ngrid = 1\nblock = 1\narguments = {arguments}")).unwrap_err()
    };
    assert_eq!(
        told("[2.5, 1]"),
        "host.toml:1: `steps[0].arguments[0]`: the number 2.5, which is no integer, for the parameter `n`, which \
         has 4 bytes (all parameters: n .u32 4 bytes, x .f32 4 bytes)"
    );
    assert!(told("['2 * 4294967296', 1]").contains("not from -2147483648 to 4294967295"));
    run(&kernel, "[[steps]]\ngrid = 1\nblock = 1\narguments = [-1, 2]").unwrap();
}
