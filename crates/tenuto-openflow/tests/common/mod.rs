//! Arbitrary messages in their canonical form: nothing that has a variant of its own comes as
//! `Unknown`, and data of unknown actions is aligned.

use proptest::collection::vec;
use proptest::prelude::*;
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

/// A field of the basic class by its number: every one that OpenFlow 1.3 defines, with any value and
/// any mask that may be.
fn basic_oxm() -> impl Strategy<Value = Oxm> {
    (0_u8..40, vec(any::<u8>(), 32), any::<bool>()).prop_map(|(number, payload, masked)| {
        let id = OxmId::basic(number).expect("defined");
        let whole = usize::from(id.payload_len);
        let len = if id.has_mask && !masked { whole / 2 } else { whole };
        let mask_bit = u8::from(id.has_mask && masked);
        let mut bytes = vec![0, 1, 0, 0, 0x80, 0, number << 1 | mask_bit];
        bytes.push(u8::try_from(len).expect("at most 32"));
        bytes.extend(&payload[..len]);
        // Through a flow-mod, as fields have no door of their own.
        let match_len = u8::try_from(bytes.len()).expect("short");
        bytes[3] = match_len;
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let mut message =
            Message::new(0, Body::FlowMod(FlowMod::new(FlowModCommand::Add, 0))).to_bytes();
        message.truncate(message.len() - 8);
        message.extend(bytes);
        message[3] = u8::try_from(message.len()).expect("short");
        let Ok(Message { body: Body::FlowMod(read), .. }) = Message::parse(&message) else {
            panic!("field {number} of {len} bytes")
        };
        read.match_.oxms.into_iter().next().expect("one field")
    })
}

pub(crate) fn oxm() -> impl Strategy<Value = Oxm> {
    prop_oneof![
        8 => basic_oxm(),
        1 => (40_u8..128, any::<bool>(), bytes(40)).prop_map(|(field, has_mask, payload)| {
            Oxm::Unknown { class: 0x8000, field, has_mask, payload }
        }),
        1 => (0_u8..128, any::<bool>(), bytes(40)).prop_map(|(field, has_mask, payload)| {
            Oxm::Unknown { class: 0xffff, field, has_mask, payload }
        }),
    ]
}

pub(crate) fn match_() -> impl Strategy<Value = Match> {
    vec(oxm(), 0..5).prop_map(|oxms| Match { oxms })
}

/// `4 + 8·n` bytes, or `8·n` for experimenters.
fn aligned(extra: usize) -> impl Strategy<Value = Vec<u8>> {
    (0_usize..4).prop_flat_map(move |n| vec(any::<u8>(), extra + 8 * n))
}

fn version() -> impl Strategy<Value = Version> {
    any::<(u64, u64)>().prop_map(|(generation, counter)| Version { generation, counter })
}

fn encap() -> impl Strategy<Value = Encap> {
    (version(), any::<(u32, u16, u8, u16)>(), match_()).prop_map(|(version, head, match_)| {
        let (port, messages, table_id, priority) = head;
        Encap { port, version, messages, table_id, priority, match_ }
    })
}

