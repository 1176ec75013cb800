//! Answers to packet-ins, and the message sets that they become (\[Attendre\] section IV.C).

use super::packet::Packet;
use super::timers::TimerChange;
use std::collections::BTreeSet;
use tenuto_openflow::constants::{NO_BUFFER, port};
use tenuto_openflow::{
    Action, AttendreMessage, Body, Encap, Experimenter, FlowMod, FlowModCommand, GroupMod,
    Instruction, MessageSet, MeterMod, MultipartRequest, PacketOut, RequestBody, Version,
};
use tenuto_units::{Instant, Span};

/// Notes that an answer takes; further ones are left out.
const NOTES_MAX: usize = 64;

/// The packet-in that an answer is for, at a switch that waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The number that the switch gave it.
    pub number: u64,
    /// The version of all sets of the answer.
    pub version: Version,
}

/// A message of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Member {
    FlowMod(FlowMod),
    PacketOut(PacketOut),
    /// A message that message sets do not have; it keeps its place in the order.
    Other(Body),
}

impl Member {
    fn plain(self) -> Body {
        match self {
            Self::FlowMod(flow_mod) => Body::FlowMod(flow_mod),
            Self::PacketOut(packet_out) => Body::PacketOut(packet_out),
            Self::Other(body) => body,
        }
    }
}

/// The way of the packets: through a port of one switch to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lead {
    from: u64,
    port: u32,
    to: u64,
}

/// What is done about one packet-in or other event, over all switches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a switch waits for the answer until it is finished and sent"]
pub struct Answer {
    asked_by: u64,
    numbered: Option<Numbered>,
    now: Instant,
    messages: Vec<(u64, Member)>,
    leads: Vec<Lead>,
    pub(super) timers: Vec<TimerChange>,
    pub(super) notes: Vec<String>,
    pub(super) fault: Option<String>,
}

impl Answer {
    /// An answer without messages, to a packet-in of a switch. `numbered` if that switch waits for
    /// a message set.
    pub const fn new(asked_by: u64, numbered: Option<Numbered>) -> Self {
        Self {
            asked_by,
            numbered,
            now: Instant::ZERO,
            messages: Vec::new(),
            leads: Vec::new(),
            timers: Vec::new(),
            notes: Vec::new(),
            fault: None,
        }
    }

    /// This answer, given at an instant.
    pub const fn at(mut self, now: Instant) -> Self {
        self.now = now;
        self
    }

    /// When it is given, by the clock of whoever runs the application.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Starts a timer, or starts it anew: [`ReactiveApp::timer`](super::ReactiveApp::timer) is
    /// called with its name once, after that time.
    pub fn start_timer(&mut self, name: &str, after: Span) {
        self.timers.push(TimerChange::Start(name.to_owned(), self.now + after));
    }

    /// Stops a timer, if it runs.
    pub fn stop_timer(&mut self, name: &str) {
        self.timers.push(TimerChange::Stop(name.to_owned()));
    }

