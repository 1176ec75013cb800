//! The process of a switch, or of all switches of a lab: one thread with ports, control channels and
//! timers around their cores.
//!
//! Frames come first: messages of controllers and what is to be told wait until no switch has any,
//! but not for longer than a moment. Where the mode changes, the first signal to each neighbour comes
//! before all other frames, and whoever has not heard of the change before whoever has.

use crate::beside;
use crate::control_link::{ControlLink, ControlNews};
use crate::controlled_switch::Controlled;
use crate::forwarding::{Forwarding, Witness};
use crate::node::Desk;
use crate::node_ports::{self, NodePort};
use crate::protocol::{NodeCommand, NodeReport, OPENFLOW_PORT, SwitchJob, SwitchesJob};
use crate::reporter::Reporter;
use std::io;
use tenuto_dataplane::switch::{HashKey, PortRole, Switch, SwitchEvent};
use tenuto_dataplane::{DropReason, Dropped, Effects, Transmit};
use tenuto_io::namespaces::within_netns;
use tenuto_io::{MonotonicClock, PollSet, ThreadSettings, WaitPolicy, random_bytes};
use tenuto_model::SwitchDeployment;
use tenuto_units::{Instant, Span};
use tenuto_wire::frame_bytes;
use tenuto_world::{Observation, switch_config};

/// Frames of a port without a stated buffer.
const FRAMES_PER_PORT: usize = 8_192;
/// Room for frames in hand, signals and copies.
const FRAMES_SPARE: usize = 1_024;
/// Bytes on the wire of the smallest frame: what a buffer is filled with in the worst case.
const SMALLEST_WIRE_BYTES: u64 = 84;

/// So long after a frame that should not have been sent, more of them may wait in front of others.
const FLOOD_TIME: Span = Span::from_ms(100);
/// For so long frames are passed on before anything else has a turn.
const FRAMES_TIME: Span = Span::from_us(200);
/// The end of a slot that is nearer than this is waited for among frames.
const SOON: Span = Span::from_us(3);
/// Under SCHED_FIFO, of a thread that has a processor for itself.
const PRIORITY: u8 = 10;

/// One thread with its switches.
struct SwitchProcess<'a> {
    desk: &'a mut Desk,
    switches: Vec<SwitchNode>,
}

struct SwitchNode {
    reporter: Reporter,
    core: Forwarding,
    ports: Vec<NodePort>,
    /// Places of the ports that signals come by.
    trunks: Vec<usize>,
    /// Ports by which a signal has left since a burst was taken last.
    signalled: Vec<u32>,
    link: ControlLink,
    /// Port that is served first in the next turn.
    first: usize,
    controlled: Option<Controlled>,
    /// What was seen and is not told yet, each with how long the call of the core took, in ns.
    seen: Vec<(SwitchEvent, u64)>,
}

/// Runs switches until it is told to finish.
pub(crate) fn run(job: &SwitchesJob, desk: &mut Desk, early: Vec<NodeCommand>) -> io::Result<()> {
    beside::remember_processors();
    let open = |job| SwitchNode::open(job, desk);
    let switches: Vec<SwitchNode> = job.switches.iter().map(open).collect::<io::Result<_>>()?;
    if let Some(processor) = job.processor {
        take_processor(processor, desk);
    }
    desk.reporter.tell(&NodeReport::Up);
    let mut process = SwitchProcess { desk, switches };
    let mut commands = early;
    while !commands.contains(&NodeCommand::Finish) {
        commands.iter().for_each(|command| process.carry_out(command));
        commands = process.turn()?;
    }
    process.switches.iter_mut().for_each(SwitchNode::finish);
    process.desk.reporter.finish(MonotonicClock::now());
    Ok(())
}

