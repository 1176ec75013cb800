//! Literal bytes of each message family, laid out field by field from OpenFlow 1.3.5, against the
//! value they stand for and the line it prints as.

use tenuto_openflow::constants::{
    NO_BUFFER, controller_max_len, flow_flag, group, meter_flag, port,
};
use tenuto_openflow::*;

/// Bytes written as hexadecimal digits, white space ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|c| !c.is_ascii_whitespace()).collect();
    let digit =
        |c: u8| u8::try_from(char::from(c).to_digit(16).expect("a digit")).expect("below 16");
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The one place that touches the codec: bytes, value and text must all agree.
#[track_caller]
fn check(bytes: &str, body: Body, text: &str) {
    let bytes = hex(bytes);
    let xid = 0x17;
    let message = Message { xid, body };
    assert_eq!(Message::parse(&bytes).as_ref(), Ok(&message));
    assert_eq!(message.to_bytes(), bytes);
    assert_eq!(message.to_string(), text);
}

#[test]
fn hello_with_a_version_bitmap() {
    check(
        "04 00 0010 00000017  0001 0008 00000010",
        Body::Hello(Hello::default()),
        "OFPT_HELLO (OF1.3) (xid=0x17): version=0x04 bitmap=0x10",
    );
}

#[test]
fn hello_elements_come_back_with_and_without_padding() {
    let element = |data: &str, is_padded| HelloElement { type_: 1, data: hex(data), is_padded };
    for (bytes, is_padded) in [
        ("04 00 0028 00000017  0001 000c 00000010 00000002 00000000", true),
        ("04 00 0020 00000017  0001 000c 00000010 00000002", false),
    ] {
        let last = " 0001 000c 00000003 00000004";
        let bytes = hex(&[bytes, last, if is_padded { "00000000" } else { "" }].concat());
        let hello = Hello {
            version: 4,
            version_bitmap: None,
            elements: vec![
                element("00000010 00000002", is_padded),
                element("00000003 00000004", is_padded),
            ],
        };
        let message = Message::parse(&bytes).expect("well-formed");
        assert_eq!(message.body, Body::Hello(hello));
        assert_eq!(message.to_bytes(), bytes);
    }
}

#[test]
fn hello_of_another_version_is_understood() {
    check(
        "06 00 0008 00000017",
        Body::Hello(Hello { version: 6, version_bitmap: None, elements: vec![] }),
        "OFPT_HELLO (OF1.3) (xid=0x17): version=0x06",
    );
}

#[test]
fn error() {
    check(
        "04 01 0014 00000017  0005 0001  04 0e 0050 00000017",
        Body::Error(ErrorMessage::new(FlowModFailed::TableFull.into(), &hex("040e005000000017"))),
        "OFPT_ERROR (OF1.3) (xid=0x17): OFPFMFC_TABLE_FULL 8 bytes of request",
    );
}

#[test]
fn echo_and_barrier() {
    check(
        "04 02 000b 00000017  616263",
        Body::EchoRequest(b"abc".to_vec()),
        "OFPT_ECHO_REQUEST (OF1.3) (xid=0x17): 3 bytes of payload",
    );
    check("04 14 0008 00000017", Body::BarrierRequest, "OFPT_BARRIER_REQUEST (OF1.3) (xid=0x17)");
    check("04 15 0008 00000017", Body::BarrierReply, "OFPT_BARRIER_REPLY (OF1.3) (xid=0x17)");
}

#[test]
fn features_and_config() {
    check(
        "04 06 0020 00000017  0000000000000001 00000100 fe 00 0000 0000004f 00000000",
        Body::FeaturesReply(Features {
            datapath_id: 1,
            n_buffers: 256,
            n_tables: 254,
            auxiliary_id: 0,
            capabilities: 0x4f,
        }),
        "OFPT_FEATURES_REPLY (OF1.3) (xid=0x17): dpid:0000000000000001 n_tables:254 n_buffers:256 \
         auxiliary_id:0 capabilities:0x4f",
    );
    check(
        "04 09 000c 00000017  0000 ffff",
        Body::SetConfig(SwitchConfigMsg { flags: 0, miss_send_len: 0xffff }),
        "OFPT_SET_CONFIG (OF1.3) (xid=0x17): flags=0x0 miss_send_len=65535",
    );
}

