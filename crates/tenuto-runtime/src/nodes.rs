//! The processes of a lab's nodes, as their supervisor sees them.

use crate::lines::{self, LineReader, LineWriter};
use crate::protocol::{
    ChangerJob, ControllerJob, HostJob, LabJob, ModeController, ModeDriver, NodeCommand, NodeEntry,
    NodeJob, NodeSettings, SwitchJob, SwitchProcesses, SwitchesJob,
};
use crate::wire_up::{NodeKind, Place, management_address};
use crate::{assemble, node_ports};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use tenuto_io::namespaces::{spawn_in_netns_of, spawn_in_new_netns};
use tenuto_io::signals::Signal;
use tenuto_io::{Interest, MonotonicClock, PollKey, PollSet, realtime};
use tenuto_model::{Addressing, Network, SwitchDeployment};
use tenuto_units::Instant;

/// The program that all processes of a lab run: this one.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";
/// First argument of a process that keeps a network namespace.
pub(crate) const ROLE_NETNS: &str = "__netns";
/// First argument of a node.
pub(crate) const ROLE_NODE: &str = "__node";
/// Jobs and commands that may wait for a node.
const COMMAND_BYTES_MAX: usize = 256 << 20;
/// Who installs the plan where the description names nobody.
const IMPLICIT_CONTROLLER: &str = "controller";

/// Both directions of the channel to a node.
pub(crate) struct Channel {
    pub(crate) reader: LineReader,
    pub(crate) key: PollKey,
    writer: LineWriter,
}

/// One node.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) kind: NodeKind,
    keeper: Child,
    /// The place of the node whose process does its work, if that is not its own.
    carried_by: Option<usize>,
    /// The keeper ends when this is closed.
    _life: UnixStream,
    child: Option<Child>,
    pub(crate) channel: Option<Channel>,
    program: Option<Child>,
    starts: u64,
    pub(crate) is_up: bool,
    pub(crate) is_ready: bool,
    pub(crate) is_quiet: bool,
    pub(crate) has_ended: bool,
    /// When it said something last.
    pub(crate) heard: Instant,
    /// A scenario ends it: its end is no surprise.
    pub(crate) is_expected_to_end: bool,
}

impl Node {
    pub(crate) fn key(&self) -> Option<PollKey> {
        self.channel.as_ref().map(|channel| channel.key)
    }

    pub(crate) fn namespace_pid(&self) -> u32 {
        self.keeper.id()
    }

    pub(crate) fn command(&mut self, command: &NodeCommand) {
        if let Some(channel) = &mut self.channel {
            channel.writer.push(command);
            channel.writer.write();
        }
    }

    /// The channel has ended.
    pub(crate) fn close(&mut self, poll: &mut PollSet) {
        if let Some(channel) = self.channel.take() {
            poll.remove(channel.key);
        }
        self.is_up = false;
        self.is_ready = false;
    }

    /// Forgets processes that have ended; gives how the user's program did, if it has.
    pub(crate) fn reap(&mut self) -> Option<ExitStatus> {
        if self.child.as_mut().is_some_and(|c| !matches!(c.try_wait(), Ok(None))) {
            self.child = None;
        }
        let ended = self.program.as_mut().and_then(|program| program.try_wait().ok().flatten());
        if ended.is_some() {
            self.program = None;
        }
        if let Some(channel) = &mut self.channel {
            channel.writer.write();
        }
        ended
    }

    /// Kills the node, or asks it to end; the end is then expected.
    pub(crate) fn end(&mut self, politely: bool) {
        self.is_expected_to_end = true;
        if let Some(child) = &mut self.child {
            // A process that has ended meanwhile is as wanted.
            let _ = match politely {
                true => Signal::Terminate.send(child.id()),
                false => child.kill(),
            };
        }
    }

    /// Starts a program of the user's own in this node's namespace.
    pub(crate) fn start_program(&mut self, line: &str) -> io::Result<()> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(Stdio::null());
        // Its words go where those of the lab go.
        command.stdout(std::io::stderr());
        let child = spawn_in_netns_of(command, self.namespace_pid()).map_err(io::Error::other)?;
        self.program = Some(child);
        Ok(())
    }
}

