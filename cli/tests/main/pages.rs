//! Pages link to what is there, and the list of decisions has them all.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages of a folder and of those below.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages.extend(self::pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages
}

/// The files that a page links to, without places within them.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' '))
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    let mut broken = Vec::new();
    let tops = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    for page in pages(&root().join("docs")).into_iter().chain(tops) {
        let text = fs::read_to_string(&page).expect("a page");
        let folder = page.parent().expect("a folder");
        let missing = links(&text).filter(|target| !folder.join(target).exists());
        broken.extend(missing.map(|target| format!("{}: {target}", page.display())));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_list_of_decisions_has_each_once() {
    let list = fs::read_to_string(root().join("docs/README.md")).expect("a page");
    let listed = links(&list).filter_map(|target| target.strip_prefix("decisions/"));
    let listed: Vec<&str> = listed.filter(|name| !name.is_empty()).collect();
    let names = pages(&root().join("docs/decisions")).into_iter();
    let there: BTreeSet<String> =
        names.map(|page| page.file_name().expect("a file").to_string_lossy().into_owned()).collect();
    assert_eq!(listed.len(), there.len());
    assert_eq!(listed.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), there);
    let numbers: BTreeSet<&str> = there.iter().map(|name| &name[..4]).collect();
    assert_eq!(numbers.len(), there.len(), "two decisions have one number");
}
