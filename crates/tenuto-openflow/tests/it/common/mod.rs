//! Arbitrary messages in their canonical form: nothing that has a variant of its own comes as
//! `Unknown`, and data of unknown actions is aligned.

mod attendre;
mod fields;
mod flows;
mod groups_and_meters;
mod modes;
mod multipart;
mod ports_and_tables;
mod queues;

use attendre::*;
use fields::*;
pub(crate) use flows::flow_stats;
use flows::*;
use groups_and_meters::*;
use modes::*;
use multipart::*;
use ports_and_tables::*;
use proptest::collection::vec;
use proptest::prelude::*;
use queues::*;
use tenuto_openflow::*;

fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> + Clone {
    vec(any::<u8>(), 0..=max)
}

fn text<const N: usize>() -> impl Strategy<Value = FixedText<N>> {
    vec(any::<u8>(), N).prop_map(|bytes| FixedText(bytes.try_into().expect("N bytes")))
}

fn foreign_experimenter() -> impl Strategy<Value = u32> {
    any::<u32>().prop_filter("ours", |id| *id != EXPERIMENTER_ID)
}

fn role() -> impl Strategy<Value = Role> {
    (0_u32..4, any::<u64>()).prop_map(|(role, generation_id)| Role {
        role: ControllerRole::from_wire(role).expect("0 to 3"),
        generation_id,
    })
}

fn async_config() -> impl Strategy<Value = AsyncConfig> {
    any::<([u32; 2], [u32; 2], [u32; 2])>().prop_map(|masks| AsyncConfig {
        packet_in_mask: masks.0,
        port_status_mask: masks.1,
        flow_removed_mask: masks.2,
    })
}

fn hello() -> impl Strategy<Value = Hello> {
    let element = (2_u16.., bytes(20)).prop_map(|(type_, data)| HelloElement {
        type_,
        data,
        is_padded: true,
    });
    (any::<u8>(), any::<Option<u32>>(), vec(element, 0..3))
        .prop_map(|(version, version_bitmap, elements)| Hello { version, version_bitmap, elements })
}

fn experimenter() -> impl Strategy<Value = Experimenter> {
    prop_oneof![
        4 => modes().prop_map(Experimenter::Modes),
        4 => attendre().prop_map(Experimenter::Attendre),
        3 => queues().prop_map(Experimenter::Queues),
        1 => (foreign_experimenter(), any::<u32>(), bytes(40)).prop_map(
            |(experimenter, exp_type, data)| Experimenter::Unknown { experimenter, exp_type, data }
        ),
        1 => (22_u32.., bytes(40)).prop_map(|(exp_type, data)| Experimenter::Unknown {
            experimenter: EXPERIMENTER_ID,
            exp_type,
            data
        }),
    ]
}

fn switch_config() -> impl Strategy<Value = SwitchConfigMsg> {
    any::<(u16, u16)>().prop_map(|(flags, miss_send_len)| SwitchConfigMsg { flags, miss_send_len })
}

fn features() -> impl Strategy<Value = Features> {
    any::<(u64, u32, u8, u8, u32)>().prop_map(
        |(datapath_id, n_buffers, n_tables, auxiliary_id, capabilities)| Features {
            datapath_id,
            n_buffers,
            n_tables,
            auxiliary_id,
            capabilities,
        },
    )
}

fn error() -> impl Strategy<Value = ErrorMessage> {
    (any::<(u16, u16)>(), bytes(64)).prop_map(|((type_, code), data)| ErrorMessage {
        type_,
        code,
        data,
    })
}

fn body() -> impl Strategy<Value = Body> {
    let plain = prop_oneof![
        Just(Body::FeaturesRequest),
        Just(Body::GetConfigRequest),
        Just(Body::BarrierRequest),
        Just(Body::BarrierReply),
        hello().prop_map(Body::Hello),
        error().prop_map(Body::Error),
        bytes(64).prop_map(Body::EchoRequest),
        bytes(64).prop_map(Body::EchoReply),
        features().prop_map(Body::FeaturesReply),
        switch_config().prop_map(Body::GetConfigReply),
        switch_config().prop_map(Body::SetConfig),
        role().prop_map(Body::RoleRequest),
        role().prop_map(Body::RoleReply),
        (30_u8.., bytes(64)).prop_map(|(type_, body)| Body::Unknown { type_, body }),
    ];
    let status = (any::<u8>(), port())
        .prop_map(|(reason, port)| PortStatus { reason: PortReason::from_wire(reason), port });
    let flags = any::<u16>();
    prop_oneof![
        3 => plain,
        1 => packet_in().prop_map(Body::PacketIn),
        1 => flow_removed().prop_map(Body::FlowRemoved),
        1 => status.prop_map(Body::PortStatus),
        1 => packet_out().prop_map(Body::PacketOut),
        3 => flow_mod().prop_map(Body::FlowMod),
        1 => group_mod().prop_map(Body::GroupMod),
        1 => port_mod().prop_map(Body::PortMod),
        1 => meter_mod().prop_map(Body::MeterMod),
        1 => any::<(u8, u32)>()
            .prop_map(|(table_id, config)| Body::TableMod(TableMod { table_id, config })),
        1 => any::<u32>().prop_map(|port| Body::QueueGetConfigRequest { port }),
        1 => queue_config().prop_map(Body::QueueGetConfigReply),
        1 => Just(Body::GetAsyncRequest),
        1 => async_config().prop_map(Body::GetAsyncReply),
        1 => async_config().prop_map(Body::SetAsync),
        3 => experimenter().prop_map(Body::Experimenter),
        3 => (flags, request_body())
            .prop_map(|(flags, body)| Body::MultipartRequest(MultipartRequest { flags, body })),
        5 => (any::<u16>(), reply_body())
            .prop_map(|(flags, body)| Body::MultipartReply(MultipartReply { flags, body })),
    ]
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    (any::<u32>(), body()).prop_map(|(xid, body)| Message { xid, body })
}
