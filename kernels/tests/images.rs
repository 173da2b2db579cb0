//! Textures and surfaces against the formulas of the CUDA C++ Programming Guide ("Texture Fetching"), and what is said of
//! images that do not exist.

use std::path::Path;
use std::sync::Arc;

use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::exec::PtxRun;
use warpfile_kernels::launch::LaunchFile;
use warpfile_kernels::ptx::parse;

use crate::cuda::words;

const PROGRAM: &str = include_str!("ptx/images.ptx");

/// Runs a launch file, and gives what a buffer holds then, by its place in the file.
fn outcome(ptx: &str, launch: &str, buffer: usize) -> Result<Vec<u32>, String> {
    let file = LaunchFile::parse(Path::new("image.toml"), launch).map_err(|error| error.to_string())?;
    let module = parse("images.ptx", ptx).unwrap();
    let mut run = PtxRun::new(module, Arc::new(file), "default").map_err(|error| error.to_string())?;
    run.set_options(CompileOptions { schedule: Schedule::List, ..CompileOptions::default() });
    run.run_to_end().map_err(|error| error.to_string())?;
    Ok(words(run.host_memory().read(buffer).unwrap()))
}

fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|&word| f32::from_bits(word)).collect()
}

const WIDTH: i64 = 5;
const HEIGHT: i64 = 3;

/// The texel of an index that may be outside, one direction after the other.
fn inside(index: i64, extent: i64, mode: &str) -> Option<i64> {
    let mut index = index;
    while !(0..extent).contains(&index) {
        index = match mode {
            "clamp" => index.signum().max(0) * (extent - 1),
            "wrap" if index < 0 => index + extent,
            "wrap" => index - extent,
            "mirror" if index < 0 => -1 - index,
            "mirror" => 2 * extent - 1 - index,
            _border => return None,
        };
    }
    Some(index)
}

/// tex(x, y) of a texture whose texels are given by a function, 0 on the border.
fn sampled(texel: &dyn Fn(i64, i64) -> f64, linear: bool, modes: [&str; 2], [x, y]: [f64; 2]) -> f64 {
    let at = |i: i64, j: i64| {
        let indices = (inside(i, WIDTH, modes[0]), inside(j, HEIGHT, modes[1]));
        if let (Some(i), Some(j)) = indices { texel(i, j) } else { 0.0 }
    };
    if !linear {
        return at(x.floor() as i64, y.floor() as i64);
    }
    let (xb, yb) = (x - 0.5, y - 0.5);
    let (i, j) = (xb.floor() as i64, yb.floor() as i64);
    let (alpha, beta) = (xb - xb.floor(), yb - yb.floor());
    (1.0 - alpha) * (1.0 - beta) * at(i, j)
        + alpha * (1.0 - beta) * at(i + 1, j)
        + (1.0 - alpha) * beta * at(i, j + 1)
        + alpha * beta * at(i + 1, j + 1)
}

/// The launch of a kernel that samples 480 points of a texture of `type`.
fn plane(element: &str, values: &str, options: &str, scale: [f64; 2]) -> (String, Vec<[f64; 2]>) {
    // Points a 64th of a texel apart at most, so that weights are exact, from two images before to two behind.
    let point = |n: i64| {
        let (x, y) = ((n * 83) % 1601 - 640, (n * 131) % 961 - 384);
        [x as f64 / 64.0 / scale[0], y as f64 / 64.0 / scale[1]]
    };
    // Normalised coordinates are not exact in single precision; the texture sees what single precision holds.
    let points: Vec<[f64; 2]> = (0..480).map(|n| point(n).map(|value| f64::from(value as f32))).collect();
    let list =
        |axis: usize| points.iter().map(|point| format!("{:?}", point[axis])).collect::<Vec<_>>().join(", ");
    let launch = format!(
        "[buffers]\nimage = {{ type = \"{element}\", {values} }}\n\
         x = {{ type = \"f32\", length = 480, fill = {{ values = [{}] }} }}\n\
         y = {{ type = \"f32\", length = 480, fill = {{ values = [{}] }} }}\n\
         texels = {{ type = \"f32\", length = 1920, fill = \"zeros\" }}\n\
         [[steps]]\nentry = \"plane\"\ngrid = 15\nblock = 32\n\
         arguments = [{{ texture = \"image\", width = {WIDTH}, height = {HEIGHT}{options} }}, \"x\", \"y\", \"texels\"]\n",
        list(0),
        list(1)
    );
    (launch, points)
}

