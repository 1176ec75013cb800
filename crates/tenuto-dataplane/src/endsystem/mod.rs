//! An end system: traffic sources with their shapers, paced ports, and receivers that put
//! messages together and tell the copies of two networks apart.
//!
//! A flow's *sender* releases messages at least a period apart ([`SenderConfig`]); a release
//! writes all frames of the message at once into the egress queue of each of its ports, stamped
//! with the instant of release. A flow's *receiver* gathers the frames of a copy, and delivers
//! each message once, from whichever network it came first; its delay runs from the stamp to the
//! arrival stamp of the last frame.
//!
//! Random jitter and sizes follow from the seed of the configuration. Of a second copy, the frame
//! that completes it is listed as dropped ([`DropReason::Duplicate`]); frames of copies that stay
//! incomplete, and those of a user's own programs, count as consumed.
//!
//! Not supported: IP fragments, more than two copies, acknowledgements of any kind.

mod config;
mod draw;
mod events;
mod framing;
mod port;
mod reassembly;
mod receiver;
mod redundancy;
mod sender;
#[cfg(test)]
mod tests;
mod waiting;
mod window;

pub use config::{
    Behaviour, BehaviourError, COPIES_MAX, Conduct, ConfigError, DATAGRAM_BYTES_MAX, EndPort,
    EndSystemConfig, FlowHeader, Form, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MIN, MESSAGE_FRAMES_MAX,
    ReceiverConfig, SendError, SenderConfig,
};
pub use events::{Damage, HostCounters, HostEvent, ReceiverCounters, SenderCounters};
pub use sender::SHAPER_MESSAGES_MAX;

use crate::{DropReason, Dropped, Effects, Egress, FrameId, Frames, TimerId, Work};
use port::{Port, cookie};
use receiver::{Arrival, Receiver, Refused};
use sender::{Lent, Sender};
use std::sync::Arc;
use tenuto_units::Instant;
use tenuto_wire::{FRAME_LEN_MAX, FlowKey, IpProtocol, Stamp, frame_bytes};

/// What a receiver recognises its frames by.
type HeaderKey = ([u8; 6], [u8; 4], [u8; 4], u16);

/// An end system.
#[derive(Clone, Debug)]
pub struct EndSystem {
    config: Arc<EndSystemConfig>,
    ports: Vec<Port>,
    /// In order of flow.
    senders: Vec<Sender>,
    /// In order of header.
    receivers: Vec<(HeaderKey, Receiver)>,
    /// Places of the receivers that can have timers at all: most have one copy and no patience.
    timed: Arc<[usize]>,
    scratch: Vec<u8>,
    counters: HostCounters,
}

impl EndSystem {
    /// An end system whose sources are stopped.
    ///
    /// # Errors
    /// A configuration that contradicts itself, see [`EndSystemConfig::check`].
    pub fn new(config: Arc<EndSystemConfig>) -> Result<Self, ConfigError> {
        config.check()?;
        let ports: Vec<_> = config.ports.iter().map(Port::new).collect();
        let mut senders: Vec<_> =
            config.senders.iter().map(|s| Sender::new(s, config.seed, &ports)).collect();
        senders.sort_by_key(Sender::flow);
        let mut receivers: Vec<_> =
            config.receivers.iter().map(|r| (r.header.key(), Receiver::new(r))).collect();
        receivers.sort_by_key(|(key, _)| *key);
        let timed = receivers.iter().enumerate().filter(|(_, (_, r))| r.can_have_timers());
        let timed = timed.map(|(place, _)| place).collect();
        let scratch = vec![0; FRAME_LEN_MAX];
        let counters = HostCounters::default();
        Ok(Self { config, ports, senders, receivers, timed, scratch, counters })
    }

    /// What it is made of.
    pub const fn config(&self) -> &Arc<EndSystemConfig> {
        &self.config
    }

    /// Starts the periodic source of a flow; its first release is at `first`, or a period after
    /// the last one if that is later. No effect on a source that has started.
    ///
    /// # Errors
    /// If the host does not send the flow.
    pub fn start_flow(&mut self, flow: u16, first: Instant) -> Result<(), SendError> {
        self.sender_mut(flow)?.start(first);
        Ok(())
    }

