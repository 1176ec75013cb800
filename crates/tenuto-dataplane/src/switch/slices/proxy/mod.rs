//! Slices in front of a switch of others: a proxy of OpenFlow 1.3, without I/O.
//!
//! Each slice has tables, groups and meters of the switch to itself, behind a first table that says whose a frame is
//! ([`dispatcher`]). A *shadow* of each slice, which is the same virtual datapath as in a switch of our own, judges what
//! its controller says: it refuses what reaches out of the slice or above its limits, and answers what needs no switch.
//! What it accepts is carried over, under numbers that are the slice's there ([`places`]). What leaves the switch is never
//! seen, so some actions are refused besides ([`strict`]). Packet-outs are carried out by the shadow, and what leaves it and is the slice's
//! goes to the switch as a plain frame.

mod audit;
mod dispatcher;
mod from_switch;
mod places;
mod refused;
mod requests;
mod strict;
mod wall;

use self::audit::Audit;
use self::places::Places;
use self::refused::{Asking, has_time_out, is_read, refusal};
use self::requests::Requests;
use super::sliced::{Overlap, SliceSetup};
use super::traffic::SliceTraffic;
use crate::switch::control::connection::ConnectionId;
use crate::switch::{Switch, SwitchEvent};
use crate::{Effects, FramePool, Frames};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tenuto_openflow::constants::{NO_BUFFER, flow_flag, group, message_type, meter, port, table};
use tenuto_openflow::{
    Action, BadRequest, Body, ErrorCode, ErrorMessage, FlowMod, FlowModCommand, GroupMod,
    GroupModCommand, Match, Message, MeterMod, MeterModCommand, PacketOut, Port, SwitchConfigMsg,
};
use tenuto_units::{Instant, Span};

/// Frames of one packet-out.
const FRAMES: usize = 1_024;
/// Tables of a switch that can be given to slices, behind the first.
const TABLES_MAX: u16 = 253;
/// A frame has left the shadow's port after this, whatever its rate.
const LEAVES: Span = Span::from_ms(1);
/// A slice whose messages the switch has not caught up with is asked again after this.
const LATE: Span = Span::from_ms(5);
/// Ends of entries that are waited for beyond those of a slice's entries, since they are on their way.
const ENDS_MAX: usize = 4_096;

/// A controller of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyPeer {
    /// The place of the slice.
    pub slice: usize,
    /// Its connection to the slice; numbers begin with 1.
    pub connection: ConnectionId,
}

/// Why slices cannot be put in front of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyRefused {
    /// Two would claim the same frame.
    Overlap(Overlap),
    /// Together they have more tables than a switch.
    Tables(u16),
    /// One needs more entries of the first table than are made: too many ports, VLANs and addresses.
    Entries(String),
    /// The setup is not that of a slice.
    NoSlice(String),
}

/// What a proxy tells its world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyEvent {
    /// A message of a slice was refused, of this type, with this error.
    Refused {
        /// The slice.
        slice: String,
        /// `OFPT_*`.
        type_: u8,
        /// What it was told.
        code: ErrorCode,
    },
    /// The switch refused what the proxy itself has asked.
    SwitchRefused(ErrorMessage),
    /// An entry that no slice has made.
    Foreign {
        /// Its table in the switch.
        table: u8,
        /// Its priority.
        priority: u16,
        /// Its match.
        match_: Match,
    },
    /// Entries of a slice, or of the first table, that are not there any more.
    Missing {
        /// The slice; `None`: the proxy's own.
        slice: Option<String>,
        /// How many.
        entries: usize,
    },
}

/// What came of a call.
#[derive(Clone, Debug, Default)]
pub struct ProxyEffects {
    /// Messages for the switch.
    pub to_switch: Vec<u8>,
    /// Messages for controllers.
    pub to_controllers: Vec<(ProxyPeer, Vec<u8>)>,
    /// What people want to know.
    pub events: Vec<ProxyEvent>,
}

/// What tells an entry of a table.
type EntryKey = (u8, u16, Vec<u8>);

