//! What reaches an application besides packets, and applications behind a name.

use crate::reactive::{Answer, Packet, Reactive, ReactiveApp, TIMERS_MAX, entry, output};
use std::hash::{DefaultHasher, Hash, Hasher};
use tenuto_openflow::constants::{NO_BUFFER, multipart_flag, port, table};
use tenuto_openflow::*;
use tenuto_units::{Instant, Span};

/// Writes down what it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Diary {
    lines: Vec<String>,
}

impl ReactiveApp for Diary {
    fn switch_up(&mut self, datapath: u64, ports: &[Port], answer: &mut Answer) {
        let ports: Vec<u32> = ports.iter().map(|port| port.port_no).collect();
        self.lines.push(format!("{datapath} up {ports:?}"));
        answer.ask(datapath, RequestBody::PortStats { port_no: port::ANY });
        answer.start_timer("poll", Span::from_s(2));
        answer.note("seen");
    }

    fn switch_down(&mut self, datapath: u64, answer: &mut Answer) {
        self.lines.push(format!("{datapath} down"));
        answer.stop_timer("poll");
    }

    fn port_status(&mut self, datapath: u64, status: &PortStatus, _: &mut Answer) {
        self.lines.push(format!("{datapath} port {}", status.port.port_no));
    }

    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        self.lines.push(format!("{datapath} packet at {}", answer.now().as_ns()));
        let group = GroupMod {
            command: GroupModCommand::Add,
            type_: GroupType::All,
            group_id: 1,
            buckets: vec![Bucket::new(vec![output(1)])],
        };
        answer.group_mod(datapath, group);
        answer.install(datapath, entry(packet.addresses(), vec![Action::Group(1)]), packet);
    }

    fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved, _: &mut Answer) {
        self.lines.push(format!("{datapath} removed {}", removed.cookie));
    }

    fn port_stats(&mut self, datapath: u64, stats: &[PortStats], _: &mut Answer) {
        self.lines.push(format!("{datapath} ports {}", stats.len()));
    }

    fn flow_stats(&mut self, datapath: u64, stats: &[FlowStats], _: &mut Answer) {
        self.lines.push(format!("{datapath} flows {}", stats.len()));
    }

    fn refused(&mut self, datapath: u64, error: &ErrorMessage, answer: &mut Answer) {
        self.lines.push(format!("{datapath} refused {}", error.type_));
        answer.fail("a refusal that nobody expected");
    }

    fn timer(&mut self, name: &str, answer: &mut Answer) {
        self.lines.push(format!("timer {name}"));
        for number in 0..=TIMERS_MAX {
            answer.start_timer(&format!("t{number}"), Span::from_s(1));
        }
    }
}

fn described(port_no: u32) -> Port {
    Port {
        port_no,
        hw_addr: [2, 0, 0, 0, 1, 0],
        name: FixedText([0; 16]),
        config: 0,
        state: 0,
        curr: 0,
        advertised: 0,
        supported: 0,
        peer: 0,
        curr_speed: 0,
        max_speed: 0,
    }
}

fn reply(flags: u16, body: ReplyBody) -> Body {
    Body::MultipartReply(MultipartReply { flags, body })
}

fn packet_in() -> PacketIn {
    PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 14,
        reason: PacketInReason::NoMatch,
        table_id: 0,
        cookie: 0,
        match_: Match::from(vec![Oxm::InPort(1)]),
        data: vec![2; 14],
    }
}

fn removed() -> FlowRemoved {
    FlowRemoved {
        cookie: 9,
        priority: 1,
        reason: FlowRemovedReason::IdleTimeout,
        table_id: 0,
        duration_sec: 1,
        duration_nsec: 0,
        idle_timeout: 1,
        hard_timeout: 0,
        packet_count: 1,
        byte_count: 1,
        match_: Match::ANY,
    }
}

const NOW: Instant = Instant::from_ns(5_000_000_000);

