//! The switches themselves: sessions around the controller core, and the plan in force in all of them.
//!
//! One task owns the core. It is told of bytes, of another plan and of the time for an audit; what it
//! makes is sent on. A switch that holds something else is changed by its differences, so traffic
//! of flows that stay is forwarded at every moment, also by a service that was killed in between.
//!
//! Between decisions the core goes from one set that all switches have to the next; should one refuse, all
//! go back, and so does the log ([`Inner::undo`]). What modes do is told by switches and only noted here.

use crate::limits::SwitchLimits;
use crate::listening::Listening;
use crate::nearest::nearest;
use crate::service::{Inner, now_ms};
use crate::session_io::{Halves, News, accept};
use crate::view::View;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tenuto_controller::{
    Approach, ConnId, Controller, ControllerConfig, ControllerEvent, ControllerLimits, InstallKind,
    InstallLimits, ModeSettings,
};
use tenuto_model::Plan;
use tenuto_units::{Instant, Span};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant as Moment, sleep_until};

/// News of sessions that wait for the one task.
const NEWS_MAX: usize = 256;
/// How often switches are asked for counters and modes.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// Generation of the modes. There is no other: what would change them is another network.
const GENERATION: u64 = 1;
/// Least time between mode changes, as signals are charged for.
const SIGNAL_DWELL_NS: u64 = 100_000_000;
/// Where nothing is due the task looks again after so long.
const IDLE: Duration = Duration::from_secs(60);

struct Switches {
    inner: Weak<Inner>,
    controller: Controller,
    began: Moment,
    news: mpsc::Sender<News>,
    writers: BTreeMap<ConnId, mpsc::Sender<Vec<u8>>>,
    next: u64,
    /// What the core was last told.
    told: Arc<View>,
    /// What it goes back to if a switch refuses.
    base: Arc<View>,
    /// A refusal is being written down.
    undoing: bool,
    names: BTreeMap<u64, String>,
    /// What those that are there have said of themselves.
    limits: BTreeMap<u64, SwitchLimits>,
}

