//! One test binary; its modules mirror `hdl/`.

mod bench;
mod cross_check;
mod library;
mod miniature;
mod parts;
mod random_netlist;
mod regfile;
mod rfc;
mod sm;
