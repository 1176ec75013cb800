//! The receiving side of one flow: frames to copies, copies to messages.

use super::config::{Form, ReceiverConfig};
use super::events::{Damage, HostEvent, ReceiverCounters};
use super::port::Owner;
use super::reassembly::{GivenUp, Part, Reassembly};
use super::redundancy::{Missing, Redundancy, Verdict};
use super::window::Identity;
use crate::{DropReason, Effects};
use tenuto_units::Instant;
use tenuto_wire::shim::{SHIM_BYTES, payload_bytes_of_frame};
use tenuto_wire::stamp::STAMP_BYTES;
use tenuto_wire::{EtherType, EthernetFrame, IpProtocol, Ipv4Packet, ShimRepr, Stamp, UdpPacket};

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    config: ReceiverConfig,
    /// One for each port; none for datagrams.
    reassembly: Vec<Reassembly>,
    redundancy: Redundancy,
    counters: ReceiverCounters,
}

/// When and over which copy something arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Arrival stamp.
    pub(super) at: Instant,
    /// Port number.
    pub(super) port: u32,
    /// Index of the port among those of the receiver.
    pub(super) copy: usize,
}

/// A frame that was not used, and whose it was.
pub(super) type Refused = (DropReason, Owner);

impl Receiver {
    pub(super) fn new(config: &ReceiverConfig) -> Self {
        let reassembly = match config.form {
            Form::Message => {
                let one = || Reassembly::new(config.bytes_max, config.patience);
                config.ports.iter().map(|_| one()).collect()
            }
            Form::Datagram { .. } => Vec::new(),
        };
        Self {
            reassembly,
            redundancy: Redundancy::new(config.ports.len(), config.skew_max),
            counters: ReceiverCounters::default(),
            config: config.clone(),
        }
    }

    pub(super) const fn config(&self) -> &ReceiverConfig {
        &self.config
    }

    pub(super) const fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    /// Index of the network behind a port.
    pub(super) fn copy(&self, port: u32) -> Option<usize> {
        self.config.ports.iter().position(|&p| p == port)
    }

    /// A frame with this flow's header.
    pub(super) fn receive(
        &mut self,
        arrival: Arrival,
        frame: &[u8],
        fx: &mut Effects<HostEvent>,
    ) -> Result<(), Refused> {
        self.counters.frames += 1;
        let malformed = (DropReason::Malformed, None);
        let taken = match (udp_payload(frame), self.config.form) {
            (None, _) => Err(malformed),
            (Some(payload), Form::Datagram { sequenced }) => {
                self.datagram(arrival, payload, sequenced, fx)
            }
            (Some(payload), Form::Message) => match ShimRepr::parse(payload) {
                Ok(shim) => self.part(arrival, payload, shim, fx),
                Err(_) => Err(malformed),
            },
        };
        if taken == Err(malformed) {
            self.counters.malformed += 1;
        }
        taken
    }

    fn datagram(
        &mut self,
        arrival: Arrival,
        payload: &[u8],
        sequenced: bool,
        fx: &mut Effects<HostEvent>,
    ) -> Result<(), Refused> {
        let bytes = length(payload);
        let (number, body) = match payload.split_last() {
            Some((&number, body)) if sequenced => (Some(number), body),
            _ => (None, payload),
        };
        let stamp = Stamp::parse(body).filter(|s| s.flow == self.config.flow);
        let Some(Stamp { release, message_id, .. }) = stamp else {
            return self.foreign(arrival, bytes, fx);
        };
        if bytes > Form::datagram_bytes(sequenced, self.config.bytes_max) {
            return self.damaged(arrival, message_id, Damage::Oversized, fx);
        }
        let number = number.map_or(message_id, u32::from);
        self.whole(arrival, Identity { number, message_id, release: None }, release, bytes, fx)
    }

    fn part(
        &mut self,
        arrival: Arrival,
        payload: &[u8],
        shim: ShimRepr,
        fx: &mut Effects<HostEvent>,
    ) -> Result<(), Refused> {
        let data = &payload[SHIM_BYTES..];
        let message_id = shim.message_id;
        let release = match Stamp::parse(data) {
            Some(s) if (s.flow, s.message_id) == (self.config.flow, message_id) => Some(s.release),
            None if is_unstamped_end(shim, data) => None,
            _ => return self.foreign(arrival, length(payload), fx),
        };
        let (flow, port) = (self.config.flow, arrival.port);
        let counters = &mut self.counters;
        let part =
            self.reassembly[arrival.copy].add(arrival.at, release, shim, length(data), |lost| {
                give_up(flow, port, lost, counters, fx)
            });
        match part {
            Part::Stored => Ok(()),
            Part::Whole(release) => {
                let identity = Identity { number: message_id, message_id, release: None };
                self.whole(arrival, identity, release, shim.message_bytes, fx)
            }
            Part::Repeated => self.repeated(message_id),
            Part::Late => {
                self.counters.late_frames += 1;
                Ok(())
            }
            Part::Oversized => self.damaged(arrival, message_id, Damage::Oversized, fx),
            Part::Contradiction => self.damaged(arrival, message_id, Damage::Contradiction, fx),
        }
    }