#[test]
fn role_request() {
    check(
        "04 18 0018 00000017  00000002 00000000 0000000000000003",
        Body::RoleRequest(Role { role: ControllerRole::Master, generation_id: 3 }),
        "OFPT_ROLE_REQUEST (OF1.3) (xid=0x17): role=master generation_id=3",
    );
}

/// Instructions and actions of several kinds, in the order they are given.
#[test]
fn flow_mod() {
    let flow_mod = FlowMod {
        cookie: 0x2a,
        priority: 100,
        flags: flow_flag::SEND_FLOW_REM,
        match_: Match::from(vec![
            Oxm::InPort(1),
            Oxm::EthDst { value: [3, 0, 0, 0, 0, 7], mask: None },
            Oxm::EthType(0x0800),
            Oxm::Ipv4Dst { value: [10, 1, 0, 0], mask: Some([255, 255, 0, 0]) },
        ]),
        instructions: vec![
            Instruction::Meter(7),
            Instruction::ApplyActions(vec![
                Action::Monitor(9),
                Action::SetField(Oxm::VlanPcp(5)),
                Action::SetQueue(2),
                Action::Output { port: 3, max_len: 0 },
            ]),
            Instruction::GotoTable(1),
        ],
        ..FlowMod::new(FlowModCommand::Add, 0)
    };
    check(
        "04 0e 00a8 00000017
         000000000000002a 0000000000000000  00 00 0000 0000 0064
         ffffffff ffffffff ffffffff 0001 0000
         0001 0028  8000 00 04 00000001  8000 06 06 030000000007  8000 0a 02 0800
                    8000 19 08 0a010000 ffff0000
         0006 0008 00000007
         0004 0040 00000000
           ffff 0010 54454e55 0001 0000 00000009
           0019 0010 8000 0e 01 05 00000000000000
           0015 0008 00000002
           0000 0010 00000003 0000 000000000000
         0001 0008 01 000000",
        Body::FlowMod(flow_mod),
        "OFPT_FLOW_MOD (OF1.3) (xid=0x17): ADD table:0 \
         priority=100,in_port=1,dl_dst=03:00:00:00:00:07,dl_type=0x0800,nw_dst=10.1.0.0/16 \
         cookie:0x2a send_flow_rem \
         actions=meter:7,monitor:9,set_field:5->dl_vlan_pcp,set_queue:2,output:3,goto_table:1",
    );
}

#[test]
fn flow_mod_that_deletes_everything() {
    let everything = FlowMod { priority: 0, ..FlowMod::new(FlowModCommand::Delete, 0xff) };
    check(
        "04 0e 0038 00000017
         0000000000000000 0000000000000000  ff 03 0000 0000 0000
         ffffffff ffffffff ffffffff 0000 0000
         0001 0004 00000000",
        Body::FlowMod(everything),
        "OFPT_FLOW_MOD (OF1.3) (xid=0x17): DEL table:ALL priority=0 actions=drop",
    );
}

