//! One controller of a slice: reached beside the loop, heard within its budget.

use super::super::channel::{Channel, Ended};
use super::super::dial::{Dial, Dialled, Way};
use super::super::endpoint::Endpoint;
use super::super::telling::Quota;
use super::super::tls::Tls;
use super::guest::{BEHIND_BYTES, WAITING_MAX};
use super::setup::ProxiedSlice;
use tenuto_dataplane::switch::{ConnectionId, ProxyEffects, ProxyPeer, SliceProxy};
use tenuto_io::PollSet;
use tenuto_units::{Instant, Span};

/// News of one slice, and of strangers, that are told in a second.
pub(super) const TOLD: u32 = 10;
/// Asynchronous bytes that wait for one that does not read.
const ASYNC_BYTES_MAX: usize = 1 << 20;
/// Messages before others have a turn.
const TURN: usize = 64;
/// While much waits for the switch it is looked at so often.
const PAUSE: Span = Span::from_ms(5);
/// Between two news of packet-ins that were dropped.
const LIMITED: Span = Span::from_s(1);
/// Where there was no thread for an attempt, the next one is after this.
const NO_THREAD: Span = Span::from_s(1);

/// What there is of the connection.
enum Link {
    Idle,
    /// No attempt before that.
    Waiting(Instant),
    Dialling(Dial),
    Up(Channel),
}

/// A slice's controller.
pub(super) struct Controller {
    /// The place of its slice, and its connection there.
    pub(super) peer: ProxyPeer,
    /// The name of the slice.
    pub(super) slice: String,
    /// How it is called in news.
    pub(super) name: String,
    endpoint: Endpoint,
    tls: Option<Tls>,
    link: Link,
    failures: u32,
    pub(super) told: Quota,
    /// Packet-ins above its budget that were told, and when there may be news of more.
    limited: (u64, Instant),
}

impl Controller {
    /// One of the controllers of a slice at this place, which is its `number`th.
    pub(super) fn new(
        (place, slice): (usize, &ProxiedSlice),
        number: u16,
        endpoint: &Endpoint,
        tls: Option<&Tls>,
    ) -> Self {
        let endpoint = endpoint.clone();
        let (host, port) = (&endpoint.host, endpoint.port);
        Self {
            peer: ProxyPeer { slice: place, connection: ConnectionId(number) },
            tls: tls.cloned(),
            slice: slice.name.clone(),
            name: format!("controller of {} at {host}:{port}", slice.name),
            endpoint,
            link: Link::Idle,
            failures: 0,
            told: Quota::new(TOLD),
            limited: (0, Instant::ZERO),
        }
    }

    pub(super) const fn is_up(&self) -> bool {
        matches!(self.link, Link::Up(_))
    }

    /// When it wants a turn; `None`: not before something is heard.
    pub(super) fn deadline(&self, now: Instant, probe: Span) -> Option<Instant> {
        match &self.link {
            Link::Idle | Link::Dialling(_) => None,
            Link::Waiting(until) => Some(*until),
            Link::Up(channel) => Some(match channel.budget_at {
                Some(at) => at,
                None if channel.has_message() => now,
                None => channel.deadline(probe),
            }),
        }
    }

    /// Goes on reaching it; what came of it, if anything did.
    pub(super) fn reach(
        &mut self,
        now: Instant,
        backoff_max: Span,
        poll: &mut PollSet,
    ) -> Option<Result<(), Ended>> {
        if let Link::Dialling(dial) = &mut self.link {
            let stream = match dial.turn(poll)? {
                Dialled::Made(stream) => stream,
                Dialled::Failed(why) => return Some(Err(why)),
            };
            self.end(poll);
            let name = self.name.clone();
            let id = self.peer.connection;
            self.link = Link::Up(Channel::new(id, name, stream, ASYNC_BYTES_MAX, now, poll));
            return Some(Ok(()));
        }
        if matches!(self.link, Link::Waiting(until) if until > now) {
            return None;
        }
        let way = Way { endpoint: self.endpoint.clone(), tls: self.tls.clone(), backoff_max };
        self.link = match Dial::start(way, self.failures, poll) {
            Ok(dial) => Link::Dialling(dial),
            Err(error) => {
                self.link = Link::Waiting(now + NO_THREAD);
                return Some(Err(error.to_string()));
            }
        };
        None
    }

