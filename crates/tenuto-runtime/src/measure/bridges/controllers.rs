//! Who has the bridges change: our controller in this process, and os-ken in one of its own.

use super::BridgeChanges;
use super::network::Bridges;
use crate::changer_sessions::{Callers, ChangerSessions};
use crate::os_ken::{OsKen, Said};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use tenuto_controller::{ChangerMode, ModeChanger, ModeCommands};
use tenuto_io::{Interest, MonotonicClock, PollSet};
use tenuto_units::{Instant, Span};
use tenuto_world::ControlStep;

/// Between two changes: what the daemon does behind a reply is over.
const REST: Span = Span::from_ms(50);
/// From the start until every switch has what it begins with.
const START_PATIENCE: Span = Span::from_s(30);
const PATIENCE: Span = Span::from_s(5);
const OS_KEN_PORT: u16 = 6_653;

/// Our controller.
struct Ours {
    sessions: ChangerSessions,
    poll: PollSet,
}

impl Ours {
    /// Goes on until the switches have this mode and have told so; when that was, if it was in time.
    fn until(&mut self, mode: ChangerMode, patience: Span) -> io::Result<Option<Instant>> {
        let end = MonotonicClock::now() + patience;
        loop {
            let changer = &self.sessions.changer;
            if changer.is_settled() && changer.mode() == mode {
                return Ok(Some(MonotonicClock::now()));
            }
            if MonotonicClock::now() >= end {
                return Ok(None);
            }
            self.turn(end)?;
        }
    }

    /// Goes on for a while.
    fn rest(&mut self) -> io::Result<()> {
        let end = MonotonicClock::now() + REST;
        while MonotonicClock::now() < end {
            self.turn(end)?;
        }
        Ok(())
    }

    fn turn(&mut self, until: Instant) -> io::Result<()> {
        let due = self.sessions.changer.next_deadline();
        self.poll.wait(Some(due.map_or(until, |at| at.min(until))))?;
        self.sessions.receive(&mut self.poll)?;
        self.sessions.send(&mut self.poll)
    }
}

pub(super) fn by_ours(
    bridges: &mut Bridges,
    commands: &[ModeCommands],
    changes: u32,
) -> io::Result<BridgeChanges> {
    let changer = ModeChanger::with(MonotonicClock::now(), commands.iter().cloned());
    let sessions = ChangerSessions::new(changer, commands.len());
    let mut ours = Ours { sessions, poll: PollSet::new() };
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listen = |place| ours.sessions.listen(any, Callers::Only(place), &mut ours.poll);
    let doors: Vec<SocketAddr> = (0..commands.len()).map(listen).collect::<io::Result<_>>()?;
    bridges.call(&doors)?;
    if ours.until(ChangerMode::Lowest, START_PATIENCE)?.is_none() {
        return Err(io::Error::other("the bridges were not installed in time"));
    }
    let mut found = BridgeChanges::default();
    for _ in 0..changes {
        ours.rest()?;
        let began = MonotonicClock::now();
        bridges.request()?;
        match ours.until(ChangerMode::Highest, PATIENCE)? {
            Some(at) => found.delays_ns.push(at.since(began).as_ns()),
            None => found.unfinished += 1,
        }
        ours.rest()?;
        ours.sessions.changer.lower();
        ours.sessions.send(&mut ours.poll)?;
        if ours.until(ChangerMode::Lowest, PATIENCE)?.is_none() {
            return Err(io::Error::other("the bridges did not come back in time"));
        }
    }
    Ok(found)
}

/// The program, and what it has said that was not waited for yet.
struct Program {
    os_ken: OsKen,
    poll: PollSet,
}

impl Program {
    /// Waits until it says so; when that was, if it was in time.
    fn until(
        &mut self,
        wanted: Option<ControlStep>,
        patience: Span,
    ) -> io::Result<Option<Instant>> {
        let end = MonotonicClock::now() + patience;
        while MonotonicClock::now() < end {
            if self.poll.wait(Some(end))? == 0 {
                continue;
            }
            for said in self.os_ken.read()? {
                match said {
                    Said::Ready if wanted.is_none() => return Ok(Some(MonotonicClock::now())),
                    Said::Step(step, at) if wanted == Some(step) => return Ok(Some(at)),
                    Said::Trouble(text) => return Err(io::Error::other(text)),
                    _ => {}
                }
            }
        }
        Ok(None)
    }
}

pub(super) fn by_os_ken(
    bridges: &mut Bridges,
    commands: &[ModeCommands],
    changes: u32,
    python: &Path,
) -> io::Result<BridgeChanges> {
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, OS_KEN_PORT));
    let switches = bridges.datapath_ids.iter().copied().zip(commands.iter().cloned());
    let os_ken = OsKen::start(python, (at, REST), switches)?;
    let mut program = Program { os_ken, poll: PollSet::new() };
    program.poll.add(program.os_ken.fd(), Interest::Read);
    bridges.call(&vec![at; commands.len()])?;
    if program.until(None, START_PATIENCE)?.is_none() {
        return Err(io::Error::other("the bridges were not installed in time"));
    }
    let mut found = BridgeChanges::default();
    for _ in 0..changes {
        PollSet::new().wait(Some(MonotonicClock::now() + REST))?;
        let began = MonotonicClock::now();
        bridges.request()?;
        match program.until(Some(ControlStep::Raised), PATIENCE)? {
            Some(at) => found.delays_ns.push(at.since(began).as_ns()),
            None => found.unfinished += 1,
        }
        if program.until(Some(ControlStep::Lowered), PATIENCE)?.is_none() {
            return Err(io::Error::other("the bridges did not come back in time"));
        }
    }
    Ok(found)
}
