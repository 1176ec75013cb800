//! One application and the switches that connect to it, on one thread.
//!
//! All that has come over a connection is answered before anything is sent, and what is sent leaves in one
//! write per connection.

use super::news::AppNews;
use super::recorder::Recorder;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use tenuto_controller::reactive::{Reaction, Reactive, ReactiveApp};
use tenuto_controller::{Session, SessionEvent, SessionLimits};
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, MonotonicClock, PollKey, PollSet};
use tenuto_openflow::{AttendreConfig, Body};
use tenuto_units::Instant;

/// Bytes taken from a session per turn.
const INPUT_BYTES: usize = 64 * 1024;
/// Connections at once; further ones are closed.
const CONNECTIONS_MAX: usize = 1_024;
const ACCEPTS_PER_TURN: usize = 16;
/// Messages of one switch that are heard together at most.
const TOGETHER_MAX: usize = 512;
/// Commands of a session that a refusal may still name.
const COMMANDS_MAX: usize = 256;

/// No meter for what waits, and the time-out that the switch has.
const ATTENDRE: AttendreConfig = AttendreConfig { is_on: true, meter_id: 0, timeout_ns: 0 };

/// How an application runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSettings {
    /// Where switches connect.
    pub listen: SocketAddr,
    /// Whether switches are told to use Attendre; those that do not know it work on without.
    pub attendre: bool,
    /// Above that of every earlier start, for versions of message sets.
    pub generation: u64,
}

/// What an application did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppSummary {
    /// Whether Ctrl-C ended it, rather than SIGTERM.
    pub interrupted: bool,
    /// Messages of switches that reached it.
    pub heard: u64,
    /// Messages that it sent.
    pub sent: u64,
    /// Failures of the application itself.
    pub faults: u64,
}

struct Connection {
    stream: TcpStream,
    key: PollKey,
    from: SocketAddr,
    session: Session,
    datapath: Option<u64>,
}

/// An application with its connections.
pub struct AppServer<T> {
    reactive: Reactive<Box<dyn ReactiveApp>>,
    attendre: Option<AttendreConfig>,
    listener: TcpListener,
    listener_key: PollKey,
    poll: PollSet,
    connections: BTreeMap<u64, Connection>,
    /// The connection of each switch.
    switches: BTreeMap<u64, u64>,
    next: u64,
    record: Option<Recorder>,
    tell: T,
    summary: AppSummary,
}

