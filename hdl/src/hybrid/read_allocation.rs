//! Operands that the register cache copies from the main register file: which, and until when they may be.

use super::cache_ports::{LookupIo, LookupSourceIo, RegisterCacheIo};
use super::register_cache::{Offer, RegisterCache};
use crate::regfile::SOURCES;
use crate::rtl::{Field, Module, Record, Signal, Table, index_bits};

/// Lanes of a line that the main register file has, too: nothing is spilled for them.
#[derive(Clone, Copy, Record)]
#[params(RegisterCache)]
pub(super) struct Clean<T = Field> {
    #[bits(p.lanes)]
    pub(super) lanes: T,
}

/// An operand of an instruction that is copied when it is out.
#[derive(Clone, Copy, Record)]
#[params(RegisterCache)]
struct Copied<T = Field> {
    #[bits(p.register_bits)]
    register: T,
    #[bits(index_bits(p.warps))]
    warp: T,
    /// Lanes that were not found here.
    #[bits(p.lanes)]
    lanes: T,
    /// Which operand, one-hot.
    #[bits(SOURCES)]
    source: T,
}

/// An operand and whether there is one.
struct Stage<'m> {
    valid: Signal<'m>,
    copied: Copied<Signal<'m>>,
}

/// What a group of collectors copies, on the way of its instructions: looked up and waiting, collected, dispatched.
struct Way<'m> {
    waiting: Stage<'m>,
    collected: Table<'m, Copied>,
    out: Stage<'m>,
}

/// The operands that are to be copied, for each group of collectors.
///
/// A write of its register on the way ends a copy, since it would be older. Writes are what is taken here: a register that
/// leaves has been one before.
pub(super) struct ReadAllocation<'m> {
    ways: Vec<Way<'m>>,
}

impl<'m> ReadAllocation<'m> {
    pub(super) fn new(m: &Module<'m>, cache: &RegisterCache) -> ReadAllocation<'m> {
        let way = |group| {
            let name = cache.numbered("copy", group);
            Way {
                waiting: Stage::new(m, cache, &format!("{name}_waiting")),
                collected: m
                    .table::<Copied>(format!("{name}_collected"), cache.collectors, cache)
                    .valid_bits(),
                out: Stage::new(m, cache, &format!("{name}_out")),
            }
        };
        ReadAllocation { ways: (0..cache.issues).map(way).collect() }
    }

    /// What each port writes: what is offered there, else the operand of its group that is copied in this cycle, unless
    /// another port offers the same register.
    pub(super) fn offers(&self, io: &RegisterCacheIo<'m>) -> Vec<Offer<'m>> {
        let mut offers: Vec<Offer<'m>> = Vec::new();
        for (port, (way, write)) in self.ways.iter().zip(&io.write).enumerate() {
            let Copied { register, warp, lanes, source } = way.out.copied;
            io.copy[port].source_o.set(source);
            let others = io.write.iter().enumerate().filter(|&(other, _)| other != port);
            let written = others.map(|(_, other)| other.valid_i & other.register_i.eq(register));
            let copied = offers.iter().map(|other| other.valid & other.register.eq(register));
            let offered = written.chain(copied).fold(write.valid_i, |offered, other| offered | other);
            let copies = (way.out.valid & !offered).named(format!("copies{port}"));
            offers.push(Offer {
                valid: write.valid_i | copies,
                register: copies.mux(register, write.register_i),
                warp: copies.mux(warp, io.write_warp_i[port]),
                lanes: copies.mux(lanes, write.lanes_i),
                value: copies.mux(io.copy[port].value_i, write.value_i),
                copies: Some(copies),
            });
        }
        offers
    }

    /// Operands go on with their instructions; those whose registers are written do not. `found` is what each group finds of the
    /// operands that it looks up.
    pub(super) fn follow(
        &self,
        m: &Module<'m>,
        cache: &RegisterCache,
        io: &RegisterCacheIo<'m>,
        found: &[Vec<Signal<'m>>],
        writes: &[(Signal<'m>, Signal<'m>)],
    ) {
        let is_written = |register: Signal<'m>| {
            let written = writes.iter().map(|&(taken, other)| taken & other.eq(register));
            written.fold(m.lit(1, 0), |any, written| any | written)
        };
        for (group, Way { waiting, collected, out }) in self.ways.iter().enumerate() {
            let lookup = &io.lookup[group];
            let new = first_missing(m, cache, lookup, &found[group]);
            let stays = waiting.valid & !is_written(waiting.copied.register);
            let leaves = io.collect[group].valid_i & io.waiting_i[group];
            let starts = new.valid & !is_written(new.copied.register);
            waiting.valid.set(lookup.valid_i.mux(starts, stays & !leaves));
            m.when(lookup.valid_i, || waiting.keep(&new.copied));

            for (port, &(taken, register)) in writes.iter().enumerate() {
                let rows = collected
                    .matching(format!("written{port}"), taken, |row| row.valid() & row.register.eq(register));
                collected.clear_rows(rows & taken.replicate(cache.collectors));
            }
            m.when(leaves & stays, || {
                collected.write("collect", io.collect[group].index_i, waiting.copied);
            });
            let dispatch = &io.dispatch[group];
            let read = collected.read("dispatch", dispatch.index_i, dispatch.valid_i);
            out.valid.set(dispatch.valid_i & read.valid() & !is_written(read.register));
            m.when(dispatch.valid_i, || {
                collected.clear_row(dispatch.index_i);
                out.keep(&read);
            });
        }
    }
}

impl<'m> Stage<'m> {
    fn new(m: &Module<'m>, cache: &RegisterCache, name: &str) -> Stage<'m> {
        let field = |field: &str, bits| m.register(format!("{name}_{field}"), bits).no_reset();
        Stage {
            valid: m.register(name, 1).reset(0),
            copied: Copied {
                register: field("register", cache.register_bits),
                warp: field("warp", index_bits(cache.warps)),
                lanes: field("lanes", cache.lanes),
                source: field("source", SOURCES),
            },
        }
    }

    fn keep(&self, copied: &Copied<Signal<'m>>) {
        self.copied.register.set(copied.register);
        self.copied.warp.set(copied.warp);
        self.copied.lanes.set(copied.lanes);
        self.copied.source.set(copied.source);
    }
}

/// The first operand of an instruction of which lanes are not found that is read again.
fn first_missing<'m>(
    m: &Module<'m>,
    cache: &RegisterCache,
    lookup: &LookupIo<'m>,
    found: &[Signal<'m>],
) -> Stage<'m> {
    let missing: Vec<Signal<'m>> = (lookup.source.iter().zip(found))
        .map(|(source, &found)| lookup.active_i & !found & source.valid_i.replicate(cache.lanes))
        .collect();
    let is_read_again = |source: &LookupSourceIo<'m>| {
        if cache.liveness { !source.last_read_i } else { m.lit(1, 1) }
    };
    let may_be = m
        .cat((lookup.source.iter().zip(&missing)).map(|(source, lanes)| lanes.any() & is_read_again(source)));
    let source = may_be.lowest_one();
    let registers = m.cat(lookup.source.iter().map(|source| source.register_i));
    let copied = Copied {
        register: source.one_hot_select(registers),
        warp: lookup.warp_i[0],
        lanes: source.one_hot_select(m.cat(missing)),
        source,
    };
    Stage { valid: may_be.any(), copied }
}
