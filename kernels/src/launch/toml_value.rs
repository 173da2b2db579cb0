//! TOML values that know their line and key, so that every mistake is reported where it stands.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{LaunchError, Origin, suggest};
use super::expression::Expression;

/// A launch file's text, for turning spans into lines.
pub(super) struct Source<'a> {
    file: Arc<Path>,
    text: &'a str,
}

impl<'a> Source<'a> {
    pub(super) fn new(path: &Path, text: &'a str) -> Self {
        Source { file: path.into(), text }
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn origin(&self, offset: usize, key: String) -> Origin {
        Origin { file: self.file.clone(), line: self.line(offset), key }
    }
}

/// Parses the text into its root table.
pub(super) fn parse<'a>(source: &Source<'a>) -> Result<Spanned<DeTable<'a>>, LaunchError> {
    DeTable::parse(source.text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        source.origin(offset, String::new()).error(error.message())
    })
}

/// A table and where it stands.
#[derive(Clone)]
pub(super) struct Table<'a> {
    source: &'a Source<'a>,
    pub(super) origin: Origin,
    table: &'a DeTable<'a>,
}

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Value<'a> {
    source: &'a Source<'a>,
    pub(super) origin: Origin,
    value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    pub(super) fn root(source: &'a Source<'a>, table: &'a Spanned<DeTable<'a>>) -> Self {
        Table {
            source,
            origin: Origin { file: source.file.clone(), line: 0, key: String::new() },
            table: table.get_ref(),
        }
    }

    /// An error if it has a key that is not among `accepted`.
    pub(super) fn accept(&self, accepted: &[&str]) -> Result<(), LaunchError> {
        for (name, value) in self.entries() {
            if !accepted.contains(&name) {
                let near = suggest(name, accepted.iter().copied());
                return Err(value.origin.error(format!("unknown key{near}")));
            }
        }
        Ok(())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(self.child(key, value))
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &str) -> Result<Value<'a>, LaunchError> {
        self.get(key).ok_or_else(|| self.origin.error(format!("the key `{key}` is missing")))
    }

    /// All keys with their values, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(&'a str, Value<'a>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(|(key, value)| (key.get_ref().as_ref(), self.child(key, value))).collect()
    }

    fn child(&self, key: &'a Spanned<toml::de::DeString<'a>>, value: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        let name: &str = key.get_ref();
        let path =
            if self.origin.key.is_empty() { name.to_string() } else { format!("{}.{name}", self.origin.key) };
        Value {
            source: self.source,
            origin: self.source.origin(key.span().start, path),
            value: value.get_ref(),
        }
    }
}

impl<'a> Value<'a> {
    /// An error that says what was found and what is expected.
    pub(super) fn expected(&self, expected: &str) -> LaunchError {
        self.origin.error(format!("{} where {expected} is expected", self.found()))
    }

    fn found(&self) -> String {
        match self.value {
            DeValue::String(text) => format!("the string \"{text}\""),
            DeValue::Integer(number) => format!("the integer {number}"),
            DeValue::Float(number) => format!("the number {number}"),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Datetime(_) => "a date".to_string(),
            DeValue::Array(_) => "an array".to_string(),
            DeValue::Table(_) => "a table".to_string(),
        }
    }

    pub(super) fn string(&self) -> Result<&'a str, LaunchError> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    pub(super) fn as_string(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    pub(super) fn table(&self) -> Result<Table<'a>, LaunchError> {
        self.as_table().ok_or_else(|| self.expected("a table"))
    }

    pub(super) fn as_table(&self) -> Option<Table<'a>> {
        let table = self.value.as_table()?;
        Some(Table { source: self.source, origin: self.origin.clone(), table })
    }

    pub(super) fn array(&self) -> Result<Vec<Value<'a>>, LaunchError> {
        self.as_array().ok_or_else(|| self.expected("an array"))
    }

    pub(super) fn as_array(&self) -> Option<Vec<Value<'a>>> {
        let items = self.value.as_array()?;
        let item = |(index, item): (usize, &'a Spanned<DeValue<'a>>)| {
            let path = format!("{}[{index}]", self.origin.key);
            Value {
                source: self.source,
                origin: self.source.origin(item.span().start, path),
                value: item.get_ref(),
            }
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// An integer, written as a number.
    pub(super) fn integer(&self) -> Result<i64, LaunchError> {
        let DeValue::Integer(number) = self.value else {
            return Err(self.expected("an integer"));
        };
        i64::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| self.expected("an integer of 64 bits"))
    }

    /// Whether it is a number, written as such.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.value, DeValue::Integer(_) | DeValue::Float(_))
    }

    pub(super) fn boolean(&self) -> Result<bool, LaunchError> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// A finite real number, `None` if it is not written as one.
    pub(super) fn as_real(&self) -> Result<Option<f64>, LaunchError> {
        let DeValue::Float(number) = self.value else {
            return Ok(None);
        };
        match number.as_str().parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            Ok(_) | Err(_) => Err(self.expected("a finite number")),
        }
    }

    /// A number or a string with an expression.
    pub(super) fn real_expression(&self) -> Result<Expression, LaunchError> {
        match self.as_real()? {
            Some(value) => Ok(Expression::real(self.origin.clone(), value)),
            None => self.expression(),
        }
    }

    /// An integer or a string with an expression.
    pub(super) fn expression(&self) -> Result<Expression, LaunchError> {
        match self.value {
            DeValue::Integer(_) => Ok(Expression::number(self.origin.clone(), self.integer()?)),
            DeValue::String(text) => Expression::parse(self.origin.clone(), text),
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => Err(self.expected("an integer or an expression")),
        }
    }
}
