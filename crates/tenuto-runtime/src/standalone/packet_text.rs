//! Frames as text: `in_port=1,eth_type=0x800,ipv4_dst=10.0.0.1,tcp_dst=80`, both ways.
//!
//! Fields have the names of OpenFlow 1.3, or those of Open vSwitch. What is left out is what an
//! ordinary packet of its kind has.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use tenuto_dataplane::switch::BehindExtensions;

/// Shortest frame without FCS.
const FRAME_BYTES_MIN: usize = 60;
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
const IPV6: u16 = 0x86dd;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;

/// Names of Open vSwitch, and what they are called here.
const OTHER_NAMES: [(&str, &str); 16] = [
    ("dl_src", "eth_src"),
    ("dl_dst", "eth_dst"),
    ("dl_type", "eth_type"),
    ("dl_vlan", "vlan_vid"),
    ("dl_vlan_pcp", "vlan_pcp"),
    ("nw_src", "ipv4_src"),
    ("nw_dst", "ipv4_dst"),
    ("nw_proto", "ip_proto"),
    ("nw_ttl", "ip_ttl"),
    ("ip_src", "ipv4_src"),
    ("ip_dst", "ipv4_dst"),
    ("tp_src", "l4_src"),
    ("tp_dst", "l4_dst"),
    ("icmp_type", "icmpv4_type"),
    ("icmp_code", "icmpv4_code"),
    ("nw_tos", "ip_tos"),
];
const NAMES: [&str; 31] = [
    "in_port",
    "eth_src",
    "eth_dst",
    "eth_type",
    "vlan_vid",
    "vlan_pcp",
    "ip_proto",
    "ip_dscp",
    "ip_ecn",
    "ip_tos",
    "ip_ttl",
    "ipv4_src",
    "ipv4_dst",
    "ipv6_src",
    "ipv6_dst",
    "l4_src",
    "l4_dst",
    "tcp_src",
    "tcp_dst",
    "udp_src",
    "udp_dst",
    "sctp_src",
    "sctp_dst",
    "icmpv4_type",
    "icmpv4_code",
    "icmpv6_type",
    "icmpv6_code",
    "arp_op",
    "arp_spa",
    "arp_tpa",
    "length",
];
/// Words that stand for a type and a protocol.
const WORDS: [(&str, u16, Option<u8>); 8] = [
    ("ip", IPV4, None),
    ("ipv6", IPV6, None),
    ("arp", ARP, None),
    ("icmp", IPV4, Some(ICMP)),
    ("tcp", IPV4, Some(TCP)),
    ("udp", IPV4, Some(UDP)),
    ("sctp", IPV4, Some(SCTP)),
    ("icmp6", IPV6, Some(ICMPV6)),
];

/// A frame and the port that it enters by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketText {
    /// The port; `None` if it is not said.
    pub in_port: Option<u32>,
    /// The frame, without FCS.
    pub frame: Vec<u8>,
}

#[derive(Default)]
struct Fields<'a> {
    texts: BTreeMap<&'static str, &'a str>,
    eth_type: Option<u16>,
    proto: Option<u8>,
}

