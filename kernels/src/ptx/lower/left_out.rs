//! What PTX has and is left out here: each gets one sentence, and is an error of the kernel that uses it.

use super::super::ast::RawInstruction;
use super::super::error::Complaint;

/// Clusters of blocks.
pub(super) const CLUSTERS: &str =
    "clusters of blocks are not supported; accepted: blocks that work together through global memory only";

/// Formats of 8 bits and less.
const SMALL_FLOATS: [&str; 6] = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "ue8m0"];

/// Why an instruction is left out, if it is.
pub(super) fn instruction(raw: &RawInstruction<'_>) -> Result<(), Complaint> {
    let is_small = |word: &&&str| SMALL_FLOATS.iter().any(|name| word.starts_with(name));
    if let Some(word) = raw.modifiers.iter().find(is_small) {
        return Err(format!(
            "8-bit floating point (.{word}) is not supported; accepted: .f16 .bf16 .f32 .f64"
        ));
    }
    let of_cluster = |word: &&str| *word == "cluster" || *word == "shared::cluster";
    if matches!(raw.opcode, "mapa" | "getctarank") || raw.modifiers.iter().any(of_cluster) {
        return Err(CLUSTERS.to_owned());
    }
    Ok(())
}

/// Why a special register is left out, if it is.
pub(super) fn special_register(name: &str) -> Result<(), Complaint> {
    if name.starts_with("%cluster") || name.starts_with("%ncluster") || name == "%is_explicit_cluster" {
        return Err(CLUSTERS.to_owned());
    }
    if name.starts_with("%envreg") {
        return Err(format!(
            "`{name}` is read to synchronise a whole grid, which is not supported: blocks are executed one after the \
             other; accepted: a launch for each part"
        ));
    }
    Ok(())
}

/// Why a function without a body in the file is left out, if it is.
pub(super) fn function(name: &str) -> Result<(), Complaint> {
    if name.starts_with('%') {
        return Err(format!(
            "a call through the function pointer `{name}` is not supported; accepted: functions called by name"
        ));
    }
    if name == "malloc" || name == "free" {
        return Err(format!(
            "memory that a kernel allocates (`{name}`) is not supported; accepted: buffers of the launch file"
        ));
    }
    if name.starts_with("cudaCGSynchronize") || name.starts_with("cudaCGGet") {
        return Err(format!(
            "a grid that synchronises as a whole (`{name}`) is not supported: blocks are executed one after the other; \
             accepted: a launch for each part"
        ));
    }
    if name.starts_with("cudaLaunch") || name.starts_with("cudaGetParameterBuffer") {
        return Err(format!("a kernel that launches kernels (`{name}`) is not supported"));
    }
    Ok(())
}
