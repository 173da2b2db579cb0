//! The reports of several SMs as one.

use super::report::{
    CacheStatistics, MemoryStatistics, RegisterTraffic, RunReport, SchedulerStatistics, Stalls,
    instructions_per_cycle,
};

impl RunReport {
    /// What all simulated SMs of a chip did, from the reports of each in order of their numbers. A launch takes as
    /// long as its slowest SM and begins on all of them together; counts are sums; residency is that of SM 0, which
    /// has as many blocks as any. The default report without reports.
    pub fn together(reports: &[RunReport]) -> RunReport {
        let Some((first, others)) = reports.split_first() else {
            return RunReport::default();
        };
        let mut sum = first.clone();
        for other in others {
            sum.add(other);
        }
        sum.cycles = sum.launch_cycles.iter().sum();
        sum.ipc = instructions_per_cycle(sum.warp_instructions, sum.cycles);
        sum.registers.finish();
        sum
    }

    fn add(&mut self, other: &RunReport) {
        for (slowest, cycles) in self.launch_cycles.iter_mut().zip(&other.launch_cycles) {
            *slowest = (*slowest).max(*cycles);
        }
        self.blocks += other.blocks;
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.metadata_instructions += other.metadata_instructions;
        self.preloads.add(other.preloads);
        self.renaming.add(other.renaming);
        self.staging.add(other.staging);
        self.operands_checked += other.operands_checked;
        self.lane_operands_checked += other.lane_operands_checked;
        add_traffic(&mut self.registers, &other.registers);
        add_stalls(&mut self.stalls, &other.stalls);
        add_scheduler(&mut self.scheduler, &other.scheduler);
        add_memory(&mut self.memory, &other.memory);
        if let (Some(sum), Some(other)) = (&mut self.working_set, &other.working_set) {
            sum.add(other);
        }
        for (port, other) in self.activity.iter_mut().zip(&other.activity) {
            port.cycles += other.cycles;
            port.arrays += other.arrays;
        }
    }
}

fn add_traffic(sum: &mut RegisterTraffic, other: &RegisterTraffic) {
    sum.operands.add(other.operands);
    sum.mrf.add(other.mrf);
    sum.rfc.add(other.rfc);
}

fn add_stalls(sum: &mut Stalls, other: &Stalls) {
    let Stalls {
        issue_blocked,
        ready_warp_inactive,
        short_latency,
        long_latency,
        branch,
        barrier,
        design,
        drained,
    } = other;
    sum.issue_blocked += issue_blocked;
    sum.ready_warp_inactive += ready_warp_inactive;
    sum.short_latency += short_latency;
    sum.long_latency += long_latency;
    sum.branch += branch;
    sum.barrier += barrier;
    sum.design += design;
    sum.drained += drained;
}

fn add_scheduler(sum: &mut SchedulerStatistics, other: &SchedulerStatistics) {
    let SchedulerStatistics {
        activations,
        suspensions,
        barrier_suspensions,
        results_after_suspension,
        held_warp_cycles,
    } = other;
    sum.held_warp_cycles += held_warp_cycles;
    sum.activations += activations;
    sum.suspensions += suspensions;
    sum.barrier_suspensions += barrier_suspensions;
    sum.results_after_suspension += results_after_suspension;
}

fn add_memory(sum: &mut MemoryStatistics, other: &MemoryStatistics) {
    let MemoryStatistics {
        instructions,
        transactions,
        bytes,
        shared_instructions,
        shared_cycles,
        l1,
        l2,
        dram_bytes,
        register_lines,
    } = other;
    sum.register_lines.add(register_lines);
    sum.instructions += instructions;
    sum.transactions += transactions;
    sum.bytes += bytes;
    sum.shared_instructions += shared_instructions;
    sum.shared_cycles += shared_cycles;
    sum.dram_bytes += dram_bytes;
    for (sum, other) in [(&mut sum.l1, l1), (&mut sum.l2, l2)] {
        let CacheStatistics { hits, merged_misses, misses, writebacks } = other;
        sum.hits += hits;
        sum.merged_misses += merged_misses;
        sum.misses += misses;
        sum.writebacks += writebacks;
    }
}