    /// Stops the periodic source of a flow. Submitted messages are still released.
    ///
    /// # Errors
    /// If the host does not send the flow.
    pub fn stop_flow(&mut self, flow: u16) -> Result<(), SendError> {
        self.sender_mut(flow)?.stop();
        Ok(())
    }

    /// Sends otherwise from now on: the next release, unless it is already due, moves to a new
    /// period after the last one.
    ///
    /// # Errors
    /// If the host does not send the flow, or nobody can behave like that.
    pub fn set_behaviour(
        &mut self,
        now: Instant,
        flow: u16,
        conduct: Conduct,
    ) -> Result<(), SendError> {
        self.sender_mut(flow)?.set_behaviour(now, conduct)
    }

    /// Hands a message of a program to the shaper of its flow. It is released as soon as spacing
    /// allows, in place of a periodic one if the source is started.
    ///
    /// # Errors
    /// If the host does not send the flow, the message is larger than it may send now, or
    /// [`SHAPER_MESSAGES_MAX`] are waiting.
    pub fn submit(&mut self, now: Instant, flow: u16, bytes: u32) -> Result<(), SendError> {
        self.sender_mut(flow)?.submit(now, bytes)
    }

    /// Puts a raw frame (without FCS) into a queue of a port, for scenarios in which a host sends
    /// what it should not; [`crate::SIGNAL_QUEUE`] is a queue too. What finds no room is in
    /// [`Effects::drops`]. Gives whether the frame was queued.
    pub fn inject(
        &mut self,
        now: Instant,
        port: u32,
        queue: u8,
        frame: &[u8],
        frames: &mut impl Frames,
        fx: &mut Effects<HostEvent>,
    ) -> bool {
        let queued = match self.ports.iter_mut().find(|p| p.number == port) {
            Some(port) => port.send(now, queue, frame, None, frames, fx).is_some(),
            None => {
                fx.drops.push(dropped((DropReason::NoOutput, None), port, frame));
                false
            }
        };
        self.counters.injected += u64::from(queued);
        self.counters.inject_refused += u64::from(!queued);
        queued
    }

    /// A frame enters through a port. The hold on it passes to the end system, which gives it
    /// back to `frames` before it returns.
    pub fn receive(
        &mut self,
        _now: Instant,
        arrival: Instant,
        port: u32,
        frame: FrameId,
        frames: &mut impl Frames,
        fx: &mut Effects<HostEvent>,
    ) -> Work {
        let bytes = frames.bytes(frame);
        let work =
            Work { lookups: 1, probes: 1, bytes: frame_bytes(bytes.len()), ..Work::default() };
        if let Err(refused) = self.dispatch(arrival, port, bytes, fx) {
            fx.drops.push(dropped(refused, port, bytes));
        }
        frames.release(frame);
        work
    }

    fn dispatch(
        &mut self,
        at: Instant,
        port: u32,
        frame: &[u8],
        fx: &mut Effects<HostEvent>,
    ) -> Result<(), Refused> {
        let Some(key) = FlowKey::extract(frame) else {
            self.counters.malformed += 1;
            return Err((DropReason::Malformed, None));
        };
        let receivers = &mut self.receivers;
        let place = header_key(&key)
            .and_then(|key| receivers.binary_search_by_key(&key, |(key, _)| *key).ok());
        let receiver = place.map(|place| &mut receivers[place].1);
        match receiver.and_then(|r| r.copy(port).map(|copy| (copy, r))) {
            Some((copy, receiver)) => receiver.receive(Arrival { at, port, copy }, frame, fx),
            None => {
                self.counters.unknown += 1;
                Err((DropReason::Unknown, owner(frame)))
            }
        }
    }

    /// Every timer that is armed.
    pub fn for_each_deadline(&self, mut visit: impl FnMut(TimerId, Instant)) {
        for port in &self.ports {
            if let Some(at) = port.egress.deadline() {
                visit(TimerId::PortReady(port.number), at);
            }
        }
        for sender in &self.senders {
            if let Some(at) = sender.deadline() {
                visit(TimerId::Release(sender.flow()), at);
            }
        }
        let timed = self.timed.iter().filter_map(|&place| self.receivers[place].1.deadline());
        if let Some(at) = timed.min() {
            visit(TimerId::Reassembly, at);
        }
    }

