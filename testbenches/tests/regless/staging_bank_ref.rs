//! Reference of a staging bank: lines as a list of records. Written from Kloosterman et al., §5.2, and the circuit's
//! contract.
//!
//! It also keeps the promises of those who drive the bank: it turns any random cycle into one that is allowed, for
//! example by reading only registers that a region holds.

use std::collections::BTreeSet;

use num_bigint::BigUint;
use warpfile_hdl::regless::{Fate, Note, RequestKind, ShardGeometry};
use warpfile_testbenches::lockstep::{Pins, Reference};

/// A warp and its register.
pub type Tag = (usize, usize);

/// Registers of each warp that the traffic uses.
pub const REGISTERS: usize = 6;

/// Random numbers of a cycle; what is not allowed is left out.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    pub access: Option<Access>,
    pub preload: Option<(Note, usize)>,
    /// Which of the results under way is written, its lanes and its value.
    pub write: Option<(usize, u32, u32)>,
    /// Which of the lines fetched is filled, and its value.
    pub fill: Option<(usize, u32)>,
    pub drop: Option<usize>,
    pub may_hold: bool,
    pub ready: bool,
    /// Lines that stay on though nothing asks for them, and those that come on if something does, one bit each.
    pub power: [u32; 2],
}

/// An access: of one of the registers there are.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub reads: bool,
    pub reserves: bool,
    pub pick: usize,
    pub fate: Fate,
    pub lanes: u32,
    pub written: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Free,
    Clean,
    Dirty,
    Held,
}

#[derive(Clone, Debug)]
struct Line {
    list: List,
    tag: Tag,
    /// Of a held line: memory does not have its value.
    changed: bool,
    /// `None`: nothing was written to the register.
    value: Option<Vec<u32>>,
}

#[derive(Clone, Debug)]
struct Request {
    kind: RequestKind,
    tag: Tag,
    line: usize,
    invalidates: bool,
    value: Option<Vec<u32>>,
}

#[derive(Clone)]
pub struct StagingBankReference {
    geometry: ShardGeometry,
    lines: Vec<Line>,
    last_taken: Option<usize>,
    backed: BTreeSet<Tag>,
    /// Results reserved and not written, with their lines and fates.
    results: Vec<(usize, Fate)>,
    /// Lines whose fetch memory has taken.
    fetched: Vec<usize>,
    request: Option<Request>,
    /// Cycles until the request is offered.
    delay: usize,
    /// Lines that are on; `None` if all are, always.
    on: Option<Vec<bool>>,
    /// The line of the access that waits: it was found and is not on.
    woken: Option<usize>,
    /// The line that the fetch waits for has been seen on.
    seen_on: bool,
    /// The access that waits, and whether it is known to wait for a line.
    waiting: Option<(Access, Tag)>,
    missed: bool,
    /// The value read in the cycle before, and the lanes of it that were wanted.
    value: Option<(Vec<u32>, u32)>,
}

/// A cycle that keeps the promises.
#[derive(Clone, Debug, Default)]
struct Allowed {
    access: Option<(Access, Tag)>,
    preload: Option<(Note, Tag)>,
    write: Option<(usize, Fate, u32, Vec<u32>)>,
    fill: Option<(usize, Vec<u32>)>,
    drop: Option<usize>,
}

/// What the bank does in a cycle.
#[derive(Clone, Debug, Default)]
struct Done {
    access_ready: bool,
    preload_ready: bool,
    line: usize,
    hit: bool,
    unwritten: bool,
    fetched: bool,
    tags_used: bool,
    more: bool,
    less: bool,
    /// A dirty line that has to be read before it can be written back.
    victim: Option<usize>,
}

impl StagingBankReference {
    pub fn new(geometry: ShardGeometry, gated: bool) -> StagingBankReference {
        let line = Line { list: List::Free, tag: (0, 0), changed: false, value: None };
        StagingBankReference {
            geometry,
            lines: vec![line; geometry.lines],
            last_taken: None,
            backed: BTreeSet::new(),
            results: Vec::new(),
            fetched: Vec::new(),
            request: None,
            delay: 0,
            on: gated.then(|| vec![false; geometry.lines]),
            woken: None,
            seen_on: false,
            waiting: None,
            missed: false,
            value: None,
        }
    }

    fn find(&self, tag: Tag) -> Option<usize> {
        (0..self.lines.len()).find(|&l| self.lines[l].list != List::Free && self.lines[l].tag == tag)
    }

