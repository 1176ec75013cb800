//! The state of a network: its nodes shared with the states it came from, each with its part of the key.

use super::application::Application;
use super::controller::Controller;
use super::host::Host;
use super::key::{Keyed, Mixer};
use super::memory::Memory;
use super::message::Report;
use super::property::Finding;
use super::setup::Setup;
use super::switch::Switch;
use super::transition::{Enabled, Strategy, Transition};
use std::rc::Rc;

/// A part of a state, and its part of the key.
#[derive(Clone, Debug)]
pub(super) struct Part<T> {
    pub(super) state: T,
    key: u128,
}

impl<T> Part<T> {
    const fn new(state: T) -> Self {
        Self { state, key: 0 }
    }
}

/// A state.
#[derive(Debug)]
pub(super) struct World<A> {
    pub(super) hosts: Vec<Rc<Part<Host>>>,
    pub(super) switches: Vec<Rc<Part<Switch>>>,
    pub(super) controller: Rc<Part<Controller<A>>>,
    pub(super) memory: Rc<Part<Memory>>,
    pub(super) has_moved: bool,
    pub(super) duplicates: u8,
    sum: u128,
}

impl<A> Clone for World<A> {
    fn clone(&self) -> Self {
        Self {
            hosts: self.hosts.clone(),
            switches: self.switches.clone(),
            controller: Rc::clone(&self.controller),
            memory: Rc::clone(&self.memory),
            ..*self
        }
    }
}

impl<A: Application> World<A> {
    /// The start: hosts have what they can do first, switches are connected and empty.
    pub(super) fn new(setup: &Setup, application: A) -> Self {
        let host = |role| Rc::new(Part::new(Host::new(role)));
        let switch = |ports| Rc::new(Part::new(Switch::new(ports)));
        let controller = Controller::new(application, setup.switches.len(), &setup.callbacks);
        let mut world = Self {
            hosts: setup.hosts.iter().map(|it| host(&it.role)).collect(),
            switches: setup.switches.iter().map(|it| switch(it.peers.len())).collect(),
            controller: Rc::new(Part::new(controller)),
            memory: Rc::new(Part::new(Memory::default())),
            has_moved: false,
            duplicates: setup.duplicates,
            sum: 0,
        };
        world.renew_keys(u64::MAX >> (62 - setup.controller_node()), setup);
        world
    }

    /// The key: what it omits is documented with [`super::Counting`].
    pub(super) fn key(&self) -> u128 {
        let mut mixer = Mixer::default();
        mixer.word(self.duplicates.into());
        mixer.wide(self.sum);
        mixer.finish()
    }

    /// What can happen: hosts, switches, controller, each in the order in which it was enabled.
    pub(super) fn transitions(&self, strategy: Strategy) -> Vec<Transition> {
        let hosts = self.hosts.iter().map(|it| &it.state.enabled);
        let switches = self.switches.iter().map(|it| &it.state.enabled);
        let nodes = hosts.chain(switches).chain([&self.controller.state.enabled]);
        let mut all = Vec::with_capacity(8);
        for (node, list) in (0_u8..).zip(nodes) {
            all.extend(list.iter().map(|enabled: &Enabled| Transition { node, enabled: *enabled }));
        }
        strategy.choose(&mut all);
        all
    }

    /// The fingerprint of what the network has become; buffers by what they hold.
    pub(super) fn outcome(&self, setup: &Setup) -> u128 {
        let mut mixer = Mixer::default();
        for (host, at) in self.hosts.iter().zip(&setup.hosts) {
            host.state.key(&at.role, true, true, &mut mixer);
        }
        for switch in &self.switches {
            switch.state.outcome(&mut mixer);
        }
        self.controller.state.outcome(&mut mixer);
        self.memory.state.key(&mut mixer);
        mixer.finish()
    }

    /// What is violated if nothing more can happen.
    pub(super) fn at_end(&self, setup: &Setup) -> Vec<Finding> {
        let switches = self.switches.iter().enumerate();
        let stored =
            switches.flat_map(|(at, it)| it.state.stored().map(move |packet| (at, packet)));
        self.memory.state.at_end(setup, stored)
    }

    /// Makes the keys of changed parts anew: bits by node, the highest for the memory.
    pub(super) fn renew_keys(&mut self, changed: u64, setup: &Setup) {
        let counting = setup.counting;
        let is_changed = |node: usize| changed >> node & 1 == 1;
        for (node, host) in self.hosts.iter_mut().enumerate().filter(|it| is_changed(it.0)) {
            let role = &setup.hosts[node].role;
            renew(host, node, &mut self.sum, |host, mixer| {
                host.key(role, counting.has_queue_order, counting.has_learned, mixer);
            });
        }
        let first = setup.hosts.len();
        for (at, switch) in self.switches.iter_mut().enumerate() {
            if is_changed(first + at) {
                renew(switch, first + at, &mut self.sum, |it, mixer| it.key(counting, mixer));
            }
        }
        let node = setup.controller_node();
        if is_changed(node) {
            renew(&mut self.controller, node, &mut self.sum, |it, mixer| {
                it.key(counting.has_learned, mixer);
            });
        }
        if is_changed(node + 1) {
            renew(&mut self.memory, node + 1, &mut self.sum, Keyed::key);
        }
    }
}

/// Makes a part's key anew, and the sum of all.
fn renew<T: Clone>(
    part: &mut Rc<Part<T>>,
    node: usize,
    sum: &mut u128,
    key: impl FnOnce(&T, &mut Mixer),
) {
    let part = Rc::make_mut(part);
    let mut mixer = Mixer::default();
    mixer.word(node as u64);
    key(&part.state, &mut mixer);
    let renewed = mixer.finish();
    *sum = sum.wrapping_sub(part.key).wrapping_add(renewed);
    part.key = renewed;
}

impl<A: Application> World<A> {
    /// What a host or switch takes next from its ports.
    pub(super) fn first_packets(&self, setup: &Setup, node: usize) -> Vec<String> {
        let hosts = setup.hosts.len();
        let queues = match node.checked_sub(hosts) {
            Some(switch) => self.switches[switch].state.queues.as_slice(),
            None => std::slice::from_ref(&self.hosts[node].state.queue),
        };
        let firsts = queues.iter().enumerate().filter_map(|(port, it)| Some((port, it.first()?)));
        firsts.map(|(port, packet)| format!("{packet} at port {port}")).collect()
    }

    /// What a switch carries out next.
    pub(super) fn first_command(&self, switch: usize) -> String {
        self.switches[switch].state.commands.first().map(ToString::to_string).unwrap_or_default()
    }

    /// What the controller handles next of a switch.
    pub(super) fn first_report(&self, switch: usize) -> String {
        match self.controller.state.queues[switch].first() {
            Some(Report::PacketIn(asked)) => {
                format!("{} from port {}, buffer {}", asked.packet, asked.port, asked.buffer)
            }
            Some(Report::BarrierReply) => "barrier reply".into(),
            None => String::new(),
        }
    }
}
