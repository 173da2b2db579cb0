//! Reference of the capacity manager: warps with their states, a stack, and counts of lines. Written from Kloosterman et
//! al., §5.1 and Fig. 9, and the contract in `docs/regless-pipeline.md`, not from the circuit.

use std::collections::VecDeque;

use warpfile_hdl::regless::{CapacityManager, Note};

/// States of a warp (§5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Inactive,
    Preloading,
    Active,
    Draining,
}

/// A word of metadata.
#[derive(Clone, Debug)]
pub struct Word {
    pub first: bool,
    pub last: bool,
    pub notes: Vec<(Note, usize)>,
    /// Lines of each bank, for warp index 0.
    pub usage: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Warp {
    pub state: State,
    stacked: bool,
    /// Draining, and all accesses have been served.
    settled: bool,
    words: VecDeque<Word>,
    /// The region that waits to be begun.
    next: Option<Vec<usize>>,
    /// Annotations, accesses and results under way.
    notes: usize,
    accesses: usize,
    results: usize,
    /// For each bank the lines the region may hold, and those it holds.
    pub allowed: Vec<usize>,
    pub held: Vec<usize>,
}

/// What happens around the manager in a cycle.
#[derive(Clone, Debug)]
pub struct Around {
    pub metadata: Option<(usize, Word)>,
    pub waiting: Vec<bool>,
    /// Warp, whether it is its region's last, accesses and results of each instruction.
    pub issues: Vec<Option<(usize, bool, usize, usize)>>,
    pub banks: Vec<BankAround>,
    /// The warp of a line that comes.
    pub fill: Option<usize>,
    /// The warp of each result that is written, and the bank in which it holds a line no more.
    pub writes: Vec<Option<(usize, Option<usize>)>>,
}

/// What a bank does in a cycle.
#[derive(Clone, Debug, Default)]
pub struct BankAround {
    pub takes_note: bool,
    /// The warp whose annotation is served, if nothing is fetched.
    pub staged: Option<usize>,
    pub served: Option<usize>,
    /// The warp that holds a line more, or less.
    pub more: Option<usize>,
    pub less: Option<usize>,
}

/// What the manager says in a cycle.
#[derive(Clone, Debug)]
pub struct Said {
    pub metadata_ready: bool,
    /// For each bank the annotation that goes to it.
    pub notes: Vec<Option<(Note, usize, usize)>>,
}

#[derive(Clone)]
pub struct CapacityManagerReference {
    manager: CapacityManager,
    pub warps: Vec<Warp>,
    /// The warp that ran last is on top, which is the end.
    stack: Vec<usize>,
    /// Lines of each bank that are left for regions that begin.
    left: Vec<usize>,
    /// The warp whose annotations go to the banks, and which of its oldest word have gone.
    sending: Option<usize>,
    sent: Vec<bool>,
}

impl CapacityManagerReference {
    pub fn new(manager: &CapacityManager) -> CapacityManagerReference {
        let g = manager.geometry;
        let warp = Warp {
            state: State::Inactive,
            stacked: false,
            settled: false,
            words: VecDeque::new(),
            next: None,
            notes: 0,
            accesses: 0,
            results: 0,
            allowed: vec![0; g.banks],
            held: vec![0; g.banks],
        };
        CapacityManagerReference {
            manager: manager.clone(),
            warps: vec![warp; g.warps],
            stack: Vec::new(),
            left: vec![g.lines; g.banks],
            sending: None,
            sent: Vec::new(),
        }
    }

    fn banks(&self) -> usize {
        self.manager.geometry.banks
    }

    /// Lines of a bank that no region holds.
    pub fn listed(&self, bank: usize) -> usize {
        self.manager.geometry.lines - self.warps.iter().map(|warp| warp.held[bank]).sum::<usize>()
    }

    /// Whether the store takes a word of a warp.
    pub fn may_take(&self, warp: usize, first: bool) -> bool {
        let Warp { words, next, .. } = &self.warps[warp];
        words.len() < self.manager.metadata_words && !(first && next.is_some())
    }

    /// What the manager says.
    pub fn say(&self, around: &Around) -> Said {
        let mut begun = self.clone();
        begun.push_warp(around);
        begun.begin_region();
        let mut notes = vec![None; self.banks()];
        if let Some(warp) = begun.sending {
            let word = begun.warps[warp].words.front();
            let unsent = word.into_iter().flat_map(|word| word.notes.iter().zip(&begun.sent));
            for (&(note, register), _) in unsent.filter(|(_, sent)| !**sent) {
                let bank = (warp + register) % self.banks();
                notes[bank].get_or_insert((note, warp, register));
            }
        }
        let metadata_ready =
            around.metadata.as_ref().is_some_and(|(warp, word)| self.may_take(*warp, word.first));
        Said { metadata_ready, notes }
    }

    /// Takes the state to the next cycle.
    pub fn step(&mut self, around: &Around) {
        let before = self.clone();
        let said = self.say(around);
        self.push_warp(around);
        self.begin_region();
        self.send_notes(&said, around);
        self.count(around);
        self.change_states(&before, around);
        if let Some((warp, word)) = around.metadata.clone().filter(|_| said.metadata_ready) {
            if word.first {
                self.warps[warp].next = Some(word.usage.clone());
            }
            if self.sending == Some(warp) && self.warps[warp].words.is_empty() {
                self.sent = vec![false; word.notes.len()];
            }
            self.warps[warp].words.push_back(word);
        }
    }

