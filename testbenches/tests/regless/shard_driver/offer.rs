//! What an SM offers a shard: metadata, instructions, results, warps that wait or end, lines from memory.

use num_bigint::BigUint;
use warpfile_engine::Engine;
use warpfile_hdl::regless::{Fate, NOTES, Note, RESULTS, SOURCES};
use warpfile_random::Random;

use super::super::memory_ref::Fill;
use super::super::random_region::{region, words};
use super::{Driver, Flight, Warp, Word, Write};

impl Driver {
    /// Offers the next word of some warp; makes regions when a warp needs one, sometimes while one runs.
    pub(super) fn offer_metadata(&mut self) -> Option<usize> {
        for warp in &mut self.warps {
            let wants = warp.next.is_none() && warp.regions_left > 0;
            if wants && self.random.chance(if warp.running.is_empty() { 3 } else { 12 }) {
                let region = region(&self.style, &mut self.random, &mut warp.known);
                let notes = words(&region);
                let last = notes.len() - 1;
                warp.words = (notes.into_iter().enumerate())
                    .map(|(w, notes)| Word {
                        notes,
                        first: w == 0,
                        last: w == last,
                        usage: region.usage.clone(),
                    })
                    .collect();
                warp.next = Some(region);
            }
        }
        let senders: Vec<usize> =
            (0..self.warps.len()).filter(|&w| !self.warps[w].words.is_empty()).collect();
        let sender = (!senders.is_empty()).then(|| senders[self.random.below(senders.len() as u32) as usize]);
        self.set("metadata_valid_i", u64::from(sender.is_some()));
        let warp = sender?;
        let Word { notes, first, last, usage } = &self.warps[warp].words[0];
        let bits = self.shard.geometry.line_count_bits();
        let packed = usage.iter().rev().fold(0_u64, |packed, &lines| packed << bits | lines as u64);
        let (first, last, notes) = (u64::from(*first), u64::from(*last), notes.clone());
        self.set("metadata_warp_i", warp as u64);
        self.set("metadata_first_i", first);
        self.set("metadata_last_i", last);
        self.set("metadata_usage_i", packed);
        for k in 0..NOTES {
            let note = notes.get(k);
            self.set(&format!("metadata_note{k}_valid_i"), u64::from(note.is_some()));
            let (kind, register) = note.copied().unwrap_or((Note::Preload, 0));
            self.set(&format!("metadata_note{k}_kind_i"), kind as u64);
            self.set(&format!("metadata_note{k}_register_i"), register as u64);
        }
        Some(warp)
    }

    pub(super) fn offer_waiting(&mut self, cycle: u64) {
        let waits = |warp: &Warp| warp.waits_until > cycle;
        let mask = (self.warps.iter().enumerate()).map(|(w, warp)| u64::from(waits(warp)) << w).sum();
        self.set("waiting_i", mask);
    }

    /// A warp that has run all its regions and is inactive ends.
    pub(super) fn offer_exit(&mut self) {
        let inactive = self.get("inactive_o");
        if self.exiting.is_none() && self.engine.cycle() > 0 {
            let ended = |w: &usize| {
                let warp = &self.warps[*w];
                let over = warp.regions_left == 0 && warp.next.is_none() && warp.running.is_empty();
                over && warp.was_inactive && inactive >> w & 1 == 1
            };
            self.exiting = (0..self.warps.len()).find(ended);
        }
        self.set("exit_valid_i", u64::from(self.exiting.is_some()));
        self.set("exit_warp_i", self.exiting.unwrap_or(0) as u64);
    }

    /// Picks instructions of active warps whose registers have no write under way.
    pub(super) fn offer_instructions(&mut self, active: u64) {
        while self.offered.len() < self.shard.issues && self.flights.len() < 1 << self.shard.id_bits {
            let from = self.random.below(self.warps.len() as u32) as usize;
            let in_turn = (0..self.warps.len()).map(|w| (w + from) % self.warps.len());
            let can_issue = |&w: &usize| {
                let warp = &self.warps[w];
                let is_active = warp.was_inactive && active >> w & 1 == 1;
                let ready = warp.running.front().is_some_and(|instruction| {
                    let registers = instruction.sources.iter().chain(&instruction.results);
                    registers.into_iter().all(|operand| !warp.pending[operand.register])
                });
                is_active && ready
            };
            let Some(w) = in_turn.into_iter().find(can_issue).filter(|_| !self.random.chance(5)) else {
                break;
            };
            let id = (0..).find(|id| !self.flights.contains_key(id)).unwrap();
            let flight = self.execute(w);
            self.flights.insert(id, flight);
            self.offered.push(id);
        }
        for i in 0..self.shard.issues {
            let id = self.offered.get(i).copied();
            self.set(&format!("issue{i}_valid_i"), u64::from(id.is_some()));
            if let Some(id) = id {
                self.drive_instruction(i, id);
            }
        }
    }

