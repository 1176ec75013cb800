//! End systems joined back to back, in virtual time.

mod delivery;
mod properties;
mod shaper;

use super::*;
use crate::{EgressConfig, FramePool, Transmit};
use std::collections::BTreeMap;
use tenuto_units::{Rate, Span};

const RATE_BPS: u64 = 100_000_000;
const FLOW: u16 = 7;

fn end_port(port: u32) -> EndPort {
    let rate = Rate::from_bps(RATE_BPS).expect("not zero");
    let network = if port == 1 { 0x20 } else { 0x40 };
    EndPort {
        port,
        egress: EgressConfig {
            rate,
            queues: 4,
            buffer_bits: 1_000 * 1538 * 8,
            unpromised_from: None,
        },
        mac: [2, 0, 0, 0, 1, network],
    }
}

fn header(flow: u16) -> FlowHeader {
    let [high, low] = flow.to_be_bytes();
    FlowHeader {
        eth_dst: [3, 0, 0, 0, high, low],
        ip_src: [10, 0, 0, 1],
        ip_dst: [224, 224, high, low],
        udp_port: 20_000 + flow,
        dscp: 46,
    }
}

/// One host that sends `FLOW` and one that receives it, over `ports`.
struct Pair {
    frames: FramePool,
    source: EndSystem,
    target: EndSystem,
    fx: Effects<HostEvent>,
    heard: Effects<HostEvent>,
    now: Instant,
}

fn pair(form: Form, behaviour: Behaviour, ports: &[u32], skew_max: Option<Span>) -> Pair {
    let sender = SenderConfig {
        flow: FLOW,
        header: header(FLOW),
        form,
        ports: ports.to_vec(),
        behaviours: vec![behaviour],
    };
    let receiver = ReceiverConfig {
        flow: FLOW,
        header: header(FLOW),
        form,
        bytes_max: behaviour.bytes_max,
        ports: ports.to_vec(),
        skew_max,
        patience: Some(Span::from_ms(50)),
    };
    let end = |host, senders, receivers| {
        let ports = vec![end_port(1), end_port(2)];
        let config = EndSystemConfig { host, seed: 1, ports, senders, receivers };
        EndSystem::new(Arc::new(config)).expect("valid")
    };
    Pair {
        frames: FramePool::new(4_000),
        source: end(1, vec![sender], vec![]),
        target: end(2, vec![], vec![receiver]),
        fx: Effects::new(),
        heard: Effects::new(),
        now: Instant::ZERO,
    }
}

impl Pair {
    /// Fires every timer up to `end` at its deadline; `arrives` decides which frames do, by port
    /// and number of the frame on it.
    fn run(&mut self, end: Instant, mut arrives: impl FnMut(u32, usize) -> bool) {
        let mut sent = BTreeMap::<u32, usize>::new();
        loop {
            let (source, target) = (self.source.next_deadline(), self.target.next_deadline());
            let Some(now) = [source, target].into_iter().flatten().map(|(_, at)| at).min() else {
                return;
            };
            if now > end {
                return;
            }
            self.now = now;
            fire_due(&mut self.target, now, &mut self.frames, &mut self.heard);
            fire_due(&mut self.source, now, &mut self.frames, &mut self.fx);
            for sent_frame in self.fx.transmits.drain(..) {
                let Transmit { port, frame, departure } = sent_frame;
                let number = sent.entry(port).or_default();
                *number += 1;
                if arrives(port, *number - 1) {
                    let (frames, heard) = (&mut self.frames, &mut self.heard);
                    let _work = self.target.receive(now, departure, port, frame, frames, heard);
                } else {
                    self.frames.release(frame);
                }
            }
        }
    }

    fn delivered(&self) -> Vec<(u32, Instant, Instant)> {
        let events = self.heard.events.iter();
        events
            .filter_map(|event| match *event {
                HostEvent::Delivered { message_id, release, at, .. } => {
                    Some((message_id, release, at))
                }
                _ => None,
            })
            .collect()
    }
}

fn fire_due(
    end: &mut EndSystem,
    now: Instant,
    frames: &mut FramePool,
    fx: &mut Effects<HostEvent>,
) {
    let mut due = Vec::new();
    end.for_each_deadline(|timer, at| {
        if at <= now {
            due.push(timer);
        }
    });
    due.into_iter().for_each(|timer| end.fire(timer, now, frames, fx));
}

const fn ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}
