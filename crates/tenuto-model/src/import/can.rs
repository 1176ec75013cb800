//! Message tables of a CAN bus: what a gateway sends on when the bus has delivered it.

use super::assembly::{Assembly, FlowParts, target};
use super::decimal::Toward;
use super::table::{self, Row, Table, at};
use super::{Import, star};
use crate::read::network::{Draft, settle_priorities};
use crate::yaml::Place;
use crate::{Contract, Size};
use std::collections::BTreeMap;

const COLUMNS: [&str; 7] = [
    "id",
    "transmission time/us",
    "period/us",
    "deadline/us",
    "frame length/bytes",
    "wcrt/us",
    "mawt/us",
];
/// Header of a CAN message inside a packet, bytes: as long as that of IEEE 1722 ACF-CAN.
const HEADER_BYTES: u64 = 16;
/// Largest payload of a CAN FD frame, bytes.
const DATA_BYTES_MAX: u64 = 64;

/// The gateway's flows, on a star of gateway and target or on `--topology`.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let options = it.options;
    let (Some(bus), Some(gateway), Some(to)) = (options.bus, options.gateway, options.target)
    else {
        let hint = "add --bus NAME --gateway HOST --target HOST";
        it.error(Place::default(), "the table names neither bus nor gateway nor target", hint);
        return None;
    };
    let table = table::table(it)?;
    if !table.has_all(it, &["id", "period/us", "frame length/bytes", "wcrt/us"]) {
        return None;
    }
    let others = table.others(&COLUMNS).join(", ");
    if !others.is_empty() {
        it.note(format!("columns are not read: {others}"));
    }
    let hosts = BTreeMap::from([gateway, to].map(|host| (host.to_owned(), Place::default())));
    let mut assembly = star::base(it, &hosts)?;
    let gateway = assembly.node(it, gateway, Place::default())?;
    let to = assembly.node(it, to, Place::default())?;
    it.note(
        "release jitter is the worst-case response time (WCRT) on the bus; deadlines are what the \
         bus leaves of the message's (MAWT)",
    );
    it.note("a message is one UDP datagram of its data and 16 B, as IEEE 1722 ACF-CAN adds");
    it.note("ID is a rank only; priorities are rate-monotonic");
    for row in &table.rows {
        // What is missing was reported.
        let _reported = read_row(it, &mut assembly, &table, row, (bus, &gateway, &to));
    }
    let mut draft = assembly.finish(it);
    settle_priorities(&mut draft);
    Some(draft)
}

fn read_row(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    table: &Table,
    row: &Row,
    (bus, gateway, to): (&str, &str, &str),
) -> Option<()> {
    let id = table.need(it, row, "id")?;
    let name = Assembly::clean(it, &format!("{bus}-{id}"));
    table.need(it, row, "period/us")?;
    let period_ns = table.number(it, row, "period/us", 3, Toward::Down)?;
    table.need(it, row, "wcrt/us")?;
    let response_ns = table.number(it, row, "wcrt/us", 3, Toward::Up)?;
    let stated = table.number(it, row, "deadline/us", 3, Toward::Down);
    if stated.is_none() {
        it.assume_deadlines("the period, of messages without one");
    }
    let deadline_ns = stated.unwrap_or(period_ns);
    table.need(it, row, "frame length/bytes")?;
    let data = table.number(it, row, "frame length/bytes", 0, Toward::Up)?;
    if data > DATA_BYTES_MAX {
        let message = format!("{data} B are no CAN message");
        it.error(at(row, "frame length/bytes"), message, "at most 64 B (CAN FD)");
        return None;
    }
    let left_ns = deadline_ns.checked_sub(response_ns).filter(|left| *left > 0);
    let Some(left_ns) = left_ns else {
        let message = "the bus leaves nothing of the deadline";
        it.error(at(row, "wcrt/us"), message, "WCRT must be below the deadline");
        return None;
    };
    if let Some(stated_ns) = table.number(it, row, "mawt/us", 3, Toward::Down)
        && stated_ns.abs_diff(left_ns) > 1_000
    {
        let message = format!("MAWT is not deadline - WCRT = {} us", left_ns / 1_000);
        it.warn(at(row, "mawt/us"), message, "the difference is taken");
    }
    let payload = u32::try_from(data + HEADER_BYTES).ok()?;
    let contract = Contract {
        period_ns,
        size: Size::PayloadBytes(payload),
        frame_bytes_min: None,
        jitter_ns: response_ns,
        priority: 0,
    };
    assembly.draft.unranked.insert(name.clone());
    let parts = FlowParts {
        name,
        source: gateway.to_owned(),
        targets: vec![target(to, left_ns, None)],
        contract,
        vl: None,
        place: row.place,
    };
    assembly.flow(it, parts).then_some(())
}
