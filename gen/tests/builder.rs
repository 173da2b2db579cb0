//! Netlists built by hand, one node at a time.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

/// A module under construction.
pub struct Builder {
    pub module: Module,
}

pub const HERE: SourceLine = SourceLine { file: "test", line: 1 };

impl Builder {
    pub fn new(name: &str, doc: &str) -> Builder {
        Builder {
            module: Module {
                name: name.into(),
                doc: doc.into(),
                parameters: vec![],
                ports: vec![],
                nodes: vec![],
                registers: vec![],
                tables: vec![],
                instances: vec![],
                invariants: vec![],
            },
        }
    }

    pub fn node(&mut self, op: Op, width: u32) -> NodeId {
        self.module.nodes.push(Node { op, width, name: None, source: HERE });
        NodeId(self.module.nodes.len() as u32 - 1)
    }

    pub fn constant(&mut self, width: u32, value: u64) -> NodeId {
        self.node(Op::Constant(Bits::new(width, value).unwrap()), width)
    }

    pub fn input(&mut self, name: &str, width: u32) -> NodeId {
        self.port(name, Direction::Input, width, None);
        let port = PortId(self.module.ports.len() as u32 - 1);
        self.node(Op::Input(port), width)
    }

    pub fn output(&mut self, name: &str, driver: NodeId) {
        let width = self.module.nodes[driver.index()].width;
        self.port(name, Direction::Output, width, Some(driver));
    }

    fn port(&mut self, name: &str, direction: Direction, width: u32, driver: Option<NodeId>) {
        self.module.ports.push(Port { name: name.into(), direction, width, driver, valid_when: None });
    }

    pub fn table(&mut self, name: &str, depth: u32, fields: &[(&str, u32, u32)]) -> TableId {
        self.module.tables.push(Table {
            name: name.into(),
            depth,
            address_bits: (u32::BITS - (depth - 1).leading_zeros()).max(1),
            fields: fields
                .iter()
                .map(|&(name, width, lanes)| Field {
                    name: name.into(),
                    width,
                    lanes,
                    lanes_per_array: lanes,
                })
                .collect(),
            has_valid: true,
            reads: vec![],
            matches: vec![],
            updates: vec![],
            source: HERE,
        });
        TableId(self.module.tables.len() as u32 - 1)
    }

    pub fn read(
        &mut self,
        table: TableId,
        name: &str,
        address: NodeId,
        enable: NodeId,
        clocked: bool,
    ) -> u32 {
        let reads = &mut self.module.tables[table.index()].reads;
        reads.push(ReadPort { name: name.into(), address, enable, lanes: None, clocked, source: HERE });
        reads.len() as u32 - 1
    }

    pub fn update(&mut self, table: TableId, update: Update) {
        self.module.tables[table.index()].updates.push(update);
    }

    pub fn netlist(self) -> Netlist {
        Netlist { modules: vec![self.module], top: ModuleId(0) }
    }
}