/// All nodes.
#[derive(Default)]
pub(crate) struct Nodes {
    pub(crate) list: Vec<Node>,
    /// That of switches in one process, with nobody else on it.
    pub(crate) switch_processor: Option<usize>,
    /// Hosts that break their contracts.
    pub(crate) babblers: std::collections::BTreeSet<String>,
    /// Switches that started afresh, and whose tables nobody brought.
    pub(crate) bare: std::collections::BTreeSet<String>,
}

/// Leaves one of several processors to others: this process, and what it starts from now on, stays
/// away from it.
pub(crate) fn leave_one_processor() -> io::Result<Option<usize>> {
    let mut others = realtime::allowed_processors()?;
    let last = others.pop().filter(|_| !others.is_empty());
    if last.is_some() {
        realtime::pin_to(&others)?;
    }
    Ok(last)
}

/// Controllers with the switches that each of them manages.
fn controllers(network: &Network) -> Vec<(String, Vec<String>)> {
    if network.controllers.is_empty() {
        let all = network.switches.iter().map(|switch| switch.name.clone()).collect();
        return vec![(IMPLICIT_CONTROLLER.to_owned(), all)];
    }
    network.controllers.iter().map(|c| (c.name.clone(), c.manages.clone())).collect()
}

impl Nodes {
    /// A namespace for every node, kept by a process of its own, so that a node that dies leaves
    /// its ports behind for its next start.
    pub(crate) fn spawn_namespaces(&mut self, job: &LabJob) -> io::Result<()> {
        let network = &job.plan.network;
        let controllers = controllers(network).into_iter().map(|c| (c.0, NodeKind::Controller));
        let switches = network.switches.iter().map(|s| (s.name.clone(), NodeKind::Switch));
        let hosts = network.hosts.iter().enumerate();
        let hosts = hosts.map(|(index, host)| (host.name.clone(), NodeKind::Host(index)));
        let mut first_switch = None;
        for (place, (name, kind)) in controllers.chain(switches).chain(hosts).enumerate() {
            let is_together = kind == NodeKind::Switch && job.switches == SwitchProcesses::Together;
            let is_carried = is_together && first_switch.is_some();
            if is_together && !is_carried {
                first_switch = Some(place);
            }
            let (life, stdin) = lines::pair()?;
            let mut command = Command::new(THIS_PROGRAM);
            command.arg(ROLE_NETNS).stdin(stdin).stdout(Stdio::null());
            let keeper = spawn_in_new_netns(command).map_err(io::Error::other)?;
            self.list.push(Node {
                name,
                kind,
                keeper,
                carried_by: first_switch.filter(|_| is_carried),
                _life: life,
                child: None,
                channel: None,
                program: None,
                starts: 0,
                is_up: false,
                is_ready: false,
                is_quiet: false,
                has_ended: false,
                heard: MonotonicClock::now(),
                is_expected_to_end: false,
            });
        }
        Ok(())
    }

