//! Frames through a switch, burst by burst: what every live switch has in common, alone or in a lab.

use backlog::Backlog;
use std::io;
use tenuto_dataplane::switch::{Burst, Datapath, Switch, SwitchEvent};
use tenuto_dataplane::{Effects, FramePool, Frames, Transmit};
use tenuto_io::{BURST_FRAMES, Lent, MonotonicClock};
use tenuto_units::Instant;
use tenuto_wire::EtherType;

mod backlog;

/// Frames whose memory is there from the start, 2 MB: as many as several full bursts that have to wait.
const FRAMES_READY: usize = 1_024;
/// Frames that may be handed over or dropped at once without an allocation: a burst that each frame leaves
/// 512 times.
const EFFECTS_ROOM: usize = 16_384;

/// A port as forwarding sees it.
pub(crate) trait ForwardingPort {
    /// Its number in OpenFlow.
    fn number(&self) -> u32;

    /// Whether its interface is there.
    fn is_open(&self) -> bool;

    /// Lends the frames of one burst.
    ///
    /// # Errors
    /// When the interface is gone.
    fn lend(&mut self, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize>;

    /// Sends at most [`BURST_FRAMES`] at once, each with its departure; how many are sent or refused.
    /// The device has no room for the others: they are to be sent at [`ForwardingPort::retry_at`].
    ///
    /// # Errors
    /// When the interface is gone.
    fn send(&mut self, sent: &[Transmit], bytes: &[&[u8]]) -> io::Result<usize>;

    /// When frames that found no room in its device are to be sent, if there are any.
    fn retry_at(&self) -> Option<Instant> {
        None
    }

    /// Frames that it takes without refusing any for want of room, if it can say.
    fn room(&mut self) -> Option<usize> {
        None
    }
}

/// Who looks on while frames pass.
pub(crate) trait Witness {
    /// A received frame found the store full, or is too long for it.
    fn not_stored(&mut self, port: u32, bytes: usize);

    /// The time at which the next frame of a burst is handled: when the burst was taken, unless calls
    /// of the core are timed.
    fn time(&mut self, taken: Instant) -> Instant {
        taken
    }

    /// The core has handled a frame, in a call that began at `began`.
    fn handled(&mut self, _began: Instant, _fx: &mut Effects<SwitchEvent>) {}

    /// A burst was handled, and sent as far as it goes on at once; `first` is the earliest of its
    /// arrivals.
    fn burst_ended(&mut self, _first: Instant, _fx: &Effects<SwitchEvent>) {}

    /// These are sent next, by one port; the last of them is the signal of a change, or nobody asked.
    fn leaving(&mut self, _transmits: &[Transmit], _is_signal: bool) {}
}

/// The core, with the store of its frames.
pub(crate) struct Forwarding<D = Switch> {
    pub(crate) switch: D,
    pub(crate) pool: FramePool,
    pub(crate) fx: Effects<SwitchEvent>,
    /// Ports that were found lost, by their place, each with the reason.
    pub(crate) lost: Vec<(usize, String)>,
    /// Frames for devices that have no room.
    backlog: Backlog,
    burst: Burst,
}

impl<D: Datapath> Forwarding<D> {
    /// A switch with a store of so many frames.
    pub(crate) fn new(mut switch: D, frames: usize) -> Self {
        switch.set_aside(frames);
        switch.purge_in_steps();
        Self {
            switch,
            pool: FramePool::set_aside(frames, FRAMES_READY),
            fx: Effects::with_room(EFFECTS_ROOM),
            lost: Vec::new(),
            backlog: Backlog::new(),
            burst: Burst::new(),
        }
    }

    /// Other threads serve the devices, so that ports take only what their lanes have room for.
    pub(crate) fn ask_lanes(&mut self) {
        self.backlog.ask_always();
    }

    /// When frames that wait for room are to be looked at, if there are any.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.backlog.retry_at()
    }

    /// Frames that were handed over and wait for room in their devices.
    pub(crate) fn kept(&self) -> usize {
        self.backlog.len()
    }

