//! The configuration of a run: a preset, a file over it, the design, then single values.

use std::path::PathBuf;

use anyhow::{Context, bail};
use warpfile_sim::config::{Config, apply_file, apply_overrides, preset, preset_names};
use warpfile_sim::mechanisms::{Registry, Stack};

use crate::files::read_text;

/// The preset that is used when neither it nor a design is named.
pub const DEFAULT_PRESET: &str = "gebhart2011";
/// Most bytes of a configuration file.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Where the parameters of a machine come from.
#[derive(Clone, Default, clap::Args)]
pub struct MachineArguments {
    /// Parameters of a paper's simulation table to start from [default: that of the design's paper].
    #[arg(long)]
    pub preset: Option<String>,
    /// TOML file with parameters that differ from the preset, or all of them.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Where a configuration comes from.
#[derive(clap::Args)]
pub struct ConfigurationArguments {
    #[command(flatten)]
    machine: MachineArguments,
    /// Set a parameter, after the file: `rfc.entries=8`; see `warpfile list parameters`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    sets: Vec<(String, String)>,
}

impl ConfigurationArguments {
    /// The configuration, checked; `design` replaces the one of preset and file.
    pub fn configuration(&self, design: Option<&str>) -> anyhow::Result<Config> {
        let designs: Vec<String> = design.into_iter().map(str::to_owned).collect();
        let mut configs = self.configurations(&designs)?;
        configs.pop().context("no configuration")
    }

    /// The configuration of each design, checked, all on one preset; that of preset and file if none is named.
    pub fn configurations(&self, designs: &[String]) -> anyhow::Result<Vec<Config>> {
        let machines = self.machine.configurations(designs)?;
        machines.into_iter().map(|config| with_values(config, &self.sets)).collect()
    }

    /// Values set one by one.
    pub fn sets(&self) -> &[(String, String)] {
        &self.sets
    }

    /// Which of preset and file was given, as named on the command line.
    pub fn preset_or_file(&self) -> Option<&'static str> {
        match (&self.machine.preset, &self.machine.config) {
            (Some(_), _) => Some("--preset"),
            (None, Some(_)) => Some("--config"),
            (None, None) => None,
        }
    }
}

/// A configuration with values set one by one, checked.
pub fn with_values(mut config: Config, sets: &[(String, String)]) -> anyhow::Result<Config> {
    let sets: Vec<(&str, &str)> = sets.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    apply_overrides(&mut config, &sets)?;
    config.validate()?;
    Ok(config)
}

impl MachineArguments {
    /// The configuration of each design, all on one preset; that of preset and file if none is named.
    pub fn configurations(&self, designs: &[String]) -> anyhow::Result<Vec<Config>> {
        let registry = Registry::shipped();
        let parse = |design: &String| Ok(Stack::parse(&registry, "--design", design)?);
        let stacks = designs.iter().map(parse).collect::<anyhow::Result<Vec<Stack>>>()?;
        let machine = self.preset_and_file(default_preset(&stacks))?;
        let designs = if stacks.is_empty() { vec![machine.design.clone()] } else { stacks };
        Ok(designs.into_iter().map(|design| machine.with_stack(design)).collect())
    }

    fn preset_and_file(&self, default_preset: &str) -> anyhow::Result<Config> {
        let Some(path) = &self.config else {
            return Ok(preset(self.preset.as_deref().unwrap_or(default_preset))?);
        };
        let text = read_text(path, MAX_CONFIG_BYTES)?;
        // A file that is no TOML is refused below, with the place of the error.
        let file: toml::Table = text.parse().unwrap_or_default();
        let named = file.get("preset").and_then(toml::Value::as_str);
        if let (Some(asked), Some(named)) = (&self.preset, named)
            && asked != named
        {
            bail!(
                "{}: preset = \"{named}\", but --preset {asked} was given; leave one of them out",
                path.display()
            );
        }
        let mut config = preset(self.preset.as_deref().or(named).unwrap_or(default_preset))
            .with_context(|| path.display().to_string())?;
        apply_file(&mut config, &path.display().to_string(), &text)?;
        Ok(config)
    }
}

/// The first preset of the designs' papers, or else another, that carries all designs.
fn default_preset(designs: &[Stack]) -> &'static str {
    let of_paper = designs.first().and_then(Stack::preset).unwrap_or(DEFAULT_PRESET);
    let carries_all = |name: &&str| {
        let machine = preset(name).ok();
        machine.is_some_and(|machine| {
            designs.iter().all(|design| machine.with_stack(design.clone()).validate().is_ok())
        })
    };
    let of_papers = designs.iter().filter_map(Stack::preset);
    of_papers.chain(preset_names()).find(carries_all).unwrap_or(of_paper)
}

/// `NAME=VALUE`.
pub fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        Some(_) | None => Err("accepted: name=value, as in rfc.entries=8".to_owned()),
    }
}
