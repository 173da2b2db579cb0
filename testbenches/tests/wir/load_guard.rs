//! The load guard beside each warp's history: what it has executed since it started.

use proptest::prelude::*;
use warpfile_hdl::wir::LoadGuard;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{Random, check, verilog};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A load, or an instruction that does nothing to memory.
    Other,
    StoresScratchpad,
    StoresGlobal,
    /// A fence, an atomic, a volatile access.
    Orders,
    Barrier,
}

#[derive(Clone, Debug, Default)]
struct Cycle {
    executed: Option<(usize, Event)>,
    starts: Vec<usize>,
}

#[derive(Clone)]
struct Histories {
    parameters: LoadGuard,
    of_warps: Vec<Vec<Event>>,
}

impl Histories {
    fn new(guard: &LoadGuard) -> Histories {
        Histories { parameters: guard.clone(), of_warps: vec![Vec::new(); guard.warps] }
    }
}

impl Reference for Histories {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        if let Some((warp, event)) = cycle.executed {
            inputs.set("valid_i", 1_u8);
            inputs.set("warp_i", warp);
            let orders = event == Event::Orders;
            inputs.set("stores_scratchpad_i", u8::from(orders || event == Event::StoresScratchpad));
            inputs.set("stores_global_i", u8::from(orders || event == Event::StoresGlobal));
            inputs.set("barrier_i", u8::from(event == Event::Barrier));
        }
        inputs.set("start_i", cycle.starts.iter().fold(0_u64, |mask, warp| mask | 1 << warp));
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let most = (1 << self.parameters.barrier_bits) - 1;
        let (mut barriers, mut scratchpad, mut global) = (0, false, false);
        if let Some((warp, event)) = cycle.executed {
            let history = &mut self.of_warps[warp];
            barriers = history.iter().filter(|event| **event == Event::Barrier).count().min(most);
            let since = history.iter().rev().take_while(|event| **event != Event::Barrier);
            let stored = |own: Event| since.clone().any(|event| *event == own || *event == Event::Orders);
            scratchpad = barriers < most && !stored(Event::StoresScratchpad);
            global = barriers < most && !stored(Event::StoresGlobal);
            history.push(event);
        }
        outputs.set("barriers_o", barriers);
        outputs.set("scratchpad_o", u8::from(scratchpad));
        outputs.set("global_o", u8::from(global));
        for &warp in &cycle.starts {
            self.of_warps[warp].clear();
        }
    }
}

/// Warps that store now and then and meet at barriers, until some start again.
fn traffic(guard: &LoadGuard, seed: u64, cycles: usize) -> Vec<Cycle> {
    let mut random = Random(seed);
    let one = |_| {
        let executed = random.percent(80).then(|| {
            let event = match random.below(10) {
                0 => Event::StoresScratchpad,
                1 => Event::StoresGlobal,
                2 => Event::Orders,
                3 | 4 => Event::Barrier,
                _other => Event::Other,
            };
            (random.below(guard.warps), event)
        });
        let starts = (0..guard.warps).filter(|_| random.percent(4)).collect();
        Cycle { executed, starts }
    };
    (0..cycles).map(one).collect()
}

fn guards() -> impl Strategy<Value = LoadGuard> {
    (1..10_usize, 1..4_usize).prop_map(|(warps, barrier_bits)| LoadGuard { warps, barrier_bits })
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn no_load_is_reused_past_a_store_or_a_barrier((guard, seed) in (guards(), any::<u64>())) {
        check(&guard, &Histories::new(&guard), &Lockstep::default(), &traffic(&guard, seed, 250))?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((guard, seed) in (guards(), any::<u64>())) {
        check(&guard, &Histories::new(&guard), &Lockstep::with_verilog(), &traffic(&guard, seed, 100))?;
    }
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&LoadGuard { warps: 3, barrier_bits: 2 }));
}
