"""The register file cache beside its reference model: random traffic, every output in every cycle.

Random instructions, results, writes past the cache and flushes keep the rules that the circuit's surroundings keep: an
instruction is collected before the next is looked up, a register is not read and written in one cycle, a slot that is
flushed is left alone. COCOTB_RANDOM_SEED (RANDOM_SEED before cocotb 2) repeats a run, CYCLES is its length.
"""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from register_file_cache import SOURCES, Inputs, Lookup, Parameters, RegisterFileCache, Result, Source

CYCLES = int(os.environ.get("CYCLES", "2000"))
LANE_BITS = 32


@cocotb.test()
async def equals_the_reference_under_random_traffic(dut):
    manifest = json.loads(Path(os.environ["MANIFEST"]).read_text())
    parameters = Parameters.of(manifest)
    bench = Bench(dut, parameters)
    await bench.reset()
    traffic = Traffic(parameters)
    reference = RegisterFileCache(parameters)
    for cycle in range(CYCLES):
        inputs = traffic.next(reference)
        expected = reference.cycle(inputs)
        await bench.drive(inputs)
        bench.compare(cycle, inputs, expected)
        traffic.note(expected)
    never = [event for event, count in traffic.seen.items() if count == 0]
    assert not never, f"in {CYCLES} cycles there was never: {', '.join(never)}"
    dut._log.info(", ".join(f"{event}: {count}" for event, count in traffic.seen.items()))


