//! Pages for a browser: charts, tables, filters and where they come from, in one file that needs no network.
//!
//! A page is data: sections as JSON, which the scripts in `assets` draw. Charts are those of figures
//! ([`Chart`]), drawn by Apache ECharts ([decision 158](../../../docs/decisions/0158-pages-for-a-browser.md)).

pub mod compare;
pub mod figure;
pub mod runs;
pub mod timeline;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::figures::chart::Chart;
use crate::files::Output;
use crate::identity::{COMMIT, VERSION};
use crate::shell::quoted;
use runs::Runs;
use timeline::OverTime;

const TEMPLATE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");
const ECHARTS: &str = include_str!("assets/echarts.min.js");
/// In the order in which they lean on each other.
const SCRIPTS: [&str; 6] = [
    include_str!("assets/base.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/runs.js"),
    include_str!("assets/timelines.js"),
    include_str!("assets/page.js"),
];

/// Where a page goes, of a command that can make one.
#[derive(Clone, Default, clap::Args)]
pub struct HtmlArguments {
    /// Write a page for a browser to this file: charts and tables to filter and sort, in one file that needs no network.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl HtmlArguments {
    /// Starts the file, so that one that cannot be written is found out at once.
    ///
    /// # Errors
    /// There cannot be such a file.
    pub fn create(&self) -> anyhow::Result<Option<Output>> {
        self.html.as_deref().map(Output::create).transpose()
    }
}

/// A page.
#[derive(Serialize)]
pub struct Page {
    title: String,
    sections: Vec<Section>,
    made_by: String,
}

/// A part of a page.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Section {
    /// A heading, and what is said below it.
    Heading {
        /// The heading.
        title: String,
        /// Paragraphs.
        text: Vec<String>,
    },
    /// Words for a terminal.
    Command {
        /// What they do.
        title: &'static str,
        /// The words.
        command: String,
    },
    /// Paragraphs that can be folded away.
    Text {
        /// What they are about.
        title: String,
        /// The paragraphs.
        text: Vec<String>,
    },
    /// Boxes that take kernels or series out of all charts and tables.
    Filters {
        /// One for each dimension.
        filters: Vec<Filter>,
    },
    /// Charts side by side.
    Charts {
        /// The charts.
        charts: Vec<Chart>,
    },
    /// A table whose rows can be sorted.
    Table(Table),
    /// Runs to look around in.
    Runs(Runs),
    /// What happens in runs over time, one of them at a time.
    Timelines {
        /// The runs.
        runs: Vec<OverTime>,
    },
}

/// Values that can be taken out.
#[derive(Serialize)]
pub struct Filter {
    /// `kernel` or `series`.
    pub dimension: &'static str,
    /// As it is called.
    pub title: &'static str,
    /// The values.
    pub values: Vec<String>,
}

/// A table.
#[derive(Serialize)]
pub struct Table {
    /// Above it.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// A value for each column; `null` if there is none.
    pub rows: Vec<Vec<Value>>,
}

/// A column of a table.
#[derive(Serialize)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Words, which keep to the left.
    pub text: bool,
    /// Decimals of its numbers; as many as they need if `None`.
    pub decimals: Option<usize>,
    /// What its values are filtered by.
    pub dimension: Option<&'static str>,
}

impl Column {
    /// A column of words.
    pub fn text(name: impl Into<String>) -> Column {
        Column { name: name.into(), text: true, decimals: None, dimension: None }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Column {
        Column { name: name.into(), text: false, decimals: None, dimension: None }
    }
}

impl Page {
    /// A page of these sections.
    pub fn new(title: impl Into<String>, sections: Vec<Section>) -> Page {
        let commit = COMMIT.map(|commit| format!(", commit {commit}")).unwrap_or_default();
        Page { title: title.into(), sections, made_by: format!("Made by warpfile {VERSION}{commit}.") }
    }

    /// The whole file.
    ///
    /// # Errors
    /// Something in it is not JSON.
    pub fn to_html(&self) -> anyhow::Result<String> {
        // In a script element only `<` can end it.
        let data = serde_json::to_string(self)?.replace('<', "\\u003c");
        let parts = [
            ("title", &*escaped(&self.title)),
            ("style", STYLE),
            ("data", &data),
            ("echarts", ECHARTS),
            ("script", &SCRIPTS.concat()),
        ];
        Ok(filled(TEMPLATE, &parts))
    }

    /// Writes the file under its name.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn publish(&self, mut file: Output) -> anyhow::Result<()> {
        file.write(&self.to_html()?)?;
        file.publish()
    }
}

/// A template with its `{{name}}` replaced. What is put in is not looked at again: it may hold such names itself.
fn filled(template: &str, parts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
    {
        out += before;
        out += parts.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
        rest = after;
    }
    out + rest
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The words that this command was called with, as a shell takes them.
pub fn own_command() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("warpfile".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
