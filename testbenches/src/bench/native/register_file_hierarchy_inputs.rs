//! Where the inputs of the register file hierarchy lie in the noise.

use super::collectors::SOURCES;
use super::dual_issue::WAYS;
use super::noise::{Field, Fields};

/// Where the noise of an instruction lies.
pub(super) struct IssueFields {
    pub valid: Field,
    pub id: Field,
    pub unit: Field,
    pub active: Field,
    pub slot: Field,
    pub sources: [SourceFields; SOURCES],
    pub copy: [Field; 3],
}

/// Where the noise of an operand lies: whether there is one, its register, whether it is in an entry, and which.
pub(super) type SourceFields = [Field; 4];

/// Where the noise of a write lies: whether there is one, its register, its lanes.
pub(super) type WriteFields = [Field; 3];

/// Where the noise lies, in the order of the inputs.
pub(super) struct Layout {
    pub issues: [IssueFields; WAYS],
    pub unit_ready: Field,
    /// With whether it goes to the main register file, to an entry, the slot, and the entry.
    pub results: [(WriteFields, [Field; 4]); WAYS],
    pub fill: WriteFields,
}

impl Layout {
    const fn new() -> Layout {
        let mut fields = Fields::NONE;
        let issues = [IssueFields::new(&mut fields), IssueFields::new(&mut fields)];
        let unit_ready = fields.next(8);
        let results = [result_fields(&mut fields), result_fields(&mut fields)];
        let fill = write_fields(&mut fields);
        Layout { issues, unit_ready, results, fill }
    }
}

impl IssueFields {
    const fn new(fields: &mut Fields) -> IssueFields {
        IssueFields {
            valid: fields.next(8),
            id: fields.next(6),
            unit: fields.next(2),
            active: fields.next(2),
            slot: fields.next(3),
            sources: [source_fields(fields), source_fields(fields), source_fields(fields)],
            copy: [fields.next(1), fields.next(2), fields.next(2)],
        }
    }
}

const fn source_fields(fields: &mut Fields) -> SourceFields {
    [fields.next(8), fields.next(9), fields.next(1), fields.next(2)]
}

const fn write_fields(fields: &mut Fields) -> WriteFields {
    [fields.next(8), fields.next(9), fields.next(2)]
}

const fn result_fields(fields: &mut Fields) -> (WriteFields, [Field; 4]) {
    (write_fields(fields), [fields.next(1), fields.next(1), fields.next(3), fields.next(2)])
}

pub(super) const LAYOUT: Layout = Layout::new();
/// Words of noise.
pub(super) const WORDS: usize = LAYOUT.fill[2].word + 1;
