//! Header fields of packets.

use crate::reactive::{Arp, Headers, Network, Transport, TransportFlow, Vlan};
use core::net::Ipv4Addr;
use proptest::prelude::*;
use tenuto_openflow::{Match, Oxm};

const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

fn frame(parts: &[&[u8]]) -> Vec<u8> {
    [&ADDRESSES[..]].iter().chain(parts).flat_map(|part| part.iter().copied()).collect()
}

/// An IPv4 header without options, its fragment field and protocol given; DSCP 46.
fn ipv4(fragment: u16, protocol: u8) -> Vec<u8> {
    let [high, low] = fragment.to_be_bytes();
    vec![0x45, 0xb8, 0, 40, 0, 0, high, low, 63, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
}

fn ipv6(next: u8) -> Vec<u8> {
    let mut header = vec![0x6b, 0x80, 0, 0, 0, 8, next, 64];
    for last in [1, 2] {
        header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    header
}

const PORTS: [u8; 4] = [0x1f, 0x90, 0, 80];

#[test]
fn tcp_behind_two_tags() {
    let segment = [&PORTS[..], &[0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x12]].concat();
    let tags = [0x88, 0xa8, 0x60, 7, 0x81, 0, 0, 9, 8, 0];
    let headers = Headers::parse(&frame(&[&tags, &ipv4(0x4000, 6), &segment]));
    let tag = |id, priority| Some(Vlan { id, priority });
    assert_eq!((headers.vlans, headers.eth_type), ([tag(7, 3), tag(9, 0)], 0x800));
    let ip = headers.ip().expect("IPv4");
    assert_eq!((ip.src, ip.dst), ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()));
    assert_eq!((ip.protocol, ip.dscp, ip.ttl, ip.is_fragment), (6, 46, 63, false));
    assert_eq!(headers.transport, Transport::Tcp { src: 8080, dst: 80, flags: 0x12 });
}

#[test]
fn a_flow_and_its_replies_are_matched() {
    let headers = Headers::parse(&frame(&[&[8, 0], &ipv4(0, 17), &PORTS]));
    let flow = TransportFlow::of(&headers).expect("UDP");
    let matching = |src, dst, from, to| {
        let mask = None;
        Match::from(vec![
            Oxm::EthType(0x800),
            Oxm::IpProto(17),
            Oxm::Ipv4Src { value: src, mask },
            Oxm::Ipv4Dst { value: dst, mask },
            Oxm::UdpSrc { value: from, mask: None },
            Oxm::UdpDst { value: to, mask: None },
        ])
    };
    let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    assert_eq!(flow.matching(), matching(a, b, 8080, 80));
    assert_eq!(flow.reversed().matching(), matching(b, a, 80, 8080));
    assert!(flow.matching().check().is_ok());
}

#[test]
fn extension_headers_are_read_over() {
    let options = [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let headers = Headers::parse(&frame(&[&[0x86, 0xdd], &ipv6(0), &options, &PORTS]));
    let ip = headers.ip().expect("IPv6");
    assert_eq!((ip.protocol, ip.dscp, ip.ttl, ip.is_fragment), (17, 46, 64, false));
    assert_eq!(headers.transport, Transport::Udp { src: 8080, dst: 80 });
    let flow = TransportFlow::of(&headers).expect("UDP");
    assert!(flow.matching().check().is_ok());
    // A chain without end.
    let chain = [0u8; 8].repeat(20);
    let headers = Headers::parse(&frame(&[&[0x86, 0xdd], &ipv6(0), &chain, &PORTS]));
    assert_eq!(headers.transport, Transport::Other);
}

#[test]
fn fragments_have_no_flow() {
    for (fragment, has_ports) in [(0x2000, true), (1, false)] {
        let headers = Headers::parse(&frame(&[&[8, 0], &ipv4(fragment, 17), &PORTS]));
        assert_eq!(headers.transport != Transport::Other, has_ports);
        assert!(headers.ip().expect("IPv4").is_fragment);
        assert_eq!(TransportFlow::of(&headers), None);
    }
    for (offset, has_ports) in [(1, true), (9, false)] {
        let fragment = [17, 0, 0, offset, 0, 0, 0, 1];
        let headers = Headers::parse(&frame(&[&[0x86, 0xdd], &ipv6(44), &fragment, &PORTS]));
        assert_eq!(headers.transport != Transport::Other, has_ports);
        assert_eq!(TransportFlow::of(&headers), None);
    }
}

#[test]
fn an_arp_request() {
    let ask =
        [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
    let headers = Headers::parse(&frame(&[&[8, 6], &ask]));
    let arp = Arp {
        operation: 1,
        sender_mac: [2, 0, 0, 0, 0, 1],
        sender_ip: Ipv4Addr::new(10, 0, 0, 1),
        target_mac: [0; 6],
        target_ip: Ipv4Addr::new(10, 0, 0, 2),
    };
    assert_eq!((headers.arp(), headers.eth_type), (Some(arp), 0x806));
    let mut other = ask;
    other[5] = 16;
    assert_eq!(Headers::parse(&frame(&[&[8, 6], &other])).network, Network::Other);
}

#[test]
fn a_length_is_no_ether_type() {
    assert_eq!(Headers::parse(&frame(&[&[0, 40, 0xaa, 0xaa]])).eth_type, 0x5ff);
}

proptest! {
    #[test]
    fn any_bytes_give_headers(bytes in prop::collection::vec(any::<u8>(), 0..160), kind in 0..4usize) {
        let start = [&[8, 0, 0x45][..], &[0x86, 0xdd, 0x60], &[8, 6, 0], &[0x81, 0, 0]][kind];
        let _ = Headers::parse(&frame(&[start, &bytes]));
        let _ = Headers::parse(&bytes);
    }

    #[test]
    fn a_shorter_packet_never_says_more(cut in 0..54usize) {
        let whole = frame(&[&[8, 0], &ipv4(0, 6), &PORTS, &[0; 16]]);
        let (long, short) = (Headers::parse(&whole), Headers::parse(&whole[..cut]));
        prop_assert!(short.ip().is_none() || short.ip() == long.ip());
        let is_less = matches!(short.transport, Transport::Other | Transport::Tcp { flags: 0, .. });
        prop_assert!(is_less);
    }
}
