//! Every circuit by name, for those who choose circuits and parameters at run time.

use serde_json::{Map, Value, json};

use crate::parts::{Fifo, RoundRobinArbiter};
use crate::regfile::{
    BankedRegisterFile, DualIssueRegisterFile, Geometry, MainRegisterFile, OperandCollectors, RegisterBank,
};
use crate::regless::{
    AccessDistributor, AccessQueue, CapacityManager, Compressor, L1Port, MetadataStore, OperandStagingUnit,
    PatternExpander, PatternMatcher, RegisterReadUnit, ShardGeometry, StagingBank, WarpStack,
};
use crate::rfc::{
    CachedRegisterFile, InnerPolicy, RegisterFileCache, Replacement, SourceAllocator, TwoLevelScheduler,
};
use crate::rfh::RegisterFileHierarchy;
use crate::rfv::{RenameTable, VirtualRegisterFile};
use crate::rtl::netlist::Netlist;
use crate::rtl::{Circuit, ElaborationErrors, elaborate};

/// All circuits, in the order of the folders.
pub fn library() -> Vec<CircuitEntry> {
    let one_lane = json!({"banks": 1, "rows": 5, "lanes": 1, "lanes_per_cluster": 1});
    let uneven = json!({"banks": 2, "rows": 7, "lanes": 6, "lanes_per_cluster": 3});
    let two_rows = json!({"banks": 1, "rows": 2, "lanes": 1, "lanes_per_cluster": 1});
    let two_banks = json!({"banks": 2, "rows": 2, "lanes": 1, "lanes_per_cluster": 1});
    // Shards: the smallest, the smallest in which warps and banks differ, and two whose lines are no power of two.
    let smallest =
        json!({"warps": 1, "banks": 1, "lines": 2, "lanes": 1, "lanes_per_slice": 1, "register_bits": 4});
    let two_each =
        json!({"warps": 2, "banks": 2, "lines": 2, "lanes": 1, "lanes_per_slice": 1, "register_bits": 4});
    let six_lines =
        json!({"warps": 4, "banks": 2, "lines": 6, "lanes": 6, "lanes_per_slice": 3, "register_bits": 5});
    let twelve_lines =
        json!({"warps": 2, "banks": 4, "lines": 12, "lanes": 4, "lanes_per_slice": 2, "register_bits": 6});
    vec![
        CircuitEntry::new(RoundRobinArbiter { requests: 4 })
            .odd([json!({"requests": 1}), json!({"requests": 5})])
            .proven_at(json!({"requests": 5})),
        CircuitEntry::new(Fifo { depth: 8, width: 32 })
            .odd([json!({"depth": 5, "width": 1}), json!({"depth": 1, "width": 65})]),
        CircuitEntry::new(RegisterBank { rows: 256, lanes: 32, lanes_per_cluster: 4, writers: 2 }).odd([
            json!({"rows": 5, "lanes": 1, "lanes_per_cluster": 1, "writers": 1}),
            json!({"rows": 100, "lanes": 6, "lanes_per_cluster": 3, "writers": 3}),
        ])
        .proven_at(json!({"rows": 2, "lanes": 2, "lanes_per_cluster": 1, "writers": 3})),
        CircuitEntry::new(MainRegisterFile { geometry: Geometry::GEBHART_2011, writers: 2 })
            .odd([json!({"geometry": one_lane}), json!({"geometry": uneven, "writers": 3})])
            .proven_at(json!({"geometry": two_banks, "writers": 3})),
        CircuitEntry::new(OperandCollectors {
            geometry: Geometry::GEBHART_2011,
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            writers: 2,
            shares_banks: false,
            holds: false,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1, "writers": 1, "shares_banks": true}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4, "shares_banks": true, "holds": true}),
        ]),
        CircuitEntry::new(BankedRegisterFile {
            geometry: Geometry::GEBHART_2011,
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4}),
        ]),
        CircuitEntry::new(DualIssueRegisterFile {
            geometry: Geometry { banks: 8, rows: 64, ..Geometry::GEBHART_2011 },
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4}),
        ]),
        CircuitEntry::new(RegisterFileCache {
            slots: 8,
            entries: 6,
            replacement: Replacement::Fifo,
            liveness: true,
            evict_idle_first: false,
            lanes: 32,
            lanes_per_cluster: 4,
            register_bits: 10,
            collectors: 8,
            issues: 1,
        })
        .odd([
            json!({"slots": 1, "entries": 1, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 1}),
            json!({"slots": 5, "entries": 3, "replacement": "lru", "evict_idle_first": true, "liveness": false}),
            json!({"slots": 2, "entries": 3, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 3, "collectors": 2, "issues": 2}),
        ])
        .proven_at(json!({"slots": 2, "entries": 2, "lanes": 2, "lanes_per_cluster": 1, "register_bits": 2, "collectors": 2})),
        CircuitEntry::new(SourceAllocator { slots: 8, lanes: 32, register_bits: 10, collectors: 8, writers: 2 }).odd([
            json!({"slots": 1, "lanes": 1, "register_bits": 1, "collectors": 2}),
            json!({"slots": 5, "lanes": 6, "collectors": 5}),
        ])
        .proven_at(json!({"slots": 2, "lanes": 1, "register_bits": 1, "collectors": 2})),
        CircuitEntry::new(CachedRegisterFile {
            geometry: Geometry::GEBHART_2011,
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            slots: 8,
            entries: 6,
            replacement: Replacement::Fifo,
            allocate_sources: false,
            liveness: true,
            bypass_idle: false,
            evict_idle_first: false,
            issues: 1,
        })
        .odd([
            json!({"geometry": one_lane, "slots": 1, "entries": 1, "units": 1, "id_bits": 1}),
            json!({"geometry": uneven, "slots": 5, "entries": 3, "replacement": "lru", "bypass_idle": true, "allocate_sources": true}),
            json!({
                "geometry": one_lane, "collectors": 2, "slots": 2, "entries": 2, "units": 2, "id_bits": 2,
                "replacement": "lru", "evict_idle_first": true, "allocate_sources": true, "issues": 2,
            }),
        ]),
        CircuitEntry::new(TwoLevelScheduler { warps: 32, slots: 8, policy: InnerPolicy::Greedy }).odd([
            json!({"warps": 1, "slots": 1}),
            json!({"warps": 11, "slots": 3, "policy": "round-robin"}),
        ])
        .proven_at(json!({"warps": 5, "slots": 2, "policy": "round-robin"})),
        CircuitEntry::new(RenameTable { names: 512, banks: 8, rows: 32, warps: 16, issues: 2 }).odd([
            json!({"names": 2, "banks": 1, "rows": 2, "warps": 1}),
            json!({"names": 5, "banks": 2, "rows": 2, "warps": 2, "issues": 1}),
            json!({"names": 21, "banks": 4, "rows": 3, "warps": 5}),
        ]),
        CircuitEntry::new(VirtualRegisterFile {
            names: 512,
            warps: 16,
            geometry: Geometry { banks: 8, rows: 32, ..Geometry::GEBHART_2011 },
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            issues: 2,
        })
        .odd([
            json!({"names": 7, "warps": 1, "geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1}),
            json!({"names": 33, "warps": 5, "geometry": uneven, "collectors": 3, "access_cycles": 4}),
            json!({"names": 7, "warps": 2, "geometry": one_lane, "collectors": 3, "units": 2, "id_bits": 2, "issues": 1}),
        ])
        .proven_at(json!({"names": 2, "warps": 1, "geometry": two_rows, "collectors": 2, "units": 1, "id_bits": 1})),
        CircuitEntry::new(RegisterFileHierarchy {
            geometry: Geometry { banks: 8, rows: 64, ..Geometry::GEBHART_2011 },
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            slots: 8,
            orf_entries: 3,
            issues: 2,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1, "slots": 1, "orf_entries": 1}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4, "slots": 5, "orf_entries": 4}),
            json!({"geometry": one_lane, "collectors": 3, "units": 2, "id_bits": 2, "slots": 2, "orf_entries": 2, "issues": 1}),
        ])
        .proven_at(json!({"geometry": two_rows, "collectors": 2, "units": 2, "id_bits": 1, "slots": 2, "orf_entries": 1})),
        CircuitEntry::new(PatternMatcher { lanes: 32 }).odd([json!({"lanes": 4}), json!({"lanes": 14})]),
        CircuitEntry::new(PatternExpander { lanes: 32 }).odd([json!({"lanes": 4}), json!({"lanes": 14})]),
        CircuitEntry::new(Compressor {
            warps: 16,
            register_bits: 8,
            osu_lines: 16,
            lanes: 32,
            lines: 12,
            queue: 4,
        })
        .odd([
            json!({"lines": 4}),
            json!({"warps": 1, "register_bits": 1, "osu_lines": 1, "lanes": 4, "lines": 1, "queue": 1}),
            json!({"warps": 11, "register_bits": 5, "osu_lines": 6, "lanes": 14, "lines": 3, "queue": 3}),
        ])
        .proven_at(json!({"warps": 1, "register_bits": 1, "osu_lines": 1, "lanes": 4, "lines": 1, "queue": 1})),
        CircuitEntry::new(L1Port { shards: 4, warps: 16, register_bits: 8, osu_lines: 16, lanes: 32 }).odd([
            json!({"shards": 1, "warps": 1, "register_bits": 1, "osu_lines": 1, "lanes": 1}),
            json!({"shards": 3, "warps": 11, "register_bits": 5, "osu_lines": 6, "lanes": 6}),
        ])
        .proven_at(json!({"shards": 3, "warps": 2, "register_bits": 1, "osu_lines": 1, "lanes": 1})),
        CircuitEntry::new(AccessQueue {
            geometry: ShardGeometry::GTX980,
            depth: 4,
            place_bits: 8,
            writers: 3,
        })
        .odd([
            json!({"geometry": smallest, "depth": 2, "place_bits": 1, "writers": 1}),
            json!({"geometry": six_lines, "depth": 3, "place_bits": 5}),
        ])
        .proven_at(json!({"geometry": smallest, "depth": 3, "place_bits": 1, "writers": 1})),
        CircuitEntry::new(StagingBank { geometry: ShardGeometry::GTX980 }).odd([
            json!({"geometry": smallest}),
            json!({"geometry": six_lines}),
            json!({"geometry": twelve_lines}),
        ]),
        CircuitEntry::new(OperandStagingUnit {
            geometry: ShardGeometry::GTX980,
            queue: 4,
            place_bits: 8,
            writes: 3,
        })
        .odd([
            json!({"geometry": smallest, "queue": 2, "place_bits": 1, "writes": 1}),
            json!({"geometry": six_lines, "queue": 3, "place_bits": 5, "writes": 2}),
            json!({"geometry": twelve_lines, "writes": 1}),
        ]),
        CircuitEntry::new(MetadataStore { geometry: ShardGeometry::GTX980, words: 16 }).odd([
            json!({"geometry": smallest, "words": 2}),
            json!({"geometry": six_lines, "words": 8}),
        ])
        .proven_at(json!({"geometry": two_each, "words": 2})),
        CircuitEntry::new(WarpStack { warps: 16 }).odd([json!({"warps": 1}), json!({"warps": 11})])
            .proven_at(json!({"warps": 3})),
        CircuitEntry::new(CapacityManager {
            geometry: ShardGeometry::GTX980,
            metadata_words: 16,
            queue: 4,
            writes: 3,
            issues: 2,
        })
        .odd([
            json!({"geometry": smallest, "metadata_words": 2, "queue": 2, "writes": 1}),
            json!({"geometry": six_lines, "metadata_words": 8, "queue": 3}),
            json!({"geometry": twelve_lines, "writes": 2}),
            json!({"geometry": two_each, "metadata_words": 2, "queue": 2, "writes": 2, "issues": 1}),
        ]),
        CircuitEntry::new(AccessDistributor {
            geometry: ShardGeometry::GTX980,
            units: 6,
            entries: 4,
            writes: 3,
            issues: 2,
        })
        .odd([
            json!({"geometry": smallest, "units": 1, "entries": 2, "writes": 1}),
            json!({"geometry": six_lines, "units": 3, "entries": 8}),
            json!({"geometry": two_each, "units": 2, "entries": 2, "writes": 2, "issues": 1}),
        ])
        .proven_at(json!({"geometry": two_each, "units": 2, "entries": 2, "writes": 1})),
        CircuitEntry::new(RegisterReadUnit { geometry: ShardGeometry::GTX980, entries: 4, id_bits: 9, issues: 2 }).odd([
            json!({"geometry": smallest, "entries": 2, "id_bits": 1}),
            json!({"geometry": six_lines, "entries": 8}),
            json!({"geometry": two_each, "entries": 4, "id_bits": 2, "issues": 1}),
        ])
        .proven_at(json!({"geometry": two_each, "entries": 4, "id_bits": 1})),
    ]
    .into_iter()
    .chain(crate::greener::circuits())
    .collect()
}

