//! The process of a host: ports, programs and timers around the end system core.

use crate::app_port::AppPort;
use crate::mischief::Mischief;
use crate::node::Desk;
use crate::node_ports::{self, NodePort, RECEIVE_BURST, transmit};
use crate::protocol::{HostJob, NodeCommand, NodeReport};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use tenuto_dataplane::endsystem::{Conduct, EndSystem, HostEvent, SendError};
use tenuto_dataplane::{DropReason, Dropped, Effects, FramePool, Frames};
use tenuto_io::MonotonicClock;
use tenuto_model::Flow;
use tenuto_units::{Instant, Span};
use tenuto_world::{Observation, host_config};

/// Frames of all messages that wait at the ports of a host.
const POOL_FRAMES: usize = 65_536;

pub(crate) struct HostNode<'a> {
    pub(crate) desk: &'a mut Desk,
    pub(crate) core: EndSystem,
    pub(crate) pool: FramePool,
    pub(crate) fx: Effects<HostEvent>,
    ports: Vec<NodePort>,
    app: Option<AppPort>,
    mischief: Mischief,
    flows: Vec<Flow>,
    /// Receiving ports of flows with two copies.
    redundant: Vec<u16>,
    offsets_ns: BTreeMap<u16, u64>,
    has_program: bool,
    is_stopped: bool,
}

/// Runs a host until it is told to finish.
pub(crate) fn run(job: &HostJob, desk: &mut Desk, early: Vec<NodeCommand>) -> io::Result<()> {
    let config = Arc::new(host_config(&job.plan, &job.deployment, job.seed, job.sizes));
    let redundant = config.receivers.iter().filter(|r| r.ports.len() > 1).map(|r| r.flow);
    let redundant = redundant.collect();
    let numbers = job.deployment.ports.iter().map(|p| p.port);
    let rings = job.settings.ring_frames;
    let ports = node_ports::open(numbers, rings, &mut desk.poll, &mut desk.reporter)?;
    let app = AppPort::open(&job.plan, &config, &mut desk.poll)?;
    let mischief = Mischief::new(config.clone(), job.seed);
    let core = EndSystem::new(config).map_err(io::Error::other)?;
    desk.reporter.tell(&NodeReport::Up);
    let mut node = HostNode {
        desk,
        core,
        pool: FramePool::new(POOL_FRAMES),
        fx: Effects::new(),
        ports,
        app: Some(app),
        mischief,
        flows: job.plan.network.flows.clone(),
        redundant,
        offsets_ns: job.offsets_ns.clone(),
        has_program: job.has_program,
        is_stopped: false,
    };
    let mut commands = early;
    while !commands.contains(&NodeCommand::Finish) {
        for command in &commands {
            node.carry_out(command);
        }
        node.settle()?;
        commands = node.turn()?;
    }
    node.finish();
    Ok(())
}

