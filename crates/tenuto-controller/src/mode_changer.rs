//! A change of mode that the controller makes, as standard SDN does it: what switches that change by
//! themselves are held against.
//!
//! A switch that sees the excess tells the controller and does nothing else; one that cannot see it sends
//! a packet that was made to say so. The controller sends
//! every switch the entries of the other mode, deletes those that have no place in it, and closes
//! with a barrier; the change is done when the last barrier is replied to ([MC-SDN] section III-A).
//! Nothing of it is a guarantee: it is here to be measured.

use crate::compile::{ModeSettings, compile, entry};
use crate::outcome::error_name;
use crate::session::{Session, SessionEvent, SessionLimits};
use tenuto_model::{EntrySpec, SwitchDeployment};
use tenuto_openflow::constants::{controller_max_len, ethertype, port};
use tenuto_openflow::{
    Action, Body, Experimenter, FlowMod, FlowModCommand, Instruction, Match, ModeEventKind,
    ModesMessage, Oxm,
};
use tenuto_units::Instant;

const IP_PROTO_UDP: u8 = 17;

/// Which of the two modes the switches have, or are being brought to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangerMode {
    /// That of the lowest level.
    Lowest,
    /// That of the highest level.
    Highest,
}

/// What a controller that changes the mode sends one switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModeCommands {
    /// Messages that bring an empty switch to the lowest level.
    pub install: Vec<Body>,
    /// Messages that bring it from the lowest level to the highest.
    pub raise: Vec<Body>,
    /// And back.
    pub lower: Vec<Body>,
}

impl ModeCommands {
    /// For a switch of ours, which tells of an excess by itself. Of the levels of the deployment the
    /// lowest and the highest are used, as entries of the tables themselves; `modes` says how many
    /// there are.
    pub fn of(deployment: &SwitchDeployment, modes: &ModeSettings) -> Self {
        let highest = modes.levels.saturating_sub(1);
        // One level, so that a switch that sees an excess tells of it and stays as it is.
        let members = vec![deployment.datapath_id];
        let single = ModeSettings { levels: 1, members, ..modes.clone() };
        let [lowest, highest] = [0, highest].map(|level| of_level(deployment, level));
        Self {
            install: compile(&lowest, &single),
            raise: changing(&lowest, &highest),
            lower: changing(&highest, &lowest),
        }
    }

    /// Messages of a mode change for any OpenFlow 1.3 switch. It has no monitors: a frame to this UDP port, which is the
    /// flag of \[MC-SDN\] III-A, goes to the controller as the request to raise the mode.
    pub fn without_monitors(
        deployment: &SwitchDeployment,
        modes: &ModeSettings,
        request_udp_port: u16,
    ) -> Self {
        let unwatched = |entry: &EntrySpec| EntrySpec { monitor: None, ..entry.clone() };
        let plain = SwitchDeployment {
            monitors: Vec::new(),
            entries: deployment.entries.iter().map(unwatched).collect(),
            ..deployment.clone()
        };
        let mut it = Self::of(&plain, modes);
        let ask = Action::Output { port: port::CONTROLLER, max_len: controller_max_len::NO_BUFFER };
        it.install.push(Body::FlowMod(FlowMod {
            priority: u16::MAX,
            match_: Match::from(vec![
                Oxm::EthType(ethertype::IPV4),
                Oxm::IpProto(IP_PROTO_UDP),
                Oxm::UdpDst { value: request_udp_port, mask: None },
            ]),
            instructions: vec![Instruction::ApplyActions(vec![ask])],
            ..FlowMod::new(FlowModCommand::Add, 0)
        }));
        it
    }
}

/// One switch.
#[derive(Clone, Debug)]
struct Channel {
    session: Session,
    commands: ModeCommands,
    /// Transaction id of the barrier that is waited for.
    barrier: Option<u32>,
    /// Messages written since the output was last taken.
    written: u32,
}

/// A controller that changes the mode of all its switches.
#[derive(Clone, Debug)]
pub struct ModeChanger {
    channels: Vec<Channel>,
    mode: ChangerMode,
    failure: Option<String>,
}

impl ModeChanger {
    /// For these switches of ours, in this order ([`ModeCommands::of`]).
    pub fn new(now: Instant, deployments: &[SwitchDeployment], modes: &ModeSettings) -> Self {
        Self::with(now, deployments.iter().map(|it| ModeCommands::of(it, modes)))
    }

    /// For switches that are sent these commands, in this order.
    pub fn with(now: Instant, switches: impl IntoIterator<Item = ModeCommands>) -> Self {
        let channel = |commands| Channel {
            session: Session::new(SessionLimits::default(), now),
            commands,
            barrier: None,
            written: 1,
        };
        let channels = switches.into_iter().map(channel).collect();
        Self { channels, mode: ChangerMode::Lowest, failure: None }
    }

