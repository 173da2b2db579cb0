//! What a mapped circuit takes: cells, area, memories, depth, module by module.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpfile_sim::energy::grid::{Grid, GridError};

use crate::gates::{Gates, GatesError};
use crate::liberty::{Library, Storage};
use crate::sram::{Memory, Outlined};
use crate::yosys::Mapped;

/// What a circuit takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AreaReport {
    /// The outermost module.
    pub circuit: String,
    /// The library's name.
    pub library: String,
    /// The whole circuit.
    pub total: Figures,
    /// Every distinct module with everything in it, the outermost first.
    pub modules: Vec<ModuleArea>,
    /// Every distinct memory.
    pub memories: Vec<MemoryArea>,
}

/// Figures of a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Cells.
    pub cells: u64,
    /// Flip-flops and latches among them.
    pub storage_cells: u64,
    /// Area of the cells, µm² of the library.
    pub area_um2: f64,
    /// The same in two-input NANDs of the library.
    pub nand2: f64,
    /// Memories.
    pub memories: u64,
    /// Bits in them.
    pub memory_bits: u64,
    /// Area of the memories, µm² at the node of the CACTI runs; not in `area_um2`.
    pub memory_area_um2: f64,
    /// Cells on the longest way between inputs or state and outputs or state.
    pub depth: u32,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleArea {
    /// Its name.
    pub module: String,
    /// How often it is in the whole circuit.
    pub instances: u64,
    /// Cells of its own, not of modules in it.
    pub own_cells: u64,
    /// Area of those, µm².
    pub own_area_um2: f64,
    /// One instance with everything in it.
    pub figures: Figures,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryArea {
    /// Its module.
    pub module: String,
    /// How often it is in the whole circuit.
    pub instances: u64,
    /// Rows.
    pub rows: u32,
    /// Bits of a row.
    pub bits: u32,
    /// Ports: `1r1w`.
    pub ports: String,
    /// Area of one, µm² at the node of the CACTI runs.
    pub area_um2: f64,
    /// A read of a row, pJ.
    pub read_pj: f64,
    /// A write of a row, pJ.
    pub write_pj: f64,
    /// Leakage, mW at 350 K.
    pub leakage_mw: f64,
    /// Where the figures come from: `runs`, `extrapolated` or `fit`.
    pub origin: String,
}

/// A circuit whose area is not known.
#[derive(Debug, Error)]
pub enum AreaError {
    /// The mapped circuit is not what is expected.
    #[error(transparent)]
    Gates(#[from] GatesError),
    /// A memory has no figures.
    #[error("memory {module}: {source}")]
    Memory {
        /// Its module.
        module: String,
        /// Why.
        source: GridError,
    },
    /// The library has no measure for gate equivalents.
    #[error("library {0} has no two-input NAND, which areas are counted in")]
    NoNand(String),
}

/// Adds up a mapped circuit.
pub fn area(
    mapped: &Mapped,
    outlined: &Outlined,
    library: &Library,
    grid: &Grid,
) -> Result<AreaReport, AreaError> {
    let nand2 = library.nand2_area_um2().ok_or_else(|| AreaError::NoNand(library.name.clone()))?;
    let mut memories = BTreeMap::new();
    for memory in &outlined.memories {
        let cost = memory
            .cost(grid)
            .map_err(|source| AreaError::Memory { module: memory.module.clone(), source })?;
        memories.insert(memory.module.as_str(), (memory, cost));
    }
    let mut adder = Adder { mapped, library, nand2, memories, known: BTreeMap::new() };
    let total = adder.module(&mapped.top, &outlined.memories)?;
    let instances = adder.instances();
    let count = |module: &str| instances.get(module).copied().unwrap_or(0);
    let mut modules: Vec<ModuleArea> = (adder.known.iter())
        .map(|(module, known)| ModuleArea { instances: count(module), ..known.clone() })
        .collect();
    modules.sort_by_key(|module| module.module != mapped.top);
    let memories = adder.memories.iter().map(|(module, (memory, cost))| MemoryArea {
        module: (*module).to_owned(),
        instances: count(module),
        rows: memory.rows,
        bits: memory.bits,
        ports: format!("{}r{}w", memory.reads, memory.writes.len()),
        area_um2: cost.area_um2,
        read_pj: cost.read_pj,
        write_pj: cost.write_pj,
        leakage_mw: cost.leakage_mw,
        origin: cost.origin.as_str().to_owned(),
    });
    Ok(AreaReport {
        circuit: mapped.top.clone(),
        library: library.name.clone(),
        total,
        modules,
        memories: memories.collect(),
    })
}

struct Adder<'a> {
    mapped: &'a Mapped,
    library: &'a Library,
    nand2: f64,
    memories: BTreeMap<&'a str, (&'a Memory, crate::sram::Cost)>,
    known: BTreeMap<String, ModuleArea>,
}

impl Adder<'_> {
    /// One instance of a module with everything in it.
    fn module(&mut self, name: &str, memories: &[Memory]) -> Result<Figures, AreaError> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.figures);
        }
        let module = &self.mapped.design.modules[name];
        let (mut own, mut inner) = (Figures::default(), Figures::default());
        for (instance, cell) in &module.cells {
            if let Some((memory, cost)) = self.memories.get(cell.kind.as_str()) {
                own.memories += 1;
                own.memory_bits += memory.capacity();
                own.memory_area_um2 += cost.area_um2;
            } else if self.mapped.design.modules.contains_key(&cell.kind) {
                inner.add(&self.module(&cell.kind, memories)?);
            } else {
                let found = self.library.cells.get(&cell.kind);
                let found = found.ok_or_else(|| GatesError::UnknownCell {
                    path: format!("{name}.{instance}"),
                    kind: cell.kind.clone(),
                    library: self.library.name.clone(),
                })?;
                own.cells += 1;
                own.storage_cells += u64::from(found.storage != Storage::None);
                own.area_um2 += found.area_um2;
            }
        }
        let (own_cells, own_area_um2) = (own.cells, own.area_um2);
        inner.add(&own);
        inner.nand2 = inner.area_um2 / self.nand2;
        inner.depth = Gates::flatten(self.mapped, name, memories, self.library)?.depth();
        let figures = inner;
        let area = ModuleArea { module: name.to_owned(), instances: 0, own_cells, own_area_um2, figures };
        self.known.insert(name.to_owned(), area);
        Ok(figures)
    }

    /// How often each module and memory is in the whole circuit.
    fn instances(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        let mut pending = vec![self.mapped.top.as_str()];
        while let Some(name) = pending.pop() {
            *counts.entry(name.to_owned()).or_insert(0) += 1;
            let Some(module) = self.mapped.design.modules.get(name) else { continue };
            let inner = module.cells.values().map(|cell| cell.kind.as_str());
            pending.extend(inner.filter(|kind| self.mapped.design.modules.contains_key(*kind)));
        }
        counts
    }
}

impl Figures {
    /// Adds everything that adds up; the depth does not.
    fn add(&mut self, other: &Figures) {
        self.cells += other.cells;
        self.storage_cells += other.storage_cells;
        self.area_um2 += other.area_um2;
        self.memories += other.memories;
        self.memory_bits += other.memory_bits;
        self.memory_area_um2 += other.memory_area_um2;
    }
}
