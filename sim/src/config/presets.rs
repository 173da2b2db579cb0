//! The presets that come with the program.

use super::{Config, ConfigError};
use crate::mechanisms::Registry;

/// Name and text of every preset. One text may have two names.
const PRESETS: &[(&str, &str)] = &[
    ("gebhart2011", include_str!("../../presets/gebhart2011.toml")),
    ("gtx980-regless", GTX980),
    ("gtx980", GTX980),
    ("gtx980-gpgpusim", include_str!("../../presets/gtx980-gpgpusim.toml")),
    ("gtx980-hybrid", include_str!("../../presets/gtx980-hybrid.toml")),
    ("fermi-gpgpusim", include_str!("../../presets/fermi-gpgpusim.toml")),
    ("k20x-greener", include_str!("../../presets/k20x-greener.toml")),
    ("jatala-ch2", include_str!("../../presets/jatala-ch2.toml")),
    ("jatala-ch3", include_str!("../../presets/jatala-ch3.toml")),
    ("jatala-48k", include_str!("../../presets/jatala-48k.toml")),
    ("jatala-64k", include_str!("../../presets/jatala-64k.toml")),
    ("fermi-wir", include_str!("../../presets/fermi-wir.toml")),
    ("kepler-gpgpusim", include_str!("../../presets/kepler-gpgpusim.toml")),
    ("volta", include_str!("../../presets/volta.toml")),
    ("ampere", include_str!("../../presets/ampere.toml")),
    ("hopper", include_str!("../../presets/hopper.toml")),
];
const GTX980: &str = include_str!("../../presets/gtx980.toml");

/// Names of the presets.
pub fn preset_names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// A preset by name, with the mechanisms that come with the program.
pub fn preset(name: &str) -> Result<Config, ConfigError> {
    preset_with(&Registry::shipped(), name)
}

/// A preset by name, with the mechanisms of `registry`.
pub fn preset_with(registry: &Registry, name: &str) -> Result<Config, ConfigError> {
    match PRESETS.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => {
            let config = Config::from_toml(registry, &format!("{name}.toml"), text)?;
            Ok(Config { preset: (*name).to_owned(), ..config })
        }
        None => Err(ConfigError::UnknownPreset {
            name: name.to_owned(),
            known: preset_names().collect::<Vec<_>>().join(", "),
        }),
    }
}
