//! One egress port: strict-priority queues in front of a pacer; some may share a level ([`Share`]).
//!
//! A frame is *committed* at the start of its slot and *handed over* at its end:
//! departure = max(enqueue, previous departure) + wire bits / rate, remainders kept exactly
//! (docs/theory/README.md, "Pacing"). So every bound of this port is about these queues, not about a ring behind
//! them. A purge can take back what is queued, never what is committed.
//!
//! Queue [`SIGNAL_QUEUE`] is above every class and holds mode signals only; it has its own small
//! limit, so that signals neither starve for buffer nor take that of flows. So have the queues for
//! which nothing is promised, if the port has any.

mod aside;
mod delays;
mod displacing;
mod rearrange;
mod rearranging;
mod room;
mod shares;

pub use delays::Delays;
pub use shares::Share;

use crate::{FrameId, Transmit};
use rearranging::Rearranging;
use room::Room;
use shares::Shares;
use std::collections::VecDeque;
use tenuto_units::{Instant, Rate};

/// The queue above every class.
pub const SIGNAL_QUEUE: u8 = u8::MAX;
/// A rate that says that a port is not paced: beyond any that is reached, so that frames go to the
/// device as fast as it takes them.
pub const UNPACED_BPS: u64 = 1_000_000_000_000;
/// Signals that may wait at one port; more are refused (counted by the caller).
const SIGNALS_MAX: usize = 256;
/// What may wait in queues for which nothing is promised: 64 full frames, bits on the wire.
const UNPROMISED_BITS_MAX: u64 = 64 * 1538 * 8;

/// What an egress port is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressConfig {
    /// Paced rate.
    pub rate: Rate,
    /// Strict-priority queues, 0 = highest.
    pub queues: u8,
    /// Buffer over all queues, bits on the wire; the committed frame counts until handed over.
    pub buffer_bits: u64,
    /// The first queue for which nothing is promised: from here on frames take nothing of that
    /// buffer but have a small one of their own. `None`: flows may use every queue.
    pub unpromised_from: Option<u8>,
}

/// A frame in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Queued {
    /// The frame, held by the queue.
    pub frame: FrameId,
    /// Its bits on the wire.
    pub wire_bits: u32,
    /// Cookie of the entry that sent it here; 0 for signals.
    pub cookie: u64,
    /// When it was enqueued.
    pub since: Instant,
}

/// The buffer has no room for the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

/// What one egress port counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EgressStats {
    /// Frames handed over.
    pub frames: u64,
    /// Their bytes, FCS included.
    pub bytes: u64,
    /// Frames refused for want of buffer.
    pub refused: u64,
    /// Frames taken back by purges.
    pub purged: u64,
    /// Largest backlog seen of flows, bits on the wire, the committed frame included.
    pub backlog_bits_max: u64,
}

/// What one queue counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Frames handed over.
    pub frames: u64,
    /// Their bytes, FCS included.
    pub bytes: u64,
    /// Frames refused for want of buffer.
    pub refused: u64,
    /// Bits on the wire that wait.
    pub wire_bits: u64,
    /// The most frames that waited.
    pub waiting_max: u32,
    /// The most bits on the wire that waited.
    pub wire_bits_max: u64,
}

impl QueueCounters {
    /// So much waits.
    #[inline]
    fn notice(&mut self, wire_bits: u64, frames: u32) {
        self.wire_bits_max = self.wire_bits_max.max(wire_bits);
        self.waiting_max = self.waiting_max.max(frames);
    }
}

/// Whose buffer a frame is in, as a place among both.
type Owner = usize;
const FLOWS: Owner = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Committed {
    queued: Queued,
    /// Its queue, or that of signals.
    queue: u8,
    departure: Instant,
}

