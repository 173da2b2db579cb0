//! What kernels print, and assertions that fail.

use std::f64::consts::PI;
use std::path::Path;
use std::sync::Arc;

use warpfile_kernels::exec::{Printed, PtxRun, RunError};
use warpfile_kernels::launch::LaunchFile;
use warpfile_kernels::ptx::parse;

/// With addresses of 64 and of 32 bits.
const PROGRAMS: [&str; 2] = [include_str!("ptx/print.ptx"), include_str!("ptx/print.m32.ptx")];

/// Runs a launch file on the PTX of a program.
fn run(ptx: &str, launch: &str) -> (Result<u64, RunError>, Printed) {
    let file = LaunchFile::parse(Path::new("print.toml"), launch).unwrap();
    let mut run = PtxRun::new(parse("print.ptx", ptx).unwrap(), Arc::new(file), "default").unwrap();
    let outcome = run.run_to_end();
    let printed = run.printed().clone();
    (outcome, printed)
}

fn text(printed: &Printed) -> &str {
    std::str::from_utf8(&printed.text).unwrap()
}

#[test]
fn a_cuda_program_prints_as_the_host_would() {
    let launch = r#"
        [buffers]
        values = { type = "f32", length = 40, fill = { iota = { start = -4.0, step = 0.5 } } }
        returned = { type = "s32", length = 40, fill = "zeros" }
        name = { type = "u8", length = 6, fill = { values = [116, 104, 105, 110, 103, 0] } }
        [[steps]]
        entry = "report"
        grid = 1
        block = 40
        arguments = ["values", "returned", "name"]"#;
    let [(outcome, printed), narrow] = PROGRAMS.map(|program| run(program, launch));
    outcome.unwrap();
    narrow.0.unwrap();
    // A pointer is printed, at the end of a line, that differs.
    let without_pointers = |printed: &Printed| -> Vec<String> {
        text(printed).lines().map(|line| line.split(" 0x1").next().unwrap_or(line).to_owned()).collect()
    };
    assert_eq!(without_pointers(&printed), without_pointers(&narrow.1));
    let printed: Vec<&str> = text(&printed).lines().collect();
    // The branch taken by most lanes of a warp does not matter: a call prints its lanes in order.
    let mut expected = Vec::new();
    for i in (0..40_u32).filter(|i| i % 3 == 0) {
        let value = f64::from(i) * 0.5 - 4.0;
        let scientific = format!("{value:+.2e}");
        let (digits, exponent) = scientific.split_once('e').unwrap();
        let exponent: i32 = exponent.parse().unwrap();
        let sign = if exponent < 0 { '-' } else { '+' };
        let letter = char::from(b'a' + (i % 26) as u8);
        expected.push(format!(
            "{i:2}: thing has {value:8.3}%, {digits}e{sign}{:02} or {value}; {letter}{} {} 0x",
            exponent.abs(),
            if i == 0 { "000000".to_owned() } else { format!("{:#06x}", 255 * i) },
            -1 - i64::from(i),
        ));
    }
    let second_warp = printed.iter().position(|line| *line == "first of the second warp").unwrap();
    assert!((11..=printed.len()).contains(&second_warp), "{printed:?}");
    let reports: Vec<&&str> = printed.iter().filter(|line| !line.starts_with("first")).collect();
    assert_eq!(reports.len(), expected.len());
    for (found, expected) in reports.iter().zip(&expected) {
        assert!(found.starts_with(expected.as_str()), "{found}, not {expected}");
    }
}

#[test]
fn blocks_print_in_grid_order_and_a_failed_assertion_says_what_and_where() {
    let launch = |values: &str| {
        format!(
            "[buffers]\nvalues = {{ type = \"s32\", length = 2, fill = {{ values = [{values}] }} }}\n\
             [[steps]]\nentry = \"check\"\ngrid = 3\nblock = 2\narguments = [\"values\", {{ s32 = 5 }}]\n"
        )
    };
    let all = "thread 0 of block 0\nthread 1 of block 0\nthread 0 of block 1\nthread 1 of block 1\n\
               thread 0 of block 2\nthread 1 of block 2\n";
    for program in PROGRAMS {
        let (outcome, printed) = run(program, &launch("1, 2"));
        outcome.unwrap();
        assert_eq!(text(&printed), all);
        let (outcome, printed) = run(program, &launch("1, 7"));
        let error = outcome.unwrap_err().to_string();
        assert_eq!(text(&printed), &all[..40]);
        assert!(error.contains("block [0, 0, 0], thread [1, 0, 0] (warp 0, lane 1): "), "{error}");
        let said = ": void check(const int *, int): assertion `values[i] < limit` failed";
        assert!(error.contains(": print.cu:") && error.ends_with(said), "{error}");
    }
}

