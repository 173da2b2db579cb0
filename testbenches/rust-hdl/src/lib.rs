//! An example of a firmware written in rust-hdl that uses a circuit of ours: the register file cache between
//! flip-flops of rust-hdl.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff::DFF;
use warpfile_hdl::parts::Fifo;
use warpfile_hdl::rfc::{RegisterFileCache, Replacement};
use warpfile_rust_hdl::{BridgeError, bridge};

/// Two slots of two entries for warps of two lanes.
pub const CACHE: RegisterFileCache = RegisterFileCache {
    slots: 2,
    entries: 2,
    replacement: Replacement::Fifo,
    liveness: true,
    evict_idle_first: false,
    lanes: 2,
    lanes_per_cluster: 1,
    register_bits: 3,
    collectors: 2,
    issues: 1,
    shared: false,
};

bridge! {
    /// The register file cache of [`CACHE`]'s size.
    pub struct Cache {
        inputs {
            clock: Clock,
            rst_i: Bit,
            lookup_valid_i: Bit,
            lookup_slot_i: Bit,
            lookup_active_i: Bits<2>,
            lookup_source0_valid_i: Bit,
            lookup_source0_register_i: Bits<3>,
            lookup_source0_last_read_i: Bit,
            lookup_source0_idle_i: Bit,
            lookup_source1_valid_i: Bit,
            lookup_source1_register_i: Bits<3>,
            lookup_source1_last_read_i: Bit,
            lookup_source1_idle_i: Bit,
            lookup_source2_valid_i: Bit,
            lookup_source2_register_i: Bits<3>,
            lookup_source2_last_read_i: Bit,
            lookup_source2_idle_i: Bit,
            waiting_i: Bit,
            collect_valid_i: Bit,
            collect_index_i: Bit,
            dispatch_valid_i: Bit,
            dispatch_index_i: Bit,
            result_valid_i: Bit,
            result_register_i: Bits<3>,
            result_lanes_i: Bits<2>,
            result_value_i: Bits<64>,
            result_slot_i: Bit,
            result_idle_i: Bit,
            result_clean_i: Bit,
            invalidate0_valid_i: Bit,
            invalidate0_slot_i: Bit,
            invalidate0_register_i: Bits<3>,
            invalidate0_lanes_i: Bits<2>,
            invalidate1_valid_i: Bit,
            invalidate1_slot_i: Bit,
            invalidate1_register_i: Bits<3>,
            invalidate1_lanes_i: Bits<2>,
            spill_ready_i: Bit,
            flush_valid_i: Bit,
            flush_slot_i: Bit,
            flush_discard_i: Bit,
        }
        outputs {
            lookup_source0_lanes_o: Bits<2>,
            lookup_source1_lanes_o: Bits<2>,
            lookup_source2_lanes_o: Bits<2>,
            operand0_lanes_o: Bits<2>,
            operand0_value_o: Bits<64>,
            operand1_lanes_o: Bits<2>,
            operand1_value_o: Bits<64>,
            operand2_lanes_o: Bits<2>,
            operand2_value_o: Bits<64>,
            result_ready_o: Bit,
            spill_valid_o: Bit,
            spill_register_o: Bits<3>,
            spill_lanes_o: Bits<2>,
            spill_value_o: Bits<64>,
            slot_busy_o: Bits<2>,
        }
    }
}

bridge! {
    /// A queue of up to three 4-bit words.
    pub struct Queue {
        inputs { clock: Clock, rst_i: Bit, in_valid_i: Bit, in_data_i: Bits<4>, out_ready_i: Bit }
        outputs { in_ready_o: Bit, out_valid_o: Bit, out_data_o: Bits<4>, count_o: Bits<2> }
    }
}

/// A queue.
///
/// # Errors
/// If it does not fit its declaration.
pub fn queue() -> Result<Queue, BridgeError> {
    Queue::new(&Fifo { depth: 3, width: 4 })
}

/// Results and lookups pass a flip-flop of rust-hdl on their way to the cache, and what the cache answers in the same
/// cycle passes another on its way out. Nothing is flushed or collected.
#[derive(LogicBlock)]
pub struct Firmware {
    /// The clock.
    pub clock: Signal<In, Clock>,
    /// Reset of the cache; the flip-flops of rust-hdl have none.
    pub reset: Signal<In, Bit>,
    /// A result: slot, lanes (2), register (3), valid, from the highest bit.
    pub result: Signal<In, Bits<7>>,
    /// Its value.
    pub result_value: Signal<In, Bits<64>>,
    /// A lookup of one operand: slot, register (3), last read, valid, from the highest bit.
    pub lookup: Signal<In, Bits<6>>,
    /// The result was taken, two cycles ago.
    pub taken: Signal<Out, Bit>,
    /// Lanes that were found, two cycles ago.
    pub found: Signal<Out, Bits<2>>,
    /// A register was spilled, two cycles ago.
    pub spilled: Signal<Out, Bit>,
    /// Its number.
    pub spilled_register: Signal<Out, Bits<3>>,
    /// Its value; the other lanes are anything.
    pub spilled_value: Signal<Out, Bits<64>>,
    /// Its lanes.
    pub spilled_lanes: Signal<Out, Bits<2>>,
    result_in: DFF<Bits<7>>,
    value_in: DFF<Bits<64>>,
    lookup_in: DFF<Bits<6>>,
    cache: Cache,
    taken_out: DFF<Bit>,
    found_out: DFF<Bits<2>>,
    spilled_out: DFF<Bit>,
    register_out: DFF<Bits<3>>,
    lanes_out: DFF<Bits<2>>,
    value_out: DFF<Bits<64>>,
}

