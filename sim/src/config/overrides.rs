//! Values laid over a configuration, each checked against its parameter before it is taken.

use toml::{Table, Value};

use super::{Accepted, Config, ConfigError, Parameter};
use crate::mechanisms::Registry;

/// Near names offered for an unknown one.
const SUGGESTIONS: usize = 3;
/// Least normalised edit similarity of a near name.
const LIKENESS: f64 = 0.6;

/// Sets parameters by dotted name, in order. Values are written as on the command line: `8`, `lru`, `true`.
pub fn apply_overrides(config: &mut Config, overrides: &[(&str, &str)]) -> Result<(), ConfigError> {
    let parameters = Config::parameters(config.registry());
    let mut tree = config.to_tree();
    for (key, text) in overrides {
        let origin = "--set";
        let parameter = find(&parameters, origin, key)?;
        // The name of what the values started from does not change with them.
        if parameter.name == "preset" && *text != config.preset {
            return Err(ConfigError::Invalid {
                origin: origin.to_owned(),
                key: parameter.name.clone(),
                value: (*text).to_owned(),
                accepted: format!("{}; --preset takes another", config.preset),
            });
        }
        let value = parse(parameter, origin, text)?;
        set(&mut tree, parameter, origin, value)?;
    }
    *config = Config::from_tree(config.registry(), "--set", tree)?;
    Ok(())
}

/// Sets the parameters that a TOML file holds. `origin` is the file's name, for error messages.
pub fn apply_file(config: &mut Config, origin: &str, text: &str) -> Result<(), ConfigError> {
    let mut tree = config.to_tree();
    lay_over(config.registry(), &mut tree, origin, text)?;
    *config = Config::from_tree(config.registry(), origin, tree)?;
    Ok(())
}

/// A configuration from a file that holds every parameter but those of mechanisms, which have defaults.
pub(super) fn whole_config(registry: &Registry, origin: &str, text: &str) -> Result<Config, ConfigError> {
    let mut tree = Table::new();
    lay_over(registry, &mut tree, origin, text)?;
    let sections = registry.sections();
    for parameter in Config::parameters(registry) {
        let section = parameter.name.split('.').next();
        let has_default = sections.iter().any(|known| section == Some(known.name));
        if !has_default && get(&tree, &parameter.name).is_none() {
            return Err(ConfigError::Missing { origin: origin.to_owned(), key: parameter.name });
        }
    }
    Config::from_tree(registry, origin, tree)
}

fn lay_over(registry: &Registry, tree: &mut Table, origin: &str, text: &str) -> Result<(), ConfigError> {
    let parameters = Config::parameters(registry);
    let mut file: Table = text.parse().map_err(|error: toml::de::Error| syntax(origin, &error))?;
    if let Some(stack) = file.remove("stack") {
        let design = joined(&stack).ok_or_else(|| invalid(&stack_parameter(), origin, &shown(&stack)))?;
        file.insert("design".to_owned(), Value::String(design));
    }
    for (key, value) in leaves(file) {
        let parameter = find(&parameters, origin, &key)?;
        set(tree, parameter, origin, value)?;
    }
    Ok(())
}

/// `stack = ["two-level", "banked"]` is another way to write `design = "two-level+banked"`.
fn joined(stack: &Value) -> Option<String> {
    let names: Option<Vec<&str>> = stack.as_array()?.iter().map(Value::as_str).collect();
    Some(names?.join("+"))
}

fn stack_parameter() -> Parameter {
    Parameter { name: "stack".to_owned(), doc: String::new(), accepted: Accepted::Stack }
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
        Accepted::Word(_) | Accepted::Stack | Accepted::Text => Some(Value::String(text.to_owned())),
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
        (Accepted::Flag, Value::Boolean(_)) | (Accepted::Stack | Accepted::Text, Value::String(_)) => true,
        (Accepted::Word(words), Value::String(word)) => words.contains(&word.as_str()),
        (
            Accepted::Integer { .. }
            | Accepted::Real { .. }
            | Accepted::Flag
            | Accepted::Word(_)
            | Accepted::Stack
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

pub(super) fn syntax(origin: &str, error: &toml::de::Error) -> ConfigError {
    ConfigError::Syntax { origin: origin.to_owned(), message: error.to_string().trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::preset;
    use super::*;
    use crate::mechanisms::rfc;

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
        let read = Config::from_toml(config.registry(), "again.toml", &config.to_toml()).expect("complete");
        assert_eq!(read, config);
    }

    #[test]
    fn every_parameter_is_documented_and_reaches_the_configuration() {
        let tree = gebhart().to_tree();
        for parameter in Config::parameters(&Registry::shipped()) {
            assert!(!parameter.doc.is_empty(), "{} has no documentation", parameter.name);
            assert!(get(&tree, &parameter.name).is_some(), "{} is not stored", parameter.name);
        }
        assert_eq!(leaves(tree).len(), Config::parameters(&Registry::shipped()).len());
    }

    #[test]
    fn an_override_changes_its_parameter_only() {
        let mut config = gebhart();
        apply_overrides(&mut config, &[("rfc.entries", "13")]).expect("accepted");
        let mut expected = gebhart();
        expected.edit(|rfc: &mut rfc::Parameters| rfc.entries = 13);
        assert_eq!(config, expected);
    }

    #[test]
    fn the_preset_is_not_set_as_a_value() {
        let error = "--set: preset = x is not accepted; accepted: gebhart2011; --preset takes another";
        assert_eq!(error_of("preset", "x"), error);
    }

    #[test]
    fn an_unknown_parameter_lists_near_names() {
        assert_eq!(
            error_of("rfc.entires", "6"),
            "--set: unknown parameter \"rfc.entires\"; near names: rfc.entries, hybrid.entries, rsp.entries"
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
        assert_eq!(config.of::<rfc::Parameters>().entries, 4);
        let wrong = apply_file(&mut config, "mine.toml", "[rfc]\nentries = \"4\"\n");
        assert!(wrong.expect_err("text is no number").to_string().starts_with("mine.toml: rfc.entries"));
        let broken = apply_file(&mut config, "mine.toml", "[rfc\n").expect_err("not TOML").to_string();
        assert!(broken.starts_with("mine.toml: ") && broken.contains("line 1"), "{broken}");
        let scalar = apply_file(&mut config, "mine.toml", "rfc = 3\n").expect_err("a section");
        assert!(scalar.to_string().contains("unknown parameter \"rfc\""));
    }

    #[test]
    fn a_file_that_lacks_a_parameter_is_not_a_whole_configuration() {
        let text = gebhart().to_toml().replace("\nrows = 256\n", "\n");
        let error =
            Config::from_toml(&Registry::shipped(), "part.toml", &text).expect_err("incomplete").to_string();
        assert_eq!(error, "part.toml: parameter \"register_file.rows\" is missing");
    }

    #[test]
    fn a_mechanisms_parameters_have_defaults() {
        let text = gebhart().to_toml().replace("entries = 6\n", "");
        let config = Config::from_toml(&Registry::shipped(), "part.toml", &text).expect("complete");
        assert_eq!(config.of::<rfc::Parameters>().entries, 6);
    }

    #[test]
    fn a_stack_is_another_way_to_write_a_design() {
        let mut config = gebhart();
        apply_file(&mut config, "mine.toml", "stack = [\"two-level\", \"rfc\"]\n").expect("accepted");
        assert_eq!(config.design.to_string(), "rfc");
        let error = apply_file(&mut config, "mine.toml", "stack = [3]\n").expect_err("numbers").to_string();
        assert!(error.starts_with("mine.toml: stack = [3] is not accepted"), "{error}");
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
