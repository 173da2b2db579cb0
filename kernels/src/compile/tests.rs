//! Whole compilations.

use super::*;
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
        for kernel in &module.kernels {
            let compiled =
                compile(&module, &kernel.name, &CompileOptions { check_allocation: true }).unwrap();
            let Statistics { registers, max_live, .. } = compiled.statistics;
            assert!(registers >= max_live, "{}: {registers} registers, {max_live} values live", kernel.name);
            assert!(
                registers <= max_live + 2,
                "{}: {registers} registers, {max_live} values live",
                kernel.name
            );
        }
    }
}
