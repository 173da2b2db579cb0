//! Files that appear under their name only once they are complete, and are removed if that never comes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tempfile::TempPath;

/// What the name of everything unfinished starts with; the number of the process follows.
const PREFIX: &str = ".warpfile-";
/// Links that a name may lead through.
const MAX_LINKS: usize = 40;
/// Age from which what a process has left is removed, once the process is gone.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// A file that is being written, under a name of its own until [`OutputFile::publish`]; removed if that never comes. A link
/// is followed, and what is no regular file (a device, a FIFO) is written to as it is.
pub struct OutputFile {
    file: BufWriter<File>,
    /// `None` for what is no regular file.
    partial: Option<Partial>,
}

/// A regular file under its own name, and the one it will have.
struct Partial {
    temporary: TempPath,
    target: PathBuf,
    _unfinished: Unfinished,
}

impl OutputFile {
    /// Starts a file that will be called `path`.
    ///
    /// # Errors
    /// It cannot be created; or it is there and cannot be written.
    pub fn create(path: &Path) -> io::Result<OutputFile> {
        match OpenOptions::new().append(true).open(path) {
            Ok(file) if !file.metadata()?.is_file() => {
                Ok(OutputFile { file: BufWriter::new(file), partial: None })
            }
            Ok(file) => {
                let output = OutputFile::partial(fs::canonicalize(path)?)?;
                output.file.get_ref().set_permissions(file.metadata()?.permissions())?;
                Ok(output)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => OutputFile::partial(target_of(path)?),
            Err(error) => Err(error),
        }
    }

    /// Starts a regular file that will be called `target`.
    fn partial(target: PathBuf) -> io::Result<OutputFile> {
        let folder = folder_of(&target);
        sweep(folder);
        let prefix = unfinished_prefix();
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        // As for files made in the ordinary way; the user's mask still applies.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let ((file, temporary), _unfinished) = Unfinished::file(|| {
            // Its name for the file is of no use to anyone.
            let file = builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
            let path = file.path().to_path_buf();
            Ok::<_, io::Error>((file.into_parts(), path))
        })?;
        Ok(OutputFile {
            file: BufWriter::new(file),
            partial: Some(Partial { temporary, target, _unfinished }),
        })
    }

    /// Where the content goes, past what [`Write`] keeps until [`OutputFile::publish`].
    pub fn file(&mut self) -> &mut File {
        self.file.get_mut()
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// The rest of it cannot be written, or it cannot be renamed.
    pub fn publish(mut self) -> io::Result<()> {
        self.file.flush()?;
        match self.partial {
            Some(Partial { temporary, target, _unfinished }) => {
                temporary.persist(&target).map_err(|error| error.error)
            }
            None => Ok(()),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What a name without a file leads to: itself, or where its links end.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_no_link) => return Ok(target),
        }
    }
    Err(io::Error::other(format!("more than {MAX_LINKS} links")))
}

/// The folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

/// What the names of this process's unfinished files and folders start with.
pub fn unfinished_prefix() -> String {
    format!("{PREFIX}{}-", process::id())
}

/// How something unfinished is removed.
#[derive(Clone, Copy)]
enum Removal {
    File,
    Folder,
    EmptyFolder,
}

/// What this process has not finished, by path.
static UNFINISHED: Mutex<BTreeMap<PathBuf, Removal>> = Mutex::new(BTreeMap::new());

/// A file or folder that [`remove_unfinished`] removes as long as this lives.
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Of a file that `make` makes and names. No signal is heard between the two.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn file<T, E>(make: impl FnOnce() -> Result<(T, PathBuf), E>) -> Result<(T, Unfinished), E> {
        Unfinished::new(Removal::File, make)
    }

    /// Of a folder with all that is in it, in the same way.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn folder<T, E>(make: impl FnOnce() -> Result<(T, PathBuf), E>) -> Result<(T, Unfinished), E> {
        Unfinished::new(Removal::Folder, make)
    }

    /// Of a folder, unless someone else has put something there, in the same way.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn empty_folder<T, E>(make: impl FnOnce() -> Result<(T, PathBuf), E>) -> Result<(T, Unfinished), E> {
        Unfinished::new(Removal::EmptyFolder, make)
    }

    fn new<T, E>(
        removal: Removal,
        make: impl FnOnce() -> Result<(T, PathBuf), E>,
    ) -> Result<(T, Unfinished), E> {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let (made, path) = make()?;
        // The current folder does not change, but what is done at a signal should not lean on that.
        let path = std::path::absolute(&path).unwrap_or(path);
        unfinished.insert(path.clone(), removal);
        Ok((made, Unfinished(path)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Removes all that is unfinished and then ends the process with `end`: meanwhile nothing else is begun or finished.
pub fn remove_unfinished(end: impl FnOnce()) {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    // What is inside a folder comes after the folder.
    for (path, removal) in unfinished.iter().rev() {
        // Nothing more can be done about what cannot be removed.
        match removal {
            Removal::File => fs::remove_file(path).ok(),
            Removal::Folder => fs::remove_dir_all(path).ok(),
            Removal::EmptyFolder => fs::remove_dir(path).ok(),
        };
    }
    end();
}

/// Removes what processes that are long gone have left unfinished in a folder.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_left = process_of(&entry.file_name()).is_some_and(|process| !may_run(process));
        let is_old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|then| SystemTime::now().duration_since(then).is_ok_and(|age| age > OLD))
        };
        if is_left && is_old() {
            let path = entry.path();
            // It may be another user's.
            if path.is_dir() {
                fs::remove_dir_all(path).ok()
            } else {
                fs::remove_file(path).ok()
            };
        }
    }
}

/// The process that has given something this name, if it is one of ours.
fn process_of(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Whether a process may still be there: on systems without `/proc` any may.
fn may_run(process: u32) -> bool {
    !Path::new("/proc/self").exists() || Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_that_is_gone_has_left_is_swept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let gone = (1..u32::MAX).rev().find(|&process| !may_run(process)).unwrap();
        let ours = process::id();
        let names = [
            format!("{PREFIX}{gone}-a.partial"),
            format!("{PREFIX}{gone}-young.partial"),
            format!("{PREFIX}{ours}-b.partial"),
            format!("{PREFIX}x-c.partial"),
            "t.wft.partial".to_owned(),
        ];
        let long_ago = SystemTime::now() - 2 * OLD;
        for name in &names {
            let file = File::create(folder.path().join(name)).unwrap();
            if !name.contains("young") {
                file.set_modified(long_ago).unwrap();
            }
        }
        OutputFile::create(&folder.path().join("t.wft")).unwrap().publish().unwrap();
        let is_there = |name: &String| folder.path().join(name).exists();
        assert_eq!(names.each_ref().map(is_there), [false, true, true, true, true]);
    }
}