/// One egress port.
#[derive(Clone, Debug)]
pub struct Egress {
    config: EgressConfig,
    signals: VecDeque<Queued>,
    queues: Vec<VecDeque<Queued>>,
    /// No queue above this one holds a frame.
    first: usize,
    committed: Option<Committed>,
    free_at: Instant,
    remainder: u64,
    /// What flows, and frames for which nothing is promised, have in their buffers.
    backlog_bits: [u64; 2],
    /// The sizes of these.
    buffer_bits: [u64; 2],
    /// A smaller frame takes so much of them all the same.
    least_bits: u32,
    stats: EgressStats,
    queue_stats: Vec<QueueCounters>,
    /// Where queues stand, unless each is alone in the level of its number.
    shares: Option<Box<Shares>>,
    /// Of each queue, if they are kept.
    delays: Vec<Delays>,
    /// Whether frames at lower levels give way where the buffer is full.
    gives_way: bool,
    /// What the device still takes.
    room: Room,
    /// While queued frames are asked where they belong.
    rearranging: Rearranging,
}

impl EgressConfig {
    #[inline]
    fn owner(&self, queue: u8) -> Owner {
        Owner::from(queue >= self.unpromised_from.unwrap_or(SIGNAL_QUEUE))
    }
}

impl Egress {
    /// An empty port.
    pub fn new(config: EgressConfig) -> Self {
        Self {
            config,
            signals: VecDeque::new(),
            queues: vec![VecDeque::new(); usize::from(config.queues.max(1))],
            first: 0,
            committed: None,
            free_at: Instant::ZERO,
            remainder: 0,
            backlog_bits: [0; 2],
            buffer_bits: [config.buffer_bits, UNPROMISED_BITS_MAX],
            least_bits: 0,
            stats: EgressStats::default(),
            queue_stats: vec![QueueCounters::default(); usize::from(config.queues.max(1))],
            shares: None,
            delays: Vec::new(),
            gives_way: false,
            room: Room::default(),
            rearranging: Rearranging::default(),
        }
    }

    /// From now on counts how long frames take, queue by queue.
    pub fn keep_delays(&mut self) {
        self.delays.resize_with(self.queues.len(), Delays::default);
    }

    /// How long frames of each queue took, from being queued to their last bit; none if that is not
    /// kept.
    pub fn delays(&self) -> &[Delays] {
        &self.delays
    }

    /// Frames that wait in each queue.
    pub fn waiting(&self) -> impl Iterator<Item = u32> {
        let queues = self.queues.iter().enumerate();
        let waiting = queues.map(|(place, queue)| queue.len() - self.rearranging.gone(place));
        waiting.map(|frames| u32::try_from(frames).unwrap_or(u32::MAX))
    }

    /// Where each queue stands.
    pub fn shares(&self) -> Vec<Share> {
        match &self.shares {
            Some(shares) => shares.of_queues().to_vec(),
            None => Shares::strict(self.config.queues.max(1)).of_queues().to_vec(),
        }
    }

    /// Whether each queue is alone in its level, in the order of their numbers.
    pub const fn is_strict(&self) -> bool {
        self.shares.is_none()
    }

    /// Puts queues into levels; what is queued stays in its queue.
    ///
    /// # Panics
    /// If it is not one share per queue, each of a weight from 1.
    pub fn set_shares(&mut self, of_queues: Vec<Share>) {
        assert!(of_queues.len() == self.queues.len() && of_queues.iter().all(|it| it.weight > 0));
        let shares = Shares::new(of_queues);
        self.shares = (!shares.are_strict()).then(|| Box::new(shares));
    }

    /// Hashes what the next choices among queues that share a level depend on.
    pub(crate) fn identify_shares(&self, hasher: &mut impl std::hash::Hasher) {
        std::hash::Hash::hash(&self.shares, hasher);
    }

