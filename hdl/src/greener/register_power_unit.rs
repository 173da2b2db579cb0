//! The power of a partition's registers.

use serde::{Deserialize, Serialize};

use super::lookup_table::{EnterIo, LeaveIo, LookupTable};
use super::power_state_decoder::PowerStateDecoder;
use super::sleep_transistors::SleepTransistors;
use super::wake_up_controller::WakeUpController;
use super::{CODES, PowerState, Rows, STATE_BITS};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Register power unit: puts the rows of a register file to SLEEP or OFF when they have been accessed, and wakes them up.
///
/// Each access names its row and what its instruction says of it. The row goes to the state that the decoder finds, unless
/// it is asked for in the same cycle or, with a lookup table, a younger decoded instruction of the warp accesses the
/// register. Rows that are asked for wake up. Rows that no warp has any more go OFF.
///
/// Timing: an access in cycle t has changed its row's state in t + 1; an access that is said in a later cycle than it was
/// made changes it later. A row that is asked for in t is ON in t plus the latency of its state, and stays ON until it is
/// accessed.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §4.2.4 and Fig. 4.5.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterPowerUnit {
    /// Banks and rows.
    pub file: Rows,
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Cycles to wake a row up from SLEEP, 1 to 16.
    pub sleep_latency: usize,
    /// Cycles to wake a row up that is OFF, 1 to 16.
    pub off_latency: usize,
    /// Rows of a bank that begin to wake up in a cycle at most, 0 to 8; 0: no limit.
    pub rush_limit: usize,
    /// Accesses a cycle, 1 to 16.
    pub accesses: usize,
    /// Entries of the lookup table for each warp, 0 to 8; 0: there is none.
    pub entries: usize,
    /// Registers that an instruction accesses at most, 1 to 8.
    pub operands: usize,
    /// Bits of a register's number, 1 to 8.
    pub register_bits: usize,
    /// Bits of an instruction's number, 2 to 16.
    pub number_bits: usize,
}

/// Instructions that enter the lookup table in a cycle.
pub const ENTERS: usize = 2;
/// Instructions that leave it in a cycle.
pub const LEAVES: usize = 4;

/// Ports of a [`RegisterPowerUnit`]. Where they have one bit a row, it is bank after bank.
#[derive(Ports)]
#[params(RegisterPowerUnit)]
pub struct RegisterPowerUnitIo<'m> {
    /// Registers that have been accessed.
    #[repeat(p.accesses)]
    pub access: Vec<AccessIo<'m>>,
    /// Instructions that have been decoded.
    #[repeat(if p.entries == 0 { 0 } else { ENTERS })]
    #[with(p.lookup())]
    pub enter: Vec<EnterIo<'m>>,
    /// Instructions that are done.
    #[repeat(if p.entries == 0 { 0 } else { LEAVES })]
    #[with(p.lookup())]
    pub leave: Vec<LeaveIo<'m>>,
    /// Warps that have ended, one bit each.
    #[repeat_plain(p.entries.min(1))]
    #[bits(p.warps)]
    pub ended_i: Vec<In<'m>>,
    /// Rows that instructions wait for, or are about to access.
    #[bits(p.file.rows_of_all())]
    pub request_i: In<'m>,
    /// Rows that no warp has any more.
    #[bits(p.file.rows_of_all())]
    pub free_i: In<'m>,
    /// Rows that are ON.
    #[bits(p.file.rows_of_all())]
    pub on_o: Out<'m>,
    /// Rows in SLEEP.
    #[bits(p.file.rows_of_all())]
    pub sleep_o: Out<'m>,
    /// Rows that are OFF.
    #[bits(p.file.rows_of_all())]
    pub off_o: Out<'m>,
    /// Rows that are waking up.
    #[bits(p.file.rows_of_all())]
    pub waking_o: Out<'m>,
    /// Rows that have been written since they were last OFF.
    #[bits(p.file.rows_of_all())]
    pub holds_o: Out<'m>,
}

/// A register that has been accessed.
#[derive(Ports)]
#[params(RegisterPowerUnit)]
pub struct AccessIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It has been written; read if not.
    pub writes_i: In<'m>,
    /// Its state is to change; if not, another access of the instruction says how.
    pub changes_i: In<'m>,
    /// Its row, counted bank after bank.
    #[bits(index_bits(p.file.rows_of_all()))]
    pub row_i: In<'m>,
    /// Who accesses it, for the lookup table.
    #[repeat_plain(p.entries.min(1))]
    pub by: Vec<AccessorIo<'m>>,
    /// Codes of the instruction.
    #[bits(CODES * STATE_BITS)]
    pub codes_i: In<'m>,
    /// The register has one.
    pub has_code_i: In<'m>,
    /// Which one.
    #[bits(index_bits(CODES))]
    pub code_i: In<'m>,
    /// It stays ON for a younger instruction.
    pub kept_o: Out<'m>,
}

