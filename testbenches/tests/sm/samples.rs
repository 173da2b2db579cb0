//! Real traces, if they lie beside the workspace.

use std::path::{Path, PathBuf};

use warpfile_kernels::trace::open;

use super::{gebhart, simulate};

/// Lists of kernels under `../shared/traces` from the workspace.
fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: no real traces in {}", folder.display());
        return Vec::new();
    };
    let mut lists: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path().join("kernelslist.g")).collect();
    lists.retain(|list| list.is_file());
    lists.sort();
    lists
}

#[test]
fn real_traces_run_through_a_cache_with_every_operand_checked() {
    for list in samples() {
        let name = list.display();
        let mut trace = open(&list).unwrap_or_else(|error| panic!("{name}: {error}"));
        let report = simulate(&gebhart("rfc"), &mut trace).unwrap_or_else(|e| panic!("{name}: {e}"));
        let opened = trace.report();
        assert_eq!(report.warp_instructions, opened.instructions_without_values, "{name}");
        assert!(report.operands_checked > report.warp_instructions / 4, "{name}: {report:?}");
        assert!(report.mrf().reads < report.operands.reads, "{name}");
        println!(
            "{name}: {} cycles, {} warp instructions, {} operands checked",
            report.cycles, report.warp_instructions, report.operands_checked
        );
    }
}
