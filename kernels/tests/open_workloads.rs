//! Workloads opened by name and from a user's files.

use std::path::Path;

use warpfile_kernels::workloads::{self, CheckError, OpenWorkload};

#[test]
fn every_result_buffer_of_every_workload_is_compared_with_a_reference() {
    for workload in workloads::list() {
        let mut open = workload.open("tiny").unwrap();
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
