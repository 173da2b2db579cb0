//! Where the scratchpad variables of a kernel lie that shares scratchpad, and how long each is in use.

use std::fmt::Write;

use super::insert::{InsertError, graph, may_share, shared_variables};
use super::ranges::{Ranges, UNKNOWN_BOUND};
use super::variables::Variables;
use super::{ScratchpadOptions, VariableSet};
use crate::ptx::ir::{Kernel, Place, Symbol};

/// The variables of a kernel that has been laid out and given `relssp`, as comments: their offsets and bytes, whether a block has
/// them for itself, and the instructions in their access ranges (§3.2.1), in the order in which these are executed; the variables
/// have been chosen in that of the PTX.
///
/// # Errors
/// The kernel has too many variables, or no graph.
pub fn table(kernel: &Kernel, options: ScratchpadOptions) -> Result<String, InsertError> {
    let bytes = u64::from(kernel.shared_bytes);
    if !may_share(kernel, options) {
        return Ok(format!(
            "// scratchpad: {bytes} bytes a block; with {} or fewer no block has to share\n",
            options.unlimited_bytes
        ));
    }
    let private = options.threshold.private(bytes);
    let variables = Variables::of(kernel)?;
    let cfg = graph(kernel)?;
    let ranges = Ranges::new(&cfg, &variables.accessed);
    let mut text = format!("// scratchpad: {bytes} bytes a block, the first {private} of them its own\n");
    text += "//  offset     bytes  whose         in range  variable\n";
    let mut symbols: Vec<(VariableSet, &Symbol)> = variables
        .variables
        .iter()
        .enumerate()
        .map(|(index, id)| (1 << index, &kernel.symbols[id.index()]))
        .collect();
    // Dynamic memory is behind the rest.
    symbols.sort_by_key(|(_, symbol)| match symbol.place {
        Place::Offset(offset) => offset,
        Place::DynamicShared | Place::Module(_) => u32::MAX,
    });
    for (variable, symbol) in symbols {
        let (offset, size, whose) = match symbol.place {
            Place::Offset(offset) => {
                let (start, end) = (u64::from(offset), u64::from(offset) + symbol.bytes);
                let whose = if end <= private {
                    "own"
                } else if start < private {
                    "in part own"
                } else {
                    "shared"
                };
                (offset.to_string(), symbol.bytes.to_string(), whose)
            }
            Place::DynamicShared | Place::Module(_) => ("behind".to_owned(), "dynamic".to_owned(), "shared"),
        };
        let instructions = ranges.instructions(variable);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "// {offset:>7} {size:>9}  {whose:11} {instructions:>10}  {}", symbol.name);
    }
    let of_set = ranges.instructions(shared_variables(kernel, &variables, options));
    let _ = writeln!(text, "// in the range of all that are shared: {of_set}");
    let _ = writeln!(
        text,
        "// in range: instructions between the first and the last access on the path with the most of them, a loop {UNKNOWN_BOUND} times"
    );
    Ok(text)
}
