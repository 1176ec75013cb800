//! One OpenFlow channel to one switch.
//!
//! A session says hello, negotiates the version, asks what the switch is, sets its configuration,
//! keeps the channel alive, and matches refusals to the commands that they answer. It knows nothing
//! of what the commands are for. A session that has met an error is closed for good: what is still
//! in its output (the reason, for the switch) may be sent, then the connection is to be closed.

use std::collections::VecDeque;
use std::fmt;
use tenuto_openflow::constants::{OFP_VERSION, config_flag, controller_max_len};
use tenuto_openflow::{
    Body, DecodeError, ErrorCode, ErrorMessage, Features, Framer, Hello, HelloFailed, Message,
    SwitchConfigMsg,
};
use tenuto_units::{Instant, Span};

/// The transaction id of hello and of our echo requests; commands have others.
const XID_UNTRACKED: u32 = 0;

/// Limits of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionLimits {
    /// Silence after which an echo request is sent.
    pub echo_idle: Span,
    /// Silence after which the switch counts as gone; some echo requests long.
    pub dead_after: Span,
    /// Time for the handshake as a whole.
    pub handshake: Span,
    /// Commands remembered until the next barrier reply; the refusal of an older one is reported
    /// without its command.
    pub commands_max: usize,
    /// Bytes waiting to be sent; a switch that makes us answer more without reading is given up.
    pub output_bytes_max: usize,
    /// Events waiting to be taken.
    pub events_max: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            echo_idle: Span::from_s(5),
            dead_after: Span::from_s(15),
            handshake: Span::from_s(10),
            commands_max: 4_096,
            // Room for the largest installation step, which is a few hundred small messages.
            output_bytes_max: 4 << 20,
            // More than the messages of 8 bytes in one push of 64 KiB.
            events_max: 16_384,
        }
    }
}

/// The timers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionTimer {
    /// Sends an echo request.
    Echo,
    /// Gives the switch up.
    Dead,
    /// Gives up a handshake that takes too long.
    Handshake,
}

/// What a session tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionEvent {
    /// The handshake is done.
    Up(Features),
    /// A message that is not the session's own business.
    Message(Message),
    /// The switch refused something.
    Refused(Box<Refusal>),
    /// The session is over.
    Closed(SessionError),
}

/// An error message of the switch with the command that it answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// The transaction id of the command.
    pub xid: u32,
    /// The command; `None` if it is not remembered.
    pub command: Option<Body>,
    /// The switch's answer.
    pub error: ErrorMessage,
}

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionError {
    /// The switch does not speak OpenFlow 1.3.
    Version {
        /// The version in its hello.
        offered: u8,
    },
    /// The switch refused our hello.
    HelloRefused(ErrorMessage),
    /// The first message was not a hello.
    NoHello,
    /// It is an auxiliary connection, which this controller does not use.
    Auxiliary {
        /// Its number.
        id: u8,
    },
    /// The switch sent something malformed.
    BadBytes(DecodeError),
    /// The handshake took too long.
    HandshakeTimeout,
    /// Nothing came for too long.
    Silent,
    /// The switch does not read what it makes us send.
    OutputFull,
    /// More events than are taken.
    EventsFull,
    /// The owner of the session ended it.
    Ended(&'static str),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { offered } => write!(
                f,
                "switch offers OpenFlow wire version {offered} without 4 (OpenFlow 1.3); enable \
                 OpenFlow 1.3 on the switch"
            ),
            Self::HelloRefused(error) => {
                write!(f, "switch refused the hello (type {}, code {})", error.type_, error.code)
            }
            Self::NoHello => f.write_str("first message was not a hello; is this OpenFlow?"),
            Self::Auxiliary { id } => write!(f, "auxiliary connection {id} is not used"),
            Self::BadBytes(error) => error.fmt(f),
            Self::HandshakeTimeout => f.write_str("handshake not finished in time"),
            Self::Silent => f.write_str("switch gives no sign of life"),
            Self::OutputFull => f.write_str("switch does not read what it is sent"),
            Self::EventsFull => f.write_str("switch sends more than is taken"),
            Self::Ended(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for SessionError {}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    AwaitsHello,
    AwaitsFeatures { xid: u32 },
    Up,
    Closed,
}

/// One OpenFlow channel, seen from the controller. Owns no socket and no clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    limits: SessionLimits,
    state: State,
    framer: Framer,
    output: Vec<u8>,
    events: VecDeque<SessionEvent>,
    opened_at: Instant,
    heard_at: Instant,
    /// When the last echo request was sent, if nothing was heard since.
    asked_at: Option<Instant>,
    xid_next: u32,
    /// Commands since the last barrier reply; their transaction ids are consecutive.
    commands: VecDeque<(u32, Body)>,
}

