//! The controller's side of a measurement: requests, answers, and tables that are in effect.

use super::rig::{ProfileError, Rig};
use super::scene::Scene;
use crate::device::Seen;
use std::collections::VecDeque;
use tenuto_openflow::constants::table;
use tenuto_openflow::{Body, ErrorCode, FlowMod, FlowModCommand, Framer, Hello, Message};
use tenuto_units::{Instant, Span};

/// Answers are looked for this often.
const LOOK: Span = Span::from_ms(1);
/// No device needs longer for what is asked here.
const PATIENCE: Span = Span::from_s(20);

/// A session with the device on the bench.
pub struct Session<'r, R: Rig> {
    rig: &'r mut R,
    framer: Framer,
    xid: u32,
    frames: Vec<(Instant, u32, Vec<u8>)>,
    answers: VecDeque<(Instant, Message)>,
}

impl<'r, R: Rig> Session<'r, R> {
    /// Connects.
    ///
    /// # Errors
    /// If the device is silent, or answers what is no OpenFlow.
    pub fn open(rig: &'r mut R) -> Result<Self, ProfileError> {
        let (framer, frames, answers) = (Framer::new(), Vec::new(), VecDeque::new());
        let mut session = Self { rig, framer, xid: 1, frames, answers };
        session.again()?;
        Ok(session)
    }

    /// Connects once more.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn again(&mut self) -> Result<(), ProfileError> {
        self.framer = Framer::new();
        self.rig.controller(true);
        self.tell(&[Body::Hello(Hello::default())]);
        self.ask(Body::FeaturesRequest, "to a request for its features").map(|_| ())
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
            self.wait(LOOK)?;
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
    /// If an answer cannot be read.
    pub fn wait(&mut self, span: Span) -> Result<(), ProfileError> {
        let end = self.rig.now() + span;
        for seen in self.rig.run_until(end) {
            match seen {
                Seen::Frame { at, port, bytes } => self.frames.push((at, port, bytes)),
                Seen::Control { at, bytes } => self.read(at, &bytes)?,
            }
        }
        Ok(())
    }

    fn read(&mut self, at: Instant, bytes: &[u8]) -> Result<(), ProfileError> {
        let unreadable = |why: String| ProfileError::Unreadable(why);
        for part in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            self.framer.push(part).map_err(|error| unreadable(error.to_string()))?;
            while let Some(message) = self.framer.next() {
                let message = message.map_err(|error| unreadable(format!("{error:?}")))?;
                self.answers.push_back((at, message));
            }
        }
        Ok(())
    }

    /// The answer to a transaction, and when it was seen. Answers to others are dropped.
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
            let answers = std::mem::take(&mut self.answers);
            for (at, message) in answers {
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
            self.wait(LOOK)?;
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
        let sent = self.tell(&[body]);
        let (asked, xid) = sent[0];
        let (answered, _) = self.answer(xid, what)?;
        Ok((asked, answered))
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
        self.frames.clear();
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

    /// Sends one frame now; its stamp.
    pub fn send(&mut self, port: u32, bytes: &[u8]) -> Instant {
        let now = self.rig.now();
        self.rig.frame(now, port, bytes);
        now
    }

    /// Waits until so many frames have left by ports, or nothing has for `patience`; takes them all.
    ///
    /// # Errors
    /// If an answer cannot be read.
    pub fn frames(
        &mut self,
        count: usize,
        patience: Span,
    ) -> Result<Vec<(Instant, u32, Vec<u8>)>, ProfileError> {
        let mut last = self.rig.now();
        let mut had = self.frames.len();
        while self.frames.len() < count && self.rig.now().since(last) < patience {
            self.wait(Span::from_us(200))?;
            if self.frames.len() > had {
                (had, last) = (self.frames.len(), self.rig.now());
            }
        }
        Ok(std::mem::take(&mut self.frames))
    }
}
