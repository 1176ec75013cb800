//! The controller's side of a measurement: requests, answers, tables that are in effect, and frames that are found again.

use super::mark::{mark, number_of};
use super::rig::{Event, ProfileError, Rig};
use super::scene::Scene;
use std::collections::{BTreeMap, VecDeque};
use tenuto_model::Use;
use tenuto_openflow::constants::{NO_BUFFER, port, table};
use tenuto_openflow::{
    Action, Body, ErrorCode, FlowMod, FlowModCommand, Framer, Hello, Message, PacketOut,
};
use tenuto_units::{Instant, Span};

/// Answers are looked for this often.
const LOOK: Span = Span::from_ms(1);
/// No device needs longer for what is asked here.
const PATIENCE: Span = Span::from_s(20);
/// Stamps of what was sent come this long after what came through, at most.
const STAMPS_LATE: Span = Span::from_ms(5);
/// Answers that nobody has asked for yet; more of them are no OpenFlow switch.
const ANSWERS_MAX: usize = 1 << 16;
/// Callers that are not the device that is meant.
const CALLERS_MAX: usize = 100;

/// A frame that went through the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its number.
    pub number: u32,
    /// When it was sent.
    pub sent: Instant,
    /// When it was seen.
    pub at: Instant,
    /// By which port it left.
    pub port: u32,
}

impl Passed {
    /// From stamp to stamp, nanoseconds.
    pub fn took_ns(&self) -> f64 {
        self.at.since(self.sent).as_ns() as f64
    }
}

/// What became of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Those that came through, in the order in which they were seen.
    pub passed: Vec<Passed>,
    /// When each was sent, in order.
    pub sent: Vec<(u32, Instant)>,
}

impl Exchange {
    /// The mean from one sent frame to the next, nanoseconds; 0 of one alone.
    pub fn sent_every_ns(&self) -> f64 {
        let (Some(first), Some(last)) = (self.sent.first(), self.sent.last()) else { return 0.0 };
        last.1.since(first.1).as_ns() as f64 / (self.sent.len().max(2) - 1) as f64
    }

    /// The mean from one seen frame to the next, nanoseconds; 0 of one alone.
    pub fn passed_every_ns(&self) -> f64 {
        let (Some(first), Some(last)) = (self.passed.first(), self.passed.last()) else {
            return 0.0;
        };
        last.at.since(first.at).as_ns() as f64 / (self.passed.len().max(2) - 1) as f64
    }
}

/// A session with the device on the bench.
pub struct Session<'r, R: Rig> {
    rig: &'r mut R,
    framer: Framer,
    xid: u32,
    number: u32,
    /// The first number of the exchange that is going on: what is older comes too late.
    first: u32,
    last_due: Instant,
    seen: Vec<(u32, Instant, u32)>,
    sent: BTreeMap<u32, Instant>,
    answers: VecDeque<(Instant, Message)>,
    ports: Vec<u32>,
    until: Option<Instant>,
}

impl<'r, R: Rig> Session<'r, R> {
    /// Connects. What takes long ends before `time` is over, if it is given.
    ///
    /// # Errors
    /// If the device is silent, or answers what is no OpenFlow.
    pub fn open(rig: &'r mut R, time: Option<Span>) -> Result<Self, ProfileError> {
        let until = time.map(|time| rig.now() + time);
        let mut session = Self {
            ports: Vec::new(),
            rig,
            framer: Framer::new(),
            xid: 1,
            number: 0,
            first: 0,
            last_due: Instant::ZERO,
            seen: Vec::new(),
            sent: BTreeMap::new(),
            answers: VecDeque::new(),
            until,
        };
        session.again()?;
        session.learn_ports();
        Ok(session)
    }

    /// Takes the numbers of the bench's ports from the rig.
    pub(super) fn learn_ports(&mut self) {
        self.ports = self.rig.ports();
    }

