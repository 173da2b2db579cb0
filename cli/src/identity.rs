//! What a result comes from: this program, a kernel, and everything else that determines it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use sha2::{Digest, Sha256};
use toml::Table;
use warpfile_kernels::launch::LaunchFile;
use warpfile_kernels::trace;
use warpfile_kernels::workloads::launch_file_beside;
use warpfile_sim::config::Config;

use crate::cuda;
use crate::input::Input;
use crate::simulate::Setting;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that it was built from, with `-dirty-` and a hash of the changes behind it if a source differed; `None`
/// outside of a checkout.
pub const COMMIT: Option<&str> = option_env!("WARPFILE_COMMIT");

/// What the runs of a document have in common.
#[derive(Serialize)]
pub struct Identity {
    version: &'static str,
    commit: Option<&'static str>,
    engine: &'static str,
    seed: u64,
    tolerate_out_of_bounds: bool,
    preset: String,
    /// By section; the design is told beside its figures.
    parameters: Table,
}

impl Identity {
    /// Of runs with these parameters; `tolerated` if accesses outside of every buffer were.
    pub fn new(config: &Config, setting: Setting, tolerated: bool) -> Identity {
        let mut parameters = all_parameters(config);
        parameters.remove("preset");
        parameters.remove("design");
        Identity {
            version: VERSION,
            commit: COMMIT,
            engine: setting.engine.as_str(),
            seed: setting.seed,
            tolerate_out_of_bounds: tolerated,
            preset: config.preset.clone(),
            parameters,
        }
    }

    /// Without the parameters of mechanisms that the design does not have.
    pub fn of_design(config: &Config, setting: Setting, tolerated: bool) -> Identity {
        let mut parameters = determining_parameters(config);
        parameters.remove("design");
        Identity { parameters, ..Identity::new(config, setting, tolerated) }
    }
}

fn all_parameters(config: &Config) -> Table {
    config.to_toml().parse().unwrap_or_default()
}

/// The parameters that a run depends on, the design among them: those of mechanisms that the design does not have are left
/// out, and so is the name of the preset.
pub fn determining_parameters(config: &Config) -> Table {
    let mut tree = all_parameters(config);
    tree.remove("preset");
    for section in config.registry().sections() {
        if !has_section(config, section.name) {
            tree.remove(section.name);
        }
    }
    tree
}

/// Whether a mechanism of the design has the section of parameters.
fn has_section(config: &Config, name: &str) -> bool {
    config.design.mechanisms().filter_map(|mechanism| mechanism.section()).any(|section| section.name == name)
}

/// Whether a run depends on a parameter.
pub fn depends_on(config: &Config, parameter: &str) -> bool {
    let section = parameter.split('.').next().unwrap_or_default();
    let of_mechanism = config.registry().sections().iter().any(|known| known.name == section);
    !of_mechanism || has_section(config, section)
}

/// The hash of everything that determines a run: the same for two runs if and only if these are the same.
pub fn run_hash(
    input: &Input,
    kernel_hash: &str,
    parameters: &str,
    setting: Setting,
    tolerated: bool,
) -> String {
    let parts = [
        VERSION,
        COMMIT.unwrap_or_default(),
        kernel_hash,
        &input.option_words().join(" "),
        parameters,
        setting.engine.as_str(),
        &setting.seed.to_string(),
        &tolerated.to_string(),
    ];
    // Half of the hash is enough for a name: 2^64 runs before two are likely to share one.
    let whole = hash_of_parts(parts.iter().map(|part| part.as_bytes()));
    whole[..whole.len() / 2].to_owned()
}

/// The hash of a kernel's text: of the PTX, the launch file and the data that it names, or of a trace, whatever the files
/// are called.
///
/// # Errors
/// A file cannot be read.
pub fn kernel_hash(input: &Input) -> anyhow::Result<String> {
    let parts = match input {
        Input::Workload { workload, code, .. } => {
            let (_, ptx) = workload.ptx_of(code.addresses);
            vec![hash(ptx.as_bytes())?, hash(workload.launch_file.as_bytes())?]
        }
        Input::Ptx { path, launch, code, .. } => {
            let launch_file = match launch {
                Some(launch) => LaunchFile::read(launch)?,
                None => launch_file_beside(path)?,
            };
            let ptx = if cuda::is_cuda(path) {
                hash(cuda::compile(path, code.addresses)?.as_bytes())?
            } else {
                hash_file(path)?
            };
            [vec![ptx, hash_file(&launch_file.path)?], hash_files(&launch_file.data_paths())?].concat()
        }
        Input::Launch { path, .. } => {
            let launch_file = LaunchFile::read(path)?;
            let data = hash_files(&launch_file.data_paths())?;
            [hash_files(&launch_file.ptx_paths())?, vec![hash_file(path)?], data].concat()
        }
        Input::Trace { path } => hash_files(&trace::files(path)?)?,
    };
    Ok(hash_of_parts(parts.iter().map(String::as_bytes)))
}

/// The hash of several texts in their order; where one ends and the next begins counts.
fn hash_of_parts<'t>(parts: impl Iterator<Item = &'t [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hexadecimal(hasher)
}

fn hash_files(paths: &[impl AsRef<Path>]) -> anyhow::Result<Vec<String>> {
    paths.iter().map(|path| hash_file(path.as_ref())).collect()
}

fn hash_file(path: &Path) -> anyhow::Result<String> {
    let context = || format!("{}: cannot be read", path.display());
    hash(File::open(path).with_context(context)?).with_context(context)
}

fn hash(mut content: impl io::Read) -> anyhow::Result<String> {
    let mut hasher = Hasher(Sha256::new());
    io::copy(&mut content, &mut hasher)?;
    Ok(hexadecimal(hasher.0))
}

/// Takes what is written to it.
struct Hasher(Sha256);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hexadecimal(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_part_ends_counts() {
        let of = |parts: [&str; 2]| hash_of_parts(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
        assert_eq!(of(["ab", "c"]), of(["ab", "c"]));
    }

    #[test]
    fn a_text_has_the_hash_that_sha256sum_gives() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash("abc".as_bytes()).expect("read"), expected);
    }

    #[test]
    fn a_run_depends_on_parameters_of_its_own_mechanisms_only() {
        let config = warpfile_sim::config::preset("gebhart2011").expect("a preset");
        let baseline = config.with_design("baseline").expect("a design");
        assert!(depends_on(&config, "rfc.entries") && depends_on(&baseline, "scheduler.active_warps"));
        assert!(!depends_on(&baseline, "rfc.entries"));
        assert!(!determining_parameters(&baseline).contains_key("rfc"));
    }
}
