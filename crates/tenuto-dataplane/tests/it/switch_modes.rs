//! Mode changes as a switch takes part in them: monitors, swaps, signals, joining.

use proptest::prelude::*;
use support::{
    Bench, GENERATION, activate, add, frame, message_frame, mode_config, modes, monitor, sent_to,
    signal, signal_bytes, with_modes,
};
use tenuto_dataplane::DropReason as R;
use tenuto_dataplane::switch::{PURGE_STEP_FRAMES, SwitchEvent};
use tenuto_dataplane::{Dropped, TimerId};
use tenuto_openflow::{Body, Experimenter, ModeEventKind, ModesMessage, MonitorKind};
use tenuto_units::Span;
use tenuto_wire::{SignalKind as K, SignalRepr};

use crate::support;

#[test]
fn a_violation_raises_inside_the_call_and_loses_no_frame_of_the_message() {
    let mut bench = with_modes();
    bench.receive(1, &message_frame(1, 1, 1_400));
    bench.receive(1, &frame(2, 500));
    bench.receive(1, &frame(2, 500));
    assert_eq!(bench.drain_flows(), [(3, 1), (3, 2), (3, 2)]);
    for _ in 0..3 {
        bench.receive(1, &frame(2, 500));
    }
    bench.wait(Span::from_us(1));
    // 20 ms contracts: the next message comes too early for level 0 only.
    bench.wait(Span::from_ms(30));
    bench.receive(1, &frame(2, 500));
    bench.receive(1, &frame(2, 500));
    bench.receive(1, &frame(2, 500));
    bench.drain();
    bench.drops();
    for _ in 0..3 {
        bench.receive(1, &frame(2, 500));
    }
    bench.receive(1, &message_frame(1, 2, 1_400));
    assert_eq!(bench.switch.mode(), (1, 1, 2), "before the call returns");
    bench.receive(1, &message_frame(1, 2, 200));
    assert_eq!(bench.drops(), [R::Purged, R::Purged], "the committed LO frame stays");
    let events = bench.events();
    let [
        SwitchEvent::Violation { monitor: 1, wanted: 1, .. },
        SwitchEvent::Swapped { from, to, .. },
    ] = events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((from, to), (0, 1));
    let kinds: Vec<_> = bench.messages().into_iter().map(|m| event_kind(&m.body)).collect();
    assert_eq!(kinds, [ModeEventKind::Violation, ModeEventKind::Raised]);
    let sent = bench.drain();
    let flows = sent.iter().filter(|(_, bytes)| bytes[12..14] == [8, 0]).map(|(_, b)| b[5]);
    assert_eq!(flows.collect::<Vec<_>>(), [2, 1, 1], "both frames of the message, in HI entries");
    let counters = bench.entry_counters();
    assert!(counters.contains(&((1, 2, 1), (2, 1_404 + 204))), "{counters:?}");
    let status = bench.status();
    assert_eq!((status.raises, status.returns, status.purged_frames), (1, 0, 2));
    // LO traffic is now outside of the mode.
    bench.receive(1, &frame(2, 100));
    assert_eq!(bench.drops(), [R::OutOfMode]);
    bench.drain();
}

/// With 120 frames to be purged in steps, neighbours hear of the raise before the last is gone.
#[test]
fn signals_leave_between_the_steps_of_a_purge() {
    let mut bench = with_modes();
    bench.switch.purge_in_steps();
    for _ in 0..120 {
        bench.receive(1, &frame(2, 60));
    }
    bench.signal(4, signal(K::Raise, 5, 1));
    assert_eq!(bench.switch.mode(), (1, 1, 5), "the tables are those of the new mode");
    assert_eq!((bench.drops(), bench.events()), (vec![], vec![]), "nothing is purged yet");
    let step = |bench: &mut Bench| {
        bench.switch.purge_some(&mut bench.frames, &mut bench.fx);
        bench.switch.is_purging()
    };
    assert!(step(&mut bench), "more is left");
    assert_eq!(bench.drops().len(), PURGE_STEP_FRAMES);
    // Timers of ports alone: a purge goes on when its steps are called for.
    let is_signal = |(_, bytes): &(u32, Vec<u8>)| tenuto_wire::SignalFrame::parse(bytes).is_ok();
    let left = bench.run_to(bench.now + Span::from_us(20));
    assert!(!is_signal(&left[0]) && left.len() > 1, "the frame whose slot had begun");
    assert!(left[1..].iter().all(is_signal), "{left:?}");
    let mut steps = 1;
    while step(&mut bench) {
        steps += 1;
    }
    assert!(steps <= 120 / PURGE_STEP_FRAMES, "{steps}");
    assert_eq!(bench.drops().len(), 119 - PURGE_STEP_FRAMES);
    let [SwitchEvent::Swapped { from: 0, to: 1, purged: 119, .. }] = bench.events()[..] else {
        panic!("one swap, told at its end")
    };
}