#[test]
fn points_are_filtered_and_repeated_as_the_programming_guide_says() {
    let texel = |i: i64, j: i64| (i * i + 7 * j) as f64 * 0.125 - 1.0;
    let values: Vec<String> =
        (0..HEIGHT).flat_map(|j| (0..WIDTH).map(move |i| format!("{:?}", texel(i, j)))).collect();
    let values = format!("length = 15, fill = {{ values = [{}] }}", values.join(", "));
    for (modes, address) in [
        (["clamp", "clamp"], "\"clamp\""),
        (["wrap", "wrap"], "\"wrap\""),
        (["mirror", "mirror"], "\"mirror\""),
        (["border", "border"], "\"border\""),
        (["wrap", "mirror"], "[\"wrap\", \"mirror\"]"),
    ] {
        for (linear, normalized) in [(false, false), (false, true), (true, false), (true, true)] {
            let filter = if linear { "linear" } else { "point" };
            let options = format!(", filter = \"{filter}\", address = {address}, normalized = {normalized}");
            let scale = if normalized { [WIDTH as f64, HEIGHT as f64] } else { [1.0, 1.0] };
            let (launch, points) = plane("f32", &values, &options, scale);
            let found = floats(&outcome(PROGRAM, &launch, 3).unwrap());
            // Only normalised coordinates repeat.
            let modes = modes.map(|mode| if !normalized && mode != "border" { "clamp" } else { mode });
            for (point, found) in points.iter().zip(found.chunks(4)) {
                let at = [point[0] * scale[0], point[1] * scale[1]];
                let expected = sampled(&texel, linear, modes, at);
                // Weights have 8 bits: half a step is the most that they may be off.
                let tolerance = if linear && normalized { 2.0 * 4.0 / 512.0 } else { 0.0 };
                let off = (f64::from(found[0]) - expected).abs();
                assert!(off <= tolerance, "{options} at {point:?}: {} and not {expected}", found[0]);
                assert_eq!(found[1..], [0.0, 0.0, 1.0], "{options} at {point:?}");
            }
        }
    }
}

#[test]
fn weights_have_eight_bits_of_fraction() {
    let launch = "[buffers]\nimage = { type = \"f32\", length = 2, fill = { values = [0.0, 256.0] } }\n\
                  x = { type = \"f32\", length = 4, fill = { values = [0.501, 0.503, 1.0, 1.4999] } }\n\
                  texels = { type = \"f32\", length = 16, fill = \"zeros\" }\n[[steps]]\nentry = \"line\"\ngrid = 1\nblock = 4\n\
                  arguments = [{ texture = \"image\", width = 2, filter = \"linear\" }, \"x\", \"texels\"]\n";
    let found = floats(&outcome(PROGRAM, launch, 2).unwrap());
    assert_eq!([found[0], found[4], found[8], found[12]], [0.0, 1.0, 128.0, 256.0]);
}

