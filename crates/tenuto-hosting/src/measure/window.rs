//! One window of a measurement: short, its threads under SCHED_FIFO, so that neighbours do not count.

use super::client::{Client, Talk};
use super::figures::Observed;
use super::plane::{Plane, pause};
use std::io;
use tenuto_io::measure::{ProcessSubject, Subject};
use tenuto_io::{MonotonicClock, realtime};
use tenuto_units::Span;

/// As of the control plane itself.
pub(super) const PRIORITY: u8 = 10;
/// Talk before what is counted: caches and windows of TCP are cold.
const RUN_IN: Span = Span::from_ms(10);

/// Talks with a control plane for `length` from a thread on `processor`.
pub(super) fn talk_window(
    plane: &Plane,
    subject: &mut ProcessSubject,
    talk: Talk,
    processor: usize,
    length: Span,
) -> io::Result<Observed> {
    // Real-time threads may use half of the time.
    pause(length)?;
    let mut client = Client::connect(plane.address, talk)?;
    let work = || -> io::Result<Observed> {
        realtime::pin_to(&[processor])?;
        let is_real_time = realtime::try_fifo(PRIORITY).is_ok();
        subject.begin()?;
        client.talk(RUN_IN.min(length))?;
        client.round_trips_ns.clear();
        let (began, client_before) = (MonotonicClock::now(), realtime::thread_processor_time());
        let receive_before = plane.receive_time();
        let messages = client.talk(length);
        let ns = MonotonicClock::now().since(began).as_ns();
        let client_ns = (realtime::thread_processor_time() - client_before).as_ns();
        let receive_ns = (plane.receive_time() - receive_before).as_ns();
        let server_ns = subject.end()?.as_ns();
        let mut trips = std::mem::take(&mut client.round_trips_ns);
        trips.sort_unstable();
        let messages = messages?;
        Ok(Observed::of(messages, ns, [client_ns, server_ns, receive_ns], &trips, is_real_time))
    };
    std::thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_| io::Error::other("the client panicked"))?
}