/// A circuit whose type is not known, with its default parameters.
pub struct CircuitEntry {
    /// Name of the circuit.
    pub name: &'static str,
    /// Its header: purpose, timing, source.
    pub doc: &'static str,
    /// Name and doc comment of each parameter, in declaration order.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Default parameters, a JSON object.
    pub defaults: Value,
    /// Overrides at the corners (one row, a depth that is no power of two, one bit), at least two: every
    /// circuit's Verilog is checked at its defaults and at these.
    pub odd: Vec<Value>,
    /// Overrides at which invariants are proven: small enough for a solver, and large enough to tell something.
    pub proven_at: Value,
    elaborate: fn(Value) -> Result<Result<Netlist, ElaborationErrors>, serde_json::Error>,
}

/// Why a circuit of the library cannot be had with the parameters given.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// Overrides that are not a table of names and values.
    #[error("{circuit}: parameters are given as names with values, not as {found}")]
    NotAnObject {
        /// The circuit.
        circuit: &'static str,
        /// What was given.
        found: Value,
    },
    /// A parameter the circuit does not have.
    #[error("{circuit} has no parameter `{parameter}`; it has: {known}")]
    UnknownParameter {
        /// The circuit.
        circuit: &'static str,
        /// What was given.
        parameter: String,
        /// The parameters there are.
        known: String,
    },
    /// A value of another type than the parameter's.
    #[error("{circuit}: parameter `{parameter}` cannot be {value}: {reason}")]
    WrongType {
        /// The circuit.
        circuit: &'static str,
        /// The parameter.
        parameter: String,
        /// What was given.
        value: Value,
        /// What would be accepted.
        reason: String,
    },
    /// The circuit does not elaborate.
    #[error(transparent)]
    Elaboration(#[from] ElaborationErrors),
}

