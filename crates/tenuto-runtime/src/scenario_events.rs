//! The events of a scenario, carried out by the supervisor at their time.

use crate::protocol::NodeCommand;
use crate::supervisor::Supervisor;
use crate::wire_up::{NodeKind, ends_between, set_link};
use std::collections::VecDeque;
use tenuto_io::MonotonicClock;
use tenuto_model::{EventAction, Network, Scenario};
use tenuto_units::{Instant, Span};
use tenuto_world::Observation;

/// Something that is to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Event(tenuto_model::Event),
    /// A user's own program starts in a host.
    Program {
        host: String,
        line: String,
    },
}

/// What is still to happen, in order of time.
pub(crate) struct Script {
    waiting: VecDeque<(u64, Due)>,
}

impl Script {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut events: Vec<_> = scenario.events.clone();
        events.sort_by_key(|event| event.at_ns);
        let waiting = events.into_iter().map(|event| (event.at_ns, Due::Event(event)));
        Self { waiting: waiting.collect() }
    }

    /// Programs start when traffic does.
    pub(crate) fn add_programs(&mut self, scenario: &Scenario) {
        for (host, line) in &scenario.programs {
            let due = Due::Program { host: host.clone(), line: line.clone() };
            self.waiting.push_front((0, due));
        }
    }

    /// When something is due next, if traffic starts at `start`.
    pub(crate) fn deadline(&self, start: Instant) -> Option<Instant> {
        self.waiting.front().map(|(at_ns, _)| start + Span::from_ns(*at_ns))
    }

    /// The next thing that is due.
    pub(crate) fn next_due(&mut self, start: Instant, now: Instant) -> Option<Due> {
        if self.deadline(start)? > now {
            return None;
        }
        self.waiting.pop_front().map(|(_, due)| due)
    }
}

/// What the fault model says of an event, and who misbehaves because of it.
type Judged = (Option<bool>, Vec<u16>);

impl Supervisor {
    /// Carries out one event and tells of it.
    pub(crate) fn happen(&mut self, due: &Due) {
        match due {
            Due::Program { host, line } => {
                let started = match self.nodes.position(host) {
                    Some(place) => self.nodes.list[place].start_program(line),
                    None => Err(std::io::Error::other("no such host")),
                };
                let text = match started {
                    Ok(()) => format!("{host} runs `{line}`"),
                    Err(error) => format!("{host} cannot run `{line}`: {error}"),
                };
                self.event(text, None, Vec::new());
            }
            Due::Event(event) => {
                let (tolerated, misbehaving) = self.judge(&event.action);
                let mut text = describe(&event.action, &self.job.plan.network);
                if let Some(note) = &event.note {
                    text = format!("{note} ({text})");
                }
                self.event(text, tolerated, misbehaving);
                if let Err(error) = self.carry_out(&event.action) {
                    self.event(format!("event not carried out: {error}"), None, Vec::new());
                }
            }
        }
    }

    fn flow_index(&self, name: &str) -> Option<u16> {
        let place = self.job.plan.network.flows.iter().position(|f| f.name == name)?;
        u16::try_from(place).ok()
    }

    fn flows_of(&self, host: &str) -> Vec<u16> {
        let flows = (0u16..).zip(&self.job.plan.network.flows);
        flows.filter(|(_, flow)| flow.source == host).map(|(index, _)| index).collect()
    }

    /// A host that breaks its contracts counts against the babblers that are tolerated.
    fn judge_host(&mut self, host: &str, flows: Vec<u16>) -> Judged {
        self.nodes.babblers.insert(host.to_owned());
        let limit = usize::try_from(self.job.plan.network.tolerates.babbling_hosts);
        let is_tolerated = self.nodes.babblers.len() <= limit.unwrap_or(usize::MAX);
        (Some(is_tolerated), flows)
    }

