//! One control connection: whole messages in, bounded bytes out.
//!
//! What a peer is sent is bounded in both ways that it can grow. Asynchronous messages to a peer
//! that does not read are dropped and counted; while its answers wait, no further request of it is
//! taken, which its own TCP then tells it.

use super::callers::{Origin, Taken};
use super::stream::{Stream, is_later};
use std::io::{self, Read, Write};
use tenuto_dataplane::switch::ConnectionId;
use tenuto_io::{Interest, PollKey, PollSet};
use tenuto_openflow::{Body, Message};
use tenuto_units::{Instant, Span};

/// Bytes taken in per turn, so that the data path is never kept waiting.
const INPUT_BYTES: usize = 8 * 1024;
/// Answers that may wait before further requests do.
const ANSWERS_MAX: usize = 256 * 1024;
/// Bytes that wait for their turn before more are taken in: room for the longest message.
const INPUT_BYTES_MAX: usize = 64 * 1024 + INPUT_BYTES;
/// A message is whole so long after its first byte, and the first one of who has connected so long after
/// that: who sends less holds a place for nothing.
const MESSAGE_TIME: Span = Span::from_s(5);
const HEADER_BYTES: usize = 8;
/// `OFPT_PACKET_IN`, `OFPT_FLOW_REMOVED`, `OFPT_PORT_STATUS`: what nobody asked for.
const ASYNCHRONOUS: [u8; 3] = [10, 11, 12];

/// Why a connection has ended that its peer has closed.
pub(super) const CLOSED: &str = "closed by the other end";

/// Why a connection has ended.
pub(super) type Ended = String;

/// A connection that is there.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) id: ConnectionId,
    /// How it is called in messages.
    pub(super) peer: String,
    stream: Stream,
    pub(super) key: PollKey,
    input: Vec<u8>,
    /// Bytes of it that were carried out.
    taken: usize,
    output: Vec<u8>,
    sent: usize,
    async_bytes_max: usize,
    /// Answers that may wait before further requests do.
    pub(super) answers_max: usize,
    /// Asynchronous messages dropped because the peer did not read.
    pub(super) unread: u64,
    /// When the peer was last heard.
    heard: Instant,
    probed: bool,
    pub(super) has_spoken: bool,
    /// Where it was made from, if it was made to us.
    pub(super) caller: Option<Origin>,
    began: Instant,
    /// When the last whole message was taken.
    whole_at: Option<Instant>,
    /// Since when the next message has begun and is not whole.
    partial_since: Option<Instant>,
    /// When the next message is within the budget of its slice, if it has to wait for that.
    pub(super) budget_at: Option<Instant>,
}

impl Channel {
    pub(super) fn new(
        id: ConnectionId,
        peer: String,
        stream: Stream,
        async_bytes_max: usize,
        now: Instant,
        poll: &mut PollSet,
    ) -> Self {
        use std::os::fd::AsRawFd;
        let key = poll.add(stream.as_raw_fd(), Interest::Read);
        Self {
            id,
            peer,
            stream,
            key,
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            sent: 0,
            async_bytes_max,
            answers_max: ANSWERS_MAX,
            unread: 0,
            heard: now,
            probed: false,
            has_spoken: false,
            caller: None,
            began: now,
            whole_at: None,
            partial_since: None,
            budget_at: None,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.output.len() - self.sent
    }

    /// Whether there is something that the peer has not taken yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting() > 0
    }

