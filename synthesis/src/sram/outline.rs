//! Takes fields out of tables into memories of their own.

use warpfile_hdl::rtl::netlist::{
    Direction, Field, FieldWrite, Instance, InstanceId, MatchPort, Module, ModuleId, Netlist, Node, NodeId,
    Op, Port, PortId, ReadPort, RowExpr, SourceLine, Table, TableId, Update,
};

use super::cost::ports;
use super::{LEAST_BITS, LEAST_ROWS, Memory, Outlined};

/// The netlist with its large clocked tables as memories.
pub fn outline(netlist: &Netlist) -> Outlined {
    let mut memories: Vec<Memory> = Vec::new();
    let mut sources: Vec<SourceLine> = Vec::new();
    let mut rewritten: Vec<Module> = Vec::new();
    for module in &netlist.modules {
        rewritten.push(Rewriter::new(module, &mut memories, &mut sources).rewrite());
    }
    let added = memories.len() as u32;
    for module in &mut rewritten {
        // Those that were there before moved up; the memories' own are their places in the list already.
        for instance in &mut module.instances {
            match instance.module.0.checked_sub(FIRST_MEMORY) {
                Some(memory) => instance.module = ModuleId(memory),
                None => instance.module = ModuleId(instance.module.0 + added),
            }
        }
    }
    let mut modules: Vec<Module> =
        memories.iter().zip(sources).map(|(memory, source)| memory_module(memory, source)).collect();
    modules.append(&mut rewritten);
    Outlined { netlist: Netlist { modules, top: ModuleId(netlist.top.0 + added) }, memories }
}

/// While modules are rewritten, memory `i` is module `FIRST_MEMORY + i`.
const FIRST_MEMORY: u32 = 1 << 31;

/// Rewrites one module.
struct Rewriter<'a> {
    module: Module,
    memories: &'a mut Vec<Memory>,
    sources: &'a mut Vec<SourceLine>,
}