    /// Appends a frame to a queue; a queue number beyond the last means the last.
    ///
    /// # Errors
    /// [`QueueFull`] leaves the port as it was; the caller keeps the hold on the frame.
    #[inline(always)]
    pub fn enqueue(&mut self, queue: u8, frame: Queued) -> Result<(), QueueFull> {
        if queue == SIGNAL_QUEUE {
            return self.enqueue_signal(frame);
        }
        // The owner is that of the queue it stands in: from there its room is given back.
        let queue = self.existing(queue);
        let (place, owner) = (usize::from(queue), self.config.owner(queue));
        let backlog = self.backlog_bits[owner] + self.taken_by(&frame);
        if backlog > self.buffer_bits[owner] {
            return self.refuse(place);
        }
        self.backlog_bits[owner] = backlog;
        self.stats.backlog_bits_max = self.stats.backlog_bits_max.max(self.backlog_bits[FLOWS]);
        if self.committed.is_some() {
            self.append(place, frame);
        } else if self.shares.is_none() && !self.rearranging.is_on() {
            // Nothing waits: the frame would be taken out of its queue at once.
            self.queue_stats[place].notice(u64::from(frame.wire_bits), 1);
            self.begin(frame, queue);
        } else {
            self.append(place, frame);
            self.commit();
        }
        Ok(())
    }

    #[cold]
    fn refuse(&mut self, place: usize) -> Result<(), QueueFull> {
        self.stats.refused += 1;
        self.queue_stats[place].refused += 1;
        Err(QueueFull)
    }

    #[cold]
    fn enqueue_signal(&mut self, frame: Queued) -> Result<(), QueueFull> {
        if self.signals.len() >= SIGNALS_MAX {
            self.stats.refused += 1;
            return Err(QueueFull);
        }
        self.signals.push_back(frame);
        if self.committed.is_none() {
            self.commit();
        }
        Ok(())
    }

    /// Puts a frame into a queue.
    #[inline]
    fn append(&mut self, place: usize, frame: Queued) {
        let queue = &mut self.queues[place];
        queue.push_back(frame);
        let waiting = u32::try_from(queue.len()).unwrap_or(u32::MAX);
        self.first = self.first.min(place);
        let counters = &mut self.queue_stats[place];
        counters.wire_bits += u64::from(frame.wire_bits);
        counters.notice(counters.wire_bits, waiting);
    }

    /// A queue number beyond the last means the last.
    #[inline]
    fn existing(&self, queue: u8) -> u8 {
        queue.min(self.config.queues.saturating_sub(1))
    }

    /// From now on a frame takes so much of the buffer at least, so that no more frames wait than can be
    /// kept, however small they are.
    pub fn count_at_least(&mut self, bits: u32) {
        let most = self.config.buffer_bits.try_into().unwrap_or(u32::MAX);
        self.least_bits = bits.min(most);
    }

    /// What a frame takes of the buffer.
    #[inline]
    fn taken_by(&self, frame: &Queued) -> u64 {
        frame.wire_bits.max(self.least_bits).into()
    }

    /// Whether frames of so many bits on the wire would all be taken into a queue.
    pub fn has_room(&self, queue: u8, wire_bits: u64) -> bool {
        let owner = self.config.owner(self.existing(queue));
        self.backlog_bits[owner] + wire_bits <= self.buffer_bits[owner]
    }

    /// Whether a mode signal waits, or is committed and not handed over.
    pub fn holds_signals(&self) -> bool {
        let is_signal = |it: Committed| it.queue == SIGNAL_QUEUE;
        !self.signals.is_empty() || self.committed.is_some_and(is_signal)
    }

    /// When the committed frame is to be handed over, if the device has room for it.
    pub fn deadline(&self) -> Option<Instant> {
        self.committed.filter(|_| !self.room.is_none()).map(|c| c.departure)
    }

    /// Hands over the committed frame if its slot has ended, and commits the next one.
    pub fn hand_over(&mut self, port: u32, now: Instant) -> Option<Transmit> {
        self.hand_over_next(port, now)
    }

