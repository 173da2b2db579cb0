//! `warpfile power`.

use std::path::PathBuf;

use serde::Serialize;
use warpfile_engine::{Engine, InPort, Interpreter, Options};
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_sim::energy::grid::Grid;
use warpfile_synthesis::activity::GateSimulator;
use warpfile_synthesis::gates::Gates;
use warpfile_synthesis::power::{GatedPower, PowerReport, power};
use warpfile_synthesis::saif;
use warpfile_synthesis::sram::{NODE_NM, outline};
use warpfile_synthesis::yosys::map;

use crate::area::CellArguments;
use crate::files::OutputFolder;
use crate::output::{json, print};
use crate::progress::Meter;
use crate::table::{Align, count, lines};
use crate::traffic::{Driven, RecordingFile, STIMULUS, TrafficArguments};

/// Of state without a reset in the design that a kernel runs through.
const SEED: u64 = 0;

/// What is mapped, onto what, and what drives it.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new(STIMULUS).required(true), after_help = "\
Examples:
  warpfile power register_file_cache --kernel hotspot   with what a kernel does at its ports
  warpfile power main_register_file --kernel hotspot --design greener  rows that sleep leak by their states
  warpfile power fifo --random 2000               random inputs
  warpfile power fifo --random 2000 --clock 500 --out fifo  SAIF and the mapped Verilog for other tools

Needs Yosys and a library of cells (apt-get install yosys qflow-tech-osu018). What is not modelled: docs/power.md.")]
pub struct Arguments {
    /// Circuit: see `warpfile list circuits`.
    #[arg(value_name = "CIRCUIT")]
    name: String,
    #[command(flatten)]
    traffic: TrafficArguments,
    /// Drive every input with random values for so many cycles.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..), group = STIMULUS)]
    random: Option<u64>,
    /// Cycles of the traffic at most.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "random")]
    cycles: u64,
    #[command(flatten)]
    cells: CellArguments,
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
    let Driven { netlist, recording, source } =
        arguments.traffic.circuit(&arguments.name, arguments.cycles, SEED)?;
    let mut inputs = match (recording, arguments.random) {
        (Some(recording), _) => Inputs::Recorded(Box::new(recording), arguments.cycles),
        (None, cycles) => Inputs::Random(Random(0x9e37_79b9_7f4a_7c15), cycles.unwrap_or_default()),
    };
    let cells = arguments.cells.library()?;

    let mut meter = Meter::new("power");
    let outlined = outline(&netlist);
    meter.update(|| "Yosys maps the circuit".to_owned());
    let mapped = map(&outlined, arguments.cells.path(), &arguments.cells.cache())?;
    let gates = Gates::flatten(&mapped, &mapped.top, &outlined.memories, &cells)?;
    let mut engine = Interpreter::new(&netlist, &Options { zeroed: true, ..Options::default() })?;
    let mut simulator = GateSimulator::new(&gates, &outlined.memories, &engine)?;
    let ports = engine_inputs(&netlist, &engine)?;
    let mut cycle = 0;
    while inputs.drive(&ports, &mut engine)? {
        engine.step();
        simulator.cycle(&engine)?;
        cycle += 1;
        meter.update(|| format!("cycle {}", count(cycle)));
    }
    drop(meter);

    let activity = simulator.activity();
    let has_memories = !outlined.memories.is_empty();
    let supply = || arguments.traffic.supply(&arguments.name, arguments.cycles, SEED);
    let supply = if has_memories { supply()? } else { None };
    let costs = (&cells, &Grid::at(NODE_NM)?);
    let report = power(&gates, &outlined.memories, &activity, costs, arguments.clock, supply.as_ref())?;
    let stimulus =
        format!("{}, {} cycles", source.as_deref().unwrap_or("random inputs"), count(activity.cycles));
    let text = text(&mapped.top, &stimulus, &report);
    let document = json(&Document { circuit: &mapped.top, stimulus, sram_node_nm: NODE_NM, power: &report })?;
    if let Some(folder) = &arguments.out {
        // SAIF's times are whole ps; the clock's halves have to be, too.
        let saif = saif::write(&gates, &activity, 2 * (500_000.0 / arguments.clock).round().max(1.0) as u64);
        let [saif_name, verilog_name] = ["saif", "v"].map(|extension| format!("{}.{extension}", mapped.top));
        OutputFolder::create(folder)?.publish([
            ("power.txt", text.as_str()),
            ("power.json", &document),
            (&saif_name, &saif),
            (&verilog_name, &mapped.verilog),
        ])?;
    }
    print(if arguments.json { &document } else { &text })
}

/// The circuit's inputs with their widths, in the order of its ports.
fn engine_inputs(netlist: &Netlist, engine: &dyn Engine) -> anyhow::Result<Vec<(InPort, u32)>> {
    let inputs = netlist.top().ports.iter().filter(|port| port.direction == Direction::Input);
    inputs.map(|port| Ok((engine.input(&port.name)?, port.width))).collect()
}

/// What drives the circuit, cycle by cycle.
enum Inputs {
    /// Random values for so many more cycles.
    Random(Random, u64),
    /// So many more cycles of a recording, if it has them.
    Recorded(Box<RecordingFile>, u64),
}

impl Inputs {
    /// Gives the inputs their values of the next cycle; false where there is none.
    fn drive(&mut self, ports: &[(InPort, u32)], engine: &mut dyn Engine) -> anyhow::Result<bool> {
        match self {
            Inputs::Random(_, 0) | Inputs::Recorded(_, 0) => return Ok(false),
            Inputs::Random(random, left) => {
                *left -= 1;
                random.drive(ports, engine);
            }
            Inputs::Recorded(recording, left) => {
                *left -= 1;
                if !recording.next_cycle()? {
                    return Ok(false);
                }
                engine.set_reset(recording.is_reset());
                let recorded = recording.header().inputs().map(|(index, _)| index);
                for (&(port, _), index) in ports.iter().zip(recorded) {
                    engine.set_words(port, recording.words(index));
                }
            }
        }
        Ok(true)
    }
}

/// Numbers that are the same in every run (xorshift).
struct Random(u64);

impl Random {
    /// Gives every input of the circuit a new value.
    fn drive(&mut self, ports: &[(InPort, u32)], engine: &mut dyn Engine) {
        for &(port, width) in ports {
            let words: Vec<u64> = (0..width.div_ceil(64))
                .map(|word| self.next() >> (64 - (width - 64 * word).min(64)))
                .collect();
            engine.set_words(port, &words);
        }
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
    let mut states = String::new();
    if let Some(GatedPower { on, sleep, off, transitions_mw, leakage_mw, ungated_leakage_mw }) =
        memories.gated
    {
        rows.push(figure("  with every row ON", memories.leakage_mw - leakage_mw + ungated_leakage_mw));
        rows.push(figure("changes of rows' states", transitions_mw));
        let [on, sleep, off] = [on, sleep, off].map(|part| 100.0 * part);
        states = format!("Rows were ON {on:.1} % of the time, in SLEEP {sleep:.1} %, OFF {off:.1} %.\n");
    }
    format!(
        "{circuit}, library {}, {} MHz, {stimulus}\n\n{}\n{states}{:.3} changes of a net a cycle; every output was the \
         engine's in every cycle.\nWithout wires, glitches and the clock's tree.\n",
        report.library,
        report.clock_mhz,
        lines(&rows, &[Align::Left, Align::Right]),
        report.toggles_a_net
    )
}
