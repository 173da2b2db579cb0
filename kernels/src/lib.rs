//! Kernels: from PTX or a trace to machine instructions with the value of every operand.
//!
//! `ptx` parses, `exec` executes, `compile` allocates registers and annotates, `trace` reads and writes
//! files, `workloads` holds the kernels that come with the project. All of them meet in [`program`].
//!
//! A kernel of one's own, with the launch file that says what its host would do, executed warp by warp:
//!
//! ```
//! use std::path::Path;
//!
//! use warpfile_kernels::launch::LaunchFile;
//! use warpfile_kernels::program::{Launches, WarpInstruction};
//! use warpfile_kernels::workloads::OpenWorkload;
//!
//! let ptx = "
//!     .version 7.0
//!     .target sm_50
//!     .address_size 64
//!     .visible .entry double(.param .u64 data)
//!     {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [data];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.u32 %r2, [%rd3];
//!         shl.b32 %r2, %r2, 1;
//!         st.global.u32 [%rd3], %r2;
//!         ret;
//!     }";
//! let launch = r#"
//!     [sizes]
//!     default = { n = 64 }
//!     [buffers]
//!     data = { type = "u32", length = "n", fill = { iota = { start = 1, step = 1 } } }
//!     [[steps]]
//!     grid = 1
//!     block = "n"
//!     arguments = ["data"]
//! "#;
//! let file = LaunchFile::parse(Path::new("double.toml"), launch)?;
//! let mut kernel = OpenWorkload::from_text(file, "double.ptx", ptx, "default")?;
//!
//! // What the second warp loads: the 33rd to 64th numbers.
//! let mut loaded = Vec::new();
//! let mut stream = kernel.next_launch()?.expect("there is one launch");
//! let mut executed = WarpInstruction::default();
//! stream.start_block(0)?;
//! while stream.next(0, 1, &mut executed)? {
//!     let instruction = &stream.program().instructions[executed.inst.0 as usize];
//!     if instruction.operation.has_long_latency() {
//!         loaded.extend(executed.results[0]);
//!     }
//! }
//! assert_eq!(loaded, (33..=64).collect::<Vec<u32>>());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod compile;
pub mod exec;
pub mod launch;
pub mod program;
pub mod ptx;
pub mod trace;
pub mod workloads;