impl<'a> Fields<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let mut fields = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                let word = WORDS.iter().find(|(word, ..)| *word == part);
                let (_, eth_type, proto) =
                    word.ok_or_else(|| format!("`{part}` is no FIELD=VALUE"))?;
                (fields.eth_type, fields.proto) = (Some(*eth_type), *proto);
                continue;
            };
            let other = OTHER_NAMES.iter().find(|(known, _)| *known == name);
            let name = other.map_or(name, |(_, ours)| *ours);
            let known = NAMES.iter().find(|known| **known == name).ok_or_else(|| {
                let hint = tenuto_model::meant(name, NAMES).unwrap_or_default();
                format!("no field is called `{name}`: {hint}")
            })?;
            if fields.texts.insert(known, value.trim()).is_some() {
                return Err(format!("{name} is said twice"));
            }
        }
        fields.infer()?;
        Ok(fields)
    }

    /// What the fields that are there say about type and protocol.
    fn infer(&mut self) -> Result<(), String> {
        if let Some(eth_type) = self.number("eth_type", 0xffff)? {
            self.eth_type = u16::try_from(eth_type).ok();
        }
        if let Some(proto) = self.number("ip_proto", 0xff)? {
            self.proto = u8::try_from(proto).ok();
        }
        let has = |prefix: &str| self.texts.keys().any(|name| name.starts_with(prefix));
        let by_field =
            [("tcp_", TCP), ("udp_", UDP), ("sctp_", SCTP), ("icmpv4_", ICMP), ("icmpv6_", ICMPV6)];
        let proto = by_field.iter().find(|(prefix, _)| has(prefix)).map(|(_, proto)| *proto);
        let of_type = [("ipv6_", IPV6), ("icmpv6_", IPV6), ("arp_", ARP), ("ipv4_", IPV4)];
        let eth_type = of_type.iter().find(|(prefix, _)| has(prefix)).map(|(_, type_)| *type_);
        let is_ip = has("ip_") || proto.is_some() || has("l4_");
        self.proto = self.proto.or(proto);
        self.eth_type = self.eth_type.or(eth_type).or(is_ip.then_some(IPV4));
        if has("l4_") && self.proto.is_none() {
            return Err("of which protocol are these ports? add tcp, udp or ip_proto=N".into());
        }
        Ok(())
    }

    fn number(&self, name: &str, max: u64) -> Result<Option<u64>, String> {
        let Some(text) = self.texts.get(name) else { return Ok(None) };
        let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
        let number = hex.unwrap_or_else(|| text.parse()).ok().filter(|number| *number <= max);
        let wrong = || format!("{name}: `{text}` is no number up to {max}");
        number.map(Some).ok_or_else(wrong)
    }

    fn byte(&self, name: &str, otherwise: u8) -> Result<u8, String> {
        let number = self.number(name, 0xff)?;
        Ok(number.and_then(|number| u8::try_from(number).ok()).unwrap_or(otherwise))
    }

    fn short(&self, names: &[&str], otherwise: u16) -> Result<u16, String> {
        for name in names {
            if let Some(number) = self.number(name, 0xffff)? {
                return Ok(u16::try_from(number).unwrap_or(otherwise));
            }
        }
        Ok(otherwise)
    }

    fn mac(&self, name: &str, otherwise: [u8; 6]) -> Result<[u8; 6], String> {
        let Some(text) = self.texts.get(name) else { return Ok(otherwise) };
        let bytes: Vec<_> = text.split(':').map(|part| u8::from_str_radix(part, 16)).collect();
        let bytes: Result<Vec<u8>, _> = bytes.into_iter().collect();
        let whole = bytes.ok().and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
        whole.ok_or_else(|| format!("{name}: `{text}` is no address such as 02:00:00:00:00:01"))
    }

    fn address<A: std::str::FromStr>(&self, name: &str, otherwise: A) -> Result<A, String> {
        match self.texts.get(name) {
            None => Ok(otherwise),
            Some(text) => text.parse().map_err(|_| format!("{name}: `{text}` is no address")),
        }
    }
}

impl PacketText {
    /// Builds the frame that the fields describe.
    ///
    /// # Errors
    /// Names the field that cannot be read, and what would fit.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fields = Fields::read(text)?;
        let in_port = fields.number("in_port", u32::MAX.into())?;
        let mut frame = Vec::new();
        frame.extend(fields.mac("eth_dst", [2, 0, 0, 0, 0, 2])?);
        frame.extend(fields.mac("eth_src", [2, 0, 0, 0, 0, 1])?);
        if fields.texts.contains_key("vlan_vid") || fields.texts.contains_key("vlan_pcp") {
            // As matches have it, the bit of presence may be set.
            let id = fields.number("vlan_vid", 0x1fff)?.unwrap_or(0) & 0xfff;
            let priority = fields.number("vlan_pcp", 7)?.unwrap_or(0);
            frame.extend(VLAN.to_be_bytes());
            frame.extend(u16::try_from(priority << 13 | id).unwrap_or(0).to_be_bytes());
        }
        let eth_type = fields.eth_type.unwrap_or(0x88b5);
        frame.extend(eth_type.to_be_bytes());
        match eth_type {
            IPV4 => ipv4(&fields, &mut frame)?,
            IPV6 => ipv6(&fields, &mut frame)?,
            ARP => arp(&fields, &mut frame)?,
            _ => {}
        }
        let length = fields.number("length", 1_518)?.and_then(|n| usize::try_from(n).ok());
        frame.resize(frame.len().max(length.unwrap_or(0)).max(FRAME_BYTES_MIN), 0);
        Ok(Self { in_port: in_port.and_then(|port| u32::try_from(port).ok()), frame })
    }
}

