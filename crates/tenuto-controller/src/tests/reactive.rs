//! Answers of reactive applications, plain and as message sets.

use crate::reactive::{
    Answer, Firewall, Hop, LearningSwitch, LoadBalancer, Numbered, Packet, Reactive, ReactiveApp,
    Replica, RouteFlow,
};
use tenuto_openflow::constants::{NO_BUFFER, port};
use tenuto_openflow::*;

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn packet_in(src: [u8; 6], dst: [u8; 6], in_port: u32, buffer_id: u32) -> PacketIn {
    let data: Vec<u8> = dst.into_iter().chain(src).chain([8, 0]).collect();
    PacketIn {
        buffer_id,
        total_len: 100,
        reason: PacketInReason::NoMatch,
        table_id: 0,
        cookie: 0,
        match_: Match::from(vec![Oxm::InPort(in_port)]),
        data,
    }
}

fn numbered(number: u64, packet_in: PacketIn) -> Body {
    Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn { number, packet_in }))
}

/// Switch, set and a word for each message.
fn sets(messages: &[(u64, Body)]) -> Vec<(u64, MessageSet, &'static str)> {
    let one = |(datapath, body): &(u64, Body)| match body {
        Body::Experimenter(Experimenter::Attendre(message)) => match message {
            AttendreMessage::SetFlowMod { set, .. } => (*datapath, *set, "flow-mod"),
            AttendreMessage::SetPacketOut { set, .. } => (*datapath, *set, "packet-out"),
            AttendreMessage::SetEmpty(set) => (*datapath, *set, "empty"),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    messages.iter().map(one).collect()
}

const fn set(counter: u64, messages: u16, answers: u64) -> MessageSet {
    MessageSet { version: Version { generation: 7, counter }, messages, answers }
}

fn actions(body: &Body) -> Vec<Action> {
    let flow_mod = match body {
        Body::FlowMod(flow_mod) => flow_mod,
        Body::Experimenter(Experimenter::Attendre(AttendreMessage::SetFlowMod {
            flow_mod,
            ..
        })) => flow_mod,
        Body::Experimenter(Experimenter::Attendre(AttendreMessage::SetPacketOut {
            packet_out,
            ..
        })) => return packet_out.actions.clone(),
        Body::PacketOut(packet_out) => return packet_out.actions.clone(),
        other => panic!("{other:?}"),
    };
    match flow_mod.instructions.as_slice() {
        [Instruction::ApplyActions(actions)] => actions.clone(),
        other => panic!("{other:?}"),
    }
}

const fn output(port: u32) -> Action {
    Action::Output { port, max_len: 0 }
}

fn way() -> RouteFlow {
    let hop = |datapath, port| Hop { datapath, port };
    RouteFlow::new().with_way(B, vec![hop(1, 11), hop(2, 12), hop(3, 13)])
}

#[test]
fn a_way_is_a_set_at_each_switch_and_each_leads_to_the_next() {
    let mut controller = Reactive::new(way(), 7);
    let sent = controller.message(1, &numbered(5, packet_in(A, B, 4, 9)));
    let one = |datapath, answers| (datapath, set(1, 1, answers), "flow-mod");
    assert_eq!(sets(&sent), [one(1, 5), one(2, 0), one(3, 0)]);
    let addresses = Packet::of(&packet_in(A, B, 4, 9)).expect("it is one").addresses();
    for (place, port) in [(0, 11), (1, 12)] {
        let encap = Encap {
            port,
            version: Version { generation: 7, counter: 1 },
            messages: 1,
            table_id: 0,
            priority: 0x8000,
            match_: addresses.clone(),
        };
        assert_eq!(actions(&sent[place].1), [Action::Encap(encap), output(port)]);
    }
    assert_eq!(actions(&sent[2].1), [output(13)]);
    let Body::Experimenter(Experimenter::Attendre(AttendreMessage::SetFlowMod {
        flow_mod, ..
    })) = &sent[0].1
    else {
        panic!("{sent:?}")
    };
    assert_eq!((flow_mod.buffer_id, &flow_mod.match_), (9, &addresses));
}

#[test]
fn a_plain_packet_in_is_answered_plainly() {
    let mut controller = Reactive::new(way(), 7);
    let sent = controller.message(2, &Body::PacketIn(packet_in(A, B, 4, 9)));
    let ports: Vec<_> = sent.iter().map(|(datapath, body)| (*datapath, actions(body))).collect();
    assert_eq!(ports, [(2, vec![output(12)]), (3, vec![output(13)])]);
    assert_eq!(controller.message(2, &Body::BarrierReply), []);
}

#[test]
fn a_switch_that_waits_is_answered_whatever_is_decided() {
    let mut controller = Reactive::new(way(), 7);
    // Nobody knows the way to A; a packet without addresses or port.
    let mut broken = packet_in(A, B, 4, 9);
    broken.data.truncate(11);
    let mut nowhere = packet_in(A, B, 4, 9);
    nowhere.match_ = Match::ANY;
    for (counter, message) in (1..).zip([packet_in(B, A, 4, 9), broken, nowhere]) {
        let sent = controller.message(3, &numbered(6, message.clone()));
        assert_eq!(sets(&sent), [(3, set(counter, 0, 6), "empty")]);
        assert_eq!(controller.message(3, &Body::PacketIn(message)), []);
    }
}

#[test]
fn a_packet_that_was_not_kept_comes_back_through_the_tables() {
    let mut controller = Reactive::new(way(), 7);
    let sent = controller.message(2, &numbered(1, packet_in(A, B, 4, NO_BUFFER)));
    let two = (2, set(1, 2, 1));
    assert_eq!(
        sets(&sent),
        [(two.0, two.1, "flow-mod"), (two.0, two.1, "packet-out"), (3, set(1, 1, 0), "flow-mod")]
    );
    assert_eq!(actions(&sent[1].1), [output(port::TABLE)]);
    assert!(matches!(actions(&sent[0].1)[..], [Action::Encap(_), Action::Output { .. }]));
}

#[test]
fn the_earliest_table_of_the_next_switch_is_announced() {
    let mut answer = Answer::new(1, Some(Numbered { number: 1, version: Version::default() }));
    let entry =
        |table_id, priority| FlowMod { priority, ..FlowMod::new(FlowModCommand::Add, table_id) };
    answer.flow_mod(2, FlowMod::new(FlowModCommand::Delete, 0));
    for (table, priority) in [(2, 1), (1, 2), (1, 3)] {
        answer.flow_mod(2, entry(table, priority));
    }
    let message = packet_in(A, B, 4, 9);
    let packet = Packet::of(&message).expect("it is one");
    answer.send(1, vec![output(5), output(6)], &packet);
    answer.lead(1, 6, 2);
    // Nobody changes anything there: nothing to wait for.
    answer.lead(1, 5, 3);
    let sent = answer.finish();
    let (_, out) = sent.last().expect("there are some");
    let found = actions(out);
    let [_, Action::Encap(encap), _] = &found[..] else { panic!("{found:?}") };
    assert_eq!((encap.port, encap.table_id, encap.priority, encap.messages), (6, 1, 2, 4));
}

#[test]
fn a_learning_switch_floods_until_it_knows() {
    let mut controller = Reactive::new(LearningSwitch::new(1), 7);
    let sent = controller.message(1, &numbered(1, packet_in(A, B, 4, 9)));
    assert_eq!(sets(&sent), [(1, set(1, 1, 1), "packet-out")]);
    assert_eq!(actions(&sent[0].1), [output(port::FLOOD)]);
    let sent = controller.message(1, &numbered(2, packet_in(B, A, 5, 9)));
    assert_eq!(actions(&sent[0].1), [output(4)]);
    // B was one address too many; another switch knows nobody.
    for (datapath, src, dst) in [(1, A, B), (2, B, A)] {
        let sent = controller.message(datapath, &numbered(3, packet_in(src, dst, 4, 9)));
        assert_eq!(actions(&sent[0].1), [output(port::FLOOD)]);
    }
}

#[test]
fn a_balancer_takes_replicas_in_turn() {
    let replicas = [3, 4].map(|port| Replica { address: [2, 0, 0, 0, 1, 0], port });
    let mut controller = Reactive::new(LoadBalancer::new(B, replicas.to_vec()), 7);
    let ports = [3, 4, 3].map(|_| {
        let sent = controller.message(1, &numbered(1, packet_in(A, B, 1, 9)));
        actions(&sent[0].1)[1].clone()
    });
    assert_eq!(ports, [output(3), output(4), output(3)]);
    let other = controller.message(1, &numbered(2, packet_in(B, A, 1, 9)));
    assert_eq!(sets(&other), [(1, set(4, 0, 2), "empty")]);
}

#[test]
fn a_firewall_lets_answers_in_and_nothing_else() {
    let mut controller = Reactive::new(Firewall::new(1, 2, 1), 7);
    let sent = controller.message(1, &numbered(1, packet_in(B, A, 2, 9)));
    assert_eq!(sets(&sent), [(1, set(1, 0, 1), "empty")]);
    let sent = controller.message(1, &numbered(2, packet_in(A, B, 1, 9)));
    let found: Vec<_> = sent.iter().map(|(_, body)| actions(body)).collect();
    assert_eq!(found, [vec![output(1)], vec![output(2)]], "the answers' entry first");
    let sent = controller.message(1, &numbered(3, packet_in(B, A, 2, 9)));
    assert_eq!(actions(&sent[0].1), [output(1)]);
    // No room for another pair.
    let sent = controller.message(1, &numbered(4, packet_in(B, A, 1, 9)));
    assert_eq!(sets(&sent), [(1, set(4, 0, 4), "empty")]);
}

#[test]
fn a_switch_is_told_to_ask() {
    let config = AttendreConfig { is_on: true, meter_id: 0, timeout_ns: 0 };
    let start = Reactive::<RouteFlow>::start(Some(config));
    let [Body::Experimenter(_), Body::FlowMod(miss)] = start.as_slice() else {
        panic!("{start:?}")
    };
    assert_eq!((miss.priority, &miss.match_), (0, &Match::ANY));
    assert_eq!(Reactive::<RouteFlow>::start(None), start[1..]);
    fn is_app<A: ReactiveApp>(_: &A) {}
    is_app(Reactive::new(way(), 1).app());
}
