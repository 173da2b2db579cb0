//! CUDA C on the command line. The compiler is a script that the environment names, so that nothing depends on what is
//! installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use insta::assert_snapshot;

use crate::command::Place;

/// A workload as CUDA C, with a script that is called as clang is.
fn place(script: &str) -> Place {
    let place = Place::with_workload("vectoradd");
    place.write("mine.cu", "__global__ void vectoradd();\n");
    place.write("mine.toml", place.read("vectoradd.toml"));
    place.write("compiler", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(place.path("compiler"), fs::Permissions::from_mode(0o755)).expect("executable");
    place
}

fn run(place: &Place, arguments: &str, compiler: Option<&str>) -> Output {
    let mut command = place.command(arguments);
    match compiler {
        Some(compiler) => command.env("CLANG", compiler),
        None => command.env_remove("CLANG").env("PATH", place.path("nothing")),
    };
    command.output().expect("started")
}

fn told(place: &Place, arguments: &str, compiler: Option<&str>) -> String {
    let before = place.files();
    let output = run(place, arguments, compiler);
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &[][..]), "{stderr}");
    assert_eq!(place.files(), before);
    format!("$ warpfile {arguments}\n{stderr}\n")
}

/// Keeps the arguments and the header, and writes the workload's PTX.
const COPY: &str = r#"echo "$@" > arguments
for word; do
    [ "$before" = -o ] && out=$word
    [ "$before" = -include ] && header=$word
    before=$word
done
cp vectoradd.ptx "$out"
cp "$header" header.h
echo 'mine.cu:1: warning: fake' >&2"#;

#[test]
fn a_cuda_file_is_made_ptx_and_run() {
    let place = place(COPY);
    for command in ["run mine.cu --size tiny", "run mine.cu --launch vectoradd.toml --size tiny"] {
        let output = run(&place, command, Some("./compiler"));
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
        assert!(output.status.success(), "{stderr}");
        assert_eq!(stderr, "mine.cu:1: warning: fake\n");
        assert!(stdout.starts_with("mine.cu (tiny), preset"), "{stdout}");
    }
    assert!(place.read("header.h").contains("#define __global__"));
    let arguments = place.read("arguments");
    let (flags, rest) = arguments.split_once(" -I ").expect("a folder of headers");
    assert_eq!(flags, "-x cuda --cuda-device-only --cuda-gpu-arch=sm_50 -nocudainc -nocudalib -O2 -S");
    assert!(rest.ends_with(" -- mine.cu\n"), "{rest}");
    let folder = rest.split(' ').next().expect("a folder");
    assert!(folder.starts_with('/') && !fs::exists(folder).expect("known"), "{folder} is left");
    let listing = run(&place, "annotate mine.cu", Some("./compiler"));
    assert!(listing.stdout.starts_with(b"// vectoradd: 18 instructions"));
}

#[test]
fn without_a_compiler_the_command_is_told() {
    assert_snapshot!(told(&place(""), "run mine.cu --size tiny", None));
}

#[test]
fn compilers_and_files_that_cannot_be_used_are_told() {
    let fails = place("echo 'mine.cu:3:1: error: expected `}`' >&2; exit 1");
    let silent = place("exit 0");
    let told_silent = told(&silent, "run mine.cu --size tiny", Some("./compiler"));
    assert!(told_silent.contains("mine.cu: no PTX of ./compiler: "), "{told_silent}");
    let text = [
        told(&fails, "run mine.cu --size tiny", Some("./compiler")),
        told(&silent, "run mine.cu", Some("./nowhere/clang")),
        told(&silent, "run mine.cu", Some("clang-that-is-not-there")),
        told(&silent, "run none.cu", Some("./compiler")),
        told(&silent, "run mine.cu --launch none.toml", Some("./compiler")),
    ];
    assert_snapshot!(text.concat());
}
