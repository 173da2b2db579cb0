//! `warpfile area`.

use std::path::{Path, PathBuf};

use anyhow::bail;
use serde::Serialize;
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_sim::energy::grid::Grid;
use warpfile_synthesis::area::{AreaReport, Figures, area};
use warpfile_synthesis::liberty::{DEFAULT_PATH, Library};
use warpfile_synthesis::page::{self, PageCircuit, PageRow};
use warpfile_synthesis::sram::{NODE_NM, outline};
use warpfile_synthesis::yosys::{Cache, map, version};

use crate::configuration::ConfigurationArguments;
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::svg::{self, Sheet};
use crate::files::{Output, OutputFolder, read_text};
use crate::generate::{circuit_named, is_design, unknown};
use crate::output::{json, print};
use crate::progress::Meter;
use crate::table::{Align, count, lines};

/// Most bytes of a page of areas.
const MAX_PAGE_BYTES: u64 = 1 << 20;

/// What is mapped, and onto what.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile area fifo --set depth=4                one circuit
  warpfile area rfc --preset gebhart2011          all circuits of a design
  warpfile area fifo --liberty cells.lib --json   another library; every figure
  warpfile area --page docs/area.md               every circuit of the library, as the documentation has them

Needs Yosys and a library of cells (apt-get install yosys qflow-tech-osu018). Large tables whose reads are clocked are
memories with figures of their own, from CACTI at 45 nm; see docs/area.md.")]
pub struct Arguments {
    /// Circuit or design: see `warpfile list circuits` and `warpfile list designs`.
    #[arg(value_name = "CIRCUIT|DESIGN", required_unless_present = "page")]
    name: Option<String>,
    #[command(flatten)]
    configuration: ConfigurationArguments,
    #[command(flatten)]
    cells: CellArguments,
    /// Print every figure as JSON.
    #[arg(long, conflicts_with = "page")]
    json: bool,
    /// Keep the table, JSON and a bar chart (SVG) in a folder, made if missing.
    #[arg(short, long, value_name = "DIR", conflicts_with = "page")]
    out: Option<PathBuf>,
    /// Write the page of all circuits, at their defaults and at small parameters: half an hour with an empty `--cache`, more without.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "preset", "config", "sets"])]
    page: Option<PathBuf>,
    /// With --page, map only circuits that take Yosys seconds, and keep the others' rows as the page has them: minutes.
    #[arg(long, requires = "page")]
    small: bool,
}

/// The cells that circuits are mapped onto.
#[derive(clap::Args)]
pub struct CellArguments {
    /// Library of standard cells, a Liberty file.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_PATH)]
    liberty: PathBuf,
    /// Keep mapped modules in a folder: what is there already is not mapped again.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl CellArguments {
    /// The library, read.
    pub fn library(&self) -> anyhow::Result<Library> {
        Ok(Library::read(&self.liberty)?)
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.liberty
    }

    /// Where mapped modules are kept.
    pub fn cache(&self) -> Cache {
        Cache { folder: self.cache.clone() }
    }
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Document<'a> {
    yosys: String,
    sram_node_nm: u32,
    circuits: &'a [AreaReport],
}

/// Maps, adds up and prints.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let library = arguments.cells.library()?;
    match (&arguments.page, &arguments.name) {
        (Some(page), _) => write_page(arguments, &library, page),
        (None, Some(name)) => show(arguments, &library, name),
        (None, None) => bail!("the name of a circuit or design is missing"),
    }
}

fn show(arguments: &Arguments, cells: &Library, name: &str) -> anyhow::Result<()> {
    let mut meter = Meter::new("area");
    let mut reports = Vec::new();
    for netlist in netlists(arguments, name)? {
        meter.update(|| format!("Yosys maps {}", netlist.modules[netlist.top.index()].name));
        reports.push(report(&netlist, arguments, cells)?);
    }
    drop(meter);
    let text = reports.iter().map(text).collect::<Vec<String>>().join("\n");
    let document = json(&Document { yosys: version()?, sram_node_nm: NODE_NM, circuits: &reports })?;
    if let Some(folder) = &arguments.out {
        let chart = chart(name, &reports);
        OutputFolder::create(folder)?.publish([
            ("area.txt", text.as_str()),
            ("area.json", &document),
            ("area.svg", &chart),
        ])?;
    }
    print(if arguments.json { &document } else { &text })
}