    /// What it has said, as far as its budget goes and the switch keeps up.
    pub(super) fn hear(
        &mut self,
        (now, probe, is_behind): (Instant, Span, bool),
        proxy: &mut SliceProxy,
        poll: &PollSet,
        out: &mut ProxyEffects,
    ) -> Result<(), Ended> {
        let Link::Up(channel) = &mut self.link else { return Ok(()) };
        if poll.readiness(channel.key).readable {
            channel.read(now)?;
        }
        channel.keep_alive(now, probe)?;
        let mut message = Vec::new();
        for _ in 0..TURN {
            let at = match is_behind || out.to_switch.len() > BEHIND_BYTES {
                true => now + PAUSE,
                false => proxy.message_at(self.peer.slice, now, channel.next_bytes()),
            };
            channel.budget_at = (at > now && channel.has_message()).then_some(at);
            if channel.budget_at.is_some() || !channel.next_message(&mut message) {
                break;
            }
            if !proxy.from_controller(self.peer, now, &message, out) {
                return Err("what it sent is no OpenFlow 1.3".into());
            }
        }
        Ok(())
    }

    /// How many packet-ins are to be told of, of so many that were dropped since the switch came: once a second.
    pub(super) fn take_limited(&mut self, dropped: u64, now: Instant) -> Option<u64> {
        let (told, at) = self.limited;
        if dropped < told {
            self.limited.0 = 0;
        }
        let more = dropped - self.limited.0;
        if more == 0 || now < at {
            return None;
        }
        self.limited = (dropped, now + LIMITED);
        Some(more)
    }

    pub(super) fn queue(&mut self, bytes: &[u8]) {
        if let Link::Up(channel) = &mut self.link {
            channel.queue(bytes);
        }
    }

    /// Sends it what it takes.
    pub(super) fn flush(&mut self, poll: &mut PollSet) -> Result<(), Ended> {
        let Link::Up(channel) = &mut self.link else { return Ok(()) };
        channel.flush(poll)?;
        match channel.waiting() > WAITING_MAX {
            true => Err("it does not read what it is sent".into()),
            false => Ok(()),
        }
    }

    /// Ends the connection, or the attempts at one; the next attempt is later the more often it was of no use.
    pub(super) fn end(&mut self, poll: &mut PollSet) {
        match std::mem::replace(&mut self.link, Link::Idle) {
            Link::Idle | Link::Waiting(_) => {}
            Link::Dialling(dial) => dial.end(poll),
            Link::Up(channel) => {
                let was_of_use = channel.has_spoken;
                self.failures = if was_of_use { 1 } else { self.failures.saturating_add(1) };
                poll.remove(channel.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_dataplane::switch::MessageBudget;

    #[test]
    fn dropped_packet_ins_are_told_once_a_second_and_anew_of_another_switch() {
        let slice = ProxiedSlice {
            name: "a".into(),
            datapath_id: 1,
            ports: vec!["1".into()],
            vlans: None,
            networks: Vec::new(),
            controllers: Vec::new(),
            tables: 1,
            entries_max: 1,
            masks_max: 1,
            actions_max: 1,
            groups_max: 1,
            meters_max: 1,
            budget: MessageBudget::default(),
        };
        let at = Endpoint::parse("tcp:c:1").expect("it is one");
        let mut controller = Controller::new((0, &slice), 1, &at, None);
        let since = |ms| Instant::ZERO + Span::from_ms(ms);
        let told = [(0, 0), (5, 1), (9, 500), (9, 1_001), (9, 2_500), (3, 2_501)]
            .map(|(dropped, ms)| controller.take_limited(dropped, since(ms)));
        assert_eq!(told, [None, Some(5), None, Some(4), None, Some(3)]);
    }
}
