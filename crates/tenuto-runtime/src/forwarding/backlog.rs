//! Frames that were handed over to ports whose devices turned out to have no room: they stand in front of all
//! that the queues of the port hold, which the core keeps by priority meanwhile (one burst below the
//! scheduler: docs/theory/analysis.md, "The network as servers").
//!
//! A device says that it is full only by taking no more, so that a port without a rate is given all there is until
//! then. From the first frame that is left on, it is given none while some are left, and then a burst at a time,
//! until it takes all that its queues hold.

use super::{ForwardingPort, send_burst};
use tenuto_dataplane::switch::Datapath;
use tenuto_dataplane::{FrameId, FramePool, Frames, Transmit};
use tenuto_io::{BURST_FRAMES, MonotonicClock};
use tenuto_units::Instant;

/// Frames that are kept without an allocation: a burst for each of several ports.
const FRAMES_READY: usize = 1_024;
/// Frames that a port is given at once whose device was full.
const BURST: u32 = 32;
const _: () = assert!(BURST as usize == BURST_FRAMES);

/// What waits for room, of all ports.
#[derive(Debug)]
pub(super) struct Backlog {
    /// In the order in which they were handed over.
    kept: Vec<Transmit>,
    /// When it is to be looked at; `None` if no device is full.
    retry_at: Option<Instant>,
    /// Whether ports are asked for room.
    is_asking: bool,
    /// Whether they are asked although no device is full.
    asks_always: bool,
}

impl Backlog {
    pub(super) fn new() -> Self {
        let kept = Vec::with_capacity(FRAMES_READY);
        Self { kept, retry_at: None, is_asking: false, asks_always: false }
    }

    pub(super) fn ask_always(&mut self) {
        (self.asks_always, self.is_asking) = (true, true);
    }

    #[inline(always)]
    pub(super) const fn is_asking(&self) -> bool {
        self.is_asking
    }

    pub(super) const fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Keeps frames for a port that is to be tried again then.
    #[cold]
    pub(super) fn keep(&mut self, left: &[Transmit], retry_at: Option<Instant>) {
        self.kept.extend_from_slice(left);
        self.wake_at(retry_at.unwrap_or(Instant::ZERO));
        self.is_asking = true;
    }

    fn wake_at(&mut self, at: Instant) {
        self.retry_at = Some(self.retry_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Tries the devices again whose pause is over, and tells the core how much each port takes.
    #[cold]
    pub(super) fn turn<P: ForwardingPort>(
        &mut self,
        ports: &mut [P],
        switch: &mut impl Datapath,
        pool: &mut FramePool,
        lost: &mut Vec<(usize, String)>,
    ) {
        let now = MonotonicClock::now();
        self.retry_at = None;
        for (place, port) in ports.iter_mut().enumerate() {
            if port.retry_at().is_some_and(|at| at <= now) {
                self.send_to(port, pool)
                    .unwrap_or_else(|error| lost.push((place, error.to_string())));
            }
            let number = port.number();
            let room = match (port.room(), port.retry_at()) {
                (Some(frames), None) => Some(u32::try_from(frames).unwrap_or(u32::MAX)),
                (_, Some(at)) => {
                    self.wake_at(at);
                    Some(0)
                }
                // It has just had room again, or took a whole burst: there may be more.
                (None, None) if switch.room(number) == Some(0) => {
                    self.wake_at(now);
                    Some(BURST)
                }
                (None, None) => None,
            };
            switch.set_room(now, number, room);
        }
        self.is_asking = self.asks_always || self.retry_at.is_some();
    }

    /// Sends what was kept for a port, as far as its device has room; all of it if the port is lost.
    fn send_to<P: ForwardingPort>(
        &mut self,
        port: &mut P,
        pool: &mut FramePool,
    ) -> std::io::Result<()> {
        let number = port.number();
        let (mut done, mut sent) = (0, Ok(()));
        loop {
            let nothing = Transmit { port: number, frame: FrameId(0), departure: Instant::ZERO };
            let (mut burst, mut count) = ([nothing; BURST_FRAMES], 0);
            let own = self.kept.iter().filter(|it| it.port == number).skip(done);
            for (target, transmit) in burst.iter_mut().zip(own) {
                *target = *transmit;
                count += 1;
            }
            if count == 0 {
                break;
            }
            match send_burst(port, &burst[..count], pool) {
                Ok(taken) => done += taken,
                // It counts them.
                Err(error) => (done, sent) = (done + count, Err(error)),
            }
            if port.retry_at().is_some() {
                break;
            }
        }
        self.kept.retain(|it| {
            let stays = it.port != number || done == 0;
            if !stays {
                done -= 1;
                pool.release(it.frame);
            }
            stays
        });
        sent
    }
}
