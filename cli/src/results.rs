//! Results that were kept, read again: `report.json` of `run --out`, and the runs of a sweep, which have the same shape.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Number, Value};

use crate::files::read_text;

/// Most bytes of a document.
const MAX_BYTES: u64 = 1 << 30;
/// Keys of a document that are settings of all that is in it.
const SETTINGS: [&str; 6] = ["version", "commit", "engine", "seed", "tolerate_out_of_bounds", "preset"];
/// Keys of an input that say which it is.
const KERNEL: [&str; 2] = ["name", "path"];
/// Keys of an input that are no setting: which it is, its size, and where its files are.
const NO_SETTING: [&str; 5] = ["name", "path", "size", "kind", "launch"];
/// Figures that are measured on the clock.
pub const MEASURED: [&str; 2] = ["wall_time_s", "warp_instructions_per_second"];

/// A design on a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its identity, if it is a run of a sweep.
    pub run: Option<String>,
    /// Workload or path.
    pub kernel: String,
    /// Size of the problem; a trace has none.
    pub size: Option<String>,
    /// Of the kernel's text.
    pub hash: String,
    /// The design.
    pub design: String,
    /// Everything else that it was run under, by dotted name; how a kernel is compiled is `kernel.…`.
    pub settings: BTreeMap<String, Value>,
    /// Why there are no figures.
    pub error: Option<String>,
    /// Every number that is not in a list, by dotted name.
    pub figures: Vec<(String, Number)>,
    /// Energy of each structure that holds or finds registers, by its name.
    pub structures_pj: Vec<(String, Number)>,
}

/// All that a document holds.
///
/// # Errors
/// It cannot be read, or is none.
pub fn read_document(path: &Path) -> anyhow::Result<Vec<Measured>> {
    let text = read_text(path, MAX_BYTES)?;
    let name = || path.display().to_string();
    let document: Value = serde_json::from_str(&text).with_context(|| format!("{}: not JSON", name()))?;
    measured(&document).with_context(name)
}

/// All that a document holds, as it is written.
///
/// # Errors
/// It is none.
pub fn measured(document: &Value) -> anyhow::Result<Vec<Measured>> {
    let kernels = document["kernels"].as_array();
    let (Some(kernels), true) = (kernels, document["version"].is_string()) else {
        bail!(
            "no report of warpfile; accepted: report.json of `warpfile run --out`, or a folder of `warpfile sweep`"
        );
    };
    let given = SETTINGS.iter().map(|&key| (key.to_owned(), document[key].clone()));
    let settings: BTreeMap<String, Value> = given.chain(flat(&document["parameters"])).collect();
    let mut all = Vec::new();
    for kernel in kernels {
        let of_kernel = Measured {
            run: document["run"].as_str().map(str::to_owned),
            error: document["error"].as_str().map(str::to_owned),
            design: document["design"].as_str().unwrap_or_default().to_owned(),
            ..of_kernel(kernel, &settings).ok_or_else(|| anyhow!("a kernel without input or hash"))?
        };
        if of_kernel.error.is_some() {
            all.push(of_kernel);
            continue;
        }
        for design in kernel["designs"].as_array().context("a kernel without designs")? {
            let name = design["name"].as_str().context("a design without name")?.to_owned();
            all.push(Measured {
                design: name,
                figures: figures(design),
                structures_pj: structures_pj(design),
                ..of_kernel.clone()
            });
        }
    }
    Ok(all)
}

/// Which kernel it is, without a design.
fn of_kernel(kernel: &Value, settings: &BTreeMap<String, Value>) -> Option<Measured> {
    let input = kernel["input"].as_object()?;
    let mut settings = settings.clone();
    let options = input.iter().filter(|(key, _)| !NO_SETTING.contains(&key.as_str()));
    settings.extend(options.map(|(key, value)| (format!("kernel.{key}"), value.clone())));
    Some(Measured {
        run: None,
        kernel: KERNEL.iter().find_map(|key| input.get(*key)?.as_str())?.to_owned(),
        size: input.get("size").and_then(Value::as_str).map(str::to_owned),
        hash: kernel["hash"].as_str()?.to_owned(),
        design: String::new(),
        settings,
        error: None,
        figures: Vec::new(),
        structures_pj: Vec::new(),
    })
}

/// The numbers of a design: those at its top before those of groups.
fn figures(design: &Value) -> Vec<(String, Number)> {
    let mut figures: Vec<(String, Number)> = flat(design)
        .into_iter()
        .filter_map(|(name, value)| match value {
            Value::Number(number) => Some((name, number)),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
        })
        .collect();
    figures.sort_by_key(|(name, _)| name.contains('.'));
    figures
}

/// What the structures of a design take: arrays of one name are one structure.
fn structures_pj(design: &Value) -> Vec<(String, Number)> {
    const TERMS: [&str; 4] = ["access_pj", "wires_pj", "clock_pj", "leakage_pj"];
    let arrays = design["energy"]["accesses"]["arrays"].as_array();
    let mut structures: Vec<(&str, f64)> = Vec::new();
    for array in arrays.into_iter().flatten() {
        let Some(name) = array["name"].as_str() else { continue };
        let pj: f64 = TERMS.iter().filter_map(|term| array[*term].as_f64()).sum();
        match structures.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += pj,
            None => structures.push((name, pj)),
        }
    }
    structures.into_iter().filter_map(|(name, pj)| Some((name.to_owned(), Number::from_f64(pj)?))).collect()
}

/// Every value of a tree that is no list, by dotted name.
pub fn flat(tree: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    if let Value::Object(map) = tree {
        add_flat("", map, &mut found);
    }
    found
}

fn add_flat(prefix: &str, map: &Map<String, Value>, found: &mut BTreeMap<String, Value>) {
    for (key, value) in map {
        let name = format!("{prefix}{key}");
        match value {
            Value::Object(inner) => add_flat(&format!("{name}."), inner, found),
            Value::Array(_) => {}
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                found.insert(name, value.clone());
            }
        }
    }
}

/// A value as it is written in a table: text without quotation marks, nothing for null.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_is_flattened_by_dotted_names_without_its_lists() {
        let tree = json!({ "a": 1, "b": { "c": "x", "d": { "e": 2.5 } }, "f": [1, 2], "g": null });
        let found: Vec<(String, String)> =
            flat(&tree).into_iter().map(|(name, value)| (name, plain(&value))).collect();
        let expected = [("a", "1"), ("b.c", "x"), ("b.d.e", "2.5"), ("g", "")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn figures_at_the_top_come_before_those_of_groups() {
        let design =
            json!({ "name": "rfc", "cycles": 9, "counters": { "rfc": { "reads": 3 } }, "activity": [1] });
        let names: Vec<String> = figures(&design).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["cycles", "counters.rfc.reads"]);
    }
}
