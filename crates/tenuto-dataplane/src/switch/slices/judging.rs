//! A switch asks the guard of its slice, if it is the datapath of one.

use super::budget::MessageKind;
use super::guard::SliceMessages;
use crate::switch::Switch;
use crate::switch::control::connection::{Asynchronous, Connection};
use tenuto_openflow::{Body, ErrorCode, PacketInReason};
use tenuto_units::Instant;

impl Switch {
    /// What is to be refused of a message of a slice's controller.
    pub(in crate::switch) fn judge_slice(
        &mut self,
        now: Instant,
        body: &Body,
    ) -> Result<(), ErrorCode> {
        let slice = self.general.as_mut().and_then(|general| general.slice.as_mut());
        slice.map_or(Ok(()), |slice| slice.judge(now, body))
    }

    /// Counts what could not be read as a message; whether it is worth an answer.
    pub(in crate::switch) fn charges_malformed(&mut self, now: Instant) -> bool {
        let slice = self.general.as_mut().and_then(|general| general.slice.as_mut());
        slice.is_none_or(|slice| {
            slice.messages.all += 1;
            let takes = slice.budget.takes(MessageKind::Other, now);
            slice.messages.limited += u64::from(!takes);
            takes
        })
    }

    /// When a message, whose first bytes are these, is within the budget of the slice: `now` if it is, or if
    /// this is no slice.
    pub fn message_at(&self, now: Instant, message: &[u8]) -> Instant {
        let slice = self.general.as_ref().and_then(|general| general.slice.as_ref());
        slice.map_or(now, |slice| {
            let kind =
                message.get(1).map_or(MessageKind::Other, |type_| MessageKind::of_type(*type_));
            let length = message.get(2..4).map_or(0, |it| u16::from_be_bytes([it[0], it[1]]));
            slice.budget.ready_at(kind, length.into(), now)
        })
    }

    /// What the controllers of the slice have done; `None` if this is no slice.
    pub fn slice_messages(&self) -> Option<SliceMessages> {
        Some(self.general.as_ref()?.slice.as_ref()?.messages)
    }

    /// Counts bytes of messages that have come, or of what was answered.
    pub(in crate::switch) fn charge_slice(&mut self, bytes: usize, now: Instant) {
        let slice = self.general.as_mut().and_then(|general| general.slice.as_mut());
        if let Some(slice) = slice {
            slice.budget.charge(u64::try_from(bytes).unwrap_or(u64::MAX), now);
        }
    }

    /// When the next step of what takes several is within the budget of the slice: `now` if it is, or if this is
    /// no slice.
    pub fn step_at(&self, now: Instant) -> Instant {
        let slice = self.general.as_ref().and_then(|general| general.slice.as_ref());
        slice.map_or(now, |slice| slice.budget.step_at(now))
    }

    /// Takes a step from the budget of the slice; false where it has to wait.
    pub(in crate::switch) fn takes_step(&mut self, now: Instant) -> bool {
        let slice = self.general.as_mut().and_then(|general| general.slice.as_mut());
        slice.is_none_or(|slice| slice.budget.takes(MessageKind::Other, now))
    }

    /// Whether a packet-in of a frame is more than the budget of the slice.
    pub(in crate::switch) fn exceeds_packet_ins(
        &mut self,
        reason: PacketInReason,
        bytes: usize,
        now: Instant,
    ) -> bool {
        let hears = |it: &&Connection| it.wants(Asynchronous::PacketIn, reason.to_wire());
        let hearers = self.connections.iter().filter(hears).count();
        let slice = self.general.as_mut().and_then(|general| general.slice.as_mut());
        slice.is_some_and(|slice| {
            let exceeds = !slice.budget.takes_packet_in(bytes, hearers, now);
            slice.messages.packet_ins_limited += u64::from(exceeds);
            exceeds
        })
    }
}
