//! A mapped circuit without its hierarchy: gates, flip-flops and memories between numbered nets.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::liberty::{Cell, Library, Storage};
use crate::mapped::{Bit, Constant, MappedModule, PortDirection};
use crate::sram::Memory;
use crate::yosys::Mapped;

/// A net.
pub type Net = u32;

/// The net that is always 0.
pub const ZERO: Net = 0;
/// The net that is always 1.
pub const ONE: Net = 1;

/// One output of a cell without state.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The cell that it is an output of.
    pub cell: u32,
    /// Nets of the function's inputs.
    pub inputs: Vec<Net>,
    /// Bit `n` is the output when the inputs are `n`.
    pub table: u64,
    /// The net it drives.
    pub output: Net,
    /// Gates on the longest way from state or an input to it, itself included.
    pub level: u32,
}

/// A flip-flop.
#[derive(Clone, Debug)]
pub struct FlipFlopGate {
    /// The cell.
    pub cell: u32,
    /// Nets of the next state's inputs.
    pub inputs: Vec<Net>,
    /// The next state by its inputs.
    pub table: u64,
    /// Nets that show the stored bit, and whether inverted.
    pub outputs: Vec<(Net, bool)>,
}

/// A memory.
#[derive(Clone, Debug)]
pub struct MemoryGate {
    /// Which of the memories.
    pub memory: usize,
    /// The module that it is in.
    pub module: String,
    /// Path of the instance.
    pub path: String,
    /// Nets by port.
    pub pins: BTreeMap<String, Vec<Net>>,
}

/// A cell and its pins, for whoever adds up what cells cost.
#[derive(Clone, Debug)]
pub struct PlacedCell<'l> {
    /// Its name in the library.
    pub kind: &'l str,
    /// It.
    pub cell: &'l Cell,
    /// Nets by pin.
    pub pins: BTreeMap<&'l str, Net>,
}

/// An instance of a module, with the names that its nets have in it.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Name of the instance; of the module for the outermost.
    pub name: String,
    /// Named vectors of nets, lowest bit first.
    pub nets: Vec<(String, Vec<Net>)>,
    /// Instances in it.
    pub scopes: Vec<Scope>,
}

/// A circuit.
#[derive(Clone, Debug)]
pub struct Gates<'l> {
    /// Nets, the constants included.
    pub nets: usize,
    /// Cells, in hierarchical order.
    pub cells: Vec<PlacedCell<'l>>,
    /// Gates by level.
    pub gates: Vec<Gate>,
    /// Flip-flops.
    pub flip_flops: Vec<FlipFlopGate>,
    /// Memories.
    pub memories: Vec<MemoryGate>,
    /// Input ports with their nets, lowest bit first.
    pub inputs: BTreeMap<String, Vec<Net>>,
    /// Output ports with their nets.
    pub outputs: BTreeMap<String, Vec<Net>>,
    /// Names.
    pub scope: Scope,
}

/// A mapped circuit that cannot be walked through.
#[derive(Debug, Error)]
pub enum GatesError {
    /// It has a cell that the library does not have.
    #[error("{path}: neither a cell of library {library} nor a module: {kind}")]
    UnknownCell {
        /// Path of the instance.
        path: String,
        /// The cell.
        kind: String,
        /// The library.
        library: String,
    },
    /// It has a cell whose behaviour is not known.
    #[error(
        "{path}: {kind} of library {library} stores or lets go in a way that is not evaluated; gates and flip-flops of the rising edge without clear or preset are"
    )]
    UnsupportedCell {
        /// Path of the instance.
        path: String,
        /// The cell.
        kind: String,
        /// The library.
        library: String,
    },
    /// A gate waits for itself.
    #[error("{circuit}: {gates} gates form a loop")]
    Loop {
        /// The outermost module.
        circuit: String,
        /// Gates in loops or behind them.
        gates: usize,
    },
}

