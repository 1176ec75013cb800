//! The switches of a network kept at the plan in force: the controller core between the set of the service and sessions.
//!
//! It owns no socket and no clock, so that crashes at every point of every change are played in virtual
//! time (the `crashes` tests) by the code that runs live.
//!
//! Between decisions the core goes from one set that all switches have to the next; should one refuse, all
//! go back, and so does the log ([`Inner::undo`]). What modes do is told by switches and only noted here.

use crate::cluster::Standing;
use crate::limits::SwitchLimits;
use crate::links::{Finding, LinkWatch};
use crate::nearest::nearest;
use crate::observed::Margin;
use crate::service::{Inner, now_ms};
use crate::view::View;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use tenuto_controller::{
    Approach, Controller, ControllerConfig, ControllerEvent, ControllerLimits, InstallKind,
    InstallLimits, Leadership, ModeSettings,
};
use tenuto_model::Plan;
use tenuto_openflow::ReplyBody;
use tenuto_units::{Instant, Span};

/// Generation of the modes. There is no other: what would change them is another network.
const GENERATION: u64 = 1;
/// An alarm: a delay comes near its bound.
const NEAR_BOUND: &str = "delay-near-bound";
/// Alarms that only a controller has which speaks to switches.
const OF_WHO_LEADS: [&str; 11] = [
    "drift",
    "switch-failed",
    "switch-gone",
    "switch-limits",
    "queues-missing",
    "role-refused",
    "link-missing",
    "link-undescribed",
    "port-undescribed",
    "host-unauthorised",
    NEAR_BOUND,
];
/// Least time between mode changes, as signals are charged for.
const SIGNAL_DWELL_NS: u64 = 100_000_000;

/// A set to go back to, and why. Writing that down takes the writer, which a session may not wait for.
pub(crate) struct Undo {
    base: Arc<View>,
    refusal: Refusal,
}

impl Undo {
    /// Writes it down, or leaves it to the keeper to try that again.
    pub(crate) fn carry_out(&self, inner: &Inner) {
        if !inner.undo(&self.base, &self.refusal.why) {
            self.refusal.is_not_stored.store(true, Ordering::Release);
        }
    }
}

/// A refusal that is being written down.
#[derive(Clone)]
struct Refusal {
    why: String,
    /// Whether the log did not take it.
    is_not_stored: Arc<AtomicBool>,
}

/// Keeps switches at the plan in force.
pub(crate) struct Keeper {
    inner: Weak<Inner>,
    pub(crate) controller: Controller,
    /// What the core was last told.
    told: Arc<View>,
    /// What it goes back to if a switch refuses.
    base: Arc<View>,
    /// A refusal that is being written down.
    undoing: Option<Refusal>,
    /// It is not begun yet.
    undo: Option<Undo>,
    names: BTreeMap<u64, String>,
    /// What those that are there have said of themselves.
    limits: BTreeMap<u64, SwitchLimits>,
    /// Whether links lie as described, where that is watched.
    links: Option<LinkWatch>,
}

fn deployments(plan: &Plan) -> (Vec<u64>, ModeSettings) {
    let dpids: Vec<u64> = plan.switches.iter().map(|it| it.datapath_id).collect();
    let modes = ModeSettings {
        generation: GENERATION,
        levels: u8::try_from(plan.network.modes.len()).unwrap_or(u8::MAX).max(1),
        quiet_ns: plan.quiet_ns.unwrap_or(0),
        signal_copies: plan.signal_copies.max(1),
        dwell_ns: SIGNAL_DWELL_NS,
        members: dpids.clone(),
    };
    (dpids, modes)
}

/// Limits of installations. What the plan charges a processor with is one message in each of its periods: the profile says
/// how much time control may take, and not what a message takes ([Loko] section 4).
fn pace(plan: &Plan) -> (InstallLimits, BTreeMap<u64, InstallLimits>) {
    let usual = InstallLimits { approach: Approach::Change, ..InstallLimits::default() };
    let own = |switch: &tenuto_model::SwitchDeployment| {
        let profile = plan.network.profile_of(plan.network.switch(&switch.switch)?);
        let control = profile.processor.as_ref()?.control;
        let turn = Span::from_ns(control.period_ps.div_ceil(1_000));
        (control.time_ps > 0)
            .then_some((switch.datapath_id, InstallLimits { messages_per_turn: 1, turn, ..usual }))
    };
    (usual, plan.switches.iter().filter_map(own).collect())
}

