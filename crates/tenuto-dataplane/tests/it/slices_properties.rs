//! Random controllers in two slices: nothing of one reaches the other, and each does what it does when it is alone.

use crate::slices::{A, B, PLENTY, Sliced, frame, traffic_a, traffic_b};
use proptest::collection::vec;
use proptest::prelude::*;
use tenuto_dataplane::switch::ConnectionId;
use tenuto_openflow::constants::{NO_BUFFER, group, port};
use tenuto_openflow::*;
use tenuto_units::Span;

/// What happens.
#[derive(Clone, Debug)]
enum Step {
    /// A frame enters.
    Frame { port: u32, vlan: Option<u16> },
    /// A controller sends a message.
    Message { of_a: bool, body: Body },
    /// A controller sends anything.
    Bytes { of_a: bool, bytes: Vec<u8> },
    /// Time passes.
    Pass(u64),
}

const VLANS: [Option<u16>; 6] = [None, Some(0), Some(10), Some(20), Some(30), Some(40)];

fn oxms() -> impl Strategy<Value = Vec<Oxm>> {
    let vid =
        (prop::sample::select(&[0_u16, 0x1000, 0x100a, 0x1014, 0x101e, 0x1028][..]), any::<bool>())
            .prop_map(|(value, masked)| Oxm::VlanVid {
                value,
                mask: masked.then_some(0x1ff0 | value),
            });
    let in_port = (1_u32..=4).prop_map(Oxm::InPort);
    (prop::option::of(in_port), prop::option::of(vid))
        .prop_map(|(port, vid)| port.into_iter().chain(vid).collect())
}

fn action() -> impl Strategy<Value = Action> {
    let ports = [1, 2, 3, 4, port::IN_PORT, port::ALL, port::FLOOD, port::NORMAL, port::CONTROLLER];
    let vid = prop::sample::select(&[0x100a_u16, 0x1014, 0x101e, 0x1028][..]);
    prop_oneof![
        6 => prop::sample::select(ports.to_vec())
            .prop_map(|port| Action::Output { port, max_len: 0xffff }),
        2 => vid.prop_map(|value| Action::SetField(Oxm::VlanVid { value, mask: None })),
        1 => Just(Action::PushVlan(0x8100)),
        2 => Just(Action::PopVlan),
        1 => (1_u32..4).prop_map(Action::Group),
        1 => (0_u32..3).prop_map(Action::SetQueue),
    ]
}

fn flow_mod() -> impl Strategy<Value = Body> {
    use FlowModCommand as C;
    let command = prop::sample::select(&[C::Add, C::Add, C::Add, C::Modify, C::Delete][..]);
    let next = prop::option::of(1_u8..3);
    (command, 0_u8..3, 0_u16..4, oxms(), vec(action(), 0..4), any::<bool>(), next).prop_map(
        |(command, table, priority, oxms, actions, applies, next)| {
            let list = match applies {
                true => Instruction::ApplyActions(actions),
                false => Instruction::WriteActions(actions),
            };
            let goto = next.filter(|next| *next > table).map(Instruction::GotoTable);
            Body::FlowMod(FlowMod {
                priority,
                match_: Match::from(oxms),
                instructions: [list].into_iter().chain(goto).collect(),
                ..FlowMod::new(command, table)
            })
        },
    )
}

fn group_mod() -> impl Strategy<Value = Body> {
    use GroupModCommand as C;
    let command = prop::sample::select(&[C::Add, C::Add, C::Modify, C::Delete][..]);
    let type_ = prop::sample::select(&[GroupType::All, GroupType::Select, GroupType::Indirect][..]);
    (command, type_, 1_u32..4, vec(vec(action(), 0..3), 0..3)).prop_map(
        |(command, type_, group_id, buckets)| {
            let weigh = |actions| Bucket { weight: 1, ..Bucket::new(actions) };
            let buckets = match command {
                C::Delete => Vec::new(),
                _ => buckets.into_iter().map(weigh).collect(),
            };
            Body::GroupMod(GroupMod { command, type_, group_id, buckets })
        },
    )
}

fn request() -> impl Strategy<Value = Body> {
    let flows = FlowStatsRequest {
        table_id: 0xff,
        out_port: port::ANY,
        out_group: group::ANY,
        cookie: 0,
        cookie_mask: 0,
        match_: Match::default(),
    };
    let bodies = [
        RequestBody::Flow(flows),
        RequestBody::Table,
        RequestBody::PortStats { port_no: port::ANY },
        RequestBody::Queue { port_no: port::ANY, queue_id: u32::MAX },
        RequestBody::Group { group_id: group::ALL },
        RequestBody::PortDescription,
    ];
    prop::sample::select(bodies.to_vec())
        .prop_map(|it| Body::MultipartRequest(MultipartRequest::new(it)))
}

