//! AFDX virtual links as YAML: a list `virtual_links`, read as the rows of a table.

use super::Import;
use super::table::{Row, Table};
use crate::read::reader::{Field, shown};
use crate::yaml::Value;

/// Keys of a virtual link, and the columns that they are.
const KEYS: [(&str, &str); 9] = [
    ("name", "vl_id"),
    ("vl_id", "number"),
    ("source", "source_partition"),
    ("destinations", "sinks"),
    ("bag_ms", "bag_ms"),
    ("max_frame_size_bytes", "max_l2_bytes"),
    ("jitter_us", "jitter_us"),
    ("switch_queue", "queue"),
    ("redundancy", "redundancy"),
];

/// The virtual links of the file as a table.
pub(super) fn table(it: &mut Import<'_>) -> Option<Table> {
    let documents = it.yaml()?;
    let node = documents.first()?;
    let top = Field { node, path: String::new() };
    let others: Vec<&str> = top.pairs().into_iter().map(|(key, _)| key).collect();
    let others = others.into_iter().filter(|key| *key != "virtual_links").collect::<Vec<_>>();
    if !others.is_empty() {
        it.note(format!("keys are not read: {}", shown(&others.join(", "))));
    }
    let items = it.reader.list(&top.get("virtual_links")?)?;
    let rows: Vec<Row> = items.iter().map(|item| row(it, item)).collect();
    if rows.is_empty() {
        it.error(node.place, "there is no virtual link", "one map in each item of the list");
        return None;
    }
    Some(Table::new(&KEYS.map(|(_, column)| column), rows))
}

fn row(it: &mut Import<'_>, item: &Field<'_>) -> Row {
    for (key, _) in item.pairs() {
        if key != "description" && !KEYS.iter().any(|(known, _)| *known == key) {
            it.note(format!("`{}` of virtual links is not read", shown(key)));
        }
    }
    let cell = |it: &mut Import<'_>, key: &str| {
        let Some(field) = item.get(key) else { return String::new() };
        match &field.node.value {
            Value::List(_) => it.reader.texts(&field).unwrap_or_default().join("|"),
            _ => it.reader.text(&field).unwrap_or_default().to_owned(),
        }
    };
    let cells = KEYS.iter().map(|(key, _)| cell(it, key)).collect();
    Row::new(item.node.place, cells)
}
