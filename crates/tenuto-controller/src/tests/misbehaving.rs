//! Whatever a switch sends, the controller neither panics nor breaks its invariants.

use super::fake_switch::FakeSwitch;
use super::lab::Lab;
use crate::{ConnId, ControllerEvent};
use proptest::prelude::*;
use tenuto_openflow::constants::OFP_VERSION;

/// A header that is right for `body`, so that the body is looked at.
fn framed(type_: u8, xid: u32, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + body.len()).expect("bodies of tests are short");
    let mut bytes = vec![OFP_VERSION, type_];
    bytes.extend(len.to_be_bytes());
    bytes.extend(xid.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Everything that the switch says in a whole installation.
fn conversation() -> Vec<Vec<u8>> {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(1));
    let mut said = Vec::new();
    while !lab.controller.is_ready() {
        let bytes = lab.switch(conn).take_output();
        lab.controller.received(lab.now, conn, &bytes);
        said.push(bytes);
        let output = std::mem::take(lab.controller.output(conn).expect("connected"));
        lab.switch(conn).receive(&output);
    }
    said.push(lab.switch(conn).take_output());
    said
}

/// A session that was cut off is closed and told of once; nothing was promised.
fn check(lab: &mut Lab, conn: ConnId) -> Result<(), TestCaseError> {
    lab.events.extend(std::iter::from_fn(|| lab.controller.next_event()));
    let closed = lab.events.iter().filter(|e| matches!(e, ControllerEvent::Closed { .. })).count();
    prop_assert_eq!(closed, usize::from(lab.controller.wants_close(conn)));
    lab.controller.for_each_deadline(|_, _| {});
    lab.controller.fire_due(tenuto_units::Instant::MAX);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(after in 0_usize..12, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut lab = Lab::new(&[1]);
        let conn = lab.connect(FakeSwitch::new(1));
        (0..after).for_each(|_| { lab.exchange(); });
        lab.controller.received(lab.now, conn, &bytes);
        check(&mut lab, conn)?;
    }

    #[test]
    fn random_bodies_behind_good_headers(
        after in 0_usize..12,
        messages in prop::collection::vec(
            (0_u8..32, 0_u32..64, prop::collection::vec(any::<u8>(), 0..80)),
            1..10,
        ),
    ) {
        let mut lab = Lab::new(&[1]);
        let conn = lab.connect(FakeSwitch::new(1));
        (0..after).for_each(|_| { lab.exchange(); });
        for (type_, xid, body) in messages {
            lab.controller.received(lab.now, conn, &framed(type_, xid, &body));
        }
        check(&mut lab, conn)?;
    }

    /// A real installation in which bytes are changed, cut off, or said twice.
    #[test]
    fn a_spoilt_conversation(
        at in any::<prop::sample::Index>(),
        byte in any::<prop::sample::Index>(),
        value in any::<u8>(),
        how in 0_u8..3,
    ) {
        let said = conversation();
        let mut lab = Lab::new(&[1]);
        let conn = ConnId(1);
        lab.controller.connected(lab.now, conn);
        let spoilt = at.index(said.len());
        for (i, bytes) in said.iter().enumerate() {
            let mut bytes = bytes.clone();
            if i == spoilt && !bytes.is_empty() {
                let byte = byte.index(bytes.len());
                match how {
                    0 => bytes[byte] = value,
                    1 => bytes.truncate(byte),
                    _ => bytes.extend_from_within(byte..),
                }
            }
            // However the stream is cut into segments.
            for part in bytes.chunks(7) {
                lab.controller.received(lab.now, conn, part);
            }
        }
        check(&mut lab, conn)?;
    }
}

#[test]
fn the_conversation_itself_installs_the_switch() {
    let mut lab = Lab::new(&[1]);
    lab.controller.connected(lab.now, ConnId(1));
    for bytes in conversation() {
        for part in bytes.chunks(7) {
            lab.controller.received(lab.now, ConnId(1), part);
        }
    }
    assert!(lab.controller.is_ready());
}
