//! A flow in the words of a network file, as JSON.

use serde_json::{Map, Value, json};
use tenuto_model::quantity::{format_size, format_time};
use tenuto_model::{Apart, Contract, Flow, MatchKind, Network, Size};

/// The fields of a flow: a network file with them has that flow.
pub(crate) fn fields(flow: &Flow, network: &Network) -> Value {
    let modes = network.modes.as_slice();
    let per_mode = |value: &dyn Fn(&Contract) -> String| {
        by_mode(modes, flow.contracts.iter().map(value).collect())
    };
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("source", json!(flow.source));
    put("level", json!(modes[flow.level]));
    let size = match flow.highest().size {
        Size::MessageBytes(_) => "message",
        Size::PayloadBytes(_) => "payload",
        Size::FrameBytes(_) => "frame",
    };
    put(size, per_mode(&|it| format_size(u64::from(it.size.bytes()))));
    let least: Option<Vec<u32>> = flow.contracts.iter().map(|it| it.frame_bytes_min).collect();
    if let Some(least) = least {
        let sizes = least.into_iter().map(|bytes| format_size(bytes.into())).collect();
        put("frame_min", by_mode(modes, sizes));
    }
    let period = if flow.vl.is_some() { "bag" } else { "period" };
    put(period, per_mode(&|it| format_time(it.period_ns)));
    put("jitter", per_mode(&|it| format_time(it.jitter_ns)));
    put("priority", json!(flow.highest().priority));
    if let Some(vl) = flow.vl {
        put("vl", json!(vl));
    }
    let matching = match flow.matching {
        MatchKind::FiveTuple => "five-tuple",
        MatchKind::Vl => "vl",
    };
    put("match", json!(matching));
    if !flow.monitor_at.is_empty() {
        put("monitor_at", json!(flow.monitor_at));
    }
    match (flow.copies.is_empty(), network.networks.is_empty(), flow.apart) {
        (true, ..) => {}
        (false, true, Apart::Links) => drop(put("copies", json!("link-disjoint"))),
        (false, true, Apart::Switches) => drop(put("copies", json!("disjoint"))),
        (false, false, _) => drop(put("copies", json!(flow.copies))),
    }
    if let Some(skew) = flow.skew_max_ns {
        put("skew_max", json!(format_time(skew)));
    }
    if let Some(port) = flow.udp_port {
        put("udp_port", json!(port));
    }
    put("targets", targets(flow, modes));
    Value::Object(map)
}

fn targets(flow: &Flow, modes: &[String]) -> Value {
    let one = |target: &tenuto_model::Target| {
        let times = target.deadline_ns.iter().map(|ns| format_time(*ns)).collect();
        let mut map = Map::from_iter([("deadline".to_owned(), by_mode(modes, times))]);
        let fixed = |route: &Option<Vec<String>>| route.as_ref().map(|route| json!(route));
        if flow.copies.is_empty() {
            map.extend(target.routes.first().and_then(fixed).map(|it| ("route".to_owned(), it)));
        } else if target.routes.iter().any(Option::is_some) {
            let routes = flow.copies.iter().zip(&target.routes);
            let routes = routes.filter_map(|(copy, route)| Some((copy.clone(), fixed(route)?)));
            map.insert("route".to_owned(), Value::Object(routes.collect()));
        }
        (target.host.clone(), Value::Object(map))
    };
    Value::Object(flow.targets.iter().map(one).collect())
}

/// One value where all are equal, else a map by mode.
fn by_mode(modes: &[String], values: Vec<String>) -> Value {
    match values.as_slice() {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => json!(first),
        _ => Value::Object(
            modes.iter().cloned().zip(values.into_iter().map(Value::String)).collect(),
        ),
    }
}
