//! The frame around an application: versions of message sets, timers, replies in parts.

use super::answer::{Answer, Numbered};
use super::app::ReactiveApp;
use super::entry::entry;
use super::packet::Packet;
use super::timers::Timers;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::constants::{multipart_flag, port, table};
use tenuto_openflow::{
    Action, AttendreConfig, AttendreMessage, Body, ErrorMessage, Experimenter, FlowMod,
    FlowModCommand, Match, MultipartReply, MultipartRequest, PacketIn, Port, ReplyBody,
    RequestBody, Version,
};
use tenuto_units::Instant;

/// Bytes of a packet that the controller is shown, where the switch can keep the rest: two tags, IPv6
/// and the TCP header.
const ASK_BYTES: u16 = 128;
/// Ports of a switch that are kept until its description is whole.
const PORTS_MAX: usize = 4_096;
/// Switches whose description is under way at once.
const OPENING_MAX: usize = 4_096;

/// What an event has caused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reaction {
    /// What is sent, by switch, in order.
    pub messages: Vec<(u64, Body)>,
    /// Lines that the application tells the user.
    pub notes: Vec<String>,
    /// How the application itself has failed.
    pub fault: Option<String>,
}

/// An application, its timers, and the versions of the message sets that it answers with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reactive<A> {
    app: A,
    /// Of the controller's start: above that of every start before.
    generation: u64,
    /// Sets so far.
    counter: u64,
    timers: Timers,
    /// Parts of port descriptions that are not whole.
    opening: BTreeMap<u64, Vec<Port>>,
    /// Switches that have refused Attendre.
    plain: BTreeSet<u64>,
}

impl<A: ReactiveApp> Reactive<A> {
    /// `generation` must be above that of every earlier start (docs/theory/attendre.md,
    /// "What waits, where, for what").
    pub const fn new(app: A, generation: u64) -> Self {
        Self {
            app,
            generation,
            counter: 0,
            timers: Timers::new(),
            opening: BTreeMap::new(),
            plain: BTreeSet::new(),
        }
    }

    /// What a switch is told before anything else: what no entry knows goes to the controller, and
    /// with `attendre` later packets of the same headers wait for the answer. A switch that does
    /// not know Attendre refuses that and works on as one of plain OpenFlow.
    pub fn start(attendre: Option<AttendreConfig>) -> Vec<Body> {
        let ask = Action::Output { port: port::CONTROLLER, max_len: ASK_BYTES };
        let miss = FlowMod { priority: 0, ..entry(Match::ANY, vec![ask]) };
        let config = attendre.map(|config| {
            Body::Experimenter(Experimenter::Attendre(AttendreMessage::Config(config)))
        });
        config.into_iter().chain([Body::FlowMod(miss)]).collect()
    }

