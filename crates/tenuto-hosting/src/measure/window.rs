//! One window of a measurement: short, its threads under SCHED_FIFO, so that neighbours do not count.

use super::client::{Client, Talk};
use super::figures::Observed;
use super::plane::{Contender, pause};
use std::io;
use std::net::SocketAddr;
use tenuto_io::measure::Subject;
use tenuto_io::{MonotonicClock, realtime};
use tenuto_units::Span;

/// As of the control plane itself.
pub(super) const PRIORITY: u8 = 10;
/// Talk before what is counted: caches and windows of TCP are cold.
const RUN_IN: Span = Span::from_ms(10);

/// How the threads of a window are scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduling {
    /// Before all others.
    RealTime,
    /// As whatever anybody starts.
    Usual,
}

/// Talks with control planes for `length`, with all of them from one thread on `processor`, so that their
/// messages are of one time.
pub(super) fn talk_window(
    all: &mut [Contender],
    talk: Talk,
    processor: usize,
    (scheduling, length): (Scheduling, Span),
) -> io::Result<Observed> {
    // Real-time threads may use half of the time.
    pause(length)?;
    let addresses: Vec<SocketAddr> = all.iter().map(|it| it.plane.address).collect();
    let mut client = Client::connect(&addresses, talk)?;
    let work = || -> io::Result<Observed> {
        realtime::pin_to(&[processor])?;
        let is_real_time =
            scheduling == Scheduling::RealTime && realtime::try_fifo(PRIORITY).is_ok();
        all.iter_mut().try_for_each(|it| it.subject.begin())?;
        let early = client.talk(RUN_IN.min(length))?;
        client.round_trips_ns.clear();
        let (began, client_before) = (MonotonicClock::now(), realtime::thread_processor_time());
        let receive_before = received(all);
        let messages = client.talk(length);
        let ns = MonotonicClock::now().since(began).as_ns();
        let client_ns = (realtime::thread_processor_time() - client_before).as_ns();
        let receive_ns = (received(all) - receive_before).as_ns();
        let mut server_ns = 0;
        for it in all.iter_mut() {
            server_ns += it.subject.end()?.as_ns();
        }
        let mut trips = std::mem::take(&mut client.round_trips_ns);
        trips.sort_unstable();
        let messages = messages?;
        // The control plane's time is that of the run-in too.
        let server_ns = share(server_ns, messages, messages + early);
        Ok(Observed::of(messages, ns, [client_ns, server_ns, receive_ns], &trips, is_real_time))
    };
    std::thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_| io::Error::other("the client panicked"))?
}

/// Of `ns` as many parts of `all`.
fn share(ns: u64, parts: u64, all: u64) -> u64 {
    let ns = u128::from(ns) * u128::from(parts) / u128::from(all.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// Processor time of the threads that receive for them.
fn received(all: &[Contender]) -> Span {
    all.iter().map(|it| it.plane.receive_time()).fold(Span::ZERO, |sum, time| sum + time)
}
