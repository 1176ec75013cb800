//! Changes of mode by a controller, in the same world and over the same control channels.
//!
//! Switches, links, hosts and traffic are those of a planned run; only the changer of the mode differs. The first
//! switch tells the controller of the excess, the controller sends every switch its entries of the
//! new mode ([`ModeChanger`]), and a switch is done when it has carried out the barrier. What
//! takes time: the channel, the controller's line on which one switch's messages follow the other's,
//! the making of each message, and the carrying out of each.

use super::{CONTROL_LATENCY, Clockwork, Core, Event, LEAD, RunError, SETUP_LIMIT};
use crate::LeftBehind;
use std::collections::BTreeSet;
use tenuto_controller::{ChangerMode, ModeChanger};
use tenuto_dataplane::endsystem::Conduct;
use tenuto_dataplane::switch::SwitchEvent;
use tenuto_model::{Offsets, Plan, Scenario, Sizes, Traffic};
use tenuto_units::{Instant, Span};

/// Of TCP, IP and Ethernet, per segment.
const SEGMENT_BYTES: u64 = 1_460;
const SEGMENT_OVERHEAD_BYTES: u64 = 78;
/// From the end of a change to the way back: excess of the trigger is over by then.
const QUIET: Span = Span::from_ms(50);

/// What a change by a controller costs beside the 500 µs of the channel, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlCosts {
    /// Time of the controller for each message that it makes.
    pub making: Span,
    /// Time of a switch for each message that it carries out.
    pub carrying_out: Span,
    /// From a switch's word to the first message that answers it, besides the channel and the making.
    pub waiting: Span,
    /// Rate of the controller's line, bit/s.
    pub line_bps: u64,
}

/// One change from the lowest to the highest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlledChange {
    /// From the last bit of the frame that exceeds to the moment at which the last switch has
    /// carried out its barrier: every switch looks frames up in the new entries.
    pub in_effect: Span,
    /// Until the controller knows, by the last barrier reply.
    pub confirmed: Span,
    /// Until, too, no switch has a frame queued of a flow without a place in the new mode.
    pub drained: Span,
    /// Frames without a place in the new mode that were queued when it came into effect there.
    pub out_of_mode: u64,
}

/// When a change began and how far it is.
#[derive(Clone, Copy, Debug)]
struct Course {
    began: Instant,
    in_effect: Instant,
    confirmed: Option<Instant>,
    drained: Instant,
    out_of_mode: u64,
}

/// The state of a world whose modes a controller changes.
#[derive(Debug)]
pub(super) struct Controlled {
    changer: ModeChanger,
    costs: ControlCosts,
    /// When the controller's line is free again.
    line_free: Instant,
    /// Cookies of flows that have no place in the highest level.
    out_of_mode: BTreeSet<u64>,
    course: Option<Course>,
    /// Per switch.
    left: Vec<LeftBehind>,
}

/// Changes the mode by a controller so many times, `every` apart: the flow `trigger` sends as in its
/// highest level for `excess`, at some phase of the other traffic; the controller brings the lowest
/// level back before the next. All flows start at once and send as much as they may.
///
/// # Errors
/// [`RunError`] if the plan cannot be brought up, or if a change is not done before the next is due.
pub fn controlled_changes(
    plan: &Plan,
    trigger: &str,
    (count, every, excess): (u32, Span, Span),
    costs: ControlCosts,
    progress: &mut dyn FnMut(u32),
) -> Result<Vec<ControlledChange>, RunError> {
    let traffic = Traffic { offsets: Offsets::Zero, sizes: Sizes::Largest };
    let scenario = Scenario { traffic, ..Scenario::plain(0, 1) };
    let mut world = Clockwork::new(plan, &scenario)?;
    world.set_up_controlled(costs)?;
    world.start_traffic();
    // Nothing is promised here, so there is nothing to judge.
    world.ledger = None;
    let mut changes = Vec::new();
    for number in 0..count {
        let cycle = world.start + every.times(u64::from(number));
        let at = cycle + Span::from_ns(world.draw.below(every.as_ns() / 8));
        changes.push(world.one_change(trigger, at, excess, cycle + every)?);
        progress(number + 1);
    }
    Ok(changes)
}

