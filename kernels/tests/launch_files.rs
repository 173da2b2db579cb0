//! Launch files: what they say is what is planned, and every mistake is named.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use warpfile_kernels::launch::{
    ArgumentValue, ElementType, HostMemory, LaunchFile, MAX_STEPS, MemberValue, Planned, Sequence, Value,
};
use warpfile_kernels::workloads;

use crate::host_buffers::HostBuffers;

fn parse(text: &str) -> Result<LaunchFile, String> {
    LaunchFile::parse(Path::new("my/launch.toml"), text).map_err(|error| error.to_string())
}

fn start(text: &str) -> (Sequence, HostBuffers) {
    let sequence = Sequence::new(Arc::new(parse(text).unwrap()), "default").unwrap();
    let mut buffers = HostBuffers::default();
    sequence.fill_all(&mut buffers).unwrap();
    (sequence, buffers)
}

/// The error of a launch file that parses or runs into one.
fn error(text: &str) -> String {
    let run = |file: LaunchFile| -> Result<(), String> {
        let text = |error: warpfile_kernels::launch::LaunchError| error.to_string();
        let mut sequence = Sequence::new(Arc::new(file), "default").map_err(text)?;
        let mut buffers = HostBuffers::default();
        sequence.fill_all(&mut buffers).map_err(text)?;
        while sequence.next(&mut buffers).map_err(text)?.is_some() {}
        Ok(())
    };
    parse(text).and_then(run).unwrap_err()
}

