//! What shells and `man` are told of the command, from its own description.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::files::OutputFolder;
use crate::output::print;

/// Arguments of `completions`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  warpfile completions bash >~/.local/share/bash-completion/completions/warpfile
  warpfile completions zsh >~/.zfunc/_warpfile
  warpfile completions fish >~/.config/fish/completions/warpfile.fish")]
pub struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  warpfile man -o man/man1 && man -M man warpfile-run")]
pub struct ManArguments {
    /// Folder for the pages, `warpfile.1` and one for each command.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

/// Prints what completes the words of `command` in a shell.
pub fn completions(arguments: &CompletionsArguments, mut command: Command) -> anyhow::Result<()> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    print(&String::from_utf8(script)?)
}

/// Writes manual pages of `command` and of its subcommands.
pub fn man(arguments: &ManArguments, mut command: Command) -> anyhow::Result<()> {
    command.build();
    let folder = OutputFolder::create(&arguments.out)?;
    let subcommands = command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help").cloned();
    let pages: Vec<(String, String)> =
        std::iter::once(command.clone()).chain(subcommands).map(page).collect::<anyhow::Result<_>>()?;
    folder.publish(pages.iter().map(|(name, text)| (name.as_str(), text.as_str())))
}

/// Name and text of a command's page.
fn page(command: Command) -> anyhow::Result<(String, String)> {
    let page = Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text).with_context(|| page.get_filename())?;
    Ok((page.get_filename(), String::from_utf8(text)?))
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