#[test]
fn integers_are_read_as_they_are_or_as_numbers_up_to_one() {
    // Pairs of bytes and of words of 16 bits, and four bytes.
    for (element, channels, most, least) in
        [("u8", 2, 255.0, 0), ("s8", 2, 127.0, -128), ("u16", 2, 65535.0, 0), ("s16", 4, 32767.0, -32768)]
    {
        let value = |n: i64| least + (n * 9973) % if element.ends_with("16") { 65536 } else { 256 };
        let count = 15 * channels;
        let values: Vec<String> = (0..count).map(|n| value(n).to_string()).collect();
        let values = format!("length = {count}, fill = {{ values = [{}] }}", values.join(", "));
        let options = format!(", channels = {channels}, read = \"normalized\", filter = \"linear\"");
        let (launch, points) = plane(element, &values, &options, [1.0, 1.0]);
        let found = floats(&outcome(PROGRAM, &launch, 3).unwrap());
        for (&point, found) in points.iter().zip(found.chunks(4)) {
            for component in 0..4 {
                let texel =
                    |i: i64, j: i64| (value((j * WIDTH + i) * channels + component) as f64 / most).max(-1.0);
                let expected = match component {
                    own if own < channels => sampled(&texel, true, ["clamp"; 2], point),
                    3 => 1.0,
                    _missing => 0.0,
                };
                let off = (f64::from(found[component as usize]) - expected).abs();
                assert!(
                    off < 1e-6,
                    "{element} at {point:?}: {} and not {expected}",
                    found[component as usize]
                );
            }
        }
    }
    let launch = "[buffers]\nimage = { type = \"s8\", length = 8, fill = { values = [-1, 2, -3, 4, -5, 6, -7, 8] } }\n\
                  texels = { type = \"s32\", length = 24, fill = \"zeros\" }\n[[steps]]\nentry = \"fetch\"\ngrid = 1\nblock = 6\n\
                  arguments = [{ texture = \"image\", width = 4, channels = 2, address = \"border\" }, { s32 = -1 }, \"texels\"]\n";
    let found: Vec<i32> = outcome(PROGRAM, launch, 1).unwrap().into_iter().map(|word| word as i32).collect();
    let expected = [[0, 0, 0, 1], [-1, 2, 0, 1], [-3, 4, 0, 1], [-5, 6, 0, 1], [-7, 8, 0, 1], [0, 0, 0, 1]];
    assert_eq!(found, expected.concat());
}

#[test]
fn a_cuda_program_reads_one_surface_and_writes_another() {
    let launch = "[sizes]\ndefault = { w = 6, h = 4 }\n[buffers]\n\
                  from = { type = \"s32\", length = \"w * h\", fill = { random = { seed = 3, low = -99, high = 99 } } }\n\
                  to = { type = \"s32\", length = \"w * h\", fill = \"zeros\" }\n\
                  [[steps]]\nentry = \"differences\"\ngrid = \"h\"\nblock = \"w\"\n\
                  arguments = [{ surface = \"from\", width = \"w\", height = \"h\" }, { surface = \"to\", width = \"w\", height = \"h\" }, { s32 = \"w\" }]\n";
    let from = outcome(PROGRAM, launch, 0).unwrap();
    let to = outcome(PROGRAM, launch, 1).unwrap();
    for (at, &found) in to.iter().enumerate() {
        let (x, row) = (at % 6, &from[at / 6 * 6..][..6]);
        let right = row.get(x + 1).copied().unwrap_or(0);
        let left = row[x.saturating_sub(1)];
        assert_eq!(found, right.wrapping_sub(left), "element {at}");
    }
}

