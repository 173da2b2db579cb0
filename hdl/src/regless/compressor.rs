//! The compressor: registers in short form between the operand staging unit and memory.

use serde::{Deserialize, Serialize};

use super::compressed_lines::{CompressedLines, Operation, Reply};
use super::memory_ports::{FillInIo, MemoryWidths, RequestKind, RequestOutIo};
use super::patterns::{BASES_BITS, Pattern, PatternExpander, PatternMatcher, PatternMatcherIo, check_lanes};
use crate::parts::Fifo;
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, index_bits,
};

/// Compressor: keeps registers that have a short form in a few lines of its own, and passes the others on to memory.
///
/// A value that is written is compared with the patterns. If it has one, its short form of 8 bytes goes to a slot of a
/// compressed line; else it goes to memory as it is. One bit a register says which it was the last time, so that a
/// fetch of a register that is not compressed looks into no line. Compressed lines live in memory beside the others; a
/// read of or a write to one that is not here fetches it first, and the line used longest ago makes room, written back
/// if memory does not have it as it is. Such a line of registers has as many slots as fit with their patterns: 15 for
/// 32 lanes.
///
/// Order: requests are looked at in the order they come, and the bits follow in that order. Those for compressed
/// lines then stand in a queue and are served in order too, one a cycle; one whose line is missing holds up those
/// behind it, until the queue is full, but not requests for other registers. So no fetch overtakes a write of the same
/// register, whether or not its value had a short form before.
///
/// Timing: a request that is not for a compressed register is offered to memory one cycle after it was taken; a
/// compressed register is on `osu_fill` three cycles after, if its line is here. A line that is not compressed passes
/// from `memory_fill` to `osu_fill` in the same cycle, before a register that is ready at that time.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5.3, Table 1.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Compressor {
    /// Warps of the shard, 1 to 64.
    pub warps: usize,
    /// Bits of a register's number, 1 to 8.
    pub register_bits: usize,
    /// Lines of a bank of the operand staging unit, 1 to 64.
    pub osu_lines: usize,
    /// Lanes of a warp, 4 to 32, an even number.
    pub lanes: usize,
    /// Compressed lines held, 1 to 64; Table 1 can be read as 12 and as 4 a shard (48 and 16 an SM).
    pub lines: usize,
    /// Requests for compressed registers that can wait, 1 to 64; from 2 on there is one a cycle.
    pub queue: usize,
}

/// Ports of a [`Compressor`].
#[derive(Ports)]
#[params(Compressor)]
pub struct CompressorIo<'m> {
    /// What the operand staging unit asks for.
    #[with(p.widths())]
    pub osu_request: OsuRequestIo<'m>,
    /// What it gets.
    #[with(p.widths())]
    pub osu_fill: OsuFillIo<'m>,
    /// What is asked of memory.
    #[with(p.widths())]
    pub memory_request: RequestOutIo<'m>,
    /// What comes from there.
    #[with(p.widths())]
    pub memory_fill: FillInIo<'m>,
    /// A compressed register is read whose line was here.
    pub hit_o: Out<'m>,
    /// A compressed register is read whose line had to be fetched.
    pub miss_o: Out<'m>,
}

/// A request of the operand staging unit.
#[derive(Clone, Ports)]
#[params(MemoryWidths)]
pub struct OsuRequestIo<'m> {
    /// A request is offered.
    pub valid_i: In<'m>,
    /// It is taken.
    pub ready_o: Out<'m>,
    /// Its [`RequestKind`].
    #[bits(RequestKind::BITS)]
    pub kind_i: In<'m>,
    /// The warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Where a line fetched goes.
    #[bits(index_bits(p.osu_lines))]
    pub line_i: In<'m>,
    /// The copy in memory is dropped once it is fetched.
    pub invalidates_i: In<'m>,
    /// The line written.
    #[bits(p.line_bits())]
    pub value_i: In<'m>,
}

