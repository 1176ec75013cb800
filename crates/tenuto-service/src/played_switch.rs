//! A switch of ours as tests play it, in virtual time.

use std::sync::Arc;
use tenuto_dataplane::EgressConfig;
use tenuto_dataplane::switch::{
    ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, Switch, SwitchConfig,
};
use tenuto_units::{Rate, Span};

/// It has ports 1 to `ports`.
pub(crate) fn played_switch(dpid: u64, ports: u32) -> Switch {
    let rate = Rate::from_bps(100_000_000).expect("not zero");
    let egress = EgressConfig { rate, queues: 8, buffer_bits: 1 << 24, unpromised_from: None };
    let port = |port| PortConfig { port, role: PortRole::Host, egress };
    Switch::new(Arc::new(SwitchConfig {
        datapath_id: dpid,
        ports: (1..=ports).map(port).collect(),
        tables: 8,
        entries_max: 1_024,
        meters_max: 64,
        groups_max: 64,
        meter_extra_bytes: 24,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 0,
        mode_retry: Span::from_ms(10),
        general: Some(GeneralConfig::default()),
    }))
}
