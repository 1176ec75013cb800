//! Bugs I to III: MAC learning while a host moves, in one direction only, and over a circle.

use super::{caught, exact, passes};
use tenuto_world::explore::classic::apps::MacLearning;
use tenuto_world::explore::classic::lines::{FIRST_MAC, LAST_MAC, line};
use tenuto_world::explore::classic::{
    Action, Actions, Answers, Application, HostSetup, Ip, Mac, Match, Mixer, Name, Order, PacketIn,
    Peer, Property, Role, Rule, Setup, SwitchSetup,
};

/// MAC learning that takes rules to a host away when the host says that it has moved.
#[derive(Clone, Default)]
struct FollowsMoves {
    places: Vec<(usize, Mac, u8)>,
    rules: Vec<(usize, Match)>,
}

impl FollowsMoves {
    fn port(&self, switch: usize, mac: Mac) -> Option<u8> {
        self.places.iter().find(|it| (it.0, it.1) == (switch, mac)).map(|it| it.2)
    }

    fn forget(&mut self, switch: usize, mac: Mac, answers: &mut Answers) {
        self.places.retain(|it| (it.0, it.1) != (switch, mac));
        let is_to = |it: &(usize, Match)| it.0 == switch && it.1.destination == Some(mac);
        for (_, matching) in self.rules.iter().filter(|it| is_to(it)) {
            answers.delete(switch, *matching);
        }
        self.rules.retain(|it| !is_to(it));
    }
}

impl Application for FollowsMoves {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        let (from, to) = (asked.packet.source, asked.packet.destination);
        if asked.packet.name == Name::Announcement {
            self.forget(switch, from, answers);
        }
        if self.port(switch, from).is_none() {
            self.places.push((switch, from, asked.port));
        }
        match self.port(switch, to) {
            Some(out) if out != asked.port => {
                let matching = Match::of_packet_at(&asked.packet, asked.port);
                self.rules.push((switch, matching));
                answers.add_and_release(switch, Rule::new(matching, Actions::output(out)), asked);
            }
            _ => answers.packet_out(switch, asked, Actions::FLOOD),
        }
    }

    fn key(&self, _has_learned: bool, mixer: &mut Mixer) {
        for (switch, mac, port) in &self.places {
            mixer.word(*switch as u64 | u64::from(mac.0) << 8 | u64::from(*port) << 16);
        }
        mixer.word(self.rules.len() as u64);
    }
}

fn moving() -> Setup {
    let mut setup = line(1, 3, true);
    if let Role::Sender { is_sequential, .. } = &mut setup.hosts[0].role {
        *is_sequential = true;
    }
    exact(setup, vec![Property::NoBlackHolesMobile])
}

#[test]
fn i_host_unreachable_after_moving() {
    let trace = caught(&moving(), MacLearning::default(), Property::NoBlackHolesMobile);
    assert!(trace.path.len() < 60);
    let count = tenuto_world::explore::classic::explore(&moving(), FollowsMoves::default());
    let mobile = |it: &tenuto_world::explore::classic::Trace| {
        it.finding.property == Property::NoBlackHolesMobile
    };
    assert!(count.is_exhaustive && !count.traces.iter().any(mobile), "{:?}", count.traces);
}

/// MAC learning that installs both directions when it knows both hosts.
#[derive(Clone, Default)]
struct BothWays(MacLearning);

impl Application for BothWays {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        self.0.packet_in(switch, asked, answers);
        let Some(Order::Add { rule, .. }) = answers.list.first().map(|it| it.order) else { return };
        let Some(Action::Output(out)) = rule.actions.iter().next() else { return };
        let back = Match {
            source: rule.matching.destination,
            destination: rule.matching.source,
            port: Some(out),
            ..rule.matching
        };
        answers.add(switch, Rule::new(back, Actions::output(asked.port)));
        answers.list.rotate_right(1);
    }

    fn key(&self, has_learned: bool, mixer: &mut Mixer) {
        self.0.key(has_learned, mixer);
    }
}

#[test]
fn ii_delayed_direct_path() {
    let setup = exact(line(2, 2, false), vec![Property::StrictDirectPaths]);
    caught(&setup, MacLearning::default(), Property::StrictDirectPaths);
    passes(&setup, BothWays::default());
}

/// MAC learning that floods along a tree: the line between the second and third switch is left out.
#[derive(Clone, Default)]
struct OnTree(MacLearning);

impl Application for OnTree {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        self.0.packet_in(switch, asked, answers);
        let tree: &[u8] = [&[0, 1, 2][..], &[0, 1], &[0]][switch];
        let outs = tree.iter().filter(|port| **port != asked.port);
        let outs: Vec<Action> = outs.map(|port| Action::Output(*port)).collect();
        for answer in &mut answers.list {
            if let Order::PacketOut { actions, .. } = &mut answer.order {
                *actions = Actions::new(&outs);
            }
        }
    }

    fn key(&self, has_learned: bool, mixer: &mut Mixer) {
        self.0.key(has_learned, mixer);
    }
}

/// Three switches in a triangle, a host at each of the first two.
pub(in super::super) fn triangle() -> Setup {
    let peer = |node, port| Some(Peer { node, port });
    let switch = |name: &str, peers| SwitchSetup { name: name.into(), peers };
    let switches = vec![
        switch("s1", vec![peer(0, 0), peer(3, 0), peer(4, 0)]),
        switch("s2", vec![peer(2, 1), peer(1, 0), peer(4, 1)]),
        switch("s3", vec![peer(2, 2), peer(3, 2)]),
    ];
    let host = |name: &str, mac: Mac, role, node, port| HostSetup {
        name: name.into(),
        mac,
        ip: Ip(mac.0),
        role,
        at: Peer { node, port },
    };
    let sender = Role::Sender { to: LAST_MAC, packets: 1, is_sequential: true };
    let hosts = vec![
        host("h1", FIRST_MAC, sender, 2, 0),
        host("h2", LAST_MAC, Role::Replier { may_move: false }, 3, 1),
    ];
    exact(Setup::new(hosts, switches), vec![Property::NoForwardingLoops])
}

#[test]
fn iii_flooding_in_a_circle() {
    let bounded = Setup { path_max: 30, ..triangle() };
    caught(&bounded, MacLearning::default(), Property::NoForwardingLoops);
    passes(&triangle(), OnTree::default());
}