impl<'a> Rewriter<'a> {
    fn new(module: &Module, memories: &'a mut Vec<Memory>, sources: &'a mut Vec<SourceLine>) -> Rewriter<'a> {
        Rewriter { module: module.clone(), memories, sources }
    }

    fn rewrite(mut self) -> Module {
        for index in 0..self.module.tables.len() {
            let id = TableId(index as u32);
            let fields = 0..self.module.tables[index].fields.len() as u32;
            let taken: Vec<u32> = fields.filter(|&field| is_memory(&self.module, id, field)).collect();
            for &field in &taken {
                self.take(id, field);
            }
            self.drop_fields(id, &taken);
        }
        self.module
    }

    /// Puts memories in the place of a field: one for each of its physical arrays.
    fn take(&mut self, id: TableId, field: u32) {
        let table = self.module.tables[id.index()].clone();
        let storage = &table.fields[field as usize];
        let memory = memory_of(&self.module, id, field);
        let arrays = storage.lanes / storage.lanes_per_array;
        let module = ModuleId(FIRST_MEMORY + self.memory(memory.clone(), table.source));
        let reads = readers(&self.module, id, field);
        let writes: Vec<(NodeId, NodeId, FieldWrite)> = writes(&table, field).collect();

        let mut read_values: Vec<Vec<NodeId>> = vec![Vec::new(); reads.len()];
        for array in 0..arrays {
            let mut inputs = Vec::new();
            for &port in &reads {
                let port = &table.reads[port as usize];
                inputs.push(port.address);
                inputs.push(port.enable);
                if let Some(lanes) = port.lanes.filter(|_| storage.lanes > 1) {
                    inputs.push(self.slice(lanes, array * memory.lanes, memory.lanes, table.source));
                }
            }
            for (address, enable, write) in &writes {
                inputs.push(*address);
                inputs.push(*enable);
                if let Some(lanes) = write.lanes {
                    inputs.push(self.slice(lanes, array * memory.lanes, memory.lanes, table.source));
                }
                inputs.push(self.slice(write.value, array * memory.bits, memory.bits, table.source));
            }
            let name = match arrays {
                1 => format!("{}_{}", table.name, storage.name),
                _ => format!("{}_{}{array}", table.name, storage.name),
            };
            let ports = memory_ports(&memory);
            let places = |direction| {
                let of = move |(_, port): &(u32, &MemoryPort)| port.direction == direction;
                (0u32..).zip(&ports).filter(of).map(|(place, _)| PortId(place))
            };
            let instance = InstanceId(self.module.instances.len() as u32);
            let outputs: Vec<PortId> = places(Direction::Output).collect();
            let inputs = places(Direction::Input).zip(inputs).collect();
            let name = fresh(&name, |name| self.module.instances.iter().any(|other| other.name == name));
            self.module.instances.push(Instance { name, module, inputs, source: table.source });
            for (values, port) in read_values.iter_mut().zip(outputs) {
                values.push(self.node(Op::InstanceOutput { instance, port }, memory.bits, table.source));
            }
        }
        self.show(id, field, &reads, &read_values);
    }

    /// Nodes that showed the field at a port show what the memories read.
    fn show(&mut self, id: TableId, field: u32, reads: &[u32], values: &[Vec<NodeId>]) {
        for node in &mut self.module.nodes {
            let Op::TableRead { table, port, field: shown } = node.op else { continue };
            let place = reads.iter().position(|&read| read == port);
            if let Some(place) = place.filter(|_| table == id && shown == field) {
                node.op = match &values[place][..] {
                    [value] => Op::Wire(*value),
                    arrays => Op::Concat(arrays.to_vec()),
                };
            }
        }
    }

    /// Takes fields and their writes out of a table; the others keep their order.
    fn drop_fields(&mut self, id: TableId, taken: &[u32]) {
        let renumbered = |field: u32| field - taken.iter().filter(|&&gone| gone < field).count() as u32;
        let table = &mut self.module.tables[id.index()];
        let mut index = 0;
        table.fields.retain(|_| {
            index += 1;
            !taken.contains(&(index - 1))
        });
        for update in &mut table.updates {
            match update {
                Update::Write { fields, .. } => {
                    fields.retain(|write| !taken.contains(&write.field));
                    fields.iter_mut().for_each(|write| write.field = renumbered(write.field));
                }
                Update::Add { field, .. } => *field = renumbered(*field),
                Update::ClearRow { .. } | Update::ClearRows { .. } | Update::SetRows { .. } => {}
            }
        }
        for MatchPort { condition, .. } in &mut table.matches {
            renumber(condition, &renumbered);
        }
        for node in &mut self.module.nodes {
            if let Op::TableRead { table, field, .. } = &mut node.op
                && *table == id
            {
                *field = renumbered(*field);
            }
        }
    }

    /// The place of a memory in the list; memories that are alike are one module.
    fn memory(&mut self, memory: Memory, source: SourceLine) -> u32 {
        let alike = |other: &Memory| Memory { module: memory.module.clone(), ..other.clone() } == memory;
        if let Some(known) = self.memories.iter().position(alike) {
            return known as u32;
        }
        let is_taken = |name: &str| self.memories.iter().any(|other| other.module == name);
        let module = fresh(&memory.module, is_taken);
        self.memories.push(Memory { module, ..memory });
        self.sources.push(source);
        self.memories.len() as u32 - 1
    }

    fn slice(&mut self, value: NodeId, low: u32, width: u32, source: SourceLine) -> NodeId {
        match self.module.nodes[value.index()].width {
            whole if whole == width => value,
            _ => self.node(Op::Slice { value, low }, width, source),
        }
    }

    fn node(&mut self, op: Op, width: u32, source: SourceLine) -> NodeId {
        self.module.nodes.push(Node { op, width, name: None, source });
        NodeId(self.module.nodes.len() as u32 - 1)
    }
}

/// `wanted`, or the first of `wanted_2`, `wanted_3`, … that is not taken.
fn fresh(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = wanted.to_owned();
    let mut number = 1;
    while is_taken(&name) {
        number += 1;
        name = format!("{wanted}_{number}");
    }
    name
}