    /// Executes the next instruction of a warp.
    fn execute(&mut self, w: usize) -> Flight {
        let lanes = self.shard.geometry.lanes;
        let warp = &mut self.warps[w];
        let instruction = warp.running.pop_front().unwrap();
        if warp.running.is_empty() {
            warp.was_inactive = false;
        }
        let masked = |value: &[u32]| -> Vec<u32> {
            let lane =
                |(lane, value): (usize, &u32)| if instruction.lanes >> lane & 1 == 1 { *value } else { 0 };
            value.iter().enumerate().map(lane).collect()
        };
        let sources =
            instruction.sources.iter().map(|source| masked(&warp.values[source.register])).collect();
        // A value that is dead leaves nothing behind.
        for source in instruction.sources.iter().filter(|source| source.fate == Fate::Erase) {
            warp.values[source.register] = vec![0; lanes];
        }
        let results = instruction.results.iter().map(|result| {
            let value = random_value(&mut self.random, lanes);
            for lane in (0..lanes).filter(|lane| instruction.lanes >> lane & 1 == 1) {
                warp.values[result.register][lane] = value[lane];
            }
            warp.pending[result.register] = instruction.lanes != 0;
            value
        });
        let results = results.collect();
        Flight { warp: w, sources, results, instruction }
    }

    fn drive_instruction(&mut self, i: usize, id: u64) {
        let flight = &self.flights[&id];
        let (warp, instruction) = (flight.warp, flight.instruction.clone());
        let later = self.offered[i + 1..].iter().any(|other| self.flights[other].warp == warp);
        let last = !self.warps[warp].was_inactive && !later;
        self.set(&format!("issue{i}_id_i"), id);
        self.set(&format!("issue{i}_unit_i"), instruction.unit as u64);
        self.set(&format!("issue{i}_warp_i"), warp as u64);
        self.set(&format!("issue{i}_last_i"), u64::from(last));
        self.set(&format!("issue{i}_lanes_i"), u64::from(instruction.lanes));
        for k in 0..SOURCES {
            let source = instruction.sources.get(k);
            self.set(&format!("issue{i}_source{k}_valid_i"), u64::from(source.is_some()));
            self.set(&format!("issue{i}_source{k}_register_i"), source.map_or(0, |s| s.register as u64));
            self.set(&format!("issue{i}_source{k}_fate_i"), source.map_or(0, |s| s.fate as u64));
        }
        for k in 0..RESULTS {
            let result = instruction.results.get(k);
            self.set(&format!("issue{i}_result{k}_valid_i"), u64::from(result.is_some()));
            self.set(&format!("issue{i}_result{k}_register_i"), result.map_or(0, |r| r.register as u64));
            self.set(&format!("issue{i}_result{k}_fate_i"), result.map_or(0, |r| r.fate as u64));
            self.set(&format!("issue{i}_result{k}_written_i"), u64::from(instruction.lanes != 0));
        }
    }

    pub(super) fn offer_writes(&mut self, cycle: u64) {
        for p in 0..self.ports.len() {
            if self.ports[p].is_none() {
                let due = self.writes.iter().position(|write| write.due <= cycle);
                self.ports[p] = due.map(|due| self.writes.remove(due));
            }
            self.set(&format!("write{p}_valid_i"), u64::from(self.ports[p].is_some()));
            let Some(write) = &self.ports[p] else {
                // A read of the register that is not offered here keeps no other port waiting.
                let (warp, register) = self.read_last.unwrap_or_default();
                self.set(&format!("write{p}_warp_i"), warp as u64);
                self.set(&format!("write{p}_register_i"), register as u64);
                continue;
            };
            let &Write { warp, register, line, fate, lanes, .. } = write;
            let value = BigUint::from_slice(&write.value);
            self.set(&format!("write{p}_warp_i"), warp as u64);
            self.set(&format!("write{p}_register_i"), register as u64);
            self.set(&format!("write{p}_line_i"), line);
            self.set(&format!("write{p}_fate_i"), fate as u64);
            self.set(&format!("write{p}_lanes_i"), u64::from(lanes));
            self.engine.set_big(self.inputs[&format!("write{p}_value_i")], &value);
        }
    }

    pub fn offer_fill(&mut self, fill: Option<&Fill>) {
        self.set("memory_fill_valid_i", u64::from(fill.is_some()));
        self.filled = fill.map(|fill| (fill.tag.0, fill.tag.1));
        let Some(fill) = fill else { return };
        self.set("memory_fill_warp_i", fill.tag.0 as u64);
        self.set("memory_fill_register_i", fill.tag.1 as u64);
        self.set("memory_fill_compressed_i", u64::from(fill.tag.2));
        self.set("memory_fill_line_i", fill.line);
        self.engine.set_big(self.inputs["memory_fill_value_i"], &BigUint::from_slice(&fill.value));
    }
}

/// A value that often has a short form.
fn random_value(random: &mut Random, lanes: usize) -> Vec<u32> {
    let base = random.number() as u32;
    let stride = random.below(3);
    match random.chance(3) {
        true => (0..lanes).map(|_| random.number() as u32).collect(),
        false => (0..lanes as u32).map(|lane| base.wrapping_add(stride * lane)).collect(),
    }
}