impl<'l> Gates<'l> {
    /// Takes the hierarchy out of a mapped circuit, from its module `top` down.
    pub fn flatten(
        mapped: &Mapped,
        top: &str,
        memories: &[Memory],
        library: &'l Library,
    ) -> Result<Gates<'l>, GatesError> {
        let mut flattener = Flattener {
            mapped,
            memories,
            library,
            alias: vec![ZERO, ONE],
            gates: Gates {
                nets: 0,
                cells: Vec::new(),
                gates: Vec::new(),
                flip_flops: Vec::new(),
                memories: Vec::new(),
                inputs: BTreeMap::new(),
                outputs: BTreeMap::new(),
                scope: Scope { name: top.to_owned(), nets: Vec::new(), scopes: Vec::new() },
            },
        };
        let module = &mapped.design.modules[top];
        let (scope, ports) = flattener.module((module, top), top, top)?;
        flattener.gates.scope = scope;
        for (name, port) in &module.ports {
            let side = match port.direction {
                PortDirection::Input => &mut flattener.gates.inputs,
                PortDirection::Output | PortDirection::Inout => &mut flattener.gates.outputs,
            };
            side.insert(name.clone(), ports[name.as_str()].clone());
        }
        flattener.resolve();
        let mut gates = flattener.gates;
        gates.levelise(top)?;
        Ok(gates)
    }

    /// Gates on the longest way between inputs or state and outputs or state.
    pub fn depth(&self) -> u32 {
        self.gates.iter().map(|gate| gate.level).max().unwrap_or(0)
    }

    /// Gives every gate its level and sorts by it.
    fn levelise(&mut self, circuit: &str) -> Result<(), GatesError> {
        let mut driver: Vec<Option<u32>> = vec![None; self.nets];
        for (index, gate) in self.gates.iter().enumerate() {
            driver[gate.output as usize] = Some(index as u32);
        }
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); self.gates.len()];
        let mut waits: Vec<u32> = vec![0; self.gates.len()];
        for (index, gate) in self.gates.iter().enumerate() {
            for before in gate.inputs.iter().filter_map(|&net| driver[net as usize]) {
                users[before as usize].push(index as u32);
                waits[index] += 1;
            }
        }
        let mut ready: Vec<u32> = (0..self.gates.len() as u32).filter(|&g| waits[g as usize] == 0).collect();
        ready.iter().for_each(|&gate| self.gates[gate as usize].level = 1);
        let mut done = 0;
        while let Some(gate) = ready.pop() {
            done += 1;
            let level = self.gates[gate as usize].level + 1;
            for &user in &users[gate as usize] {
                let user_gate = &mut self.gates[user as usize];
                user_gate.level = user_gate.level.max(level);
                waits[user as usize] -= 1;
                if waits[user as usize] == 0 {
                    ready.push(user);
                }
            }
        }
        if done < self.gates.len() {
            return Err(GatesError::Loop { circuit: circuit.to_owned(), gates: self.gates.len() - done });
        }
        self.gates.sort_by_key(|gate| gate.level);
        Ok(())
    }
}

struct Flattener<'m, 'l> {
    mapped: &'m Mapped,
    memories: &'m [Memory],
    library: &'l Library,
    /// What each net is the same as; a net of its own is the same as itself.
    alias: Vec<Net>,
    gates: Gates<'l>,
}

impl Flattener<'_, '_> {
    /// Adds an instance of a module, which has a name; gives its names and the nets of its ports.
    fn module(
        &mut self,
        (module, kind): (&MappedModule, &str),
        name: &str,
        path: &str,
    ) -> Result<(Scope, BTreeMap<String, Vec<Net>>), GatesError> {
        let mut local: BTreeMap<u32, Net> = BTreeMap::new();
        let mut scopes = Vec::new();
        for (instance, cell) in &module.cells {
            let pins: BTreeMap<&str, Vec<Net>> = (cell.connections.iter())
                .map(|(pin, bits)| {
                    (pin.as_str(), bits.iter().map(|&bit| self.net(&mut local, bit)).collect())
                })
                .collect();
            let path = format!("{path}.{instance}");
            if let Some(memory) = self.memories.iter().position(|memory| memory.module == cell.kind) {
                let pins = pins.into_iter().map(|(pin, nets)| (pin.to_owned(), nets)).collect();
                self.gates.memories.push(MemoryGate { memory, module: kind.to_owned(), path, pins });
            } else if let Some(child) = self.mapped.design.modules.get(&cell.kind) {
                let (scope, ports) = self.module((child, &cell.kind), instance, &path)?;
                scopes.push(scope);
                for (port, nets) in &ports {
                    let outside = pins.get(port.as_str()).map(Vec::as_slice).unwrap_or_default();
                    nets.iter().zip(outside).for_each(|(&inside, &outside)| self.join(inside, outside));
                }
            } else {
                self.cell(&cell.kind, &pins, &path)?;
            }
        }
        let mut named =
            |bits: &[Bit]| bits.iter().map(|&bit| self.net(&mut local, bit)).collect::<Vec<Net>>();
        let ports = module.ports.iter().map(|(name, port)| (name.clone(), named(&port.bits))).collect();
        let nets = module.netnames.iter().map(|(name, net)| (name.clone(), named(&net.bits))).collect();
        Ok((Scope { name: name.to_owned(), nets, scopes }, ports))
    }

