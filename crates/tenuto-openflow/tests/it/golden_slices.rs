//! Literal bytes of our messages about slices, as `docs/reference/experimenter.md` has them.

use tenuto_openflow::{
    BadRequest, Body, Experimenter, FixedText, Message, SliceStatus, SlicesMessage,
};

fn message(message: SlicesMessage) -> Message {
    Message::new(7, Body::Experimenter(Experimenter::Slices(message)))
}

fn status() -> SliceStatus {
    SliceStatus {
        name: FixedText::new("blue"),
        datapath_id: 0x101,
        ports: vec![1, 3],
        connections: 2,
        entries: 5,
        received: 10,
        sent: 9,
        escaped: 1,
        messages: 20,
        refused: 3,
        limited: 4,
        packet_ins_limited: 6,
    }
}

#[test]
fn slices_are_asked_for_and_told() {
    let request = message(SlicesMessage::Request);
    let head = [4, 4, 0, 16, 0, 0, 0, 7, 0x54, 0x45, 0x4e, 0x55, 0, 0, 0, 22];
    assert_eq!(request.to_bytes(), head);
    let reply = message(SlicesMessage::Reply { more: false, slices: vec![status()] });
    let mut expected = vec![4, 4, 0, 144, 0, 0, 0, 7, 0x54, 0x45, 0x4e, 0x55, 0, 0, 0, 23];
    expected.extend([0; 8]);
    expected.extend([0, 120, 0, 0, 0, 0, 0, 0]);
    expected.extend(b"blue");
    expected.extend([0; 28]);
    expected.extend(0x101_u64.to_be_bytes());
    [2_u32, 5].iter().for_each(|number| expected.extend(number.to_be_bytes()));
    [10_u64, 9, 1, 20, 3, 4, 6].iter().for_each(|number| expected.extend(number.to_be_bytes()));
    [1_u32, 3].iter().for_each(|number| expected.extend(number.to_be_bytes()));
    assert_eq!(reply.to_bytes(), expected);
    assert_eq!(Message::parse(&expected).as_ref(), Ok(&reply));
    let text = "blue dpid=0x0000000000000101 ports=1,3 connections=2 entries=5 frames=10/9 \
                escaped=1 messages=20 refused=3 limited=4 packet_ins_limited=6";
    assert!(reply.to_string().contains(text), "{reply}");
    expected[25] = 111;
    let refused = Message::parse(&expected).expect_err("shorter than it is");
    assert_eq!(refused.error, BadRequest::BadLen.into());
}

#[test]
fn many_slices_take_several_messages() {
    let parts = SlicesMessage::replies(vec![status(); 1_000]);
    let counts: Vec<(bool, usize)> = parts
        .iter()
        .filter_map(|part| match part {
            SlicesMessage::Reply { more, slices } => Some((*more, slices.len())),
            SlicesMessage::Request => None,
        })
        .collect();
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), 1_000);
    assert_eq!(counts.iter().filter(|(more, _)| !more).count(), 1, "{counts:?}");
    assert!(!counts[counts.len() - 1].0 && counts.len() > 1);
}
