//! How generated files reach the disk.

use std::fs;

use warpfile_gen::{emit, write};
use warpfile_hdl::rtl::netlist::Op;

use crate::builder::Builder;

fn files() -> warpfile_gen::Files {
    let mut b = Builder::new("invert", "Complement.");
    let a = b.input("a_i", 3);
    let inverted = b.node(Op::Not(a), 3);
    b.output("a_n_o", inverted);
    emit(&b.netlist())
}

#[test]
fn all_files_are_written_and_no_temporary_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new");
    let written = write(&files(), &target).unwrap();
    let mut found: Vec<_> = fs::read_dir(&target).unwrap().map(|e| e.unwrap().path()).collect();
    let mut written_sorted = written;
    found.sort();
    written_sorted.sort();
    assert_eq!(found, written_sorted);
    assert_eq!(fs::read_to_string(target.join("invert.f")).unwrap(), "invert.v\n");
}

#[test]
fn an_error_names_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("taken");
    fs::write(&file, "").unwrap();
    let error = write(&files(), &file).unwrap_err().to_string();
    assert!(error.contains(&file.display().to_string()), "{error}");
}