impl<T: FnMut(AppNews)> AppServer<T> {
    /// Listens.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn bind(
        app: Box<dyn ReactiveApp>,
        settings: &AppSettings,
        record: Option<Recorder>,
        mut tell: T,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.listen)?;
        listener.set_nonblocking(true)?;
        tell(AppNews::Listening(listener.local_addr()?));
        let mut poll = PollSet::new();
        let listener_key = poll.add(listener.as_raw_fd(), Interest::Read);
        Ok(Self {
            reactive: Reactive::new(app, settings.generation),
            attendre: settings.attendre.then_some(ATTENDRE),
            listener,
            listener_key,
            poll,
            connections: BTreeMap::new(),
            switches: BTreeMap::new(),
            next: 0,
            record,
            tell,
            summary: AppSummary::default(),
        })
    }

    /// Serves switches until SIGINT or SIGTERM.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn run(mut self) -> io::Result<AppSummary> {
        let mut signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate])?;
        self.poll.add(signals.as_raw_fd(), Interest::Read);
        loop {
            self.turn()?;
            if let Some(signal) = signals.next_pending()? {
                self.summary.interrupted = signal == Signal::Interrupt;
                if let Some(why) = self.record.as_mut().and_then(Recorder::flush) {
                    (self.tell)(AppNews::Note(format!("the record is not whole: {why}")));
                }
                return Ok(self.summary);
            }
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let of_app = self.reactive.next_deadline().map(|(_, at)| at);
        let sessions = self.connections.values().filter_map(|it| it.session.next_deadline());
        self.poll.wait(sessions.chain(of_app).min())?;
        if self.poll.readiness(self.listener_key).readable {
            self.accept()?;
        }
        let now = MonotonicClock::now();
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in &ids {
            self.receive(now, *id);
        }
        self.fire_due(now);
        for id in ids {
            self.send(now, id);
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..ACCEPTS_PER_TURN {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if is_later(&error) => return Ok(()),
                // A peer that has left again.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            if self.connections.len() >= CONNECTIONS_MAX {
                let why = format!("{from}: {CONNECTIONS_MAX} are connected, which is the most");
                (self.tell)(AppNews::Down { datapath: None, why });
                continue;
            }
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let limits = SessionLimits { commands_max: COMMANDS_MAX, ..SessionLimits::default() };
            let session = Session::new(limits, MonotonicClock::now());
            let key = self.poll.add(stream.as_raw_fd(), Interest::ReadWrite);
            let connection = Connection { stream, key, from, session, datapath: None };
            self.connections.insert(self.next, connection);
            self.next += 1;
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if !self.poll.readiness(connection.key).readable {
            return;
        }
        let mut bytes = [0; INPUT_BYTES];
        match connection.stream.read(&mut bytes) {
            Ok(count) if count > 0 => {
                connection.session.receive(now, &bytes[..count]);
                self.take_events(now, id);
            }
            Err(error) if is_later(&error) => {}
            Ok(_) => self.forget(now, id, "it has closed the connection"),
            Err(error) => self.forget(now, id, &error.to_string()),
        }
    }

    fn take_events(&mut self, now: Instant, id: u64) {
        let mut pending = None;
        while let Some(connection) = self.connections.get_mut(&id) {
            let next = pending.take().or_else(|| connection.session.next_event());
            let Some(event) = next else { return };
            match (event, connection.datapath) {
                (SessionEvent::Up(features), _) => self.enter(now, id, features.datapath_id),
                (SessionEvent::Message(message), Some(datapath)) => {
                    let mut bodies = vec![message.body];
                    let mut other = None;
                    while bodies.len() < TOGETHER_MAX && other.is_none() {
                        match connection.session.next_event() {
                            Some(SessionEvent::Message(message)) => bodies.push(message.body),
                            Some(event) => other = Some(event),
                            None => break,
                        }
                    }
                    self.hear(now, datapath, &bodies);
                    pending = other;
                }
                (SessionEvent::Refused(refusal), Some(datapath)) => {
                    let (command, error) = (refusal.command.as_ref(), &refusal.error);
                    let reaction = self.reactive.refused(now, datapath, command, error);
                    self.obey(now, reaction, None);
                    let why = error.to_string();
                    (self.tell)(AppNews::Refused { datapath, why });
                }
                // The reason is sent before the connection is closed.
                (SessionEvent::Closed(error), _) => {
                    self.send(now, id);
                    self.forget(now, id, &error.to_string());
                }
                (SessionEvent::Message(_) | SessionEvent::Refused(_), None) => {}
            }
        }
    }

    /// What a switch has said, all that has come.
    fn hear(&mut self, now: Instant, datapath: u64, bodies: &[Body]) {
        self.summary.heard += bodies.len() as u64;
        let places: Vec<Option<u64>> = bodies
            .iter()
            .map(|body| self.record.as_mut().map(|it| it.heard(now, datapath, body)))
            .collect();
        let reactions = self.reactive.receive_all(now, datapath, bodies);
        for (reaction, heard) in reactions.into_iter().zip(places) {
            self.obey(now, reaction, heard);
        }
    }

    /// A switch has said which it is; a connection that it had before is over.
    fn enter(&mut self, now: Instant, id: u64, datapath: u64) {
        if let Some(&before) = self.switches.get(&datapath) {
            self.forget(now, before, "the switch has connected anew");
        }
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.datapath = Some(datapath);
        self.switches.insert(datapath, id);
        (self.tell)(AppNews::Up { datapath, from: connection.from });
        for body in self.reactive.connected(datapath, self.attendre) {
            connection.session.send(body);
        }
    }

    /// Sends what is caused, by the message of that place in the record if one is kept.
    fn obey(&mut self, now: Instant, reaction: Reaction, because: Option<u64>) {
        for (datapath, body) in reaction.messages {
            // What is for a switch that is not there gets lost, as on a line that is cut.
            let connection =
                self.switches.get(&datapath).and_then(|id| self.connections.get_mut(id));
            if let Some(connection) = connection {
                self.summary.sent += 1;
                if let Some(record) = &mut self.record {
                    record.told(now, datapath, because, &body);
                }
                connection.session.send(body);
            }
        }
        reaction.notes.into_iter().for_each(|note| (self.tell)(AppNews::Note(note)));
        if let Some(fault) = reaction.fault {
            self.summary.faults += 1;
            (self.tell)(AppNews::Fault(fault));
        }
    }

    fn fire_due(&mut self, now: Instant) {
        // Those that are due now: one that starts itself anew at once waits for its turn.
        let mut due = Vec::new();
        self.reactive
            .for_each_deadline(|name, at| due.extend((at <= now).then(|| name.to_owned())));
        for name in due {
            let reaction = self.reactive.fire(&name, now);
            self.obey(now, reaction, None);
        }
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in ids {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.session.fire_due(now);
            }
            self.take_events(now, id);
        }
    }

    fn send(&mut self, now: Instant, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let output = connection.session.output();
        let (mut sent, mut lost) = (0, None);
        while sent < output.len() {
            match connection.stream.write(&output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => break,
                Err(error) => {
                    lost = Some(error.to_string());
                    break;
                }
            }
        }
        output.drain(..sent);
        let interest = if output.is_empty() { Interest::Read } else { Interest::ReadWrite };
        self.poll.set_interest(connection.key, interest);
        if let Some(why) = lost {
            self.forget(now, id, &why);
        }
    }

    fn forget(&mut self, now: Instant, id: u64, why: &str) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.poll.remove(connection.key);
        let datapath = connection.datapath;
        (self.tell)(AppNews::Down { datapath, why: why.to_owned() });
        if let Some(datapath) = datapath {
            self.switches.remove(&datapath);
            let reaction = self.reactive.switch_down(now, datapath);
            self.obey(now, reaction, None);
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
