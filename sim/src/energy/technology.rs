//! Technology files: what the arrays of the grid do not give, as data, each figure with its source.

use serde::{Deserialize, Serialize};

use super::grid::Ports;
use super::structure::{Published, Structure};
use super::units::UnitEnergies;

/// A figure and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// In the unit that the field's name states.
    pub value: f64,
    /// Table or section.
    pub source: String,
}

/// A technology.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Technology {
    /// Name.
    pub name: String,
    /// Technology node, nm.
    pub node_nm: u32,
    /// Supply voltage of logic, V.
    pub supply_v: Figure,
    /// Cycles a nanosecond.
    pub clock_ghz: Figure,
    /// Bits of the accesses that published energies are for.
    pub access_bits: u32,
    /// Energy of moving 32 bits by one millimetre in an SM, pJ.
    pub wire_pj_per_mm_per_32_bits: Figure,
    /// Where arrays lie. Without it the distances are those of the configuration (`energy.mrf_to_alu_mm`,
    /// `energy.rfc_to_alu_mm`).
    pub floorplan: Option<Floorplan>,
    /// A published figure of banks of a main register file.
    pub mrf: Option<MrfEnergy>,
    /// Published figures of a register file cache, by configuration.
    #[serde(default)]
    pub rfc: Vec<RfcEnergy>,
    /// Published figures of other tables, by their names.
    #[serde(default)]
    pub tables: Vec<TableEnergy>,
    /// That the paper counts accesses to the arrays of registers and nothing else, where it does.
    pub accesses_alone: Option<AccessesAlone>,
    /// The GPU around the registers.
    pub chip: Chip,
}

/// Registers' energy is that of accesses: no leakage, no clocks, nothing of what stands around the arrays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessesAlone {
    /// Where it says so, or what it follows from.
    pub source: String,
    /// What an access costs.
    pub price: AccessPrice,
}

/// What an access costs where nothing else is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AccessPrice {
    /// That to a memory as CACTI has it: nothing is scaled to a compiled one.
    Memories(CountedMemories),
    /// That to the full register file, wires included, for an array of its capacity, and in proportion to the capacity for others.
    Capacity {
        /// Where it says so.
        source: String,
    },
}

/// Memories as CACTI has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedMemories {
    /// Ports of the memories in front of the main register file.
    pub upper_ports: Ports,
    /// What an access to the main register file takes beside that to a bank: wires inside a memory of the whole file, pJ for 32
    /// bits.
    pub file_wires_pj_per_32_bits: Figure,
}

/// Where arrays lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floorplan {
    /// From the arrays of a scheduler to its ALUs, mm for an area of 1 mm²; grows with the root of their area.
    pub mm_per_root_mm2: Figure,
}

/// Energies of the main register file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MrfEnergy {
    /// Rows of a bank.
    pub entries: u32,
    /// Read of one entry, pJ.
    pub read_pj: Figure,
    /// Write of one entry, pJ.
    pub write_pj: Figure,
    /// Area of one bank, µm².
    pub bank_area_um2: Figure,
}

/// Energies of a register file cache of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RfcEnergy {
    /// Entries a thread.
    pub entries: u64,
    /// Active warps.
    pub active_warps: u64,
    /// Area of one bank, µm².
    pub area_um2: Figure,
    /// Read of one entry, pJ.
    pub read_pj: Figure,
    /// Write of one entry, pJ.
    pub write_pj: Figure,
}

/// Energies of a table, whatever mechanism it is of. What is not given is as without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableEnergy {
    /// As the mechanism names its arrays: `reuse buffers`.
    pub name: String,
    /// Sizes of a table that the figures are taken for.
    pub sizes: Vec<TableSize>,
    /// Read of a row, pJ.
    pub read_pj: Option<Figure>,
    /// Write of a row, pJ.
    pub write_pj: Option<Figure>,
    /// Search, pJ.
    pub search_pj: Option<Figure>,
}

/// Rows of all arrays of a table in an SM, and bits of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSize {
    /// Rows.
    pub rows: u64,
    /// Bits.
    pub bits: u32,
}