    fn judge(&mut self, action: &EventAction) -> Judged {
        let network = &self.job.plan.network;
        match action {
            EventAction::Oversend { flow, percent } if *percent > 100 => {
                let index = self.flow_index(flow).into_iter().collect();
                match network.flow(flow).map(|f| f.source.clone()) {
                    Some(host) => self.judge_host(&host, index),
                    None => (None, index),
                }
            }
            EventAction::Babble { host, flows, .. } => {
                let named: Vec<u16> = flows.iter().filter_map(|f| self.flow_index(f)).collect();
                let flows = if named.is_empty() { self.flows_of(host) } else { named };
                self.judge_host(host, flows)
            }
            EventAction::Garbage { host, .. } | EventAction::Forge { host } => {
                // Its own flows share its port with what it should not send.
                let flows = self.flows_of(host);
                self.judge_host(host, flows)
            }
            EventAction::CutLink { .. } => (Some(false), Vec::new()),
            EventAction::KillNode { node } | EventAction::StopNode { node } => {
                let place = self.nodes.position(node);
                (place.map(|place| self.tolerates_loss_of(place)), Vec::new())
            }
            EventAction::LoseSignals { frames, .. } => {
                (Some(*frames <= network.tolerates.lost_signals), Vec::new())
            }
            _ => (None, Vec::new()),
        }
    }

    /// Whether the plan still holds without this node.
    pub(crate) fn tolerates_loss_of(&self, place: usize) -> bool {
        let network = &self.job.plan.network;
        let node = &self.nodes.list[place];
        match node.kind {
            NodeKind::Controller => network.tolerates.controller_loss,
            NodeKind::Host(_) => false,
            NodeKind::Switch => {
                let Some(lost) = network.switch(&node.name).and_then(|s| s.network.as_ref()) else {
                    return false;
                };
                let is_gone = |name: &str| {
                    let place = self.nodes.position(name);
                    place.is_none_or(|place| self.nodes.list[place].channel.is_none())
                };
                let others = network.switches.iter().filter(|s| s.network.as_ref() != Some(lost));
                let others_stand = others.into_iter().all(|s| !is_gone(&s.name));
                others_stand && network.flows.iter().all(|f| f.copies.iter().any(|c| c != lost))
            }
        }
    }

    fn carry_out(&mut self, action: &EventAction) -> Result<(), String> {
        match action {
            EventAction::Behave { flow, mode } => {
                self.command_flow(flow, |flow| NodeCommand::Behave { flow, mode: *mode })
            }
            EventAction::Oversend { flow, percent } => {
                self.command_flow(flow, |flow| NodeCommand::Oversend { flow, percent: *percent })
            }
            EventAction::StopFlow { flow } => {
                self.command_flow(flow, |flow| NodeCommand::StopFlow { flow })
            }
            EventAction::StartFlow { flow } => {
                self.command_flow(flow, |flow| NodeCommand::StartFlow { flow })
            }
            EventAction::Babble { host, flows, frame_bytes, rate_bps, for_ns } => {
                let flows = flows.iter().filter_map(|f| self.flow_index(f)).collect();
                let (frame_bytes, rate_bps, for_ns) = (*frame_bytes, *rate_bps, *for_ns);
                self.command(host, &NodeCommand::Babble { flows, frame_bytes, rate_bps, for_ns })
            }
            EventAction::Garbage { host, frames_per_s, for_ns } => {
                let (frames_per_s, for_ns) = (*frames_per_s, *for_ns);
                self.command(host, &NodeCommand::Garbage { frames_per_s, for_ns })
            }
            EventAction::Forge { host } => self.command(host, &NodeCommand::Forge),
            EventAction::CutLink { ends } => self.set_link(ends, false),
            EventAction::HealLink { ends } => self.set_link(ends, true),
            EventAction::KillNode { node } => self.end_node(node, false),
            EventAction::StopNode { node } => self.end_node(node, true),
            EventAction::StartNode { node } => self.start_node(node),
            EventAction::LoseSignals { from, to, frames } => {
                let ends = [from.clone(), to.clone()];
                let found = ends_between(&self.job.plan.network, &ends);
                let found = found.into_iter().flatten().find(|(node, _)| node == from);
                let (_, port) = found.ok_or("no such link")?;
                self.command(from, &NodeCommand::LoseSignals { port, frames: *frames })
            }
        }
    }

