//! One test binary; its modules mirror `hdl/`.
