//! Tests of the construction core and of the library.

mod library;
