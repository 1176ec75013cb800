//! A stateful firewall on one switch: packets come in if their pair was spoken to from inside.

use crate::explore::classic::{Actions, Answers, Application, Mac, Match, Mixer, PacketIn, Rule};

/// The application: two ports, one of them inside.
#[derive(Clone, Debug)]
pub struct Firewall {
    inside: u8,
    outside: u8,
    /// Who spoke to whom.
    opened: Vec<(Mac, Mac)>,
}

impl Firewall {
    /// Between two ports.
    pub const fn new(inside: u8, outside: u8) -> Self {
        Self { inside, outside, opened: Vec::new() }
    }

    fn is_open(&self, from: Mac, to: Mac) -> bool {
        self.opened.contains(&(to, from))
    }
}

impl Application for Firewall {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        let pair = (asked.packet.source, asked.packet.destination);
        let is_out = asked.port == self.inside;
        if !is_out && !self.is_open(pair.0, pair.1) {
            return answers.packet_out(switch, asked, Actions::default());
        }
        if is_out && !self.opened.contains(&pair) {
            self.opened.push(pair);
        }
        let out = if is_out { self.outside } else { self.inside };
        let matching = Match::of_packet_at(&asked.packet, asked.port);
        answers.add_and_release(switch, Rule::new(matching, Actions::output(out)), asked);
    }

    fn key(&self, _has_learned: bool, mixer: &mut Mixer) {
        for (from, to) in &self.opened {
            mixer.word(u64::from(from.0) << 8 | u64::from(to.0));
        }
    }
}
