//! Files in and out. An output appears under its name only once it is complete.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::TempDir;
use warpfile_kernels::trace::output::{OutputFile, Unfinished, folder_of, sweep, unfinished_prefix};

/// Reads a text file of at most `most` bytes.
pub fn read_text(path: &Path, most: u64) -> anyhow::Result<String> {
    let mut text = String::new();
    // What says that it is empty may be endless, as /dev/zero.
    let bytes = File::open(path).and_then(|file| file.take(most + 1).read_to_string(&mut text));
    let bytes = bytes.with_context(|| format!("{}: cannot be read", path.display()))?;
    if bytes as u64 > most {
        bail!("{}: longer than the {most} bytes that are accepted", path.display());
    }
    Ok(text)
}

/// A file that is being written, under another name until [`Output::publish`]; removed if that never comes.
pub struct Output {
    path: PathBuf,
    file: OutputFile,
}

impl Output {
    /// Starts a file that will be called `path`.
    pub fn create(path: &Path) -> anyhow::Result<Output> {
        check_output(path)?;
        let context = || format!("cannot write {}", path.display());
        let file = OutputFile::create(path).with_context(context)?;
        Ok(Output { path: path.to_path_buf(), file })
    }

    /// What it will be called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the content goes.
    pub fn file(&mut self) -> &mut File {
        self.file.file()
    }

    /// Writes the whole content.
    pub fn write(&mut self, text: &str) -> anyhow::Result<()> {
        let context = format!("cannot write {}", self.path.display());
        self.file().write_all(text.as_bytes()).with_context(|| context)
    }

    /// Gives the complete file its name once it would outlast a power failure, and waits until the name does, too.
    pub fn publish_durably(mut self) -> anyhow::Result<()> {
        let path = self.path.clone();
        let context = || format!("cannot write {}", path.display());
        self.file().sync_all().with_context(context)?;
        self.publish()?;
        File::open(folder_of(&path)).and_then(|folder| folder.sync_all()).with_context(context)
    }

    /// Gives the complete file its name.
    pub fn publish(self) -> anyhow::Result<()> {
        let context = format!("cannot write {}", self.path.display());
        self.file.publish().with_context(|| context)
    }
}

/// Says why there cannot be a file of that name, if it is plain to see.
pub fn check_output(path: &Path) -> anyhow::Result<()> {
    let folder = folder_of(path);
    if path.is_dir() {
        bail!("cannot write {}: it is a folder; the name of a file is accepted", path.display());
    }
    if !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
    }
    Ok(())
}

/// A folder for results, made if missing; what was made is removed again unless it is kept.
pub struct OutputFolder {
    path: PathBuf,
    made: Vec<(PathBuf, Unfinished)>,
    kept: bool,
}

impl OutputFolder {
    /// Makes the folder if there is none.
    pub fn create(path: &Path) -> anyhow::Result<OutputFolder> {
        let missing = path.ancestors().take_while(|folder| *folder != Path::new("") && !folder.exists());
        let mut folder = OutputFolder { path: path.to_path_buf(), made: Vec::new(), kept: false };
        let missing: Vec<&Path> = missing.collect();
        for new in missing.into_iter().rev() {
            let made = Unfinished::empty_folder(|| fs::create_dir(new).map(|()| ((), new.to_path_buf())));
            let ((), unfinished) = made.with_context(|| format!("cannot create folder {}", new.display()))?;
            folder.made.push((new.to_path_buf(), unfinished));
        }
        if !path.is_dir() {
            bail!("{}: it is a file; a folder is accepted", path.display());
        }
        Ok(folder)
    }

    /// Starts a file in it.
    pub fn output(&self, name: &str) -> anyhow::Result<Output> {
        Output::create(&self.path.join(name))
    }

    /// Keeps the folder with these files, by name: all are complete before the first is there.
    pub fn publish<'t>(self, files: impl IntoIterator<Item = (&'t str, &'t str)>) -> anyhow::Result<()> {
        let mut complete = Vec::new();
        for (name, text) in files {
            let mut output = self.output(name)?;
            output.write(text)?;
            complete.push(output);
        }
        complete.into_iter().try_for_each(Output::publish)?;
        self.keep();
        Ok(())
    }

    /// The folder stays.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for (folder, _) in self.made.iter().rev() {
            // A folder in which someone else has put something stays.
            fs::remove_dir(folder).ok();
        }
    }
}

/// A folder whose files are written elsewhere first and moved to it once all are complete.
pub struct StagedFolder {
    /// Inside the folder, so that moving is renaming.
    staging: TempDir,
    _unfinished: Unfinished,
    /// After what is in it, so that it is empty when it is dropped.
    folder: OutputFolder,
}

impl StagedFolder {
    /// Makes the folder if there is none.
    pub fn create(path: &Path) -> anyhow::Result<StagedFolder> {
        let folder = OutputFolder::create(path)?;
        sweep(path);
        let prefix = unfinished_prefix();
        let made = Unfinished::folder(|| {
            let staging = tempfile::Builder::new().prefix(&prefix).tempdir_in(path);
            let staging = staging.map_err(|error| io::Error::from(error.kind()))?;
            let name = staging.path().to_path_buf();
            Ok::<_, io::Error>((staging, name))
        });
        let (staging, _unfinished) = made.with_context(|| format!("cannot write to {}", path.display()))?;
        Ok(StagedFolder { staging, _unfinished, folder })
    }

    /// Where the files are written.
    pub fn path(&self) -> &Path {
        self.staging.path()
    }

    /// Moves all files to the folder; `last` after the others, as the sign that they are complete.
    pub fn publish(self, last: &str) -> anyhow::Result<()> {
        let target = &self.folder.path;
        move_all(self.staging.path(), target, last)
            .with_context(|| format!("cannot write to {}", target.display()))?;
        self.folder.keep();
        Ok(())
    }
}

fn move_all(from: &Path, to: &Path, last: &str) -> io::Result<()> {
    let names = fs::read_dir(from)?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort_by_key(|name| (name == last, name.clone()));
    for name in names {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            fs::create_dir_all(&to)?;
            move_all(&from, &to, last)?;
        } else {
            fs::rename(from, to)?;
        }
    }
    Ok(())
}
