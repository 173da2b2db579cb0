//! The workloads that come with the project: CUDA source, PTX, launch file and a reference on the CPU.
//!
//! The references are written from what the kernels are to compute, not from how they do it: sequential, and in
//! double precision where the launch file allows a tolerance.

mod b_tree;
mod backprop;
mod bfs;
mod binomial;
mod blackscholes;
mod convolution;
mod cutcp;
mod dct8x8;
mod dwt2d;
mod fdtd3d;
mod gaussian;
mod heartwall;
mod histogram;
mod hotspot;
mod hybridsort;
mod kmeans;
mod laplace;
mod lavamd;
mod leukocyte;
mod libor;
mod lud;
mod marching_cubes;
mod montecarlo;
mod mri_q;
mod mummer;
mod myocyte;
mod neural;
mod nn;
mod nqueens;
mod nw;
mod open;
mod particle_filter;
mod pathfinder;
mod reference;
mod sad;
mod scalarprod;
mod scan;
mod sgemm;
mod sobel;
mod spmv;
mod srad;
mod stencil;
mod streamcluster;
mod vectoradd;
mod walsh;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use crate::launch::{CheckError, CheckReport};
use crate::launch::{HostMemory, LaunchError, LaunchFile, Sequence, check_results, suggest};
pub use open::{
    BufferContents, MAX_PTX_BYTES, OpenError, OpenWorkload, RecordedCheckError, RecordedWorkload,
    launch_file_beside,
};
use reference::{Inputs, Outputs};

/// The part of CUDA C that the workloads use, for clang without a CUDA toolkit: a header.
pub const CUDA_HEADER: &str = include_str!("../../workloads/warpfile.h");

/// Bits of an address in the code that a compiler makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub enum AddressBits {
    /// 32, as with `-m32`.
    Bits32,
    /// 64.
    #[default]
    Bits64,
}

impl AddressBits {
    /// Both.
    pub const ALL: [AddressBits; 2] = [AddressBits::Bits32, AddressBits::Bits64];
}

impl From<AddressBits> for u32 {
    fn from(bits: AddressBits) -> u32 {
        match bits {
            AddressBits::Bits32 => 32,
            AddressBits::Bits64 => 64,
        }
    }
}

impl TryFrom<u32> for AddressBits {
    type Error = String;

    fn try_from(bits: u32) -> Result<AddressBits, String> {
        let found = AddressBits::ALL.into_iter().find(|known| u32::from(*known) == bits);
        found.ok_or_else(|| format!("addresses of {bits} bits; accepted: 32, 64"))
    }
}

impl std::fmt::Display for AddressBits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", u32::from(*self))
    }
}

impl std::str::FromStr for AddressBits {
    type Err = String;

    fn from_str(bits: &str) -> Result<AddressBits, String> {
        bits.parse::<u32>().map_err(|_| "accepted: 32, 64".to_owned())?.try_into()
    }
}

/// A workload that comes with the project.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name on the command line.
    pub name: &'static str,
    /// CUDA C.
    pub source: &'static str,
    /// What clang makes of it.
    pub ptx: &'static str,
    /// What clang makes of it with `-m32`: addresses have 32 bits, as on GPUs before Fermi and in GPGPU-Sim's PTXPlus.
    pub ptx_32: &'static str,
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
            ptx_32: include_str!(concat!("../../workloads/", $name, "/", $name, ".m32.ptx")),
            launch_file: include_str!(concat!("../../workloads/", $name, "/launch.toml")),
            reference: $reference,
        }
    };
}

