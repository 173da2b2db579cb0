//! The ports of a shard, by the names in `docs/regless-pipeline.md`.

use warpfile_engine::{Engine, EngineError, InPort, OutPort};
use warpfile_hdl::regless::NOTES;
use warpfile_kernels::program::{MAX_RESULTS, MAX_SOURCES};

use crate::mechanisms::circuit::Group;
use crate::sm::design::Unit;

/// Outputs that are asked for before a cycle is run: whether memory takes a request depends on those of all shards.
pub(super) const FORESEEN: [&str; 8] = [
    "memory_request_valid_o",
    "memory_request_kind_o",
    "memory_request_compressed_o",
    "memory_request_warp_o",
    "memory_request_register_o",
    "memory_request_line_o",
    "memory_request_invalidates_o",
    "memory_request_value_o",
];

/// All ports of a shard.
pub(super) struct ShardPorts {
    pub metadata: MetadataPorts,
    pub active: OutPort,
    pub inactive: OutPort,
    pub exit_valid: InPort,
    pub exit_ready: OutPort,
    pub exit_warp: InPort,
    pub issue: Vec<IssuePorts>,
    pub unit: Vec<UnitPorts>,
    /// Results of short operations, as many as instructions are issued, then one of a long-latency operation.
    pub write: Vec<ShardWritePorts>,
    pub request: RequestPorts,
    pub fill: FillPorts,
    pub preload_hit: OutPort,
    pub preload_unwritten: OutPort,
    pub preload_fetched: OutPort,
    pub compressor_hit: OutPort,
    pub compressor_miss: OutPort,
}

/// A word of metadata.
pub(super) struct MetadataPorts {
    pub valid: InPort,
    pub ready: OutPort,
    pub warp: InPort,
    pub first: InPort,
    pub last: InPort,
    pub usage: InPort,
    pub note_valid: Vec<InPort>,
    pub note_kind: Vec<InPort>,
    pub note_register: Vec<InPort>,
}

/// An instruction.
pub(super) struct IssuePorts {
    pub valid: InPort,
    pub ready: OutPort,
    pub id: InPort,
    pub unit: InPort,
    pub warp: InPort,
    pub last: InPort,
    pub lanes: InPort,
    pub sources: Vec<AccessPorts>,
    pub results: Vec<AccessPorts>,
    pub result_written: Vec<InPort>,
}

/// A register that is read or written.
pub(super) struct AccessPorts {
    pub valid: InPort,
    pub register: InPort,
    pub fate: InPort,
}

/// An execution unit.
pub(super) struct UnitPorts {
    pub ready: InPort,
    pub dispatch_valid: OutPort,
    pub dispatch_id: OutPort,
    pub operands_valid: OutPort,
    pub operands_id: OutPort,
    pub sources: Vec<OutPort>,
    pub result_lines: Vec<OutPort>,
}

/// A result.
pub(super) struct ShardWritePorts {
    pub valid: InPort,
    pub ready: OutPort,
    pub warp: InPort,
    pub register: InPort,
    pub line: InPort,
    pub fate: InPort,
    pub lanes: InPort,
    pub value: InPort,
}

/// A request to memory.
pub(super) struct RequestPorts {
    pub valid: OutPort,
    pub ready: InPort,
    pub kind: OutPort,
    pub compressed: OutPort,
    pub warp: OutPort,
    pub register: OutPort,
    pub line: OutPort,
    pub invalidates: OutPort,
    pub value: OutPort,
}

/// A line from memory.
pub(super) struct FillPorts {
    pub valid: InPort,
    pub compressed: InPort,
    pub warp: InPort,
    pub register: InPort,
    pub line: InPort,
    pub value: InPort,
}

impl ShardPorts {
    /// Those of a shard that takes `issues` instructions a cycle.
    pub fn resolve(engine: &dyn Engine, issues: usize) -> Result<ShardPorts, EngineError> {
        let exit = Group::new(engine, "exit");
        Ok(ShardPorts {
            metadata: MetadataPorts::resolve(engine)?,
            active: engine.output("active_o")?,
            inactive: engine.output("inactive_o")?,
            exit_valid: exit.input("valid_i")?,
            exit_ready: exit.output("ready_o")?,
            exit_warp: exit.input("warp_i")?,
            issue: each(issues, |number| IssuePorts::resolve(engine, number))?,
            unit: each(Unit::COUNT, |number| UnitPorts::resolve(engine, number))?,
            write: each(issues + 1, |number| ShardWritePorts::resolve(engine, number))?,
            request: RequestPorts::resolve(engine)?,
            fill: FillPorts::resolve(engine)?,
            preload_hit: engine.output("preload_hit_o")?,
            preload_unwritten: engine.output("preload_unwritten_o")?,
            preload_fetched: engine.output("preload_fetched_o")?,
            compressor_hit: engine.output("compressor_hit_o")?,
            compressor_miss: engine.output("compressor_miss_o")?,
        })
    }
}

