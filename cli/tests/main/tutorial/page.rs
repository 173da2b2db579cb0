//! What a reader of `docs/tutorial.md` does, in the order of the page.

/// A step.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// A ```` ```console ```` block: commands behind `$ `, each with what it prints.
    Console(Vec<Command>),
    /// A ```` ```diff ```` block, for `git apply`.
    Patch { line: usize, text: String },
    /// A block with `file=NAME` behind its language: a new file.
    File { line: usize, name: String, text: String },
}

/// A command for bash; lines behind `> ` belong to the one before.
#[derive(Debug, PartialEq)]
pub struct Command {
    /// Line of the page.
    pub line: usize,
    /// As it is typed.
    pub text: String,
    /// Standard output and standard error. `...` stands for any text, in a line of its own for any lines.
    pub prints: Vec<String>,
}

/// The steps of a page. Blocks in other languages are there to be read.
pub fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines().zip(1..);
    while let Some((text, line)) = lines.next() {
        let Some(language) = text.strip_prefix("```") else { continue };
        let block: Vec<(&str, usize)> = lines.by_ref().take_while(|(text, _)| *text != "```").collect();
        let text = || block.iter().map(|(text, _)| format!("{text}\n")).collect();
        match language.split_once(" file=") {
            Some((_, name)) => steps.push(Step::File { line, name: name.to_owned(), text: text() }),
            None if language == "diff" => steps.push(Step::Patch { line, text: text() }),
            None if language == "console" => steps.push(Step::Console(commands(&block))),
            None => {}
        }
    }
    steps
}

fn commands(block: &[(&str, usize)]) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for &(text, line) in block {
        if let Some(command) = text.strip_prefix("$ ") {
            commands.push(Command { line, text: command.to_owned(), prints: Vec::new() });
            continue;
        }
        let command = commands.last_mut().unwrap_or_else(|| panic!("line {line}: output without a command"));
        match text.strip_prefix("> ") {
            Some(more) if command.prints.is_empty() => command.text = format!("{}\n{more}", command.text),
            _ => command.prints.push(text.trim_end().to_owned()),
        }
    }
    commands
}

/// Whether lines are as expected.
pub fn is_as_expected(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=found.len()).any(|skipped| is_as_expected(rest, &found[skipped..]))
        }
        Some((first, rest)) => {
            found.split_first().is_some_and(|(line, more)| fits(first, line) && is_as_expected(rest, more))
        }
    }
}

/// Whether a line is as expected, with any text for `...`. Columns are as wide as their widest cell, which may be a time.
fn fits(expected: &str, found: &str) -> bool {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let parts: Vec<&str> = expected.split("...").collect();
    let [first, between @ .., last] = &parts[..] else { return words(expected) == words(found) };
    let Some(mut rest) = found.strip_prefix(first) else { return false };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
