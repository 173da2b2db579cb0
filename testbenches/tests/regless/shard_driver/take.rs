//! What an SM takes from a shard, each compared with what it has to be: instructions that go, operands, results that are
//! written, requests to memory, regions that begin and end.

use warpfile_hdl::regless::{Note, RESULTS, RequestKind};

use super::super::random_region::{REGISTERS, Value};
use super::{Driver, Flight, Write};

impl Driver {
    pub(super) fn take_instructions(&mut self, cycle: u64) {
        let taken: Vec<bool> =
            (0..self.offered.len()).map(|i| self.get(&format!("issue{i}_ready_o")) == 1).collect();
        let count = taken.iter().filter(|&&taken| taken).count();
        assert!(taken.first() != Some(&false) || count == 0, "the second was taken before the first");
        for id in self.offered.drain(..count) {
            let Flight { warp, instruction, .. } = &self.flights[&id];
            let last = instruction.sources.last().map(|source| (*warp, source.register));
            self.read_last = last.or(self.read_last);
        }
        self.counts.instructions += count as u64;
        self.counts.dual_issues += u64::from(count == 2);
        if count > 0 {
            self.last_progress = cycle;
        }
    }

    pub(super) fn take_writes(&mut self, cycle: u64) {
        let expected: Vec<bool> = (0..self.ports.len()).map(|p| self.is_taken(p)).collect();
        for (p, expected) in expected.into_iter().enumerate() {
            let taken = self.get(&format!("write{p}_ready_o")) == 1;
            // Which lines the compressor gives is not known here.
            if self.shard.compressor_lines == 0 {
                assert_eq!(taken, expected, "write{p}_ready_o in cycle {cycle}");
            }
            self.counts.result_waits[p] += u64::from(self.ports[p].is_some() && !taken);
            if let Some(write) = self.ports[p].take_if(|_| taken) {
                self.warps[write.warp].pending[write.register] = false;
            }
        }
    }

    /// Compares the operands of what was dispatched, and sends results on their way.
    pub(super) fn take_operands(&mut self, cycle: u64) {
        for unit in 0..self.shard.units {
            let reserves = |k: usize| self.get(&format!("unit{unit}_operands_result{k}_reserved_o"));
            let reserved: u64 = (0..RESULTS).map(reserves).sum();
            let number = |port: &str| {
                let is_there = self.get(&format!("unit{unit}_{port}_valid_o")) == 1;
                is_there.then(|| self.get(&format!("unit{unit}_{port}_id_o")))
            };
            let (dispatched, out) = (number("dispatch"), number("operands"));
            assert_eq!(out, self.dispatched[unit], "operands come a cycle after the dispatch, cycle {cycle}");
            self.dispatched[unit] = dispatched;
            if self.get(&format!("unit{unit}_operands_valid_o")) == 0 {
                assert_eq!(reserved, 0, "lines for no instruction in cycle {cycle}");
                continue;
            }
            self.last_progress = cycle;
            let id = self.get(&format!("unit{unit}_operands_id_o"));
            let flight = self.flights.remove(&id).unwrap_or_else(|| panic!("{id} is not under way"));
            assert!(!self.offered.contains(&id), "{id} is dispatched before it is taken");
            assert_eq!(reserved, flight.results.len() as u64, "lines of {id} in cycle {cycle}");
            for (k, expected) in flight.sources.iter().enumerate() {
                let found = self.lanes(&format!("unit{unit}_operands_source{k}_o"));
                let register = flight.instruction.sources[k].register;
                assert_eq!(&found, expected, "R{register} of warp {} in cycle {cycle}", flight.warp);
            }
            for (k, value) in flight.results.into_iter().enumerate() {
                let result = flight.instruction.results[k];
                let line = self.get(&format!("unit{unit}_operands_result{k}_line_o"));
                assert_eq!(self.get(&format!("unit{unit}_operands_result{k}_reserved_o")), 1);
                if flight.instruction.lanes != 0 {
                    let latency = if self.random.chance(4) { 60 } else { 6 };
                    self.writes.push(Write {
                        due: cycle + 1 + u64::from(self.random.below(latency)),
                        warp: flight.warp,
                        register: result.register,
                        line,
                        fate: result.fate,
                        lanes: flight.instruction.lanes,
                        value,
                    });
                }
            }
        }
    }

    pub(super) fn take_request(&mut self, cycle: u64, takes: bool) {
        if !takes || self.get("memory_request_valid_o") == 0 {
            return;
        }
        let kind = RequestKind::of_code(self.get("memory_request_kind_o")).unwrap();
        let [warp, register, compressed] =
            ["warp", "register", "compressed"].map(|field| self.get(&format!("memory_request_{field}_o")));
        let tag = (warp as usize, register as usize, compressed == 1);
        let line = self.get("memory_request_line_o");
        let invalidates = self.get("memory_request_invalidates_o") == 1;
        if kind == RequestKind::Fetch {
            assert_eq!(invalidates, self.invalidates(tag), "fetch of {tag:?} in cycle {cycle}");
        }
        let value = self.lanes("memory_request_value_o");
        self.memory.take((kind, tag, line, invalidates), value, cycle, &mut self.random);
    }

    /// Regions begin and end, warps begin again after their exit.
    pub(super) fn follow_warps(&mut self, cycle: u64) {
        let active = self.get("active_o");
        if let Some(w) = self.exiting.filter(|_| self.get("exit_ready_o") == 1) {
            let lanes = self.shard.geometry.lanes;
            self.exiting = None;
            self.counts.exits += 1;
            self.last_progress = cycle;
            self.warps[w].known = [Value::Unwritten; REGISTERS];
            self.warps[w].values = vec![vec![0; lanes]; REGISTERS];
            self.warps[w].regions_left = 1 + self.random.below(12) as usize;
        }
        for (w, warp) in self.warps.iter_mut().enumerate() {
            let is_active = active >> w & 1 == 1;
            if !warp.was_inactive && !is_active {
                warp.was_inactive = true;
                if self.random.chance(4) {
                    warp.waits_until = cycle + u64::from(self.random.below(60));
                }
            }
            let begins = warp.was_inactive && is_active && warp.running.is_empty() && warp.words.is_empty();
            if let Some(region) = warp.next.take_if(|_| begins) {
                for (note, register) in &region.notes {
                    if *note == Note::Invalidation {
                        warp.values[*register] = vec![0; self.shard.geometry.lanes];
                    }
                }
                warp.running = region.instructions.into();
                warp.regions_left -= 1;
                self.last_progress = cycle;
            }
        }
    }
}
