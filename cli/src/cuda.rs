//! CUDA C made PTX with clang, without a CUDA toolkit.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use warpfile_kernels::workloads::{AddressBits, CUDA_HEADER, MAX_PTX_BYTES};

use crate::files::read_text;
use crate::shell::quoted;

/// The environment variable that names the compiler.
const VARIABLE: &str = "CLANG";
/// What the compiler is told beside header, source and output: kernels alone, nothing of a toolkit.
const FLAGS: [&str; 8] =
    ["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_50", "-nocudainc", "-nocudalib", "-O2", "-S"];
/// What CUDA sources include for what every one of them has.
const HEADER: &str = "warpfile.h";
/// Headers of a toolkit that a source of kernels may include.
const TOOLKIT_HEADERS: [&str; 3] = ["cuda.h", "cuda_runtime.h", "device_launch_parameters.h"];

/// Whether a file is CUDA C.
pub fn is_cuda(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cu")
}

/// PTX that has been made of a source, with so many bits of an address.
struct Made {
    source: PathBuf,
    addresses: AddressBits,
    ptx: Arc<str>,
}

/// All that has been made.
static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());

/// The PTX of a CUDA file. What clang says goes to standard error as it is, and only once however often the file is asked
/// for.
pub fn compile(source: &Path, addresses: AddressBits) -> anyhow::Result<Arc<str>> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |known: &&Made| known.source == source && known.addresses == addresses;
    if let Some(known) = made.iter().find(is_it) {
        return Ok(known.ptx.clone());
    }
    let ptx: Arc<str> = compiled(source, addresses, MAX_PTX_BYTES)?.into();
    made.push(Made { source: source.to_path_buf(), addresses, ptx: ptx.clone() });
    Ok(ptx)
}

fn compiled(source: &Path, addresses: AddressBits, most: u64) -> anyhow::Result<String> {
    let shown =
        |compiler: &str| shown(compiler, addresses, Path::new(HEADER), source, &source.with_extension("ptx"));
    let Some(compiler) = compiler()? else {
        bail!(
            "{}: no clang is installed (looked for clang and clang-N; {VARIABLE} names another). Where there is one:\n  \
             {}\nwith {HEADER} of warpfile's kernels/workloads, then run the PTX",
            source.display(),
            shown("clang")
        );
    };
    let folder = tempfile::tempdir().context("cannot keep the PTX of a CUDA file")?;
    let (header, ptx) = (folder.path().join(HEADER), folder.path().join("kernels.ptx"));
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).context("cannot keep the header for a CUDA file")
    };
    write(HEADER, CUDA_HEADER)?;
    TOOLKIT_HEADERS.iter().try_for_each(|name| write(name, &format!("#include \"{HEADER}\"\n")))?;
    let status = Command::new(&compiler)
        .args(arguments(addresses, &header, source, &ptx))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("{}: {} cannot be started", source.display(), compiler.display()))?;
    if !status.success() {
        bail!(
            "{}: not made PTX ({status}) by\n  {}",
            source.display(),
            shown(&compiler.display().to_string())
        );
    }
    read_text(&ptx, most).with_context(|| format!("{}: no PTX of {}", source.display(), compiler.display()))
}

/// How messages call the PTX of a CUDA file.
pub fn name_of_ptx(source: &Path) -> String {
    format!("{} (its PTX)", source.display())
}

fn arguments(addresses: AddressBits, header: &Path, source: &Path, ptx: &Path) -> Vec<OsString> {
    let folder = header.parent().unwrap_or(Path::new("."));
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let mut arguments: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    if addresses == AddressBits::Bits32 {
        arguments.push("-m32".into());
    }
    arguments.extend(["-I".into(), folder.into(), "-include".into(), header.into()]);
    arguments.extend(["-o".into(), ptx.into(), "--".into(), source.into()]);
    arguments
}

/// The command as it would be typed.
fn shown(compiler: &str, addresses: AddressBits, header: &Path, source: &Path, ptx: &Path) -> String {
    let words = arguments(addresses, header, source, ptx);
    let quoted = words.iter().map(|word| quoted(&word.to_string_lossy()));
    format!("{compiler} {}", quoted.collect::<Vec<_>>().join(" "))
}

/// The compiler that the environment names, or that is found: `clang`, then the `clang-N` of the greatest N.
fn compiler() -> anyhow::Result<Option<PathBuf>> {
    let folders: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        let is_path = named.components().count() > 1;
        let found = if is_path { named.is_file() } else { folders.iter().any(|f| f.join(&named).is_file()) };
        if !found {
            bail!(
                "{VARIABLE}={}: there is no such program; a name on PATH or a path is accepted",
                named.display()
            );
        }
        return Ok(Some(named));
    }
    Ok(installed(&folders))
}

/// The clang in the first folder that has one of that name, or the newest of those with a number.
fn installed(folders: &[PathBuf]) -> Option<PathBuf> {
    let plain = folders.iter().map(|folder| folder.join("clang")).find(|path| path.is_file());
    plain.or_else(|| {
        let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        let numbered = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let number: u32 = path.file_name()?.to_str()?.strip_prefix("clang-")?.parse().ok()?;
            path.is_file().then_some((number, path))
        });
        // Of two with one number the first on the way.
        let newest = numbered.reduce(|newest, next| if next.0 > newest.0 { next } else { newest });
        newest.map(|(_, path)| path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_clang_comes_before_the_newest_with_a_number() {
        let (first, second) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let folders = [first.path().to_owned(), second.path().to_owned()];
        assert_eq!(installed(&folders), None);
        for name in ["clang-9", "clang-cl", "clang-tidy-18", "clang-x"] {
            fs::write(first.path().join(name), "").expect("written");
        }
        fs::write(second.path().join("clang-16"), "").expect("written");
        assert_eq!(installed(&folders), Some(second.path().join("clang-16")));
        fs::write(second.path().join("clang"), "").expect("written");
        assert_eq!(installed(&folders), Some(second.path().join("clang")));
    }

    #[test]
    fn the_command_can_be_typed() {
        let found = shown(
            "clang",
            AddressBits::Bits64,
            Path::new("warpfile.h"),
            Path::new("my file.cu"),
            Path::new("my file.ptx"),
        );
        assert_eq!(
            found,
            "clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_50 -nocudainc -nocudalib -O2 -S -I . -include \
             warpfile.h -o 'my file.ptx' -- 'my file.cu'"
        );
    }
}