impl Session {
    /// Opens a session: the hello is in the output.
    pub fn new(limits: SessionLimits, now: Instant) -> Self {
        let mut session = Self {
            limits,
            state: State::AwaitsHello,
            framer: Framer::new(),
            output: Vec::new(),
            events: VecDeque::new(),
            opened_at: now,
            heard_at: now,
            asked_at: None,
            xid_next: 1,
            commands: VecDeque::new(),
        };
        session.emit(&Message::new(XID_UNTRACKED, Body::Hello(Hello::default())));
        session
    }

    /// Takes bytes of the switch; those of a closed session are ignored.
    pub fn receive(&mut self, now: Instant, bytes: &[u8]) {
        for part in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            if self.is_closed() {
                return;
            }
            self.framer.push(part).expect("complete messages were taken out before this push");
            while !self.is_closed()
                && let Some(message) = self.framer.next()
            {
                match message {
                    Ok(message) => self.handle(now, message),
                    Err(error) => self.give_up(error),
                }
            }
        }
    }

    /// The bytes to send; take from the front what was sent.
    pub const fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Sends a command or request and returns its transaction id; `None` if the session is closed.
    pub fn send(&mut self, body: Body) -> Option<u32> {
        if self.is_closed() {
            return None;
        }
        let xid = self.xid_next;
        self.xid_next = if xid == u32::MAX { 1 } else { xid + 1 };
        if xid == 1 {
            // After a wrap: what is remembered must be consecutive.
            self.commands.clear();
        }
        let message = Message::new(xid, body);
        self.emit(&message);
        self.commands.push_back((xid, message.body));
        while self.commands.len() > self.limits.commands_max {
            self.commands.pop_front();
        }
        (!self.is_closed()).then_some(xid)
    }

    /// Names every running timer and when it is due.
    pub fn for_each_deadline(&self, mut visit: impl FnMut(SessionTimer, Instant)) {
        if self.is_closed() {
            return;
        }
        visit(SessionTimer::Echo, self.asked_at.unwrap_or(self.heard_at) + self.limits.echo_idle);
        visit(SessionTimer::Dead, self.heard_at + self.limits.dead_after);
        if self.state != State::Up {
            visit(SessionTimer::Handshake, self.opened_at + self.limits.handshake);
        }
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<Instant> {
        let mut earliest = None;
        self.for_each_deadline(|_, at| {
            earliest = Some(earliest.map_or(at, |e: Instant| e.min(at)))
        });
        earliest
    }

    /// A timer is due.
    pub fn fire(&mut self, timer: SessionTimer, now: Instant) {
        match timer {
            _ if self.is_closed() => {}
            SessionTimer::Dead => self.close(SessionError::Silent),
            SessionTimer::Handshake if self.state == State::Up => {}
            SessionTimer::Handshake => self.close(SessionError::HandshakeTimeout),
            SessionTimer::Echo => {
                self.asked_at = Some(now);
                // Before the hello of the switch no other message may be sent.
                if self.state != State::AwaitsHello {
                    self.emit(&Message::new(XID_UNTRACKED, Body::EchoRequest(Vec::new())));
                }
            }
        }
    }

    /// Fires whatever is due.
    pub fn fire_due(&mut self, now: Instant) {
        let mut due = Vec::new();
        self.for_each_deadline(|timer, at| due.extend((at <= now).then_some(timer)));
        due.into_iter().for_each(|timer| self.fire(timer, now));
    }

    /// The next thing that happened.
    pub fn next_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// Whether there are events to take.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether the handshake is done and the session not closed.
    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// Whether the session is over.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Ends the session, for a reason of the owner's.
    pub fn end(&mut self, reason: &'static str) {
        self.close(SessionError::Ended(reason));
    }

    fn handle(&mut self, now: Instant, message: Message) {
        self.heard_at = now;
        self.asked_at = None;
        match (&self.state, message.body) {
            (State::AwaitsHello, Body::Hello(hello)) => self.greet(&hello),
            (State::AwaitsHello, Body::Error(error)) => {
                self.close(SessionError::HelloRefused(error));
            }
            (State::AwaitsHello, _) => self.close(SessionError::NoHello),
            // A version agreed on is not negotiated again.
            (_, Body::Hello(_) | Body::EchoReply(_)) => {}
            (_, Body::EchoRequest(data)) => {
                self.emit(&Message::new(message.xid, Body::EchoReply(data)));
            }
            (State::AwaitsFeatures { xid }, Body::FeaturesReply(features))
                if *xid == message.xid =>
            {
                self.enter(features);
            }
            (_, Body::Error(error)) if is_hello_failed(&error) => {
                self.close(SessionError::HelloRefused(error));
            }
            (_, Body::Error(error)) => self.refused(message.xid, error),
            (State::Up, body) => {
                if body == Body::BarrierReply {
                    self.forget_until(message.xid);
                }
                self.tell(SessionEvent::Message(Message::new(message.xid, body)));
            }
            // What comes between hello and features is not addressed to anybody yet.
            (State::AwaitsFeatures { .. } | State::Closed, _) => {}
        }
    }

    fn greet(&mut self, hello: &Hello) {
        if hello.offers(OFP_VERSION) {
            let xid = self.send(Body::FeaturesRequest).unwrap_or_default();
            self.state = State::AwaitsFeatures { xid };
        } else {
            let text = b"OpenFlow 1.3 is required".to_vec();
            let error = ErrorCode::HelloFailed(HelloFailed::Incompatible);
            let refusal = ErrorMessage { type_: error.type_(), code: error.code(), data: text };
            self.emit(&Message::new(XID_UNTRACKED, Body::Error(refusal)));
            self.close(SessionError::Version { offered: hello.version });
        }
    }

    fn enter(&mut self, features: Features) {
        if features.auxiliary_id != 0 {
            return self.close(SessionError::Auxiliary { id: features.auxiliary_id });
        }
        self.state = State::Up;
        self.send(Body::SetConfig(SwitchConfigMsg {
            flags: config_flag::FRAG_NORMAL,
            // Packets to the controller are anomalies; their whole content is not needed.
            miss_send_len: 128.min(controller_max_len::MAX),
        }));
        self.tell(SessionEvent::Up(features));
    }

    /// Whether `body` is remembered, by position: transaction ids are consecutive.
    fn command(&self, xid: u32) -> Option<usize> {
        let (first, _) = self.commands.front()?;
        let position = usize::try_from(xid.checked_sub(*first)?).ok()?;
        (position < self.commands.len()).then_some(position)
    }

    fn refused(&mut self, xid: u32, error: ErrorMessage) {
        let command = self.command(xid).and_then(|at| self.commands.get(at));
        let command = command.map(|(_, body)| body.clone());
        self.tell(SessionEvent::Refused(Box::new(Refusal { xid, command, error })));
    }

    /// Everything up to a barrier has been carried out or refused.
    fn forget_until(&mut self, barrier: u32) {
        if let Some(position) = self.command(barrier) {
            self.commands.drain(..=position);
        }
    }

    fn give_up(&mut self, error: DecodeError) {
        if let Some(answer) = error.answer() {
            self.emit(&answer);
        }
        self.close(SessionError::BadBytes(error));
    }

    fn emit(&mut self, message: &Message) {
        if self.is_closed() {
            return;
        }
        // An echo reply has the length of its request; a command could be too long only if a
        // group or a network had thousands of members.
        if message.try_emit(&mut self.output).is_err() {
            self.close(SessionError::Ended("a command is longer than an OpenFlow message"));
        } else if self.output.len() > self.limits.output_bytes_max {
            self.output.clear();
            self.close(SessionError::OutputFull);
        }
    }

    fn tell(&mut self, event: SessionEvent) {
        if self.events.len() >= self.limits.events_max {
            return self.close(SessionError::EventsFull);
        }
        self.events.push_back(event);
    }

    /// Closing is always told, even above the limit of events: it happens once.
    fn close(&mut self, error: SessionError) {
        if !self.is_closed() {
            self.state = State::Closed;
            self.commands.clear();
            self.events.push_back(SessionEvent::Closed(error));
        }
    }
}

fn is_hello_failed(error: &ErrorMessage) -> bool {
    matches!(error.error(), Some(ErrorCode::HelloFailed(_)))
}
