//! Both sides around their first difference, as a waveform: scopes `inputs`, `engine` and `verilog` with the same outputs
//! in the last two, and `differs`, which is 1 where one of them is not what it should be.

use std::io::{self, Write};
use std::ops::Range;

use num_bigint::BigUint;
use vcd::{IdCode, TimescaleUnit, Value, Writer};
use warpfile_hdl::rtl::netlist::Port;

use crate::lockstep::{Comparison, Difference, input_ports, output_ports};

/// Length of a cycle in nanoseconds, as in the waveforms of runs.
const PERIOD_NS: u64 = 10;
/// Cycles before the difference.
const BEFORE: usize = 50;
/// Cycles after the difference.
const AFTER: usize = 10;

/// The signals of one scope.
struct Scope {
    signals: Vec<(IdCode, u32)>,
}

impl Comparison<'_> {
    /// Writes the cycles around a difference. Unknown bits of the Verilog are shown as such; an output of the engine
    /// that means nothing in a cycle is shown as it is.
    pub fn write_waveform(&self, difference: &Difference, output: impl Write) -> io::Result<()> {
        let mut writer = Writer::new(output);
        writer.timescale(1, TimescaleUnit::NS)?;
        writer.add_module(&self.netlist.top().name)?;
        let clock = writer.add_wire(1, "clk_i")?;
        let reset = writer.add_wire(1, "rst_i")?;
        let differs = writer.add_wire(1, "differs")?;
        let inputs = scope(&mut writer, "inputs", input_ports(self.netlist))?;
        let engine = scope(&mut writer, "engine", output_ports(self.netlist))?;
        let verilog = scope(&mut writer, "verilog", output_ports(self.netlist))?;
        writer.upscope()?;
        writer.enddefinitions()?;
        for cycle in self.window(difference) {
            let start = cycle as u64 * PERIOD_NS;
            writer.timestamp(start)?;
            writer.change_scalar(clock, true)?;
            writer.change_scalar(reset, self.cycles[cycle].reset)?;
            let (ours, theirs) = (&self.engine[cycle], &self.verilog[cycle]);
            let differ =
                ours.iter().zip(theirs).any(|(o, t)| o.is_meaningful && t.as_ref() != Some(&o.value));
            writer.change_scalar(differs, differ)?;
            inputs.write(&mut writer, self.cycles[cycle].inputs.iter().map(Some))?;
            engine.write(&mut writer, ours.iter().map(|output| Some(&output.value)))?;
            verilog.write(&mut writer, theirs.iter().map(Option::as_ref))?;
            writer.timestamp(start + PERIOD_NS / 2)?;
            writer.change_scalar(clock, false)?;
        }
        writer.flush()
    }

    fn window(&self, difference: &Difference) -> Range<usize> {
        difference.cycle.saturating_sub(BEFORE)..(difference.cycle + AFTER).min(self.cycles.len())
    }
}

fn scope<'p>(
    writer: &mut Writer<impl Write>,
    name: &str,
    ports: impl Iterator<Item = &'p Port>,
) -> io::Result<Scope> {
    writer.add_module(name)?;
    let signals = ports.map(|port| Ok((writer.add_wire(port.width, &port.name)?, port.width)));
    let signals = signals.collect::<io::Result<_>>()?;
    writer.upscope()?;
    Ok(Scope { signals })
}

impl Scope {
    /// Values of all signals; `None` is unknown.
    fn write<'v>(
        &self,
        writer: &mut Writer<impl Write>,
        values: impl Iterator<Item = Option<&'v BigUint>>,
    ) -> io::Result<()> {
        for (&(id, width), value) in self.signals.iter().zip(values) {
            let bit = |bit: u32| value.map_or(Value::X, |value| Value::from(value.bit(u64::from(bit))));
            match width {
                1 => writer.change_scalar(id, bit(0))?,
                width => writer.change_vector(id, (0..width).rev().map(bit))?,
            }
        }
        Ok(())
    }
}