    /// Takes a burst from one port, and sends what leaves at once from where it lies; what is still
    /// held then, because it waits or leaves by the same port, goes into the store. Gives how many
    /// frames came.
    ///
    /// A frame that has come since the clock was read is handled at its arrival.
    pub(crate) fn receive<P: ForwardingPort>(
        &mut self,
        ports: &mut [P],
        place: usize,
        witness: &mut impl Witness,
    ) -> usize {
        self.tell_room(ports);
        let Self { switch, pool, fx, lost, burst, backlog } = self;
        let (port, mut exits) = Exits::but(ports, place);
        let number = port.number();
        let taken = port.lend(&mut |lent: Lent<'_>| {
            let mut frames = pool.lend(lent.frames);
            for (nth, &arrival) in lent.arrivals.iter().enumerate() {
                match frames.hold(nth) {
                    Some(id) => burst.push(number, arrival, id),
                    None => {
                        let bytes = lent.frames[nth].len();
                        switch.not_stored(number, bytes);
                        witness.not_stored(number, bytes);
                    }
                }
            }
            let mode = switch.mode();
            while let Some(arrival) = burst.next_arrival() {
                let now = witness.time(lent.fetched).max(arrival);
                switch.receive_next(now, burst, &mut frames, fx);
                witness.handled(now, fx);
            }
            switch.fire_due(MonotonicClock::now(), &mut frames, fx);
            // Neighbours hear of a change before anything else leaves.
            let which = if switch.mode() == mode { Which::All } else { Which::Signals };
            exits.transmit(which, &mut fx.transmits, &mut frames, lost, backlog, witness);
            if let Some(&first) = lent.arrivals.first() {
                witness.burst_ended(first, fx);
            }
        });
        taken.unwrap_or_else(|error| {
            lost.push((place, error.to_string()));
            0
        })
    }

    /// Fires what is due.
    pub(crate) fn fire<P: ForwardingPort>(&mut self, ports: &mut [P]) {
        self.tell_room(ports);
        self.switch.fire_due(MonotonicClock::now(), &mut self.pool, &mut self.fx);
    }

    /// Tells the core how much its ports take: what finds no room waits by priority.
    #[inline]
    fn tell_room<P: ForwardingPort>(&mut self, ports: &mut [P]) {
        // What was handed over and is not sent yet has its room already.
        if self.backlog.is_asking() && self.fx.transmits.is_empty() {
            let Self { switch, pool, lost, backlog, .. } = self;
            backlog.turn(ports, switch, pool, lost);
        }
    }

    /// Sends whatever the core has handed over; if the mode has just changed, as the caller knows, no
    /// more than what is to leave before all else: the first signal of each port.
    pub(crate) fn transmit<P: ForwardingPort>(
        &mut self,
        ports: &mut [P],
        has_swapped: bool,
        witness: &mut impl Witness,
    ) {
        let Self { pool, fx, lost, backlog, .. } = self;
        let which = if has_swapped { Which::Signals } else { Which::All };
        Exits::all(ports).transmit(which, &mut fx.transmits, pool, lost, backlog, witness);
    }
}

/// What leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    /// The mode has changed: every neighbour hears of it before any hears of it again, and before
    /// anything else is sent. The rest stays for the next call.
    Signals,
}

/// Whether a frame has the form of a mode signal.
pub(crate) fn is_signal(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&EtherType::MODE_SIGNAL.0.to_be_bytes()[..])
}

/// The ports by which frames can leave: all but one that lends frames meanwhile, if any does.
struct Exits<'a, P> {
    before: &'a mut [P],
    after: &'a mut [P],
    lending: Option<u32>,
}

impl<'a, P: ForwardingPort> Exits<'a, P> {
    /// All of them.
    fn all(ports: &'a mut [P]) -> Self {
        Self { before: ports, after: &mut [], lending: None }
    }

