//! Signals that end the program: what is half-written is removed first.

use std::fs;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use warpfile_kernels::trace::output::remove_unfinished;

/// Signals that end the program, and the one of a file that has become too long.
const SIGNALS: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ];

/// Said when a signal ends the program.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// Has a line printed when a signal ends the program; none if it is empty.
pub fn say_before_the_end(line: String) {
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = line;
}

/// Cleans up at signals from now on. One that was ignored when the program was started (`nohup`) still is.
pub fn watch() {
    let ignored = ignored();
    let taken = SIGNALS.iter().filter(|&&signal| ignored >> (signal - 1) & 1 == 0);
    // Without it a signal ends the program all the same.
    let Ok(mut signals) = Signals::new(taken) else { return };
    thread::spawn(move || {
        for signal in signals.forever() {
            // The write that would make the file too long fails, and is reported like any other.
            if signal != SIGXFSZ {
                let words = LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner);
                if !words.is_empty() {
                    // There may be no terminal any more.
                    writeln!(io::stderr(), "\n{words}").ok();
                }
                drop(words);
                remove_unfinished(|| drop(emulate_default_handler(signal)));
            }
        }
    });
}

/// Signals that are ignored, one bit each from signal 1 on; none on systems that do not say so.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
