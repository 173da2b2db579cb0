//! Runs the built command in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder in which commands are run; paths in messages are relative to it.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// With `name.ptx` and `name.toml` of a workload in it.
    pub fn with_workload(name: &str) -> Place {
        let place = Place::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/workloads").join(name);
        let copy = |from: &str, to: &str| fs::copy(source.join(from), place.path(to)).expect("copied");
        copy(&format!("{name}.ptx"), &format!("{name}.ptx"));
        copy("launch.toml", &format!("{name}.toml"));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json_of(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A copy of a text file with one text replaced by another.
    pub fn rewrite(&self, from: &str, to: &str, old: &str, new: &str) {
        let text = self.read(from);
        assert!(text.contains(old), "{from} does not contain {old:?}");
        self.write(to, text.replacen(old, new, 1));
    }

    /// All files and folders, relative, sorted.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("readable") {
                let path = entry.expect("readable").path();
                let name = path.strip_prefix(self.folder.path()).expect("inside");
                found.push(name.display().to_string());
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// All files with what is in them, and all folders, which have nothing.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let content = |name: &String| if self.path(name).is_dir() { Vec::new() } else { self.bytes(name) };
        self.files().into_iter().map(|name| (name.clone(), content(&name))).collect()
    }

    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpfile"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path()).stdin(Stdio::null());
        // Not the user's, and the same for all tests.
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().expect("started")
    }

    /// Standard output of a command that succeeds without a word on standard error.
    pub fn succeeds(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stderr.is_empty(), "warpfile {arguments}: {stderr}");
        String::from_utf8(output.stdout).expect("text")
    }

    pub fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.succeeds(arguments)).expect("one JSON document")
    }

    /// What is said about bad input, with the command above it: exit code 2, nothing printed, no file made, changed
    /// or removed.
    pub fn refused(&self, arguments: &str) -> String {
        let before = self.files();
        let output = self.run(arguments);
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "warpfile {arguments}: {stderr}");
        assert!(output.stdout.is_empty(), "warpfile {arguments} prints something");
        assert_eq!(self.files(), before, "warpfile {arguments} changes the folder");
        format!("$ warpfile {arguments}\n{stderr}\n")
    }

    /// The same of several commands, one after the other.
    pub fn all_refused(&self, commands: &[&str]) -> String {
        commands.iter().map(|command| self.refused(command)).collect()
    }
}
