//! The mechanisms that there are.

use std::sync::Arc;

use super::{ALL, Combination, Mechanism, Stack};
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

    /// Designs that have a name of their own: name, one line, and the mechanisms that each is named after. A combination of which
    /// this registry lacks one is none of its designs.
    pub fn designs(&self) -> impl Iterator<Item = (&'static str, &'static str, Vec<&'static dyn Mechanism>)> {
        self.all().flat_map(|mechanism| {
            let own = mechanism.info().design.map(|(name, line)| (name, line, vec![mechanism]));
            let combined =
                mechanism.combinations().iter().filter_map(|&Combination { name, summary, mechanisms }| {
                    let mechanisms = mechanisms.iter().map(|name| self.find(name)).collect::<Option<_>>()?;
                    Some((name, summary, mechanisms))
                });
            own.into_iter().chain(combined).collect::<Vec<_>>()
        })
    }

    /// The stacks of [`Registry::designs`].
    pub fn stacks(&self) -> Vec<Stack> {
        self.designs().map(|(.., mechanisms)| Stack::of(self, &mechanisms)).collect()
    }
}