    /// One warp a cycle is pushed: the lowest of the inactive ones with a region that waits.
    fn push_warp(&mut self, around: &Around) {
        let can_go_on = |w: &usize| {
            let warp = &self.warps[*w];
            warp.state == State::Inactive && !warp.stacked && warp.next.is_some() && !around.waiting[*w]
        };
        let pushed = (0..self.warps.len()).find(can_go_on);
        if let Some(warp) = pushed {
            self.stack.push(warp);
            self.warps[warp].stacked = true;
        }
    }

    /// Annotations go to the banks that take one.
    fn send_notes(&mut self, said: &Said, around: &Around) {
        let Some(w) = self.sending else { return };
        let banks = self.banks();
        let Some(word) = self.warps[w].words.front().cloned() else { return };
        let mut taken: Vec<bool> = around.banks.iter().map(|bank| bank.takes_note).collect();
        for (k, (_, register)) in word.notes.iter().enumerate() {
            let bank = (w + register) % banks;
            if !self.sent[k] {
                self.sent[k] = taken[bank] && said.notes[bank].is_some();
                self.warps[w].notes += usize::from(self.sent[k]);
                // A bank takes one, and those behind the first wait for it.
                taken[bank] = false;
            }
        }
        if self.sent.iter().all(|sent| *sent) {
            self.warps[w].words.pop_front();
            self.sent = self.warps[w].words.front().map_or(Vec::new(), |word| vec![false; word.notes.len()]);
            if word.last {
                self.sending = None;
            }
        }
    }

    /// The region of the warp on top begins if it fits, and the annotations of the one before have gone.
    fn begin_region(&mut self) {
        let Some(&w) = self.stack.last() else { return };
        let usage = self.warps[w].next.clone().expect("a warp on the stack has a region");
        let banks = self.banks();
        let of_bank = |bank: usize| usage[(bank + banks - w % banks) % banks];
        if self.sending.is_some() || (0..banks).any(|bank| of_bank(bank) > self.left[bank]) {
            return;
        }
        self.stack.pop();
        for bank in 0..banks {
            self.left[bank] -= of_bank(bank);
            self.warps[w].allowed[bank] = of_bank(bank);
        }
        let warp = &mut self.warps[w];
        (warp.next, warp.stacked, warp.state) = (None, false, State::Preloading);
        self.sending = Some(w);
        self.sent = warp.words.front().map_or(Vec::new(), |word| vec![false; word.notes.len()]);
    }

    /// Counts what is issued, served, filled and written, and the lines that are held.
    fn count(&mut self, around: &Around) {
        for &(warp, _, accesses, results) in around.issues.iter().flatten() {
            self.warps[warp].accesses += accesses;
            self.warps[warp].results += results;
        }
        for (b, bank) in around.banks.iter().enumerate() {
            if let Some(warp) = bank.staged {
                self.warps[warp].notes -= 1;
            }
            if let Some(warp) = bank.served {
                self.warps[warp].accesses -= 1;
            }
            if let Some(warp) = bank.more {
                self.warps[warp].held[b] += 1;
            }
            if let Some(warp) = bank.less {
                self.warps[warp].held[b] -= 1;
            }
        }
        if let Some(warp) = around.fill {
            self.warps[warp].notes -= 1;
        }
        for &(w, released) in around.writes.iter().flatten() {
            let warp = &mut self.warps[w];
            warp.results -= 1;
            if let Some(bank) = released {
                warp.held[bank] -= 1;
                if warp.settled {
                    warp.allowed[bank] -= 1;
                    self.left[bank] += 1;
                }
            }
        }
    }

    fn change_states(&mut self, before: &CapacityManagerReference, around: &Around) {
        // One draining warp a cycle gives back what it does not hold.
        let can_settle = |w: &usize| {
            let warp = &before.warps[*w];
            warp.state == State::Draining && !warp.settled && self.warps[*w].accesses == 0
        };
        let settles = (0..self.warps.len()).find(can_settle);
        for w in 0..self.warps.len() {
            let (was, warp) = (&before.warps[w], &mut self.warps[w]);
            match was.state {
                State::Inactive | State::Preloading => {
                    // A region that begins and has no annotation is active at once.
                    if warp.state == State::Preloading && warp.notes == 0 && self.sending != Some(w) {
                        warp.state = State::Active;
                    }
                }
                State::Active => {
                    if around.issues.iter().flatten().any(|(of, last, ..)| *of == w && *last) {
                        warp.state = State::Draining;
                    }
                }
                State::Draining => {
                    if settles == Some(w) {
                        warp.settled = true;
                        for bank in 0..self.left.len() {
                            self.left[bank] += warp.allowed[bank] - warp.held[bank];
                            warp.allowed[bank] = warp.held[bank];
                        }
                    }
                    if warp.settled && warp.results == 0 {
                        (warp.state, warp.settled) = (State::Inactive, false);
                    }
                }
            }
        }
    }
}