impl Clockwork<'_> {
    fn set_up_controlled(&mut self, costs: ControlCosts) -> Result<(), RunError> {
        let modes = crate::mode_settings(self.plan, 1);
        let changer = ModeChanger::new(self.now, &self.plan.switches, &modes);
        let highest = modes.levels.saturating_sub(1);
        let flows = self.plan.network.flows.iter().zip(1..);
        let gone = flows.filter(|(flow, _)| flow.contracts.len() <= usize::from(highest));
        self.controlled = Some(Box::new(Controlled {
            changer,
            costs,
            line_free: self.now,
            out_of_mode: gone.map(|(_, cookie)| cookie).collect(),
            course: None,
            left: vec![LeftBehind::default(); self.plan.switches.len()],
        }));
        for node in 0..self.plan.switches.len() {
            // Connections are numbered as the switches are.
            self.conns.insert(node as u64, node);
            if let Core::Switch(switch) = &mut self.nodes[node].core {
                switch.connected(&mut self.switch_fx);
            }
            self.after_switch(node);
        }
        self.after_changer();
        while !self.controlled.as_ref().is_some_and(|it| it.changer.is_settled()) {
            self.check_changer()?;
            match self.queue.next_at() {
                Some(at) if at <= Instant::ZERO + SETUP_LIMIT => self.step(),
                _ => return Err(RunError::SetupFailed("no progress within a minute".into())),
            }
        }
        self.run_until(self.now + LEAD);
        Ok(())
    }

    fn check_changer(&self) -> Result<(), RunError> {
        match self.controlled.as_ref().and_then(|it| it.changer.failure()) {
            Some(why) => Err(RunError::SetupFailed(why.to_owned())),
            None => Ok(()),
        }
    }

    fn one_change(
        &mut self,
        trigger: &str,
        at: Instant,
        excess: Span,
        end: Instant,
    ) -> Result<ControlledChange, RunError> {
        self.run_until(at);
        self.conduct(trigger, |_| Conduct::Mode(1));
        self.run_until(at + excess);
        self.conduct(trigger, |_| Conduct::Mode(0));
        while self.controlled.as_ref().is_some_and(|it| !it.is_done()) {
            self.check_changer()?;
            match self.queue.next_at() {
                Some(next) if next <= end => self.step(),
                _ => {
                    let text = format!("a change at {} ns was not done in time", at.as_ns());
                    return Err(RunError::SetupFailed(text));
                }
            }
        }
        self.run_until(self.now + QUIET);
        let controlled = self.controlled.as_mut().expect("this world has one");
        controlled.changer.lower();
        let course = controlled.course.take().expect("it is done");
        let confirmed = course.confirmed.expect("it is done");
        self.after_changer();
        self.run_until(end);
        Ok(ControlledChange {
            in_effect: course.in_effect.since(course.began),
            confirmed: confirmed.since(course.began),
            drained: course.drained.max(course.in_effect).since(course.began),
            out_of_mode: course.out_of_mode,
        })
    }

    /// Bytes of a switch have come to a controller that changes modes.
    pub(super) fn told(&mut self, conn: u64, bytes: &[u8]) {
        let now = self.now;
        let (Some(controlled), Some(&node)) = (&mut self.controlled, self.conns.get(&conn)) else {
            return;
        };
        controlled.changer.received(now, node, bytes);
        let is_raised = controlled.changer.mode() == ChangerMode::Highest;
        if let Some(course) = controlled.course.as_mut().filter(|it| it.confirmed.is_none())
            && is_raised
            && controlled.changer.is_settled()
        {
            course.confirmed = Some(now);
        }
        self.after_changer();
    }

    /// Takes what the controller has written to its line.
    fn after_changer(&mut self) {
        let now = self.now;
        let Some(controlled) = &mut self.controlled else { return };
        controlled.changer.fire_due(now);
        let costs = controlled.costs;
        for (&conn, &node) in &self.conns {
            let place = usize::try_from(conn).unwrap_or(usize::MAX);
            let (bytes, messages) = controlled.changer.take_output(place);
            if bytes.is_empty() {
                continue;
            }
            let making = costs.making.times(u64::from(messages));
            let sending = sending(bytes.len() as u64, costs.line_bps);
            controlled.line_free = controlled.line_free.max(now) + making + sending;
            let carrying_out = costs.carrying_out.times(u64::from(messages));
            let at = controlled.line_free + costs.waiting + CONTROL_LATENCY + carrying_out;
            let incarnation = self.nodes[node].incarnation;
            self.queue.push(at, Event::ToSwitch { node, incarnation, bytes });
        }
    }

    /// The first excess of a change is its beginning.
    pub(super) fn note_excess(&mut self, event: SwitchEvent) {
        let Some(controlled) = &mut self.controlled else { return };
        if let SwitchEvent::Violation { arrival, .. } = event
            && controlled.course.is_none()
            && controlled.changer.mode() == ChangerMode::Lowest
        {
            let began = arrival;
            controlled.course = Some(Course {
                began,
                in_effect: began,
                confirmed: None,
                drained: began,
                out_of_mode: 0,
            });
        }
    }

    /// A switch has carried out what the controller sent.
    pub(super) fn note_carried_out(&mut self, node: usize) {
        let now = self.now;
        let (Some(controlled), Core::Switch(switch)) =
            (&mut self.controlled, &self.nodes[node].core)
        else {
            return;
        };
        // Switches are connected in their order.
        let is_raised = controlled.changer.mode() == ChangerMode::Highest;
        let is_awaited = is_raised && controlled.changer.is_awaited(node);
        let Some(course) = controlled.course.as_mut().filter(|_| is_awaited) else { return };
        course.in_effect = now;
        course.out_of_mode += controlled.left[node].note(switch, &controlled.out_of_mode);
    }

    /// Queues that are rid of their frames without a place.
    pub(super) fn note_left(&mut self, node: usize) {
        let now = self.now;
        let Some(controlled) = &mut self.controlled else { return };
        let Core::Switch(switch) = &self.nodes[node].core else { return };
        let Some(left) = controlled.left.get_mut(node).filter(|left| !left.is_empty()) else {
            return;
        };
        if left.look(switch)
            && let Some(course) = &mut controlled.course
        {
            course.drained = now;
        }
    }
}

impl Controlled {
    fn is_done(&self) -> bool {
        let is_confirmed = self.course.as_ref().is_some_and(|course| course.confirmed.is_some());
        is_confirmed && self.left.iter().all(LeftBehind::is_empty)
    }
}

fn sending(bytes: u64, line_bps: u64) -> Span {
    let on_line = bytes + bytes.div_ceil(SEGMENT_BYTES) * SEGMENT_OVERHEAD_BYTES;
    Span::from_ns((on_line * 8 * 1_000_000_000).div_ceil(line_bps.max(1)))
}
