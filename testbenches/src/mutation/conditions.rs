//! Mutants of what an associative port looks for.

use warpfile_hdl::rtl::netlist::RowExpr;

/// Every expression that differs from `condition` in one operation, with what was changed.
pub(super) fn mutants(condition: &RowExpr) -> Vec<(&'static str, RowExpr)> {
    let mut all = here(condition);
    match condition {
        RowExpr::Field(_) | RowExpr::Valid | RowExpr::Outer(_) | RowExpr::PerRow(_) => {}
        RowExpr::Slice(a, low, width) => {
            below(&mut all, a, |a| RowExpr::Slice(a, *low, *width));
        }
        RowExpr::Not(a) => below(&mut all, a, RowExpr::Not),
        RowExpr::And(a, b) => both(&mut all, a, b, RowExpr::And),
        RowExpr::Or(a, b) => both(&mut all, a, b, RowExpr::Or),
        RowExpr::Eq(a, b) => both(&mut all, a, b, RowExpr::Eq),
        RowExpr::Lt(a, b) => both(&mut all, a, b, RowExpr::Lt),
    }
    all
}

/// Those in the outermost operation.
fn here(condition: &RowExpr) -> Vec<(&'static str, RowExpr)> {
    let not = || RowExpr::Not(Box::new(condition.clone()));
    match condition {
        RowExpr::Field(_) | RowExpr::Outer(_) | RowExpr::Slice(..) => Vec::new(),
        RowExpr::Valid => vec![("Valid becomes Invalid", not())],
        RowExpr::PerRow(_) => vec![("PerRow becomes its complement", not())],
        RowExpr::Not(a) => vec![("Not is left out", RowExpr::clone(a))],
        RowExpr::And(a, b) => vec![("And becomes Or", RowExpr::Or(a.clone(), b.clone()))],
        RowExpr::Or(a, b) => vec![("Or becomes And", RowExpr::And(a.clone(), b.clone()))],
        RowExpr::Eq(..) => vec![("Eq becomes Ne", not())],
        RowExpr::Lt(a, b) => vec![("Lt becomes Gt", RowExpr::Lt(b.clone(), a.clone()))],
    }
}

fn below(
    all: &mut Vec<(&'static str, RowExpr)>,
    operand: &RowExpr,
    around: impl Fn(Box<RowExpr>) -> RowExpr,
) {
    all.extend(mutants(operand).into_iter().map(|(what, operand)| (what, around(Box::new(operand)))));
}

fn both(
    all: &mut Vec<(&'static str, RowExpr)>,
    a: &RowExpr,
    b: &RowExpr,
    around: fn(Box<RowExpr>, Box<RowExpr>) -> RowExpr,
) {
    below(all, a, |a| around(a, Box::new(b.clone())));
    below(all, b, |b| around(Box::new(a.clone()), b));
}
