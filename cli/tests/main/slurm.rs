//! `warpfile sweep --slurm`, with programs in place of Slurm's that do what theirs do; `scripts/test-slurm` has the real ones.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::command::Place;

/// Four runs: the baseline and three caches.
const SWEEP: &str =
    "sweep --kernels vectoradd --size tiny --design rfc --set rfc.entries=2,4,6 --out r --slurm 2";

/// Runs tasks at once, one after the other, but for those that the file `lost` has a line for: the first is taken from it.
/// What becomes of a task is told to `squeue` by the file `queue`.
const SBATCH: &str = r#"#!/bin/sh
[ "$1" = --version ] && exit
for option; do case $option in --array=*) tasks=${option#--array=} ;; esac; done
job=$(($(cat jobs 2>/dev/null || echo 10) + 1))
echo $job >jobs
cat >script.$job
echo "$job $tasks" >>submitted
case $tasks in *-*) tasks=$(seq ${tasks%-*} ${tasks#*-}) ;; *) tasks=$(echo $tasks | tr , ' ') ;; esac
for task in $tasks; do
    state=$(sed -n "/^$task /{s/^$task //;p;q}" lost 2>/dev/null)
    if [ -n "$state" ]; then
        sed -i "0,/^$task /{/^$task /d}" lost
    else
        state=COMPLETED
        SLURM_ARRAY_TASK_ID=$task sh script.$job >/dev/null || state=FAILED
    fi
    echo "$job|$task|$state" >>queue
done
echo "$job;cluster"
"#;
const SQUEUE: &str = "#!/bin/sh\n[ \"$1\" = --version ] || cat queue 2>/dev/null || true\n";
/// What the queue has forgotten.
const SACCT: &str = "#!/bin/sh\nfor option; do case $option in --jobs=*) job=${option#--jobs=} ;; esac; done\n\
                     sed -n \"s/^$job|/${job}_/p\" accounting\n";

struct Slurm(Place);

impl Slurm {
    fn new() -> Slurm {
        let place = Place::new();
        fs::create_dir(place.path("bin")).expect("made");
        let slurm = Slurm(place);
        slurm.program("sbatch", SBATCH);
        slurm.program("squeue", SQUEUE);
        slurm
    }

    fn program(&self, name: &str, text: &str) {
        let name = format!("bin/{name}");
        self.0.write(&name, text);
        fs::set_permissions(self.0.path(&name), fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.0.command(arguments);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.0.path("bin").display()));
        command
    }

    /// Exit code, standard output and standard error.
    fn run(&self, arguments: &str) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().expect("started");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (status.code(), text(stdout), text(stderr))
    }

    fn submitted(&self) -> String {
        self.0.read("submitted")
    }
}

#[test]
fn an_array_makes_the_sweep_and_nothing_is_submitted_when_all_is_there() {
    let slurm = Slurm::new();
    let (code, told, progress) = slurm.run(&format!("{SWEEP} --sbatch --partition=short --sbatch=--time=9"));
    assert_eq!(code, Some(0), "{progress}");
    assert!(told.starts_with("4 runs: 4 made now, 0 were there"), "{told}");
    assert_eq!(progress, "slurm: shards 1-2 are job 11\n");
    assert_eq!(slurm.0.read("r/results.csv").lines().count(), 1 + 4);
    let script = slurm.0.read("script.11");
    assert!(script.contains("\n#SBATCH --partition=short\n#SBATCH --time=9\n"), "{script}");
    let (code, told, _) = slurm.run(SWEEP);
    assert_eq!((code, slurm.submitted().as_str()), (Some(0), "11 1-2\n"));
    assert!(told.starts_with("4 runs: 0 made now, 4 were there"), "{told}");
    // A value more: only the shards that have something to do.
    let (code, ..) = slurm.run(&SWEEP.replace("2,4,6", "2,4,6,7"));
    assert_eq!((code, slurm.submitted().as_str()), (Some(0), "11 1-2\n12 2\n"));
}

#[test]
fn a_shard_that_is_lost_is_submitted_again_and_in_the_end_named() {
    let slurm = Slurm::new();
    slurm.0.write("lost", "2 NODE_FAIL\n2 PREEMPTED\n");
    let (code, _, progress) = slurm.run(&format!("{SWEEP} --resubmit 2"));
    assert_eq!((code, slurm.submitted().as_str()), (Some(0), "11 1-2\n12 2\n13 2\n"), "{progress}");
    assert!(progress.contains("slurm: shards 2 are job 12; runs were missing of shard 2 (job 11, NODE_FAIL"));
    assert!(progress.contains("slurm: shards 2 are job 13; runs were missing of shard 2 (job 12, PREEMPTED"));

    let slurm = Slurm::new();
    slurm.0.write("lost", "1 TIMEOUT\n1 OUT_OF_MEMORY\n");
    let (code, _, progress) = slurm.run(&format!("{SWEEP} --resubmit 1"));
    assert_eq!((code, slurm.submitted().as_str()), (Some(1), "11 1-2\n12 1\n"), "{progress}");
    let last = progress.lines().last().expect("an error");
    let expected = "error: 2 of 4 runs are missing: shard 1 (job 12, OUT_OF_MEMORY, submission 2); ";
    assert!(last.starts_with(expected) && last.ends_with("/r/slurm; the same command goes on"), "{last}");
    // Those of the other shard are there, and the same command goes on.
    assert_eq!(slurm.run(SWEEP).0, Some(0));
    assert_eq!(slurm.submitted(), "11 1-2\n12 1\n13 1\n");
}

