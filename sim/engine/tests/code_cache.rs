//! Circuits whose code comes from a cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use warpfile_engine::{CodeCache, Options};
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_random::{Beside, random_cycles};

fn circuit(name: &str) -> Netlist {
    let entry = library().into_iter().find(|entry| entry.name == name).expect("a circuit of the library");
    entry.elaborate_with(&entry.odd[0]).expect("sound parameters")
}

/// Runs both engines beside each other, the compiled one with the cache.
fn equal_with(cache: &Arc<CodeCache>, netlist: &Netlist) {
    let in_parts = Options { smallest_part: Some(8), ..Options::default() };
    for options in [Options::checked(), Options::default(), in_parts] {
        let options = Options { code_cache: Some(cache.clone()), ..options };
        let mut engines = Beside::new(netlist, &options).expect("a sound netlist");
        for cycle in random_cycles(netlist, 1, 40) {
            engines.apply(&cycle);
            engines.step();
            engines.compare().expect("equal engines");
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

fn long_ago() -> SystemTime {
    SystemTime::now() - Duration::from_secs(86_400)
}

#[test]
fn every_circuit_runs_with_code_from_the_cache() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = Arc::new(CodeCache::open(folder.path(), u64::MAX).expect("a cache"));
    let netlists: Vec<Netlist> = library()
        .iter()
        .filter_map(|entry| entry.odd.first().map(|odd| entry.elaborate_with(odd).expect("sound parameters")))
        .collect();
    netlists.iter().for_each(|netlist| equal_with(&cache, netlist));

    let kept = files(folder.path());
    assert!(kept.len() > netlists.len(), "each is compiled twice at least");
    let content = |path: &PathBuf| fs::read(path).expect("readable");
    let before: Vec<_> = kept.iter().map(content).collect();
    for path in &kept {
        let file = File::options().append(true).open(path).expect("writable");
        file.set_modified(long_ago()).expect("a time");
    }
    netlists.iter().for_each(|netlist| equal_with(&cache, netlist));
    assert_eq!(files(folder.path()), kept, "nothing is compiled that was compiled before");
    assert!(kept.iter().map(content).eq(before));
    for path in &kept {
        let used = path.metadata().and_then(|data| data.modified()).expect("a time");
        assert!(used > long_ago() + Duration::from_secs(3600), "not looked for: {}", path.display());
    }
}

#[test]
fn a_file_with_something_else_in_it_is_made_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = Arc::new(CodeCache::open(folder.path(), u64::MAX).expect("a cache"));
    let netlist = circuit("fifo");
    equal_with(&cache, &netlist);
    let kept = files(folder.path());
    let whole: Vec<_> = kept.iter().map(|path| fs::read(path).expect("readable")).collect();
    for (path, whole) in kept.iter().zip(&whole) {
        fs::write(path, &whole[..whole.len() / 2]).expect("writable");
    }
    equal_with(&cache, &netlist);
    assert!(kept.iter().map(|path| fs::read(path).expect("readable")).eq(whole));
}

#[test]
fn other_options_have_other_code() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = Arc::new(CodeCache::open(folder.path(), u64::MAX).expect("a cache"));
    let netlist = circuit("fifo");
    equal_with(&cache, &netlist);
    let before = files(folder.path()).len();
    let options = Options { code_cache: Some(cache), count_toggles: true, ..Options::default() };
    Beside::new(&netlist, &options).expect("a sound netlist");
    assert_eq!(files(folder.path()).len(), before + 1);
}
