//! The chain of IPv6 extension headers ([RFC 8200], section 4).

use tenuto_openflow::constants::ipv6_exthdr as flag;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ESP: u8 = 50;
const AUTHENTICATION: u8 = 51;
const NO_NEXT_HEADER: u8 = 59;
const DESTINATION: u8 = 60;
const FIXED_HEADER_BYTES: usize = 40;
/// Headers that are followed; no useful packet has more.
const HEADERS_MAX: usize = 16;

/// What a chain of headers leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The protocol behind the last extension header.
    pub(super) proto: u8,
    /// Where that begins.
    pub(super) payload: usize,
    /// Where the number of that protocol stands.
    pub(super) proto_at: usize,
    /// Which headers there were ([`flag`]).
    pub(super) flags: u16,
    /// Whether what follows can be read: it is there, not a later fragment and not encrypted.
    pub(super) is_readable: bool,
    /// Whether a routing header has segments left: the fixed header names the next stop only.
    pub(super) is_routed: bool,
    /// Whether a fragment header says that what follows is not the beginning of its packet.
    is_later_fragment: bool,
}

/// What an IPv6 packet carries behind its extension headers, as tables see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BehindExtensions<'a> {
    /// Number of the protocol.
    pub proto: u8,
    /// Its header and what follows; `None` where that cannot be read: in a later fragment, encrypted
    /// or cut off.
    pub segment: Option<&'a [u8]>,
    /// Whether the packet is a fragment other than the first.
    pub is_later_fragment: bool,
}

impl<'a> BehindExtensions<'a> {
    /// Of a packet that begins with its fixed header; `None` where that is cut off.
    pub fn of(packet: &'a [u8]) -> Option<Self> {
        packet.get(..FIXED_HEADER_BYTES)?;
        let chain = follow(packet, 0);
        let segment = packet.get(chain.payload..).filter(|_| chain.is_readable);
        let Chain { proto, is_later_fragment, .. } = chain;
        Some(Self { proto, segment, is_later_fragment })
    }
}

/// Follows the chain of a packet whose fixed header begins at `at`.
pub(super) fn follow(bytes: &[u8], at: usize) -> Chain {
    let mut chain = Chain {
        proto: bytes[at + 6],
        payload: at + FIXED_HEADER_BYTES,
        proto_at: at + 6,
        flags: 0,
        is_readable: true,
        is_routed: false,
        is_later_fragment: false,
    };
    let (mut order, mut destinations) = (0, 0);
    for _ in 0..HEADERS_MAX {
        let Some((bit, rank)) = known(chain.proto, chain.flags) else { return chain };
        destinations += u8::from(bit == flag::DEST);
        // Two of destination options are expected (OpenFlow 1.3.5, section 7.2.3.8).
        if chain.flags & bit != 0 && (bit != flag::DEST || destinations > 2) {
            chain.flags |= flag::UNREP;
        }
        if rank < order {
            chain.flags |= flag::UNSEQ;
        }
        order = order.max(rank);
        chain.flags |= bit;
        if matches!(chain.proto, NO_NEXT_HEADER | ESP) {
            chain.is_readable = false;
            return chain;
        }
        let Some(&[next, units, high, low]) =
            bytes.get(chain.payload..).and_then(|b| b.first_chunk())
        else {
            chain.is_readable = false;
            return chain;
        };
        let len = match chain.proto {
            FRAGMENT => 8,
            AUTHENTICATION => (usize::from(units) + 2) * 4,
            _ => (usize::from(units) + 1) * 8,
        };
        chain.is_routed |= chain.proto == ROUTING && low != 0;
        let is_later_fragment = chain.proto == FRAGMENT && (high != 0 || low & 0xf8 != 0);
        chain =
            Chain { proto: next, proto_at: chain.payload, payload: chain.payload + len, ..chain };
        if is_later_fragment {
            // `next` is what the first fragment begins with; here bytes of its middle follow.
            return Chain { is_readable: false, is_later_fragment, ..chain };
        }
    }
    chain.is_readable = false;
    chain
}

/// The flag of an extension header and its rank in the order of RFC 8200, section 4.1; `None` for
/// what is none. Destination options stand before a routing header or last of all.
const fn known(proto: u8, seen: u16) -> Option<(u16, u8)> {
    Some(match proto {
        HOP_BY_HOP => (flag::HOP, 1),
        DESTINATION if seen & !(flag::HOP | flag::UNREP) == 0 => (flag::DEST, 2),
        ROUTING => (flag::ROUTER, 3),
        FRAGMENT => (flag::FRAG, 4),
        AUTHENTICATION => (flag::AUTH, 5),
        ESP => (flag::ESP, 6),
        DESTINATION => (flag::DEST, 7),
        NO_NEXT_HEADER => (flag::NONEXT, 8),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed header and extension headers of 8 bytes each, in this order, before TCP.
    fn flags(headers: &[u8]) -> (u8, u16) {
        let mut bytes = vec![0; 40 + 8 * headers.len()];
        let next = |place: usize| headers.get(place).copied().unwrap_or(6);
        bytes[6] = next(0);
        for place in 0..headers.len() {
            bytes[40 + 8 * place] = next(place + 1);
        }
        let chain = follow(&bytes, 0);
        (chain.proto, chain.flags)
    }

    #[test]
    fn headers_are_noted_with_order_and_repetition() {
        assert_eq!(flags(&[]), (6, 0));
        assert_eq!(
            flags(&[0, 60, 43, 44]),
            (6, flag::HOP | flag::DEST | flag::ROUTER | flag::FRAG)
        );
        assert_eq!(flags(&[43, 60]), (6, flag::ROUTER | flag::DEST));
        assert_eq!(flags(&[44, 43]), (6, flag::FRAG | flag::ROUTER | flag::UNSEQ));
        assert_eq!(flags(&[43, 43]), (6, flag::ROUTER | flag::UNREP));
        let twice = flag::HOP | flag::UNREP;
        assert_eq!(flags(&[0, 0, 60, 43]), (6, twice | flag::DEST | flag::ROUTER));
        assert_eq!(flags(&[60, 60]), (6, flag::DEST));
        assert_eq!(flags(&[60, 60, 60]), (6, flag::DEST | flag::UNREP));
        assert_eq!(flags(&[59]), (59, flag::NONEXT));
        assert_eq!(flags(&[50]), (50, flag::ESP));
    }

    /// Its header names destination options, which are in the first fragment: what is here looks like
    /// options that lead to a routing header, and is payload.
    #[test]
    fn payload_of_a_later_fragment_is_not_read_as_headers() {
        let mut bytes = vec![0; 64];
        bytes[6] = FRAGMENT;
        (bytes[40], bytes[43]) = (DESTINATION, 8);
        bytes[48] = ROUTING;
        let chain = follow(&bytes, 0);
        assert_eq!((chain.proto, chain.flags), (DESTINATION, flag::FRAG));
        assert_eq!((chain.proto_at, chain.payload), (40, 48));
        assert!(chain.is_later_fragment && !chain.is_readable);
        bytes[43] = 1;
        assert_eq!(
            follow(&bytes, 0).flags & flag::ROUTER,
            flag::ROUTER,
            "the first fragment has them"
        );
    }

    #[test]
    fn a_chain_without_end_is_left() {
        let (proto, seen) = flags(&[60; 40]);
        assert_eq!((proto, seen & flag::DEST), (60, flag::DEST));
    }
}
