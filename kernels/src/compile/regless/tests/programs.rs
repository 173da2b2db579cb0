//! Small kernels for the tests.

use std::path::Path;
use std::sync::Arc;

use crate::compile::CompileOptions;
use crate::exec::PtxRun;
use crate::launch::LaunchFile;
use crate::ptx;
use crate::ptx::ir::Module;

/// A kernel with `%r1` the thread's number and `%rd2` the address of its word.
pub fn module(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.entry k(.param .u64 o)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<9>;\n\
         ld.param.u64 %rd1, [o]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;\n{body}\nret;\n}}\n"
    );
    ptx::parse("small.ptx", &text).expect("valid PTX")
}

/// A run of that kernel: two warps, the second of eight threads.
pub fn ptx_run(body: &str) -> PtxRun {
    let launch = "[buffers]\no = { type = \"u32\", length = 64, fill = \"zeros\" }\n\
                  [[steps]]\ngrid = 1\nblock = 40\narguments = [\"o\"]\n";
    let launch = LaunchFile::parse(Path::new("small.toml"), launch).expect("valid launch file");
    let mut run = PtxRun::new(module(body), Arc::new(launch), "default").expect("it fits together");
    run.set_options(CompileOptions::as_written());
    run
}