impl TableSize {
    /// That of a structure.
    pub fn of(structure: &Structure) -> TableSize {
        TableSize { rows: u64::from(structure.arrays) * u64::from(structure.entries), bits: structure.bits }
    }
}

/// Published energies of an array: of a read, a write and a search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PublishedEnergies<'t> {
    /// Of a slice, pJ.
    pub read: Option<&'t Figure>,
    /// Of a slice, pJ.
    pub write: Option<&'t Figure>,
    /// Of all rows, pJ.
    pub search: Option<&'t Figure>,
}

impl PublishedEnergies<'_> {
    /// Where they come from.
    pub fn source(&self) -> Option<&str> {
        [self.write, self.read, self.search].into_iter().flatten().next().map(|figure| figure.source.as_str())
    }
}

/// A GPU around its registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    /// What is spent beside registers, register lines and metadata.
    pub rest: Rest,
    /// A line of 128 bytes from or to DRAM, pJ.
    pub dram_line_pj: Figure,
    /// Energy of moving a bit by one millimetre between an SM and the L2, pJ.
    pub wire_pj_per_mm_per_bit: Figure,
    /// From an SM to the L2, mm.
    pub l2_distance_mm: Figure,
    /// Rows of an array of the L2.
    pub l2_rows: Figure,
    /// From the registers of an SM to its L1, mm.
    pub l1_distance_mm: Figure,
    /// Bits of tag and state of a cache line.
    pub tag_bits: Figure,
    /// Words of 64 bits of an SM's instruction cache.
    pub instruction_cache_words: Figure,
}

/// How the rest of a GPU is found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rest {
    /// From the power of a card under full load.
    Power(CardPower),
    /// From a share of the registers that is the same in each run of the baseline.
    Share(RegistersShare),
    /// From what each unit spends on an operation.
    Units(Box<UnitEnergies>),
}

/// Power of a card under full load, and where it goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardPower {
    /// All of it, W.
    pub card_w: Figure,
    /// SMs of the chip.
    pub sms: Figure,
    /// Share that is spent whether work is done or not.
    pub static_share: Figure,
    /// Share of the SMs in what is not static; the memory system has the rest.
    pub sms_share: Figure,
    /// Share of the registers in what the SMs spend on work.
    pub registers_share: Figure,
    /// Warp instructions an SM and cycle under full load.
    pub full_load_ipc: Figure,
}

/// A share of the registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistersShare {
    /// Of the baseline's energy.
    pub registers_share: Figure,
    /// Of the rest: what is spent by time, not by work.
    pub by_time_share: Figure,
}

impl CardPower {
    /// What an SM and its part of the chip spend in a cycle without work, pJ.
    pub fn static_pj_per_cycle(&self, clock_ghz: f64) -> f64 {
        PJ_PER_NJ * self.card_w.value * self.static_share.value / self.sms.value / clock_ghz
    }

    /// What an SM spends on a warp instruction beside its registers, pJ.
    pub fn instruction_pj(&self, clock_ghz: f64) -> f64 {
        let dynamic_w = self.card_w.value * (1.0 - self.static_share.value);
        let sm_w = dynamic_w * self.sms_share.value / self.sms.value;
        PJ_PER_NJ * sm_w * (1.0 - self.registers_share.value) / (clock_ghz * self.full_load_ipc.value)
    }
}

/// W at GHz are nJ.
pub(super) const PJ_PER_NJ: f64 = 1000.0;

/// Why a technology cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TechnologyError {
    /// There is no technology of that name.
    #[error("unknown technology \"{name}\" (energy.technology); there are: {known}")]
    Unknown {
        /// As given.
        name: String,
        /// Technologies that exist.
        known: String,
    },
    /// The file is not a technology.
    #[error("{origin}: {message}")]
    Malformed {
        /// File.
        origin: String,
        /// Line and what is wrong.
        message: String,
    },
}

