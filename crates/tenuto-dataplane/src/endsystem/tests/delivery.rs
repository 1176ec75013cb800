//! What arrives, when, and how it is counted.

use super::*;
use crate::{FRAME_CAPACITY, Queued};

#[test]
fn a_message_takes_exactly_its_serialisation_time() {
    let behaviour = Behaviour::constant(Span::from_ms(40), 300_000, 1);
    let mut pair = pair(Form::Message, behaviour, &[1], None);
    pair.source.start_flow(FLOW, ms(3)).expect("known");
    pair.run(ms(200), |_, _| true);
    // (300 000 + 206 · 78) · 8 bits at 100 Mbit/s.
    let wire = Span::from_ns((300_000 + 206 * 78) * 8 * 10);
    let expected: Vec<_> = (0..5)
        .map(|k| (k, ms(3 + 40 * u64::from(k))))
        .map(|(k, release)| (k, release, release + wire))
        .collect();
    assert_eq!(pair.delivered(), expected);
    assert_eq!(
        pair.source.sender_counters(FLOW),
        Some(SenderCounters {
            messages: 5,
            frames: 5 * 206,
            bytes: 5 * (300_000 + 206 * 58),
            refused: 0,
            lateness_max: Span::ZERO,
        })
    );
    assert_eq!(
        pair.target.receiver_counters(FLOW),
        Some(ReceiverCounters {
            frames: 5 * 206,
            delivered: 5,
            copies: [5, 0],
            delay_max: wire,
            copy_delay_max: [wire, Span::ZERO],
            ..ReceiverCounters::default()
        })
    );
    assert_eq!(pair.target.counters(), HostCounters::default());
    assert_eq!(pair.heard.drops, []);
    assert_eq!(pair.frames.in_use(), 0);
}

#[test]
fn a_virtual_link_over_two_networks_arrives_once() {
    let form = Form::Datagram { sequenced: true };
    let behaviour = Behaviour::constant(Span::from_ms(1), 17, 0);
    let mut pair = pair(form, behaviour, &[1, 2], Some(Span::from_ms(5)));
    pair.source.start_flow(FLOW, ms(0)).expect("known");
    pair.run(ms(599), |_, _| true);
    let wire = Span::from_ns(84 * 8 * 10);
    assert_eq!(
        pair.target.receiver_counters(FLOW),
        Some(ReceiverCounters {
            frames: 2 * 599,
            delivered: 599,
            copies: [599, 599],
            second_copies: 599,
            delay_max: wire,
            copy_delay_max: [wire, wire],
            ..ReceiverCounters::default()
        })
    );
    assert_eq!(pair.heard.drops.len(), 599);
    assert!(pair.heard.drops.iter().all(|d| d.reason == DropReason::Duplicate));
}

#[test]
fn a_dead_network_costs_no_message_and_is_noticed() {
    for form in [Form::Datagram { sequenced: true }, Form::Message] {
        for dead in [1, 2] {
            let behaviour = Behaviour::constant(Span::from_ms(1), 1_000, 0);
            let mut pair = pair(form, behaviour, &[1, 2], Some(Span::from_us(100)));
            pair.source.start_flow(FLOW, ms(0)).expect("known");
            pair.run(ms(300), |port, _| port != dead);
            let counters = pair.target.receiver_counters(FLOW).expect("known");
            assert_eq!((counters.delivered, counters.copies_missing), (300, 300));
            let missed = pair
                .heard
                .events
                .iter()
                .filter(|e| matches!(e, HostEvent::CopyMissing { port, .. } if *port == dead));
            assert_eq!(missed.count(), 300);
        }
    }
}

#[test]
fn unfinished_copies_are_given_up_in_time() {
    let behaviour = Behaviour::constant(Span::from_ms(20), 1460 * 3, 0);
    let mut pair = pair(Form::Message, behaviour, &[1], None);
    pair.source.start_flow(FLOW, ms(0)).expect("known");
    pair.run(ms(1), |_, number| number == 0);
    pair.source.stop_flow(FLOW).expect("known");
    pair.run(ms(1_000), |_, _| true);
    let lost = HostEvent::Incomplete { flow: FLOW, message_id: 0, port: 1, frames_missing: 2 };
    assert_eq!(pair.heard.events, [lost]);
    assert_eq!(pair.now, Instant::from_ns(123_040) + Span::from_ms(50));
}

#[test]
fn an_end_too_small_for_a_stamp_belongs_to_its_message() {
    for end in 1..20 {
        let behaviour = Behaviour::constant(Span::from_ms(1), 1460 + end, 0);
        let mut pair = pair(Form::Message, behaviour, &[1], None);
        pair.source.start_flow(FLOW, ms(1)).expect("known");
        pair.run(ms(9), |_, _| true);
        assert_eq!(pair.delivered().len(), 8, "{end}");
        assert_eq!(pair.heard.drops, []);
    }
}

