//! The core of a stand-alone switch as its settings say.

use super::super::control::connections_max;
use super::super::frame_store::frame_bits_least;
use super::super::settings::{PortSettings, SliceSettings, SwitchSettings};
use super::ENTRIES_AT_ONCE;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tenuto_dataplane::switch::{
    ClassifierKind, FailMode, GeneralConfig, HashKey, Ipv4Network, MessageBudget, PortConfig,
    PortRole, SliceConfig, SliceSetup, SliceTraffic, SwitchConfig,
};
use tenuto_dataplane::{EgressConfig, UNPACED_BPS};
use tenuto_io::MonotonicClock;
use tenuto_units::{Rate, Span};
use tenuto_world::link_key;

fn ns_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A port with another switch behind it is a trunk, under the key that both ends make of the secret.
fn role(settings: &SwitchSettings, port: &PortSettings) -> PortRole {
    match (&settings.link_secret, &port.peer) {
        (Some(secret), Some((peer, peer_port))) => {
            let own = (settings.name.as_str(), port.number);
            PortRole::Trunk(link_key(*secret, own, (peer, *peer_port)))
        }
        _ => PortRole::Host,
    }
}

/// What the core is made of.
pub(super) fn config(settings: &SwitchSettings, hash_key: HashKey) -> SwitchConfig {
    let port = |port: &PortSettings| PortConfig {
        port: port.number,
        role: role(settings, port),
        egress: EgressConfig {
            rate: port.rate.or(Rate::from_bps(UNPACED_BPS)).expect("a trillion is not zero"),
            queues: port.queues,
            buffer_bits: port.buffer_bytes.saturating_mul(8),
            unpromised_from: None,
        },
    };
    let names: BTreeMap<u32, String> =
        settings.ports.iter().map(|port| (port.number, port.interface.clone())).collect();
    SwitchConfig {
        datapath_id: settings.datapath_id,
        ports: settings.ports.iter().map(port).collect(),
        tables: settings.tables,
        entries_max: settings.entries_max,
        meters_max: settings.meters_max,
        groups_max: settings.groups_max,
        meter_extra_bytes: settings.meter_extra_bytes,
        classifier: ClassifierKind::ByMask,
        hash_key,
        // Greater from start to start, also when the machine was started anew.
        boot_seed: ns_since_1970(),
        mode_retry: Span::from_ms(100),
        general: Some(GeneralConfig {
            buffers_max: settings.buffers_max,
            connections_max: connections_max(settings),
            fail_mode: settings.fail_mode,
            packet_ins_per_s: settings.packet_ins_per_s,
            description: settings.name.clone(),
            port_names: names,
            began: MonotonicClock::now(),
            entries_at_once: Some(ENTRIES_AT_ONCE),
            masks_max: settings.masks_max,
            actions_max: settings.actions_max,
            buckets_max: settings.buckets_max,
            copies_max: settings.copies_max,
            frame_bits_least: frame_bits_least(settings),
            tables_change: !settings.fixed_tables,
            ..GeneralConfig::default()
        }),
    }
}

/// The datapath of the operator, and those of the slices.
pub(super) fn sliced(
    settings: &SwitchSettings,
    hash_key: HashKey,
) -> io::Result<(SwitchConfig, Vec<SliceSetup>)> {
    let whole = config(settings, hash_key);
    let mut slices = Vec::new();
    for slice in &settings.slices {
        slices.push(slice_setup(settings, slice, &whole)?);
    }
    Ok((operator(whole), slices))
}

/// The operator has what no slice has, and no room for an entry.
fn operator(whole: SwitchConfig) -> SwitchConfig {
    let traffic = Arc::new(SliceTraffic::new(Vec::new(), None, Vec::new()));
    let slice = SliceConfig { traffic, budget: MessageBudget::default(), reads_only: true };
    let general = whole.general.unwrap_or_default();
    let general = GeneralConfig {
        fail_mode: FailMode::Secure,
        attendre: None,
        slice: Some(slice),
        ..general
    };
    let (entries_max, groups_max, meters_max) = (0, 0, 0);
    SwitchConfig { tables: 1, entries_max, groups_max, meters_max, general: Some(general), ..whole }
}