/// Prints one format with arguments that lie in a buffer.
fn format(format: &str, arguments: &[u8]) -> Result<String, String> {
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n\
               .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
               .entry k(.param .u64 format, .param .u64 arguments)\n{\n .reg .b64 %f, %a; .reg .b32 %r;\n\
               ld.param.u64 %f, [format]; ld.param.u64 %a, [arguments];\n call (%r), vprintf, (%f, %a);\n ret;\n}\n";
    let bytes = |bytes: &[u8]| {
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        format!(
            "{{ type = \"u8\", length = {}, fill = {{ values = [{}] }} }}",
            bytes.len(),
            numbers.join(", ")
        )
    };
    let launch = format!(
        "[buffers]\nformat = {}\narguments = {}\n[[steps]]\ngrid = 1\nblock = 1\narguments = [\"format\", \"arguments\"]\n",
        bytes(&[format.as_bytes(), &[0]].concat()),
        bytes(&[arguments, &[0]].concat()),
    );
    let (outcome, printed) = run(ptx, &launch);
    outcome.map(|_| text(&printed).to_owned()).map_err(|error| error.to_string())
}

#[test]
fn conversions_print_what_c_prints() {
    // What glibc prints.
    let integers: [(&str, i64, &str); 26] = [
        ("%5d", -42, "  -42"),
        ("%-5d|", -42, "-42  |"),
        ("%05d", -42, "-0042"),
        ("%+d", 42, "+42"),
        ("% d", 42, " 42"),
        ("%.4d", -42, "-0042"),
        ("%8.4d", 42, "    0042"),
        ("%.0d", 0, ""),
        ("%u", -1, "4294967295"),
        ("%hhu", 511, "255"),
        ("%hd", 65535, "-1"),
        ("%lld", -1, "-1"),
        ("%lu", -1, "18446744073709551615"),
        ("%#x", 48879, "0xbeef"),
        ("%#X", 48879, "0XBEEF"),
        ("%#o", 8, "010"),
        ("%x", 0, "0"),
        ("%#x", 0, "0"),
        ("%08x", 48879, "0000beef"),
        ("%c", 65, "A"),
        ("%3c", 65, "  A"),
        ("%p", 0x1234, "0x1234"),
        ("%zu", 1 << 40, "1099511627776"),
        ("%%%i%%", 7, "%7%"),
        ("%-08d|", 5, "5       |"),
        ("%+.3i", 7, "+007"),
    ];
    for (conversion, value, expected) in integers {
        assert_eq!(format(conversion, &value.to_le_bytes()).as_deref(), Ok(expected), "{conversion}");
    }
    let floats: [(&str, f64, &str); 34] = [
        ("%f", PI, "3.141593"),
        ("%.0f", 2.5, "2"),
        ("%#.0f", 2.5, "2."),
        ("%.1f", 2.25, "2.2"),
        ("%10.2f", -PI, "     -3.14"),
        ("%-10.2f|", PI, "3.14      |"),
        ("%010.2f", -PI, "-000003.14"),
        ("%e", 12345.678, "1.234568e+04"),
        ("%.0e", 12345.678, "1e+04"),
        ("%E", 0.00012, "1.200000E-04"),
        ("%e", 0.0, "0.000000e+00"),
        ("%.3e", 1e-310, "1.000e-310"),
        ("%g", 100000.0, "100000"),
        ("%g", 1000000.0, "1e+06"),
        ("%g", 0.0001, "0.0001"),
        ("%g", 0.00001, "1e-05"),
        ("%#g", 1.5, "1.50000"),
        ("%.3g", 1234.5, "1.23e+03"),
        ("%G", 1e-10, "1E-10"),
        ("%g", 0.0, "0"),
        ("%.10g", 0.1, "0.1"),
        ("%.0g", 0.5, "0.5"),
        ("%a", 1.0, "0x1p+0"),
        ("%a", 0.1, "0x1.999999999999ap-4"),
        ("%.2a", 1.999, "0x2.00p+0"),
        ("%A", -255.5, "-0X1.FFP+7"),
        ("%.0a", 1.5, "0x2p+0"),
        ("%a", 0.0, "0x0p+0"),
        ("%.15a", 0.5, "0x1.000000000000000p-1"),
        ("%12.1a", 3.0, "    0x1.8p+1"),
        ("%f", f64::INFINITY, "inf"),
        ("%F", f64::NEG_INFINITY, "-INF"),
        ("%06f", f64::NAN, "   nan"),
        ("%+g", -0.0, "-0"),
    ];
    for (conversion, value, expected) in floats {
        assert_eq!(format(conversion, &value.to_le_bytes()).as_deref(), Ok(expected), "{conversion}");
    }
    // Arguments are aligned to their sizes; a width of an argument's.
    let mixed = [
        &6_i32.to_le_bytes()[..],
        &42_i32.to_le_bytes(),
        &1_i32.to_le_bytes(),
        &[0; 4],
        &2.25_f64.to_le_bytes(),
    ];
    assert_eq!(format("%-*d|%.*f", &mixed.concat()).as_deref(), Ok("42    |2.2"));
}

