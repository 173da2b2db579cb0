//! Webs: the independent values that one virtual register holds at different times.
//!
//! A web is a set of definitions that reach a common use, closed under sharing. A virtual register that is
//! reused for unrelated purposes falls apart into several webs; each is allocated on its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::compile::cfg::{Block, Cfg};
use crate::compile::divergence;
use crate::compile::liveness::Liveness;
use crate::ptx::ir::{Kernel, Reg};

/// A web: its position in [`Webs::webs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Web(pub u32);

impl Web {
    /// Position in [`Webs::webs`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebInfo {
    /// The virtual register it is held in.
    pub register: Reg,
    /// Instructions that define it.
    pub definitions: Vec<usize>,
    /// A use may be reached before any definition.
    pub maybe_undefined: bool,
    /// A definition is guarded.
    pub guarded: bool,
    /// No other web is held in its register: what the register holds anywhere is this one's value.
    pub is_alone: bool,
}

impl WebInfo {
    /// Whether it has one unguarded definition that comes before every use: its value, once defined, holds
    /// wherever it is read.
    pub fn is_single(&self) -> bool {
        self.definitions.len() == 1 && !self.maybe_undefined && !self.guarded
    }
}

/// The webs of a kernel.
#[derive(Clone, Debug)]
pub struct Webs {
    webs: Vec<WebInfo>,
    /// For each instruction the webs of the registers it reads.
    uses: Vec<Vec<(Reg, Web)>>,
    /// For each instruction the webs of the registers it writes.
    definitions: Vec<Vec<(Reg, Web)>>,
}

impl Webs {
    /// Finds the webs by reaching definitions.
    pub fn new(kernel: &Kernel, cfg: &Cfg) -> Webs {
        let sites = Sites::new(kernel);
        let reaching = reaching_definitions(kernel, cfg, &sites);
        let mut union = UnionFind::new(sites.count());
        let mut used_site: Vec<Vec<(Reg, usize)>> = vec![Vec::new(); kernel.instructions.len()];
        for block in cfg.block_ids() {
            unite_block(kernel, cfg, &sites, &reaching[block.index()], block, &mut union, &mut used_site);
        }
        Webs::collect(kernel, &sites, &mut union, &used_site)
    }

    fn collect(
        kernel: &Kernel,
        sites: &Sites,
        union: &mut UnionFind,
        used_site: &[Vec<(Reg, usize)>],
    ) -> Webs {
        let mut web_of_root: Vec<Option<Web>> = vec![None; sites.count()];
        let mut webs: Vec<WebInfo> = Vec::new();
        let mut web_of = |site: usize, union: &mut UnionFind, webs: &mut Vec<WebInfo>| {
            *web_of_root[union.find(site)].get_or_insert_with(|| {
                webs.push(WebInfo {
                    register: sites.register[site],
                    definitions: Vec::new(),
                    maybe_undefined: false,
                    guarded: false,
                    is_alone: true,
                });
                Web(webs.len() as u32 - 1)
            })
        };
        let mut definitions = vec![Vec::new(); kernel.instructions.len()];
        for (position, instruction) in kernel.instructions.iter().enumerate() {
            for &site in &sites.of_instruction[position] {
                let web = web_of(site, union, &mut webs);
                definitions[position].push((sites.register[site], web));
                let info = &mut webs[web.index()];
                info.definitions.push(position);
                info.guarded |= instruction.guard.is_some();
            }
        }
        let mut uses = vec![Vec::new(); kernel.instructions.len()];
        for (position, used) in used_site.iter().enumerate() {
            for &(register, site) in used {
                uses[position].push((register, web_of(site, union, &mut webs)));
            }
        }
        for undefined in 0..kernel.registers.len() {
            if let Some(web) = web_of_root[union.find(undefined)] {
                webs[web.index()].maybe_undefined = true;
            }
        }
        let mut webs_of = vec![0_u32; kernel.registers.len()];
        webs.iter().for_each(|web| webs_of[web.register.index()] += 1);
        webs.iter_mut().for_each(|web| web.is_alone = webs_of[web.register.index()] == 1);
        Webs { webs, uses, definitions }
    }

    /// All webs.
    pub fn webs(&self) -> &[WebInfo] {
        &self.webs
    }

    /// A web.
    pub fn info(&self, web: Web) -> &WebInfo {
        &self.webs[web.index()]
    }

    /// The web that an instruction reads in a register; `None` if it does not read it.
    pub fn read(&self, instruction: usize, register: Reg) -> Option<Web> {
        self.uses[instruction].iter().find(|(read, _)| *read == register).map(|&(_, web)| web)
    }

    /// The web that an instruction writes in a register; `None` if it does not write it.
    pub fn written(&self, instruction: usize, register: Reg) -> Option<Web> {
        self.definitions[instruction].iter().find(|(written, _)| *written == register).map(|&(_, web)| web)
    }
}

/// Definition sites: first one a register for "not defined yet", then one for each register an instruction
/// writes.
struct Sites {
    register: Vec<Reg>,
    of_instruction: Vec<Vec<usize>>,
}

impl Sites {
    fn new(kernel: &Kernel) -> Sites {
        let registers = kernel.registers.len();
        let mut sites = Sites {
            register: (0..registers as u32).map(Reg).collect(),
            of_instruction: vec![Vec::new(); kernel.instructions.len()],
        };
        for (position, instruction) in kernel.instructions.iter().enumerate() {
            for register in instruction.definitions() {
                let site = sites.register.len();
                sites.register.push(register);
                sites.of_instruction[position].push(site);
            }
        }
        sites
    }