    fn is_held(&self, tag: Tag) -> bool {
        self.find(tag).is_some_and(|line| self.lines[line].list == List::Held)
    }

    /// Whether a write or a fill of the register's line is still to come.
    fn is_under_way(&self, tag: Tag) -> bool {
        let Some(line) = self.find(tag) else { return false };
        let fetching = self.request.as_ref().is_some_and(|r| r.kind == RequestKind::Fetch && r.tag == tag);
        fetching || self.fetched.contains(&line) || self.results.iter().any(|(result, _)| *result == line)
    }

    fn is_on(&self, line: usize) -> bool {
        self.on.as_ref().is_none_or(|on| on[line])
    }

    /// Whether a fill of the line is to come.
    fn is_fetching(&self, line: usize) -> bool {
        let asked = self.request.as_ref().is_some_and(|r| r.kind == RequestKind::Fetch && r.line == line);
        asked || self.fetched.contains(&line)
    }

    fn some_line_is_left(&self) -> bool {
        self.lines.iter().any(|line| line.list != List::Held)
    }

    fn choose(&self, tags: impl Fn(Tag) -> bool, pick: usize) -> Option<Tag> {
        let all =
            (0..self.geometry.warps).flat_map(|warp| (0..REGISTERS).map(move |register| (warp, register)));
        let allowed: Vec<Tag> = all.filter(|tag| tags(*tag)).collect();
        (!allowed.is_empty()).then(|| allowed[pick % allowed.len()])
    }

    fn values(&self, seed: u32) -> Vec<u32> {
        (0..self.geometry.lanes as u32).map(|lane| seed.rotate_left(lane)).collect()
    }

    fn allow(&self, cycle: &Cycle) -> Allowed {
        let access = self.waiting.or_else(|| {
            let access = cycle.access?;
            let may = |tag| !self.is_under_way(tag) && (!access.reads || self.is_held(tag));
            Some((access, self.choose(may, access.pick)?))
        });
        let of_access = |tag| access.is_some_and(|(_, other)| tag == other);
        let preload = cycle.preload.and_then(|(note, pick)| {
            let may = |tag| !self.is_held(tag) && !of_access(tag);
            let tag = self.choose(may, pick)?;
            (note == Note::Invalidation || self.some_line_is_left()).then_some((note, tag))
        });
        let write = cycle.write.filter(|_| !self.results.is_empty()).map(|(pick, lanes, seed)| {
            let (line, fate) = self.results[pick % self.results.len()];
            (line, fate, lanes, self.values(seed))
        });
        let fill = cycle.fill.filter(|_| !self.fetched.is_empty());
        let fill = fill.map(|(pick, seed)| (self.fetched[pick % self.fetched.len()], self.values(seed)));
        let drop = cycle.drop.map(|warp| warp % self.geometry.warps).filter(|&warp| {
            let uses = |tag: Option<Tag>| tag.is_some_and(|tag| tag.0 == warp);
            let holds = self.lines.iter().any(|line| line.list == List::Held && line.tag.0 == warp);
            !holds && !uses(access.map(|a| a.1)) && !uses(preload.map(|p| p.1))
        });
        Allowed { access, preload, write, fill, drop }
    }

    /// The line that goes first of those on `list`: the search begins behind the line taken last.
    fn first_of(&self, list: List) -> Option<usize> {
        let count = self.lines.len();
        let from = self.last_taken.map_or(count, |last| last + 1);
        let in_turn = (from..count).chain(0..count);
        in_turn.into_iter().find(|&line| self.lines[line].list == list)
    }

    /// A line that can be taken at once, for `tag`.
    fn take(&mut self, tag: Tag) -> Option<usize> {
        let line = self.first_of(List::Free).or_else(|| self.first_of(List::Clean))?;
        self.last_taken = Some(line);
        self.lines[line] = Line { list: List::Held, tag, changed: false, value: None };
        Some(line)
    }

    /// Writes a dirty line back, if the request and the value port are free and it is on.
    fn write_back(&mut self, (request_free, port_free): (bool, bool), done: &mut Done) {
        let Some(line) = self.first_of(List::Dirty).filter(|_| request_free) else { return };
        if !port_free || !self.is_on(line) {
            done.victim = Some(line);
            return;
        }
        self.last_taken = Some(line);
        let Line { tag, ref value, .. } = self.lines[line];
        let value = value.clone();
        self.request = Some(Request { kind: RequestKind::Write, tag, line, invalidates: false, value });
        self.delay = 2;
        self.backed.insert(tag);
        self.lines[line].list = List::Free;
    }

