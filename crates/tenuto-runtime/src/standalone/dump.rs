//! What a switch has in its tables, as it tells it: shown, kept in a file, or built again.

use super::client::SwitchClient;
use std::io;
use tenuto_dataplane::switch::LEVELS_MAX;
use tenuto_openflow::constants::{group, meter, port, queue};
use tenuto_openflow::{
    Body, Experimenter, Features, FlowStats, FlowStatsRequest, Framer, GroupDescription,
    GroupStats, Message, MeterConfig, MeterStats, ModeStatus, ModesMessage, MultipartReply, Port,
    PortStats, QueueDetail, QueueStats, QueuesMessage, ReplyBody, RequestBody, SliceStatus,
    SlicesMessage,
};

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpPart {
    /// Flow entries, those of other modes too, and the mode.
    Flows,
    /// Groups, and what they counted.
    Groups,
    /// Meters, and what they counted.
    Meters,
    /// Ports, and what they counted.
    Ports,
    /// What queues counted, their levels, depths and delays.
    Queues,
    /// Slices that share the switch.
    Slices,
}

impl DumpPart {
    /// All of them, in the order of a file.
    pub const ALL: [Self; 6] =
        [Self::Slices, Self::Ports, Self::Queues, Self::Meters, Self::Groups, Self::Flows];
}

/// What a switch has in its tables.
#[derive(Clone, Debug, Default)]
pub struct Dump {
    /// What it is.
    pub features: Option<Features>,
    /// Ports.
    pub ports: Vec<Port>,
    /// What they counted.
    pub port_stats: Vec<PortStats>,
    /// What queues counted.
    pub queues: Vec<QueueStats>,
    /// Where queues stand, and their depths and delays; none of a switch without our messages.
    pub queue_details: Vec<QueueDetail>,
    /// Meters.
    pub meters: Vec<MeterConfig>,
    /// What they counted.
    pub meter_stats: Vec<MeterStats>,
    /// Groups.
    pub groups: Vec<GroupDescription>,
    /// What they counted.
    pub group_stats: Vec<GroupStats>,
    /// Flow entries.
    pub flows: Vec<FlowStats>,
    /// The mode; `None` of a switch without modes.
    pub mode: Option<ModeStatus>,
    /// It has no controller, and forwards by learned addresses; false of a switch without our messages.
    pub is_standalone: bool,
    /// Entries that come into effect with a mode, by its level.
    pub shadows: Vec<(u8, FlowStats)>,
    /// Slices that share the switch; none of one that is whole, or does not tell.
    pub slices: Vec<SliceStatus>,
}

impl Dump {
    /// Asks a switch.
    ///
    /// # Errors
    /// When it is gone, refuses, or does not answer in time.
    pub fn ask(client: &mut SwitchClient, parts: &[DumpPart]) -> io::Result<Self> {
        let mut dump = Self { features: Some(client.features()?), ..Self::default() };
        for part in parts {
            let requests = match part {
                DumpPart::Flows => vec![RequestBody::Flow(FlowStatsRequest::ALL)],
                DumpPart::Groups => {
                    vec![RequestBody::GroupDesc, RequestBody::Group { group_id: group::ALL }]
                }
                DumpPart::Meters => vec![
                    RequestBody::MeterConfig { meter_id: meter::ALL },
                    RequestBody::Meter { meter_id: meter::ALL },
                ],
                DumpPart::Ports => vec![
                    RequestBody::PortDescription,
                    RequestBody::PortStats { port_no: port::ANY },
                ],
                DumpPart::Queues => {
                    vec![RequestBody::Queue { port_no: port::ANY, queue_id: queue::ALL }]
                }
                DumpPart::Slices => Vec::new(),
            };
            for request in requests {
                client.ask(request)?.into_iter().for_each(|reply| dump.take(reply));
            }
            match part {
                DumpPart::Flows => dump.ask_modes(client)?,
                DumpPart::Queues => {
                    let (port, queue) = (port::ANY, queue::ALL);
                    let request = QueuesMessage::DetailRequest { port, queue };
                    dump.ask_ours(client, Experimenter::Queues(request))?;
                }
                DumpPart::Slices => {
                    dump.ask_ours(client, Experimenter::Slices(SlicesMessage::Request))?;
                }
                _ => {}
            }
        }
        Ok(dump)
    }

    /// The mode and the entries of other modes, of switches that have any.
    fn ask_modes(&mut self, client: &mut SwitchClient) -> io::Result<()> {
        let request = |message| Experimenter::Modes(message);
        let mut is_known = self.ask_ours(client, request(ModesMessage::ModeStatusRequest))?;
        for level in (1..).take(LEVELS_MAX - 1) {
            if is_known {
                let message = request(ModesMessage::ShadowStatsRequest { level });
                is_known = self.ask_ours(client, message)?;
            }
        }
        Ok(())
    }