impl Keeper {
    pub(crate) fn new(view: Arc<View>, inner: Weak<Inner>, links: Option<LinkWatch>) -> Self {
        let plan = &view.plan;
        let (manages, modes) = deployments(plan);
        let (install, install_of) = pace(plan);
        let leadership = match inner.upgrade().is_some_and(|it| it.standing() != Standing::Alone) {
            // Until it is told by what generation it leads.
            true => Leadership::Follows { generation: 0 },
            false => Leadership::Alone,
        };
        let controller = Controller::new(ControllerConfig {
            name: "service".to_owned(),
            manages,
            deployments: plan.switches.clone(),
            modes,
            epoch: 1,
            limits: ControllerLimits { install, ..ControllerLimits::default() },
            install_of,
            watches_links: links.is_some(),
            leadership,
            ..ControllerConfig::default()
        });
        let names = plan.switches.iter().map(|it| (it.datapath_id, it.switch.clone())).collect();
        let (told, base) = (Arc::clone(&view), view);
        let (undoing, undo, limits) = (None, None, BTreeMap::new());
        Self { inner, controller, told, base, undoing, undo, names, limits, links }
    }

    /// Another controller leads, or this one does by now: then it begins with what is in force, as after a restart.
    pub(crate) fn stand(&mut self, now: Instant, leadership: Leadership) {
        let Some(inner) = self.inner.upgrade() else { return };
        if leadership == self.controller.leadership() {
            return;
        }
        (self.undoing, self.undo) = (None, None);
        match leadership {
            Leadership::Alone => {}
            Leadership::Follows { generation } => {
                self.controller.follow(now, generation);
                self.limits.clear();
                // Whoever leads tells of switches and links.
                OF_WHO_LEADS.into_iter().for_each(|kind| inner.lower(kind));
            }
            Leadership::Leads { generation } => {
                let view = inner.view();
                let (_, modes) = deployments(&view.plan);
                self.controller.lead(now, generation, &view.plan.switches, &modes);
                (self.base, self.told) = (Arc::clone(&view), view);
            }
        }
    }

    /// Tells what has happened, and begins what is wanted by now.
    pub(crate) fn go_on(&mut self, now: Instant) {
        self.tell();
        while self.update(now) {
            self.tell();
        }
    }

    /// What has to be undone, once.
    pub(crate) const fn take_undo(&mut self) -> Option<Undo> {
        self.undo.take()
    }

    /// Reads every switch again, its queues too.
    pub(crate) fn audit(&mut self, now: Instant) {
        self.controller.audit(now);
        self.undo_again();
        self.names.keys().for_each(|dpid| self.controller.ask_queues(*dpid));
    }

    /// Sends a frame through every port of the switches that are as they should be, and tells what the last ones found out.
    pub(crate) fn look_at_links(&mut self) {
        if !self.controller.leadership().is_leading() {
            return;
        }
        let (Some(links), Some(inner)) = (&mut self.links, self.inner.upgrade()) else { return };
        let (frames, findings) = links.begin_round(|dpid| self.controller.is_installed(dpid));
        let queue = links.queue();
        for ((dpid, port), frame) in frames {
            self.controller.send_frame(dpid, (port, queue), frame);
        }
        tell_findings(&inner, findings);
    }

    /// What switches tell of their ports and of frames that they show.
    fn tell_links(&mut self, inner: &Inner, event: &ControllerEvent) {
        let Some(links) = &mut self.links else { return };
        match event {
            ControllerEvent::PacketIn { dpid, packet_in } => {
                tell_findings(inner, links.heard(*dpid, packet_in));
            }
            ControllerEvent::PortChanged { dpid, port, is_up } => {
                tell_findings(inner, links.port_is(*dpid, *port, *is_up));
            }
            ControllerEvent::Statistics { dpid, body: ReplyBody::PortDescription(ports) } => {
                tell_findings(inner, links.has_ports(*dpid, ports));
            }
            _ => {}
        }
    }