/// Frames that stay leave while others are still to be asked, in their order, and none that has lost its place does.
#[test]
fn what_stays_is_served_during_a_purge() {
    let mut bench = with_modes();
    bench.switch.purge_in_steps();
    // In the queue that it has in the higher mode.
    bench.install([add(2, 1, vec![sent_to(0, 3)])]);
    for id in 0..99 {
        bench.receive(1, &frame(2, 60));
        if id % 12 == 0 {
            bench.receive(1, &message_frame(1, 0, 101 + id / 12));
        }
    }
    bench.signal(4, signal(K::Raise, 5, 1));
    let mut left = Vec::new();
    for _ in 0..4 {
        bench.switch.purge_some(&mut bench.frames, &mut bench.fx);
        assert!(bench.switch.is_purging(), "more is left to be asked");
        left.extend(bench.run_to(bench.now + Span::from_us(30)));
        bench.receive(1, &message_frame(1, 0, 72));
    }
    let of_flow = |left: &[(u32, Vec<u8>)]| -> Vec<usize> {
        left.iter().filter(|(_, b)| b[5] == 1).map(|(_, b)| b.len()).collect()
    };
    assert!(of_flow(&left).len() >= 4, "{left:?}");
    while bench.switch.is_purging() {
        bench.switch.purge_some(&mut bench.frames, &mut bench.fx);
    }
    left.extend(bench.drain());
    let expected: Vec<usize> = (101..=109).chain([72; 4]).collect();
    assert_eq!(of_flow(&left), expected);
    let of_other = left.iter().filter(|(_, bytes)| bytes[5] == 2).count();
    assert_eq!(of_other + bench.drops().len(), 99);
    assert!(of_other <= 1, "none but what was being sent");
}

#[test]
fn a_monitor_that_is_asked_for_again_keeps_what_it_has_seen() {
    // 200 ms in the lower mode, so the second message is too early by far.
    let raises = |again: Option<(u32, u64)>| {
        let mut bench = with_modes();
        bench.receive(1, &message_frame(1, 1, 1_400));
        if let Some(lower) = again {
            bench.ask(monitor(MonitorKind::Message, 1, &[lower, (2_000, 20)]));
        }
        bench.wait(Span::from_ms(30));
        bench.receive(1, &message_frame(1, 2, 1_400));
        bench.switch.mode().0
    };
    assert_eq!((raises(None), raises(Some((2_000, 200)))), (1, 1));
    assert_eq!(raises(Some((2_000, 199))), 0, "another contract begins anew");
}