fn slice_setup(
    settings: &SwitchSettings,
    slice: &SliceSettings,
    whole: &SwitchConfig,
) -> io::Result<SliceSetup> {
    let numbers = slice.ports.iter().map(|(number, _)| *number).collect();
    let vlans = slice.vlans.as_ref().map(|vlans| vlans.iter().copied().collect());
    let network = |(address, bits): &(Ipv4Addr, u8)| Ipv4Network::new((*address).into(), *bits);
    let traffic = SliceTraffic::new(numbers, vlans, slice.networks.iter().map(network).collect());
    let mut ports = Vec::new();
    for (number, _) in &slice.ports {
        let port = whole.ports.iter().find(|port| port.port == *number);
        let Some(port) = port else { continue };
        let egress = EgressConfig {
            rate: share_of(settings, slice, *number)?,
            buffer_bits: slice.buffer_bytes.saturating_mul(8),
            ..port.egress
        };
        ports.push(PortConfig { egress, ..port.clone() });
    }
    let general = whole.general.clone().unwrap_or_default();
    let budget = slice.budget;
    let general = GeneralConfig {
        fail_mode: slice.fail_mode,
        description: slice.name.clone(),
        masks_max: slice.masks_max,
        actions_max: slice.actions_max,
        attendre: None,
        slice: Some(SliceConfig { traffic: Arc::new(traffic), budget, reads_only: false }),
        ..general
    };
    let config = SwitchConfig {
        datapath_id: slice.datapath_id,
        ports,
        tables: slice.tables,
        entries_max: slice.entries_max,
        groups_max: slice.groups_max,
        meters_max: slice.meters_max,
        general: Some(general),
        ..whole.clone()
    };
    Ok(SliceSetup { name: slice.name.clone(), config: Arc::new(config) })
}

/// The rate of a slice at a port: what it was given, or an equal part of what is not given away. What several slices
/// have at one port adds up to no more than its rate, so that none waits for another but for a frame of each.
fn share_of(settings: &SwitchSettings, slice: &SliceSettings, number: u32) -> io::Result<Rate> {
    let there: Vec<Option<Rate>> = settings
        .slices
        .iter()
        .flat_map(|it| it.ports.iter().filter(|(own, _)| *own == number).map(|(_, rate)| *rate))
        .collect();
    let port = settings.ports.iter().find(|port| port.number == number);
    let rate = port.and_then(|port| port.rate);
    let own = slice.ports.iter().find(|(own, _)| *own == number).and_then(|(_, rate)| *rate);
    let name = port.map_or("?", |port| port.interface.as_str());
    let wrong = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    let Some(rate) = rate else {
        return match (there.len(), own) {
            (0 | 1, own) => {
                Ok(own.or(Rate::from_bps(UNPACED_BPS)).expect("a trillion is not zero"))
            }
            _ => {
                wrong(format!("slices share port {name}: it needs a rate (--port {name},rate=...)"))
            }
        };
    };
    let given: u64 = there.iter().flatten().map(|rate| rate.as_bps()).sum();
    let others = there.iter().filter(|rate| rate.is_none()).count() as u64;
    if given > rate.as_bps() || others > 0 && given == rate.as_bps() {
        return wrong(format!(
            "slices have {given} bit/s of port {name}, whose rate is {} bit/s{}",
            rate.as_bps(),
            if others > 0 { ", and some are to share what is left" } else { "" }
        ));
    }
    let left = (rate.as_bps() - given).checked_div(others).and_then(Rate::from_bps);
    own.or(left).map_or_else(|| wrong(format!("port {name} has no rate left")), Ok)
}
