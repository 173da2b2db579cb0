//! Launch files: entry, grid, block, arguments, buffers.
