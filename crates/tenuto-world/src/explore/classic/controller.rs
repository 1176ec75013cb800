//! The controller: a queue of reports per switch, one application, one handler at a time.

use super::answers::Load;
use super::application::Application;
use super::key::{Keyed, Mixer, multiset};
use super::message::{Command, MessageSet, Order, Report};
use super::setup::Loads;
use super::transition::Enabled;

/// Commands for the switch that asked, until others have confirmed theirs.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) awaited: Vec<usize>,
    pub(super) switch: usize,
    pub(super) orders: Vec<Order>,
}

/// The state of the controller.
#[derive(Clone, Debug)]
pub(super) struct Controller<A> {
    /// What it can do.
    pub(super) enabled: Vec<Enabled>,
    /// What switches told it, by switch.
    pub(super) queues: Vec<Vec<Report>>,
    pub(super) application: A,
    pub(super) versions: u8,
    pub(super) held: Vec<Held>,
}

impl<A: Application> Controller<A> {
    /// At the start.
    pub(super) fn new(application: A, switches: usize, callbacks: &[u8]) -> Self {
        Self {
            enabled: callbacks.iter().map(|number| Enabled::Callback(*number)).collect(),
            queues: vec![Vec::new(); switches],
            application,
            versions: 0,
            held: Vec::new(),
        }
    }

    /// Adds its part of the key.
    pub(super) fn key(&self, has_learned: bool, mixer: &mut Mixer) {
        multiset(self.enabled.iter().copied(), mixer);
        for queue in &self.queues {
            queue.as_slice().key(mixer);
        }
        self.application.key(has_learned, mixer);
        for held in &self.held {
            mixer.word(held.switch as u64 | (held.orders.len() as u64) << 8);
            for order in &held.orders {
                Command { order: *order, set: MessageSet::default() }.key(mixer);
            }
            for switch in &held.awaited {
                mixer.word(*switch as u64);
            }
        }
    }

    /// Adds what the application knows.
    pub(super) fn outcome(&self, mixer: &mut Mixer) {
        self.application.key(true, mixer);
    }

    /// The loads that a switch's statistics may show now.
    pub(super) fn loads(&self, switch: usize, loads: &Loads) -> Vec<u16> {
        match loads {
            Loads::Given(values) => values.clone(),
            Loads::Found => Load::classes(|load| self.application.clone().statistics(switch, load)),
        }
    }

    /// Takes a barrier reply of a switch; what is held no longer.
    pub(super) fn confirmed(&mut self, switch: usize) -> Option<Held> {
        let at = self.held.iter().position(|held| held.awaited.contains(&switch))?;
        self.held[at].awaited.retain(|awaited| *awaited != switch);
        self.held[at].awaited.is_empty().then(|| self.held.remove(at))
    }
}
