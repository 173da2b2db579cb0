//! How often values are read and how long they live, from the instruction stream alone (RFC §2.2).
//!
//! A value is what one warp instruction writes to one register. It lives, lane by lane, until the lane is
//! written again or the warp ends: after a divergent write two values share a register, and an instruction that
//! reads lanes of both reads both.

use std::ops::AddAssign;

use warpfile_kernels::program::{LANES, LaneMask, Launches, Stream, StreamError, WarpInstruction};

/// Values of a run by how they are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueUsage {
    /// Values by the number of instructions that read them: 0, 1, 2, more.
    pub by_reads: [u64; 4],
    /// Values that one instruction reads, by the instructions from producer to consumer in the thread: 1 (the
    /// next), 2, 3, more.
    pub by_lifetime: [u64; 4],
    /// Warp instructions.
    pub warp_instructions: u64,
}

/// Counts the values of all launches.
pub fn value_usage(launches: &mut dyn Launches) -> Result<ValueUsage, StreamError> {
    let mut usage = ValueUsage::default();
    while let Some(mut stream) = launches.next_launch()? {
        let warps = stream.launch().warps_per_block();
        for block in 0..stream.launch().blocks() {
            stream.start_block(block)?;
            for warp in 0..warps {
                usage += warp_usage(stream.as_mut(), block, warp)?;
            }
            stream.finish_block(block);
        }
    }
    Ok(usage)
}

impl AddAssign for ValueUsage {
    fn add_assign(&mut self, other: ValueUsage) {
        for class in 0..4 {
            self.by_reads[class] += other.by_reads[class];
            self.by_lifetime[class] += other.by_lifetime[class];
        }
        self.warp_instructions += other.warp_instructions;
    }
}

fn warp_usage(stream: &mut dyn Stream, block: u64, warp: usize) -> Result<ValueUsage, StreamError> {
    let mut values = WarpValues::new(stream.program().registers_per_thread);
    let mut executed = WarpInstruction::default();
    while stream.next(block, warp, &mut executed)? {
        values.execute(stream, &executed);
    }
    Ok(values.finish())
}

/// The values that a warp holds.
struct WarpValues {
    registers: Vec<Vec<Value>>,
    /// Instructions that each lane has executed.
    executed: [u64; LANES],
    usage: ValueUsage,
}

/// A value that some lanes still hold.
struct Value {
    lanes: LaneMask,
    /// Instructions that each lane had executed, the producer included.
    written_at: [u64; LANES],
    reads: u64,
    /// Instructions from producer to first consumer.
    lifetime: u64,
}

impl WarpValues {
    fn new(registers: u16) -> WarpValues {
        WarpValues {
            registers: (0..registers).map(|_| Vec::new()).collect(),
            executed: [0; LANES],
            usage: ValueUsage::default(),
        }
    }

    fn execute(&mut self, stream: &dyn Stream, executed: &WarpInstruction) {
        let active = executed.active;
        self.usage.warp_instructions += 1;
        for (lane, count) in self.executed.iter_mut().enumerate() {
            *count += u64::from(active >> lane & 1);
        }
        let instruction = &stream.program().instructions[executed.inst.0 as usize];
        for source in &instruction.sources {
            self.read(usize::from(source.register.0), active);
        }
        for result in &instruction.results {
            self.write(usize::from(result.register.0), active);
        }
    }

    fn read(&mut self, register: usize, active: LaneMask) {
        for value in self.registers[register].iter_mut().filter(|value| value.lanes & active != 0) {
            value.reads += 1;
            if value.reads == 1 {
                let lane = (value.lanes & active).trailing_zeros() as usize;
                value.lifetime = self.executed[lane] - value.written_at[lane];
            }
        }
    }

    fn write(&mut self, register: usize, active: LaneMask) {
        if active == 0 {
            return;
        }
        for value in &mut self.registers[register] {
            value.lanes &= !active;
            if value.lanes == 0 {
                self.usage.count(value);
            }
        }
        self.registers[register].retain(|value| value.lanes != 0);
        let written_at = self.executed;
        self.registers[register].push(Value { lanes: active, written_at, reads: 0, lifetime: 0 });
    }

    fn finish(mut self) -> ValueUsage {
        for value in self.registers.iter().flatten() {
            self.usage.count(value);
        }
        self.usage
    }
}

impl ValueUsage {
    fn count(&mut self, value: &Value) {
        self.by_reads[value.reads.min(3) as usize] += 1;
        if value.reads == 1 {
            self.by_lifetime[value.lifetime.clamp(1, 4) as usize - 1] += 1;
        }
    }