#[test]
fn a_format_that_cannot_be_printed_says_what_is_accepted() {
    for (conversion, arguments, told) in [
        ("%n", &[0; 8][..], "the format has `%n`; accepted: %d %i %u %o %x %X %c %s %p %f %e %g %a %%"),
        ("100%", &[], "the format has `%`; accepted: "),
        ("%-5q", &[], "the format has `%-5q`; accepted: "),
        ("%5000d", &[0; 8], "the format has the width 5000; accepted: at most 4096"),
        ("%.99999999999999999999f", &[0; 8], "; accepted: at most 4096"),
        ("%d %d %d", &[0; 4], "bytes from the start of buffer `arguments`"),
        ("%s", &[1, 0, 0, 0, 0, 0, 0, 0], "1 bytes at global address 0x1, "),
    ] {
        let error = format(conversion, arguments).unwrap_err();
        assert!(error.contains(told), "{conversion}: {error}");
    }
}

#[test]
fn arguments_beyond_the_last_address_are_not_there() {
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.global .b8 f[8] = {37, 108, 100, 37, 108, 100, 0, 0};\n\
               .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
               .entry k(.param .u64 at)\n{\n .reg .b64 %f, %a; .reg .b32 %r;\n\
               ld.param.u64 %a, [at]; mov.u64 %f, f; cvta.global.u64 %f, %f; call (%r), vprintf, (%f, %a);\n ret;\n}\n";
    for at in [-1, -8, -16] {
        let launch = format!("[[steps]]\ngrid = 1\nblock = 1\narguments = [{{ s64 = {at} }}]\n");
        let error = run(ptx, &launch).0.unwrap_err().to_string();
        assert!(error.contains("8 bytes at global address 0xfffffffffffffff"), "{at}: {error}");
    }
}

#[test]
fn what_is_printed_is_bounded() {
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.global .b8 f[8] = {37, 52, 48, 57, 54, 100, 0, 0};\n\
               .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
               .entry k(.param .u64 arguments)\n{\n .reg .b64 %f, %a; .reg .b32 %r, %n; .reg .pred %p;\n\
               ld.param.u64 %a, [arguments]; mov.u64 %f, f; cvta.global.u64 %f, %f; mov.u32 %n, 0;\n\
               LOOP: call (%r), vprintf, (%f, %a);\n add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 300;\n\
               @%p bra LOOP;\n ret;\n}\n";
    let launch = "[buffers]\narguments = { type = \"s32\", length = 1, fill = \"zeros\" }\n\
                  [[steps]]\ngrid = 1\nblock = 1\narguments = [\"arguments\"]\n";
    for (launch, calls) in [(launch.to_owned(), 300), (launch.replace("grid = 1", "grid = 2"), 600)] {
        let (outcome, printed) = run(ptx, &launch);
        outcome.unwrap();
        assert_eq!((printed.text.len(), printed.dropped), (1 << 20, calls - 256));
    }
}
