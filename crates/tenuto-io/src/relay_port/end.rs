//! The end at the device, and the thread that serves several of them.

use super::Shared;
use super::lane::{LaneEntry, LaneExit};
use crate::{BURST_FRAMES, Interest, Look, Pending, PollKey, PollSet, Port, PortWait};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The end of who serves the device.
pub struct RelayEnd {
    port: Box<dyn Port + Send>,
    shared: Arc<Shared>,
    to_us: LaneEntry,
    from_us: LaneExit,
    is_lost: bool,
    /// The lane was full when it was looked at last: the device is left alone until there is room.
    is_held: bool,
}

/// Serves the devices of relays on the calling thread, until the last of their ports is dropped.
///
/// # Errors
///
/// When a port has no descriptor to wait for, or those of `ppoll`. Devices that are lost are told
/// to their ports.
pub fn serve_relays(mut ends: Vec<RelayEnd>, mut wait: PortWait) -> io::Result<()> {
    let mut set = PollSet::new();
    let mut keys = Vec::new();
    for end in &ends {
        keys.push([set.add_port(&*end.port)?, set.add(end.shared.there.fd(), Interest::Read)]);
    }
    let mut is_open = vec![true; ends.len()];
    while is_open.contains(&true) {
        wait.wait(&mut set, None, &mut |look| {
            let open = ends.iter().zip(&is_open).filter(|(_, is_open)| **is_open);
            Pending::all(open.map(|(end, _)| end.pending(look)))
        })?;
        for ((end, keys), is_open) in ends.iter_mut().zip(&keys).zip(&mut is_open) {
            if *is_open && !end.serve(&set, keys[0]) {
                keys.iter().for_each(|&key| set.remove(key));
                *is_open = false;
            } else if *is_open {
                // One that is not to be read may be readable for ever.
                let is_heard = !end.is_lost && !end.is_held;
                let interest = if is_heard { Interest::Read } else { Interest::None };
                set.set_interest(keys[0], interest);
            }
        }
    }
    Ok(())
}

impl RelayEnd {
    pub(super) fn new(
        port: Box<dyn Port + Send>,
        shared: Arc<Shared>,
        to_us: LaneEntry,
        from_us: LaneExit,
    ) -> Self {
        Self { port, shared, to_us, from_us, is_lost: false, is_held: false }
    }

    /// Whether something is to be done here.
    fn pending(&self, look: Look) -> Pending {
        if look == Look::BeforeSleep {
            if self.is_held {
                self.shared.is_room_wanted.store(true, Ordering::Relaxed);
            }
            self.shared.there.expect();
        }
        let is_told = self.shared.is_closed.load(Ordering::Acquire)
            || self.shared.is_asked.load(Ordering::Acquire);
        if is_told || self.from_us.has_frame() {
            return Pending::Frames;
        }
        match (self.is_lost, self.is_held) {
            (true, _) => return Pending::Nothing,
            // What finds no room in the lane waits in the device.
            (_, true) if self.to_us.room() == 0 => return Pending::Nothing,
            (_, true) => return Pending::Frames,
            (_, false) => {}
        }
        Pending::of([&*self.port as &dyn Port], look)
    }

    /// Moves at most a burst each way; `false` once the port is dropped.
    fn serve(&mut self, set: &PollSet, device: PollKey) -> bool {
        self.shared.there.hush();
        if self.shared.is_closed.load(Ordering::Acquire) {
            return false;
        }
        let is_readable = set.readiness(device).readable;
        if let Err(error) = self.move_frames(is_readable).and_then(|()| self.look()) {
            self.lose(&error);
        }
        self.is_held = self.to_us.room() == 0;
        true
    }

    fn move_frames(&mut self, is_readable: bool) -> io::Result<()> {
        let Self { port, shared, to_us, from_us, is_lost, .. } = self;
        let count = from_us.take(BURST_FRAMES);
        if count > 0 && !*is_lost {
            let mut frames: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
            for (target, parcel) in frames.iter_mut().zip(from_us.taken()) {
                *target = parcel.frame();
            }
            let refused = port.transmit(&frames[..count])?.refused;
            if refused > 0 {
                shared.refused.fetch_add(refused as u64, Ordering::Relaxed);
            }
        }
        from_us.give_back();
        let room = to_us.room().min(BURST_FRAMES);
        let is_ready = is_readable || port.pending().unwrap_or(false);
        if *is_lost || room == 0 || !is_ready {
            return Ok(());
        }
        port.lend(room, &mut |lent| {
            for (&arrival, frame) in lent.arrivals.iter().zip(lent.frames) {
                let is_in = to_us.put(arrival, frame);
                debug_assert!(is_in, "there was room");
            }
        })?;
        if to_us.hand_over() > 0 {
            shared.here.ring();
        }
        Ok(())
    }

    /// Looks at link and books, if that was asked for.
    fn look(&mut self) -> io::Result<()> {
        if self.is_lost || !self.shared.is_asked.load(Ordering::Relaxed) {
            self.shared.is_asked.store(false, Ordering::Relaxed);
            return Ok(());
        }
        self.shared.is_asked.store(false, Ordering::Release);
        self.port.link()?;
        let statistics = self.port.statistics()?;
        self.shared.told(|told| told.statistics = statistics);
        Ok(())
    }

    fn lose(&mut self, error: &io::Error) {
        self.is_lost = true;
        self.from_us.give_back();
        let why = (error.kind(), error.to_string());
        self.shared.told(|told| told.why_lost = Some(why));
        self.shared.is_lost.store(true, Ordering::Release);
        self.shared.here.ring();
    }
}
