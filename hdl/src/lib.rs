//! Circuits that hold a GPU's operands, and the construction core they are written in.
//!
//! `rtl` is the core; `parts` are small circuits used by the others; every other folder is one mechanism.

extern crate self as warpfile_hdl;

pub mod affine;
pub mod greener;
pub mod hybrid;
pub mod library;
pub mod parts;
pub mod regfile;
pub mod regless;
pub mod reuse;
pub mod rfc;
pub mod rfh;
pub mod rfv;
pub mod rtl;
pub mod sharing;
pub mod warp_level_divergence;
pub mod wir;

/// Folders of circuits, in the order of listings.
pub const FOLDERS: &[library::Folder] = &[
    parts::FOLDER,
    regfile::FOLDER,
    rfc::FOLDER,
    rfv::FOLDER,
    rfh::FOLDER,
    regless::FOLDER,
    greener::FOLDER,
    hybrid::FOLDER,
    warp_level_divergence::FOLDER,
    sharing::FOLDER,
    wir::FOLDER,
    affine::FOLDER,
    reuse::FOLDER,
];
