//! A table as a Parquet file: one row group, no compression, every column optional.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::table::{Cells, Column, Table};
use crate::identity::VERSION;

/// Writes the table.
///
/// # Errors
/// The file cannot be written.
pub fn write(table: &Table, file: impl Write + Send) -> anyhow::Result<()> {
    let columns = table.columns.iter().map(column_type).collect::<anyhow::Result<Vec<TypePtr>>>()?;
    let schema = Arc::new(Type::group_type_builder("warpfile").with_fields(columns).build()?);
    let properties =
        WriterProperties::builder().set_created_by(format!("warpfile version {VERSION}")).build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let mut rows = writer.next_row_group()?;
    for column in &table.columns {
        match &column.cells {
            Cells::Integer(cells) => write_column::<Int64Type>(&mut rows, cells)?,
            Cells::Real(cells) => write_column::<DoubleType>(&mut rows, cells)?,
            Cells::Text(cells) => {
                let bytes = |text: &Option<String>| text.as_deref().map(ByteArray::from);
                write_column::<ByteArrayType>(&mut rows, &cells.iter().map(bytes).collect::<Vec<_>>())?;
            }
        }
    }
    rows.close()?;
    writer.close()?;
    Ok(())
}

fn column_type(column: &Column) -> anyhow::Result<TypePtr> {
    let (physical, logical) = match column.cells {
        Cells::Integer(_) => (PhysicalType::INT64, None),
        Cells::Real(_) => (PhysicalType::DOUBLE, None),
        Cells::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    Ok(Arc::new(builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?))
}

fn write_column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    cells: &[Option<T::T>],
) -> anyhow::Result<()> {
    let mut column = rows.next_column()?.context("more columns than the schema has")?;
    let present: Vec<T::T> = cells.iter().flatten().cloned().collect();
    // Of an optional column 1 says that there is a value.
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::super::table::tests::run;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let runs =
            vec![run("rfc", Some(2), Some(7)), run("rfc", Some(4), Some(8)), run("baseline", None, None)];
        let file = tempfile::NamedTempFile::new().expect("a file");
        write(&Table::new(runs), file.as_file()).expect("written");
        let reader = SerializedFileReader::new(File::open(file.path()).expect("there")).expect("a table");
        let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
        let cells = |name: &str| -> Vec<Field> {
            let of_row = |row: &parquet::record::Row| {
                row.get_column_iter().find(|(column, _)| *column == name).expect(name).1.clone()
            };
            rows.iter().map(of_row).collect()
        };
        assert_eq!(cells("rfc.entries"), [Field::Null, Field::Long(2), Field::Long(4)]);
        assert_eq!(cells("counters.rfc.reads"), [Field::Null, Field::Long(7), Field::Long(8)]);
        assert_eq!(cells("design"), ["baseline", "rfc", "rfc"].map(|name| Field::Str(name.to_owned())));
        assert_eq!(cells("error"), [Field::Null, Field::Null, Field::Null]);
    }
}