    fn count(&self) -> usize {
        self.register.len()
    }
}

/// For each block, the sites of each register that reach its start, where the register is read or partly overwritten
/// from there on.
type Reaching = Vec<BTreeMap<Reg, BTreeSet<usize>>>;

fn reaching_definitions(kernel: &Kernel, cfg: &Cfg, sites: &Sites) -> Reaching {
    let mut function = divergence::ptx_function(kernel, cfg);
    for access in &mut function.instructions {
        let partly = access.definitions.iter().filter(|definition| definition.guarded);
        access.uses.extend(partly.map(|definition| definition.register));
    }
    let threads = Liveness::per_thread(&function);
    let wanted = |block: Block| threads.live_in(block).iter().map(|register| Reg(register as u32));
    let effects: Vec<BTreeMap<Reg, Effect>> =
        cfg.block_ids().map(|block| effects(kernel, cfg, sites, block)).collect();
    let mut reaching: Reaching = vec![BTreeMap::new(); cfg.blocks().len()];
    reaching[0] = wanted(Block(0)).map(|register| (register, BTreeSet::from([register.index()]))).collect();
    let mut work: Vec<Block> = cfg.reverse_postorder();
    work.reverse();
    while let Some(block) = work.pop() {
        for &successor in &cfg.block(block).successors {
            let mut changed = false;
            for register in wanted(successor) {
                let effect = effects[block.index()].get(&register);
                let before = reaching[block.index()].get(&register);
                let before = before.filter(|_| effect.is_none_or(|effect| !effect.kills));
                let here = effect.map_or(&[][..], |effect| &effect.sites);
                let out: Vec<usize> = before.into_iter().flatten().chain(here).copied().collect();
                let into = reaching[successor.index()].entry(register).or_default();
                for site in out {
                    changed |= into.insert(site);
                }
            }
            if changed {
                work.push(successor);
            }
        }
    }
    reaching
}

/// What a block does to the sites of a register.
#[derive(Default)]
struct Effect {
    /// None of those before the block reaches its end.
    kills: bool,
    /// Those of the block that reach its end.
    sites: Vec<usize>,
}

fn effects(kernel: &Kernel, cfg: &Cfg, sites: &Sites, block: Block) -> BTreeMap<Reg, Effect> {
    let mut effects: BTreeMap<Reg, Effect> = BTreeMap::new();
    for position in cfg.block(block).instructions.clone() {
        let guarded = kernel.instructions[position].guard.is_some();
        for &site in &sites.of_instruction[position] {
            let effect = effects.entry(sites.register[site]).or_default();
            if !guarded {
                *effect = Effect { kills: true, sites: Vec::new() };
            }
            effect.sites.push(site);
        }
    }
    effects
}

/// Unites the sites that reach each use of a block, and notes one of them for the use.
fn unite_block(
    kernel: &Kernel,
    cfg: &Cfg,
    sites: &Sites,
    reaching: &BTreeMap<Reg, BTreeSet<usize>>,
    block: Block,
    union: &mut UnionFind,
    used_site: &mut [Vec<(Reg, usize)>],
) {
    // One of the sites that reach here, for each register met so far: the others are united with it.
    let mut here: BTreeMap<Reg, usize> = BTreeMap::new();
    for position in cfg.block(block).instructions.clone() {
        let instruction = &kernel.instructions[position];
        for register in instruction.uses() {
            let site = *here
                .entry(register)
                .or_insert_with(|| unite_reaching(reaching.get(&register), register, union));
            if !used_site[position].iter().any(|(used, _)| *used == register) {
                used_site[position].push((register, site));
            }
        }
        for &site in &sites.of_instruction[position] {
            let register = sites.register[site];
            if instruction.guard.is_some() {
                let before = *here
                    .entry(register)
                    .or_insert_with(|| unite_reaching(reaching.get(&register), register, union));
                union.unite(before, site);
            } else {
                here.insert(register, site);
            }
        }
    }
}

/// Unites the sites of a register that reach a block; in unreachable code, "not defined yet".
fn unite_reaching(reaching: Option<&BTreeSet<usize>>, register: Reg, union: &mut UnionFind) -> usize {
    let mut reaching = reaching.into_iter().flatten().copied();
    let first = reaching.next().unwrap_or(register.index());
    for site in reaching {
        union.unite(first, site);
    }
    first
}

/// Disjoint sets of small numbers.
#[derive(Clone, Debug)]
pub struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// Each number below `count` in a set of its own.
    pub fn new(count: usize) -> UnionFind {
        UnionFind { parent: (0..count as u32).collect() }
    }

    /// Adds the next number, in a set of its own.
    pub fn add(&mut self) -> usize {
        self.parent.push(self.parent.len() as u32);
        self.parent.len() - 1
    }

    /// The representative of a number's set.
    pub fn find(&mut self, mut of: usize) -> usize {
        while self.parent[of] as usize != of {
            let up = self.parent[of] as usize;
            self.parent[of] = self.parent[up];
            of = up;
        }
        of
    }

    /// Makes two sets one; its representative is that of `a`.
    pub fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[b] = a as u32;
    }
}
