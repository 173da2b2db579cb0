//! Every workload's results against its CPU reference.

use std::sync::Arc;

use warpfile_kernels::launch::Sequence;
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
