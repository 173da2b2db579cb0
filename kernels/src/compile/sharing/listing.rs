//! Where the scratchpad variables of a kernel lie that shares scratchpad, and how long each is in use.

use std::fmt::Write;

use super::insert::{InsertError, graph, may_share, shared_variables};
use super::ranges::{Ranges, UNKNOWN_BOUND};
use super::variables::Variables;
use super::{ScratchpadOptions, VariableSet};
use crate::ptx::ir::{Kernel, Place, Symbol};
use crate::ptx::readable;

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
    let shared = shared_variables(kernel, &variables, options);
    let mut symbols: Vec<(VariableSet, &Symbol)> = (variables.variables.iter().enumerate())
        .map(|(index, id)| (1 << index, &kernel.symbols[id.index()]))
        .collect();
    // Dynamic memory is behind the rest.
    symbols.sort_by_key(|(_, symbol)| match symbol.place {
        Place::Offset(offset) => offset,
        Place::DynamicShared | Place::Module(_) => u32::MAX,
    });
    let mut text = format!("// scratchpad: {bytes} bytes a block, the first {private} of them its own\n");
    text += "//  offset     bytes  whose         in range  variable\n";
    for (variable, symbol) in symbols {
        let (offset, bytes, begins_in_own) = match symbol.place {
            Place::Offset(offset) => {
                (offset.to_string(), symbol.bytes.to_string(), u64::from(offset) < private)
            }
            Place::DynamicShared | Place::Module(_) => ("behind".to_owned(), "dynamic".to_owned(), false),
        };
        let whose = match (shared & variable != 0, begins_in_own) {
            (false, _) => "own",
            (true, true) => "in part own",
            (true, false) => "shared",
        };
        let (instructions, name) = (ranges.instructions(variable), readable(&symbol.name));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "// {offset:>7} {bytes:>9}  {whose:11} {instructions:>10}  {name}");
    }
    let _ = writeln!(text, "// in the range of all that are shared: {}", ranges.instructions(shared));
    let _ = writeln!(
        text,
        "// in range: instructions between the first and the last access on the path with the most of them, a loop {UNKNOWN_BOUND} times"
    );
    Ok(text)
}
