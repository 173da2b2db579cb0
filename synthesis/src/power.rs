//! Power of a mapped circuit from what changed in it.
//!
//! - **Switching**: ½CV² for every change of a net that a cell or memory drives; C is the sum of the pins that read it.
//! - **Internal**: for every change of an output the library's energy for its load and the transition time at its
//!   input, half of them rising, the mean of its inputs weighted by how often each changed; for every change of an
//!   input pin the energy the library gives for the pin alone; of a flip-flop's clock pin two changes a cycle.
//! - **Leakage** of the cells, whatever the state.
//! - **Memories**: energy of each read and write and leakage, by the CACTI runs; where the supply of rows is gated, leakage by
//!   the states of the rows, and the energy of changing them.
//!
//! Transition times are worked out from gate to gate. What drives more or changes slower than the library was
//! characterised for, a layout would buffer: it counts as at the end of the tables. Not modelled: such buffers, wires,
//! glitches, the clock's tree, nets that the surroundings drive (they belong to whoever drives them).

use std::collections::BTreeMap;

use serde::Serialize;
use warpfile_sim::energy::grid::{Grid, GridError};
use warpfile_sim::energy::structure::RowCycles;

use crate::activity::Activity;
use crate::gates::{Gates, Net, PlacedCell};
use crate::liberty::{Library, Storage, Table};
use crate::sram::Memory;
use crate::supply::Supply;

/// Power of a circuit, mW, and what it was found from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerReport {
    /// The library's name.
    pub library: String,
    /// Clock, MHz.
    pub clock_mhz: f64,
    /// Cycles that changes were counted over.
    pub cycles: u64,
    /// Changes a cycle of a net that a cell drives, in the mean.
    pub toggles_a_net: f64,
    /// Charging of the pins that nets drive, mW.
    pub switching_mw: f64,
    /// Inside cells, mW, the clock pins of flip-flops not included.
    pub internal_mw: f64,
    /// Clock pins of flip-flops: their charging and what happens inside, mW.
    pub clock_pins_mw: f64,
    /// Leakage of the cells, mW.
    pub leakage_mw: f64,
    /// All of these, mW.
    pub cells_mw: f64,
    /// Memories, at the node of the CACTI runs; not in `cells_mw`.
    pub memories: MemoryPower,
    /// Cells of a kind: how many there are and what they take of `cells_mw`.
    pub kinds: BTreeMap<String, KindPower>,
}

/// Power of the memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemoryPower {
    /// Reads of a memory.
    pub reads: u64,
    /// Writes of a memory.
    pub writes: u64,
    /// Accesses, mW.
    pub access_mw: f64,
    /// Leakage, mW at 350 K; of rows whose supply is gated that of their states.
    pub leakage_mw: f64,
    /// Rows whose supply is gated, if there are any.
    pub gated: Option<GatedPower>,
}

/// Leakage of rows whose supply is gated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GatedPower {
    /// Part of the rows that were ON or woke up, in the mean over the cycles.
    pub on: f64,
    /// Part of the rows in SLEEP.
    pub sleep: f64,
    /// Part of the rows that were OFF.
    pub off: f64,
    /// Their leakage, mW.
    pub leakage_mw: f64,
    /// What it is with every row ON, mW.
    pub ungated_leakage_mw: f64,
    /// Changes of state, mW; not in the leakage.
    pub transitions_mw: f64,
}

/// Cells of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct KindPower {
    /// How many.
    pub cells: u64,
    /// Switching, internal and leakage power, clock pins included, mW.
    pub power_mw: f64,
}

/// Picojoules a cycle at a frequency in MHz to mW.
const MW: f64 = 1e-3;