impl HostNode<'_> {
    fn turn(&mut self) -> io::Result<Vec<NodeCommand>> {
        let timer = self.core.next_deadline().map(|(_, at)| at);
        let app = self.app.as_ref().and_then(AppPort::deadline);
        let due = [timer, app, self.mischief.deadline()].into_iter().flatten().min();
        self.desk.wait(due)?;
        if let Some(timer) = timer {
            self.desk.reporter.lateness(timer, MonotonicClock::now());
        }
        self.settle()?;
        for place in 0..self.ports.len() {
            if self.desk.poll.readiness(self.ports[place].key).readable {
                self.receive(place)?;
                self.settle()?;
            }
        }
        self.programs()?;
        let now = MonotonicClock::now();
        self.mischief.turn(now, &mut self.core, &mut self.pool, &mut self.fx);
        for text in self.mischief.take_news() {
            self.desk.reporter.event(now, text);
        }
        self.settle()?;
        let commands = self.desk.commands()?;
        self.desk.reporter.pump(MonotonicClock::now());
        Ok(commands)
    }

    /// Takes a burst from one port.
    fn receive(&mut self, place: usize) -> io::Result<()> {
        let Self { desk, core, pool, fx, ports, app, has_program, redundant, .. } = self;
        let NodePort { number, port, .. } = &mut ports[place];
        let number = *number;
        let mut sink = |arrival: Instant, frame: &[u8]| {
            let now = MonotonicClock::now();
            // The network has policed what comes here: what waits, waits for this machine.
            desk.reporter.lateness(arrival, now);
            let Some(id) = pool.insert(frame) else {
                let frame_bytes = tenuto_wire::frame_bytes(frame.len());
                let reason = match frame.len() > tenuto_dataplane::FRAME_CAPACITY {
                    true => DropReason::Malformed,
                    false => DropReason::PoolFull,
                };
                let drop = Dropped { reason, port: number, cookie: 0, message: None, frame_bytes };
                return desk.reporter.dropped(now, &drop);
            };
            let drops = fx.drops.len();
            core.receive(now, arrival, number, id, pool, fx);
            let of_program = fx.events.iter().find_map(|event| match event {
                HostEvent::Foreign { flow, .. } => Some(*flow),
                _ => None,
            });
            if let (Some(flow), Some(app)) = (of_program, &mut *app)
                && let Some(message) = app.message_of(flow, frame)
            {
                let (host, at_ns) = (core.config().host, arrival.as_ns());
                desk.reporter.observe(now, &Observation::Handed { flow, message, host, at_ns });
            }
            let is_unknown = fx.drops[drops..].iter().any(|d| d.reason == DropReason::Unknown);
            if let Some(app) = app
                && (*has_program || of_program.is_some() || is_unknown)
                && app.deliver(frame)
                && is_unknown
            {
                fx.drops.truncate(drops);
            }
            observe(desk, core, redundant, &mut fx.events, now);
        };
        port.receive(RECEIVE_BURST, &mut sink)?;
        if let Some(app) = app {
            app.flush()?;
        }
        Ok(())
    }

    /// Takes what programs send, and releases what their contracts allow.
    fn programs(&mut self) -> io::Result<()> {
        let Some(mut app) = self.app.take() else { return Ok(()) };
        let done = app.turn(self);
        self.app = Some(app);
        done
    }

    /// Fires what is due and carries out what the core wants.
    fn settle(&mut self) -> io::Result<()> {
        loop {
            let now = MonotonicClock::now();
            match self.core.next_deadline() {
                Some((timer, at)) if at <= now => {
                    self.core.fire(timer, now, &mut self.pool, &mut self.fx);
                }
                _ => break,
            }
        }
        let Self { desk, core, fx, ports, pool, redundant, .. } = self;
        transmit(&mut fx.transmits, ports, pool, &mut desk.reporter)?;
        let now = MonotonicClock::now();
        for mut drop in fx.drops.drain(..) {
            // The second copy of every frame is one: summed up, not told one by one.
            if drop.reason == DropReason::Duplicate {
                drop.message = None;
            }
            desk.reporter.dropped(now, &drop);
        }
        observe(desk, core, redundant, &mut fx.events, now);
        Ok(())
    }

    fn carry_out(&mut self, command: &NodeCommand) {
        let now = MonotonicClock::now();
        let done = match command {
            NodeCommand::Start { start_ns } => self.start(Instant::from_ns(*start_ns)),
            NodeCommand::StopSenders => {
                self.stop();
                Ok(())
            }
            NodeCommand::Behave { flow, mode } => {
                self.core.set_behaviour(now, *flow, Conduct::Mode(*mode))
            }
            NodeCommand::Oversend { flow, percent } => self.oversend(now, *flow, *percent),
            NodeCommand::StopFlow { flow } => self.core.stop_flow(*flow),
            NodeCommand::StartFlow { flow } if self.is_stopped => self.core.stop_flow(*flow),
            NodeCommand::StartFlow { flow } => self.core.start_flow(*flow, now),
            NodeCommand::Babble { flows, frame_bytes, rate_bps, for_ns } => {
                let until = for_ns.map(|ns| now + Span::from_ns(ns));
                self.mischief.babble(now, &self.flows, flows, *frame_bytes, *rate_bps, until);
                Ok(())
            }
            NodeCommand::Garbage { frames_per_s, for_ns } => {
                let until = for_ns.map(|ns| now + Span::from_ns(ns));
                self.mischief.garbage(now, *frames_per_s, until);
                Ok(())
            }
            NodeCommand::Forge => {
                self.mischief.forge(now);
                Ok(())
            }
            NodeCommand::Finish | NodeCommand::LoseSignals { .. } => Ok(()),
        };
        if let Err(error) = done {
            let text = format!("{}: {error}", self.desk.reporter.node());
            self.desk.reporter.event(now, text);
        }
    }

    fn start(&mut self, start: Instant) -> Result<(), SendError> {
        let offsets = self.offsets_ns.iter();
        offsets.for_each(|(flow, offset)| {
            // A flow that is not sent here is in no job.
            let _ = self.core.start_flow(*flow, start + Span::from_ns(*offset));
        });
        Ok(())
    }

    /// Percent of the rate of the highest contract: the largest messages, so much closer together.
    fn oversend(&mut self, now: Instant, flow: u16, percent: u32) -> Result<(), SendError> {
        let highest = self.core.config().senders.iter().find(|s| s.flow == flow);
        let highest = highest.and_then(|sender| sender.behaviours.last());
        let mut behaviour = *highest.ok_or(SendError::UnknownFlow(flow))?;
        let period_ns = u128::from(behaviour.period.as_ns()) * 100 / u128::from(percent.max(1));
        behaviour.period = Span::from_ns(u64::try_from(period_ns).unwrap_or(u64::MAX).max(1));
        behaviour.bytes_min = behaviour.bytes_max;
        behaviour.jitter = Span::ZERO;
        self.core.set_behaviour(now, flow, Conduct::Custom(behaviour))
    }

    fn stop(&mut self) {
        let flows: Vec<u16> = self.core.config().senders.iter().map(|s| s.flow).collect();
        for flow in flows {
            // It is one of its own.
            let _ = self.core.stop_flow(flow);
        }
        self.is_stopped = true;
        let now = MonotonicClock::now();
        self.mischief.stop(now);
        self.desk.reporter.flush(now);
        self.desk.reporter.tell(&NodeReport::Quiet);
    }

    /// Tells the last counters.
    fn finish(&mut self) {
        let now = MonotonicClock::now();
        if let Some(app) = &mut self.app {
            app.close();
            if self.has_program {
                let told = app.told(self.desk.reporter.node(), now);
                self.desk.reporter.observe(now, &told);
            }
            for text in app.summary(self.desk.reporter.node()) {
                self.desk.reporter.event(now, text);
            }
        }
        for port in &mut self.ports {
            let (port, overflows) = (port.number, port.take_overflows());
            let node = self.desk.reporter.node().to_owned();
            if overflows > 0 {
                let text = format!("{node}:{port} found its receive buffer full {overflows} times");
                self.desk.reporter.event(now, text);
            }
            let Some(stats) = self.core.egress(port).map(|e| e.stats()) else { continue };
            let (backlog_bits_max, frames) = (stats.backlog_bits_max, stats.frames);
            let line = Observation::Port { node, port, backlog_bits_max, frames };
            self.desk.reporter.observe(now, &line);
        }
        self.desk.reporter.finish(now);
    }
}

/// Tells what the core has seen.
fn observe(
    desk: &mut Desk,
    core: &EndSystem,
    redundant: &[u16],
    events: &mut Vec<HostEvent>,
    now: Instant,
) {
    let host = core.config().host;
    for event in events.drain(..) {
        if let HostEvent::Released { planned, actual, .. } = event {
            desk.reporter.lateness(planned, actual);
        }
        // Only flows with two copies are told apart by them.
        let single =
            matches!(event, HostEvent::CopyArrived { flow, .. } if !redundant.contains(&flow));
        if let Some(line) = Observation::of_host(host, event).filter(|_| !single) {
            desk.reporter.observe(now, &line);
        }
    }
}