struct Shadow {
    name: String,
    traffic: Arc<SliceTraffic>,
    switch: Switch,
    places: Places,
    /// Ports that others have too.
    shared: BTreeSet<u32>,
    /// Entries of whose end its controller wants to hear.
    wants_end: BTreeSet<EntryKey>,
}

/// Slices in front of one switch.
pub struct SliceProxy {
    slices: Vec<Shadow>,
    ports: Vec<Port>,
    requests: Requests,
    audit: Audit,
    dispatch: Vec<FlowMod>,
    frames: FramePool,
    fx: Effects<SwitchEvent>,
}

impl Shadow {
    /// The groups or meters that a message names, before it is carried out.
    fn named(&self, body: &Body) -> Vec<u32> {
        match body {
            Body::GroupMod(it) if it.group_id == group::ALL => {
                self.switch.groups.keys().copied().collect()
            }
            Body::GroupMod(it) => vec![it.group_id],
            Body::MeterMod(it) if it.meter_id == meter::ALL => {
                let tables = &self.switch.tables;
                tables.meter_ids().filter(|id| tables.has_meter(*id)).collect()
            }
            Body::MeterMod(it) => vec![it.meter_id],
            _ => Vec::new(),
        }
    }

    fn asking(&self) -> Asking<'_> {
        Asking {
            places: self.places,
            traffic: &self.traffic,
            shares_ports: !self.shared.is_empty(),
        }
    }

    /// Notes whether the end of an entry is to be told.
    fn note_wants_end(&mut self, it: &FlowMod) {
        if it.command != FlowModCommand::Add {
            return;
        }
        let key = (it.table_id, it.priority, match_bytes(&it.match_));
        match it.flags & flow_flag::SEND_FLOW_REM != 0 {
            true => self.wants_end.insert(key),
            false => self.wants_end.remove(&key),
        };
        // The switch tells the end of each entry, but for those that it has refused.
        while self.wants_end.len() > self.switch.tables().entries() + ENDS_MAX {
            self.wants_end.pop_first();
        }
    }
}

/// A match as bytes, the same for the same conditions in whatever order.
fn match_bytes(match_: &Match) -> Vec<u8> {
    let mut oxms: Vec<String> = match_.oxms.iter().map(|oxm| format!("{oxm:?}")).collect();
    oxms.sort_unstable();
    oxms.join(",").into_bytes()
}

impl SliceProxy {
    /// Slices in front of a switch with these ports.
    ///
    /// # Errors
    /// If slices overlap, or need more than a switch has.
    pub fn new(ports: Vec<Port>, slices: Vec<SliceSetup>) -> Result<Self, ProxyRefused> {
        let mut shadows: Vec<Shadow> = Vec::new();
        let (mut next, mut number) = (1_u16, 1);
        let mut dispatch = Vec::new();
        for SliceSetup { name, config } in slices {
            let slice = config.general.as_ref().and_then(|general| general.slice.as_ref());
            let Some(slice) = slice else { return Err(ProxyRefused::NoSlice(name)) };
            let traffic = slice.traffic.clone();
            let tables = u16::from(config.tables);
            let Some(first_table) =
                u8::try_from(next).ok().filter(|_| next - 1 + tables <= TABLES_MAX)
            else {
                return Err(ProxyRefused::Tables(next - 1 + tables));
            };
            let places = Places::new(number, first_table, config.tables);
            (next, number) = (next + tables, number + 1);
            if let Some(other) = shadows.iter().find(|it| it.traffic.overlaps(&traffic)) {
                return Err(ProxyRefused::Overlap(Overlap(other.name.clone(), name)));
            }
            let Some(entries) = dispatcher::entries(&traffic, places) else {
                return Err(ProxyRefused::Entries(name));
            };
            dispatch.extend(entries);
            let switch = Switch::new(config);
            let wants_end = BTreeSet::new();
            let shared = BTreeSet::new();
            shadows.push(Shadow { name, traffic, switch, places, shared, wants_end });
        }
        note_shared(&mut shadows);
        Ok(Self {
            slices: shadows,
            ports,
            requests: Requests::default(),
            audit: Audit::default(),
            dispatch,
            frames: FramePool::new(FRAMES),
            fx: Effects::new(),
        })
    }

