//! The entries of a module by name: as the file has it, or as the source had it before C++ mangled it.
//!
//! `_ZN3lib5saxpyIfEEvPT_i` is `void lib::saxpy<float>(float*, int)`. It is found by that, and by less: without the type it
//! returns, without parameters, without template arguments, without namespaces. Blanks do not count.

use std::fmt;

use cpp_demangle::{BorrowedSymbol, DemangleOptions, DemangleWrite};

use super::error::PtxErrors;
use super::ir::{Kernel, Module};
use crate::launch::suggest;

/// Bytes of a demangled name at most: substitutions within substitutions make long ones of short ones.
const MAX_NAME: usize = 4096;
/// Kernels that a message lists at most.
const LISTED: usize = 12;

/// Why there is no kernel of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The file has none of that name.
    #[error("{file}: no kernel `{name}`{near}; it has {known}")]
    Unknown {
        /// The file.
        file: String,
        /// The name asked for.
        name: String,
        /// ` (did you mean …?)`, or nothing.
        near: String,
        /// The kernels it has.
        known: String,
    },
    /// The file has several.
    #[error("{file}: `{name}` may be {candidates}; accepted: one of these, or its name in the file")]
    Ambiguous {
        /// The file.
        file: String,
        /// The name asked for.
        name: String,
        /// The kernels that it may be.
        candidates: String,
    },
    /// It cannot be run.
    #[error(transparent)]
    Refused(#[from] PtxErrors),
}

impl Module {
    /// The kernel of that name: as in the file, or demangled, in full or in part.
    ///
    /// # Errors
    /// If there is none, if there are several, or what is wrong with it.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, EntryError> {
        let in_file = self.found(|entry| entry == name);
        if let Some(&found) = in_file.first() {
            return self.runnable(found);
        }
        let asked = without_blanks(name);
        let found = self.found(|entry| spellings(entry).contains(&asked));
        match found.as_slice() {
            [] => Err(self.unknown(name)),
            [only] => self.runnable(only),
            several => Err(EntryError::Ambiguous {
                file: self.file.clone(),
                name: name.to_owned(),
                candidates: alternatives(several),
            }),
        }
    }

    /// Names of the entries and their lines, whether they can be run or not.
    pub fn entries(&self) -> impl Iterator<Item = (&str, u32)> {
        let kernels = self.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.line));
        kernels.chain(self.refused.iter().map(|refused| (refused.name.as_str(), refused.line)))
    }

    /// The kernels of the file in a sentence.
    pub fn listed_kernels(&self) -> String {
        let names = self.found(|_| true);
        let mut listed: Vec<String> =
            names.iter().take(LISTED).map(|name| format!("`{}`", readable(name))).collect();
        if names.len() > LISTED {
            listed.push(format!("and {} more", names.len() - LISTED));
        }
        if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
    }

    /// Names of the entries that are.
    fn found(&self, is: impl Fn(&str) -> bool) -> Vec<&str> {
        self.entries().map(|(name, _)| name).filter(|name| is(name)).collect()
    }

    fn runnable(&self, name: &str) -> Result<&Kernel, EntryError> {
        if let Some(refused) = self.refused.iter().find(|refused| refused.name == name) {
            return Err(EntryError::Refused(refused.errors.clone()));
        }
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> EntryError {
        let names: Vec<String> = self.found(|_| true).into_iter().map(readable).collect();
        // Few are all listed, the near ones among them.
        let near = if names.len() > LISTED {
            suggest(name, names.iter().map(String::as_str))
        } else {
            String::new()
        };
        EntryError::Unknown {
            file: self.file.clone(),
            name: name.to_owned(),
            near,
            known: self.listed_kernels(),
        }
    }
}

/// Whether an entry has that name: as in the file, or demangled, in full or in part.
pub fn is_called(entry: &str, name: &str) -> bool {
    entry == name || spellings(entry).contains(&without_blanks(name))
}

/// The name as in the C++ source, with parameters; as it is if it is not mangled.
pub fn readable(name: &str) -> String {
    demangled(name, DemangleOptions::new().no_return_type()).unwrap_or_else(|| name.to_owned())
}

/// `` `a(int)` (`_Z1ai`) or … ``
fn alternatives(names: &[&str]) -> String {
    let shown: Vec<String> =
        names.iter().take(LISTED).map(|name| format!("`{}` (`{name}`)", readable(name))).collect();
    let more = names.len() - shown.len();
    let rest = if more > 0 { format!(" or {more} more") } else { String::new() };
    shown.join(" or ") + &rest
}

/// Everything that the kernel of a name in the file may be called, without blanks.
fn spellings(name: &str) -> Vec<String> {
    let options = DemangleOptions::new();
    let forms = [options, options.no_return_type(), options.no_return_type().no_params()];
    let forms: Vec<String> = forms.into_iter().filter_map(|form| demangled(name, form)).collect();
    let bare = forms.last().map(|form| without_arguments(form).to_owned());
    let mut all: Vec<String> = forms.into_iter().chain(bare).collect();
    let unqualified: Vec<String> = all.iter().map(|form| unqualified(form).to_owned()).collect();
    all.extend(unqualified);
    all.iter().map(|form| without_blanks(form)).collect()
}

