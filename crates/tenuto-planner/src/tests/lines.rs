//! Lines of several rates by hand (theory, "Lines farther back").

use super::builder::{MBIT, MS, contract, flow, links, network, quick};
use crate::{explain, plan};
use tenuto_model::{Network, Plan, Size};

/// Two hosts at sw1, and one at sw2 for both of them: 100 Mbit/s but for the trunk.
fn fast_in_the_middle() -> Network {
    let mut it = network(&["a", "b", "d"], &["sw1", "sw2"], "ideal");
    links(&mut it, &[("a", "sw1"), ("b", "sw1"), ("sw1", "sw2"), ("sw2", "d")]);
    it.links[2].rate_bps = 1_000 * MBIT;
    // Ten frames of 1538 B on the wire.
    let own = contract(Size::MessageBytes(14_600), 40 * MS, 0);
    assert_eq!(own.size.frames(false).message_wire_bits, 123_040);
    it.flows.push(flow("fa", "a", &["d"], own));
    it.flows.push(flow("fb", "b", &["d"], own));
    it
}

fn delay_ps(plan: &Plan, port: &str) -> u64 {
    let service = plan.ports.iter().find(|it| plan.network.port_label(&it.port) == port);
    service.expect("a claim").delay_ps
}

fn is_near(ps: u64, microseconds: f64) -> bool {
    (ps as f64 / 1e6 - microseconds).abs() < 0.01
}

#[test]
fn a_line_two_hops_back_bounds_what_a_fast_one_brings() {
    // L = 12.304 kbit, M = 10 L, r = M / 40 ms = 3.076 Mbit/s.
    // Hosts: M / 100 Mbit/s = 1230.4 us. At the trunk, each line brings L and 100 Mbit/s:
    // 2 L / 1 Gbit/s = 24.608 us. So Λ_a = L + 100 Mbit/s · (t + 24.608 us) = 14.7648 kbit + 100 Mbit/s · t.
    let it = fast_in_the_middle();
    let plan = plan(&it, &quick());
    assert!(is_near(delay_ps(&plan, "a > sw1"), 1_230.4));
    assert!(is_near(delay_ps(&plan, "sw1:3 > sw2"), 24.608));
    // At d: both bring their lines' until each has brought its message, of by then
    // M + r·(1230.4 + 24.608 us) = 126.9004 kbit: t = (126.9004 − 14.7648) / (100 − 3.076) = 1.156943 ms.
    // Then 2 · (14.7648 + 115.6943) kbit have come, 260.9182 kbit; at 100 Mbit/s that is 2609.182 us.
    let expected = 2_609.182 - 1_156.943;
    let delay = delay_ps(&plan, "sw2:2 > d");
    assert!(is_near(delay, expected), "{delay} {expected}");
    // If all lines are as fast as the trunk, messages meet whole: 2 · M and little else.
    let mut fast = it;
    fast.links.iter_mut().take(2).for_each(|link| link.rate_bps = 1_000 * MBIT);
    let fast = crate::plan(&fast, &quick());
    assert!(delay_ps(&fast, "sw2:2 > d") > 2_200_000_000);
}

#[test]
fn the_explanation_names_the_lines_that_bound() {
    let it = fast_in_the_middle();
    let explained =
        explain(&crate::plan(&it, &quick()), &quick(), "fa", &|_| true).expect("a flow");
    let hops = &explained.rows[0].hops;
    assert!(hops[..2].iter().all(|hop| hop.held_back_by.is_empty()), "{hops:?}");
    let told = &hops[2].held_back_by;
    let lines: Vec<(&str, u64, usize)> =
        told.iter().map(|it| (&*it.line, it.rate_bps, it.hops_back)).collect();
    assert_eq!(lines, [("a > sw1", 100 * MBIT, 2), ("b > sw1", 100 * MBIT, 2)]);
    // By themselves each would do: the largest wait is where both have brought their messages.
    // 12.304 kbit + 1 Gbit/s · t = 2 · 126.9004 kbit + 2 r·t at 242.99 us: 2309.965 us.
    let without = 2_309.965 - (2_609.182 - 1_156.943);
    assert!(is_near(hops[2].held_back_ps, without), "{:?}", hops[2]);
    assert!(told.iter().all(|it| is_near(it.saves_ps, without)), "{told:?}");
}
