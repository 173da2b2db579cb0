//! Circuits as [rust-hdl](rust_hdl_core) blocks.
//!
//! [`bridge!`] makes a struct with rust-hdl's signals from a list of ports. Made for a circuit, it is a block like any
//! other of rust-hdl: a firmware instantiates it, `Simulation` runs it with our engine, and `generate_verilog` prints
//! our Verilog inside a wrapper. Ports have the names of the circuit's Verilog, with `clk_i` as the one signal of type
//! `Clock`, whatever its name, and `rst_i`; a circuit without state has neither.
//!
//! ```
//! use rust_hdl_core::prelude::*;
//! use warpfile_hdl::parts::Fifo;
//!
//! warpfile_rust_hdl::bridge! {
//!     /// A queue of up to five 9-bit words.
//!     pub struct Queue {
//!         inputs {
//!             clock: Clock, rst_i: Bit,
//!             in_valid_i: Bit, in_data_i: Bits<9>,
//!             out_ready_i: Bit,
//!         }
//!         outputs { in_ready_o: Bit, out_valid_o: Bit, out_data_o: Bits<9>, count_o: Bits<3> }
//!     }
//! }
//!
//! let mut queue = Queue::new(&Fifo { depth: 5, width: 9 }).unwrap();
//! queue.connect_all();
//! assert!(generate_verilog(&queue).contains("module fifo_5x9 ("));
//!
//! let error = Queue::new(&Fifo { depth: 5, width: 8 }).err().unwrap();
//! assert_eq!(error.to_string(), "fifo_5x8: `in_data_i` is declared with 9 bits and has 8");
//! ```

mod block;
mod error;
mod value;

pub use block::{Bridged, Declared};
pub use error::BridgeError;
/// What the macro's code refers to.
#[doc(hidden)]
pub use rust_hdl_core;
pub use value::Value;
#[doc(hidden)]
pub use warpfile_hdl;

/// Declares a rust-hdl block for circuits with these ports; see the [crate's page](crate).
///
/// It has a public signal for each port, and `new(&circuit)`, which elaborates a circuit and refuses one whose ports are
/// others. Types are `Clock`, `Bit` and `Bits<N>`.
#[macro_export]
macro_rules! bridge {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            inputs { $($input:ident: $input_type:ty),* $(,)? }
            outputs { $($output:ident: $output_type:ty),* $(,)? }
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name {
            $(
                #[doc = concat!("Input `", stringify!($input), "`.")]
                pub $input: $crate::rust_hdl_core::signal::Signal<$crate::rust_hdl_core::direction::In, $input_type>,
            )*
            $(
                #[doc = concat!("Output `", stringify!($output), "`.")]
                pub $output: $crate::rust_hdl_core::signal::Signal<$crate::rust_hdl_core::direction::Out, $output_type>,
            )*
            circuit: $crate::Bridged,
        }

        impl $name {
            /// The block of `circuit`, in its initial state.
            ///
            /// # Errors
            /// If the circuit does not elaborate or has other ports.
            $visibility fn new<C: $crate::warpfile_hdl::rtl::Circuit>(
                circuit: &C,
            ) -> Result<$name, $crate::BridgeError> {
                let inputs = [$($crate::Declared::new::<$input_type>(stringify!($input))),*];
                let outputs = [$($crate::Declared::new::<$output_type>(stringify!($output))),*];
                Ok($name {
                    $($input: Default::default(),)*
                    $($output: Default::default(),)*
                    circuit: $crate::Bridged::new(circuit, &inputs, &outputs)?,
                })
            }

            /// What runs inside.
            $visibility fn circuit(&self) -> &$crate::Bridged {
                &self.circuit
            }
        }

        impl $crate::rust_hdl_core::logic::Logic for $name {
            fn update(&mut self) {
                self.circuit.update(&[$($crate::Value::to_words(self.$input.val())),*]);
                let mut outputs = self.circuit.outputs();
                $(
                    if let Some(words) = outputs.next() {
                        self.$output.next = $crate::Value::from_words(words);
                    }
                )*
            }

            fn connect(&mut self) {
                $($crate::rust_hdl_core::logic::Logic::connect(&mut self.$output);)*
            }

            fn hdl(&self) -> $crate::rust_hdl_core::ast::Verilog {
                self.circuit.hdl()
            }
        }

        impl $crate::rust_hdl_core::block::Block for $name {
            fn connect_all(&mut self) {
                $crate::rust_hdl_core::logic::Logic::connect(self);
            }

            fn update_all(&mut self) {
                $crate::rust_hdl_core::logic::Logic::update(self);
                $($crate::rust_hdl_core::block::Block::update_all(&mut self.$input);)*
                $($crate::rust_hdl_core::block::Block::update_all(&mut self.$output);)*
            }

            fn has_changed(&self) -> bool {
                false
                    $(|| $crate::rust_hdl_core::block::Block::has_changed(&self.$input))*
                    $(|| $crate::rust_hdl_core::block::Block::has_changed(&self.$output))*
            }

            fn accept(&self, name: &str, probe: &mut dyn $crate::rust_hdl_core::probe::Probe) {
                probe.visit_start_scope(name, self);
                $($crate::rust_hdl_core::block::Block::accept(&self.$input, stringify!($input), probe);)*
                $($crate::rust_hdl_core::block::Block::accept(&self.$output, stringify!($output), probe);)*
                probe.visit_end_scope(name, self);
            }
        }
    };
}