/// Never sleeps from now on, on a processor that nobody else is given, before all others there.
fn take_processor(processor: usize, desk: &mut Desk) {
    let settings = ThreadSettings {
        policy: WaitPolicy::Spin,
        processor: Some(processor),
        fifo_priority: Some(PRIORITY),
        ..ThreadSettings::default()
    };
    let (wait, notes) = settings.apply();
    desk.wait = wait;
    for note in notes {
        desk.reporter.event(MonotonicClock::now(), format!("the thread of all switches: {note}"));
    }
}

/// Frames that all egress buffers hold together, in the worst case.
fn pool_frames(deployment: &SwitchDeployment) -> usize {
    let of_port = |bytes: Option<u64>| match bytes {
        Some(bytes) => usize::try_from(bytes / SMALLEST_WIRE_BYTES).unwrap_or(FRAMES_PER_PORT),
        None => FRAMES_PER_PORT,
    };
    deployment.ports.iter().map(|p| of_port(p.buffer_bytes)).sum::<usize>() + FRAMES_SPARE
}

impl SwitchProcess<'_> {
    fn turn(&mut self) -> io::Result<Vec<NodeCommand>> {
        let Self { desk, switches } = self;
        let due = switches.iter().filter_map(SwitchNode::deadline).min();
        desk.wait_for_ports(due, &mut |look| {
            NodePort::pending(switches.iter().flat_map(|it| &it.ports), look)
        })?;
        self.forward()?;
        let poll = &mut self.desk.poll;
        for switch in &mut self.switches {
            switch.take_control(poll)?;
        }
        for switch in &mut self.switches {
            switch.settle(MonotonicClock::now())?;
            switch.answer(poll)?;
            switch.tell();
        }
        let commands = self.desk.commands()?;
        let now = MonotonicClock::now();
        self.switches.iter_mut().for_each(|switch| switch.reporter.pump(now));
        self.desk.reporter.pump(now);
        Ok(commands)
    }

    /// Passes frames on until none waits at any switch, or for [`FRAMES_TIME`].
    fn forward(&mut self) -> io::Result<()> {
        let poll = &mut self.desk.poll;
        let until = MonotonicClock::now() + FRAMES_TIME;
        loop {
            let (mut has_worked, now) = (false, MonotonicClock::now());
            for place in 0..self.switches.len() {
                let switch = &mut self.switches[place];
                let swaps = switch.swaps();
                has_worked |= switch.forward(now, poll)?;
                // Unless signals are on their way, which messages to a controller would hold up.
                if switch.swaps() == 0 {
                    switch.answer(poll)?;
                } else if switch.swaps() > swaps {
                    spread(&mut self.switches, poll)?;
                }
            }
            if !has_worked || now >= until {
                return Ok(());
            }
        }
    }

    fn carry_out(&mut self, command: &NodeCommand) {
        if let NodeCommand::LoseSignals { switch, port, frames } = command
            && let Some(it) = self.switches.iter_mut().find(|it| it.reporter.node() == switch)
            && let Some(port) = it.ports.iter_mut().find(|it| it.number == *port)
        {
            port.signals_to_lose += frames;
        }
    }
}

/// The mode has changed at one switch: the signals of it are taken where it was not heard of yet, and
/// passed on, before anything else is done.
///
/// Each round makes at least one switch change its mode, or is the last.
fn spread(switches: &mut [SwitchNode], poll: &PollSet) -> io::Result<()> {
    for _ in 0..switches.len() {
        let mut has_spread = false;
        for switch in switches.iter_mut().filter(|switch| switch.swaps() == 0) {
            has_spread |= switch.hear(poll)?;
        }
        if !has_spread {
            break;
        }
    }
    Ok(())
}

