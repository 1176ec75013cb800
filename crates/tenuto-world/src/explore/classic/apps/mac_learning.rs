//! MAC learning, switch by switch: who was seen where; flooded while the target is unknown.

use crate::explore::classic::Answers;
use crate::explore::classic::Application;
use crate::explore::classic::Mac;
use crate::explore::classic::PacketIn;
use crate::explore::classic::{Actions, Match, Rule};
use crate::explore::classic::{Keyed, Mixer, multiset};

/// The application.
#[derive(Clone, Debug, Default)]
pub struct MacLearning {
    /// Switch, address, port.
    learned: Vec<(usize, Mac, u8)>,
    /// Switches that have asked.
    known_switches: u64,
}

impl MacLearning {
    fn port_of(&self, switch: usize, mac: Mac) -> Option<u8> {
        let is_it = |it: &&(usize, Mac, u8)| it.0 == switch && it.1 == mac;
        self.learned.iter().find(is_it).map(|it| it.2)
    }

    fn learn(&mut self, switch: usize, mac: Mac, port: u8) {
        self.known_switches |= 1 << switch;
        if mac != Mac::BROADCAST {
            self.learned.retain(|it| it.0 != switch || it.1 != mac);
            self.learned.push((switch, mac, port));
        }
    }
}

impl Application for MacLearning {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        let PacketIn { packet, port, .. } = asked;
        self.learn(switch, packet.source, *port);
        match self.port_of(switch, packet.destination) {
            Some(out) if out != *port => {
                let matching = Match::of_packet_at(packet, *port);
                let rule = Rule::new(matching, Actions::output(out));
                answers.add_and_release(switch, rule, asked);
            }
            _ => answers.packet_out(switch, asked, Actions::FLOOD),
        }
    }

    fn key(&self, has_learned: bool, mixer: &mut Mixer) {
        mixer.word(self.known_switches);
        if has_learned {
            multiset(self.learned.iter().map(|it| Learned(*it)), mixer);
        }
    }
}

#[derive(Clone, Copy)]
struct Learned((usize, Mac, u8));

impl Keyed for Learned {
    fn key(&self, mixer: &mut Mixer) {
        let (switch, mac, port) = self.0;
        mixer.word(switch as u64 | u64::from(mac.0) << 16 | u64::from(port) << 32);
    }
}
