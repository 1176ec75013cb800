//! What happens in a case: traffic and faults, drawn from its seed.

use std::collections::BTreeSet;
use tenuto_model::{
    Event, EventAction, Flow, Network, NodeRef, Offsets, Plan, Scenario, Sizes, Traffic,
};
use tenuto_units::Draws;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// What a case draws is told apart by this from what the run itself draws of the same seed.
const SALT: u64 = 0x05ee_d0fc_a5e5;
/// Length of a case's traffic unless the network needs more, or a command says otherwise.
const TRAFFIC_NS: u64 = 300 * MS;
/// Periods of the slowest flow that a case sees at least.
const PERIODS: u64 = 4;
/// The longest that a case draws by itself.
const TRAFFIC_NS_MAX: u64 = 5_000 * MS;
/// Between the last release and the end, besides the largest bound.
const REST_NS: u64 = 20 * MS;
/// Frame sizes of hosts that babble, bytes with FCS.
const BABBLED: [u32; 5] = [64, 65, 200, 700, 1_518];
/// How often an event of each kind is in a case, percent.
const LIKELY: u64 = 70;
const SOMETIMES: u64 = 30;

/// How far a case goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Faults that the plan tolerates: every promise must hold.
    Within,
    /// Any faults: only what must always hold is checked.
    Beyond,
}

/// The scenario of a case. `traffic_ns` is how long sources send; drawn by the network's times if `None`.
pub fn scenario(plan: &Plan, seed: u64, reach: Reach, traffic_ns: Option<u64>) -> Scenario {
    let network = &plan.network;
    let traffic_ns = traffic_ns.unwrap_or_else(|| traffic_of(network)).max(MS);
    let mut drawing = Drawing {
        network,
        draws: Draws::new(seed ^ SALT),
        traffic_ns,
        events: Vec::new(),
        babbling: BTreeSet::new(),
    };
    let traffic = drawing.traffic();
    drawing.starts();
    drawing.modes();
    drawing.hosts(network.tolerates.babbling_hosts);
    drawing.signals(network.tolerates.lost_signals);
    drawing.controllers(reach);
    drawing.redundant_switch();
    if reach == Reach::Beyond {
        drawing.beyond();
    }
    drawing.stop_all();
    drawing.events.sort_by_key(|event| event.at_ns);
    let duration_ns = traffic_ns + settling(plan);
    Scenario { traffic, events: drawing.events, ..Scenario::plain(duration_ns, seed) }
}

/// How long sources send where nobody says: some periods, and with modes a return.
fn traffic_of(network: &Network) -> u64 {
    let periods = network.flows.iter().filter_map(|flow| Some(flow.contract(0)?.period_ns));
    let slowest = periods.max().unwrap_or(0).saturating_mul(PERIODS);
    let quiet = if network.modes.len() > 1 {
        3 * network.mode_return.quiet_ns.unwrap_or(200 * MS)
    } else {
        0
    };
    (TRAFFIC_NS + quiet).max(slowest).min(TRAFFIC_NS_MAX)
}

/// Until the last message must be where it belongs.
fn settling(plan: &Plan) -> u64 {
    let bounds = plan.flows.iter().filter_map(|row| row.delay_bound_ps);
    bounds.max().unwrap_or(0).div_ceil(1_000).saturating_mul(2) + REST_NS
}

struct Drawing<'a> {
    network: &'a Network,
    draws: Draws,
    traffic_ns: u64,
    events: Vec<Event>,
    /// Hosts that break their contracts.
    babbling: BTreeSet<String>,
}