class Traffic:
    """Random inputs that keep the surroundings' rules."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.waiting = False
        self.free = set(range(parameters.collectors))
        self.collected = set()
        self.result = None
        self.inputs = Inputs()
        events = ("hit", "dispatch", "result held off", "eviction", "write back", "discard", "write past the cache")
        self.seen = dict.fromkeys(events, 0)

    def next(self, reference):
        inputs = Inputs(waiting=self.waiting, spill_ready=random.random() < 0.7)
        if self.collected and random.random() < 0.5:
            inputs.dispatch = random.choice(sorted(self.collected))
        if self.waiting and self.free and random.random() < 0.6:
            inputs.collect = random.choice(sorted(self.free))
        #: Registers that something happens to in this cycle, as (slot, register).
        used = set()
        inputs.result = self.result or self._result(reference)
        if inputs.result:
            used.add((inputs.result.slot, inputs.result.register))
        inputs.flush = self._flush(reference, inputs.result)
        left_alone = reference.flushing | ({inputs.flush[0]} if inputs.flush else set())
        slots = [slot for slot in range(self.parameters.slots) if slot not in left_alone]
        if slots and (not self.waiting or inputs.collect is not None) and random.random() < 0.6:
            inputs.lookup = self._lookup(random.choice(slots), used)
        if slots:
            for _ in range(2):
                place = (random.choice(slots), self._register())
                if place not in used and random.random() < 0.1:
                    used.add(place)
                    inputs.invalidate.append((*place, self._lanes()))
        self.inputs = inputs
        return inputs

    def note(self, outputs):
        """Brings the surroundings into the next cycle."""
        inputs = self.inputs
        self.result = None if outputs.result_ready else inputs.result
        self.waiting = inputs.lookup is not None or (self.waiting and inputs.collect is None)
        # A collector is free in the cycle after the dispatch.
        if inputs.dispatch is not None:
            self.collected.remove(inputs.dispatch)
            self.free.add(inputs.dispatch)
        if inputs.collect is not None:
            self.free.remove(inputs.collect)
            self.collected.add(inputs.collect)
        self.seen["hit"] += any(outputs.found or [])
        self.seen["dispatch"] += inputs.dispatch is not None
        self.seen["result held off"] += outputs.result_ready is False
        taken = outputs.spill is not None and inputs.spill_ready
        self.seen["eviction"] += taken and outputs.result_ready is True
        self.seen["write back"] += taken and inputs.result is None
        self.seen["discard"] += inputs.flush is not None and inputs.flush[1]
        self.seen["write past the cache"] += bool(inputs.invalidate)

    def _register(self):
        # Few registers, so that they meet.
        return random.randrange(min(1 << self.parameters.register_bits, 3 * self.parameters.entries))

    def _lanes(self):
        full = (1 << self.parameters.lanes) - 1
        return full if random.random() < 0.5 else random.randint(1, full)

    def _result(self, reference):
        slots = [slot for slot in range(self.parameters.slots) if slot not in reference.flushing]
        if not slots or random.random() < 0.4:
            return None
        value = [random.getrandbits(LANE_BITS) for _ in range(self.parameters.lanes)]
        flags = {"idle": random.random() < 0.3, "clean": random.random() < 0.1}
        return Result(random.choice(slots), self._register(), self._lanes(), value, **flags)

    def _flush(self, reference, result):
        slots = [slot for slot in range(self.parameters.slots) if slot not in reference.flushing]
        slots = [slot for slot in slots if result is None or slot != result.slot]
        if not slots or random.random() < 0.97:
            return None
        return random.choice(slots), random.random() < 0.3

    def _lookup(self, slot, used):
        sources = []
        for _ in range(SOURCES):
            register = self._register()
            if random.random() < 0.2 or (slot, register) in used:
                sources.append(None)
            else:
                sources.append(Source(register, random.random() < 0.1, random.random() < 0.1))
        used.update((slot, source.register) for source in sources if source)
        return Lookup(slot, self._lanes(), sources)


class Bench:
    """The circuit's ports."""

    def __init__(self, dut, parameters):
        self.dut = dut
        self.parameters = parameters

    async def reset(self):
        self._set(Inputs())
        self.dut.rst_i.value = 1
        # Positional: the third argument has another name before cocotb 2.
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self.dut.rst_i.value = 0

    async def drive(self, inputs):
        """Sets the inputs behind the falling edge and returns in front of the rising one."""
        await FallingEdge(self.dut.clk_i)
        self._set(inputs)
        await Timer(4, "ns")

    def compare(self, cycle, inputs, expected):
        dut, lanes = self.dut, self.parameters.lanes
        actual, wanted = {}, {}

        def check(name, value, port):
            wanted[name], actual[name] = value, text(port)

        if expected.found is not None:
            for k, found in enumerate(expected.found):
                check(f"lookup_source{k}_lanes_o", bits(found, lanes), getattr(dut, f"lookup_source{k}_lanes_o"))
        for k, (found, value) in enumerate(expected.operands):
            check(f"operand{k}_lanes_o", bits(found, lanes), getattr(dut, f"operand{k}_lanes_o"))
            check(f"operand{k}_value_o", joined(value), getattr(dut, f"operand{k}_value_o"))
        if expected.result_ready is not None:
            check("result_ready_o", bits(expected.result_ready, 1), dut.result_ready_o)
        check("spill_valid_o", bits(expected.spill is not None, 1), dut.spill_valid_o)
        if expected.spill is not None:
            register, spilled, value = expected.spill
            check("spill_register_o", bits(register, self.parameters.register_bits), dut.spill_register_o)
            check("spill_lanes_o", bits(spilled, lanes), dut.spill_lanes_o)
            # Of the other lanes nothing is said.
            wanted["spill_value_o"] = masked(joined(value), spilled, lanes)
            actual["spill_value_o"] = masked(text(dut.spill_value_o), spilled, lanes)
        check("slot_busy_o", bits(expected.busy, self.parameters.slots), dut.slot_busy_o)
        wrong = [f"{name} is {actual[name]}, expected {wanted[name]}" for name in wanted if actual[name] != wanted[name]]
        assert not wrong, f"cycle {cycle}: {'; '.join(wrong)}\n{inputs}"

    def _set(self, inputs):
        dut = self.dut
        lookup = inputs.lookup or Lookup(0, 0, [None] * SOURCES)
        dut.lookup_valid_i.value = int(inputs.lookup is not None)
        dut.lookup_slot_i.value = lookup.slot
        dut.lookup_active_i.value = lookup.active
        for k, given in enumerate(lookup.sources):
            source = given or Source(0)
            getattr(dut, f"lookup_source{k}_valid_i").value = int(given is not None)
            getattr(dut, f"lookup_source{k}_register_i").value = source.register
            getattr(dut, f"lookup_source{k}_last_read_i").value = int(source.last_read)
            getattr(dut, f"lookup_source{k}_idle_i").value = int(source.idle)
        dut.waiting_i.value = int(inputs.waiting)
        dut.collect_valid_i.value = int(inputs.collect is not None)
        dut.collect_index_i.value = inputs.collect or 0
        dut.dispatch_valid_i.value = int(inputs.dispatch is not None)
        dut.dispatch_index_i.value = inputs.dispatch or 0
        result = inputs.result or Result(0, 0, 0, [0] * self.parameters.lanes)
        dut.result_valid_i.value = int(inputs.result is not None)
        dut.result_slot_i.value = result.slot
        dut.result_register_i.value = result.register
        dut.result_lanes_i.value = result.lanes
        dut.result_value_i.value = int(joined(result.value), 2)
        dut.result_idle_i.value = int(result.idle)
        dut.result_clean_i.value = int(result.clean)
        for k in range(2):
            slot, register, lanes = inputs.invalidate[k] if k < len(inputs.invalidate) else (0, 0, 0)
            getattr(dut, f"invalidate{k}_valid_i").value = int(k < len(inputs.invalidate))
            getattr(dut, f"invalidate{k}_slot_i").value = slot
            getattr(dut, f"invalidate{k}_register_i").value = register
            getattr(dut, f"invalidate{k}_lanes_i").value = lanes
        dut.spill_ready_i.value = int(inputs.spill_ready)
        slot, discard = inputs.flush or (0, False)
        dut.flush_valid_i.value = int(inputs.flush is not None)
        dut.flush_slot_i.value = slot
        dut.flush_discard_i.value = int(discard)


def text(port):
    """A port's bits, the highest first; X where a simulator with four values does not know."""
    return str(port.value)


def bits(value, width):
    return f"{int(value):0{width}b}"


def joined(lanes):
    """The lanes' values as one, lane 0 in the low bits."""
    return "".join(bits(value, LANE_BITS) for value in reversed(lanes))


def masked(value, lanes, count):
    """Only these lanes of a value."""
    parts = [value[LANE_BITS * k : LANE_BITS * (k + 1)] for k in range(count)]
    return [part for k, part in enumerate(parts) if lanes >> (count - 1 - k) & 1]
