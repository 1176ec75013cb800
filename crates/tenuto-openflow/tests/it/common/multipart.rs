//! Bodies of multipart requests and replies.

use super::*;

pub(super) fn flow_stats_request() -> impl Strategy<Value = FlowStatsRequest> {
    (any::<(u8, u32, u32, u64, u64)>(), match_()).prop_map(|(head, match_)| FlowStatsRequest {
        table_id: head.0,
        out_port: head.1,
        out_group: head.2,
        cookie: head.3,
        cookie_mask: head.4,
        match_,
    })
}

pub(super) fn request_body() -> impl Strategy<Value = RequestBody> {
    prop_oneof![
        Just(RequestBody::Desc),
        Just(RequestBody::Table),
        Just(RequestBody::GroupDesc),
        Just(RequestBody::GroupFeatures),
        Just(RequestBody::MeterFeatures),
        Just(RequestBody::PortDescription),
        flow_stats_request().prop_map(RequestBody::Flow),
        flow_stats_request().prop_map(RequestBody::Aggregate),
        any::<u32>().prop_map(|port_no| RequestBody::PortStats { port_no }),
        any::<(u32, u32)>()
            .prop_map(|(port_no, queue_id)| RequestBody::Queue { port_no, queue_id }),
        any::<u32>().prop_map(|group_id| RequestBody::Group { group_id }),
        any::<u32>().prop_map(|meter_id| RequestBody::Meter { meter_id }),
        any::<u32>().prop_map(|meter_id| RequestBody::MeterConfig { meter_id }),
        vec(table_features(), 0..3).prop_map(RequestBody::TableFeatures),
        (any::<(u32, u32)>(), bytes(40)).prop_map(|((experimenter, exp_type), data)| {
            RequestBody::Experimenter { experimenter, exp_type, data }
        }),
        (14_u16..0xffff, bytes(40)).prop_map(|(type_, data)| RequestBody::Unknown { type_, data }),
    ]
}

pub(super) fn description() -> impl Strategy<Value = Box<Description>> {
    (text(), text(), text(), text(), text()).prop_map(|texts| {
        Box::new(Description {
            mfr_desc: texts.0,
            hw_desc: texts.1,
            sw_desc: texts.2,
            serial_num: texts.3,
            dp_desc: texts.4,
        })
    })
}

pub(super) fn reply_body() -> impl Strategy<Value = ReplyBody> {
    prop_oneof![
        description().prop_map(ReplyBody::Desc),
        vec(flow_stats(), 0..3).prop_map(ReplyBody::Flow),
        any::<(u64, u64, u32)>().prop_map(|(packet_count, byte_count, flow_count)| {
            ReplyBody::Aggregate(AggregateStats { packet_count, byte_count, flow_count })
        }),
        vec(table_stats(), 0..3).prop_map(ReplyBody::Table),
        vec(port_stats(), 0..3).prop_map(ReplyBody::PortStats),
        vec(queue_stats(), 0..3).prop_map(ReplyBody::Queue),
        vec(group_stats(), 0..3).prop_map(ReplyBody::Group),
        vec(group_description(), 0..3).prop_map(ReplyBody::GroupDesc),
        group_features().prop_map(ReplyBody::GroupFeatures),
        vec(meter_stats(), 0..3).prop_map(ReplyBody::Meter),
        vec(meter_config(), 0..3).prop_map(ReplyBody::MeterConfig),
        meter_features().prop_map(ReplyBody::MeterFeatures),
        vec(table_features(), 0..3).prop_map(ReplyBody::TableFeatures),
        vec(port(), 0..3).prop_map(ReplyBody::PortDescription),
        (any::<(u32, u32)>(), bytes(40)).prop_map(|((experimenter, exp_type), data)| {
            ReplyBody::Experimenter { experimenter, exp_type, data }
        }),
        (14_u16..0xffff, bytes(40)).prop_map(|(type_, data)| ReplyBody::Unknown { type_, data }),
    ]
}
