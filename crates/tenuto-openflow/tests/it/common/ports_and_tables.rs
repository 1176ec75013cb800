//! Ports, queues and tables, and how they are set up.

use super::*;

pub(super) fn port() -> impl Strategy<Value = Port> {
    (any::<(u32, [u8; 6])>(), text(), any::<[u32; 8]>()).prop_map(
        |((port_no, hw_addr), name, rest)| Port {
            port_no,
            hw_addr,
            name,
            config: rest[0],
            state: rest[1],
            curr: rest[2],
            advertised: rest[3],
            supported: rest[4],
            peer: rest[5],
            curr_speed: rest[6],
            max_speed: rest[7],
        },
    )
}

pub(super) fn port_mod() -> impl Strategy<Value = PortMod> {
    any::<(u32, [u8; 6], u32, u32, u32)>().prop_map(
        |(port_no, hw_addr, config, mask, advertise)| PortMod {
            port_no,
            hw_addr,
            config,
            mask,
            advertise,
        },
    )
}

pub(super) fn port_stats() -> impl Strategy<Value = PortStats> {
    any::<(u32, [u64; 12], u32, u32)>().prop_map(
        |(port_no, counts, duration_sec, duration_nsec)| PortStats {
            port_no,
            rx_packets: counts[0],
            tx_packets: counts[1],
            rx_bytes: counts[2],
            tx_bytes: counts[3],
            rx_dropped: counts[4],
            tx_dropped: counts[5],
            rx_errors: counts[6],
            tx_errors: counts[7],
            rx_frame_err: counts[8],
            rx_over_err: counts[9],
            rx_crc_err: counts[10],
            collisions: counts[11],
            duration_sec,
            duration_nsec,
        },
    )
}

pub(super) fn queue_config() -> impl Strategy<Value = QueueConfig> {
    let property = prop_oneof![
        any::<u16>().prop_map(QueueProperty::MinRate),
        any::<u16>().prop_map(QueueProperty::MaxRate),
        (any::<u32>(), bytes(12))
            .prop_map(|(experimenter, data)| QueueProperty::Experimenter { experimenter, data }),
        (3_u16..0xffff, bytes(12))
            .prop_map(|(property, data)| QueueProperty::Unknown { property, data }),
    ];
    let queue = (any::<(u32, u32)>(), vec(property, 0..3))
        .prop_map(|((queue_id, port), properties)| PacketQueue { queue_id, port, properties });
    (any::<u32>(), vec(queue, 0..3)).prop_map(|(port, queues)| QueueConfig { port, queues })
}

pub(super) fn queue_stats() -> impl Strategy<Value = QueueStats> {
    any::<([u32; 4], [u64; 3])>().prop_map(|(ids, counts)| QueueStats {
        port_no: ids[0],
        queue_id: ids[1],
        tx_bytes: counts[0],
        tx_packets: counts[1],
        tx_errors: counts[2],
        duration_sec: ids[2],
        duration_nsec: ids[3],
    })
}

pub(super) fn feature_ids() -> impl Strategy<Value = Vec<FeatureId>> {
    let id = (any::<u16>(), bytes(12)).prop_map(|(type_, data)| FeatureId { type_, data });
    vec(id, 0..4)
}

pub(super) fn oxm_ids() -> impl Strategy<Value = Vec<OxmId>> {
    let id = (any::<(u16, bool, u8, u32)>(), 0_u8..128).prop_map(
        |((class, has_mask, payload_len, experimenter), field)| OxmId {
            class,
            field,
            has_mask,
            payload_len,
            experimenter: (class == 0xffff).then_some(experimenter),
        },
    );
    let experimenter = any::<u32>().prop_map(|id| OxmId {
        class: 0xffff,
        field: 1,
        has_mask: false,
        payload_len: 8,
        experimenter: Some(id),
    });
    vec(prop_oneof![4 => id, 1 => experimenter], 0..4)
}

pub(super) fn table_property() -> impl Strategy<Value = TableProperty> {
    let miss = any::<bool>;
    prop_oneof![
        (miss(), feature_ids()).prop_map(|(miss, ids)| TableProperty::Instructions { miss, ids }),
        (miss(), bytes(9)).prop_map(|(miss, tables)| TableProperty::NextTables { miss, tables }),
        (miss(), feature_ids()).prop_map(|(miss, ids)| TableProperty::WriteActions { miss, ids }),
        (miss(), feature_ids()).prop_map(|(miss, ids)| TableProperty::ApplyActions { miss, ids }),
        oxm_ids().prop_map(TableProperty::Match),
        oxm_ids().prop_map(TableProperty::Wildcards),
        (miss(), oxm_ids()).prop_map(|(miss, ids)| TableProperty::WriteSetField { miss, ids }),
        (miss(), oxm_ids()).prop_map(|(miss, ids)| TableProperty::ApplySetField { miss, ids }),
        (miss(), any::<(u32, u32)>(), bytes(9)).prop_map(
            |(miss, (experimenter, exp_type), data)| TableProperty::Experimenter {
                miss,
                experimenter,
                exp_type,
                data
            }
        ),
        (prop_oneof![Just(9_u16), Just(11), 16_u16..0xfffe], bytes(9))
            .prop_map(|(type_, data)| TableProperty::Unknown { type_, data }),
    ]
}

pub(super) fn table_features() -> impl Strategy<Value = TableFeatures> {
    (any::<(u8, u64, u64, u32, u32)>(), text(), vec(table_property(), 0..5)).prop_map(
        |(head, name, properties)| TableFeatures {
            table_id: head.0,
            name,
            metadata_match: head.1,
            metadata_write: head.2,
            config: head.3,
            max_entries: head.4,
            properties,
        },
    )
}

pub(super) fn table_stats() -> impl Strategy<Value = TableStats> {
    any::<(u8, u32, u64, u64)>().prop_map(
        |(table_id, active_count, lookup_count, matched_count)| TableStats {
            table_id,
            active_count,
            lookup_count,
            matched_count,
        },
    )
}
