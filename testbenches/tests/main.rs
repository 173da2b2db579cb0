//! One test binary; its modules mirror `hdl/`.

mod affine;
mod bench;
mod compiled;
mod cross_check;
mod greener;
mod hybrid;
mod library;
mod miniature;
mod mutation;
mod parts;
mod random;
mod recorded;
mod regfile;
mod regless;
mod reuse;
mod rfc;
mod rfh;
mod rfv;
mod sharing;
mod sm;
mod warp_level_divergence;
mod wir;
