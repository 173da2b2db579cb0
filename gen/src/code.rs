//! Laying out Verilog text: indentation, line breaks, statements.

/// Columns after which a line is broken at a space.
const LINE_WIDTH: usize = 100;

/// Lines of Verilog, indented by four spaces a level.
#[derive(Default)]
pub(crate) struct Code {
    text: String,
    level: usize,
}

impl Code {
    /// Starts indented by `level` levels.
    pub(crate) fn at_level(level: usize) -> Code {
        Code { text: String::new(), level }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn indent(&mut self) {
        self.level += 1;
    }

    pub(crate) fn dedent(&mut self) {
        self.level -= 1;
    }

    /// One line at the current level; a long one continues two levels deeper.
    pub(crate) fn line(&mut self, line: &str) {
        let mut column = self.start_line(self.level);
        for (i, word) in line.split(' ').enumerate() {
            if i > 0 {
                if column + 1 + word.len() > LINE_WIDTH {
                    self.text.push('\n');
                    column = self.start_line(self.level + 2);
                } else {
                    self.text.push(' ');
                    column += 1;
                }
            }
            self.text.push_str(word);
            column += word.len();
        }
        self.text.push('\n');
    }

    fn start_line(&mut self, level: usize) -> usize {
        self.text.push_str(&"    ".repeat(level));
        4 * level
    }

    /// A line that is neither indented nor broken: a directive, or text already laid out.
    pub(crate) fn raw(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// An empty line, unless there is one already or nothing before it.
    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Takes back an empty line: what follows ends a block.
    pub(crate) fn no_blank(&mut self) {
        if self.text.ends_with("\n\n") {
            self.text.pop();
        }
    }

    pub(crate) fn append(&mut self, other: Code) {
        self.text.push_str(&other.text);
    }

    /// `begin` and `end` around `statements`, after `head` (`always @*`).
    pub(crate) fn process(&mut self, head: &str, statements: &[Statement]) {
        self.line(&format!("{head} begin"));
        self.indent();
        self.statements(statements);
        self.dedent();
        self.line("end");
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Assign(text) => self.line(text),
                Statement::If { condition, then, otherwise } => {
                    self.conditional("", condition, then, otherwise);
                }
            }
        }
    }

    fn conditional(&mut self, before: &str, condition: &str, then: &[Statement], otherwise: &[Statement]) {
        let open = self.branch(&format!("{before}if ({condition})"), then);
        let before = if open { "end else " } else { "else " };
        match otherwise {
            [] if open => self.line("end"),
            [] => {}
            [Statement::If { condition, then, otherwise }] => {
                self.conditional(before, condition, then, otherwise);
            }
            [_] | [_, _, ..] => {
                if self.branch(before.trim_end(), otherwise) {
                    self.line("end");
                }
            }
        }
    }

    /// Prints one branch after `head`; true if it was opened with a `begin` that is still to be closed.
    fn branch(&mut self, head: &str, statements: &[Statement]) -> bool {
        if let [Statement::Assign(text)] = statements
            && 4 * self.level + head.len() + 1 + text.len() <= LINE_WIDTH
        {
            self.line(&format!("{head} {text}"));
            return false;
        }
        self.line(&format!("{head} begin"));
        self.indent();
        self.statements(statements);
        self.dedent();
        true
    }
}

/// A procedural statement.
pub(crate) enum Statement {
    /// An assignment, with its semicolon.
    Assign(String),
    /// A condition with its branches; an empty `otherwise` prints no `else`.
    If { condition: String, then: Vec<Statement>, otherwise: Vec<Statement> },
}

impl Statement {
    /// `then` under `condition`.
    pub(crate) fn when(condition: String, then: Vec<Statement>) -> Statement {
        Statement::If { condition, then, otherwise: Vec::new() }
    }
}

/// `[7:0] ` for eight bits, nothing for one.
pub(crate) fn range(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assign(text: &str) -> Statement {
        Statement::Assign(text.to_string())
    }

    #[test]
    fn single_statements_stay_on_the_line_of_their_condition() {
        let mut code = Code::default();
        let otherwise = vec![Statement::when("b".into(), vec![assign("y <= 1;"), assign("z <= 1;")])];
        code.process(
            "always @*",
            &[Statement::If { condition: "a".into(), then: vec![assign("y <= 0;")], otherwise }],
        );
        let expected = "always @* begin\n    if (a) y <= 0;\n    else if (b) begin\n        y <= 1;\n        \
                        z <= 1;\n    end\nend\n";
        assert_eq!(code.into_text(), expected);
    }

    #[test]
    fn long_lines_break_at_spaces() {
        let mut code = Code::default();
        code.line(&format!("assign x = {{{}}};", ["some_signal_name"; 12].join(", ")));
        let text = code.into_text();
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|l| l.len() <= LINE_WIDTH));
    }
}
