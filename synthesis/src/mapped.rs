//! What Yosys made of a circuit: its `write_json`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A mapped design.
#[derive(Clone, Debug, Deserialize)]
pub struct Design {
    /// Modules by name. Memories are among them, empty.
    pub modules: BTreeMap<String, MappedModule>,
}

/// A module.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct MappedModule {
    /// Ports by name.
    pub ports: BTreeMap<String, MappedPort>,
    /// Instances of cells and modules by name.
    pub cells: BTreeMap<String, MappedCell>,
    /// Nets by name; a net has one name or more.
    pub netnames: BTreeMap<String, NetName>,
}

/// A port.
#[derive(Clone, Debug, Deserialize)]
pub struct MappedPort {
    /// Which way.
    pub direction: PortDirection,
    /// Its nets, lowest bit first.
    pub bits: Vec<Bit>,
}

/// Which way a port goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PortDirection {
    /// Into the module.
    Input,
    /// Out of it.
    Output,
    /// Both ways.
    Inout,
}

/// An instance.
#[derive(Clone, Debug, Deserialize)]
pub struct MappedCell {
    /// The cell of the library, or the module.
    #[serde(rename = "type")]
    pub kind: String,
    /// Nets by pin, lowest bit first.
    pub connections: BTreeMap<String, Vec<Bit>>,
}

/// A named vector of nets.
#[derive(Clone, Debug, Deserialize)]
pub struct NetName {
    /// Its nets, lowest bit first.
    pub bits: Vec<Bit>,
}

/// A net of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Bit {
    /// A net, by its number in the module.
    Net(u32),
    /// No net: a value.
    Constant(Constant),
}

/// A value that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Constant {
    /// 0.
    #[serde(rename = "0")]
    Zero,
    /// 1.
    #[serde(rename = "1")]
    One,
    /// Anything; taken as 0.
    #[serde(rename = "x")]
    Unknown,
    /// Nothing; taken as 0.
    #[serde(rename = "z")]
    Open,
}
