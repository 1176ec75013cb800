//! What only a proxy refuses, before the shadow is asked: numbers that have no place in the switch, and what the shadow
//! cannot know.

use super::places::Places;
use super::{Shadow, has_time_out, is_read, strict};
use tenuto_openflow::constants::{NO_BUFFER, flow_flag, group, meter, multipart_flag, port, table};
use tenuto_openflow::{
    Action, BadAction, BadRequest, Body, ErrorCode, FlowMod, FlowModFailed, FlowStatsRequest,
    GroupMod, GroupModFailed, Instruction, MeterModFailed, MultipartRequest, RequestBody,
};

/// Longest message.
const MESSAGE_BYTES_MAX: usize = u16::MAX as usize;

/// Why a message is refused, if it is.
pub(super) fn refusal(it: &Shadow, body: &Body) -> Result<(), ErrorCode> {
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
    strict::check(&it.traffic, !it.shared.is_empty(), body)
}

fn flow(it: &Shadow, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
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

fn groups(it: &Shadow, group_mod: &GroupMod) -> Result<(), ErrorCode> {
    if group_mod.group_id != group::ALL && !Places::fits_group(group_mod.group_id) {
        return Err(GroupModFailed::InvalidGroup.into());
    }
    let length =
        tenuto_openflow::Message::new(0, Body::GroupMod(group_mod.clone())).to_bytes().len();
    fits(it, length, group_mod.buckets.iter().map(|bucket| &bucket.actions))
}

/// Whether a message is still one once its floods go out of each port.
fn fits<'a>(
    it: &Shadow,
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
fn asked(it: &Shadow, body: &Body, request: &MultipartRequest) -> Result<(), ErrorCode> {
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

fn entries(it: &Shadow, wanted: &FlowStatsRequest) -> Result<(), ErrorCode> {
    if !has_table(it, wanted.table_id) {
        return Err(BadRequest::BadTableId.into());
    }
    match wanted.out_group == group::ANY || Places::fits_group(wanted.out_group) {
        true => Ok(()),
        false => Err(BadAction::BadOutGroup.into()),
    }
}

const fn has_table(it: &Shadow, table: u8) -> bool {
    table == table::ALL || table < it.places.tables
}
