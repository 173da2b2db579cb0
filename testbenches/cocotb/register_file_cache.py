"""Reference model of the register file cache, a cycle at a time.

Written from Gebhart et al., ISCA 2011, section 3.1 (entries, first in first out), 3.3 (a suspended warp's values are written
back) and 5.3 (idle values first), and from the contract at the head of the circuit's Verilog. It knows nothing of how the
circuit does it: an entry is an object, its age a number.
"""

from dataclasses import dataclass, field
from typing import Optional

SOURCES = 3


@dataclass
class Parameters:
    """Those of manifest.json."""

    slots: int
    entries: int
    lanes: int
    register_bits: int
    collectors: int
    replacement: str
    liveness: bool
    evict_idle_first: bool

    @classmethod
    def of(cls, manifest):
        text = manifest["parameters"]
        if text["issues"] != "1":
            raise ValueError("this testbench is for one instruction a cycle: issues = 1")
        numbers = {name: int(text[name]) for name in ("slots", "entries", "lanes", "register_bits", "collectors")}
        flags = {name: text[name] == "true" for name in ("liveness", "evict_idle_first")}
        return cls(replacement=text["replacement"], **numbers, **flags)


@dataclass
class Source:
    """An operand that is looked up."""

    register: int
    last_read: bool = False
    idle: bool = False


@dataclass
class Lookup:
    """An instruction that looks its operands up; `None` where it has none."""

    slot: int
    active: int
    sources: list


@dataclass
class Result:
    """A value for the cache; `clean` if the main register file has it, too."""

    slot: int
    register: int
    lanes: int
    value: list
    idle: bool = False
    clean: bool = False


@dataclass
class Inputs:
    """What happens at the ports in a cycle."""

    lookup: Optional[Lookup] = None
    waiting: bool = False
    collect: Optional[int] = None
    dispatch: Optional[int] = None
    result: Optional[Result] = None
    #: Slot, register and lanes of writes that pass the cache by.
    invalidate: list = field(default_factory=list)
    spill_ready: bool = False
    #: Slot, and whether its values are discarded.
    flush: Optional[tuple] = None


@dataclass
class Outputs:
    """What the circuit has to say in the same cycle; `None` where it does not matter."""

    #: Lanes that each operand of the lookup finds.
    found: Optional[list]
    #: Lanes and values of the operands dispatched in the cycle before.
    operands: list
    result_ready: Optional[bool]
    #: Register, lanes and value.
    spill: Optional[tuple]
    busy: int


@dataclass
class Entry:
    """A register of a slot; free if it holds no lane."""

    register: Optional[int] = None
    held: int = 0
    dirty: int = 0
    idle: bool = False
    age: int = 0


