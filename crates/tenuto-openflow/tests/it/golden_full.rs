//! Literal bytes of what only a switch of the whole of OpenFlow 1.3 needs: the other encapsulations,
//! IPv6, ARP, queues, asynchronous configuration, table features.

use tenuto_openflow::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let byte = |i: usize| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("two digits");
    (0..digits.len() / 2).map(byte).collect()
}

/// Bytes, value and text must all agree.
#[track_caller]
fn check(bytes: &str, body: Body, text: &str) {
    let bytes = hex(bytes);
    let message = Message { xid: 0x17, body };
    assert_eq!(Message::parse(&bytes).as_ref(), Ok(&message));
    assert_eq!(message.to_bytes(), bytes);
    assert_eq!(message.to_string(), format!("OFPT_{text}"));
}

/// A flow-mod with this match and these applied actions.
#[track_caller]
fn check_entry(
    match_bytes: &str,
    oxms: Vec<Oxm>,
    actions_bytes: &str,
    actions: Vec<Action>,
    text: &str,
) {
    let [fields, applied] = [match_bytes, actions_bytes].map(hex);
    let (match_len, padding) = (4 + fields.len(), (8 - (4 + fields.len()) % 8) % 8);
    let digits = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let bytes = format!(
        "04 0e {:04x} 00000017 0000000000000000 0000000000000000 00 00 0000 0000 8000
         ffffffff ffffffff ffffffff 0000 0000 0001 {match_len:04x} {} {:0>width$} 0004 {:04x} 00000000 {}",
        48 + match_len + padding + 8 + applied.len(),
        digits(&fields),
        "",
        8 + applied.len(),
        digits(&applied),
        width = 2 * padding,
    );
    let flow_mod = FlowMod {
        match_: Match::from(oxms),
        instructions: vec![Instruction::ApplyActions(actions)],
        ..FlowMod::new(FlowModCommand::Add, 0)
    };
    let text = format!("FLOW_MOD (OF1.3) (xid=0x17): ADD table:0 priority=32768,{text}");
    check(&bytes, Body::FlowMod(flow_mod), &text);
}