/// Whether memories hold the field.
fn is_memory(module: &Module, id: TableId, index: u32) -> bool {
    let table = &module.tables[id.index()];
    let matched = table.matches.iter().any(|port| mentions(&port.condition, index));
    let added = table.updates.iter().any(|u| matches!(u, Update::Add { field, .. } if *field == index));
    let reads = readers(module, id, index);
    let clocked = reads.iter().all(|&port| table.reads[port as usize].clocked);
    let memory = memory_of(module, id, index);
    let is_large = memory.rows >= LEAST_ROWS && memory.capacity() >= LEAST_BITS;
    let has_ports = !reads.is_empty()
        && !memory.writes.is_empty()
        && ports(memory.reads.len(), memory.writes.len()).is_some();
    !matched && !added && clocked && is_large && has_ports
}

/// The memory of one of the physical arrays of a field.
fn memory_of(module: &Module, id: TableId, index: u32) -> Memory {
    let table = &module.tables[id.index()];
    let field = &table.fields[index as usize];
    let lanes = field.lanes_per_array;
    let bits = field.width / field.lanes * lanes;
    let reads: Vec<bool> = readers(module, id, index)
        .iter()
        .map(|&port| field.lanes > 1 && table.reads[port as usize].lanes.is_some())
        .collect();
    let writes: Vec<bool> = writes(table, index).map(|(_, _, write)| write.lanes.is_some()).collect();
    let mask = if lanes > 1 { format!("_{lanes}lanes") } else { String::new() };
    let module = format!("sram_{}x{bits}_{}r{}w{mask}", table.depth, reads.len(), writes.len());
    Memory { module, rows: table.depth, bits, lanes, reads, writes }
}

