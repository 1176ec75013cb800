//! Buckets and groups, bands and meters, with what statistics say of them.

use super::*;

pub(super) fn bucket() -> impl Strategy<Value = Bucket> {
    (any::<(u16, u32, u32)>(), vec(action(), 0..3)).prop_map(
        |((weight, watch_port, watch_group), actions)| Bucket {
            weight,
            watch_port,
            watch_group,
            actions,
        },
    )
}

pub(super) fn group_mod() -> impl Strategy<Value = GroupMod> {
    (0_u16..3, any::<u8>(), any::<u32>(), vec(bucket(), 0..4)).prop_map(
        |(command, type_, group_id, buckets)| GroupMod {
            command: GroupModCommand::from_wire(command).expect("0 to 2"),
            type_: GroupType::from_wire(type_),
            group_id,
            buckets,
        },
    )
}

pub(super) fn band() -> impl Strategy<Value = MeterBand> {
    let rates = any::<(u32, u32)>();
    prop_oneof![
        rates.prop_map(|(rate, burst_size)| MeterBand::Drop { rate, burst_size }),
        (any::<(u32, u32)>(), any::<u8>()).prop_map(|((rate, burst_size), prec_level)| {
            MeterBand::DscpRemark { rate, burst_size, prec_level }
        }),
        (any::<(u32, u32, u32)>(), bytes(16)).prop_map(
            |((rate, burst_size, experimenter), data)| MeterBand::Experimenter {
                rate,
                burst_size,
                experimenter,
                data
            }
        ),
        (3_u16..0xffff, any::<(u32, u32)>(), bytes(16)).prop_map(
            |(type_, (rate, burst_size), data)| MeterBand::Unknown {
                type_,
                rate,
                burst_size,
                data
            }
        ),
    ]
}

pub(super) fn meter_mod() -> impl Strategy<Value = MeterMod> {
    (0_u16..3, any::<(u16, u32)>(), vec(band(), 0..4)).prop_map(
        |(command, (flags, meter_id), bands)| MeterMod {
            command: MeterModCommand::from_wire(command).expect("0 to 2"),
            flags,
            meter_id,
            bands,
        },
    )
}

pub(super) fn group_stats() -> impl Strategy<Value = GroupStats> {
    let bucket = any::<(u64, u64)>()
        .prop_map(|(packet_count, byte_count)| BucketStats { packet_count, byte_count });
    (any::<([u32; 4], [u64; 2])>(), vec(bucket, 0..4)).prop_map(|((ids, counts), buckets)| {
        GroupStats {
            group_id: ids[0],
            ref_count: ids[1],
            packet_count: counts[0],
            byte_count: counts[1],
            duration_sec: ids[2],
            duration_nsec: ids[3],
            buckets,
        }
    })
}

pub(super) fn group_description() -> impl Strategy<Value = GroupDescription> {
    (any::<(u8, u32)>(), vec(bucket(), 0..3)).prop_map(|((type_, group_id), buckets)| {
        GroupDescription { type_: GroupType::from_wire(type_), group_id, buckets }
    })
}

pub(super) fn group_features() -> impl Strategy<Value = GroupFeatures> {
    any::<(u32, u32, [u32; 4], [u32; 4])>().prop_map(
        |(types, capabilities, max_groups, actions)| GroupFeatures {
            types,
            capabilities,
            max_groups,
            actions,
        },
    )
}

pub(super) fn meter_stats() -> impl Strategy<Value = MeterStats> {
    let band = any::<(u64, u64)>().prop_map(|(packet_band_count, byte_band_count)| BandStats {
        packet_band_count,
        byte_band_count,
    });
    (any::<([u32; 4], [u64; 2])>(), vec(band, 0..4)).prop_map(|((ids, counts), bands)| MeterStats {
        meter_id: ids[0],
        flow_count: ids[1],
        packet_in_count: counts[0],
        byte_in_count: counts[1],
        duration_sec: ids[2],
        duration_nsec: ids[3],
        bands,
    })
}

pub(super) fn meter_config() -> impl Strategy<Value = MeterConfig> {
    (any::<(u16, u32)>(), vec(band(), 0..3)).prop_map(|((flags, meter_id), bands)| MeterConfig {
        flags,
        meter_id,
        bands,
    })
}

pub(super) fn meter_features() -> impl Strategy<Value = MeterFeatures> {
    any::<(u32, u32, u32, u8, u8)>().prop_map(|f| MeterFeatures {
        max_meter: f.0,
        band_types: f.1,
        capabilities: f.2,
        max_bands: f.3,
        max_color: f.4,
    })
}
