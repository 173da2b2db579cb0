//! The workloads that come with the project: CUDA source, PTX, launch file and a reference on the CPU.
//!
//! The references are written from what the kernels are to compute, not from how they do it: sequential, and in
//! double precision where the launch file allows a tolerance.

mod backprop;
mod bfs;
mod blackscholes;
mod hotspot;
mod mri_q;
mod nw;
mod pathfinder;
mod reference;
mod scalarprod;
mod sgemm;
mod srad;
mod stencil;
mod vectoradd;

use std::path::{Path, PathBuf};

use crate::launch::{
    CheckReport, HostMemory, LaunchError, LaunchFile, Mismatch, Origin, Sequence, compare, suggest,
};
use reference::{Inputs, Outputs};

/// A workload that comes with the project.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name on the command line.
    pub name: &'static str,
    /// CUDA C.
    pub source: &'static str,
    /// What clang makes of it.
    pub ptx: &'static str,
    /// Its launch file.
    pub launch_file: &'static str,
    reference: fn(&Inputs) -> Outputs,
}

macro_rules! workload {
    ($name:literal, $reference:path) => {
        Workload {
            name: $name,
            source: include_str!(concat!("../../workloads/", $name, "/", $name, ".cu")),
            ptx: include_str!(concat!("../../workloads/", $name, "/", $name, ".ptx")),
            launch_file: include_str!(concat!("../../workloads/", $name, "/launch.toml")),
            reference: $reference,
        }
    };
}

static WORKLOADS: [Workload; 12] = [
    workload!("vectoradd", vectoradd::reference),
    workload!("scalarprod", scalarprod::reference),
    workload!("sgemm", sgemm::reference),
    workload!("hotspot", hotspot::reference),
    workload!("pathfinder", pathfinder::reference),
    workload!("backprop", backprop::reference),
    workload!("bfs", bfs::reference),
    workload!("nw", nw::reference),
    workload!("srad", srad::reference),
    workload!("stencil", stencil::reference),
    workload!("mri-q", mri_q::reference),
    workload!("blackscholes", blackscholes::reference),
];

/// All workloads, in the order of the documentation.
pub fn list() -> &'static [Workload] {
    &WORKLOADS
}

/// The workload of that name; an unknown name is an error that lists the near ones.
pub fn by_name(name: &str) -> Result<&'static Workload, UnknownWorkload> {
    WORKLOADS.iter().find(|workload| workload.name == name).ok_or_else(|| UnknownWorkload {
        name: name.to_string(),
        near: suggest(name, WORKLOADS.iter().map(|workload| workload.name)),
    })
}

/// No workload has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no workload `{name}`{near}")]
pub struct UnknownWorkload {
    name: String,
    near: String,
}

/// Why the results of a run are not as they should be.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A result is wrong.
    #[error("{workload}: {mismatch}")]
    Mismatch {
        /// The workload.
        workload: &'static str,
        /// Where, what was expected and what was found.
        mismatch: Box<Mismatch>,
    },
    /// Expected or found contents could not be had.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

impl Workload {
    /// Path of the launch file in the repository, as messages name it.
    pub fn launch_path(&self) -> PathBuf {
        Path::new("kernels/workloads").join(self.name).join("launch.toml")
    }

    /// Path of the PTX file in the repository, as messages name it.
    pub fn ptx_path(&self) -> PathBuf {
        self.launch_path().with_file_name(format!("{}.ptx", self.name))
    }

    /// The launch file, parsed.
    pub fn launch_file(&self) -> Result<LaunchFile, LaunchError> {
        LaunchFile::parse(&self.launch_path(), self.launch_file)
    }

    /// Compares all result buffers in `memory` with the reference, after the last launch of `sequence`.
    pub fn check(&self, sequence: &Sequence, memory: &dyn HostMemory) -> Result<CheckReport, CheckError> {
        let mut expected = (self.reference)(&Inputs::of(sequence)?);
        let mut report = CheckReport::default();
        for (index, buffer) in sequence.file().buffers.iter().enumerate() {
            let Some(result) = &buffer.result else { continue };
            let expected = expected.take(&buffer.name);
            let found = memory.read(sequence.bound(index)).map_err(|message| buffer.origin.error(message))?;
            let elements = compare(&buffer.name, buffer.element, result.tolerance, &expected, &found)
                .map_err(|mismatch| CheckError::Mismatch { workload: self.name, mismatch })?;
            report.add(elements);
        }
        if report.buffers == 0 {
            return Err(Origin::of_file(&self.launch_path()).error("no buffer is a result").into());
        }
        Ok(report)
    }
}
