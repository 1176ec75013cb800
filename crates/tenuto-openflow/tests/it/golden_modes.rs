//! Literal bytes of our experimenter messages, as `docs/reference/experimenter.md` lays them out.

use tenuto_openflow::*;

/// Bytes behind the experimenter id, written as hexadecimal digits, against the value and its line.
#[track_caller]
fn check(exp_type: u32, data: &str, modes: ModesMessage, text: &str) {
    let digits: String = data.split_whitespace().collect();
    let data = (0..digits.len() / 2)
        .map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("two digits"));
    let mut bytes = vec![4, 4, 0, 0, 0, 0, 0, 0x17, 0x54, 0x45, 0x4e, 0x55];
    bytes.extend(exp_type.to_be_bytes());
    bytes.extend(data);
    bytes[3] = u8::try_from(bytes.len()).expect("short");
    let message = Message { xid: 0x17, body: Body::Experimenter(Experimenter::Modes(modes)) };
    assert_eq!(Message::parse(&bytes).as_ref(), Ok(&message));
    assert_eq!(message.to_bytes(), bytes);
    assert_eq!(message.to_string(), format!("OFPT_EXPERIMENTER (OF1.3) (xid=0x17): {text}"));
}

#[test]
fn shadow_flow_mod() {
    check(
        1,
        "01 00000000000000
         0000000000000000 0000000000000000  00 00 0000 0000 0001
         ffffffff ffffffff ffffffff 0000 0000  0001 0004 00000000",
        ModesMessage::ShadowFlowMod {
            level: 1,
            flow_mod: FlowMod { priority: 1, ..FlowMod::new(FlowModCommand::Add, 0) },
        },
        "SHADOW_FLOW_MOD level=1 ADD table:0 priority=1 actions=drop",
    );
}

#[test]
fn monitor_mod() {
    check(
        2,
        "00 01 0000 00000009
         00 000000 00000100 0000000000989680 00000000000186a0",
        ModesMessage::MonitorMod(MonitorMod {
            command: MonitorCommand::Add,
            monitor_id: 9,
            kind: MonitorKind::Frame,
            contracts: vec![MonitorContract {
                level: 0,
                bytes_max: 256,
                period_ns: 10_000_000,
                jitter_ns: 100_000,
            }],
        }),
        "MONITOR_MOD ADD monitor=9 per=frame level=0:256B/10000000ns+100000ns",
    );
}

#[test]
fn mode_config_and_activation() {
    check(
        3,
        "0000000000000001 02 03 000000000000 0000000000000004 0000000000000005
         0000000000000006 0000000000000007",
        ModesMessage::ModeConfig(ModeConfig {
            generation: 1,
            levels: 2,
            quiet_ns: 4,
            signal_copies: 3,
            dwell_ns: 5,
            members: vec![6, 7],
        }),
        "MODE_CONFIG generation=1 levels=2 quiet_ns=4 dwell_ns=5 signal_copies=3 \
         members=0000000000000006,0000000000000007",
    );
    check(
        4,
        "0000000000000001 0000000000000002 01 00000000000000",
        ModesMessage::ModeActivate { generation: 1, epoch: 2, level: 1 },
        "MODE_ACTIVATE generation=1 epoch=2 level=1",
    );
}

#[test]
fn mode_status() {
    check(5, "", ModesMessage::ModeStatusRequest, "MODE_STATUS_REQUEST");
    check(
        6,
        "0000000000000001 0000000000000002 01 00 03 0000000000
         0000000000000004 0000000000000005 0000000000000006 0000000000000007",
        ModesMessage::ModeStatusReply(ModeStatus {
            generation: 1,
            epoch: 2,
            level: 1,
            admitted_level: 0,
            phase: 3,
            is_standalone: false,
            purged_frames: 4,
            raises: 5,
            returns: 6,
            signals_rejected: 7,
        }),
        "MODE_STATUS_REPLY generation=1 epoch=2 level=1 admitted_level=0 phase=3 purged_frames=4 \
         raises=5 returns=6 signals_rejected=7",
    );
    check(
        6,
        "0000000000000000 0000000000000000 00 00 00 01 00000000
         0000000000000000 0000000000000000 0000000000000000 0000000000000000",
        ModesMessage::ModeStatusReply(ModeStatus { is_standalone: true, ..ModeStatus::default() }),
        "MODE_STATUS_REPLY generation=0 epoch=0 level=0 admitted_level=0 phase=0 purged_frames=0 \
         raises=0 returns=0 signals_rejected=0 standalone",
    );
}

#[test]
fn mode_event() {
    check(
        7,
        "02 00 01 00 00000009 0000000000000001 0000000000000002 0000000000000003 00000004 00000000",
        ModesMessage::ModeEvent(ModeEvent {
            kind: ModeEventKind::Swapped,
            generation: 1,
            epoch: 2,
            from_level: 0,
            to_level: 1,
            monitor_id: 9,
            at_ns: 3,
            purged_frames: 4,
        }),
        "MODE_EVENT swapped generation=1 epoch=2 level=0->1 monitor=9 at_ns=3 purged_frames=4",
    );
}

#[test]
fn monitor_stats() {
    check(8, "", ModesMessage::MonitorStatsRequest, "MONITOR_STATS_REQUEST");
    check(
        9,
        "00000009 00000000 0000000000000064 0000000000000001",
        ModesMessage::MonitorStatsReply(vec![MonitorStats {
            monitor_id: 9,
            messages: 100,
            violations: 1,
        }]),
        "MONITOR_STATS_REPLY [monitor=9 messages=100 violations=1]",
    );
}

#[test]
fn shadow_stats() {
    check(
        10,
        "01 00000000000000",
        ModesMessage::ShadowStatsRequest { level: 1 },
        "SHADOW_STATS_REQUEST level=1",
    );
    check(
        11,
        "01 01 000000000000
         0038 00 00 00000000 00000000 0001 0000 0000 0000 00000000
         0000000000000005 0000000000000000 0000000000000000  0001 0004 00000000",
        ModesMessage::ShadowStatsReply {
            level: 1,
            more: true,
            entries: vec![FlowStats {
                table_id: 0,
                duration_sec: 0,
                duration_nsec: 0,
                priority: 1,
                idle_timeout: 0,
                hard_timeout: 0,
                flags: 0,
                cookie: 5,
                packet_count: 0,
                byte_count: 0,
                match_: Match::ANY,
                instructions: vec![],
            }],
        },
        "SHADOW_STATS_REPLY level=1 [cookie=0x5, duration=0.000s, table=0, n_packets=0, n_bytes=0, \
         priority=1 actions=drop] (more)",
    );
}