#[test]
fn a_texture_reference_is_the_image_that_its_buffer_says() {
    // The same kernel with a reference in place of the handle.
    let reference = PROGRAM
        .replace(".address_size 64\n", ".address_size 64\n.global .texref image;\n")
        .replace("[%rd1, {%f5, %f6}]", "[image, {%f5, %f6}]");
    assert_ne!(reference, PROGRAM);
    let values: Vec<String> = (0..15).map(|n| format!("{:?}", f64::from(n * n % 7))).collect();
    let values = format!("length = 15, fill = {{ values = [{}] }}", values.join(", "));
    let options = ", filter = \"linear\", address = [\"border\", \"clamp\"]";
    let (by_handle, _) = plane("f32", &values, options, [1.0, 1.0]);
    let image = format!("symbol = \"image\", texture = {{ width = {WIDTH}, height = {HEIGHT}{options} }}");
    let (by_reference, _) = plane("f32", &format!("{values}, {image}"), options, [1.0, 1.0]);
    let expected = outcome(PROGRAM, &by_handle, 3).unwrap();
    assert_eq!(outcome(&reference, &by_reference, 3).unwrap(), expected);
    let (plain, _) = plane("f32", &format!("{values}, symbol = \"image\""), options, [1.0, 1.0]);
    assert_ne!(outcome(&reference, &plain, 3).unwrap(), expected);
    let large =
        by_reference.replace("texture = { width = 5, height = 3", "texture = { width = 5, height = 4");
    let told = outcome(&reference, &large, 3).unwrap_err();
    assert!(told.contains("a texture of 80 bytes in a buffer of 60"), "{told}");
    let told = outcome(&reference, &by_reference.replace("symbol = \"image\", ", ""), 3).unwrap_err();
    assert!(told.contains("a texture that has no `symbol`; accepted: that of a .texref"), "{told}");
}

#[test]
fn coordinates_far_outside_and_no_numbers_are_answered() {
    for address in ["clamp", "wrap", "mirror", "border"] {
        for filter in ["point", "linear"] {
            let launch = format!(
                "[buffers]\nimage = {{ type = \"f32\", length = 2, fill = {{ values = [1.0, 2.0] }} }}\n\
                 x = {{ type = \"u32\", length = 5, fill = {{ values = [2139095040, 4286578688, 2143289344, 1900671690, 4048155338] }} }}\n\
                 texels = {{ type = \"f32\", length = 20, fill = \"zeros\" }}\n[[steps]]\nentry = \"line\"\ngrid = 1\nblock = 5\n\
                 arguments = [{{ texture = \"image\", width = 2, normalized = true, filter = \"{filter}\", address = \"{address}\" }}, \"x\", \"texels\"]\n"
            );
            // Infinity, its negative, no number, 1e30, −1e30.
            let found = floats(&outcome(PROGRAM, &launch, 2).unwrap());
            let first = [found[0], found[4], found[12], found[16]];
            match address {
                "clamp" => assert_eq!(first, [2.0, 1.0, 2.0, 1.0], "{filter}"),
                "border" => assert_eq!(first, [0.0; 4], "{filter}"),
                _repeated => {
                    assert!(first.iter().all(|value| (1.0..=2.0).contains(value)), "{filter} {first:?}")
                }
            }
            assert!(found[8].is_finite());
        }
    }
}

/// A kernel of one thread with a handle in `%h`, and an address in `%a`.
fn kernel(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.entry k(.param .u64 handle, .param .u64 buffer)\n{{\n\
         .reg .b64 %h, %a, %d<4>; .reg .b32 %r<8>; .reg .b16 %s<4>; .reg .f32 %f<4>;\n\
         ld.param.u64 %h, [handle]; ld.param.u64 %a, [buffer];\n{body}\nret;\n}}\n"
    )
}

/// What it leaves in 16 words of a buffer, of which the first 8 are a surface of two rows.
fn surface(body: &str, image: &str) -> Result<Vec<u32>, String> {
    let launch = format!(
        "[buffers]\nwords = {{ type = \"u32\", length = 16, fill = {{ iota = {{ start = 1, step = 1 }} }} }}\n\
         [[steps]]\ngrid = 1\nblock = 1\narguments = [{{ {image} }}, \"words\"]\n"
    );
    outcome(&kernel(body), &launch, 0)
}

