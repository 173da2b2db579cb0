//! PTX front end: text to the typed form of [`ir`].

pub mod ir;
