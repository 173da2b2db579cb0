//! What can be said of a kernel's execution: its limits, its buffers afterwards, and what is let pass.

use insta::assert_snapshot;

use crate::command::Place;

/// Each of 64 threads adds its neighbours: the first reads before the buffer, and the last writes behind its result.
const NEIGHBOURS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry neighbours(.param .u64 a, .param .u64 b)
{
.reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<6>;
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
add.u64 %rd1, %rd1, %rd3;
add.u64 %rd2, %rd2, %rd3;
ld.global.f32 %f1, [%rd1-4];
ld.global.f32 %f2, [%rd1];
add.f32 %f1, %f1, %f2;
st.global.f32 [%rd2], %f1;
ret;
}
";

const LAUNCH: &str = "
[buffers]
a = { type = 'f32', length = 64, fill = { iota = { start = 1, step = 1 } } }
b = { type = 'f32', length = 63, fill = 'zeros', result = { absolute = 0.25, file = 'b.bin' } }
[[steps]]
grid = 1
block = 64
arguments = ['a', 'b']
";

/// Sums of neighbours, those that `change` is for with its value.
fn expected(change: impl Fn(usize) -> Option<f32>) -> Vec<u8> {
    let sum = |index: usize| change(index).unwrap_or(2.0 * index as f32 + 1.0);
    (0..63).flat_map(|index| sum(index).to_le_bytes()).collect()
}

fn place(change: impl Fn(usize) -> Option<f32>) -> Place {
    let place = Place::new();
    place.write("neighbours.ptx", NEIGHBOURS);
    place.write("neighbours.toml", LAUNCH);
    place.write("b.bin", expected(change));
    place
}

#[test]
fn a_kernel_may_leave_its_buffers_if_that_is_asked_for() {
    let place = place(|_| None);
    let refused = place.refused("run neighbours.ptx");
    assert!(refused.contains("4 bytes before buffer `a`"), "{refused}");
    for design in ["rfc", "regless,rfv,rfh"] {
        let command = format!("run neighbours.ptx --design {design} --tolerate-out-of-bounds");
        let table = place.succeeds(&command);
        let at = table.find("Accesses outside").unwrap_or_else(|| panic!("{table}"));
        assert_snapshot!("a_kernel_leaves_its_buffers", &table[at..]);
        let report = place.json(&format!("{command} --json"));
        let accesses = report["kernels"][0]["out_of_bounds"].as_array().expect("a list");
        let kinds: Vec<_> = accesses.iter().map(|access| (&access["kind"], &access["accesses"])).collect();
        assert_eq!(kinds, [(&"load".into(), &1.into()), (&"store".into(), &1.into())]);
    }
    let traced = place.succeeds("trace neighbours.ptx --tolerate-out-of-bounds -o t.wft");
    assert!(traced.contains("1 loads and 0 atomics gave zero, 1 stores were dropped"), "{traced}");
    place.succeeds("run t.wft --design rfc");
}

#[test]
fn addresses_wherever_they_are_pass_through_every_memory() {
    let place = place(|_| None);
    place.rewrite("neighbours.ptx", "far.ptx", "ld.global.f32 %f1, [%rd1-4]", "ld.global.f32 %f1, [%rd4]");
    place.rewrite("far.ptx", "far.ptx", "mov.u32 %r1, %tid.x;", "mov.u32 %r1, %tid.x; mov.b64 %rd4, -4;");
    place.rewrite("neighbours.toml", "far.toml", ", file = 'b.bin'", "");
    for preset in ["gebhart2011", "gtx980-regless"] {
        let table = place.succeeds(&format!("run far.ptx --preset {preset} --tolerate-out-of-bounds"));
        assert!(table.contains("64 loads and 0 atomics gave zero"), "{table}");
    }
}

