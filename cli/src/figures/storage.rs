//! What circuits hold, as their manifests have it.

use anyhow::Result;
use serde_json::Value;
use warpfile_hdl::rtl::netlist::Netlist;

/// Bits of the tables and registers that a circuit's manifest lists.
pub fn netlist_bits(netlist: &Netlist) -> Result<u64> {
    let files = warpfile_gen::emit(netlist);
    let manifest: Value = serde_json::from_str(&files.manifest.text)?;
    let number = |of: &Value, name: &str| of[name].as_u64().unwrap_or(0);
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let bits = list(&manifest, "modules").into_iter().map(|module| {
        let tables = list(&module, "tables");
        let of_tables = tables.iter().map(|table| {
            number(table, "depth") * (number(table, "row_bits") + u64::from(table["valid_bits"] == true))
        });
        number(&module["registers"], "bits") + of_tables.sum::<u64>()
    });
    Ok(bits.sum())
}