/// The transport header, as long as it matters to tables, and without a sum over itself.
fn transport(fields: &Fields<'_>, proto: u8) -> Result<Vec<u8>, String> {
    let source = fields.short(&["tcp_src", "udp_src", "sctp_src", "l4_src"], 1)?;
    let target = fields.short(&["tcp_dst", "udp_dst", "sctp_dst", "l4_dst"], 2)?;
    let ports = [source.to_be_bytes(), target.to_be_bytes()].concat();
    Ok(match proto {
        TCP => [&ports[..], &[0; 8], &[0x50, 0x10, 0x20, 0, 0, 0, 0, 0]].concat(),
        UDP => [&ports[..], &[0, 8, 0, 0]].concat(),
        SCTP => [&ports[..], &[0; 8]].concat(),
        ICMP => vec![fields.byte("icmpv4_type", 8)?, fields.byte("icmpv4_code", 0)?, 0, 0],
        ICMPV6 => vec![fields.byte("icmpv6_type", 128)?, fields.byte("icmpv6_code", 0)?, 0, 0],
        _ => Vec::new(),
    })
}

fn traffic_class(fields: &Fields<'_>) -> Result<u8, String> {
    let (dscp, ecn) = (fields.number("ip_dscp", 63)?, fields.number("ip_ecn", 3)?);
    let stated = dscp.unwrap_or(0) << 2 | ecn.unwrap_or(0);
    fields.byte("ip_tos", u8::try_from(stated).unwrap_or(0))
}