#[test]
fn neighbour_discovery_and_extension_headers() {
    let address = |last| [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let prefix = [255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    check_entry(
        "8000 0a 02 86dd  8000 14 01 3a  8000 34 10 20010db8000000000000000000000001
         8000 37 20 20010db8000000000000000000000000 ffffffff000000000000000000000000
         8000 39 08 00000123 000fffff  8000 3a 01 87  8000 3c 01 00
         8000 3e 10 20010db8000000000000000000000002  8000 40 06 020000000003
         8000 4f 04 0040 0041",
        vec![
            Oxm::EthType(0x86dd),
            Oxm::IpProto(58),
            Oxm::Ipv6Src { value: address(1), mask: None },
            Oxm::Ipv6Dst { value: address(0), mask: Some(prefix) },
            Oxm::Ipv6Flabel { value: 0x123, mask: Some(0xf_ffff) },
            Oxm::Icmpv6Type(135),
            Oxm::Icmpv6Code(0),
            Oxm::Ipv6NdTarget(address(2)),
            Oxm::Ipv6NdSll([2, 0, 0, 0, 0, 3]),
            Oxm::Ipv6Exthdr { value: 0x40, mask: Some(0x41) },
        ],
        "0019 0010 8000 42 06 020000000004 0000",
        vec![Action::SetField(Oxm::Ipv6NdTll([2, 0, 0, 0, 0, 4]))],
        "dl_type=0x86dd,nw_proto=58,ipv6_src=2001:db8::1,ipv6_dst=2001:db8::/32,\
         ipv6_label=0x123/0xfffff,icmpv6_type=135,icmpv6_code=0,nd_target=2001:db8::2,\
         nd_sll=02:00:00:00:00:03,ipv6_exthdr=0x40/0x41 actions=set_field:02:00:00:00:00:04->nd_tll",
    );
}

#[test]
fn tags_and_times_to_live() {
    check_entry(
        "8000 00 04 00000001  8000 02 04 00000002  8000 0a 02 8847
         8000 44 04 000fffff  8000 46 01 07  8000 48 01 01  8000 4c 08 0000000000000009",
        vec![
            Oxm::InPort(1),
            Oxm::InPhyPort(2),
            Oxm::EthType(0x8847),
            Oxm::MplsLabel(0xf_ffff),
            Oxm::MplsTc(7),
            Oxm::MplsBos(1),
            Oxm::TunnelId { value: 9, mask: None },
        ],
        "000b 0008 00000000  000c 0008 00000000  000f 0008 40 000000  0010 0008 00000000
         0013 0008 8847 0000  0014 0008 0800 0000  001a 0008 88e7 0000
         0019 0010 8000 4a 03 010203 0000000000  001b 0008 00000000",
        vec![
            Action::CopyTtlOut,
            Action::CopyTtlIn,
            Action::SetMplsTtl(64),
            Action::DecMplsTtl,
            Action::PushMpls(0x8847),
            Action::PopMpls(0x0800),
            Action::PushPbb(0x88e7),
            Action::SetField(Oxm::PbbIsid { value: [1, 2, 3], mask: None }),
            Action::PopPbb,
        ],
        "in_port=1,in_phy_port=2,dl_type=0x8847,mpls_label=1048575,mpls_tc=7,mpls_bos=1,tun_id=0x9 \
         actions=copy_ttl_out,copy_ttl_in,set_mpls_ttl:64,dec_mpls_ttl,push_mpls:0x8847,\
         pop_mpls:0x0800,push_pbb:0x88e7,set_field:0x10203->pbb_isid,pop_pbb",
    );
}

#[test]
fn arp_icmp_and_sctp() {
    check_entry(
        "8000 0a 02 0806  8000 2a 02 0001  8000 2c 04 0a000001  8000 2f 08 0a000000 ff000000
         8000 30 06 020000000001  8000 32 06 020000000002
         8000 22 02 0001  8000 24 02 0002  8000 26 01 08  8000 28 01 00",
        vec![
            Oxm::EthType(0x0806),
            Oxm::ArpOp(1),
            Oxm::ArpSpa { value: [10, 0, 0, 1], mask: None },
            Oxm::ArpTpa { value: [10, 0, 0, 0], mask: Some([255, 0, 0, 0]) },
            Oxm::ArpSha { value: [2, 0, 0, 0, 0, 1], mask: None },
            Oxm::ArpTha { value: [2, 0, 0, 0, 0, 2], mask: None },
            Oxm::SctpSrc { value: 1, mask: None },
            Oxm::SctpDst { value: 2, mask: None },
            Oxm::Icmpv4Type(8),
            Oxm::Icmpv4Code(0),
        ],
        "",
        vec![],
        "dl_type=0x0806,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.0/8,arp_sha=02:00:00:00:00:01,\
         arp_tha=02:00:00:00:00:02,sctp_src=1,sctp_dst=2,icmp_type=8,icmp_code=0 \
         actions=apply_actions()",
    );
}

#[test]
fn table_mod() {
    check(
        "04 11 0010 00000017  ff 000000 00000003",
        Body::TableMod(TableMod { table_id: 0xff, config: 3 }),
        "TABLE_MOD (OF1.3) (xid=0x17): table_id=ALL config=0x3",
    );
}

#[test]
fn queues() {
    check(
        "04 16 0010 00000017  ffffffff 00000000",
        Body::QueueGetConfigRequest { port: 0xffff_ffff },
        "QUEUE_GET_CONFIG_REQUEST (OF1.3) (xid=0x17): port=ANY",
    );
    check(
        "04 17 0052 00000017  00000001 00000000
         00000002 00000001 0042 000000000000
           0001 0010 00000000 01f4 000000000000  0002 0010 00000000 ffff 000000000000
           ffff 0012 00000000 00002320 00000000 abcd",
        Body::QueueGetConfigReply(QueueConfig {
            port: 1,
            queues: vec![PacketQueue {
                queue_id: 2,
                port: 1,
                properties: vec![
                    QueueProperty::MinRate(500),
                    QueueProperty::MaxRate(0xffff),
                    QueueProperty::Experimenter { experimenter: 0x2320, data: vec![0xab, 0xcd] },
                ],
            }],
        }),
        "QUEUE_GET_CONFIG_REPLY (OF1.3) (xid=0x17): port=1 \
         [queue=2 min_rate=500 max_rate=65535 experimenter[id=0x00002320,abcd]]",
    );
}

#[test]
fn asynchronous_configuration() {
    check("04 1a 0008 00000017", Body::GetAsyncRequest, "GET_ASYNC_REQUEST (OF1.3) (xid=0x17)");
    let config = AsyncConfig {
        packet_in_mask: [5, 1],
        port_status_mask: [7, 3],
        flow_removed_mask: [15, 0],
    };
    let bytes = "00000005 00000001 00000007 00000003 0000000f 00000000";
    let text = "master: packet_in=0x5 port_status=0x7 flow_removed=0xf \
                slave: packet_in=0x1 port_status=0x3 flow_removed=0x0";
    for (type_, body, name) in [
        ("1b", Body::GetAsyncReply(config), "GET_ASYNC_REPLY"),
        ("1c", Body::SetAsync(config), "SET_ASYNC"),
    ] {
        let bytes = format!("04 {type_} 0020 00000017 {bytes}");
        check(&bytes, body, &format!("{name} (OF1.3) (xid=0x17): {text}"));
    }
}

#[test]
fn table_features() {
    let list = vec![TableFeatures {
        table_id: 3,
        name: FixedText::new("three"),
        metadata_match: u64::MAX,
        metadata_write: 0xff,
        config: 3,
        max_entries: 1000,
        properties: vec![
            TableProperty::Instructions {
                miss: false,
                ids: vec![
                    FeatureId::new(1),
                    FeatureId { type_: 0xffff, data: vec![0, 0, 0x23, 0x20] },
                ],
            },
            TableProperty::NextTables { miss: true, tables: vec![4, 5, 6] },
            TableProperty::WriteActions { miss: false, ids: vec![FeatureId::new(0)] },
            TableProperty::Match(vec![OxmId::basic(11).expect("defined")]),
            TableProperty::ApplySetField {
                miss: false,
                ids: vec![OxmId {
                    class: 0xffff,
                    field: 1,
                    has_mask: false,
                    payload_len: 8,
                    experimenter: Some(0x2320),
                }],
            },
            TableProperty::Experimenter {
                miss: true,
                experimenter: 0x2320,
                exp_type: 7,
                data: vec![1],
            },
        ],
    }];
    let bytes =
        "0088 03 0000000000 7468726565 000000000000000000000000000000000000000000000000000000
         ffffffffffffffff 00000000000000ff 00000003 000003e8
         0000 0010 0001 0004 ffff 0008 00002320
         0003 0007 040506 00
         0004 0008 0000 0004
         0008 0008 8000 17 08
         000e 000c ffff 02 08 00002320 00000000
         ffff 000d 00002320 00000007 01 000000";
    check(
        &format!("04 13 0098 00000017  000c 0000 00000000 {bytes}"),
        Body::MultipartReply(MultipartReply::new(ReplyBody::TableFeatures(list.clone()))),
        "MULTIPART_REPLY (OF1.3) (xid=0x17): TABLE_FEATURES 1 tables",
    );
    check(
        &format!("04 12 0098 00000017  000c 0000 00000000 {bytes}"),
        Body::MultipartRequest(MultipartRequest::new(RequestBody::TableFeatures(list))),
        "MULTIPART_REQUEST (OF1.3) (xid=0x17): TABLE_FEATURES 1 tables",
    );
}
