//! `docs/tutorial.md` is done as a reader does it, and prints what it says. `scripts/tutorial` does all of it; the part that
//! changes no source is an ordinary test.

mod page;
mod reader;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use page::{Command, Step, is_as_expected, steps};
use reader::{Reader, copy};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the checkout")
}

fn tutorial() -> Vec<Step> {
    steps(&fs::read_to_string(root().join("docs/tutorial.md")).expect("the page"))
}

/// Whether a command is about the checkout, which a reader of the first part does not change.
fn is_about_sources(command: &Command) -> bool {
    ["cargo ", "git "].iter().any(|program| command.text.starts_with(program))
}

/// The files that a patch changes.
fn changed_files(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| line.strip_prefix("--- a/"))
}

#[test]
fn what_needs_no_compiler_prints_what_the_page_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let programs = Path::new(env!("CARGO_BIN_EXE_warpfile")).parent().expect("a folder").to_path_buf();
    let reader = Reader { folder: folder.path().to_path_buf(), programs, target: None };
    let steps = tutorial();
    let of_first_part = steps.iter().take_while(|step| matches!(step, Step::Console(_)));
    let mut commands = 0;
    for step in of_first_part {
        reader.does(step, |command| !is_about_sources(command));
        commands += 1;
    }
    assert!(commands > 3, "{commands} blocks of commands before the first change of a source");
}

#[test]
fn patches_apply_one_after_the_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let reader = Reader { folder: folder.path().to_path_buf(), programs: PathBuf::new(), target: None };
    let steps = tutorial();
    let patches = steps.iter().filter_map(|step| match step {
        Step::Patch { text, .. } => Some(text),
        Step::Console(_) | Step::File { .. } => None,
    });
    let new: BTreeSet<&str> = steps
        .iter()
        .filter_map(|step| match step {
            Step::File { name, .. } => Some(name.as_str()),
            Step::Console(_) | Step::Patch { .. } => None,
        })
        .collect();
    let changed: BTreeSet<&str> =
        patches.flat_map(|patch| changed_files(patch)).filter(|name| !new.contains(name)).collect();
    assert!(changed.len() > 1, "{changed:?}");
    for name in changed {
        copy(&root(), name, folder.path());
    }
    for step in &steps {
        reader.does(step, |_| false);
    }
}

/// Compiles the workspace several times: `scripts/tutorial`.
#[test]
#[ignore = "minutes: scripts/tutorial"]
fn all_of_it_prints_what_the_page_says() {
    let target =
        PathBuf::from(std::env::var("TUTORIAL_TARGET").expect("the folder that scripts/tutorial names"));
    let checkout = target.join("checkout");
    clone_as_it_is(&checkout);
    let reader = Reader { folder: checkout, programs: target.join("debug"), target: Some(target) };
    for step in tutorial() {
        if let Step::Console(commands) = &step {
            commands.iter().for_each(|command| eprintln!("$ {}", command.text));
        }
        reader.does(&step, |_| true);
    }
}

/// Makes a repository of the checkout's files as they are now, whatever is committed.
fn clone_as_it_is(to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).expect("removed");
    }
    for name in git(&root(), &["ls-files", "--cached", "--others", "--exclude-standard"]).lines() {
        if root().join(name).exists() {
            copy(&root(), name, to);
        }
    }
    git(to, &["init", "--quiet"]);
    git(to, &["add", "--all"]);
    let author =
        ["-c", "user.name=reader", "-c", "user.email=reader@example.org", "-c", "commit.gpgsign=false"];
    git(to, &[&author[..], &["commit", "--quiet", "--message", "the checkout"]].concat());
}

/// What git prints of a folder, which has to be the top of a repository, or to become that.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = process::Command::new("git");
    git.args(arguments).current_dir(folder);
    git.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(Path::new("/")));
    let output = git.output().expect("git");
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?} in {}: {says}", folder.display());
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_page_is_read_as_its_reader_does() {
    let page = "\
text
```console
$ one \\
>     --more
first
...
$ two
```
```toml
not = \"done\"
```
```diff
--- a/old
+++ b/old
```
```rust file=new.rs
fn new() {}
```
";
    let command = |line, text: &str, prints: &[&str]| Command {
        line,
        text: text.to_owned(),
        prints: prints.iter().map(|&line| line.to_owned()).collect(),
    };
    assert_eq!(
        steps(page),
        [
            Step::Console(vec![command(3, "one \\\n    --more", &["first", "..."]), command(7, "two", &[])]),
            Step::Patch { line: 12, text: "--- a/old\n+++ b/old\n".to_owned() },
            Step::File { line: 16, name: "new.rs".to_owned(), text: "fn new() {}\n".to_owned() },
        ]
    );
    assert_eq!(changed_files("--- a/old\n+++ b/old\n").collect::<Vec<_>>(), ["old"]);
}

#[test]
fn dots_stand_for_anything_and_nothing_else_does() {
    let is = |expected: &str, found: &str| {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        is_as_expected(&lines(expected), &lines(found))
    };
    assert!(is("a\n...\nd", "a\nb\nc\nd") && is("...\nd", "d") && is("a ... d", "a b c d"));
    assert!(is("...b...b", "b b") && is("", "") && is("x...", "x"));
    assert!(!is("a\nd", "a\nb\nd") && !is("a", "a\nb") && !is("a\nb", "a"));
    assert!(!is("a ... d", "a b c") && !is("a", "ab") && !is("ab...b", "ab"));
}
