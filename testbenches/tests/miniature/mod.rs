//! The circuits that ask most of the construction core, in small.

mod operand_staging_bank;
mod reference_counters;
