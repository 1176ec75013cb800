//! What must hold in every state.

use super::fixed::Fixed;
use super::packets::{NOBODY, PacketName};
use super::property::{Finding, Property};
use super::world::World;
use std::collections::BTreeSet;

/// What a step has violated.
pub(super) fn check_step(world: &World, fixed: &Fixed) -> Option<Finding> {
    let is_asked = |property: &Property| fixed.looks_at(*property);
    let noted = world.findings.iter().find(|(property, _)| is_asked(property)).cloned();
    noted.or_else(|| arrivals(world, fixed).into_iter().find(|(property, _)| is_asked(property)))
}

/// What is wrong with the packets that hosts got.
fn arrivals(world: &World, fixed: &Fixed) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (host, received) in world.received.iter().enumerate() {
        for (place, &name) in received.iter().enumerate() {
            if !is_meant(name, host, fixed) {
                continue;
            }
            if !seen.insert(name) {
                let text = format!("{} arrives twice", fixed.describe(name));
                findings.push((Property::NoDuplicate, text));
            }
            let overtaken = |&&other: &&PacketName| {
                let same = |it: PacketName| (it.from, it.to, it.kind);
                same(other) == same(name) && other.number > name.number
            };
            if let Some(first) = received[..place].iter().find(overtaken) {
                let at = &fixed.hosts[host].name;
                let (late, early) = (fixed.describe(name), fixed.describe(*first));
                findings.push((Property::InOrder, format!("{at} gets {early} before {late}")));
            }
        }
    }
    findings.extend(targets(world, fixed));
    findings
}

/// Whether a host is to get a packet; floods bring it others.
fn is_meant(name: PacketName, host: usize, fixed: &Fixed) -> bool {
    let host = super::fixed::index(host);
    name.to == host || name.to == NOBODY && fixed.service.is_some() && name.from != host
}

fn targets(world: &World, fixed: &Fixed) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (from, sender) in fixed.hosts.iter().enumerate() {
        let is_of = |it: &PacketName| usize::from(it.from) == from && it.to == NOBODY;
        let reached = fixed.hosts.iter().zip(&world.received).filter(|(_, r)| r.iter().any(is_of));
        let targets: Vec<&str> = reached.map(|(host, _)| host.name.as_str()).collect();
        if targets.len() > 1 && fixed.service.is_some() {
            let text = format!("packets of {} arrive at {}", sender.name, targets.join(" and "));
            findings.push((Property::OneTarget, text));
        }
    }
    findings
}

/// What a state violates in which nothing but budgeted faults can happen any more.
pub(super) fn check_end(world: &World, fixed: &Fixed) -> Option<Finding> {
    const END: &str = "nothing is left to happen, but";
    for (switch, at) in world.switches.iter().zip(&fixed.switches) {
        let (buffers, frames) = switch.buffered();
        if fixed.looks_at(Property::Completes) && buffers > 0 {
            let text = format!("{END} {frames} frames wait at {}", at.name);
            return Some((Property::Completes, text));
        }
        let kept = switch.packets_kept() + frames;
        let is_asked = fixed.looks_at(Property::NoForgottenPackets);
        if is_asked && kept > 0 && !world.history.is_excused {
            let text = format!("{END} of the packets at {}, {kept} wait for an answer", at.name);
            return Some((Property::NoForgottenPackets, text));
        }
    }
    if let Some(first) = world.history.due.first() {
        let text = format!("{END} {} has not arrived", fixed.describe(*first));
        return Some((Property::NoBlackHoles, text));
    }
    let is_meant = |host: usize| move |name: &&PacketName| is_meant(**name, host, fixed);
    let of_host =
        |(host, got): (usize, &Vec<PacketName>)| got.iter().filter(is_meant(host)).count();
    let arrived: usize = world.received.iter().enumerate().map(of_host).sum();
    let sent: usize = world.numbers.iter().map(|sent| usize::from(*sent)).sum();
    let is_short = fixed.looks_at(Property::Completes) && arrived < sent;
    is_short.then(|| (Property::Completes, format!("{END} of {sent} packets {arrived} arrived")))
}
