//! The `warpfile` command.

mod annotate;
mod area;
mod cache;
mod code;
mod compare;
mod configuration;
mod cuda;
mod dump;
mod engine;
mod errors;
mod fidelity;
mod figure;
mod figures;
mod files;
mod generate;
mod gtkw;
mod html;
mod identity;
mod input;
mod list;
mod output;
mod parallel;
mod power;
mod progress;
mod prove;
mod report;
mod results;
mod run;
mod scratch;
mod shell;
mod signals;
mod simulate;
mod sweep;
mod table;
mod trace;
mod traffic;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Real kernels through cycle-accurate models of GPU operand storage.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  warpfile run hotspot --design rfc             a kernel through a register file cache, beside the baseline
  warpfile run hotspot --size tiny --vcd w.vcd  a waveform of a small run
  warpfile sweep --kernels all --set rfc.entries=2,4,6 --out results
                                                a table of many runs, which goes on where it was interrupted
  warpfile gen rfc -o verilog                   the Verilog of the design's circuits
  warpfile verify fifo                          a circuit beside its Verilog in Verilator and Icarus
  warpfile list designs                         what there is to choose from

Exit codes: 0; 2 for input that cannot be used or a tool that is missing; 1 for a result, an operand or an output that
is wrong."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a kernel through a design and the baseline, and compare them.
    Run(run::Arguments),
    /// Run kernels under every combination of designs, parameters and seeds, and make a table of all runs.
    Sweep(sweep::Arguments),
    /// Compare two runs or two folders of runs: which figures differ, and by how much.
    Compare(compare::Arguments),
    /// Print a figure or table of a paper beside what the model gives.
    Figure(figure::Arguments),
    /// Print every number that a paper states beside ours, and why those differ that do.
    Fidelity(fidelity::Arguments),
    /// Write the Verilog of a circuit, or of all circuits of a design.
    Gen(generate::Arguments),
    /// Map a circuit, or all circuits of a design, onto standard cells and say what they take.
    Area(area::Arguments),
    /// Say what a circuit takes on standard cells while its inputs change.
    Power(power::Arguments),
    /// Run a kernel functionally and write what every warp does to a trace.
    Trace(trace::Arguments),
    /// Print a kernel's machine instructions with what the compiler knows of them.
    Annotate(annotate::Arguments),
    /// Compare a circuit with its exported Verilog, every output in every cycle.
    Verify(verify::Arguments),
    /// Prove the invariants of circuits, or find inputs that break them.
    Prove(prove::Arguments),
    /// List what can be named on the command line.
    List(list::Arguments),
    /// Print what completes the words of this command in a shell.
    Completions(shell::CompletionsArguments),
    /// Write manual pages of this command and its subcommands.
    Man(shell::ManArguments),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    signals::watch();
    let _scratch = scratch::create();
    match dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", errors::message(&error));
            ExitCode::from(errors::exit_code(&error))
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Sweep(arguments) => sweep::run(arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Figure(arguments) => figure::run(arguments),
        Command::Fidelity(arguments) => fidelity::run(arguments),
        Command::Gen(arguments) => generate::run(&arguments),
        Command::Area(arguments) => area::run(&arguments),
        Command::Power(arguments) => power::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Annotate(arguments) => annotate::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Prove(arguments) => prove::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments, Cli::command()),
        Command::Man(arguments) => shell::man(&arguments, Cli::command()),
    }
}
