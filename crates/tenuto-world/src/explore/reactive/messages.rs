//! Messages on their way between switches and the controller.

use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tenuto_controller::reactive::Packet;
use tenuto_dataplane::switch::Switch;
use tenuto_openflow::constants::NO_BUFFER;
use tenuto_openflow::{AttendreMessage, Body, Experimenter, Framer, Message, PacketIn};

/// Source and destination.
pub(super) type Flow = ([u8; 6], [u8; 6]);

/// A message, with what states are compared by.
#[derive(Clone, Debug)]
pub(super) struct OnItsWay {
    pub(super) xid: u32,
    pub(super) body: Arc<Body>,
    /// All of it but the number of the packet that waits for it.
    digest: u128,
    buffer_id: u32,
    /// For a message to a switch: the answer that it is a part of, and the flow that is about.
    pub(super) answer: u32,
    pub(super) flow: Option<Flow>,
}

impl OnItsWay {
    pub(super) fn new(xid: u32, body: Body, answer: u32, flow: Option<Flow>) -> Self {
        let mut unnumbered = body.clone();
        let buffer_id = take_buffer_id(&mut unnumbered);
        let mut hasher = SipHasher24::new();
        (xid, unnumbered, flow).hash(&mut hasher);
        let digest = hasher.finish128().as_u128();
        Self { xid, body: Arc::new(body), digest, buffer_id, answer, flow }
    }

    /// What decides its effect. The packet that it names is told by its place among those that wait at the
    /// switch: numbers only tell how many were asked about before.
    pub(super) fn identify(&self, switch: &Switch, hasher: &mut impl Hasher) {
        self.digest.hash(hasher);
        if self.buffer_id != NO_BUFFER {
            switch.kept_rank(self.buffer_id).hash(hasher);
        }
    }

    /// The number of the packet that waits for it.
    pub(super) const fn buffer_id(&self) -> u32 {
        self.buffer_id
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        Message::new(self.xid, (*self.body).clone()).to_bytes()
    }
}

/// Takes the number of a packet that waits out of a message.
fn take_buffer_id(body: &mut Body) -> u32 {
    use AttendreMessage as A;
    let buffer_id = match body {
        Body::PacketIn(it) => &mut it.buffer_id,
        Body::PacketOut(it) => &mut it.buffer_id,
        Body::FlowMod(it) => &mut it.buffer_id,
        Body::Experimenter(Experimenter::Attendre(message)) => match message {
            A::PacketIn { packet_in, .. } => &mut packet_in.buffer_id,
            A::SetFlowMod { flow_mod, .. } => &mut flow_mod.buffer_id,
            A::SetPacketOut { packet_out, .. } => &mut packet_out.buffer_id,
            _ => return NO_BUFFER,
        },
        _ => return NO_BUFFER,
    };
    std::mem::replace(buffer_id, NO_BUFFER)
}

/// The packet-in in a message, numbered or not.
pub(crate) fn packet_in(body: &Body) -> Option<&PacketIn> {
    match body {
        Body::PacketIn(packet_in) => Some(packet_in),
        Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn {
            packet_in, ..
        })) => Some(packet_in),
        _ => None,
    }
}

pub(super) fn flow_of(body: &Body) -> Option<Flow> {
    Packet::of(packet_in(body)?).map(|packet| (packet.src, packet.dst))
}

/// The messages in what a switch said.
pub(crate) fn messages(bytes: &[u8]) -> Vec<Message> {
    let (mut framer, mut messages) = (Framer::new(), Vec::new());
    for part in bytes.chunks(Framer::PUSH_BYTES_MAX) {
        if framer.push(part).is_err() {
            break;
        }
        while let Some(Ok(message)) = framer.next() {
            messages.push(message);
        }
    }
    messages
}