impl SwitchNode {
    fn open(job: &SwitchJob, desk: &mut Desk) -> io::Result<Self> {
        let Desk { poll, reporter, .. } = desk;
        let settings = &job.settings;
        let allowance = Span::from_ns(settings.stall_allowance_ns);
        let mut reporter = reporter.of_node(&settings.name, allowance);
        let numbers = job.deployment.ports.iter().map(|p| p.port);
        let open = || node_ports::open(numbers, settings.ring_frames, poll, &mut reporter);
        let ports = match job.namespace_pid {
            None => open(),
            Some(pid) => within_netns(pid, open)?,
        }?;
        let controller = job.controller.map(|address| (address, OPENFLOW_PORT).into());
        let hash_key = HashKey::new(random_bytes()?);
        let config = switch_config(&job.plan, &job.deployment, job.secret, job.boot_seed, hash_key);
        let mut core = Forwarding::new(Switch::new(config), pool_frames(&job.deployment));
        core.switch.keep_delays();
        let is_trunk = |port: &NodePort| {
            let all = &core.switch.config().ports;
            let own = all.iter().find(|own| own.port == port.number);
            own.is_some_and(|own| matches!(own.role, PortRole::Trunk(_)))
        };
        let trunks = (0..ports.len()).filter(|&place| is_trunk(&ports[place])).collect();
        Ok(Self {
            reporter,
            core,
            ports,
            trunks,
            signalled: Vec::new(),
            link: ControlLink::new(controller, job.namespace_pid, poll)?,
            first: 0,
            controlled: job.out_of_mode.clone().map(Controlled::new),
            seen: Vec::new(),
        })
    }

    fn deadline(&self) -> Option<Instant> {
        let timer = match self.core.switch.is_purging() {
            true => Some(Instant::ZERO),
            false => self.core.switch.next_deadline().map(|(_, at)| at),
        };
        [timer, self.reporter.deadline()].into_iter().flatten().min()
    }

    /// How often the mode has changed since this switch last told what it has seen.
    fn swaps(&self) -> usize {
        let is_swap =
            |(event, _): &&(SwitchEvent, u64)| matches!(event, SwitchEvent::Swapped { .. });
        self.seen.iter().filter(is_swap).count() + usize::from(self.core.switch.is_purging())
    }

    /// Does what is due by `now`, and takes a burst from each port with frames, until the mode changes;
    /// whether there is, or soon will be, more to do.
    fn forward(&mut self, now: Instant, poll: &PollSet) -> io::Result<bool> {
        let mut has_worked = self.settle(now)?;
        let first = self.first;
        self.first = (first + 1) % self.ports.len().max(1);
        for turn in 0..self.ports.len() {
            let place = (first + turn) % self.ports.len();
            if self.ports[place].is_ready(poll) {
                let (frames, has_swapped) = self.receive(place)?;
                has_worked |= frames > 0;
                if has_swapped {
                    self.flood()?;
                    return Ok(true);
                }
            }
        }
        let is_soon = |(_, at)| at <= now + SOON;
        let switch = &self.core.switch;
        Ok(has_worked || switch.is_purging() || switch.next_deadline().is_some_and(is_soon))
    }