/// Keeps switches at the plan in force until the service is over.
pub(crate) async fn keep(listening: Vec<Listening>, inner: Arc<Inner>, audit_every: Duration) {
    let (news, mut heard) = mpsc::channel(NEWS_MAX);
    // They end with this.
    let mut accepting = JoinSet::new();
    for one in listening {
        accepting.spawn(accept(one, news.clone()));
    }
    let mut decisions = inner.decided.subscribe();
    let view = inner.view();
    let mut switches = Switches::new(view, Arc::downgrade(&inner), news);
    drop(inner);
    let mut audit_at = Moment::now() + audit_every;
    let mut ask_at = Moment::now() + ASK_EVERY;
    loop {
        let due = switches.due().min(audit_at).min(ask_at);
        tokio::select! {
            Some(news) = heard.recv() => switches.take(news),
            changed = decisions.changed() => match changed {
                Ok(()) => {}
                Err(_) => return,
            },
            () = sleep_until(due) => {}
        }
        let now = switches.now();
        switches.controller.fire_due(now);
        if Moment::now() >= audit_at {
            switches.controller.audit(now);
            switches.names.keys().for_each(|dpid| switches.controller.ask_queues(*dpid));
            audit_at = Moment::now() + audit_every;
        }
        if Moment::now() >= ask_at {
            switches.controller.ask_modes();
            switches.controller.ask_counters();
            ask_at = Moment::now() + ASK_EVERY;
        }
        switches.tell();
        while switches.update() {
            switches.tell();
        }
        switches.send();
    }
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

impl Switches {
    fn new(view: Arc<View>, inner: Weak<Inner>, news: mpsc::Sender<News>) -> Self {
        let plan = &view.plan;
        let (manages, modes) = deployments(plan);
        let (install, install_of) = pace(plan);
        let controller = Controller::new(ControllerConfig {
            name: "service".to_owned(),
            manages,
            deployments: plan.switches.clone(),
            modes,
            epoch: 1,
            limits: ControllerLimits { install, ..ControllerLimits::default() },
            install_of,
            ..ControllerConfig::default()
        });
        let names = plan.switches.iter().map(|it| (it.datapath_id, it.switch.clone())).collect();
        let (began, writers) = (Moment::now(), BTreeMap::new());
        let (told, base) = (Arc::clone(&view), view);
        let (next, undoing, limits) = (0, false, BTreeMap::new());
        Self { inner, controller, began, news, writers, next, told, base, undoing, names, limits }
    }

    fn now(&self) -> Instant {
        let ns = self.began.elapsed().as_nanos();
        Instant::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// When something is due.
    fn due(&self) -> Moment {
        let next = self.controller.next_deadline();
        let next = next.map(|at| self.began + Duration::from_nanos(at.as_ns()));
        next.unwrap_or_else(|| Moment::now() + IDLE)
    }

    fn connected(&mut self, halves: Halves, from: SocketAddr) {
        let conn = ConnId(self.next);
        self.next += 1;
        self.writers.insert(conn, halves.carry(conn, &self.news));
        let now = self.now();
        self.controller.connected_from(now, conn, from.ip());
    }

    fn take(&mut self, news: News) {
        let now = self.now();
        match news {
            News::Connected(halves, from) => self.connected(halves, from),
            News::Unfit(from, why) => {
                if let Some(inner) = self.inner.upgrade() {
                    let text = format!("{}: not taken as a switch: {why}", from.ip());
                    inner.raise("peer-refused", "", text);
                }
            }
            News::Bytes(conn, bytes) => self.controller.received(now, conn, &bytes),
            News::Written => {}
            News::Closed(conn) => {
                self.controller.closed(now, conn);
                self.writers.remove(&conn);
            }
        }
    }

    /// Wants the plan in force, if it is another; whether something was begun or ended.
    fn update(&mut self) -> bool {
        let Some(inner) = self.inner.upgrade() else { return false };
        if self.controller.is_changing() {
            return false;
        }
        let view = inner.view();
        if self.undoing {
            // Decided on until the refusal was written down: built on what is gone, and gone with it.
            if view.network != self.base.network {
                return false;
            }
            self.undoing = false;
            (self.base, self.told) = (Arc::clone(&view), view);
            self.tell_installed(&inner);
            return true;
        }
        if view.decision == self.told.decision {
            return false;
        }
        self.base = std::mem::replace(&mut self.told, view);
        let (_, modes) = deployments(&self.told.plan);
        let nearest = nearest(&self.base.plan, &self.told.plan);
        let now = self.now();
        self.controller.change(now, &self.told.plan.switches, &modes, &nearest)
    }

    /// Every switch has what the core was told, if that is so.
    fn tell_installed(&self, inner: &Inner) {
        if self.controller.is_ready() && !self.undoing {
            inner.installed(self.told.decision);
        }
    }

    /// A switch refused: the log goes back as well, beside this task, which may not wait for the writer.
    fn undo(&mut self, inner: &Arc<Inner>, why: String) {
        self.undoing = true;
        let (inner, base) = (Arc::clone(inner), Arc::clone(&self.base));
        tokio::task::spawn_blocking(move || inner.undo(&base, &why));
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

    fn send(&mut self) {
        let conns: Vec<ConnId> = self.writers.keys().copied().collect();
        for conn in conns {
            let Some(writer) = self.writers.get(&conn) else { continue };
            // What a switch does not read waits in its session, which has a limit.
            let mut is_gone = writer.is_closed();
            let mut is_empty = true;
            if let Some(output) = self.controller.output(conn)
                && !output.is_empty()
            {
                is_empty = false;
                if let Ok(place) = writer.try_reserve() {
                    place.send(std::mem::take(output));
                    is_empty = true;
                } else {
                    is_gone |= writer.is_closed();
                }
            }
            if is_gone || (is_empty && self.controller.wants_close(conn)) {
                // The writer ends when it has sent what it has, and the reader with the connection.
                self.writers.remove(&conn);
                self.controller.closed(self.now(), conn);
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
                    self.undo(&inner, why);
                }
                ControllerEvent::Mode { dpid, .. } | ControllerEvent::Status { dpid, .. } => {
                    self.tell_mode(&inner, &name(dpid), &event);
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
                ControllerEvent::Closed { dpid: Some(dpid), .. } => {
                    inner.raise("switch-gone", &name(dpid), event.to_string());
                }
                ControllerEvent::Installed { dpid, kind } => {
                    for kind in ["switch-failed", "switch-gone", "drift"] {
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
