//! Syntax to the typed form: names resolved, types checked, calls inlined, variables laid out.

mod arithmetic;
mod call;
mod control;
mod data;
mod form;
mod kernel;
mod memory;
mod module;
mod operand;
mod promote;
mod rules;
mod scope;

use super::ast::File;
use super::error::Reporter;
use super::ir::Module;

/// The module of a file; what is wrong is reported, and the result then meaningless.
pub(super) fn lower(file: &str, syntax: &File<'_>, reporter: &mut Reporter) -> Module {
    let scope = module::ModuleScope::new(syntax, reporter);
    let mut kernels = Vec::new();
    for function in syntax.functions.iter().filter(|function| function.entry) {
        if reporter.is_full() {
            break;
        }
        kernels.extend(kernel::lower(&scope, function, reporter));
    }
    if reporter.is_clean() && kernels.is_empty() {
        reporter.report(1, "", "the file has no .entry with a body; accepted: at least one");
    }
    Module { file: file.to_owned(), variables: scope.variables, kernels }
}