/// Ports that show a field to anything.
fn readers(module: &Module, id: TableId, index: u32) -> Vec<u32> {
    let shown = module.nodes.iter().filter_map(|node| match node.op {
        Op::TableRead { table, port, field } if table == id && field == index => Some(port),
        _ => None,
    });
    let mut ports: Vec<u32> = shown.collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Writes of a field in program order: address, enable, and what is written.
fn writes(table: &Table, index: u32) -> impl Iterator<Item = (NodeId, NodeId, FieldWrite)> {
    table.updates.iter().flat_map(move |update| match update {
        Update::Write { address, enable, fields, .. } => {
            let own = fields.iter().filter(|write| write.field == index);
            own.map(|write| (*address, *enable, write.clone())).collect::<Vec<_>>()
        }
        Update::Add { .. } | Update::ClearRow { .. } | Update::ClearRows { .. } | Update::SetRows { .. } => {
            Vec::new()
        }
    })
}

fn mentions(row: &RowExpr, index: u32) -> bool {
    match row {
        RowExpr::Field(field) => *field == index,
        RowExpr::Valid | RowExpr::Outer(_) | RowExpr::PerRow(_) => false,
        RowExpr::Slice(a, ..) | RowExpr::Not(a) => mentions(a, index),
        RowExpr::And(a, b) | RowExpr::Or(a, b) | RowExpr::Eq(a, b) | RowExpr::Lt(a, b) => {
            mentions(a, index) || mentions(b, index)
        }
    }
}

fn renumber(row: &mut RowExpr, number: &impl Fn(u32) -> u32) {
    match row {
        RowExpr::Field(field) => *field = number(*field),
        RowExpr::Valid | RowExpr::Outer(_) | RowExpr::PerRow(_) => {}
        RowExpr::Slice(a, ..) | RowExpr::Not(a) => renumber(a, number),
        RowExpr::And(a, b) | RowExpr::Or(a, b) | RowExpr::Eq(a, b) | RowExpr::Lt(a, b) => {
            renumber(a, number);
            renumber(b, number);
        }
    }
}

/// A port of a memory's module.
struct MemoryPort {
    name: String,
    direction: Direction,
    width: u32,
}

/// Ports in the order in which they are connected: of each read, then of each write.
fn memory_ports(memory: &Memory) -> Vec<MemoryPort> {
    let address_bits = address_bits(memory.rows);
    let mut ports = Vec::new();
    let mut add = |name: String, direction, width| ports.push(MemoryPort { name, direction, width });
    for (index, &wants_lanes) in memory.reads.iter().enumerate() {
        add(format!("read{index}_row_i"), Direction::Input, address_bits);
        add(format!("read{index}_enable_i"), Direction::Input, 1);
        if wants_lanes {
            add(format!("read{index}_lanes_i"), Direction::Input, memory.lanes);
        }
        add(format!("read{index}_value_o"), Direction::Output, memory.bits);
    }
    for (index, &masks) in memory.writes.iter().enumerate() {
        add(format!("write{index}_row_i"), Direction::Input, address_bits);
        add(format!("write{index}_enable_i"), Direction::Input, 1);
        if masks {
            add(format!("write{index}_lanes_i"), Direction::Input, memory.lanes);
        }
        add(format!("write{index}_value_i"), Direction::Input, memory.bits);
    }
    ports
}

/// Bits of an address: enough for the last row, at least 1.
fn address_bits(rows: u32) -> u32 {
    rows.saturating_sub(1).checked_ilog2().map_or(1, |log| log + 1)
}

/// The circuit of a memory: a table with clocked reads.
fn memory_module(memory: &Memory, source: SourceLine) -> Module {
    let mut nodes: Vec<Node> = Vec::new();
    let mut ports: Vec<Port> = Vec::new();
    for port in memory_ports(memory) {
        let id = PortId(ports.len() as u32);
        let driver = match port.direction {
            Direction::Input => {
                nodes.push(Node {
                    op: Op::Input(id),
                    width: port.width,
                    name: Some(port.name.clone()),
                    source,
                });
                None
            }
            Direction::Output => {
                let read = ports.iter().filter(|other: &&Port| other.direction == Direction::Output).count();
                let op = Op::TableRead { table: TableId(0), port: read as u32, field: 0 };
                nodes.push(Node { op, width: port.width, name: None, source });
                Some(NodeId(nodes.len() as u32 - 1))
            }
        };
        ports.push(Port {
            name: port.name,
            direction: port.direction,
            width: port.width,
            driver,
            valid_when: None,
        });
    }
    let input = |name: String| {
        let place = nodes.iter().position(|node| node.name.as_ref() == Some(&name));
        place.map(|place| NodeId(place as u32))
    };
    let always = |name: String| input(name).unwrap_or(NodeId(0));
    let reads = (0..memory.reads.len()).map(|index| ReadPort {
        name: format!("read{index}"),
        address: always(format!("read{index}_row_i")),
        enable: always(format!("read{index}_enable_i")),
        lanes: input(format!("read{index}_lanes_i")),
        clocked: true,
        source,
    });
    let updates = (0..memory.writes.len()).map(|index| Update::Write {
        name: format!("write{index}"),
        address: always(format!("write{index}_row_i")),
        enable: always(format!("write{index}_enable_i")),
        fields: vec![FieldWrite {
            field: 0,
            value: always(format!("write{index}_value_i")),
            lanes: input(format!("write{index}_lanes_i")),
        }],
        set_valid: false,
    });
    let table = Table {
        name: "rows".to_owned(),
        depth: memory.rows,
        address_bits: address_bits(memory.rows),
        fields: vec![Field {
            name: "value".to_owned(),
            width: memory.bits,
            lanes: memory.lanes,
            lanes_per_array: memory.lanes,
        }],
        has_valid: false,
        reads: reads.collect(),
        matches: Vec::new(),
        updates: updates.collect(),
        source,
    };
    Module {
        name: memory.module.clone(),
        doc: "A memory: reads are captured at the clock edge and see the row as it was before the writes of the cycle.\n"
            .to_owned(),
        parameters: Vec::new(),
        ports,
        nodes,
        registers: Vec::new(),
        tables: vec![table],
        instances: Vec::new(),
        invariants: Vec::new(),
    }
}