    /// The port at `place`, and the others.
    fn but(ports: &'a mut [P], place: usize) -> (&'a mut P, Self) {
        let (before, rest) = ports.split_at_mut(place);
        let (port, after) = rest.split_first_mut().expect("a place of a port");
        let lending = Some(port.number());
        (port, Self { before, after, lending })
    }

    fn find(&mut self, number: u32) -> Option<(usize, &mut P)> {
        let behind = self.before.len() + 1;
        let before = self.before.iter_mut().enumerate();
        let after = self.after.iter_mut().enumerate().map(|(place, port)| (place + behind, port));
        before.chain(after).find(|(_, port)| port.number() == number)
    }

    /// Hands frames over to their ports and gives them back to the store; adds the ports that are
    /// lost, and the frames for which their devices have no room. Those for the port that lends stay.
    fn transmit(
        &mut self,
        which: Which,
        transmits: &mut Vec<Transmit>,
        frames: &mut impl Frames,
        lost: &mut Vec<(usize, String)>,
        backlog: &mut Backlog,
        witness: &mut impl Witness,
    ) {
        let (mut next, mut kept) = (0, 0);
        while let Some(first) = transmits.get(next) {
            // The core hands over port by port.
            let number = first.port;
            let same = transmits[next..].iter().take_while(|sent| sent.port == number).count();
            let run = next..next + same;
            next = run.end;
            let leaving = match which {
                _ if self.lending == Some(number) => 0,
                Which::All => same,
                Which::Signals => {
                    let is_it = |sent: &Transmit| is_signal(frames.bytes(sent.frame));
                    transmits[run.clone()].iter().position(is_it).map_or(0, |nth| nth + 1)
                }
            };
            let stays = run.start + leaving..run.end;
            let run = &transmits[run.start..stays.start];
            if !run.is_empty() {
                witness.leaving(run, which == Which::Signals);
                self.send(number, run, frames, lost, backlog);
            }
            transmits.copy_within(stays, kept);
            kept += same - leaving;
        }
        transmits.truncate(kept);
    }

    /// Hands frames over to the port that all of them leave by, and gives them back to the store.
    fn send(
        &mut self,
        number: u32,
        run: &[Transmit],
        frames: &mut impl Frames,
        lost: &mut Vec<(usize, String)>,
        backlog: &mut Backlog,
    ) {
        let mut done = run.len();
        if let Some((place, port)) = self.find(number).filter(|(_, port)| port.is_open()) {
            match send(port, run, frames) {
                Ok(count) => done = count,
                Err(error) => lost.push((place, error.to_string())),
            }
            if let Some(kept) = run.get(done..).filter(|kept| !kept.is_empty()) {
                backlog.keep(kept, port.retry_at());
            }
        }
        run[..done].iter().for_each(|sent| frames.release(sent.frame));
    }
}

/// Sends frames at once, behind those that its device had no room for; how many are sent or refused.
fn send(
    port: &mut impl ForwardingPort,
    sent: &[Transmit],
    frames: &impl Frames,
) -> io::Result<usize> {
    if port.retry_at().is_some() {
        return Ok(0);
    }
    let mut done = 0;
    for sent in sent.chunks(BURST_FRAMES) {
        let count = send_burst(port, sent, frames)?;
        done += count;
        if count < sent.len() {
            break;
        }
    }
    Ok(done)
}

