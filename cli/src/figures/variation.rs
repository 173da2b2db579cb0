//! What figures are made under: size, workloads, and how machine and code depart from the figure's own.

use anyhow::{Result, bail};
use clap::Parser;
use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::launch::DEFAULT_SIZE;
use warpfile_kernels::workloads::AddressBits;
use warpfile_sim::config::{Config, apply_overrides, preset};

use super::sweep::Point;
use crate::code::CodeArguments;
use crate::configuration::name_and_value;

/// What figures are made under, as on the command line.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Variation {
    /// Size of the workloads: tiny, default or large, or as launch files name them; of several, separated by commas, the first that a launch file names [default: the one that the paper is compared at].
    #[arg(long)]
    size: Option<String>,
    /// Only these workloads, separated by commas; if not given, those that stand for the paper's.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,
    /// Parameters of another machine than the one that the paper measured on.
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Set a parameter in every run, `l1.ways=12`: one that the figure does not vary itself.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    sets: Vec<(String, String)>,
    #[command(flatten)]
    code: CodeArguments,
}

impl Variation {
    /// Size of the workloads.
    pub fn size(&self) -> &str {
        self.size.as_deref().unwrap_or(DEFAULT_SIZE)
    }

    /// Names of the workloads; the figure's own if empty.
    pub fn workloads(&self) -> &[String] {
        &self.workloads
    }

    /// How kernels are compiled.
    pub fn code(&self) -> crate::code::Code {
        self.code.code()
    }

    /// The same with addresses of so many bits, and that machine code, unless it says them itself.
    pub fn with_usual_code(&self, addresses: AddressBits, isa: Isa) -> Variation {
        Variation { code: self.code.with_usual(addresses, isa), ..self.clone() }
    }

    /// The same at a size, unless it names one.
    pub fn at_usual_size(&self, usual: &str) -> Variation {
        Variation { size: Some(self.size.as_deref().unwrap_or(usual).to_owned()), ..self.clone() }
    }

    /// At a size, with these workloads.
    #[cfg(test)]
    pub fn of(size: &str, workloads: &[&str]) -> Variation {
        let workloads = workloads.iter().map(|&name| name.to_owned()).collect();
        Variation { size: Some(size.to_owned()), workloads, ..Variation::default() }
    }

    /// The same with the figure's own workloads.
    pub fn without_workloads(&self) -> Variation {
        Variation { workloads: Vec::new(), ..self.clone() }
    }

    /// The same with what some words of the command line say.
    ///
    /// # Errors
    /// They say something else.
    pub fn with(&self, words: &str) -> Result<Variation> {
        let Words { variation: more } = Words::try_parse_from(words.split_whitespace())?;
        let workloads = if more.workloads.is_empty() { &self.workloads } else { &more.workloads };
        Ok(Variation {
            size: more.size.or_else(|| self.size.clone()),
            workloads: workloads.clone(),
            preset: more.preset.or_else(|| self.preset.clone()),
            sets: [self.sets.as_slice(), &more.sets].concat(),
            code: self.code.with(more.code),
        })
    }

    /// The words of the command line that say it, of which the size is always one if there are `workloads`.
    pub fn words(&self, workloads: bool) -> Vec<String> {
        let mut words = Vec::new();
        if workloads {
            words.extend(["--size".to_owned(), self.size().to_owned()]);
        }
        if !self.workloads.is_empty() {
            words.extend(["--workloads".to_owned(), self.workloads.join(",")]);
        }
        if let Some(name) = &self.preset {
            words.extend(["--preset".to_owned(), name.clone()]);
        }
        for (name, value) in &self.sets {
            words.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
        words.extend(self.code.command_words());
        words
    }

    /// The configuration of a point.
    ///
    /// # Errors
    /// A parameter is unknown or varied by the point itself, or the machine cannot carry the design.
    pub fn config(&self, point: &Point) -> Result<Config> {
        if let Some((name, value)) = self.sets.iter().find(|(name, _)| point.sets(name)) {
            bail!("the figure varies {name} itself; leave out `--set {name}={value}`");
        }
        let mut config = preset(self.preset.as_deref().unwrap_or(point.preset()))?;
        let sets = self.sets.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let overrides: Vec<(&str, &str)> = point.parameters().chain(sets).collect();
        apply_overrides(&mut config, &overrides)?;
        config.validate()?;
        Ok(config)
    }
}

/// The words of a variation.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Words {
    #[command(flatten)]
    variation: Variation,
}