/// Power of the circuit at a clock, if it goes on as it did; `supply` is that of rows that are not always ON.
pub fn power(
    gates: &Gates<'_>,
    memories: &[Memory],
    activity: &Activity,
    (library, grid): (&Library, &Grid),
    clock_mhz: f64,
    supply: Option<&Supply>,
) -> Result<PowerReport, GridError> {
    let nets = Nets::new(gates, library);
    let cycles = activity.cycles.max(1) as f64;
    let toggles = |net: Net| activity.toggles[net as usize] as f64 / cycles;
    let mut kinds: BTreeMap<String, KindPower> = BTreeMap::new();
    let (mut switching, mut internal, mut clock_pins, mut leakage_mw) = (0.0, 0.0, 0.0, 0.0);
    let half_square = 0.5 * library.voltage * library.voltage;
    let mut driven = 0u64;
    let mut changes = 0.0;
    for placed in &gates.cells {
        let mut charged = 0.0;
        let mut inside = 0.0;
        for (_, net) in placed.outputs() {
            charged += toggles(net) * half_square * nets.load_pf[net as usize];
            driven += 1;
            changes += toggles(net);
        }
        for (pin, net) in placed.outputs() {
            inside += toggles(net) * nets.output_energy(placed, pin, net, &toggles);
        }
        let clock = placed.clock();
        for (pin, net) in placed.inputs().filter(|(pin, _)| Some(*pin) != clock) {
            inside += toggles(net) * placed.input_energy(pin, nets.transition_ns[net as usize]);
        }
        let at_clock = match clock {
            None => 0.0,
            Some(pin) => {
                let capacitance = placed.cell.pins[pin].capacitance_pf;
                2.0 * (half_square * capacitance + placed.input_energy(pin, nets.default_ns))
            }
        };
        let kind = kinds.entry(placed.kind.to_owned()).or_default();
        kind.cells += 1;
        kind.power_mw += (charged + inside + at_clock) * clock_mhz * MW + placed.cell.leakage_mw;
        switching += charged;
        internal += inside;
        clock_pins += at_clock;
        leakage_mw += placed.cell.leakage_mw;
    }
    let [switching_mw, internal_mw, clock_pins_mw] =
        [switching, internal, clock_pins].map(|picojoules| picojoules * clock_mhz * MW);
    Ok(PowerReport {
        library: library.name.clone(),
        clock_mhz,
        cycles: activity.cycles,
        toggles_a_net: changes / driven.max(1) as f64,
        switching_mw,
        internal_mw,
        clock_pins_mw,
        leakage_mw,
        cells_mw: switching_mw + internal_mw + clock_pins_mw + leakage_mw,
        memories: memory_power((gates, memories), activity, grid, clock_mhz, supply)?,
        kinds,
    })
}