/// A line for the operand staging unit. It is always accepted.
#[derive(Clone, Ports)]
#[params(MemoryWidths)]
pub struct OsuFillIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// As requested.
    #[bits(p.warp_bits())]
    pub warp_o: Out<'m>,
    /// As requested.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
    /// As requested.
    #[bits(index_bits(p.osu_lines))]
    pub line_o: Out<'m>,
    /// The line.
    #[bits(p.line_bits())]
    pub value_o: Out<'m>,
}

/// What is known of a warp's registers.
#[derive(Clone, Copy, Record)]
#[params(Compressor)]
struct Presence<T = Field> {
    /// Those in short form, one bit each.
    #[bits(1 << p.register_bits)]
    compressed: T,
}

impl Circuit for Compressor {
    type Io<'m> = CompressorIo<'m>;
    const NAME: &'static str = "compressor";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("register_bits", self.register_bits, 1..=8)?;
        Self::check_range("osu_lines", self.osu_lines, 1..=64)?;
        check_lanes::<Self>(self.lanes)?;
        Self::check_range("lines", self.lines, 1..=64)?;
        Self::check_range("queue", self.queue, 1..=64)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &CompressorIo<'m>) {
        let leaves = m.wire("held_leaves", 1);
        let held = self.take_request(m, io, leaves);
        let route = self.route(m, &held);
        let operation = self.enqueue(m, &held, &route);

        let lines = CompressedLines::new(m, self);
        let reply_leaves = m.wire("reply_leaves", 1);
        let reply = lines.serve(m, io, &operation.head, reply_leaves);
        operation.taken.set(lines.head_leaves);
        self.answer(m, io, &reply, reply_leaves);
        let passed = self.ask_memory(m, io, &held, &route, &lines);

        leaves.set((route.to_lines & operation.has_room) | passed | route.ends_here);
        self.note(m, &held, &route, leaves);
    }
}

impl Compressor {
    pub(super) fn widths(&self) -> MemoryWidths {
        let &Compressor { warps, register_bits, osu_lines, lanes, .. } = self;
        MemoryWidths { warps, register_bits, osu_lines, lanes }
    }

    /// Registers in short form that a compressed line has room for, with their patterns.
    pub(super) fn slots(&self) -> usize {
        self.widths().line_bits() / (BASES_BITS + Pattern::BITS)
    }

    /// Bits of a register's place among those of the shard: the warp below, the register above.
    pub(super) fn place_bits(&self) -> usize {
        self.widths().warp_bits() + self.register_bits
    }

    /// Compressed lines of the shard, here and in memory.
    pub(super) fn line_numbers(&self) -> usize {
        (1_usize << self.place_bits()).div_ceil(self.slots())
    }

