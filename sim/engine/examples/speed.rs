//! Cycles per second of the interpreter, on a circuit of the size and mix of a register file with its control:
//! lane-masked banks of 1024-bit rows, wide operand latches, and a scoreboard's worth of narrow logic.
//!
//! Run with `cargo run --release -p warpfile-engine --example speed [cycles]`.

use std::error::Error;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpfile_engine::{Engine, InPort, Interpreter, Options, plan::Plan};
use warpfile_hdl::rtl::{Circuit, Documented, Field, In, Module, Out, Ports, Record, elaborate};

/// Rows of a bank; lanes and bits of a row.
const ROWS: usize = 256;
const LANES: usize = 32;
const BITS: usize = 1024;

/// Register banks, operand latches and a scoreboard.
///
/// Timing: a bank is read through a clock edge; a latch takes the row a cycle later.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct RegisterFile {
    /// Banks and latches.
    banks: usize,
    /// Rows of narrow logic.
    entries: usize,
}

#[derive(Clone, Ports)]
#[params(RegisterFile)]
struct Io<'m> {
    read_i: In<'m>,
    write_i: In<'m>,
    #[bits(8)]
    row_i: In<'m>,
    #[bits(LANES)]
    lanes_i: In<'m>,
    #[bits(BITS)]
    value_i: In<'m>,
    #[bits(BITS)]
    value_o: Out<'m>,
    #[bits(p.entries)]
    pending_o: Out<'m>,
}

/// A row of a bank.
#[derive(Clone, Copy, Record)]
struct Row<T = Field> {
    #[bits(BITS)]
    #[lanes(LANES)]
    #[lanes_per_array(4)]
    data: T,
}

impl Circuit for RegisterFile {
    type Io<'m> = Io<'m>;
    const NAME: &'static str = "register_file";

    fn build<'m>(&self, m: &Module<'m>, io: &Io<'m>) {
        let mut value = io.value_i;
        for bank in 0..self.banks {
            let rows = m.table::<Row>(format!("bank{bank}"), ROWS, &());
            let selected = io.row_i.low(2).eq(bank % 4);
            let seen = rows.read_clocked("read", io.row_i, io.read_i & selected).lanes(io.lanes_i).data;
            m.when(io.write_i & selected, || {
                rows.write("write", io.row_i, Row { data: io.value_i }).lanes(io.lanes_i);
            });
            let latch = m.register(format!("latch{bank}"), BITS).no_reset();
            m.when(selected, || {
                latch.set(io.lanes_i.lane_mux(seen, value));
            });
            value = selected.mux(latch, value);
        }
        io.value_o.set(value);

        let mut pending = Vec::new();
        for entry in 0..self.entries {
            let tag = m.register(format!("tag{entry}"), 8).reset(0);
            let age = m.register(format!("age{entry}"), 6).reset(0);
            let hit = tag.eq(io.row_i) & io.read_i;
            m.when(hit, || {
                age.set(0);
            })
            .otherwise(|| {
                age.set(age + 1);
            });
            m.when(io.write_i & age.eq(entry % 64), || {
                tag.set(io.row_i);
            });
            pending.push(hit | (age.gt(40) & tag.any()));
        }
        io.pending_o.set(m.cat(pending));
    }
}

/// Traffic that changes every cycle: the inputs of a register file in use.
struct Traffic {
    read: InPort,
    write: InPort,
    row: InPort,
    lanes: InPort,
    value: InPort,
}

impl Traffic {
    fn drive(&self, engine: &mut Interpreter, cycle: u64) {
        let noise = cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        engine.set(self.read, noise >> 60 & 1);
        engine.set(self.write, noise >> 61 & 1);
        engine.set(self.row, noise >> 40 & 0xff);
        engine.set(self.lanes, noise & 0xffff_ffff);
        engine.set_words(self.value, &[noise; BITS / 64]);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let cycles = std::env::args().nth(1).map_or(Ok(200_000), |text| text.parse::<u64>())?;
    for (name, circuit) in [
        ("one bank", RegisterFile { banks: 1, entries: 1 }),
        ("register file", RegisterFile { banks: 12, entries: 110 }),
    ] {
        let netlist = elaborate(&circuit)?;
        let nodes: usize = netlist.modules.iter().map(|module| module.nodes.len()).sum();
        let options = Options::default();
        let instructions = Plan::new(&netlist, &options)?.program.len();
        let mut engine = Interpreter::new(&netlist, &options)?;
        let [read, write, row, lanes, value] = [
            engine.input("read_i")?,
            engine.input("write_i")?,
            engine.input("row_i")?,
            engine.input("lanes_i")?,
            engine.input("value_i")?,
        ];
        let traffic = Traffic { read, write, row, lanes, value };
        let start = Instant::now();
        for cycle in 0..cycles {
            traffic.drive(&mut engine, cycle);
            engine.step();
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{name}: {nodes} nodes, {instructions} instructions, {:.0} cycles/s, {:.2} ns an instruction",
            cycles as f64 / seconds,
            seconds * 1e9 / cycles as f64 / instructions as f64
        );
    }
    Ok(())
}
