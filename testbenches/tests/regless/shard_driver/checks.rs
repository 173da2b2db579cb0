//! What a shard has to do besides giving the right operands, as §5 and `docs/regless-pipeline.md` say.

use warpfile_engine::{Engine, OutPort};
use warpfile_hdl::regless::Note;

use super::super::line_power::LinePower;
use super::super::random_region::Region;
use super::{Driver, Flight};

impl Driver {
    /// What the shard says that its banks and its compressor do is what each of them does.
    pub(super) fn check_events(&self) {
        for (event, of_bank) in &self.events {
            let said = self.get(event);
            let done = of_bank.iter().enumerate().map(|(b, port)| self.engine.get(*port) << b).sum::<u64>();
            assert_eq!(said, done, "{event}");
        }
        for (event, of_compressor) in &self.compressor_events {
            let done = of_compressor.map_or(0, |port| self.engine.get(port));
            assert_eq!(self.get(event), done, "{event}");
        }
    }

    /// What is said of power is what the staging unit says of it.
    pub(super) fn check_power(&mut self) {
        let Some(mut power) = self.power.take() else { return };
        for (name, port) in self.outputs.iter().filter(|(name, _)| name.starts_with("power_")) {
            let inner = self.engine.probe(&format!("staging.{name}")).unwrap();
            assert_eq!(self.engine.get(*port), self.engine.get(inner), "{name}");
        }
        power.follow(|port| self.get(port));
        self.counts.power_waits = power.waits;
        self.power = Some(power);
    }

    pub(super) fn count_full_queues(&mut self) {
        for (bank, [offered, room]) in self.pushes.iter().enumerate() {
            let waits = self.engine.get(*offered) == 1 && self.engine.get(*room) == 0;
            self.counts.queue_full[bank] += u64::from(waits);
        }
    }

    /// All units have halted for long: an instruction still waits only if its read unit is full. One that has only just come
    /// waits for the accesses of the one before it, which are on their way.
    pub(super) fn check_room(&mut self, cycle: u64) {
        let Some(first) = self.offered.first() else { return };
        let goes =
            |[offered, room]: &[OutPort; 2]| self.engine.get(*offered) == 1 && self.engine.get(*room) == 1;
        if self.pushes.iter().any(goes) {
            return;
        }
        let unit = self.flights[first].instruction.unit;
        let is_held =
            |(id, flight): &(&u64, &Flight)| flight.instruction.unit == unit && !self.offered.contains(id);
        let held = self.flights.iter().filter(is_held).count();
        assert_eq!(held, self.shard.entries, "an instruction waits for unit {unit} in cycle {cycle}");
        self.counts.unit_full[unit] += 1;
    }

    /// Whether the result at port `p` has to be taken: it is the first of its bank, and no line comes to that. No older
    /// read waits: the line of a result is reserved behind the reads of its register.
    pub(super) fn is_taken(&self, p: usize) -> bool {
        let banks = self.shard.geometry.banks;
        let bank = |p: usize| self.ports[p].as_ref().map(|write| (write.warp + write.register) % banks);
        let filled = self.filled.map(|(warp, register)| (warp + register) % banks);
        let is_off = |power: &LinePower| {
            self.ports[p]
                .as_ref()
                .is_some_and(|write| !power.is_on((write.warp + write.register) % banks, write.line))
        };
        if self.power.as_ref().is_some_and(is_off) {
            return false;
        }
        bank(p).is_some() && bank(p) != filled && (0..p).all(|other| bank(other) != bank(p))
    }

    /// Whether a fetch has to drop the copy in memory: the annotation says so of a register that the next region stages.
    /// A compressed line has other registers too.
    pub(super) fn invalidates(&self, (warp, register, is_compressed): (usize, usize, bool)) -> bool {
        let is_said = |region: &Region| region.notes.contains(&(Note::InvalidatingPreload, register));
        !is_compressed && self.warps[warp].next.as_ref().is_some_and(is_said)
    }
}