impl Firmware {
    /// The firmware in its initial state.
    ///
    /// # Errors
    /// If the cache does not fit its declaration.
    pub fn new() -> Result<Firmware, BridgeError> {
        Ok(Firmware {
            clock: Default::default(),
            reset: Default::default(),
            result: Default::default(),
            result_value: Default::default(),
            lookup: Default::default(),
            taken: Default::default(),
            found: Default::default(),
            spilled: Default::default(),
            spilled_register: Default::default(),
            spilled_value: Default::default(),
            spilled_lanes: Default::default(),
            result_in: Default::default(),
            value_in: Default::default(),
            lookup_in: Default::default(),
            cache: Cache::new(&CACHE)?,
            taken_out: Default::default(),
            found_out: Default::default(),
            spilled_out: Default::default(),
            register_out: Default::default(),
            lanes_out: Default::default(),
            value_out: Default::default(),
        })
    }

    /// The cache in it.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }
}

impl Logic for Firmware {
    #[hdl_gen]
    fn update(&mut self) {
        self.result_in.clock.next = self.clock.val();
        self.value_in.clock.next = self.clock.val();
        self.lookup_in.clock.next = self.clock.val();
        self.cache.clock.next = self.clock.val();
        self.taken_out.clock.next = self.clock.val();
        self.found_out.clock.next = self.clock.val();
        self.spilled_out.clock.next = self.clock.val();
        self.register_out.clock.next = self.clock.val();
        self.lanes_out.clock.next = self.clock.val();
        self.value_out.clock.next = self.clock.val();

        self.result_in.d.next = self.result.val();
        self.value_in.d.next = self.result_value.val();
        self.lookup_in.d.next = self.lookup.val();

        self.cache.rst_i.next = self.reset.val();
        self.cache.result_valid_i.next = self.result_in.q.val().get_bit(0);
        self.cache.result_register_i.next = self.result_in.q.val().get_bits::<3>(1);
        self.cache.result_lanes_i.next = self.result_in.q.val().get_bits::<2>(4);
        self.cache.result_slot_i.next = self.result_in.q.val().get_bit(6);
        self.cache.result_value_i.next = self.value_in.q.val();
        self.cache.lookup_valid_i.next = self.lookup_in.q.val().get_bit(0);
        self.cache.lookup_source0_valid_i.next = self.lookup_in.q.val().get_bit(0);
        self.cache.lookup_source0_last_read_i.next = self.lookup_in.q.val().get_bit(1);
        self.cache.lookup_source0_register_i.next = self.lookup_in.q.val().get_bits::<3>(2);
        self.cache.lookup_slot_i.next = self.lookup_in.q.val().get_bit(5);
        self.cache.lookup_active_i.next = 3.into();
        self.cache.spill_ready_i.next = true;

        self.cache.result_idle_i.next = false;
        self.cache.result_clean_i.next = false;
        self.cache.lookup_source0_idle_i.next = false;
        self.cache.lookup_source1_valid_i.next = false;
        self.cache.lookup_source1_register_i.next = 0.into();
        self.cache.lookup_source1_last_read_i.next = false;
        self.cache.lookup_source1_idle_i.next = false;
        self.cache.lookup_source2_valid_i.next = false;
        self.cache.lookup_source2_register_i.next = 0.into();
        self.cache.lookup_source2_last_read_i.next = false;
        self.cache.lookup_source2_idle_i.next = false;
        self.cache.waiting_i.next = false;
        self.cache.collect_valid_i.next = false;
        self.cache.collect_index_i.next = false;
        self.cache.dispatch_valid_i.next = false;
        self.cache.dispatch_index_i.next = false;
        self.cache.invalidate0_valid_i.next = false;
        self.cache.invalidate0_slot_i.next = false;
        self.cache.invalidate0_register_i.next = 0.into();
        self.cache.invalidate0_lanes_i.next = 0.into();
        self.cache.invalidate1_valid_i.next = false;
        self.cache.invalidate1_slot_i.next = false;
        self.cache.invalidate1_register_i.next = 0.into();
        self.cache.invalidate1_lanes_i.next = 0.into();
        self.cache.flush_valid_i.next = false;
        self.cache.flush_slot_i.next = false;
        self.cache.flush_discard_i.next = false;

        self.taken_out.d.next = self.cache.result_ready_o.val();
        self.found_out.d.next = self.cache.lookup_source0_lanes_o.val();
        self.spilled_out.d.next = self.cache.spill_valid_o.val();
        self.register_out.d.next = self.cache.spill_register_o.val();
        self.lanes_out.d.next = self.cache.spill_lanes_o.val();
        self.value_out.d.next = self.cache.spill_value_o.val();

        self.taken.next = self.taken_out.q.val();
        self.found.next = self.found_out.q.val();
        self.spilled.next = self.spilled_out.q.val();
        self.spilled_register.next = self.register_out.q.val();
        self.spilled_lanes.next = self.lanes_out.q.val();
        self.spilled_value.next = self.value_out.q.val();
    }
}