impl MetadataPorts {
    fn resolve(engine: &dyn Engine) -> Result<MetadataPorts, EngineError> {
        let metadata = Group::new(engine, "metadata");
        Ok(MetadataPorts {
            valid: metadata.input("valid_i")?,
            ready: metadata.output("ready_o")?,
            warp: metadata.input("warp_i")?,
            first: metadata.input("first_i")?,
            last: metadata.input("last_i")?,
            usage: metadata.input("usage_i")?,
            note_valid: each(NOTES, |n| metadata.input(&format!("note{n}_valid_i")))?,
            note_kind: each(NOTES, |n| metadata.input(&format!("note{n}_kind_i")))?,
            note_register: each(NOTES, |n| metadata.input(&format!("note{n}_register_i")))?,
        })
    }
}

impl IssuePorts {
    fn resolve(engine: &dyn Engine, number: usize) -> Result<IssuePorts, EngineError> {
        let issue = Group::new(engine, &format!("issue{number}"));
        Ok(IssuePorts {
            valid: issue.input("valid_i")?,
            ready: issue.output("ready_o")?,
            id: issue.input("id_i")?,
            unit: issue.input("unit_i")?,
            warp: issue.input("warp_i")?,
            last: issue.input("last_i")?,
            lanes: issue.input("lanes_i")?,
            sources: each(MAX_SOURCES, |k| AccessPorts::resolve(&issue, &format!("source{k}")))?,
            results: each(MAX_RESULTS, |k| AccessPorts::resolve(&issue, &format!("result{k}")))?,
            result_written: each(MAX_RESULTS, |k| issue.input(&format!("result{k}_written_i")))?,
        })
    }
}

impl AccessPorts {
    fn resolve(issue: &Group<'_>, name: &str) -> Result<AccessPorts, EngineError> {
        Ok(AccessPorts {
            valid: issue.input(&format!("{name}_valid_i"))?,
            register: issue.input(&format!("{name}_register_i"))?,
            fate: issue.input(&format!("{name}_fate_i"))?,
        })
    }
}

impl UnitPorts {
    fn resolve(engine: &dyn Engine, number: usize) -> Result<UnitPorts, EngineError> {
        let unit = Group::new(engine, &format!("unit{number}"));
        Ok(UnitPorts {
            ready: unit.input("ready_i")?,
            dispatch_valid: unit.output("dispatch_valid_o")?,
            dispatch_id: unit.output("dispatch_id_o")?,
            operands_valid: unit.output("operands_valid_o")?,
            operands_id: unit.output("operands_id_o")?,
            sources: each(MAX_SOURCES, |k| unit.output(&format!("operands_source{k}_o")))?,
            result_lines: each(MAX_RESULTS, |k| unit.output(&format!("operands_result{k}_line_o")))?,
        })
    }
}

impl ShardWritePorts {
    fn resolve(engine: &dyn Engine, number: usize) -> Result<ShardWritePorts, EngineError> {
        let write = Group::new(engine, &format!("write{number}"));
        Ok(ShardWritePorts {
            valid: write.input("valid_i")?,
            ready: write.output("ready_o")?,
            warp: write.input("warp_i")?,
            register: write.input("register_i")?,
            line: write.input("line_i")?,
            fate: write.input("fate_i")?,
            lanes: write.input("lanes_i")?,
            value: write.input("value_i")?,
        })
    }
}

impl RequestPorts {
    fn resolve(engine: &dyn Engine) -> Result<RequestPorts, EngineError> {
        let request = Group::new(engine, "memory_request");
        Ok(RequestPorts {
            valid: request.output("valid_o")?,
            ready: request.input("ready_i")?,
            kind: request.output("kind_o")?,
            compressed: request.output("compressed_o")?,
            warp: request.output("warp_o")?,
            register: request.output("register_o")?,
            line: request.output("line_o")?,
            invalidates: request.output("invalidates_o")?,
            value: request.output("value_o")?,
        })
    }
}

impl FillPorts {
    fn resolve(engine: &dyn Engine) -> Result<FillPorts, EngineError> {
        let fill = Group::new(engine, "memory_fill");
        Ok(FillPorts {
            valid: fill.input("valid_i")?,
            compressed: fill.input("compressed_i")?,
            warp: fill.input("warp_i")?,
            register: fill.input("register_i")?,
            line: fill.input("line_i")?,
            value: fill.input("value_i")?,
        })
    }
}

fn each<P>(count: usize, resolve: impl Fn(usize) -> Result<P, EngineError>) -> Result<Vec<P>, EngineError> {
    (0..count).map(resolve).collect()
}
