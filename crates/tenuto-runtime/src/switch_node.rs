//! The process of a switch: ports, control channel and timers around the switch core.

use crate::control_link::{ControlLink, ControlNews};
use crate::controlled_switch::Controlled;
use crate::node::Desk;
use crate::node_ports::{self, NodePort, RECEIVE_BURST, transmit};
use crate::protocol::{NodeCommand, NodeReport, OPENFLOW_PORT, SwitchJob};
use std::io;
use tenuto_dataplane::switch::{Burst, Switch, SwitchEvent};
use tenuto_dataplane::{DropReason, Dropped, Effects, FramePool, Frames};
use tenuto_io::MonotonicClock;
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

struct SwitchNode<'a> {
    desk: &'a mut Desk,
    switch: Switch,
    pool: FramePool,
    fx: Effects<SwitchEvent>,
    burst: Burst,
    ports: Vec<NodePort>,
    link: ControlLink,
    /// Port that is served first in the next turn.
    first: usize,
    controlled: Option<Controlled>,
}

/// Runs a switch until it is told to finish.
pub(crate) fn run(job: &SwitchJob, desk: &mut Desk, early: Vec<NodeCommand>) -> io::Result<()> {
    let config = switch_config(&job.plan, &job.deployment, job.secret, job.boot_seed);
    let numbers = job.deployment.ports.iter().map(|p| p.port);
    let ports = node_ports::open(numbers, job.settings.ring_frames, desk)?;
    let controller = job.controller.map(|address| (address, OPENFLOW_PORT).into());
    let link = ControlLink::new(controller, &mut desk.poll)?;
    desk.reporter.tell(&NodeReport::Up);
    let mut node = SwitchNode {
        switch: Switch::new(config),
        pool: FramePool::new(pool_frames(&job.deployment)),
        fx: Effects::new(),
        burst: Burst::new(),
        ports,
        link,
        first: 0,
        controlled: job.out_of_mode.clone().map(Controlled::new),
        desk,
    };
    node.switch.keep_delays();
    let mut commands = early;
    while !commands.contains(&NodeCommand::Finish) {
        commands.iter().for_each(|command| node.carry_out(command));
        commands = node.turn()?;
    }
    node.finish();
    Ok(())
}

/// Frames that all egress buffers hold together, in the worst case.
fn pool_frames(deployment: &SwitchDeployment) -> usize {
    let of_port = |bytes: Option<u64>| match bytes {
        Some(bytes) => usize::try_from(bytes / SMALLEST_WIRE_BYTES).unwrap_or(FRAMES_PER_PORT),
        None => FRAMES_PER_PORT,
    };
    deployment.ports.iter().map(|p| of_port(p.buffer_bytes)).sum::<usize>() + FRAMES_SPARE
}

