//! Bringing a world up: nodes, links, the controller's installation, then traffic.

use super::choices::{self, Choices, NodeLatencies};
use super::processor::SharedProcessor;
use super::schedule::LINE_FREE_RANK;
use super::schedule::{Schedule, Transmission};
use super::{
    Arc, BTreeMap, BTreeSet, CONTROL_LATENCY, Clockwork, ConnId, Controller, ControllerEvent, Core,
    Draws, Effects, Event, FRAMES_MAX, Far, FramePool, Instant, LEAD, Ledger, LedgerSettings, Node,
    Plan, Queue, RunError, SETUP_LIMIT, Scenario, Span, Switch, assemble,
};
use crate::fault_model::{self, Judged};
use crate::{Observation, Played, Release, RunDocument};
use tenuto_controller::ControllerConfig;
use tenuto_dataplane::endsystem::{Behaviour, Conduct, EndSystem};
use tenuto_dataplane::switch::HashKey;
use tenuto_model::{EventAction, Offsets, SwitchDeployment};

/// Runs a schedule in virtual time, in the switches and end systems that run live.
///
/// # Errors
/// [`RunError`] if the plan cannot be brought up, or the schedule is not of this plan.
pub fn play_schedule(
    plan: &Plan,
    schedule: &Schedule,
) -> Result<(RunDocument, Vec<Transmission>), RunError> {
    let releases = choices::releases(&plan.network, schedule).map_err(RunError::Schedule)?;
    let scenario = Scenario::plain(schedule.duration_ns, 1);
    let mut world = Clockwork::new(plan, &scenario)?;
    let nodes: Vec<NodeLatencies<'_>> =
        world.nodes.iter().map(|it| (it.name.as_str(), it.latency_ns)).collect();
    let choices = Choices::read(&plan.network, &nodes, schedule).map_err(RunError::Schedule)?;
    world.choices = Some(Box::new(choices));
    world.recorded = Some(&releases);
    world.set_up()?;
    world.start_traffic();
    world.start_scheduled_frames();
    let document = world.run_to_end(&mut |_| {});
    let sent = world.choices.take().map_or_else(Vec::new, |it| it.transmissions);
    Ok((document, sent))
}

fn switch_node(plan: &Plan, deployment: &SwitchDeployment, secret: [u8; 16]) -> Node {
    let config = assemble::switch_config(plan, deployment, secret, 1, HashKey::fixed());
    let switch = plan.network.switch(&deployment.switch);
    let profile = switch.map(|s| plan.network.profile_of(s));
    let latency_ns = profile.map_or((0, 0), |p| (p.latency_ns_min, p.latency_ns_max));
    let core = Core::Switch(Box::new(Switch::new(config)));
    let used = deployment.usage.entries.saturating_add(deployment.usage.shadow);
    let processor = profile.and_then(|p| SharedProcessor::of(p, used));
    Node { processor, ..Node::new(&deployment.switch, core, latency_ns) }
}

impl<'a> Clockwork<'a> {
    pub(super) fn new(plan: &'a Plan, scenario: &'a Scenario) -> Result<Self, RunError> {
        if plan.switches.is_empty() && plan.hosts.is_empty() {
            return Err(RunError::NothingDeployed);
        }
        let mut draw = Draws::new(scenario.seed);
        let mut secret = [0; 16];
        secret[..8].copy_from_slice(&draw.word().to_be_bytes());
        secret[8..].copy_from_slice(&draw.word().to_be_bytes());
        let mut nodes: Vec<Node> =
            plan.switches.iter().map(|deployment| switch_node(plan, deployment, secret)).collect();
        for deployment in &plan.hosts {
            let sizes = scenario.traffic.sizes;
            let config = assemble::host_config(plan, deployment, draw.word(), sizes);
            let host = EndSystem::new(Arc::new(config))
                .map_err(|error| RunError::Host(format!("{}: {error}", deployment.host)))?;
            nodes.push(Node::new(&deployment.host, Core::Host(Box::new(host)), (0, 0)));
        }
        connect(plan, &mut nodes);
        Ok(Self {
            plan,
            scenario,
            now: Instant::ZERO,
            start: Instant::ZERO,
            queue: Queue::default(),
            nodes,
            pool: FramePool::new(FRAMES_MAX),
            controller: None,
            conns: BTreeMap::new(),
            ledger: None,
            switch_fx: Effects::new(),
            host_fx: Effects::new(),
            draw,
            secret,
            babblers: Vec::new(),
            misbehaving: BTreeSet::new(),
            packet_hops: 0,
            is_ready: false,
            failure: None,
            conn_next: 1,
            recorded: None,
            choices: None,
            script: None,
            controlled: None,
            devices: None,
            watch: None,
        })
    }

