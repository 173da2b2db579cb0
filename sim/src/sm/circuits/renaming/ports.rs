//! Ports that renaming adds to a register file.

use warpfile_engine::{Engine, EngineError, InPort, OutPort};
use warpfile_hdl::rfv::RESULTS;

use super::super::super::design::MAX_ISSUES;
use super::super::Group;

pub(super) struct RenamingPorts {
    pub issue: [RenamingIssuePorts; MAX_ISSUES],
    /// Nothing reads the result; results of short operations, then that of a long-latency operation.
    pub dead: [InPort; MAX_ISSUES + 1],
    pub retire: InPort,
    pub limits: LimitPorts,
    pub held: OutPort,
    pub register_wait: OutPort,
}

pub(super) struct RenamingIssuePorts {
    pub warp: InPort,
    pub result_valid: Vec<InPort>,
    pub result_register: Vec<InPort>,
    pub release: InPort,
}

pub(super) struct LimitPorts {
    pub oldest: InPort,
    pub first: InPort,
    pub quota: InPort,
    pub slack: InPort,
    pub allowance: OutPort,
}

impl RenamingPorts {
    pub fn resolve(engine: &dyn Engine) -> Result<RenamingPorts, EngineError> {
        let limits = Group::new(engine, "limits");
        Ok(RenamingPorts {
            issue: [RenamingIssuePorts::resolve(engine, 0)?, RenamingIssuePorts::resolve(engine, 1)?],
            dead: [
                engine.input("result_dead0_i")?,
                engine.input("result_dead1_i")?,
                engine.input("fill_dead_i")?,
            ],
            retire: engine.input("retire_i")?,
            limits: LimitPorts {
                oldest: limits.input("oldest_i")?,
                first: limits.input("first_i")?,
                quota: limits.input("quota_i")?,
                slack: limits.input("slack_i")?,
                allowance: limits.output("allowance_o")?,
            },
            held: engine.output("held_o")?,
            register_wait: engine.output("register_wait_o")?,
        })
    }
}

impl RenamingIssuePorts {
    fn resolve(engine: &dyn Engine, way: usize) -> Result<RenamingIssuePorts, EngineError> {
        let issue = Group::new(engine, &format!("issue{way}"));
        let results = |port: &str| {
            (0..RESULTS).map(|index| issue.input(&format!("result{index}_{port}"))).collect::<Result<_, _>>()
        };
        Ok(RenamingIssuePorts {
            warp: issue.input("warp_i")?,
            result_valid: results("valid_i")?,
            result_register: results("register_i")?,
            release: issue.input("release_i")?,
        })
    }
}
