//! Syntax to the typed form: names resolved, types checked, calls inlined, variables laid out.

mod arithmetic;
mod call;
mod control;
mod data;
mod form;
mod kernel;
mod left_out;
mod matrix;
mod memory;
mod module;
mod operand;
mod promote;
mod rules;
mod scope;
mod system;

use super::ast::File;
use super::error::Reporter;
use super::ir::{Module, Refused};

/// The module of a file. What is wrong with it is reported, and the result then meaningless; what is wrong with one entry
/// is kept with that one.
pub(super) fn lower(file: &str, syntax: &File<'_>, reporter: &mut Reporter) -> Module {
    let scope = module::ModuleScope::new(syntax, reporter);
    let (mut kernels, mut refused) = (Vec::new(), Vec::new());
    for function in syntax.functions.iter().filter(|function| function.entry) {
        let mut own = reporter.of_part();
        kernels.extend(kernel::lower(&scope, function, &mut own));
        if let Err(errors) = own.finish() {
            refused.push(Refused { name: function.name.to_owned(), line: function.line, errors });
        }
    }
    if reporter.is_clean() && kernels.is_empty() && refused.is_empty() {
        reporter.report(1, "", "the file has no .entry with a body; accepted: at least one");
    }
    Module { file: file.to_owned(), variables: scope.variables, kernels, refused }
}