    /// A whole copy of a message has arrived.
    fn whole(
        &mut self,
        arrival: Arrival,
        identity: Identity,
        release: Instant,
        bytes: u32,
        fx: &mut Effects<HostEvent>,
    ) -> Result<(), Refused> {
        let Arrival { at, port, copy } = arrival;
        let (flow, message_id) = (self.config.flow, identity.message_id);
        let identity = Identity { release: Some(release), ..identity };
        let (config, counters) = (&self.config, &mut self.counters);
        let verdict =
            self.redundancy.judge(at, copy, identity, |lost| miss(config, lost, counters, fx));
        if verdict == Verdict::Repeated {
            return self.repeated(message_id);
        }
        let delay = at.since(release);
        let counters = &mut self.counters;
        counters.copies[copy] += 1;
        counters.copy_delay_max[copy] = counters.copy_delay_max[copy].max(delay);
        if self.config.ports.len() > 1 {
            fx.events.push(HostEvent::CopyArrived { flow, message_id, port, release, at });
        }
        match verdict {
            Verdict::First => {
                counters.delivered += 1;
                counters.delay_max = counters.delay_max.max(delay);
                fx.events.push(HostEvent::Delivered { flow, message_id, port, release, at, bytes });
                return Ok(());
            }
            Verdict::Second(skew) => {
                counters.second_copies += 1;
                counters.skew_max = counters.skew_max.max(skew);
                fx.events.push(HostEvent::SecondCopy { flow, message_id, port, at, skew });
            }
            Verdict::TooLate(skew) => {
                counters.skew_exceeded += 1;
                counters.skew_max = counters.skew_max.max(skew);
                fx.events.push(HostEvent::SkewExceeded { flow, message_id, port, at, skew });
            }
            Verdict::Repeated => {}
        }
        Err((DropReason::Duplicate, Some((flow, message_id))))
    }

    fn repeated(&mut self, message_id: u32) -> Result<(), Refused> {
        self.counters.repeated_frames += 1;
        Err((DropReason::Duplicate, Some((self.config.flow, message_id))))
    }

    fn damaged(
        &mut self,
        arrival: Arrival,
        message_id: u32,
        damage: Damage,
        fx: &mut Effects<HostEvent>,
    ) -> Result<(), Refused> {
        let (flow, port) = (self.config.flow, arrival.port);
        self.counters.damaged += 1;
        fx.events.push(HostEvent::Damaged { flow, message_id, port, damage });
        Err((DropReason::Malformed, Some((flow, message_id))))
    }

    /// Frames of other programs are theirs to use: nothing is dropped.
    fn foreign(
        &mut self,
        arrival: Arrival,
        bytes: u32,
        fx: &mut Effects<HostEvent>,
    ) -> Result<(), Refused> {
        let (flow, port) = (self.config.flow, arrival.port);
        self.counters.foreign += 1;
        fx.events.push(HostEvent::Foreign { flow, port, bytes });
        Ok(())
    }

    /// When the next copy is given up or missed.
    /// Whether a copy is waited for, or given up after a time.
    pub(super) fn can_have_timers(&self) -> bool {
        self.config.ports.len() > 1 || self.config.patience.is_some()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let reassembly = self.reassembly.iter().filter_map(Reassembly::deadline).min();
        [reassembly, self.redundancy.deadline()].into_iter().flatten().min()
    }

    /// Gives up or misses the copies whose time is over.
    pub(super) fn expire(&mut self, now: Instant, fx: &mut Effects<HostEvent>) {
        let (config, counters) = (&self.config, &mut self.counters);
        for (reassembly, &port) in self.reassembly.iter_mut().zip(&config.ports) {
            reassembly.expire(now, |lost| give_up(config.flow, port, lost, counters, fx));
        }
        self.redundancy.expire(now, |lost| miss(config, lost, counters, fx));
    }
}

fn give_up(
    flow: u16,
    port: u32,
    lost: GivenUp,
    counters: &mut ReceiverCounters,
    fx: &mut Effects<HostEvent>,
) {
    let GivenUp { message_id, frames_missing } = lost;
    counters.incomplete += 1;
    fx.events.push(HostEvent::Incomplete { flow, message_id, port, frames_missing });
}

fn miss(
    config: &ReceiverConfig,
    lost: Missing,
    counters: &mut ReceiverCounters,
    fx: &mut Effects<HostEvent>,
) {
    let Missing { message_id, arrived } = lost;
    let Some(&port) = config.ports.iter().find(|&&p| p != config.ports[arrived]) else { return };
    counters.copies_missing += 1;
    fx.events.push(HostEvent::CopyMissing { flow: config.flow, message_id, port });
}

/// Whether this is the end of a message, too small for a stamp: the frames before it have one.
fn is_unstamped_end(shim: ShimRepr, data: &[u8]) -> bool {
    shim.sequence > 0
        && data.len() < STAMP_BYTES
        && payload_bytes_of_frame(shim.message_bytes, shim.sequence) == Some(length(data))
}

fn udp_payload(frame: &[u8]) -> Option<&[u8]> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.ether_type() != EtherType::IPV4 {
        return None;
    }
    let start = ethernet.header_len();
    let ip = Ipv4Packet::new_checked(&frame[start..]).ok()?;
    if ip.protocol() != IpProtocol::UDP || ip.is_fragment() {
        return None;
    }
    let start = start + ip.header_len();
    let end = start + UdpPacket::new_checked(ip.payload()).ok()?.length();
    frame.get(start + tenuto_wire::udp::HEADER_LEN..end)
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
