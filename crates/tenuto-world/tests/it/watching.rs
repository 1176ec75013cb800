//! Who looks on sees every frame once, in order, and changes nothing.

use crate::support::{certified, shipped};
use std::collections::BTreeMap;
use tenuto_model::{Event, EventAction, Plan, Scenario};
use tenuto_units::Instant;
use tenuto_world::clockwork::{
    Departed, HopDelays, Onlooker, Onlookers, Place, node_names, run, run_watched, run_with_frames,
};

const MS: u64 = 1_000_000;

/// All flows stop before the end, so that nothing is under way then; the mode is raised.
fn scenario(plan: &Plan) -> Scenario {
    let stop = |flow: &tenuto_model::Flow| EventAction::StopFlow { flow: flow.name.clone() };
    let at = |at_ns, action| Event { at_ns, action, note: None };
    let mut events = vec![at(20 * MS, EventAction::Behave { flow: "CAM".into(), mode: 1 })];
    events.extend(plan.network.flows.iter().map(|flow| at(200 * MS, stop(flow))));
    Scenario { events, ..Scenario::plain(300 * MS, 3) }
}

#[derive(Debug, Default)]
struct Seen {
    start: Instant,
    frames: BTreeMap<Place, Vec<Instant>>,
    depths: BTreeMap<Place, Vec<u64>>,
    levels: Vec<(usize, u8)>,
    drops: u64,
}

impl Onlooker for Seen {
    fn start(&mut self, at: Instant) {
        self.start = at;
    }

    fn left(&mut self, from: Place, frame: &Departed<'_>) {
        if let (Some(arrival), true) = (frame.arrival, frame.flow.is_some()) {
            assert!(arrival <= frame.departure);
        }
        self.frames.entry(from).or_default().push(frame.departure);
    }

    fn depth(&mut self, of: Place, bits: u64, _now: Instant) {
        self.depths.entry(of).or_default().push(bits);
    }

    fn swapped(&mut self, node: usize, level: u8, _now: Instant) {
        self.levels.push((node, level));
    }

    fn dropped(&mut self, _at: Place, _why: &'static str, _flow: Option<u16>, _now: Instant) {
        self.drops += 1;
    }
}

#[test]
fn looking_on_changes_nothing_and_sees_everything() {
    let plan = certified(&shipped("vehicle.yaml"));
    let scenario = scenario(&plan);
    let mut seen = Seen::default();
    let watched = run_watched(&plan, &scenario, None, &mut seen, &mut |_| {}).expect("a run");
    let alone = run(&plan, &scenario).expect("a run");
    assert_eq!(watched, alone);
    for (place, times) in &seen.frames {
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{place:?}: a line is serial");
        assert!(times[0] >= seen.start);
    }
    let names = node_names(&plan);
    for port in &alone.ports {
        let node = names.iter().position(|it| port.port.starts_with(*it)).expect("a node");
        let number = port.port.split([':', ' ']).nth(1).and_then(|it| it.parse().ok()).unwrap_or(1);
        let depths = &seen.depths[&Place { node, port: number }];
        let most = depths.iter().max().copied().unwrap_or(0);
        assert_eq!(most, port.observed_backlog_bits_max, "{}", port.port);
        assert_eq!(depths.last(), Some(&0), "{} is empty in the end", port.port);
        let frames = seen.frames.get(&Place { node, port: number }).map_or(0, Vec::len) as u64;
        // Signals of the set-up left trunks before traffic started.
        let before = port.frames - frames;
        let is_trunk = port.port.matches("sw").count() == 2;
        assert!(before <= if is_trunk { 2 } else { 0 }, "{}: {before}", port.port);
    }
    let raised = seen.levels.iter().filter(|(_, level)| *level == 1).count();
    assert_eq!(raised, plan.switches.len(), "{:?}", seen.levels);
    let policed: u64 = alone.policed.iter().map(|row| row.frames).sum();
    assert!(seen.drops >= policed);
}

#[test]
fn delays_at_ports_are_those_of_the_log_of_frames() {
    let plan = certified(&shipped("vehicle.yaml"));
    let scenario = scenario(&plan);
    let (mut hops, mut others) = (HopDelays::default(), Seen::default());
    let mut all = Onlookers(vec![&mut hops, &mut others]);
    run_watched(&plan, &scenario, None, &mut all, &mut |_| {}).expect("a run");
    let (_, log) = run_with_frames(&plan, &scenario, &mut |_| {}).expect("a run");
    let mut logged: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for frame in &log.frames {
        for hop in &frame.hops {
            let port = tenuto_model::Port { node: hop.node.clone(), port: hop.port };
            let key = (frame.flow.clone(), plan.network.port_label(&port));
            let of = logged.entry(key).or_default();
            *of = (of.0 + 1, of.1.max(hop.departure_ns - hop.arrival_ns));
        }
    }
    let rows = hops.rows(&plan);
    assert_eq!(rows.len(), logged.len());
    for row in &rows {
        let (frames, most) = logged[&(row.flow.clone(), row.port.clone())];
        assert_eq!(row.frames, frames, "{row:?}");
        // The log counts from the queue, these rows from the last bit in: 20 us of processing at most.
        let latency = if row.port.starts_with("sw") { 20_000 } else { 0 };
        assert!((most..=most + latency).contains(&row.observed_ns_max), "{row:?}, {most} ns");
        assert_eq!(row.histogram.iter().map(|it| it.frames).sum::<u64>(), frames);
        assert!(row.bound_ns.is_some_and(|bound| row.observed_ns_max <= bound), "{row:?}");
        assert!(
            row.observed_ns_p50 <= row.observed_ns_p99
                && row.observed_ns_p99 <= row.observed_ns_max
        );
        let last = row.histogram.last().expect("a bucket").to_ns;
        assert!((row.observed_ns_max..=row.observed_ns_max * 9 / 8).contains(&last), "{row:?}");
    }
}
