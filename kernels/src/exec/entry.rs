//! Which kernel of which module a launch means.

use std::collections::BTreeMap;

use super::run::RunError;
use crate::launch::{LaunchError, LaunchFile, Origin};
use crate::ptx::EntryError;
use crate::ptx::ir::{Kernel, Module};

/// Refuses kernels of one name.
pub(super) fn check_names(modules: &[Module], file: &LaunchFile) -> Result<(), LaunchError> {
    let mut known: BTreeMap<&str, (&Module, u32)> = BTreeMap::new();
    for module in modules {
        for (name, line) in module.entries() {
            if let Some((other, first)) = known.insert(name, (module, line)) {
                return Err(Origin::of_file(&file.path).error(format!(
                    "the kernel `{name}` is in {}:{first} and in {}:{line}; one of each name is accepted",
                    other.file, module.file
                )));
            }
        }
    }
    Ok(())
}

/// The kernel of a launch, and the number of its module; without a name, the only kernel that there is.
pub(super) fn entry<'m>(
    modules: &'m [Module],
    name: Option<&str>,
    origin: &Origin,
) -> Result<(usize, &'m Kernel), RunError> {
    let (number, name) = match name {
        Some(name) => (module_with(modules, name, origin)?, name),
        None => only_entry(modules, origin)?,
    };
    let kernel = modules[number].kernel(name).map_err(|error| match error {
        EntryError::Refused(errors) => RunError::from(errors),
        unknown @ (EntryError::Unknown { .. } | EntryError::Ambiguous { .. }) => {
            origin.error(unknown.to_string()).into()
        }
    })?;
    Ok((number, kernel))
}

/// The only entry of all modules together, and its module.
fn only_entry<'m>(modules: &'m [Module], origin: &Origin) -> Result<(usize, &'m str), LaunchError> {
    let all = modules.iter().enumerate();
    let mut all = all.flat_map(|(number, module)| module.entries().map(move |(name, _)| (number, name)));
    match (all.next(), all.next()) {
        (Some(only), None) => Ok(only),
        _none_or_several => {
            let has = modules.iter().map(|module| format!("{} has {}", module.file, module.listed_kernels()));
            Err(origin.error(format!("no kernel is named; {}", has.collect::<Vec<_>>().join("; "))))
        }
    }
}

/// The module with a kernel of that name. Who calls it so in the file comes before who called it so in the source.
fn module_with(modules: &[Module], name: &str, origin: &Origin) -> Result<usize, LaunchError> {
    let owner = modules.iter().position(|module| module.entries().any(|(entry, _)| entry == name));
    if let Some(owner) = owner {
        return Ok(owner);
    }
    let (mut owners, mut unknown) = (Vec::new(), Vec::new());
    for (number, module) in modules.iter().enumerate() {
        match module.kernel(name) {
            Err(error @ EntryError::Unknown { .. }) => unknown.push(error.to_string()),
            Ok(_) | Err(EntryError::Ambiguous { .. } | EntryError::Refused(_)) => owners.push(number),
        }
    }
    match owners.as_slice() {
        [] => Err(origin.error(unknown.join("; "))),
        [only] => Ok(*only),
        several => {
            let files: Vec<&str> = several.iter().map(|&number| modules[number].file.as_str()).collect();
            let files = files.join(" and in ");
            Err(origin
                .error(format!("`{name}` may be a kernel in {files}; accepted: its name in the PTX file")))
        }
    }
}
