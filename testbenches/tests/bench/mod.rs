//! The circuits that are raced.

mod list;
mod native;
