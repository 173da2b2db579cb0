//! Running `yosys` and ABC: bounded model checking, then property directed reachability, one invariant after the other.
//!
//! The circuit becomes an and-inverter graph without hierarchy; state without a reset starts as anything, the first cycle
//! is under reset.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use warpfile_gen::{emit, write};
use warpfile_hdl::rtl::netlist::{Invariant, KeptBy, Module, Netlist, NodeId, Op};

use super::{Effort, Property, Reached, Verdict};
use crate::ToolError;
use crate::tools::{printed, run, scratch};

/// Debian's name of ABC, and its package.
const ABC: &str = "berkeley-abc";
/// The model, in AIGER.
const MODEL: &str = "model.aig";
/// The invariants in the order in which they are in the model.
const ORDER: &str = "order.txt";
/// What `bmc3` says of an invariant that no state decides: there are no cycles to look at one by one.
const NO_STATE: &str = "Does not work for combinational networks";
/// Before the name of an invariant: the one that says that what it is about never happens.
const NEVER: &str = "never_for_";

/// A circuit as a graph, with its invariants in order.
pub(super) struct Model {
    folder: TempDir,
    top: String,
    /// Paths and names, with dots between, in the order of the model's outputs.
    order: Vec<String>,
}

impl Model {
    /// Of the circuit, in which the invariants `given` are taken for granted.
    pub(super) fn new(netlist: &Netlist, given: &[String]) -> Result<Model, ToolError> {
        let files = emit(&with_premises(netlist));
        let folder = scratch()?;
        write(&files, folder.path())?;
        let names: Vec<&str> = files.modules.iter().map(|file| file.name.as_str()).collect();
        let given = match given {
            [] => String::new(),
            names => format!(
                "chformal -assert2assume {}; ",
                names.iter().map(|name| format!("c:{name} ")).collect::<String>()
            ),
        };
        // Nothing here may merge equal cells: of two equal invariants one would be gone.
        let script = format!(
            "read_verilog -formal {}; hierarchy -check -top {top}; proc; flatten; {given}opt_expr; opt_clean; \
             memory_collect; memory_map; opt_expr; opt_clean; async2sync; dffunmap; setundef -undriven -anyseq; \
             formalff -clk2ff -ff2anyinit; delete -output; techmap; opt_expr; opt_clean; abc -g AND -fast; opt_clean; \
             write_aiger -B -zinit {MODEL}; select -write {ORDER} t:$assert",
            names.join(" "),
            top = files.top
        );
        let translated = run("yosys", "yosys", &["-q", "-p", &script], folder.path())?;
        if !translated.status.success() {
            return Err(ToolError::failed("yosys", &files.top, printed(&translated)));
        }
        let order = read_order(&folder.path().join(ORDER), &files.top)?;
        Ok(Model { folder, top: files.top, order })
    }

    /// What is known of an invariant.
    pub(super) fn verdict(&self, property: &Property, effort: &Effort) -> Result<Verdict, ToolError> {
        self.asked(property, effort, true)
    }

    /// Whether an invariant is broken in the first cycles.
    pub(super) fn first_cycles(&self, property: &Property, effort: &Effort) -> Result<Verdict, ToolError> {
        self.asked(property, effort, false)
    }

    fn asked(&self, property: &Property, effort: &Effort, forever: bool) -> Result<Verdict, ToolError> {
        let name = property.full_name();
        let Some(output) = self.order.iter().position(|known| *known == name) else {
            return Err(ToolError::failed("yosys", &self.top, format!("`{name}` is not in the model")));
        };
        let text = self.ask(output, effort, forever)?;
        Ok(if let Some(cycle) = broken_in(&text) {
            Verdict::Refuted(cycle)
        } else if text.contains("Property proved") {
            Verdict::Proven
        } else {
            held_in(&text).map_or(Verdict::Open, Verdict::Bounded)
        })
    }

    /// Whether what an invariant is about comes to pass in the first cycles; `None` if it says something of every cycle.
    pub(super) fn reached(&self, property: &Property, effort: &Effort) -> Result<Option<Reached>, ToolError> {
        let never = Property { invariant: format!("{NEVER}{}", property.invariant), ..property.clone() };
        let never = never.full_name();
        let Some(output) = self.order.iter().position(|known| *known == never) else { return Ok(None) };
        let text = self.ask(output, effort, false)?;
        Ok(Some(broken_in(&text).map_or(Reached::NotIn(effort.depth), Reached::In)))
    }

    fn ask(&self, number: usize, effort: &Effort, forever: bool) -> Result<String, ToolError> {
        // What the clock edge ends is seen in the step after it.
        let (steps, patience) = (effort.depth + 1, effort.patience.as_secs().max(1));
        let and_then = if forever { format!("; pdr -T {patience}") } else { String::new() };
        let commands = format!(
            "read_aiger {MODEL}; fold; cone -s -O {number}; scleanup; bmc3 -F {steps} -T {patience}{and_then}"
        );
        let output = run(ABC, ABC, &["-c", &commands], self.folder.path())?;
        let text = printed(&output);
        // Its exit code is 0 whatever happens.
        match output.status.success() && !text.contains("** cmd error") {
            // Reachability knows at once.
            true if !forever && text.contains(NO_STATE) => self.ask(number, effort, true),
            true => Ok(text),
            false => Err(ToolError::failed(ABC, &self.top, text)),
        }
    }
}

