//! Loads that a design answers, beside what the kernel loads.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use warpfile_kernels::program::{LaneValues, Operation, Program, Races, Stream};

use super::super::SimError;
use super::super::design::KernelLoads;
use super::super::in_flight::InFlight;
use super::super::oracle::differing_lanes;
use super::super::warp::each;

/// The loads of a partition that are in flight.
pub(super) struct LaunchLoads<'m> {
    pub in_flight: &'m InFlight,
    /// The program, unless it is the stream's own.
    pub program: Option<&'m Program>,
    /// The launch, and what its warps race for once that has been asked for.
    pub launch: RefCell<(&'m mut dyn Stream, &'m mut Option<Arc<Races>>)>,
}

impl fmt::Debug for LaunchLoads<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchLoads").finish_non_exhaustive()
    }
}

impl KernelLoads for LaunchLoads<'_> {
    fn differ_at_races(&self, id: u16, found: &[LaneValues]) -> Result<bool, SimError> {
        let entry = self.in_flight.get(id);
        let instruction = &entry.instruction;
        let results = instruction.results.iter().zip(found);
        let differing = results.fold(0, |lanes, (loaded, found)| lanes | differing_lanes(loaded, found))
            & instruction.active;
        if differing == 0 {
            return Ok(false);
        }
        let (stream, races) = &mut *self.launch.borrow_mut();
        let program = self.program.unwrap_or(stream.program());
        let Operation::Load(access) = program.instructions[entry.index()].operation else { return Ok(false) };
        let races = match races {
            Some(races) => races,
            // A stream that cannot be looked at once more has none that are known.
            None => races.insert(stream.races()?.unwrap_or_default()),
        };
        let is_raced =
            |lane: usize| races.contains(access.space, instruction.addresses[lane], u64::from(access.bytes));
        Ok(each(differing.into()).all(is_raced))
    }
}
