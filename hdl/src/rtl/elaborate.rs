//! From a circuit to its netlist.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::builder::ModuleBuilder;
use super::circuit::{Circuit, Documented, parameters_of};
use super::error::{ElaborationError, ElaborationErrors, Problem};
use super::finish::finish;
use super::loops::{self, Dependencies};
use super::module::Module;
use super::netlist::{self, Direction, Instance, InstanceId, ModuleId, Netlist, SourceLine};
use super::ports::{PortBinder, Ports, Side};
use super::signal::Signal;

/// Deepest nesting of sub-circuits.
const DEEPEST_NESTING: usize = 64;

/// Type of a circuit, and its parameters by name.
type ModuleKey = (&'static str, Vec<(String, String)>);

/// What all modules of one elaboration share.
#[derive(Default)]
pub(super) struct Design {
    pub errors: Vec<ElaborationError>,
    /// Finished modules, children before parents.
    pub modules: Vec<netlist::Module>,
    /// Of each finished module: which inputs each output depends on within a cycle.
    pub dependencies: Vec<Dependencies>,
    /// Modules by circuit and parameters.
    built: BTreeMap<ModuleKey, ModuleId>,
}

/// The netlist of a circuit, or everything that is wrong with it.
#[track_caller]
pub fn elaborate<C: Circuit>(circuit: &C) -> Result<Netlist, ElaborationErrors> {
    let source = super::builder::caller();
    let design = Rc::new(RefCell::new(Design::default()));
    let top = match circuit.validate() {
        Ok(()) => build_module(circuit, &design, C::NAME.to_string(), source),
        Err(error) => {
            let (path, problem) = (String::new(), Problem::Parameter(error));
            return Err(ElaborationErrors(vec![ElaborationError { path, source: None, problem }]));
        }
    };
    let mut design = design.borrow_mut();
    match std::mem::take(&mut design.errors) {
        errors if errors.is_empty() => Ok(Netlist { modules: std::mem::take(&mut design.modules), top }),
        errors => Err(ElaborationErrors(errors)),
    }
}

/// The module of `circuit`, built if this is its first use in the design. Its parameters are valid.
fn build_module<C: Circuit>(
    circuit: &C,
    design: &Rc<RefCell<Design>>,
    path: String,
    source: SourceLine,
) -> ModuleId {
    let parameters = parameters_of(circuit);
    let key = (std::any::type_name::<C>(), parameters.clone());
    if let Some(&module) = design.borrow().built.get(&key) {
        return module;
    }
    let module = netlist::Module {
        name: circuit.module_name(),
        doc: <C as Documented>::DOC.to_string(),
        parameters,
        ports: Vec::new(),
        nodes: Vec::new(),
        registers: Vec::new(),
        tables: Vec::new(),
        instances: Vec::new(),
        invariants: Vec::new(),
    };
    check_module_name(design, &module, &path);
    let arena = RefCell::new(ModuleBuilder::new(Rc::clone(design), path, module));
    describe_into(circuit, &arena, source);
    let (module, dependencies) = finish(arena.into_inner());
    let mut design = design.borrow_mut();
    let id = ModuleId(design.modules.len() as u32);
    design.modules.push(module);
    design.dependencies.push(dependencies);
    design.built.insert(key, id);
    id
}

/// A port of a sub-circuit whose type is not known.
#[derive(Clone, Debug)]
pub struct InstancePort<'m> {
    /// Name in the sub-circuit: `lookup_valid_i`.
    pub name: String,
    /// Direction, seen from inside the sub-circuit: an input is to be set.
    pub direction: Direction,
    /// The port.
    pub signal: Signal<'m>,
}

/// Adds a sub-circuit to `m` that is elaborated already, and gives its ports in order.
pub(super) fn add_netlist<'m>(
    m: Module<'m>,
    name: String,
    netlist: &Netlist,
    source: SourceLine,
) -> Vec<InstancePort<'m>> {
    let side = {
        let b = &mut *m.arena.borrow_mut();
        b.take_name(&name, "sub-circuit", source);
        match import(&b.design, netlist) {
            Ok(module) => {
                b.module.instances.push(Instance { name, module, inputs: Vec::new(), source });
                Side::Outside(InstanceId(b.module.instances.len() as u32 - 1))
            }
            Err(problem) => {
                b.error(source, problem);
                Side::Broken
            }
        }
    };
    let mut binder = PortBinder::new(m, side, source);
    let ports = netlist.modules[netlist.top.index()].ports.iter();
    ports
        .map(|port| {
            let (name, bits) = (port.name.clone(), port.width as usize);
            let signal = match port.direction {
                Direction::Input => binder.input(&name, bits),
                Direction::Output => binder.output(&name, bits),
            };
            InstancePort { name, direction: port.direction, signal }
        })
        .collect()
}

