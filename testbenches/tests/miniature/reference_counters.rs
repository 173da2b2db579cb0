use proptest::prelude::*;
use warpfile_engine::{Engine, InPort, Interpreter, Options};
use warpfile_hdl::rtl::elaborate;
use warpfile_random::config;
use warpfile_testbenches::miniature::ReferenceCounters;

const REGISTERS: usize = 6;
const UPDATES: usize = 12;

/// References by register; `None` if it is not allocated.
struct Reference {
    counts: [Option<u32>; REGISTERS],
}

/// What happens in one cycle.
struct Cycle {
    allocate: Option<usize>,
    add: Vec<usize>,
    remove: Vec<usize>,
}

impl Reference {
    /// A cycle that the contract allows, from random numbers: as many updates of one register as it can take.
    fn traffic(&self, random: &[u8; 2 * UPDATES + 1]) -> Cycle {
        let register = |r: u8| usize::from(r) % (REGISTERS + 2);
        let referenced = |r: usize| self.counts.get(r).copied().flatten().filter(|&n| n > 0);
        let allocate = Some(register(random[0])).filter(|&r| r < REGISTERS && self.counts[r].is_none());
        let add: Vec<usize> = random[1..=UPDATES]
            .iter()
            .map(|&r| register(r))
            .filter(|&r| referenced(r).is_some_and(|n| n < 15))
            .collect();
        let mut remove: Vec<usize> = Vec::new();
        for r in random[UPDATES + 1..].iter().map(|&r| register(r)) {
            let removed = remove.iter().filter(|&&other| other == r).count() as u32;
            if referenced(r).is_some_and(|n| n > removed) {
                remove.push(r);
            }
        }
        Cycle { allocate, add, remove }
    }

    /// The register freed in this cycle.
    fn freed(&self) -> Option<usize> {
        self.counts.iter().position(|count| *count == Some(0))
    }

    fn apply(&mut self, cycle: &Cycle) {
        if let Some(register) = self.freed() {
            self.counts[register] = None;
        }
        if let Some(register) = cycle.allocate {
            self.counts[register] = Some(1);
        }
        for &register in &cycle.add {
            self.counts[register] = self.counts[register].map(|n| n + 1);
        }
        for &register in &cycle.remove {
            self.counts[register] = self.counts[register].map(|n| n - 1);
        }
    }
}

/// Offers `registers` to ports, one each.
fn drive(engine: &mut Interpreter, ports: &[(InPort, InPort)], registers: &[usize]) {
    for (i, &(valid, register)) in ports.iter().enumerate() {
        engine.set(valid, u64::from(i < registers.len()));
        engine.set(register, registers.get(i).map_or(0, |&r| r as u64));
    }
}

fn ports(engine: &Interpreter, group: &str) -> (InPort, InPort) {
    let port = |name| engine.input(&format!("{group}_{name}")).unwrap();
    (port("valid_i"), port("register_i"))
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn twenty_four_updates_a_cycle_all_count(
        cycles in prop::collection::vec(any::<[u8; 2 * UPDATES + 1]>(), 1..80),
    ) {
        let circuit = ReferenceCounters { registers: REGISTERS, counter_bits: 5, updates: UPDATES };
        let netlist = elaborate(&circuit).unwrap();
        let mut engine = Interpreter::new(&netlist, &Options::checked()).unwrap();
        let allocate = ports(&engine, "allocate");
        let add: Vec<_> = (0..UPDATES).map(|i| ports(&engine, &format!("add{i}"))).collect();
        let remove: Vec<_> = (0..UPDATES).map(|i| ports(&engine, &format!("remove{i}"))).collect();
        let free = ["free_valid_o", "free_register_o"].map(|name| engine.output(name).unwrap());

        let mut reference = Reference { counts: [None; REGISTERS] };
        for random in &cycles {
            let cycle = reference.traffic(random);
            drive(&mut engine, &[allocate], cycle.allocate.as_slice());
            drive(&mut engine, &add, &cycle.add);
            drive(&mut engine, &remove, &cycle.remove);
            engine.step();

            let [valid, register] = free.map(|port| engine.get(port));
            prop_assert_eq!((valid == 1).then_some(register as usize), reference.freed());
            for (row, count) in reference.counts.iter().enumerate() {
                if let Some(count) = count {
                    let found = engine.peek_row("counters", row as u32, "count").unwrap();
                    prop_assert_eq!(found, (*count).into(), "register {}", row);
                }
            }
            prop_assert_eq!(engine.violation(), None);
            reference.apply(&cycle);
        }
    }
}