    /// Runs until the controller has installed everything and says so.
    pub(super) fn set_up(&mut self) -> Result<(), RunError> {
        self.start_controller();
        while !self.is_ready {
            if let Some(failure) = self.failure.take() {
                return Err(RunError::SetupFailed(failure));
            }
            match self.queue.next_at() {
                Some(at) if at <= Instant::ZERO + SETUP_LIMIT => self.step(),
                _ => return Err(RunError::SetupFailed("no progress within a minute".into())),
            }
        }
        Ok(())
    }

    /// The mode in which all switches start.
    fn start_level(&self) -> u8 {
        self.choices.as_ref().map_or(0, |it| it.start_level)
    }

    pub(super) fn start_controller(&mut self) {
        let settings = assemble::mode_settings(self.plan, 1);
        self.controller = Some(Controller::new(ControllerConfig {
            name: self.plan.network.controllers.first().map_or("controller", |c| &c.name).into(),
            manages: self.plan.switches.iter().map(|s| s.datapath_id).collect(),
            deployments: self.plan.switches.clone(),
            modes: settings,
            start_level: self.start_level(),
            epoch: 1,
            ..ControllerConfig::default()
        }));
        for node in 0..self.nodes.len() {
            self.open_session(node);
        }
    }

    /// A switch connects to the controller, if both are there.
    pub(super) fn open_session(&mut self, node: usize) {
        let now = self.now;
        let (Some(controller), Core::Switch(switch)) =
            (&mut self.controller, &mut self.nodes[node].core)
        else {
            return;
        };
        let conn = self.conn_next;
        self.conn_next += 1;
        self.conns.insert(conn, node);
        controller.connected(now, ConnId(conn));
        switch.connected(&mut self.switch_fx);
        self.after_switch(node);
        self.after_controller();
    }

    pub(super) fn conn_of(&self, node: usize) -> u64 {
        let found = self.conns.iter().rev().find(|(_, n)| **n == node);
        found.map_or(0, |(conn, _)| *conn)
    }

    pub(super) fn control_in(&mut self, node: usize, incarnation: u64, bytes: &[u8]) {
        let state = &mut self.nodes[node];
        if !state.alive || state.incarnation != incarnation {
            return;
        }
        let now = self.now;
        if let Core::Switch(switch) = &mut state.core {
            switch.control(now, bytes, &mut self.pool, &mut self.switch_fx);
        }
        self.after_switch(node);
    }

    /// Takes what the controller wants said and done.
    pub(super) fn after_controller(&mut self) {
        let Some(controller) = &mut self.controller else { return };
        let now = self.now;
        while let Some(event) = controller.next_event() {
            match event {
                ControllerEvent::Ready => self.is_ready = true,
                ControllerEvent::CommandRefused { dpid, command, error } => {
                    self.failure = Some(format!("switch {dpid} refuses {command}: {error}"));
                }
                ControllerEvent::InstallFailed { dpid, failure } => {
                    self.failure = Some(format!("switch {dpid}: {failure}"));
                }
                _ => {}
            }
        }
        for (&conn, &node) in &self.conns {
            let Some(output) = controller.output(ConnId(conn)) else { continue };
            if !output.is_empty() {
                let bytes = std::mem::take(output);
                let incarnation = self.nodes[node].incarnation;
                let event = Event::ToSwitch { node, incarnation, bytes };
                self.queue.push(now + CONTROL_LATENCY, event);
            }
        }
        if let Some(at) = controller.next_deadline() {
            self.queue.push(at.max(now + Span::from_ns(1)), Event::ControllerDue);
        }
    }

    pub(super) fn start_traffic(&mut self) {
        self.start = self.now + LEAD;
        let (network, scenario) = (&self.plan.network, self.scenario);
        let played = match self.recorded {
            Some(_) => Played::repeated(network, scenario),
            None => Played::simulated(network, scenario),
        };
        let settings = LedgerSettings::simulated(scenario.seed, self.start.as_ns(), played);
        let mut ledger = Ledger::new(self.plan, settings);
        ledger.set_up_complete(self.start_level());
        self.ledger = Some(ledger);
        match self.recorded {
            Some(releases) => self.repeat(releases),
            None => self.start_sources(),
        }
        self.start_probes();
        for (index, event) in self.scenario.events.iter().enumerate() {
            self.queue.push(self.start + Span::from_ns(event.at_ns), Event::Scenario(index));
        }
    }

