//! Register file cache and two-level scheduler.

mod two_level_scheduler;
mod two_level_scheduler_ref;
