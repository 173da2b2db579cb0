//! One folder for all temporary files, so that one removal leaves none behind.

use std::{env, io};

use tempfile::{Builder, TempDir};
use warpfile_kernels::trace::output::{Unfinished, sweep, unfinished_prefix};

/// The folder while it is there.
pub struct Scratch {
    _folder: TempDir,
    _unfinished: Unfinished,
}

/// Makes the folder and has temporary files go there. `None` if there can be none, which is for those to report that need
/// one.
pub fn create() -> Option<Scratch> {
    let outer = env::temp_dir();
    sweep(&outer);
    let prefix = unfinished_prefix();
    let (folder, unfinished) = Unfinished::folder(|| {
        let folder = Builder::new().prefix(&prefix).tempdir_in(outer)?;
        let path = folder.path().to_path_buf();
        Ok::<_, io::Error>((folder, path))
    })
    .ok()?;
    // Only the first folder is taken, and there is one a process.
    tempfile::env::override_temp_dir(folder.path()).ok()?;
    Some(Scratch { _folder: folder, _unfinished: unfinished })
}
