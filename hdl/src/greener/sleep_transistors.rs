//! The power state of every row of a register file.

use serde::{Deserialize, Serialize};

use super::Rows;
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports};

/// Sleep-transistor control: keeps the power state of each row, and drives its sleep transistors.
///
/// A row is ON, in SLEEP or OFF; OFF after reset. It goes to SLEEP or OFF when told to, unless it is asked for in the same
/// cycle, and is ON when it has been woken. A row that is OFF has lost its value: which rows hold one is kept, as the
/// memory's cells would.
///
/// Timing: a state that is asked for in one cycle is that of the next.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §4.1.1 (states) and §4.2.4,
/// labels 3 to 5; the transistors are those of CACTI-P (§4.3.5).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct SleepTransistors {
    /// Banks and rows.
    pub file: Rows,
}

/// Ports of [`SleepTransistors`]. One bit a row, bank after bank.
#[derive(Ports)]
#[params(SleepTransistors)]
pub struct SleepTransistorsIo<'m> {
    /// Rows that are ON from the next cycle on.
    #[bits(p.file.rows_of_all())]
    pub woken_i: In<'m>,
    /// Rows to go to SLEEP.
    #[bits(p.file.rows_of_all())]
    pub to_sleep_i: In<'m>,
    /// Rows to go OFF.
    #[bits(p.file.rows_of_all())]
    pub to_off_i: In<'m>,
    /// Rows that are asked for: they do not go down.
    #[bits(p.file.rows_of_all())]
    pub request_i: In<'m>,
    /// Rows that no warp has any more: OFF, asked for or not.
    #[bits(p.file.rows_of_all())]
    pub free_i: In<'m>,
    /// Rows that are read in this cycle.
    #[bits(p.file.rows_of_all())]
    pub read_i: In<'m>,
    /// Rows that are written in this cycle.
    #[bits(p.file.rows_of_all())]
    pub write_i: In<'m>,
    /// Rows that are ON: full supply.
    #[bits(p.file.rows_of_all())]
    pub on_o: Out<'m>,
    /// Rows in SLEEP: the supply that keeps a value.
    #[bits(p.file.rows_of_all())]
    pub sleep_o: Out<'m>,
    /// Rows that are OFF: no supply.
    #[bits(p.file.rows_of_all())]
    pub off_o: Out<'m>,
    /// Rows that have been written since they were last OFF.
    #[bits(p.file.rows_of_all())]
    pub holds_o: Out<'m>,
}

impl Circuit for SleepTransistors {
    type Io<'m> = SleepTransistorsIo<'m>;
    const NAME: &'static str = "sleep_transistors";

    fn validate(&self) -> Result<(), ParameterError> {
        self.file.validate::<Self>()
    }

    fn build<'m>(&self, m: &Module<'m>, io: &SleepTransistorsIo<'m>) {
        let rows = self.file.rows_of_all();
        let [on, sleep, holds] = ["on", "sleep", "holds"].map(|name| m.register(name, rows).reset(0));
        let to_off = io.free_i | (io.to_off_i & !io.request_i);
        let to_sleep = io.to_sleep_i & !io.request_i & !to_off;
        let woken = io.woken_i & !io.free_i;
        on.set((on | woken) & !to_off & !to_sleep);
        sleep.set((sleep | (to_sleep & on)) & !to_off & !woken);
        holds.set((holds | io.write_i) & !to_off);
        io.on_o.set(on);
        io.sleep_o.set(sleep);
        io.off_o.set(!on & !sleep);
        io.holds_o.set(holds);

        m.assumption("a_row_is_accessed_only_when_on", !((io.read_i | io.write_i) & !on).any());
        m.assumption(
            "a_row_that_is_woken_is_not_sent_down",
            !(io.woken_i & (io.to_sleep_i | io.to_off_i)).any(),
        );
        m.invariant("a_row_is_on_or_in_sleep_or_off", !(on & sleep).any());
        m.invariant("a_row_that_is_off_holds_nothing", !(holds & !on & !sleep).any());
    }
}