    /// Wants the plan in force, if it is another; whether something was begun or ended.
    fn update(&mut self, now: Instant) -> bool {
        let Some(inner) = self.inner.upgrade() else { return false };
        if self.controller.is_changing() || !self.controller.leadership().is_leading() {
            return false;
        }
        let view = inner.view();
        if self.undoing.is_some() {
            // The log takes entries again.
            if view.stopped.is_none() {
                self.undo_again();
            }
            // Decided on until the refusal was written down: built on what is gone, and gone with it.
            if inner.undone_because(self.told.decision).is_none() {
                return false;
            }
            self.undoing = None;
            if view.plan.plan_hash == self.base.plan.plan_hash {
                (self.base, self.told) = (Arc::clone(&view), view);
                self.tell_installed(&inner);
            } else {
                // Decided on since then: to be changed to from what switches went back to.
                self.told = Arc::clone(&self.base);
            }
            return true;
        }
        if view.decision == self.told.decision {
            return false;
        }
        self.base = std::mem::replace(&mut self.told, view);
        let (_, modes) = deployments(&self.told.plan);
        let nearest = nearest(&self.base.plan, &self.told.plan);
        self.controller.change(now, &self.told.plan.switches, &modes, &nearest)
    }

    /// Every switch has what the core was told, if that is so.
    fn tell_installed(&self, inner: &Inner) {
        if self.controller.is_ready() && self.undoing.is_none() {
            inner.installed(self.told.decision);
        }
    }

    /// A switch refused: the log has to go back as well.
    fn undo(&mut self, why: String) {
        let refusal = Refusal { why, is_not_stored: Arc::default() };
        self.undoing = Some(refusal.clone());
        self.undo = Some(Undo { base: Arc::clone(&self.base), refusal });
    }

    /// Writes a refusal down that the log did not take.
    fn undo_again(&mut self) {
        let is_lost = |it: &&Refusal| it.is_not_stored.swap(false, Ordering::AcqRel);
        if let Some(refusal) = self.undoing.as_ref().filter(is_lost).cloned() {
            self.undo = Some(Undo { base: Arc::clone(&self.base), refusal });
        }
    }

    fn tell_mode(&self, inner: &Inner, name: &str, event: &ControllerEvent) {
        let modes = &self.told.network.modes;
        match event {
            ControllerEvent::Status { status, .. } => {
                inner.modes.status(now_ms(), name, status, modes);
            }
            ControllerEvent::Mode { dpid, event } => {
                let flow = self.controller.flow_of_monitor(*dpid, event.monitor_id);
                let told = inner.modes.event(now_ms(), (name, flow), event, modes);
                let because =
                    told.flow.map_or_else(String::new, |flow| format!(", because of {flow}"));
                let text = format!("{name}: {}, {} to {}{because}", told.kind, told.from, told.to);
                inner.tell("mode", Some(self.told.decision), text);
            }
            _ => {}
        }
    }

    /// Holds what a switch says that it can against what the plan has for it.
    fn hold_limits(&self, inner: &Inner, dpid: u64) {
        let wanted = self.told.plan.switches.iter().find(|it| it.datapath_id == dpid);
        let (Some(limits), Some(wanted)) = (self.limits.get(&dpid), wanted) else { return };
        let own_tool = "OpenFlow 1.3 cannot make queues, the switch's own tool can; until then frames of \
                        these classes are not told apart, and bounds do not hold";
        let found = [
            ("switch-limits", limits.too_small_for(wanted), ""),
            ("queues-missing", limits.without_queues(wanted), own_tool),
        ];
        for (kind, all, hint) in found {
            let place = &wanted.switch;
            let text = format!("{place}: {}", all.join("; "));
            let text = if hint.is_empty() { text } else { format!("{text}. {hint}") };
            let known = inner.view();
            let mut raised = known.alarms.iter().filter(|it| it.kind == kind && it.is_raised);
            let is_told = raised.any(|it| it.place == *place && it.text == text);
            match all.is_empty() {
                true => inner.lower_at(kind, place),
                // Parts of an answer come one by one.
                false if is_told => {}
                false => inner.raise(kind, place, text),
            }
        }
    }

