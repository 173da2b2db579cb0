//! Names of modules, and what a module says about itself.

use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::{Circuit, Documented, Module, Out, Ports, elaborate};

/// Replacement policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Policy {
    Fifo,
    Lru,
}

/// A cache of nothing.
///
/// Timing: none.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Nothing {
    /// Entries,
    /// all empty.
    entries: usize,
    /// Policy.
    policy: Policy,
    /// Write-allocate.
    allocate: bool,
    /// A list.
    sizes: Vec<usize>,
}

#[derive(Ports)]
struct NothingIo<'m> {
    zero_o: Out<'m>,
}

impl Circuit for Nothing {
    type Io<'m> = NothingIo<'m>;
    const NAME: &'static str = "nothing";
    fn build<'m>(&self, _: &Module<'m>, io: &NothingIo<'m>) {
        io.zero_o.set(0);
    }
}

fn nothing(policy: Policy, sizes: &[usize]) -> warpfile_hdl::rtl::netlist::Module {
    let circuit = Nothing { entries: 6, policy, allocate: true, sizes: sizes.to_vec() };
    elaborate(&circuit).unwrap().modules.remove(0)
}

#[test]
fn a_module_carries_its_header_and_parameters() {
    let module = nothing(Policy::Lru, &[1, 2]);
    assert_eq!(module.doc, "A cache of nothing.\n\nTiming: none.");
    let text: Vec<String> = module.parameters.iter().map(|(n, v)| format!("{n} = {v}")).collect();
    assert_eq!(text, ["entries = 6", "policy = Lru", "allocate = true", "sizes = [1,2]"]);
    assert_eq!(Nothing::PARAMETERS[0], ("entries", "Entries,\nall empty."));
}

#[test]
fn a_module_name_holds_every_parameter() {
    assert_eq!(nothing(Policy::Fifo, &[3]).name, "nothing_6xfifox1x3");
}

#[test]
fn a_long_name_is_cut_to_a_hash_that_differs_with_the_parameters() {
    let [one, two] = [100, 101]
        .map(|last| nothing(Policy::Lru, &[1_000_000_000_000, 1_000_000_000_000, 9_999_999, last]).name);
    assert_ne!(one, two);
    assert!(one.starts_with("nothing_") && one.len() == "nothing_".len() + 8, "{one}");
}
