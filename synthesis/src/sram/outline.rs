//! Takes fields out of tables into arrays of their own: memories, and arrays of flip-flops.

use warpfile_hdl::rtl::netlist::{
    Direction, Field, FieldWrite, Instance, InstanceId, MatchPort, Module, ModuleId, Netlist, Node, NodeId,
    Op, Port, PortId, ReadPort, RowExpr, SourceLine, Table, TableId, Update,
};

use super::cost::ports;
use super::{LEAST_ARRAY_BITS, LEAST_BITS, LEAST_ROWS, Memory, Outlined};

/// The netlist with its large clocked tables as memories, and other large ones that are split into physical arrays as
/// arrays of flip-flops.
pub fn outline(netlist: &Netlist) -> Outlined {
    let (netlist, _) = take_out(netlist, Kind::FlipFlops);
    let (netlist, memories) = take_out(&netlist, Kind::Memory);
    Outlined { netlist, memories: memories.into_iter().map(|array| array.shape).collect() }
}

/// What a field is made of that is taken out of its table.
#[derive(Clone, Copy)]
enum Kind {
    Memory,
    FlipFlops,
}

impl Kind {
    fn takes(self, module: &Module, id: TableId, field: u32) -> bool {
        match self {
            Kind::Memory => is_memory(module, id, field),
            Kind::FlipFlops => is_array(module, id, field),
        }
    }

    /// What modules' names begin with.
    fn prefix(self) -> &'static str {
        match self {
            Kind::Memory => "sram",
            Kind::FlipFlops => "array",
        }
    }
}

/// A physical array of a field.
struct Array {
    shape: Memory,
    /// Read ports: whether each is clocked.
    clocked: Vec<bool>,
    /// The table it comes from.
    source: SourceLine,
}

/// The netlist with fields of a kind as arrays, which are its first modules.
fn take_out(netlist: &Netlist, kind: Kind) -> (Netlist, Vec<Array>) {
    let mut arrays: Vec<Array> = Vec::new();
    let mut rewritten: Vec<Module> = Vec::new();
    let taken: Vec<&str> = netlist.modules.iter().map(|module| module.name.as_str()).collect();
    for module in &netlist.modules {
        let (module, arrays, taken) = (module.clone(), &mut arrays, &taken[..]);
        rewritten.push(Rewriter { module, kind, arrays, taken }.rewrite());
    }
    let added = arrays.len() as u32;
    for module in &mut rewritten {
        // Those that were there before moved up; the arrays' own are their places in the list already.
        for instance in &mut module.instances {
            match instance.module.0.checked_sub(FIRST_ARRAY) {
                Some(array) => instance.module = ModuleId(array),
                None => instance.module = ModuleId(instance.module.0 + added),
            }
        }
    }
    let mut modules: Vec<Module> = arrays.iter().map(array_module).collect();
    modules.append(&mut rewritten);
    (Netlist { modules, top: ModuleId(netlist.top.0 + added) }, arrays)
}

/// While modules are rewritten, array `i` is module `FIRST_ARRAY + i`.
const FIRST_ARRAY: u32 = 1 << 31;

/// Rewrites one module.
struct Rewriter<'a> {
    module: Module,
    kind: Kind,
    arrays: &'a mut Vec<Array>,
    /// Names of modules that there are already.
    taken: &'a [&'a str],
}

