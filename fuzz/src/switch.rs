//! A switch with modes, meters and a monitor, fed with bytes of chance.

use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, ConnectionId, FailMode, GeneralConfig, HashKey, PortConfig, PortRole, Switch,
    SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{Effects, EgressConfig, FRAME_CAPACITY, FramePool, Frames};
use tenuto_openflow::Framer;
use tenuto_units::{Instant, Rate, Span};
use tenuto_wire::LinkKey;

/// Frames that a run may hold.
const POOL: usize = 256;
/// Installed before the bytes of a receive run: the seed of that name in its sibling's corpus.
const TABLES: &[u8] = include_bytes!("../corpus/switch_control/modes");

pub(crate) struct Bench {
    pub(crate) switch: Switch,
    pub(crate) frames: FramePool,
    pub(crate) fx: Effects<SwitchEvent>,
    pub(crate) now: Instant,
}

impl Bench {
    fn new() -> Self {
        Self::with(3, None)
    }

    /// The whole of OpenFlow 1.3, and two controllers.
    fn general() -> Self {
        let config = GeneralConfig {
            buffers_max: 4,
            fail_mode: FailMode::Standalone,
            learned_max: 8,
            // What is long takes steps, and limits are met.
            entries_at_once: Some(2),
            masks_max: 8,
            actions_max: 64,
            ..GeneralConfig::default()
        };
        let mut bench = Self::with(64, Some(config));
        let second = bench.switch.connected_to(ConnectionId(1), None, &mut bench.fx);
        second.expect("there is room for two");
        bench.switch.keep_delays();
        bench
    }

    pub(crate) fn with(tables: u8, general: Option<GeneralConfig>) -> Self {
        let rate = Rate::from_bps(100_000_000).expect("not zero");
        let egress = EgressConfig { rate, queues: 4, buffer_bits: 1 << 17, unpromised_from: None };
        let port = |port, role| PortConfig { port, role, egress };
        let config = SwitchConfig {
            datapath_id: 2,
            ports: vec![
                port(1, PortRole::Host),
                port(2, PortRole::Host),
                port(3, PortRole::Trunk(LinkKey::new([3; 16]))),
            ],
            tables,
            entries_max: 64,
            meters_max: 16,
            groups_max: 4,
            meter_extra_bytes: 24,
            classifier: ClassifierKind::ByMask,
            boot_seed: 1,
            hash_key: HashKey::fixed(),
            mode_retry: Span::from_ms(10),
            general,
        };
        let mut bench = Self {
            switch: Switch::new(Arc::new(config)),
            frames: FramePool::new(POOL),
            fx: Effects::new(),
            now: Instant::from_ns(1_000_000_000),
        };
        bench.switch.connected(&mut bench.fx);
        bench
    }

    /// A frame at a port; what leaves is released.
    pub(crate) fn receive(&mut self, port: u32, bytes: &[u8]) {
        if let Some(frame) = self.frames.insert(&bytes[..bytes.len().min(FRAME_CAPACITY)]) {
            let (now, frames, fx) = (self.now, &mut self.frames, &mut self.fx);
            let _work = self.switch.receive(now, now, port, frame, frames, fx);
        }
    }

    pub(crate) fn run(&mut self, span: Span) {
        let end = self.now + span;
        while let Some((timer, at)) = self.switch.next_deadline().filter(|(_, at)| *at <= end) {
            self.now = self.now.max(at);
            self.switch.fire(timer, self.now, &mut self.frames, &mut self.fx);
            self.release();
            // A quiet window of nothing lets the mode agent propose again at once, forever.
            if self.fx.events.len() > 1_000 {
                break;
            }
        }
        self.now = end;
    }

    fn release(&mut self) {
        for transmit in self.fx.transmits.drain(..) {
            self.frames.release(transmit.frame);
        }
    }

    /// Every handle is accounted for, and every limit kept.
    pub(crate) fn finish(mut self) {
        let mut held = self.switch.buffered().1;
        for (_, _, egress) in self.switch.ports() {
            let mut bits = vec![0; egress.queue_stats().len()];
            egress.for_each_frame(|queue, frame| {
                held += 1;
                if let Some(bits) = queue.and_then(|queue| bits.get_mut(usize::from(queue))) {
                    *bits += u64::from(frame.wire_bits);
                }
            });
            assert!(egress.queue_stats().iter().map(|it| it.wire_bits).eq(bits));
            for (delays, counters) in egress.delays().iter().zip(egress.queue_stats()) {
                assert_eq!(delays.frames(), counters.frames);
            }
            assert!(egress.backlog_bits() <= 1 << 17);
        }
        self.release();
        assert!(self.frames.in_use() <= held);
        assert!(self.switch.tables().entries() <= 64);
        assert!(self.switch.meters().count() <= 16 && self.switch.monitors().count() <= 16);
        let (level, admitted, _) = self.switch.mode();
        assert!(level <= admitted && admitted < self.switch.tables().levels());
    }
}

