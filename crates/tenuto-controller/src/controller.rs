//! The controller of a plan: sessions, installations, and the common start.
//!
//! Bytes come in by connection and go out by connection; which switch a connection belongs to is
//! known from the handshake. See the members for when modes are started.

use crate::change::Change;
use crate::compile::{ModeSettings, ours};
use crate::events::{Anomaly, ConnId, ControllerEvent};
use crate::installer::{InstallLimits, InstallTimer, Installer};
use crate::leadership::{Leadership, Standby};
use crate::members::{Activation, Member, Members};
use crate::outcome::{
    InstallEvent, InstallFailure, InstallKind, error_name, is_unknown_experimenter,
};
use crate::session::{Refusal, Session, SessionEvent, SessionLimits, SessionTimer};
use crate::target::Target;
use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};
use tenuto_model::SwitchDeployment;
use tenuto_openflow::constants::{port_config, port_state};
use tenuto_openflow::{
    Body, Experimenter, Features, Framer, Message, ModeStatus, ModesMessage, MultipartReply,
    MultipartRequest, QueuesMessage, ReplyBody, RequestBody,
};
use tenuto_units::Instant;

mod changing;
mod fairness;
mod leading;
mod watching;

/// Limits of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ControllerLimits {
    /// Connections at once, those that are being closed included; connections from where managed
    /// switches are known to be do not count, and have places of their own.
    pub connections_max: usize,
    /// Of one address; as many for each managed switch that is known to be there.
    pub connections_per_source: usize,
    /// Events waiting to be taken; further ones are lost and counted.
    pub events_max: usize,
    /// Limits of each session.
    pub session: SessionLimits,
    /// Limits of each installation.
    pub install: InstallLimits,
}

impl Default for ControllerLimits {
    fn default() -> Self {
        Self {
            connections_max: 256,
            connections_per_source: 8,
            events_max: 65_536,
            session: SessionLimits::default(),
            install: InstallLimits::default(),
        }
    }
}

/// What a controller is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerConfig {
    /// Its name.
    pub name: String,
    /// Datapath ids of the switches that it manages.
    pub manages: Vec<u64>,
    /// Where they connect from, as far as that is known: nobody else is taken for one of these, or
    /// takes their places.
    pub sources: BTreeMap<u64, IpAddr>,
    /// What they shall hold; a managed switch without a deployment shall hold nothing.
    pub deployments: Vec<SwitchDeployment>,
    /// What they are told about modes.
    pub modes: ModeSettings,
    /// Level that is activated at the first start.
    pub start_level: u8,
    /// Epoch of the first start, from 1; a higher one is taken where a switch has seen higher.
    pub epoch: u64,
    /// Limits.
    pub limits: ControllerLimits,
    /// Limits of installations at switches that have their own, instead of [`ControllerLimits::install`]: what
    /// the plan charges the processor of one with differs from profile to profile (\[Loko\] section 4).
    pub install_of: BTreeMap<u64, InstallLimits>,
    /// Whether switches show LLDP frames, and ARP frames of hosts, to this controller ([`ControllerEvent::PacketIn`]): entries
    /// and meters beside those of the deployments, which take no frame of a flow.
    pub watches_links: bool,
    /// Whether there are other controllers of these switches.
    pub leadership: Leadership,
}

/// The timers of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControllerTimer {
    /// A timer of the session of a connection.
    Session(ConnId, SessionTimer),
    /// A timer of the installation over a connection.
    Install(ConnId, InstallTimer),
}

/// An activation that waits for its barrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Activating {
    barrier: u32,
    epoch: u64,
    level: u8,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Channel {
    session: Session,
    /// Where it was made from, if that is known.
    source: Option<IpAddr>,
    /// The switch and its installation, once it is known and accepted.
    switch: Option<(u64, Installer)>,
    /// The switch where it is not installed from here.
    standby: Option<Standby>,
    /// It has refused to tell delays.
    tells_no_delays: bool,
    activating: Option<Activating>,
}

