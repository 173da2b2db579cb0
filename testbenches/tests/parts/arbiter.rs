use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::parts::RoundRobinArbiter;
use warpfile_random::config;
use warpfile_testbenches::mutation::elaborate;

/// The request granted: the first one behind the one granted last.
fn reference(requests: u64, n: usize, last: Option<usize>) -> Option<usize> {
    let start = last.map_or(0, |last| last + 1);
    (0..n).map(|i| (start + i) % n).find(|i| requests >> i & 1 == 1)
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn requests_are_granted_in_turn(
        n in 1..9_usize,
        cycles in prop::collection::vec((any::<u64>(), any::<bool>()), 1..100),
    ) {
        let netlist = elaborate(&RoundRobinArbiter { requests: n }).unwrap();
        let mut engine = Interpreter::new(&netlist, &Options::checked()).unwrap();
        let [request, take] = ["request_i", "take_i"].map(|name| engine.input(name).unwrap());
        let outputs = ["valid_o", "grant_o", "index_o"].map(|name| engine.output(name).unwrap());
        let mut last = None;
        for (requests, taken) in cycles {
            let requests = requests & ((1 << n) - 1);
            engine.set(request, requests);
            engine.set(take, u64::from(taken));
            engine.step();
            let [valid, grant, index] = outputs.map(|port| engine.get(port));
            match reference(requests, n, last) {
                Some(expected) => {
                    prop_assert_eq!((valid, grant, index), (1, 1 << expected, expected as u64));
                    if taken {
                        last = Some(expected);
                    }
                }
                None => prop_assert_eq!((valid, grant), (0, 0)),
            }
            prop_assert_eq!(engine.violation(), None);
        }
    }
}