    /// A switch has connected: its tables are emptied, it is told what [`start`](Self::start) says, and
    /// asked for its ports. The application hears of it when they are described.
    pub fn connected(&mut self, datapath: u64, attendre: Option<AttendreConfig>) -> Vec<Body> {
        self.plain.remove(&datapath);
        self.opening.remove(&datapath);
        if self.opening.len() < OPENING_MAX {
            self.opening.insert(datapath, Vec::new());
        }
        // Entries of before would answer packets that the application is to be asked about.
        let clear = Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL));
        let ask = Body::MultipartRequest(MultipartRequest::new(RequestBody::PortDescription));
        [clear].into_iter().chain(Self::start(attendre)).chain([ask]).collect()
    }

    /// A switch is there, with these ports.
    pub fn switch_up(&mut self, now: Instant, datapath: u64, ports: &[Port]) -> Reaction {
        self.react(now, datapath, |app, answer| app.switch_up(datapath, ports, answer))
    }

    /// The connection to a switch is lost.
    pub fn switch_down(&mut self, now: Instant, datapath: u64) -> Reaction {
        // A switch that was never up is not told as down.
        match self.opening.remove(&datapath) {
            Some(_) => Reaction::default(),
            None => self.react(now, datapath, |app, answer| app.switch_down(datapath, answer)),
        }
    }

    /// A switch has refused a message; `command` is that message, where it is known.
    pub fn refused(
        &mut self,
        now: Instant,
        datapath: u64,
        command: Option<&Body>,
        error: &ErrorMessage,
    ) -> Reaction {
        let config = |body: &Body| {
            matches!(body, Body::Experimenter(Experimenter::Attendre(AttendreMessage::Config(_))))
        };
        if command.is_some_and(config) {
            self.plain.insert(datapath);
            return Reaction::default();
        }
        self.react(now, datapath, |app, answer| app.refused(datapath, error, answer))
    }

    /// A message of a switch, with no clock at hand; what is sent because of it, by switch, in order.
    pub fn message(&mut self, datapath: u64, body: &Body) -> Vec<(u64, Body)> {
        self.receive(Instant::ZERO, datapath, body).messages
    }

    /// A message of a switch, and what it causes. Messages that are none of an application's events
    /// cause nothing.
    pub fn receive(&mut self, now: Instant, datapath: u64, body: &Body) -> Reaction {
        match body {
            Body::PacketIn(packet_in) => self.packet_in(now, datapath, None, packet_in),
            Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn {
                number,
                packet_in,
            })) => self.packet_in(now, datapath, Some(*number), packet_in),
            Body::PortStatus(status) => {
                self.react(now, datapath, |app, answer| app.port_status(datapath, status, answer))
            }
            Body::FlowRemoved(removed) => {
                self.react(now, datapath, |app, answer| app.flow_removed(datapath, removed, answer))
            }
            Body::MultipartReply(reply) => self.reply(now, datapath, reply),
            Body::Error(error) => self.refused(now, datapath, None, error),
            _ => Reaction::default(),
        }
    }

    /// Messages of a switch that came together, and what each causes: the same as one after the other.
    pub fn receive_all(&mut self, now: Instant, datapath: u64, bodies: &[Body]) -> Vec<Reaction> {
        let are_packets = |one: &Body, other: &Body| asked(one).is_some() && asked(other).is_some();
        let runs = bodies.chunk_by(are_packets);
        runs.flat_map(|run| self.receive_run(now, datapath, run)).collect()
    }

    /// One message, or several packet-ins.
    fn receive_run(&mut self, now: Instant, datapath: u64, run: &[Body]) -> Vec<Reaction> {
        let packet = |body| {
            let (number, packet_in) = asked(body)?;
            Some((number, Packet::of(packet_in)?))
        };
        let packets: Option<Vec<(Option<u64>, Packet<'_>)>> = run.iter().map(packet).collect();
        let Some(packets) = packets.filter(|packets| packets.len() > 1) else {
            return run.iter().map(|body| self.receive(now, datapath, body)).collect();
        };
        let mut answers: Vec<Answer> =
            packets.iter().map(|(number, _)| self.answer_to(now, datapath, *number)).collect();
        let packets: Vec<Packet<'_>> = packets.into_iter().map(|(_, packet)| packet).collect();
        self.app.packet_ins(datapath, &packets, &mut answers);
        answers.into_iter().map(|answer| self.finish(answer)).collect()
    }

    /// Names every running timer and when it is due.
    pub fn for_each_deadline(&self, visit: impl FnMut(&str, Instant)) {
        self.timers.for_each(visit);
    }

    /// The timer that is due first.
    pub fn next_deadline(&self) -> Option<(&str, Instant)> {
        self.timers.earliest()
    }

    /// A timer is due; one that does not run causes nothing.
    pub fn fire(&mut self, name: &str, now: Instant) -> Reaction {
        match self.timers.take(name) {
            true => self.react(now, 0, |app, answer| app.timer(name, answer)),
            false => Reaction::default(),
        }
    }

    /// The application.
    pub const fn app(&self) -> &A {
        &self.app
    }

    fn packet_in(
        &mut self,
        now: Instant,
        datapath: u64,
        number: Option<u64>,
        packet_in: &PacketIn,
    ) -> Reaction {
        let mut answer = self.answer_to(now, datapath, number);
        if let Some(packet) = Packet::of(packet_in) {
            self.app.packet_in(datapath, &packet, &mut answer);
        }
        self.finish(answer)
    }

    /// An answer to a packet-in, which Attendre numbers.
    fn answer_to(&mut self, now: Instant, datapath: u64, number: Option<u64>) -> Answer {
        let numbered = number.map(|number| {
            self.counter += 1;
            let (generation, counter) = (self.generation, self.counter);
            Numbered { number, version: Version { generation, counter } }
        });
        Answer::new(datapath, numbered).at(now)
    }

    fn reply(&mut self, now: Instant, datapath: u64, reply: &MultipartReply) -> Reaction {
        match &reply.body {
            ReplyBody::PortStats(stats) => {
                self.react(now, datapath, |app, answer| app.port_stats(datapath, stats, answer))
            }
            ReplyBody::Flow(stats) => {
                self.react(now, datapath, |app, answer| app.flow_stats(datapath, stats, answer))
            }
            ReplyBody::PortDescription(ports) => {
                let Some(parts) = self.opening.get_mut(&datapath) else {
                    return Reaction::default();
                };
                let room = PORTS_MAX - parts.len();
                parts.extend(ports.iter().take(room));
                if reply.flags & multipart_flag::MORE != 0 {
                    return Reaction::default();
                }
                let ports = self.opening.remove(&datapath).unwrap_or_default();
                self.switch_up(now, datapath, &ports)
            }
            _ => Reaction::default(),
        }
    }

    fn react(
        &mut self,
        now: Instant,
        datapath: u64,
        handle: impl FnOnce(&mut A, &mut Answer),
    ) -> Reaction {
        let mut answer = Answer::new(datapath, None).at(now);
        handle(&mut self.app, &mut answer);
        self.finish(answer)
    }

    fn finish(&mut self, mut answer: Answer) -> Reaction {
        for change in core::mem::take(&mut answer.timers) {
            if !self.timers.apply(change) {
                answer.fail("too many timers run: a timer was not started");
            }
        }
        let notes = core::mem::take(&mut answer.notes);
        let fault = answer.fault.take();
        Reaction { messages: answer.finish_among(&self.plain), notes, fault }
    }
}

/// The packet-in of a message, and the number that Attendre gives it.
const fn asked(body: &Body) -> Option<(Option<u64>, &PacketIn)> {
    match body {
        Body::PacketIn(packet_in) => Some((None, packet_in)),
        Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn {
            number,
            packet_in,
        })) => Some((Some(*number), packet_in)),
        _ => None,
    }
}