/// Name and text of every technology that comes with the program.
const TECHNOLOGIES: &[(&str, &str)] = &[
    (Technology::BAILEY2018, include_str!("../../technologies/bailey2018-28nm.toml")),
    (Technology::GEBHART2011, include_str!("../../technologies/gebhart2011-40nm.toml")),
    (Technology::GTX980, include_str!("../../technologies/gtx980-28nm.toml")),
    (Technology::KIM, include_str!("../../technologies/kim-45nm.toml")),
    ("kloosterman2017-28nm", include_str!("../../technologies/kloosterman2017-28nm.toml")),
];

/// Names of the technologies.
pub fn technology_names() -> impl Iterator<Item = &'static str> {
    TECHNOLOGIES.iter().map(|(name, _)| *name)
}

impl Technology {
    /// Name of the technology of Bailey et al., TCAD 2018.
    pub const BAILEY2018: &'static str = "bailey2018-28nm";
    /// Name of the technology of Gebhart et al., ISCA 2011, whose tables all arrays are scaled to.
    pub const GEBHART2011: &'static str = "gebhart2011-40nm";
    /// Name of the technology of a GTX 980.
    pub const GTX980: &'static str = "gtx980-28nm";

    /// Name of the technology of Kim & Ro, "WIR", which has energies of units.
    pub const KIM: &'static str = "kim-45nm";

    /// A technology that comes with the program.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Technology, TechnologyError> {
        match TECHNOLOGIES.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Technology::from_toml(&format!("{name}.toml"), text),
            None => {
                let known = technology_names().collect::<Vec<_>>().join(", ");
                Err(TechnologyError::Unknown { name: name.to_owned(), known })
            }
        }
    }

    /// A technology from TOML text; `origin` is named in errors.
    pub fn from_toml(origin: &str, text: &str) -> Result<Technology, TechnologyError> {
        toml::from_str(text).map_err(|error| TechnologyError::Malformed {
            origin: origin.to_owned(),
            message: error.to_string().trim().to_owned(),
        })
    }

    /// The memories of CACTI that alone are counted, if they are.
    pub fn counted_memories(&self) -> Option<&CountedMemories> {
        match &self.accesses_alone.as_ref()?.price {
            AccessPrice::Memories(memories) => Some(memories),
            AccessPrice::Capacity { .. } => None,
        }
    }

    /// Whether an access to registers costs in proportion to the capacity of what holds them.
    pub fn charges_capacity(&self) -> bool {
        let counted = self.accesses_alone.as_ref();
        counted.is_some_and(|counted| matches!(counted.price, AccessPrice::Capacity { .. }))
    }

    /// Energies of accesses to an array, if there is a published figure for one of its size.
    pub fn published(&self, structure: &Structure) -> Option<PublishedEnergies<'_>> {
        self.published_table(structure).or_else(|| self.published_registers(structure))
    }

    fn published_table(&self, structure: &Structure) -> Option<PublishedEnergies<'_>> {
        let is_it = |table: &&TableEnergy| {
            table.name == structure.name && table.sizes.contains(&TableSize::of(structure))
        };
        let TableEnergy { read_pj, write_pj, search_pj, .. } = self.tables.iter().find(is_it)?;
        let [read, write, search] = [read_pj, write_pj, search_pj].map(Option::as_ref);
        Some(PublishedEnergies { read, write, search })
    }

    fn published_registers(&self, structure: &Structure) -> Option<PublishedEnergies<'_>> {
        if structure.bits != self.access_bits {
            return None;
        }
        let of = |read, write| PublishedEnergies { read: Some(read), write: Some(write), search: None };
        match structure.published? {
            Published::MainRegisterFile => {
                let MrfEnergy { entries, read_pj, write_pj, .. } = self.mrf.as_ref()?;
                (structure.entries == *entries).then_some(of(read_pj, write_pj))
            }
            Published::RegisterFileCache => {
                let is_as_large =
                    |rfc: &&RfcEnergy| rfc.entries * rfc.active_warps == u64::from(structure.entries);
                self.rfc.iter().find(is_as_large).map(|rfc| of(&rfc.read_pj, &rfc.write_pj))
            }
        }
    }
}
