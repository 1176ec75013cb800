//! Devices that have no room at present: what is offered again, when, and for how long.
//!
//! No device tells when it has room again: a full ring of a card, the queue of a TAP interface that nobody
//! reads fast enough, and the buffer of a socket look the same to a sender, and so do a carrier that is off and
//! a frame that is too long for the other end of a veth pair. So what finds no room is offered again after
//! pauses, the link is asked for, and no frame is offered for ever.

use crate::{LinkState, MonotonicClock, Offer, Port};
use std::io;
use tenuto_units::{Instant, Span};

/// Pauses between two offers to a full device: the first one, and the longest, which they reach by doubling
/// while nothing is taken. Rings of cards hold several times what leaves in the first one at 10 Gbit/s; the
/// longest keeps a device that nobody empties from costing more than a thousand calls a second.
const PAUSES: (Span, Span) = (Span::from_us(20), Span::from_ms(1));
/// A frame that a device did not take for so long is refused: a line of 1 Mbit/s takes a frame of 1518 B
/// every 12 ms.
const OFFERED_FOR: Span = Span::from_ms(100);
/// For so long frames as long as that one are refused at once, where others pass: a hundredth of the time at
/// most is spent on finding out.
const UNFIT_FOR: Span = Span::from_s(10);
/// The link of a full device is asked for no more often.
const LINK_ASKED: Span = Span::from_ms(10);

/// What one sender knows of a device that takes no more at present.
#[derive(Clone, Debug)]
pub struct Backpressure {
    /// When what was left is to be offered again; `None` while the device takes everything.
    retry_at: Option<Instant>,
    pause: Span,
    /// Since when it has taken nothing of what it was offered.
    stuck_since: Instant,
    link_asked_at: Instant,
    is_link_up: bool,
    /// Frames so long are not waited for, until then.
    unfit: Option<(usize, Instant)>,
}

impl Default for Backpressure {
    fn default() -> Self {
        Self {
            retry_at: None,
            pause: PAUSES.0,
            stuck_since: Instant::ZERO,
            link_asked_at: Instant::ZERO,
            is_link_up: true,
            unfit: None,
        }
    }
}

impl Backpressure {
    /// Offers frames to the device behind `port`. Those that are left are to be offered again, first of
    /// all, at [`Backpressure::retry_at`].
    ///
    /// # Errors
    ///
    /// Those of [`Port::offer`] and [`Port::link`].
    #[inline]
    pub fn offer(&mut self, port: &mut dyn Port, frames: &[&[u8]]) -> io::Result<Offer> {
        let offer = port.offer(frames)?;
        if offer.left == 0 && self.retry_at.is_none() {
            return Ok(offer);
        }
        self.judge(port, frames, offer, MonotonicClock::now())
    }

    /// When frames that were left are to be offered again, if there are any.
    #[inline]
    pub const fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Says what becomes of the frames that were left.
    #[cold]
    fn judge(
        &mut self,
        port: &mut dyn Port,
        frames: &[&[u8]],
        mut offer: Offer,
        now: Instant,
    ) -> io::Result<Offer> {
        if self.retry_at.is_none() || offer.report.sent > 0 {
            (self.stuck_since, self.pause) = (now, PAUSES.0);
        }
        while offer.left > 0 && self.asks_link(port, now)? {
            let head = frames[frames.len() - offer.left];
            if !self.is_given_up(head.len(), now) {
                self.retry_at = Some(now + self.pause);
                self.pause = (self.pause + self.pause).min(PAUSES.1);
                return Ok(offer);
            }
            let more = port.offer(&frames[frames.len() - offer.left + 1..])?;
            offer.report += more.report;
            offer.report.refused += 1;
            offer.left = more.left;
            self.stuck_since = now;
        }
        // Without a link nothing is waited for: it would come late.
        offer.report.refused += std::mem::take(&mut offer.left);
        self.retry_at = None;
        Ok(offer)
    }

    /// Whether frames can pass at all.
    fn asks_link(&mut self, port: &mut dyn Port, now: Instant) -> io::Result<bool> {
        if self.link_asked_at == Instant::ZERO || now.since(self.link_asked_at) >= LINK_ASKED {
            self.link_asked_at = now;
            self.is_link_up = port.link()? == LinkState::Up;
        }
        Ok(self.is_link_up)
    }

    /// Whether a frame of this length is refused, as it was offered for long enough, or as long a one was.
    fn is_given_up(&mut self, bytes: usize, now: Instant) -> bool {
        if self.unfit.is_some_and(|(least, until)| bytes >= least && now < until) {
            return true;
        }
        let is_given_up = now.since(self.stuck_since) >= OFFERED_FOR;
        if is_given_up {
            self.unfit = Some((bytes, now + UNFIT_FOR));
        }
        is_given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BURST_FRAMES, Capabilities, FlushReport, Lent, MemoryPort, PortStatistics};
    use std::os::fd::RawFd;

    /// A device with room for a few frames, which takes none that are longer than it allows.
    struct Narrow {
        device: MemoryPort,
        longest_bytes: usize,
        link: LinkState,
    }

