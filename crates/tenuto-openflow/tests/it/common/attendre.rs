//! Our messages of Attendre.

use super::*;

pub(super) fn message_set() -> impl Strategy<Value = MessageSet> {
    (version(), any::<(u16, u64)>()).prop_map(|(version, (messages, answers))| MessageSet {
        version,
        messages,
        answers,
    })
}

pub(super) fn buffer_totals() -> impl Strategy<Value = BufferTotals> {
    any::<[u64; 9]>().prop_map(|counts| BufferTotals {
        buffered: counts[0],
        released: counts[1],
        overflowed: counts[2],
        purged: counts[3],
        timed_out: counts[4],
        completed: counts[5],
        commands_sent: counts[6],
        commands_accepted: counts[7],
        commands_rejected: counts[8],
    })
}

pub(super) fn buffer_stats() -> impl Strategy<Value = BufferStats> {
    let head = any::<((u16, u16), u8, bool, u16, u32, u64)>();
    (version(), head, match_()).prop_map(|(version, head, match_)| {
        let (messages, table_id, is_releasing, priority, frames, number) = head;
        let phase = if is_releasing { BufferPhase::Releasing } else { BufferPhase::Waiting };
        BufferStats { version, messages, table_id, phase, priority, frames, number, match_ }
    })
}

pub(super) fn attendre() -> impl Strategy<Value = AttendreMessage> {
    prop_oneof![
        any::<(bool, u32, u64)>().prop_map(|(is_on, meter_id, timeout_ns)| {
            AttendreMessage::Config(AttendreConfig { is_on, meter_id, timeout_ns })
        }),
        (message_set(), flow_mod())
            .prop_map(|(set, flow_mod)| AttendreMessage::SetFlowMod { set, flow_mod }),
        (message_set(), packet_out())
            .prop_map(|(set, packet_out)| AttendreMessage::SetPacketOut { set, packet_out }),
        message_set().prop_map(AttendreMessage::SetEmpty),
        (any::<u64>(), packet_in())
            .prop_map(|(number, packet_in)| AttendreMessage::PacketIn { number, packet_in }),
        Just(AttendreMessage::BuffersRequest),
        (any::<bool>(), buffer_totals(), vec(buffer_stats(), 0..3)).prop_map(
            |(more, totals, buffers)| AttendreMessage::BuffersReply { more, totals, buffers }
        ),
    ]
}
