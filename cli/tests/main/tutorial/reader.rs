//! Does what the page asks for, in a folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use super::page::{Command, Step, is_as_expected};

/// Someone who works in a folder.
pub struct Reader {
    /// Commands are run and patches applied here.
    pub folder: PathBuf,
    /// The folder of the command `warpfile`.
    pub programs: PathBuf,
    /// What cargo makes, if not in `target` of the folder.
    pub target: Option<PathBuf>,
}

impl Reader {
    /// Does a step; `runs` chooses commands.
    pub fn does(&self, step: &Step, runs: impl Fn(&Command) -> bool) {
        match step {
            Step::Console(commands) => {
                commands.iter().filter(|command| runs(command)).for_each(|command| self.run(command));
            }
            Step::Patch { line, text } => self.apply(*line, text),
            Step::File { line, name, text } => {
                let path = self.folder.join(name);
                assert!(!path.exists(), "docs/tutorial.md:{line}: {name} is there already");
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(path, text).expect("written");
            }
        }
    }

    /// Runs a command, which has to print what the page says, and to succeed.
    fn run(&self, command: &Command) {
        let Command { line, text, prints } = command;
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = process::Command::new("bash");
        // As in a terminal, where both outputs are one.
        bash.arg("-c").arg(format!("exec 2>&1\n{text}")).current_dir(&self.folder).stdin(Stdio::null());
        bash.env("PATH", format!("{}:{path}", self.programs.display())).env("LC_ALL", "C");
        bash.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        // Never the repository that the folder may lie in.
        bash.env("GIT_CEILING_DIRECTORIES", self.folder.parent().unwrap_or(Path::new("/")));
        if let Some(target) = &self.target {
            bash.env("CARGO_TARGET_DIR", target);
        }
        let output = bash.output().expect("bash");
        let printed = String::from_utf8_lossy(&output.stdout);
        let found: Vec<String> = printed.lines().map(|line| line.trim_end().to_owned()).collect();
        assert!(output.status.success(), "docs/tutorial.md:{line}: {text}: {}\n{printed}", output.status);
        let expected = prints.join("\n");
        assert!(
            is_as_expected(prints, &found),
            "docs/tutorial.md:{line}: {text}\n-- the page:\n{expected}\n-- printed:\n{printed}"
        );
    }

    /// Applies a patch, which has to fit without a line of offset.
    fn apply(&self, line: usize, patch: &str) {
        let mut git = process::Command::new("git");
        git.args(["apply", "--verbose", "-"]).current_dir(&self.folder);
        // Not a part of the checkout that the folder may lie in.
        git.env("GIT_CEILING_DIRECTORIES", self.folder.parent().unwrap_or(Path::new("/")));
        let mut git = git.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("git");
        git.stdin.take().expect("a pipe").write_all(patch.as_bytes()).expect("written");
        let output = git.wait_with_output().expect("git");
        let says = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "docs/tutorial.md:{line}: the patch does not apply: {says}");
        assert!(
            !says.contains("offset"),
            "docs/tutorial.md:{line}: line numbers of the patch are off: {says}"
        );
    }
}

/// Copies a file of the checkout.
pub fn copy(root: &Path, name: &str, to: &Path) {
    let to = to.join(name);
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    fs::copy(root.join(name), to).unwrap_or_else(|error| panic!("{name}: {error}"));
}
