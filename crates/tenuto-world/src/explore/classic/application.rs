//! What the controller runs.

use super::answers::{Answers, Load};
use super::key::Mixer;
use super::message::PacketIn;
use super::packet::Packet;

/// A controller's application, as the classic tool runs it: a handler ends before anything else
/// happens.
pub trait Application: Clone {
    /// A switch, by number from 0, asks about a packet.
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers);

    /// A switch's watched port has sent so much.
    fn statistics(&mut self, _switch: usize, _load: &mut Load) {}

    /// A callback that was enabled from the start.
    fn callback(&mut self, _number: u8, _answers: &mut Answers) {}

    /// What is wrong with what was last installed, if anything.
    fn wrong_route(&self, _packet: &Packet) -> Option<String> {
        None
    }

    /// What the key contains of its state; `has_learned` includes what the classic key omits.
    fn key(&self, has_learned: bool, mixer: &mut Mixer);
}