    /// Holds a request for the cycles in which it is looked at.
    fn take_request<'m>(&self, m: &Module<'m>, io: &CompressorIo<'m>, leaves: Signal<'m>) -> Held<'m> {
        let (request, widths) = (&io.osu_request, self.widths());
        let valid = m.register("held_valid", 1).reset(0);
        let held = |name: &str, bits: usize| m.register(format!("held_{name}"), bits).no_reset();
        let kind = held("kind", RequestKind::BITS);
        let warp = held("warp", widths.warp_bits());
        let register = held("register", self.register_bits);
        let line = held("line", index_bits(self.osu_lines));
        let invalidates = held("invalidates", 1);
        let value = held("value", widths.line_bits());

        request.ready_o.set(!valid | leaves);
        let taken = (request.valid_i & request.ready_o).named("request_taken");
        valid.set(taken | (valid & !leaves));
        m.when(taken, || {
            kind.set(request.kind_i);
            warp.set(request.warp_i);
            register.set(request.register_i);
            line.set(request.line_i);
            invalidates.set(request.invalidates_i);
        });
        m.when(taken & request.kind_i.eq(RequestKind::Write), || {
            value.set(request.value_i);
        });
        Held { valid, kind, warp, register, line, invalidates, value }
    }

    /// Where the request goes, by its value's pattern and by what is known of its register.
    fn route<'m>(&self, m: &Module<'m>, held: &Held<'m>) -> Route<'m> {
        let matcher = m.instance("matcher", PatternMatcher { lanes: self.lanes });
        matcher.value_i.set(held.value);

        let presence = m.table::<Presence>("presence", self.warps, self).valid_bits().ports(1, 1);
        let row = presence.read("held", held.warp, held.valid);
        let of_warp = row.compressed & row.valid().replicate(1 << self.register_bits);
        let was_short = of_warp.lane_select(held.register, 1).named("was_short");

        let (fetches, writes) = (held.is(RequestKind::Fetch), held.is(RequestKind::Write));
        let is_short = writes.mux(matcher.pattern_o.ne(Pattern::Uncompressed), was_short);
        let here = held.valid & is_short & !held.is(RequestKind::Drop);
        Route {
            to_lines: here & (fetches | writes),
            to_memory: held.valid & !here,
            ends_here: here & held.is(RequestKind::Invalidate),
            stays_short: here & (writes | (fetches & !held.invalidates)),
            was_short,
            of_warp,
            presence,
            matcher,
        }
    }

    /// Brings the bit of the register up to date when its request leaves.
    fn note<'m>(&self, m: &Module<'m>, held: &Held<'m>, route: &Route<'m>, leaves: Signal<'m>) {
        let drops = held.is(RequestKind::Drop);
        let of_register = held.register.decode(1 << self.register_bits);
        m.when(leaves & !drops & (route.was_short ^ route.stays_short), || {
            route.presence.write("note", held.warp, Presence { compressed: route.of_warp ^ of_register });
        });
        m.when(leaves & drops, || route.presence.clear_row(held.warp));
    }

    /// Puts requests for compressed lines into a queue.
    fn enqueue<'m>(&self, m: &Module<'m>, held: &Held<'m>, route: &Route<'m>) -> Queue<'m> {
        let (number, slot) = divide(m, held.warp.concat(held.register), self.slots());
        let parts = [
            held.is(RequestKind::Write),
            held.warp,
            held.register,
            held.line,
            number,
            slot,
            route.matcher.pattern_o,
            route.matcher.bases_o,
        ];
        let word = m.cat(parts);
        let queue = m.instance("queue", Fifo { depth: self.queue, width: word.width() });
        queue.in_valid_i.set(route.to_lines);
        queue.in_data_i.set(word);
        queue.count_o.ignore();

        let mut low = 0;
        let [writes, warp, register, line, number, slot, pattern, bases] = parts.map(|part| {
            low += part.width();
            queue.out_data_o.slice(low - part.width(), part.width())
        });
        let head = Operation {
            valid: queue.out_valid_o,
            writes,
            warp,
            register,
            line,
            number,
            slot,
            pattern,
            bases,
        };
        Queue { head, taken: queue.out_ready_i, has_room: queue.in_ready_o }
    }

    /// Gives the operand staging unit a line that comes from memory, else a register that has been expanded.
    fn answer<'m>(&self, m: &Module<'m>, io: &CompressorIo<'m>, reply: &Reply<'m>, leaves: Signal<'m>) {
        let (fill, answer) = (&io.memory_fill, &io.osu_fill);
        let expander = m.instance("expander", PatternExpander { lanes: self.lanes });
        expander.pattern_i.set(reply.pattern);
        expander.bases_i.set(reply.bases);

        let passes = (fill.valid_i & !fill.compressed_i).named("fill_passes");
        leaves.set(reply.valid & !passes);
        answer.valid_o.set(passes | reply.valid);
        answer.warp_o.set(passes.mux(fill.warp_i, reply.warp)).valid_when(answer.valid_o);
        answer.register_o.set(passes.mux(fill.register_i, reply.register)).valid_when(answer.valid_o);
        answer.line_o.set(passes.mux(fill.line_i, reply.line)).valid_when(answer.valid_o);
        answer.value_o.set(passes.mux(fill.value_i, expander.value_o)).valid_when(answer.valid_o);
    }

    /// Offers memory a request for a compressed line, else the one that is held; 1 if the latter is taken.
    fn ask_memory<'m>(
        &self,
        m: &Module<'m>,
        io: &CompressorIo<'m>,
        held: &Held<'m>,
        route: &Route<'m>,
        lines: &CompressedLines<'m>,
    ) -> Signal<'m> {
        let request = &io.memory_request;
        // The held one has been offered and not taken.
        let repeats = m.register("held_is_offered", 1).reset(0);
        let asks = lines.writes_back | lines.fetches;
        let of_lines = (asks & !repeats).named("of_lines");
        let of_held = route.to_memory & !of_lines;
        repeats.set(of_held & !request.ready_i);
        lines.request_taken.set(of_lines & request.ready_i);

        let kind = lines.writes_back.mux(m.lit(RequestKind::BITS, RequestKind::Write), RequestKind::Fetch);
        let place = lines.writes_back.mux(lines.number_written, lines.number_fetched).zext(self.place_bits());
        let warp_bits = self.widths().warp_bits();
        request.valid_o.set(of_lines | of_held);
        let select = |lines: Signal<'m>, held: Signal<'m>| of_lines.mux(lines, held);
        request.kind_o.set(select(kind, held.kind)).valid_when(request.valid_o);
        request.compressed_o.set(of_lines).valid_when(request.valid_o);
        request.warp_o.set(select(place.low(warp_bits), held.warp)).valid_when(request.valid_o);
        let register = place.high(self.register_bits);
        request.register_o.set(select(register, held.register)).valid_when(request.valid_o);
        let nowhere = m.lit(index_bits(self.osu_lines), 0);
        request.line_o.set(select(nowhere, held.line)).valid_when(request.valid_o);
        request.invalidates_o.set(select(m.lit(1, 0), held.invalidates)).valid_when(request.valid_o);
        let writes = request.kind_o.eq(RequestKind::Write);
        request.value_o.set(select(lines.line_written, held.value)).valid_when(request.valid_o & writes);

        m.invariant("an_offer_is_repeated_until_it_is_taken", repeats.implies(route.to_memory));
        of_held & request.ready_i
    }
}

