//! `warpfile power`.

use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_sim::energy::grid::Grid;
use warpfile_synthesis::activity::GateSimulator;
use warpfile_synthesis::gates::Gates;
use warpfile_synthesis::power::{PowerReport, power};
use warpfile_synthesis::saif;
use warpfile_synthesis::sram::{NODE_NM, outline};
use warpfile_synthesis::yosys::map;

use crate::area::CellArguments;
use crate::configuration::ConfigurationArguments;
use crate::files::OutputFolder;
use crate::generate::{circuit_named, unknown_circuit};
use crate::output::{json, print};
use crate::progress::Meter;
use crate::table::{Align, count, lines};

/// What is mapped, onto what, and what drives it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile power fifo --random 2000               random inputs
  warpfile power fifo --random 2000 --clock 500 --out fifo  SAIF and the mapped Verilog for other tools

Needs Yosys and a library of cells (apt-get install yosys qflow-tech-osu018). What is not modelled: docs/power.md.")]
pub struct Arguments {
    /// Circuit: see `warpfile list circuits`.
    #[arg(value_name = "CIRCUIT")]
    name: String,
    #[command(flatten)]
    configuration: ConfigurationArguments,
    #[command(flatten)]
    cells: CellArguments,
    /// Drive every input with random values for so many cycles.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..))]
    random: u64,
    /// Clock, MHz.
    #[arg(long, value_name = "MHZ", default_value_t = 100.0, value_parser = frequency)]
    clock: f64,
    /// Print every figure as JSON.
    #[arg(long)]
    json: bool,
    /// Keep the figures, SAIF and the mapped Verilog in a folder, made if missing.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn frequency(text: &str) -> Result<f64, String> {
    let accepted = "accepted: a frequency in MHz above 0, at most 100000";
    let clock: f64 = text.parse().map_err(|_| accepted.to_owned())?;
    if clock > 0.0 && clock <= 100_000.0 { Ok(clock) } else { Err(accepted.to_owned()) }
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Document<'a> {
    circuit: &'a str,
    stimulus: String,
    sram_node_nm: u32,
    power: &'a PowerReport,
}

/// Maps, runs the gates beside the engine, adds up and prints.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let library = library();
    let entry = library.iter().find(|circuit| circuit.name == arguments.name);
    let entry = entry.with_context(|| unknown_circuit(&arguments.name, &library))?;
    let netlist = circuit_named(entry, &arguments.configuration)?;
    let cells = arguments.cells.library()?;

    let mut meter = Meter::new("power");
    let outlined = outline(&netlist);
    meter.update(|| "Yosys maps the circuit".to_owned());
    let mapped = map(&outlined, arguments.cells.path(), &arguments.cells.cache())?;
    let gates = Gates::flatten(&mapped, &mapped.top, &outlined.memories, &cells)?;
    let mut engine = Interpreter::new(&netlist, &Options { zeroed: true, ..Options::default() })?;
    let mut simulator = GateSimulator::new(&gates, &outlined.memories, &engine)?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for cycle in 0..arguments.random {
        random.drive(&netlist, &mut engine)?;
        engine.step();
        simulator.cycle(&engine)?;
        meter.update(|| format!("cycle {} of {}", count(cycle + 1), count(arguments.random)));
    }
    drop(meter);

    let activity = simulator.activity();
    let report =
        power(&gates, &outlined.memories, &activity, (&cells, &Grid::at(NODE_NM)?), arguments.clock)?;
    let stimulus = format!("random inputs, {} cycles", count(activity.cycles));
    let text = text(&mapped.top, &stimulus, &report);
    let document = json(&Document { circuit: &mapped.top, stimulus, sram_node_nm: NODE_NM, power: &report })?;
    if let Some(folder) = &arguments.out {
        let folder = OutputFolder::create(folder)?;
        // SAIF's times are whole ps; the clock's halves have to be, too.
        let saif = saif::write(&gates, &activity, 2 * (500_000.0 / arguments.clock).round().max(1.0) as u64);
        let names = [format!("{}.saif", mapped.top), format!("{}.v", mapped.top)];
        for (name, content) in [
            ("power.txt", &text),
            ("power.json", &document),
            (&names[0], &saif),
            (&names[1], &mapped.verilog),
        ] {
            let mut output = folder.output(name)?;
            output.write(content)?;
            output.publish()?;
        }
        folder.keep();
    }
    print(if arguments.json { &document } else { &text })
}

/// Numbers that are the same in every run (xorshift).
struct Random(u64);

impl Random {
    /// Gives every input of the circuit a new value.
    fn drive(&mut self, netlist: &Netlist, engine: &mut dyn Engine) -> anyhow::Result<()> {
        let ports = &netlist.modules[netlist.top.index()].ports;
        for port in ports.iter().filter(|port| port.direction == Direction::Input) {
            let words: Vec<u64> = (0..port.width.div_ceil(64))
                .map(|word| self.next() >> (64 - (port.width - 64 * word).min(64)))
                .collect();
            let input = engine.input(&port.name)?;
            engine.set_words(input, &words);
        }
        Ok(())
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn text(circuit: &str, stimulus: &str, report: &PowerReport) -> String {
    let figure = |name: &str, value: f64| vec![name.to_owned(), format!("{value:.4}")];
    let mut rows = vec![
        vec!["mW".to_owned(), String::new()],
        figure("switching", report.switching_mw),
        figure("internal", report.internal_mw),
        figure("clock pins", report.clock_pins_mw),
        figure("leakage", report.leakage_mw),
        figure("cells", report.cells_mw),
    ];
    let memories = &report.memories;
    if memories.leakage_mw > 0.0 {
        rows.push(figure(&format!("SRAM accesses ({NODE_NM} nm)"), memories.access_mw));
        rows.push(figure(&format!("SRAM leakage ({NODE_NM} nm)"), memories.leakage_mw));
    }
    format!(
        "{circuit}, library {}, {} MHz, {stimulus}\n\n{}\n{:.3} changes of a net a cycle; every output was the engine's \
         in every cycle.\nWithout wires, glitches and the clock's tree.\n",
        report.library,
        report.clock_mhz,
        lines(&rows, &[Align::Left, Align::Right]),
        report.toggles_a_net
    )
}