    fn tell(&mut self) {
        let Some(inner) = self.inner.upgrade() else { return };
        while let Some(event) = self.controller.next_event() {
            let name = |dpid: &u64| self.names.get(dpid).cloned().unwrap_or_default();
            let decision = Some(self.told.decision);
            match &event {
                ControllerEvent::Ready => {
                    self.tell_installed(&inner);
                    let known: Vec<u64> = self.limits.keys().copied().collect();
                    known.into_iter().for_each(|dpid| self.hold_limits(&inner, dpid));
                }
                ControllerEvent::ChangeRefused { dpid, .. } => {
                    let why = format!("{}: {event}", name(dpid));
                    self.undo(why);
                }
                ControllerEvent::Mode { dpid, .. } | ControllerEvent::Status { dpid, .. } => {
                    self.tell_mode(&inner, &name(dpid), &event);
                }
                ControllerEvent::Delays { dpid, queues } => {
                    let margins =
                        inner.observed.take(now_ms(), &name(dpid), queues, &self.told.plan);
                    tell_margins(&inner, margins);
                }
                ControllerEvent::PacketIn { .. }
                | ControllerEvent::PortChanged { .. }
                | ControllerEvent::Statistics { body: ReplyBody::PortDescription(_), .. } => {
                    self.tell_links(&inner, &event);
                }
                ControllerEvent::Statistics { dpid, body } => {
                    if self.limits.entry(*dpid).or_default().take(body) {
                        self.hold_limits(&inner, *dpid);
                    } else {
                        inner.metrics.told(&name(dpid), body);
                    }
                }
                ControllerEvent::Queues { dpid, config } => {
                    self.limits.entry(*dpid).or_default().take_queues(config);
                    self.hold_limits(&inner, *dpid);
                }
                ControllerEvent::Activated { .. } => {
                    inner.tell("mode", decision, event.to_string());
                    self.controller.ask_modes();
                }
                ControllerEvent::Differs { dpid, .. } => {
                    inner.raise("drift", &name(dpid), event.to_string());
                }
                ControllerEvent::InstallFailed { dpid, .. } => {
                    inner.raise("switch-failed", &name(dpid), event.to_string());
                }
                ControllerEvent::RoleRefused { dpid, .. } => {
                    inner.raise("role-refused", &name(dpid), event.to_string());
                }
                // Whoever leads tells of it.
                ControllerEvent::Closed { .. } if !self.controller.leadership().is_leading() => {}
                ControllerEvent::Closed { dpid: Some(dpid), .. } => {
                    inner.raise("switch-gone", &name(dpid), event.to_string());
                }
                ControllerEvent::Installed { dpid, kind } => {
                    for kind in ["switch-failed", "switch-gone", "drift", "role-refused"] {
                        inner.lower_at(kind, &name(dpid));
                    }
                    if *kind == InstallKind::Repaired {
                        inner.metrics.repaired(&name(dpid));
                    }
                    if *kind != InstallKind::Adopted {
                        inner.tell("switch", decision, event.to_string());
                    }
                    self.controller.ask_modes();
                }
                ControllerEvent::Up { dpid, .. } => {
                    inner.tell("switch", decision, event.to_string());
                    self.limits.remove(dpid);
                    self.controller.ask_limits(*dpid);
                }
                ControllerEvent::CommandRefused { .. } => {
                    inner.tell("switch", decision, event.to_string());
                }
                _ => {}
            }
        }
    }
}

/// Told once while it lasts.
fn tell_margins(inner: &Inner, margins: Vec<(String, Margin)>) {
    for (place, margin) in margins {
        let known = inner.view();
        let is_raised = known
            .alarms
            .iter()
            .any(|it| it.is_raised && it.kind == NEAR_BOUND && it.place == place);
        match margin {
            Margin::Near(text) if !is_raised => {
                inner.raise(NEAR_BOUND, &place, format!("{place}: {text}"))
            }
            Margin::Kept if is_raised => inner.lower_at(NEAR_BOUND, &place),
            _ => {}
        }
    }
}

fn tell_findings(inner: &Inner, findings: impl IntoIterator<Item = Finding>) {
    for finding in findings {
        match finding {
            Finding::Raise(kind, place, text) => inner.raise(kind, &place, text),
            Finding::Lower(kind, place) => inner.lower_at(kind, &place),
        }
    }
}
