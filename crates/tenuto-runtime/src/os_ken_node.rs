//! The process of a controller of others: what it says is told as by one of ours.

use crate::changer_node::QUIET;
use crate::node::Desk;
use crate::os_ken::{OsKen, Said};
use crate::protocol::{ControllerJob, NodeCommand, NodeReport, OPENFLOW_PORT};
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use tenuto_controller::ModeCommands;
use tenuto_io::{Interest, MonotonicClock};
use tenuto_world::Observation;

/// Runs it until it is told to finish.
pub(crate) fn run(
    job: &ControllerJob,
    python: &Path,
    desk: &mut Desk,
    early: Vec<NodeCommand>,
) -> io::Result<()> {
    let modes = job.modes.settings();
    let commands = job.deployments.iter().map(|it| (it.datapath_id, ModeCommands::of(it, &modes)));
    let at = (Ipv4Addr::UNSPECIFIED, OPENFLOW_PORT).into();
    let mut os_ken = OsKen::start(python, (at, QUIET), commands)?;
    let key = desk.poll.add(os_ken.fd(), Interest::Read);
    desk.reporter.tell(&NodeReport::Up);
    let mut commands = early;
    while !commands.contains(&NodeCommand::Finish) {
        desk.wait(None)?;
        if desk.poll.readiness(key).readable {
            os_ken.read()?.into_iter().for_each(|said| tell(said, desk));
        }
        commands = desk.commands()?;
        desk.reporter.pump(MonotonicClock::now());
    }
    desk.reporter.finish(MonotonicClock::now());
    Ok(())
}

fn tell(said: Said, desk: &mut Desk) {
    let reporter = &mut desk.reporter;
    match said {
        Said::Ready => reporter.tell(&NodeReport::Ready),
        Said::Step(step, at) => {
            let node = reporter.node().to_owned();
            let line = Observation::ByController { node, step, at_ns: at.as_ns() };
            reporter.observe(MonotonicClock::now(), &line);
        }
        Said::Trouble(text) => reporter.tell(&NodeReport::Log { text }),
    }
}
