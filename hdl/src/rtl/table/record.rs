//! What a row of a table holds.

/// What a row of a table holds: a struct with a type parameter in place of the values.
///
/// ```
/// # use warpfile_hdl::rtl::{Field, Record};
/// # struct Tags { tag_bits: usize, lanes: usize }
/// /// A line and whose it is.
/// #[derive(Clone, Copy, Record)]
/// #[params(Tags)]
/// struct Line<T = Field> {
///     /// Without a width it is one bit.
///     pinned: T,
///     #[bits(p.tag_bits)]
///     tag: T,
///     /// Writes and reads can be of some of the lanes; one physical array holds four.
///     #[bits(p.lanes * 32)]
///     #[lanes(p.lanes)]
///     #[lanes_per_array(4)]
///     data: T,
///     /// Fields `user0` and `user1`.
///     #[bits(5)]
///     user: [T; 2],
/// }
/// ```
///
/// `Table<'m, Line>` is a table of such rows. What is read has the same fields with signals in them, and so has what is
/// written: a field that does not exist, or is one of another table, is found by the compiler.
pub trait Record: Copy {
    /// What the widths follow from, `p` in the expressions of the attributes.
    type Params;
    /// The record with a `T` for each field.
    type With<T: Copy>: Copy;

    /// The fields in order.
    fn fields(p: &Self::Params) -> Vec<FieldShape>;

    /// The record with what `of` gives, called for each field in order.
    fn make<T: Copy>(of: impl FnMut() -> T) -> Self::With<T>;

    /// What is in the fields, in order.
    fn list<T: Copy>(record: &Self::With<T>) -> Vec<T>;
}

/// A field of a record.
#[derive(Clone, Debug)]
pub struct FieldShape {
    /// Its name, also in the Verilog.
    pub name: String,
    /// Bits, of all lanes.
    pub bits: usize,
    /// Equal parts that an access can mask, if it has lanes.
    pub lanes: Option<usize>,
    /// Lanes that one physical array holds: what one access pays for.
    pub lanes_per_array: usize,
}

/// A field of a table's record, by its place; see [`Table::write_fields`](super::Table::write_fields).
#[derive(Clone, Copy, Debug)]
pub struct Field(pub(super) u32);

/// The record with what `of` gives for the place of each field.
pub(super) fn by_place<R: Record, T: Copy>(mut of: impl FnMut(u32) -> T) -> R::With<T> {
    let mut next = 0;
    R::make(|| {
        next += 1;
        of(next - 1)
    })
}
