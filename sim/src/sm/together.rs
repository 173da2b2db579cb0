//! The reports of several SMs as one.

use super::report::{RunReport, SmReport, instructions_per_cycle};

impl RunReport {
    /// What all simulated SMs of a chip did, from the reports of each in order of their numbers. A launch takes as
    /// long as its slowest SM and begins on all of them together; counters add up as they are declared; residency and what happens over time are those of SM 0, which
    /// has as many blocks as any. The default report without reports.
    pub fn together(reports: &[RunReport]) -> RunReport {
        let Some((first, others)) = reports.split_first() else {
            return RunReport::default();
        };
        let mut sum = first.clone();
        for other in others {
            sum.add(other);
        }
        if reports.len() > 1 {
            let one = |report: &RunReport| SmReport {
                launch_cycles: report.launch_cycles.clone(),
                warp_instructions: report.warp_instructions,
            };
            sum.sms = reports.iter().map(one).collect();
        }
        sum.cycles = sum.launch_cycles.iter().sum();
        sum.ipc = instructions_per_cycle(sum.warp_instructions, sum.cycles);
        sum
    }

    fn add(&mut self, other: &RunReport) {
        for (slowest, cycles) in self.launch_cycles.iter_mut().zip(&other.launch_cycles) {
            *slowest = (*slowest).max(*cycles);
        }
        let per_launch = [
            (&mut self.launch_threads, &other.launch_threads),
            (&mut self.launch_thread_instructions, &other.launch_thread_instructions),
        ];
        for (sums, others) in per_launch {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
        self.blocks += other.blocks;
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.metadata_instructions += other.metadata_instructions;
        self.operands_checked += other.operands_checked;
        self.lane_operands_checked += other.lane_operands_checked;
        self.answered_instructions += other.answered_instructions;
        self.results_checked += other.results_checked;
        self.operands.add(&other.operands);
        self.stalls.add(&other.stalls);
        self.operations.add(&other.operations);
        self.scheduler.add(&other.scheduler);
        self.memory.add(&other.memory);
        self.counters.add_all(&other.counters);
        if let (Some(sum), Some(other)) = (&mut self.working_set, &other.working_set) {
            sum.add(other);
        }
        for (port, other) in self.activity.iter_mut().zip(&other.activity) {
            port.cycles += other.cycles;
            port.arrays += other.arrays;
        }
    }
}
