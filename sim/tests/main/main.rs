//! The SM harness against hand-written instruction streams and stand-ins for the circuits.
//!
//! The stand-ins make timing exact and visible: a difference of two runs is a latency.

mod affine;
mod allocations;
mod branches_and_barriers;
mod capacities;
mod circuits;
mod configurations;
mod every_sm;
mod greener;
mod interposers;
mod kernels;
mod latency;
mod lines;
mod mechanisms;
mod memory;
mod oracle;
mod pipeline_log;
mod random_programs;
mod regless;
mod residency;
mod reuse;
mod rfh;
mod rfv;
mod schedulers;
mod sharing;
mod slots;
mod stand_ins;
mod suspension;
mod timeline;
mod tiny;
mod toy;
mod warp_level_divergence;
mod wir;
mod working_set;
mod workloads;