pub(crate) fn action() -> impl Strategy<Value = Action> {
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

pub(crate) fn instruction() -> impl Strategy<Value = Instruction> {
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

pub(crate) fn flow_mod() -> impl Strategy<Value = FlowMod> {
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

fn flow_removed() -> impl Strategy<Value = FlowRemoved> {
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

fn packet_in() -> impl Strategy<Value = PacketIn> {
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

fn packet_out() -> impl Strategy<Value = PacketOut> {
    (any::<(u32, u32)>(), vec(action(), 0..4), bytes(100)).prop_map(
        |((buffer_id, in_port), actions, data)| PacketOut { buffer_id, in_port, actions, data },
    )
}

fn bucket() -> impl Strategy<Value = Bucket> {
    (any::<(u16, u32, u32)>(), vec(action(), 0..3)).prop_map(
        |((weight, watch_port, watch_group), actions)| Bucket {
            weight,
            watch_port,
            watch_group,
            actions,
        },
    )
}

fn group_mod() -> impl Strategy<Value = GroupMod> {
    (0_u16..3, any::<u8>(), any::<u32>(), vec(bucket(), 0..4)).prop_map(
        |(command, type_, group_id, buckets)| GroupMod {
            command: GroupModCommand::from_wire(command).expect("0 to 2"),
            type_: GroupType::from_wire(type_),
            group_id,
            buckets,
        },
    )
}

fn band() -> impl Strategy<Value = MeterBand> {
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

fn meter_mod() -> impl Strategy<Value = MeterMod> {
    (0_u16..3, any::<(u16, u32)>(), vec(band(), 0..4)).prop_map(
        |(command, (flags, meter_id), bands)| MeterMod {
            command: MeterModCommand::from_wire(command).expect("0 to 2"),
            flags,
            meter_id,
            bands,
        },
    )
}

fn port() -> impl Strategy<Value = Port> {
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

fn port_mod() -> impl Strategy<Value = PortMod> {
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

fn role() -> impl Strategy<Value = Role> {
    (0_u32..4, any::<u64>()).prop_map(|(role, generation_id)| Role {
        role: ControllerRole::from_wire(role).expect("0 to 3"),
        generation_id,
    })
}

fn feature_ids() -> impl Strategy<Value = Vec<FeatureId>> {
    let id = (any::<u16>(), bytes(12)).prop_map(|(type_, data)| FeatureId { type_, data });
    vec(id, 0..4)
}

fn oxm_ids() -> impl Strategy<Value = Vec<OxmId>> {
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

fn table_property() -> impl Strategy<Value = TableProperty> {
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

fn table_features() -> impl Strategy<Value = TableFeatures> {
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

fn queue_config() -> impl Strategy<Value = QueueConfig> {
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

fn flow_stats_request() -> impl Strategy<Value = FlowStatsRequest> {
    (any::<(u8, u32, u32, u64, u64)>(), match_()).prop_map(|(head, match_)| FlowStatsRequest {
        table_id: head.0,
        out_port: head.1,
        out_group: head.2,
        cookie: head.3,
        cookie_mask: head.4,
        match_,
    })
}

fn request_body() -> impl Strategy<Value = RequestBody> {
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

fn port_stats() -> impl Strategy<Value = PortStats> {
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

fn queue_stats() -> impl Strategy<Value = QueueStats> {
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

fn group_stats() -> impl Strategy<Value = GroupStats> {
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

fn group_description() -> impl Strategy<Value = GroupDescription> {
    (any::<(u8, u32)>(), vec(bucket(), 0..3)).prop_map(|((type_, group_id), buckets)| {
        GroupDescription { type_: GroupType::from_wire(type_), group_id, buckets }
    })
}

fn group_features() -> impl Strategy<Value = GroupFeatures> {
    any::<(u32, u32, [u32; 4], [u32; 4])>().prop_map(
        |(types, capabilities, max_groups, actions)| GroupFeatures {
            types,
            capabilities,
            max_groups,
            actions,
        },
    )
}

fn meter_stats() -> impl Strategy<Value = MeterStats> {
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

fn meter_config() -> impl Strategy<Value = MeterConfig> {
    (any::<(u16, u32)>(), vec(band(), 0..3)).prop_map(|((flags, meter_id), bands)| MeterConfig {
        flags,
        meter_id,
        bands,
    })
}

fn meter_features() -> impl Strategy<Value = MeterFeatures> {
    any::<(u32, u32, u32, u8, u8)>().prop_map(|f| MeterFeatures {
        max_meter: f.0,
        band_types: f.1,
        capabilities: f.2,
        max_bands: f.3,
        max_color: f.4,
    })
}

fn table_stats() -> impl Strategy<Value = TableStats> {
    any::<(u8, u32, u64, u64)>().prop_map(
        |(table_id, active_count, lookup_count, matched_count)| TableStats {
            table_id,
            active_count,
            lookup_count,
            matched_count,
        },
    )
}

fn description() -> impl Strategy<Value = Box<Description>> {
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

fn reply_body() -> impl Strategy<Value = ReplyBody> {
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

fn monitor_mod() -> impl Strategy<Value = MonitorMod> {
    let contract =
        any::<(u8, u32, u64, u64)>().prop_map(|(level, bytes_max, period_ns, jitter_ns)| {
            MonitorContract { level, bytes_max, period_ns, jitter_ns }
        });
    (0_u8..3, 0_u8..2, any::<u32>(), vec(contract, 0..4)).prop_map(
        |(command, kind, monitor_id, contracts)| MonitorMod {
            command: MonitorCommand::from_wire(command).expect("0 to 2"),
            monitor_id,
            kind: MonitorKind::from_wire(kind).expect("0 or 1"),
            contracts,
        },
    )
}

fn mode_config() -> impl Strategy<Value = ModeConfig> {
    (any::<(u64, u8, u64, u8, u64)>(), vec(any::<u64>(), 0..5)).prop_map(|(head, members)| {
        ModeConfig {
            generation: head.0,
            levels: head.1,
            quiet_ns: head.2,
            signal_copies: head.3,
            dwell_ns: head.4,
            members,
        }
    })
}

fn mode_status() -> impl Strategy<Value = ModeStatus> {
    any::<([u64; 6], [u8; 3])>().prop_map(|(wide, narrow)| ModeStatus {
        generation: wide[0],
        epoch: wide[1],
        level: narrow[0],
        admitted_level: narrow[1],
        phase: narrow[2],
        purged_frames: wide[2],
        raises: wide[3],
        returns: wide[4],
        signals_rejected: wide[5],
    })
}

fn mode_event() -> impl Strategy<Value = ModeEvent> {
    (0_u8..5, any::<([u64; 3], [u8; 2], [u32; 2])>()).prop_map(|(kind, (wide, levels, ids))| {
        ModeEvent {
            kind: ModeEventKind::from_wire(kind).expect("0 to 4"),
            generation: wide[0],
            epoch: wide[1],
            from_level: levels[0],
            to_level: levels[1],
            monitor_id: ids[0],
            at_ns: wide[2],
            purged_frames: ids[1],
        }
    })
}

fn modes() -> impl Strategy<Value = ModesMessage> {
    let stats = any::<(u32, u64, u64)>().prop_map(|(monitor_id, messages, violations)| {
        MonitorStats { monitor_id, messages, violations }
    });
    prop_oneof![
        (any::<u8>(), flow_mod())
            .prop_map(|(level, flow_mod)| ModesMessage::ShadowFlowMod { level, flow_mod }),
        monitor_mod().prop_map(ModesMessage::MonitorMod),
        mode_config().prop_map(ModesMessage::ModeConfig),
        any::<(u64, u64, u8)>().prop_map(|(generation, epoch, level)| {
            ModesMessage::ModeActivate { generation, epoch, level }
        }),
        Just(ModesMessage::ModeStatusRequest),
        mode_status().prop_map(ModesMessage::ModeStatusReply),
        mode_event().prop_map(ModesMessage::ModeEvent),
        Just(ModesMessage::MonitorStatsRequest),
        vec(stats, 0..4).prop_map(ModesMessage::MonitorStatsReply),
        any::<u8>().prop_map(|level| ModesMessage::ShadowStatsRequest { level }),
        (any::<(u8, bool)>(), vec(flow_stats(), 0..3)).prop_map(|((level, more), entries)| {
            ModesMessage::ShadowStatsReply { level, more, entries }
        }),
    ]
}

fn message_set() -> impl Strategy<Value = MessageSet> {
    (version(), any::<(u16, u64)>()).prop_map(|(version, (messages, answers))| MessageSet {
        version,
        messages,
        answers,
    })
}

fn buffer_totals() -> impl Strategy<Value = BufferTotals> {
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

fn buffer_stats() -> impl Strategy<Value = BufferStats> {
    let head = any::<((u16, u16), u8, bool, u16, u32, u64)>();
    (version(), head, match_()).prop_map(|(version, head, match_)| {
        let (messages, table_id, is_releasing, priority, frames, number) = head;
        let phase = if is_releasing { BufferPhase::Releasing } else { BufferPhase::Waiting };
        BufferStats { version, messages, table_id, phase, priority, frames, number, match_ }
    })
}

fn attendre() -> impl Strategy<Value = AttendreMessage> {
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

fn experimenter() -> impl Strategy<Value = Experimenter> {
    prop_oneof![
        4 => modes().prop_map(Experimenter::Modes),
        4 => attendre().prop_map(Experimenter::Attendre),
        1 => (foreign_experimenter(), any::<u32>(), bytes(40)).prop_map(
            |(experimenter, exp_type, data)| Experimenter::Unknown { experimenter, exp_type, data }
        ),
        1 => (19_u32.., bytes(40)).prop_map(|(exp_type, data)| Experimenter::Unknown {
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