    /// Takes the answer to a message of ours; whether the switch knows such messages.
    fn ask_ours(&mut self, client: &mut SwitchClient, message: Experimenter) -> io::Result<bool> {
        let has_more = |part: &Experimenter| match part {
            Experimenter::Modes(ModesMessage::ShadowStatsReply { more, .. })
            | Experimenter::Queues(QueuesMessage::DetailReply { more, .. })
            | Experimenter::Slices(SlicesMessage::Reply { more, .. }) => *more,
            _ => false,
        };
        let Some(parts) = client.ask_ours(message, has_more)? else { return Ok(false) };
        parts.into_iter().for_each(|part| self.take_ours(part));
        Ok(true)
    }

    fn take_ours(&mut self, part: Experimenter) {
        match part {
            Experimenter::Modes(ModesMessage::ModeStatusReply(mode)) => {
                self.is_standalone = mode.is_standalone;
                // Without a generation nobody has told it of modes.
                self.mode = Some(mode).filter(|mode| mode.generation != 0);
            }
            Experimenter::Modes(ModesMessage::ShadowStatsReply { level, entries, .. }) => {
                self.shadows.extend(entries.into_iter().map(|entry| (level, entry)));
            }
            Experimenter::Queues(QueuesMessage::DetailReply { mut queues, .. }) => {
                self.queue_details.append(&mut queues);
            }
            Experimenter::Slices(SlicesMessage::Reply { mut slices, .. }) => {
                self.slices.append(&mut slices);
            }
            _ => {}
        }
    }

    /// What a switch answered to messages of ours.
    fn ours(&self) -> Vec<Experimenter> {
        let mut ours = Vec::new();
        let is_standalone = self.is_standalone;
        let plain = is_standalone.then_some(ModeStatus::default());
        let status = self.mode.or(plain).map(|mode| ModeStatus { is_standalone, ..mode });
        let status = status.map(ModesMessage::ModeStatusReply);
        ours.extend(status.map(Experimenter::Modes));
        for level in (1..).take(LEVELS_MAX - 1) {
            let of_level = self.shadows.iter().filter(|(own, _)| *own == level);
            let entries: Vec<FlowStats> = of_level.map(|(_, entry)| entry.clone()).collect();
            if !entries.is_empty() {
                let replies = ModesMessage::shadow_stats_replies(level, entries);
                ours.extend(replies.into_iter().map(Experimenter::Modes));
            }
        }
        if !self.queue_details.is_empty() {
            let replies = QueuesMessage::detail_replies(self.queue_details.clone());
            ours.extend(replies.into_iter().map(Experimenter::Queues));
        }
        if !self.slices.is_empty() {
            let replies = SlicesMessage::replies(self.slices.clone());
            ours.extend(replies.into_iter().map(Experimenter::Slices));
        }
        ours
    }

    fn take(&mut self, reply: ReplyBody) {
        match reply {
            ReplyBody::PortDescription(mut list) => self.ports.append(&mut list),
            ReplyBody::PortStats(mut list) => self.port_stats.append(&mut list),
            ReplyBody::Queue(mut list) => self.queues.append(&mut list),
            ReplyBody::MeterConfig(mut list) => self.meters.append(&mut list),
            ReplyBody::Meter(mut list) => self.meter_stats.append(&mut list),
            ReplyBody::GroupDesc(mut list) => self.groups.append(&mut list),
            ReplyBody::Group(mut list) => self.group_stats.append(&mut list),
            ReplyBody::Flow(mut list) => self.flows.append(&mut list),
            _ => {}
        }
    }

    /// The dump as a file holds it: the replies of the switch, one OpenFlow message behind the
    /// other.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let features = self.features.map(Body::FeaturesReply);
        let replies = [
            ReplyBody::PortDescription(self.ports.clone()),
            ReplyBody::PortStats(self.port_stats.clone()),
            ReplyBody::Queue(self.queues.clone()),
            ReplyBody::MeterConfig(self.meters.clone()),
            ReplyBody::Meter(self.meter_stats.clone()),
            ReplyBody::GroupDesc(self.groups.clone()),
            ReplyBody::Group(self.group_stats.clone()),
            ReplyBody::Flow(self.flows.clone()),
        ];
        let replies = replies.into_iter().flat_map(|body| MultipartReply::new(body).split());
        let ours = self.ours().into_iter().map(Body::Experimenter);
        let replies = replies.map(Body::MultipartReply);
        for body in features.into_iter().chain(replies).chain(ours) {
            Message { xid: 0, body }.emit(&mut bytes);
        }
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// When it is no such file; the text says where.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (mut framer, mut dump, mut count) = (Framer::new(), Self::default(), 0_usize);
        let wrong = |count: usize, why: &str| format!("message {}: {why}", count + 1);
        for part in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            framer.push(part).map_err(|_| wrong(count, "no OpenFlow"))?;
            while let Some(next) = framer.next() {
                let message = next.map_err(|error| wrong(count, &error.to_string()))?;
                match message.body {
                    Body::FeaturesReply(features) => dump.features = Some(features),
                    Body::MultipartReply(reply) => dump.take(reply.body),
                    Body::Experimenter(part) => dump.take_ours(part),
                    _ => return Err(wrong(count, "no answer of a switch about its tables")),
                }
                count += 1;
            }
        }
        match dump.features {
            Some(_) => Ok(dump),
            None => Err("it does not say which switch it is of".into()),
        }
    }
}