    /// Connects once more.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn again(&mut self) -> Result<(), ProfileError> {
        for _ in 0..CALLERS_MAX {
            self.framer = Framer::new();
            self.answers.clear();
            self.rig.controller(true)?;
            self.tell(&[Body::Hello(Hello::default())]);
            let sent = self.tell(&[Body::FeaturesRequest]);
            let (_, xid) = sent.last().copied().unwrap_or((Instant::ZERO, 0));
            match self.answer(xid, "to a request for its features")?.1 {
                Body::FeaturesReply(it) if self.rig.is_meant(it.datapath_id) => return Ok(()),
                Body::FeaturesReply(_) => self.rig.controller(false)?,
                _ => return Err(ProfileError::Unreadable("no features".into())),
            }
        }
        Err(ProfileError::Silent("the device that is meant never called"))
    }

    /// Whether there is no time for more.
    pub fn is_out_of_time(&self) -> bool {
        self.until.is_some_and(|until| self.rig.now() >= until)
    }

    /// A table for frames from the bench's first port to its second.
    pub fn scene(&self, used: Use) -> Scene {
        Scene { port_in: self.port(0), port_out: self.port(1), ..Scene::new(used) }
    }

    /// The number of the bench's port at a place.
    pub fn port(&self, place: usize) -> u32 {
        self.ports.get(place).copied().unwrap_or(1)
    }

    /// Numbers of all ports of the bench.
    pub fn ports(&self) -> &[u32] {
        &self.ports
    }

    /// The answer to a transaction among those that have come; the others are kept.
    ///
    /// # Errors
    /// If there is none in time.
    pub fn answer_kept(&mut self, xid: u32) -> Result<(Instant, Body), ProfileError> {
        let end = self.rig.now() + PATIENCE;
        while self.rig.now() < end {
            // They come in the order of the requests.
            if let Some(place) = self.answers.iter().take(8).position(|(_, it)| it.xid == xid) {
                let found = self.answers.remove(place);
                return found.map(|(at, it)| (at, it.body)).ok_or(ProfileError::Silent("twice"));
            }
            self.look(LOOK)?;
        }
        Err(ProfileError::Silent("to an echo request"))
    }

    /// The rig.
    pub const fn rig(&mut self) -> &mut R {
        self.rig
    }

    /// Sends messages one directly behind the other; their stamps and transaction ids.
    pub fn tell(&mut self, bodies: &[Body]) -> Vec<(Instant, u32)> {
        let (mut bytes, mut ids) = (Vec::new(), Vec::new());
        for body in bodies {
            self.xid = self.xid.wrapping_add(1);
            ids.push(self.xid);
            Message::new(self.xid, body.clone()).emit(&mut bytes);
        }
        let now = self.rig.now();
        self.rig.control(now, &bytes).into_iter().zip(ids).collect()
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// If an answer cannot be read, or the rig broke.
    pub fn wait(&mut self, span: Span) -> Result<(), ProfileError> {
        let end = self.rig.now() + span;
        loop {
            self.look_until(end)?;
            if self.rig.now() >= end {
                return Ok(());
            }
        }
    }

    /// Lets time pass, but not beyond what is seen next.
    fn look(&mut self, span: Span) -> Result<(), ProfileError> {
        self.look_until(self.rig.now() + span)
    }

    fn look_until(&mut self, end: Instant) -> Result<(), ProfileError> {
        for event in self.rig.run_until(end) {
            match event {
                Event::Frame { at, port, bytes } => self.came(at, port, &bytes),
                Event::Sent { at, number } => {
                    if number >= self.first {
                        self.sent.insert(number, at);
                    }
                }
                Event::Control { at, bytes } => self.read(at, &bytes)?,
            }
        }
        self.rig.failure().map_or(Ok(()), Err)
    }

    fn came(&mut self, at: Instant, port: u32, bytes: &[u8]) {
        // What others send, what comes too late, and what a device invents is no part of it.
        let Some(number) = number_of(bytes) else { return };
        let of_exchange = self.number.wrapping_sub(self.first) as usize;
        let copies_max = of_exchange.saturating_mul(self.ports.len().max(4));
        if number >= self.first && number < self.number && self.seen.len() < copies_max {
            self.seen.push((number, at, port));
        }
    }

    fn read(&mut self, at: Instant, bytes: &[u8]) -> Result<(), ProfileError> {
        let unreadable = |why: String| ProfileError::Unreadable(why);
        for part in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            self.framer.push(part).map_err(|error| unreadable(error.to_string()))?;
            while let Some(message) = self.framer.next() {
                let message = message.map_err(|error| unreadable(format!("{error:?}")))?;
                self.heard(at, message)?;
            }
        }
        Ok(())
    }

    fn heard(&mut self, at: Instant, message: Message) -> Result<(), ProfileError> {
        match message.body {
            Body::EchoRequest(data) => {
                let answer = Message::new(message.xid, Body::EchoReply(data)).to_bytes();
                let now = self.rig.now();
                self.rig.control(now, &answer);
            }
            // What a device tells by itself.
            Body::Hello(_) | Body::PacketIn(_) | Body::PortStatus(_) | Body::FlowRemoved(_) => {}
            _ if self.answers.len() >= ANSWERS_MAX => {
                return Err(ProfileError::Unreadable("answers without end".into()));
            }
            _ => self.answers.push_back((at, message)),
        }
        Ok(())
    }

    /// The answer to a transaction, and when it was seen. Answers to others that came before it are dropped.
    ///
    /// # Errors
    /// If there is none in time, or it is an error.
    pub fn answer(
        &mut self,
        xid: u32,
        what: &'static str,
    ) -> Result<(Instant, Body), ProfileError> {
        let end = self.rig.now() + PATIENCE;
        loop {
            while let Some((at, message)) = self.answers.pop_front() {
                if let Body::Error(error) = &message.body {
                    let name = error.error().map_or("an unknown error", ErrorCode::name);
                    return Err(ProfileError::Refused(name.to_owned()));
                }
                if message.xid == xid {
                    return Ok((at, message.body));
                }
            }
            if self.rig.now() >= end {
                return Err(ProfileError::Silent(what));
            }
            self.look(LOOK)?;
        }
    }

    /// Asks, and waits for the answer: when it was asked, when it was answered.
    ///
    /// # Errors
    /// As [`Session::answer`].
    pub fn ask(
        &mut self,
        body: Body,
        what: &'static str,
    ) -> Result<(Instant, Instant), ProfileError> {
        let (asked, answered, _) = self.ask_whole(body, what)?;
        Ok((asked, answered))
    }

    /// The same with the answer.
    ///
    /// # Errors
    /// As [`Session::answer`].
    pub fn ask_whole(
        &mut self,
        body: Body,
        what: &'static str,
    ) -> Result<(Instant, Instant, Body), ProfileError> {
        let sent = self.tell(&[body]);
        let Some(&(asked, xid)) = sent.first() else { return Err(ProfileError::Silent(what)) };
        let (answered, body) = self.answer(xid, what)?;
        Ok((asked, answered, body))
    }

    /// Everything told so far is in effect.
    ///
    /// # Errors
    /// As [`Session::answer`].
    pub fn settle(&mut self) -> Result<(), ProfileError> {
        self.ask(Body::BarrierRequest, "to a barrier").map(|_| ())
    }

    /// Empties the table.
    ///
    /// # Errors
    /// As [`Session::answer`].
    pub fn clear(&mut self) -> Result<(), ProfileError> {
        self.tell(&[Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL))]);
        self.settle()?;
        self.begin();
        Ok(())
    }

    /// Fills the table.
    ///
    /// # Errors
    /// As [`Session::answer`].
    pub fn install(&mut self, scene: &Scene) -> Result<(), ProfileError> {
        self.clear()?;
        for entry in scene.entries() {
            self.tell(&[Body::FlowMod(entry)]);
        }
        self.settle()
    }

    /// Forgets frames that were sent before.
    pub fn begin(&mut self) {
        self.rig.begins();
        self.first = self.number;
        self.seen.clear();
        self.sent.clear();
        self.last_due = Instant::ZERO;
    }

    /// Sends a frame at an instant; its number.
    pub fn send_at(&mut self, at: Instant, port: u32, bytes: &[u8]) -> u32 {
        let number = self.number;
        self.number = self.number.wrapping_add(1);
        let mut frame = bytes.to_vec();
        mark(&mut frame, number);
        self.last_due = self.last_due.max(at);
        self.rig.frame(at, port, &frame);
        number
    }

    /// Has the device send a marked frame by a port; its number.
    pub(super) fn send_out(&mut self, port: u32, bytes: &[u8]) -> u32 {
        let number = self.number;
        self.number = self.number.wrapping_add(1);
        let mut data = bytes.to_vec();
        mark(&mut data, number);
        self.tell(&[Body::PacketOut(PacketOut {
            buffer_id: NO_BUFFER,
            in_port: port::CONTROLLER,
            actions: vec![Action::Output { port, max_len: 0 }],
            data,
        })]);
        number
    }

    /// What was seen since the exchange began: numbers of frames, and the ports or places.
    pub(super) fn seen(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.seen.iter().map(|(number, _, port)| (*number, *port))
    }

    /// The next answer to a transaction of which one has come.
    pub(super) fn answer_next(&mut self, xid: u32) -> Result<Body, ProfileError> {
        self.answer(xid, "with the rest of its answer").map(|(_, body)| body)
    }

    /// Sends one frame now; its number.
    pub fn send(&mut self, port: u32, bytes: &[u8]) -> u32 {
        let now = self.rig.now();
        self.send_at(now, port, bytes)
    }

    /// Whether a frame that was sent after `at` has come through.
    pub fn has_passed_since(&self, at: Instant) -> bool {
        let is_later = |number: &u32| self.sent.get(number).is_some_and(|sent| *sent > at);
        self.seen.iter().any(|(number, ..)| is_later(number))
    }

    /// Waits until so many frames have left by ports, or nothing has for `patience` since the last was to be sent; takes
    /// them all.
    ///
    /// # Errors
    /// If an answer cannot be read, or the rig broke.
    pub fn frames(&mut self, count: usize, patience: Span) -> Result<Exchange, ProfileError> {
        let mut last = self.rig.now();
        let mut had = self.seen.len();
        while self.seen.len() < count && self.rig.now().since(last.max(self.last_due)) < patience {
            self.look(Span::from_us(200))?;
            if self.seen.len() > had {
                (had, last) = (self.seen.len(), self.rig.now());
            }
        }
        let end = self.rig.now() + STAMPS_LATE;
        while self.sent.len() < self.number.wrapping_sub(self.first) as usize
            && self.rig.now() < end
        {
            self.look(Span::from_us(200))?;
        }
        let sent = std::mem::take(&mut self.sent);
        let passed = std::mem::take(&mut self.seen).into_iter().filter_map(|(number, at, port)| {
            let sent = *sent.get(&number)?;
            Some(Passed { number, sent, at, port })
        });
        let passed = passed.collect();
        self.begin();
        Ok(Exchange { passed, sent: sent.into_iter().collect() })
    }
}
