//! The `warpfile` command.

fn main() {}
