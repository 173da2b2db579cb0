//! Textures and surfaces: buffers that a kernel reads, or writes, as images.

use super::element::ElementType;
use super::error::{LaunchError, suggest};
use super::expression::{Expression, Variables};
use super::toml_value::{Table, Value};

/// Texels in a direction at most: what devices have of textures in linear memory.
const MAX_EXTENT: i64 = 1 << 28;

/// Keys of a texture beside its buffer.
pub(super) const TEXTURE_KEYS: [&str; 7] =
    ["width", "height", "channels", "filter", "address", "normalized", "read"];
/// Keys of a surface beside its buffer.
pub(super) const SURFACE_KEYS: [&str; 3] = ["width", "height", "channels"];

/// What a kernel does with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Fetches filtered texels.
    Texture,
    /// Loads and stores bytes.
    Surface,
}

impl ObjectKind {
    /// Its name in launch files.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Texture => "texture",
            ObjectKind::Surface => "surface",
        }
    }
}

/// How a fetch between texels is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The texel that the coordinate is in.
    Point,
    /// The nearest texels, weighted by their distances, which have 8 bits of fraction.
    Linear,
}

/// What is fetched outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The nearest texel.
    Clamp,
    /// The image again; with coordinates that are not normalised as `Clamp`.
    Wrap,
    /// The image mirrored; with coordinates that are not normalised as `Clamp`.
    Mirror,
    /// 0.
    Border,
}

/// What a fetch of integers gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The element.
    Element,
    /// A floating-point number from 0 to 1, or from −1 to 1.
    Normalized,
}

/// An image over a buffer, its sizes known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The buffer's index.
    pub buffer: usize,
    /// Texture or surface.
    pub kind: ObjectKind,
    /// Type of a component.
    pub element: ElementType,
    /// Components of a texel: 1, 2 or 4.
    pub channels: u8,
    /// Texels of a row; rows lie one after the other.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Between texels.
    pub filter: Filter,
    /// Outside, in x and y.
    pub address: [AddressMode; 2],
    /// Coordinates go from 0 to 1.
    pub normalized: bool,
    /// What a fetch of integers gives.
    pub reads: Reads,
}

impl Object {
    /// A texture of single components, neither filtered nor normalised.
    pub fn texture(buffer: usize, element: ElementType, width: u32, height: u32) -> Object {
        Object {
            buffer,
            kind: ObjectKind::Texture,
            element,
            channels: 1,
            width,
            height,
            filter: Filter::Point,
            address: [AddressMode::Clamp; 2],
            normalized: false,
            reads: Reads::Element,
        }
    }

    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> usize {
        self.element.bytes() * usize::from(self.channels)
    }

    /// Bytes of the image.
    pub fn bytes(&self) -> u64 {
        u64::from(self.width).saturating_mul(u64::from(self.height)).saturating_mul(self.texel_bytes() as u64)
    }
}

/// An image of a launch file: its sizes are expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectArgument {
    object: Object,
    width: Expression,
    height: Expression,
}

impl ObjectArgument {
    /// Parses `width = …` and so on, of an image over a buffer that has an index and a type.
    pub(super) fn parse(
        table: &Table,
        kind: ObjectKind,
        (buffer, element): (usize, ElementType),
        variables: &Variables,
    ) -> Result<ObjectArgument, LaunchError> {
        let extent = |value: &Value| -> Result<Expression, LaunchError> {
            let expression = value.expression()?;
            expression.check(variables, None)?;
            Ok(expression)
        };
        let mut object = Object { kind, ..Object::texture(buffer, element, 1, 1) };
        if let Some(channels) = table.get("channels") {
            object.channels = match channels.integer()? {
                count @ (1 | 2 | 4) => count as u8,
                _other => return Err(channels.expected("1, 2 or 4")),
            };
        }
        if let Some(filter) = table.get("filter") {
            object.filter = named(&filter, &[("point", Filter::Point), ("linear", Filter::Linear)])?;
        }
        if let Some(address) = table.get("address") {
            object.address = address_modes(&address)?;
        }
        if let Some(normalized) = table.get("normalized") {
            object.normalized = normalized.boolean()?;
        }
        if let Some(read) = table.get("read") {
            object.reads = named(&read, &[("element", Reads::Element), ("normalized", Reads::Normalized)])?;
        }
        object.check(table)?;
        let height = match table.get("height") {
            Some(height) => extent(&height)?,
            None => Expression::number(table.origin.clone(), 1),
        };
        Ok(ObjectArgument { object, width: extent(&table.need("width")?)?, height })
    }

    /// With its sizes.
    pub(crate) fn evaluate(&self, variables: &Variables) -> Result<Object, LaunchError> {
        let width = self.width.evaluate_within(variables, 1, MAX_EXTENT)? as u32;
        let height = self.height.evaluate_within(variables, 1, MAX_EXTENT)? as u32;
        Ok(Object { width, height, ..self.object.clone() })
    }

    /// With another buffer of the same type, as one that was swapped with it.
    pub(super) fn with_buffer(&self, buffer: impl Fn(usize) -> usize) -> ObjectArgument {
        let object = Object { buffer: buffer(self.object.buffer), ..self.object.clone() };
        ObjectArgument { object, ..self.clone() }
    }
}

impl Object {
    fn check(&self, table: &Table) -> Result<(), LaunchError> {
        let name = self.element.name();
        let small =
            matches!(self.element, ElementType::U8 | ElementType::S8 | ElementType::U16 | ElementType::S16);
        if self.element.bytes() > 4 {
            return Err(table
                .origin
                .error(format!("a {} of {name}; accepted: elements of 1, 2 and 4 bytes", self.kind.name())));
        }
        if self.reads == Reads::Normalized && !small {
            return Err(table
                .origin
                .error(format!("`read = \"normalized\"` of {name}; accepted: u8, s8, u16, s16")));
        }
        if self.filter == Filter::Linear && self.element != ElementType::F32 && self.reads == Reads::Element {
            return Err(table.origin.error(format!(
                "`filter = \"linear\"` of {name}; accepted: f32, and u8, s8, u16, s16 with `read = \"normalized\"`"
            )));
        }
        Ok(())
    }
}

/// One mode for both directions, or two.
fn address_modes(value: &Value) -> Result<[AddressMode; 2], LaunchError> {
    const MODES: [(&str, AddressMode); 4] = [
        ("clamp", AddressMode::Clamp),
        ("wrap", AddressMode::Wrap),
        ("mirror", AddressMode::Mirror),
        ("border", AddressMode::Border),
    ];
    match value.as_array().as_deref() {
        None => named(value, &MODES).map(|mode| [mode; 2]),
        Some([x, y]) => Ok([named(x, &MODES)?, named(y, &MODES)?]),
        Some(_) => Err(value.expected("one mode, or one for x and one for y")),
    }
}

fn named<T: Copy>(value: &Value, names: &[(&str, T)]) -> Result<T, LaunchError> {
    let found = value.string()?;
    names.iter().find(|&&(name, _)| name == found).map(|&(_, named)| named).ok_or_else(|| {
        value.origin.error(format!("`{found}`{}", suggest(found, names.iter().map(|&(name, _)| name))))
    })
}