#[test]
fn fields_of_every_kind() {
    let to_controller =
        Action::Output { port: port::CONTROLLER, max_len: controller_max_len::NO_BUFFER };
    let flow_mod = FlowMod {
        match_: Match::from(vec![
            Oxm::Metadata { value: 1, mask: Some(0xff) },
            Oxm::EthSrc { value: [1, 0, 0, 0, 0, 0], mask: Some([1, 0, 0, 0, 0, 0]) },
            Oxm::VlanVid { value: 0x1005, mask: None },
            Oxm::IpDscp(46),
            Oxm::IpEcn(1),
            Oxm::IpProto(17),
            Oxm::Ipv4Src { value: [10, 0, 0, 1], mask: None },
            Oxm::UdpSrc { value: 1, mask: None },
            Oxm::UdpDst { value: 2, mask: None },
            Oxm::Unknown { class: 0x8000, field: 42, has_mask: false, payload: vec![0; 2] },
        ]),
        instructions: vec![
            Instruction::WriteMetadata { metadata: 2, mask: 3 },
            Instruction::ClearActions,
            Instruction::WriteActions(vec![
                Action::PopVlan,
                Action::PushVlan(0x8100),
                Action::SetNwTtl(64),
                Action::DecNwTtl,
                Action::Group(4),
                to_controller,
                Action::Unknown { type_: 28, data: vec![0; 4] },
            ]),
        ],
        ..FlowMod::new(FlowModCommand::ModifyStrict, 2)
    };
    check(
        "04 0e 00f0 00000017
         0000000000000000 0000000000000000  02 02 0000 0000 8000
         ffffffff ffffffff ffffffff 0000 0000
         0001 0057
           8000 05 10 0000000000000001 00000000000000ff
           8000 09 0c 010000000000 010000000000
           8000 0c 02 1005  8000 10 01 2e  8000 12 01 01  8000 14 01 11
           8000 16 04 0a000001  8000 1e 02 0001  8000 20 02 0002  8000 54 02 0000
           00
         0002 0018 00000000 0000000000000002 0000000000000003
         0005 0008 00000000
         0003 0048 00000000
           0012 0008 00000000  0011 0008 8100 0000  0017 0008 40 000000  0018 0008 00000000
           0016 0008 00000004  0000 0010 fffffffd ffff 000000000000  001c 0008 00000000",
        Body::FlowMod(flow_mod),
        "OFPT_FLOW_MOD (OF1.3) (xid=0x17): MOD_STRICT table:2 \
         priority=32768,metadata=0x1/0xff,dl_src=01:00:00:00:00:00/01:00:00:00:00:00,dl_vlan=5,\
         ip_dscp=46,nw_ecn=1,nw_proto=17,nw_src=10.0.0.1,udp_src=1,udp_dst=2,\
         oxm=[class=0x8000,field=42,0000] \
         actions=write_metadata:0x2/0x3,clear_actions,write_actions(pop_vlan,push_vlan:0x8100,\
         mod_nw_ttl:64,dec_ttl,group:4,CONTROLLER:65535,action[type=28,00000000])",
    );
}

#[test]
fn packet_in_and_out() {
    check(
        "04 0a 002d 00000017
         ffffffff 0003 00 00 0000000000000000
         0001 000c 8000 00 04 00000002 00000000  0000  010203",
        Body::PacketIn(PacketIn {
            buffer_id: NO_BUFFER,
            total_len: 3,
            reason: PacketInReason::NoMatch,
            table_id: 0,
            cookie: 0,
            match_: Match::from(vec![Oxm::InPort(2)]),
            data: vec![1, 2, 3],
        }),
        "OFPT_PACKET_IN (OF1.3) (xid=0x17): table_id=0 cookie=0x0 total_len=3 in_port=2 \
         (via no_match) data_len=3",
    );
    check(
        "04 0d 002a 00000017
         ffffffff fffffffd 0010 000000000000
         0000 0010 fffffffb 0000 000000000000  0102",
        Body::PacketOut(PacketOut {
            buffer_id: NO_BUFFER,
            in_port: port::CONTROLLER,
            actions: vec![Action::Output { port: port::FLOOD, max_len: 0 }],
            data: vec![1, 2],
        }),
        "OFPT_PACKET_OUT (OF1.3) (xid=0x17): in_port=CONTROLLER actions=FLOOD data_len=2",
    );
}

#[test]
fn flow_removed() {
    check(
        "04 0b 0038 00000017
         0000000000000001 0064 00 02 0000000a 05f5e100 0005 0000
         0000000000000003 00000000000000c0  0001 0004 00000000",
        Body::FlowRemoved(FlowRemoved {
            cookie: 1,
            priority: 100,
            reason: FlowRemovedReason::IdleTimeout,
            table_id: 2,
            duration_sec: 10,
            duration_nsec: 100_000_000,
            idle_timeout: 5,
            hard_timeout: 0,
            packet_count: 3,
            byte_count: 192,
            match_: Match::ANY,
        }),
        "OFPT_FLOW_REMOVED (OF1.3) (xid=0x17): priority=100 reason=idle table_id=2 cookie=0x1 \
         duration=10.100s idle_timeout=5 n_packets=3 n_bytes=192",
    );
}