#[test]
fn an_option_that_changes_the_run_is_in_the_command_that_repeats_it() {
    let place = place(|_| None);
    place.succeeds(
        "run neighbours.ptx --tolerate-out-of-bounds --set exec.max_warp_instructions=500 --out results",
    );
    let config = place.read("results/config.toml");
    assert!(config.contains("--tolerate-out-of-bounds") && config.contains("max_warp_instructions = 500"));
}

#[test]
fn a_kernel_that_seems_endless_is_told_the_parameter_and_runs_with_more() {
    let place = Place::new();
    let refused = place.refused("run vectoradd --size tiny --set exec.max_warp_instructions=10");
    assert!(refused.contains("more than 10 warp instructions in one block"), "{refused}");
    assert!(refused.contains("exec.max_warp_instructions"), "{refused}");
    place.refused("trace vectoradd --size tiny --set exec.max_warp_instructions=10 -o t.wft");
    place.succeeds("trace vectoradd --size tiny --set exec.max_warp_instructions=10000 -o t.wft");
}

#[test]
fn buffers_are_written_raw_and_for_numpy() {
    let place = place(|_| None);
    let command = "run neighbours.ptx --tolerate-out-of-bounds --dump b=raw --dump b=b.npy --dump a=a.bin";
    place.succeeds(command);
    assert_eq!(place.bytes("raw"), expected(|_| None));
    let npy = place.bytes("b.npy");
    assert_eq!((&npy[..8], npy.len()), (&b"\x93NUMPY\x01\0"[..], 128 + 4 * 63));
    assert!(npy.ends_with(&place.bytes("raw")));
    let iota: Vec<u8> = (1..=64).flat_map(|value| (value as f32).to_le_bytes()).collect();
    assert_eq!(place.bytes("a.bin"), iota);
}

#[test]
fn a_wrong_result_says_where_and_how_much_and_is_written_all_the_same() {
    let place = place(|index| match index {
        4 => Some(9.125),
        10.. if index.is_multiple_of(7) => Some(1.5),
        40 => Some(f32::NAN),
        _ => None,
    });
    let output = place.run("run neighbours.ptx --tolerate-out-of-bounds --dump b=b.npy");
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(String::from_utf8_lossy(&output.stderr));
    assert!(place.bytes("b.npy").ends_with(&expected(|_| None)));
}

#[test]
fn buffers_that_cannot_be_written_are_refused_before_the_run() {
    let place = place(|_| None);
    place.write("t.wft", "");
    let commands = [
        "run neighbours.ptx --dump c=c.npy",
        "run neighbours.ptx --dump b",
        "run neighbours.ptx --dump b=none/b.npy",
        "run neighbours.ptx --dump b=.",
        "run neighbours.ptx --dump a=x --dump b=x",
        "run vectoradd bfs --dump sum=s.npy",
        "trace neighbours.ptx --set rfc.entries=8 -o t2.wft",
        "trace neighbours.ptx --set exec.max_warp_instructions=0 -o t2.wft",
    ];
    assert_snapshot!(commands.map(|command| place.refused(command)).concat());
}

/// Values that a thread of [`wide`] has at once.
const VALUES: usize = 303;

/// Each thread reads all its values before it adds them up.
fn wide(directives: &str, threads: usize) -> Place {
    let lines = |line: &dyn Fn(usize) -> String| (0..VALUES).map(line).collect::<Vec<_>>().join("\n");
    let loads = lines(&|n| format!("ld.global.u32 %r{n}, [%rd1+{}];", 4 * threads * n));
    let sums = lines(&|n| format!("add.u32 %sum, %sum, %r{n};"));
    let place = Place::new();
    place.write(
        "wide.ptx",
        format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry wide(.param .u64 a, .param .u64 b) {directives}\n{{\n\
             .reg .b32 %r<{VALUES}>; .reg .b32 %sum, %t; .reg .b64 %rd<4>;\n\
             ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %t, %tid.x; mul.wide.u32 %rd3, %t, 4;\n\
             add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3; mov.u32 %sum, 0;\n\
             {loads}\n{sums}\nst.global.u32 [%rd2], %sum;\nret;\n}}\n"
        ),
    );
    place.write(
        "wide.toml",
        format!(
            "[buffers]\n\
             a = {{ type = 'u32', length = {}, fill = {{ iota = {{ start = 0, step = 1 }} }} }}\n\
             b = {{ type = 'u32', length = {threads}, fill = 'zeros', result = {{ file = 'b.bin' }} }}\n\
             [[steps]]\ngrid = 1\nblock = {threads}\narguments = ['a', 'b']\n",
            VALUES * threads
        ),
    );
    let sum = |thread: usize| (0..VALUES).map(|n| threads * n + thread).sum::<usize>() as u32;
    place.write("b.bin", (0..threads).flat_map(|thread| sum(thread).to_le_bytes()).collect::<Vec<u8>>());
    place
}