/// Takes the modules of a netlist into a design, and gives its top. A module that the design has already is
/// shared; another one of the same name is an error.
fn import(design: &Rc<RefCell<Design>>, netlist: &Netlist) -> Result<ModuleId, Problem> {
    let design = &mut *design.borrow_mut();
    let mut ids: Vec<ModuleId> = Vec::new();
    for module in &netlist.modules {
        let mut module = module.clone();
        for instance in &mut module.instances {
            instance.module = ids[instance.module.index()];
        }
        let same_name = design.modules.iter().position(|other| other.name == module.name);
        let id = match same_name {
            Some(id) if design.modules[id] == module => id,
            Some(id) => {
                let (first, second) = (parameter_text(&design.modules[id]), parameter_text(&module));
                return Err(Problem::ModuleName { name: module.name, first, second });
            }
            None => {
                let dependencies = loops::dependencies(&module, design);
                design.modules.push(module);
                design.dependencies.push(dependencies);
                design.modules.len() - 1
            }
        };
        ids.push(ModuleId(id as u32));
    }
    Ok(ids[netlist.top.index()])
}

/// Runs the description.
fn describe_into<C: Circuit>(circuit: &C, arena: &RefCell<ModuleBuilder>, source: SourceLine) {
    let m = Module { arena };
    let io = C::Io::bind(&mut PortBinder::new(m, Side::Inside, source), circuit);
    circuit.build(&m, &io);
}

fn check_module_name(design: &Rc<RefCell<Design>>, module: &netlist::Module, path: &str) {
    let mut design = design.borrow_mut();
    let name = module.name.clone();
    let problem = if !super::names::is_identifier(&name) {
        Problem::BadName { name }
    } else if let Some(other) = design.modules.iter().find(|other| other.name == name) {
        let (first, second) = (parameter_text(other), parameter_text(module));
        Problem::ModuleName { name, first, second }
    } else {
        return;
    };
    design.errors.push(ElaborationError { path: path.to_string(), source: None, problem });
}

fn parameter_text(module: &netlist::Module) -> String {
    let pairs: Vec<String> =
        module.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("({})", pairs.join(", "))
}

/// Adds a sub-circuit to `m`, and gives its ports as seen from there.
pub(super) fn add_instance<'m, C: Circuit>(
    m: Module<'m>,
    name: String,
    circuit: C,
    source: SourceLine,
) -> C::Io<'m> {
    let side = match instance_module(m, &name, &circuit, source) {
        Some(module) => {
            let instances = &mut m.arena.borrow_mut().module.instances;
            instances.push(Instance { name, module, inputs: Vec::new(), source });
            Side::Outside(InstanceId(instances.len() as u32 - 1))
        }
        None => Side::Broken,
    };
    C::Io::bind(&mut PortBinder::new(m, side, source), &circuit)
}

/// The module that an instance called `name` is of; `None`, with an error, if there can be none.
fn instance_module<C: Circuit>(
    m: Module<'_>,
    name: &str,
    circuit: &C,
    source: SourceLine,
) -> Option<ModuleId> {
    let (design, path) = {
        let b = &mut *m.arena.borrow_mut();
        b.take_name(name, "sub-circuit", source);
        let problem = match circuit.validate() {
            Err(error) => Some(Problem::Parameter(error)),
            Ok(()) if b.path.split('.').count() > DEEPEST_NESTING => {
                Some(Problem::TooDeep { limit: DEEPEST_NESTING })
            }
            Ok(()) => None,
        };
        if let Some(problem) = problem {
            b.error(source, problem);
            return None;
        }
        (Rc::clone(&b.design), format!("{}.{name}", b.path))
    };
    Some(build_module(circuit, &design, path, source))
}
