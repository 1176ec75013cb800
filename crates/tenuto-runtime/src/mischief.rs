//! What a scenario lets a host send against its contracts: babble, garbage, forged mode signals.
//!
//! Everything leaves through the host's own paced port: a link carries no more than its rate,
//! whoever sends. Frames wait in the lowest queue, as many as bridge the wake-ups of this machine.

use crate::assemble::mix;
use std::sync::Arc;
use tenuto_dataplane::endsystem::{EndSystem, EndSystemConfig, Form, HostEvent, SenderConfig};
use tenuto_dataplane::{Effects, FramePool};
use tenuto_model::{Flow, UDP_FRAME_OVERHEAD_BYTES};
use tenuto_units::{Instant, Span, wire_bits};
use tenuto_wire::shim::{SHIM_BYTES, ShimRepr};
use tenuto_wire::signal::{SIGNAL_FRAME_LEN, SignalKind, SignalRepr};
use tenuto_wire::{FRAME_LEN_MAX, LinkKey, MacAddress, frame_bytes};

/// Frames that wait at a port at once.
const FRAMES_AHEAD: u64 = 128;
/// A source that is late by more than this forgets the rest.
const CATCH_UP: Span = Span::from_ms(1);
/// Below every class.
const LOWEST_QUEUE: u8 = u8::MAX - 1;
/// Forged signals, and as many replays of them; one a millisecond.
const FORGED: u64 = 64;
const FORGED_PERIOD: Span = Span::from_ms(1);
/// Above the numbers of messages that an end system sends in a run.
const MESSAGE_ID_START: u32 = 0x8000_0000;
/// Smallest and largest frame of garbage, without FCS.
const GARBAGE_LEN: (u64, u64) = (60, 1514);

enum Kind {
    /// Frames with the headers of these senders in turn.
    Babble {
        senders: Vec<SenderConfig>,
        frame_len: usize,
    },
    Garbage,
    Forge,
}

struct Source {
    kind: Kind,
    port: u32,
    mac: [u8; 6],
    /// Time between frames; `None` keeps the port busy.
    period: Option<Span>,
    next: Instant,
    until: Option<Instant>,
    began: Instant,
    count: u64,
    bits: u64,
}

/// The sources of one host that break its contracts.
pub(crate) struct Mischief {
    config: Arc<EndSystemConfig>,
    seed: u64,
    sources: Vec<Source>,
    news: Vec<String>,
    scratch: Vec<u8>,
    forged: Vec<Vec<u8>>,
}

impl Mischief {
    pub(crate) fn new(config: Arc<EndSystemConfig>, seed: u64) -> Self {
        let scratch = vec![0; FRAME_LEN_MAX];
        Self { config, seed, sources: Vec::new(), news: Vec::new(), scratch, forged: Vec::new() }
    }

    /// Sends frames of `flows` (all that it sends, if none is named).
    pub(crate) fn babble(
        &mut self,
        now: Instant,
        known: &[Flow],
        flows: &[u16],
        frame_bytes: u32,
        rate_bps: Option<u64>,
        until: Option<Instant>,
    ) {
        let is_meant = |s: &&SenderConfig| flows.is_empty() || flows.contains(&s.flow);
        let senders: Vec<_> = self.config.senders.iter().filter(is_meant).cloned().collect();
        let names = senders.iter().filter_map(|s| known.get(usize::from(s.flow)));
        let names: Vec<&str> = names.map(|flow| flow.name.as_str()).collect();
        self.news.push(format!("babbling begins: frames of {}", names.join(", ")));
        let frame_len = usize::try_from(frame_bytes).unwrap_or(FRAME_LEN_MAX).saturating_sub(4);
        let frame_len = frame_len.clamp(60, FRAME_LEN_MAX);
        let period = rate_bps.map(|rate| {
            Span::from_ns(wire_bits(frame_bytes).saturating_mul(1_000_000_000) / rate.max(1))
        });
        for place in 0..self.config.ports.len() {
            let port = self.config.ports[place].port;
            let here = senders.iter().filter(|s| s.ports.contains(&port));
            let senders: Vec<_> = here.cloned().collect();
            if !senders.is_empty() {
                self.add(now, Kind::Babble { senders, frame_len }, place, period, until);
            }
        }
    }

