//! What hosts send in a run: flows that begin at drawn instants.

use super::RunSettings;
use super::counts::FlowRow;
use crate::explore::reactive::{
    Address, BROADCAST, Made, NOBODY, PacketKind, PacketName, Topology,
};
use tenuto_units::{Draws, Instant, Span};

/// Flows and packets of a run at most.
const PACKETS_MAX: u64 = 1_000_000;
/// So that no sum of times is too long to be told.
const LONGEST: Span = Span::from_s(3_600);
const FIRST_PORT: u16 = 20_000;
const PORTS: u32 = 40_000;

/// A packet that a host is to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at: Instant,
    pub(super) name: PacketName,
}

/// The flows of a run and their packets.
pub(super) fn drawn(
    topology: &Topology,
    settings: &RunSettings,
) -> Result<(Vec<FlowRow>, Vec<Due>), String> {
    let mut draws = Draws::new(settings.seed);
    let per_flow = settings.sends.iter().map(|it| u64::from(it.packets)).sum::<u64>();
    if per_flow.saturating_mul(settings.flows.into()) > PACKETS_MAX {
        return Err(format!("a run has at most {PACKETS_MAX} packets"));
    }
    let (longest, every_ns) = (LONGEST.as_ns(), settings.every.as_ns());
    let times = [every_ns, settings.gap.as_ns(), settings.control_delay.as_ns()];
    let others = [settings.think.as_ns(), settings.command.as_ns()];
    if times.into_iter().chain(others).any(|ns| ns > longest) {
        return Err("each time of a run is at most an hour".to_owned());
    }
    let mut starts = Vec::new();
    for send in &settings.sends {
        let from = topology.host(&send.from)?;
        let is_service = settings.service.is_some() && send.to == "service";
        let to = if is_service { NOBODY } else { place(topology.host(&send.to)?) };
        if place(from) == to {
            return Err(format!("{} sends to itself", send.from));
        }
        if topology.hosts[from].places.is_empty() {
            return Err(format!("{} is at no switch", send.from));
        }
        let mut at = Instant::from_ns(1_000_000_000);
        for _ in 0..settings.flows {
            let drawn_ns = draws.below(2 * every_ns + 1);
            at += Span::from_ns(if settings.is_regular { every_ns } else { drawn_ns });
            starts.push((at, place(from), to, send));
        }
    }
    // Of flows that begin at once, those of the pair that was named first.
    starts.sort_by_key(|(at, ..)| *at);
    let (mut rows, mut packets) = (Vec::new(), Vec::new());
    for (flow, (began, from, to, send)) in (0_u32..).zip(starts) {
        rows.push(row(send.from.clone(), send.to.clone(), began));
        for number in 0..u32::from(send.packets) {
            let at = began + settings.gap.times(number.into());
            let name = PacketName { from, to, kind: PacketKind::Sent, flow, number };
            packets.push(Due { at, name });
        }
    }
    Ok((rows, packets))
}

fn place(host: usize) -> u16 {
    u16::try_from(host).unwrap_or(NOBODY)
}

const fn row(from: String, to: String, began: Instant) -> FlowRow {
    FlowRow {
        from,
        to,
        sent: 0,
        received: 0,
        replies_sent: 0,
        replies_received: 0,
        duplicates: 0,
        packet_ins: 0,
        flow_mods: 0,
        packet_outs: 0,
        began,
        setup_ns: None,
        round_trip_ns: None,
    }
}

/// The frame of a packet: each flow has a UDP port of its own at the side that has begun it.
pub(super) fn made(name: PacketName, topology: &Topology, settings: &RunSettings) -> Made {
    let service = settings.service.map(|mac| Address { mac, ip: [10, 255, 255, 254] });
    let address = |place: u16| {
        let host = topology.hosts.get(usize::from(place)).map(|host| host.address);
        host.or(service).unwrap_or(BROADCAST)
    };
    let own = FIRST_PORT + u16::try_from(name.flow % PORTS).unwrap_or(0);
    let ports = if name.kind == PacketKind::Reply { (9, own) } else { (own, 9) };
    let (src, dst) = (address(name.from), address(name.to));
    Made { name, src, dst, ports, bytes: settings.packet_bytes }
}