impl CircuitEntry {
    /// An entry whose defaults are the parameters of `circuit`.
    pub fn new<C: Circuit>(circuit: C) -> CircuitEntry {
        CircuitEntry {
            name: C::NAME,
            doc: C::DOC,
            parameters: C::PARAMETERS,
            // A parameter struct serialises; were it not to, every use of the entry says so.
            defaults: serde_json::to_value(circuit).unwrap_or_default(),
            odd: Vec::new(),
            proven_at: json!({}),
            elaborate: elaborate_value::<C>,
        }
    }

    /// The entry with overrides at the corners. At the first its invariants are proven.
    pub fn odd(self, odd: impl Into<Vec<Value>>) -> CircuitEntry {
        let odd = odd.into();
        CircuitEntry { proven_at: odd.first().cloned().unwrap_or_else(|| json!({})), odd, ..self }
    }

    /// The entry whose invariants are proven at other parameters than the first odd ones.
    pub fn proven_at(self, proven_at: Value) -> CircuitEntry {
        CircuitEntry { proven_at, ..self }
    }

    /// The circuit with its defaults, except for the parameters that the object `overrides` gives.
    pub fn elaborate_with(&self, overrides: &Value) -> Result<Netlist, LibraryError> {
        let circuit = self.name;
        let Value::Object(overrides) = overrides else {
            return Err(LibraryError::NotAnObject { circuit, found: overrides.clone() });
        };
        let mut value = self.defaults.clone();
        for (parameter, new) in overrides {
            if !self.parameters.iter().any(|(name, _)| name == parameter) {
                let names: Vec<&str> = self.parameters.iter().map(|(name, _)| *name).collect();
                let (parameter, known) = (parameter.clone(), names.join(", "));
                return Err(LibraryError::UnknownParameter { circuit, parameter, known });
            }
            value[parameter] = new.clone();
        }
        match (self.elaborate)(value) {
            Ok(netlist) => Ok(netlist?),
            Err(error) => Err(self.wrong_type(overrides, &error)),
        }
    }

    /// Which of `overrides` made the parameters unreadable, `error` says how.
    fn wrong_type(&self, overrides: &Map<String, Value>, error: &serde_json::Error) -> LibraryError {
        let unreadable = |(parameter, new): &(&String, &Value)| {
            let mut value = self.defaults.clone();
            value[parameter.as_str()] = (*new).clone();
            (self.elaborate)(value).is_err()
        };
        let (parameter, value) = overrides
            .iter()
            .find(unreadable)
            .map(|(parameter, value)| (parameter.clone(), value.clone()))
            .unwrap_or_default();
        LibraryError::WrongType { circuit: self.name, parameter, value, reason: error.to_string() }
    }
}

/// Elaborates a `C` whose parameters are `value`, if they can be.
fn elaborate_value<C: Circuit>(
    value: Value,
) -> Result<Result<Netlist, ElaborationErrors>, serde_json::Error> {
    Ok(elaborate(&serde_json::from_value::<C>(value)?))
}