/// The netlist with one more invariant for each that says "if this, then that": that "this" never is.
fn with_premises(netlist: &Netlist) -> Netlist {
    let mut netlist = netlist.clone();
    for module in &mut netlist.modules {
        let never: Vec<Invariant> = (module.invariants.iter())
            .filter_map(|invariant| {
                let condition = no_premise(module, invariant.condition)?;
                let name = format!("{NEVER}{}", invariant.name);
                Some(Invariant { name, condition, kept_by: KeptBy::Circuit, source: invariant.source })
            })
            .collect();
        module.invariants.extend(never);
    }
    netlist
}

/// That the premise of an implication, which is `!premise | consequence`, does not hold; the first of nested ones.
fn no_premise(module: &Module, condition: NodeId) -> Option<NodeId> {
    let Op::Or(left, _) = module.nodes[condition.index()].op else { return None };
    matches!(module.nodes[left.index()].op, Op::Not(_)).then_some(left)
}

/// Names of the lines `top/path.name`.
fn read_order(path: &Path, top: &str) -> Result<Vec<String>, ToolError> {
    let text =
        fs::read_to_string(path).map_err(|source| ToolError::File { path: path.to_owned(), source })?;
    let prefix = format!("{top}/");
    Ok(text.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect())
}

/// `… was asserted in frame N`: the cycle before that step.
fn broken_in(text: &str) -> Option<u32> {
    number_after(text, "was asserted in frame ").map(|step| step.saturating_sub(1))
}

/// `No output asserted in N frames`: cycles in which the invariant holds.
fn held_in(text: &str) -> Option<u32> {
    number_after(text, "No output asserted in ")
        .map(|steps| steps.saturating_sub(1))
        .filter(|&cycles| cycles > 0)
}

fn number_after(text: &str, words: &str) -> Option<u32> {
    let (_, rest) = text.split_once(words)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use warpfile_hdl::rtl::{Circuit, Documented, Out, Ports, elaborate};

    use super::*;

    /// Counts cycles.
    ///
    /// Timing: seen from the next cycle on.
    #[derive(Clone, Debug, Serialize, Deserialize, Documented)]
    struct Ticks {}

    #[derive(Ports)]
    #[params(Ticks)]
    struct TicksIo<'m> {
        #[bits(8)]
        ticks_o: Out<'m>,
    }

    impl Circuit for Ticks {
        type Io<'m> = TicksIo<'m>;
        const NAME: &'static str = "ticks";

        fn build<'m>(&self, m: &warpfile_hdl::rtl::Module<'m>, io: &TicksIo<'m>) {
            let ticks = m.register("ticks", 8).reset(0);
            ticks.set(ticks + 1);
            io.ticks_o.set(ticks);
            m.invariant("less_than_4", ticks.lt(4));
        }
    }

    /// A counter in another circuit.
    #[derive(Clone, Debug, Serialize, Deserialize, Documented)]
    struct Around {}

    #[derive(Ports)]
    #[params(Around)]
    struct AroundIo<'m> {
        #[bits(8)]
        ticks_o: Out<'m>,
    }

    impl Circuit for Around {
        type Io<'m> = AroundIo<'m>;
        const NAME: &'static str = "around";

        fn build<'m>(&self, m: &warpfile_hdl::rtl::Module<'m>, io: &AroundIo<'m>) {
            let inner = m.instance("inner", Ticks {});
            io.ticks_o.set(inner.ticks_o);
            m.invariant("less_than_3", inner.ticks_o.lt(3));
            m.invariant("less_than_6", inner.ticks_o.lt(6));
        }
    }

    #[test]
    fn what_is_given_is_not_asked_and_nothing_beyond_it_happens() {
        let netlist = elaborate(&Around {}).expect("sound");
        let asked = |given: &[&str], invariant: &str| {
            let given: Vec<String> = given.iter().map(|&name| name.to_owned()).collect();
            let model = Model::new(&netlist, &given).expect("Yosys takes it");
            let property =
                Property { path: String::new(), invariant: invariant.to_owned(), kept_by: KeptBy::Circuit };
            model.verdict(&property, &Effort { depth: 10, ..Effort::default() })
        };
        assert_eq!(asked(&[], "less_than_6").expect("asked"), Verdict::Refuted(7));
        assert_eq!(asked(&["inner.less_than_4"], "less_than_6").expect("asked"), Verdict::Proven);
        assert_eq!(asked(&["inner.less_than_4"], "less_than_3").expect("asked"), Verdict::Refuted(4));
        assert!(asked(&["less_than_6"], "less_than_6").is_err(), "it is no longer in the model");
    }
}
