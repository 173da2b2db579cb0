//! Workloads opened by name and from a user's files.

use std::path::Path;

use warpfile_kernels::workloads::{self, AddressBits, CheckError, OpenWorkload};

#[test]
fn every_result_buffer_of_every_workload_is_compared_with_a_reference() {
    let both = |workload| AddressBits::ALL.map(|addresses| (workload, addresses));
    for (workload, addresses) in workloads::all().iter().flat_map(both) {
        let mut open = workload.open_with("tiny", addresses).unwrap();
        open.run_to_end().unwrap_or_else(|error| panic!("{}: {error}", workload.name));
        let report = open.check_results().unwrap_or_else(|error| panic!("{error}"));
        let file = workload.launch_file().unwrap();
        let results = file.buffers.iter().filter(|buffer| buffer.result.is_some()).count();
        assert_eq!(report.buffers, results, "{}", workload.name);
    }
}

/// A folder with PTX, a launch file and the expected sums.
fn users_files(expected: &[f32]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, contents: &[u8]| std::fs::write(folder.path().join(name), contents).unwrap();
    write("add.ptx", workloads::by_name("vectoradd").unwrap().ptx.as_bytes());
    let bytes: Vec<u8> = expected.iter().flat_map(|value| value.to_le_bytes()).collect();
    write("sums.bin", &bytes);
    write(
        "add.toml",
        br#"
        [buffers]
        a = { type = "f32", length = 3, fill = { iota = { start = 1, step = 1 } } }
        b = { type = "f32", length = 3, fill = { constant = 0.5 } }
        sum = { type = "f32", length = 3, fill = "zeros", result = { file = "sums.bin" } }
        [[steps]]
        grid = 1
        block = 32
        arguments = ["a", "b", "sum", { s32 = 3 }]
        "#,
    );
    folder
}

fn run(ptx: &Path) -> Result<u64, CheckError> {
    let mut open = OpenWorkload::from_ptx(ptx, "default").unwrap();
    open.run_to_end().unwrap();
    open.check_results().map(|report| report.elements)
}

#[test]
fn ptx_with_a_launch_file_beside_it_runs_and_is_compared_with_the_file_it_names() {
    let right = users_files(&[1.5, 2.5, 3.5]);
    assert_eq!(run(&right.path().join("add.ptx")).unwrap(), 3);
    let mut named = OpenWorkload::from_launch_file(&right.path().join("add.toml"), "default").unwrap();
    named.run_to_end().unwrap();
    assert_eq!(named.check_results().unwrap().elements, 3);

    let wrong = users_files(&[1.5, 2.5, 4.0]);
    let message = run(&wrong.path().join("add.ptx")).unwrap_err().to_string();
    assert!(
        message.ends_with("buffer `sum`: 1 of 3 elements differ\n  element 2: expected 4.0, found 3.5"),
        "{message}"
    );
}

#[test]
fn a_block_that_the_kernel_forbids_is_refused_with_the_step_and_the_kernel() {
    let files = users_files(&[1.5, 2.5, 3.5]);
    let ptx = files.path().join("add.ptx");
    let text = workloads::by_name("vectoradd").unwrap().ptx;
    let (head, body) = text.split_once("\n{").unwrap();
    std::fs::write(&ptx, format!("{head}\n.maxntid 16, 1, 1\n{{{body}")).unwrap();
    let message = OpenWorkload::from_ptx(&ptx, "default").unwrap().run_to_end().unwrap_err().to_string();
    let told = "add.toml:6: `steps[0]`: ";
    assert!(message.contains(told), "{message}");
    assert!(
        message.contains(
            "add.ptx: kernel `vectoradd`: a block of [32, 1, 1] threads; accepted: 1 to 16, the .maxntid"
        ),
        "{message}"
    );
}

#[test]
fn ptx_without_a_launch_file_says_where_one_is_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("lonely.ptx");
    std::fs::write(&ptx, "").unwrap();
    let message = OpenWorkload::from_ptx(&ptx, "default").unwrap_err().to_string();
    assert!(message.contains("lonely.toml") && message.contains("launch.toml"), "{message}");
}

/// A kernel that adds its module's constant `c` to every element.
fn add_constant(name: &str, constant: &str) -> String {
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.const .u32 {constant} = 1;\n\
         .visible .entry {name}(.param .u64 a)\n{{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n\
         ld.global.u32 %r2, [%rd1]; ld.const.u32 %r3, [{constant}]; add.u32 %r2, %r2, %r3;\n\
         st.global.u32 [%rd1], %r2;\nret;\n}}\n"
    )
}

