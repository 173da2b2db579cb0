//! Values laid over a configuration, each checked against its parameter before it is taken.

use toml::{Table, Value};

use super::{Accepted, Config, ConfigError, Parameter};

/// Near names offered for an unknown one.
const SUGGESTIONS: usize = 3;
/// Least normalised edit similarity of a near name.
const LIKENESS: f64 = 0.6;

/// Sets parameters by dotted name, in order. Values are written as on the command line: `8`, `lru`, `true`.
pub fn apply_overrides(config: &mut Config, overrides: &[(&str, &str)]) -> Result<(), ConfigError> {
    let parameters = Config::parameters();
    let mut tree = tree_of(config);
    for (key, text) in overrides {
        let origin = "--set";
        let parameter = find(&parameters, origin, key)?;
        let value = parse(parameter, origin, text)?;
        set(&mut tree, parameter, origin, value)?;
    }
    *config = config_of("--set", tree)?;
    Ok(())
}

/// Sets the parameters that a TOML file holds. `origin` is the file's name, for error messages.
pub fn apply_file(config: &mut Config, origin: &str, text: &str) -> Result<(), ConfigError> {
    let mut tree = tree_of(config);
    lay_over(&mut tree, origin, text)?;
    *config = config_of(origin, tree)?;
    Ok(())
}

/// A configuration from a file that holds every parameter.
pub(super) fn whole_config(origin: &str, text: &str) -> Result<Config, ConfigError> {
    let mut tree = Table::new();
    lay_over(&mut tree, origin, text)?;
    for parameter in Config::parameters() {
        if get(&tree, &parameter.name).is_none() {
            return Err(ConfigError::Missing { origin: origin.to_owned(), key: parameter.name });
        }
    }
    config_of(origin, tree)
}

fn lay_over(tree: &mut Table, origin: &str, text: &str) -> Result<(), ConfigError> {
    let parameters = Config::parameters();
    let file: Table = text.parse().map_err(|error: toml::de::Error| syntax(origin, &error))?;
    for (key, value) in leaves(file) {
        let parameter = find(&parameters, origin, &key)?;
        set(tree, parameter, origin, value)?;
    }
    Ok(())
}

/// Every value of a tree with its dotted name, in file order within a table.
fn leaves(table: Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(leaves(inner).into_iter().map(|(rest, v)| (format!("{key}.{rest}"), v)));
            }
            leaf => found.push((key, leaf)),
        }
    }
    found
}

fn find<'p>(parameters: &'p [Parameter], origin: &str, key: &str) -> Result<&'p Parameter, ConfigError> {
    parameters.iter().find(|parameter| parameter.name == key).ok_or_else(|| ConfigError::UnknownParameter {
        origin: origin.to_owned(),
        key: key.to_owned(),
        near: near_names(parameters, key),
    })
}

/// `; near names: …`: names that resemble `key` as a whole or in their last part.
fn near_names(parameters: &[Parameter], key: &str) -> String {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let likeness = |name: &str| {
        let whole = strsim::normalized_damerau_levenshtein(name, key);
        whole.max(strsim::normalized_damerau_levenshtein(&last(name), &last(key)))
    };
    let mut near: Vec<_> = parameters
        .iter()
        .map(|parameter| (likeness(&parameter.name), parameter.name.as_str()))
        .filter(|(likeness, _)| *likeness > LIKENESS)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let names: Vec<_> = near.into_iter().take(SUGGESTIONS).map(|(_, name)| name).collect();
    if names.is_empty() { String::new() } else { format!("; near names: {}", names.join(", ")) }
}

/// A command-line value as the parameter's type.
fn parse(parameter: &Parameter, origin: &str, text: &str) -> Result<Value, ConfigError> {
    let value = match parameter.accepted {
        Accepted::Integer { .. } => text.parse().map(Value::Integer).ok(),
        Accepted::Real { .. } => text.parse().map(Value::Float).ok(),
        Accepted::Flag => text.parse().map(Value::Boolean).ok(),
        Accepted::Word(_) | Accepted::Text => Some(Value::String(text.to_owned())),
    };
    value.ok_or_else(|| invalid(parameter, origin, text))
}

fn set(tree: &mut Table, parameter: &Parameter, origin: &str, value: Value) -> Result<(), ConfigError> {
    let value = check(parameter, origin, value)?;
    match parameter.name.split_once('.') {
        None => {
            tree.insert(parameter.name.clone(), value);
        }
        Some((section, field)) => {
            let entry = tree.entry(section).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(section) = entry {
                section.insert(field.to_owned(), value);
            }
        }
    }
    Ok(())
}

fn get<'t>(tree: &'t Table, name: &str) -> Option<&'t Value> {
    match name.split_once('.') {
        None => tree.get(name),
        Some((section, field)) => tree.get(section)?.get(field),
    }
}

