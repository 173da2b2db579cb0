use std::collections::VecDeque;

use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::parts::Fifo;
use warpfile_hdl::rtl::elaborate;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn words_leave_in_the_order_they_came(
        depth in 1..7_usize,
        cycles in prop::collection::vec((any::<bool>(), any::<bool>(), any::<u16>()), 1..100),
    ) {
        let netlist = elaborate(&Fifo { depth, width: 16 }).unwrap();
        let mut engine = Interpreter::new(&netlist, &Options::checked()).unwrap();
        let inputs = ["in_valid_i", "out_ready_i", "in_data_i"].map(|name| engine.input(name).unwrap());
        let outputs = ["in_ready_o", "out_valid_o", "out_data_o", "count_o"].map(|name| engine.output(name).unwrap());
        let mut held: VecDeque<u64> = VecDeque::new();
        for (offer, take, data) in cycles {
            let values = [u64::from(offer), u64::from(take), u64::from(data)];
            for (port, value) in inputs.into_iter().zip(values) {
                engine.set(port, value);
            }
            engine.step();
            let [ready, valid, oldest, count] = outputs.map(|port| engine.get(port));
            prop_assert_eq!(count, held.len() as u64);
            prop_assert_eq!(ready == 1, held.len() < depth);
            prop_assert_eq!((valid == 1).then_some(oldest), held.front().copied());
            if take {
                held.pop_front();
            }
            if offer && ready == 1 {
                held.push_back(u64::from(data));
            }
            prop_assert_eq!(engine.violation(), None);
        }
    }
}