    fn hold(&mut self, line: usize) {
        self.lines[line].changed = self.lines[line].list == List::Dirty;
        self.lines[line].list = List::Held;
    }

    fn end(&mut self, line: usize, fate: Fate) {
        let line = &mut self.lines[line];
        line.list = match fate {
            Fate::Keep => List::Held,
            Fate::Evict if line.changed => List::Dirty,
            Fate::Evict => List::Clean,
            Fate::Erase => List::Free,
        };
    }

    fn serve_access(
        &mut self,
        (access, tag): (Access, Tag),
        may_hold: bool,
        frees: (bool, bool),
        done: &mut Done,
    ) {
        let held = self.is_held(tag);
        let vanishes = !access.written && access.fate != Fate::Keep;
        if access.reserves && !held && !vanishes {
            if !may_hold {
                return;
            }
            let line = match self.find(tag) {
                Some(line) => {
                    self.hold(line);
                    Some(line)
                }
                None => self.take(tag),
            };
            let Some(line) = line else {
                self.write_back(frees, done);
                return;
            };
            done.more = true;
            done.line = line;
        } else if let Some(line) = self.find(tag) {
            done.line = line;
            if access.reads && access.lanes != 0 {
                self.woken = (!self.is_on(line)).then_some(line);
                if self.woken.is_some() {
                    return;
                }
                let zero = vec![0; self.geometry.lanes];
                self.value = Some((self.lines[line].value.clone().unwrap_or(zero), access.lanes));
            }
            if held && !(access.reserves && access.written) {
                done.less = access.fate != Fate::Keep;
                self.end(line, access.fate);
            }
        }
        if access.reserves && access.written {
            self.results.push((done.line, access.fate));
        }
        done.access_ready = true;
    }

    fn serve_preload(&mut self, (note, tag): (Note, Tag), frees: (bool, bool), done: &mut Done) {
        let (found, backed) = (self.find(tag), self.backed.contains(&tag));
        let keeps_copy = note == Note::Preload;
        let asks = backed && (!keeps_copy || found.is_none());
        if asks && !frees.0 {
            return;
        }
        let mut kind = RequestKind::Invalidate;
        let mut waits = 0;
        match (note, found) {
            (Note::Invalidation, Some(line)) => self.lines[line].list = List::Free,
            (Note::Invalidation, None) => {}
            (Note::Preload | Note::InvalidatingPreload, Some(line)) => {
                self.hold(line);
                done.hit = true;
                self.lines[line].changed |= asks;
            }
            (Note::Preload | Note::InvalidatingPreload, None) => {
                let Some(line) = self.take(tag) else {
                    self.write_back(frees, done);
                    return;
                };
                (done.fetched, done.unwritten) = (backed, !backed);
                self.lines[line].changed = backed && !keeps_copy;
                kind = RequestKind::Fetch;
                waits = line;
            }
        }
        done.more = note != Note::Invalidation;
        done.preload_ready = true;
        if asks {
            self.request = Some(Request { kind, tag, line: waits, invalidates: !keeps_copy, value: None });
            (self.delay, self.seen_on) = (1, false);
            if !keeps_copy {
                self.backed.remove(&tag);
            }
        }
    }

    fn store(&mut self, allowed: &Allowed) -> bool {
        if let Some((line, value)) = &allowed.fill {
            self.lines[*line].value = Some(value.clone());
            self.fetched.retain(|fetched| fetched != line);
            return false;
        }
        let on = |(line, ..): &&(usize, Fate, u32, Vec<u32>)| self.is_on(*line);
        let Some((line, fate, lanes, value)) = allowed.write.as_ref().filter(on) else { return false };
        let zero = vec![0; self.geometry.lanes];
        let old = self.lines[*line].value.get_or_insert(zero);
        for (lane, (old, new)) in old.iter_mut().zip(value).enumerate() {
            if lanes >> lane & 1 == 1 {
                *old = *new;
            }
        }
        self.lines[*line].changed = true;
        self.end(*line, *fate);
        self.results.retain(|(result, _)| result != line);
        *fate != Fate::Keep
    }
}

