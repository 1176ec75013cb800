//! A state as the search sees it: its identity, its steps, what they violate.

use super::super::explored::Explored;
use super::super::frames::Interned;
use super::fixed::Fixed;
use super::properties::{check_end, check_step};
use super::property::Finding;
use super::trace::{Action, Step};
use super::world::World;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hash;
use tenuto_dataplane::TimerId;

impl Explored for World {
    type Fixed = Fixed;
    type Action = Action;
    type Step = Step;
    type Finding = Finding;

    fn fingerprint(&self, fixed: &Fixed, frames: &Interned) -> u128 {
        let mut hasher = SipHasher24::new();
        self.digests.hash(&mut hasher);
        for channel in &self.channels {
            channel.len().hash(&mut hasher);
            channel.iter().for_each(|&frame| frames.identity(frame).hash(&mut hasher));
        }
        (&self.cut, &self.sent, &self.owed).hash(&mut hasher);
        if fixed.counts_packets() {
            self.numbers.hash(&mut hasher);
        }
        (&self.places, &self.has_received, &self.received).hash(&mut hasher);
        self.identify_messages(fixed, &mut hasher);
        (&self.controller, &self.gate, &self.left, &self.history).hash(&mut hasher);
        hasher.finish128().as_u128()
    }

    fn possible(&self, fixed: &Fixed, frames: &Interned) -> Result<Vec<Action>, Finding> {
        let (must, may) = self.actions(fixed, frames);
        let end = must.is_empty().then(|| check_end(self, fixed)).flatten();
        end.map_or_else(|| Ok(must.into_iter().chain(may).collect()), Err)
    }

    fn sufficient(&self, actions: &[Action], fixed: &Fixed) -> Option<Vec<u16>> {
        self.persistent(actions, fixed)
    }

    fn passes_corridors(fixed: &Fixed) -> bool {
        fixed.reductions.corridors
    }

    fn after(&self, action: &Action, fixed: &Fixed, frames: &mut Interned) -> Option<Self> {
        let mut next = self.clone();
        next.findings.clear();
        next.arrivals.fill(false);
        match action {
            Action::Emit { host } => next.emit(host, fixed, frames)?,
            Action::Reply { host } => next.reply(host, fixed, frames)?,
            Action::Move { host } => next.move_host(host, fixed, frames)?,
            Action::HandOver { switch, port } => {
                next.fire(switch, TimerId::PortReady(*port), fixed, frames)?;
            }
            Action::Expire { switch, buffer } => {
                next.left.timeouts = next.left.timeouts.checked_sub(1)?;
                next.fire(switch, TimerId::Buffer(*buffer), fixed, frames)?;
            }
            Action::Deliver { from, to } => next.deliver(from, to, fixed, frames)?,
            Action::Lose { from, to } => next.lose(fixed.link(from, to)?, frames)?,
            Action::Double { from, to } => next.double(fixed.link(from, to)?, frames)?,
            Action::Cut { from, to } => next.cut(fixed.link(from, to)?, fixed, frames)?,
            Action::Decide { switch } => next.decide(fixed.place(switch)?, fixed)?,
            Action::Obey { switch, answer } => next.obey(switch, *answer, fixed, frames)?,
            Action::Fail { switch } => next.fail(fixed.place(switch)?, fixed, frames)?,
            Action::Crash => next.crash(fixed, frames)?,
            Action::Timer { name } => next.timer(name, fixed)?,
        }
        Some(next)
    }

    fn step(&self, action: &Action, next: &Self, fixed: &Fixed, frames: &Interned) -> Step {
        let note = self.note(action, next, fixed, frames).unwrap_or_default();
        let reached = (0..fixed.hosts.len()).filter(|host| next.arrivals[*host]);
        Step {
            action: action.clone(),
            note,
            between: self.between(action, fixed).unwrap_or_default(),
            reaches: reached.map(|host| fixed.hosts[host].name.clone()).collect(),
        }
    }

    fn check(&self, next: &Self, _: bool, fixed: &Fixed) -> Option<Finding> {
        check_step(next, fixed)
    }
}
