//! Compiled code that is kept between runs, in a folder.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::hash::Hasher as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cranelift_codegen::incremental_cache::CacheKvStore;
use twox_hash::XxHash64;

/// A folder with the code of functions: a file for each, named by a hash of what it was compiled from, of the compiler's
/// version and of the processor. A function is the code of a whole circuit, so what is found is of the same netlist, but for where
/// members of equal code have their words, the same options and the same version of the engine.
///
/// Whatever goes wrong with a file, the function is compiled: one that does not hold what was written is removed, and
/// what cannot be written is not kept. A file appears whole or not at all, so several processes may share a folder. What is in it
/// is executed: it should be writable by its owner alone, as it is when it is made here.
#[derive(Debug)]
pub struct CodeCache {
    folder: PathBuf,
    /// Most bytes of all files.
    limit: u64,
}

/// How names of files end.
const SUFFIX: &str = ".code";
/// How names of files begin that are not whole yet.
const UNFINISHED: &str = ".unfinished";
/// After this time nobody writes such a file any more.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Bytes of the hash in front of a file's content.
const HASH: usize = 8;

impl CodeCache {
    /// The cache in a folder, which is made if it is not there; its files have `limit` bytes at most.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path, limit: u64) -> io::Result<CodeCache> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        Ok(CodeCache { folder: folder.to_owned(), limit })
    }

    pub(crate) fn store(&self) -> Store<'_> {
        Store(self)
    }

    fn path(&self, key: &[u8]) -> PathBuf {
        let mut name = String::with_capacity(2 * key.len() + SUFFIX.len());
        for byte in key {
            write!(name, "{byte:02x}").expect("a string takes everything");
        }
        self.folder.join(name + SUFFIX)
    }

    /// The content of a file, if it is what was written.
    fn read(&self, key: &[u8]) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut content = fs::read(&path).ok()?;
        let whole = content.split_first_chunk::<HASH>();
        if whole.is_none_or(|(kept, code)| u64::from_le_bytes(*kept) != hash(code)) {
            let _ = fs::remove_file(&path);
            return None;
        }
        // What was used last is removed last.
        let _ =
            OpenOptions::new().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        content.drain(..HASH);
        Some(content)
    }

    fn write(&self, key: &[u8], code: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        file.write_all(&hash(code).to_le_bytes())?;
        file.write_all(code)?;
        file.persist(self.path(key))?;
        self.remove_oldest()
    }

    /// Removes files that were not used for the longest time until the others are within the limit, and what writers have
    /// left behind.
    fn remove_oldest(&self) -> io::Result<()> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let (name, data) = (entry.file_name(), entry.metadata()?);
            let name = name.to_string_lossy();
            let used = data.modified()?;
            if name.starts_with(UNFINISHED) && used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(entry.path());
            } else if name.ends_with(SUFFIX) {
                kept.push((used, entry.path(), data.len()));
            }
        }
        let mut bytes: u64 = kept.iter().map(|(_, _, bytes)| bytes).sum();
        kept.sort();
        for (_, path, of_file) in kept {
            if bytes <= self.limit {
                break;
            }
            let _ = fs::remove_file(path);
            bytes -= of_file;
        }
        Ok(())
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(content);
    hasher.finish()
}

/// A cache as the compiler takes it.
pub(crate) struct Store<'a>(&'a CodeCache);

impl CacheKvStore for Store<'_> {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.0.read(key).map(Cow::Owned)
    }

    fn insert(&mut self, key: &[u8], code: Vec<u8>) {
        // A run does not fail for what it would only have saved a later one.
        let _ = self.0.write(key, &code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    const KEY: [u8; 3] = [0, 0xab, 1];

    fn cache(limit: u64) -> (tempfile::TempDir, CodeCache) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = CodeCache::open(&folder.path().join("a/b"), limit).expect("a folder");
        (folder, cache)
    }

    fn files(cache: &CodeCache) -> Vec<PathBuf> {
        fs::read_dir(&cache.folder)
            .expect("it is there")
            .map(|entry| entry.expect("readable").path())
            .collect()
    }

    #[test]
    fn what_was_written_is_read_and_a_damaged_file_is_removed() {
        let (_folder, cache) = cache(1 << 20);
        assert_eq!(cache.read(&KEY), None);
        cache.write(&KEY, b"some code").expect("written");
        assert_eq!(cache.read(&KEY).as_deref(), Some(&b"some code"[..]));

        let whole = fs::read(cache.path(&KEY)).expect("it is there");
        for byte in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[byte] ^= 0x10;
            for content in [&damaged[..], &whole[..byte]] {
                fs::write(cache.path(&KEY), content).expect("writable");
                assert_eq!(cache.read(&KEY), None, "byte {byte}");
                assert!(files(&cache).is_empty());
            }
        }
    }

    #[test]
    fn what_was_used_last_stays_within_the_limit() {
        let of_each = 100;
        let (_folder, cache) = cache(3 * (of_each + HASH as u64));
        for number in 0..3 {
            cache.write(&[number], &vec![number; of_each as usize]).expect("written");
            let then = SystemTime::now() - Duration::from_secs(100 - u64::from(number));
            File::options().append(true).open(cache.path(&[number])).unwrap().set_modified(then).unwrap();
        }
        assert!(cache.read(&[0]).is_some());
        cache.write(&[3], &vec![3; of_each as usize]).expect("written");
        let there = (0..4).filter(|&number| cache.path(&[number]).exists());
        assert_eq!(there.collect::<Vec<_>>(), [0, 2, 3], "1 was not used for the longest time");
    }

    #[test]
    fn what_is_not_of_the_cache_stays_and_what_a_writer_left_behind_does_not() {
        let (_folder, cache) = cache(0);
        let [foreign, begun, left] =
            ["notes.txt", ".unfinished1", ".unfinished2"].map(|name| cache.folder.join(name));
        for path in [&foreign, &begun, &left] {
            fs::write(path, "something").expect("writable");
        }
        let long_ago = SystemTime::now() - 2 * ABANDONED;
        File::options().append(true).open(&left).unwrap().set_modified(long_ago).unwrap();
        cache.write(&KEY, b"code").expect("written");
        let mut there = files(&cache);
        there.sort();
        assert_eq!(there, [begun, foreign]);
    }

    #[test]
    fn several_writers_and_readers_find_whole_files_or_none() {
        let (_folder, cache) = cache(5000);
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for step in 0..200_u8 {
                        let number = (thread + step) % 8;
                        let code = vec![number; 1000];
                        let mut store = cache.store();
                        store.insert(&[number], code.clone());
                        let found = store.get(&[number]);
                        assert!(found.is_none_or(|found| *found == code));
                    }
                });
            }
        });
        let bytes: u64 = files(&cache).iter().map(|path| path.metadata().expect("readable").len()).sum();
        assert!(bytes <= 5000 + 4 * 1008, "{bytes}");
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_no_failure() {
        let (folder, cache) = cache(1 << 20);
        fs::remove_dir_all(folder.path()).expect("removable");
        let mut store = cache.store();
        store.insert(&KEY, b"code".to_vec());
        assert!(store.get(&KEY).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_write_to_the_folder() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, cache) = cache(0);
        let mode = fs::metadata(&cache.folder).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