fn step() -> impl Strategy<Value = Step> {
    let vlan = || prop::sample::select(&VLANS[..]);
    let packet_out =
        (any::<bool>(), vec(action(), 0..4), vlan()).prop_map(|(of_a, actions, vlan)| {
            let data = frame(vlan, mark(of_a));
            let body = PacketOut { buffer_id: NO_BUFFER, in_port: port::CONTROLLER, actions, data };
            Step::Message { of_a, body: Body::PacketOut(body) }
        });
    let message = prop_oneof![6 => flow_mod(), 2 => group_mod(), 1 => request()];
    prop_oneof![
        6 => (1_u32..=4, vlan()).prop_map(|(port, vlan)| Step::Frame { port, vlan }),
        8 => (any::<bool>(), message).prop_map(|(of_a, body)| Step::Message { of_a, body }),
        2 => packet_out,
        1 => (any::<bool>(), vec(any::<u8>(), 0..16)).prop_map(|(of_a, mut bytes)| {
            bytes.splice(0..0, [4, 14, 0, u8::try_from(8 + bytes.len()).expect("short"), 0, 0, 0, 1]);
            Step::Bytes { of_a, bytes }
        }),
        2 => (1_u64..200).prop_map(Step::Pass),
    ]
}

const fn mark(of_a: bool) -> &'static [u8; 4] {
    if of_a { b"AAAA" } else { b"BBBB" }
}

/// Whose an entering frame is, told in the words of the test's set-up.
fn owner(port: u32, vlan: Option<u16>) -> Option<bool> {
    match (port, vlan) {
        (1 | 2, None | Some(0 | 10)) => Some(true),
        (2 | 3, Some(20 | 30)) => Some(false),
        _ => None,
    }
}

/// What a slice has sent, and heard, and what was counted of it.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    sent: Vec<(u32, Vec<u8>)>,
    heard: Vec<u8>,
    counted: String,
}

/// Plays the steps that concern the slices of `players`; what A and B have seen.
fn play(steps: &[Step], players: &[bool]) -> [Seen; 2] {
    let mut sliced = Sliced::new(PLENTY);
    let id = |of_a| -> ConnectionId { if of_a { A } else { B } };
    let mut seen = [Seen::default(), Seen::default()];
    for step in steps.iter().chain([&Step::Pass(1_000_000)]) {
        match step {
            Step::Frame { port, vlan } => match owner(*port, *vlan) {
                Some(of_a) if players.contains(&of_a) => {
                    sliced.enter(*port, &frame(*vlan, mark(of_a)))
                }
                None if players.len() == 2 => sliced.enter(*port, &frame(*vlan, b"none")),
                _ => {}
            },
            Step::Message { of_a, body } if players.contains(of_a) => {
                let bytes = Message::new(9, body.clone()).to_bytes();
                assert!(sliced.send(id(*of_a), &bytes));
            }
            Step::Bytes { of_a, bytes } if players.contains(of_a) => {
                assert!(sliced.send(id(*of_a), bytes), "a message of its length is followed");
            }
            Step::Pass(us) => {
                for (port, bytes) in sliced.pass(Span::from_us(*us)) {
                    let of_a = bytes.ends_with(mark(true));
                    assert!(of_a || bytes.ends_with(mark(false)), "a frame of nobody left");
                    let own = if of_a { traffic_a() } else { traffic_b() };
                    assert!(
                        own.claims(port, &bytes),
                        "{of_a} left its slice by {port}: {bytes:02x?}"
                    );
                    seen[usize::from(!of_a)].sent.push((port, bytes));
                }
            }
            _ => {}
        }
    }
    assert_eq!(sliced.frames.in_use(), 0, "every frame went somewhere");
    for of_a in [true, false] {
        let heard = sliced.heard_bytes(id(of_a));
        let foreign = heard.windows(4).any(|it| it == mark(!of_a) || it == b"none");
        assert!(!foreign, "{of_a} was told of a frame that is not its own");
        let (_, switch, frames) =
            sliced.switch.slices().nth(1 + usize::from(!of_a)).expect("there");
        let ports: Vec<_> = switch.ports().map(|(n, it, out)| (n, *it, out.stats())).collect();
        let entries = switch.tables().entries();
        let messages = switch.slice_messages();
        let seen = &mut seen[usize::from(!of_a)];
        seen.heard = heard;
        seen.counted = format!("{ports:?} {entries} {messages:?} {frames:?}");
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever controllers of two slices do, no frame of one leaves as one of the other or reaches its controller,
    /// and each sees, sends and counts what it does when the other is not there.
    #[test]
    fn slices_do_not_interfere(steps in vec(step(), 0..120)) {
        let [a, b] = play(&steps, &[true, false]);
        let [a_alone, nothing_of_b] = play(&steps, &[true]);
        let [nothing_of_a, b_alone] = play(&steps, &[false]);
        prop_assert_eq!(a, a_alone);
        prop_assert_eq!(b, b_alone);
        prop_assert!(nothing_of_a.sent.is_empty() && nothing_of_b.sent.is_empty());
    }
}