#[test]
fn what_someone_has_cancelled_is_not_submitted_again() {
    let slurm = Slurm::new();
    slurm.0.write("lost", "2 CANCELLED\n");
    let (code, _, progress) = slurm.run(SWEEP);
    assert_eq!((code, slurm.submitted().as_str()), (Some(1), "11 1-2\n"), "{progress}");
    assert!(progress.contains("shard 2 (job 11, CANCELLED, submission 1)"), "{progress}");
}

#[test]
fn accounting_says_what_the_queue_has_forgotten() {
    let slurm = Slurm::new();
    slurm.program("squeue", "#!/bin/sh\n");
    slurm.program("sacct", SACCT);
    slurm.0.write("lost", "2 lost\n");
    slurm.0.write("accounting", "11|1|COMPLETED\n11|2|CANCELLED by 1000\n");
    let (code, _, progress) = slurm.run(SWEEP);
    assert_eq!((code, slurm.submitted().as_str()), (Some(1), "11 1-2\n"), "{progress}");
    assert!(progress.contains("shard 2 (job 11, CANCELLED, submission 1)"), "{progress}");
    // Without accounting no one knows, and it is submitted again.
    let slurm = Slurm::new();
    slurm.program("squeue", "#!/bin/sh\n");
    slurm.program("sacct", "#!/bin/sh\necho Slurm accounting storage is disabled >&2\nexit 1\n");
    slurm.0.write("lost", "2 lost\n");
    let (code, _, progress) = slurm.run(SWEEP);
    assert_eq!((code, slurm.submitted().as_str()), (Some(0), "11 1-2\n12 2\n"), "{progress}");
}

#[test]
fn an_interrupted_command_says_how_to_go_on_and_finds_its_jobs_again() {
    let slurm = Slurm::new();
    // The queue says that both wait, until there is a file `go`.
    slurm.0.write("lost", "1 PENDING\n2 PENDING\n");
    let mut command = slurm.command(SWEEP);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let begun = Instant::now();
    while !slurm.0.path("queue").exists() && begun.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_millis(300));
    // As Ctrl-C does; that signal is ignored where a shell has started the tests in the background.
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).expect("interrupted");
    let output = child.wait_with_output().expect("ended");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(!output.status.success());
    let said = said.lines().last().expect("last words");
    assert!(
        said.starts_with("slurm: jobs that have been submitted go on without this command (scancel --name=")
    );
    assert!(said.contains("; to go on: ") && said.ends_with(&SWEEP["sweep".len()..]), "{said}");

    // Meanwhile the tasks have run.
    for task in ["1", "2"] {
        let mut sh = Command::new("sh");
        sh.arg("script.11").current_dir(slurm.0.path("")).env("SLURM_ARRAY_TASK_ID", task);
        assert!(sh.output().expect("started").status.success(), "task {task}");
    }
    slurm.0.write("queue", "11|1|COMPLETED\n11|2|COMPLETED\n");
    let (code, told, _) = slurm.run(SWEEP);
    assert!(told.starts_with("4 runs: 0 made now, 4 were there"), "{told}");
    assert_eq!((code, slurm.submitted().as_str()), (Some(0), "11 1-2\n"));
}

#[test]
fn without_slurm_or_with_a_refusal_it_is_told() {
    let place = Place::new();
    place.write("empty", "");
    let mut command = place.command(SWEEP);
    let output = command.env("PATH", place.path("")).output().expect("started");
    assert_eq!(output.status.code(), Some(2));
    let told = "error: `sbatch` is not installed: --slurm needs a machine that submits to Slurm; elsewhere --shard makes \
                parts of a sweep\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), told);
    assert_eq!(place.files(), ["empty"]);

    let slurm = Slurm::new();
    let refusal = "#!/bin/sh\n[ \"$1\" = --version ] && exit\necho invalid partition >&2\nexit 1\n";
    slurm.program("sbatch", refusal);
    let (code, _, told) = slurm.run(SWEEP);
    let expected = "error: sbatch failed: invalid partition\n";
    assert_eq!((code, told.as_str()), (Some(2), expected));
}