    impl Port for Narrow {
        fn lend(&mut self, most: usize, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
            self.device.lend(most, take)
        }
        fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
            self.device.send(frame)
        }
        fn flush(&mut self) -> io::Result<FlushReport> {
            self.device.flush()
        }
        fn offer(&mut self, frames: &[&[u8]]) -> io::Result<Offer> {
            let count = frames.iter().take_while(|it| it.len() <= self.longest_bytes).count();
            let offer = self.device.offer(&frames[..count])?;
            Ok(Offer { left: offer.left + frames.len() - count, ..offer })
        }
        fn poll_fd(&self) -> Option<RawFd> {
            self.device.poll_fd()
        }
        fn capabilities(&self) -> Capabilities {
            self.device.capabilities()
        }
        fn statistics(&mut self) -> io::Result<PortStatistics> {
            self.device.statistics()
        }
        fn link(&mut self) -> io::Result<LinkState> {
            Ok(self.link)
        }
    }

    fn narrow(frames: usize) -> (Narrow, MemoryPort) {
        let (device, other) = MemoryPort::pair(frames).expect("descriptors");
        (Narrow { device, longest_bytes: 100, link: LinkState::Up }, other)
    }

    /// What was sent, refused and left of frames of these lengths.
    fn offered(
        it: &mut Backpressure,
        port: &mut Narrow,
        lengths: &[usize],
        now_us: u64,
    ) -> (usize, usize, usize) {
        let frames: Vec<Vec<u8>> = lengths.iter().map(|&bytes| vec![0; bytes]).collect();
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        let offer = port.offer(&frames).expect("there");
        let now = Instant::from_ns(1_000_000_000 + now_us * 1_000);
        let offer = it.judge(port, &frames, offer, now).expect("there");
        (offer.report.sent, offer.report.refused, offer.left)
    }

    fn pause_us(it: &Backpressure, now_us: u64) -> Option<u64> {
        let now = Instant::from_ns(1_000_000_000 + now_us * 1_000);
        it.retry_at().map(|at| at.since(now).as_ns() / 1_000)
    }

    #[test]
    fn what_finds_no_room_is_offered_again_after_growing_pauses() {
        let (mut port, mut other) = narrow(2);
        let mut it = Backpressure::default();
        assert_eq!(it.offer(&mut port, &[&[0; 60]]).expect("there").left, 0);
        assert_eq!(it.retry_at(), None);
        assert_eq!(offered(&mut it, &mut port, &[60; 3], 0), (1, 0, 2));
        let (mut now_us, mut pauses) = (0, Vec::new());
        for _ in 0..8 {
            let pause = pause_us(&it, now_us).expect("it is full");
            pauses.push(pause);
            now_us += pause;
            assert_eq!(offered(&mut it, &mut port, &[60; 2], now_us), (0, 0, 2));
        }
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        other.receive(1, &mut |_, _| ()).expect("there");
        assert_eq!(offered(&mut it, &mut port, &[60; 2], now_us), (1, 0, 1));
        assert_eq!(pause_us(&it, now_us), Some(20), "it goes on");
        other.receive(BURST_FRAMES, &mut |_, _| ()).expect("there");
        assert_eq!(offered(&mut it, &mut port, &[60], now_us), (1, 0, 0));
        assert_eq!(it.retry_at(), None);
    }

    /// One that never fits keeps others waiting once, and not for ever.
    #[test]
    fn a_frame_that_does_not_fit_is_given_up() {
        let (mut port, _other) = narrow(64);
        let mut it = Backpressure::default();
        assert_eq!(offered(&mut it, &mut port, &[60, 101, 60, 200, 99], 0), (1, 0, 4));
        assert_eq!(offered(&mut it, &mut port, &[101, 60, 200, 99], 99_999), (0, 0, 4));
        assert_eq!(offered(&mut it, &mut port, &[101, 60, 200, 99], 100_000), (2, 2, 0));
        assert_eq!(it.retry_at(), None);
        assert_eq!(offered(&mut it, &mut port, &[60, 101, 60], 10_099_999), (2, 1, 0));
        assert_eq!(offered(&mut it, &mut port, &[60, 101, 60], 10_100_000), (1, 0, 2));
        assert_eq!(pause_us(&it, 10_100_000), Some(20));
    }

    #[test]
    fn without_a_link_nothing_waits() {
        let (mut port, _other) = narrow(2);
        let mut it = Backpressure::default();
        assert_eq!(offered(&mut it, &mut port, &[60; 3], 0), (2, 0, 1));
        port.link = LinkState::NoCarrier;
        assert_eq!(offered(&mut it, &mut port, &[60], 9_999), (0, 0, 1));
        assert_eq!(offered(&mut it, &mut port, &[60], 10_000), (0, 1, 0));
        assert_eq!(offered(&mut it, &mut port, &[60; 5], 10_001), (0, 5, 0));
        assert_eq!(it.retry_at(), None);
        port.link = LinkState::Up;
        assert_eq!(offered(&mut it, &mut port, &[60], 20_000), (0, 0, 1));
    }
}
