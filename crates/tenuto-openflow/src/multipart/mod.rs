//! Multipart requests and replies: statistics and descriptions (OpenFlow 1.3.5, section 7.3.5).

mod flow;
mod group;
mod meter;
mod port;
mod switch;
mod table_features;

pub use flow::{AggregateStats, FlowStats, FlowStatsRequest};
pub use group::{BucketStats, GroupDescription, GroupFeatures, GroupStats};
pub use meter::{BandStats, MeterConfig, MeterFeatures, MeterStats};
pub use port::{PortStats, QueueStats};
pub use switch::{Description, TableStats};
pub use table_features::{FeatureId, OxmId, TableFeatures, TableProperty};

use crate::constants::{OFP_HEADER_LEN, OFP_MESSAGE_LEN_MAX, multipart_flag, multipart_type};
use crate::error::ErrorCode;
use crate::ports::Port;
use crate::wire::{Reader, Writer};

/// Type, flags and padding in front of the body.
const MULTIPART_HEADER_LEN: usize = 8;

/// A request (`ofp_multipart_request`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultipartRequest {
    /// [`multipart_flag`]
    pub flags: u16,
    /// What is asked for.
    pub body: RequestBody,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestBody {
    /// What the switch is made of.
    Desc,
    /// Statistics of each entry.
    Flow(FlowStatsRequest),
    /// The sum of the statistics of entries.
    Aggregate(FlowStatsRequest),
    /// Statistics of the tables.
    Table,
    /// Statistics of ports.
    PortStats {
        /// The port, or [`port::ANY`](crate::constants::port::ANY) for all.
        port_no: u32,
    },
    /// Statistics of queues.
    Queue {
        /// The port, or [`port::ANY`](crate::constants::port::ANY) for all.
        port_no: u32,
        /// The queue, or [`queue::ALL`](crate::constants::queue::ALL).
        queue_id: u32,
    },
    /// Statistics of groups.
    Group {
        /// The group, or [`group::ALL`](crate::constants::group::ALL).
        group_id: u32,
    },
    /// The groups themselves.
    GroupDesc,
    /// What groups the switch can have.
    GroupFeatures,
    /// Statistics of meters.
    Meter {
        /// The meter, or [`meter::ALL`](crate::constants::meter::ALL).
        meter_id: u32,
    },
    /// The meters themselves.
    MeterConfig {
        /// The meter, or [`meter::ALL`](crate::constants::meter::ALL).
        meter_id: u32,
    },
    /// What meters the switch can have.
    MeterFeatures,
    /// What the tables can do; with a body, what they shall do.
    TableFeatures(Vec<TableFeatures>),
    /// The ports.
    PortDescription,
    /// An experimenter's request.
    Experimenter {
        /// The experimenter id.
        experimenter: u32,
        /// Its own type.
        exp_type: u32,
        /// What follows.
        data: Vec<u8>,
    },
    /// Any other request.
    Unknown {
        /// Its type (`OFPMP_*`).
        type_: u16,
        /// What follows the header.
        data: Vec<u8>,
    },
}

/// A reply or a part of one (`ofp_multipart_reply`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultipartReply {
    /// [`multipart_flag`]
    pub flags: u16,
    /// What is answered.
    pub body: ReplyBody,
}

/// What is answered; the variants are those of [`RequestBody`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReplyBody {
    /// What the switch is made of.
    Desc(Box<Description>),
    /// Statistics of each entry.
    Flow(Vec<FlowStats>),
    /// The sum of the statistics of entries.
    Aggregate(AggregateStats),
    /// Statistics of the tables.
    Table(Vec<TableStats>),
    /// Statistics of ports.
    PortStats(Vec<PortStats>),
    /// Statistics of queues.
    Queue(Vec<QueueStats>),
    /// Statistics of groups.
    Group(Vec<GroupStats>),
    /// The groups themselves.
    GroupDesc(Vec<GroupDescription>),
    /// What groups the switch can have.
    GroupFeatures(GroupFeatures),
    /// Statistics of meters.
    Meter(Vec<MeterStats>),
    /// The meters themselves.
    MeterConfig(Vec<MeterConfig>),
    /// What meters the switch can have.
    MeterFeatures(MeterFeatures),
    /// What the tables can do.
    TableFeatures(Vec<TableFeatures>),
    /// The ports.
    PortDescription(Vec<Port>),
    /// An experimenter's reply.
    Experimenter {
        /// The experimenter id.
        experimenter: u32,
        /// Its own type.
        exp_type: u32,
        /// What follows.
        data: Vec<u8>,
    },
    /// Any other reply.
    Unknown {
        /// Its type (`OFPMP_*`).
        type_: u16,
        /// What follows the header.
        data: Vec<u8>,
    },
}

