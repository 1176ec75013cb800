//! What a scenario does to a world: behaviour, faults, hosts that send what they should not.

use super::processor::SharedProcessor;
use super::{Clockwork, ConnId, Core, Event, Instant, Observation, Span, Switch, assemble};
use crate::fault_model::{self, Judged};
use tenuto_dataplane::endsystem::{Behaviour, Conduct};
use tenuto_dataplane::switch::HashKey;
use tenuto_dataplane::{Frames, SIGNAL_QUEUE};
use tenuto_model::{Addressing, EventAction, Network};
use tenuto_units::wire_bits;
use tenuto_wire::{MacAddress, SignalKind, SignalRepr, ethernet};

/// A host that sends what it should not.
pub(super) struct Babbler {
    node: usize,
    pub(super) until: Instant,
    every: Span,
    what: Nuisance,
    count: u64,
}

enum Nuisance {
    /// Frames with these flows' headers, in turn.
    Flows {
        flows: Vec<u16>,
        frame_bytes: u32,
    },
    Garbage,
    /// Signals without a right.
    Signals,
}

impl Clockwork<'_> {
    /// A line of the scenario.
    pub(super) fn happen(&mut self, index: usize) {
        let event = &self.scenario.events[index];
        let action = event.action.clone();
        let (network, nodes) = (&self.plan.network, &self.nodes);
        let is_gone = |name: &str| nodes.iter().any(|n| n.name == name && !n.alive);
        let at_ns = self.now.as_ns();
        if let Some(node) = fault_model::needs(&action, network).filter(|node| is_gone(node)) {
            let text = fault_model::describe(&action, network);
            let text = format!("{text}: {node} is gone");
            return self.observe(&Observation::NotPlayed { text, at_ns });
        }
        if let EventAction::StartNode { node } = &action
            && nodes.iter().any(|it| it.name == *node && it.alive)
        {
            let text = fault_model::describe(&action, network);
            let text = format!("{text}: {node} runs already");
            return self.observe(&Observation::NotPlayed { text, at_ns });
        }
        let is_out = |name: &str| nodes.iter().any(|n| n.name == name && (!n.alive || n.is_bare));
        let judged = fault_model::judge(network, &action, &mut self.misbehaving, is_out);
        let Judged { tolerated, misbehaving } = judged;
        let mut text = fault_model::describe(&action, network);
        if let Some(note) = &event.note {
            text = format!("{note}: {text}");
        }
        self.observe(&Observation::Event { text, at_ns, tolerated, misbehaving });
        if let (Some((who, what)), Some(tolerated @ false)) =
            (fault_model::takes_away(&action, network), tolerated)
        {
            let what = what.to_owned();
            self.observe(&Observation::Died { who, what, at_ns, tolerated });
        }
        if let Some(who) = fault_model::gives_back(&action, network) {
            self.observe(&Observation::Returned { who, at_ns });
        }
        if let EventAction::LoseSignals { from, to, frames } = &action {
            let (from, to, frames) = (from.clone(), to.clone(), *frames);
            self.observe(&Observation::SignalsLost { from, to, frames, at_ns });
        }
        self.carry_out_event(&action);
    }

    fn carry_out_event(&mut self, action: &EventAction) {
        use EventAction as E;
        let is_conduct = matches!(
            action,
            E::Behave { .. } | E::Oversend { .. } | E::StopFlow { .. } | E::StartFlow { .. }
        );
        if self.recorded.is_some() && is_conduct {
            return;
        }
        match action {
            EventAction::Behave { flow, mode } => self.conduct(flow, |_| Conduct::Mode(*mode)),
            EventAction::Oversend { flow, percent } => {
                let percent = u64::from((*percent).max(1));
                self.conduct(flow, |now| {
                    let period = Span::from_ns((now.period.as_ns() * 100 / percent).max(1));
                    Conduct::Custom(Behaviour { period, ..now })
                });
            }
            EventAction::StopFlow { flow } => self.source(flow, |host, id, _| {
                let _ = host.stop_flow(id);
            }),
            EventAction::StartFlow { flow } => self.source(flow, |host, id, now| {
                let _ = host.start_flow(id, now);
            }),
            EventAction::Babble { host, flows, frame_bytes, rate_bps, for_ns } => {
                self.start_babbling(host, flows, *frame_bytes, *rate_bps, *for_ns);
            }
            EventAction::Garbage { host, frames_per_s, for_ns } => {
                let every = Span::from_ns(1_000_000_000 / u64::from((*frames_per_s).max(1)));
                self.start_nuisance(host, every, *for_ns, Nuisance::Garbage);
            }
            EventAction::Forge { host } => {
                let second = Some(1_000_000_000);
                self.start_nuisance(host, Span::from_ms(10), second, Nuisance::Signals);
            }
            EventAction::CutLink { ends } => self.set_link(ends, false),
            EventAction::HealLink { ends } => self.set_link(ends, true),
            EventAction::KillNode { node } | EventAction::StopNode { node } => self.kill(node),
            EventAction::StartNode { node } => self.restart(node),
            EventAction::LoseSignals { from, to, frames } => {
                let target = self.place(to);
                if let (Some(from), Some(to)) = (self.place(from), target) {
                    let links = self.nodes[from].links.values_mut();
                    links
                        .filter(|far| far.node == to)
                        .for_each(|far| far.signals_to_lose += frames);
                }
            }
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    fn source(
        &mut self,
        flow: &str,
        act: impl Fn(&mut tenuto_dataplane::endsystem::EndSystem, u16, Instant),
    ) {
        let flows = &self.plan.network.flows;
        let Some(index) = flows.iter().position(|f| f.name == flow) else { return };
        let (Ok(id), Some(node)) = (u16::try_from(index), self.place(&flows[index].source)) else {
            return;
        };
        let now = self.now;
        if let Core::Host(host) = &mut self.nodes[node].core {
            act(host, id, now);
        }
        self.arm(node);
    }

    pub(super) fn conduct(&mut self, flow: &str, change: impl Fn(Behaviour) -> Conduct) {
        self.source(flow, |host, id, now| {
            if let Some(behaviour) = host.behaviour(id) {
                // A conduct that no frame can carry is refused by validation of the scenario.
                let _ = host.set_behaviour(now, id, change(behaviour));
            }
        });
    }

    fn start_babbling(
        &mut self,
        host: &str,
        flows: &[String],
        frame_bytes: u32,
        rate_bps: Option<u64>,
        for_ns: Option<u64>,
    ) {
        let network = &self.plan.network;
        let own = network.flows.iter().enumerate().filter(|(_, f)| f.source == host);
        let chosen = own.filter(|(_, f)| flows.is_empty() || flows.contains(&f.name));
        let flows: Vec<u16> = chosen.filter_map(|(i, _)| u16::try_from(i).ok()).collect();
        let line = network.ends_of(host).map(|(_, _, link)| link.rate_bps).max().unwrap_or(1);
        let rate = rate_bps.unwrap_or(line).min(line).max(1);
        let every_ns = wire_bits(frame_bytes) * 1_000_000_000 / rate;
        let what = Nuisance::Flows { flows, frame_bytes };
        self.start_nuisance(host, Span::from_ns(every_ns.max(1)), for_ns, what);
    }

    fn start_nuisance(&mut self, host: &str, every: Span, for_ns: Option<u64>, what: Nuisance) {
        let Some(node) = self.place(host) else { return };
        let until = for_ns.map_or(Instant::MAX, |ns| self.now + Span::from_ns(ns));
        self.babblers.push(Babbler { node, until, every, what, count: 0 });
        self.queue.push(self.now, Event::Babble(self.babblers.len() - 1));
    }

    /// The next frame of a host that sends what it should not, on each of its ports.
    pub(super) fn babble(&mut self, index: usize) {
        let now = self.now;
        let babbler = &mut self.babblers[index];
        if now >= babbler.until {
            return;
        }
        babbler.count += 1;
        let (node, count, every) = (babbler.node, babbler.count, babbler.every);
        let mut frame = [0; 1514];
        let (len, queue) = match &babbler.what {
            Nuisance::Flows { flows, frame_bytes } => {
                let flow = usize::try_from(count).unwrap_or(0) % flows.len().max(1);
                let len = flows.get(flow).map_or(0, |&flow| {
                    frame_of(&self.plan.network, flow, *frame_bytes, &mut frame)
                });
                (len, 0)
            }
            Nuisance::Garbage => {
                let len = 14 + usize::try_from(self.draw.below(1_500)).unwrap_or(0);
                for byte in &mut frame[..len] {
                    *byte = self.draw.word().to_be_bytes()[0];
                }
                (len.max(60), 0)
            }
            Nuisance::Signals => (forged(count, &mut frame), SIGNAL_QUEUE),
        };
        if let Core::Host(host) = &mut self.nodes[node].core
            && len > 0
        {
            let ports: Vec<u32> = host.config().ports.iter().map(|p| p.port).collect();
            for port in ports {
                let (pool, fx) = (&mut self.pool, &mut self.host_fx);
                host.inject(now, port, queue, &frame[..len], pool, fx);
            }
        }
        self.after_host(node);
        self.queue.push(now + every, Event::Babble(index));
    }

    fn set_link(&mut self, ends: &[String; 2], carries: bool) {
        for (from, to) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
            if let (Some(from), Some(to)) = (self.place(from), self.place(to)) {
                let links = self.nodes[from].links.values_mut();
                links.filter(|far| far.node == to).for_each(|far| far.carries = carries);
            }
        }
    }

    fn kill(&mut self, name: &str) {
        let now = self.now;
        if self.plan.network.controllers.iter().any(|c| c.name == name) {
            self.controller = None;
            self.conns.clear();
            for node in &mut self.nodes {
                if let Core::Switch(switch) = &mut node.core {
                    switch.disconnected();
                }
            }
            return;
        }
        let Some(place) = self.place(name) else { return };
        self.nodes[place].alive = false;
        self.nodes[place].due = None;
        let processor = self.nodes[place].processor.as_mut();
        for frame in processor.map(SharedProcessor::empty).unwrap_or_default() {
            self.pool.release(frame);
        }
        let conn = self.conn_of(place);
        self.conns.remove(&conn);
        if let Some(controller) = &mut self.controller {
            controller.closed(now, ConnId(conn));
        }
        self.after_controller();
    }

    fn restart(&mut self, name: &str) {
        if self.plan.network.controllers.iter().any(|c| c.name == name) {
            self.start_controller();
            self.nodes.iter_mut().for_each(|node| node.is_bare = false);
            return;
        }
        let is_bare = self.controller.is_none();
        let deployment = self.plan.switches.iter().find(|d| d.switch == name);
        let (Some(place), Some(deployment)) = (self.place(name), deployment) else { return };
        let boot_seed = self.now.as_ns();
        let config = assemble::switch_config(
            self.plan,
            deployment,
            self.secret,
            boot_seed,
            HashKey::fixed(),
        );
        let node = &mut self.nodes[place];
        node.core = Core::Switch(Box::new(Switch::new(config)));
        node.alive = true;
        node.is_bare = is_bare;
        node.incarnation += 1;
        let at_ns = self.now.as_ns();
        self.observe(&Observation::Restarted { switch: name.to_owned(), at_ns });
        self.open_session(place);
    }
}

/// A frame with a flow's header and nothing that our end systems would take for a message.
fn frame_of(network: &Network, flow: u16, frame_bytes: u32, buffer: &mut [u8]) -> usize {
    let address = Addressing::new(network).flow(usize::from(flow));
    let payload_len = usize::try_from(frame_bytes.saturating_sub(46)).unwrap_or(0);
    let frame = assemble::udp_frame(&address, payload_len);
    frame.emit(buffer).map_or(0, |written| written.len)
}

/// A raise of the mode as one would forge it: right in everything but the key.
fn forged(count: u64, buffer: &mut [u8]) -> usize {
    let signal = SignalRepr {
        kind: SignalKind::Raise,
        level: 1,
        from_level: 0,
        hops: 0,
        generation: 1,
        epoch: 1_000 + count,
        origin: 1,
        nonce: 0,
        sequence: u64::MAX - 1_000_000 + count,
    };
    let key = tenuto_wire::LinkKey::new([0x42; 16]);
    let source = MacAddress([0x02, 0x54, 0, 0, 0, 1]);
    let len = signal.emit(source, &key, buffer);
    len.max(ethernet::FRAME_LEN_MIN)
}
