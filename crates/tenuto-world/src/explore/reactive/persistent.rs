//! Partial order: actions that suffice in a state, since nothing else that can happen before them depends on
//! them (a *persistent set*; docs/theory/exploration.md, "Reductions").
//!
//! The parts that act are the switches, each with the hosts at it, and the controller. They share nothing but queues
//! in order: one side appends, the other takes the first. So the actions of a part can only be disturbed by what comes
//! into a queue of it that is empty now.

use super::fixed::Fixed;
use super::property::Property;
use super::setup::{Budgets, Protocol};
use super::trace::Action;
use super::world::World;
use tenuto_openflow::{Action as OfAction, Body, Instruction};

/// Ports from here on stand for several, or for the controller.
const RESERVED_PORTS: u32 = 0xffff_ff00;

/// Which part acts, by switch; the controller is behind the last switch.
struct Parts {
    /// The part of each switch, and of the controller: a switch that stands for it.
    of: Vec<usize>,
    /// Whether each part has an action now.
    acts: Vec<bool>,
    /// The part of each action.
    of_action: Vec<usize>,
}

impl World {
    /// Places of actions that suffice; `None` if all are needed.
    pub(super) fn persistent(&self, actions: &[Action], fixed: &Fixed) -> Option<Vec<u16>> {
        if actions.len() < 2 || !fixed.reductions.partial_order || !self.has_order_only(fixed) {
            return None;
        }
        if fixed.decides_by_switch() || fixed.switches.len() == 1 {
            // What one switch has asked first is nobody else's, and its answers are for it alone.
            let is_decision = |action: &Action| matches!(action, Action::Decide { .. });
            if let Some(first) = actions.iter().position(is_decision) {
                return Some(vec![u16::try_from(first).ok()?]);
            }
        }
        let parts = self.parts(actions, fixed)?;
        let candidates = (0..parts.acts.len()).filter(|&part| parts.acts[part]);
        let undisturbed = candidates.filter(|&part| !self.is_disturbed(part, &parts, fixed));
        let places = |part: usize| -> Vec<u16> {
            let of_part = (0_u16..).zip(&parts.of_action).filter(|(_, it)| **it == part);
            of_part.map(|(place, _)| place).collect()
        };
        let has_duty = |places: &Vec<u16>| {
            places.iter().any(|&place| !matches!(actions[usize::from(place)], Action::Move { .. }))
        };
        let best = undisturbed.map(places).filter(has_duty).min_by_key(Vec::len)?;
        (best.len() < actions.len()).then_some(best)
    }

    /// Whether actions depend on each other through queues and places alone: no budget is shared any more, and no
    /// property compares moments at different parts.
    fn has_order_only(&self, fixed: &Fixed) -> bool {
        let compares = [Property::OnePacketIn, Property::StrictDirectPaths];
        self.left == Budgets::default()
            && !compares.into_iter().any(|property| fixed.looks_at(property))
            && fixed.hosts.iter().all(|host| host.places.len() <= 2)
    }

    fn parts(&self, actions: &[Action], fixed: &Fixed) -> Option<Parts> {
        let controller = fixed.switches.len();
        let mut of: Vec<usize> = (0..=controller).collect();
        self.join_parts(&mut of, fixed);
        let mut acts = vec![false; of.len()];
        let mut of_action = Vec::with_capacity(actions.len());
        for action in actions {
            let part = of[self.actor(action, fixed)?];
            acts[part] = true;
            of_action.push(part);
        }
        Some(Parts { of, acts, of_action })
    }

    /// Switches between which a host may move are one part. So are those of a sender and its target where packets are
    /// alike and have to arrive: an arrival counts for whichever was sent before.
    fn join_parts(&self, of: &mut [usize], fixed: &Fixed) {
        let at = |host: usize| {
            let place = fixed.hosts[host].places.get(usize::from(self.places[host]))?;
            Some(place.0)
        };
        let mut join = |one: Option<usize>, other: Option<usize>| {
            let (Some(one), Some(other)) = (one, other) else { return };
            let (from, to) = (of[one], of[other]);
            of.iter_mut().filter(|part| **part == from).for_each(|part| *part = to);
        };
        let counts = fixed.looks_at(Property::NoBlackHoles) && !fixed.tells_packets_apart();
        for (place, host) in fixed.hosts.iter().enumerate() {
            if usize::from(self.places[place]) + 1 < host.places.len() {
                join(host.places.first().map(|it| it.0), host.places.last().map(|it| it.0));
            }
            for &target in host.script.iter().filter(|_| counts) {
                let target = usize::from(target);
                if target < fixed.hosts.len() {
                    join(at(place), at(target));
                }
            }
        }
    }