impl MultipartRequest {
    /// A request in one message.
    pub const fn new(body: RequestBody) -> Self {
        Self { flags: 0, body }
    }

    /// Whether more messages of this request follow.
    pub const fn has_more(&self) -> bool {
        self.flags & multipart_flag::MORE != 0
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (type_, flags) = (r.u16()?, r.u16()?);
        r.skip(4)?;
        Ok(Self { flags, body: RequestBody::read(type_, r)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.body.type_());
        w.u16(self.flags);
        w.zeros(4);
        self.body.write(w);
    }
}

impl RequestBody {
    /// The number of the multipart type (`OFPMP_*`).
    pub const fn type_(&self) -> u16 {
        match self {
            Self::Desc => multipart_type::DESC,
            Self::Flow(_) => multipart_type::FLOW,
            Self::Aggregate(_) => multipart_type::AGGREGATE,
            Self::Table => multipart_type::TABLE,
            Self::PortStats { .. } => multipart_type::PORT_STATS,
            Self::Queue { .. } => multipart_type::QUEUE,
            Self::Group { .. } => multipart_type::GROUP,
            Self::GroupDesc => multipart_type::GROUP_DESC,
            Self::GroupFeatures => multipart_type::GROUP_FEATURES,
            Self::Meter { .. } => multipart_type::METER,
            Self::MeterConfig { .. } => multipart_type::METER_CONFIG,
            Self::MeterFeatures => multipart_type::METER_FEATURES,
            Self::TableFeatures(_) => multipart_type::TABLE_FEATURES,
            Self::PortDescription => multipart_type::PORT_DESC,
            Self::Experimenter { .. } => multipart_type::EXPERIMENTER,
            Self::Unknown { type_, .. } => *type_,
        }
    }

    fn read(type_: u16, r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(match type_ {
            multipart_type::DESC => Self::Desc,
            multipart_type::FLOW => Self::Flow(FlowStatsRequest::read(r)?),
            multipart_type::AGGREGATE => Self::Aggregate(FlowStatsRequest::read(r)?),
            multipart_type::TABLE => Self::Table,
            multipart_type::PORT_STATS => Self::PortStats { port_no: read_padded_id(r)? },
            multipart_type::QUEUE => Self::Queue { port_no: r.u32()?, queue_id: r.u32()? },
            multipart_type::GROUP => Self::Group { group_id: read_padded_id(r)? },
            multipart_type::GROUP_DESC => Self::GroupDesc,
            multipart_type::GROUP_FEATURES => Self::GroupFeatures,
            multipart_type::METER => Self::Meter { meter_id: read_padded_id(r)? },
            multipart_type::METER_CONFIG => Self::MeterConfig { meter_id: read_padded_id(r)? },
            multipart_type::METER_FEATURES => Self::MeterFeatures,
            multipart_type::TABLE_FEATURES => Self::TableFeatures(r.list(TableFeatures::read)?),
            multipart_type::PORT_DESC => Self::PortDescription,
            multipart_type::EXPERIMENTER => {
                let (experimenter, exp_type, data) = read_experimenter(r)?;
                Self::Experimenter { experimenter, exp_type, data }
            }
            _ => Self::Unknown { type_, data: r.rest().to_vec() },
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Desc | Self::Table | Self::GroupDesc | Self::GroupFeatures => {}
            Self::MeterFeatures | Self::PortDescription => {}
            Self::Flow(request) | Self::Aggregate(request) => request.write(w),
            Self::PortStats { port_no: id }
            | Self::Group { group_id: id }
            | Self::Meter { meter_id: id }
            | Self::MeterConfig { meter_id: id } => {
                w.u32(*id);
                w.zeros(4);
            }
            Self::Queue { port_no, queue_id } => {
                w.u32(*port_no);
                w.u32(*queue_id);
            }
            Self::Experimenter { experimenter, exp_type, data } => {
                write_experimenter(*experimenter, *exp_type, data, w);
            }
            Self::TableFeatures(list) => list.iter().for_each(|table| table.write(w)),
            Self::Unknown { data, .. } => w.bytes(data),
        }
    }
}

impl MultipartReply {
    /// A reply in one message.
    pub const fn new(body: ReplyBody) -> Self {
        Self { flags: 0, body }
    }