    /// Queues recorded releases.
    fn repeat(&mut self, releases: &[Release]) {
        let now = self.now;
        let mut sender_of = BTreeMap::new();
        for (node, state) in self.nodes.iter_mut().enumerate() {
            let Core::Host(host) = &mut state.core else { continue };
            let senders = host.config().clone();
            for sender in &senders.senders {
                sender_of.insert(sender.flow, node);
                // Spacing was the shaper's doing in the live run: what it released is repeated as is.
                let widest = sender.behaviours.iter().max_by_key(|b| b.bytes_max);
                let at_once = widest.map(|b| Behaviour {
                    period: Span::from_ns(1),
                    jitter: Span::ZERO,
                    ..*b
                });
                if let Some(behaviour) = at_once {
                    let _ = host.set_behaviour(now, sender.flow, Conduct::Custom(behaviour));
                }
            }
        }
        for &Release { at_ns, flow, bytes } in releases {
            if let Some(&node) = sender_of.get(&flow) {
                let at = self.start + Span::from_ns(at_ns);
                let rank = self.choices.as_ref().map_or(LINE_FREE_RANK, |it| it.rank_of(flow));
                self.queue.push_ranked(at, rank, Event::Release { node, flow, bytes });
            }
        }
    }

    /// Queues what the babbling host sends, and has it judged.
    fn start_scheduled_frames(&mut self) {
        let Some(choices) = &self.choices else { return };
        let Some(host) = choices.babbling_host.clone() else { return };
        for (index, (flow, frame)) in choices.frames.iter().enumerate() {
            let at = self.start + Span::from_ns(frame.at_ns);
            let rank = choices.rank_of(*flow);
            self.queue.push_ranked(at, rank, Event::ScheduledFrame(index));
        }
        let action = EventAction::Babble {
            host,
            flows: Vec::new(),
            frame_bytes: 0,
            rate_bps: None,
            for_ns: None,
        };
        let network = &self.plan.network;
        let Judged { tolerated, misbehaving } =
            fault_model::judge(network, &action, &mut self.misbehaving, |_| false);
        let text = fault_model::describe(&action, network);
        let at_ns = self.start.as_ns();
        self.observe(&Observation::Event { text, at_ns, tolerated, misbehaving });
    }

    /// The next frame of the babbling host, on every port by which its flow leaves.
    pub(super) fn scheduled_frame(&mut self, index: usize) {
        let Some(choices) = &self.choices else { return };
        let (flow, ref frame) = choices.frames[index];
        let network = &self.plan.network;
        let source = &network.flows[usize::from(flow)].source;
        let Some(node) = self.nodes.iter().position(|it| it.name == *source) else { return };
        let mut buffer = [0; tenuto_wire::ethernet::FRAME_LEN_MAX];
        let Some(len) = choices::emit(network, flow, frame, &mut buffer) else { return };
        let now = self.now;
        if let Core::Host(host) = &mut self.nodes[node].core {
            let sender = host.config().senders.iter().find(|it| it.flow == flow);
            let ports = sender.map_or_else(Vec::new, |it| it.ports.clone());
            for port in ports {
                let (pool, fx) = (&mut self.pool, &mut self.host_fx);
                host.inject(now, port, 0, &buffer[..len], pool, fx);
            }
        }
        self.after_host(node);
    }

    pub(super) fn release(&mut self, node: usize, flow: u16, bytes: u32) {
        let now = self.now;
        if let Core::Host(host) = &mut self.nodes[node].core {
            // What a shaper refuses was never released: nothing is promised for it.
            let _ = host.submit(now, flow, bytes);
        }
        self.arm(node);
    }

    fn start_sources(&mut self) {
        for node in 0..self.nodes.len() {
            let Core::Host(host) = &mut self.nodes[node].core else { continue };
            let senders: Vec<(u16, u64)> = host
                .config()
                .senders
                .iter()
                .map(|s| (s.flow, s.behaviours.first().map_or(0, |b| b.period.as_ns())))
                .collect();
            for (flow, period_ns) in senders {
                let offset = match self.scenario.traffic.offsets {
                    Offsets::Zero => 0,
                    Offsets::Random => self.draw.below(period_ns),
                };
                let first = self.start + Span::from_ns(offset);
                // The configuration was checked: every sender of it can start.
                let _ = host.start_flow(flow, first);
            }
            self.arm(node);
        }
    }
}

impl Node {
    fn new(name: &str, core: Core, latency_ns: (u64, u64)) -> Self {
        Self {
            name: name.to_owned(),
            core,
            alive: true,
            is_bare: false,
            due: None,
            latency_ns,
            processor: None,
            processed: BTreeMap::new(),
            links: BTreeMap::new(),
            incarnation: 1,
        }
    }
}

fn connect(plan: &Plan, nodes: &mut [Node]) {
    let place: BTreeMap<String, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.name.clone(), index)).collect();
    for link in &plan.network.links {
        let (Some(&a), Some(&b)) = (place.get(&link.a.node), place.get(&link.b.node)) else {
            continue;
        };
        for (from, own, to, far) in [(a, &link.a, b, &link.b), (b, &link.b, a, &link.a)] {
            let far = Far {
                node: to,
                port: far.port,
                propagation: Span::from_ns(link.propagation_ns),
                carries: true,
                signals_to_lose: 0,
            };
            nodes[from].links.insert(own.port, far);
        }
    }
}
