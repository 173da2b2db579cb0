//! A channel by itself: 1 tick of the memory is a cycle, a burst of 64 bytes takes two.

use super::*;
use crate::config::preset;

/// One channel, one SM, 16 banks: a burst takes 2 cycles of both clocks.
fn channel(change: impl FnOnce(&mut Config)) -> Channel<u32> {
    let mut config = preset("gtx980-gpgpusim").expect("complete");
    config.chip.sms = 1;
    (config.dram.channels, config.dram.bytes_per_cycle) = (1, 32);
    (config.dram.core_mhz, config.dram.memory_mhz) = (1000, 1000);
    change(&mut config);
    Channel::new(&config, Share::new(config.dram.channels, config.chip.sms))
}

const ROW: u64 = 4096;

fn read(address: u64, what: u32) -> Request<u32> {
    Request { address, bytes: 64, writes: false, what }
}

/// Runs the channel until it is empty; gives what was read and the cycles in which it was there.
fn run(channel: &mut Channel<u32>) -> Vec<(u32, u64)> {
    let mut read = Vec::new();
    for now in 0..100_000 {
        channel.cycle(now, |_| ());
        while let Some(request) = channel.pop_read(now) {
            read.push((request.what, now));
        }
        if channel.is_empty() {
            break;
        }
    }
    assert!(channel.is_empty(), "everything is done");
    read
}

fn order(done: &[(u32, u64)]) -> Vec<u32> {
    done.iter().map(|(what, _)| *what).collect()
}

#[test]
fn a_read_takes_activation_access_and_a_burst() {
    let mut channel = channel(|_| ());
    channel.push(read(0, 0));
    // RCD 12, CL 12, a burst of 2.
    assert_eq!(run(&mut channel), [(0, 26)]);
}

#[test]
fn another_row_of_a_bank_waits_for_its_precharge() {
    let mut channel = channel(|config| config.dram.banks = 1);
    channel.push(read(0, 0));
    channel.push(read(ROW, 1));
    // The row stays open for RAS 28, then RP 12, RCD 12, CL 12 and 2.
    assert_eq!(run(&mut channel), [(0, 26), (1, 28 + 12 + 12 + 12 + 2)]);
}

#[test]
fn rows_of_different_banks_open_side_by_side() {
    let mut channel = channel(|_| ());
    channel.push(read(0, 0));
    channel.push(read(ROW, 1));
    // RRD 6 apart.
    assert_eq!(run(&mut channel), [(0, 26), (1, 32)]);
}

#[test]
fn row_hits_come_before_an_older_row_miss_of_the_bank() {
    let mut channel = channel(|config| config.dram.banks = 1);
    for (address, what) in [(0, 0), (ROW, 1), (64, 2), (128, 3)] {
        channel.push(read(address, what));
    }
    assert_eq!(order(&run(&mut channel)), [0, 2, 3, 1]);
    assert_eq!((channel.counts.row_hits, channel.counts.row_misses), (2, 2));
}

#[test]
fn so_many_row_hits_pass_an_older_request_and_no_more() {
    let mut channel = channel(|config| (config.dram.banks, config.dram.row_hits) = (1, 2));
    for (address, what) in [(0, 0), (ROW, 1), (64, 2), (128, 3), (192, 4), (256, 5)] {
        channel.push(read(address, what));
    }
    assert_eq!(order(&run(&mut channel)), [0, 2, 3, 1, 4, 5]);
}

#[test]
fn an_old_request_is_passed_for_a_bounded_time_however_many_hits_come() {
    let mut channel = channel(|config| (config.dram.banks, config.dram.row_hits) = (1, 4));
    channel.push(read(0, 0));
    channel.push(read(ROW, 1));
    let mut done = None;
    for now in 0..10_000 {
        if channel.has_room() {
            channel.push(read(now % 60 * 64, 2));
        }
        channel.cycle(now, |_| ());
        while let Some(request) = channel.pop_read(now) {
            if request.what == 1 {
                done.get_or_insert(now);
            }
        }
    }
    assert!(done.is_some_and(|now| now < 100), "{done:?}");
}

#[test]
fn a_full_queue_takes_nothing_until_a_bank_has() {
    let mut channel = channel(|config| (config.dram.banks, config.dram.queue) = (1, 2));
    channel.push(read(0, 0));
    channel.push(read(ROW, 1));
    assert!(!channel.has_room());
    channel.cycle(0, |_| ());
    assert!(channel.has_room(), "the bank has the first");
}

#[test]
fn a_stream_gets_the_whole_bandwidth_if_banks_take_turns() {
    let mut channel = channel(|config| config.dram.queue = 64);
    let (mut sent, mut got) = (0, 0);
    for now in 0..10_000 {
        while channel.has_room() {
            // Two groups of banks in turn, so that CCDL does not count.
            channel.push(read(sent % 2 * ROW + sent / 2 % 64 * 64 + sent / 128 * 2 * ROW, 0));
            sent += 1;
        }
        channel.cycle(now, |_| ());
        got += std::iter::from_fn(|| channel.pop_read(now)).count();
    }
    let share = (got * 64) as f64 / (10_000 * 32) as f64;
    assert!((0.9..=1.0).contains(&share), "{share} of 32 bytes a cycle");
}

#[test]
fn one_bank_alone_gives_what_its_group_lets_through() {
    let mut channel = channel(|_| ());
    (0..16).for_each(|line| channel.push(read(64 * line, 0)));
    let done = run(&mut channel);
    let gaps: Vec<u64> = done.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    assert_eq!(gaps, [3; 15], "CCDL 3, not the burst of 2");
}

#[test]
fn a_read_after_a_write_waits_for_the_turn_of_the_bus() {
    let mut channel = channel(|config| config.dram.banks = 1);
    channel.push(Request { writes: true, ..read(0, 0) });
    channel.push(read(64, 1));
    // The write: RCD 12, WL 4, 2; the read: CDLR 5, CL 12, 2.
    assert_eq!(run(&mut channel), [(1, 12 + 4 + 2 + 5 + 12 + 2)]);
}

#[test]
fn requests_to_a_row_are_performed_in_order() {
    let mut channel = channel(|_| ());
    for what in 0..8 {
        channel.push(Request { writes: what % 2 == 0, ..read(0, what) });
    }
    let mut performed = Vec::new();
    for now in 0..1000 {
        channel.cycle(now, |request| performed.push(request.what));
    }
    assert_eq!(performed, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_part_of_a_channel_has_its_part_of_the_bandwidth_and_of_the_places() {
    let gap = |sms| {
        let mut channel = channel(|config| config.chip.sms = sms);
        (0..4).for_each(|bank| channel.push(read(ROW * bank, 0)));
        let done = run(&mut channel);
        done[3].1 - done[2].1
    };
    assert_eq!((gap(1), gap(4)), (6, 24), "activations");
    let mut shared = channel(|config| config.chip.sms = 4);
    (0..4).for_each(|line| shared.push(read(64 * line, 0)));
    assert!(!shared.has_room());
    let done = run(&mut shared);
    assert_eq!(done[3].1 - done[2].1, 8, "a burst of 2 in four shares");
}
