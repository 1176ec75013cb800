//! Every frame of a run with each of its hops: when it came to a queue, and when its last bit left.
//!
//! The log is what the machine-checked model of a network calls a trace (proof/README.md, "Runs as
//! traces"): a checker of traces that shares no code with this program holds a run against that model.

use serde::Serialize;
use std::collections::BTreeMap;
use tenuto_model::Plan;
use tenuto_units::{FRAME_BYTES_MIN, Instant};
use tenuto_wire::build::UDP_PAYLOAD_START;
use tenuto_wire::shim::SHIM_BYTES;
use tenuto_wire::{ShimRepr, Stamp};

/// Hops that a log holds at most.
pub const HOPS_MAX: usize = 500_000;
/// Bytes at the head of a frame that tell copies of one message apart: addresses, and UDP ports.
const HEAD_BYTES: usize = 38;

/// The frames of a run, in the order of release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrameLog {
    /// Always `tenuto-frames/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// `simulated`.
    pub world: String,
    /// Seed of the run.
    pub seed: u64,
    /// Hash of the plan that was run.
    pub plan_hash: String,
    /// Frames that carry no stamp of our end systems, and are left out.
    pub frames_without_stamp: u64,
    /// Each frame that a host released.
    pub frames: Vec<LoggedFrame>,
}

/// One frame on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoggedFrame {
    /// Name of its flow.
    pub flow: String,
    /// Number of its message in the flow.
    pub message: u32,
    /// Number of the frame in the message.
    pub part: u32,
    /// Size, FCS included.
    pub frame_bytes: u32,
    /// Release of the message at its source.
    pub release_ns: u64,
    /// Ports that it left through, in that order; several of one switch if it was copied.
    pub hops: Vec<LoggedHop>,
}

/// A frame at one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoggedHop {
    /// Host or switch.
    pub node: String,
    /// Number of the port.
    pub port: u32,
    /// When it came to the queue.
    pub arrival_ns: u64,
    /// When its last bit had left.
    pub departure_ns: u64,
}

/// What tells a frame from all others of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FrameKey {
    release: Instant,
    flow: u16,
    message: u32,
    part: u32,
    head: [u8; HEAD_BYTES],
}

impl FrameKey {
    /// `None` if the frame carries no stamp.
    pub(super) fn of(frame: &[u8]) -> Option<Self> {
        let at = |start: usize| frame.get(start..).and_then(Stamp::parse);
        let behind_shim = || at(UDP_PAYLOAD_START + SHIM_BYTES);
        let (stamp, part) = match at(UDP_PAYLOAD_START) {
            Some(stamp) => (stamp, 0),
            None => {
                let shim = ShimRepr::parse(frame.get(UDP_PAYLOAD_START..)?).ok()?;
                (behind_shim()?, shim.sequence)
            }
        };
        let Stamp { release, flow, message_id: message } = stamp;
        Some(Self { release, flow, message, part, head: *frame.first_chunk()? })
    }

    /// Release of its message.
    pub(super) const fn release(&self) -> Instant {
        self.release
    }

    /// Index of its flow.
    pub(super) const fn flow(&self) -> u16 {
        self.flow
    }

    /// Number of its message.
    pub(super) const fn message(&self) -> u32 {
        self.message
    }
}

/// What is written down while a run goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    frames: BTreeMap<FrameKey, (u32, Vec<Hop>)>,
    /// When a frame came to a switch, while it is there.
    entered: BTreeMap<(usize, FrameKey), Instant>,
    unstamped: u64,
    hops: usize,
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    node: usize,
    port: u32,
    arrival: Instant,
    departure: Instant,
}

impl Recorder {
    /// A frame comes to the queues of a switch.
    pub(super) fn enter(&mut self, node: usize, frame: &[u8], now: Instant) {
        if let Some(key) = FrameKey::of(frame)
            && !self.is_full()
        {
            self.entered.insert((node, key), now);
        }
    }

    /// A frame leaves a port. It came to a host's queue when its message was released.
    pub(super) fn leave(&mut self, node: usize, port: u32, frame: &[u8], departure: Instant) {
        let Some(key) = FrameKey::of(frame) else {
            self.unstamped += 1;
            return;
        };
        if self.is_full() {
            return;
        }
        self.hops += 1;
        let arrival = self.entered.get(&(node, key)).copied().unwrap_or(key.release);
        let bytes = u32::try_from(frame.len() + 4).unwrap_or(u32::MAX).max(FRAME_BYTES_MIN);
        let (_, hops) = self.frames.entry(key).or_insert((bytes, Vec::new()));
        hops.push(Hop { node, port, arrival, departure });
    }

    /// Whether hops were left out.
    pub(super) const fn is_full(&self) -> bool {
        self.hops >= HOPS_MAX
    }

    /// The log of a run of `plan`, whose nodes have these names.
    pub(super) fn log(self, plan: &Plan, seed: u64, names: &[&str]) -> FrameLog {
        let flows = &plan.network.flows;
        let frames = self.frames.into_iter().map(|(key, (frame_bytes, hops))| LoggedFrame {
            flow: flows.get(usize::from(key.flow)).map_or_else(String::new, |it| it.name.clone()),
            message: key.message,
            part: key.part,
            frame_bytes,
            release_ns: key.release.as_ns(),
            hops: hops.iter().map(|hop| hop.logged(names)).collect(),
        });
        FrameLog {
            schema: "tenuto-frames/1".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            world: "simulated".into(),
            seed,
            plan_hash: plan.plan_hash.clone(),
            frames_without_stamp: self.unstamped,
            frames: frames.collect(),
        }
    }
}

impl Hop {
    fn logged(&self, names: &[&str]) -> LoggedHop {
        LoggedHop {
            node: names[self.node].to_owned(),
            port: self.port,
            arrival_ns: self.arrival.as_ns(),
            departure_ns: self.departure.as_ns(),
        }
    }
}