    /// The switch at which an action takes place, or the controller.
    fn actor(&self, action: &Action, fixed: &Fixed) -> Option<usize> {
        match action {
            Action::Emit { host } | Action::Reply { host } | Action::Move { host } => {
                let host = fixed.host(host)?;
                Some(fixed.hosts[host].places.get(usize::from(self.places[host]))?.0)
            }
            Action::Deliver { from, to } => Some(fixed.links[fixed.link(from, to)?].to),
            Action::HandOver { switch, .. } | Action::Obey { switch, .. } => fixed.place(switch),
            Action::Decide { switch } => match fixed.decides_by_switch() {
                true => fixed.place(switch),
                false => Some(fixed.switches.len()),
            },
            _ => None,
        }
    }

    /// Whether something may come into an empty queue of a part before it acts.
    fn is_disturbed(&self, part: usize, parts: &Parts, fixed: &Fixed) -> bool {
        let count = parts.of.len();
        // While only the controller is held back, no switch is told more than is on its way to it.
        let is_told_all = part == parts.of[fixed.switches.len()] && !fixed.decides_by_switch();
        let mut reached: Vec<bool> = (0..count).map(|it| it != part && parts.acts[it]).collect();
        let mut waiting: Vec<usize> = (0..count).filter(|&it| reached[it]).collect();
        while let Some(from) = waiting.pop() {
            for (to, is_empty) in self.appends(from, parts, is_told_all, fixed) {
                if to == part && is_empty {
                    return true;
                }
                if to != part && !std::mem::replace(&mut reached[to], true) {
                    waiting.push(to);
                }
            }
        }
        false
    }

    /// Parts to whose queues a part may append, and whether that queue is empty now.
    fn appends(
        &self,
        from: usize,
        parts: &Parts,
        is_told_all: bool,
        fixed: &Fixed,
    ) -> Vec<(usize, bool)> {
        let controller = fixed.switches.len();
        let mut found = Vec::new();
        for switch in (0..controller).filter(|&it| parts.of[it] == from) {
            for (place, link) in fixed.links.iter().enumerate() {
                let may_send = !is_told_all || self.may_send(switch, link.from_port, fixed);
                if link.from == switch && !self.cut[place] && may_send {
                    found.push((parts.of[link.to], self.channels[place].is_empty()));
                }
            }
            if !fixed.decides_by_switch() {
                found.push((parts.of[controller], self.to_controller[switch].is_empty()));
            }
        }
        if from == parts.of[controller] && !fixed.decides_by_switch() {
            // Of several threads' answers any may be next, so one more counts where others wait.
            let told = self.to_switch.iter().enumerate();
            found.extend(told.map(|(at, queue)| (parts.of[at], queue.is_empty() || fixed.threads)));
        }
        found.retain(|(to, _)| *to != from);
        found
    }

    /// Whether a switch may send through a port, as far as its entries and what is on its way to it say.
    fn may_send(&self, switch: usize, port: u32, fixed: &Fixed) -> bool {
        let sends = |out: u32| out == port || out >= RESERVED_PORTS;
        // Frames that wait at ports, and flow-mods of sets that are not complete, are no entries.
        fixed.ports_wait
            || fixed.protocol == Protocol::Attendre
            || self.switches[switch].has_output(sends)
            || self.to_switch[switch].iter().any(|message| tells(&message.body, &sends))
    }
}

/// Whether a message may have a switch send so.
fn tells(body: &Body, sends: &dyn Fn(u32) -> bool) -> bool {
    let any = |actions: &[OfAction]| {
        actions.iter().any(|action| match action {
            OfAction::Output { port, .. } => sends(*port),
            OfAction::Group(_) => true,
            _ => false,
        })
    };
    match body {
        Body::PacketOut(it) => any(&it.actions),
        Body::FlowMod(it) => it.instructions.iter().any(|instruction| match instruction {
            Instruction::ApplyActions(list) | Instruction::WriteActions(list) => any(list),
            _ => false,
        }),
        _ => true,
    }
}

impl Fixed {
    /// Whether the controller decides for each switch by itself, and tells it at once.
    pub(super) fn decides_by_switch(&self) -> bool {
        self.app.is_by_switch() && self.protocol == Protocol::Openflow
    }
}