fn words(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn scalar(planned: &Planned, index: usize) -> i32 {
    match &planned.arguments[index] {
        ArgumentValue::Member(MemberValue::Scalar(_, bytes)) => words(bytes)[0],
        other => panic!("argument {index} is {other:?}"),
    }
}

#[test]
fn buffers_are_filled_as_declared() {
    let (_, buffers) = start(
        r#"
        [buffers]
        iota = { type = "s32", length = 4, fill = { iota = { start = 5, step = -2 } } }
        values = { type = "s32", length = 2, fill = { values = [7, -7] } }
        patched = { type = "s32", length = 7, fill = { constant = 1 }, patches = [
            { first = 1, every = 2, count = 3, fill = { iota = { start = 10, step = 1 } } },
            { first = 6, fill = "zeros" },
        ] }
        offsets = { type = "s32", length = 100, fill = { cumulative = { seed = 3, low = 2, high = 5 } } }
        random = { type = "s32", length = 1000, fill = { random = { seed = 4, low = -3, high = 3 } } }
        [[steps]]
        grid = 1
        block = 1
        "#,
    );
    assert_eq!(words(&buffers.0[0]), [5, 3, 1, -1]);
    assert_eq!(words(&buffers.0[1]), [7, -7]);
    assert_eq!(words(&buffers.0[2]), [1, 10, 1, 11, 1, 12, 0]);
    let offsets = words(&buffers.0[3]);
    assert_eq!(offsets[0], 0);
    assert!(offsets.windows(2).all(|pair| (2..=5).contains(&(pair[1] - pair[0]))));
    let random = words(&buffers.0[4]);
    assert!((-3..=3).all(|value| random.contains(&value)));
    assert!(random.iter().all(|value| (-3..=3).contains(value)));
}

#[test]
fn loops_swaps_and_expressions_give_the_launches_in_order() {
    let (mut sequence, mut buffers) = start(
        r#"
        [sizes]
        default = { n = 100 }
        [buffers]
        a = { type = "s32", length = "n", fill = "zeros" }
        b = { type = "s32", length = "n", fill = "zeros" }
        [[steps]]
        for = "i"
        from = 1
        to = 6
        by = 2
        [[steps.body]]
        entry = "k"
        grid = ["ceil_div(n, 32)", "i"]
        block = [32, 2]
        shared = "4 * n"
        arguments = ["a", "b", { s32 = "i * i" }]
        [[steps.body]]
        swap = ["a", "b"]
        "#,
    );
    let mut seen = Vec::new();
    while let Some(planned) = sequence.next(&mut buffers).unwrap() {
        assert_eq!(planned.entry.as_deref(), Some("k"));
        assert_eq!(planned.block, [32, 2, 1]);
        assert_eq!(planned.dynamic_shared_bytes, 400);
        seen.push((planned.grid, planned.arguments[0].clone(), scalar(&planned, 2)));
    }
    let buffer = |buffer| ArgumentValue::Member(MemberValue::Buffer { buffer, offset: 0 });
    assert_eq!(seen, [([4, 1, 1], buffer(0), 1), ([4, 3, 1], buffer(1), 9), ([4, 5, 1], buffer(0), 25)]);
    assert_eq!((sequence.bound(0), sequence.bound(1)), (1, 0));
}

#[test]
fn a_repeated_body_runs_until_the_buffer_is_zero() {
    let text = r#"
        [buffers]
        more = { type = "s32", length = 1, fill = "zeros" }
        [[steps]]
        repeat_while = "more"
        at_most = 5
        [[steps.body]]
        fill = "more"
        [[steps.body]]
        grid = 1
        block = 1
        arguments = ["more"]
    "#;
    let launches_when_set_for = |rounds: usize| {
        let (mut sequence, mut buffers) = start(text);
        let mut launches = 0;
        loop {
            match sequence.next(&mut buffers) {
                Ok(Some(_)) => launches += 1,
                Ok(None) => return Ok(launches),
                Err(error) => return Err(error.to_string()),
            }
            if launches <= rounds {
                buffers.write(0, &1i32.to_le_bytes()).unwrap();
            }
        }
    };
    assert_eq!(launches_when_set_for(0), Ok(1));
    assert_eq!(launches_when_set_for(3), Ok(4));
    assert!(launches_when_set_for(9).unwrap_err().contains("`more` is still not zero after 5 repetitions"));
}

#[test]
fn addresses_among_contents_are_those_of_the_buffers() {
    let (_, buffers) = start(
        r#"
        [sizes]
        default = { columns = 6 }
        [buffers]
        rows = { type = "u64", length = 4, fill = { iota = { start = { address = "matrix", offset = 1 }, step = "columns" } } }
        one = { type = "u64", length = 2, fill = { values = [{ address = "rows" }, 7] } }
        matrix = { type = "f32", length = "4 * columns", fill = "zeros" }
        records = { type = "u8", length = 48, fill = { structures = [
            [{ s32 = -1 }, "matrix + columns", { u8 = 3 }],
            [{ s32 = "columns" }, { address = "one", offset = 2 }, { u8 = 4 }],
        ] } }
        [[steps]]
        grid = 1
        block = 1
        "#,
    );
    let longs = |buffer: usize| -> Vec<u64> {
        buffers.0[buffer].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let matrix = buffers.address(2);
    assert_eq!(longs(0), [4, 28, 52, 76].map(|offset| matrix + offset));
    assert_eq!(longs(1), [buffers.address(0), 7]);
    let minus_one = u64::from(u32::MAX);
    assert_eq!(longs(3), [minus_one, matrix + 24, 3, 6, buffers.address(1) + 16, 4]);
}

#[test]
fn what_the_host_computes_is_a_variable_of_the_steps_behind_it() {
    let (mut sequence, mut buffers) = start(
        r#"
        [sizes]
        default = { n = 4 }
        [buffers]
        sums = { type = "f32", length = "n", fill = { iota = { start = 1, step = 1 } } }
        flags = { type = "u8", length = 3, fill = "zeros" }
        [[steps]]
        let = { mean = "sum(sums) / n", variance = "mean * mean - sums[n - 1]", rounds = 0 }
        [[steps]]
        while = "max(flags) + rounds < 3"
        at_most = "n"
        [[steps.body]]
        let = { rounds = "rounds + 1" }
        [[steps.body]]
        grid = "rounds"
        block = 1
        arguments = ["sums + rounds", "variance", { f64 = "mean * rounds" }, 7, 0.25, "rounds * 2"]
        "#,
    );
    let member = ArgumentValue::Member;
    for round in 1..=2_i64 {
        let planned = sequence.next(&mut buffers).unwrap().unwrap();
        assert_eq!(planned.grid, [round as u32, 1, 1]);
        let expected = [
            member(MemberValue::Buffer { buffer: 0, offset: 4 * round as u64 }),
            ArgumentValue::Expression { text: "variance".to_owned(), value: Value::Real(2.25) },
            member(MemberValue::Scalar(ElementType::F64, (2.5 * round as f64).to_le_bytes().to_vec())),
            ArgumentValue::Number(Value::Integer(7)),
            ArgumentValue::Number(Value::Real(0.25)),
            ArgumentValue::Expression { text: "rounds * 2".to_owned(), value: Value::Integer(2 * round) },
        ];
        assert_eq!(planned.arguments, expected);
        buffers.write(1, &[0, round as u8 - 1, 0]).unwrap();
    }
    assert_eq!(sequence.next(&mut buffers).unwrap(), None);
}

#[test]
fn a_variable_that_a_loop_makes_ends_with_it() {
    let steps = "for = 'i'\nto = 2\nbody = [{ let = { x = 'i' } }]\n[[steps]]\ngrid = 'x'\nblock = 1";
    let found = error(&format!("[[steps]]\n{steps}"));
    assert!(found.ends_with("no variable `x` (there is none)"), "{found}");
}

#[test]
fn contents_come_from_a_file_of_the_right_length() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.bin"), [1u8, 0, 2, 0]).unwrap();
    let path = folder.path().join("launch.toml");
    let text = |length| {
        format!(
            "[buffers]\na = {{ type = 'u16', length = {length}, fill = {{ file = 'data.bin' }} }}\n\
             [[steps]]\ngrid = 1\nblock = 1\n"
        )
    };
    let fill = |length| {
        std::fs::write(&path, text(length)).unwrap();
        let sequence = Sequence::new(Arc::new(LaunchFile::read(&path).unwrap()), "default").unwrap();
        let mut buffers = HostBuffers::default();
        sequence.fill_all(&mut buffers).map(|()| buffers.0).map_err(|error| error.to_string())
    };
    assert_eq!(fill(2), Ok(vec![vec![1, 0, 2, 0]]));
    assert!(fill(3).unwrap_err().contains("data.bin has 4 bytes; 3 elements of u16 are 6"));
}

#[test]
fn mistakes_name_file_line_key_and_what_is_accepted() {
    const STEPS: &str = "[[steps]]\ngrid = 1\nblock = 1\n";
    let buffer = |rest: &str| format!("[buffers]\nab = {{ type = 'f32', length = 8, {rest} }}\n{STEPS}");
    let step = |rest: &str| {
        format!("[buffers]\nab = {{ type = 'f32', length = 8, fill = 'zeros' }}\n[[steps]]\n{rest}")
    };
    for (text, expected) in [
        ("x = [".to_string(), "my/launch.toml:1: "),
        (
            "[buffer]\n".to_string() + STEPS,
            "my/launch.toml:1: `buffer`: unknown key (did you mean `buffers`?)",
        ),
        ("description = 'none'".to_string(), "my/launch.toml: the key `steps` is missing"),
        (buffer("fil = 'zeros'"), "my/launch.toml:2: `buffers.ab.fil`: unknown key (did you mean `fill`?)"),
        (buffer("fill = 'ones'"), "`buffers.ab.fill`: the string \"ones\" where \"zeros\" or a table"),
        (
            buffer("fill = { random = { seed = -1, low = 0, high = 1 } }"),
            "`buffers.ab.fill.random.seed`: the integer -1",
        ),
        (buffer("fill = { random = { seed = 1, low = 2.0, high = 1 } }"), "low is 2, more than high, 1"),
        (buffer("fill = { values = [1, 2] }"), "2 values for 8 elements"),
        (buffer("fill = { constant = inf }"), "where a finite number is expected"),
        (
            buffer("fill = 'zeros', patches = [{ first = 8, fill = 'zeros' }]"),
            "`buffers.ab.patches[0].first`: 8; 0 to 7",
        ),
        (buffer("fill = 'zeros', result = 'same'"), "\"exact\" or a table"),
        (buffer("fill = 'zeros', result = { relative = -1.0 }"), "a real number that is not negative"),
        (buffer("fill = { file = 'nowhere.bin' }"), "my/nowhere.bin cannot be read"),
        (
            "[buffers]\nx = { type = 'i32', length = 1, fill = 'zeros' }\n".to_string() + STEPS,
            "no type `i32`",
        ),
        (
            "[buffers]\nx = { type = 's32', length = 'm', fill = 'zeros' }\n".to_string() + STEPS,
            "no variable `m`",
        ),
        (
            "[buffers]\nx = { type = 'f64', length = 999_999_999, fill = 'zeros' }\n".to_string() + STEPS,
            "at most 1073741824",
        ),
        (
            "[sizes]\ndefault = { n = 1 }\nbig = { m = 1 }\n".to_string() + STEPS,
            "my/launch.toml:3: `sizes.big`: it has the variables m",
        ),
        ("[sizes]\nsmall = { n = 1 }\n".to_string() + STEPS, "no size `default` (there is `small`)"),
        (step("block = 1"), "exactly one of the keys"),
        (step("grid = 1"), "my/launch.toml:3: `steps[0]`: the key `block` is missing"),
        (step("grid = 0\nblock = 1"), "my/launch.toml:4: `steps[0].grid`: 0; 1 to 2147483647 is accepted"),
        (step("grid = 1\nblock = [64, 32]"), "a block of 2048 threads; at most 1024"),
        (step("grid = 1\nblock = [1, 1, 1, 1]"), "4 extents; one to three"),
        (
            step("grid = 1\nblock = 1\narguments = ['ba']"),
            "`steps[0].arguments[0]`: no buffer `ba` (there is `ab`)",
        ),
        (
            step("grid = 1\nblock = 1\narguments = [true]"),
            "true where a number, the name of a buffer, a typed number",
        ),
        (
            step("grid = 1\nblock = 1\narguments = [{ s32 = 0.5 }]"),
            "the number 0.5 where an integer, as s32 needs",
        ),
        (step("grid = 1\nblock = 1\narguments = [{ u8 = 300 }]"), "300 does not fit u8"),
        (step("for = 'i'\nto = 2\nby = 0\nbody = []"), "`steps[0].by`: 0; 1 to"),
        (
            step("for = 'i'\nto = 99_999_999\nbody = []"),
            "my/launch.toml:5: `steps[0].to`: the loop has 99999999 steps or more; a run of at most 1000000 is accepted",
        ),
        (step("swap = ['ab']"), "1 names where two buffers"),
        ("ptx = []\n".to_string() + STEPS, "my/launch.toml:1: `ptx`: 0 PTX files; 1 to 64 are accepted"),
        ("ptx = 5\n".to_string() + STEPS, "the integer 5 where the name of a file, or an array of them"),
        (buffer("fill = 'zeros', symbol = 3"), "the integer 3 where a name or { name ="),
        (
            step("grid = 1\nblock = 1\narguments = ['ab + 9']"),
            "`steps[0].arguments[0]`: element 9 of `ab`, which has 8; 0 to 8 is accepted",
        ),
        (
            step("grid = 1\nblock = 1\narguments = [{ address = 'ba' }]"),
            "`steps[0].arguments[0].address`: no buffer `ba` (there is `ab`)",
        ),
        (step("grid = 1\nblock = 1\narguments = ['ba + 1']"), "no variable `ba`"),
        (
            step("grid = 1\nblock = 1\narguments = ['ab[0]']"),
            "the contents of `ab`, which only `let` and `while`",
        ),
        (step("grid = 1\nblock = 1\narguments = [[5]]"), "the integer 5 where the name of a buffer, a typed"),
        (step("grid = 'sum(ab)'\nblock = 1"), "the contents of `ab`, which only `let` and `while` may read"),
        (
            step("let = { n = 'sum(ba)' }"),
            "my/launch.toml:4: `steps[0].let.n`: no buffer `ba` (there is `ab`)",
        ),
        (step("let = { n = 'n + 1' }"), "`steps[0].let.n`: no variable `n` (there is none)"),
        (step("let = { n = 'm', m = 1 }"), "`steps[0].let.n`: no variable `m`"),
        (step("let = {}"), "`let` without a variable"),
        (step("let = { n = 'ab[8]' }"), "element 8 of `ab`, which has 8"),
        (step("let = { n = '1 / ab[7]' }"), "1.0 is divided by zero"),
        (
            step("for = 'i'\nto = 2\nbody = [{ let = { i = 1 } }]"),
            "the variable `i` is of the size or a loop",
        ),
        (
            step("let = { x = 0.5 }\n[[steps]]\ngrid = 'x'\nblock = 1"),
            "0.5 where an integer is expected (floor, ceil and round make one)",
        ),
        (
            step("let = { x = 0.5 }\n[[steps]]\nfor = 'x'\nto = 1\nbody = []"),
            "the variable `x` has a value already",
        ),
        (
            step("while = 'ab[0] == 0'\nat_most = 3\nbody = []"),
            "`steps[0].while`: `ab[0] == 0` still holds after 3 repetitions, the most that `at_most` allows",
        ),
        (step("while = 'ab[0]'\nbody = []"), "the key `at_most` is missing"),
        (
            buffer("fill = { constant = { address = 'ab' } }"),
            "`buffers.ab.fill.constant.address`: an address, of 8 bytes, as f32; u64 is accepted",
        ),
        (buffer("fill = { constant = { address = 'ba' } }"), "no buffer `ba` (there is `ab`)"),
        (buffer("fill = { structures = [[{ f32 = 1 }]] }"), "structures in a buffer of type f32; u8 and s8"),
        (
            "[buffers]\nx = { type = 'u8', length = 20, fill = { structures = [[{ s32 = 1 }, 'x']] } }\n"
                .to_string()
                + STEPS,
            "`buffers.x`: 1 structures of 16 bytes together for 20 bytes",
        ),
    ] {
        let found = error(&text);
        assert!(found.contains(expected), "{text}\ngives   {found}\nwithout {expected}");
    }
}

#[test]
fn an_endless_nest_of_loops_ends_in_an_error() {
    let mut body = "{ fill = 'x' }".to_string();
    for depth in 0..8 {
        body = format!("{{ for = 'i{depth}', to = 100000, body = [{body}] }}");
    }
    let buffers = "[buffers]\nx = { type = 'u8', length = 1, fill = 'zeros' }\n";
    let endless = error(&format!("steps = [{body}]\n{buffers}"));
    assert!(endless.contains(&format!("a run of at most {MAX_STEPS} is accepted")), "{endless}");
    let deeper = format!("steps = [{{ for = 'j', to = 1, body = [{body}] }}]\n{buffers}");
    assert!(error(&deeper).contains("nested more than 8 deep"));
}

#[test]
fn of_several_sizes_the_first_that_is_there_is_taken() {
    let text = "[sizes]\ndefault = { n = 1 }\nlarge = { n = 2 }\n[[steps]]\ngrid = 1\nblock = 1\n";
    let file = LaunchFile::parse(Path::new("my/launch.toml"), text).unwrap();
    let n = |name: &str| file.size(name).map(|variables| format!("{:?}", variables["n"]));
    assert_eq!(n("suite,large,default").unwrap(), "Integer(2)");
    assert_eq!(n("default,large").unwrap(), "Integer(1)");
    let told = n("suite,larger").unwrap_err().to_string();
    assert!(told.contains("no size `suite,larger` (there is"), "{told}");
    assert!(n("").is_err() && n("large, default").is_ok());
}

#[test]
fn every_workload_has_a_launch_file_with_three_sizes_and_a_result() {
    for workload in workloads::all() {
        let file = workload.launch_file().unwrap();
        let sizes: Vec<&str> = file.sizes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(sizes[..3], ["tiny", "default", "large"], "{}", workload.name);
        assert!(matches!(sizes[3..], [] | ["suite"]), "{}: {sizes:?}", workload.name);
        assert!(file.buffers.iter().any(|buffer| buffer.result.is_some()), "{}", workload.name);
        assert!(!file.description.is_empty(), "{}", workload.name);
        for size in sizes {
            Sequence::new(Arc::new(file.clone()), size).unwrap();
        }
    }
}

#[test]
fn an_unknown_workload_is_an_error_that_lists_near_names() {
    let message = workloads::by_name("hotspots").unwrap_err().to_string();
    assert_eq!(message, "no workload `hotspots` (did you mean `hotspot`, `hotspot-registers`?)");
}

#[test]
fn the_example_of_the_documentation_is_a_launch_file() {
    let page = include_str!("../../docs/launch-files.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let file = parse(example).unwrap();
    assert_eq!(file.ptx_paths(), [Path::new("my/reduce.ptx")]);
    let mut sequence = Sequence::new(Arc::new(file), "large").unwrap();
    let mut buffers = HostBuffers::default();
    sequence.fill_all(&mut buffers).unwrap();
    let first = sequence.next(&mut buffers).unwrap().unwrap();
    assert_eq!((first.grid, first.block, first.dynamic_shared_bytes), ([1024, 1, 1], [256, 1, 1], 1024));
    assert_eq!(scalar(&first, 2), 1 << 20);
    assert_eq!(sequence.next(&mut buffers).unwrap().unwrap().grid, [1, 1, 1]);
    assert_eq!(sequence.next(&mut buffers).unwrap(), None);
}

#[test]
fn the_other_examples_of_the_documentation_are_steps() {
    let page = include_str!("../../docs/launch-files.md");
    let names = ["offsets", "edges", "frontier", "depth", "more", "image", "sum", "squares", "differences"];
    let buffers =
        names.map(|name| format!("{name} = {{ type = 'f32', length = 4, fill = 'zeros' }}\n")).concat();
    let head = format!("[sizes]\ndefault = {{ nodes = 4, blocks = 1, pixels = 4 }}\n[buffers]\n{buffers}");
    let examples = page.split("```toml\n").skip(2).map(|rest| rest.split("```").next().unwrap());
    let parsed = examples.map(|example| {
        let head = if example.contains("[buffers]") { "" } else { &head };
        parse(&format!("{head}{example}")).unwrap_or_else(|error| panic!("{error}"))
    });
    assert_eq!(parsed.filter(|file| !file.steps.is_empty()).count(), 3);
}

proptest! {
    #[test]
    fn a_damaged_launch_file_is_an_error_with_a_line_or_another_launch_file(
        workload in 0..workloads::all().len(),
        at in any::<prop::sample::Index>(),
        removed in 0usize..40,
        inserted in "[-a-z0-9=\\[\\]{}\"', \n.]{0,6}",
    ) {
        let text: Vec<char> = workloads::all()[workload].launch_file.chars().collect();
        let at = at.index(text.len());
        let rest = (at + removed).min(text.len());
        let damaged: String =
            text[..at].iter().copied().chain(inserted.chars()).chain(text[rest..].iter().copied()).collect();
        match parse(&damaged) {
            Ok(file) => prop_assert!(!file.sizes.is_empty()),
            Err(message) => prop_assert!(message.starts_with("my/launch.toml:"), "{}", message),
        }
    }
}

proptest! {
    /// Loops within loops, announced as a product or as one number: refused by their line, before anything is launched.
    #[test]
    fn a_run_that_announces_too_many_steps_is_refused_before_it_begins(
        counts in prop::collection::vec(1..=i64::MAX, 1..6), depends in any::<bool>(),
    ) {
        let total = counts.iter().fold(1_u64, |total, &count| total.saturating_mul(count as u64));
        prop_assume!(total > MAX_STEPS);
        let mut body = "{ grid = 1, block = 1 }".to_owned();
        for (depth, count) in counts.iter().enumerate().rev() {
            let from = if depends && depth > 0 { format!("'0 * v{}'", depth - 1) } else { "0".to_owned() };
            body = format!("{{ for = 'v{depth}', from = {from}, to = {count}, body = [{body}] }}");
        }
        let file = parse(&format!("steps = [{body}]")).map_err(TestCaseError::fail)?;
        let begun = std::time::Instant::now();
        let mut launched = 0;
        let outcome = Sequence::new(Arc::new(file), "default").and_then(|mut sequence| {
            let mut buffers = HostBuffers::default();
            while sequence.next(&mut buffers)?.is_some() {
                launched += 1;
            }
            Ok(())
        });
        let error = outcome.expect_err("too many").to_string();
        // Bounds that depend on a loop are known when it runs.
        if depends {
            prop_assert!(error.starts_with("my/launch.toml") && error.contains("1000000"), "{error}");
        } else {
            prop_assert!(error.starts_with("my/launch.toml:1: `steps[0]"), "{error}");
            prop_assert!(error.ends_with("a run of at most 1000000 is accepted"), "{error}");
            prop_assert_eq!(launched, 0);
        }
        prop_assert!(begun.elapsed().as_secs() < 10);
    }
}