impl Bench {
    /// Goes a step on with whatever takes several.
    fn work(&mut self) {
        let ids: Vec<ConnectionId> = self.switch.at_work().collect();
        for id in ids {
            self.switch.work_on(id, self.now, &mut self.frames, &mut self.fx);
        }
    }
}

/// Any bytes on the control channel, then frames through whatever was installed.
pub fn switch_control(bytes: &[u8]) {
    let mut bench = Bench::new();
    for segment in bytes.chunks(1_000) {
        if !bench.switch.control(bench.now, segment, &mut bench.frames, &mut bench.fx) {
            bench.switch.disconnected();
            bench.switch.connected(&mut bench.fx);
        }
        bench.run(Span::from_us(100));
    }
    // Whatever the switch says can be read.
    let mut framer = Framer::new();
    for segment in bench.fx.control.chunks(Framer::PUSH_BYTES_MAX) {
        framer.push(segment).expect("everything was taken out");
        while let Some(message) = framer.next() {
            message.expect("a switch sends well-formed messages");
        }
    }
    for flow in 0..4 {
        let mut frame = [0; 100];
        frame[..6].copy_from_slice(&[3, 0, 0, 0, 0, flow]);
        frame[12..14].copy_from_slice(&[8, 0]);
        bench.receive(1 + u32::from(flow) % 3, &frame);
    }
    bench.finish();
}

/// Any bytes as frames at every port of a switch that has tables: a length, a port, the frame.
pub fn switch_receive(bytes: &[u8]) {
    let mut bench = Bench::new();
    let alive = bench.switch.control(bench.now, TABLES, &mut bench.frames, &mut bench.fx);
    assert!(alive && bench.switch.tables().entries() > 0);
    let mut rest = bytes;
    while let [high, low, port, after @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low])) % (FRAME_CAPACITY + 1);
        let (frame, next) = after.split_at(len.min(after.len()));
        bench.receive(u32::from(port % 5), frame);
        bench.run(Span::from_us(u64::from(*port) * 100));
        rest = next;
    }
    bench.finish();
}

/// Any bytes as the life of a general switch: a length, what happens, and the bytes of it. Bytes
/// from one of two controllers, a frame, a link that goes up or down, a controller that goes and
/// comes, time.
pub fn switch_general(bytes: &[u8]) {
    let mut bench = Bench::general();
    let mut rest = bytes;
    while let [high, low, kind, after @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let (content, next) = after.split_at(len.min(after.len()));
        rest = next;
        let (id, number) = (ConnectionId(u16::from(kind >> 7)), u32::from(kind >> 4 & 3));
        match kind & 7 {
            0..=2 => {
                let (now, frames, fx) = (bench.now, &mut bench.frames, &mut bench.fx);
                if !bench.switch.control_from(id, now, content, frames, fx) {
                    bench.switch.disconnected_from(id);
                    let _is_there = bench.switch.connected_to(id, None, &mut bench.fx);
                }
            }
            3 | 4 => bench.receive(number, content),
            5 => bench.switch.set_link(number, kind & 8 == 0, &mut bench.fx),
            6 => {
                bench.switch.disconnected_from(id);
                if kind & 8 != 0 {
                    let _is_there = bench.switch.connected_to(id, None, &mut bench.fx);
                }
            }
            _ => bench.run(Span::from_ms(u64::from(*kind) * 10)),
        }
        bench.run(Span::from_us(100));
        bench.fx.drops.clear();
        if kind & 8 == 0 {
            bench.work();
        }
    }
    for stream in [&bench.fx.control].into_iter().chain(bench.fx.channels.iter().map(|(_, b)| b)) {
        let mut framer = Framer::new();
        for segment in stream.chunks(Framer::PUSH_BYTES_MAX) {
            framer.push(segment).expect("everything was taken out");
            while let Some(message) = framer.next() {
                message.expect("a switch sends well-formed messages");
            }
        }
    }
    bench.finish();
}
