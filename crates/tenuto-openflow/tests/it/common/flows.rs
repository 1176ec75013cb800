//! Actions, instructions, flow-mods, and what tells of flows and packets.

use super::*;

/// `4 + 8·n` bytes, or `8·n` for experimenters.
pub(super) fn aligned(extra: usize) -> impl Strategy<Value = Vec<u8>> {
    (0_usize..4).prop_flat_map(move |n| vec(any::<u8>(), extra + 8 * n))
}

pub(super) fn version() -> impl Strategy<Value = Version> {
    any::<(u64, u64)>().prop_map(|(generation, counter)| Version { generation, counter })
}

pub(super) fn encap() -> impl Strategy<Value = Encap> {
    (version(), any::<(u32, u16, u8, u16)>(), match_()).prop_map(|(version, head, match_)| {
        let (port, messages, table_id, priority) = head;
        Encap { port, version, messages, table_id, priority, match_ }
    })
}

pub(super) fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        any::<(u32, u16)>().prop_map(|(port, max_len)| Action::Output { port, max_len }),
        any::<u32>().prop_map(Action::SetQueue),
        any::<u32>().prop_map(Action::Group),
        oxm().prop_map(Action::SetField),
        any::<u16>().prop_map(Action::PushVlan),
        Just(Action::PopVlan),
        prop_oneof![
            Just(Action::CopyTtlOut),
            Just(Action::CopyTtlIn),
            any::<u8>().prop_map(Action::SetMplsTtl),
            Just(Action::DecMplsTtl),
            any::<u16>().prop_map(Action::PushMpls),
            any::<u16>().prop_map(Action::PopMpls),
            any::<u16>().prop_map(Action::PushPbb),
            Just(Action::PopPbb),
        ],
        any::<u8>().prop_map(Action::SetNwTtl),
        Just(Action::DecNwTtl),
        any::<u32>().prop_map(Action::Monitor),
        (version(), any::<u16>())
            .prop_map(|(version, messages)| Action::Buffer { version, messages }),
        encap().prop_map(Action::Encap),
        (foreign_experimenter(), aligned(0))
            .prop_map(|(experimenter, data)| Action::Experimenter { experimenter, data }),
        (30_u16..0xffff, aligned(4)).prop_map(|(type_, data)| Action::Unknown { type_, data }),
    ]
}

pub(super) fn instruction() -> impl Strategy<Value = Instruction> {
    prop_oneof![
        any::<u8>().prop_map(Instruction::GotoTable),
        any::<(u64, u64)>()
            .prop_map(|(metadata, mask)| Instruction::WriteMetadata { metadata, mask }),
        vec(action(), 0..4).prop_map(Instruction::WriteActions),
        vec(action(), 0..4).prop_map(Instruction::ApplyActions),
        Just(Instruction::ClearActions),
        any::<u32>().prop_map(Instruction::Meter),
        (any::<u32>(), bytes(20))
            .prop_map(|(experimenter, data)| Instruction::Experimenter { experimenter, data }),
        (7_u16..0xffff, bytes(20)).prop_map(|(type_, data)| Instruction::Unknown { type_, data }),
    ]
}

pub(super) fn flow_mod() -> impl Strategy<Value = FlowMod> {
    let ids = any::<(u64, u64, u8)>();
    let timing = any::<(u16, u16, u16)>();
    let outputs = any::<(u32, u32, u32, u16)>();
    let command = (0_u8..5).prop_map(|n| FlowModCommand::from_wire(n).expect("0 to 4"));
    (ids, command, timing, outputs, match_(), vec(instruction(), 0..4)).prop_map(
        |(ids, command, timing, outputs, match_, instructions)| FlowMod {
            cookie: ids.0,
            cookie_mask: ids.1,
            table_id: ids.2,
            command,
            idle_timeout: timing.0,
            hard_timeout: timing.1,
            priority: timing.2,
            buffer_id: outputs.0,
            out_port: outputs.1,
            out_group: outputs.2,
            flags: outputs.3,
            match_,
            instructions,
        },
    )
}

pub(crate) fn flow_stats() -> impl Strategy<Value = FlowStats> {
    let times = any::<(u32, u32, u16, u16, u16, u16)>();
    (any::<u8>(), times, any::<(u64, u64, u64)>(), match_(), vec(instruction(), 0..3)).prop_map(
        |(table_id, times, counts, match_, instructions)| FlowStats {
            table_id,
            duration_sec: times.0,
            duration_nsec: times.1,
            priority: times.2,
            idle_timeout: times.3,
            hard_timeout: times.4,
            flags: times.5,
            cookie: counts.0,
            packet_count: counts.1,
            byte_count: counts.2,
            match_,
            instructions,
        },
    )
}

pub(super) fn flow_removed() -> impl Strategy<Value = FlowRemoved> {
    (any::<u8>(), flow_stats()).prop_map(|(reason, stats)| FlowRemoved {
        cookie: stats.cookie,
        priority: stats.priority,
        reason: FlowRemovedReason::from_wire(reason),
        table_id: stats.table_id,
        duration_sec: stats.duration_sec,
        duration_nsec: stats.duration_nsec,
        idle_timeout: stats.idle_timeout,
        hard_timeout: stats.hard_timeout,
        packet_count: stats.packet_count,
        byte_count: stats.byte_count,
        match_: stats.match_,
    })
}

pub(super) fn packet_in() -> impl Strategy<Value = PacketIn> {
    (any::<(u32, u16, u8, u8, u64)>(), match_(), bytes(100)).prop_map(|(head, match_, data)| {
        PacketIn {
            buffer_id: head.0,
            total_len: head.1,
            reason: PacketInReason::from_wire(head.2),
            table_id: head.3,
            cookie: head.4,
            match_,
            data,
        }
    })
}

pub(super) fn packet_out() -> impl Strategy<Value = PacketOut> {
    (any::<(u32, u32)>(), vec(action(), 0..4), bytes(100)).prop_map(
        |((buffer_id, in_port), actions, data)| PacketOut { buffer_id, in_port, actions, data },
    )
}