/// Sends at most [`BURST_FRAMES`] at once; how many are sent or refused.
#[inline]
fn send_burst(
    port: &mut impl ForwardingPort,
    sent: &[Transmit],
    frames: &impl Frames,
) -> io::Result<usize> {
    let mut bytes: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
    for (target, sent) in bytes.iter_mut().zip(sent) {
        *target = frames.bytes(sent.frame);
    }
    port.send(sent, &bytes[..sent.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_dataplane::FrameId;

    /// A port that keeps what it is given.
    struct Kept {
        number: u32,
        sent: Vec<u8>,
    }

    impl ForwardingPort for Kept {
        fn number(&self) -> u32 {
            self.number
        }
        fn is_open(&self) -> bool {
            true
        }
        fn lend(&mut self, _: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
            Ok(0)
        }
        fn send(&mut self, _: &[Transmit], bytes: &[&[u8]]) -> io::Result<usize> {
            self.sent.extend(bytes.iter().map(|frame| frame[0]));
            Ok(bytes.len())
        }
    }

    struct Nobody;

    impl Witness for Nobody {
        fn not_stored(&mut self, _: u32, _: usize) {}
    }

    /// Sends by ports none of which is full.
    fn transmit(
        exits: &mut Exits<'_, Kept>,
        which: Which,
        transmits: &mut Vec<Transmit>,
        pool: &mut FramePool,
        lost: &mut Vec<(usize, String)>,
    ) {
        let mut backlog = Backlog::new();
        exits.transmit(which, transmits, pool, lost, &mut backlog, &mut Nobody);
        assert_eq!(backlog.len(), 0);
    }

    fn frame(pool: &mut FramePool, mark: u8, is_signal: bool) -> FrameId {
        let mut bytes = [mark; 64];
        if is_signal {
            bytes[12..14].copy_from_slice(&EtherType::MODE_SIGNAL.0.to_be_bytes());
        }
        pool.insert(&bytes).expect("room")
    }

    fn ports() -> Vec<Kept> {
        (1..=4).map(|number| Kept { number, sent: Vec::new() }).collect()
    }

    /// The first signal of each port leaves, with what was to be sent before it there; nothing is lost or
    /// reordered.
    #[test]
    fn first_signals_leave_before_all_else() {
        let (mut pool, mut ports, mut lost) = (FramePool::new(16), ports(), Vec::new());
        let leaving = [
            (1, 10, false),
            (1, 11, false),
            (2, 20, true),
            (2, 21, true),
            (2, 22, false),
            (3, 30, false),
            (4, 40, false),
            (4, 41, true),
            (4, 42, true),
        ];
        let mut transmits: Vec<Transmit> = leaving
            .into_iter()
            .map(|(port, mark, is_signal)| Transmit {
                port,
                frame: frame(&mut pool, mark, is_signal),
                departure: Instant::ZERO,
            })
            .collect();
        let mut exits = Exits::all(&mut ports);
        transmit(&mut exits, Which::Signals, &mut transmits, &mut pool, &mut lost);
        let sent = |ports: &[Kept]| ports.iter().map(|it| it.sent.clone()).collect::<Vec<_>>();
        assert_eq!(sent(&ports), [vec![], vec![20], vec![], vec![40, 41]]);
        assert_eq!((transmits.len(), pool.in_use()), (6, 6));
        let mut exits = Exits::all(&mut ports);
        transmit(&mut exits, Which::All, &mut transmits, &mut pool, &mut lost);
        assert_eq!(sent(&ports), [vec![10, 11], vec![20, 21, 22], vec![30], vec![40, 41, 42]]);
        assert_eq!((transmits.len(), pool.in_use(), lost.len()), (0, 0, 0));
    }

    /// What leaves by the port that lends stays, also where it stands between others.
    #[test]
    fn frames_for_the_lending_port_stay() {
        let (mut pool, mut ports, mut lost) = (FramePool::new(16), ports(), Vec::new());
        let mut transmits: Vec<Transmit> = [(1, 10), (2, 20), (3, 30), (4, 40)]
            .map(|(port, mark)| Transmit {
                port,
                frame: frame(&mut pool, mark, false),
                departure: Instant::ZERO,
            })
            .to_vec();
        let (lending, mut exits) = Exits::but(&mut ports, 1);
        assert_eq!(lending.number, 2);
        transmit(&mut exits, Which::All, &mut transmits, &mut pool, &mut lost);
        assert_eq!(transmits.iter().map(|it| it.port).collect::<Vec<_>>(), [2]);
        assert_eq!(ports.iter().map(|it| it.sent.len()).collect::<Vec<_>>(), [1, 0, 1, 1]);
        assert_eq!(pool.in_use(), 1);
    }
}