class RegisterFileCache:
    """The entries of every slot, and what has still to be read from them."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.slots = [[Entry() for _ in range(parameters.entries)] for _ in range(parameters.slots)]
        self.values = {}
        self.now = 0
        self.flushing = set()
        #: Operands found, as (lanes, (slot, entry)): of the instruction that waits, of those in collectors.
        self.waiting = []
        self.collectors = {}
        self.operands = [(0, [0] * parameters.lanes)] * SOURCES

    def cycle(self, inputs):
        """Outputs of this cycle; afterwards the state is that of the next.

        Everything is answered from the state before; then the lookup has its effect, then the writes past the cache, then
        the result, then the write back.
        """
        found = self._look_up(inputs.lookup) if inputs.lookup else []
        reading = self.collectors.get(inputs.dispatch, [])
        pinned = self._pinned(inputs, found)

        target = self._target(inputs.result) if inputs.result else None
        evicted = self._evicted(inputs.result, target, pinned) if inputs.result else None
        flushed = self._next_flushed()
        port_is_left = not (len(reading) == SOURCES and all(lanes for lanes, _ in reading))
        leaving = (evicted or flushed) if port_is_left else None
        spilled = leaving if inputs.spill_ready else None

        ready = taken = None
        if inputs.result:
            slot, hit, _ = target
            present = hit and inputs.result.clean
            free_to_write = target[0::2] not in pinned
            must_evict = not hit and self.slots[slot][target[2]].dirty != 0
            ready = present or (free_to_write and (not must_evict or spilled is not None))
            taken = ready and not present

        outputs = Outputs(
            found=[lanes for lanes, _ in found] if inputs.lookup else None,
            operands=self.operands,
            result_ready=ready,
            spill=self._shown(leaving) if leaving else None,
            busy=self._busy(inputs.flush),
        )

        flush_is_done = bool(self.flushing) and flushed is None
        self.operands = [self._read(lanes, row) for lanes, row in reading] or [
            (0, [0] * self.parameters.lanes)
        ] * SOURCES
        self._collect(inputs, found)
        if inputs.lookup:
            self._use(inputs.lookup, found)
        for slot, register, lanes in inputs.invalidate:
            self._invalidate(slot, register, lanes)
        if taken:
            self._write(inputs.result, target)
        self._advance_flush(inputs.flush, spilled if evicted is None else None, flush_is_done)
        return outputs

    def has_dirty(self, slot):
        """Whether a flush of the slot has something to write back."""
        return any(entry.dirty for entry in self.slots[slot])

    def _entry(self, slot, register):
        for entry in self.slots[slot]:
            if entry.register == register:
                return entry
        return None

    def _look_up(self, lookup):
        found = []
        for source in lookup.sources:
            entry = self._entry(lookup.slot, source.register) if source else None
            if entry is None:
                found.append((0, None))
            else:
                found.append((entry.held & lookup.active, (lookup.slot, self.slots[lookup.slot].index(entry))))
        return found

    def _pinned(self, inputs, found):
        """Entries from which an operand has still to be read."""
        operands = list(found)
        if inputs.waiting:
            operands += self.waiting
        for collected in self.collectors.values():
            operands += collected
        return {row for lanes, row in operands if lanes}

    def _target(self, result):
        """Slot, whether the register has an entry there, and the entry that the result goes to."""
        entries = self.slots[result.slot]
        for number, entry in enumerate(entries):
            if entry.register == result.register:
                return result.slot, True, number
        for number, entry in enumerate(entries):
            if entry.held == 0:
                return result.slot, False, number
        candidates = list(range(len(entries)))
        if self.parameters.evict_idle_first:
            candidates = [number for number in candidates if entries[number].idle] or candidates
        return result.slot, False, min(candidates, key=lambda number: entries[number].age)

    def _evicted(self, result, target, pinned):
        slot, hit, number = target
        entry = self.slots[slot][number]
        leaves = not hit and entry.dirty and (slot, number) not in pinned
        return (slot, number) if leaves else None

    def _next_flushed(self):
        if not self.flushing:
            return None
        slot = min(self.flushing)
        dirty = [number for number, entry in enumerate(self.slots[slot]) if entry.dirty]
        return (slot, dirty[0]) if dirty else None

    def _shown(self, row):
        slot, number = row
        entry = self.slots[slot][number]
        return entry.register, entry.dirty, list(self.values[row])

    def _busy(self, flush):
        slots = self.flushing | ({flush[0]} if flush else set())
        return sum(1 << slot for slot in slots)

    def _read(self, lanes, row):
        value = self.values.get(row, [0] * self.parameters.lanes)
        return lanes, [value[lane] if lanes >> lane & 1 else 0 for lane in range(self.parameters.lanes)]

    def _collect(self, inputs, found):
        self.collectors.pop(inputs.dispatch, None)
        if inputs.collect is not None:
            self.collectors[inputs.collect] = self.waiting
        if inputs.lookup:
            self.waiting = found

    def _use(self, lookup, found):
        entries = self.slots[lookup.slot]
        if self.parameters.replacement == "lru":
            used = {row[1] for lanes, row in found if lanes}
            for number in sorted(used, key=lambda number: entries[number].age):
                self._touch(entries[number])
        for source in filter(None, lookup.sources):
            entry = self._entry(lookup.slot, source.register)
            if entry is None:
                continue
            entry.idle |= source.idle
            if source.last_read and self.parameters.liveness:
                entry.held &= ~lookup.active
                entry.dirty &= ~lookup.active

    def _touch(self, entry):
        self.now += 1
        entry.age = self.now

    def _invalidate(self, slot, register, lanes):
        entry = self._entry(slot, register)
        if entry is not None:
            entry.held &= ~lanes
            entry.dirty &= ~lanes

    def _write(self, result, target):
        slot, hit, number = target
        entries = self.slots[slot]
        if not hit:
            entries[number] = Entry(register=result.register, age=entries[number].age)
        entry = entries[number]
        if not hit or self.parameters.replacement == "lru":
            self._touch(entry)
        entry.held |= result.lanes
        entry.dirty |= 0 if result.clean else result.lanes
        entry.idle = result.idle
        value = self.values.setdefault((slot, number), [0] * self.parameters.lanes)
        for lane in range(self.parameters.lanes):
            if result.lanes >> lane & 1:
                value[lane] = result.value[lane]

    def _advance_flush(self, flush, written_back, is_done):
        if written_back is not None:
            slot, number = written_back
            self.slots[slot][number].dirty = 0
        if is_done:
            slot = min(self.flushing)
            self.flushing.remove(slot)
            self._empty(slot)
        if flush is not None:
            slot, discard = flush
            if discard:
                self._empty(slot)
            else:
                self.flushing.add(slot)

    def _empty(self, slot):
        self.slots[slot] = [Entry(age=entry.age) for entry in self.slots[slot]]
