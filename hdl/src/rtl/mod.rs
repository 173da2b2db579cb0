//! The construction core: how circuits are described, and what they elaborate to.
//!
//! A circuit is a struct of parameters that describes itself once; [`elaborate`] runs the description and gives
//! its [`Netlist`](netlist::Netlist), from which everything else derives.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use warpfile_hdl::rtl::{
//!     Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, elaborate,
//! };
//!
//! /// Tag store: remembers which key each row belongs to.
//! ///
//! /// Timing: lookup answers in the same cycle; a fill is visible from the next.
//! #[derive(Clone, Debug, Serialize, Deserialize, Documented)]
//! pub struct TagStore {
//!     /// Rows.
//!     pub rows: usize,
//!     /// Bits of a key.
//!     pub key_bits: usize,
//! }
//!
//! #[derive(Ports)]
//! #[params(TagStore)]
//! pub struct Io<'m> {
//!     pub lookup: Request<'m>, // lookup_valid_i, lookup_key_i
//!     pub hit_o: Out<'m>,
//!     #[bits(warpfile_hdl::rtl::index_bits(p.rows))]
//!     pub row_o: Out<'m>,
//!     pub fill: Request<'m>,
//!     pub flush_i: In<'m>,
//! }
//!
//! #[derive(Ports)]
//! #[params(TagStore)]
//! pub struct Request<'m> {
//!     pub valid_i: In<'m>,
//!     #[bits(p.key_bits)]
//!     pub key_i: In<'m>,
//! }
//!
//! /// A key that is known.
//! #[derive(Clone, Copy, Record)]
//! #[params(TagStore)]
//! struct Known<T = Field> {
//!     #[bits(p.key_bits)]
//!     key: T,
//! }
//!
//! impl Circuit for TagStore {
//!     type Io<'m> = Io<'m>;
//!     const NAME: &'static str = "tag_store";
//!
//!     fn validate(&self) -> Result<(), ParameterError> {
//!         Self::check_range("rows", self.rows, 1..=64)?;
//!         Self::check_range("key_bits", self.key_bits, 1..=32)
//!     }
//!
//!     fn build<'m>(&self, m: &Module<'m>, io: &Io<'m>) {
//!         let rows = m.table::<Known>("rows", self.rows, self).valid_bits();
//!         let hits =
//!             rows.matching("lookup", io.lookup.valid_i, |row| row.valid() & row.key.eq(io.lookup.key_i));
//!         io.hit_o.set(io.lookup.valid_i & hits.any());
//!         io.row_o.set(hits.priority_encode()).valid_when(io.hit_o);
//!
//!         let next = m.register("next", rows.index_bits()).reset(0);
//!         m.when(io.fill.valid_i, || {
//!             rows.write("fill", next, Known { key: io.fill.key_i });
//!             next.set(next.eq(self.rows - 1).mux(m.lit(rows.index_bits(), 0), next + 1));
//!         });
//!         m.when(io.flush_i, || rows.clear_valid());
//!         m.invariant("next_is_a_row", next.zext(32).lt(self.rows));
//!     }
//! }
//!
//! let netlist = elaborate(&TagStore { rows: 6, key_bits: 12 }).unwrap();
//! assert_eq!(netlist.modules[0].name, "tag_store_6x12");
//!
//! let errors = elaborate(&TagStore { rows: 65, key_bits: 12 }).unwrap_err();
//! assert_eq!(errors.to_string(), "tag_store: parameter `rows` is 65; allowed: 1 to 64");
//! ```
//!
//! A circuit that contains others passes groups of ports through, and connects groups that mirror each other:
//!
//! ```
//! # use serde::{Deserialize, Serialize};
//! # use warpfile_hdl::rtl::{Circuit, Documented, In, Module, Out, Ports, elaborate};
//! /// A word that is offered; `TakeIo` is the other side: `valid_i`, `ready_o`, `word_i`.
//! #[derive(Ports)]
//! #[flipped(TakeIo)]
//! pub struct OfferIo<'m> {
//!     pub valid_o: Out<'m>,
//!     pub ready_i: In<'m>,
//!     #[bits(8)]
//!     #[valid_when(valid_o)]
//!     pub word_o: Out<'m>,
//! }
//!
//! #[derive(Ports)]
//! pub struct StageIo<'m> {
//!     pub take: TakeIo<'m>,
//!     pub offer: OfferIo<'m>,
//! }
//!
//! # /// A stage.
//! # #[derive(Clone, Debug, Serialize, Deserialize, Documented)]
//! # pub struct Stage {}
//! # impl Circuit for Stage {
//! #     type Io<'m> = StageIo<'m>;
//! #     const NAME: &'static str = "stage";
//! #     fn build<'m>(&self, m: &Module<'m>, io: &StageIo<'m>) {
//! #         io.take.ready_o.set(io.offer.ready_i);
//! #         io.offer.valid_o.set(io.take.valid_i);
//! #         io.offer.word_o.set(io.take.word_i);
//! #     }
//! # }
//! /// Two stages.
//! #[derive(Clone, Debug, Serialize, Deserialize, Documented)]
//! pub struct Stages {}
//!
//! impl Circuit for Stages {
//!     type Io<'m> = StageIo<'m>;
//!     const NAME: &'static str = "stages";
//!
//!     fn build<'m>(&self, m: &Module<'m>, io: &StageIo<'m>) {
//!         let (first, second) = (m.instance("first", Stage {}), m.instance("second", Stage {}));
//!         m.pass_through(&io.take, &first.take);
//!         m.connect(&first.offer, &second.take);
//!         m.pass_through(&io.offer, &second.offer);
//!     }
//! }
//! # elaborate(&Stages {}).unwrap();
//! ```
//!
//! Outside, an engine that runs the circuit gives its ports as a struct of the same shape with handles:
//! `engine.ports(&Stages {})?.offer.word_o`.

mod assign;
pub mod bits;
mod builder;
mod circuit;
mod elaborate;
mod error;
mod finish;
mod loops;
mod module;
mod names;
pub mod netlist;
mod operand;
mod ports;
mod signal;
mod table;
mod vector;
mod visit;

pub use bits::Bits;
pub use circuit::{Circuit, Documented};
pub use elaborate::{InstancePort, elaborate};
pub use error::{ElaborationError, ElaborationErrors, ParameterError, Problem};
pub use module::{Module, NewRegister, When};
pub use operand::{Literal, Operand};
pub use ports::{Bundle, Connect, HandlesOf, PortBinder, PortLookup, PortResolver, Ports, resolve_ports};
pub use signal::{Assigned, In, Out, Signal};
pub use table::{Field, FieldShape, Read, Record, Row, RowOperand, RowSignal, Table, Write};
pub use vector::{count_bits, index_bits};
pub use warpfile_hdl_macros::{Documented, Encoding, Ports, Record};
