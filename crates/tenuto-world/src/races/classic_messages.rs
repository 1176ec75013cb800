//! Flow-mods and packets as OpenFlow 1.0 has them, which recorded traces of others are in.

use super::event::{Command, FlowEntry, Write};
use super::matching::Matching;

/// Fields of the twelve-tuple, by the number that OpenFlow 1.3 gives to the nearest of its own.
pub(super) mod field {
    pub(in crate::races) const IN_PORT: u8 = 0;
    pub(in crate::races) const ETH_DST: u8 = 3;
    pub(in crate::races) const ETH_SRC: u8 = 4;
    pub(in crate::races) const ETH_TYPE: u8 = 5;
    pub(in crate::races) const VLAN: u8 = 6;
    pub(in crate::races) const VLAN_PCP: u8 = 7;
    pub(in crate::races) const TOS: u8 = 8;
    pub(in crate::races) const PROTOCOL: u8 = 10;
    pub(in crate::races) const NET_SRC: u8 = 11;
    pub(in crate::races) const NET_DST: u8 = 12;
    pub(in crate::races) const PORT_SRC: u8 = 13;
    pub(in crate::races) const PORT_DST: u8 = 14;
}

use field::{
    ETH_DST, ETH_SRC, ETH_TYPE, IN_PORT, NET_DST, NET_SRC, PORT_DST, PORT_SRC, PROTOCOL, TOS, VLAN,
    VLAN_PCP,
};

const IPV4: u128 = 0x0800;
const ARP: u128 = 0x0806;
/// An untagged packet, to `dl_vlan`.
const NO_VLAN: u128 = 0xffff;
/// What stands for the type of a frame that has a length instead.
const NO_TYPE: u128 = 0x05ff;
const NO_PORT: u16 = 0xffff;
const CHECK_OVERLAP: u16 = 1 << 1;
/// Where a flow-mod has its match, command and actions.
const MATCH_AT: usize = 8;
const COMMAND_AT: usize = 56;
const ACTIONS_AT: usize = 72;
/// Most tags of a packet that are looked behind.
const TAGS_MAX: usize = 8;

