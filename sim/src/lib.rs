//! The streaming multiprocessor around the circuits.
//!
//! [`config`] holds every parameter of a run, [`sm`] runs kernels through a design and checks every operand,
//! [`mechanisms`] are what designs are made of, [`mod@counters`] is what they count with, [`energy`] turns the activity of a
//! run into energy.
//!
//! ```
//! use warpfile_kernels::workloads;
//! use warpfile_sim::config::{apply_overrides, preset};
//! use warpfile_sim::sm::{RunOptions, run};
//!
//! let mut config = preset("gebhart2011")?.with_design("rfc")?;
//! apply_overrides(&mut config, &[("rfc.entries", "4"), ("rfc.replacement", "lru")])?;
//! let mut kernel = workloads::by_name("vectoradd")?.open("tiny")?;
//!
//! // A wrong operand is an error of the run, a wrong result one of the kernel.
//! let report = run(&config, &mut kernel, RunOptions::default())?;
//! kernel.check_results()?;
//! assert!(report.mrf().reads < report.operands.reads, "the cache is in front");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod config;
pub mod counters;
pub mod energy;
pub mod mechanisms;
pub mod sm;
