//! Literal bytes of our messages about queues, as `docs/reference/experimenter.md` has them.

use tenuto_openflow::{
    BadRequest, Body, DelayRange, Experimenter, Message, QueueDetail, QueueShare, QueuesMessage,
};

/// Bytes of hexadecimal digits; what is no digit separates.
fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("two digits")).collect()
}

fn check(exp_type: u32, body: &str, message: QueuesMessage, text: &str) {
    let body = bytes(body);
    let mut expected = vec![4, 4, 0, u8::try_from(16 + body.len()).expect("short"), 0, 0, 0, 7];
    expected.extend(0x5445_4e55_u32.to_be_bytes());
    expected.extend(exp_type.to_be_bytes());
    expected.extend(body);
    let message = Message::new(7, Body::Experimenter(Experimenter::Queues(message)));
    assert_eq!(message.to_bytes(), expected);
    assert_eq!(Message::parse(&expected).as_ref(), Ok(&message));
    assert!(message.to_string().contains(text), "{message}");
}

#[test]
fn levels_and_weights() {
    let share = |queue, level, weight| QueueShare { queue, level, weight };
    check(
        19,
        "00000002 00000000  00000001 01 03 0000  00000002 01 01 0000",
        QueuesMessage::QueueMod { port: 2, shares: vec![share(1, 1, 3), share(2, 1, 1)] },
        "QUEUE_MOD port=2 [queue=1 level=1 weight=3; queue=2 level=1 weight=1]",
    );
}

#[test]
fn what_queues_have_seen() {
    check(
        20,
        "ffffffff ffffffff",
        QueuesMessage::DetailRequest { port: u32::MAX, queue: u32::MAX },
        "QUEUE_DETAIL_REQUEST",
    );
    check(
        21,
        "01 00000000000000
         00000002 0048 01 03 00000001 00000000 00000004 00000009
         0000000000001810 0000000000003620 0000000000012345
         0000000000012000 0000000000014000 0000000000000011",
        QueuesMessage::DetailReply {
            more: true,
            queues: vec![QueueDetail {
                port: 2,
                share: QueueShare { queue: 1, level: 1, weight: 3 },
                frames: 4,
                frames_max: 9,
                wire_bytes: 0x1810,
                wire_bytes_max: 0x3620,
                delay_ns_max: 0x12345,
                delays: vec![DelayRange { from_ns: 0x12000, below_ns: 0x14000, frames: 17 }],
            }],
        },
        "port=2 queue=1 level=1 weight=3 waiting=4/9 frames",
    );
}

#[test]
fn a_queue_that_is_shorter_than_its_fields_is_refused() {
    let mut head = vec![4, 4, 0, 72, 0, 0, 0, 7];
    head.extend(bytes("54454e55 00000015 0000000000000000 00000002 002f 0000"));
    head.resize(72, 0);
    let error = Message::parse(&head).expect_err("47 bytes are no queue");
    assert_eq!(error.error, BadRequest::BadLen.into());
}
