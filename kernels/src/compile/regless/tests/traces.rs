//! Regions of programs that come from traces.

use std::path::Path;

use super::*;
use crate::trace::{open, write_accelsim, write_warpfile};

#[test]
fn a_trace_of_every_workload_finds_its_registers_staged() {
    for workload in workloads::list() {
        let directory = tempfile::tempdir().unwrap();
        write_accelsim(&mut workload.open("tiny").unwrap(), directory.path()).unwrap();
        let mut trace = open(&directory.path().join("kernelslist.g")).unwrap();
        let checked = check(&mut trace, &Parameters::default(), |program, regions| {
            check_static::check_static(program, regions)
                .unwrap_or_else(|error| panic!("{}: {error}", program.name));
        });
        assert!(checked.unwrap_or_else(|error| panic!("{}: {error}", workload.name)) > 100);
    }
}

#[test]
fn recorded_traces_of_real_kernels_find_their_registers_staged() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/accelsim");
    for name in
        ["none.traceg", "v3/kernel-2.traceg", "v4-lineinfo.traceg", "v5-cluster.traceg", "v6-values.traceg"]
    {
        let mut trace = open(&data.join(name)).unwrap();
        assert!(check(&mut trace, &Parameters::default(), |_, _| {}).unwrap() > 0, "{name}");
    }
}

#[test]
fn a_container_has_the_regions_of_what_it_was_written_from() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bfs.wft");
    let workload = workloads::by_name("bfs").unwrap();
    write_warpfile(&mut workload.open("tiny").unwrap(), &path).unwrap();
    let (mut original, mut container) = (workload.open("tiny").unwrap(), open(&path).unwrap());
    while let Some(ours) = original.next_launch().unwrap() {
        let theirs = container.next_launch().unwrap().expect("as many launches");
        let parameters = Parameters::default();
        assert_eq!(
            compile(ours.program(), &parameters).unwrap(),
            compile(theirs.program(), &parameters).unwrap()
        );
    }
}