impl Drawing<'_> {
    fn chance(&mut self, percent: u64) -> bool {
        self.draws.below(100) < percent
    }

    fn at(&mut self, at_ns: u64, action: EventAction) {
        self.events.push(Event { at_ns, action, note: None });
    }

    /// Some time while sources send, not in the last tenth.
    fn moment(&mut self) -> u64 {
        self.draws.below(self.traffic_ns / 10 * 9 + 1)
    }

    fn traffic(&mut self) -> Traffic {
        let offsets = if self.chance(40) { Offsets::Zero } else { Offsets::Random };
        let sizes = if self.chance(75) { Sizes::Largest } else { Sizes::Random };
        Traffic { offsets, sizes }
    }

    /// Everything stops, and starts again within a few transmission times.
    fn starts(&mut self) {
        if !self.chance(SOMETIMES) {
            return;
        }
        let span = self.draws.one_of(&[20 * US, 200 * US, 2 * MS]);
        let at = self.traffic_ns / 4;
        let flows = &self.network.flows;
        for flow in flows {
            self.at(0, EventAction::StopFlow { flow: flow.name.clone() });
            let start = at + self.draws.below(span);
            self.at(start, EventAction::StartFlow { flow: flow.name.clone() });
        }
    }

    /// Watched flows go to any of their modes and back.
    fn modes(&mut self) {
        let network = self.network;
        let watched: Vec<&Flow> = network.flows.iter().filter(|flow| flow.is_watched()).collect();
        if !self.chance(LIKELY) {
            return;
        }
        let at_once = self.chance(SOMETIMES).then(|| self.moment());
        for flow in watched {
            if !self.chance(LIKELY) {
                continue;
            }
            let up = match at_once {
                Some(at) => at + self.draws.below(3 * MS),
                None => self.moment(),
            };
            let level = u64::try_from(flow.level.max(1)).unwrap_or(1);
            let mode = usize::try_from(1 + self.draws.below(level)).unwrap_or(1);
            self.behave(flow, up, mode);
            if self.chance(LIKELY) {
                let down = up + self.draws.below(self.traffic_ns / 3 + 1);
                self.behave(flow, down, 0);
            }
        }
    }

    fn behave(&mut self, flow: &Flow, at_ns: u64, mode: usize) {
        self.at(at_ns, EventAction::Behave { flow: flow.name.clone(), mode });
    }

    /// Up to so many hosts send what they should not.
    fn hosts(&mut self, count: u32) {
        let network = self.network;
        for _ in 0..count {
            if network.hosts.is_empty() || !self.chance(LIKELY) {
                continue;
            }
            let host = &network.hosts[self.draws.index(network.hosts.len())].name;
            self.misbehave(host);
        }
    }

    fn misbehave(&mut self, host: &str) {
        self.babbling.insert(host.to_owned());
        let at_ns = self.moment();
        let for_ns = Some(1 + self.draws.below(self.traffic_ns - at_ns));
        let network = self.network;
        let own: Vec<&Flow> = network.flows.iter().filter(|flow| flow.source == host).collect();
        let host = host.to_owned();
        let action = match self.draws.below(4) {
            0 => EventAction::Garbage {
                host,
                frames_per_s: u32::try_from(1 + self.draws.below(20_000)).unwrap_or(1),
                for_ns,
            },
            1 => EventAction::Forge { host },
            2 if !own.is_empty() => {
                let flow = own[self.draws.index(own.len())].name.clone();
                let percent = u32::try_from(101 + self.draws.below(800)).unwrap_or(101);
                EventAction::Oversend { flow, percent }
            }
            _ => {
                let is_slower = self.chance(SOMETIMES);
                EventAction::Babble {
                    host,
                    flows: Vec::new(),
                    frame_bytes: self.draws.one_of(&BABBLED),
                    rate_bps: is_slower.then(|| (1 + self.draws.below(50)) * 1_000_000),
                    for_ns,
                }
            }
        };
        self.at(at_ns, action);
    }

    /// Up to so many mode signals are lost, once.
    fn signals(&mut self, most: u32) {
        if most == 0 || !self.chance(LIKELY) {
            return;
        }
        let frames = u32::try_from(1 + self.draws.below(most.into())).unwrap_or(1);
        self.lose_signals(frames);
    }

    fn lose_signals(&mut self, frames: u32) {
        let trunks = trunks(self.network);
        if trunks.is_empty() {
            return;
        }
        let (one, other) = trunks[self.draws.index(trunks.len())];
        let (from, to) = if self.chance(50) { (one, other) } else { (other, one) };
        let at_ns = 1 + self.moment() / 2;
        let (from, to) = (from.to_owned(), to.to_owned());
        self.at(at_ns, EventAction::LoseSignals { from, to, frames });
    }

    /// The controller is gone, and perhaps comes back.
    fn controllers(&mut self, reach: Reach) {
        let network = self.network;
        let may_go = network.tolerates.controller_loss || reach == Reach::Beyond;
        let Some(controller) = network.controllers.first().filter(|_| may_go) else { return };
        if self.chance(SOMETIMES) {
            let node = controller.name.clone();
            self.kill(&node);
        }
    }

    fn kill(&mut self, node: &str) {
        let gone = self.moment();
        self.at(gone, EventAction::KillNode { node: node.to_owned() });
        if self.chance(50) {
            let back = gone + 1 + self.draws.below(self.traffic_ns - gone);
            self.at(back, EventAction::StartNode { node: node.to_owned() });
        }
    }

    /// A switch of a redundant network dies, where all flows have copies besides.
    fn redundant_switch(&mut self) {
        let network = self.network;
        let is_spare = |name: &str| {
            crate::fault_model::tolerates_loss_of(network, name, |_| false)
                && network.switch(name).is_some()
        };
        let names = network.switches.iter().map(|it| it.name.as_str());
        let spare: Vec<&str> = names.filter(|name| is_spare(name)).collect();
        if !spare.is_empty() && self.chance(SOMETIMES) {
            let node = spare[self.draws.index(spare.len())].to_owned();
            let at_ns = self.moment();
            self.at(at_ns, EventAction::KillNode { node });
        }
    }

    /// More than is tolerated.
    fn beyond(&mut self) {
        for _ in 0..=self.draws.below(4) {
            self.one_beyond();
        }
    }

    fn one_beyond(&mut self) {
        let network = self.network;
        match self.draws.below(4) {
            0 if !network.links.is_empty() => {
                let link = &network.links[self.draws.index(network.links.len())];
                let ends = [link.a.node.clone(), link.b.node.clone()];
                let cut = self.moment();
                self.at(cut, EventAction::CutLink { ends: ends.clone() });
                if self.chance(50) {
                    let healed = cut + 1 + self.draws.below(self.traffic_ns - cut);
                    self.at(healed, EventAction::HealLink { ends });
                }
            }
            1 if !network.switches.is_empty() => {
                let node = network.switches[self.draws.index(network.switches.len())].name.clone();
                self.kill(&node);
            }
            2 => {
                let frames = u32::try_from(1 + self.draws.below(40)).unwrap_or(1);
                self.lose_signals(network.tolerates.lost_signals.saturating_add(frames));
            }
            _ => self.hosts(2),
        }
    }

    /// All sources stop, so that in the end nothing may be under way.
    fn stop_all(&mut self) {
        let at_ns = self.traffic_ns;
        self.events.retain(|event| event.at_ns < at_ns);
        for flow in &self.network.flows {
            self.at(at_ns, EventAction::StopFlow { flow: flow.name.clone() });
        }
    }
}

/// Pairs of switches with a link between them.
fn trunks(network: &Network) -> Vec<(&str, &str)> {
    let is_switch = |name: &str| matches!(network.node(name), Some(NodeRef::Switch(_)));
    let links = network.links.iter().map(|it| (it.a.node.as_str(), it.b.node.as_str()));
    links.filter(|(a, b)| is_switch(a) && is_switch(b)).collect()
}