#[test]
fn port_status_and_port_mod() {
    check(
        "04 0c 0050 00000017  02 00000000000000
         00000001 00000000 020000000001 0000 65746830000000000000000000000000
         00000000 00000001 00000020 00000000 00000000 00000000 000f4240 000f4240",
        Body::PortStatus(PortStatus {
            reason: PortReason::Modify,
            port: Port {
                port_no: 1,
                hw_addr: [2, 0, 0, 0, 0, 1],
                name: FixedText::new("eth0"),
                config: 0,
                state: 1,
                curr: 0x20,
                advertised: 0,
                supported: 0,
                peer: 0,
                curr_speed: 1_000_000,
                max_speed: 1_000_000,
            },
        }),
        "OFPT_PORT_STATUS (OF1.3) (xid=0x17): MOD: 1(eth0): addr:02:00:00:00:00:01 config:0x0 \
         state:0x1 curr_speed:1000000kbps",
    );
    check(
        "04 10 0028 00000017
         00000001 00000000 020000000001 0000 00000001 00000001 00000000 00000000",
        Body::PortMod(PortMod {
            port_no: 1,
            hw_addr: [2, 0, 0, 0, 0, 1],
            config: 1,
            mask: 1,
            advertise: 0,
        }),
        "OFPT_PORT_MOD (OF1.3) (xid=0x17): port:1 addr:02:00:00:00:00:01 config:0x1/0x1 \
         advertise:0x0",
    );
}

#[test]
fn group_mod() {
    check(
        "04 0f 0050 00000017  0000 03 00 00000001
         0020 0000 00000001 ffffffff 00000000  0000 0010 00000001 0000 000000000000
         0020 0005 ffffffff ffffffff 00000000  0000 0010 00000002 0000 000000000000",
        Body::GroupMod(GroupMod {
            command: GroupModCommand::Add,
            type_: GroupType::FastFailover,
            group_id: 1,
            buckets: vec![
                Bucket {
                    weight: 0,
                    watch_port: 1,
                    watch_group: group::ANY,
                    actions: vec![Action::Output { port: 1, max_len: 0 }],
                },
                Bucket { weight: 5, ..Bucket::new(vec![Action::Output { port: 2, max_len: 0 }]) },
            ],
        }),
        "OFPT_GROUP_MOD (OF1.3) (xid=0x17): ADD group_id=1,type=ff,\
         bucket=watch_port:1,actions=output:1,bucket=weight:5,actions=output:2",
    );
}

#[test]
fn meter_mod() {
    check(
        "04 1d 0030 00000017  0000 0005 00000007
         0001 0010 00000400 0000000c 00000000
         0002 0010 00000200 00000006 01 000000",
        Body::MeterMod(MeterMod {
            command: MeterModCommand::Add,
            flags: meter_flag::KBPS | meter_flag::BURST,
            meter_id: 7,
            bands: vec![
                MeterBand::Drop { rate: 1024, burst_size: 12 },
                MeterBand::DscpRemark { rate: 512, burst_size: 6, prec_level: 1 },
            ],
        }),
        "OFPT_METER_MOD (OF1.3) (xid=0x17): ADD meter=7 kbps burst \
         bands=type=drop rate=1024 burst_size=12 \
         type=dscp_remark rate=512 burst_size=6 prec_level=1",
    );
}

#[test]
fn multipart_requests() {
    let check = |bytes: &str, body, text: &str| {
        let text = format!("OFPT_MULTIPART_REQUEST (OF1.3) (xid=0x17): {text}");
        check(bytes, Body::MultipartRequest(MultipartRequest::new(body)), &text);
    };
    check("04 12 0010 00000017  0000 0000 00000000", RequestBody::Desc, "DESC");
    check("04 12 0010 00000017  000d 0000 00000000", RequestBody::PortDescription, "PORT_DESC");
    check(
        "04 12 0038 00000017  0001 0000 00000000
         ff 000000 ffffffff ffffffff 00000000 0000000000000000 0000000000000000
         0001 0004 00000000",
        RequestBody::Flow(FlowStatsRequest::ALL),
        "FLOW table=ALL",
    );
    check(
        "04 12 0018 00000017  0005 0000 00000000  00000001 ffffffff",
        RequestBody::Queue { port_no: 1, queue_id: 0xffff_ffff },
        "QUEUE port=1 queue=ALL",
    );
    check(
        "04 12 0018 00000017  000a 0000 00000000  ffffffff 00000000",
        RequestBody::MeterConfig { meter_id: 0xffff_ffff },
        "METER_CONFIG meter=ALL",
    );
}

