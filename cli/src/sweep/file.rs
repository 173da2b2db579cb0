//! A sweep in a TOML file: the options of the command line, without their dashes.

use std::path::Path;

use anyhow::{Context, bail};
use clap::{CommandFactory, Parser};
use toml::{Table, Value};

use super::What;
use crate::files::read_text;

/// Most bytes of such a file.
const MAX_BYTES: u64 = 1 << 20;

/// The words that a file stands for.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words {
    #[command(flatten)]
    what: What,
}

/// What a file says: `name = value` for each option `--name value`, lists for what commas separate, and parameters in a
/// table `[set]`.
///
/// # Errors
/// It cannot be read, or says something that the command line could not.
pub fn read(path: &Path) -> anyhow::Result<What> {
    let text = read_text(path, MAX_BYTES)?;
    let name = path.display();
    let file: Table = text
        .parse()
        .map_err(|error: toml::de::Error| anyhow::anyhow!("{name}: {}", error.to_string().trim()))?;
    let words = words(file).with_context(|| name.to_string())?;
    let parsed = Words::try_parse_from(words);
    let parsed = parsed.map_err(|error| anyhow::anyhow!("{name}: {}", message(&error)))?;
    Ok(parsed.what)
}

/// What clap says, without its advice on the command line.
fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).trim().to_owned()
}

fn words(file: Table) -> anyhow::Result<Vec<String>> {
    let command = Words::command();
    let accepted: Vec<&str> = command.get_arguments().filter_map(|argument| argument.get_long()).collect();
    let mut words = Vec::new();
    for (key, value) in file {
        if !accepted.contains(&key.as_str()) {
            bail!("`{key}` is no option of a sweep; accepted: {}", accepted.join(", "));
        }
        match value {
            Value::Table(parameters) if key == "set" => {
                for (parameter, value) in leaves("", parameters) {
                    words.push(format!("--set={parameter}={}", listed(&parameter, &value)?));
                }
            }
            Value::Boolean(true) => words.push(format!("--{key}")),
            Value::Boolean(false) => {}
            _ if key == "set" => {
                bail!("set = {value}: accepted: a table of parameters, as [set] with rfc.entries = [2, 4]")
            }
            value => words.push(format!("--{key}={}", listed(&key, &value)?)),
        }
    }
    Ok(words)
}

/// Every value with its dotted name.
fn leaves(prefix: &str, table: Table) -> Vec<(String, Value)> {
    let of_entry = |(key, value): (String, Value)| match value {
        Value::Table(inner) => leaves(&format!("{prefix}{key}."), inner),
        leaf => vec![(format!("{prefix}{key}"), leaf)],
    };
    table.into_iter().flat_map(of_entry).collect()
}

/// A value, or a list, as it is written on the command line.
fn listed(key: &str, value: &Value) -> anyhow::Result<String> {
    match value {
        Value::Array(list) => {
            let words = list.iter().map(|value| listed(key, value)).collect::<anyhow::Result<Vec<_>>>()?;
            Ok(words.join(","))
        }
        Value::String(text) => Ok(text.clone()),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Ok(value.to_string()),
        Value::Datetime(_) | Value::Table(_) => {
            bail!("{key} = {value}: accepted: a number, a word, or a list of these")
        }
    }
}
