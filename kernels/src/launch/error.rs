//! Errors of launch files, each with the place it is about.

use std::path::Path;
use std::sync::Arc;

/// Where something stands in a launch file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The launch file.
    pub file: Arc<Path>,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The key, dotted from the root: `buffers.a.length`. Empty for the file as a whole.
    pub key: String,
}

impl Origin {
    /// The file as a whole.
    pub fn of_file(file: &Path) -> Self {
        Origin { file: file.into(), line: 0, key: String::new() }
    }

    /// An error at this place.
    pub fn error(&self, message: impl Into<String>) -> LaunchError {
        LaunchError { origin: self.clone(), message: message.into() }
    }
}

/// What is wrong with a launch file, or with a run of it: file, line, key, what was found and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LaunchError {
    /// The place.
    pub origin: Origin,
    /// What was found there, and what would be accepted.
    pub message: String,
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.origin.file.display())?;
        if self.origin.line > 0 {
            write!(f, ":{}", self.origin.line)?;
        }
        if !self.origin.key.is_empty() {
            write!(f, ": `{}`", self.origin.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// ` (did you mean …?)` with the names nearest to `found`, or all names when there are few and none is near.
pub fn suggest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    const FEW: usize = 12;
    const NEAR: f64 = 0.7;
    let names: Vec<&str> = names.into_iter().collect();
    let mut near: Vec<(f64, &str)> = names
        .iter()
        .map(|&name| (strsim::jaro_winkler(found, name), name))
        .filter(|&(similarity, _)| similarity >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    match near.as_slice() {
        [] if names.is_empty() => " (there is none)".to_string(),
        [] if names.len() <= FEW => format!(" (there is {})", quoted(&names)),
        [] => String::new(),
        near => {
            let near: Vec<&str> = near.iter().take(3).map(|&(_, name)| name).collect();
            format!(" (did you mean {}?)", quoted(&near))
        }
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_first() {
        assert_eq!(suggest("lenght", ["type", "length", "fill"]), " (did you mean `length`?)");
    }

    #[test]
    fn few_names_are_all_listed_when_none_is_near() {
        assert_eq!(suggest("qqq", ["type", "fill"]), " (there is `type`, `fill`)");
    }
}
