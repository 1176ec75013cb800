use super::builder::{MS, contract, flow, line, quick, ring};
use crate::{Options, plan};
use tenuto_model::{ForwardingModel, Plan, Size};

fn bound_ps(plan: &Plan, flow: &str) -> Option<u64> {
    plan.flows.iter().find(|row| row.flow == flow).expect("a row").delay_bound_ps
}

#[test]
fn a_frame_over_four_store_and_forward_hops() {
    // Host, three switches: 4 · 123.04 us.
    let mut it = line("ideal");
    it.flows.push(flow("f", "s1", &["d1"], contract(Size::FrameBytes(1518), MS, 0)));
    let plan = plan(&it, &quick());
    assert_eq!(bound_ps(&plan, "f"), Some(492_160_000));
    assert!(plan.feasible, "{:?}", plan.refusals);
}

#[test]
fn fluid_without_lines_is_plain_total_flow_analysis() {
    // Published: 1067 B on the wire every 1 ms over two hops, 178.006 us.
    let mut it = super::builder::network(&["a", "b"], &["w"], "ideal");
    super::builder::links(&mut it, &[("a", "w"), ("w", "b")]);
    it.flows.push(flow("f", "a", &["b"], contract(Size::FrameBytes(1047), MS, 0)));
    let fluid = Options { model: ForwardingModel::Fluid, line_shaping: false, ..quick() };
    let unshaped = plan(&it, &fluid);
    assert_eq!(bound_ps(&unshaped, "f").map(|ps| ps / 1_000), Some(178_006));
    assert!(!unshaped.feasible, "never promised for frames");
    let shaped = plan(&it, &Options { line_shaping: true, ..fluid });
    assert_eq!(bound_ps(&shaped, "f"), Some(85_360_000), "bits flow through");
}

#[test]
fn a_lower_frame_in_the_way_counts_once_per_hop() {
    let mut it = line("ideal");
    it.flows.push(flow("high", "s1", &["d1"], contract(Size::FrameBytes(64), MS, 0)));
    it.flows.push(flow("low", "s2", &["d1"], contract(Size::FrameBytes(1518), 10 * MS, 5)));
    let plan = plan(&it, &quick());
    // 4 · 6.72 us, and 123.04 us at the three switch ports that both pass. Its burst grows by
    // 0.672 Mbit/s · (6.72 + 129.76) us = 91.7 bit a hop, but the line brings no more of its class at
    // once than one of its own frames.
    assert_eq!(bound_ps(&plan, "high"), Some(26_880_000 + 3 * 123_040_000));
    let low = bound_ps(&plan, "low").expect("the load is low");
    assert!(low >= 4 * 123_040_000);
}

#[test]
fn what_does_not_fit_is_null_for_the_low_and_finite_for_the_high() {
    let mut it = line("ideal");
    let half = contract(Size::FrameBytes(1518), 200_000, 0);
    it.flows.push(flow("high", "s1", &["d1"], half));
    it.flows.push(flow("low", "s2", &["d1"], tenuto_model::Contract { priority: 1, ..half }));
    let plan = plan(&it, &quick());
    assert!(bound_ps(&plan, "high").is_some());
    assert_eq!(bound_ps(&plan, "low"), None);
    assert!(!plan.feasible);
    let rate = plan.refusals.iter().find(|r| r.resource == "rate").expect("overload is refused");
    assert_eq!(rate.place, "sw1:3 > sw2");
    assert_eq!(rate.needed, Some(123_040_000));
}

#[test]
fn a_ring_settles_or_has_no_bound() {
    let at = |period_ns: u64| {
        let it = ring(5, 5, contract(Size::FrameBytes(1518), period_ns, 0));
        plan(&it, &quick())
    };
    // 5 flows pass each ring port: 12.304 kbit · 4 / 1 ms is half of the line and a bit.
    let light = at(MS);
    assert!(bound_ps(&light, "f0").is_some_and(|ps| ps > 7 * 123_040_000), "{:?}", light.refusals);
    let heavy = at(500_000);
    // Load 98 %: bursts around the ring do not settle.
    assert_eq!(bound_ps(&heavy, "f0"), None);
    assert!(heavy.refusals.iter().any(|r| r.because.contains("cycle")), "{:?}", heavy.refusals);
}

#[test]
fn whole_nanoseconds_cost_a_tick_where_bits_do_not_take_them() {
    let mut it = line("ideal");
    it.links.iter_mut().for_each(|link| link.rate_bps = 3_000_000);
    it.flows.push(flow("f", "s1", &["d1"], contract(Size::FrameBytes(64), 100 * MS, 0)));
    let plan = plan(&it, &quick());
    // 672 bit at 3 Mbit/s take 224 us, and a tick of 1 ns, at four ports; a line in front of a port
    // brings what it carries up to a tick sooner.
    assert_eq!(bound_ps(&plan, "f"), Some(4 * 224_001_000 + 3 * 1_000));
    let fluid = Options { model: ForwardingModel::Fluid, ..quick() };
    // Bits flow through three of the ports, and no frame is handed over at any.
    assert_eq!(bound_ps(&self::plan(&it, &fluid), "f"), Some(224_000_000));
}
