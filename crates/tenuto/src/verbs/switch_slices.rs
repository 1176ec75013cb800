//! Slices of a stand-alone switch, from their file.

use super::switch_flags::{controller, listen};
use crate::failure::Failure;
use crate::named_file::{self, Kind};
use std::path::Path;
use tenuto_dataplane::switch::{FailMode, MessageBudget};
use tenuto_model::{SliceBudget, SliceFile, SlicesFile, SwitchText, read_slices};
use tenuto_runtime::standalone::{ControllerSettings, SliceSettings, SwitchSettings};
use tenuto_units::Rate;

/// What a slice may have where its file does not say: small, as many share the switch.
const BUFFER_BYTES: u64 = 256 << 10;
const TABLES: u8 = 16;
const ENTRIES: usize = 10_000;
const MASKS: usize = 128;
const ACTIONS: usize = 100_000;
const GROUPS: usize = 128;
const METERS: usize = 128;

/// Reads a file of slices.
pub(super) fn read(path: &Path) -> Result<SlicesFile, Failure> {
    let shown = path.display().to_string();
    let text = named_file::text(path, Kind::SLICES)?;
    let judge = |what, text: &str| match what {
        SwitchText::Controller => controller(text).map(drop),
        SwitchText::Listen => listen(text).map(drop),
        // A slice has neither ports of its own kind nor captures.
        SwitchText::PortKind | SwitchText::Tap | SwitchText::Levels => Ok(()),
    };
    read_slices(&text, &shown, &judge)
        .map_err(|problems| Failure::of(&problems, "no slice was made"))
}

/// Has the switch be shared by the slices of a file.
pub(super) fn take(settings: &mut SwitchSettings, path: &Path) -> Result<(), Failure> {
    for slice in &read(path)?.slices {
        let slice = of_file(settings, slice)?;
        settings.slices.push(slice);
    }
    Ok(())
}

fn of_file(settings: &SwitchSettings, slice: &SliceFile) -> Result<SliceSettings, Failure> {
    let mut ports = Vec::new();
    for (interface, share) in &slice.ports {
        let port = settings.ports.iter().find(|port| port.interface == *interface);
        let port = port.ok_or_else(|| {
            let hint = "slices stand at ports of the switch: --port eth1,rate=100Mbit/s";
            let text = format!("slice {}: no port is called `{interface}`", slice.name);
            Failure::input(text, None, Some(hint))
        })?;
        ports.push((port.number, share.and_then(Rate::from_bps)));
    }
    let limits = Limits::of(slice);
    let to_controller = |(text, auxiliary): &(String, u8)| {
        controller(text).ok().map(|it| ControllerSettings { auxiliary: *auxiliary, ..it })
    };
    Ok(SliceSettings {
        name: slice.name.clone(),
        datapath_id: slice.datapath_id,
        ports,
        buffer_bytes: slice.buffer_bytes.unwrap_or(BUFFER_BYTES),
        vlans: slice.vlans.clone(),
        networks: slice.addresses.clone(),
        budget: budget(slice.budget),
        controllers: slice.controllers.iter().filter_map(to_controller).collect(),
        listen: slice.listen.iter().filter_map(|text| listen(text).ok()).collect(),
        fail_mode: match slice.standalone {
            Some(true) => FailMode::Standalone,
            _ => FailMode::Secure,
        },
        tables: limits.tables,
        entries_max: limits.entries,
        masks_max: limits.masks,
        actions_max: limits.actions,
        groups_max: limits.groups,
        meters_max: limits.meters,
    })
}

/// What a slice may have in tables, as its file says or what is usual.
pub(super) struct Limits {
    pub(super) tables: u8,
    pub(super) entries: usize,
    pub(super) masks: usize,
    pub(super) actions: usize,
    pub(super) groups: usize,
    pub(super) meters: usize,
}

impl Limits {
    pub(super) fn of(slice: &SliceFile) -> Self {
        let limit =
            |limit: Option<u64>, or| limit.and_then(|it| usize::try_from(it).ok()).unwrap_or(or);
        Self {
            tables: slice.tables.unwrap_or(TABLES),
            entries: limit(slice.entries, ENTRIES),
            masks: limit(slice.masks, MASKS),
            actions: limit(slice.actions, ACTIONS),
            groups: limit(slice.groups, GROUPS),
            meters: limit(slice.meters, METERS),
        }
    }
}

pub(super) const fn budget(of: SliceBudget) -> MessageBudget {
    let SliceBudget { messages, changes, packet_outs, statistics, packet_ins, bytes } = of;
    MessageBudget { messages, changes, packet_outs, statistics, packet_ins, bytes }
}
