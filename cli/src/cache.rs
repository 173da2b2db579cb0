//! What is kept between runs, in the user's folder for caches.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use warpfile_engine::CodeCache;

/// Most bytes of compiled circuits that are kept. One takes up to a few megabytes.
const MOST_CODE: u64 = 256 << 20;

/// The folder for what this program keeps, if the user has one for caches: `$XDG_CACHE_HOME/warpfile`, else
/// `~/.cache/warpfile`.
pub fn folder() -> Option<PathBuf> {
    // A relative one is to be ignored (XDG Base Directory Specification).
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = named.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(folder.join("warpfile"))
}

/// Compiled circuits of earlier runs; `None` if there is no place for them.
pub fn code() -> Option<Arc<CodeCache>> {
    static CODE: OnceLock<Option<Arc<CodeCache>>> = OnceLock::new();
    let open = || CodeCache::open(&folder()?.join("code"), MOST_CODE).ok().map(Arc::new);
    CODE.get_or_init(open).clone()
}
