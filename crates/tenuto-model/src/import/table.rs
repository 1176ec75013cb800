//! CSV tables of other tools: rows with their lines, columns by their names.

use super::Import;
use super::advice::{NUMBER, TABLE, TOO_LARGE};
use super::decimal::{Decimal, Toward};
use crate::read::network::FLOWS_MAX;
use crate::read::reader::shown;
use crate::read::tables::line_of;
use crate::yaml::Place;

/// A row and its line.
pub(crate) struct Row {
    pub(crate) place: Place,
    cells: Vec<String>,
}

impl Row {
    /// A row of these cells.
    pub(crate) const fn new(place: Place, cells: Vec<String>) -> Self {
        Self { place, cells }
    }

    /// The first cell.
    pub(crate) fn first(&self) -> &str {
        self.cells.first().map_or("", String::as_str)
    }

    /// All cells.
    pub(crate) fn into_cells(self) -> Vec<String> {
        self.cells
    }
}

/// A table.
pub(crate) struct Table {
    /// Names of columns in small letters.
    columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// The rows of the file without comments; what is no table is reported.
pub(crate) fn rows(it: &mut Import<'_>) -> Vec<Row> {
    let text = it.text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let place = |position| Place { line: line_of(text, position), ..Place::default() };
        match record {
            // A comment that ends the file without a line end comes as a record of nothing.
            Ok(record) if record.iter().all(str::is_empty) => {}
            Ok(record) => {
                let place = place(record.position());
                rows.push(Row { place, cells: record.iter().map(str::to_owned).collect() });
            }
            Err(error) => {
                let place = place(error.position());
                it.error(place, format!("not a valid table: {}", shown(&error.to_string())), TABLE);
                break;
            }
        }
        if rows.len() > FLOWS_MAX + 1 {
            it.error(Place::default(), "the table has too many rows", "at most 65000");
            break;
        }
    }
    rows
}

/// The table of the file, whose first row names the columns.
pub(crate) fn table(it: &mut Import<'_>) -> Option<Table> {
    let mut rows = rows(it);
    if rows.is_empty() {
        it.error(Place::default(), "the table has no line of column names", TABLE);
        return None;
    }
    let header = rows.remove(0);
    Some(Table::new(&header.cells, rows))
}

impl Table {
    pub(crate) fn new(names: &[impl AsRef<str>], rows: Vec<Row>) -> Self {
        let columns = names.iter().map(|name| name.as_ref().trim().to_lowercase()).collect();
        Self { columns, rows }
    }

    /// Reports columns that must be there and are not; true if there is none.
    pub(crate) fn has_all(&self, it: &mut Import<'_>, needed: &[&'static str]) -> bool {
        let mut is_whole = true;
        for column in needed {
            if !self.columns.iter().any(|name| name == column) {
                let near = it.reader.nearest(column, self.columns.iter().map(String::as_str));
                let hint = near.map(|near| format!("is `{near}` meant for it?"));
                let message = format!("the table has no column `{column}`");
                let place = Place { line: 1, ..Place::default() };
                it.error(place, message, &hint.unwrap_or_default());
                is_whole = false;
            }
        }
        is_whole
    }

    /// The columns that none of these are.
    pub(crate) fn others(&self, known: &[&str]) -> Vec<&str> {
        let columns = self.columns.iter().map(String::as_str);
        columns.filter(|name| !known.contains(name) && !name.is_empty()).collect()
    }

    /// A cell that is not empty.
    pub(crate) fn get<'t>(&self, row: &'t Row, column: &str) -> Option<&'t str> {
        let index = self.columns.iter().position(|name| name == column)?;
        row.cells.get(index).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// A cell that must not be empty.
    pub(crate) fn need<'t>(
        &self,
        it: &mut Import<'_>,
        row: &'t Row,
        column: &'static str,
    ) -> Option<&'t str> {
        let found = self.get(row, column);
        if found.is_none() {
            it.error(at(row, column), "the cell is empty", "each row has a value here");
        }
        found
    }

    /// A number of a cell times a power of ten; an empty cell is `None` without a word.
    pub(crate) fn number(
        &self,
        it: &mut Import<'_>,
        row: &Row,
        column: &'static str,
        power: i32,
        toward: Toward,
    ) -> Option<u64> {
        let text = self.get(row, column)?;
        match Decimal::parse(text).map(|number| number.scaled(1, power, 1, toward)) {
            Ok(Some(value)) if value <= NUMBER_MAX => Some(value),
            Ok(_) => {
                it.error(at(row, column), format!("`{}` is too large", shown(text)), TOO_LARGE);
                None
            }
            Err(why) => {
                it.error(at(row, column), format!("`{}`: {why}", shown(text)), NUMBER);
                None
            }
        }
    }
}

/// Largest number of a cell, scaled: ten days in nanoseconds.
const NUMBER_MAX: u64 = 864_000_000_000_000;

/// The place of a cell.
pub(crate) const fn at(row: &Row, column: &'static str) -> Place {
    Place { table_column: Some(column), ..row.place }
}
