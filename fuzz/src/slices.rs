//! Slices of one switch, under anything.

use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, ConnectionId, Datapath, GeneralConfig, HashKey, Ipv4Network, MessageBudget,
    OPERATOR, PortConfig, PortRole, SliceConfig, SliceSetup, SliceTraffic, SlicedSwitch,
    SwitchConfig,
};
use tenuto_dataplane::{EgressConfig, Effects, FramePool, Frames};
use tenuto_units::{Instant, Rate, Span};

fn config(id: u64, ports: &[u32], traffic: SliceTraffic, reads_only: bool) -> SwitchConfig {
    let port = |port: &u32| PortConfig {
        port: *port,
        role: PortRole::Host,
        egress: EgressConfig {
            rate: Rate::from_bps(10_000_000).expect("not zero"),
            queues: 4,
            buffer_bits: 1 << 16,
            unpromised_from: None,
        },
    };
    let (traffic, budget) = (Arc::new(traffic), MessageBudget::default());
    let slice = Some(SliceConfig { traffic, budget, reads_only });
    SwitchConfig {
        datapath_id: id,
        ports: ports.iter().map(port).collect(),
        tables: 4,
        entries_max: 64,
        meters_max: 8,
        groups_max: 8,
        meter_extra_bytes: 4,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1,
        mode_retry: Span::from_ms(1),
        general: Some(GeneralConfig { slice, attendre: None, ..GeneralConfig::default() }),
    }
}

fn switch() -> (SlicedSwitch, [SliceTraffic; 2]) {
    let networks = vec![Ipv4Network::new(0x0a00_0000, 8)];
    let a = SliceTraffic::new(vec![1, 2], Some([0, 1].into_iter().collect()), networks);
    let b = SliceTraffic::new(vec![2, 3], Some([2, 3].into_iter().collect()), Vec::new());
    let nothing = SliceTraffic::new(Vec::new(), None, Vec::new());
    let operator = Arc::new(config(9, &[1, 2, 3], nothing, true));
    let setup = |name: &str, id, traffic: &SliceTraffic| SliceSetup {
        name: name.into(),
        config: Arc::new(config(id, traffic.ports(), traffic.clone(), false)),
    };
    let slices = vec![setup("a", 1, &a), setup("b", 2, &b)];
    (SlicedSwitch::new(operator, slices).expect("they do not overlap"), [a, b])
}

/// Any bytes as the life of a switch that two slices share: a length, what happens, and the bytes of it. Bytes of
/// the operator or of a controller, a frame, time. What leaves is some slice's own.
pub fn switch_slices(bytes: &[u8]) {
    let (mut switch, own) = switch();
    let (mut frames, mut fx) = (FramePool::new(4_096), Effects::new());
    let mut now = Instant::from_ns(1_000_000_000);
    let connect = |switch: &mut SlicedSwitch, slice: usize, fx: &mut Effects<_>| {
        let id = u16::try_from(slice + 1).expect("three");
        let _is_there = switch.connected_in(slice, ConnectionId(id), None, fx);
    };
    (OPERATOR..3).for_each(|slice| connect(&mut switch, slice, &mut fx));
    let mut rest = bytes;
    while let [high, low, kind, after @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let (content, next) = after.split_at(len.min(after.len()));
        rest = next;
        let slice = usize::from(kind >> 4) % 3;
        let id = ConnectionId(u16::try_from(slice + 1).expect("three"));
        match kind & 3 {
            0 | 1 => {
                if !switch.control_from(id, now, content, &mut frames, &mut fx) {
                    switch.disconnected_from(id);
                    connect(&mut switch, slice, &mut fx);
                }
            }
            2 => {
                if let Some(frame) = frames.insert(content) {
                    switch.receive(now, now, u32::from(kind >> 4), frame, &mut frames, &mut fx);
                }
            }
            _ => now = now + Span::from_us(u64::from(*kind) * 100),
        }
        let working: Vec<ConnectionId> = switch.at_work().collect();
        working.into_iter().for_each(|id| switch.work_on(id, now, &mut frames, &mut fx));
        switch.fire_due(now, &mut frames, &mut fx);
        for sent in fx.transmits.drain(..) {
            let bytes = frames.bytes(sent.frame);
            assert!(own.iter().any(|slice| slice.claims(sent.port, bytes)), "of no slice");
            frames.release(sent.frame);
        }
        fx.drops.clear();
        fx.channels.clear();
    }
}