    /// Hands over every frame whose slot has ended, and commits the next ones.
    pub(crate) fn hand_over_due(&mut self, port: u32, now: Instant, sent: &mut Vec<Transmit>) {
        while let Some(transmit) = self.hand_over_next(port, now) {
            sent.push(transmit);
        }
    }

    #[inline(always)]
    fn hand_over_next(&mut self, port: u32, now: Instant) -> Option<Transmit> {
        let Committed { queued, queue, departure } = self.committed?;
        if departure > now || self.room.is_none() {
            return None;
        }
        let departure = self.room.take(departure);
        let bytes = u64::from(queued.wire_bits / 8).saturating_sub(20);
        // There is none of signals.
        if let Some(counters) = self.queue_stats.get_mut(usize::from(queue)) {
            counters.frames += 1;
            counters.bytes += bytes;
            self.backlog_bits[self.config.owner(queue)] -=
                u64::from(queued.wire_bits.max(self.least_bits));
            if let Some(delays) = self.delays.get_mut(usize::from(queue)) {
                delays.count(departure.since(queued.since));
            }
        }
        self.stats.frames += 1;
        self.stats.bytes += bytes;
        let is_plain = self.shares.is_none() && !self.rearranging.is_on();
        match self.signals.is_empty() && is_plain {
            true => match self.take_first() {
                Some((frame, queue)) => self.begin(frame, queue),
                None => self.committed = None,
            },
            false => self.commit(),
        }
        Some(Transmit { port, frame: queued.frame, departure })
    }

    /// Begins the slot of the next frame, if one waits.
    fn commit(&mut self) {
        self.committed = None;
        let next = match (self.signals.pop_front(), &self.shares) {
            (Some(signal), _) => Some((signal, SIGNAL_QUEUE)),
            // Where queues share levels the next is not known before all were asked.
            (None, Some(_)) if self.rearranging.first_unasked().is_some() => None,
            (None, None) if self.rearranging.is_on() => self.take_first_asked(),
            (None, None) => self.take_first(),
            (None, Some(_)) => self.take_by_share(),
        };
        if let Some((frame, queue)) = next {
            self.begin(frame, queue);
        }
    }

    /// Begins the slot of a frame, from the signals or from a queue.
    #[inline(always)]
    fn begin(&mut self, queued: Queued, queue: u8) {
        // An idle line starts afresh; a busy one carries the fraction of a nanosecond over.
        let (start, carried) = if queued.since > self.free_at {
            (queued.since, 0)
        } else {
            (self.free_at, self.remainder)
        };
        let (span, rest) = self.config.rate.serialise(u64::from(queued.wire_bits), carried);
        self.free_at = start + span;
        self.remainder = rest;
        // Rounded up, so that no frame is handed over before its last bit.
        let departure =
            if rest == 0 { self.free_at } else { self.free_at + tenuto_units::Span::from_ns(1) };
        self.committed = Some(Committed { queued, queue, departure });
    }

    /// Takes out the first frame of the first queue that has one.
    #[allow(clippy::cast_possible_truncation)] // there are at most 255 queues
    #[inline(always)]
    fn take_first(&mut self) -> Option<(Queued, u8)> {
        while let Some(queue) = self.queues.get_mut(self.first) {
            if let Some(frame) = queue.pop_front() {
                self.queue_stats[self.first].wire_bits -= u64::from(frame.wire_bits);
                return Some((frame, self.first as u8));
            }
            // It begins at its beginning again.
            queue.clear();
            self.first += 1;
        }
        None
    }

    /// Takes out the frame that is served next where queues share levels.
    fn take_by_share(&mut self) -> Option<(Queued, u8)> {
        let queues = &mut self.queues;
        let queue = self.shares.as_mut()?.next(|queue| {
            let queue = &queues[usize::from(queue)];
            queue.front().map(|frame| (u64::from(frame.wire_bits), queue.len() == 1))
        })?;
        let own = &mut queues[usize::from(queue)];
        let frame = own.pop_front()?;
        if own.is_empty() {
            own.clear();
        }
        self.queue_stats[usize::from(queue)].wire_bits -= u64::from(frame.wire_bits);
        Some((frame, queue))
    }

