//! End systems allocate nothing per frame once they have run for a while.

use std::sync::Arc;
use tenuto_dataplane::endsystem::{
    Behaviour, EndPort, EndSystem, EndSystemConfig, FlowHeader, Form, HostEvent, ReceiverConfig,
    SenderConfig,
};
use tenuto_dataplane::{Effects, EgressConfig, FramePool, Frames, TimerId};
use tenuto_units::{Instant, Rate, Span};

const PORTS: [u32; 2] = [1, 2];

/// A message flow with jitter and drawn sizes, and a virtual link, both over two networks.
const FLOWS: [(u16, Form, u32); 2] =
    [(1, Form::Message, 30_000), (2, Form::Datagram { sequenced: true }, 200)];

fn header(flow: u16) -> FlowHeader {
    let [high, low] = flow.to_be_bytes();
    FlowHeader {
        eth_dst: [3, 0, 0, 0, high, low],
        ip_src: [10, 0, 0, 1],
        ip_dst: [224, 224, high, low],
        udp_port: 20_000 + flow,
        dscp: 0,
    }
}

fn end_system(sends: bool) -> EndSystem {
    let rate = Rate::from_bps(100_000_000).expect("not zero");
    let egress = EgressConfig { rate, queues: 2, buffer_bits: 1 << 22, unpromised_from: None };
    let sender = |(flow, form, bytes): (u16, Form, u32)| SenderConfig {
        flow,
        header: header(flow),
        form,
        ports: PORTS.to_vec(),
        behaviours: vec![Behaviour {
            bytes_min: 100,
            jitter: Span::from_us(500),
            ..Behaviour::constant(Span::from_ms(5), bytes, 0)
        }],
    };
    let receiver = |(flow, form, bytes_max): (u16, Form, u32)| ReceiverConfig {
        flow,
        header: header(flow),
        form,
        bytes_max,
        ports: PORTS.to_vec(),
        skew_max: Some(Span::from_ms(1)),
        patience: Some(Span::from_ms(10)),
    };
    let config = EndSystemConfig {
        host: 1,
        seed: 1,
        ports: PORTS.map(|port| EndPort { port, egress, mac: [2, 0, 0, 0, 0, 0x20] }).to_vec(),
        senders: if sends { FLOWS.map(sender).to_vec() } else { Vec::new() },
        receivers: if sends { Vec::new() } else { FLOWS.map(receiver).to_vec() },
    };
    EndSystem::new(Arc::new(config)).expect("valid")
}

struct Joined {
    source: EndSystem,
    target: EndSystem,
    frames: FramePool,
    fx: Effects<HostEvent>,
    sent: u32,
}

impl Joined {
    /// Runs to `end`, losing every seventh frame, and gives how many were sent.
    fn run(&mut self, end: Instant) -> u32 {
        let before = self.sent;
        loop {
            let deadlines = [self.source.next_deadline(), self.target.next_deadline()];
            let Some(now) =
                deadlines.into_iter().flatten().map(|(_, at)| at).min().filter(|now| *now <= end)
            else {
                return self.sent - before;
            };
            let timers = [
                TimerId::PortReady(1),
                TimerId::PortReady(2),
                TimerId::Release(1),
                TimerId::Release(2),
                TimerId::Reassembly,
            ];
            for timer in timers {
                self.source.fire(timer, now, &mut self.frames, &mut self.fx);
                self.target.fire(timer, now, &mut self.frames, &mut self.fx);
            }
            while let Some(sent) = self.fx.transmits.pop() {
                self.sent += 1;
                if self.sent.is_multiple_of(7) {
                    self.frames.release(sent.frame);
                    continue;
                }
                let (frames, fx) = (&mut self.frames, &mut self.fx);
                let _work =
                    self.target.receive(now, sent.departure, sent.port, sent.frame, frames, fx);
            }
            self.fx.clear();
        }
    }
}

#[test]
fn nothing_is_allocated_per_frame() {
    let mut joined = Joined {
        source: end_system(true),
        target: end_system(false),
        frames: FramePool::new(1_000),
        fx: Effects::new(),
        sent: 0,
    };
    for (flow, ..) in FLOWS {
        joined.source.start_flow(flow, Instant::ZERO).expect("known");
    }
    let second = |s| Instant::ZERO + Span::from_s(s);
    let warm_up = allocation_counter::measure(|| assert!(joined.run(second(2)) > 1_000));
    assert!(warm_up.count_total > 0, "queues grow at first, or nothing is counted");
    let mut sent = 0;
    let allocations = allocation_counter::measure(|| sent = joined.run(second(6)));
    assert!(sent > 10_000, "{sent} frames");
    assert_eq!(allocations.count_total, 0, "over {sent} frames");
    let counters = joined.target.receiver_counters(1).expect("known");
    assert!(counters.delivered > 0 && counters.incomplete > 0, "{counters:?}");
    let counters = joined.target.receiver_counters(2).expect("known");
    assert!(counters.second_copies > 0 && counters.copies_missing > 0, "{counters:?}");
}
