//! The process of a controller that changes the mode itself: TCP sessions around the changer core.
//!
//! What switches that change by themselves are held against. It tells when it has heard, and when
//! every switch has answered; nothing of it is judged.

use crate::changer_sessions::{Callers, ChangerSessions};
use crate::node::Desk;
use crate::protocol::{ControllerJob, NodeCommand, NodeReport, OPENFLOW_PORT};
use std::io;
use std::net::Ipv4Addr;
use tenuto_controller::{ChangerMode, ModeChanger};
use tenuto_io::MonotonicClock;
use tenuto_units::{Instant, Span};
use tenuto_world::{ControlStep, Observation};

/// From the end of a change to the way back: the excess is over by then, and what was queued has left.
pub(crate) const QUIET: Span = Span::from_ms(150);

struct ChangerNode<'a> {
    desk: &'a mut Desk,
    sessions: ChangerSessions,
    /// Mode and rest that were told last.
    told: (ChangerMode, bool),
    lower_at: Option<Instant>,
    is_ready: bool,
}

/// Runs it until it is told to finish.
pub(crate) fn run(job: ControllerJob, desk: &mut Desk, early: Vec<NodeCommand>) -> io::Result<()> {
    let modes = job.modes.settings();
    let changer = ModeChanger::new(MonotonicClock::now(), &job.deployments, &modes);
    let mut sessions = ChangerSessions::new(changer, job.addresses.len());
    let at = (Ipv4Addr::UNSPECIFIED, OPENFLOW_PORT).into();
    sessions.listen(at, Callers::From(job.addresses), &mut desk.poll)?;
    desk.reporter.tell(&NodeReport::Up);
    let told = (ChangerMode::Lowest, true);
    let mut node = ChangerNode { desk, sessions, told, lower_at: None, is_ready: false };
    let mut commands = early;
    while !commands.contains(&NodeCommand::Finish) {
        commands = node.turn()?;
    }
    node.desk.reporter.finish(MonotonicClock::now());
    Ok(())
}

impl ChangerNode<'_> {
    fn turn(&mut self) -> io::Result<Vec<NodeCommand>> {
        let due = [self.sessions.changer.next_deadline(), self.lower_at];
        self.desk.wait(due.into_iter().flatten().min())?;
        self.sessions.receive(&mut self.desk.poll)?;
        let now = MonotonicClock::now();
        if self.lower_at.is_some_and(|at| at <= now) {
            self.lower_at = None;
            self.sessions.changer.lower();
        }
        self.tell(now);
        self.sessions.send(&mut self.desk.poll)?;
        let commands = self.desk.commands()?;
        self.desk.reporter.pump(MonotonicClock::now());
        Ok(commands)
    }

    /// Tells how far a change has come, if it has come further.
    fn tell(&mut self, now: Instant) {
        let is_settled = self.sessions.changer.is_settled();
        if !self.is_ready {
            if is_settled {
                self.is_ready = true;
                self.desk.reporter.tell(&NodeReport::Ready);
            }
            return;
        }
        let stands = (self.sessions.changer.mode(), is_settled);
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
