//! What a switch has in its tables, as it tells it: shown, kept in a file, or built again.

use super::client::SwitchClient;
use std::io;
use tenuto_openflow::constants::{group, meter, port, queue};
use tenuto_openflow::{
    Body, Features, FlowStats, FlowStatsRequest, Framer, GroupDescription, GroupStats, Message,
    MeterConfig, MeterStats, MultipartReply, Port, PortStats, QueueStats, ReplyBody, RequestBody,
};

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpPart {
    /// Flow entries.
    Flows,
    /// Groups, and what they counted.
    Groups,
    /// Meters, and what they counted.
    Meters,
    /// Ports, and what they counted.
    Ports,
    /// What queues counted.
    Queues,
}

impl DumpPart {
    /// All of them, in the order of a file.
    pub const ALL: [Self; 5] = [Self::Ports, Self::Queues, Self::Meters, Self::Groups, Self::Flows];
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
            };
            for request in requests {
                client.ask(request)?.into_iter().for_each(|reply| dump.take(reply));
            }
        }
        Ok(dump)
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
        for body in features.into_iter().chain(replies.map(Body::MultipartReply)) {
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
                    _ => return Err(wrong(count, "no answer of a switch about its tables")),
                }
                count += 1;
            }
        }
        match dump.features {
            Some(_) => Ok(dump),
            None => Err("no dump of a switch: `tenuto dump all -o FILE` writes one".into()),
        }
    }
}
