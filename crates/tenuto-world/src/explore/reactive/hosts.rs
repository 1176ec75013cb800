//! What hosts send and get.

use super::super::frames::Interned;
use super::fixed::{Fixed, index};
use super::packets::{NOBODY, PacketKind, PacketName};
use super::property::Property;
use super::world::World;
use tenuto_dataplane::{FrameId, Frames};

impl World {
    /// A host sends the next packet of its script.
    pub(super) fn emit(&mut self, host: &str, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        let place = fixed.host(host)?;
        let to = *fixed.hosts[place].script.get(usize::from(self.sent[place]))?;
        self.sent[place] += 1;
        self.send(place, to, PacketKind::Sent, fixed, frames)
    }

    pub(super) fn reply(&mut self, host: &str, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        let place = fixed.host(host)?;
        let to = self.owed[place].pop_front()?;
        self.send(place, to, PacketKind::Reply, fixed, frames)
    }

    /// A host sends a packet, which is at its switch at once.
    pub(super) fn send(
        &mut self,
        place: usize,
        to: u16,
        kind: PacketKind,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        self.numbers[place] = self.numbers[place].checked_add(1)?;
        let made = fixed.packet(place, to, kind, self.numbers[place].into());
        let frame = made.store(frames).ok()?;
        let host = &fixed.hosts[place];
        let (switch, port) = *host.places.get(usize::from(self.places[place]))?;
        if kind != PacketKind::Announcement {
            self.remember_sent(made.name, fixed);
        }
        self.take_in(switch, port, frame, fixed, frames);
        Some(())
    }

    fn remember_sent(&mut self, name: PacketName, fixed: &Fixed) {
        let pair = (name.from, name.to);
        let has_moved = self.places.get(usize::from(name.to)).is_some_and(|place| *place > 0);
        let is_excused =
            has_moved && !self.history.heard.contains(&pair) || fixed.forbidden.contains(&pair);
        if fixed.looks_at(Property::NoBlackHoles) && name.to != NOBODY && !is_excused {
            self.history.demand(name);
        }
        let reached = |pair| self.history.reached.contains(&pair);
        if reached(pair) && reached((name.to, name.from)) {
            self.history.strict.insert(name);
        }
    }

    /// A frame leaves a switch by a port.
    pub(super) fn leave(
        &mut self,
        place: usize,
        port: u32,
        frame: FrameId,
        fixed: &Fixed,
        frames: &Interned,
    ) {
        if let Some(link) = fixed.link_from(place, port) {
            if !self.cut[link] {
                self.channels[link].push_back(frame);
            }
            return;
        }
        let is_there = |host: &usize| {
            fixed.hosts[*host].places.get(usize::from(self.places[*host])) == Some(&(place, port))
        };
        let host = (0..fixed.hosts.len()).find(is_there);
        if let (Some(host), Some(name)) = (host, PacketName::of(frames.bytes(frame))) {
            self.arrive(host, name, fixed);
        }
    }

    pub(super) fn arrive(&mut self, host: usize, name: PacketName, fixed: &Fixed) {
        let own = index(host);
        self.arrivals[host] = true;
        let at = || fixed.hosts[host].name.clone();
        if fixed.forbidden.contains(&(name.from, own)) {
            let text = format!("{} gets {}", at(), fixed.describe(name));
            self.findings.push((Property::Policy, text));
        }
        if name.kind == PacketKind::Announcement {
            if fixed.looks_at(Property::NoBlackHoles) {
                self.history.heard.insert((own, name.from));
            }
            return;
        }
        let keeps = |property| fixed.looks_at(property);
        use Property as P;
        if [P::NoDuplicate, P::InOrder, P::OneTarget, P::Completes].into_iter().any(keeps) {
            let got = &mut self.received[host];
            let place =
                if keeps(P::InOrder) { got.len() } else { got.partition_point(|it| *it <= name) };
            got.insert(place, name);
        }
        if name.to != own {
            return;
        }
        self.has_received[host] = fixed.hosts[host].places.len() > 1;
        self.history.arrived(name);
        if fixed.looks_at(P::StrictDirectPaths) {
            self.history.reached.insert((name.from, own));
        }
        if fixed.hosts[host].replies && name.kind == PacketKind::Sent {
            self.owed[host].push_back(name.from);
        }
    }
}
