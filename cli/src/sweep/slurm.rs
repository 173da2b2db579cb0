//! A sweep as a job array of Slurm: each task makes one shard. Shards need not talk to each other, and whichever ends last
//! leaves the complete tables, so no job has to wait for the others.

use crate::shell::quoted;

/// The option that asks for the script.
const OPTION: &str = "--slurm";
/// Most tasks of an array: what Slurm accepts unless its administrator says something else (`MaxArraySize`, 1001).
const MAX_TASKS: usize = 1000;

/// How many tasks.
pub fn tasks(text: &str) -> Result<usize, String> {
    let tasks = text.parse().ok().filter(|tasks| (1..=MAX_TASKS).contains(tasks));
    tasks.ok_or_else(|| format!("accepted: a whole number from 1 to {MAX_TASKS}"))
}

/// The script for `sbatch` of a command that asks for it. Processors, memory, time and partition are for the options of
/// `sbatch` to say; a shard takes the processors that its task is given.
pub fn script(tasks: usize, command: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = without_option(command).iter().map(|word| quoted(word)).collect();
    format!(
        "#!/bin/sh\n\
         #SBATCH --job-name=warpfile-sweep\n\
         #SBATCH --array=1-{tasks}\n\
         exec {} --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\"\n",
        words.join(" ")
    )
}

/// The words but for the option and its value.
fn without_option(mut words: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == OPTION {
            words.next();
        } else if !word.starts_with(&format!("{OPTION}=")) {
            kept.push(word);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_the_command_for_each_shard() {
        for option in ["--slurm 3", "--slurm=3"] {
            let command = format!("warpfile sweep --kernels all {option} --out r;s");
            let script = script(3, command.split_whitespace().map(str::to_owned));
            let last = script.lines().last().expect("lines");
            assert_eq!(
                last,
                "exec warpfile sweep --kernels all --out 'r;s' --shard \"$SLURM_ARRAY_TASK_ID/3\""
            );
        }
        assert!(tasks("0").is_err() && tasks("1001").is_err() && tasks("8") == Ok(8));
    }
}