    /// Takes a burst from each port that signals come by, until the mode changes; whether it has.
    fn hear(&mut self, poll: &PollSet) -> io::Result<bool> {
        for nth in 0..self.trunks.len() {
            let place = self.trunks[nth];
            if self.ports[place].is_ready(poll) && self.receive(place)?.1 {
                self.flood()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The burst that was taken last has changed the mode: waits for the slot of the first signal of each
    /// port, if it ends soon, so that neighbours hear of it before anything else is done here or at
    /// another switch.
    fn flood(&mut self) -> io::Result<()> {
        loop {
            let is_awaited =
                self.core.switch.ports().any(|(port, _, egress)| {
                    egress.holds_signals() && !self.signalled.contains(&port)
                });
            let now = MonotonicClock::now();
            let is_soon = |(_, at)| at <= now + SOON;
            if !is_awaited || !self.core.switch.next_deadline().is_some_and(is_soon) {
                return Ok(());
            }
            self.fire(now);
            self.send(true)?;
        }
    }

    /// Takes a burst from one port; how many frames came, and whether they have changed the mode.
    fn receive(&mut self, place: usize) -> io::Result<(usize, bool)> {
        let swaps = self.swaps();
        self.signalled.clear();
        let Self { reporter, core, ports, seen, signalled, .. } = self;
        let NodePort { was_drained, flooded_until, .. } = ports[place];
        let drops = core.fx.drops.len();
        let mut witness =
            Watch { reporter, seen, signalled, earliest: None, drops, was_drained, flooded_until };
        let count = core.receive(ports, place, &mut witness);
        let flooded_until = witness.flooded_until;
        ports[place].flooded_until = flooded_until;
        self.after_sending()?;
        Ok((count, self.swaps() > swaps))
    }

    /// Fires what is due by `now`, and sends what the core has handed over; whether there was any.
    fn settle(&mut self, now: Instant) -> io::Result<bool> {
        let swaps = self.swaps();
        if !self.fire(now) && self.core.fx.transmits.is_empty() {
            return Ok(false);
        }
        self.send(self.swaps() > swaps)?;
        Ok(true)
    }

    /// Fires what is due by `now`; whether anything was.
    fn fire(&mut self, now: Instant) -> bool {
        let due = self.core.switch.next_deadline().map(|(_, at)| at).filter(|at| *at <= now);
        match due {
            Some(due) => self.reporter.lateness(due, now),
            None if self.core.switch.is_purging() => {}
            None => return false,
        }
        self.core.fire(&mut self.ports);
        self.note(now);
        true
    }

    /// Sends what the core has handed over; if the mode has just changed, the first signals alone.
    fn send(&mut self, has_swapped: bool) -> io::Result<()> {
        let Self { reporter, core, ports, seen, signalled, .. } = self;
        let (drops, was_drained, flooded_until) = (0, true, Instant::ZERO);
        let mut witness =
            Watch { reporter, seen, signalled, earliest: None, drops, was_drained, flooded_until };
        core.transmit(ports, has_swapped, &mut witness);
        witness.sent();
        self.after_sending()
    }

    fn after_sending(&mut self) -> io::Result<()> {
        if let Some(controlled) = &mut self.controlled {
            controlled.look(&self.core.switch, &mut self.reporter);
        }
        match self.core.lost.pop() {
            Some((_, why)) => Err(io::Error::other(why)),
            None => Ok(()),
        }
    }

    /// Notes what a call of the core that began at `began` has told.
    fn note(&mut self, began: Instant) {
        note(&mut self.seen, began, &mut self.core.fx);
    }

    /// Carries out what the controller has sent.
    fn take_control(&mut self, poll: &mut PollSet) -> io::Result<()> {
        let news = self.link.turn(poll)?;
        self.control_news(news, poll)
    }

    /// Sends the controller what there is for it.
    fn answer(&mut self, poll: &mut PollSet) -> io::Result<()> {
        if self.core.fx.control.is_empty() && !self.link.is_sending() {
            return Ok(());
        }
        let lost = self.link.send(&mut self.core.fx.control, poll)?;
        self.control_news(lost, poll)
    }

    fn control_news(&mut self, news: Option<ControlNews>, poll: &mut PollSet) -> io::Result<()> {
        let now = MonotonicClock::now();
        let Forwarding { switch, pool, fx, .. } = &mut self.core;
        match news {
            None => {}
            Some(ControlNews::Connected) => switch.connected(fx),
            Some(ControlNews::Lost) => {
                fx.control.clear();
                switch.disconnected();
            }
            Some(ControlNews::Bytes(bytes)) => {
                let is_followed = switch.control(now, &bytes, pool, fx);
                if let Some(controlled) = &mut self.controlled {
                    controlled.answered(&fx.control, switch, &mut self.reporter);
                }
                if !is_followed {
                    switch.disconnected();
                    self.link.lose(poll)?;
                }
                self.note(now);
            }
        }
        Ok(())
    }

    /// Tells what was seen and dropped.
    fn tell(&mut self) {
        if self.seen.is_empty() && self.core.fx.drops.is_empty() {
            return;
        }
        let now = MonotonicClock::now();
        let node = self.reporter.node().to_owned();
        for (event, took_ns) in self.seen.drain(..) {
            if let Some(line) = Observation::of_switch(&node, event, took_ns) {
                self.reporter.observe(now, &line);
            }
        }
        for drop in self.core.fx.drops.drain(..) {
            self.reporter.dropped(now, &drop);
        }
    }

    /// Tells the last counters.
    fn finish(&mut self) {
        let now = MonotonicClock::now();
        let node = self.reporter.node().to_owned();
        for port in &mut self.ports {
            let (number, frames) = (port.number, port.take_overflows());
            if frames > 0 {
                let text = format!("{node}:{number} found its receive buffer full {frames} times");
                self.reporter.event(now, text);
            }
        }
        for (port, _, egress) in self.core.switch.ports() {
            let stats = egress.stats();
            let (backlog_bits_max, frames) = (stats.backlog_bits_max, stats.frames);
            let line = Observation::Port { node: node.clone(), port, backlog_bits_max, frames };
            self.reporter.observe(now, &line);
        }
        self.reporter.close(now);
    }
}

/// Notes what a call of the core that began at `began` has told.
fn note(seen: &mut Vec<(SwitchEvent, u64)>, began: Instant, fx: &mut Effects<SwitchEvent>) {
    if !fx.events.is_empty() {
        let took_ns = MonotonicClock::now().since(began).as_ns();
        seen.extend(fx.events.drain(..).map(|event| (event, took_ns)));
    }
}

/// What is noted while frames pass a switch of a lab.
struct Watch<'a> {
    reporter: &'a mut Reporter,
    seen: &'a mut Vec<(SwitchEvent, u64)>,
    /// Ports by which a signal has left.
    signalled: &'a mut Vec<u32>,
    /// Departure that is the longest ago of what was sent.
    earliest: Option<Instant>,
    /// Frames that went no further before this burst.
    drops: usize,
    /// Of the port that frames come from.
    was_drained: bool,
    flooded_until: Instant,
}

impl Watch<'_> {
    /// What was leaving is sent.
    fn sent(&mut self) {
        if let Some(earliest) = self.earliest.take() {
            self.reporter.lateness(earliest, MonotonicClock::now());
        }
    }
}

impl Witness for Watch<'_> {
    fn not_stored(&mut self, port: u32, bytes: usize) {
        let reason = match bytes > tenuto_dataplane::FRAME_CAPACITY {
            true => DropReason::Malformed,
            false => DropReason::PoolFull,
        };
        let frame_bytes = frame_bytes(bytes);
        let drop = Dropped { reason, port, cookie: 0, message: None, frame_bytes };
        self.reporter.dropped(MonotonicClock::now(), &drop);
    }

