//! Circuits that were prepared before in this process: several runs, SMs and figures have the same ones.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use warpfile_engine::{AnyEngine, EngineError, Observe, Options};
use warpfile_hdl::rtl::netlist::Netlist;

use crate::sm::EngineName;

/// Most circuits that are kept: a few designs of several circuits. The largest take some ten megabytes each.
const MOST: usize = 16;

/// All that an engine follows from, but for where its code comes from.
#[derive(PartialEq)]
struct Wanted {
    netlist: Netlist,
    engine: EngineName,
    seed: u64,
    observe: Observe,
    foreseen: Vec<String>,
}

/// An engine in its initial state, once somebody has prepared it.
type Prepared = Arc<Mutex<Option<AnyEngine>>>;

/// What was asked for last is last.
static PREPARED: Mutex<VecDeque<(Arc<Wanted>, Prepared)>> = Mutex::new(VecDeque::new());

/// An engine in its initial state. Of several threads that ask for the same one prepares it and the others wait.
///
/// # Errors
/// As [`AnyEngine::compiled`].
pub fn engine(netlist: Netlist, name: EngineName, options: &Options) -> Result<AnyEngine, EngineError> {
    let wanted = Wanted {
        netlist,
        engine: name,
        seed: options.seed,
        observe: options.observe.clone(),
        foreseen: options.foreseen.clone(),
    };
    let (wanted, prepared) = slot(wanted);
    let mut prepared = prepared.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = &*prepared {
        return Ok(engine.clone());
    }
    let engine = match name {
        EngineName::Interpreter => AnyEngine::interpreter(&wanted.netlist, options),
        EngineName::Compiled => AnyEngine::compiled(&wanted.netlist, options),
    }?;
    Ok(prepared.insert(engine).clone())
}

/// The place of an engine, whether it has been prepared or not.
fn slot(wanted: Wanted) -> (Arc<Wanted>, Prepared) {
    let mut all = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.iter().position(|(known, _)| **known == wanted);
    let slot =
        known.and_then(|index| all.remove(index)).unwrap_or_else(|| (Arc::new(wanted), Prepared::default()));
    if all.len() == MOST {
        all.pop_front();
    }
    all.push_back(slot.clone());
    slot
}

#[cfg(test)]
mod tests {
    use super::*;

    use warpfile_hdl::library::library;

    /// A circuit with the parameters of that number.
    fn netlist(circuit: &str, odd: usize) -> Netlist {
        let entry = library().into_iter().find(|entry| entry.name == circuit).expect("in the library");
        entry.elaborate_with(&entry.odd[odd]).expect("sound parameters")
    }

    fn wanted(netlist: &Netlist, seed: u64) -> Wanted {
        Wanted {
            netlist: netlist.clone(),
            engine: EngineName::Interpreter,
            seed,
            observe: Observe::State,
            foreseen: Vec::new(),
        }
    }

    /// The tests share the list with each other, so they take turns.
    static TURN: Mutex<()> = Mutex::new(());

    #[test]
    fn the_same_circuit_has_one_place_and_another_has_another() {
        let _turn = TURN.lock();
        let (fifo, arbiter) = (netlist("fifo", 0), netlist("round_robin_arbiter", 0));
        let place = |netlist, seed| slot(wanted(netlist, seed)).1;
        let first = place(&fifo, 0);
        assert!(Arc::ptr_eq(&first, &place(&fifo, 0)));
        assert!(!Arc::ptr_eq(&first, &place(&fifo, 1)));
        assert!(!Arc::ptr_eq(&first, &place(&arbiter, 0)));
        assert!(!Arc::ptr_eq(&first, &place(&netlist("fifo", 1), 0)));
    }

    #[test]
    fn what_was_not_asked_for_for_long_goes() {
        let _turn = TURN.lock();
        let fifo = netlist("fifo", 0);
        let (old, used) = (slot(wanted(&fifo, 1000)).1, slot(wanted(&fifo, 1001)).1);
        for seed in 0..MOST as u64 - 1 {
            slot(wanted(&fifo, seed));
            slot(wanted(&fifo, 1001));
        }
        assert!(PREPARED.lock().expect("not poisoned").len() <= MOST);
        assert!(Arc::ptr_eq(&used, &slot(wanted(&fifo, 1001)).1));
        assert!(!Arc::ptr_eq(&old, &slot(wanted(&fifo, 1000)).1));
    }

    #[test]
    fn an_engine_that_was_prepared_before_is_in_its_initial_state() {
        use warpfile_engine::Engine as _;

        let _turn = TURN.lock();
        let prepare =
            || engine(netlist("fifo", 0), EngineName::Compiled, &Options::default()).expect("sound");
        let mut first = prepare();
        first.run(5);
        assert_eq!((first.cycle(), prepare().cycle()), (5, 0));
    }

    #[test]
    fn a_circuit_that_cannot_be_prepared_is_refused_each_time() {
        let _turn = TURN.lock();
        let options = Options { foreseen: vec!["nothing_o".into()], ..Options::default() };
        for _ in 0..2 {
            assert!(engine(netlist("fifo", 0), EngineName::Interpreter, &options).is_err());
        }
    }
}