    fn command(&mut self, node: &str, command: &NodeCommand) -> Result<(), String> {
        let place = self.nodes.position(node).ok_or_else(|| format!("no node {node}"))?;
        self.nodes.list[place].command(command);
        Ok(())
    }

    fn command_flow(
        &mut self,
        flow: &str,
        command: impl FnOnce(u16) -> NodeCommand,
    ) -> Result<(), String> {
        let index = self.flow_index(flow).ok_or_else(|| format!("no flow {flow}"))?;
        let source = self.job.plan.network.flows[usize::from(index)].source.clone();
        self.command(&source, &command(index))
    }

    fn set_link(&mut self, ends: &[String; 2], is_up: bool) -> Result<(), String> {
        let found = ends_between(&self.job.plan.network, ends).ok_or("no such link")?;
        for (node, port) in found {
            let place = self.nodes.position(&node).ok_or_else(|| format!("no node {node}"))?;
            let pid = self.nodes.list[place].namespace_pid();
            set_link(pid, port, is_up).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn end_node(&mut self, node: &str, politely: bool) -> Result<(), String> {
        let place = self.nodes.position(node).ok_or_else(|| format!("no node {node}"))?;
        self.nodes.list[place].end(politely);
        self.tell_nodes();
        Ok(())
    }

    fn start_node(&mut self, node: &str) -> Result<(), String> {
        let place = self.nodes.position(node).ok_or_else(|| format!("no node {node}"))?;
        let old = &mut self.nodes.list[place];
        old.reap();
        old.close(&mut self.poll);
        let started = self.nodes.start(place, &self.job, &mut self.poll);
        started.map_err(|error| error.to_string())?;
        if self.nodes.list[place].kind == NodeKind::Switch {
            let at_ns = MonotonicClock::now().as_ns();
            self.observe(&Observation::Restarted { switch: node.to_owned(), at_ns });
        }
        self.tell_nodes();
        Ok(())
    }
}

/// An event in words.
fn describe(action: &EventAction, network: &Network) -> String {
    let source = |flow: &str| network.flow(flow).map_or("?", |f| f.source.as_str()).to_owned();
    match action {
        EventAction::Behave { flow, mode } => {
            let mode = network.modes.get(*mode).map_or("?", String::as_str);
            format!("{}: {flow} behaves as in {mode}", source(flow))
        }
        EventAction::Oversend { flow, percent } => {
            format!("{}: {flow} sends {percent} % of its contract", source(flow))
        }
        EventAction::StopFlow { flow } => format!("{}: {flow} stops", source(flow)),
        EventAction::StartFlow { flow } => format!("{}: {flow} starts", source(flow)),
        EventAction::Babble { host, frame_bytes, rate_bps, .. } => match rate_bps {
            Some(rate) => format!("{host} babbles {frame_bytes} B frames at {rate} bit/s"),
            None => format!("{host} babbles {frame_bytes} B frames at line rate"),
        },
        EventAction::Garbage { host, frames_per_s, .. } => {
            format!("{host} sends {frames_per_s} frames of random bytes per second")
        }
        EventAction::Forge { host } => format!("{host} forges mode signals"),
        EventAction::CutLink { ends } => format!("link {} - {} is cut", ends[0], ends[1]),
        EventAction::HealLink { ends } => format!("link {} - {} is healed", ends[0], ends[1]),
        EventAction::KillNode { node } => format!("{node} is killed"),
        EventAction::StopNode { node } => format!("{node} is stopped"),
        EventAction::StartNode { node } => format!("{node} is started"),
        EventAction::LoseSignals { from, to, frames } => {
            format!("the next {frames} mode signals from {from} to {to} are lost")
        }
    }
}
