//! What a run allocates does not grow with its length: the cycle loop allocates nothing.

use allocation_counter::measure;
use warpfile_kernels::program::{
    BlockIndex, ControlFlow, Flow, InstId, LANES, Launch, Launches, Program, Stream, StreamError,
    WarpInstruction,
};
use warpfile_sim::config::{Config, preset};
use warpfile_sim::sm::{EngineName, RunOptions, RunReport, run};

use crate::kernels::Kernel;
use crate::stand_ins::{WITH_REGISTER_FILE, gebhart};

/// A program whose warps execute it several times over; a register holds its number in every lane.
struct Repeated {
    kernel: Kernel,
    times: usize,
    /// Instructions executed, by warp.
    executed: Vec<usize>,
    launched: bool,
}

impl Repeated {
    fn new(times: usize) -> Repeated {
        let mut kernel = Kernel::new()
            .load(1, 0)
            .alu(2, &[0, 3])
            .alu(3, &[1, 2])
            .marked()
            .alus(6, 4, &[3, 4])
            .store(4, 0)
            .warps(1, 16);
        kernel.program.control = Some(one_loop(kernel.program.instructions.len()));
        Repeated { executed: vec![0; 16], kernel, times, launched: false }
    }
}

/// Instructions one after the other, again and again.
fn one_loop(instructions: usize) -> ControlFlow {
    let mut flow = vec![Flow::Next; instructions];
    flow[instructions - 1] = Flow::To { targets: vec![0], exits: true };
    ControlFlow { flow, may_diverge: vec![false; instructions], switches: Vec::new(), seen: None }
}

impl Launches for Repeated {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        if self.launched {
            return Ok(None);
        }
        self.launched = true;
        Ok(Some(Box::new(RepeatedStream(self))))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(true)
    }
}

struct RepeatedStream<'r>(&'r mut Repeated);

impl Stream for RepeatedStream<'_> {
    fn program(&self) -> &Program {
        &self.0.kernel.program
    }

    fn launch(&self) -> &Launch {
        &self.0.kernel.launch
    }

    fn start_block(&mut self, _block: BlockIndex) -> Result<(), StreamError> {
        Ok(())
    }

    fn next(&mut self, _: BlockIndex, warp: usize, into: &mut WarpInstruction) -> Result<bool, StreamError> {
        let Repeated { kernel, times, executed, .. } = &mut *self.0;
        let instructions = &kernel.program.instructions;
        let (round, position) = (executed[warp] / instructions.len(), executed[warp] % instructions.len());
        executed[warp] += 1;
        into.inst = InstId(position as u32);
        into.active = !0;
        for (index, source) in instructions[position].sources.iter().enumerate() {
            into.sources[index] = [u32::from(source.register.0); LANES];
            // Register 0 is never written; the others are after the first round.
            into.defined[index] = if round > 0 && source.register.0 > 0 { !0 } else { 0 };
        }
        for (index, result) in instructions[position].results.iter().enumerate() {
            into.results[index] = [u32::from(result.register.0); LANES];
        }
        for (lane, address) in (0..).zip(&mut into.addresses) {
            *address = 4 * lane + ((warp as u64) << 12);
        }
        Ok(round < *times)
    }

    fn finish_block(&mut self, _block: BlockIndex) {}
}

/// The report, and how often memory was allocated.
fn allocations(config: &Config, engine: EngineName, times: usize) -> (RunReport, u64) {
    let mut launches = Repeated::new(times);
    let mut report = RunReport::default();
    let counted = measure(|| {
        let options = RunOptions { engine, ..RunOptions::default() };
        report = run(config, &mut launches, options).expect("every operand right");
    });
    (report, counted.count_total)
}

#[test]
fn a_longer_run_allocates_no_more_often_than_a_short_one() {
    for engine in EngineName::ALL {
        let with_register_file =
            WITH_REGISTER_FILE.map(|design| gebhart().with_design(design).expect("known"));
        let regless = preset("gtx980-regless").expect("complete").with_design("regless").expect("known");
        let two_schedulers = preset("fermi-wir").expect("complete").with_design("affine").expect("known");
        for config in with_register_file.into_iter().chain([regless, two_schedulers]) {
            // The first run of all fills what is made once for the process.
            allocations(&config, engine, 1);
            let (short, of_short) = allocations(&config, engine, 3);
            let (long, of_long) = allocations(&config, engine, 60);
            assert!(long.cycles > 5 * short.cycles && long.operands_checked > 5 * short.operands_checked);
            assert_eq!(of_long, of_short, "{} on {}", config.design.as_str(), engine.as_str());
        }
    }
}
