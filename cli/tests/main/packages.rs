//! What makes packages of the crates: nothing that users need is missing from them, and nothing is said twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Standard output of cargo in the workspace, which asks no registry.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).args(["--offline"]).current_dir(root()).output();
    let output = output.expect("started");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn packages() -> Vec<Value> {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    match document["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("no list of packages: {other}"),
    }
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("a name")
}

/// `publish = false` is an empty list of registries.
fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

#[test]
fn every_published_crate_says_what_a_registry_shows() {
    let packages = packages();
    let mut descriptions = BTreeSet::new();
    for package in packages.iter().filter(|package| is_published(package)) {
        for key in ["description", "license", "repository", "readme", "rust_version"] {
            assert!(package[key].is_string(), "{}: no {key}", name(package));
        }
        // A registry's limits: five keywords of twenty letters, five categories.
        for key in ["keywords", "categories"] {
            let words = package[key].as_array().map_or(0, Vec::len);
            assert!((1..=5).contains(&words), "{}: {words} {key}", name(package));
        }
        assert!(
            descriptions.insert(package["description"].as_str()),
            "{}: its description is another's",
            name(package)
        );
        let folder =
            Path::new(package["manifest_path"].as_str().expect("a path")).parent().expect("a folder");
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text =
                fs::read(folder.join(license)).unwrap_or_else(|error| panic!("{}: {error}", name(package)));
            assert!(
                text == fs::read(root().join(license)).expect("readable"),
                "{}: {license}",
                name(package)
            );
        }
    }
}

/// What has a version stays in a package and has to be there; what has none is left out of it, which only tests can bear.
#[test]
fn a_published_crate_depends_on_published_ones() {
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(name).collect();
    let published: BTreeSet<&str> =
        packages.iter().filter(|package| is_published(package)).map(name).collect();
    assert!(published.contains("warpfile"), "{published:?}");
    for package in packages.iter().filter(|package| is_published(package)) {
        for dependency in package["dependencies"].as_array().expect("a list") {
            let other = name(dependency);
            let stays = dependency["kind"] != "dev" || dependency["req"] != "*";
            if ours.contains(other) && stays {
                assert!(published.contains(other), "{} needs {other}", name(package));
                let own = &package["version"].as_str().expect("a version");
                assert_eq!(dependency["req"], format!("^{own}"), "{} needs {other}", name(package));
            }
        }
    }
}

/// Lists of files with `include` forget what is added elsewhere: what sources embed is in the package of its crate.
#[test]
fn packages_have_what_their_sources_embed() {
    for (package, folder, embedded) in [
        ("warpfile-kernels", "kernels", "workloads"),
        ("warpfile-sim", "sim", "presets"),
        ("warpfile-sim", "sim", "technologies"),
        ("warpfile-synthesis", "synthesis", "src"),
        ("warpfile", "cli", "build.rs"),
    ] {
        let listed = cargo(&["package", "--list", "--allow-dirty", "--package", package]);
        let listed: BTreeSet<&str> = listed.lines().collect();
        let files = files(&root().join(folder), Path::new(embedded));
        assert!(!files.is_empty(), "{package}: {embedded}");
        for file in files {
            assert!(listed.contains(file.as_str()), "{package}: {file} is not in the package");
        }
        assert!(!listed.iter().any(|file| file.starts_with("tests/")), "{package} carries its tests");
    }
}

/// The commit in results says what differs from it only in what the build script looks at.
#[test]
fn the_command_names_changes_of_every_crate_that_it_is_made_of() {
    let packages = packages();
    let script = fs::read_to_string(root().join("cli/build.rs")).expect("readable");
    let (mut made_of, mut to_do) = (BTreeSet::new(), vec!["warpfile"]);
    while let Some(crate_name) = to_do.pop() {
        let Some(package) = packages.iter().find(|package| name(package) == crate_name) else { continue };
        if made_of.insert(crate_name) {
            let dependencies = package["dependencies"].as_array().expect("a list").iter();
            to_do.extend(dependencies.filter(|dependency| dependency["kind"] != "dev").map(name));
            let manifest = package["manifest_path"].as_str().expect("a path");
            let folder = Path::new(manifest).parent().expect("a folder");
            let root = root().canonicalize().expect("there");
            let sources = folder.strip_prefix(root).expect("within").join("src").display().to_string();
            assert!(
                script.contains(&format!("\"{sources}\"")),
                "cli/build.rs: {sources} is not among its sources"
            );
        }
    }
    assert!(made_of.len() > 5, "{made_of:?}");
}

/// All files at or below a path, relative to `folder`.
fn files(folder: &Path, path: &Path) -> Vec<String> {
    let whole = folder.join(path);
    if !whole.is_dir() {
        return vec![path.display().to_string()];
    }
    let entries = fs::read_dir(whole).expect("readable").map(|entry| entry.expect("readable").file_name());
    entries.flat_map(|entry| files(folder, &path.join(entry))).collect()
}

/// The version is written in the workspace and in what is not TOML of cargo's.
#[test]
fn the_citation_has_the_version_of_the_crates() {
    let text = fs::read_to_string(root().join("CITATION.cff")).expect("readable");
    assert!(text.contains(&format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"))), "{text}");
}