    fn cell(&mut self, kind: &str, pins: &BTreeMap<&str, Vec<Net>>, path: &str) -> Result<(), GatesError> {
        let library = self.library;
        let Some((kind, cell)) = library.cells.get_key_value(kind) else {
            let (path, kind, library) = (path.to_owned(), kind.to_owned(), library.name.clone());
            return Err(GatesError::UnknownCell { path, kind, library });
        };
        let unsupported = || GatesError::UnsupportedCell {
            path: path.to_owned(),
            kind: kind.clone(),
            library: library.name.clone(),
        };
        // A pin that is not connected is 0, as in Yosys after `setundef`.
        let net = |pin: &str| pins.get(pin).and_then(|nets| nets.first()).copied();
        let nets =
            |inputs: &[String]| inputs.iter().map(|pin| net(pin).unwrap_or(ZERO)).collect::<Vec<Net>>();
        let index = self.gates.cells.len() as u32;
        let outputs = cell.pins.iter().filter(|(_, pin)| pin.is_output);
        match &cell.storage {
            Storage::None => {
                for (name, pin) in outputs {
                    let Some(output) = net(name) else { continue };
                    let function = pin.function.as_ref().ok_or_else(unsupported)?;
                    let inputs = nets(&function.inputs);
                    self.gates.gates.push(Gate {
                        cell: index,
                        inputs,
                        table: function.table,
                        output,
                        level: 0,
                    });
                }
            }
            Storage::FlipFlop(flip_flop) => {
                let mut shown = Vec::new();
                for (name, pin) in outputs {
                    let Some(output) = net(name) else { continue };
                    let function = pin.function.as_ref().ok_or_else(unsupported)?;
                    let [bit] = &function.inputs[..] else { return Err(unsupported()) };
                    let of_complement = *bit == flip_flop.complement;
                    if !of_complement && *bit != flip_flop.state {
                        return Err(unsupported());
                    }
                    shown.push((output, of_complement != (function.table == 0b01)));
                }
                let inputs = nets(&flip_flop.next.inputs);
                let table = flip_flop.next.table;
                self.gates.flip_flops.push(FlipFlopGate { cell: index, inputs, table, outputs: shown });
            }
            Storage::Other => return Err(unsupported()),
        }
        let pins = cell.pins.keys().filter_map(|pin| Some((pin.as_str(), net(pin)?))).collect();
        self.gates.cells.push(PlacedCell { kind, cell, pins });
        Ok(())
    }

    fn net(&mut self, local: &mut BTreeMap<u32, Net>, bit: Bit) -> Net {
        match bit {
            Bit::Constant(Constant::One) => ONE,
            Bit::Constant(Constant::Zero | Constant::Unknown | Constant::Open) => ZERO,
            Bit::Net(number) => *local.entry(number).or_insert_with(|| {
                self.alias.push(self.alias.len() as Net);
                self.alias.len() as Net - 1
            }),
        }
    }

    /// The net that stands for `net` and all that are the same.
    fn root(&mut self, mut net: Net) -> Net {
        while self.alias[net as usize] != net {
            self.alias[net as usize] = self.alias[self.alias[net as usize] as usize];
            net = self.alias[net as usize];
        }
        net
    }

    /// Makes two nets one. The lower number stands for both, so that constants stay what they are.
    fn join(&mut self, a: Net, b: Net) {
        let (a, b) = (self.root(a), self.root(b));
        self.alias[a.max(b) as usize] = a.min(b);
    }

    /// Numbers the nets that are left and puts them everywhere.
    fn resolve(&mut self) {
        let mut numbers: Vec<Option<Net>> = vec![None; self.alias.len()];
        let mut next = 0;
        let all: Vec<Net> = (0..self.alias.len() as Net)
            .map(|net| {
                let root = self.root(net) as usize;
                *numbers[root].get_or_insert_with(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let renumber = |net: &mut Net| *net = all[*net as usize];
        self.gates.nets = next as usize;
        for gate in &mut self.gates.gates {
            gate.inputs.iter_mut().for_each(renumber);
            renumber(&mut gate.output);
        }
        for flip_flop in &mut self.gates.flip_flops {
            flip_flop.inputs.iter_mut().for_each(renumber);
            flip_flop.outputs.iter_mut().for_each(|(net, _)| renumber(net));
        }
        for memory in &mut self.gates.memories {
            memory.pins.values_mut().flatten().for_each(renumber);
        }
        self.gates.cells.iter_mut().flat_map(|cell| cell.pins.values_mut()).for_each(renumber);
        let ports = self.gates.inputs.values_mut().chain(self.gates.outputs.values_mut());
        ports.flatten().for_each(renumber);
        renumber_scope(&mut self.gates.scope, &all);
    }
}

fn renumber_scope(scope: &mut Scope, numbers: &[Net]) {
    scope.nets.iter_mut().flat_map(|(_, nets)| nets).for_each(|net| *net = numbers[*net as usize]);
    scope.scopes.iter_mut().for_each(|inner| renumber_scope(inner, numbers));
}