/// The circuit, or those of the design.
fn netlists(arguments: &Arguments, name: &str) -> anyhow::Result<Vec<Netlist>> {
    let library = library();
    if let Some(circuit) = library.iter().find(|circuit| circuit.name == name) {
        return Ok(vec![circuit_named(circuit, &arguments.configuration)?]);
    }
    if !is_design(name) {
        bail!("{}", unknown(name, &library));
    }
    let config = arguments.configuration.configuration(Some(name))?;
    Ok(config.design.circuits(&config)?.into_iter().map(|(_, netlist)| netlist).collect())
}

fn report(netlist: &Netlist, arguments: &Arguments, cells: &Library) -> anyhow::Result<AreaReport> {
    let outlined = outline(netlist);
    let mapped = map(&outlined, arguments.cells.path(), &arguments.cells.cache())?;
    Ok(area(&mapped, &outlined, cells, &Grid::at(NODE_NM)?)?)
}

fn text(report: &AreaReport) -> String {
    let head = ["module", "instances", "cells", "flip-flops", "um2", "NAND2", "depth", "SRAMs", "SRAM um2"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for module in &report.modules {
        let Figures { cells, storage_cells, area_um2, nand2, memories, memory_area_um2, depth, .. } =
            module.figures;
        let figures = [cells, storage_cells, area_um2.round() as u64, nand2.round() as u64];
        let mut row = vec![module.module.clone(), count(module.instances)];
        row.extend(figures.map(count));
        row.extend([u64::from(depth), memories, memory_area_um2.round() as u64].map(count));
        rows.push(row);
    }
    let mut text = format!(
        "{}, library {}\n\n{}\nOf one instance with everything in it; SRAM areas at {NODE_NM} nm are not in the cells'.\n",
        report.circuit,
        report.library,
        lines(&rows, &[Align::Left, Align::Right])
    );
    if !report.memories.is_empty() {
        let head = [
            "SRAM",
            "instances",
            "rows",
            "bits",
            "ports",
            "um2",
            "read pJ",
            "write pJ",
            "leakage mW",
            "from",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for memory in &report.memories {
            rows.push(vec![
                memory.module.clone(),
                count(memory.instances),
                memory.rows.to_string(),
                memory.bits.to_string(),
                memory.ports.clone(),
                format!("{:.0}", memory.area_um2),
                format!("{:.2}", memory.read_pj),
                format!("{:.2}", memory.write_pj),
                format!("{:.3}", memory.leakage_mw),
                memory.origin.clone(),
            ]);
        }
        text = format!("{text}\n{}", lines(&rows, &[Align::Left, Align::Right]));
    }
    text
}

/// Area of the cells by module, without the modules in it: what adds up to the whole.
fn chart(name: &str, reports: &[AreaReport]) -> String {
    let charts: Vec<Chart> = reports
        .iter()
        .map(|report| {
            let own = |module: &warpfile_synthesis::area::ModuleArea| {
                Some(module.instances as f64 * module.own_area_um2)
            };
            Chart {
                title: report.circuit.clone(),
                x_label: "module".to_owned(),
                y_label: "um2 of cells, all instances".to_owned(),
                plot: Plot::Bars {
                    groups: report.modules.iter().map(|module| module.module.clone()).collect(),
                    series: vec![Bars::new("cells", report.modules.iter().map(own).collect())],
                    stacked: false,
                },
            }
        })
        .collect();
    svg::draw(Sheet::screen(&format!("Area of {name}")), &charts)
}

fn write_page(arguments: &Arguments, cells: &Library, path: &Path) -> anyhow::Result<()> {
    let kept = if arguments.small { page::read(&read_text(path, MAX_PAGE_BYTES)?)? } else { Vec::new() };
    let mut output = Output::create(path)?;
    let mut meter = Meter::new("area");
    let mut rows = Vec::new();
    for PageCircuit { entry, overrides, is_small } in page::circuits(&library()) {
        let on_page = kept.iter().find(|row| !is_small && row.is_of(entry.name, &overrides));
        if let Some(row) = on_page {
            rows.push(row.clone());
            continue;
        }
        meter.update(|| format!("Yosys maps {} with {overrides}", entry.name));
        let report = report(&entry.elaborate_with(&overrides)?, arguments, cells)?;
        rows.push(PageRow::new(entry.name, &overrides, &report));
    }
    output.write(&page::page(&rows, cells, &version()?))?;
    output.publish()
}
