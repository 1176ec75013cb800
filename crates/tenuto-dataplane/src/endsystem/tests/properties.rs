//! Whatever is sent, lost, repeated or made up.

use super::*;
use proptest::prelude::*;
use tenuto_wire::ShimRepr;

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Message),
        Just(Form::Datagram { sequenced: true }),
        Just(Form::Datagram { sequenced: false }),
    ]
}

fn with_header(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; FRAME_LEN_MAX];
    let written = header(FLOW).frame([2; 6], payload.len()).emit(&mut bytes).expect("fits");
    bytes[written.payload].copy_from_slice(payload);
    bytes.truncate(written.len);
    bytes
}

/// A payload with a stamp and, for a message, a shim whose fields are near those that fit.
fn nearly_right(form: Form, noise: &[u8], now: Instant) -> Vec<u8> {
    let mut payload = noise.to_vec();
    let [id, wrong] = [0, 1].map(|at| noise.get(at).map_or(0, |byte| u32::from(byte % 4)));
    let stamp = Stamp { release: now.saturating_sub(Span::from_us(9)), flow: FLOW, message_id: id };
    let start = if form == Form::Message { 12 } else { 0 };
    if let Some((shim, data)) = payload.split_at_mut_checked(start) {
        let _stamped = stamp.emit(data);
        let claimed = u32::try_from(data.len()).expect("short") + wrong / 2;
        if start > 0 {
            let shim_fields =
                ShimRepr { message_id: id, message_bytes: claimed, sequence: wrong / 3 };
            shim_fields.emit(shim);
        }
    }
    payload
}

proptest! {
    #[test]
    fn every_message_is_delivered_once_with_its_exact_delay(
        form in form(),
        bytes in 16u32..=20_000,
        period_us in 2_000u64..5_000,
        jitter_us in 0u64..1_000,
    ) {
        let bytes = if form == Form::Message { bytes } else { bytes.min(DATAGRAM_BYTES_MAX) };
        let behaviour = Behaviour {
            bytes_min: 16,
            jitter: Span::from_us(jitter_us),
            ..Behaviour::constant(Span::from_us(period_us), bytes, 0)
        };
        let mut pair = pair(form, behaviour, &[1], None);
        pair.source.start_flow(FLOW, ms(1)).expect("known");
        pair.run(ms(100), |_, _| true);
        pair.source.stop_flow(FLOW).expect("known");
        pair.run(ms(200), |_, _| true);
        // A message may be released while the one before it still leaves.
        let mut line_free = Instant::ZERO;
        let expected: Vec<_> = pair.fx.events.iter().map(|event| match *event {
            HostEvent::Released { message_id, actual, bytes, .. } => {
                let bits = match form {
                    Form::Message => tenuto_wire::shim::message_wire_bits(bytes),
                    Form::Datagram { .. } => tenuto_units::wire_bits(bytes + 46),
                };
                line_free = line_free.max(actual) + Span::from_ns(bits * 10);
                (message_id, actual, line_free)
            }
            ref other => panic!("{other:?}"),
        }).collect();
        prop_assert!(expected.len() >= 16);
        prop_assert_eq!(pair.delivered(), expected);
        prop_assert_eq!(pair.frames.in_use(), 0);
    }

    #[test]
    fn losses_on_one_network_at_a_time_lose_no_message(
        form in form(),
        bytes in 16u32..1_400,
        lost in proptest::collection::vec(0u8..3, 300),
    ) {
        // Frame k is lost on network A, on B, or on neither.
        let behaviour = Behaviour::constant(Span::from_ms(1), bytes, 0);
        let mut pair = pair(form, behaviour, &[1, 2], Some(Span::from_us(500)));
        pair.source.start_flow(FLOW, ms(0)).expect("known");
        pair.run(ms(299) + Span::from_us(900), |port, number| u32::from(lost[number]) != port);
        let ids: Vec<_> = pair.delivered().into_iter().map(|(id, ..)| id).collect();
        prop_assert_eq!(ids, (0..300).collect::<Vec<_>>());
        let missing = u64::try_from(lost.iter().filter(|&&l| l != 0).count()).expect("small");
        let counters = pair.target.receiver_counters(FLOW).expect("known");
        prop_assert_eq!(counters.copies_missing, missing);
        prop_assert_eq!(counters.second_copies, 300 - missing);
        prop_assert_eq!(counters.skew_exceeded + counters.repeated_frames, 0);
    }

    #[test]
    fn repeats_and_disorder_deliver_each_message_once(
        order in proptest::collection::vec((0usize..40, 1u32..3), 200..400),
    ) {
        let behaviour = Behaviour::constant(Span::from_ms(2), 1460 * 3, 0);
        let mut pair = pair(Form::Message, behaviour, &[1, 2], None);
        pair.source.start_flow(FLOW, ms(0)).expect("known");
        let mut sent = Vec::new();
        while sent.len() < 40 {
            let (_, now) = pair.source.next_deadline().expect("never ends");
            fire_due(&mut pair.source, now, &mut pair.frames, &mut pair.fx);
            sent.extend(pair.fx.transmits.drain(..).filter(|t| t.port == 1).map(|t| t.frame));
        }
        let mut seen = BTreeMap::<(u32, usize), std::collections::BTreeSet<usize>>::new();
        for &(index, port) in &order {
            seen.entry((port, index / 3)).or_default().insert(index % 3);
            pair.frames.retain(sent[index]);
            let (frames, heard) = (&mut pair.frames, &mut pair.heard);
            let _work = pair.target.receive(ms(90), ms(90), port, sent[index], frames, heard);
        }
        let whole = |message| (1..3).any(|p| seen.get(&(p, message)).is_some_and(|f| f.len() == 3));
        let mut ids: Vec<_> = pair.delivered().into_iter().map(|(id, ..)| id).collect();
        ids.sort_unstable();
        let expected: Vec<_> = (0u32..14).filter(|&m| whole(m as usize)).collect();
        prop_assert_eq!(ids, expected);
    }

    #[test]
    fn any_bytes_are_an_answer(
        frames_in in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..200), any::<bool>(), any::<bool>()),
            1..50,
        ),
        form in form(),
    ) {
        let behaviour = Behaviour::constant(Span::from_ms(1), 1_472, 0);
        let Pair { mut target, mut frames, mut heard, .. } =
            pair(form, behaviour, &[1, 2], Some(Span::from_us(10)));
        let mut now = Instant::ZERO;
        for (noise, ours, stamped) in &frames_in {
            // Noise, noise behind the flow's header, or a message that is nearly right.
            let bytes = match (ours, stamped) {
                (false, _) => noise.clone(),
                (true, false) => with_header(noise),
                (true, true) => with_header(&nearly_right(form, noise, now)),
            };
            let frame = frames.insert(&bytes).expect("room");
            let port = 1 + u32::from(noise.len() % 2 == 0);
            let _work = target.receive(now, now, port, frame, &mut frames, &mut heard);
            now += Span::from_us(3);
            target.fire(TimerId::Reassembly, now, &mut frames, &mut heard);
        }
        prop_assert_eq!(frames.in_use(), 0);
        let counted = target.receiver_counters(FLOW).expect("known");
        let host = target.counters();
        prop_assert_eq!(
            counted.frames + host.unknown + host.malformed,
            u64::try_from(frames_in.len()).expect("small")
        );
    }
}
