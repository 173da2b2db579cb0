//! Asks Yosys whether a mutant is the same function as its circuit.
//!
//! Registers and table rows of both become inputs and outputs, so that what is left is combinational. If from every
//! state in which the circuit's invariants hold, under every input, all outputs and all next states are the same, both
//! do the same from then on: the invariants hold in every state that the circuit reaches. What both have in common is
//! merged before it is proven, so that large circuits with a small difference take no long. The circuit is first proven
//! without its sub-circuits, which are the same in both: what they give may be anything, and what they take has to be the
//! same. Only if that does not hold, they are part of the proof.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::{
    Direction, InstanceId, Module, ModuleId, Netlist, Node, NodeId, Op, Port, PortId, SourceLine,
};

use warpfile_verify::ToolError;
use warpfile_verify::tools::{printed, run};

/// Sizes of a circuit that are proven, the smallest ones.
const SIZES: usize = 3;
/// Seconds that a proof may take.
const SECONDS: u32 = 60;
/// Seconds that it may take with all that comes before: rows become flip-flops, which are many in a large table.
const PATIENCE: u32 = 180;
/// What `timeout` says when there is no Yosys.
const NOT_FOUND: i32 = 127;
/// How an outcome begins that was proven.
pub(super) const PROVEN: &str = "proven";
/// Folder in that of a size, with the circuit without its sub-circuits.
pub(super) const ALONE: &str = "alone";
const INVARIANTS: &str = "invariants_o";

/// What came of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The same function; how this is known.
    Same(String),
    /// Another function, or it is not known in time.
    Unknown,
}

/// Whether in each folder of `folder` `mutant` is the same function as `original`, for the smallest of them.
pub(super) fn all_same(folder: &Path) -> Result<Proof, ToolError> {
    let failed = |source: io::Error| ToolError::File { path: folder.into(), source };
    let mut sizes = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let bytes = files(&path.join("original")).map_err(failed)?;
        let bytes: u64 = bytes.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        sizes.push((bytes, path));
    }
    sizes.sort();
    for (_, path) in sizes.iter().take(SIZES) {
        let alone = path.join(ALONE);
        let is_proven = (alone.exists() && is_same(&alone)?) || is_same(path)?;
        if !is_proven {
            return Ok(Proof::Unknown);
        }
    }
    Ok(match sizes.len().min(SIZES) {
        0 => Proof::Unknown,
        1 => Proof::Same(PROVEN.into()),
        proven => Proof::Same(format!("{PROVEN} at {proven} of {} sizes", sizes.len())),
    })
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "v") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn is_same(folder: &Path) -> Result<bool, ToolError> {
    let read = |name: &str, kept: &str| {
        format!(
            "read_verilog {name}/*.v; hierarchy -top top; proc; flatten; memory -nordff -nomap; memory_map; \
             opt_clean; expose -dff -evert-dff top; rename top {kept}; design -stash {kept}; "
        )
    };
    let script = format!(
        "{}{}design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; \
         miter -equiv -flatten -make_outputs gold gate miter; hierarchy -top miter; opt -fast; \
         sat -timeout {SECONDS} -set gold_{INVARIANTS} 1 -prove trigger 0 miter",
        read("original", "gold"),
        read("mutant", "gate")
    );
    let patience = PATIENCE.to_string();
    let output = run("timeout", "coreutils", &[&patience, "yosys", "-p", &script], folder)?;
    if output.status.code() == Some(NOT_FOUND) {
        return Err(ToolError::Missing { tool: "yosys".into(), package: "yosys" });
    }
    Ok(printed(&output).contains("SAT proof finished - no model found: SUCCESS!"))
}

/// The netlist as it is proven: outputs that mean nothing are 0; whether an output means something is an output, and so
/// is whether all invariants hold, here and below.
pub(super) fn observable(netlist: &Netlist) -> Netlist {
    let mut netlist = netlist.clone();
    let top = netlist.top.index();
    silence(&mut netlist.modules[top]);
    let mut ports: Vec<PortId> = Vec::new();
    for module in &mut netlist.modules {
        ports.push(PortId(module.ports.len() as u32));
        let holds = invariants(module, &ports);
        let output = |name: String, driver| {
            let direction = Direction::Output;
            Port { name, direction, width: 1, driver: Some(driver), valid_when: None }
        };
        let qualified = module.ports.iter().filter_map(|port| Some((&port.name, port.valid_when?)));
        let meaningful: Vec<Port> =
            qualified.map(|(name, driver)| output(format!("{name}_is_meaningful_o"), driver)).collect();
        module.ports.push(output(INVARIANTS.into(), holds));
        module.ports.extend(meaningful);
        module.ports.iter_mut().for_each(|port| port.valid_when = None);
        module.invariants.clear();
    }
    netlist
}

/// The outermost module without its sub-circuits: what they give is an input, and what they take an output, named
/// `below_<instance>_<port>`. `None` if it has none.
pub fn alone(netlist: &Netlist) -> Option<Netlist> {
    let mut module = netlist.top().clone();
    let instances = std::mem::take(&mut module.instances);
    for (id, instance) in (0..).map(InstanceId).zip(&instances) {
        let below = &netlist.modules[instance.module.index()];
        let port = |port: PortId, direction, driver| {
            let Port { name, width, .. } = &below.ports[port.index()];
            let name = format!("below_{}_{name}", instance.name);
            Port { name, direction, width: *width, driver, valid_when: None }
        };
        for &(input, node) in &instance.inputs {
            module.ports.push(port(input, Direction::Output, Some(node)));
        }
        for output in (0..below.ports.len() as u32).map(PortId) {
            if below.ports[output.index()].direction == Direction::Output {
                let given = PortId(module.ports.len() as u32);
                module.ports.push(port(output, Direction::Input, None));
                let taken = Op::InstanceOutput { instance: id, port: output };
                let takers = module.nodes.iter_mut().filter(|node| node.op == taken);
                takers.for_each(|node| node.op = Op::Input(given));
            }
        }
    }
    let has_instances = !instances.is_empty();
    has_instances.then(|| Netlist { modules: vec![module], top: ModuleId(0) })
}

/// Lets outputs that mean nothing be 0.
fn silence(module: &mut Module) {
    for port in 0..module.ports.len() {
        let Port { driver, valid_when, width, .. } = module.ports[port];
        let (Some(then), Some(condition)) = (driver, valid_when) else { continue };
        let otherwise = push(module, Op::Constant(Bits::zero(width)), width);
        module.ports[port].driver = Some(push(module, Op::Mux { condition, then, otherwise }, width));
    }
}

/// A node that is 1 if all invariants of the module and of what is below it hold; `ports` are the outputs that say so
/// of the modules before.
fn invariants(module: &mut Module, ports: &[PortId]) -> NodeId {
    let mut conditions: Vec<NodeId> = module.invariants.iter().map(|invariant| invariant.condition).collect();
    let below: Vec<ModuleId> = module.instances.iter().map(|instance| instance.module).collect();
    for (instance, below) in (0..).map(InstanceId).zip(below) {
        conditions.push(push(module, Op::InstanceOutput { instance, port: ports[below.index()] }, 1));
    }
    let always = push(module, Op::Constant(Bits::ones(1)), 1);
    conditions.into_iter().fold(always, |all, condition| push(module, Op::And(all, condition), 1))
}

fn push(module: &mut Module, op: Op, width: u32) -> NodeId {
    module.nodes.push(Node { op, width, name: None, source: SourceLine { file: file!(), line: line!() } });
    NodeId(module.nodes.len() as u32 - 1)
}
