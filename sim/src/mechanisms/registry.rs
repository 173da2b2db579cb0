//! The mechanisms that there are.

use std::sync::Arc;

use super::{ALL, Mechanism, Stack};
use crate::config::SectionInfo;

/// Mechanisms by name: those that come with the program, and those of a caller.
#[derive(Clone, Debug)]
pub struct Registry(Arc<[&'static dyn Mechanism]>);

impl Registry {
    /// The mechanisms that come with the program.
    pub fn shipped() -> Registry {
        Registry(ALL.into())
    }

    /// These and more.
    pub fn with(&self, more: &[&'static dyn Mechanism]) -> Registry {
        Registry(self.0.iter().chain(more).copied().collect())
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &'static dyn Mechanism> {
        self.0.iter().copied()
    }

    /// The mechanism of a name.
    pub fn find(&self, name: &str) -> Option<&'static dyn Mechanism> {
        self.all().find(|mechanism| mechanism.info().name == name)
    }

    /// Sections of the configuration, in the order of the mechanisms, each once.
    pub fn sections(&self) -> Vec<SectionInfo> {
        let mut sections: Vec<SectionInfo> = Vec::new();
        for section in self.all().filter_map(|mechanism| mechanism.section()) {
            if sections.iter().all(|known| known.name != section.name) {
                sections.push(section);
            }
        }
        sections
    }

    /// Designs that have a name of their own: name, one line, and the mechanism that each is named after.
    pub fn designs(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static dyn Mechanism)> {
        self.all().filter_map(|mechanism| mechanism.info().design.map(|(name, line)| (name, line, mechanism)))
    }

    /// The stacks of [`Registry::designs`].
    pub fn stacks(&self) -> Vec<Stack> {
        self.designs().map(|(.., mechanism)| Stack::of(self, &[mechanism])).collect()
    }
}
