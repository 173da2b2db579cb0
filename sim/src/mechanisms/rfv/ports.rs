//! Ports that renaming adds to a register file.

use warpfile_engine::{Engine, EngineError, InPort, OutPort};
use warpfile_hdl::rfv::RESULTS;

use crate::mechanisms::circuit::{Group, numbered};

pub(super) struct RenamingPorts {
    /// One for each instruction that is issued a cycle.
    pub issue: Vec<RenamingIssuePorts>,
    /// Nothing reads the result; results of short operations, as many.
    pub dead: Vec<InPort>,
    /// Nothing reads the result of a long-latency operation.
    pub fill_dead: InPort,
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
    pub turn: InPort,
    pub parked: InPort,
    pub ended: InPort,
    pub claim: InPort,
    pub quota: InPort,
    pub admitted: OutPort,
}

impl RenamingPorts {
    pub fn resolve(engine: &dyn Engine, issues: usize) -> Result<RenamingPorts, EngineError> {
        let limits = Group::new(engine, "limits");
        Ok(RenamingPorts {
            issue: numbered(issues, |number| RenamingIssuePorts::resolve(engine, number))?,
            dead: numbered(issues, |number| engine.input(&format!("result_dead{number}_i")))?,
            fill_dead: engine.input("fill_dead_i")?,
            retire: engine.input("retire_i")?,
            limits: LimitPorts {
                oldest: limits.input("oldest_i")?,
                turn: limits.input("turn_i")?,
                parked: limits.input("parked_i")?,
                ended: limits.input("ended_i")?,
                claim: limits.input("claim_i")?,
                quota: limits.input("quota_i")?,
                admitted: limits.output("admitted_o")?,
            },
            held: engine.output("held_o")?,
            register_wait: engine.output("register_wait_o")?,
        })
    }
}

impl RenamingIssuePorts {
    fn resolve(engine: &dyn Engine, number: &str) -> Result<RenamingIssuePorts, EngineError> {
        let issue = Group::new(engine, &format!("issue{number}"));
        let results = |port: &str| {
            (0..RESULTS)
                .map(|result| issue.input(&format!("result{result}_{port}")))
                .collect::<Result<_, _>>()
        };
        Ok(RenamingIssuePorts {
            warp: issue.input("warp_i")?,
            result_valid: results("valid_i")?,
            result_register: results("register_i")?,
            release: issue.input("release_i")?,
        })
    }
}
