//! Every frame that a port is offered is in exactly one of its counters.

use support::general::{any, bench, entry, group_of};
use support::{Bench, frame, output};
use tenuto_dataplane::switch::DeviceLosses;
use tenuto_openflow::constants::{port, port_config};
use tenuto_openflow::*;

use crate::support;

fn counters(bench: &mut Bench, number: u32) -> PortStats {
    let reply = bench.reply(RequestBody::PortStats { port_no: number });
    let ReplyBody::PortStats(ports) = reply else { panic!("{reply:?}") };
    ports.into_iter().next().expect("one port")
}

/// All that came in at a port, and all that was to leave by it.
fn offered(it: &PortStats) -> (u64, u64) {
    (it.rx_packets + it.rx_dropped + it.rx_errors, it.tx_packets + it.tx_dropped + it.tx_errors)
}

#[test]
fn a_full_queue_counts_where_frames_were_to_leave_however_many_copies() {
    let mut bench = bench();
    bench.install([Body::FlowMod(any(1, vec![output(port::ALL)]))]);
    for _ in 0..40 {
        bench.receive(1, &frame(1, 1_514));
    }
    bench.drain();
    let first = counters(&mut bench, 1);
    assert_eq!((first.rx_packets, first.rx_dropped, first.rx_errors), (40, 0, 0));
    for number in 2..=4 {
        let it = counters(&mut bench, number);
        assert!(it.tx_dropped > 0, "port {number}: the queue was full");
        assert_eq!(offered(&it), (0, 40), "port {number}");
    }
}

#[test]
fn every_frame_is_in_one_counter_whatever_becomes_of_it() {
    let mut bench = bench();
    let copies = vec![Bucket::new(vec![output(2)]), Bucket::new(vec![output(3)])];
    let tag = Action::PushVlan(0x8100);
    let from = |port| vec![Oxm::InPort(port)];
    bench.install([
        group_of(GroupModCommand::Add, GroupType::All, 1, copies),
        entry(from(1), vec![Action::Group(1)]),
        entry(from(4), vec![tag.clone(), tag, output(2), output(3)]),
    ]);
    let closed = bench.port_mod(3, port_config::NO_FWD, port_config::NO_FWD);
    bench.ask_on(0, closed);
    // Forwarded twice, without an entry, unreadable; too long once it has two tags.
    for _ in 0..5 {
        bench.receive(1, &frame(1, 100));
        bench.receive(2, &frame(2, 100));
        bench.receive(2, &[0; 10]);
        bench.receive(4, &frame(3, 1_514));
    }
    // What never got so far.
    bench.switch.not_stored(2, 100);
    bench.switch.not_stored(2, 1_519);
    for no_room in [3, 7] {
        bench.switch.set_device_losses(2, DeviceLosses { no_room, unfit: 2 });
    }
    bench.drain();
    bench.switch.not_taken(2, 1);
    let second = counters(&mut bench, 2);
    assert_eq!((second.rx_packets, second.rx_dropped, second.rx_errors), (5, 1 + 7, 5 + 1 + 2));
    assert_eq!((second.tx_packets, second.tx_dropped), (4, 5 + 1));
    for (number, expected) in [(1, (5, 0)), (2, (21, 10)), (3, (0, 10)), (4, (5, 0))] {
        assert_eq!(offered(&counters(&mut bench, number)), expected, "port {number}");
    }
}