#[test]
fn a_kernel_with_more_values_than_registers_runs_in_every_design() {
    let refused = wide(".maxntid 1024", 1024).refused("run wide.ptx --design rfc");
    assert!(refused.contains("--max-registers 32"), "{refused}");
    let place = wide(".maxntid 1024", 128);
    for designs in ["rfc,two-level", "regless,rfv,rfh"] {
        for schedule in ["none", "list"] {
            let table = place.succeeds(&format!("run wide.ptx --design {designs} --schedule {schedule}"));
            let note =
                table.lines().find(|line| line.starts_with("wide: ")).unwrap_or_else(|| panic!("{table}"));
            let (values, _) = note["wide: ".len()..].split_once(' ').expect("a number");
            let values: usize = values.parse().expect("a number");
            assert!((VALUES - 64..VALUES).contains(&values), "{note}");
            assert!(note.contains(" in local memory for want of registers: "), "{note}");
        }
    }
    let report = place.json("run wide.ptx --design rfh --json");
    let residency = &report["kernels"][0]["designs"][0]["residency"][0];
    assert_eq!(residency["registers_per_thread"], 64, "{residency}");
    assert_eq!(residency["spills"]["load_bytes"], residency["spills"]["store_bytes"], "{residency}");
}

#[test]
fn regless_refuses_more_registers_than_its_tags_name() {
    let place = wide("", 32);
    let refused = place.refused("run wide.ptx --design regless --max-registers 1024 --schedule none");
    assert!(
        refused.contains("design regless names at most 256: compile the kernel with --max-registers 256"),
        "{refused}"
    );
    place.succeeds("run wide.ptx --design regless --max-registers 256 --schedule none");
    place.succeeds("run wide.ptx --design rfh --max-registers 1024 --schedule none");
}

#[test]
fn workloads_have_addresses_of_either_size_and_ptx_says_its_own() {
    let place = Place::with_workload("vectoradd");
    let registers = |addresses: &str| {
        let report = place.json(&format!("run vectoradd --size tiny --design rfc {addresses} --json"));
        let residency = &report["kernels"][0]["designs"][0]["residency"][0]["registers_per_thread"];
        (report["kernels"][0]["input"]["addresses"].clone(), residency.as_u64().expect("a number"))
    };
    let (wide, narrow) = (registers(""), registers("--addresses 32"));
    assert_eq!((wide.0, &narrow.0), (serde_json::Value::Null, &32.into()));
    assert!(narrow.1 < wide.1, "{} and {} registers", narrow.1, wide.1);
    let listing = place.succeeds("annotate vectoradd --addresses 32");
    assert!(!listing.contains("s64"), "{listing}");
    for command in ["run vectoradd.ptx --addresses 32", "annotate vectoradd.ptx --addresses 64"] {
        let refused = place.refused(command);
        assert!(refused.contains("`vectoradd.ptx` says itself how many bits an address has"), "{refused}");
    }
    assert!(place.refused("run vectoradd --addresses 16").contains("addresses of 16 bits; accepted: 32, 64"));
}
