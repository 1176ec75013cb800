//! The laws of the codec, over arbitrary messages and arbitrary bytes.

use crate::common;

use proptest::collection::vec;
use proptest::prelude::*;
use tenuto_openflow::{DecodeError, Framer, Message, MultipartReply, ReplyBody, TooLong};

/// What may be asked of any bytes: no panic, and what was understood is stable.
fn parse_is_stable(bytes: &[u8]) {
    match Message::parse(bytes) {
        Ok(message) => {
            let again = message.to_bytes();
            assert_eq!(Message::parse(&again).as_ref(), Ok(&message));
            assert!(!message.to_string().contains('\n'));
        }
        Err(error) => {
            assert!(error.head.len() <= DecodeError::HEAD_BYTES_MAX);
            if let Some(answer) = error.answer() {
                assert_eq!(Message::parse(&answer.to_bytes()), Ok(answer));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parse_undoes_emit(message in common::message()) {
        let bytes = message.to_bytes();
        let parsed = Message::parse(&bytes);
        prop_assert_eq!(parsed.as_ref(), Ok(&message));
        // So emit undoes parse on everything that emit produces.
        prop_assert_eq!(parsed.expect("just compared").to_bytes(), bytes);
    }

    #[test]
    fn every_truncation_is_refused(message in common::message(), cut in any::<prop::sample::Index>()) {
        let bytes = message.to_bytes();
        prop_assert!(Message::parse(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn damaged_messages_never_panic(
        message in common::message(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = message.to_bytes();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            // The length stays right, or nothing but the header would ever be looked at.
            if !(2..4).contains(&place) {
                bytes[place] = value;
            }
        }
        parse_is_stable(&bytes);
    }

    #[test]
    fn noise_never_panics(type_ in 0_u8..32, body in vec(any::<u8>(), 0..200)) {
        let len = u8::try_from(8 + body.len()).expect("below 256");
        let mut bytes = vec![4, type_, 0, len, 0, 0, 0, 1];
        bytes.extend(body);
        parse_is_stable(&bytes);
    }

    #[test]
    fn any_segmentation_gives_the_same_messages(
        messages in vec(common::message(), 0..6),
        cuts in vec(1_usize..90, 1..40),
    ) {
        let mut stream = Vec::new();
        messages.iter().for_each(|message| message.emit(&mut stream));
        let (mut framer, mut received) = (Framer::new(), Vec::new());
        let mut rest = stream.as_slice();
        let mut cuts = cuts.into_iter().cycle();
        while !rest.is_empty() {
            let (segment, later) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
            framer.push(segment).expect("a segment fits when everything complete was taken");
            received.extend(std::iter::from_fn(|| framer.next()));
            rest = later;
        }
        let expected: Vec<_> = messages.into_iter().map(Ok).collect();
        prop_assert_eq!(received, expected);
        prop_assert_eq!(framer, Framer::new());
    }

    #[test]
    fn a_split_reply_fits_and_loses_nothing(entry in common::flow_stats(), n in 0_usize..2_000) {
        let entries = vec![entry; n];
        let parts = MultipartReply::new(ReplyBody::Flow(entries.clone())).split();
        let mut together = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            prop_assert_eq!(part.has_more(), i + 1 < parts.len());
            let message = Message::new(1, tenuto_openflow::Body::MultipartReply(part.clone()));
            prop_assert_eq!(message.try_emit(&mut Vec::new()), Ok(()));
            let ReplyBody::Flow(list) = &part.body else { panic!("another kind") };
            together.extend(list.iter().cloned());
        }
        prop_assert_eq!(together, entries);
    }
}

#[test]
fn a_message_that_does_not_fit_leaves_no_bytes() {
    let message = Message::new(1, tenuto_openflow::Body::EchoRequest(vec![0; 65_528]));
    let mut out = vec![7];
    assert_eq!(message.try_emit(&mut out), Err(TooLong));
    assert_eq!(out, [7]);
}
