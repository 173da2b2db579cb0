//! One test binary; its modules mirror `hdl/`.

mod miniature;
mod parts;
