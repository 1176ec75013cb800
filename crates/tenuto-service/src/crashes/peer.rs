//! A switch of ours in virtual time, with its connection: bytes under way, commands that it refuses, power that it loses.

use crate::played_switch::played_switch;
use tenuto_controller::ConnId;
use tenuto_dataplane::switch::{Switch, SwitchEvent, TraceStep};
use tenuto_dataplane::{Effects, FramePool};
use tenuto_openflow::{Body, ErrorMessage, FlowModFailed, Framer, Message};
use tenuto_units::Instant;

const PORTS: u32 = 4;

/// A switch of ours, and what is under way to and from it.
pub(super) struct Peer {
    dpid: u64,
    pub(super) switch: Switch,
    frames: FramePool,
    /// Its connection to the controller.
    pub(super) conn: Option<ConnId>,
    pub(super) to_switch: Vec<u8>,
    pub(super) to_controller: Vec<u8>,
    framer: Framer,
    /// It refuses the so manieth command from now on.
    pub(super) refuse_in: Option<u64>,
}

impl Peer {
    pub(super) fn new(dpid: u64) -> Self {
        Self {
            dpid,
            switch: played_switch(dpid, PORTS),
            frames: FramePool::new(256),
            conn: None,
            to_switch: Vec::new(),
            to_controller: Vec::new(),
            framer: Framer::new(),
            refuse_in: None,
        }
    }

    /// Power is lost and comes back: its tables are empty.
    pub(super) fn lose_power(&mut self) {
        self.disconnect();
        self.switch = played_switch(self.dpid, PORTS);
        self.refuse_in = None;
    }

    pub(super) fn connect(&mut self, conn: ConnId) {
        self.conn = Some(conn);
        let mut fx = Effects::new();
        self.switch.connected(&mut fx);
        self.to_controller.extend(fx.control);
    }

    /// The connection is gone, and what was under way with it.
    pub(super) fn disconnect(&mut self) {
        if self.conn.take().is_some() {
            self.switch.disconnected();
        }
        self.to_switch.clear();
        self.to_controller.clear();
        self.framer = Framer::new();
    }

    /// Takes so many of the bytes that are under way; whether a command was among them.
    pub(super) fn receive(&mut self, now: Instant, count: usize) -> bool {
        let bytes: Vec<u8> = self.to_switch.drain(..count).collect();
        self.framer.push(&bytes).expect("whole messages were taken out");
        let mut has_command = false;
        while let Some(message) = self.framer.next() {
            let message = message.expect("the controller sends OpenFlow");
            let is_command = matches!(
                message.body,
                Body::FlowMod(_) | Body::MeterMod(_) | Body::GroupMod(_) | Body::Experimenter(_)
            );
            has_command |= is_command;
            if is_command && self.refuses() {
                let bytes = message.to_bytes();
                let error = ErrorMessage::new(FlowModFailed::TableFull.into(), &bytes);
                Message::new(message.xid, Body::Error(error)).emit(&mut self.to_controller);
                continue;
            }
            let mut fx: Effects<SwitchEvent> = Effects::new();
            let is_alive = self.switch.control(now, &message.to_bytes(), &mut self.frames, &mut fx);
            assert!(is_alive, "the controller sends OpenFlow");
            self.to_controller.extend(fx.control);
        }
        has_command
    }

    fn refuses(&mut self) -> bool {
        let Some(left) = self.refuse_in else { return false };
        self.refuse_in = left.checked_sub(1);
        left == 0
    }

    /// The ports through which a frame would leave now.
    pub(super) fn outputs(&self, now: Instant, port: u32, frame: &[u8]) -> Vec<u32> {
        outputs(&self.switch, now, port, frame)
    }

    /// Entries, groups and meters that it holds, as it tells itself over OpenFlow.
    pub(super) fn counts(&self, now: Instant) -> (usize, usize, usize) {
        counts(&self.switch, now)
    }
}

/// The ports through which a frame would leave a switch now.
pub(crate) fn outputs(switch: &Switch, now: Instant, port: u32, frame: &[u8]) -> Vec<u32> {
    let steps = switch.trace(now, port, frame);
    let output = |step: &TraceStep| match step {
        TraceStep::Output { port, .. } => Some(*port),
        _ => None,
    };
    steps.iter().filter_map(output).collect()
}

/// Entries, groups and meters of a switch, as it tells itself over OpenFlow.
pub(crate) fn counts(switch: &Switch, now: Instant) -> (usize, usize, usize) {
    use tenuto_openflow::{
        FlowStatsRequest, MultipartRequest, ReplyBody, RequestBody, constants::meter,
    };
    let mut copy = switch.clone();
    let mut frames = FramePool::new(16);
    let mut fx: Effects<SwitchEvent> = Effects::new();
    copy.connected(&mut fx);
    let asked = [
        RequestBody::Flow(FlowStatsRequest::ALL),
        RequestBody::GroupDesc,
        RequestBody::MeterConfig { meter_id: meter::ALL },
    ];
    for body in asked {
        let request = Message::new(1, Body::MultipartRequest(MultipartRequest::new(body)));
        copy.control(now, &request.to_bytes(), &mut frames, &mut fx);
    }
    let mut framer = Framer::new();
    let mut counts = (0, 0, 0);
    for part in fx.control.chunks(Framer::PUSH_BYTES_MAX) {
        framer.push(part).expect("whole messages are taken out");
        while let Some(message) = framer.next() {
            let Body::MultipartReply(reply) = message.expect("OpenFlow").body else { continue };
            match reply.body {
                ReplyBody::Flow(it) => counts.0 += it.len(),
                ReplyBody::GroupDesc(it) => counts.1 += it.len(),
                ReplyBody::MeterConfig(it) => counts.2 += it.len(),
                _ => {}
            }
        }
    }
    counts
}
