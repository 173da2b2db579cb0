//! Workloads from traces that were written of them.

use std::path::Path;

use warpfile_kernels::trace::{open, write_accelsim, write_warpfile};
use warpfile_sim::config::Config;
use warpfile_sim::sm::RunReport;

use super::workloads::{CACHED, SMALL_CACHE};
use super::{as_written, gebhart, names, simulate, small_cache, tiny};

fn replay(config: &Config, trace: &Path) -> RunReport {
    simulate(config, &mut open(trace).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", trace.display()))
}

#[test]
fn a_run_from_the_container_is_the_same_to_the_last_figure() {
    let folder = tempfile::tempdir().unwrap();
    for (index, name) in names().enumerate().filter(|&(_, name)| name != "bfs") {
        let file = folder.path().join(name);
        write_warpfile(&mut tiny(name), &file).unwrap();
        assert_eq!(replay(&small_cache(), &file), SMALL_CACHE[index], "{name}");
        if index % 4 == 0 {
            assert_eq!(replay(&gebhart("rfc"), &file), CACHED[index], "{name}");
        }
    }
}

#[test]
fn a_run_from_an_accelsim_trace_is_the_same_but_for_what_the_compiler_knew() {
    let folder = tempfile::tempdir().unwrap();
    let mut the_same = 0;
    // In the order of the PTX: the guards that take the place of short branches are not in the format either, and a write
    // under a guard ends no value (scalarprod: 5.6 % more writes to the main register file).
    for name in names().filter(|&name| name != "bfs") {
        let own = |design| simulate(&gebhart(design), &mut as_written(name)).unwrap();
        write_accelsim(&mut as_written(name), &folder.path().join(name)).unwrap();
        let list = folder.path().join(name).join("kernelslist.g");
        // Opcodes in the format say which unit an instruction is for, and not what it does there.
        let replay = |design: &str, own: &RunReport| {
            let mut replayed = replay(&gebhart(design), &list);
            assert_eq!(replayed.operations.lanes(), own.operations.lanes(), "{name}");
            replayed.operations = own.operations;
            replayed
        };
        let baseline = own("baseline");
        assert_eq!(replay("baseline", &baseline), baseline, "{name}");

        // Last reads and suspension marks are not in the format. They are found anew from what was executed, and
        // paths that were not taken neither ask for a suspension nor keep a value alive.
        let own = &own("rfc");
        let replayed = replay("rfc", own);
        assert_eq!(replayed.operands_checked, own.operands_checked, "{name}");
        assert_eq!(replayed.lane_operands_checked, own.lane_operands_checked, "{name}");
        assert_eq!(replayed.operands, own.operands, "{name}");
        assert!(replayed.scheduler.suspensions <= own.scheduler.suspensions, "{name}");
        // Where last reads differ, so does the cycle in which a result lands; one that lands after its warp has been
        // suspended is a write more. An entry that is free earlier also changes which entry is replaced next, and
        // first in, first out may then miss more (cutcp with six entries: 937 reads, not 936; with four 1271, not
        // 1125). Such chances stay below a thousandth, or are one access.
        for (kind, accesses) in [
            ("reads", [replayed.mrf().reads, own.mrf().reads]),
            ("writes", [replayed.mrf().writes, own.mrf().writes]),
        ] {
            let [found, own] = accesses;
            assert!(found <= own + own.div_ceil(1000), "{name}: {found} MRF {kind}, {own} from the PTX");
        }
        if replayed == *own {
            the_same += 1;
        } else {
            let figures = |report: &RunReport| {
                let (mrf, scheduler) = (report.mrf(), report.scheduler);
                (report.cycles, mrf.reads, mrf.writes, scheduler.suspensions)
            };
            println!(
                "{name}: cycles, MRF reads and writes, suspensions {:?} from the trace, {:?} from the PTX",
                figures(&replayed),
                figures(own)
            );
        }
    }
    assert!(the_same >= 14, "{the_same} of {}", names().count() - 1);
}
