//! TCP sessions around the core of a controller that changes the mode.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use tenuto_controller::ModeChanger;
use tenuto_io::{Interest, MonotonicClock, PollKey, PollSet};

/// Bytes taken from a session per turn.
const INPUT_BYTES: usize = 64 * 1024;

/// Which switches of the changer connect to one address.
pub(crate) enum Callers {
    /// All, each from its own address; in their order.
    From(Vec<Ipv4Addr>),
    /// The one at this place.
    Only(usize),
}

struct Door {
    listener: TcpListener,
    key: PollKey,
    callers: Callers,
}

/// The connection of one switch.
#[derive(Default)]
struct Line {
    connection: Option<(TcpStream, PollKey)>,
    /// What the switch has not taken yet.
    output: Vec<u8>,
}

/// A controller that changes the mode, with its connections.
pub(crate) struct ChangerSessions {
    pub(crate) changer: ModeChanger,
    doors: Vec<Door>,
    lines: Vec<Line>,
}

impl ChangerSessions {
    /// For a changer of so many switches, none of which is connected.
    pub(crate) fn new(changer: ModeChanger, switches: usize) -> Self {
        let lines = (0..switches).map(|_| Line::default()).collect();
        Self { changer, doors: Vec::new(), lines }
    }

    /// Listens at one more address; gives it, with the port that the kernel has chosen for 0.
    pub(crate) fn listen(
        &mut self,
        at: SocketAddr,
        callers: Callers,
        poll: &mut PollSet,
    ) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        let key = poll.add(listener.as_raw_fd(), Interest::Read);
        self.doors.push(Door { listener, key, callers });
        Ok(at)
    }

    /// Takes what has come, as `poll` has found, and fires what is due.
    pub(crate) fn receive(&mut self, poll: &mut PollSet) -> io::Result<()> {
        for nth in 0..self.doors.len() {
            if poll.readiness(self.doors[nth].key).readable {
                self.accept(nth, poll)?;
            }
        }
        for place in 0..self.lines.len() {
            self.receive_from(place, poll)?;
        }
        self.changer.fire_due(MonotonicClock::now());
        Ok(())
    }

    fn accept(&mut self, nth: usize, poll: &mut PollSet) -> io::Result<()> {
        let Door { listener, callers, .. } = &self.doors[nth];
        loop {
            let (stream, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let place = match callers {
                Callers::From(all) => all.iter().position(|own| IpAddr::V4(*own) == from.ip()),
                Callers::Only(place) => Some(*place),
            };
            // Switches connect once: nothing restarts in such a run.
            let Some(line) = place.and_then(|place| self.lines.get_mut(place)) else { continue };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let key = poll.add(stream.as_raw_fd(), Interest::Read);
            line.connection = Some((stream, key));
        }
    }

    fn receive_from(&mut self, place: usize, poll: &PollSet) -> io::Result<()> {
        let Some((stream, key)) = &mut self.lines[place].connection else { return Ok(()) };
        if !poll.readiness(*key).readable {
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

    /// Sends every switch what there is for it, as far as it takes it.
    ///
    /// # Errors
    /// When the changer is of no use any more, or a connection is lost.
    pub(crate) fn send(&mut self, poll: &mut PollSet) -> io::Result<()> {
        for place in 0..self.lines.len() {
            self.send_to(place, poll)?;
        }
        match self.changer.failure() {
            Some(why) => Err(io::Error::other(format!("the modes cannot be changed: {why}"))),
            None => Ok(()),
        }
    }

    fn send_to(&mut self, place: usize, poll: &mut PollSet) -> io::Result<()> {
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
        poll.set_interest(*key, interest);
        Ok(())
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