/// The value if the parameter accepts it; a whole number is taken for a real one.
fn check(parameter: &Parameter, origin: &str, value: Value) -> Result<Value, ConfigError> {
    let accepted = match (parameter.accepted, &value) {
        (Accepted::Integer { low, high }, Value::Integer(number)) => {
            u64::try_from(*number).is_ok_and(|number| (low..=high).contains(&number))
        }
        (Accepted::Real { low, high }, Value::Float(number)) => (low..=high).contains(number),
        (Accepted::Real { low, high }, Value::Integer(number)) => {
            let number = *number as f64;
            if (low..=high).contains(&number) {
                return Ok(Value::Float(number));
            }
            false
        }
        (Accepted::Flag, Value::Boolean(_)) | (Accepted::Text, Value::String(_)) => true,
        (Accepted::Word(words), Value::String(word)) => words.contains(&word.as_str()),
        (
            Accepted::Integer { .. }
            | Accepted::Real { .. }
            | Accepted::Flag
            | Accepted::Word(_)
            | Accepted::Text,
            Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::String(_)
            | Value::Datetime(_)
            | Value::Array(_)
            | Value::Table(_),
        ) => false,
    };
    if accepted { Ok(value) } else { Err(invalid(parameter, origin, &shown(&value))) }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn invalid(parameter: &Parameter, origin: &str, value: &str) -> ConfigError {
    ConfigError::Invalid {
        origin: origin.to_owned(),
        key: parameter.name.clone(),
        value: value.to_owned(),
        accepted: parameter.accepted.to_string(),
    }
}

fn syntax(origin: &str, error: &toml::de::Error) -> ConfigError {
    ConfigError::Syntax { origin: origin.to_owned(), message: error.to_string().trim().to_owned() }
}

fn tree_of(config: &Config) -> Table {
    Table::try_from(config).expect("a configuration holds only tables, numbers, flags and text")
}

fn config_of(origin: &str, tree: Table) -> Result<Config, ConfigError> {
    tree.try_into().map_err(|error: toml::de::Error| syntax(origin, &error))
}

#[cfg(test)]
mod tests {
    use super::super::preset;
    use super::*;

    fn gebhart() -> Config {
        preset("gebhart2011").expect("the preset is complete")
    }

    fn error_of(key: &str, value: &str) -> String {
        apply_overrides(&mut gebhart(), &[(key, value)]).expect_err("must be rejected").to_string()
    }

    #[test]
    fn every_preset_is_complete_and_consistent() {
        for name in super::super::preset_names() {
            let config = preset(name).expect("complete");
            config.validate().expect("consistent");
            assert_eq!(config.preset, name);
        }
    }

    #[test]
    fn a_configuration_written_and_read_again_is_equal() {
        let mut config = gebhart();
        apply_overrides(&mut config, &[("rfc.replacement", "lru"), ("energy.rfc_to_alu_mm", "1")])
            .expect("accepted");
        let read = Config::from_toml("again.toml", &config.to_toml()).expect("complete");
        assert_eq!(read, config);
    }

    #[test]
    fn every_parameter_is_documented_and_reaches_the_configuration() {
        let tree = tree_of(&gebhart());
        for parameter in Config::parameters() {
            assert!(!parameter.doc.is_empty(), "{} has no documentation", parameter.name);
            assert!(get(&tree, &parameter.name).is_some(), "{} is not stored", parameter.name);
        }
        assert_eq!(leaves(tree).len(), Config::parameters().len());
    }

    #[test]
    fn an_override_changes_its_parameter_only() {
        let mut config = gebhart();
        apply_overrides(&mut config, &[("rfc.entries", "13")]).expect("accepted");
        let mut expected = gebhart();
        expected.rfc.entries = 13;
        assert_eq!(config, expected);
    }

    #[test]
    fn an_unknown_parameter_lists_near_names() {
        assert_eq!(
            error_of("rfc.entires", "6"),
            "--set: unknown parameter \"rfc.entires\"; near names: rfc.entries"
        );
        assert!(error_of("active_warps", "6").contains("scheduler.active_warps"));
        assert_eq!(error_of("zzz", "6"), "--set: unknown parameter \"zzz\"");
    }

    #[test]
    fn a_value_out_of_range_names_the_range() {
        assert_eq!(
            error_of("rfc.entries", "17"),
            "--set: rfc.entries = 17 is not accepted; accepted: a whole number from 1 to 16"
        );
        assert_eq!(
            error_of("rfc.entries", "many"),
            "--set: rfc.entries = many is not accepted; accepted: a whole number from 1 to 16"
        );
        assert_eq!(
            error_of("rfc.replacement", "random"),
            "--set: rfc.replacement = random is not accepted; accepted: fifo, lru"
        );
    }

    #[test]
    fn a_file_overrides_and_its_errors_name_it() {
        let mut config = gebhart();
        apply_file(&mut config, "mine.toml", "[rfc]\nentries = 4\n").expect("accepted");
        assert_eq!(config.rfc.entries, 4);
        let wrong = apply_file(&mut config, "mine.toml", "[rfc]\nentries = \"4\"\n");
        assert!(wrong.expect_err("text is no number").to_string().starts_with("mine.toml: rfc.entries"));
        let broken = apply_file(&mut config, "mine.toml", "[rfc\n").expect_err("not TOML").to_string();
        assert!(broken.starts_with("mine.toml: ") && broken.contains("line 1"), "{broken}");
        let scalar = apply_file(&mut config, "mine.toml", "rfc = 3\n").expect_err("a section");
        assert!(scalar.to_string().contains("unknown parameter \"rfc\""));
    }

    #[test]
    fn a_file_that_lacks_a_parameter_is_not_a_whole_configuration() {
        let text = gebhart().to_toml().replace("entries = 6\n", "");
        let error = Config::from_toml("part.toml", &text).expect_err("incomplete").to_string();
        assert_eq!(error, "part.toml: parameter \"rfc.entries\" is missing");
    }

    #[test]
    fn parameters_that_contradict_each_other_are_named() {
        let mut config = gebhart();
        config.scheduler.active_warps = 33;
        let error = config.validate().expect_err("more than there are warps").to_string();
        assert!(error.contains("scheduler.active_warps = 33"), "{error}");
        assert!(error.contains("at most sm.warps = 32"), "{error}");
    }
}