#[test]
fn a_full_buffer_names_the_message_that_it_refuses() {
    let behaviour = Behaviour::constant(Span::from_ms(1), 1460 * 3, 0);
    let mut pair = pair(Form::Message, behaviour, &[1], None);
    let mut config = pair.source.config().as_ref().clone();
    config.ports[0].egress.buffer_bits = 2 * 1538 * 8;
    pair.source = EndSystem::new(Arc::new(config)).expect("valid");
    pair.source.start_flow(FLOW, ms(0)).expect("known");
    pair.run(ms(0), |_, _| true);
    let drop = Dropped {
        reason: DropReason::BufferFull,
        port: 1,
        cookie: u64::from(FLOW) + 1,
        message: Some((FLOW, 0)),
        frame_bytes: 1518,
    };
    assert_eq!(pair.fx.drops, [drop]);
    assert_eq!(pair.source.sender_counters(FLOW).map(|c| (c.frames, c.refused)), Some((2, 1)));
}

#[test]
fn raw_frames_share_the_egress_with_flows() {
    let behaviour = Behaviour::constant(Span::from_ms(1), 100, 0);
    let mut pair = pair(Form::Message, behaviour, &[1], None);
    let Pair { source, target, frames, fx, heard, .. } = &mut pair;
    let now = Instant::ZERO;
    assert!(source.inject(now, 1, 0, &[0xff; 60], frames, fx));
    assert!(source.inject(now, 1, crate::SIGNAL_QUEUE, &[1], frames, fx));
    assert!(!source.inject(now, 1, 0, &[0; FRAME_CAPACITY + 1], frames, fx));
    assert!(!source.inject(now, 9, 0, &[0; 60], frames, fx));
    let reasons = |fx: &Effects<HostEvent>| fx.drops.iter().map(|d| d.reason).collect::<Vec<_>>();
    assert_eq!(reasons(fx), [DropReason::Malformed, DropReason::NoOutput]);
    for queued in [1, 2, 2] {
        // The third time nothing is left.
        source.fire(TimerId::PortReady(1), ms(1), frames, fx);
        assert_eq!(fx.transmits.len(), queued);
    }
    for sent in fx.transmits.drain(..) {
        let _work = target.receive(ms(1), sent.departure, 1, sent.frame, frames, heard);
    }
    assert_eq!(reasons(heard), [DropReason::Unknown, DropReason::Malformed]);
    assert_eq!(frames.in_use(), 0);
    let counted = HostCounters { injected: 2, inject_refused: 2, ..HostCounters::default() };
    assert_eq!(source.counters(), counted);
    let counted = HostCounters { unknown: 1, malformed: 1, ..HostCounters::default() };
    assert_eq!(target.counters(), counted);
}

#[test]
fn frames_of_other_programs_are_theirs() {
    for form in [Form::Message, Form::Datagram { sequenced: true }] {
        let behaviour = Behaviour::constant(Span::from_ms(1), 100, 0);
        let Pair { mut target, mut frames, mut heard, .. } = pair(form, behaviour, &[1], None);
        let mut bytes = [0; FRAME_LEN_MAX];
        let written = header(FLOW).frame([2; 6], 90).emit(&mut bytes).expect("fits");
        bytes[written.payload].fill(0x55);
        let frame = frames.insert(&bytes[..written.len]).expect("room");
        let _work = target.receive(ms(1), ms(1), 1, frame, &mut frames, &mut heard);
        assert_eq!(heard.events, [HostEvent::Foreign { flow: FLOW, port: 1, bytes: 90 }]);
        // At a port that the flow does not arrive at it is nobody's.
        let frame = frames.insert(&bytes[..written.len]).expect("room");
        let _work = target.receive(ms(1), ms(1), 2, frame, &mut frames, &mut heard);
        assert_eq!(heard.drops.iter().map(|d| d.reason).collect::<Vec<_>>(), [DropReason::Unknown]);
        let counted = ReceiverCounters { frames: 1, foreign: 1, ..ReceiverCounters::default() };
        assert_eq!(target.receiver_counters(FLOW), Some(counted));
    }
}

#[test]
fn all_frames_of_a_release_are_queued_at_once_under_the_cookie_of_their_flow() {
    let behaviour = Behaviour::constant(Span::from_ms(1), 3_000, 2);
    let mut pair = pair(Form::Message, behaviour, &[1, 2], None);
    pair.source.start_flow(FLOW, ms(0)).expect("known");
    pair.source.fire(TimerId::Release(FLOW), ms(0), &mut pair.frames, &mut pair.fx);
    for port in [1, 2] {
        let mut queued = Vec::new();
        let egress = pair.source.egress(port).expect("there");
        egress.for_each_frame(|queue, &Queued { cookie, since, .. }| {
            queued.push((queue, cookie, since));
        });
        let cookie = u64::from(FLOW) + 1;
        let expected = [(Some(2), cookie, ms(0)), (Some(2), cookie, ms(0)), (None, cookie, ms(0))];
        assert_eq!(queued, expected);
    }
}
