//! The events of a scenario, carried out by the supervisor at their time.

use crate::protocol::NodeCommand;
use crate::supervisor::Supervisor;
use crate::wire_up::{NodeKind, ends_between, set_link};
use std::collections::VecDeque;
use tenuto_io::MonotonicClock;
use tenuto_model::{EventAction, Scenario};
use tenuto_units::{Instant, Span};
use tenuto_world::Observation;
use tenuto_world::fault_model::{self, Judged};

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

impl Supervisor {
    /// Carries out one event and tells of it.
    pub(crate) fn happen(&mut self, due: &Due) {
        match due {
            Due::Program { host, line } => {
                let started = match self.nodes.position(host) {
                    Some(place) => self.nodes.list[place].start_program(line),
                    None => Err(std::io::Error::other("no such host")),
                };
                match started {
                    Ok(()) => self.event(format!("{host} runs `{line}`"), None, Vec::new()),
                    Err(error) => {
                        let what = format!("could not be started: {error}");
                        let who = format!("the program of {host}");
                        self.tell_death(who, what, MonotonicClock::now(), false);
                    }
                }
            }
            Due::Event(event) => {
                let network = &self.job.plan.network;
                let needed = fault_model::needs(&event.action, network);
                if let Some(node) = needed.filter(|node| self.is_gone(node)) {
                    let text = fault_model::describe(&event.action, network);
                    return self.not_played(format!("{text}: {node} is gone"));
                }
                let Judged { tolerated, misbehaving } = self.judge(&event.action);
                let mut text = fault_model::describe(&event.action, &self.job.plan.network);
                if let Some(note) = &event.note {
                    text = format!("{note} ({text})");
                }
                self.event(text.clone(), tolerated, misbehaving);
                if let Err(error) = self.carry_out(&event.action) {
                    return self.not_played(format!("{text}: {error}"));
                }
                let network = &self.job.plan.network;
                let taken = fault_model::takes_away(&event.action, network);
                if let (Some((who, what)), Some(false)) = (taken, tolerated) {
                    self.tell_death(who, what.to_owned(), MonotonicClock::now(), false);
                }
                let at_ns = MonotonicClock::now().as_ns();
                if let Some(who) = fault_model::gives_back(&event.action, &self.job.plan.network) {
                    self.observe(&Observation::Returned { who, at_ns });
                }
                if let EventAction::LoseSignals { from, to, frames } = &event.action {
                    let (from, to, frames) = (from.clone(), to.clone(), *frames);
                    self.observe(&Observation::SignalsLost { from, to, frames, at_ns });
                }
            }
        }
    }

    fn not_played(&mut self, text: String) {
        let at_ns = MonotonicClock::now().as_ns();
        self.observe(&Observation::NotPlayed { text, at_ns });
    }

    fn flow_index(&self, name: &str) -> Option<u16> {
        let place = self.job.plan.network.flows.iter().position(|f| f.name == name)?;
        u16::try_from(place).ok()
    }

    fn is_gone(&self, name: &str) -> bool {
        let place = self.nodes.position(name);
        place.is_none_or(|place| self.nodes.carrier(place).channel.is_none())
    }

    /// Whether a node does not run, or is a switch that started afresh and whose tables nobody brought.
    fn is_out(&self, name: &str) -> bool {
        self.is_gone(name) || self.nodes.bare.contains(name)
    }

    /// A switch that starts without a controller has no tables until there is one.
    fn note_bare(&mut self, node: &str) {
        let controllers = &self.job.plan.network.controllers;
        let is_alone = controllers.iter().all(|controller| self.is_gone(&controller.name));
        if !is_alone {
            self.nodes.bare.clear();
        } else if self.job.plan.network.switch(node).is_some() {
            self.nodes.bare.insert(node.to_owned());
        }
    }

    fn judge(&mut self, action: &EventAction) -> Judged {
        let mut babblers = std::mem::take(&mut self.nodes.babblers);
        let network = &self.job.plan.network;
        let judged = fault_model::judge(network, action, &mut babblers, |name| self.is_out(name));
        self.nodes.babblers = babblers;
        judged
    }

    /// Whether the plan still holds without this node.
    pub(crate) fn tolerates_loss_of(&self, place: usize) -> bool {
        let (network, node) = (&self.job.plan.network, &self.nodes.list[place].name);
        fault_model::tolerates_loss_of(network, node, |name| self.is_out(name))
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
                let (switch, frames) = (from.clone(), *frames);
                self.command(from, &NodeCommand::LoseSignals { switch, port, frames })
            }
        }
    }

    fn command(&mut self, node: &str, command: &NodeCommand) -> Result<(), String> {
        let place = self.nodes.position(node).ok_or_else(|| format!("no node {node}"))?;
        self.nodes.command(place, command);
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
        if !self.is_gone(node) {
            return Err(format!("{node} runs already"));
        }
        let old = &mut self.nodes.list[place];
        old.reap();
        old.close(&mut self.poll);
        let started = self.nodes.start(place, &self.job, &mut self.poll);
        started.map_err(|error| error.to_string())?;
        self.note_bare(node);
        if self.nodes.list[place].kind == NodeKind::Switch {
            let at_ns = MonotonicClock::now().as_ns();
            self.observe(&Observation::Restarted { switch: node.to_owned(), at_ns });
        }
        self.tell_nodes();
        Ok(())
    }
}