    /// Every frame held: queued ones by queue (signals first), then the committed one.
    pub fn for_each_frame(&self, mut visit: impl FnMut(Option<u8>, &Queued)) {
        self.signals.iter().for_each(|f| visit(Some(SIGNAL_QUEUE), f));
        for (queue, frames) in (0u8..).zip(&self.queues) {
            frames.iter().filter(|f| !f.is_gone()).for_each(|f| visit(Some(queue), f));
        }
        if let Some(committed) = &self.committed {
            visit(None, &committed.queued);
        }
    }

    /// Cookie of the committed frame.
    pub fn committed_cookie(&self) -> Option<u64> {
        self.committed.map(|c| c.queued.cookie)
    }

    /// The fraction of a nanosecond that the committed frame leaves to the next one, in the unit of
    /// [`Rate::serialise`].
    pub(crate) const fn remainder(&self) -> u64 {
        if self.committed.is_some() { self.remainder } else { 0 }
    }

    /// Backlog of flows now, bits on the wire, as far as frames are not counted as larger.
    pub const fn backlog_bits(&self) -> u64 {
        self.backlog_bits[FLOWS]
    }

    /// Counters.
    pub const fn stats(&self) -> EgressStats {
        self.stats
    }

    /// Counters of each queue, signals excluded.
    pub fn queue_stats(&self) -> &[QueueCounters] {
        &self.queue_stats
    }

