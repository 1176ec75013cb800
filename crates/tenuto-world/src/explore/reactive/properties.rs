//! What must hold in every state.

use super::scenario::Fixed;
use super::world::World;
use std::collections::BTreeSet;

/// A property of packets that an application decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// A switch asks nothing while an answer for the same flow is on its way to it, or the question
    /// on its way to the controller.
    OnePacketIn,
    /// No packet is dropped, and no command refused.
    NoDrop,
    /// No packet arrives twice.
    NoDuplicate,
    /// Packets of a flow arrive in the order in which they were sent.
    InOrder,
    /// All packets of a flow arrive at one host.
    OneTarget,
    /// When nothing is left to happen, every packet has arrived, nothing waits, and no message was
    /// refused. No timer is needed for it.
    Completes,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::OnePacketIn,
        Self::NoDrop,
        Self::NoDuplicate,
        Self::InOrder,
        Self::OneTarget,
        Self::Completes,
    ];

    /// Its name in verdicts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnePacketIn => "one-packet-in",
            Self::NoDrop => "no-drop",
            Self::NoDuplicate => "no-duplicate",
            Self::InOrder => "in-order",
            Self::OneTarget => "one-target",
            Self::Completes => "completes",
        }
    }

    /// Whether it holds although commands are lost or timers fire: then a switch is one of plain
    /// OpenFlow for that flow.
    pub const fn survives_faults(self) -> bool {
        matches!(self, Self::NoDrop | Self::NoDuplicate | Self::Completes)
    }
}

/// A violated property and what is wrong, in words.
pub(super) type Finding = (Property, String);

/// What a step has violated.
pub(super) fn check_step(world: &World, fixed: &Fixed) -> Option<Finding> {
    let is_asked = |property: &Property| fixed.settings.properties.contains(property);
    let noted = world.findings.iter().find(|(property, _)| is_asked(property)).cloned();
    noted.or_else(|| arrivals(world, fixed).into_iter().find(|(property, _)| is_asked(property)))
}

fn arrivals(world: &World, fixed: &Fixed) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (host, received) in world.received.iter().enumerate() {
        let name = fixed.hosts[host].name;
        for (place, &(from, number)) in received.iter().enumerate() {
            let sender = fixed.hosts[usize::from(from)].name;
            if !seen.insert((from, number)) {
                let text = format!("packet {number} of {sender} arrives twice");
                findings.push((Property::NoDuplicate, text));
            }
            let overtaken = |&&(other, n): &&(u8, u8)| other == from && n > number;
            if let Some((_, first)) = received[..place].iter().find(overtaken) {
                let text = format!("{name} gets packet {first} of {sender} before {number}");
                findings.push((Property::InOrder, text));
            }
        }
    }
    for from in 0..u8::try_from(fixed.hosts.len()).unwrap_or(u8::MAX) {
        let has = |received: &[(u8, u8)]| received.iter().any(|(other, _)| *other == from);
        let reached = fixed.hosts.iter().zip(&world.received).filter(|(_, r)| has(r));
        let targets: Vec<&str> = reached.map(|(host, _)| host.name).collect();
        if targets.len() > 1 {
            let sender = fixed.hosts[usize::from(from)].name;
            let text = format!("packets of {sender} arrive at {}", targets.join(" and "));
            findings.push((Property::OneTarget, text));
        }
    }
    findings
}

/// What a state violates in which nothing but budgeted faults can happen any more.
pub(super) fn check_end(world: &World, fixed: &Fixed) -> Option<Finding> {
    if !fixed.settings.properties.contains(&Property::Completes) {
        return None;
    }
    let wrong = |text| Some((Property::Completes, text));
    for (switch, name) in world.switches.iter().zip(&fixed.names) {
        let (buffers, frames) = switch.buffered();
        if buffers > 0 {
            let text = format!("nothing is left to happen, but {frames} frames wait at {name}");
            return wrong(text);
        }
    }
    let arrived: usize = world.received.iter().map(Vec::len).sum();
    let sent: usize = world.sent.iter().map(|sent| usize::from(*sent)).sum();
    match arrived < sent {
        true => {
            wrong(format!("nothing is left to happen, but of {sent} packets {arrived} arrived"))
        }
        false => None,
    }
}