fn number(bytes: &[u8], at: usize, len: usize) -> Option<u128> {
    let part = bytes.get(at..at.checked_add(len)?)?;
    Some(part.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The match of a flow-mod (OpenFlow 1.0, section 5.2.3). Fields that its other fields rule out are not asked for.
fn matching(bytes: &[u8]) -> Option<Matching> {
    let wildcards = u32::try_from(number(bytes, 0, 4)?).ok()?;
    let mut found = Matching::default();
    let places = [
        (0, IN_PORT, 4, 2),
        (2, ETH_SRC, 6, 6),
        (3, ETH_DST, 12, 6),
        (1, VLAN, 18, 2),
        (20, VLAN_PCP, 20, 1),
        (4, ETH_TYPE, 22, 2),
        (21, TOS, 24, 1),
        (5, PROTOCOL, 25, 1),
        (6, PORT_SRC, 36, 2),
        (7, PORT_DST, 38, 2),
    ];
    for (bit, field, at, len) in places {
        if wildcards & 1 << bit == 0 {
            found.exact(field, number(bytes, at, len)?);
        }
    }
    for (shift, field, at) in [(8, NET_SRC, 28), (14, NET_DST, 32)] {
        let ignored = (wildcards >> shift & 0x3f).min(32);
        let mask = u128::from(u32::MAX) >> ignored << ignored;
        found.insert(field, number(bytes, at, 4)?, mask);
    }
    forget_what_cannot_be(&mut found);
    Some(found)
}

fn forget_what_cannot_be(found: &mut Matching) {
    let has_net = matches!(found.get(ETH_TYPE), Some(IPV4 | ARP));
    let has_ports =
        found.get(ETH_TYPE) == Some(IPV4) && matches!(found.get(PROTOCOL), Some(1 | 6 | 17));
    let gone: &[u8] = match (has_net, has_ports) {
        (false, _) => &[TOS, PROTOCOL, NET_SRC, NET_DST, PORT_SRC, PORT_DST],
        (true, false) => &[PORT_SRC, PORT_DST],
        (true, true) => &[],
    };
    gone.iter().for_each(|field| found.remove(*field));
}

/// Ports that actions send to; actions that are cut off end the list.
fn outputs(actions: &[u8]) -> Vec<u32> {
    let (mut found, mut rest) = (Vec::new(), actions);
    while let (Some(kind), Some(len)) = (word(rest, 0), word(rest, 2)) {
        // Output, and through a queue.
        if let (0 | 11, Some(port)) = (kind, word(rest, 4)) {
            found.push(port.into());
        }
        let Some((_, behind)) = rest.split_at_checked(usize::from(len).max(8)) else { break };
        rest = behind;
    }
    found
}

/// A flow-mod of OpenFlow 1.0; `None` if it is none.
pub(super) fn flow_mod(bytes: &[u8]) -> Option<Write> {
    if bytes.first() != Some(&1) || bytes.get(1) != Some(&14) {
        return None;
    }
    let length = usize::from(word(bytes, 2)?);
    let command = match word(bytes, COMMAND_AT)? {
        0 => Command::Add,
        1 => Command::Modify { is_strict: false },
        2 => Command::Modify { is_strict: true },
        3 => Command::Delete { is_strict: false },
        4 => Command::Delete { is_strict: true },
        _ => return None,
    };
    let actions = bytes.get(ACTIONS_AT..length.min(bytes.len()))?.to_vec();
    let out_port = word(bytes, COMMAND_AT + 12).filter(|port| *port != NO_PORT);
    Some(Write {
        command,
        entry: FlowEntry {
            matching: matching(&bytes[MATCH_AT..])?,
            priority: word(bytes, COMMAND_AT + 6)?,
            outputs: outputs(&actions),
            actions,
        },
        out_port: out_port.map(u32::from),
        checks_overlap: word(bytes, COMMAND_AT + 14)? & CHECK_OVERLAP != 0,
    })
}

/// The fields of a packet that came through a port; `None` if it is cut off before its type.
pub(super) fn packet(bytes: &[u8], in_port: Option<u32>) -> Option<Matching> {
    let mut found = Matching::default();
    if let Some(port) = in_port {
        found.exact(IN_PORT, port.into());
    }
    found.exact(ETH_DST, number(bytes, 0, 6)?);
    found.exact(ETH_SRC, number(bytes, 6, 6)?);
    let (mut at, mut eth_type, mut tag) = (14, number(bytes, 12, 2)?, None);
    for _ in 0..TAGS_MAX {
        if eth_type != 0x8100 {
            break;
        }
        tag = tag.or(number(bytes, at, 2));
        (eth_type, at) = (number(bytes, at + 2, 2)?, at + 4);
    }
    found.exact(VLAN, tag.map_or(NO_VLAN, |tag| tag & 0xfff));
    found.exact(VLAN_PCP, tag.map_or(0, |tag| tag >> 13));
    found.exact(ETH_TYPE, if eth_type < 0x600 { NO_TYPE } else { eth_type });
    match eth_type {
        IPV4 => ip_fields(bytes, at, &mut found),
        ARP => arp_fields(bytes, at, &mut found),
        _ => Some(()),
    };
    Some(found)
}

fn ip_fields(bytes: &[u8], at: usize, found: &mut Matching) -> Option<()> {
    let header = 4 * usize::from(bytes.get(at)? & 0xf);
    let protocol = number(bytes, at + 9, 1)?;
    found.exact(NET_DST, number(bytes, at + 16, 4)?);
    found.exact(NET_SRC, number(bytes, at + 12, 4)?);
    found.exact(TOS, number(bytes, at + 1, 1)?);
    found.exact(PROTOCOL, protocol);
    let behind = at + header;
    let ports = match protocol {
        6 | 17 => (number(bytes, behind, 2)?, number(bytes, behind + 2, 2)?),
        1 => (number(bytes, behind, 1)?, number(bytes, behind + 1, 1)?),
        _ => return Some(()),
    };
    found.exact(PORT_SRC, ports.0);
    found.exact(PORT_DST, ports.1);
    Some(())
}

fn arp_fields(bytes: &[u8], at: usize, found: &mut Matching) -> Option<()> {
    let operation = number(bytes, at + 6, 2)?;
    if operation <= 255 {
        found.exact(PROTOCOL, operation);
    }
    found.exact(NET_SRC, number(bytes, at + 14, 4)?);
    found.exact(NET_DST, number(bytes, at + 24, 4)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An add of priority 5 for address 00:00:00:00:00:02 through port 1, which sends through port 2.
    fn add() -> Vec<u8> {
        let mut bytes = vec![0; 80];
        bytes[..4].copy_from_slice(&[1, 14, 0, 80]);
        bytes[8..12].copy_from_slice(&(0x003f_ffff_u32 & !1 & !8).to_be_bytes());
        bytes[13] = 1;
        bytes[25] = 2;
        bytes[63] = 5;
        bytes[68..70].copy_from_slice(&[0xff, 0xff]);
        bytes[72..80].copy_from_slice(&[0, 0, 0, 8, 0, 2, 0, 0]);
        bytes
    }

    #[test]
    fn a_flow_mod_has_its_match_and_what_it_sends_to() {
        let write = flow_mod(&add()).expect("a flow-mod");
        assert_eq!((write.command, write.entry.priority), (Command::Add, 5));
        assert_eq!((write.entry.outputs, write.out_port), (vec![2], None));
        let frame = [&[0, 0, 0, 0, 0, 2][..], &[0, 0, 0, 0, 0, 1], &[8, 0], &[0x45]].concat();
        let known = packet(&frame, Some(1)).expect("a packet");
        assert!(write.entry.matching.covers(&known));
        assert!(!write.entry.matching.covers(&packet(&frame, Some(2)).expect("a packet")));
    }

    #[test]
    fn what_is_cut_off_is_no_flow_mod_and_no_packet() {
        let bytes = add();
        for len in 0..72 {
            assert_eq!(flow_mod(&bytes[..len]), None, "{len}");
        }
        for len in 0..14 {
            assert_eq!(packet(&bytes[..len], None), None, "{len}");
        }
    }
}
