//! Every workload's results against its CPU reference.

use std::sync::Arc;

use warpfile_kernels::launch::{Sequence, parameter_block};
use warpfile_kernels::ptx;
use warpfile_kernels::workloads::{self, CheckError, Workload};

use crate::host_buffers::HostBuffers;

fn filled(workload: &Workload) -> (Sequence, HostBuffers) {
    let sequence = Sequence::new(Arc::new(workload.launch_file().unwrap()), "tiny").unwrap();
    let mut buffers = HostBuffers::default();
    sequence.fill_all(&mut buffers).unwrap();
    (sequence, buffers)
}

#[test]
fn a_run_that_computes_nothing_is_a_mismatch() {
    for workload in workloads::list() {
        let (sequence, buffers) = filled(workload);
        match workload.check(&sequence, &buffers) {
            Err(CheckError::Mismatch { mismatch, .. }) => assert!(mismatch.wrong > 0),
            other => panic!("{}: {other:?}", workload.name),
        }
    }
}

#[test]
fn the_ptx_of_every_workload_has_the_kernels_that_its_launch_file_names() {
    for workload in workloads::list() {
        let module = ptx::parse(&workload.ptx_path().display().to_string(), workload.ptx).unwrap();
        let (mut sequence, mut buffers) = filled(workload);
        while let Some(planned) = sequence.next(&mut buffers).unwrap() {
            let entry = planned.entry.clone().unwrap();
            let kernel = module.kernel(&entry).unwrap_or_else(|| panic!("{}: no {entry}", workload.name));
            parameter_block(&planned, kernel, |_| 0).unwrap();
        }
    }
}
