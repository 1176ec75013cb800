//! A firewall with a memory: who inside speaks to somebody outside may be answered.

use super::answer::Answer;
use super::app::ReactiveApp;
use super::conversation::Conversation;
use super::entry::{deletion, entry, output};
use super::packet::Packet;
use std::collections::BTreeMap;
use tenuto_openflow::constants::flow_flag;
use tenuto_openflow::{FlowMod, FlowRemoved, Match, Oxm, Port};

/// One switch between an inside and an outside.
///
/// Replies come in as long as the inside sends: when its entry goes idle, the entry of the replies goes
/// with it. Address resolution passes in both directions, packet by packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Firewall {
    inside: u32,
    outside: u32,
    /// What came from inside, and the cookie of its entry.
    opened: BTreeMap<Conversation, u64>,
    opened_max: usize,
    idle_s: u16,
    cookie_last: u64,
}

impl Firewall {
    /// Between two ports; at most `opened_max` conversations may be open.
    pub const fn new(inside: u32, outside: u32, opened_max: usize) -> Self {
        let opened = BTreeMap::new();
        Self { inside, outside, opened, opened_max, idle_s: 0, cookie_last: 0 }
    }

    /// A conversation is closed after so many seconds without a packet from inside; 0 for never.
    #[must_use]
    pub fn with_idle_s(self, idle_s: u16) -> Self {
        Self { idle_s, ..self }
    }

    /// Conversations that are open.
    pub fn opened(&self) -> impl Iterator<Item = &Conversation> {
        self.opened.keys()
    }

    /// The cookie of a conversation that may be open.
    fn open(&mut self, conversation: Conversation) -> Option<u64> {
        if let Some(cookie) = self.opened.get(&conversation) {
            return Some(*cookie);
        }
        if self.opened.len() >= self.opened_max {
            return None;
        }
        // Entries that never expire are never told as gone, and need no mark.
        if self.idle_s > 0 {
            self.cookie_last += 1;
        }
        self.opened.insert(conversation, self.cookie_last);
        Some(self.cookie_last)
    }

    fn reply(&self, conversation: Conversation) -> FlowMod {
        let match_ = at_port(self.outside, conversation.reversed());
        entry(match_, vec![output(self.inside)])
    }
}

fn at_port(port: u32, conversation: Conversation) -> Match {
    let mut match_ = Match::from(vec![Oxm::InPort(port)]);
    match_.oxms.extend(conversation.matching().oxms);
    match_
}

impl ReactiveApp for Firewall {
    fn switch_up(&mut self, _: u64, _: &[Port], _: &mut Answer) {
        self.opened.clear();
    }

    /// From inside: an entry for each direction, that for replies first. From outside: only
    /// replies; anything else is dropped, with an empty answer.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        let conversation = Conversation::of(packet);
        if packet.headers().arp().is_some() {
            let out = if packet.in_port == self.inside { self.outside } else { self.inside };
            answer.send(datapath, vec![output(out)], packet);
        } else if packet.in_port == self.inside {
            let Some(cookie) = self.open(conversation) else { return };
            answer.flow_mod(datapath, self.reply(conversation));
            let flags = if self.idle_s > 0 { flow_flag::SEND_FLOW_REM } else { 0 };
            let way = entry(at_port(self.inside, conversation), vec![output(self.outside)]);
            let out = FlowMod { cookie, flags, idle_timeout: self.idle_s, ..way };
            answer.install(datapath, out, packet);
        } else if packet.in_port == self.outside
            && self.opened.contains_key(&conversation.reversed())
        {
            answer.install(datapath, self.reply(conversation.reversed()), packet);
        }
    }

    /// The inside has been silent for too long: its conversation is over.
    fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved, answer: &mut Answer) {
        let over = self.opened.iter().find(|(_, cookie)| **cookie == removed.cookie);
        let Some((&conversation, _)) = over.filter(|_| removed.cookie > 0) else { return };
        self.opened.remove(&conversation);
        let match_ = at_port(self.outside, conversation.reversed());
        answer.flow_mod(datapath, deletion(match_, None));
    }
}