/// A folder with a launch file and PTX files, run to the end: its buffer `a`.
fn run_several(files: &[(&str, String)], launch: &str) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files.iter().map(|(name, text)| (*name, text.as_str())).chain([("l.toml", launch)]) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let place = folder.path().display().to_string() + "/";
    let told = |error: &dyn std::error::Error| error.to_string().replace(&place, "");
    let mut open =
        OpenWorkload::from_launch_file(&folder.path().join("l.toml"), "default").map_err(|e| told(&e))?;
    open.run_to_end().map_err(|error| told(&error))?;
    Ok(open.record().buffer("a").unwrap().bytes)
}

#[test]
fn kernels_of_several_files_run_with_variables_of_their_own() {
    let launch = r#"
        ptx = ["one.ptx", "two.ptx"]
        [buffers]
        a = { type = "u32", length = 4, fill = { iota = { start = 0, step = 10 } } }
        c = { type = "u32", length = 1, fill = { constant = 5 }, symbol = { name = "c", ptx = "two.ptx" } }
        [[steps]]
        entry = "first"
        grid = 1
        block = 4
        arguments = ["a"]
        [[steps]]
        entry = "second"
        grid = 1
        block = 4
        arguments = ["a"]
    "#;
    let files = [("one.ptx", add_constant("first", "c")), ("two.ptx", add_constant("second", "c"))];
    let found = run_several(&files, launch).unwrap();
    assert_eq!(found, [6_u32, 16, 26, 36].map(u32::to_le_bytes).concat());

    let symbol = ", ptx = \"two.ptx\" }";
    for (wrong, told) in [
        (
            launch.replace(symbol, " }"),
            "l.toml:5: `buffers.c`: the variable `c` is in one.ptx and in two.ptx; symbol = { name",
        ),
        (launch.replace(symbol, ", ptx = \"to.ptx\" }"), "no PTX file `to.ptx`; there is one.ptx, two.ptx"),
        (launch.replace("name = \"c\"", "name = \"d\""), "no variable `d` in two.ptx"),
        (
            launch.replace("entry = \"second\"", "entry = \"third\""),
            "one.ptx: no kernel `third`; it has `first`; two.ptx: no kernel `third`; it has `second`",
        ),
        (launch.replace("\"two.ptx\"]", "\"three.ptx\"]"), "three.ptx: cannot be read"),
        (
            launch.replace("arguments = [\"a\"]", "arguments = [\"c\"]"),
            "l.toml:6: `steps[0]`: an argument is a constant of another PTX file",
        ),
    ] {
        let found = run_several(&files, &wrong).unwrap_err();
        assert!(found.contains(told), "{found}\nwithout {told}");
    }
}

#[test]
fn a_name_of_the_source_may_be_in_one_file_only_and_a_name_of_a_file_comes_first() {
    let launch = "ptx = ['one.ptx', 'two.ptx']\n[[steps]]\nentry = 'k'\ngrid = 1\nblock = 1\n";
    let with = |one: &str, two: &str| {
        let files = [("one.ptx", add_constant(one, "c")), ("two.ptx", add_constant(two, "d"))];
        run_several(&files, launch).unwrap_err()
    };
    assert_eq!(
        with("_Z1kPi", "_Z1kPf"),
        "l.toml:2: `steps[0]`: `k` may be a kernel in one.ptx and in two.ptx; accepted: its name in the PTX file"
    );
    // The kernel is found: what is missing is its argument.
    for (one, two) in [("_Z1kPi", "other"), ("other", "_Z1kPi"), ("_Z1kPi", "k"), ("k", "_Z1kPi")] {
        let found = with(one, two);
        assert!(found.contains("argument") && !found.contains("no kernel"), "{found}");
    }
}

#[test]
fn kernels_of_one_name_are_refused_with_both_places() {
    let launch = "ptx = ['one.ptx', 'two.ptx']\n[[steps]]\ngrid = 1\nblock = 1\n";
    let files = [("one.ptx", add_constant("k", "c")), ("two.ptx", add_constant("k", "d"))];
    let found = run_several(&files, launch).unwrap_err();
    assert_eq!(
        found,
        "l.toml: the kernel `k` is in one.ptx:5 and in two.ptx:5; one of each name is accepted"
    );
}