    /// What empties a switch, of whose ports nothing has to be known.
    pub fn emptying() -> [Body; 5] {
        let no_buffer = SwitchConfigMsg { flags: 0, miss_send_len: 0xffff };
        let groups = GroupMod {
            command: GroupModCommand::Delete,
            type_: tenuto_openflow::GroupType::All,
            group_id: group::ALL,
            buckets: Vec::new(),
        };
        let command = MeterModCommand::Delete;
        let meters = MeterMod { command, flags: 0, meter_id: meter::ALL, bands: Vec::new() };
        let entries = FlowMod::new(FlowModCommand::Delete, table::ALL);
        [
            Body::SetConfig(no_buffer),
            Body::FlowMod(entries),
            Body::GroupMod(groups),
            Body::MeterMod(meters),
            Body::BarrierRequest,
        ]
    }

    /// Empties the switch, and tells it whose frames are whose.
    pub fn start(&mut self, out: &mut ProxyEffects) {
        let first = Self::emptying();
        let dispatch: Vec<Body> = self.dispatch.iter().cloned().map(Body::FlowMod).collect();
        for body in first.into_iter().chain(dispatch).chain([Body::BarrierRequest]) {
            self.requests.own(body, out);
        }
    }

    /// Names of the slices, by place.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.slices.iter().map(|slice| slice.name.as_str())
    }

    /// What a slice's controller has done.
    pub fn messages(&self, slice: usize) -> Option<super::guard::SliceMessages> {
        self.slices.get(slice)?.switch.slice_messages()
    }

    /// A controller of a slice is there; false if the slice has as many as it may have.
    pub fn connected(&mut self, peer: ProxyPeer, out: &mut ProxyEffects) -> bool {
        let Some(it) = self.slices.get_mut(peer.slice) else { return false };
        let is_new = it.switch.connected_to(peer.connection, None, &mut self.fx).is_ok();
        self.hand_over(peer.slice, out);
        is_new
    }

    /// It is gone; its entries stay.
    pub fn disconnected(&mut self, peer: ProxyPeer) {
        if let Some(it) = self.slices.get_mut(peer.slice) {
            it.switch.disconnected_from(peer.connection);
        }
        self.requests.forget(peer);
    }

    /// When a message of a slice, whose first bytes are these, is within its budget, and the switch has caught up with
    /// those before it. An earlier one is not refused for that; it adds to what is kept.
    pub fn message_at(&self, slice: usize, now: Instant, message: &[u8]) -> Instant {
        match self.requests.is_full(slice) {
            true => now + LATE,
            false => self.slices.get(slice).map_or(now, |it| it.switch.message_at(now, message)),
        }
    }

    /// One whole message of a slice's controller; false if its connection cannot be followed any more.
    pub fn from_controller(
        &mut self,
        peer: ProxyPeer,
        now: Instant,
        bytes: &[u8],
        out: &mut ProxyEffects,
    ) -> bool {
        let Some(it) = self.slices.get(peer.slice) else { return false };
        let message = Message::parse(bytes).ok();
        if let Some(Message { xid, body }) = &message
            && let Err(code) = refusal(&it.asking(), body)
        {
            // The shadow counts it, and is not asked.
            let it = &mut self.slices[peer.slice];
            it.switch.charge_slice(bytes.len(), now);
            self.refuse(peer, *xid, bytes, code, out);
            return true;
        }
        let is_followed = match message {
            Some(message) if is_read(&message.body) => self.read(peer, now, message, bytes, out),
            Some(message) if is_change(&message.body) => {
                self.change(peer, now, message, bytes, out)
            }
            _ => self.shadow(peer, now, bytes),
        };
        self.hand_over(peer.slice, out);
        is_followed
    }

    /// What only the switch knows: the shadow judges that it is asked, and not too often.
    fn read(
        &mut self,
        peer: ProxyPeer,
        now: Instant,
        message: Message,
        bytes: &[u8],
        out: &mut ProxyEffects,
    ) -> bool {
        let it = &mut self.slices[peer.slice];
        it.switch.charge_slice(bytes.len(), now);
        match it.switch.judge_slice(now, &message.body) {
            Ok(()) => {
                let bodies = requests::requests(it.places, message.body);
                self.send(peer, message.xid, bytes, bodies, out);
            }
            Err(code) => self.refuse(peer, message.xid, bytes, code, out),
        }
        true
    }

    /// A change: the shadow's first, and the switch's if it is accepted.
    fn change(
        &mut self,
        peer: ProxyPeer,
        now: Instant,
        message: Message,
        bytes: &[u8],
        out: &mut ProxyEffects,
    ) -> bool {
        let named = self.slices[peer.slice].named(&message.body);
        let stripped = Message::new(message.xid, for_shadow(&message.body));
        let is_followed = self.shadow(peer, now, &stripped.to_bytes());
        let told = self.fx.channels.iter().flat_map(|(_, told)| messages_in(told));
        if told.map(|told| told[1]).all(|type_| type_ != message_type::ERROR) {
            let bodies = self.carried(peer.slice, message.body, &named);
            self.send(peer, message.xid, bytes, bodies, out);
        }
        is_followed
    }

    /// Sends the switch what a message of a slice has become, if all of it is about the slice's own.
    fn send(
        &mut self,
        peer: ProxyPeer,
        xid: u32,
        bytes: &[u8],
        bodies: Vec<Body>,
        out: &mut ProxyEffects,
    ) {
        let Shadow { places, traffic, .. } = &self.slices[peer.slice];
        match bodies.iter().all(|body| wall::is_own(*places, traffic, body)) {
            true => {
                let head = &bytes[..bytes.len().min(64)];
                self.requests.begin(peer, xid, head, bodies, out);
            }
            false => self.refuse(peer, xid, bytes, BadRequest::Eperm.into(), out),
        }
    }

    /// Has the shadow of a slice handle a message.
    fn shadow(&mut self, peer: ProxyPeer, now: Instant, bytes: &[u8]) -> bool {
        let it = &mut self.slices[peer.slice].switch;
        let is_followed =
            it.control_from(peer.connection, now, bytes, &mut self.frames, &mut self.fx);
        it.fire_due(now + LEAVES, &mut self.frames, &mut self.fx);
        is_followed
    }

    /// What the shadow has accepted, under the slice's numbers in the switch.
    fn carried(&mut self, slice: usize, body: Body, named: &[u32]) -> Vec<Body> {
        let Shadow { places, traffic, .. } = &self.slices[slice];
        let (places, traffic) = (*places, traffic.clone());
        match body {
            Body::PacketOut(_) => {
                let sent = self.fx.transmits.iter();
                let sent = sent.map(|it| (it.port, self.frames.bytes(it.frame)));
                let own = sent.filter(|(port, frame)| traffic.claims(*port, frame));
                own.map(|(port, data)| Body::PacketOut(packet_out(port, data.to_vec()))).collect()
            }
            Body::FlowMod(it) => {
                self.slices[slice].note_wants_end(&it);
                flow_mods(places, traffic.ports(), it)
            }
            Body::GroupMod(it) => {
                let of = |group_id| {
                    Body::GroupMod(
                        places.group_mod_out(traffic.ports(), &GroupMod { group_id, ..it.clone() }),
                    )
                };
                named.iter().copied().map(of).collect()
            }
            Body::MeterMod(it) => {
                let of = |meter_id| {
                    Body::MeterMod(places.meter_mod_out(&MeterMod { meter_id, ..it.clone() }))
                };
                named.iter().copied().map(of).collect()
            }
            _ => Vec::new(),
        }
    }

    fn tell(&self, peer: ProxyPeer, xid: u32, body: Body, out: &mut ProxyEffects) {
        queue(out, peer, &Message::new(xid, body).to_bytes());
    }

    /// Tells those controllers of a slice what none of them has asked for.
    fn tell_all(
        &self,
        slice: usize,
        hearers: Vec<ConnectionId>,
        body: &Body,
        out: &mut ProxyEffects,
    ) {
        for connection in hearers {
            self.tell(ProxyPeer { slice, connection }, 0, body.clone(), out);
        }
    }

    fn refuse(
        &self,
        peer: ProxyPeer,
        xid: u32,
        bytes: &[u8],
        code: ErrorCode,
        out: &mut ProxyEffects,
    ) {
        let error = ErrorMessage::new(code, &bytes[..bytes.len().min(64)]);
        self.tell(peer, xid, Body::Error(error), out);
        let slice = self.slices[peer.slice].name.clone();
        let type_ = bytes.get(1).copied().unwrap_or(0);
        out.events.push(ProxyEvent::Refused { slice, type_, code });
    }

    /// What the shadow has told its controller, but for ends of entries, of which the switch tells.
    fn hand_over(&mut self, slice: usize, out: &mut ProxyEffects) {
        let told = std::mem::take(&mut self.fx.channels);
        self.fx.events.clear();
        self.fx.drops.clear();
        for frame in std::mem::take(&mut self.fx.transmits) {
            self.frames.release(frame.frame);
        }
        for (connection, message) in told
            .iter()
            .flat_map(|(number, bytes)| messages_in(bytes).map(|it| (ConnectionId(*number), it)))
        {
            if message[1] == message_type::FLOW_REMOVED {
                continue;
            }
            if message[1] == message_type::ERROR
                && let Ok(Message { body: Body::Error(error), .. }) = Message::parse(message)
                && let Some(code) = ErrorCode::from_wire(error.type_, error.code)
            {
                let type_ = error.data.get(1).copied().unwrap_or(0);
                let name = self.slices[slice].name.clone();
                out.events.push(ProxyEvent::Refused { slice: name, type_, code });
            }
            queue(out, ProxyPeer { slice, connection }, message);
        }
    }
}