#[test]
fn every_event_reaches_the_application_as_a_box_too() {
    let app: Box<dyn ReactiveApp> = Box::new(Diary::default());
    let mut reactive = Reactive::new(app, 1);
    let start = reactive.connected(4, None);
    let [Body::FlowMod(clear), Body::FlowMod(_), Body::MultipartRequest(_)] = &start[..] else {
        panic!("{start:?}")
    };
    assert_eq!(*clear, FlowMod::new(FlowModCommand::Delete, table::ALL));
    // A description in two parts.
    let part = |flags, number| reply(flags, ReplyBody::PortDescription(vec![described(number)]));
    assert_eq!(reactive.receive(NOW, 4, &part(multipart_flag::MORE, 1)), Default::default());
    let up = reactive.receive(NOW, 4, &part(0, 2));
    assert!(matches!(up.messages[..], [(4, Body::MultipartRequest(_))]));
    assert_eq!((up.notes, up.fault), (vec!["seen".to_owned()], None));
    assert_eq!(reactive.next_deadline(), Some(("poll", NOW + Span::from_s(2))));
    let status = PortStatus { reason: PortReason::Modify, port: described(2) };
    for body in [
        Body::PortStatus(status),
        Body::PacketIn(packet_in()),
        Body::FlowRemoved(removed()),
        reply(0, ReplyBody::PortStats(vec![PortStats::default(); 2])),
        reply(0, ReplyBody::Flow(Vec::new())),
        // Nobody's business.
        Body::BarrierReply,
        part(0, 3),
    ] {
        reactive.receive(NOW, 4, &body);
    }
    let error = ErrorMessage { type_: 5, code: 1, data: Vec::new() };
    assert!(reactive.refused(NOW, 4, None, &error).fault.is_some());
    let fired = reactive.fire("poll", NOW);
    assert!(fired.fault.expect("one timer too many").contains("timers"));
    assert_eq!(reactive.fire("poll", NOW), Default::default(), "it has stopped");
    let mut running = 0;
    reactive.for_each_deadline(|_, _| running += 1);
    assert_eq!(running, TIMERS_MAX);
    let _ = reactive.switch_down(NOW, 4);
    let diary = reactive.app().as_ref().as_any().downcast_ref::<Diary>().expect("it is one");
    assert_eq!(
        diary.lines,
        [
            "4 up [1, 2]",
            "4 port 2",
            "4 packet at 5000000000",
            "4 removed 9",
            "4 ports 2",
            "4 flows 0",
            "4 refused 5",
            "timer poll",
            "4 down"
        ]
    );
}

#[test]
fn a_box_has_the_state_of_what_is_in_it() {
    let hash = |app: &dyn ReactiveApp| {
        let mut hasher = DefaultHasher::new();
        app.hash(&mut hasher);
        hasher.finish()
    };
    let one: Box<dyn ReactiveApp> = Box::new(Diary::default());
    let mut other = one.clone();
    assert!(*one == *other && hash(&*one) == hash(&*other));
    other.switch_down(1, &mut Answer::new(1, None));
    assert!(*one != *other && hash(&*one) != hash(&*other));
    assert_eq!(format!("{other:?}"), "Diary { lines: [\"1 down\"] }");
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Silent;
    impl ReactiveApp for Silent {
        fn packet_in(&mut self, _: u64, _: &Packet<'_>, _: &mut Answer) {}
    }
    let silent: Box<dyn ReactiveApp> = Box::new(Silent);
    assert!(*silent != *one);
}

#[test]
fn what_sets_do_not_have_goes_beside_them_in_order() {
    let mut reactive = Reactive::new(Diary::default(), 7);
    let numbered = |number| {
        let packet_in = packet_in();
        Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn { number, packet_in }))
    };
    let sent = reactive.receive(NOW, 4, &numbered(1)).messages;
    let [(4, Body::GroupMod(_)), (4, Body::Experimenter(first)), (4, Body::Experimenter(_))] =
        &sent[..]
    else {
        panic!("{sent:?}")
    };
    let Experimenter::Attendre(AttendreMessage::SetFlowMod { set, .. }) = first else {
        panic!("{first:?}")
    };
    assert_eq!((set.messages, set.answers), (2, 1), "the group is no message of the set");
}

/// Sends packets on to a second switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ahead;

impl ReactiveApp for Ahead {
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        answer.install(datapath, entry(packet.addresses(), vec![output(2)]), packet);
        answer.flow_mod(9, entry(packet.addresses(), vec![output(3)]));
        answer.lead(datapath, 2, 9);
    }
}

#[test]
fn a_switch_that_refuses_attendre_gets_plain_messages() {
    let mut reactive = Reactive::new(Ahead, 7);
    let config = AttendreConfig { is_on: true, meter_id: 0, timeout_ns: 0 };
    let start = reactive.connected(9, Some(config));
    let error = ErrorMessage { type_: 1, code: 3, data: Vec::new() };
    assert_eq!(reactive.refused(NOW, 9, Some(&start[1]), &error), Default::default());
    let packet_in = PacketIn { buffer_id: 3, ..packet_in() };
    let numbered = Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn {
        number: 1,
        packet_in,
    }));
    let sent = reactive.receive(NOW, 4, &numbered).messages;
    let [(4, Body::Experimenter(set)), (9, Body::FlowMod(_))] = &sent[..] else {
        panic!("{sent:?}")
    };
    let Experimenter::Attendre(AttendreMessage::SetFlowMod { flow_mod, .. }) = set else {
        panic!("{set:?}")
    };
    // No command to keep packets is sent to it either.
    assert_eq!(flow_mod.instructions, [Instruction::ApplyActions(vec![output(2)])]);
}
