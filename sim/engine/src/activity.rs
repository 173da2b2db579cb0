//! How often each table port and register is used: the input of energy models.
//!
//! Derived from the netlist: a port counts the cycles outside reset in which it is enabled, whatever the
//! engine skips or fuses.

use crate::ops::bits;
use crate::plan::{ONE, Plan};

/// What a table port does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    /// Combinational read.
    Read,
    /// Read captured at the clock edge.
    ClockedRead,
    /// Associative match.
    Match,
    /// Write.
    Write,
    /// Addition to a field.
    Add,
    /// Clearing the valid bit of one row.
    ClearRow,
    /// Clearing valid bits.
    ClearRows,
    /// Setting valid bits.
    SetRows,
}

/// Names one table port's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityHandle(pub(crate) u32);

/// Use of one table port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ActivityCount {
    /// Cycles in which it was enabled.
    pub cycles: u64,
    /// Physical arrays touched in those cycles, over all fields the port accesses: of a laned field, the
    /// groups of `lanes_per_array` lanes with an enabled lane; any other field is one array. Matches and
    /// changes of valid bits touch none.
    pub arrays: u64,
}

/// What every port and register of a circuit did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityReport {
    /// Cycles outside reset.
    pub cycles: u64,
    /// Table ports, table by table.
    pub ports: Vec<PortActivity>,
    /// Registers.
    pub registers: Vec<RegisterActivity>,
}

/// Use of a table port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortActivity {
    /// Full path of the port: the table's, and the port's name.
    pub path: String,
    /// Full path of the table.
    pub table: String,
    /// Name of the port. Valid-bit changes, which have none, are numbered: `clear_rows_3` is update 3.
    pub port: String,
    /// What it does.
    pub kind: ActivityKind,
    /// Cycles in which it was enabled.
    pub cycles: u64,
    /// Physical arrays touched; see [`ActivityCount::arrays`].
    pub arrays: u64,
}

/// Use of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterActivity {
    /// Full path.
    pub path: String,
    /// Bits.
    pub width: u32,
    /// Cycles in which it was enabled.
    pub cycles: u64,
    /// Bits that changed; 0 if they are not counted.
    pub toggles: u64,
}

/// How a table port's activity is found.
#[derive(Clone, Debug)]
pub struct PortMeter {
    /// Full path of the table.
    pub table: String,
    /// Name of the port.
    pub port: String,
    /// What it does.
    pub kind: ActivityKind,
    /// One-bit word.
    pub enable: u32,
    /// Arrays touched whenever it is enabled.
    pub arrays: u32,
    /// Arrays touched by lane.
    pub groups: Vec<LaneGroups>,
}

impl PortMeter {
    /// Full path of the port.
    pub fn path(&self) -> String {
        format!("{}.{}", self.table, self.port)
    }
}

/// Lanes of a field in groups that share an array.
#[derive(Clone, Copy, Debug)]
pub struct LaneGroups {
    /// Lane mask in the arena.
    pub mask: u32,
    /// Lanes.
    pub lanes: u32,
    /// Lanes an array holds.
    pub size: u32,
}

impl LaneGroups {
    /// Groups with an enabled lane.
    #[inline]
    pub(crate) fn touched(self, arena: &[u64]) -> u64 {
        let mask = &arena[self.mask as usize..];
        if self.lanes <= 64 && self.size == 4 {
            let any = mask[0] | mask[0] >> 1;
            return u64::from(((any | any >> 2) & 0x1111_1111_1111_1111).count_ones());
        }
        (0..self.lanes)
            .step_by(self.size as usize)
            .filter(|&low| {
                let ends = low + self.size;
                (low..ends).step_by(64).any(|low| bits(mask, low, (ends - low).min(64)) != 0)
            })
            .count() as u64
    }
}

/// A register to report on.
#[derive(Clone, Debug)]
pub struct RegisterMeter {
    /// Full path.
    pub path: String,
    /// Bits.
    pub width: u32,
}

/// Counters of a running circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    cycles: u64,
    ports: Vec<ActivityCount>,
    registers: Vec<RegisterCount>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct RegisterCount {
    cycles: u64,
    toggles: u64,
}

impl Counters {
    pub fn new(plan: &Plan) -> Counters {
        Counters {
            cycles: 0,
            ports: vec![ActivityCount::default(); plan.port_meters.len()],
            registers: vec![RegisterCount::default(); plan.registers.len()],
        }
    }

    /// Counts a settled cycle.
    pub fn count(&mut self, plan: &Plan, arena: &[u64]) {
        self.cycles += 1;
        for (count, meter) in self.ports.iter_mut().zip(&plan.port_meters) {
            if arena[meter.enable as usize] != 0 {
                count.cycles += 1;
                count.arrays += u64::from(meter.arrays);
                count.arrays += meter.groups.iter().map(|groups| groups.touched(arena)).sum::<u64>();
            }
        }
        for (count, edge) in self.registers.iter_mut().zip(&plan.registers) {
            let enabled = arena[edge.enable as usize];
            count.cycles += enabled;
            if plan.count_toggles && enabled != 0 {
                let (q, next, n) = (edge.q as usize, edge.next as usize, edge.n as usize);
                let changed = arena[q..q + n].iter().zip(&arena[next..next + n]);
                count.toggles += changed.map(|(q, next)| u64::from((q ^ next).count_ones())).sum::<u64>();
            }
        }
    }

    /// Counts cycles whose ports and registers compiled code counts.
    #[inline]
    pub fn count_cycles(&mut self, cycles: u64) {
        self.cycles += cycles;
    }

    /// Where the counters of ports and of registers are: pairs of numbers.
    #[inline]
    pub fn addresses(&mut self) -> [*mut u64; 2] {
        [self.ports.as_mut_ptr().cast(), self.registers.as_mut_ptr().cast()]
    }

    pub fn port(&self, handle: ActivityHandle) -> ActivityCount {
        self.ports[handle.0 as usize]
    }

    pub fn report(&self, plan: &Plan) -> ActivityReport {
        let ports = plan.port_meters.iter().zip(&self.ports).map(|(meter, count)| PortActivity {
            path: meter.path(),
            table: meter.table.clone(),
            port: meter.port.clone(),
            kind: meter.kind,
            cycles: count.cycles,
            arrays: count.arrays,
        });
        let registers = plan.register_meters.iter().zip(&plan.registers).zip(&self.registers);
        let registers = registers.map(|((meter, edge), count)| RegisterActivity {
            path: meter.path.clone(),
            width: meter.width,
            // A register that is always enabled needs no counter, and compiled code has none for it.
            cycles: if edge.enable == ONE { self.cycles } else { count.cycles },
            toggles: count.toggles,
        });
        ActivityReport { cycles: self.cycles, ports: ports.collect(), registers: registers.collect() }
    }
}
