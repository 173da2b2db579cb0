//! Circuits that are broken on purpose: what would go unnoticed without an invariant is noticed by it.
//!
//! The traffic is that of the reference models, which know nothing of the break. Only the invariant that is asked for is
//! left in the circuit, so that it is this one that speaks.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regless::{CapacityManager, StagingBank};
use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::{Direction, Module, Netlist, NodeId, Op, RowExpr, Update};
use warpfile_random::Random;
use warpfile_testbenches::lockstep::{Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::capacity_manager::{Surrounded, manager};
use super::staging_bank::{cycles, geometry};
use super::staging_bank_ref::StagingBankReference;

/// How a module is broken.
#[derive(Clone, Copy, Debug)]
enum Break {
    /// A register has all bits 0, or 1, for ever.
    Stuck(&'static str, bool),
    /// A register has a number for ever.
    StuckAt(&'static str, u64),
    /// A named signal has all bits 0, or 1.
    Forced(&'static str, bool),
    /// A named signal is a number.
    ForcedTo(&'static str, u64),
    /// A search in a table forgets the last of what it compares.
    FindsTooMuch(&'static str, &'static str),
    /// A table has 0 written to a field whatever was to be written.
    WritesZero(&'static str, &'static str),
}
use Break::{FindsTooMuch, Forced, ForcedTo, Stuck, StuckAt, WritesZero};

impl Break {
    fn apply(self, module: &mut Module) {
        match self {
            Stuck(name, ones) => module.stick(name, |width| all(width, ones)),
            StuckAt(name, value) => module.stick(name, |width| number(width, value)),
            Forced(name, ones) => module.force(name, |width| all(width, ones)),
            ForcedTo(name, value) => module.force(name, |width| number(width, value)),
            FindsTooMuch(table, port) => {
                let table =
                    module.tables.iter_mut().find(|found| found.name == table).expect("a table of that name");
                let port =
                    table.matches.iter_mut().find(|found| found.name == port).expect("a port of that name");
                let RowExpr::And(kept, _) = &port.condition else { panic!("it compares one thing only") };
                port.condition = RowExpr::clone(kept);
            }
            WritesZero(table, field) => {
                let table =
                    module.tables.iter_mut().find(|found| found.name == table).expect("a table of that name");
                let field =
                    table.fields.iter().position(|found| found.name == field).expect("a field of that name");
                let Update::Write { fields, .. } = &mut table.updates[0] else { panic!("no write") };
                let write =
                    fields.iter_mut().find(|write| write.field as usize == field).expect("it is written");
                let mut zero = module.nodes[write.value.index()].clone();
                (zero.op, zero.name) = (Op::Constant(Bits::zero(zero.width)), None);
                write.value = NodeId(module.nodes.len() as u32);
                module.nodes.push(zero);
            }
        }
    }
}

fn all(width: u32, ones: bool) -> Bits {
    if ones { Bits::ones(width) } else { Bits::zero(width) }
}

fn number(width: u32, value: u64) -> Bits {
    Bits::new(width, value).expect("a number that fits")
}

/// What a break does to a module.
trait Breakable {
    fn stick(&mut self, name: &str, value: impl Fn(u32) -> Bits);
    fn force(&mut self, name: &str, value: impl Fn(u32) -> Bits);
}

impl Breakable for Module {
    fn stick(&mut self, name: &str, value: impl Fn(u32) -> Bits) {
        let register = self.registers.iter_mut().find(|register| register.name == name);
        let register = register.unwrap_or_else(|| panic!("{} has no register {name}", self.name));
        let value = value(register.width);
        let mut node = self.nodes[register.next.index()].clone();
        (node.op, node.name, node.width) = (Op::Constant(value.clone()), None, register.width);
        (register.reset, register.enable) = (Some(value), None);
        register.next = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
    }

    fn force(&mut self, name: &str, value: impl Fn(u32) -> Bits) {
        let node = self.nodes.iter_mut().find(|node| node.name.as_deref() == Some(name));
        let node = node.unwrap_or_else(|| panic!("{} has no signal {name}", self.name));
        node.op = Op::Constant(value(node.width));
    }
}

/// Circuit, invariant, circuit that is broken (it or one above), and how.
const BROKEN: [(&str, &str, &str, Break); 40] = [
    (
        "operand_staging_bank",
        "a_register_is_in_one_line_at_most",
        "operand_staging_bank",
        WritesZero("tags", "register"),
    ),
    (
        "operand_staging_bank",
        "a_line_is_left_for_who_wants_one",
        "operand_staging_bank",
        Forced("chosen", false),
    ),
    (
        "operand_staging_bank",
        "an_active_warps_inputs_are_present",
        "operand_staging_bank",
        ForcedTo("chosen", 1),
    ),
    (
        "operand_staging_bank",
        "a_preload_finds_no_held_line",
        "operand_staging_bank",
        Forced("held_hit", true),
    ),
    (
        "operand_staging_bank",
        "a_line_is_filled_only_when_it_is_on",
        "operand_staging_bank",
        Forced("line_filled", true),
    ),
    (
        "operand_staging_bank",
        "a_line_is_read_only_when_it_is_on",
        "operand_staging_bank",
        Forced("line_read_is_on", true),
    ),
    (
        "operand_staging_bank",
        "a_bank_reads_or_writes",
        "operand_staging_bank",
        Forced("access_looks_up", true),
    ),
    (
        "operand_staging_bank",
        "no_preload_overtakes_an_eviction",
        "operand_staging_bank",
        Forced("asks", true),
    ),
    (
        "operand_staging_bank",
        "a_dirty_line_is_dropped_only_by_erasure_invalidation_or_exit",
        "operand_staging_bank",
        Stuck("dirty", true),
    ),
    ("operand_staging_bank", "a_line_is_on_one_list_at_most", "operand_staging_bank", Stuck("free", true)),
    ("operand_staging_bank", "a_line_is_on_a_list_or_held", "operand_staging_bank", Stuck("held", false)),
    (
        "operand_staging_bank",
        "a_dropped_warp_holds_no_line",
        "operand_staging_bank",
        FindsTooMuch("tags", "drop"),
    ),
    (
        "operand_staging_bank",
        "a_result_is_written_to_a_held_line",
        "operand_staging_bank",
        Stuck("held", false),
    ),
    ("operand_staging_bank", "a_fill_comes_for_a_held_line", "operand_staging_bank", Stuck("held", false)),
    (
        "operand_staging_bank",
        "a_line_written_for_the_last_time_is_not_accessed",
        "operand_staging_bank",
        FindsTooMuch("tags", "lookup"),
    ),
    (
        "operand_staging_bank",
        "a_dropped_warp_asks_for_nothing",
        "operand_staging_bank",
        Forced("access_looks_up", true),
    ),
    ("line_ledger", "no_region_is_allowed_more_than_is_left", "capacity_manager", Forced("fits", true)),
    ("line_ledger", "a_line_more_is_held_by_who_may", "line_ledger", Stuck("allowed", false)),
    ("line_ledger", "a_line_less_is_held_by_who_holds_one", "line_ledger", Stuck("held", false)),
    ("line_ledger", "a_region_begins_without_a_line", "line_ledger", Stuck("held", true)),
    (
        "line_ledger",
        "a_region_that_has_made_its_last_access_makes_none",
        "capacity_manager",
        Stuck("accesses", false),
    ),
    (
        "line_ledger",
        "a_region_that_has_made_its_last_access_holds_all_it_may",
        "line_ledger",
        Stuck("allowed", true),
    ),
    ("line_ledger", "lines_are_left_or_allowed", "line_ledger", Forced("gives_back", true)),
    (
        "line_ledger",
        "lines_left_are_those_on_lists_but_for_those_allowed",
        "line_ledger",
        Forced("gives_back", false),
    ),
    ("line_ledger", "no_region_holds_more_than_it_may", "line_ledger", Stuck("allowed", false)),
    (
        "capacity_manager",
        "a_region_that_fits_begins_when_nothing_runs",
        "capacity_manager",
        Forced("fits", false),
    ),
    ("capacity_manager", "a_warp_is_in_one_state", "capacity_manager", Stuck("active", true)),
    ("capacity_manager", "a_warp_on_the_stack_is_inactive", "capacity_manager", Stuck("stacked", true)),
    ("capacity_manager", "only_an_active_warp_issues", "capacity_manager", Stuck("active", false)),
    ("capacity_manager", "an_inactive_warp_holds_no_line", "capacity_manager", Stuck("preloading", false)),
    ("capacity_manager", "an_inactive_warp_may_hold_no_line", "line_ledger", Stuck("allowed", true)),
    ("capacity_manager", "only_a_draining_warp_has_settled", "capacity_manager", Stuck("settled", true)),
    ("capacity_manager", "a_warp_that_has_drained_holds_no_line", "line_ledger", Stuck("held", true)),
    ("warp_stack", "a_stack_never_holds_more_than_all_warps", "warp_stack", StuckAt("height", 5)),
    ("warp_stack", "a_full_stack_takes_no_warp", "warp_stack", StuckAt("height", 4)),
    ("metadata_store", "a_region_that_begins_was_waiting", "warp_stack", StuckAt("height", 1)),
    ("metadata_store", "a_warp_without_words_has_room", "metadata_store", Forced("is_full", true)),
    (
        "metadata_store",
        "a_warp_without_words_reads_next_what_comes_next",
        "metadata_store",
        Stuck("some", false),
    ),
    ("metadata_store", "a_word_that_comes_spares_the_oldest", "metadata_store", Forced("is_full", false)),
    ("metadata_store", "a_warp_has_one_region_that_waits", "metadata_store", Forced("another_waits", false)),
];

/// Whether a module is the circuit of that name, whatever its parameters.
fn is_circuit(module: &Module, circuit: &str) -> bool {
    module.name.starts_with(&format!("{circuit}_"))
}

/// The circuits with the traffic of their reference models.
struct Traffic {
    netlist: Netlist,
    /// Inputs; `None` is a cycle under reset.
    cycles: Vec<Option<Pins>>,
}

/// Cycles from one reset to the next: without one, lines are held for most of the time, and no warp is ever dropped.
const RUN: usize = 50;

impl Traffic {
    fn new<R: Reference>(netlist: Netlist, model: &R, operations: &[R::Operation]) -> Traffic {
        let mut cycles = Vec::new();
        for run in operations.chunks(RUN) {
            let mut model = model.clone();
            cycles.push(None);
            for operation in run {
                let mut inputs = Pins::default();
                model.inputs(operation, &mut inputs);
                model.cycle(operation, &mut Pins::default());
                cycles.push(Some(inputs));
            }
        }
        Traffic { netlist, cycles }
    }

    fn of_a_bank(gated: bool) -> Traffic {
        let geometry = geometry(5, 4);
        let mut runner = TestRunner::deterministic();
        let operations = (0..8000).map(|_| cycles().new_tree(&mut runner).unwrap().current());
        let netlist = elaborate(&StagingBank { geometry, gated }).unwrap();
        Traffic::new(netlist, &StagingBankReference::new(geometry, gated), &operations.collect::<Vec<_>>())
    }

    fn of_a_manager() -> Traffic {
        // So few words that queues of metadata are full now and then.
        let manager = CapacityManager { metadata_words: 2, ..manager(4, 4, 6) };
        let mut random = Random(7);
        let operations: Vec<u64> = (0..2000).map(|_| random.number()).collect();
        Traffic::new(elaborate(&manager).unwrap(), &Surrounded::new(&manager), &operations)
    }

    /// The first invariant that does not hold, of those left in `netlist`.
    fn violation(&self, netlist: &Netlist) -> Option<String> {
        let mut engine = Interpreter::new(netlist, &Options { seed: 1, ..Options::checked() }).unwrap();
        let ports = netlist.modules[netlist.top.index()].ports.iter();
        let inputs = ports.filter(|port| port.direction == Direction::Input);
        let inputs: Vec<_> = inputs.map(|port| (&port.name, engine.input(&port.name).unwrap())).collect();
        for cycle in &self.cycles {
            engine.set_reset(cycle.is_none());
            for (name, port) in &inputs {
                let value = cycle.as_ref().and_then(|cycle| cycle.get(name));
                engine.set_big(*port, &value.cloned().unwrap_or_default());
            }
            engine.step();
            if let Some(violation) = engine.violation() {
                return Some(violation.path);
            }
        }
        None
    }
}

fn traffics() -> [Traffic; 3] {
    [Traffic::of_a_bank(false), Traffic::of_a_bank(true), Traffic::of_a_manager()]
}

#[test]
fn sound_circuits_keep_all_invariants() {
    for traffic in traffics() {
        assert_eq!(traffic.violation(&traffic.netlist), None);
    }
}

#[test]
fn each_invariant_notices_a_circuit_that_is_broken() {
    let traffics = traffics();
    let mut unnoticed: Vec<String> = Vec::new();
    for (circuit, invariant, broken, how) in BROKEN {
        let is_in = |module: &Module| {
            is_circuit(module, circuit) && module.invariants.iter().any(|other| other.name == invariant)
        };
        let has = |traffic: &&Traffic| traffic.netlist.modules.iter().any(is_in);
        let traffic = traffics.iter().find(has).expect("traffic of the circuit");
        let mut netlist = traffic.netlist.clone();
        for module in &mut netlist.modules {
            let is_asked = is_circuit(module, circuit);
            module.invariants.retain(|other| is_asked && other.name == invariant);
            if is_circuit(module, broken) {
                how.apply(module);
            }
        }
        let found = traffic.violation(&netlist).unwrap_or_default();
        if !found.ends_with(invariant) {
            unnoticed.push(format!("{circuit} with {broken} {how:?}: {found:?} in place of {invariant}"));
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}

#[test]
fn every_invariant_of_banks_and_managers_has_a_circuit_that_breaks_it() {
    for traffic in traffics() {
        for module in &traffic.netlist.modules {
            for invariant in &module.invariants {
                let is_broken = BROKEN
                    .iter()
                    .any(|(circuit, name, ..)| is_circuit(module, circuit) && *name == invariant.name);
                assert!(is_broken, "nothing breaks {} of {}", invariant.name, module.name);
            }
        }
    }
}