    /// Bytes of the switch at a place.
    pub fn received(&mut self, now: Instant, place: usize, bytes: &[u8]) {
        let Some(channel) = self.channels.get_mut(place) else { return };
        channel.session.receive(now, bytes);
        let mut is_excess = false;
        while let Some(event) = channel.session.next_event() {
            match event {
                SessionEvent::Up(_) => channel.command(|commands| &commands.install),
                SessionEvent::Message(message) => match message.body {
                    Body::BarrierReply if channel.barrier == Some(message.xid) => {
                        channel.barrier = None;
                    }
                    Body::Experimenter(Experimenter::Modes(ModesMessage::ModeEvent(event))) => {
                        is_excess |= event.kind == ModeEventKind::Violation;
                    }
                    Body::PacketIn(_) => is_excess = true,
                    _ => {}
                },
                SessionEvent::Refused(refusal) => {
                    self.failure =
                        Some(format!("a switch refuses: {}", error_name(&refusal.error)));
                }
                SessionEvent::Closed(error) => self.failure = Some(error.to_string()),
            }
        }
        if is_excess && self.mode == ChangerMode::Lowest && self.is_settled() {
            self.mode = ChangerMode::Highest;
            self.channels
                .iter_mut()
                .for_each(|channel| channel.command(|commands| &commands.raise));
        }
    }

    /// Brings the switches back to the lowest level, if nothing is under way.
    pub fn lower(&mut self) {
        if self.mode == ChangerMode::Highest && self.is_settled() {
            self.mode = ChangerMode::Lowest;
            self.channels
                .iter_mut()
                .for_each(|channel| channel.command(|commands| &commands.lower));
        }
    }

    /// What is to be sent to the switch at a place: the bytes, and how many messages they are.
    pub fn take_output(&mut self, place: usize) -> (Vec<u8>, u32) {
        let Some(channel) = self.channels.get_mut(place) else { return Default::default() };
        (std::mem::take(channel.session.output()), std::mem::take(&mut channel.written))
    }

    /// Whether every switch has answered its last barrier.
    pub fn is_settled(&self) -> bool {
        self.channels.iter().all(|channel| channel.session.is_up() && channel.barrier.is_none())
    }

    /// Whether the switch at a place has not answered its last barrier.
    pub fn is_awaited(&self, place: usize) -> bool {
        self.channels.get(place).is_some_and(|channel| channel.barrier.is_some())
    }

    /// The mode that the switches have, or are being brought to.
    pub const fn mode(&self) -> ChangerMode {
        self.mode
    }

    /// Why this controller is of no use any more.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The earliest timer of a session.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.channels.iter().filter_map(|channel| channel.session.next_deadline()).min()
    }

    /// Fires whatever is due.
    pub fn fire_due(&mut self, now: Instant) {
        self.channels.iter_mut().for_each(|channel| channel.session.fire_due(now));
    }
}

impl Channel {
    /// Sends a list of commands, and a barrier behind it.
    fn command(&mut self, list: fn(&ModeCommands) -> &Vec<Body>) {
        for body in list(&self.commands).clone() {
            self.session.send(body);
            self.written += 1;
        }
        self.barrier = self.session.send(Body::BarrierRequest);
        self.written += 1;
    }
}

/// A deployment whose only level is one of those that it has.
fn of_level(deployment: &SwitchDeployment, level: u8) -> SwitchDeployment {
    let is_of = |entry: &&EntrySpec| entry.level.is_none_or(|own| own == level);
    let entries = deployment.entries.iter().filter(is_of);
    let entries = entries.map(|entry| EntrySpec { level: entry.level.map(|_| 0), ..entry.clone() });
    SwitchDeployment { entries: entries.collect(), ..deployment.clone() }
}

/// All entries of the new mode, as a controller sends its new rules, and deletions of what has no
/// place in it. What is the same in every mode is not sent.
fn changing(old: &SwitchDeployment, new: &SwitchDeployment) -> Vec<Body> {
    let is_same = |a: &EntrySpec, b: &EntrySpec| {
        (a.table, a.precedence, &a.matching) == (b.table, b.precedence, &b.matching)
    };
    let changes = |it: &SwitchDeployment| -> Vec<EntrySpec> {
        it.entries.iter().filter(|entry| entry.level.is_some()).cloned().collect()
    };
    let (mut old, new) = (changes(old), changes(new));
    old.retain(|gone| !new.iter().any(|entry| is_same(entry, gone)));
    let delete = |body| match body {
        Body::FlowMod(it) => Body::FlowMod(FlowMod {
            instructions: Vec::new(),
            command: FlowModCommand::DeleteStrict,
            ..it
        }),
        other => other,
    };
    let deletions = old.iter().map(entry).map(delete);
    new.iter().map(entry).chain(deletions).collect()
}