fn without_blanks(name: &str) -> String {
    name.split_whitespace().collect()
}

/// Without the template arguments at its end.
fn without_arguments(name: &str) -> &str {
    if !name.ends_with('>') {
        return name;
    }
    let mut depth = 0_usize;
    for (at, character) in name.char_indices().rev() {
        match character {
            '>' => depth += 1,
            '<' => depth -= 1,
            _other => {}
        }
        if depth == 0 {
            return &name[..at];
        }
    }
    name
}

/// Without the namespaces in front of it: behind the last `::` before parameters and template arguments.
fn unqualified(name: &str) -> &str {
    let mut depth = 0_usize;
    let mut start = 0;
    // `(anonymous namespace)` is a namespace like any other.
    let at_parameters = |at: usize| !name[at..].starts_with("(anonymous namespace)");
    for (at, character) in name.char_indices() {
        match character {
            '(' if depth == 0 && at_parameters(at) => break,
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => start = at + 1,
            _other => {}
        }
    }
    &name[start..]
}

/// A name demangled; `None` if it is not mangled, or too long.
fn demangled(name: &str, options: DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > MAX_NAME {
        return None;
    }
    let symbol = BorrowedSymbol::new(name.as_bytes()).ok()?;
    let mut into = Bounded(String::new());
    symbol.structured_demangle(&mut into, &options).ok()?;
    Some(into.0)
}

/// Text of at most [`MAX_NAME`] bytes.
struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with an empty entry of each name.
    fn module(names: &[&str]) -> Module {
        let entries: String = names.iter().map(|name| format!(".entry {name}() {{ ret; }}\n")).collect();
        super::super::parse("k.ptx", &entries).unwrap()
    }

    #[test]
    fn a_kernel_is_found_by_its_name_before_mangling_and_by_parts_of_it() {
        // void lib::detail::scale<float, 4>(float*, int)
        let name = "_ZN3lib6detail5scaleIfLi4EEEvPT_i";
        let module = module(&["plain", name]);
        for asked in [
            name,
            "void lib::detail::scale<float, 4>(float*, int)",
            "lib::detail::scale<float,4>(float *, int)",
            "lib::detail::scale<float, 4>",
            "lib::detail::scale",
            "scale<float, 4>(float*, int)",
            "scale<float, 4>",
            "scale",
        ] {
            assert_eq!(module.kernel(asked).map(|kernel| kernel.name.as_str()), Ok(name), "{asked}");
        }
        for asked in ["detail::scale", "scal", "scale(int)", "float*, int", ""] {
            assert!(matches!(module.kernel(asked), Err(EntryError::Unknown { .. })), "{asked}");
        }
    }

    #[test]
    fn a_kernel_in_an_anonymous_namespace_is_found_by_its_bare_name() {
        let module = module(&["_ZN12_GLOBAL__N_15saxpyEPfi"]);
        assert!(module.kernel("saxpy").is_ok());
        assert!(module.kernel("saxpy(float*, int)").is_ok());
    }

    #[test]
    fn a_name_of_two_kernels_is_refused_with_both() {
        let module = module(&["_Z5saxpyPfi", "_Z5saxpyPdi"]);
        assert!(module.kernel("saxpy(double*, int)").is_ok());
        let error = module.kernel("saxpy").unwrap_err().to_string();
        assert_eq!(
            error,
            "k.ptx: `saxpy` may be `saxpy(float*, int)` (`_Z5saxpyPfi`) or `saxpy(double*, int)` (`_Z5saxpyPdi`); \
             accepted: one of these, or its name in the file"
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_names_that_can_be_read() {
        let few = module(&["_Z5saxpyPfi"]).kernel("saxpi").unwrap_err().to_string();
        assert_eq!(few, "k.ptx: no kernel `saxpi`; it has `saxpy(float*, int)`");
        let names: Vec<String> = (10..40).map(|number| format!("_Z8kernel{number}Pfi")).collect();
        let many = module(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let many = many.kernel("kernel27(float*)").unwrap_err().to_string();
        assert!(many.contains("did you mean `kernel27(float*, int)`"), "{many}");
        assert!(many.ends_with("and 18 more"), "{many}");
    }

    #[test]
    fn a_short_name_that_stands_for_a_very_long_one_is_left_as_it_is() {
        // Each parameter is a function of the one before, twice: 2^60 words.
        let mut name = "_Z1fPFiiiE".to_owned();
        for number in 0..60 {
            let last = if number == 0 { "S_".to_owned() } else { format!("S{}_", base_36(2 * number - 1)) };
            name += &format!("PFi{last}{last}E");
        }
        assert_eq!(readable(&name), name);
    }

    fn base_36(number: usize) -> String {
        let digits: Vec<char> = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".chars().collect();
        let high = if number >= 36 { digits[number / 36].to_string() } else { String::new() };
        format!("{high}{}", digits[number % 36])
    }
}