    /// What the port is made of.
    pub const fn config(&self) -> EgressConfig {
        self.config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_BITS: u32 = 1538 * 8;

    fn port(buffer_frames: u64) -> Egress {
        Egress::new(EgressConfig {
            rate: Rate::from_bps(100_000_000).expect("not zero"),
            queues: 3,
            buffer_bits: buffer_frames * u64::from(FRAME_BITS),
            unpromised_from: Some(2),
        })
    }

    fn frame(id: u32, since: u64) -> Queued {
        let since = Instant::from_ns(since);
        Queued { frame: FrameId(id), wire_bits: FRAME_BITS, cookie: u64::from(id), since }
    }

    fn drain(port: &mut Egress) -> Vec<(u32, u64)> {
        let mut out = Vec::new();
        while let Some(at) = port.deadline() {
            let sent = port.hand_over(1, at).expect("its slot ends now");
            out.push((sent.frame.0, sent.departure.as_ns()));
        }
        out
    }

    #[test]
    fn frames_leave_back_to_back_at_line_rate() {
        let mut port = port(10);
        for id in 0..3 {
            port.enqueue(0, frame(id, 0)).expect("there is room");
        }
        assert_eq!(drain(&mut port), [(0, 123_040), (1, 246_080), (2, 369_120)]);
    }

    #[test]
    fn a_committed_frame_is_never_preempted_and_signals_come_first() {
        let mut port = port(10);
        port.enqueue(2, frame(0, 0)).expect("there is room");
        port.enqueue(1, frame(1, 1)).expect("there is room");
        port.enqueue(0, frame(2, 1)).expect("there is room");
        assert!(!port.holds_signals());
        port.enqueue(SIGNAL_QUEUE, frame(3, 2)).expect("there is room");
        assert!(port.holds_signals(), "one that waits");
        let end = port.deadline().expect("a committed frame");
        assert_eq!(port.hand_over(1, end).map(|sent| sent.frame.0), Some(0));
        assert!(port.holds_signals(), "one that is committed");
        let order: Vec<u32> = drain(&mut port).into_iter().map(|(id, _)| id).collect();
        assert_eq!(order, [3, 2, 1]);
        assert!(!port.holds_signals());
    }

    #[test]
    fn a_full_buffer_refuses_and_counts() {
        let mut port = port(2);
        for id in 0..2 {
            port.enqueue(0, frame(id, 0)).expect("there is room");
        }
        assert_eq!(port.enqueue(0, frame(2, 0)), Err(QueueFull));
        assert_eq!(port.stats().refused, 1);
        assert_eq!(port.stats().backlog_bits_max, 2 * u64::from(FRAME_BITS));
    }

    #[test]
    fn what_nothing_is_promised_for_takes_no_buffer_of_flows() {
        let mut port = port(1);
        for id in 0..64 {
            port.enqueue(2, frame(id, 0)).expect("there is room");
        }
        assert_eq!(port.enqueue(2, frame(64, 0)), Err(QueueFull));
        port.enqueue(0, frame(65, 0)).expect("flows have their own");
        assert_eq!(port.stats().backlog_bits_max, u64::from(FRAME_BITS));
        assert_eq!(drain(&mut port).len(), 65);
        assert_eq!(port.backlog_bits, [0, 0]);
    }

    #[test]
    fn depths_and_delays_are_those_of_each_queue() {
        let mut port = port(10);
        port.keep_delays();
        for id in 0..4 {
            port.enqueue(u8::from(id == 3), frame(id, 0)).expect("there is room");
        }
        let depth = |port: &Egress| {
            port.queue_stats().iter().map(|it| (it.waiting_max, it.wire_bits)).collect::<Vec<_>>()
        };
        let bits = u64::from(FRAME_BITS);
        // The first is committed at once and waits for nobody, but did stand in its queue.
        assert_eq!(depth(&port), [(2, 2 * bits), (1, bits), (0, 0)]);
        assert_eq!(drain(&mut port).len(), 4);
        assert_eq!(depth(&port), [(2, 0), (1, 0), (0, 0)]);
        assert_eq!(port.queue_stats()[0].wire_bits_max, 2 * bits);
        let delays: Vec<_> = port.delays().iter().map(|d| (d.frames(), d.max().as_ns())).collect();
        assert_eq!(delays, [(3, 369_120), (1, 492_160), (0, 0)]);
    }

    #[test]
    fn a_frame_that_a_purge_moves_counts_where_it_goes() {
        let mut port = port(10);
        for id in 0..3 {
            port.enqueue(1, frame(id, 0)).expect("there is room");
        }
        port.rearrange_all(|cookie, _| (cookie == 2).then_some(0), |_| {});
        let bits: Vec<u64> = port.queue_stats().iter().map(|it| it.wire_bits).collect();
        assert_eq!(bits, [u64::from(FRAME_BITS), 0, 0]);
    }

    #[test]
    fn a_purge_takes_back_queued_frames_but_not_the_committed_one() {
        let mut port = port(10);
        for id in 0..4 {
            port.enqueue(1, frame(id, 0)).expect("there is room");
        }
        let mut purged = Vec::new();
        port.rearrange_all(|cookie, _| (cookie == 2).then_some(0), |f| purged.push(f.frame.0));
        assert_eq!(purged, [1, 3]);
        let order: Vec<u32> = drain(&mut port).into_iter().map(|(id, _)| id).collect();
        assert_eq!(order, [0, 2]);
        assert_eq!(port.backlog_bits(), 0);
    }

    #[test]
    fn a_late_hand_over_catches_up_to_the_ideal_times() {
        let mut port = port(10);
        for id in 0..3 {
            port.enqueue(0, frame(id, 0)).expect("there is room");
        }
        let late = Instant::from_ns(300_000);
        let first = port.hand_over(1, late).expect("due");
        let second = port.hand_over(1, late).expect("due as well");
        assert_eq!((first.departure.as_ns(), second.departure.as_ns()), (123_040, 246_080));
        assert_eq!(port.hand_over(1, late), None);
    }
}
