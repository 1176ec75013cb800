//! What cannot be carried has no bound: never a number.

use std::collections::BTreeMap;
use tenuto_model::{Plan, Port, Transition};

/// For a plan with an overloaded port, whether every flow of its lowest class is without bound
/// there; `None` where contracts alone overload no port.
pub(crate) fn unproved(plan: &Plan) -> Option<Result<(), String>> {
    let network = &plan.network;
    let mut loads: BTreeMap<(&Port, usize), (f64, u8)> = BTreeMap::new();
    for route in &plan.routes {
        let flow = network.flow(&route.flow).expect("a route is of a flow");
        let mut ports: Vec<&Port> = route.paths.iter().flat_map(|path| &path.ports).collect();
        ports.sort();
        ports.dedup();
        for (mode, contract) in flow.contracts.iter().enumerate() {
            for &port in &ports {
                let load = loads.entry((port, mode)).or_default();
                let bits = contract.size.frames(false).message_wire_bits as f64;
                load.0 += bits * 1e9 / contract.period_ns as f64;
                load.1 = load.1.max(contract.priority);
            }
        }
    }
    let rate = |port: &Port| network.peer(port).map_or(0.0, |(_, link)| link.rate_bps as f64);
    let over: Vec<_> = loads.iter().filter(|((port, _), load)| load.0 > rate(port)).collect();
    if over.is_empty() {
        return None;
    }
    for ((port, mode), (_, class)) in over {
        for row in plan.flows.iter().filter(|row| row.priority == *class) {
            let hops = row.copies.iter().flat_map(|copy| &copy.hops);
            let is_here = hops.into_iter().any(|hop| hop.port == **port);
            let in_mode = matches!(row.mode, Transition::Steady(m) if usize::from(m) == *mode);
            if is_here && in_mode && row.delay_bound_ps.is_some() {
                let label = network.port_label(port);
                return Some(Err(format!("{} has a bound over {label}, overloaded", row.flow)));
            }
        }
    }
    Some(if plan.feasible { Err("feasible, but overloaded".into()) } else { Ok(()) })
}