#[test]
fn accesses_outside_of_a_surface_trap_move_or_do_nothing() {
    let image = "surface = \"words\", width = 4, height = 2";
    let run = |body: &str| surface(body, image);
    let body = "mov.u32 %r0, 8; mov.u32 %r1, 1; suld.b.2d.v2.b32.trap {%r2, %r3}, [%h, {%r0, %r1}]; \
                st.global.v2.u32 [%a+32], {%r2, %r3}; suld.b.1d.b16.trap %s0, [%h, {%r1}];";
    let told = run(body).unwrap_err();
    assert!(told.contains("2 bytes at byte 1 of a row of a surface; accepted: multiples of 2"), "{told}");
    let stores = "mov.u32 %r0, -4; mov.u32 %r1, 7; mov.u32 %r2, 99; mov.u64 %d0, 0x1122334455667788;\n\
                  sust.b.2d.b32.clamp [%h, {%r0, %r1}], {%r2}; sust.b.2d.b32.zero [%h, {%r0, %r1}], %r2;\n\
                  sust.b.1d.b64.clamp [%h, {%r0}], %d0;";
    let told = run(stores).unwrap_err();
    assert!(told.contains("8 bytes at byte -4 of a row of a surface; accepted: multiples of 8"), "{told}");
    let stores = stores
        .replace("sust.b.1d.b64.clamp [%h, {%r0}]", "mov.u32 %r0, 800; sust.b.1d.b64.clamp [%h, {%r0}]");
    let found = run(&stores).unwrap();
    assert_eq!(found[..8], [1, 2, 0x5566_7788, 0x1122_3344, 99, 6, 7, 8]);
    let loads = "mov.u32 %r0, 16; mov.u32 %r1, 0; suld.b.2d.b32.clamp %r2, [%h, {%r0, %r1}]; \
                 suld.b.2d.b32.zero %r3, [%h, {%r0, %r1}]; st.global.v2.u32 [%a+32], {%r2, %r3}; \
                 suld.b.1d.v4.b8.trap {%s0, %s1, %s2, %s3}, [%h, {12}]; st.global.v4.u8 [%a+40], {%s0, %s1, %s2, %s3};";
    assert_eq!(run(loads).unwrap()[8..11], [4, 0, 4]);
    let told = run("suld.b.2d.b32.trap %r2, [%h, {16, 0}];").unwrap_err();
    assert!(
        told.contains("4 bytes at byte 16 of row 0 of a surface; accepted: rows 0 to 1 of 16 bytes"),
        "{told}"
    );
}

#[test]
fn images_that_do_not_exist_say_so() {
    let texture = "tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%h, {0}];";
    for (body, image, told) in [
        (
            texture,
            "surface = \"words\", width = 4",
            "is no texture; accepted: an argument { texture = … } of the launch file",
        ),
        (texture, "u64 = 7", "0x7 is no texture"),
        (texture, "texture = \"words\", width = 17", "a texture of 68 bytes in a buffer of 64"),
        (texture, "texture = \"words\", width = 0", "`steps[0].arguments[0].width`: 0"),
        (texture, "texture = \"words\"", "`steps[0].arguments[0]`"),
        (texture, "texture = \"word\", width = 4", "`steps[0].arguments[0].texture`"),
        (
            texture,
            "texture = \"words\", width = 4, filter = \"linear\"",
            "`filter = \"linear\"` of u32; accepted: f32, and u8, ",
        ),
        (
            texture,
            "texture = \"words\", width = 4, read = \"normalized\"",
            "`read = \"normalized\"` of u32; accepted: u8, ",
        ),
        (
            texture,
            "texture = \"words\", width = 4, address = \"repeat\"",
            "`repeat` (there is `clamp`, `wrap`, `mirror`, `border`)",
        ),
        (
            texture,
            "texture = \"words\", width = 4, channels = 3",
            "the integer 3 where 1, 2 or 4 is expected",
        ),
        (
            texture,
            "texture = \"words\", width = 4, normalized = 1",
            "the integer 1 where true or false is expected",
        ),
        (texture, "surface = \"words\", width = 4, filter = \"point\"", "filter"),
        ("ret;", "texture = \"words\", width = 16", ""),
    ] {
        match surface(body, image) {
            Ok(_) => assert_eq!(told, "", "{image}"),
            Err(error) => assert!(!told.is_empty() && error.contains(told), "{image}: {error}"),
        }
    }
}
