//! Area and leakage by the parts of the structures.

use warpfile_sim::energy::structure::Part;
use warpfile_sim::mechanisms::regless::structures::RegisterStructure;

use super::{Structures, by_capacity};
use crate::figures::chart::{Bars, Chart};
use crate::figures::report::{Cell, Table};

/// A quantity of which every part has a share.
pub(super) struct Quantity {
    /// Of one part.
    pub of: fn(&Part) -> f64,
    /// Unit, as in keys.
    unit: &'static str,
    heading: &'static str,
    decimals: usize,
}

pub(super) const AREA: Quantity =
    Quantity { of: |part| part.area_um2 / 1e6, unit: "mm2", heading: "mm²", decimals: 4 };
pub(super) const LEAKAGE: Quantity =
    Quantity { of: |part| part.leakage_mw, unit: "mw", heading: "mW", decimals: 2 };

/// Parts that are shown together: heading, key, and whether a part belongs to them.
const GROUPS: [(&str, &str); 4] = [
    ("registers", "registers"),
    ("tags", "tags"),
    ("copies in memory", "copies"),
    ("compressor", "compressor"),
];

/// Index in [`GROUPS`].
fn group(part: &Part) -> usize {
    let named = GROUPS.iter().position(|(heading, _)| *heading == part.name);
    // What is not of the staging unit is of the compressor.
    named.unwrap_or(GROUPS.len() - 1)
}

impl Quantity {
    fn of_group(&self, structure: &RegisterStructure, wanted: usize) -> Option<f64> {
        let parts = structure.parts.iter().filter(|part| group(part) == wanted);
        parts.map(self.of).reduce(|sum, of_part| sum + of_part)
    }

    pub fn sum(&self, structure: &RegisterStructure) -> f64 {
        structure.parts.iter().map(self.of).sum()
    }

    pub fn normalised(&self, structure: &RegisterStructure, to: &RegisterStructure) -> f64 {
        self.sum(structure) / self.sum(to)
    }

    /// A row for each structure: its parts, their sum, and that relative to the baseline's.
    pub fn table(&self, structures: &Structures, key: &'static str, title: &str) -> Table {
        let mut table = Table::new(key, title)
            .column("structure", "structure")
            .column("lines", "lines an SM")
            .column("entries", "lines a bank")
            .column("origin", "registers from");
        for (heading, group_key) in GROUPS {
            let key = format!("{group_key}_{}", self.unit);
            table = table.real(key, format!("{heading}, {}", self.heading), self.decimals);
        }
        table = table
            .real(format!("sum_{}", self.unit), format!("sum, {}", self.heading), self.decimals)
            .real("normalised", "normalised", 3)
            .real("normalised_registers", "registers alone", 3)
            .real("normalised_fewer_compressed", "with 4 compressed lines", 3)
            .real("normalised_to_1rw", "normalised to 1rw", 3);
        for (index, (name, structure)) in structures.named().enumerate() {
            let registers = &structure.parts[0];
            let baseline = &structures.baseline;
            let fewer = structures.fewer_compressed.get(index);
            let mut row: Vec<Cell> = vec![
                name.into(),
                u64::from(structure.lines).into(),
                u64::from(registers.entries).into(),
                registers.source.as_str().into(),
            ];
            row.extend((0..GROUPS.len()).map(|group| Cell::from(self.of_group(structure, group))));
            row.extend([
                Cell::from(self.sum(structure)),
                self.normalised(structure, baseline).into(),
                ((self.of)(registers) / self.sum(baseline)).into(),
                fewer.map(|fewer| self.normalised(fewer, baseline)).into(),
                self.normalised(structure, &structures.single).into(),
            ]);
            table.row(row);
        }
        table
    }

    /// The parts on top of each other, relative to the baseline.
    pub fn chart(&self, structures: &Structures, title: &str) -> Chart {
        let whole = self.sum(&structures.baseline);
        let bars = GROUPS.iter().enumerate().map(|(group, (heading, _))| {
            let of = |structure| self.of_group(structure, group).map(|sum| sum / whole);
            Bars::new(*heading, structures.staging.iter().chain([&structures.baseline]).map(of).collect())
        });
        by_capacity(title, "relative to the register file", bars.collect(), true)
    }
}
