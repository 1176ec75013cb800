//! Our messages about modes and monitors.

use super::*;

pub(super) fn monitor_mod() -> impl Strategy<Value = MonitorMod> {
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

pub(super) fn mode_config() -> impl Strategy<Value = ModeConfig> {
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

pub(super) fn mode_status() -> impl Strategy<Value = ModeStatus> {
    any::<([u64; 6], [u8; 3], bool)>().prop_map(|(wide, narrow, is_standalone)| ModeStatus {
        generation: wide[0],
        epoch: wide[1],
        level: narrow[0],
        admitted_level: narrow[1],
        phase: narrow[2],
        is_standalone,
        purged_frames: wide[2],
        raises: wide[3],
        returns: wide[4],
        signals_rejected: wide[5],
    })
}

pub(super) fn mode_event() -> impl Strategy<Value = ModeEvent> {
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

pub(super) fn modes() -> impl Strategy<Value = ModesMessage> {
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
