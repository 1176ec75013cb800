//! The process of a controller that changes the mode itself: TCP sessions around the changer core.
//!
//! What switches that change by themselves are held against. It tells when it has heard, and when
//! every switch has answered; nothing of it is judged.

use crate::node::Desk;
use crate::protocol::{ControllerJob, NodeCommand, NodeReport, OPENFLOW_PORT};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use tenuto_controller::{ChangerMode, ModeChanger};
use tenuto_io::{Interest, MonotonicClock, PollKey};
use tenuto_units::{Instant, Span};
use tenuto_world::{ControlStep, Observation};

/// Bytes taken from a session per turn.
const INPUT_BYTES: usize = 64 * 1024;
/// From the end of a change to the way back: the excess is over by then, and what was queued has left.
const QUIET: Span = Span::from_ms(150);

/// The connection of one switch.
#[derive(Default)]
struct Line {
    connection: Option<(TcpStream, PollKey)>,
    /// What the switch has not taken yet.
    output: Vec<u8>,
}

struct ChangerNode<'a> {
    desk: &'a mut Desk,
    changer: ModeChanger,
    listener: TcpListener,
    listener_key: PollKey,
    /// Addresses of the switches, in the order of the changer.
    switches: Vec<Ipv4Addr>,
    lines: Vec<Line>,
    /// Mode and rest that were told last.
    told: (ChangerMode, bool),
    lower_at: Option<Instant>,
    is_ready: bool,
}

/// Runs it until it is told to finish.
pub(crate) fn run(
    job: ControllerJob,
    switches: Vec<Ipv4Addr>,
    desk: &mut Desk,
    early: Vec<NodeCommand>,
) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, OPENFLOW_PORT))?;
    listener.set_nonblocking(true)?;
    let listener_key = desk.poll.add(listener.as_raw_fd(), Interest::Read);
    let modes = job.modes.settings();
    let changer = ModeChanger::new(MonotonicClock::now(), &job.deployments, &modes);
    desk.reporter.tell(&NodeReport::Up);
    let lines = switches.iter().map(|_| Line::default()).collect();
    let mut node = ChangerNode {
        desk,
        changer,
        listener,
        listener_key,
        switches,
        lines,
        told: (ChangerMode::Lowest, true),
        lower_at: None,
        is_ready: false,
    };
    let mut commands = early;
    while !commands.contains(&NodeCommand::Finish) {
        commands = node.turn()?;
    }
    node.desk.reporter.finish(MonotonicClock::now());
    Ok(())
}

impl ChangerNode<'_> {
    fn turn(&mut self) -> io::Result<Vec<NodeCommand>> {
        let due = [self.changer.next_deadline(), self.lower_at].into_iter().flatten().min();
        self.desk.wait(due)?;
        if self.desk.poll.readiness(self.listener_key).readable {
            self.accept()?;
        }
        for place in 0..self.lines.len() {
            self.receive(place)?;
        }
        let now = MonotonicClock::now();
        self.changer.fire_due(now);
        if self.lower_at.is_some_and(|at| at <= now) {
            self.lower_at = None;
            self.changer.lower();
        }
        self.tell(now);
        for place in 0..self.lines.len() {
            self.send(place)?;
        }
        if let Some(why) = self.changer.failure() {
            return Err(io::Error::other(format!("the modes cannot be changed: {why}")));
        }
        let commands = self.desk.commands()?;
        self.desk.reporter.pump(MonotonicClock::now());
        Ok(commands)
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let place = self.switches.iter().position(|own| IpAddr::V4(*own) == from.ip());
            // Switches connect once: nothing restarts in such a run.
            let Some(line) = place.and_then(|place| self.lines.get_mut(place)) else { continue };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let key = self.desk.poll.add(stream.as_raw_fd(), Interest::Read);
            line.connection = Some((stream, key));
        }
    }

    fn receive(&mut self, place: usize) -> io::Result<()> {
        let Some((stream, key)) = &mut self.lines[place].connection else { return Ok(()) };
        if !self.desk.poll.readiness(*key).readable {
            return Ok(());
        }
        let mut bytes = [0; INPUT_BYTES];
        match stream.read(&mut bytes) {
            Ok(0) => Err(io::Error::other("a switch has left")),
            Ok(count) => {
                self.changer.received(MonotonicClock::now(), place, &bytes[..count]);
                Ok(())
            }
            Err(error) if is_later(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, place: usize) -> io::Result<()> {
        let line = &mut self.lines[place];
        let Some((stream, key)) = &mut line.connection else { return Ok(()) };
        line.output.append(&mut self.changer.take_output(place).0);
        let mut sent = 0;
        while sent < line.output.len() {
            match stream.write(&line.output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        line.output.drain(..sent);
        let interest = match line.output.is_empty() {
            true => Interest::Read,
            false => Interest::ReadWrite,
        };
        self.desk.poll.set_interest(*key, interest);
        Ok(())
    }

    /// Tells how far a change has come, if it has come further.
    fn tell(&mut self, now: Instant) {
        let is_settled = self.changer.is_settled();
        if !self.is_ready {
            if is_settled {
                self.is_ready = true;
                self.desk.reporter.tell(&NodeReport::Ready);
            }
            return;
        }
        let stands = (self.changer.mode(), is_settled);
        if stands == std::mem::replace(&mut self.told, stands) {
            return;
        }
        let step = match stands {
            (ChangerMode::Highest, false) => ControlStep::Raising,
            (ChangerMode::Highest, true) => {
                self.lower_at = Some(now + QUIET);
                ControlStep::Raised
            }
            (ChangerMode::Lowest, false) => ControlStep::Lowering,
            (ChangerMode::Lowest, true) => ControlStep::Lowered,
        };
        let node = self.desk.reporter.node().to_owned();
        let line = Observation::ByController { node, step, at_ns: now.as_ns() };
        self.desk.reporter.observe(now, &line);
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
