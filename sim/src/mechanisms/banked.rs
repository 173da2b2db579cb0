//! Banked main register file with operand collectors: what every design is compared with.
//!
//! Source: Gebhart et al., ISCA 2011, §2.1; two instructions a cycle as in Kloosterman et al., MICRO 2017, §5.2.

use warpfile_engine::Engine;
use warpfile_hdl::regfile::{BankedRegisterFile, DualIssueRegisterFile, TwoSchedulerRegisterFile};

use super::register_file::{
    self, ACCESS_CYCLES, CommonPorts, RETRIES, RegisterFile, Retries, common_ports, geometry, issue_ports,
    issues, write_ports,
};
use super::waves::{self, WaveGroup};
use super::{Build, Info, Mechanism, NamedCircuit, Part, RegisterRows, Role};
use crate::config::Config;
use crate::counters::{Group, Row};
use crate::energy::structure::Structure;
use crate::sm::SimError;
use crate::sm::design::{ID_BITS, OperandStorage, Unit};

/// A banked register file.
pub struct Banked;

impl Mechanism for Banked {
    fn info(&self) -> Info {
        Info {
            name: "banked",
            summary: "banked main register file with operand collectors (Gebhart et al. §2.1)",
            design: Some(("baseline", "banked main register file, single-level scheduler")),
            preset: "gebhart2011",
        }
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "single-level" }
    }

    fn register_rows(&self, _config: &Config) -> RegisterRows {
        RegisterRows::Movable
    }

    fn carries_shared_rows(&self) -> bool {
        true
    }

    fn serves_several_schedulers(&self) -> bool {
        true
    }

    fn counters(&self) -> Vec<Group> {
        vec![(RETRIES, Box::new(Retries::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        let name = "register_file";
        Ok(vec![if config.sm.schedulers_per_partition > 1 {
            NamedCircuit::of_partition(config, name, &two_schedulers(config))?
        } else if issues(config) > 1 {
            NamedCircuit::of_partition(config, name, &dual_issue(config))?
        } else {
            NamedCircuit::of_partition(config, name, &single_issue(config))?
        }])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let of_partitions = if at.config.sm.schedulers_per_partition > 1 {
            let circuit = two_schedulers(at.config);
            at.of_partitions(&circuit, &[], |engine| {
                let ports = engine.ports(&circuit)?;
                let mut file = RegisterFile::new(engine, common_ports!(ports), ACCESS_CYCLES);
                file.units_for_two = Some(ports.unit_takes_two_i);
                file.extra_reads = ports.extra_read;
                Ok(Box::new(file.counting_retries()) as Box<dyn OperandStorage>)
            })?
        } else if issues(at.config) > 1 {
            let circuit = dual_issue(at.config);
            at.of_partitions(&circuit, &[], |engine| {
                let ports = engine.ports(&circuit)?;
                let file = RegisterFile::new(engine, common_ports!(ports), ACCESS_CYCLES);
                Ok(Box::new(file.counting_retries()) as Box<dyn OperandStorage>)
            })?
        } else {
            let circuit = single_issue(at.config);
            at.of_partitions(&circuit, &[], |engine| {
                let ports = engine.ports(&circuit)?;
                let issue = issue_ports!(ports.issue, ports.dispatch, ports.operands, ports.result);
                let (unit_ready, fill) = (ports.unit_ready_i, write_ports!(ports.fill));
                let common = CommonPorts { issues: vec![issue], unit_ready, fill };
                let mut file = RegisterFile::new(engine, common, ACCESS_CYCLES);
                file.extra_reads = ports.extra_read;
                Ok(Box::new(file.counting_retries()) as Box<dyn OperandStorage>)
            })?
        };
        Ok(Part::Storages { of_partitions, line_port: None })
    }

    fn structures(&self, config: &Config) -> Vec<Structure> {
        register_file::structures(config, config.register_file.rows)
    }

    fn rows(&self) -> Vec<Row> {
        register_file::rows()
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::ISSUE, waves::OPERANDS, waves::RESULT, waves::FILL]
    }
}

fn single_issue(config: &Config) -> BankedRegisterFile {
    BankedRegisterFile {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        extra_read: config.design.extra_read(config),
    }
}

fn two_schedulers(config: &Config) -> TwoSchedulerRegisterFile {
    TwoSchedulerRegisterFile {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        extra_read: config.design.extra_read(config),
    }
}

fn dual_issue(config: &Config) -> DualIssueRegisterFile {
    DualIssueRegisterFile {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
    }
}