impl SwitchNode<'_> {
    fn turn(&mut self) -> io::Result<Vec<NodeCommand>> {
        let due = self.switch.next_deadline().map(|(_, at)| at);
        self.desk.wait(due)?;
        if let Some(due) = due {
            self.desk.reporter.lateness(due, MonotonicClock::now());
        }
        self.settle()?;
        for turn in 0..self.ports.len() {
            let place = (self.first + turn) % self.ports.len();
            if self.desk.poll.readiness(self.ports[place].key).readable {
                self.receive(place)?;
                self.settle()?;
            }
        }
        self.first = (self.first + 1) % self.ports.len().max(1);
        self.control()?;
        let commands = self.desk.commands()?;
        self.desk.reporter.pump(MonotonicClock::now());
        Ok(commands)
    }

    /// Takes a burst from one port.
    fn receive(&mut self, place: usize) -> io::Result<()> {
        let Self { desk, switch, pool, fx, burst, ports, .. } = self;
        let NodePort { number, port, was_drained, flooded_until, .. } = &mut ports[place];
        let (number, fresh) = (*number, *was_drained);
        let mut sink = |arrival: Instant, frame: &[u8]| match pool.insert(frame) {
            Some(id) => burst.push(number, arrival, id),
            None => {
                let bytes = frame_bytes(frame.len());
                let reason = match frame.len() > tenuto_dataplane::FRAME_CAPACITY {
                    true => DropReason::Malformed,
                    false => DropReason::PoolFull,
                };
                let drop =
                    Dropped { reason, port: number, cookie: 0, message: None, frame_bytes: bytes };
                desk.reporter.dropped(MonotonicClock::now(), &drop);
            }
        };
        let received = port.receive(RECEIVE_BURST, &mut sink);
        let mut is_first = true;
        while let Some(arrival) = burst.next_arrival() {
            let now = MonotonicClock::now();
            // On a flooded port a frame behind a burst has waited for its turn, not for us.
            let is_fresh = std::mem::take(&mut is_first) && fresh;
            if is_fresh || now >= *flooded_until {
                desk.reporter.lateness(arrival, now);
            }
            let (before, drops) = (fx.events.len(), fx.drops.len());
            switch.receive_next(now, burst, pool, fx);
            if fx.drops[drops..].iter().any(|drop| is_flood(drop.reason)) {
                *flooded_until = now + FLOOD_TIME;
            }
            if fx.events.len() > before {
                tell(desk, &mut fx.events, now);
            }
        }
        let count = received?;
        *was_drained = count < RECEIVE_BURST;
        Ok(())
    }

    /// Fires what is due and carries out what the core wants.
    fn settle(&mut self) -> io::Result<()> {
        let now = MonotonicClock::now();
        self.switch.fire_due(now, &mut self.pool, &mut self.fx);
        tell(self.desk, &mut self.fx.events, now);
        let Self { desk, fx, ports, pool, controlled, switch, .. } = self;
        transmit(&mut fx.transmits, ports, pool, &mut desk.reporter)?;
        if let Some(controlled) = controlled {
            controlled.look(switch, desk);
        }
        if !fx.drops.is_empty() {
            let now = MonotonicClock::now();
            fx.drops.drain(..).for_each(|drop| desk.reporter.dropped(now, &drop));
        }
        let lost = self.link.send(&mut self.fx.control, &mut self.desk.poll)?;
        self.control_news(lost)
    }

    fn control(&mut self) -> io::Result<()> {
        let news = self.link.turn(&mut self.desk.poll)?;
        self.control_news(news)?;
        self.settle()
    }

    fn control_news(&mut self, news: Option<ControlNews>) -> io::Result<()> {
        let now = MonotonicClock::now();
        match news {
            None => {}
            Some(ControlNews::Connected) => self.switch.connected(&mut self.fx),
            Some(ControlNews::Lost) => {
                self.fx.control.clear();
                self.switch.disconnected();
            }
            Some(ControlNews::Bytes(bytes)) => {
                let Self { desk, switch, pool, fx, .. } = self;
                let is_followed = switch.control(now, &bytes, pool, fx);
                if let Some(controlled) = &mut self.controlled {
                    controlled.answered(&fx.control, switch, desk);
                }
                tell(desk, &mut fx.events, now);
                if !is_followed {
                    self.switch.disconnected();
                    self.link.lose(&mut self.desk.poll)?;
                }
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, command: &NodeCommand) {
        if let NodeCommand::LoseSignals { port, frames } = *command
            && let Some(port) = self.ports.iter_mut().find(|p| p.number == port)
        {
            port.signals_to_lose += frames;
        }
    }

    /// Tells the last counters.
    fn finish(&mut self) {
        let now = MonotonicClock::now();
        for port in &mut self.ports {
            let (number, frames) = (port.number, port.take_overflows());
            if frames > 0 {
                let node = self.desk.reporter.node().to_owned();
                let text = format!("{node}:{number} found its receive buffer full {frames} times");
                self.desk.reporter.event(now, text);
            }
        }
        for (port, _, egress) in self.switch.ports() {
            let stats = egress.stats();
            let line = Observation::Port {
                node: self.desk.reporter.node().to_owned(),
                port,
                backlog_bits_max: stats.backlog_bits_max,
                frames: stats.frames,
            };
            self.desk.reporter.observe(now, &line);
        }
        self.desk.reporter.finish(now);
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

/// Tells events of a call that began at `began`.
fn tell(desk: &mut Desk, events: &mut Vec<SwitchEvent>, began: Instant) {
    if events.is_empty() {
        return;
    }
    let now = MonotonicClock::now();
    let took_ns = now.since(began).as_ns();
    let switch = desk.reporter.node().to_owned();
    for event in events.drain(..) {
        if let Some(line) = Observation::of_switch(&switch, event, took_ns) {
            desk.reporter.observe(now, &line);
        }
    }
}
