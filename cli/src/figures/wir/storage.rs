//! §VII-E: what the buffers and tables of an SM hold.

use anyhow::Result;
use warpfile_sim::config::{Config, apply_overrides, preset};

use super::RLPV;
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::storage::netlist_bits;

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

/// Each of the circuits, what the paper says, and the KB of an SM here.
fn sizes(config: &Config) -> Result<Vec<(&'static str, Option<f64>, f64)>> {
    let netlists = config.design.circuits(config)?;
    let schedulers = config.sm.schedulers as f64;
    let mut sizes = Vec::new();
    for (name, paper) in CIRCUITS {
        let of_name = netlists.iter().filter(|(circuit, _)| circuit.ends_with(name));
        let bits: Vec<u64> = of_name.map(|(_, netlist)| netlist_bits(netlist)).collect::<Result<_>>()?;
        sizes.push((name, paper, schedulers * bits.iter().sum::<u64>() as f64 / KB));
    }
    Ok(sizes)
}

/// The storage.
pub fn storage() -> Result<Content> {
    let (sizes, of_pairs) = (sizes(&machine("1")?)?, sizes(&machine("2")?)?);
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
    for &(name, paper, here) in &sizes {
        table.row(vec![name.into(), paper.into(), here.into()]);
        if let Some(paper) = paper {
            claim(name, format!("storage of the {}", name.replace('_', " ")), paper, here);
        }
    }
    let total = |sizes: &[(&str, Option<f64>, f64)]| sizes.iter().map(|(.., here)| here).sum::<f64>();
    let (all, all_of_pairs) = (total(&sizes), total(&of_pairs));
    table.row(vec!["all".into(), Cell::Real(ALL), Cell::Real(all)]);
    claim("all", "storage of all".to_owned(), ALL, all);
    let names = sizes.iter().map(|(name, ..)| (*name).to_owned()).chain(["all".to_owned()]);
    let paper = sizes.iter().map(|(_, paper, _)| *paper).chain([Some(ALL)]);
    let here = sizes.iter().map(|(.., here)| Some(*here)).chain([Some(all)]);
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
            "Tables and registers that the circuits' manifests list, for two schedulers. Reference counts have the count of \
             instructions in flight as well, and what registers keep between cycles is counted too. A physical register of a \
             scheduler's half has 9 bits."
                .to_owned(),
            format!(
                "With two results a row (`wir.row_results` 2) all of it takes {all_of_pairs:.2} KB: the second is a register and a \
                 valid bit."
            ),
        ],
        charts: vec![drawn],
    })
}