static WORKLOADS: [Workload; 55] = [
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
    workload!("nn", nn::reference),
    workload!("lud", lud::reference),
    workload!("gaussian", gaussian::reference),
    workload!("kmeans", kmeans::reference),
    workload!("lavaMD", lavamd::reference),
    workload!("streamcluster", streamcluster::reference),
    workload!("hybridsort", hybridsort::reference),
    workload!("particle_filter", particle_filter::reference),
    workload!("b+tree", b_tree::reference),
    workload!("dwt2d", dwt2d::reference),
    workload!("heartwall", heartwall::reference),
    workload!("myocyte", myocyte::reference),
    workload!("hotspot-registers", hotspot::reference),
    workload!("spmv", spmv::reference),
    workload!("montecarlo", montecarlo::reference),
    workload!("fdtd3d", fdtd3d::reference),
    workload!("lib", libor::reference),
    workload!("convolution", convolution::reference),
    workload!("dct8x8", dct8x8::reference),
    workload!("laplace", laplace::reference),
    workload!("neural", neural::reference),
    workload!("mummer", mummer::reference),
    workload!("scan", scan::reference),
    workload!("walsh", walsh::reference),
    workload!("sobel", sobel::reference),
    workload!("binomial", binomial::reference),
    workload!("cutcp", cutcp::reference),
    workload!("sad", sad::reference),
    workload!("histogram", histogram::reference),
    workload!("nqueens", nqueens::reference),
    workload!("leukocyte", leukocyte::reference),
    workload!("marching-cubes", marching_cubes::reference),
    workload!("sgemm-128", sgemm::reference),
    workload!("stencil-512", stencil::reference),
    workload!("b+tree-508", b_tree::reference),
    workload!("lavaMD-100", lavamd::half_used),
    workload!("nw-32", nw::reference),
    workload!("srad-tiles", srad::reference),
    workload!("heartwall-512", heartwall::reference),
    workload!("backprop-wide", backprop::forward_sums),
    workload!("dct8x8-8320", dct8x8::in_single_precision),
    workload!("dct8x8-direct", dct8x8::spectrum_alone),
    workload!("fdtd3d-128", fdtd3d::reference),
];

/// Workloads in front of those that stand for programs of single papers.
const COMMON: usize = 25;

/// Workloads in front of the variants.
const PROGRAMS: usize = 44;

/// The workloads of figures that name none; those behind them belong to the sets of the papers that measured them, so that
/// a program that comes later moves no other paper's numbers.
pub fn common() -> &'static [Workload] {
    &WORKLOADS[..COMMON]
}

/// A workload each for a program, in the order of the documentation.
pub fn list() -> &'static [Workload] {
    &WORKLOADS[..PROGRAMS]
}

/// Programs of the list, or parts of them, once more, with the threads and the scratchpad of a block that one paper has.
pub fn variants() -> &'static [Workload] {
    &WORKLOADS[PROGRAMS..]
}

/// Both.
pub fn all() -> &'static [Workload] {
    &WORKLOADS
}

/// The workload of that name.
///
/// ```
/// use warpfile_kernels::workloads;
///
/// let mut hotspot = workloads::by_name("hotspot")?.open("tiny")?;
/// hotspot.run_to_end()?;
/// hotspot.check_results()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An unknown name is an error that lists the near ones.
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

impl Workload {
    /// Path of the launch file in the repository, as messages name it.
    pub fn launch_path(&self) -> PathBuf {
        Path::new("kernels/workloads").join(self.name).join("launch.toml")
    }

    /// Path of the PTX file in the repository, as messages name it.
    pub fn ptx_path(&self) -> PathBuf {
        self.launch_path().with_file_name(format!("{}.ptx", self.name))
    }

    /// Its PTX with addresses of so many bits, and the path of that in the repository.
    pub fn ptx_of(&self, addresses: AddressBits) -> (PathBuf, &'static str) {
        match addresses {
            AddressBits::Bits32 => (self.ptx_path().with_extension("m32.ptx"), self.ptx_32),
            AddressBits::Bits64 => (self.ptx_path(), self.ptx),
        }
    }

    /// The launch file, parsed.
    pub fn launch_file(&self) -> Result<LaunchFile, LaunchError> {
        LaunchFile::parse(&self.launch_path(), self.launch_file)
    }

    /// Opens it at a size: memory filled, ready to hand out its launches.
    pub fn open(&'static self, size: &str) -> Result<OpenWorkload, OpenError> {
        self.open_with(size, AddressBits::Bits64)
    }

    /// The same with addresses of so many bits.
    pub fn open_with(&'static self, size: &str, addresses: AddressBits) -> Result<OpenWorkload, OpenError> {
        OpenWorkload::built_in(self, size, addresses)
    }

    /// Compares all result buffers in `memory` with the reference, after the last launch of `sequence`.
    pub fn check(&self, sequence: &Sequence, memory: &dyn HostMemory) -> Result<CheckReport, CheckError> {
        let expected = (self.reference)(&Inputs::of(sequence)?);
        check_results(sequence, memory, &expected.0)
    }
}
