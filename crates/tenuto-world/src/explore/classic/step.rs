//! One transition: what a node does, and what that enables elsewhere.

use super::application::Application;
use super::controller::Controller;
use super::host::Host;
use super::memory::{Event, Memory};
use super::message::{Command, Report};
use super::packet::Packet;
use super::property::{Finding, Property};
use super::setup::{Peer, Setup, Spare};
use super::switch::Switch;
use super::transition::{Enabled, Transition};
use super::world::World;
use std::rc::Rc;

/// A transition under way.
#[derive(Debug)]
pub(super) struct Step<'a, A> {
    world: &'a mut World<A>,
    pub(super) setup: &'a Setup,
    found: Vec<Finding>,
    changed: u64,
}

impl<'a, A: Application> Step<'a, A> {
    /// Carries a transition out; what it violates.
    pub(super) fn run(
        world: &'a mut World<A>,
        setup: &'a Setup,
        transition: Transition,
    ) -> Vec<Finding> {
        let mut step = Self { world, setup, found: Vec::new(), changed: 0 };
        let Transition { node, enabled } = transition;
        let is_over = step.act(node.into(), enabled);
        if is_over {
            let list = step.enabled_mut(node.into());
            if let Some(at) = list.iter().position(|it| *it == enabled) {
                list.remove(at);
            }
        }
        let Self { world, setup, found, changed } = step;
        world.renew_keys(changed, setup);
        found
    }

    fn act(&mut self, node: usize, enabled: Enabled) -> bool {
        let hosts = self.setup.hosts.len();
        if node < hosts {
            return self.host(node, enabled);
        }
        if node == self.setup.controller_node() {
            return self.controller(enabled);
        }
        self.switch(node - hosts, enabled)
    }

    fn enabled_mut(&mut self, node: usize) -> &mut Vec<Enabled> {
        let hosts = self.setup.hosts.len();
        if node < hosts {
            return &mut self.host_mut(node).enabled;
        }
        if node == self.setup.controller_node() {
            return &mut self.controller_mut().enabled;
        }
        &mut self.switch_mut(node - hosts).enabled
    }

    pub(super) fn host_mut(&mut self, host: usize) -> &mut Host {
        self.changed |= 1 << host;
        &mut Rc::make_mut(&mut self.world.hosts[host]).state
    }

    pub(super) fn switch_mut(&mut self, switch: usize) -> &mut Switch {
        self.changed |= 1 << self.setup.switch_node(switch);
        &mut Rc::make_mut(&mut self.world.switches[switch]).state
    }

    pub(super) fn controller_mut(&mut self) -> &mut Controller<A> {
        self.changed |= 1 << self.setup.controller_node();
        &mut Rc::make_mut(&mut self.world.controller).state
    }

    fn memory_mut(&mut self) -> &mut Memory {
        self.changed |= 1 << (self.setup.controller_node() + 1);
        &mut Rc::make_mut(&mut self.world.memory).state
    }

    /// Enables a transition of a node, once.
    fn enable(&mut self, node: usize, enabled: Enabled) {
        let list = self.enabled_mut(node);
        if !list.contains(&enabled) {
            list.push(enabled);
        }
    }

    /// A packet arrives at a port.
    pub(super) fn put(&mut self, to: Peer, packet: Packet) {
        let node = usize::from(to.node);
        let hosts = self.setup.hosts.len();
        if node < hosts {
            self.host_mut(node).queue.push(packet);
        } else {
            self.switch_mut(node - hosts).queues[usize::from(to.port)].push(packet);
        }
        self.enable(node, Enabled::ProcessPacket);
        if node >= hosts && self.may_duplicate() {
            self.enable(node, Enabled::DuplicatePacket(to.port));
        }
    }

    /// A host's switch and the port that it hangs at now.
    pub(super) fn host_peer(&self, host: usize) -> Peer {
        let at = self.setup.hosts[host].at;
        match self.setup.spare {
            Some(spare) if self.world.has_moved && usize::from(spare.host) == host => {
                Peer { port: spare.port, ..at }
            }
            _ => at,
        }
    }

    /// What hangs at a port now.
    pub(super) fn switch_peer(&self, switch: usize, port: usize) -> Option<Peer> {
        let peer = self.setup.switches[switch].peers.get(port).copied().flatten();
        let Some(Spare { host, port: spare }) = self.setup.spare.filter(|_| self.world.has_moved)
        else {
            return peer;
        };
        let at = self.setup.hosts[usize::from(host)].at;
        if usize::from(at.node) != self.setup.switch_node(switch) {
            return peer;
        }
        let there = usize::from(spare) == port;
        let left = usize::from(at.port) == port;
        if there { Some(Peer { node: host, port: 0 }) } else { peer.filter(|_| !left) }
    }

    pub(super) fn move_to_spare(&mut self) {
        self.world.has_moved = true;
    }

    pub(super) fn may_duplicate(&self) -> bool {
        self.world.duplicates > 0
    }

    pub(super) fn spend_duplicate(&mut self) {
        self.world.duplicates = self.world.duplicates.saturating_sub(1);
    }

    /// A switch tells the controller something.
    pub(super) fn report(&mut self, switch: usize, report: Report) {
        self.controller_mut().queues[switch].push(report);
        let number = u8::try_from(switch).unwrap_or(u8::MAX);
        self.enable(self.setup.controller_node(), Enabled::ProcessReport(number));
    }

    /// The controller is to ask a switch for its statistics, once more.
    pub(super) fn request_statistics(&mut self, switch: u8) {
        self.controller_mut().enabled.push(Enabled::RequestStatistics(switch));
    }

    /// A command waits at a switch.
    pub(super) fn command(&mut self, switch: usize, command: Command) {
        self.switch_mut(switch).commands.push(command);
        if self.setup.overtakes && self.switch_mut(switch).commands.len() > 1 {
            self.enable(self.setup.switch_node(switch), Enabled::OvertakeCommand);
        }
        self.enable(self.setup.switch_node(switch), Enabled::ProcessCommand);
    }

    /// The properties note that a host sends, and may mark the packet.
    pub(super) fn tell_sent(&mut self, packet: Packet) -> Packet {
        let setup = self.setup;
        self.memory_mut().sent(packet, &setup.properties)
    }

    /// The properties look at an event.
    pub(super) fn tell(&mut self, event: &Event<'_>) {
        if !matters(event, self.setup) {
            return;
        }
        let setup = self.setup;
        let finding = self.memory_mut().on(event, setup);
        self.found.extend(finding);
    }

    pub(super) fn violate(&mut self, property: Property, text: String) {
        self.found.push(Finding { property, text });
    }
}

/// Whether a property that is looked at remembers or judges an event.
fn matters(event: &Event<'_>, setup: &Setup) -> bool {
    let has = |property| setup.properties.contains(&property);
    match event {
        Event::Processed { .. } => has(Property::NoForwardingLoops),
        Event::AskedAbout { .. } => has(Property::DirectPaths) || has(Property::StrictDirectPaths),
        Event::Received { .. } | Event::Rewritten { .. } => true,
        Event::Moved => has(Property::NoBlackHolesMobile),
        Event::ConnectionStarted { .. } | Event::SynReceived { .. } | Event::AckReceived { .. } => {
            has(Property::FlowAffinity)
        }
    }
}