/// Puts a message behind those that are for a controller already.
fn queue(out: &mut ProxyEffects, peer: ProxyPeer, message: &[u8]) {
    match out.to_controllers.iter_mut().find(|(it, _)| *it == peer) {
        Some((_, all)) => all.extend_from_slice(message),
        None => out.to_controllers.push((peer, message.to_vec())),
    }
}

/// Notes of each slice which of its ports others have too.
fn note_shared(slices: &mut [Shadow]) {
    let mut owners = BTreeMap::<u32, usize>::new();
    for port in slices.iter().flat_map(|it| it.traffic.ports()) {
        *owners.entry(*port).or_default() += 1;
    }
    for it in slices {
        let is_shared = |port: &&u32| owners.get(port).is_some_and(|owners| *owners > 1);
        it.shared = it.traffic.ports().iter().filter(is_shared).copied().collect();
    }
}

/// The messages of a stream that a core has written.
fn messages_in(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?])).max(8);
        let (message, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some(message)
    })
}

/// Whether a message changes something in the switch, or sends something.
const fn is_change(body: &Body) -> bool {
    matches!(body, Body::FlowMod(_) | Body::GroupMod(_) | Body::MeterMod(_) | Body::PacketOut(_))
}

/// What the shadow is told of a change: entries without time-outs, since it sees no frames.
fn for_shadow(body: &Body) -> Body {
    match body {
        Body::FlowMod(it) => {
            Body::FlowMod(FlowMod { idle_timeout: 0, hard_timeout: 0, ..it.clone() })
        }
        other => other.clone(),
    }
}

fn packet_out(port: u32, data: Vec<u8>) -> PacketOut {
    let actions = vec![Action::Output { port, max_len: 0 }];
    PacketOut { buffer_id: NO_BUFFER, in_port: port::CONTROLLER, actions, data }
}

/// A flow-mod under the slice's numbers: one for each of its tables where it names all.
fn flow_mods(places: Places, ports: &[u32], it: FlowMod) -> Vec<Body> {
    let tables: Vec<u8> = match it.table_id {
        table::ALL => places.tables().collect(),
        own => vec![places.table_out(own)],
    };
    // The proxy has to hear of entries that time out.
    let flags = match has_time_out(&it) {
        true => it.flags | flow_flag::SEND_FLOW_REM,
        false => it.flags,
    };
    let of = |table_id: u8| {
        Body::FlowMod(FlowMod {
            table_id,
            flags,
            out_group: places.wanted_group(it.out_group),
            instructions: places.instructions_out(ports, &it.instructions),
            ..it.clone()
        })
    };
    tables.into_iter().map(of).collect()
}
