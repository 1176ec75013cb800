//! What only a proxy refuses, before the shadow is asked: numbers that have no place in the switch, and what the shadow
//! cannot know.

use super::super::traffic::SliceTraffic;
use super::places::Places;
use super::strict;
use tenuto_openflow::constants::{NO_BUFFER, flow_flag, group, meter, multipart_flag, port, table};
use tenuto_openflow::{
    Action, BadAction, BadRequest, Body, ErrorCode, FlowMod, FlowModFailed, FlowStatsRequest,
    GroupMod, GroupModFailed, Instruction, MeterModFailed, MultipartRequest, RequestBody,
};

/// Longest message.
const MESSAGE_BYTES_MAX: usize = u16::MAX as usize;

/// Whose message it is.
pub(super) struct Asking<'a> {
    pub(super) places: Places,
    pub(super) traffic: &'a SliceTraffic,
    /// Whether others have some of its ports too.
    pub(super) shares_ports: bool,
}

/// Why a message is refused, if it is.
pub(super) fn refusal(it: &Asking<'_>, body: &Body) -> Result<(), ErrorCode> {
    match body {
        Body::PortMod(_) => Err(BadRequest::Eperm.into()),
        // Nothing of an experimenter is known to the switch, or carried to it.
        Body::Experimenter(_) => Err(BadRequest::BadExperimenter.into()),
        Body::FlowMod(flow_mod) => flow(it, flow_mod),
        Body::PacketOut(it) if it.buffer_id != NO_BUFFER => Err(BadRequest::BufferUnknown.into()),
        Body::GroupMod(group_mod) => groups(it, group_mod),
        Body::MeterMod(it) if it.meter_id != meter::ALL && !Places::fits_meter(it.meter_id) => {
            Err(MeterModFailed::InvalidMeter.into())
        }
        Body::MultipartRequest(request) => asked(it, body, request),
        _ => Ok(()),
    }?;
    strict::check(it.traffic, it.shares_ports, body)
}

fn flow(it: &Asking<'_>, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
    if flow_mod.buffer_id != NO_BUFFER {
        return Err(BadRequest::BufferUnknown.into());
    }
    if !has_table(it, flow_mod.table_id) {
        return Err(FlowModFailed::BadTableId.into());
    }
    if flow_mod.out_group != group::ANY && !Places::fits_group(flow_mod.out_group) {
        return Err(BadAction::BadOutGroup.into());
    }
    if flow_mod.flags & flow_flag::CHECK_OVERLAP != 0 && has_time_out(flow_mod) {
        // The shadow does not know when entries of the switch have timed out.
        return Err(FlowModFailed::BadFlags.into());
    }
    let lists = flow_mod.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::ApplyActions(all) | Instruction::WriteActions(all) => Some(all),
        _ => None,
    });
    let length = tenuto_openflow::Message::new(0, Body::FlowMod(flow_mod.clone())).to_bytes().len();
    fits(it, length, lists)
}

fn groups(it: &Asking<'_>, group_mod: &GroupMod) -> Result<(), ErrorCode> {
    if group_mod.group_id != group::ALL && !Places::fits_group(group_mod.group_id) {
        return Err(GroupModFailed::InvalidGroup.into());
    }
    let length =
        tenuto_openflow::Message::new(0, Body::GroupMod(group_mod.clone())).to_bytes().len();
    fits(it, length, group_mod.buckets.iter().map(|bucket| &bucket.actions))
}

/// Whether a message is still one once its floods go out of each port.
fn fits<'a>(
    it: &Asking<'_>,
    length: usize,
    lists: impl Iterator<Item = &'a Vec<Action>>,
) -> Result<(), ErrorCode> {
    let more = lists.map(|actions| Places::longer_by(it.traffic.ports(), actions));
    match more.fold(length, usize::saturating_add) > MESSAGE_BYTES_MAX {
        true => Err(BadAction::TooMany.into()),
        false => Ok(()),
    }
}

/// What the switch would be asked.
fn asked(it: &Asking<'_>, body: &Body, request: &MultipartRequest) -> Result<(), ErrorCode> {
    if is_read(body) && request.flags & multipart_flag::MORE != 0 {
        // Each of these is one message; the switch would keep what is never whole.
        return Err(BadRequest::MultipartBufferOverflow.into());
    }
    match &request.body {
        RequestBody::Flow(wanted) | RequestBody::Aggregate(wanted) => entries(it, wanted),
        RequestBody::PortStats { port_no } | RequestBody::Queue { port_no, .. }
            if *port_no != port::ANY && !it.traffic.has_port(*port_no) =>
        {
            Err(BadRequest::BadPort.into())
        }
        RequestBody::Group { group_id }
            if *group_id != group::ALL && !Places::fits_group(*group_id) =>
        {
            Err(GroupModFailed::UnknownGroup.into())
        }
        RequestBody::Meter { meter_id }
            if *meter_id != meter::ALL && !Places::fits_meter(*meter_id) =>
        {
            Err(MeterModFailed::UnknownMeter.into())
        }
        _ => Ok(()),
    }
}

fn entries(it: &Asking<'_>, wanted: &FlowStatsRequest) -> Result<(), ErrorCode> {
    if !has_table(it, wanted.table_id) {
        return Err(BadRequest::BadTableId.into());
    }
    match wanted.out_group == group::ANY || Places::fits_group(wanted.out_group) {
        true => Ok(()),
        false => Err(BadAction::BadOutGroup.into()),
    }
}

const fn has_table(it: &Asking<'_>, table: u8) -> bool {
    table == table::ALL || table < it.places.tables
}

pub(super) const fn has_time_out(it: &FlowMod) -> bool {
    it.idle_timeout != 0 || it.hard_timeout != 0
}

/// Whether only the switch can answer.
pub(super) fn is_read(body: &Body) -> bool {
    match body {
        Body::BarrierRequest => true,
        Body::MultipartRequest(request) => matches!(
            request.body,
            RequestBody::Flow(_)
                | RequestBody::Aggregate(_)
                | RequestBody::Table
                | RequestBody::PortStats { .. }
                | RequestBody::Queue { .. }
                | RequestBody::Group { .. }
                | RequestBody::Meter { .. }
                | RequestBody::PortDescription
        ),
        _ => false,
    }
}
