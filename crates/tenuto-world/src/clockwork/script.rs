//! A counterexample of `explore`, followed step by step by this driver.
//!
//! Deployment comes over OpenFlow, frames are real bytes through the pool, and time is the queue's;
//! what a trace decides is only the order: when a switch is scheduled, when a frame comes off a
//! link, which signal is lost. So a trace that leads to the same modes after every step shows that
//! its finding is of the switches, not of the explorer.

use super::{Clockwork, Core, Event, RunError};
use crate::explore::{
    Action, Deployed, Settings, Step, TICK, Trace, mode_words, source::Source, ticked_config,
    ticked_plan,
};
use std::collections::{BTreeMap, VecDeque};
use tenuto_dataplane::{FrameId, Frames, TimerId};
use tenuto_model::Scenario;
use tenuto_units::{Instant, Span};

/// What a followed trace decides, in place of timers and links of their own.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Frames that left a port and are still on its link, by sending node and port.
    on_links: BTreeMap<(usize, u32), VecDeque<FrameId>>,
    /// What a switch starts again with.
    deployed: Option<Deployed>,
    /// How often a switch has started, where more than once.
    starts: BTreeMap<usize, u8>,
}

impl Script {
    pub(super) fn hold(&mut self, node: usize, port: u32, frame: FrameId) {
        self.on_links.entry((node, port)).or_default().push_back(frame);
    }
}

/// Follows a trace: its steps again, with the modes that the switches have after each.
///
/// # Errors
/// In words, if the plan does not come up or a step is not possible: the trace is of another
/// plan or of other settings.
pub fn follow(
    plan: &tenuto_model::Plan,
    settings: &Settings,
    trace: &Trace,
) -> Result<Vec<Step>, String> {
    let plan = ticked_plan(plan, settings);
    let scenario = Scenario::plain(0, 1);
    let words = |error: RunError| error.to_string();
    let mut world = Clockwork::new(&plan, &scenario).map_err(words)?;
    world.make_ticked(settings);
    world.set_up().map_err(words)?;
    let start = world.now;
    let at = |tick: u64| start + Span::from_ns(TICK.as_ns() * tick);
    world.run_until(at(u64::from(settings.quiet_ticks)));
    let deployed = Deployed::new(&plan, settings, world.secret);
    world.script = Some(Script { deployed: Some(deployed), ..Script::default() });
    let mut done = Vec::new();
    for (number, step) in (1..).zip(&trace.steps) {
        world.run_until(at(step.tick));
        world
            .follow_step(&step.action)
            .ok_or_else(|| format!("step {number} is not possible here: {}", step.action))?;
        done.push(Step { modes: world.mode_words(), ..step.clone() });
    }
    Ok(done)
}

impl Clockwork<'_> {
    fn make_ticked(&mut self, settings: &Settings) {
        for node in &mut self.nodes {
            if let Core::Switch(switch) = &mut node.core {
                **switch = tenuto_dataplane::switch::Switch::new(ticked_config(switch.config()));
                switch.set_mutant(settings.mutant);
            }
        }
    }

    /// What is queued up to an instant, the control channel's bytes for instance; then it is then.
    pub(super) fn run_until(&mut self, until: Instant) {
        while self.queue.next_at().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    fn switch_named(&self, name: &str) -> Option<usize> {
        let named = |node: &super::Node| node.name == name && matches!(node.core, Core::Switch(_));
        self.nodes.iter().position(named)
    }

    fn follow_step(&mut self, action: &Action) -> Option<()> {
        match action {
            Action::Tick => {}
            Action::Send { switch, port } => self.schedule(switch, TimerId::PortReady(*port))?,
            Action::Think { switch } => self.schedule(switch, TimerId::Mode)?,
            Action::Deliver { from, to } => {
                let (node, port, frame) = self.off_link(from, to)?;
                self.queue.push(self.now, Event::Enter { node, port, frame, arrival: self.now });
                self.run_until(self.now);
            }
            Action::Lose { from, to } => {
                let (_, _, frame) = self.off_link(from, to)?;
                self.pool.release(frame);
            }
            Action::Crash { switch } => self.start_again(switch)?,
            Action::Exceed { flow } => self.let_in(flow, 2)?,
            Action::Arrive { flow } => self.let_in(flow, 1)?,
        }
        Some(())
    }

    /// A switch is given the processor for one timer that is due.
    fn schedule(&mut self, name: &str, timer: TimerId) -> Option<()> {
        let (node, now) = (self.switch_named(name)?, self.now);
        let Core::Switch(switch) = &mut self.nodes[node].core else { return None };
        let mut is_due = false;
        switch.for_each_deadline(|id, at| is_due |= id == timer && at <= now);
        is_due.then_some(())?;
        switch.fire(timer, now, &mut self.pool, &mut self.switch_fx);
        self.after_switch(node);
        Some(())
    }

    /// A switch that has lost its power, with its tables and without its mode.
    fn start_again(&mut self, name: &str) -> Option<()> {
        let (node, now) = (self.switch_named(name)?, self.now);
        let place = self.plan.switches.iter().position(|d| d.switch == name)?;
        let script = self.script.as_mut()?;
        let starts = script.starts.entry(place).or_insert(1);
        *starts += 1;
        let fresh = script.deployed.as_ref()?.started(place, *starts, now, &mut self.pool).ok()?;
        self.nodes[node].core = Core::Switch(Box::new(fresh));
        Some(())
    }

    fn off_link(&mut self, from: &str, to: &str) -> Option<(usize, u32, FrameId)> {
        let (from, to) = (self.switch_named(from)?, self.switch_named(to)?);
        let (&port, far) = self.nodes[from].links.iter().find(|(_, far)| far.node == to)?;
        let frame = self.script.as_mut()?.on_links.get_mut(&(from, port))?.pop_front()?;
        Some((to, far.port, frame))
    }

    fn let_in(&mut self, flow: &str, messages: usize) -> Option<()> {
        let source = Source::new(self.plan, flow, &mut self.pool).ok()?;
        let node = self.switch_named(&self.plan.switches[source.switch].switch)?;
        for (index, frame) in source.frames.into_iter().enumerate() {
            if index < messages {
                self.enter(node, source.port, frame, self.now);
            } else {
                self.pool.release(frame);
            }
        }
        Some(())
    }

    fn mode_words(&self) -> Vec<String> {
        let words = |node: &super::Node| match &node.core {
            Core::Switch(switch) => Some(mode_words(switch, &node.name, &self.plan.network.modes)),
            Core::Host(_) => None,
        };
        self.nodes.iter().filter_map(words).collect()
    }
}