fn ipv4(fields: &Fields<'_>, frame: &mut Vec<u8>) -> Result<(), String> {
    let proto = fields.proto.unwrap_or(0);
    let payload = transport(fields, proto)?;
    let length = u16::try_from(20 + payload.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut header = vec![0x45, traffic_class(fields)?];
    header.extend(length);
    header.extend([0, 0, 0, 0, fields.byte("ip_ttl", 64)?, proto, 0, 0]);
    header.extend(fields.address("ipv4_src", Ipv4Addr::new(10, 0, 0, 1))?.octets());
    header.extend(fields.address("ipv4_dst", Ipv4Addr::new(10, 0, 0, 2))?.octets());
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let mut sum: u32 = words.sum();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    let sum = u16::try_from(!sum & 0xffff).unwrap_or(0);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend(payload);
    Ok(())
}

fn ipv6(fields: &Fields<'_>, frame: &mut Vec<u8>) -> Result<(), String> {
    // 59: no next header.
    let proto = fields.proto.unwrap_or(59);
    let payload = transport(fields, proto)?;
    let class = traffic_class(fields)?;
    frame.extend([0x60 | class >> 4, class << 4, 0, 0]);
    frame.extend(u16::try_from(payload.len()).unwrap_or(u16::MAX).to_be_bytes());
    frame.extend([proto, fields.byte("ip_ttl", 64)?]);
    let here = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    let there = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
    frame.extend(fields.address("ipv6_src", here)?.octets());
    frame.extend(fields.address("ipv6_dst", there)?.octets());
    frame.extend(payload);
    Ok(())
}

fn arp(fields: &Fields<'_>, frame: &mut Vec<u8>) -> Result<(), String> {
    let source = fields.mac("eth_src", [2, 0, 0, 0, 0, 1])?;
    frame.extend([0, 1, 8, 0, 6, 4]);
    frame.extend(fields.short(&["arp_op"], 1)?.to_be_bytes());
    frame.extend(source);
    frame.extend(fields.address("arp_spa", Ipv4Addr::new(10, 0, 0, 1))?.octets());
    frame.extend([0; 6]);
    frame.extend(fields.address("arp_tpa", Ipv4Addr::new(10, 0, 0, 2))?.octets());
    Ok(())
}

fn short_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

fn mac_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

/// The fields of a frame that people look at first, in the form that [`PacketText::parse`] reads.
pub fn describe_frame(frame: &[u8]) -> String {
    let (Some(target), Some(source)) = (frame.get(..6), frame.get(6..12)) else {
        return format!("{} bytes, no Ethernet frame", frame.len());
    };
    let mut text = format!("eth_src={},eth_dst={}", mac_text(source), mac_text(target));
    let mut at = 12;
    while let Some(VLAN | SERVICE_VLAN) = short_at(frame, at) {
        let tag = short_at(frame, at + 2).unwrap_or(0);
        text.push_str(&format!(",vlan_vid={},vlan_pcp={}", tag & 0xfff, tag >> 13));
        at += 4;
    }
    let Some(eth_type) = short_at(frame, at) else { return text };
    text.push_str(&format!(",eth_type=0x{eth_type:04x}"));
    describe_network(eth_type, frame.get(at + 2..).unwrap_or_default(), &mut text);
    text
}

fn describe_network(eth_type: u16, packet: &[u8], text: &mut String) {
    let v4 = |at: usize| -> Option<Ipv4Addr> {
        packet.get(at..)?.first_chunk::<4>().copied().map(Ipv4Addr::from)
    };
    let v6 = |at: usize| -> Option<Ipv6Addr> {
        packet.get(at..)?.first_chunk::<16>().copied().map(Ipv6Addr::from)
    };
    match eth_type {
        IPV4 => {
            let (Some(source), Some(target)) = (v4(12), v4(16)) else { return };
            text.push_str(&format!(",ipv4_src={source},ipv4_dst={target}"));
            text.push_str(&format!(",ip_tos={},ip_ttl={}", packet[1], packet[8]));
            let header = usize::from(packet[0] & 15) * 4;
            let is_later = short_at(packet, 6).is_some_and(|it| it & 0x1fff != 0);
            describe_transport(packet[9], packet.get(header..), is_later, text);
        }
        IPV6 => {
            let (Some(source), Some(target)) = (v6(8), v6(24)) else { return };
            text.push_str(&format!(",ipv6_src={source},ipv6_dst={target},ip_ttl={}", packet[7]));
            let Some(carried) = BehindExtensions::of(packet) else { return };
            describe_transport(carried.proto, carried.segment, carried.is_later_fragment, text);
        }
        MPLS | MPLS_MULTICAST => {
            for label in packet.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)) {
                let (number, class, bottom) = (label >> 12, label >> 9 & 7, label >> 8 & 1);
                text.push_str(&format!(",mpls_label={number},mpls_tc={class},mpls_bos={bottom}"));
                if bottom == 1 {
                    break;
                }
            }
        }
        ARP => {
            let (Some(source), Some(target)) = (v4(14), v4(24)) else { return };
            let operation = short_at(packet, 6).unwrap_or(0);
            text.push_str(&format!(",arp_op={operation},arp_spa={source},arp_tpa={target}"));
        }
        _ => {}
    }
}

