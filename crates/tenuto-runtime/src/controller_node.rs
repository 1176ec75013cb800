//! The process of a controller: TCP sessions around the controller core.

use crate::node::Desk;
use crate::protocol::{ControllerJob, NodeCommand, NodeReport, OPENFLOW_PORT};
use crate::standalone::Quota;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use tenuto_controller::{ConnId, Controller, ControllerConfig, ControllerEvent};
use tenuto_io::{Interest, MonotonicClock, PollKey};
use tenuto_units::Instant;

/// Bytes taken from a session per turn.
const INPUT_BYTES: usize = 64 * 1024;
/// Connections taken per turn.
const ACCEPTS_PER_TURN: usize = 16;
/// News of connections that are no switch's, which are told in a second, one by one.
const STRANGERS_TOLD: u32 = 10;

struct Session {
    stream: TcpStream,
    key: PollKey,
}

struct ControllerNode<'a> {
    desk: &'a mut Desk,
    controller: Controller,
    listener: TcpListener,
    listener_key: PollKey,
    sessions: BTreeMap<ConnId, Session>,
    next: u64,
    names: BTreeMap<u64, String>,
    strangers: Quota,
}

/// Runs a controller until it is told to finish.
pub(crate) fn run(job: ControllerJob, desk: &mut Desk, early: Vec<NodeCommand>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, OPENFLOW_PORT))?;
    listener.set_nonblocking(true)?;
    let listener_key = desk.poll.add(listener.as_raw_fd(), Interest::Read);
    let names = job.deployments.iter().map(|d| (d.datapath_id, d.switch.clone())).collect();
    let sources = job.deployments.iter().map(|d| d.datapath_id).zip(job.addresses);
    let controller = Controller::new(ControllerConfig {
        name: job.settings.name,
        manages: job.deployments.iter().map(|d| d.datapath_id).collect(),
        sources: sources.map(|(dpid, address)| (dpid, address.into())).collect(),
        deployments: job.deployments,
        modes: job.modes.settings(),
        start_level: 0,
        epoch: 1,
        ..ControllerConfig::default()
    });
    desk.reporter.tell(&NodeReport::Up);
    let (sessions, strangers) = (BTreeMap::new(), Quota::new(STRANGERS_TOLD));
    let mut node = ControllerNode {
        desk,
        controller,
        listener,
        listener_key,
        sessions,
        next: 0,
        names,
        strangers,
    };
    let mut commands = early;
    while !commands.contains(&NodeCommand::Finish) {
        commands = node.turn()?;
    }
    node.desk.reporter.finish(MonotonicClock::now());
    Ok(())
}

impl ControllerNode<'_> {
    fn turn(&mut self) -> io::Result<Vec<NodeCommand>> {
        let due = [self.controller.next_deadline(), self.strangers.deadline()];
        self.desk.wait(due.into_iter().flatten().min())?;
        if self.desk.poll.readiness(self.listener_key).readable {
            self.accept()?;
        }
        let now = MonotonicClock::now();
        let conns: Vec<ConnId> = self.sessions.keys().copied().collect();
        for conn in &conns {
            self.receive(now, *conn);
        }
        self.controller.fire_due(now);
        for conn in conns {
            self.send(now, conn);
        }
        self.tell(now);
        let commands = self.desk.commands()?;
        self.desk.reporter.pump(MonotonicClock::now());
        Ok(commands)
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
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let conn = ConnId(self.next);
            self.next += 1;
            let now = MonotonicClock::now();
            self.controller.connected_from(now, conn, from.ip());
            let key = self.desk.poll.add(stream.as_raw_fd(), Interest::Read);
            self.sessions.insert(conn, Session { stream, key });
            self.send(now, conn);
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant, conn: ConnId) {
        let Some(session) = self.sessions.get_mut(&conn) else { return };
        if !self.desk.poll.readiness(session.key).readable {
            return;
        }
        let mut bytes = [0; INPUT_BYTES];
        match session.stream.read(&mut bytes) {
            Ok(count) if count > 0 => self.controller.received(now, conn, &bytes[..count]),
            Err(error) if is_later(&error) => {}
            _ => {
                self.controller.closed(now, conn);
                self.forget(conn);
            }
        }
    }

    fn send(&mut self, now: Instant, conn: ConnId) {
        let Some(session) = self.sessions.get_mut(&conn) else { return };
        let (mut is_lost, mut is_empty) = (false, true);
        if let Some(output) = self.controller.output(conn) {
            let mut sent = 0;
            while sent < output.len() && !is_lost {
                match session.stream.write(&output[sent..]) {
                    Ok(count) => sent += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if is_later(&error) => break,
                    Err(_) => is_lost = true,
                }
            }
            output.drain(..sent);
            is_empty = output.is_empty();
        }
        let interest = if is_empty { Interest::Read } else { Interest::ReadWrite };
        self.desk.poll.set_interest(session.key, interest);
        if is_lost || (is_empty && self.controller.wants_close(conn)) {
            self.controller.closed(now, conn);
            self.forget(conn);
        }
    }

    fn forget(&mut self, conn: ConnId) {
        if let Some(session) = self.sessions.remove(&conn) {
            self.desk.poll.remove(session.key);
        }
    }

    fn tell(&mut self, now: Instant) {
        let untold = self.strangers.take_untold(now);
        if let Some(count) = untold {
            let text = format!("{count} more connections that were no switch's");
            self.desk.reporter.tell(&NodeReport::Log { text });
        }
        while let Some(event) = self.controller.next_event() {
            if is_of_stranger(&event) && !self.strangers.takes(now) {
                continue;
            }
            let reporter = &mut self.desk.reporter;
            match &event {
                ControllerEvent::Ready => reporter.tell(&NodeReport::Ready),
                // Observed at the switches themselves.
                ControllerEvent::Mode { .. } | ControllerEvent::Status { .. } => {}
                ControllerEvent::InstallFailed { dpid, failure } => {
                    let name = self.names.get(dpid).map_or("?", String::as_str);
                    let text = format!("controller cannot install {name}: {failure}");
                    reporter.event(now, text);
                }
                other => reporter.tell(&NodeReport::Log { text: other.to_string() }),
            }
        }
    }
}

/// Whether it tells of a connection that may be anybody's, who can cause as many as they like.
const fn is_of_stranger(event: &ControllerEvent) -> bool {
    matches!(
        event,
        ControllerEvent::Refused { .. }
            | ControllerEvent::UnknownDatapath { .. }
            | ControllerEvent::DuplicateDatapath { .. }
            | ControllerEvent::WrongSource { .. }
            | ControllerEvent::Closed { dpid: None, .. }
    )
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