#[test]
fn multipart_reply_with_flows() {
    check(
        "04 13 0050 00000017  0001 0001 00000000
         0040 01 00 00000002 00000000 0064 0000 0000 0000 00000000
         0000000000000005 0000000000000006 0000000000000007
         0001 0004 00000000  0006 0008 00000001",
        Body::MultipartReply(MultipartReply {
            flags: 1,
            body: ReplyBody::Flow(vec![FlowStats {
                table_id: 1,
                duration_sec: 2,
                duration_nsec: 0,
                priority: 100,
                idle_timeout: 0,
                hard_timeout: 0,
                flags: 0,
                cookie: 5,
                packet_count: 6,
                byte_count: 7,
                match_: Match::ANY,
                instructions: vec![Instruction::Meter(1)],
            }]),
        }),
        "OFPT_MULTIPART_REPLY (OF1.3) (xid=0x17): FLOW [cookie=0x5, duration=2.000s, table=1, \
         n_packets=6, n_bytes=7, priority=100 actions=meter:1] (more)",
    );
}

#[test]
fn multipart_reply_with_meters_groups_and_queues() {
    let check = |bytes: &str, body, text: &str| {
        let text = format!("OFPT_MULTIPART_REPLY (OF1.3) (xid=0x17): {text}");
        check(bytes, Body::MultipartReply(MultipartReply::new(body)), &text);
    };
    check(
        "04 13 0048 00000017  0009 0000 00000000
         00000007 0038 000000000000 00000001 0000000000000002 0000000000000003
         00000004 00000005  0000000000000006 0000000000000007",
        ReplyBody::Meter(vec![MeterStats {
            meter_id: 7,
            flow_count: 1,
            packet_in_count: 2,
            byte_in_count: 3,
            duration_sec: 4,
            duration_nsec: 5,
            bands: vec![BandStats { packet_band_count: 6, byte_band_count: 7 }],
        }]),
        "METER 1 meters",
    );
    check(
        "04 13 0048 00000017  0006 0000 00000000
         0038 0000 00000001 00000002 00000000 0000000000000003 0000000000000004
         00000005 00000006  0000000000000007 0000000000000008",
        ReplyBody::Group(vec![GroupStats {
            group_id: 1,
            ref_count: 2,
            packet_count: 3,
            byte_count: 4,
            duration_sec: 5,
            duration_nsec: 6,
            buckets: vec![BucketStats { packet_count: 7, byte_count: 8 }],
        }]),
        "GROUP 1 groups",
    );
    check(
        "04 13 0038 00000017  0005 0000 00000000
         00000001 00000002 0000000000000003 0000000000000004 0000000000000005 00000006 00000007",
        ReplyBody::Queue(vec![QueueStats {
            port_no: 1,
            queue_id: 2,
            tx_bytes: 3,
            tx_packets: 4,
            tx_errors: 5,
            duration_sec: 6,
            duration_nsec: 7,
        }]),
        "QUEUE 1 queues",
    );
    check(
        "04 13 0020 00000017  000b 0000 00000000  000007d0 00000006 0000000f 01 00 0000",
        ReplyBody::MeterFeatures(MeterFeatures {
            max_meter: 2000,
            band_types: 6,
            capabilities: 15,
            max_bands: 1,
            max_color: 0,
        }),
        "METER_FEATURES max_meter=2000 max_bands=1 band_types=0x6 capabilities=0xf",
    );
}

#[test]
fn what_is_not_known_is_kept() {
    check(
        "04 1e 0010 00000017  01 000000 00000003",
        Body::Unknown { type_: 30, body: vec![1, 0, 0, 0, 0, 0, 0, 3] },
        "OFPT_UNKNOWN (OF1.3) (xid=0x17): type=30 8 bytes",
    );
    check(
        "04 04 0012 00000017  00002320 0000000a  0102",
        Body::Experimenter(Experimenter::Unknown {
            experimenter: 0x2320,
            exp_type: 10,
            data: vec![1, 2],
        }),
        "OFPT_EXPERIMENTER (OF1.3) (xid=0x17): id=0x00002320 type=10 2 bytes",
    );
}
