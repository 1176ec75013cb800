//! Our messages about queues.

use super::*;

pub(super) fn queue_share() -> impl Strategy<Value = QueueShare> {
    any::<(u32, u8, u8)>().prop_map(|(queue, level, weight)| QueueShare { queue, level, weight })
}

pub(super) fn queue_detail() -> impl Strategy<Value = QueueDetail> {
    let range = any::<(u64, u64, u64)>().prop_map(|(from_ns, below_ns, frames)| DelayRange {
        from_ns,
        below_ns,
        frames,
    });
    (queue_share(), any::<(u32, u32, u32, u64, u64, u64)>(), vec(range, 0..4)).prop_map(
        |(share, head, delays)| {
            let (port, frames, frames_max, wire_bytes, wire_bytes_max, delay_ns_max) = head;
            QueueDetail {
                port,
                share,
                frames,
                frames_max,
                wire_bytes,
                wire_bytes_max,
                delay_ns_max,
                delays,
            }
        },
    )
}

pub(super) fn queues() -> impl Strategy<Value = QueuesMessage> {
    prop_oneof![
        (any::<u32>(), vec(queue_share(), 0..4))
            .prop_map(|(port, shares)| QueuesMessage::QueueMod { port, shares }),
        any::<(u32, u32)>().prop_map(|(port, queue)| QueuesMessage::DetailRequest { port, queue }),
        (any::<bool>(), vec(queue_detail(), 0..3))
            .prop_map(|(more, queues)| QueuesMessage::DetailReply { more, queues }),
    ]
}
