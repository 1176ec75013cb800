//! The table of a figure: all of it as CSV in whole units, its worst rows on the page.

use super::text::{bits, csv_text, escape, percent_encode, seconds, time_ns, time_up};
use std::fmt::Write;

/// Rows that a page shows; the CSV has all.
pub(super) const ROWS_SHOWN: usize = 50;

/// One value, as the CSV has it and as the page shows it.
pub(super) struct Cell {
    csv: String,
    shown: String,
    is_number: bool,
}

/// Columns and rows.
pub(super) struct Table {
    /// Name of the CSV file, without ending.
    name: &'static str,
    header: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Cell {
    pub(super) fn text(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        Self { csv: csv_text(text), shown: escape(text), is_number: false }
    }

    pub(super) fn number(value: impl Into<i128>) -> Self {
        let value = value.into().to_string();
        Self { shown: value.clone(), csv: value, is_number: true }
    }

    /// Nanoseconds; empty in the CSV where there is no value.
    pub(super) fn ns(value: Option<u64>) -> Self {
        Self::optional(value, time_ns)
    }

    /// An instant of the run.
    pub(super) fn at(value: u64) -> Self {
        Self::optional(Some(value), seconds)
    }

    /// Picoseconds.
    pub(super) fn ps(value: Option<u64>) -> Self {
        Self::optional(value, time_up)
    }

    /// Bits.
    pub(super) fn bits(value: Option<u64>) -> Self {
        Self::optional(value, bits)
    }

    /// A whole number that may be absent.
    pub(super) fn maybe(value: Option<u64>) -> Self {
        Self::optional(value, |v| v.to_string())
    }

    /// A value of any other unit, and how the page writes it.
    pub(super) fn shown(value: u64, show: impl Fn(u64) -> String) -> Self {
        Self::optional(Some(value), show)
    }

    fn optional(value: Option<u64>, show: impl Fn(u64) -> String) -> Self {
        let csv = value.map_or(String::new(), |v| v.to_string());
        Self { csv, shown: value.map_or_else(|| "–".to_owned(), show), is_number: true }
    }
}

impl Table {
    pub(super) const fn new(name: &'static str, header: Vec<&'static str>) -> Self {
        Self { name, header, rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.header.len(), "a cell for every column of {}", self.name);
        self.rows.push(row);
    }

    fn csv(&self) -> String {
        let mut out = self.header.join(",");
        out.push_str("\r\n");
        for row in &self.rows {
            for (place, cell) in row.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&cell.csv);
            }
            out.push_str("\r\n");
        }
        out
    }

    /// The link under which all rows can be had.
    pub(super) fn link(&self) -> String {
        format!(
            "<a class=\"csv\" download=\"{0}.csv\" href=\"data:text/csv;charset=utf-8,{1}\">\
             {0}.csv <span>{2} {3}</span></a>",
            self.name,
            percent_encode(&self.csv()),
            self.rows.len(),
            if self.rows.len() == 1 { "row" } else { "rows" },
        )
    }

    /// The first rows on the page. Names of columns lose their unit: the values carry it.
    pub(super) fn on_page(&self) -> String {
        let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
        let is_number = |column: usize| self.rows.first().is_some_and(|row| row[column].is_number);
        for (column, name) in self.header.iter().enumerate() {
            let class = if is_number(column) { " class=\"n\"" } else { "" };
            write!(out, "<th{class}>{}</th>", escape(&heading(name))).expect("to a string");
        }
        out.push_str("</tr></thead><tbody>");
        for row in self.rows.iter().take(ROWS_SHOWN) {
            out.push_str("<tr>");
            for cell in row {
                let class = if cell.is_number { " class=\"n\"" } else { "" };
                write!(out, "<td{class}>{}</td>", cell.shown).expect("writing to a string");
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        if self.rows.len() > ROWS_SHOWN {
            let more = self.rows.len() - ROWS_SHOWN;
            write!(out, "<p class=\"more\">and {more} more rows, in the CSV</p>")
                .expect("writing to a string");
        }
        out
    }

    /// The rows behind a fold.
    pub(super) fn folded(&self) -> String {
        format!("<details><summary>as a table</summary>{}</details>", self.on_page())
    }
}

/// `delay_bound_ns` is headed `delay bound`.
fn heading(name: &str) -> String {
    let mut words: Vec<&str> = name.split('_').collect();
    words.retain(|word| !["ns", "ps", "bits", "bps", "ppm"].contains(word));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_whole_units_and_the_page_has_readable_ones() {
        let mut table = Table::new("bounds", vec!["flow", "delay_bound_ns"]);
        table.push(vec![Cell::text("a,<b>"), Cell::ns(Some(14_604_001))]);
        table.push(vec![Cell::text("c"), Cell::ns(None)]);
        assert_eq!(table.csv(), "flow,delay_bound_ns\r\n\"a,<b>\",14604001\r\nc,\r\n");
        let page = table.on_page();
        assert!(page.contains("<th class=\"n\">delay bound</th>"), "{page}");
        assert!(page.contains("<td>a,&lt;b&gt;</td><td class=\"n\">14.605 ms</td>"), "{page}");
        assert!(table.link().contains("%22a,%3Cb%3E%22,14604001%0D%0A"));
    }
}
