//! What circuits hold, as their manifests have it.

use anyhow::Result;
use serde_json::Value;
use warpfile_hdl::rtl::netlist::Netlist;

/// Bits of a field of a table of a circuit, in all rows; 0 if there is none.
pub fn field_bits(netlist: &Netlist, table: &str, field: &str) -> u64 {
    let tables = netlist.modules.iter().flat_map(|module| &module.tables).filter(|one| one.name == table);
    let bits = tables.flat_map(|table| {
        let fields = table.fields.iter().filter(|one| one.name == field);
        fields.map(|field| u64::from(table.depth) * u64::from(field.width))
    });
    bits.sum()
}

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