impl Rewriter<'_> {
    fn rewrite(mut self) -> Module {
        for index in 0..self.module.tables.len() {
            let id = TableId(index as u32);
            let fields = 0..self.module.tables[index].fields.len() as u32;
            let taken: Vec<u32> = fields.filter(|&field| self.kind.takes(&self.module, id, field)).collect();
            for &field in &taken {
                self.take(id, field);
            }
            self.drop_fields(id, &taken);
        }
        self.module
    }

    /// Puts modules in the place of a field: one for each of its physical arrays.
    fn take(&mut self, id: TableId, field: u32) {
        let table = self.module.tables[id.index()].clone();
        let storage = &table.fields[field as usize];
        let wanted = array_of(&self.module, id, field, self.kind);
        let shape = wanted.shape.clone();
        let arrays = storage.lanes / storage.lanes_per_array;
        let module = ModuleId(FIRST_ARRAY + self.array(wanted));
        let reads = readers(&self.module, id, field);
        let writes: Vec<(NodeId, NodeId, FieldWrite)> = writes(&table, field).collect();

        let mut read_values: Vec<Vec<NodeId>> = vec![Vec::new(); reads.len()];
        for array in 0..arrays {
            let mut inputs = Vec::new();
            for &port in &reads {
                let port = &table.reads[port as usize];
                let enable = match port.gating_lanes(storage) {
                    Some(lanes) => {
                        let lanes = self.slice(lanes, array * shape.lanes, shape.lanes, table.source);
                        let wanted = self.node(Op::ReduceOr(lanes), 1, table.source);
                        self.node(Op::And(port.enable, wanted), 1, table.source)
                    }
                    None => port.enable,
                };
                inputs.extend([port.address, enable]);
            }
            for (address, enable, write) in &writes {
                inputs.push(*address);
                inputs.push(*enable);
                if let Some(lanes) = write.lanes {
                    inputs.push(self.slice(lanes, array * shape.lanes, shape.lanes, table.source));
                }
                inputs.push(self.slice(write.value, array * shape.bits, shape.bits, table.source));
            }
            let name = match arrays {
                1 => format!("{}_{}", table.name, storage.name),
                _ => format!("{}_{}{array}", table.name, storage.name),
            };
            let ports = array_ports(&shape);
            let places = |direction| {
                let of = move |(_, port): &(u32, &ArrayPort)| port.direction == direction;
                (0u32..).zip(&ports).filter(of).map(|(place, _)| PortId(place))
            };
            let instance = InstanceId(self.module.instances.len() as u32);
            let outputs: Vec<PortId> = places(Direction::Output).collect();
            let inputs = places(Direction::Input).zip(inputs).collect();
            let name = fresh(&name, |name| self.module.instances.iter().any(|other| other.name == name));
            self.module.instances.push(Instance { name, module, inputs, source: table.source });
            for (values, port) in read_values.iter_mut().zip(outputs) {
                values.push(self.node(Op::InstanceOutput { instance, port }, shape.bits, table.source));
            }
        }
        self.show(id, field, &reads, &read_values);
    }

    /// Nodes that showed the field at a port show what the arrays read.
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

    /// The place of an array in the list; those that are alike are one module.
    fn array(&mut self, wanted: Array) -> u32 {
        let alike = |other: &Array| {
            let shape = Memory { module: wanted.shape.module.clone(), ..other.shape.clone() };
            shape == wanted.shape && other.clocked == wanted.clocked
        };
        if let Some(known) = self.arrays.iter().position(alike) {
            return known as u32;
        }
        let is_taken = |name: &str| {
            self.arrays.iter().any(|other| other.shape.module == name) || self.taken.contains(&name)
        };
        let module = fresh(&wanted.shape.module, is_taken);
        self.arrays.push(Array { shape: Memory { module, ..wanted.shape }, ..wanted });
        self.arrays.len() as u32 - 1
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
    let array = array_of(module, id, index, Kind::Memory);
    let Memory { rows, reads, writes, .. } = &array.shape;
    let is_large = *rows >= LEAST_ROWS && array.shape.capacity() >= LEAST_BITS;
    let is_clocked = array.clocked.iter().all(|&clocked| clocked);
    is_plain(module, id, index) && is_clocked && is_large && ports(*reads as usize, writes.len()).is_some()
}

/// Whether several arrays of flip-flops hold the field.
fn is_array(module: &Module, id: TableId, index: u32) -> bool {
    let field = &module.tables[id.index()].fields[index as usize];
    let is_split = field.lanes > field.lanes_per_array;
    let is_large = array_of(module, id, index, Kind::FlipFlops).shape.capacity() >= LEAST_ARRAY_BITS;
    is_plain(module, id, index) && is_split && is_large && !is_memory(module, id, index)
}