    /// The nodes with their namespaces.
    pub(crate) fn places(&self) -> Vec<Place> {
        let place = |node: &Node| Place {
            name: node.name.clone(),
            kind: node.kind,
            pid: node.namespace_pid(),
        };
        self.list.iter().map(place).collect()
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|node| node.name == name)
    }

    /// The node whose process does the work of the one at a place.
    pub(crate) fn carrier(&self, place: usize) -> &Node {
        &self.list[self.carrier_place(place)]
    }

    fn carrier_place(&self, place: usize) -> usize {
        self.list[place].carried_by.unwrap_or(place)
    }

    /// Places of the nodes whose work the process of the one at a place does.
    fn carried(&self, place: usize) -> impl Iterator<Item = usize> {
        (0..self.list.len()).filter(move |&other| self.carrier_place(other) == place)
    }

    /// Names of the nodes that live by the process of the one at a place.
    pub(crate) fn carried_by(&self, place: usize) -> impl Iterator<Item = &str> {
        self.carried(place).map(|other| self.list[other].name.as_str())
    }

    pub(crate) fn command(&mut self, place: usize, command: &NodeCommand) {
        let carrier = self.carrier_place(place);
        self.list[carrier].command(command);
    }

    /// Starts the process of a node, for the first time or again; of one that another's process does
    /// the work of, nothing.
    pub(crate) fn start(
        &mut self,
        place: usize,
        job: &LabJob,
        poll: &mut PollSet,
    ) -> io::Result<()> {
        if self.list[place].carried_by.is_some() {
            return Ok(());
        }
        let node_job = self.job_of(place, job)?;
        let node = &mut self.list[place];
        let (stream, stdin) = lines::pair()?;
        let mut command = Command::new(THIS_PROGRAM);
        command.arg(ROLE_NODE).stdin(stdin).stdout(Stdio::null());
        let child = spawn_in_netns_of(command, node.namespace_pid()).map_err(io::Error::other)?;
        node.child = Some(child);
        node.starts += 1;
        node.has_ended = false;
        node.heard = MonotonicClock::now();
        node.is_expected_to_end = false;
        let mut writer = LineWriter::new(stream.try_clone()?, COMMAND_BYTES_MAX)?;
        let reader = LineReader::new(stream)?;
        let key = poll.add(reader.fd(), Interest::Read);
        writer.push(&node_job);
        writer.write();
        node.channel = Some(Channel { reader, key, writer });
        Ok(())
    }

    fn settings_of(&self, place: usize, job: &LabJob) -> NodeSettings {
        NodeSettings {
            name: self.list[place].name.clone(),
            stall_allowance_ns: job.stall_allowance_ns,
            ring_frames: node_ports::ring_frames(&job.plan.network).filter(|_| job.rings),
        }
    }

    /// All switches whose work the process of one does.
    fn switches_of(&self, place: usize, job: &LabJob) -> io::Result<SwitchesJob> {
        let switches = self.carried(place).map(|place| self.switch_of(place, job));
        Ok(SwitchesJob {
            settings: self.settings_of(place, job),
            processor: self.switch_processor,
            switches: switches.collect::<io::Result<_>>()?,
        })
    }

    fn switch_of(&self, place: usize, job: &LabJob) -> io::Result<SwitchJob> {
        let (node, plan) = (&self.list[place], &job.plan);
        let deployment = plan.switches.iter().find(|d| d.switch == node.name);
        let missing = || io::Error::other(format!("the plan has no deployment of {}", node.name));
        let deployment = deployment.ok_or_else(missing)?.clone();
        let is_changer = job.driver != ModeDriver::Switches;
        Ok(SwitchJob {
            settings: self.settings_of(place, job),
            namespace_pid: node.carried_by.map(|_| node.namespace_pid()),
            plan: assemble::switch_plan(plan, &deployment),
            deployment,
            secret: job.secret,
            // The clock goes on while a switch is down.
            boot_seed: MonotonicClock::now().as_ns() + node.starts,
            controller: self.controller_of(&plan.network, &node.name),
            out_of_mode: is_changer.then(|| assemble::out_of_mode(&plan.network)),
        })
    }

    fn job_of(&self, place: usize, job: &LabJob) -> io::Result<NodeJob> {
        Ok(match self.list[place].kind {
            NodeKind::Switch => NodeJob::Switches(Box::new(self.switches_of(place, job)?)),
            NodeKind::Host(_) => NodeJob::Host(Box::new(self.host_job(place, job)?)),
            NodeKind::Controller => NodeJob::Controller(Box::new(self.controller_job(place, job))),
        })
    }

    fn host_job(&self, place: usize, job: &LabJob) -> io::Result<HostJob> {
        let (node, plan) = (&self.list[place], &job.plan);
        let missing = || io::Error::other(format!("the plan has no deployment of {}", node.name));
        let deployment = plan.hosts.iter().find(|d| d.host == node.name);
        let deployment = deployment.ok_or_else(missing)?.clone();
        let has_program = job.scenario.programs.contains_key(&node.name);
        let offsets_ns = match has_program {
            true => Default::default(),
            false => assemble::offsets(plan, &deployment, &job.scenario, job.seed),
        };
        Ok(HostJob {
            settings: self.settings_of(place, job),
            plan: assemble::host_plan(plan),
            deployment,
            seed: job.seed,
            sizes: job.scenario.traffic.sizes,
            offsets_ns,
            has_program,
        })
    }

    fn controller_job(&self, place: usize, job: &LabJob) -> ControllerJob {
        let (node, plan) = (&self.list[place], &job.plan);
        let all = controllers(&plan.network);
        let manages = all.into_iter().find(|c| c.0 == node.name).map(|c| c.1);
        let manages = manages.unwrap_or_default();
        let deployments = plan.switches.iter().filter(|d| manages.contains(&d.switch));
        let deployments: Vec<_> = deployments.cloned().collect();
        let address = |d: &SwitchDeployment| self.position(&d.switch).map(management_address);
        let changes = match &job.driver {
            ModeDriver::Switches => None,
            ModeDriver::Controller(who) => Some(ChangerJob {
                os_ken: match who {
                    ModeController::Own => None,
                    ModeController::OsKen { python } => Some(python.clone()),
                },
            }),
        };
        let settings = self.settings_of(place, job);
        let addresses = deployments.iter().filter_map(address).collect();
        ControllerJob { settings, deployments, addresses, modes: assemble::modes(plan), changes }
    }

    fn controller_of(&self, network: &Network, switch: &str) -> Option<Ipv4Addr> {
        let manages = |c: &(String, Vec<String>)| c.1.iter().any(|name| name == switch);
        let (name, _) = controllers(network).into_iter().find(manages)?;
        self.position(&name).map(management_address)
    }

    /// What `nodes.json` says.
    pub(crate) fn entries(&self, job: &LabJob) -> Vec<NodeEntry> {
        let addressing = Addressing::new(&job.plan.network);
        let entry = |(number, node): (usize, &Node)| NodeEntry {
            name: node.name.clone(),
            kind: node.kind.name().to_owned(),
            namespace_pid: node.namespace_pid(),
            pid: self.carrier(number).child.as_ref().map(Child::id),
            management: management_address(number),
            address: match node.kind {
                NodeKind::Host(index) => Some(Ipv4Addr::from(addressing.host(index).ip)),
                _ => None,
            },
        };
        self.list.iter().enumerate().map(entry).collect()
    }

    pub(crate) fn command_hosts(&mut self, command: &NodeCommand) {
        let hosts = self.list.iter_mut().filter(|n| matches!(n.kind, NodeKind::Host(_)));
        hosts.for_each(|node| node.command(command));
    }

    pub(crate) fn command_all(&mut self, command: &NodeCommand) {
        self.list.iter_mut().for_each(|node| node.command(command));
    }

    /// Every node has its ports, and every controller has installed its switches.
    pub(crate) fn are_ready(&self) -> bool {
        self.late().next().is_none()
    }

    /// Nodes that are not there yet.
    fn late(&self) -> impl Iterator<Item = &Node> {
        let is_late = |(place, node): &(usize, &Node)| {
            !self.carrier(*place).is_up || node.kind == NodeKind::Controller && !node.is_ready
        };
        self.list.iter().enumerate().filter(is_late).map(|(_, node)| node)
    }

    pub(crate) fn not_ready(&self) -> String {
        self.late().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// No host that is there releases anything.
    pub(crate) fn are_quiet(&self) -> bool {
        let mut hosts = self.list.iter().filter(|n| matches!(n.kind, NodeKind::Host(_)));
        hosts.all(|node| node.is_quiet || node.channel.is_none())
    }

    pub(crate) fn have_ended(&self) -> bool {
        self.list.iter().all(|node| node.channel.is_none())
    }

    /// Ends the users' programs: in order, and for good when the lab ends.
    pub(crate) fn kill_programs(&mut self) {
        for program in self.list.iter_mut().filter_map(|node| node.program.as_mut()) {
            // It may have ended by itself.
            let _ = Signal::Terminate.send(program.id());
        }
    }

    pub(crate) fn kill_all(&mut self) {
        for node in &mut self.list {
            let children = [Some(&mut node.keeper), node.child.as_mut(), node.program.as_mut()];
            for child in children.into_iter().flatten() {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
