//! Brings registers up that are about to be accessed.

use serde::{Deserialize, Serialize};

use super::Rows;
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal};

/// Wake-up controller: wakes the rows of a register file that are asked for.
///
/// A row that is asked for and is not ON begins to wake up, and is ON as many cycles later as its state takes. With a limit
/// on the rush current, so many rows of a bank begin in a cycle at most: those asked for are collected, the lowest begin
/// first, and others are collected when all of these have begun, so that none waits for ever.
///
/// Timing: a row that begins in cycle t and takes n cycles is woken in cycle t + n - 1: ON from t + n on. Without a limit it
/// begins in the cycle in which it is asked for, with one in the next at the earliest.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §4.2.4, label 3; latencies from
/// §4.3. The limit is ours.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct WakeUpController {
    /// Banks and rows.
    pub file: Rows,
    /// Cycles to wake a row up from SLEEP, 1 to 16.
    pub sleep_latency: usize,
    /// Cycles to wake a row up that is OFF, 1 to 16.
    pub off_latency: usize,
    /// Rows of a bank that begin to wake up in a cycle at most, 0 to 8; 0: no limit.
    pub rush_limit: usize,
}

/// Ports of a [`WakeUpController`]. One bit a row, bank after bank.
#[derive(Ports)]
#[params(WakeUpController)]
pub struct WakeUpControllerIo<'m> {
    /// Rows that are asked for.
    #[bits(p.file.rows_of_all())]
    pub request_i: In<'m>,
    /// Rows in SLEEP.
    #[bits(p.file.rows_of_all())]
    pub sleep_i: In<'m>,
    /// Rows that are OFF.
    #[bits(p.file.rows_of_all())]
    pub off_i: In<'m>,
    /// Rows that are waking up, those that begin in this cycle among them.
    #[bits(p.file.rows_of_all())]
    pub waking_o: Out<'m>,
    /// Rows that are ON from the next cycle on.
    #[bits(p.file.rows_of_all())]
    pub woken_o: Out<'m>,
}

impl Circuit for WakeUpController {
    type Io<'m> = WakeUpControllerIo<'m>;
    const NAME: &'static str = "wake_up_controller";

    fn validate(&self) -> Result<(), ParameterError> {
        self.file.validate::<Self>()?;
        Self::check_range("sleep_latency", self.sleep_latency, 1..=16)?;
        Self::check_range("off_latency", self.off_latency, 1..=16)?;
        Self::check_range("rush_limit", self.rush_limit, 0..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &WakeUpControllerIo<'m>) {
        let rows = self.file.rows_of_all();
        let none = m.lit(rows, 0);
        // Stage n - 1: rows that are ON n cycles from now, one stage less in each cycle.
        let stages = self.sleep_latency.max(self.off_latency) - 1;
        let stages: Vec<Signal<'m>> =
            (1..=stages).map(|left| m.register(format!("waking{left}"), rows).reset(0)).collect();
        let under_way = stages.iter().fold(none, |all, stage| all | *stage);
        let asked = io.request_i & (io.sleep_i | io.off_i) & !under_way;
        let begin = if self.rush_limit == 0 { asked } else { self.limited(m, asked) }.named("begins");

        let begins = |left: usize| {
            let from = |latency: usize, rows: Signal<'m>| if latency == left { begin & rows } else { none };
            from(self.sleep_latency, io.sleep_i) | from(self.off_latency, io.off_i)
        };
        for (index, stage) in stages.iter().enumerate() {
            let behind = stages.get(index + 1).copied().unwrap_or(none);
            stage.set(behind | begins(index + 2));
        }
        let woken = stages.first().copied().unwrap_or(none) | begins(1);
        io.waking_o.set(under_way | begin);
        io.woken_o.set(woken);

        m.assumption("no_row_is_in_sleep_and_off", !(io.sleep_i & io.off_i).any());
        m.assumption("a_row_that_wakes_up_is_not_on", !(under_way & !(io.sleep_i | io.off_i)).any());
        let in_one_stage = (0..stages.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let apart = in_one_stage
            .fold(m.lit(1, 1), |apart, (one, other)| apart & !(stages[one] & stages[other]).any());
        m.invariant("a_wake_up_completes_once", apart);
        m.invariant("a_row_is_woken_only_if_it_was_waking", !(woken & !(under_way | begin)).any());
        if self.rush_limit == 0 {
            m.invariant("what_is_asked_for_begins_at_once", !(asked & !begin).any());
        }
    }
}

impl WakeUpController {
    /// Rows that begin in this cycle: of each bank the lowest of those that have been collected.
    fn limited<'m>(&self, m: &Module<'m>, asked: Signal<'m>) -> Signal<'m> {
        let collected = m.register("collected", self.file.rows_of_all()).reset(0);
        // What has not begun and is no longer asked for is forgotten.
        let waiting = collected & asked;
        let banks = (0..self.file.banks).map(|bank| {
            let mut left = waiting.lane(bank, self.file.rows);
            let all = left;
            for _ in 0..self.rush_limit {
                left = left & !left.lowest_one();
            }
            all & !left
        });
        let begin = m.cat(banks);
        let left = waiting & !begin;
        collected.set(left.any().mux(left, asked & !begin));
        begin
    }
}
