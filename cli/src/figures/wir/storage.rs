//! §VII-E: what the buffers and tables of an SM hold.

use anyhow::Result;
use warpfile_sim::config::{Config, apply_overrides, preset};

use super::RLPV;
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::storage::{field_bits, netlist_bits};

/// The circuits, and the KB of an SM that the paper gives for each (§VII-E).
const CIRCUITS: [(&str, Option<f64>); 8] = [
    ("rename_tables", Some(4.42)),
    ("reuse_buffer", Some(1.84)),
    ("value_signature_buffer", Some(1.34)),
    ("verify_cache", Some(1.01)),
    ("reference_counts", Some(1.25)),
    ("free_pool", None),
    ("retry_queue", None),
    ("load_guard", None),
];
/// All of them (§VII-E).
const ALL: f64 = 9.9;
/// Bits of a KB.
const KB: f64 = 8192.0;

/// The machine, with so many results a row of the reuse buffers.
fn machine(row_results: &str) -> Result<Config> {
    let mut config = preset("fermi-wir")?;
    apply_overrides(&mut config, &[("design", RLPV.name), ("wir.row_results", row_results)])?;
    Ok(config)
}

/// What an SM holds, KB.
struct Sizes {
    /// Each of the circuits, what the paper says, and what is here, but for `holds`.
    of_circuits: Vec<(&'static str, Option<f64>, f64)>,
    /// Counts of the instructions in flight that hold a register, which the paper does not have.
    holds: f64,
}

impl Sizes {
    fn of(config: &Config) -> Result<Sizes> {
        let netlists = config.design.circuits(config)?;
        let of_sm = |bits: u64| bits as f64 / KB;
        let mut sizes = Sizes { of_circuits: Vec::new(), holds: 0.0 };
        for (name, paper) in CIRCUITS {
            let (mut bits, mut holds) = (0, 0);
            for (circuit, netlist) in &netlists {
                // Of several schedulers of a partition each has a circuit with a number.
                let count = match circuit.strip_suffix(name).or(circuit.strip_suffix(&format!("{name}0"))) {
                    Some(_) if circuit.ends_with('0') => config.sm.schedulers,
                    Some(_) => config.partitions(),
                    None => continue,
                };
                bits += count * netlist_bits(netlist)?;
                holds += count * field_bits(netlist, "counts", "holds");
            }
            sizes.of_circuits.push((name, paper, of_sm(bits - holds)));
            sizes.holds += of_sm(holds);
        }
        Ok(sizes)
    }

    /// Of all circuits.
    fn all(&self) -> f64 {
        self.of_circuits.iter().map(|(.., here)| here).sum()
    }
}

/// The storage.
pub fn storage() -> Result<Content> {
    let (sizes, of_pairs) = (Sizes::of(&machine("1")?)?, Sizes::of(&machine("2")?)?);
    let mut table = Table::new("kilobytes", "Storage of an SM, KB")
        .column("structure", "structure")
        .real("paper", "paper", 2)
        .real("here", "here", 2);
    let mut claims = Vec::new();
    let mut claim = |key: &str, what: String, paper: f64, here: f64| {
        let number = Number::of("KB", key, what.clone(), Stated::exactly(paper), Some(here));
        let claim = Claim::new("§VII-E", format!("{what}: {paper} KB"), number.here_text());
        claims.push(claim.number(number));
    };
    for &(name, paper, here) in &sizes.of_circuits {
        table.row(vec![name.into(), paper.into(), here.into()]);
        if let Some(paper) = paper {
            claim(name, format!("storage of the {}", name.replace('_', " ")), paper, here);
        }
    }
    let all = sizes.all();
    table.row(vec!["all".into(), Cell::Real(ALL), Cell::Real(all)]);
    table.row(vec!["holds of instructions in flight".into(), None.into(), sizes.holds.into()]);
    claim("all", "storage of all".to_owned(), ALL, all);
    let names = sizes.of_circuits.iter().map(|(name, ..)| (*name).to_owned()).chain(["all".to_owned()]);
    let paper = sizes.of_circuits.iter().map(|(_, paper, _)| *paper).chain([Some(ALL)]);
    let here = sizes.of_circuits.iter().map(|(.., here)| Some(*here)).chain([Some(all)]);
    let drawn = Chart {
        title: "storage of an SM".to_owned(),
        x_label: String::new(),
        y_label: "KB".to_owned(),
        plot: Plot::Bars {
            groups: names.collect(),
            series: vec![Bars { paper: paper.collect(), ..Bars::new("here", here.collect()) }],
            stacked: false,
        },
    };
    Ok(Content {
        claims,
        tables: vec![table],
        notes: vec![
            "Tables and registers that the circuits' manifests list, for two schedulers. What registers keep between \
             cycles is counted too. Counts of the instructions in flight that hold a register are apart: the paper lists \
             tables and buffers only."
                .to_owned(),
            format!(
                "With two results a row (`wir.row_results` 2) all of it takes {:.2} KB: the second is a register and a valid bit.",
                of_pairs.all()
            ),
        ],
        charts: vec![drawn],
    })
}
