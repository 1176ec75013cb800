//! How long frames wait for a message that touches very many entries: all at once, and in steps.

use super::Spread;
use super::pipeline::timed;
use crate::standalone::ENTRIES_AT_ONCE;
use serde::Serialize;
use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, ConnectionId, GeneralConfig, HashKey, PortConfig, PortRole, Switch,
    SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{Effects, EgressConfig, FramePool};
use tenuto_openflow::constants::{meter, meter_flag, table};
use tenuto_openflow::{
    Action, Body, FlowMod, FlowModCommand, FlowStatsRequest, Instruction, Match, Message,
    MeterBand, MeterMod, MeterModCommand, MultipartRequest, Oxm, RequestBody,
};
use tenuto_units::{Instant, Rate, Span};

/// Meters that the entries use in turn.
const METERS: u32 = 1_000;

/// What one message cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LongWorkCost {
    /// What is asked.
    pub message: &'static str,
    /// Entries touched before frames get a turn; `None`: all of them.
    pub entries_at_once: Option<u32>,
    /// The longest that frames wait, milliseconds of processor time.
    pub longest_ms: Spread,
    /// All of it, milliseconds of processor time.
    pub whole_ms: Spread,
}

/// Asks a switch with `entries` entries for each of the long works, at once and in steps, so many
/// times.
pub fn long_work_costs(
    entries: u32,
    repetitions: u32,
    progress: &mut dyn FnMut(&str),
) -> Vec<LongWorkCost> {
    // As the stand-alone switch does.
    tenuto_io::realtime::steady_allocation();
    let mut costs = Vec::new();
    for (message, body) in messages() {
        for entries_at_once in [None, Some(ENTRIES_AT_ONCE)] {
            let (mut longest, mut whole) = (Vec::new(), Vec::new());
            for repetition in 1..=repetitions {
                progress(&format!("{message}, repetition {repetition} of {repetitions}"));
                let steps = Loaded::new(entries, entries_at_once).steps_ms(&body);
                longest.push(steps.iter().copied().fold(0.0, f64::max));
                whole.push(steps.iter().sum());
            }
            let (longest_ms, whole_ms) = (Spread::of(longest), Spread::of(whole));
            costs.push(LongWorkCost { message, entries_at_once, longest_ms, whole_ms });
        }
    }
    costs
}

fn messages() -> [(&'static str, Body); 5] {
    let request = |body| Body::MultipartRequest(MultipartRequest::new(body));
    let modify =
        FlowMod { command: FlowModCommand::Modify, ..FlowMod::new(FlowModCommand::Add, 0) };
    [
        ("statistics of all entries", request(RequestBody::Flow(FlowStatsRequest::ALL))),
        ("their sum", request(RequestBody::Aggregate(FlowStatsRequest::ALL))),
        ("change of all entries", Body::FlowMod(modify)),
        ("removal of all entries", Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL))),
        ("statistics of 1000 meters", request(RequestBody::Meter { meter_id: meter::ALL })),
    ]
}

/// A general switch full of entries.
struct Loaded {
    switch: Switch,
    frames: FramePool,
    fx: Effects<SwitchEvent>,
    now: Instant,
}

impl Loaded {
    fn new(entries: u32, entries_at_once: Option<u32>) -> Self {
        let mut switch = Switch::new(Arc::new(config(entries, entries_at_once)));
        let (mut frames, mut fx) = (FramePool::new(16), Effects::new());
        let now = Instant::from_ns(1_000_000_000);
        switch.connected(&mut fx);
        let mut bytes = Vec::new();
        let bodies = (1..=METERS).map(metered).chain((0..entries).map(entry));
        bodies.for_each(|body| Message::new(1, body).emit(&mut bytes));
        fx.clear();
        assert!(switch.control(now, &bytes, &mut frames, &mut fx), "the channel is well-formed");
        assert!(fx.control.is_empty(), "nothing is refused");
        Self { switch, frames, fx, now }
    }

    /// Processor time of each step, milliseconds.
    fn steps_ms(&mut self, body: &Body) -> Vec<f64> {
        let bytes = Message::new(2, body.clone()).to_bytes();
        let Self { switch, frames, fx, now } = self;
        let first = timed(|| {
            assert!(switch.control(*now, &bytes, frames, fx), "the channel is well-formed");
            1
        });
        let mut steps = vec![first / 1e6];
        while switch.at_work().next().is_some() {
            *now += Span::from_us(100);
            steps.push(timed(|| {
                switch.work_on(ConnectionId::FIRST, *now, frames, fx);
                1
            }));
            // As bytes that were sent.
            fx.control.clear();
            if let Some(step) = steps.last_mut() {
                *step /= 1e6;
            }
        }
        steps
    }
}

fn config(entries: u32, entries_at_once: Option<u32>) -> SwitchConfig {
    let rate = Rate::from_bps(1_000_000_000).expect("not zero");
    let egress = EgressConfig { rate, queues: 1, buffer_bits: 1 << 20, unpromised_from: None };
    let port = |port| PortConfig { port, role: PortRole::Host, egress };
    SwitchConfig {
        datapath_id: 1,
        ports: [1, 2].map(port).to_vec(),
        tables: 4,
        entries_max: entries as usize,
        meters_max: METERS as usize,
        groups_max: 1,
        meter_extra_bytes: 4,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1,
        mode_retry: Span::from_ms(10),
        general: Some(GeneralConfig { entries_at_once, ..GeneralConfig::default() }),
    }
}

fn metered(meter_id: u32) -> Body {
    let bands = vec![MeterBand::Drop { rate: 1_000, burst_size: 100 }];
    let flags = meter_flag::KBPS | meter_flag::BURST;
    Body::MeterMod(MeterMod { command: MeterModCommand::Add, flags, meter_id, bands })
}

fn entry(n: u32) -> Body {
    let [a, b, c, d] = n.wrapping_mul(0x9e37_79b1).to_be_bytes();
    let send = vec![Action::Output { port: 2, max_len: 0 }];
    Body::FlowMod(FlowMod {
        cookie: n.into(),
        match_: Match::from(vec![Oxm::EthDst { value: [0x05, 0, a, b, c, d], mask: None }]),
        instructions: vec![Instruction::Meter(n % METERS + 1), Instruction::ApplyActions(send)],
        ..FlowMod::new(FlowModCommand::Add, 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_takes_steps_and_is_done_in_the_end() {
        for (message, body) in messages() {
            let mut at_once = Loaded::new(2_000, None);
            let mut stepped = Loaded::new(2_000, Some(ENTRIES_AT_ONCE));
            assert_eq!(at_once.steps_ms(&body).len(), 1, "{message}");
            let steps = stepped.steps_ms(&body).len();
            let is_long = message != "statistics of 1000 meters";
            assert_eq!(steps > 2_000 / 64, is_long, "{message}: {steps}");
            let left = (at_once.switch.tables().entries(), stepped.switch.tables().entries());
            assert_eq!(left.0, left.1, "{message}");
        }
    }
}