/// What a frame says of the protocol behind IP: its ports or its type, if it can be read.
fn describe_transport(proto: u8, segment: Option<&[u8]>, is_later: bool, text: &mut String) {
    text.push_str(&format!(",ip_proto={proto}"));
    if is_later {
        return text.push_str(" (a later fragment)");
    }
    let Some(segment) = segment else { return };
    let name = match proto {
        TCP => "tcp",
        UDP => "udp",
        SCTP => "sctp",
        ICMP | ICMPV6 => {
            let version = if proto == ICMP { "icmpv4" } else { "icmpv6" };
            if let [type_, code, ..] = segment {
                text.push_str(&format!(",{version}_type={type_},{version}_code={code}"));
            }
            return;
        }
        _ => return,
    };
    if let (Some(source), Some(target)) = (short_at(segment, 0), short_at(segment, 2)) {
        text.push_str(&format!(",{name}_src={source},{name}_dst={target}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_described_is_built_and_described_again() {
        for text in [
            "eth_src=02:00:00:00:00:0a,eth_dst=02:00:00:00:00:0b,eth_type=0x0800,ipv4_src=1.2.3.4,\
             ipv4_dst=5.6.7.8,ip_tos=184,ip_ttl=9,ip_proto=6,tcp_src=80,tcp_dst=8080",
            "eth_src=02:00:00:00:00:0a,eth_dst=02:00:00:00:00:0b,vlan_vid=7,vlan_pcp=3,\
             eth_type=0x86dd,ipv6_src=fd00::a,ipv6_dst=fd00::b,ip_ttl=64,ip_proto=58,\
             icmpv6_type=135,icmpv6_code=0",
            "eth_src=02:00:00:00:00:0a,eth_dst=ff:ff:ff:ff:ff:ff,eth_type=0x0806,arp_op=2,\
             arp_spa=10.0.0.3,arp_tpa=10.0.0.4",
            "eth_src=02:00:00:00:00:0a,eth_dst=02:00:00:00:00:0b,eth_type=0x88b5",
        ] {
            let packet = PacketText::parse(text).expect("it is well-formed");
            assert_eq!(describe_frame(&packet.frame), text);
            assert_eq!((packet.in_port, packet.frame.len() >= 60), (None, true));
        }
    }

    #[test]
    fn names_of_open_vswitch_say_the_same() {
        let ours = PacketText::parse("in_port=3,eth_type=0x800,ipv4_dst=1.2.3.4,udp_dst=53");
        assert_eq!(ours, PacketText::parse("in_port=3,udp,nw_dst=1.2.3.4,tp_dst=53"));
        assert_eq!(ours.map(|packet| packet.in_port), Ok(Some(3)));
    }

    #[test]
    fn errors_name_the_field() {
        for (text, part) in [
            ("eth_tpye=0x800", "did you mean"),
            ("ipv4_dst=1.2.3", "ipv4_dst"),
            ("l4_dst=80", "protocol"),
            ("tcp_dst=70000", "tcp_dst"),
            ("eth_src=1:2", "eth_src"),
            ("udp,udp_dst=1,udp_dst=2", "twice"),
            ("nonsense", "FIELD=VALUE"),
        ] {
            let error = PacketText::parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn fragments_labels_and_extension_headers_are_told() {
        let mut frame = PacketText::parse("udp,udp_src=1,udp_dst=2").expect("well-formed").frame;
        assert!(describe_frame(&frame).ends_with("ip_proto=17,udp_src=1,udp_dst=2"));
        frame[21] = 5;
        let told = describe_frame(&frame);
        assert!(told.ends_with("ip_proto=17 (a later fragment)"), "it has no ports: {told}");
        frame[12..22].copy_from_slice(&[0x88, 0x47, 0, 1, 0x04, 64, 0, 2, 0x0b, 9]);
        let labels = "mpls_label=16,mpls_tc=2,mpls_bos=0,mpls_label=32,mpls_tc=5,mpls_bos=1";
        assert!(describe_frame(&frame).ends_with(labels), "{}", describe_frame(&frame));
        let mut frame = PacketText::parse("ipv6,ip_proto=60").expect("well-formed").frame;
        frame.truncate(54);
        frame.extend([44, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend([17, 0, 0, 1, 0, 0, 0, 7]);
        frame.extend([0, 80, 0, 90, 0, 8, 0, 0]);
        assert!(describe_frame(&frame).ends_with("ip_proto=17,udp_src=80,udp_dst=90"));
        frame[65] = 9;
        assert!(describe_frame(&frame).ends_with("ip_proto=17 (a later fragment)"));
    }

    /// What is cut off or encrypted was called a later fragment, or read as if it were plain.
    #[test]
    fn what_cannot_be_read_is_no_fragment() {
        let mut frame = PacketText::parse("ipv6,ip_proto=60").expect("well-formed").frame;
        frame.truncate(54);
        frame.extend([6, 1, 0, 0, 0, 0, 0, 0]);
        assert!(describe_frame(&frame).ends_with(",ip_proto=6"), "the options are cut off");
        frame[54..56].copy_from_slice(&[50, 0]);
        frame.extend([0, 80, 0, 90, 0, 0, 0, 0]);
        assert!(describe_frame(&frame).ends_with(",ip_proto=50"), "it is encrypted");
        let frame = PacketText::parse("tcp").expect("well-formed").frame;
        assert!(describe_frame(&frame[..34]).ends_with(",ip_proto=6"), "the ports are cut off");
        let mut options = frame[..34].to_vec();
        options[14] = 0x46;
        assert!(describe_frame(&options).ends_with(",ip_proto=6"), "the options are cut off");
    }

    #[test]
    fn any_bytes_are_described() {
        let frame = PacketText::parse("tcp,vlan_vid=2").expect("well-formed").frame;
        for cut in 0..frame.len() {
            assert!(!describe_frame(&frame[..cut]).is_empty());
        }
    }
}