    /// Tells the user something, a line of text.
    pub fn note(&mut self, text: impl Into<String>) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(text.into());
        }
    }

    /// Says that the application itself has failed, and where; the first time counts.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.fault.get_or_insert_with(|| text.into());
    }

    /// Sends a flow-mod to a switch.
    pub fn flow_mod(&mut self, datapath: u64, flow_mod: FlowMod) {
        self.messages.push((datapath, Member::FlowMod(flow_mod)));
    }

    /// Sends a flow-mod to the switch that asked, and the packet through its tables.
    pub fn install(&mut self, datapath: u64, flow_mod: FlowMod, packet: &Packet<'_>) {
        let buffer_id = packet.message.buffer_id;
        self.flow_mod(datapath, FlowMod { buffer_id, ..flow_mod });
        if buffer_id == NO_BUFFER {
            // The switch has not kept it.
            let actions = vec![Action::Output { port: port::TABLE, max_len: 0 }];
            self.send(datapath, actions, packet);
        }
    }

    /// Has the switch that asked send the packet by these actions.
    pub fn send(&mut self, datapath: u64, actions: Vec<Action>, packet: &Packet<'_>) {
        let buffer_id = packet.message.buffer_id;
        let data = match buffer_id {
            NO_BUFFER => packet.message.data.clone(),
            _ => Vec::new(),
        };
        self.packet_out(datapath, PacketOut { buffer_id, in_port: packet.in_port, actions, data });
    }

    /// Has the switch that asked forget the packet. An answer without messages drops it too, but a switch that has
    /// kept it for the controller then keeps it until it needs the room.
    pub fn discard(&mut self, datapath: u64, packet: &Packet<'_>) {
        if packet.message.buffer_id != NO_BUFFER {
            self.send(datapath, Vec::new(), packet);
        }
    }

    /// Sends a packet-out to a switch.
    pub fn packet_out(&mut self, datapath: u64, packet_out: PacketOut) {
        self.messages.push((datapath, Member::PacketOut(packet_out)));
    }

    /// Changes a group of a switch. Entries that use it are to be sent afterwards.
    pub fn group_mod(&mut self, datapath: u64, group_mod: GroupMod) {
        self.messages.push((datapath, Member::Other(Body::GroupMod(group_mod))));
    }

    /// Changes a meter of a switch. Entries that use it are to be sent afterwards.
    pub fn meter_mod(&mut self, datapath: u64, meter_mod: MeterMod) {
        self.messages.push((datapath, Member::Other(Body::MeterMod(meter_mod))));
    }

    /// Asks a switch for statistics. Replies about ports and flows reach the application.
    pub fn ask(&mut self, datapath: u64, request: RequestBody) {
        let request = Body::MultipartRequest(MultipartRequest::new(request));
        self.messages.push((datapath, Member::Other(request)));
    }

    /// Says that the packets reach the switch `to` through a port of `from`: with message sets, `to`
    /// is told ahead of the first packet to keep what its entry is not there for yet. Of several
    /// flow-mods to `to` the one in the earliest table counts, and of several there the first.
    pub fn lead(&mut self, from: u64, port: u32, to: u64) {
        self.leads.push(Lead { from, port, to });
    }

    /// The messages by switch, in the order in which they were added.
    pub fn finish(self) -> Vec<(u64, Body)> {
        self.finish_among(&BTreeSet::new())
    }

    /// The messages, where these switches are known not to speak Attendre: they get plain ones.
    pub(super) fn finish_among(mut self, plain: &BTreeSet<u64>) -> Vec<(u64, Body)> {
        let Some(numbered) = self.numbered else {
            return self.messages.into_iter().map(|(to, member)| (to, member.plain())).collect();
        };
        for lead in std::mem::take(&mut self.leads) {
            let is_spoken = !plain.contains(&lead.from) && !plain.contains(&lead.to);
            if is_spoken && let Some(encap) = self.encap(lead, numbered.version) {
                self.attach(lead, encap);
            }
        }
        let sizes: Vec<(u64, u16)> =
            self.messages.iter().map(|(datapath, _)| (*datapath, self.size(*datapath))).collect();
        let asked_by = self.asked_by;
        let set = |datapath, messages| MessageSet {
            version: numbered.version,
            messages,
            answers: if datapath == asked_by { numbered.number } else { 0 },
        };
        let is_empty = self.size(asked_by) == 0;
        let body = |message| Body::Experimenter(Experimenter::Attendre(message));
        let messages = self.messages.into_iter().zip(sizes).map(|((to, member), (_, size))| {
            let set = set(to, size);
            let message = match member {
                member if plain.contains(&to) => return (to, member.plain()),
                Member::FlowMod(flow_mod) => AttendreMessage::SetFlowMod { set, flow_mod },
                Member::PacketOut(packet_out) => AttendreMessage::SetPacketOut { set, packet_out },
                Member::Other(other) => return (to, other),
            };
            (to, body(message))
        });
        // The switch that asked waits for a set whatever is decided.
        let empty = is_empty.then(|| (asked_by, body(AttendreMessage::SetEmpty(set(asked_by, 0)))));
        messages.chain(empty).collect()
    }

    /// Messages of the set of a switch.
    fn size(&self, datapath: u64) -> u16 {
        let of_set =
            |(to, member): &&(u64, Member)| *to == datapath && !matches!(member, Member::Other(_));
        let count = self.messages.iter().filter(of_set).count();
        u16::try_from(count).unwrap_or(u16::MAX)
    }

    /// The command for the switch at the end of a lead; `None` if no entry of it changes.
    fn encap(&self, lead: Lead, version: Version) -> Option<Encap> {
        use FlowModCommand as C;
        let entries = self.messages.iter().filter_map(|(datapath, member)| match member {
            Member::FlowMod(flow_mod) if *datapath == lead.to => Some(flow_mod),
            _ => None,
        });
        let lasting = entries.filter(|f| !matches!(f.command, C::Delete | C::DeleteStrict));
        let earliest = lasting.min_by_key(|flow_mod| flow_mod.table_id)?;
        Some(Encap {
            port: lead.port,
            version,
            messages: self.size(lead.to),
            table_id: earliest.table_id,
            priority: earliest.priority,
            match_: earliest.match_.clone(),
        })
    }

    /// Puts the encap action before the output through the port of the lead: of the packet-out, as
    /// that packet is the first, or of the entry that the first packet will meet.
    fn attach(&mut self, lead: Lead, encap: Encap) {
        let of_from = |(datapath, _): &&mut (u64, Member)| *datapath == lead.from;
        let outs = self.messages.iter_mut().filter(of_from).filter_map(|(_, m)| match m {
            Member::PacketOut(packet_out) => Some(&mut packet_out.actions),
            Member::FlowMod(_) | Member::Other(_) => None,
        });
        if insert_before_output(outs, lead.port, &encap) {
            return;
        }
        let entries = self.messages.iter_mut().filter(of_from).filter_map(|(_, m)| match m {
            Member::FlowMod(flow_mod) => Some(&mut flow_mod.instructions),
            Member::PacketOut(_) | Member::Other(_) => None,
        });
        let lists = entries.flatten().filter_map(|instruction| match instruction {
            Instruction::ApplyActions(list) | Instruction::WriteActions(list) => Some(list),
            _ => None,
        });
        insert_before_output(lists, lead.port, &encap);
    }
}

/// Whether one of the lists had an output through the port.
fn insert_before_output<'a>(
    lists: impl Iterator<Item = &'a mut Vec<Action>>,
    port: u32,
    encap: &Encap,
) -> bool {
    let leaves = |action: &Action| matches!(action, Action::Output { port: to, .. } if *to == port);
    for list in lists {
        if let Some(place) = list.iter().position(leaves) {
            list.insert(place, Action::Encap(encap.clone()));
            return true;
        }
    }
    false
}