fn event_kind(body: &Body) -> ModeEventKind {
    match body {
        Body::Experimenter(Experimenter::Modes(ModesMessage::ModeEvent(event))) => event.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_swap_keeps_order_inside_each_flow_and_a_return_queues_anew() {
    let mut bench = with_modes();
    bench.receive(1, &frame(1, 72));
    for id in 1..=3 {
        bench.receive(1, &message_frame(1, 0, 100 + id));
    }
    bench.signal(3, signal(K::Raise, 5, 1));
    assert_eq!(bench.switch.mode(), (1, 1, 5));
    bench.receive(1, &message_frame(1, 0, 104));
    let lengths: Vec<usize> =
        bench.drain().into_iter().filter(|(_, b)| b[5] == 1).map(|(_, b)| b.len()).collect();
    assert_eq!(lengths, [72, 101, 102, 103, 104]);

    // The return, led by the neighbour, with frames in the queues.
    bench.wait(Span::from_s(1));
    bench.events();
    bench.messages();
    for id in 0..3 {
        bench.receive(1, &message_frame(1, 9, 100 + id));
    }
    bench.signal(3, signal(K::Propose, 6, 0));
    assert_eq!(bench.status().phase, 1);
    bench.signal(3, signal(K::Commit, 6, 0));
    assert_eq!(bench.switch.mode(), (0, 1, 6), "edges wait for the last confirmation");
    let kinds: Vec<_> = bench.messages().into_iter().map(|m| event_kind(&m.body)).collect();
    assert_eq!(kinds, [ModeEventKind::Swapped]);
    let mut queues = Vec::new();
    let (_, _, egress) = bench.switch.ports().nth(2).expect("port 3");
    egress.for_each_frame(|queue, f| queues.extend(queue.filter(|_| f.cookie == 1)));
    assert_eq!(queues, [2, 2], "queued anew for level 0");
    assert_eq!(bench.status().returns, 0);
    bench.receive(1, &frame(2, 100));
    assert_eq!(bench.drops(), [R::OutOfMode], "not admitted yet");
    bench.signal(3, signal(K::Resume, 6, 0));
    assert_eq!(bench.switch.mode(), (0, 0, 6));
    let kinds: Vec<_> = bench.messages().into_iter().map(|m| event_kind(&m.body)).collect();
    assert_eq!(kinds, [ModeEventKind::Returned]);
    assert_eq!(bench.status().returns, 1);
    bench.receive(1, &frame(2, 100));
    assert!(bench.drops().is_empty());
    bench.drain();
}

#[test]
fn signals_that_may_not_be_are_rejected_and_change_nothing() {
    let mut bench = with_modes();
    bench.signal(3, signal(K::Raise, 0, 0)); // no news, but its sequence number is used
    bench.drain();
    let good = SignalRepr { sequence: 10, ..signal(K::Raise, 9, 1) };
    let mut own = vec![0; tenuto_wire::signal::SIGNAL_FRAME_LEN];
    good.emit(bench.switch.config().mac(), &support::KEYS[0], &mut own);
    let mut tagged = signal_bytes(3, good);
    tagged.splice(12..12, [0x81, 0, 0, 1]);
    let long = [signal_bytes(3, good), vec![0; 8]].concat();
    let foreign = SignalRepr { sequence: 1, ..good };
    let generation = SignalRepr { generation: GENERATION + 1, ..good };
    for (port, bytes) in [
        (1, signal_bytes(3, good)),                // a host's port
        (4, signal_bytes(3, good)),                // another link's key
        (3, signal_bytes(3, foreign)),             // played back
        (3, own),                                  // reflected
        (3, long),                                 // bytes behind the tag
        (3, signal_bytes(3, good)[..77].to_vec()), // cut short
        (3, tagged),                               // in a VLAN
        (3, signal_bytes(3, generation)),          // of another plan
        (3, signal_bytes(3, SignalRepr { level: 2, sequence: 11, ..good })),
        (3, signal_bytes(3, SignalRepr { epoch: u64::MAX, sequence: 12, ..good })),
    ] {
        let before = bench.key();
        bench.receive(port, &bytes);
        assert_eq!(bench.drops(), [R::SignalRejected]);
        assert_eq!(bench.events(), [SwitchEvent::SignalRejected { port, at: bench.now }]);
        assert_eq!(bench.key(), before);
    }
    assert_eq!(bench.status().signals_rejected, 10);
    bench.receive(3, &signal_bytes(3, SignalRepr { sequence: 13, ..good }));
    assert_eq!(bench.switch.mode(), (1, 1, 9));
    bench.drain();
}

/// Whatever bit of a signal is turned over, and whatever its length: it is none.
#[test]
fn no_part_of_a_signal_can_be_another() {
    let mut bench = with_modes();
    let good = signal_bytes(3, SignalRepr { sequence: 10, ..signal(K::Raise, 9, 1) });
    let mut forged: Vec<Vec<u8>> = Vec::new();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        forged.push(bytes);
    }
    forged.extend((14..good.len()).map(|len| good[..len].to_vec()));
    forged.extend((1..64).map(|more| [good.clone(), vec![0; more]].concat()));
    let before = (bench.switch.mode(), bench.entries());
    let (mut rejected, mut other) = (0, 0);
    for bytes in &forged {
        bench.receive(3, bytes);
        assert_eq!((bench.switch.mode(), bench.entries()), before, "{bytes:02x?}");
        match bench.drops()[..] {
            [R::SignalRejected] => rejected += 1,
            // Another EtherType.
            _ => other += 1,
        }
    }
    assert_eq!(bench.status().signals_rejected, rejected);
    assert_eq!((rejected + other, other), (forged.len() as u64, 16));
    bench.receive(3, &good);
    assert_eq!(bench.switch.mode(), (1, 1, 9), "the sequence number was not used up");
    bench.drain();
}

/// A host that floods signals costs what any frame costs that is looked at and dropped.
#[test]
fn a_flood_of_forged_signals_changes_nothing_and_is_counted() {
    let mut bench = with_modes();
    let good = SignalRepr { sequence: 10, ..signal(K::Raise, 9, 1) };
    let before = bench.switch.mode();
    for n in 0..20_000_u64 {
        let bytes = signal_bytes(3, SignalRepr { sequence: 10 + n, epoch: 9 + n, ..good });
        let work = bench.receive(1, &bytes);
        assert_eq!((work.probes, work.control_messages), (0, 1));
    }
    assert_eq!(bench.switch.mode(), before);
    assert_eq!(bench.drops().len(), 20_000);
    assert_eq!(bench.status().signals_rejected, 20_000);
    assert!(bench.drain_signals().is_empty(), "nothing is passed on");
    assert_eq!(bench.frames.in_use(), 0);
}

#[test]
fn a_raise_is_passed_on_in_copies_but_not_back() {
    let mut bench = with_modes();
    bench.signal(3, signal(K::Raise, 5, 1));
    let (back, sent): (Vec<_>, Vec<_>) =
        bench.drain_signals().into_iter().partition(|(port, _)| *port == 3);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(matches!(back[..], [(3, known)] if known.kind == K::Known && known.epoch == 5));
    for (at, (port, sent)) in sent.into_iter().enumerate() {
        assert_eq!((port, sent.kind, sent.epoch, sent.hops), (4, K::Raise, 5, 1));
        assert_eq!(sent.sequence, 1_001 + at as u64, "strictly increasing per link");
    }
    bench.signal(4, signal(K::Raise, 5, 1));
    let sent = bench.drain_signals();
    assert!(matches!(sent[..], [(4, known)] if known.kind == K::Known), "the copy is no news");
}

#[test]
fn signals_per_link_are_limited_and_the_credit_refills() {
    let mut bench = with_modes();
    // Two copies, two members: 2·(4 + 2·2) = 16 signals in 100 ms.
    let sent = |bench: &mut support::Bench, port| {
        bench.drain_signals().iter().filter(|(sent, _)| *sent == port).count()
    };
    for epoch in 2..30 {
        bench.signal(3, signal(K::Raise, epoch, 1));
    }
    assert_eq!(sent(&mut bench, 4), 16);
    // Reports, one for each copy, have the same limit at their own port.
    assert_eq!(bench.drops(), [R::BufferFull; (2 * 28 - 16) + (28 - 16)]);
    bench.wait(Span::from_ms(13));
    bench.signal(3, signal(K::Raise, 30, 1));
    assert_eq!(sent(&mut bench, 4), 2, "one each 6.25 ms");
    bench.wait(Span::from_s(10));
    for epoch in 31..60 {
        bench.signal(3, signal(K::Raise, epoch, 1));
    }
    assert_eq!(sent(&mut bench, 4), 16, "never more than its depth");
}

#[test]
fn a_started_switch_joins_by_its_own_challenge_only() {
    let mut bench = with_modes();
    let config = bench.switch.config().clone();
    let mut bench = {
        let mut fresh = support::Bench::with(config);
        fresh.install([mode_config(2, &[1, 2])]);
        bench.drain();
        fresh
    };
    assert_eq!(bench.switch.mode(), (1, 1, 0));
    assert_eq!(bench.status().phase, 2);
    bench.switch.fire(TimerId::Mode, bench.now, &mut bench.frames, &mut bench.fx);
    let challenges = bench.drain_signals();
    assert_eq!(challenges.len(), 4, "two copies on two trunks");
    let nonce = challenges[0].1.nonce;
    assert!(challenges.iter().all(|(_, s)| s.kind == K::Challenge && s.nonce == nonce));
    bench.signal(3, SignalRepr { nonce: nonce ^ 1, ..signal(K::Answer, 4, 0) });
    bench.signal(3, SignalRepr { nonce: 0, ..signal(K::Answer, 4, 0) });
    assert_eq!((bench.switch.mode(), bench.switch.has_joined()), ((1, 1, 0), false));
    // Asked again, with another nonce; the first one is void.
    bench.wait(Span::from_ms(10));
    bench.switch.fire(TimerId::Mode, bench.now, &mut bench.frames, &mut bench.fx);
    let again = bench.drain_signals()[0].1.nonce;
    assert_ne!(again, nonce);
    bench.signal(3, SignalRepr { nonce, ..signal(K::Answer, 4, 0) });
    assert!(!bench.switch.has_joined());
    bench.signal(3, SignalRepr { nonce: again, ..signal(K::Answer, 4, 0) });
    assert_eq!((bench.switch.mode(), bench.switch.has_joined()), ((0, 0, 4), true));
    let status = bench.status();
    assert_eq!((status.raises, status.returns, status.phase), (0, 0, 0), "joining is no return");
}

#[test]
fn a_challenge_is_answered_on_its_link_with_its_nonce() {
    let mut bench = with_modes();
    bench.signal(4, SignalRepr { nonce: 42, ..signal(K::Challenge, 0, 1) });
    let answers = bench.drain_signals();
    assert_eq!(answers.len(), 1, "each copy of a question is answered");
    for (port, answer) in answers {
        assert_eq!((port, answer.kind, answer.nonce), (4, K::Answer, 42));
        assert_eq!((answer.epoch, answer.level), (1, 0));
    }
}

#[test]
fn settings_that_are_the_same_change_nothing_and_new_ones_start_at_the_top() {
    let mut bench = with_modes();
    assert_eq!(support::Bench::new().status(), {
        let mut other = support::Bench::new();
        other.wait(Span::from_s(1));
        other.status()
    });
    let before = bench.key();
    bench.install([mode_config(2, &[2, 1, 1])]);
    assert_eq!(bench.key(), before, "members are a set");
    for _ in 0..3 {
        bench.receive(1, &frame(2, 500));
    }
    bench.install([mode_config(2, &[1, 2, 3])]);
    assert_eq!(bench.switch.mode(), (1, 1, 0));
    assert!(!bench.switch.has_joined());
    assert_eq!(bench.drops(), [R::Purged; 2]);
    bench.drain();
    bench.ask(activate(3, 0));
    assert_eq!(bench.switch.mode(), (0, 0, 3));
    bench.install([activate(3, 1), activate(2, 1)]);
    assert_eq!(bench.switch.mode(), (0, 0, 3), "no news");
    bench.install([modes(ModesMessage::ModeActivate { generation: 1, epoch: 9, level: 1 })]);
    bench.install([activate(9, 2), activate(u64::MAX, 1)]);
    assert_eq!(bench.switch.mode(), (0, 0, 3), "another plan, no such level or epoch");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_are_never_lost_track_of(
        steps in prop::collection::vec((0u8..6, 0u8..3, 60u32..1_400, 0u64..40_000), 1..60),
    ) {
        let mut bench = with_modes();
        let (mut epoch, mut entered, mut left) = (1, 0, 0);
        for (kind, flow, len, us) in steps {
            bench.wait(Span::from_us(us));
            epoch += 1;
            match kind {
                0 => bench.signal(3, signal(K::Raise, epoch, 1)),
                1 => drop(bench.ask(activate(epoch, 0))),
                2 => left += data(&bench.run_to(bench.now)),
                _ => {
                    bench.receive(1, &message_frame(flow, len, len as usize));
                    entered += 1;
                }
            }
        }
        left += data(&bench.drain());
        let is_signal = |d: &Dropped| d.reason == R::BufferFull && d.cookie == 0;
        let dropped = bench.fx.drops.iter().filter(|d| !is_signal(d)).count();
        prop_assert_eq!(entered, left + dropped);
    }
}

fn data(sent: &[(u32, Vec<u8>)]) -> usize {
    sent.iter().filter(|(_, bytes)| bytes[12..14] == [8, 0]).count()
}