    /// Whether more messages of this reply follow.
    pub const fn has_more(&self) -> bool {
        self.flags & multipart_flag::MORE != 0
    }

    /// This reply as messages that each fit, all but the last with
    /// [`MORE`](multipart_flag::MORE). Objects are never cut (section 7.3.5); a single one that is
    /// longer than a message stays alone and too long.
    pub fn split(self) -> Vec<Self> {
        let Self { flags, body } = self;
        let bodies = match body {
            ReplyBody::Flow(list) => split_list(list, FlowStats::write, ReplyBody::Flow),
            ReplyBody::Table(list) => split_list(list, TableStats::write, ReplyBody::Table),
            ReplyBody::PortStats(list) => split_list(list, PortStats::write, ReplyBody::PortStats),
            ReplyBody::Queue(list) => split_list(list, QueueStats::write, ReplyBody::Queue),
            ReplyBody::Group(list) => split_list(list, GroupStats::write, ReplyBody::Group),
            ReplyBody::GroupDesc(list) => {
                split_list(list, GroupDescription::write, ReplyBody::GroupDesc)
            }
            ReplyBody::Meter(list) => split_list(list, MeterStats::write, ReplyBody::Meter),
            ReplyBody::MeterConfig(list) => {
                split_list(list, MeterConfig::write, ReplyBody::MeterConfig)
            }
            ReplyBody::TableFeatures(list) => {
                split_list(list, TableFeatures::write, ReplyBody::TableFeatures)
            }
            ReplyBody::PortDescription(list) => {
                split_list(list, Port::write, ReplyBody::PortDescription)
            }
            whole => vec![whole],
        };
        let last = bodies.len() - 1;
        let more = |i: usize| if i < last { multipart_flag::MORE } else { 0 };
        let parts = bodies.into_iter().enumerate();
        parts.map(|(i, body)| Self { flags: flags | more(i), body }).collect()
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (type_, flags) = (r.u16()?, r.u16()?);
        r.skip(4)?;
        Ok(Self { flags, body: ReplyBody::read(type_, r)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.body.type_());
        w.u16(self.flags);
        w.zeros(4);
        self.body.write(w);
    }
}

/// One body for each part of the list that fits a message.
fn split_list<T>(
    list: Vec<T>,
    write: impl Fn(&T, &mut Writer<'_>),
    body: impl Fn(Vec<T>) -> ReplyBody,
) -> Vec<ReplyBody> {
    const ROOM: usize = OFP_MESSAGE_LEN_MAX - OFP_HEADER_LEN - MULTIPART_HEADER_LEN;
    split_by_len(list, ROOM, write).into_iter().map(body).collect()
}

/// Cuts a list into parts whose elements take no more than `room` bytes each time; an empty list
/// into one empty part. An element that alone takes more gets a part of its own.
pub(crate) fn split_by_len<T>(
    list: Vec<T>,
    room: usize,
    write: impl Fn(&T, &mut Writer<'_>),
) -> Vec<Vec<T>> {
    let (mut parts, mut part, mut part_len) = (Vec::new(), Vec::new(), 0);
    let mut scratch = Vec::new();
    for element in list {
        scratch.clear();
        write(&element, &mut Writer::new(&mut scratch));
        if !part.is_empty() && part_len + scratch.len() > room {
            parts.push(std::mem::take(&mut part));
            part_len = 0;
        }
        part_len += scratch.len();
        part.push(element);
    }
    parts.push(part);
    parts
}

impl ReplyBody {
    /// The number of the multipart type (`OFPMP_*`).
    pub const fn type_(&self) -> u16 {
        match self {
            Self::Desc(_) => multipart_type::DESC,
            Self::Flow(_) => multipart_type::FLOW,
            Self::Aggregate(_) => multipart_type::AGGREGATE,
            Self::Table(_) => multipart_type::TABLE,
            Self::PortStats(_) => multipart_type::PORT_STATS,
            Self::Queue(_) => multipart_type::QUEUE,
            Self::Group(_) => multipart_type::GROUP,
            Self::GroupDesc(_) => multipart_type::GROUP_DESC,
            Self::GroupFeatures(_) => multipart_type::GROUP_FEATURES,
            Self::Meter(_) => multipart_type::METER,
            Self::MeterConfig(_) => multipart_type::METER_CONFIG,
            Self::MeterFeatures(_) => multipart_type::METER_FEATURES,
            Self::TableFeatures(_) => multipart_type::TABLE_FEATURES,
            Self::PortDescription(_) => multipart_type::PORT_DESC,
            Self::Experimenter { .. } => multipart_type::EXPERIMENTER,
            Self::Unknown { type_, .. } => *type_,
        }
    }

    fn read(type_: u16, r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(match type_ {
            multipart_type::DESC => Self::Desc(Box::new(Description::read(r)?)),
            multipart_type::FLOW => Self::Flow(r.list(FlowStats::read)?),
            multipart_type::AGGREGATE => Self::Aggregate(AggregateStats::read(r)?),
            multipart_type::TABLE => Self::Table(r.list(TableStats::read)?),
            multipart_type::PORT_STATS => Self::PortStats(r.list(PortStats::read)?),
            multipart_type::QUEUE => Self::Queue(r.list(QueueStats::read)?),
            multipart_type::GROUP => Self::Group(r.list(GroupStats::read)?),
            multipart_type::GROUP_DESC => Self::GroupDesc(r.list(GroupDescription::read)?),
            multipart_type::GROUP_FEATURES => Self::GroupFeatures(GroupFeatures::read(r)?),
            multipart_type::METER => Self::Meter(r.list(MeterStats::read)?),
            multipart_type::METER_CONFIG => Self::MeterConfig(r.list(MeterConfig::read)?),
            multipart_type::METER_FEATURES => Self::MeterFeatures(MeterFeatures::read(r)?),
            multipart_type::TABLE_FEATURES => Self::TableFeatures(r.list(TableFeatures::read)?),
            multipart_type::PORT_DESC => Self::PortDescription(r.list(Port::read)?),
            multipart_type::EXPERIMENTER => {
                let (experimenter, exp_type, data) = read_experimenter(r)?;
                Self::Experimenter { experimenter, exp_type, data }
            }
            _ => Self::Unknown { type_, data: r.rest().to_vec() },
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Desc(description) => description.write(w),
            Self::Flow(list) => list.iter().for_each(|entry| entry.write(w)),
            Self::Aggregate(stats) => stats.write(w),
            Self::Table(list) => list.iter().for_each(|table| table.write(w)),
            Self::PortStats(list) => list.iter().for_each(|port| port.write(w)),
            Self::Queue(list) => list.iter().for_each(|queue| queue.write(w)),
            Self::Group(list) => list.iter().for_each(|group| group.write(w)),
            Self::GroupDesc(list) => list.iter().for_each(|group| group.write(w)),
            Self::GroupFeatures(features) => features.write(w),
            Self::Meter(list) => list.iter().for_each(|meter| meter.write(w)),
            Self::MeterConfig(list) => list.iter().for_each(|meter| meter.write(w)),
            Self::MeterFeatures(features) => features.write(w),
            Self::PortDescription(list) => list.iter().for_each(|port| port.write(w)),
            Self::Experimenter { experimenter, exp_type, data } => {
                write_experimenter(*experimenter, *exp_type, data, w);
            }
            Self::TableFeatures(list) => list.iter().for_each(|table| table.write(w)),
            Self::Unknown { data, .. } => w.bytes(data),
        }
    }
}

/// An id and 4 bytes of padding.
fn read_padded_id(r: &mut Reader<'_>) -> Result<u32, ErrorCode> {
    let id = r.u32()?;
    r.skip(4)?;
    Ok(id)
}

fn read_experimenter(r: &mut Reader<'_>) -> Result<(u32, u32, Vec<u8>), ErrorCode> {
    Ok((r.u32()?, r.u32()?, r.rest().to_vec()))
}

fn write_experimenter(experimenter: u32, exp_type: u32, data: &[u8], w: &mut Writer<'_>) {
    w.u32(experimenter);
    w.u32(exp_type);
    w.bytes(data);
}