    /// Takes in what the peer has sent, if there is room.
    pub(super) fn read(&mut self, now: Instant) -> Result<(), Ended> {
        if self.is_paused() || self.is_full() {
            return Ok(());
        }
        // What was carried out makes room once for many messages.
        self.input.drain(..std::mem::take(&mut self.taken));
        let before = self.input.len();
        self.input.resize(before + INPUT_BYTES, 0);
        let read = self.stream.read(&mut self.input[before..]);
        self.input.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(CLOSED.into()),
            Ok(_) => {
                (self.heard, self.probed, self.has_spoken) = (now, false, true);
                self.note_partial(now);
                Ok(())
            }
            Err(error) if is_later(&error) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether so much waits for its turn that no more is taken in.
    const fn is_full(&self) -> bool {
        self.input.len() - self.taken >= INPUT_BYTES_MAX
    }

    /// Whether its peer does not read its answers, so that nothing more is done for it.
    pub(super) fn is_paused(&self) -> bool {
        self.waiting() > self.answers_max
    }

    /// Whether a whole message waits for its turn.
    pub(super) fn has_message(&self) -> bool {
        !self.is_paused() && self.message_bytes().is_some()
    }

    /// How long the next message is, once it is whole.
    fn message_bytes(&self) -> Option<usize> {
        let waiting = &self.input[self.taken..];
        let header = waiting.first_chunk::<HEADER_BYTES>()?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]])).max(HEADER_BYTES);
        (waiting.len() >= length).then_some(length)
    }

    /// What has come and waits for its turn, from the header of the next message on.
    pub(super) fn next_bytes(&self) -> &[u8] {
        &self.input[self.taken..]
    }

    /// The next message, or what can be none; `false` until it is whole and its answer has room.
    pub(super) fn next_message(&mut self, bytes: &mut Vec<u8>) -> bool {
        bytes.clear();
        if self.is_paused() {
            return false;
        }
        let Some(length) = self.message_bytes() else { return false };
        bytes.extend_from_slice(&self.input[self.taken..self.taken + length]);
        self.taken += length;
        (self.whole_at, self.partial_since) = (Some(self.heard), None);
        true
    }

    /// The place that it takes, if it was made to us.
    pub(super) fn taken(&self) -> Option<Taken> {
        let Self { whole_at: heard, began, .. } = *self;
        self.caller.map(|origin| Taken { origin, heard, began, is_there: true })
    }

    /// Notes since when a part of a message waits. While the peer's answers wait nothing more of it is read.
    fn note_partial(&mut self, now: Instant) {
        let is_partial = self.input.len() > self.taken && self.message_bytes().is_none();
        self.partial_since = match is_partial && !self.is_paused() {
            true => self.partial_since.or(Some(now)),
            false => None,
        };
    }

    /// When the message that has begun, or the first one, must be whole, and what that is.
    fn message_deadline(&self) -> Option<(Instant, &'static str)> {
        let waits_for_first =
            self.caller.is_some() && self.whole_at.is_none() && self.message_bytes().is_none();
        let first = waits_for_first.then_some((self.began + MESSAGE_TIME, "no message"));
        let begun = self.partial_since.map(|since| (since + MESSAGE_TIME, "a part of a message"));
        first.into_iter().chain(begun).min()
    }

    /// Takes over bytes for the peer: whole messages, as the switch has made them.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(header) = rest.first_chunk::<HEADER_BYTES>() {
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let (message, behind) = rest.split_at(length.clamp(HEADER_BYTES, rest.len()));
            rest = behind;
            let is_asynchronous = ASYNCHRONOUS.contains(&header[1]);
            if is_asynchronous && self.waiting() + message.len() > self.async_bytes_max {
                self.unread += 1;
            } else {
                self.output.extend_from_slice(message);
            }
        }
    }

    /// Sends as much as the peer takes.
    pub(super) fn flush(&mut self, poll: &mut PollSet) -> Result<(), Ended> {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        // What was sent goes when it is most of it: moving the rest then costs little.
        if self.sent * 2 >= self.output.len() {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
        let is_full = self.is_paused() || self.is_full();
        let interest = match (self.waiting() > 0, is_full) {
            (true, true) => Interest::Write,
            (true, false) => Interest::ReadWrite,
            (false, false) => Interest::Read,
            (false, true) => Interest::None,
        };
        poll.set_interest(self.key, interest);
        Ok(())
    }

    /// Asks a silent peer whether it is there; ends when it does not answer in time.
    ///
    /// Ends too when a message takes too long.
    pub(super) fn keep_alive(&mut self, now: Instant, probe: Span) -> Result<(), Ended> {
        self.note_partial(now);
        if self.budget_at.is_some() {
            // What it has sent waits for us.
            self.heard = now;
        }
        if let Some((_, what)) = self.message_deadline().filter(|(at, _)| *at <= now) {
            return Err(format!("{what} came in {} s", MESSAGE_TIME.as_ns() / 1_000_000_000));
        }
        if now < self.silent_at(probe) {
            return Ok(());
        }
        if self.probed {
            return Err(format!(
                "no answer to an echo request for {} ms",
                probe.as_ns() / 1_000_000
            ));
        }
        self.probed = true;
        let echo = Message { xid: 0, body: Body::EchoRequest(Vec::new()) };
        self.queue(&echo.to_bytes());
        Ok(())
    }

    /// When it is to be looked at whatever comes.
    pub(super) fn deadline(&self, probe: Span) -> Instant {
        let message = self.message_deadline().map(|(at, _)| at);
        message.into_iter().fold(self.silent_at(probe), Instant::min)
    }

    /// When silence has lasted long enough.
    fn silent_at(&self, probe: Span) -> Instant {
        let asked = self.heard + probe;
        if self.probed { asked + probe } else { asked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn channel(poll: &mut PollSet) -> (Channel, UnixStream) {
        let (here, there) = UnixStream::pair().expect("descriptors");
        here.set_nonblocking(true).expect("a socket");
        let stream = Stream::Local(here);
        let id = ConnectionId(1);
        (Channel::new(id, "test".into(), stream, 10_000, Instant::ZERO, poll), there)
    }

    fn message(type_: u8, length: u16) -> Vec<u8> {
        let mut bytes = vec![0; length.into()];
        bytes[0] = 4;
        bytes[1] = type_;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    #[test]
    fn a_peer_that_does_not_read_loses_what_it_did_not_ask_for() {
        let mut poll = PollSet::new();
        let (mut channel, _there) = channel(&mut poll);
        for _ in 0..100 {
            channel.queue(&[message(10, 500), message(21, 8)].concat());
        }
        // 19 packet-ins and as many answers fit; then only the answers are taken.
        assert_eq!(channel.unread, 81);
        assert_eq!(channel.waiting(), 19 * 500 + 100 * 8);
    }

    #[test]
    fn requests_wait_while_answers_do() {
        let mut poll = PollSet::new();
        let (mut channel, mut there) = channel(&mut poll);
        there.write_all(&[message(20, 8), message(20, 8)].concat()).expect("room");
        channel.read(Instant::ZERO).expect("open");
        let mut bytes = Vec::new();
        assert!(channel.next_message(&mut bytes) && bytes == message(20, 8));
        channel.queue(&vec![message(19, 60_000); 5].concat());
        assert!(!channel.next_message(&mut bytes), "its answers are not read");
        let mut read = vec![0; 300_000];
        let mut count = 0;
        while count < 300_000 {
            channel.flush(&mut poll).expect("open");
            count += there.read(&mut read).expect("open");
        }
        assert!(channel.next_message(&mut bytes) && bytes == message(20, 8));
        assert!(!channel.next_message(&mut bytes), "there is no more");
    }

    #[test]
    fn silence_is_asked_about_once_and_then_ends() {
        let mut poll = PollSet::new();
        let (mut channel, mut there) = channel(&mut poll);
        let (probe, at) = (Span::from_s(5), |s| Instant::ZERO + Span::from_s(s));
        channel.keep_alive(at(4), probe).expect("not yet");
        assert_eq!(channel.waiting(), 0);
        channel.keep_alive(at(5), probe).expect("asked");
        assert_eq!(channel.output[1], 2, "an echo request");
        channel.keep_alive(at(9), probe).expect("still time");
        there.write_all(&message(3, 8)).expect("room");
        channel.read(at(9)).expect("open");
        channel.keep_alive(at(10), probe).expect("it has answered");
        channel.keep_alive(at(14), probe).expect("asked again");
        assert!(channel.keep_alive(at(19), probe).is_err());
    }

    /// A peer that has connected, and sends a byte every second second.
    fn called(poll: &mut PollSet) -> (Channel, UnixStream) {
        let (mut channel, there) = channel(poll);
        let address = [10, 0, 0, 1].into();
        channel.caller = Some(Origin::new(address, None, 0));
        (channel, there)
    }

    #[test]
    fn a_message_that_trickles_in_ends_its_connection() {
        let mut poll = PollSet::new();
        let (probe, at) = (Span::from_s(100), |ms| Instant::ZERO + Span::from_ms(ms));
        let (mut channel, mut there) = called(&mut poll);
        let mut taken = Vec::new();
        // Whole messages, however slowly: each has its own time.
        for second in [1, 5, 9, 13] {
            let bytes = message(2, 8);
            there.write_all(&bytes[..3]).expect("room");
            channel.read(at(1_000 * second)).expect("open");
            channel.keep_alive(at(1_000 * second + 3_000), probe).expect("in time");
            there.write_all(&bytes[3..]).expect("room");
            channel.read(at(1_000 * second + 3_900)).expect("open");
            assert!(channel.next_message(&mut taken));
        }
        for second in 0..5 {
            there.write_all(&[4]).expect("room");
            channel.read(at(20_000 + 1_000 * second)).expect("open");
            channel.keep_alive(at(20_000 + 1_000 * second), probe).expect("in time");
        }
        assert_eq!(channel.deadline(probe), at(25_000));
        channel.keep_alive(at(24_999), probe).expect("in time");
        let why = channel.keep_alive(at(25_000), probe).expect_err("it has had its time");
        assert_eq!(why, "a part of a message came in 5 s");
    }

    #[test]
    fn who_has_connected_says_something_whole_in_time() {
        let mut poll = PollSet::new();
        let (probe, at) = (Span::from_s(100), |ms| Instant::ZERO + Span::from_ms(ms));
        let (mut silent, _there) = called(&mut poll);
        assert_eq!(silent.deadline(probe), at(5_000));
        silent.keep_alive(at(4_999), probe).expect("in time");
        assert_eq!(silent.keep_alive(at(5_000), probe), Err("no message came in 5 s".into()));
        // One whose first message waits for its turn, and one that we have called.
        let (mut waiting, mut there) = called(&mut poll);
        there.write_all(&message(0, 8)).expect("room");
        waiting.read(at(4_000)).expect("open");
        waiting.keep_alive(at(60_000), probe).expect("it has said something");
        let (mut controller, _there) = channel(&mut poll);
        controller.keep_alive(at(60_000), probe).expect("asked when silence has lasted");
    }

    #[test]
    fn a_peer_whose_answers_wait_is_not_hurried() {
        let mut poll = PollSet::new();
        let (probe, at) = (Span::from_s(100), |s| Instant::ZERO + Span::from_s(s));
        let (mut channel, mut there) = called(&mut poll);
        there.write_all(&[&message(2, 8)[..], &[4]].concat()).expect("room");
        channel.read(at(1)).expect("open");
        assert!(channel.next_message(&mut Vec::new()));
        channel.queue(&vec![message(19, 60_000); 5].concat());
        channel.keep_alive(at(30), probe).expect("the rest is not read at present");
    }
}
