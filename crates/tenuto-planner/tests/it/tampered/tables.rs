//! What the tables of a plan do to frames, one frame at a time; nothing of the checker is in here.

use serde_json::{Value, json};

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The fate of the frames of every flow where its route brings them, and of every flow's frames
/// at every other port of a host, with every pair of levels in force.
pub(crate) fn behaviour(plan: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let levels = list(&plan["network"]["modes"]).len();
    for switch in list(&plan["switches"]) {
        for port in list(&switch["ports"]) {
            for (index, flow) in list(&plan["network"]["flows"]).iter().enumerate() {
                let arrives = arrives(plan, flow, port);
                if !arrives && port["role"] != "host" {
                    continue;
                }
                let Some(mut frame) = frame(plan, index, flow) else { continue };
                frame["in_port"] = port["port"].clone();
                for admitted in 0..levels {
                    for forwarding in 0..=admitted {
                        let mut fate = fate(switch, &frame, [admitted, admitted, forwarding]);
                        if !arrives && fate["outputs"] == json!([]) {
                            // What is dropped may have filled a meter of its own flow.
                            fate["checks"] = json!([]);
                        }
                        let place = format!("{}:{}", switch["switch"], port["port"]);
                        found.push(format!(
                            "{place} {} {admitted} {forwarding} {fate}",
                            flow["name"]
                        ));
                    }
                }
            }
        }
    }
    found
}

fn arrives(plan: &Value, flow: &Value, port: &Value) -> bool {
    let routes = list(&plan["routes"]).iter().filter(|route| route["flow"] == flow["name"]);
    let mut ports = routes.flat_map(|r| list(&r["paths"])).flat_map(|path| list(&path["ports"]));
    ports.any(|from| from["node"] == port["peer"] && from["port"] == port["peer_port"])
}

/// The header fields that entries of a flow name anywhere: those of its frames.
fn frame(plan: &Value, index: usize, flow: &Value) -> Option<Value> {
    let hosts = list(&plan["network"]["hosts"]);
    let number = |name: &Value| hosts.iter().position(|host| host["name"] == *name);
    let source = number(&flow["source"])?;
    let targets = list(&flow["targets"]);
    let (eth_dst, ip_dst) = match (flow["vl"].as_u64(), targets) {
        (Some(vl), _) => {
            (json!([3, 0, 0, 0, vl / 256, vl % 256]), json!([224, 224, vl / 256, vl % 256]))
        }
        (None, [one]) => {
            let host = number(&one["host"])?;
            (json!([2, 0, 0, 0, host, 0x20]), json!([10, 0, 0, host + 1]))
        }
        _ => (json!([1, 0, 0x5e, 1, 0, index]), json!([239, 1, 0, index])),
    };
    Some(json!({"eth_dst": eth_dst, "eth_type": 0x0800, "ip_src": [10, 0, 0, source + 1],
        "ip_dst": ip_dst, "ip_proto": 17,
        "udp_dst": flow["udp_port"].as_u64().unwrap_or(20_000 + index as u64)}))
}

/// The outputs of a frame, and the meters and monitors that it passes, with what they are.
fn fate(switch: &Value, frame: &Value, levels: [usize; 3]) -> Value {
    let (mut checks, mut outputs) = (Vec::new(), Vec::new());
    let mut next = Some(0);
    while let Some(table) = next {
        let hits = list(&switch["entries"]).iter().filter(|entry| {
            let is_in_force = entry["level"].is_null() || entry["level"] == levels[table];
            let fields = entry["match"].as_object().expect("fields");
            entry["table"] == table
                && is_in_force
                && fields.iter().all(|(name, value)| value.is_null() || frame[name] == *value)
        });
        let Some(entry) = hits.max_by_key(|entry| entry["precedence"].as_u64()) else { break };
        for (kind, all) in [("monitor", "monitors"), ("meter", "meters")] {
            let named = list(&switch[all]).iter().filter(|it| it["id"] == entry[kind]);
            checks.extend(named.cloned());
        }
        let group = list(&switch["groups"]).iter().find(|it| it["id"] == entry["output"]["group"]);
        outputs
            .extend(group.iter().flat_map(|group| list(&group["outputs"])).map(Value::to_string));
        if !entry["output"]["port"].is_null() {
            outputs.push(entry["output"]["port"].to_string());
        }
        next = entry["goto"].as_u64().and_then(|goto| usize::try_from(goto).ok());
        next = next.filter(|goto| *goto > table && *goto < 3);
    }
    outputs.sort();
    json!({"checks": checks, "outputs": outputs})
}