/// `value` divided by `divisor`, and the remainder, in as many bits as they need.
fn divide<'m>(m: &Module<'m>, value: Signal<'m>, divisor: usize) -> (Signal<'m>, Signal<'m>) {
    let bits = value.width();
    // ⌈2^shift / divisor⌉ times the value, shifted back, is the quotient: what rounding up adds is less than 1 / divisor.
    let shift = bits + divisor.next_power_of_two().ilog2() as usize;
    let reciprocal = (1_usize << shift).div_ceil(divisor);
    let wide = shift + bits + 1;
    let product = value.zext(wide) * m.lit(wide, reciprocal);
    let quotient = product.slice(shift, index_bits((1_usize << bits).div_ceil(divisor)));
    let remainder = value.zext(wide) - quotient.zext(wide) * m.lit(wide, divisor);
    (quotient, remainder.low(index_bits(divisor)))
}

/// The request that is looked at.
struct Held<'m> {
    valid: Signal<'m>,
    kind: Signal<'m>,
    warp: Signal<'m>,
    register: Signal<'m>,
    line: Signal<'m>,
    invalidates: Signal<'m>,
    /// Of the last write.
    value: Signal<'m>,
}

impl<'m> Held<'m> {
    fn is(&self, kind: RequestKind) -> Signal<'m> {
        self.kind.eq(kind)
    }
}

/// What becomes of the request that is held.
struct Route<'m> {
    /// It goes to the queue for compressed lines.
    to_lines: Signal<'m>,
    /// It goes to memory.
    to_memory: Signal<'m>,
    /// It only changes the register's bit.
    ends_here: Signal<'m>,
    /// Its register is in short form before it, and behind it.
    was_short: Signal<'m>,
    stays_short: Signal<'m>,
    /// Registers of its warp that are in short form, one bit each.
    of_warp: Signal<'m>,
    presence: Table<'m, Presence>,
    matcher: PatternMatcherIo<'m>,
}

/// The queue for compressed lines.
struct Queue<'m> {
    head: Operation<'m>,
    /// To be set: the head leaves.
    taken: Signal<'m>,
    has_room: Signal<'m>,
}
