//! Frames of LLDP (IEEE 802.1AB): those that find links, and what others of their kind tell.
//!
//! A frame of ours names switch and port, and carries a proof that this service made it a short time ago. It has 60 bytes without
//! FCS, the least of Ethernet: no frame of any class is shorter.

use sha2::{Digest, Sha256};
use tenuto_controller::{LLDP_ADDRESS, LLDP_ETHER_TYPE};

/// Bytes of a frame of ours, FCS included.
pub(super) const FRAME_BYTES: u32 = 64;
const WITHOUT_FCS: usize = 60;
/// Locally administered: of no station.
const SOURCE: [u8; 6] = [0x06, 0, 0, 0, 0x4c, 0x4c];

/// Types of TLVs (section 8.4): an identifier that is assigned locally is a subtype 7 of the first two.
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TTL: u8 = 3;
const ORGANISATION: u8 = 127;
const LOCAL: u8 = 7;
const MAC_ADDRESS: u8 = 4;
/// Ours, locally administered, and the subtype of a proof.
const OUI: [u8; 3] = [0x06, 0x54, 0x4e];
const PROOF: u8 = 1;

/// A switch and its port.
pub(super) type End = (u64, u32);

/// Makes and recognises frames; whoever has not the secret makes none.
#[derive(Clone, Debug)]
pub(super) struct Prover {
    secret: [u8; 32],
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It was sent by this service through that port.
    Ours(End),
    /// It pretends so.
    Forged(End),
    /// It is of a device that speaks LLDP itself; the name of its chassis.
    Other(String),
}

impl Prover {
    pub(super) const fn new(secret: [u8; 32]) -> Self {
        Self { secret }
    }

    fn proof(&self, (dpid, port): End, round: u64) -> [u8; 8] {
        let hash = Sha256::new()
            .chain_update(self.secret)
            .chain_update(dpid.to_be_bytes())
            .chain_update(port.to_be_bytes())
            .chain_update(round.to_be_bytes());
        *hash.finalize().first_chunk().expect("32 bytes")
    }

    /// The frame for a port in a round.
    pub(super) fn frame(&self, end: End, round: u64, ttl_s: u16) -> Vec<u8> {
        let mut frame = [&LLDP_ADDRESS[..], &SOURCE, &LLDP_ETHER_TYPE.to_be_bytes()].concat();
        tlv(&mut frame, CHASSIS, &[&[LOCAL], &end.0.to_be_bytes()[..]].concat());
        tlv(&mut frame, PORT, &[&[LOCAL], &end.1.to_be_bytes()[..]].concat());
        tlv(&mut frame, TTL, &ttl_s.to_be_bytes());
        let proof = self.proof(end, round);
        tlv(&mut frame, ORGANISATION, &[&OUI[..], &[PROOF], &proof].concat());
        tlv(&mut frame, 0, &[]);
        frame.resize(WITHOUT_FCS, 0);
        frame
    }

    /// Reads the TLVs of a frame behind its Ethernet header; one of this round or the last is ours. `None` if it names no chassis.
    pub(super) fn read(&self, mut rest: &[u8], round: u64) -> Option<Said> {
        let (mut chassis, mut port, mut proof) = (None, None, None);
        while let Some((head, behind)) = rest.split_first_chunk::<2>() {
            let head = u16::from_be_bytes(*head);
            let (kind, length) = ((head >> 9) as u8, usize::from(head & 0x1ff));
            let Some((value, behind)) = behind.split_at_checked(length) else { break };
            match kind {
                0 => break,
                CHASSIS => chassis = Some(value),
                PORT => port = Some(value),
                ORGANISATION => {
                    if let Some(it) = value.strip_prefix(&[OUI[0], OUI[1], OUI[2], PROOF]) {
                        proof = Some(it);
                    }
                }
                _ => {}
            }
            rest = behind;
        }
        let chassis = chassis?;
        let Some(proof) = proof else { return Some(Said::Other(named(chassis))) };
        let number = |value: Option<&[u8]>| {
            value.and_then(|it| it.strip_prefix(&[LOCAL]).map(<[u8]>::to_vec))
        };
        let dpid =
            number(Some(chassis)).and_then(|it| Some(u64::from_be_bytes(*it.first_chunk()?)));
        let port = number(port).and_then(|it| Some(u32::from_be_bytes(*it.first_chunk()?)));
        let (Some(dpid), Some(port)) = (dpid, port) else {
            return Some(Said::Other(named(chassis)));
        };
        let end = (dpid, port);
        let is_ours = [round, round.wrapping_sub(1)].iter().any(|it| self.proof(end, *it) == proof);
        Some(if is_ours { Said::Ours(end) } else { Said::Forged(end) })
    }
}

fn tlv(out: &mut Vec<u8>, kind: u8, value: &[u8]) {
    let length = u16::try_from(value.len()).expect("values of ours are short");
    out.extend((u16::from(kind) << 9 | length).to_be_bytes());
    out.extend(value);
}

/// A chassis as people read it.
fn named(value: &[u8]) -> String {
    match value.split_first() {
        Some((&MAC_ADDRESS, mac)) if mac.len() == 6 => super::mac_text(mac),
        Some((_, text)) => {
            let text = String::from_utf8_lossy(text);
            text.chars().take(64).map(|it| if it.is_control() { '?' } else { it }).collect()
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_of_ours_has_the_least_length_and_is_read_back_for_two_rounds() {
        let prover = Prover::new([7; 32]);
        let frame = prover.frame((0xab, 3), 9, 16);
        assert_eq!(frame.len() + 4, FRAME_BYTES as usize);
        assert_eq!(frame[..6], LLDP_ADDRESS);
        let read = |by: &Prover, round| by.read(&frame[14..], round);
        assert_eq!(read(&prover, 9), Some(Said::Ours((0xab, 3))));
        assert_eq!(read(&prover, 10), Some(Said::Ours((0xab, 3))));
        assert_eq!(read(&prover, 11), Some(Said::Forged((0xab, 3))), "an old one, sent again");
        assert_eq!(read(&Prover::new([8; 32]), 9), Some(Said::Forged((0xab, 3))));
        let mut other = frame.clone();
        other[14 + 2 + 8] ^= 1;
        assert!(matches!(prover.read(&other[14..], 9), Some(Said::Forged(_))), "another switch");
    }

    #[test]
    fn a_device_that_speaks_lldp_is_told_by_its_chassis() {
        let prover = Prover::new([7; 32]);
        let mut frame = Vec::new();
        tlv(&mut frame, CHASSIS, &[MAC_ADDRESS, 2, 0, 0, 0, 0, 0x99]);
        assert_eq!(prover.read(&frame, 1), Some(Said::Other("02:00:00:00:00:99".to_owned())));
        let mut frame = Vec::new();
        tlv(&mut frame, CHASSIS, b"\x07printer\n");
        assert_eq!(prover.read(&frame, 1), Some(Said::Other("printer?".to_owned())));
        assert_eq!(prover.read(&[], 1), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let said = Prover::new([7; 32]).read(&bytes, 1);
            prop_assert!(!matches!(said, Some(Said::Ours(_))));
        }
    }
}