impl StagingBankReference {
    /// Ends a cycle of the supply. Lines that are asked for: the value of each is about to be accessed.
    fn follow_power(&mut self, before: &StagingBankReference, cycle: &Cycle, asked: &[bool]) {
        let offered = before.request.is_some() && before.delay == 0;
        let line = before.request.as_ref().map(|request| request.line);
        self.seen_on = offered && line.is_some_and(|line| before.is_on(line));
        for (line, on) in self.on.iter_mut().flatten().enumerate() {
            let [stays, comes] = cycle.power.map(|lines| lines >> line & 1 == 1);
            *on = if *on { asked[line] || stays } else { asked[line] && comes };
        }
    }

    /// A mask of them.
    fn all_lanes(&self) -> u64 {
        (1 << self.geometry.lanes) - 1
    }
}

impl Reference for StagingBankReference {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        let allowed = self.allow(cycle);
        let number = |lanes: &[u32]| BigUint::from_slice(lanes);
        if let Some((access, (warp, register))) = allowed.access {
            inputs.set("access_valid_i", 1u8);
            inputs.set("access_reads_i", u8::from(access.reads));
            inputs.set("access_reserves_i", u8::from(access.reserves));
            inputs.set("access_warp_i", warp);
            inputs.set("access_register_i", register);
            inputs.set("access_fate_i", access.fate as u8);
            inputs.set("access_lanes_i", access.lanes);
            inputs.set("access_written_i", u8::from(access.written));
        } else {
            inputs.set("access_reserves_i", 1u8);
            inputs.set("access_lanes_i", self.all_lanes());
        }
        inputs.set("access_may_hold_i", u8::from(cycle.may_hold && self.some_line_is_left()));
        if let Some((note, (warp, register))) = allowed.preload {
            inputs.set("preload_valid_i", 1u8);
            inputs.set("preload_kind_i", note as u8);
            inputs.set("preload_warp_i", warp);
            inputs.set("preload_register_i", register);
        }
        if let Some((line, fate, lanes, value)) = &allowed.write {
            let (warp, register) = self.lines[*line].tag;
            inputs.set("write_valid_i", 1u8);
            inputs.set("write_warp_i", warp);
            inputs.set("write_register_i", register);
            inputs.set("write_line_i", *line);
            inputs.set("write_fate_i", *fate as u8);
            inputs.set("write_lanes_i", *lanes);
            inputs.set("write_value_i", number(value));
        } else {
            // What is not valid is anything: here, what would be noticed.
            inputs.set("write_lanes_i", self.all_lanes());
            inputs.set("write_fate_i", Fate::Erase as u8);
            inputs.set("write_line_i", 0u8);
        }
        if let Some((line, value)) = &allowed.fill {
            inputs.set("fill_valid_i", 1u8);
            inputs.set("fill_line_i", *line);
            inputs.set("fill_value_i", number(value));
        }
        if let Some(warp) = allowed.drop {
            inputs.set("drop_valid_i", 1u8);
            inputs.set("drop_warp_i", warp);
        }
        inputs.set("request_ready_i", u8::from(cycle.ready));
        if let Some(on) = &self.on {
            inputs.set("power_on_i", bits(on.iter().copied()));
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let before = self.clone();
        let allowed = self.allow(cycle);
        let mut done = Done::default();
        let is_written =
            |(line, ..): &(usize, Fate, u32, Vec<u32>)| allowed.fill.is_none() && before.is_on(*line);
        let writes = allowed.write.as_ref().is_some_and(is_written);
        let frees = (self.request.is_none(), allowed.fill.is_none() && !writes);
        let may_hold = cycle.may_hold && self.some_line_is_left();
        let value = self.value.take();

        // Who gets the tags: the access, if it does not wait for the value port or for a line.
        let line_is_left = self.lines.iter().any(|line| matches!(line.list, List::Free | List::Clean));
        let looks = allowed.access.filter(|(access, _)| {
            let reads = access.reads && access.lanes != 0;
            let can_go_on = may_hold && (line_is_left || (frees.0 && frees.1));
            let can_wake = self.woken.is_none_or(|line| self.is_on(line));
            (frees.1 || !reads) && (!self.missed || can_go_on) && can_wake
        });
        done.tags_used = looks.is_some() || allowed.preload.is_some();
        let mut warp = 0;
        match (looks, allowed.preload) {
            (Some(access), _) => {
                warp = access.1.0;
                self.serve_access(access, may_hold, frees, &mut done);
                self.missed = !done.access_ready && self.woken.is_none();
            }
            (None, Some(preload)) => {
                warp = preload.1.0;
                self.serve_preload(preload, frees, &mut done);
            }
            (None, None) => {}
        }
        self.waiting = allowed.access.filter(|_| !done.access_ready);
        let written_less = self.store(&allowed);
        if let Some(dropped) = allowed.drop {
            for line in self.lines.iter_mut().filter(|line| line.list != List::Held && line.tag.0 == dropped)
            {
                line.list = List::Free;
            }
            self.backed.retain(|tag| tag.0 != dropped);
        }

        let flag = |outputs: &mut Pins, name: &str, value: bool| outputs.set(name, u8::from(value));
        flag(outputs, "access_ready_o", done.access_ready);
        outputs.set("access_line_o", done.line);
        if let Some((value, wanted)) = value {
            let lanes = 0..self.geometry.lanes;
            let known: Vec<u32> = lanes.map(|lane| (wanted >> lane & 1) * u32::MAX).collect();
            outputs.set_known("access_value_o", BigUint::from_slice(&value), BigUint::from_slice(&known));
            outputs.must_be_meaningful("access_value_o");
        }
        flag(outputs, "preload_ready_o", done.preload_ready);
        flag(outputs, "preload_hit_o", done.hit);
        flag(outputs, "preload_unwritten_o", done.unwritten);
        flag(outputs, "preload_fetched_o", done.fetched);
        let line_named = allowed.write.as_ref().map_or(0, |write| write.0);
        flag(outputs, "write_ready_o", allowed.fill.is_none() && before.is_on(line_named));
        flag(outputs, "tags_used_o", done.tags_used);
        flag(outputs, "held_more_o", done.more);
        flag(outputs, "held_less_o", done.less);
        outputs.set("held_warp_o", warp);
        flag(outputs, "held_written_less_o", written_less);
        let listed = before.lines.iter().filter(|line| line.list != List::Held).count();
        outputs.set("held_listed_o", listed);
        flag(outputs, "request_busy_o", before.request.is_some());
        let waits_for_line = before.on.is_some()
            && !before.seen_on
            && before.request.as_ref().is_some_and(|request| request.kind == RequestKind::Fetch);
        let offered = before.request.is_some() && before.delay == 0 && !waits_for_line;
        flag(outputs, "request_valid_o", offered);
        if let Some(request) = &before.request {
            outputs.set("request_kind_o", request.kind as u8);
            outputs.set("request_warp_o", request.tag.0);
            outputs.set("request_register_o", request.tag.1);
            outputs.set("request_line_o", request.line);
            outputs.set("request_invalidates_o", u8::from(request.invalidates));
            let value = request.value.clone().unwrap_or_default();
            outputs.set("request_value_o", BigUint::from_slice(&value));
        }
        if offered && cycle.ready {
            let request = self.request.take().filter(|request| request.kind == RequestKind::Fetch);
            self.fetched.extend(request.map(|request| request.line));
        }
        self.delay = self.delay.saturating_sub(1);
        if before.on.is_some() {
            let result = allowed.write.as_ref().map(|write| write.0).filter(|_| !writes);
            let waits = [self.woken, result, done.victim];
            let is_free = |lines: &[Line], line: usize| lines[line].list == List::Free;
            let freed: Vec<bool> = (0..self.lines.len())
                .map(|line| is_free(&self.lines, line) && !is_free(&before.lines, line))
                .collect();
            let is_asked = |line| waits.contains(&Some(line)) || self.is_fetching(line);
            let asked: Vec<bool> = (0..self.lines.len()).map(|line| is_asked(line) && !freed[line]).collect();
            outputs.set("power_request_o", bits(asked.iter().copied()));
            outputs.set("power_freed_o", bits(freed.into_iter()));
            let read = looks.filter(|(access, _)| done.access_ready && access.reads);
            flag(outputs, "power_read_valid_o", read.is_some());
            if let Some((access, (warp, register))) = read {
                outputs.set_meaningful("power_read_warp_o", warp);
                outputs.set_meaningful("power_read_register_o", register);
                outputs.set_meaningful("power_read_line_o", done.line);
                outputs.set_meaningful("power_read_lanes_o", access.lanes);
            }
            self.follow_power(&before, cycle, &asked);
        }
    }
}

/// Bit i is the i-th.
fn bits(all: impl Iterator<Item = bool>) -> BigUint {
    let mut bits = BigUint::default();
    for (index, bit) in all.enumerate() {
        bits.set_bit(index as u64, bit);
    }
    bits
}
