//! The script for `sbatch`: the command of a sweep for the shard of a task.

use std::path::Path;

use crate::shell::quoted;

/// Options that are for the whole, each with a value.
const OWN: [&str; 4] = ["--slurm", "--slurm-script", "--sbatch", "--resubmit"];
/// Options of `sbatch` that are part of how a task finds its shard and its job is found.
const TAKEN: [&str; 5] = ["--array", "-a", "--job-name", "-J", "--wrap"];

/// A job array.
pub struct Script<'a> {
    /// Name of the job.
    pub name: &'a str,
    /// Tasks, of a shard each.
    pub tasks: usize,
    /// Options of `sbatch`, a line each.
    pub options: &'a [String],
    /// The folder for what tasks print; where `sbatch` puts it if there is none.
    pub logs: Option<&'a Path>,
    /// The words of the command that asks for it.
    pub command: &'a [String],
}

impl Script<'_> {
    /// Its text. A task takes the processors that it is given.
    pub fn text(&self) -> String {
        let Script { name, tasks, .. } = self;
        // What a task printed before it was requeued stays.
        let mut text = "#!/bin/sh\n#SBATCH --requeue\n#SBATCH --open-mode=append\n".to_owned();
        if let Some(logs) = self.logs {
            text += &format!("#SBATCH --output=\"{}/%A_%a.out\"\n", pattern(&logs.to_string_lossy()));
        }
        // The last of two lines counts.
        for option in self.options {
            text += &format!("#SBATCH {option}\n");
        }
        text += &format!("#SBATCH --job-name={name}\n#SBATCH --array=1-{tasks}\n");
        let mut words = without_own(self.command);
        let says_threads = words.iter().any(|word| word == "--threads" || word.starts_with("--threads="));
        words.iter_mut().for_each(|word| *word = quoted(word));
        if !says_threads {
            // Clusters that do not bind tasks to processors let a program see all of the node.
            words.push("--threads \"${SLURM_CPUS_ON_NODE:-0}\"".to_owned());
        }
        text + &format!("exec {} --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\"\n", words.join(" "))
    }
}

/// A path as a pattern of `sbatch` between quotation marks.
fn pattern(path: &str) -> String {
    path.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%")
}

/// The words but for the options that are for the whole.
fn without_own(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        if !OWN.contains(&name) {
            kept.push(word.clone());
        } else if name == word {
            words.next();
        }
    }
    kept
}

/// An option for `sbatch`.
pub fn sbatch_option(text: &str) -> Result<String, String> {
    let is_taken = |taken: &&str| {
        let rest = text.strip_prefix(*taken);
        rest.is_some_and(|rest| !taken.starts_with("--") || rest.is_empty() || rest.starts_with(['=', ' ']))
    };
    if let Some(taken) = TAKEN.iter().find(|taken| is_taken(taken)) {
        return Err(format!("{taken} is what the sweep itself says; accepted: other options of sbatch"));
    }
    if !text.starts_with('-') || text.contains(char::is_control) {
        return Err("accepted: an option of sbatch, as --partition=short or '-p short'".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<String> {
        command.split_whitespace().map(str::to_owned).collect()
    }

    fn script(command: &str, options: &[String], logs: Option<&Path>) -> String {
        Script { name: "w", tasks: 3, options, logs, command: &words(command) }.text()
    }

    #[test]
    fn the_script_is_the_command_for_each_shard() {
        for own in
            ["--slurm 3 --sbatch --time=5", "--slurm=3 --sbatch=--time=5 --resubmit=0 --slurm-script f"]
        {
            let script = script(&format!("warpfile sweep --kernels all {own} --out r;s"), &[], None);
            let last = script.lines().last().expect("lines");
            assert_eq!(
                last,
                "exec warpfile sweep --kernels all --out 'r;s' --threads \"${SLURM_CPUS_ON_NODE:-0}\" --shard \"$SLURM_ARRAY_TASK_ID/3\""
            );
        }
        let with_threads = script("warpfile sweep --threads=2", &[], None);
        assert!(
            with_threads.ends_with("\nexec warpfile sweep --threads=2 --shard \"$SLURM_ARRAY_TASK_ID/3\"\n")
        );
    }

    #[test]
    fn options_of_the_site_come_before_those_that_must_stay() {
        let options = words("--time=5 --output=x");
        let script = script("warpfile sweep", &options, Some(Path::new("/a b/100%")));
        let lines: Vec<&str> = script.lines().skip(3).take(5).collect();
        let expected = [
            "#SBATCH --output=\"/a b/100%%/%A_%a.out\"",
            "#SBATCH --time=5",
            "#SBATCH --output=x",
            "#SBATCH --job-name=w",
            "#SBATCH --array=1-3",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn options_that_tasks_are_found_by_are_refused() {
        for option in ["--partition=short", "-p short", "--account=a", "--array-like=3"] {
            assert!(sbatch_option(option).is_ok(), "{option}");
        }
        for option in ["--array=1-4", "--array", "-a1-4", "-J name", "--wrap=ls", "short", "", "--time=5\nrm"]
        {
            assert!(sbatch_option(option).is_err(), "{option}");
        }
    }
}
