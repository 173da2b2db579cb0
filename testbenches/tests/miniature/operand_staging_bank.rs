use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::rtl::elaborate;
use warpfile_random::config;
use warpfile_testbenches::miniature::OperandStagingBank;

const LINES: usize = 4;
const WARPS: usize = 3;
const REGISTERS: usize = 3;
const LANES: usize = 32;

type Tag = (usize, usize);
/// Lanes of 32 bits, as in the paper.
type Data = [u32; LANES];

#[derive(Clone)]
struct Line {
    tag: Option<Tag>,
    idle: bool,
    dirty: bool,
    /// Lanes written since the line was allocated; the others hold anything.
    data: [Option<u32>; LANES],
}

/// The bank of RegLess §5.2, as lines with a list each is on.
struct Reference {
    lines: Vec<Line>,
}

/// Requests of one cycle.
#[derive(Clone, Debug)]
struct Requests {
    lookup: Option<Tag>,
    allocate: Option<Tag>,
    write: Option<(usize, u32, Data)>,
    release: Option<(usize, bool)>,
}

impl Reference {
    fn holding(&self, tag: Tag) -> Option<usize> {
        self.lines.iter().position(|line| line.tag == Some(tag))
    }

    /// `requests` without those that the contract forbids.
    fn allowed(&self, mut requests: Requests) -> Requests {
        let in_use = |line: usize| self.lines[line].tag.is_some() && !self.lines[line].idle;
        requests.allocate = requests.allocate.filter(|&tag| self.holding(tag).is_none());
        requests.write = requests.write.filter(|&(line, ..)| in_use(line));
        requests.release = requests.release.filter(|&(line, _)| in_use(line));
        requests
    }

    /// The line that an allocation gets: free, else clean, else dirty; not one that is looked up.
    fn next_line(&self, hit: Option<usize>) -> Option<usize> {
        let first = |is: fn(&Line) -> bool| (0..LINES).find(|&i| is(&self.lines[i]) && Some(i) != hit);
        first(|line| line.tag.is_none())
            .or_else(|| first(|line| line.idle && !line.dirty))
            .or_else(|| first(|line| line.idle && line.dirty))
    }

    fn apply(&mut self, requests: &Requests) {
        let hit = requests.lookup.and_then(|tag| self.holding(tag));
        let allocated = self.next_line(hit);
        if let Some((line, lanes, data)) = requests.write {
            self.lines[line].dirty = true;
            for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
                self.lines[line].data[lane] = Some(data[lane]);
            }
        }
        match requests.release {
            Some((line, true)) => self.lines[line] = EMPTY,
            Some((line, false)) => self.lines[line].idle = true,
            None => {}
        }
        if let Some(line) = hit {
            self.lines[line].idle = false;
        }
        if let (Some(tag), Some(line)) = (requests.allocate, allocated) {
            self.lines[line] = Line { tag: Some(tag), ..EMPTY };
        }
    }
}

const EMPTY: Line = Line { tag: None, idle: false, dirty: false, data: [None; LANES] };

/// The bank in the engine.
struct Bank(Interpreter);

impl Bank {
    fn new() -> Bank {
        let circuit = OperandStagingBank { lines: LINES, warps: WARPS, registers: REGISTERS, lane_bits: 32 };
        Bank(Interpreter::new(&elaborate(&circuit).unwrap(), &Options::checked()).unwrap())
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.0.input(name).unwrap();
        self.0.set(port, value);
    }