    /// Sends frames of random bytes.
    pub(crate) fn garbage(&mut self, now: Instant, frames_per_s: u32, until: Option<Instant>) {
        let period = Span::from_ns(1_000_000_000 / u64::from(frames_per_s.max(1)));
        for place in 0..self.config.ports.len() {
            self.add(now, Kind::Garbage, place, Some(period), until);
        }
    }

    /// Sends mode signals with tags by lot, then the same ones again.
    pub(crate) fn forge(&mut self, now: Instant) {
        let until = now + FORGED_PERIOD.times(2 * FORGED);
        for place in 0..self.config.ports.len() {
            self.add(now, Kind::Forge, place, Some(FORGED_PERIOD), Some(until));
        }
    }

    fn add(
        &mut self,
        now: Instant,
        kind: Kind,
        place: usize,
        period: Option<Span>,
        until: Option<Instant>,
    ) {
        let port = self.config.ports[place];
        self.sources.push(Source {
            kind,
            port: port.port,
            mac: port.mac,
            period,
            next: now,
            until,
            began: now,
            count: 0,
            bits: 0,
        });
    }

    /// When a source wants to send; those that keep a port busy go by the port's own timer.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let wants = |s: &Source| s.period.map(|_| s.next).or(s.until);
        self.sources.iter().filter_map(wants).min()
    }

    /// What happened, in words.
    pub(crate) fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Sends what is due.
    pub(crate) fn turn(
        &mut self,
        now: Instant,
        core: &mut EndSystem,
        pool: &mut FramePool,
        fx: &mut Effects<HostEvent>,
    ) {
        let mut sources = std::mem::take(&mut self.sources);
        for source in &mut sources {
            match source.period {
                Some(period) => {
                    if now.since(source.next) > CATCH_UP {
                        source.next = now;
                    }
                    while source.next <= now && source.until.is_none_or(|end| source.next < end) {
                        let _ = self.send_next(source, now, core, pool, fx);
                        source.next += Span::from_ns(period.as_ns().max(1));
                    }
                }
                None => {
                    let port = source.port;
                    let backlog =
                        |core: &EndSystem| core.egress(port).map_or(u64::MAX, |e| e.backlog_bits());
                    while backlog(core) < FRAMES_AHEAD * wire_bits(64) {
                        if !self.send_next(source, now, core, pool, fx) {
                            break;
                        }
                    }
                }
            }
        }
        let (ended, going): (Vec<_>, Vec<_>) =
            sources.into_iter().partition(|s| s.until.is_some_and(|end| end <= now));
        ended.iter().for_each(|source| self.conclude(source, now));
        self.sources = going;
    }

    /// One frame into the queue of the port; whether it found room.
    fn send_next(
        &mut self,
        source: &mut Source,
        now: Instant,
        core: &mut EndSystem,
        pool: &mut FramePool,
        fx: &mut Effects<HostEvent>,
    ) -> bool {
        let Some(len) = self.write(source) else { return false };
        let drops = fx.drops.len();
        let sent = core.inject(now, source.port, LOWEST_QUEUE, &self.scratch[..len], pool, fx);
        // A full queue of one's own making is nobody's loss.
        fx.drops.truncate(drops);
        source.count += 1;
        source.bits += u64::from(sent) * wire_bits(frame_bytes(len));
        sent
    }

    /// Writes the next frame of a source into the scratch buffer.
    fn write(&mut self, source: &Source) -> Option<usize> {
        match &source.kind {
            Kind::Babble { senders, frame_len } => {
                let nth = usize::try_from(source.count).unwrap_or(0) % senders.len();
                self.write_babble(source, &senders[nth], *frame_len)
            }
            Kind::Garbage => Some(self.write_garbage(source.count)),
            Kind::Forge => self.write_forged(source),
        }
    }

    /// A frame of a flow, with the number of a message that its sender never sent.
    fn write_babble(
        &mut self,
        source: &Source,
        sender: &SenderConfig,
        frame_len: usize,
    ) -> Option<usize> {
        let least = usize::try_from(UDP_FRAME_OVERHEAD_BYTES).unwrap_or(46) - 4;
        let frame = sender.header.frame(source.mac, frame_len.saturating_sub(least));
        let written = frame.emit(&mut self.scratch).ok()?;
        if sender.form == Form::Message && written.payload.len() >= SHIM_BYTES {
            let message_bytes = u32::try_from(written.payload.len() - SHIM_BYTES).unwrap_or(0);
            let number = u32::try_from(source.count & 0x7fff_ffff).unwrap_or(0);
            let message_id = MESSAGE_ID_START | number;
            let shim = ShimRepr { message_id, message_bytes, sequence: 0 };
            shim.emit(&mut self.scratch[written.payload]);
        }
        Some(written.len)
    }

    /// Bytes without a meaning.
    fn write_garbage(&mut self, count: u64) -> usize {
        let draw = mix(self.seed ^ mix(count));
        let (least, most) = GARBAGE_LEN;
        let len = usize::try_from(least + draw % (most - least + 1)).unwrap_or(60);
        let words = self.scratch[..len].chunks_mut(8);
        (0u64..).zip(words).for_each(|(nth, word)| {
            let bytes = mix(draw ^ mix(nth)).to_le_bytes();
            word.copy_from_slice(&bytes[..word.len()]);
        });
        len
    }

    /// A mode signal under a wrong key; from some number on the same ones once more.
    fn write_forged(&mut self, source: &Source) -> Option<usize> {
        let count = source.count;
        if count >= FORGED {
            let replay = self.forged.get(usize::try_from(count - FORGED).ok()?)?;
            self.scratch[..replay.len()].copy_from_slice(replay);
            return Some(replay.len());
        }
        let draw = mix(self.seed ^ mix(count));
        let kinds = SignalKind::ALL;
        let signal = SignalRepr {
            kind: kinds[usize::try_from(count).unwrap_or(0) % kinds.len()],
            level: u8::try_from(draw % 3).unwrap_or(0),
            from_level: 0,
            hops: 0,
            generation: 1,
            epoch: 2 + count,
            origin: draw,
            nonce: mix(draw),
            sequence: u64::MAX - FORGED + count,
        };
        let half = draw.to_le_bytes();
        let key: [u8; 16] = std::array::from_fn(|i| half[i % 8]);
        let len = signal.emit(MacAddress(source.mac), &LinkKey::new(key), &mut self.scratch);
        if self.forged.len() < usize::try_from(FORGED).unwrap_or(0) {
            self.forged.push(self.scratch[..SIGNAL_FRAME_LEN].to_vec());
        }
        Some(len)
    }

    /// Ends every source.
    pub(crate) fn stop(&mut self, now: Instant) {
        let sources = std::mem::take(&mut self.sources);
        sources.iter().for_each(|source| self.conclude(source, now));
    }

    fn conclude(&mut self, source: &Source, now: Instant) {
        let what = match source.kind {
            Kind::Babble { .. } => "babbling ended",
            Kind::Garbage => "garbage ended",
            Kind::Forge => "forging ended",
        };
        let ns = now.since(source.began).as_ns().max(1);
        let kbps = u128::from(source.bits) * 1_000_000 / u128::from(ns);
        let (count, port) = (source.count, source.port);
        self.news.push(format!(
            "{what}: {count} frames through port {port}, {}.{:03} Mbit/s on the wire",
            kbps / 1_000,
            kbps % 1_000
        ));
    }
}
