//! What tenants' slices may take of a profile's processor.

use super::reader::{Field, Reader, shown};
use super::slices_file::{SLICES_MAX, SliceBudget, is_slice_name, parse_bytes, parse_messages};
use crate::quantity::parse_cost_ps;
use crate::yaml::Value;
use crate::{Processor, SliceControl, SliceShare};

const KEYS: [&str; 3] = ["message", "byte", "budgets"];
const BUDGET_KEYS: [&str; 3] = ["messages", "packet_ins", "bytes"];

/// Reads `slices`; problems leave the base's value.
pub(super) fn read_slices_of(reader: &mut Reader, it: &Field<'_>, processor: &mut Processor) {
    let Some(field) = it.get("slices") else { return };
    if matches!(&field.node.value, Value::Text(text) if text == "none") {
        processor.slices = SliceControl::NONE;
        return;
    }
    if !reader.expect_map(&field, &KEYS) {
        return;
    }
    let Some(list) = field.get("budgets") else {
        let hint =
            "add `budgets: {blue: {messages: 1000 /s, packet_ins: 500 /s, bytes: 500 kB/s}}`";
        return reader.error(&field, "there is no slice", hint);
    };
    let pairs = list.pairs();
    if pairs.is_empty() || pairs.len() > SLICES_MAX {
        let message = format!("{} slices, from 1 to {SLICES_MAX}", pairs.len());
        reader.error(&list, &message, "write a budget for each slice, or `slices: none`");
        return;
    }
    let mut cost = |key| field.get(key).and_then(|f| reader.quantity(&f, parse_cost_ps));
    let (message, byte) = (cost("message"), cost("byte"));
    processor.slices = SliceControl {
        message_ps: message.unwrap_or(SliceControl::MESSAGE_PS),
        byte_ps: byte.unwrap_or(SliceControl::BYTE_PS),
        budgets: pairs.iter().map(|(name, it)| read_share(reader, name, it)).collect(),
    };
}

/// The budget of one slice; what is left out is what a file of slices gives it.
fn read_share(reader: &mut Reader, name: &str, field: &Field<'_>) -> SliceShare {
    if !is_slice_name(name) {
        let message = format!("`{}` cannot be the name of a slice", shown(name));
        reader.error(field, &message, "write 1 to 24 small letters, digits and `-`");
    }
    reader.expect_map(field, &BUDGET_KEYS);
    let given = SliceBudget::default();
    let mut rate = |key, or: u32| {
        let rate = field.get(key).and_then(|f| reader.quantity(&f, parse_messages));
        rate.and_then(|rate| u32::try_from(rate).ok()).unwrap_or(or)
    };
    let messages = rate("messages", given.messages);
    let packet_ins = rate("packet_ins", given.packet_ins);
    let bytes = field.get("bytes").and_then(|f| reader.quantity(&f, parse_bytes));
    let bytes = bytes.unwrap_or(given.bytes);
    SliceShare { name: name.to_owned(), messages, packet_ins, bytes }
}