    fn set_lanes(&mut self, name: &str, value: &Data) {
        let port = self.0.input(name).unwrap();
        self.0.set_lanes(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.0.get(self.0.output(name).unwrap())
    }

    fn lane(&self, name: &str, lane: usize) -> u32 {
        self.0.lane(self.0.output(name).unwrap(), lane)
    }

    fn step(&mut self, requests: &Requests) {
        for (group, tag) in [("lookup", requests.lookup), ("allocate", requests.allocate)] {
            self.set(&format!("{group}_valid_i"), u64::from(tag.is_some()));
            let (warp, register) = tag.unwrap_or_default();
            self.set(&format!("{group}_warp_i"), warp as u64);
            self.set(&format!("{group}_register_i"), register as u64);
        }
        let (line, lanes, data) = requests.write.unwrap_or_default();
        self.set("write_valid_i", u64::from(requests.write.is_some()));
        self.set("write_line_i", line as u64);
        self.set("write_lanes_i", lanes.into());
        self.set_lanes("write_data_i", &data);
        let (line, discard) = requests.release.unwrap_or_default();
        self.set("release_valid_i", u64::from(requests.release.is_some()));
        self.set("release_line_i", line as u64);
        self.set("release_discard_i", discard.into());
        self.0.step();
    }

    /// Whether `port` shows every lane of `line` that has been written.
    fn shows(&self, port: &str, line: &Line) -> bool {
        (0..LANES).all(|lane| line.data[lane].is_none_or(|value| self.lane(port, lane) == value))
    }
}

fn requests() -> impl Strategy<Value = Requests> {
    let tag = || prop::option::weighted(0.7, (0..WARPS, 0..REGISTERS));
    let write = prop::option::of((0..LINES, any::<u32>(), any::<Data>()));
    let release = prop::option::weighted(0.7, (0..LINES, prop::bool::weighted(0.3)));
    (tag(), tag(), write, release).prop_map(|(lookup, allocate, write, release)| Requests {
        lookup,
        allocate,
        write,
        release,
    })
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn lines_are_found_allocated_and_evicted_as_in_the_paper(
        cycles in prop::collection::vec(requests(), 1..100),
    ) {
        let mut bank = Bank::new();
        let mut reference = Reference { lines: vec![EMPTY; LINES] };
        for cycle in cycles {
            let requests = reference.allowed(cycle);
            bank.step(&requests);

            let hit = requests.lookup.and_then(|tag| reference.holding(tag));
            let hit_line = bank.get("hit_line_o") as usize;
            prop_assert_eq!((bank.get("hit_o") == 1).then_some(hit_line), hit);
            prop_assert!(hit.is_none_or(|line| bank.shows("hit_data_o", &reference.lines[line])));

            let next = reference.next_line(hit);
            let line = bank.get("allocate_line_o") as usize;
            prop_assert_eq!((bank.get("allocate_ready_o") == 1).then_some(line), next);

            let victim = next
                .filter(|_| requests.allocate.is_some())
                .map(|line| &reference.lines[line])
                .filter(|line| line.dirty);
            let tag = (bank.get("evict_warp_o") as usize, bank.get("evict_register_o") as usize);
            let evicted = (bank.get("evict_valid_o") == 1).then_some(tag);
            prop_assert_eq!(evicted, victim.and_then(|line| line.tag));
            prop_assert!(victim.is_none_or(|line| bank.shows("evict_data_o", line)));

            prop_assert_eq!(bank.0.violation(), None);
            reference.apply(&requests);
        }
    }
}

#[test]
fn allocation_takes_free_then_clean_then_dirty_lines() {
    let mut bank = Bank::new();
    let idle = Requests { lookup: None, allocate: None, write: None, release: None };
    let allocate = |bank: &mut Bank, tag| {
        bank.step(&Requests { allocate: Some(tag), ..idle.clone() });
        (bank.get("allocate_line_o"), bank.get("evict_valid_o") == 1)
    };
    for line in 0..3 {
        assert_eq!(allocate(&mut bank, (0, line)), (line as u64, false));
    }
    bank.step(&Requests { write: Some((0, 1, [7; LANES])), release: Some((0, false)), ..idle.clone() });
    bank.step(&Requests { release: Some((1, false)), ..idle.clone() });
    // Line 0 is dirty, line 1 clean, line 2 in use, line 3 free.
    assert_eq!(allocate(&mut bank, (1, 0)), (3, false));
    assert_eq!(allocate(&mut bank, (1, 1)), (1, false));
    assert_eq!(allocate(&mut bank, (1, 2)), (0, true));
    assert_eq!((bank.get("evict_warp_o"), bank.get("evict_register_o")), (0, 0));
    assert_eq!(bank.lane("evict_data_o", 0), 7);
    bank.step(&idle);
    assert_eq!(bank.get("allocate_ready_o"), 0);
}

#[test]
fn the_paper_s_bank_and_counter_array_elaborate_in_full_size() {
    let bank = OperandStagingBank { lines: 64, warps: 64, registers: 256, lane_bits: 32 };
    assert_eq!(elaborate(&bank).unwrap().modules[0].tables[0].fields[2].width, 1024);
    let counters =
        warpfile_testbenches::miniature::ReferenceCounters { registers: 1024, counter_bits: 10, updates: 12 };
    assert_eq!(elaborate(&counters).unwrap().modules[0].tables[0].updates.len(), 26);
}
