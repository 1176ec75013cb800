//! Literal bytes of Attendre's messages and actions, as `docs/reference/experimenter.md` lays them
//! out.

use tenuto_openflow::constants::NO_BUFFER;
use tenuto_openflow::*;

const VERSION: Version = Version { generation: 1, counter: 2 };
const SET: MessageSet = MessageSet { version: VERSION, messages: 4, answers: 3 };
const SET_BYTES: &str = "0000000000000001 0000000000000002 0000000000000003 0004 000000000000";
/// A flow-mod that adds an entry of priority 1 for everything.
const FLOW_MOD_BYTES: &str = "0000000000000000 0000000000000000  00 00 0000 0000 0001
     ffffffff ffffffff ffffffff 0000 0000  0001 0004 00000000";

#[track_caller]
fn check(exp_type: u32, data: &str, attendre: AttendreMessage, text: &str) {
    let digits: String = data.split_whitespace().collect();
    let data = (0..digits.len() / 2)
        .map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("two digits"));
    let mut bytes = vec![4, 4, 0, 0, 0, 0, 0, 0x17, 0x54, 0x45, 0x4e, 0x55];
    bytes.extend(exp_type.to_be_bytes());
    bytes.extend(data);
    let len = u16::try_from(bytes.len()).expect("short");
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    let message = Message { xid: 0x17, body: Body::Experimenter(Experimenter::Attendre(attendre)) };
    assert_eq!(Message::parse(&bytes).as_ref(), Ok(&message));
    assert_eq!(message.to_bytes(), bytes);
    assert_eq!(message.to_string(), format!("OFPT_EXPERIMENTER (OF1.3) (xid=0x17): {text}"));
}

#[test]
fn configuration() {
    check(
        12,
        "01 000000 00000009 000000003b9aca00",
        AttendreMessage::Config(AttendreConfig {
            is_on: true,
            meter_id: 9,
            timeout_ns: 1_000_000_000,
        }),
        "ATTENDRE_CONFIG on meter=9 timeout_ns=1000000000",
    );
}

#[test]
fn messages_of_a_set() {
    check(
        13,
        &format!("{SET_BYTES} {FLOW_MOD_BYTES}"),
        AttendreMessage::SetFlowMod {
            set: SET,
            flow_mod: FlowMod { priority: 1, ..FlowMod::new(FlowModCommand::Add, 0) },
        },
        "SET_FLOW_MOD set=1.2 of 4 answers=3 ADD table:0 priority=1 actions=drop",
    );
    let packet_out = PacketOut {
        buffer_id: NO_BUFFER,
        in_port: 1,
        actions: vec![Action::Output { port: 2, max_len: 0 }],
        data: vec![0xaa],
    };
    check(
        14,
        &format!(
            "{SET_BYTES} ffffffff 00000001 0010 000000000000
             0000 0010 00000002 0000 000000000000 aa"
        ),
        AttendreMessage::SetPacketOut { set: SET, packet_out },
        "SET_PACKET_OUT set=1.2 of 4 answers=3 in_port=1 actions=output:2 data_len=1",
    );
    check(15, SET_BYTES, AttendreMessage::SetEmpty(SET), "SET_EMPTY set=1.2 of 4 answers=3");
}

#[test]
fn a_numbered_packet_in() {
    let packet_in = PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 1,
        reason: PacketInReason::NoMatch,
        table_id: 0,
        cookie: 0,
        match_: Match::from(vec![Oxm::InPort(1)]),
        data: vec![0xaa],
    };
    check(
        16,
        "0000000000000003 ffffffff 0001 00 00 0000000000000000
         0001 000c 80000004 00000001 00000000 0000 aa",
        AttendreMessage::PacketIn { number: 3, packet_in },
        "NUMBERED_PACKET_IN number=3 table_id=0 cookie=0x0 total_len=1 in_port=1 (via no_match) \
         data_len=1",
    );
}

#[test]
fn buffers() {
    check(17, "", AttendreMessage::BuffersRequest, "BUFFERS_REQUEST");
    check(
        18,
        "01 00000000000000
         0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005
         0000000000000006 0000000000000007 0000000000000008 0000000000000009
         0000000000000001 0000000000000002 0000000000000003 0002 0001 05 01 0006 00000007 00000000
         0001 000c 80000004 00000001 00000000",
        AttendreMessage::BuffersReply {
            more: true,
            totals: BufferTotals {
                buffered: 1,
                released: 2,
                overflowed: 3,
                purged: 4,
                timed_out: 5,
                completed: 6,
                commands_sent: 7,
                commands_accepted: 8,
                commands_rejected: 9,
            },
            buffers: vec![BufferStats {
                version: VERSION,
                messages: (2, 1),
                table_id: 5,
                phase: BufferPhase::Releasing,
                priority: 6,
                frames: 7,
                number: 3,
                match_: Match::from(vec![Oxm::InPort(1)]),
            }],
        },
        "BUFFERS_REPLY buffered=1 released=2 overflowed=3 purged=4 timed_out=5 completed=6 \
         commands_sent=7 commands_accepted=8 commands_rejected=9 [set=1.2 1 of 2 releasing table=5 \
         priority=6 frames=7 number=3 in_port=1] (more)",
    );
}

#[test]
fn actions() {
    let buffer = Action::Buffer { version: VERSION, messages: 4 };
    let encap = Action::Encap(Encap {
        port: 2,
        version: VERSION,
        messages: 4,
        table_id: 5,
        priority: 6,
        match_: Match::from(vec![Oxm::InPort(1)]),
    });
    let bytes = "ffff 0020 54454e55 0002 0004 00000000 0000000000000001 0000000000000002
         ffff 0038 54454e55 0003 0004 00000002 0000000000000001 0000000000000002
         05 00 0006 00000000  0001 000c 80000004 00000001 00000000";
    let packet_out =
        PacketOut { buffer_id: 0, in_port: 1, actions: vec![buffer, encap], data: vec![] };
    let set = format!("{SET_BYTES} 00000000 00000001 0058 000000000000 {bytes}");
    check(
        14,
        &set,
        AttendreMessage::SetPacketOut { set: SET, packet_out },
        "SET_PACKET_OUT set=1.2 of 4 answers=3 in_port=1 actions=buffer(set=1.2 of 4),\
         encap(port=2,set=1.2 of 4,table=5,priority=6,in_port=1) buffer=0x0 data_len=0",
    );
}

#[test]
fn many_buffers_take_several_messages() {
    let buffer = BufferStats {
        version: VERSION,
        messages: (1, 0),
        table_id: 0,
        phase: BufferPhase::Waiting,
        priority: 1,
        frames: 0,
        number: 0,
        match_: Match::ANY,
    };
    let replies = AttendreMessage::buffers_replies(BufferTotals::default(), vec![buffer; 3_000]);
    let mut buffers = 0;
    for (place, reply) in replies.iter().enumerate() {
        let AttendreMessage::BuffersReply { more, buffers: part, .. } = reply else {
            panic!("a reply")
        };
        assert_eq!(*more, place + 1 < replies.len());
        buffers += part.len();
        let body = Body::Experimenter(Experimenter::Attendre(reply.clone()));
        let bytes = Message { xid: 1, body: body.clone() }.to_bytes();
        assert_eq!(Message::parse(&bytes).map(|message| message.body), Ok(body));
    }
    assert_eq!((replies.len(), buffers), (3, 3_000));
}
