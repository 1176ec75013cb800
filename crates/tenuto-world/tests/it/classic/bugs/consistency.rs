//! Three bugs of MoCS's paper: reordered commands, a check nested too deep, an update without order.

use super::{caught, exact, passes};
use tenuto_world::explore::classic::apps::Firewall;
use tenuto_world::explore::classic::lines::{FIRST_MAC, line};
use tenuto_world::explore::classic::{
    Actions, Answers, Application, HostSetup, Ip, Mac, Match, Mixer, PRIORITY_DEFAULT, PacketIn,
    Peer, Property, Role, Rule, Setup, SwitchSetup,
};

const TRUSTED: Mac = Mac(1);
const STRANGER: Mac = Mac(2);
const SERVER: Mac = Mac(3);

/// A trusted host and a stranger at the first of so many switches, a server at the last.
fn guarded(switches: u8) -> Setup {
    let sender = || Role::Sender { to: SERVER, packets: 1, is_sequential: true };
    let host = |name: &str, mac: Mac, role, node, port| HostSetup {
        name: name.into(),
        mac,
        ip: Ip(mac.0),
        role,
        at: Peer { node, port },
    };
    let hosts = vec![
        host("trusted", TRUSTED, sender(), 3, 0),
        host("stranger", STRANGER, sender(), 3, 1),
        host("server", SERVER, Role::Replier { may_move: false }, 2 + switches, 2),
    ];
    let peer = |node, port| Some(Peer { node, port });
    let server = peer(2, 0);
    let switch = |name: &str, peers| SwitchSetup { name: name.into(), peers };
    let list = if switches == 1 {
        vec![switch("s1", vec![peer(0, 0), peer(1, 0), server])]
    } else {
        vec![
            switch("s1", vec![peer(0, 0), peer(1, 0), peer(4, 0)]),
            switch("s2", vec![peer(3, 2), None, server]),
        ]
    };
    let properties = vec![Property::NoForbiddenPackets(STRANGER)];
    Setup { overtakes: true, ..exact(Setup::new(hosts, list), properties) }
}

fn denies() -> Rule {
    let matching = Match { source: Some(STRANGER), ..Match::default() };
    Rule { priority: PRIORITY_DEFAULT + 1, ..Rule::new(matching, Actions::default()) }
}

fn allows() -> Rule {
    let matching = Match { destination: Some(SERVER), ..Match::default() };
    Rule::new(matching, Actions::output(2))
}

fn back_of(asked: &PacketIn) -> u8 {
    if asked.packet.destination == TRUSTED { 0 } else { 2 }
}

/// A stateless firewall: the rule that denies, then the one that allows all.
#[derive(Clone)]
struct Stateless {
    has_barrier: bool,
}

impl Application for Stateless {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        if asked.packet.source == STRANGER {
            return answers.packet_out(switch, asked, Actions::default());
        }
        if asked.packet.source == SERVER {
            let out = Actions::output(back_of(asked));
            return answers.packet_out(switch, asked, out);
        }
        answers.add(switch, denies());
        if self.has_barrier {
            answers.barrier(switch);
        }
        answers.add_and_release(switch, allows(), asked);
    }

    fn key(&self, _has_learned: bool, _mixer: &mut Mixer) {}
}

#[test]
fn commands_reordered_without_a_barrier() {
    let forbidden = Property::NoForbiddenPackets(STRANGER);
    caught(&guarded(1), Stateless { has_barrier: false }, forbidden);
    holds_of_strangers(&guarded(1), Stateless { has_barrier: true });
}

/// Strangers' packets are dropped on purpose: only what reaches the server is judged.
fn holds_of_strangers<A: Application>(setup: &Setup, application: A) {
    let count = tenuto_world::explore::classic::explore(setup, application);
    let forbidden = Property::NoForbiddenPackets(STRANGER);
    let found = count.traces.iter().find(|trace| trace.finding.property == forbidden);
    assert_eq!(found, None);
    assert!(count.is_exhaustive && count.ends > 0);
}

/// A firewall that floods to hosts it does not know.
#[derive(Clone)]
struct Flooding {
    /// The check stands inside the branch of known targets.
    is_nested_wrongly: bool,
    knows_server: bool,
}

impl Application for Flooding {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        let is_checked = !self.is_nested_wrongly || self.knows_server;
        self.knows_server |= asked.packet.source == SERVER;
        if asked.packet.source == STRANGER && is_checked {
            return answers.packet_out(switch, asked, Actions::default());
        }
        let is_known = asked.packet.destination == SERVER && self.knows_server;
        let out = if is_known { Actions::output(2) } else { Actions::FLOOD };
        answers.packet_out(switch, asked, out);
    }

    fn key(&self, _has_learned: bool, mixer: &mut Mixer) {
        mixer.word(self.knows_server.into());
    }
}

#[test]
fn a_check_nested_too_deep() {
    let flooding = |is_nested_wrongly| Flooding { is_nested_wrongly, knows_server: false };
    caught(&guarded(1), flooding(true), Property::NoForbiddenPackets(STRANGER));
    holds_of_strangers(&guarded(1), flooding(false));
}

/// A rule that denies moves from the first switch to the second.
#[derive(Clone)]
struct Moves {
    waits: bool,
}

impl Application for Moves {
    /// The first switch asks about strangers, and the second has a rule for them, or so it is thought.
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        let out = match (asked.packet.source, switch) {
            (STRANGER, 0) => Actions::default(),
            (SERVER, _) => Actions::output(0),
            _ => Actions::output(2),
        };
        answers.packet_out(switch, asked, out);
    }

    fn callback(&mut self, _number: u8, answers: &mut Answers) {
        answers.add(1, denies());
        answers.add(0, allows());
        if self.waits {
            answers.after_all_others(0);
        }
    }

    fn key(&self, _has_learned: bool, _mixer: &mut Mixer) {}
}

#[test]
fn an_update_without_order() {
    let setup = Setup { callbacks: vec![0], ..guarded(2) };
    let forbidden = Property::NoForbiddenPackets(STRANGER);
    caught(&setup, Moves { waits: false }, forbidden);
    holds_of_strangers(&setup, Moves { waits: true });
}

#[test]
fn a_stateful_firewall_lets_in_what_was_asked_for() {
    let asks = exact(line(1, 2, false), vec![]);
    passes(&asks, Firewall::new(0, 1));
    let unasked = exact(line(1, 2, false), vec![Property::NoForbiddenPackets(FIRST_MAC)]);
    let count = tenuto_world::explore::classic::explore(&unasked, Firewall::new(1, 0));
    let forbidden = Property::NoForbiddenPackets(FIRST_MAC);
    assert!(count.is_exhaustive && count.ends > 0);
    assert!(count.traces.iter().all(|trace| trace.finding.property != forbidden));
}