    /// The earliest armed timer.
    pub fn next_deadline(&self) -> Option<(TimerId, Instant)> {
        let mut first: Option<(TimerId, Instant)> = None;
        self.for_each_deadline(|timer, at| {
            if first.is_none_or(|(_, best)| at < best) {
                first = Some((timer, at));
            }
        });
        first
    }

    /// A timer's time has come. Firing one that is not due does nothing; one fired late hands
    /// over one frame or releases one message, and is armed for the next.
    pub fn fire(
        &mut self,
        timer: TimerId,
        now: Instant,
        frames: &mut impl Frames,
        fx: &mut Effects<HostEvent>,
    ) {
        match timer {
            TimerId::PortReady(number) => {
                let port = self.ports.iter_mut().find(|p| p.number == number);
                fx.transmits.extend(port.and_then(|p| p.egress.hand_over(number, now)));
            }
            TimerId::Release(flow) => {
                if let Ok(place) = self.senders.binary_search_by_key(&flow, Sender::flow) {
                    let (ports, scratch) = (&mut self.ports, &mut self.scratch);
                    self.senders[place].release(now, &mut Lent { ports, scratch, frames, fx });
                }
            }
            TimerId::Reassembly => {
                for &place in &*self.timed {
                    self.receivers[place].1.expire(now, fx);
                }
            }
            TimerId::Mode | TimerId::Session | TimerId::FlowExpiry | TimerId::Buffer(_) => {}
        }
    }

    /// How a flow sends now.
    pub fn behaviour(&self, flow: u16) -> Option<Behaviour> {
        self.sender(flow).map(Sender::behaviour)
    }

    /// What the sender of a flow counted.
    pub fn sender_counters(&self, flow: u16) -> Option<SenderCounters> {
        self.sender(flow).map(Sender::counters)
    }

    /// What the receiver of a flow counted.
    pub fn receiver_counters(&self, flow: u16) -> Option<ReceiverCounters> {
        let mut receivers = self.receivers.iter().map(|(_, r)| r);
        receivers.find(|r| r.config().flow == flow).map(Receiver::counters)
    }

    /// What the host counted besides its flows.
    pub const fn counters(&self) -> HostCounters {
        self.counters
    }

    /// The queues and the pacer of a port.
    pub fn egress(&self, port: u32) -> Option<&Egress> {
        self.ports.iter().find(|p| p.number == port).map(|p| &p.egress)
    }

    fn sender(&self, flow: u16) -> Option<&Sender> {
        let place = self.senders.binary_search_by_key(&flow, Sender::flow).ok()?;
        Some(&self.senders[place])
    }

    fn sender_mut(&mut self, flow: u16) -> Result<&mut Sender, SendError> {
        let place = self.senders.binary_search_by_key(&flow, Sender::flow);
        place.map(|place| &mut self.senders[place]).map_err(|_| SendError::UnknownFlow(flow))
    }
}

impl FlowHeader {
    const fn key(&self) -> HeaderKey {
        (self.eth_dst, self.ip_src, self.ip_dst, self.udp_port)
    }
}

fn header_key(key: &FlowKey) -> Option<HeaderKey> {
    let ip = key.ip.filter(|ip| ip.proto == IpProtocol::UDP)?;
    Some((key.eth_dst.0, ip.src, ip.dst, key.l4?.dst))
}

/// Whose frame it is by its stamp, which lies behind UDP or behind a shim.
fn owner(frame: &[u8]) -> port::Owner {
    use tenuto_wire::{build::UDP_PAYLOAD_START, shim::SHIM_BYTES};
    let at = |start| frame.get(start..).and_then(Stamp::parse);
    let stamp = at(UDP_PAYLOAD_START).or_else(|| at(UDP_PAYLOAD_START + SHIM_BYTES))?;
    Some((stamp.flow, stamp.message_id))
}

fn dropped((reason, message): Refused, port: u32, frame: &[u8]) -> Dropped {
    // A stamp on an unknown frame is a claim; only a receiver decides in the name of a flow.
    let decided = message.filter(|_| reason != DropReason::Unknown);
    let cookie = decided.map_or(0, |(flow, _)| cookie(flow));
    Dropped { reason, port, cookie, message, frame_bytes: frame_bytes(frame.len()) }
}
