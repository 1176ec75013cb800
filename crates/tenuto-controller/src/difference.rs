//! Differences between what is wanted and what a switch has, named for people.

use crate::tables::{EntryKey, EntryValue, GroupValue, MeterValue, SwitchTables};
use std::collections::BTreeMap;
use std::fmt;
use tenuto_openflow::{Body, ExactDrop, Experimenter, MeterBand, ModesMessage};

/// One field in which a switch is not what it shall be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Difference {
    /// What differs: `meter 3`, `entry of flow CAM (table 1, level 0, priority 100)`.
    pub what: String,
    /// The field; `presence` where one side has no such thing.
    pub field: &'static str,
    /// The value that it shall have.
    pub wanted: String,
    /// The value that it has.
    pub found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, field, wanted, found } = self;
        write!(f, "{what}: {field} shall be {wanted}, is {found}")
    }
}

/// Flow names by cookie, for naming entries.
pub(crate) type FlowNames = BTreeMap<u64, String>;

/// Every difference, in the order meters, groups, monitors, entries; empty if there is none.
///
/// Of monitors only their presence is compared, and of mode settings nothing: a switch does not
/// tell them.
pub(crate) fn differences(
    wanted: &SwitchTables,
    found: &SwitchTables,
    names: &FlowNames,
) -> Vec<Difference> {
    let mut list = Vec::new();
    let meters = |id: &u32| format!("meter {id}");
    each(&wanted.meters, &found.meters, meters, meter_fields, &mut list);
    let groups = |id: &u32| format!("group {id}");
    each(&wanted.groups, &found.groups, groups, group_fields, &mut list);
    let monitors = |id: &u32| format!("monitor {id}");
    each(&wanted.monitors, &found.monitors, monitors, |_, _| Vec::new(), &mut list);
    let entries = |key: &EntryKey| {
        let value = wanted.entries.get(key).or_else(|| found.entries.get(key));
        let cookie = value.map_or(0, |value| value.cookie);
        entry_name(key.table_id, key.level, key.priority, cookie, names)
    };
    each(&wanted.entries, &found.entries, entries, entry_fields, &mut list);
    list
}

/// A field: its name, the value that it shall have, and the one that it has.
type Field = (&'static str, String, String);

/// Compares two maps key by key, and values that are not equal field by field.
fn each<K: Ord, V: PartialEq>(
    wanted: &BTreeMap<K, V>,
    found: &BTreeMap<K, V>,
    name: impl Fn(&K) -> String,
    fields: impl Fn(&V, &V) -> Vec<Field>,
    list: &mut Vec<Difference>,
) {
    let mut say = |key: &K, (field, wanted, found): Field| {
        list.push(Difference { what: name(key), field, wanted, found });
    };
    for (key, value) in wanted {
        match found.get(key) {
            None => say(key, ("presence", "there".into(), "missing".into())),
            Some(found) if found == value => {}
            Some(found) => {
                let differ = fields(value, found).into_iter().filter(|(_, a, b)| a != b);
                differ.for_each(|field| say(key, field));
            }
        }
    }
    for key in found.keys().filter(|key| !wanted.contains_key(key)) {
        say(key, ("presence", "absent".into(), "there".into()));
    }
}

fn meter_fields(wanted: &MeterValue, found: &MeterValue) -> Vec<Field> {
    let mut fields = vec![("flags", hex(wanted.flags), hex(found.flags))];
    match (drop_of(wanted), drop_of(found)) {
        // Whichever bands say it: a kbit is 125 bytes. Only the form of equal ones differs.
        (Some(wanted), Some(found)) if wanted != found => fields.extend([
            ("rate_bps", wanted.rate_bps.to_string(), found.rate_bps.to_string()),
            ("burst_bytes", wanted.burst_bytes.to_string(), found.burst_bytes.to_string()),
        ]),
        _ => fields.push(("bands", debug(&wanted.bands), debug(&found.bands))),
    }
    fields
}

/// What a meter of one band drops, stated in either form.
fn drop_of(meter: &MeterValue) -> Option<ExactDrop> {
    match meter.bands.as_slice() {
        [MeterBand::Drop { rate, burst_size }] => Some(ExactDrop {
            rate_bps: u64::from(*rate) * 1_000,
            burst_bytes: u64::from(*burst_size) * 125,
        }),
        [band] => band.as_exact_drop().ok().flatten(),
        _ => None,
    }
}

fn group_fields(wanted: &GroupValue, found: &GroupValue) -> Vec<Field> {
    vec![
        ("type", wanted.type_.to_string(), found.type_.to_string()),
        ("buckets", debug(&wanted.buckets), debug(&found.buckets)),
    ]
}

fn entry_fields(wanted: &EntryValue, found: &EntryValue) -> Vec<Field> {
    vec![
        ("cookie", wanted.cookie.to_string(), found.cookie.to_string()),
        ("idle_timeout_s", wanted.idle_timeout.to_string(), found.idle_timeout.to_string()),
        ("hard_timeout_s", wanted.hard_timeout.to_string(), found.hard_timeout.to_string()),
        ("flags", hex(wanted.flags), hex(found.flags)),
        ("instructions", debug(&wanted.instructions), debug(&found.instructions)),
    ]
}

fn hex(flags: u16) -> String {
    format!("{flags:#x}")
}

fn debug<T: fmt::Debug + ?Sized>(value: &T) -> String {
    format!("{value:?}")
}

fn entry_name(table: u8, level: u8, priority: u16, cookie: u64, names: &FlowNames) -> String {
    let place = format!("(table {table}, level {level}, priority {priority})");
    match names.get(&cookie) {
        Some(flow) => format!("entry of flow {flow} {place}"),
        None => format!("entry with cookie {cookie} {place}"),
    }
}

/// A command or request, for people.
pub(crate) fn command_name(command: &Body, names: &FlowNames) -> String {
    let entry = |flow_mod: &tenuto_openflow::FlowMod, level| {
        let name = entry_name(flow_mod.table_id, level, flow_mod.priority, flow_mod.cookie, names);
        format!("{} {name}", flow_mod.command)
    };
    match command {
        Body::FlowMod(flow_mod) => entry(flow_mod, 0),
        Body::GroupMod(group) => format!("{} group {}", group.command, group.group_id),
        Body::MeterMod(meter) => format!("{} meter {}", meter.command, meter.meter_id),
        Body::SetConfig(_) => "set-config".into(),
        Body::BarrierRequest => "barrier".into(),
        Body::MultipartRequest(request) => format!("multipart request {:?}", request.body),
        Body::Experimenter(Experimenter::Modes(message)) => match message {
            ModesMessage::ShadowFlowMod { level, flow_mod } => entry(flow_mod, *level),
            ModesMessage::MonitorMod(monitor) => {
                format!("{} monitor {}", monitor.command, monitor.monitor_id)
            }
            ModesMessage::ModeConfig(_) => "mode-config".into(),
            ModesMessage::ModeActivate { epoch, level, .. } => {
                format!("mode-activate (epoch {epoch}, level {level})")
            }
            ModesMessage::ModeStatusRequest => "mode-status request".into(),
            ModesMessage::MonitorStatsRequest => "monitor-stats request".into(),
            ModesMessage::ShadowStatsRequest { level } => {
                format!("shadow-stats request of level {level}")
            }
            other => format!("{other:?}"),
        },
        other => format!("message of type {}", other.type_()),
    }
}