/// Who accesses a register.
#[derive(Ports)]
#[params(RegisterPowerUnit)]
pub struct AccessorIo<'m> {
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// The register's number in the warp.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Number of the instruction.
    #[bits(p.number_bits)]
    pub number_i: In<'m>,
}

impl Circuit for RegisterPowerUnit {
    type Io<'m> = RegisterPowerUnitIo<'m>;
    const NAME: &'static str = "register_power_unit";

    fn validate(&self) -> Result<(), ParameterError> {
        self.file.validate::<Self>()?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("sleep_latency", self.sleep_latency, 1..=16)?;
        Self::check_range("off_latency", self.off_latency, 1..=16)?;
        Self::check_range("rush_limit", self.rush_limit, 0..=8)?;
        Self::check_range("accesses", self.accesses, 1..=16)?;
        Self::check_range("entries", self.entries, 0..=8)?;
        Self::check_range("operands", self.operands, 1..=8)?;
        Self::check_range("register_bits", self.register_bits, 1..=8)?;
        Self::check_range("number_bits", self.number_bits, 2..=16)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterPowerUnitIo<'m>) {
        let rows = self.file.rows_of_all();
        let found = self.look_up(m, io);
        let none = m.lit(rows, 0);
        let (mut to_sleep, mut to_off, mut read, mut written) = (none, none, none, none);
        for (port, (access, found)) in io.access.iter().zip(found).enumerate() {
            let decoder = m.instance(format!("decoder{port}"), PowerStateDecoder { codes: CODES });
            decoder.codes_i.set(access.codes_i);
            decoder.has_code_i.set(access.has_code_i);
            decoder.code_i.set(access.code_i);
            let row = access.row_i.decode(rows);
            let only_if = |condition: Signal<'m>| row & (access.valid_i & condition).replicate(rows);
            let goes_to = |state: PowerState| decoder.state_o.eq(state as u64) & access.changes_i & !found;
            to_sleep = to_sleep | only_if(goes_to(PowerState::Sleep));
            to_off = to_off | only_if(goes_to(PowerState::Off));
            read = read | only_if(!access.writes_i);
            written = written | only_if(access.writes_i);
            access
                .kept_o
                .set(access.valid_i & access.changes_i & found & decoder.state_o.ne(PowerState::On as u64));
        }

        let wake_up = m.instance("wake_up", self.wake_up());
        let transistors = m.instance("transistors", SleepTransistors { file: self.file });
        wake_up.request_i.set(io.request_i);
        wake_up.sleep_i.set(transistors.sleep_o);
        wake_up.off_i.set(transistors.off_o);
        transistors.woken_i.set(wake_up.woken_o);
        transistors.to_sleep_i.set(to_sleep);
        transistors.to_off_i.set(to_off);
        transistors.request_i.set(io.request_i);
        transistors.free_i.set(io.free_i);
        transistors.read_i.set(read);
        transistors.write_i.set(written);
        io.on_o.set(transistors.on_o);
        io.sleep_o.set(transistors.sleep_o);
        io.off_o.set(transistors.off_o);
        io.holds_o.set(transistors.holds_o);
        io.waking_o.set(wake_up.waking_o);
        m.assumption("a_row_is_accessed_only_when_on", !((read | written) & !transistors.on_o).any());
        m.assumption("a_row_that_wakes_up_stays_a_warps", !(io.free_i & wake_up.waking_o).any());
    }
}

impl RegisterPowerUnit {
    /// The lookup table.
    pub fn lookup(&self) -> LookupTable {
        LookupTable {
            warps: self.warps,
            entries: self.entries,
            operands: self.operands,
            register_bits: self.register_bits,
            number_bits: self.number_bits,
            enters: ENTERS,
            leaves: LEAVES,
            searches: self.accesses,
        }
    }

    fn wake_up(&self) -> WakeUpController {
        let &RegisterPowerUnit { file, sleep_latency, off_latency, rush_limit, .. } = self;
        WakeUpController { file, sleep_latency, off_latency, rush_limit }
    }

    /// Whether a younger instruction accesses the register, for each access.
    fn look_up<'m>(&self, m: &Module<'m>, io: &RegisterPowerUnitIo<'m>) -> Vec<Signal<'m>> {
        if self.entries == 0 {
            return vec![m.lit(1, 0); io.access.len()];
        }
        let table = m.instance("lookup", self.lookup());
        m.pass_through(&io.enter, &table.enter);
        m.pass_through(&io.leave, &table.leave);
        table.flush_i.set(io.ended_i[0]);
        for (access, search) in io.access.iter().zip(&table.search) {
            search.valid_i.set(access.valid_i & access.changes_i);
            search.warp_i.set(access.by[0].warp_i);
            search.number_i.set(access.by[0].number_i);
            search.register_i.set(access.by[0].register_i);
        }
        table.search.iter().map(|search| search.found_o).collect()
    }
}