/// Whether rows of the field are only read and written.
fn is_plain(module: &Module, id: TableId, index: u32) -> bool {
    let table = &module.tables[id.index()];
    let is_matched = table.matches.iter().any(|port| mentions(&port.condition, index));
    let is_added_to = table.updates.iter().any(|u| matches!(u, Update::Add { field, .. } if *field == index));
    let (is_read, is_written) =
        (!readers(module, id, index).is_empty(), writes(table, index).next().is_some());
    !is_matched && !is_added_to && is_read && is_written
}

/// One of the physical arrays of a field.
fn array_of(module: &Module, id: TableId, index: u32, kind: Kind) -> Array {
    let table = &module.tables[id.index()];
    let field = &table.fields[index as usize];
    let lanes = field.lanes_per_array;
    let bits = field.width / field.lanes * lanes;
    let ports: Vec<&ReadPort> =
        readers(module, id, index).into_iter().map(|port| &table.reads[port as usize]).collect();
    let writes: Vec<bool> = writes(table, index).map(|(_, _, write)| write.lanes.is_some()).collect();
    let mask = if lanes > 1 { format!("_{lanes}lanes") } else { String::new() };
    let (prefix, reads, written) = (kind.prefix(), ports.len() as u32, writes.len());
    let module = format!("{prefix}_{}x{bits}_{reads}r{written}w{mask}", table.depth);
    let clocked = ports.iter().map(|port| port.clocked).collect();
    let shape = Memory { module, rows: table.depth, bits, lanes, reads, writes };
    Array { shape, clocked, source: table.source }
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

/// A port of an array's module.
struct ArrayPort {
    name: String,
    direction: Direction,
    width: u32,
}

/// Ports in the order in which they are connected: of each read, then of each write.
fn array_ports(shape: &Memory) -> Vec<ArrayPort> {
    let address_bits = address_bits(shape.rows);
    let mut ports = Vec::new();
    let mut add = |name: String, direction, width| ports.push(ArrayPort { name, direction, width });
    for index in 0..shape.reads {
        add(format!("read{index}_row_i"), Direction::Input, address_bits);
        add(format!("read{index}_enable_i"), Direction::Input, 1);
        add(format!("read{index}_value_o"), Direction::Output, shape.bits);
    }
    for (index, &masks) in shape.writes.iter().enumerate() {
        add(format!("write{index}_row_i"), Direction::Input, address_bits);
        add(format!("write{index}_enable_i"), Direction::Input, 1);
        if masks {
            add(format!("write{index}_lanes_i"), Direction::Input, shape.lanes);
        }
        add(format!("write{index}_value_i"), Direction::Input, shape.bits);
    }
    ports
}

/// Bits of an address: enough for the last row, at least 1.
fn address_bits(rows: u32) -> u32 {
    rows.saturating_sub(1).checked_ilog2().map_or(1, |log| log + 1)
}

/// The circuit of an array: a table.
fn array_module(array: &Array) -> Module {
    let (shape, source) = (&array.shape, array.source);
    let mut nodes: Vec<Node> = Vec::new();
    let mut ports: Vec<Port> = Vec::new();
    for port in array_ports(shape) {
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
    let reads = (0..shape.reads as usize).map(|index| ReadPort {
        name: format!("read{index}"),
        address: always(format!("read{index}_row_i")),
        enable: always(format!("read{index}_enable_i")),
        lanes: None,
        clocked: array.clocked[index],
        source,
    });
    let updates = (0..shape.writes.len()).map(|index| Update::Write {
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
        depth: shape.rows,
        address_bits: address_bits(shape.rows),
        fields: vec![Field {
            name: "value".to_owned(),
            width: shape.bits,
            lanes: shape.lanes,
            lanes_per_array: shape.lanes,
        }],
        has_valid: false,
        reads: reads.collect(),
        matches: Vec::new(),
        updates: updates.collect(),
        source,
    };
    Module {
        name: shape.module.clone(),
        doc: "An array: clocked reads are captured at the edge and see the row as it was before the writes of the cycle.\n"
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