    /// Values written.
    pub fn values(&self) -> u64 {
        self.by_reads.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::program::{
        BlockIndex, InstId, Instruction, LaneMask, Launch, Operation, PhysReg, Program, ResultRegister,
        Source, Stream, StreamError, WarpInstruction,
    };

    use super::{ValueUsage, warp_usage};

    /// One warp that executes instructions once, in order: `(active, sources, result)`.
    struct Straight {
        program: Program,
        launch: Launch,
        active: Vec<LaneMask>,
        at: usize,
    }

    impl Straight {
        fn new(code: &[(LaneMask, &[u16], Option<u16>)]) -> Straight {
            let instruction = |(_, sources, result): &(LaneMask, &[u16], Option<u16>)| Instruction {
                pc: 0,
                line: 0,
                text: String::new(),
                operation: Operation::Alu,
                sources: sources
                    .iter()
                    .map(|&register| Source {
                        register: PhysReg(register),
                        last_read: false,
                        idle_until_suspension: false,
                    })
                    .collect(),
                results: result
                    .iter()
                    .map(|&register| ResultRegister {
                        register: PhysReg(register),
                        soft: false,
                        idle_until_suspension: false,
                    })
                    .collect(),
                predicate_sources: Vec::new(),
                predicate_results: Vec::new(),
                suspends: false,
                operand: None,
            };
            let program = Program {
                name: "straight".to_owned(),
                instructions: code.iter().map(instruction).collect(),
                registers_per_thread: 4,
                shared_bytes: 0,
                control: None,
                spills: warpfile_kernels::program::Spills::default(),
                computations: Vec::new(),
            };
            let launch = Launch { grid: [1; 3], block: [32, 1, 1], shared_bytes: 0 };
            Straight { program, launch, active: code.iter().map(|(active, ..)| *active).collect(), at: 0 }
        }
    }

    impl Stream for Straight {
        fn program(&self) -> &Program {
            &self.program
        }

        fn launch(&self) -> &Launch {
            &self.launch
        }

        fn start_block(&mut self, _block: BlockIndex) -> Result<(), StreamError> {
            Ok(())
        }

        fn next(&mut self, _: BlockIndex, _: usize, into: &mut WarpInstruction) -> Result<bool, StreamError> {
            let Some(&active) = self.active.get(self.at) else {
                return Ok(false);
            };
            into.inst = InstId(self.at as u32);
            into.active = active;
            self.at += 1;
            Ok(true)
        }

        fn finish_block(&mut self, _block: BlockIndex) {}
    }

    fn usage(code: &[(LaneMask, &[u16], Option<u16>)]) -> ValueUsage {
        warp_usage(&mut Straight::new(code), 0, 0).expect("ends")
    }

    const ALL: LaneMask = LaneMask::MAX;

    #[test]
    fn a_value_lives_from_its_write_to_the_next_write_of_its_register() {
        let usage = usage(&[
            (ALL, &[], Some(0)),
            (ALL, &[0], Some(1)),
            (ALL, &[0, 1], Some(0)),
            (ALL, &[], None),
            (ALL, &[], None),
            (ALL, &[], None),
            (ALL, &[0], Some(2)),
        ]);
        // R0 is read twice, R1 by the next instruction, the second R0 four later, R2 never.
        assert_eq!(usage.by_reads, [1, 2, 1, 0]);
        assert_eq!(usage.by_lifetime, [1, 0, 0, 1]);
        assert_eq!(usage.warp_instructions, 7);
    }

    #[test]
    fn a_divergent_write_leaves_the_other_lanes_value_in_place() {
        let usage = usage(&[(ALL, &[], Some(0)), (0xffff, &[], Some(0)), (ALL, &[0], None)]);
        assert_eq!(usage.by_reads, [0, 2, 0, 0], "one instruction reads lanes of both");
    }

    #[test]
    fn instructions_of_other_lanes_do_not_age_a_value() {
        let usage = usage(&[
            (0xffff, &[], Some(0)),
            (0xffff_0000, &[], None),
            (0xffff_0000, &[], None),
            (0xffff, &[0], None),
        ]);
        assert_eq!(usage.by_lifetime, [1, 0, 0, 0]);
    }

    #[test]
    fn an_instruction_without_active_lanes_neither_reads_nor_writes() {
        let usage = usage(&[(ALL, &[], Some(0)), (0, &[0], Some(0)), (ALL, &[0], None)]);
        assert_eq!(usage.by_reads, [0, 1, 0, 0]);
        assert_eq!(usage.by_lifetime, [1, 0, 0, 0]);
    }
}