fn memory_power(
    (gates, memories): (&Gates<'_>, &[Memory]),
    activity: &Activity,
    grid: &Grid,
    clock_mhz: f64,
    supply: Option<&Supply>,
) -> Result<MemoryPower, GridError> {
    let mut power = MemoryPower::default();
    let mut access_pj = 0.0;
    let (mut ungated_mw, mut sleep_mw) = (0.0, 0.0);
    for (gate, uses) in gates.memories.iter().zip(&activity.memories) {
        let cost = memories[gate.memory].cost(grid)?;
        power.reads += uses.reads;
        power.writes += uses.writes;
        access_pj += uses.reads as f64 * cost.read_pj + uses.writes as f64 * cost.write_pj;
        if supply.is_some_and(|supply| supply.is_of(gate)) {
            ungated_mw += cost.leakage_mw;
            sleep_mw += cost.sleep_mw;
        } else {
            power.leakage_mw += cost.leakage_mw;
        }
    }
    let a_cycle_mw = |picojoules: f64| picojoules / activity.cycles.max(1) as f64 * clock_mhz * MW;
    power.access_mw = a_cycle_mw(access_pj);
    if let Some(supply) = supply.filter(|_| ungated_mw > 0.0) {
        let of_it = gates.memories.iter().filter(|gate| supply.is_of(gate));
        let part = supply.part(of_it.map(|gate| (gate, memories[gate.memory].rows)));
        let leakage_mw = ungated_mw * supply.gating.leakage_share(supply.rows, sleep_mw / ungated_mw);
        let RowCycles { on, sleep, off, .. } = supply.rows;
        let of_rows = |rows: u64| rows as f64 / (on + sleep + off).max(1) as f64;
        power.leakage_mw += leakage_mw;
        power.gated = Some(GatedPower {
            on: of_rows(on),
            sleep: of_rows(sleep),
            off: of_rows(off),
            leakage_mw,
            ungated_leakage_mw: ungated_mw,
            transitions_mw: a_cycle_mw(part * supply.gating.transitions_pj(supply.rows)),
        });
    }
    Ok(power)
}

/// Load and transition time of every net.
struct Nets {
    load_pf: Vec<f64>,
    transition_ns: Vec<f64>,
    /// At inputs of the circuit and at the clock.
    default_ns: f64,
}

impl Nets {
    fn new(gates: &Gates<'_>, library: &Library) -> Nets {
        let default_ns = fastest_transition(library);
        let mut load_pf = vec![0.0; gates.nets];
        for placed in &gates.cells {
            for (pin, net) in placed.inputs() {
                load_pf[net as usize] += placed.cell.pins[pin].capacitance_pf;
            }
        }
        let mut nets = Nets { load_pf, transition_ns: vec![default_ns; gates.nets], default_ns };
        let flip_flops = gates.flip_flops.iter().map(|flip_flop| flip_flop.cell);
        let cells = flip_flops.chain(gates.gates.iter().map(|gate| gate.cell));
        for cell in cells {
            let placed = &gates.cells[cell as usize];
            for (pin, net) in placed.outputs() {
                nets.transition_ns[net as usize] = nets.output_transition(placed, pin, net);
            }
        }
        nets
    }

    /// The mean over the inputs that make the output change, rising and falling.
    fn output_transition(&self, placed: &PlacedCell<'_>, pin: &str, net: Net) -> f64 {
        let load = self.load_pf[net as usize];
        let mut times = Vec::new();
        for transition in &placed.cell.pins[pin].transitions {
            let at_input = self.at_input(placed, &transition.related);
            let tables = [&transition.rise, &transition.fall].into_iter().flatten();
            times.extend(tables.map(|table| table.at(load, at_input)));
        }
        if times.is_empty() { self.default_ns } else { times.iter().sum::<f64>() / times.len() as f64 }
    }

    fn at_input(&self, placed: &PlacedCell<'_>, pin: &str) -> f64 {
        placed.pins.get(pin).map_or(self.default_ns, |&net| self.transition_ns[net as usize])
    }

    /// Energy of one change of an output, pJ: the mean of its inputs, weighted by how often each changes.
    fn output_energy(
        &self,
        placed: &PlacedCell<'_>,
        pin: &str,
        net: Net,
        toggles: &impl Fn(Net) -> f64,
    ) -> f64 {
        let load = self.load_pf[net as usize];
        let (mut sum, mut weights, mut plain, mut count) = (0.0, 0.0, 0.0, 0.0);
        for internal in &placed.cell.pins[pin].internal {
            let related = internal.related.as_deref().unwrap_or_default();
            let energy = mean([&internal.rise, &internal.fall], |table| {
                table.at(load, self.at_input(placed, related))
            });
            let weight = placed.pins.get(related).map_or(0.0, |&net| toggles(net));
            sum += weight * energy;
            weights += weight;
            plain += energy;
            count += 1.0;
        }
        match (weights > 0.0, count > 0.0) {
            (true, _) => sum / weights,
            (false, true) => plain / count,
            (false, false) => 0.0,
        }
    }
}

impl PlacedCell<'_> {
    fn outputs(&self) -> impl Iterator<Item = (&str, Net)> {
        self.pins.iter().filter(|(pin, _)| self.cell.pins[**pin].is_output).map(|(&pin, &net)| (pin, net))
    }

    fn inputs(&self) -> impl Iterator<Item = (&str, Net)> {
        self.pins.iter().filter(|(pin, _)| !self.cell.pins[**pin].is_output).map(|(&pin, &net)| (pin, net))
    }

    fn clock(&self) -> Option<&str> {
        match &self.cell.storage {
            Storage::FlipFlop(flip_flop) => Some(&flip_flop.clock),
            Storage::None | Storage::Other => None,
        }
    }

    /// Energy of one change of an input pin alone, pJ: the mean of its states.
    fn input_energy(&self, pin: &str, transition_ns: f64) -> f64 {
        let internal = &self.cell.pins[pin].internal;
        let energies = internal
            .iter()
            .map(|energy| mean([&energy.rise, &energy.fall], |table| table.at(0.0, transition_ns)));
        energies.sum::<f64>() / internal.len().max(1) as f64
    }
}

/// Mean of rising and falling; what the library does not give is 0.
fn mean(tables: [&Option<Table>; 2], figure: impl Fn(&Table) -> f64) -> f64 {
    tables.into_iter().map(|table| table.as_ref().map_or(0.0, &figure)).sum::<f64>() / 2.0
}

/// The shortest transition time that the library was characterised at.
fn fastest_transition(library: &Library) -> f64 {
    let pins = library.cells.values().flat_map(|cell| cell.pins.values());
    let tables = pins.flat_map(|pin| &pin.transitions).flat_map(|times| [&times.rise, &times.fall]).flatten();
    let fastest = tables.filter_map(|table| table.transitions_ns.first().copied()).min_by(f64::total_cmp);
    fastest.unwrap_or(0.0)
}
