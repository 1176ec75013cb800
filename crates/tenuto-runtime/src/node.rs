//! A node process: its job, its commands, its signals, and the wait for all of them.

use crate::lines::{self, LineReader};
use crate::log_line::log_line;
use crate::protocol::{ChangerJob, NodeCommand, NodeJob, NodeReport};
use crate::reporter::Reporter;
use crate::{changer_node, controller_node, host_node, os_ken_node, switch_node};
use std::io;
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, Look, Pending, PollKey, PollSet, PortWait, WaitPolicy, realtime};
use tenuto_units::{Instant, Span};

/// Where a node waits, is told what to do, and tells what it sees.
pub(crate) struct Desk {
    pub(crate) poll: PollSet,
    pub(crate) reporter: Reporter,
    /// How the thread waits: unless said otherwise it sleeps, but for the ends of slots that are too
    /// near for that.
    pub(crate) wait: PortWait,
    reader: LineReader,
    reader_key: PollKey,
    signals: SignalFd,
    signals_key: PollKey,
}

impl Desk {
    /// Waits until something is there or `deadline` has come.
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.wait_for_ports(deadline, &mut |_| Pending::Unknown)
    }

    /// As `wait`, also for frames that wait as far as `pending` knows.
    pub(crate) fn wait_for_ports(
        &mut self,
        deadline: Option<Instant>,
        pending: &mut dyn FnMut(Look) -> Pending,
    ) -> io::Result<()> {
        let first = [deadline, self.reporter.deadline()].into_iter().flatten().min();
        self.wait.wait(&mut self.poll, first, pending)
    }

    /// Commands since the last turn; to be called when the poll set has woken up.
    ///
    /// # Errors
    /// When the supervisor is gone: there is nobody left to work for.
    pub(crate) fn commands(&mut self) -> io::Result<Vec<NodeCommand>> {
        let mut commands = Vec::new();
        if self.poll.readiness(self.signals_key).readable {
            while let Some(signal) = self.signals.next_pending()? {
                if signal == Signal::Terminate {
                    commands.push(NodeCommand::Finish);
                }
            }
        }
        if self.poll.readiness(self.reader_key).readable {
            self.read(&mut commands)?;
        }
        Ok(commands)
    }

    fn read(&mut self, commands: &mut Vec<NodeCommand>) -> io::Result<()> {
        let mut unreadable = None;
        let is_open = self.reader.read(|line| match lines::parse(line) {
            Ok(command) => commands.push(command),
            Err(error) => unreadable = Some(error),
        })?;
        match (unreadable, is_open) {
            (Some(error), _) => Err(io::Error::other(error)),
            (None, true) => Ok(()),
            (None, false) => Err(io::Error::other("the supervisor is gone")),
        }
    }
}

/// Runs this process as a node; its job is the first line of its standard input.
pub(crate) fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log_line(format_args!("node: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Keeps a network namespace until the supervisor is gone.
pub(crate) fn keep_namespace() -> ExitCode {
    let kept = || -> io::Result<()> {
        let _signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate, Signal::HangUp])?;
        realtime::set_thread_name("tenuto-netns")?;
        let mut reader = LineReader::new(lines::inherited()?)?;
        loop {
            let mut poll = PollSet::new();
            poll.add(reader.fd(), Interest::Read);
            poll.wait(None)?;
            if !reader.read(|_| ())? {
                return Ok(());
            }
        }
    };
    match kept() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn start() -> io::Result<()> {
    // Before any thread: a signal for the whole terminal must not end a node.
    let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate, Signal::HangUp])?;
    realtime::set_timer_slack(Span::from_ns(1))?;
    let stream = lines::inherited()?;
    let writer = stream.try_clone()?;
    let mut reader = LineReader::new(stream)?;
    let job: NodeJob = lines::parse(&reader.first()?).map_err(io::Error::other)?;
    let settings = match &job {
        NodeJob::Switches(job) => &job.settings,
        NodeJob::Host(job) => &job.settings,
        NodeJob::Controller(job) => &job.settings,
    };
    // Only a name.
    let _ = realtime::set_thread_name(&format!("node {}", settings.name));
    let allowance = Span::from_ns(settings.stall_allowance_ns);
    let reporter = Reporter::new(&settings.name, writer, allowance)?;
    let mut poll = PollSet::new();
    let reader_key = poll.add(reader.fd(), Interest::Read);
    let signals_key = poll.add(signals.as_raw_fd(), Interest::Read);
    let wait = PortWait::new(WaitPolicy::Block);
    let mut desk = Desk { poll, reporter, wait, reader, reader_key, signals, signals_key };
    let mut early = Vec::new();
    desk.read(&mut early)?;
    let done = match job {
        NodeJob::Switches(job) => switch_node::run(&job, &mut desk, early),
        NodeJob::Host(job) => host_node::run(&job, &mut desk, early),
        NodeJob::Controller(mut job) => match job.changes.take() {
            Some(ChangerJob { os_ken: Some(python) }) => {
                os_ken_node::run(&job, &python, &mut desk, early)
            }
            Some(ChangerJob { os_ken: None }) => changer_node::run(*job, &mut desk, early),
            None => controller_node::run(*job, &mut desk, early),
        },
    };
    if let Err(error) = &done {
        desk.reporter.tell(&NodeReport::Failed { text: error.to_string() });
    }
    done
}
