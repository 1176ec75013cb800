//! The core of a stand-alone switch as its settings say.

use super::super::control::connections_max;
use super::super::frame_store::frame_bits_least;
use super::super::settings::{PortSettings, SwitchSettings};
use super::ENTRIES_AT_ONCE;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use tenuto_dataplane::switch::{
    ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, SwitchConfig,
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