    fn time(&mut self, _taken: Instant) -> Instant {
        MonotonicClock::now()
    }

    fn handled(&mut self, began: Instant, fx: &mut Effects<SwitchEvent>) {
        note(self.seen, began, fx);
    }

    fn burst_ended(&mut self, first: Instant, fx: &Effects<SwitchEvent>) {
        self.sent();
        let now = MonotonicClock::now();
        // On a flooded port what is behind a burst has waited for its turn, not for us.
        if self.was_drained || now >= self.flooded_until {
            self.reporter.lateness(first, now);
        }
        if fx.drops.iter().skip(self.drops).any(|drop| is_flood(drop.reason)) {
            self.flooded_until = now + FLOOD_TIME;
        }
    }

    fn leaving(&mut self, transmits: &[Transmit], is_signal: bool) {
        let first = transmits.iter().map(|sent| sent.departure).min();
        self.earliest = [self.earliest, first].into_iter().flatten().min();
        if is_signal {
            self.signalled.extend(transmits.first().map(|sent| sent.port));
        }
    }
}

/// Dropped for what it is, not for where the network stands.
const fn is_flood(reason: DropReason) -> bool {
    matches!(
        reason,
        DropReason::Policed
            | DropReason::Unknown
            | DropReason::Malformed
            | DropReason::SignalRejected
            | DropReason::CommandRejected
    )
}
