//! Flows and streams that wait, as data of the model.

use super::OWN_CUC;
use super::address::StreamKey;
use super::planned::Planned;
use super::reading::mac;
use crate::answer::BoundRow;
use crate::view::View;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tenuto_model::{Addressing, Flow};

const NS_PER_S: u64 = 1_000_000_000;
/// `dscp` of none, in particular.
const ANY_DSCP: u8 = 64;

/// All streams of a network: those that are configured, with what waits.
pub(super) fn streams(view: &View, planned: &[(StreamKey, Planned)]) -> BTreeMap<StreamKey, Value> {
    let mut all = BTreeMap::new();
    for (index, flow) in view.network.flows.iter().enumerate() {
        let key = key_of(view, index, flow);
        all.insert(key.clone(), configured(view, index, flow, &key));
    }
    for (key, it) in planned {
        let status = if all.contains_key(key) { "modified" } else { "planned" };
        all.insert(key.clone(), waiting(key, it, status));
    }
    all
}

/// The stream that a flow is.
pub(super) fn key_of(view: &View, index: usize, flow: &Flow) -> StreamKey {
    StreamKey::of_flow(&flow.name).unwrap_or_else(|| {
        let address = Addressing::new(&view.network).flow(index);
        StreamKey::own(address.eth_src, address.udp_port)
    })
}

/// The domain with its streams.
pub(super) fn domain(name: &str, streams: &BTreeMap<StreamKey, Value>) -> Value {
    let mut cucs: BTreeMap<&str, Vec<&Value>> = BTreeMap::from([(OWN_CUC, Vec::new())]);
    for (key, stream) in streams {
        cucs.entry(&key.cuc).or_default().push(stream);
    }
    let cucs: Vec<Value> = cucs.into_iter().map(|(name, streams)| cuc(name, &streams)).collect();
    json!({"domain-id": name, "cnc-enabled": true, "cuc": cucs})
}

/// A CUC with its streams.
pub(super) fn cuc(name: &str, streams: &[&Value]) -> Value {
    match streams {
        [] => json!({"cuc-id": name}),
        streams => json!({"cuc-id": name, "stream": streams}),
    }
}

/// A stream that waits: as it was written, with its status.
fn waiting(key: &StreamKey, planned: &Planned, status: &str) -> Value {
    let mut stream = planned.body.clone();
    if let Some(map) = stream.as_object_mut() {
        map.insert("stream-id".to_owned(), json!(key.id));
        map.insert("stream-status".to_owned(), json!(status));
        if let Some((code, _)) = &planned.failure {
            let info = json!({"talker-status": "failed", "listener-status": "failed", "failure-code": code});
            map.insert("status-info".to_owned(), info);
        }
    }
    stream
}

fn configured(view: &View, index: usize, flow: &Flow, key: &StreamKey) -> Value {
    let bounds = BoundRow::of_flow(&view.plan, &flow.name);
    let worst = |target: Option<&str>| {
        let of = bounds.iter().filter(|it| target.is_none_or(|host| it.target == host));
        of.map(|it| it.delay_bound_ns).try_fold(0, |most, it| it.map(|it| most.max(it)))
    };
    let mut talker = json!({
        "stream-rank": {"rank": 1},
        "end-station-interfaces": [interface(view, &flow.source)],
        "data-frame-specification": [frame(view, index)],
        "traffic-specification": traffic(flow),
        "user-to-network-requirements": {
            "num-seamless-trees": flow.copies.len().max(1),
            "max-latency": latency(flow.targets.iter().filter_map(|it| it.deadline_ns.iter().min()).min()),
        },
    });
    put_latency(&mut talker, worst(None));
    let listener = |(index, target): (usize, &tenuto_model::Target)| {
        let mut it = json!({
            "index": index,
            "end-station-interfaces": [interface(view, &target.host)],
            "user-to-network-requirements": {
                "num-seamless-trees": 1,
                "max-latency": latency(target.deadline_ns.iter().min()),
            },
        });
        put_latency(&mut it, worst(Some(&target.host)));
        it
    };
    json!({
        "stream-id": key.id,
        "stream-status": "configured",
        "talker": talker,
        "listener": flow.targets.iter().enumerate().map(listener).collect::<Vec<_>>(),
        "status-info": {"talker-status": "ready", "listener-status": "ready", "failure-code": 0},
    })
}

/// A time as the model counts it, 32 bits of nanoseconds; 4.3 s where it is longer.
fn latency(ns: Option<&u64>) -> u32 {
    ns.map_or(0, |ns| u32::try_from(*ns).unwrap_or(u32::MAX))
}

fn put_latency(of: &mut Value, bound_ns: Option<u64>) {
    let fits = bound_ns.and_then(|ns| u32::try_from(ns).ok());
    if let (Some(ns), Some(map)) = (fits, of.as_object_mut()) {
        map.insert("accumulated-latency".to_owned(), json!(ns));
    }
}

fn interface(view: &View, host: &str) -> Value {
    let index = view.network.hosts.iter().position(|it| it.name == host).unwrap_or(0);
    let address = Addressing::new(&view.network).host_mac(index, None);
    json!({"mac-address": mac(&address), "interface-name": ""})
}

fn frame(view: &View, index: usize) -> Value {
    let address = Addressing::new(&view.network).flow(index);
    let ip = |it: [u8; 4]| it.map(|byte| byte.to_string()).join(".");
    json!({"index": 0, "ipv4-tuple": {
        "source-ip-address": ip(address.ip_src), "destination-ip-address": ip(address.ip_dst),
        "dscp": ANY_DSCP, "protocol": 17, "source-port": address.udp_port, "destination-port": address.udp_port,
    }})
}

/// The contract of the highest mode, which is what the network enforces.
fn traffic(flow: &Flow) -> Value {
    let contract = flow.highest();
    let mix = contract.size.frames(false);
    // An Ethernet header and FCS are no part of it.
    let packet = mix.frame_bytes_max.saturating_sub(18);
    let (numerator, denominator) = fraction(contract.period_ns);
    json!({
        "interval": {"numerator": numerator, "denominator": denominator},
        "max-frames-per-interval": mix.frames.min(0xffff),
        "max-frame-size": packet.min(0xffff),
        "transmission-selection": 0,
    })
}

/// A time in seconds, of 32 bits each; rounded down where it has more digits.
fn fraction(ns: u64) -> (u32, u32) {
    let mut divisor = NS_PER_S;
    let (mut a, mut b) = (ns, NS_PER_S);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    divisor = divisor.min(a.max(1));
    let exact = (ns / divisor, NS_PER_S / divisor);
    let (numerator, denominator) = match u32::try_from(exact.0) {
        Ok(_) => exact,
        Err(_) => (ns / 1_000_000, 1_000),
    };
    (u32::try_from(numerator).unwrap_or(u32::MAX), u32::try_from(denominator).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_fractions_of_32_bits_that_are_not_longer() {
        assert_eq!(fraction(10_000_000), (1, 100));
        assert_eq!(fraction(1_000_000_000), (1, 1));
        assert_eq!(fraction(2_500_000_000), (5, 2));
        assert_eq!(fraction(7), (7, 1_000_000_000));
        for ns in [1, 999, 4_300_000_001, 86_400_000_000_001, u64::MAX] {
            let (numerator, denominator) = fraction(ns);
            let shown = u128::from(numerator) * u128::from(NS_PER_S) / u128::from(denominator);
            assert!(denominator > 0 && shown <= u128::from(ns), "{ns}");
        }
    }
}