/// Brings the switches of a plan to what they shall hold, and starts them together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Controller {
    name: String,
    limits: ControllerLimits,
    sources: BTreeMap<u64, IpAddr>,
    members: Members,
    channels: BTreeMap<ConnId, Channel>,
    events: VecDeque<ControllerEvent>,
    events_lost: u64,
    is_ready: bool,
    install_of: BTreeMap<u64, InstallLimits>,
    watches_links: bool,
    leadership: Leadership,
    change: Option<Change>,
}

impl Controller {
    /// A controller that waits for its switches.
    pub fn new(config: ControllerConfig) -> Self {
        let ControllerConfig { name, sources, limits, modes, start_level, epoch, .. } = config;
        let install_of = config.install_of;
        let watches_links = config.watches_links;
        let targets = targets(&config.manages, &config.deployments, &modes, watches_links);
        let by_dpid = targets.map(|(dpid, target)| (dpid, Member::new(target))).collect();
        Self {
            name,
            limits,
            sources,
            members: Members::new(by_dpid, modes, start_level, epoch.max(1)),
            channels: BTreeMap::new(),
            events: VecDeque::new(),
            events_lost: 0,
            is_ready: false,
            install_of,
            watches_links,
            leadership: config.leadership,
            change: None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether every managed switch is installed and confirmed, and modes have been started.
    pub const fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// A connection was made, nobody knows from where.
    pub fn connected(&mut self, now: Instant, conn: ConnId) {
        self.take_on(now, conn, None);
    }

    /// A connection was made from an address.
    pub fn connected_from(&mut self, now: Instant, conn: ConnId, source: IpAddr) {
        self.take_on(now, conn, Some(source));
    }

    fn take_on(&mut self, now: Instant, conn: ConnId, source: Option<IpAddr>) {
        if let Some(why) = self.no_place(conn, source) {
            return self.tell(ControllerEvent::Refused { conn, source, why });
        }
        let session = Session::new(self.limits.session, now);
        let (switch, standby, activating) = (None, None, None);
        let tells_no_delays = false;
        let channel = Channel { session, source, switch, standby, tells_no_delays, activating };
        self.channels.insert(conn, channel);
    }

    /// Bytes came in.
    pub fn received(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        // In parts, so that events are taken before there are too many.
        for part in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            if let Some(channel) = self.channels.get_mut(&conn) {
                channel.session.receive(now, part);
                self.work(now, conn);
            }
        }
    }

    /// The connection is gone.
    pub fn closed(&mut self, now: Instant, conn: ConnId) {
        // A message for another switch may have closed this session since it was worked on.
        self.work(now, conn);
        let Some(channel) = self.channels.remove(&conn) else { return };
        // A session that ended before has been told of.
        if !channel.session.is_closed() {
            let dpid = channel.dpid();
            self.lose(now, dpid);
            self.tell(ControllerEvent::Closed { conn, dpid, error: None });
        }
    }

    /// The bytes to send on a connection; take from the front what was sent.
    pub fn output(&mut self, conn: ConnId) -> Option<&mut Vec<u8>> {
        self.channels.get_mut(&conn).map(|channel| channel.session.output())
    }

    /// Whether the connection is to be closed once its output was sent. True for connections that
    /// are not known, refused ones among them.
    pub fn wants_close(&self, conn: ConnId) -> bool {
        self.channels.get(&conn).is_none_or(|channel| channel.session.is_closed())
    }

    /// Names every running timer and when it is due.
    pub fn for_each_deadline(&self, mut visit: impl FnMut(ControllerTimer, Instant)) {
        for (&conn, channel) in &self.channels {
            let session = &channel.session;
            session.for_each_deadline(|timer, at| visit(ControllerTimer::Session(conn, timer), at));
            if let Some((_, installer)) = &channel.switch {
                let visit = |timer, at| visit(ControllerTimer::Install(conn, timer), at);
                installer.for_each_deadline(visit);
            }
        }
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<Instant> {
        let mut earliest = None;
        self.for_each_deadline(|_, at| {
            earliest = Some(earliest.map_or(at, |e: Instant| e.min(at)))
        });
        earliest
    }

    /// A timer is due.
    pub fn fire(&mut self, timer: ControllerTimer, now: Instant) {
        let (ControllerTimer::Session(conn, _) | ControllerTimer::Install(conn, _)) = timer;
        let Some(channel) = self.channels.get_mut(&conn) else { return };
        match (timer, &mut channel.switch) {
            (ControllerTimer::Session(_, timer), _) => channel.session.fire(timer, now),
            (ControllerTimer::Install(_, timer), Some((_, installer))) => {
                installer.fire(timer, now)
            }
            (ControllerTimer::Install(..), None) => {}
        }
        self.work(now, conn);
    }

    /// Fires whatever is due.
    pub fn fire_due(&mut self, now: Instant) {
        let mut due = Vec::new();
        self.for_each_deadline(|timer, at| due.extend((at <= now).then_some(timer)));
        due.into_iter().for_each(|timer| self.fire(timer, now));
    }

    /// The next thing that happened.
    pub fn next_event(&mut self) -> Option<ControllerEvent> {
        self.events.pop_front().or_else(|| self.take_lost())
    }

    /// What there was no room for since that was told last.
    fn take_lost(&mut self) -> Option<ControllerEvent> {
        let count = std::mem::take(&mut self.events_lost);
        (count > 0).then_some(ControllerEvent::EventsLost { count })
    }

    /// Wants other deployments or modes of the same switches. Connected switches are sent the
    /// differences; changed modes are started afresh when every switch has them.
    pub fn update(&mut self, now: Instant, deployments: &[SwitchDeployment], modes: ModeSettings) {
        let dpids: Vec<u64> = self.members.by_dpid.keys().copied().collect();
        self.is_ready = false;
        let targets: Vec<_> = targets(&dpids, deployments, &modes, self.watches_links).collect();
        self.members.set_modes(modes);
        for (dpid, target) in targets {
            let Some(member) = self.members.by_dpid.get_mut(&dpid) else { continue };
            member.target = target.clone();
            member.is_installed = false;
            let Some(conn) = member.conn else { continue };
            if let Some(channel) = self.channels.get_mut(&conn)
                && let Some((_, installer)) = &mut channel.switch
            {
                channel.activating = None;
                installer.update(target);
            }
        }
        let conns: Vec<ConnId> = self.channels.keys().copied().collect();
        conns.into_iter().for_each(|conn| self.work(now, conn));
    }

    /// Reads again what every installed switch holds. One that holds something else is told of
    /// ([`ControllerEvent::Differs`]) and brought back; an installation that failed is tried again.
    pub fn audit(&mut self, now: Instant) {
        let conns: Vec<ConnId> = self.channels.keys().copied().collect();
        for conn in conns {
            if let Some((_, installer)) =
                self.channels.get_mut(&conn).and_then(|channel| channel.switch.as_mut())
            {
                installer.audit();
            }
            self.ask_again(conn);
            self.work(now, conn);
        }
    }

    /// Everything that follows from a change at one connection.
    fn work(&mut self, now: Instant, conn: ConnId) {
        while let Some(channel) = self.channels.get_mut(&conn) {
            if let Some(event) = channel.session.next_event() {
                self.on_session(now, conn, event);
                continue;
            }
            let Some((dpid, installer)) = &mut channel.switch else { return };
            installer.advance(now, &mut channel.session);
            let dpid = *dpid;
            match installer.next_event() {
                Some(event) => self.on_install(now, dpid, event),
                None if channel.session.is_closed() && channel.session.has_events() => {}
                None => return,
            }
        }
    }

    fn on_session(&mut self, now: Instant, conn: ConnId, event: SessionEvent) {
        match event {
            SessionEvent::Up(features) => self.on_up(conn, &features),
            SessionEvent::Message(message) => self.on_message(now, conn, message),
            SessionEvent::Refused(refusal) => {
                if !self.refused_for_role(now, conn, &refusal) {
                    self.on_refused(conn, &refusal);
                }
            }
            SessionEvent::Closed(error) => {
                let channel = self.channels.get_mut(&conn);
                let dpid = channel.and_then(|channel| {
                    let dpid = channel.dpid();
                    (channel.switch, channel.standby) = (None, None);
                    dpid
                });
                self.lose(now, dpid);
                self.tell(ControllerEvent::Closed { conn, dpid, error: Some(error) });
            }
        }
    }

    fn on_up(&mut self, conn: ConnId, features: &Features) {
        let dpid = features.datapath_id;
        let Some(channel) = self.channels.get_mut(&conn) else { return };
        let expected = self.sources.get(&dpid);
        let is_expected = expected.is_none_or(|it| channel.source.is_none_or(|own| own == *it));
        match self.members.by_dpid.get_mut(&dpid) {
            None => {
                channel.session.end("the controller does not manage this datapath id");
                self.tell(ControllerEvent::UnknownDatapath { conn, dpid });
            }
            Some(_) if !is_expected => {
                channel.session.end("this datapath id is expected from another address");
                self.tell(ControllerEvent::WrongSource { conn, dpid });
            }
            Some(member) if member.conn.is_some() => {
                channel.session.end("this datapath id is connected already");
                self.tell(ControllerEvent::DuplicateDatapath { conn, dpid });
            }
            Some(member) => {
                member.conn = Some(conn);
                match self.leadership {
                    Leadership::Alone => self.install(conn, dpid),
                    _ => self.ask_for_role(conn, dpid),
                }
            }
        }
    }

    /// Begins to bring a switch to what it shall hold.
    fn install(&mut self, conn: ConnId, dpid: u64) {
        let Some(channel) = self.channels.get_mut(&conn) else { return };
        let Some(member) = self.members.by_dpid.get(&dpid) else { return };
        let limits = self.install_of.get(&dpid).copied().unwrap_or(self.limits.install);
        let mut installer = Installer::new(member.target.clone(), limits);
        installer.start();
        (channel.switch, channel.standby) = (Some((dpid, installer)), None);
        self.tell(ControllerEvent::Up { conn, dpid });
    }

    fn on_message(&mut self, now: Instant, conn: ConnId, message: Message) {
        let Some(channel) = self.channels.get_mut(&conn) else { return };
        let Some((dpid, installer)) = &mut channel.switch else {
            return self.on_standby(conn, &message);
        };
        let dpid = *dpid;
        let Some(message) = installer.on_message(now, message) else { return };
        match message.body {
            Body::BarrierReply => self.on_barrier(dpid, conn, message.xid),
            Body::Experimenter(Experimenter::Modes(ModesMessage::ModeEvent(event))) => {
                self.members.saw_epoch(event.generation, event.epoch);
                self.tell(ControllerEvent::Mode { dpid, event });
            }
            Body::Experimenter(Experimenter::Modes(ModesMessage::ModeStatusReply(status))) => {
                self.on_status(dpid, status);
            }
            Body::PortStatus(status) => {
                let port = &status.port;
                let is_up = port.config & port_config::PORT_DOWN == 0
                    && port.state & port_state::LINK_DOWN == 0;
                self.tell(ControllerEvent::PortChanged { dpid, port: port.port_no, is_up });
            }
            Body::Experimenter(Experimenter::Queues(QueuesMessage::DetailReply {
                queues, ..
            })) => {
                self.tell(ControllerEvent::Delays { dpid, queues });
            }
            Body::PacketIn(packet_in) if self.watches_links => {
                self.tell(ControllerEvent::PacketIn { dpid, packet_in });
            }
            Body::PacketIn(_) => self.note(dpid, Anomaly::PacketIn),
            Body::FlowRemoved(_) => self.note(dpid, Anomaly::FlowRemoved),
            Body::MultipartReply(MultipartReply {
                body:
                    body @ (ReplyBody::PortStats(_)
                    | ReplyBody::Meter(_)
                    | ReplyBody::TableFeatures(_)
                    | ReplyBody::MeterFeatures(_)
                    | ReplyBody::GroupFeatures(_)
                    | ReplyBody::PortDescription(_)),
                ..
            }) => self.tell(ControllerEvent::Statistics { dpid, body }),
            Body::QueueGetConfigReply(config) => {
                self.tell(ControllerEvent::Queues { dpid, config })
            }
            // Answers to what an installation asked before it began anew.
            Body::MultipartReply(_) | Body::Experimenter(Experimenter::Modes(_)) => {}
            _ => self.note(dpid, Anomaly::Unexpected),
        }
    }

    fn on_refused(&mut self, conn: ConnId, refusal: &Refusal) {
        let Some(channel) = self.channels.get_mut(&conn) else { return };
        let Some((dpid, installer)) = &mut channel.switch else { return };
        if installer.on_refused(refusal) {
            return;
        }
        let (dpid, error) = (*dpid, error_name(&refusal.error));
        let command = match &refusal.command {
            // Not every switch lets itself be configured; nothing depends on it.
            Some(Body::SetConfig(_)) => return,
            // Nor does every switch tell its limits.
            Some(Body::QueueGetConfigRequest { .. }) => return,
            Some(Body::MultipartRequest(MultipartRequest { body, .. })) if is_of_limits(body) => {
                return;
            }
            // Switches of ours tell delays, and it is not asked again of others.
            Some(Body::Experimenter(Experimenter::Queues(_))) => {
                channel.tells_no_delays = true;
                return;
            }
            Some(command) => installer.name_of(command),
            None => "an older command".into(),
        };
        let is_activation = matches!(
            refusal.command,
            Some(Body::Experimenter(Experimenter::Modes(ModesMessage::ModeActivate { .. })))
        );
        self.tell(ControllerEvent::CommandRefused { dpid, command, error });
        if is_activation {
            // Not taken back by the barrier reply that follows: the network is not ready.
            self.members.refused_activation(dpid);
            if let Some(channel) = self.channels.get_mut(&conn) {
                channel.activating = None;
            }
            let failure = match is_unknown_experimenter(&refusal.error) {
                true => InstallFailure::ModesUnsupported,
                false => InstallFailure::Refused { commands: 1 },
            };
            self.tell(ControllerEvent::InstallFailed { dpid, failure });
        }
    }

    fn on_install(&mut self, now: Instant, dpid: u64, event: InstallEvent) {
        match event {
            InstallEvent::Refused { command, error } => {
                self.tell(ControllerEvent::CommandRefused { dpid, command, error });
            }
            InstallEvent::Differs(differences) => {
                self.tell(ControllerEvent::Differs { dpid, differences });
            }
            InstallEvent::Failed(failure) => {
                self.tell(ControllerEvent::InstallFailed { dpid, failure: failure.clone() });
                self.change_failed(now, dpid, &failure);
            }
            // Told when what it had besides is gone as well.
            InstallEvent::Installed { .. } if self.changed(now, dpid) => {}
            InstallEvent::Installed { kind, status } => {
                self.tell(ControllerEvent::Installed { dpid, kind });
                self.on_installed(dpid, kind, status);
            }
        }
    }

    fn on_installed(&mut self, dpid: u64, kind: InstallKind, status: Option<ModeStatus>) {
        match self.members.installed(dpid, kind, status.as_ref()) {
            Some(activation) => self.activate(&activation),
            None if self.members.uses_modes() => self.ask_others(dpid),
            None => {}
        }
        self.check_ready();
    }

    /// A newcomer learns the mode from its neighbours; what they are in is told to the owner.
    fn ask_others(&mut self, dpid: u64) {
        for other in self.members.joined_others(dpid) {
            self.send(other, ours(ModesMessage::ModeStatusRequest));
        }
    }

    fn activate(&mut self, activation: &Activation) {
        let (generation, epoch, level) =
            (self.members.modes.generation, activation.epoch, activation.level);
        for &dpid in &activation.dpids {
            self.send(dpid, ours(ModesMessage::ModeActivate { generation, epoch, level }));
            let Some(barrier) = self.send(dpid, Body::BarrierRequest) else { continue };
            if let Some(channel) = self.channel_of(dpid) {
                channel.activating = Some(Activating { barrier, epoch, level });
            }
        }
    }

    fn on_barrier(&mut self, dpid: u64, conn: ConnId, xid: u32) {
        let Some(channel) = self.channels.get_mut(&conn) else { return };
        let confirmed = channel.activating.take_if(|activating| activating.barrier == xid);
        let Some(Activating { epoch, level, .. }) = confirmed else { return };
        self.tell(ControllerEvent::Activated { dpid, epoch, level });
        self.check_ready();
    }

    fn on_status(&mut self, dpid: u64, status: ModeStatus) {
        self.members.saw_status(dpid, &status);
        self.tell(ControllerEvent::Status { dpid, status });
    }

    /// Ready is told once per loss: when everything is installed and no activation is open.
    fn check_ready(&mut self) {
        let is_open = self.channels.values().any(|channel| channel.activating.is_some());
        let is_open = is_open || self.change.is_some();
        if !self.is_ready && !is_open && self.members.all_installed() {
            self.is_ready = true;
            self.tell(ControllerEvent::Ready);
        }
    }

    fn lose(&mut self, now: Instant, dpid: Option<u64>) {
        let Some(dpid) = dpid else { return };
        if let Some(member) = self.members.by_dpid.get_mut(&dpid) {
            member.lost();
            self.is_ready = false;
        }
        self.change_lost(now, dpid);
    }

    /// The flow that a monitor of a switch watches, by the id that its events have.
    pub fn flow_of_monitor(&self, dpid: u64, id: u32) -> Option<&str> {
        let conn = self.members.by_dpid.get(&dpid)?.conn?;
        self.channels.get(&conn)?.switch.as_ref()?.1.flow_of_monitor(id)
    }

    fn channel_of(&mut self, dpid: u64) -> Option<&mut Channel> {
        let conn = self.members.by_dpid.get(&dpid)?.conn?;
        self.channels.get_mut(&conn).filter(|channel| channel.switch.is_some())
    }

    fn send(&mut self, dpid: u64, body: Body) -> Option<u32> {
        self.channel_of(dpid)?.session.send(body)
    }

    fn note(&mut self, dpid: u64, kind: Anomaly) {
        let Some(member) = self.members.by_dpid.get_mut(&dpid) else { return };
        let counter = &mut member.anomalies[kind as usize];
        *counter += 1;
        let total = *counter;
        match self.events.back_mut() {
            Some(ControllerEvent::Anomaly { dpid: d, kind: k, count })
                if *d == dpid && *k == kind =>
            {
                *count = total;
            }
            _ => self.tell(ControllerEvent::Anomaly { dpid, kind, count: total }),
        }
    }

    fn tell(&mut self, event: ControllerEvent) {
        // In front of it comes that some were lost, if they were.
        let count = 1 + usize::from(self.events_lost > 0);
        if self.events.len() + count > self.limits.events_max {
            self.events_lost = self.events_lost.saturating_add(1);
        } else {
            let lost = self.take_lost();
            self.events.extend(lost.into_iter().chain([event]));
        }
    }
}

const fn is_of_limits(request: &RequestBody) -> bool {
    matches!(
        request,
        RequestBody::MeterFeatures
            | RequestBody::GroupFeatures
            | RequestBody::TableFeatures(_)
            | RequestBody::PortDescription
    )
}

/// What each managed switch shall hold.
fn targets<'a>(
    dpids: &'a [u64],
    deployments: &'a [SwitchDeployment],
    modes: &'a ModeSettings,
    watches_links: bool,
) -> impl Iterator<Item = (u64, Target)> + 'a {
    dpids.iter().map(move |&dpid| {
        let deployment = deployments.iter().find(|deployment| deployment.datapath_id == dpid);
        let target = match deployment {
            Some(deployment) => Target::new(deployment, modes, watches_links),
            None => Target::new(&SwitchDeployment::default(), modes, watches_links),
        };
        (dpid, target)
    })
}
