//! Matches and actions in the flow syntax of `ovs-ofctl` (`man ovs-fields`, `man ovs-actions`).
//!
//! Where that syntax has no word (our own actions, unknown fields), numbers stand in brackets.

use crate::action::{Action, Instruction};
use crate::constants::{port, vlan};
use crate::oxm::{Match, Oxm};
use crate::wire::Hex;
use std::fmt::{self, Display, Formatter};
use std::net::Ipv6Addr;

/// A port number, reserved ones by name.
pub(super) struct PortNo(pub(super) u32);

impl Display for PortNo {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            port::IN_PORT => f.write_str("IN_PORT"),
            port::TABLE => f.write_str("TABLE"),
            port::NORMAL => f.write_str("NORMAL"),
            port::FLOOD => f.write_str("FLOOD"),
            port::ALL => f.write_str("ALL"),
            port::CONTROLLER => f.write_str("CONTROLLER"),
            port::LOCAL => f.write_str("LOCAL"),
            port::ANY => f.write_str("ANY"),
            number => write!(f, "{number}"),
        }
    }
}

/// Items with a separator between them.
pub(super) struct Join<'a, I>(pub(super) &'a str, pub(super) I);

impl<I: Iterator<Item: Display> + Clone> Display for Join<'_, I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.1.clone().enumerate() {
            write!(f, "{}{item}", if i == 0 { "" } else { self.0 })?;
        }
        Ok(())
    }
}

/// Text behind a space, unless it is empty.
pub(super) struct Spaced<T>(pub(super) T);

impl<T: Display> Display for Spaced<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        if text.is_empty() { Ok(()) } else { write!(f, " {text}") }
    }
}

/// A MAC address.
pub(super) struct Mac(pub(super) [u8; 6]);

impl Display for Mac {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Join(":", self.0.iter().map(|byte| format!("{byte:02x}"))).fmt(f)
    }
}

/// An IPv4 address.
struct Ipv4([u8; 4]);

impl Display for Ipv4 {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "{a}.{b}.{c}.{d}")
    }
}

/// The mask of an IPv4 address: as a prefix length if it is one.
struct Ipv4Mask([u8; 4]);

impl Display for Ipv4Mask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mask = u32::from_be_bytes(self.0);
        if mask.leading_ones() + mask.trailing_zeros() == 32 {
            write!(f, "{}", mask.leading_ones())
        } else {
            Ipv4(self.0).fmt(f)
        }
    }
}

/// The mask of an IPv6 address: as a prefix length if it is one.
struct Ipv6Mask([u8; 16]);

impl Display for Ipv6Mask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mask = u128::from_be_bytes(self.0);
        if mask.leading_ones() + mask.trailing_zeros() == 128 {
            write!(f, "{}", mask.leading_ones())
        } else {
            Ipv6Addr::from(self.0).fmt(f)
        }
    }
}

/// A value and its mask, if it has one.
struct Masked<V, M>(V, Option<M>);

impl<V: Display, M: Display> Display for Masked<V, M> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.1 {
            Some(mask) => write!(f, "{}/{mask}", self.0),
            None => self.0.fmt(f),
        }
    }
}

/// A number in hexadecimal.
struct HexNumber(u64);

impl Display for HexNumber {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

impl Oxm {
    fn write_value(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::InPort(number) | Self::InPhyPort(number) => PortNo(*number).fmt(f),
            Self::Metadata { value, mask } | Self::TunnelId { value, mask } => {
                Masked(HexNumber(*value), mask.map(HexNumber)).fmt(f)
            }
            Self::EthDst { value, mask }
            | Self::EthSrc { value, mask }
            | Self::ArpSha { value, mask }
            | Self::ArpTha { value, mask } => Masked(Mac(*value), mask.map(Mac)).fmt(f),
            Self::Ipv6NdSll(address) | Self::Ipv6NdTll(address) => Mac(*address).fmt(f),
            Self::EthType(ether_type) => write!(f, "0x{ether_type:04x}"),
            Self::VlanVid { value, mask } | Self::Ipv6Exthdr { value, mask } => {
                let hex = |number: u16| HexNumber(number.into());
                Masked(hex(*value), mask.map(hex)).fmt(f)
            }
            Self::Ipv6Flabel { value, mask } => {
                let hex = |number: u32| HexNumber(number.into());
                Masked(hex(*value), mask.map(hex)).fmt(f)
            }
            Self::PbbIsid { value: [a, b, c], mask } => {
                let hex = |[a, b, c]: [u8; 3]| HexNumber(u32::from_be_bytes([0, a, b, c]).into());
                Masked(hex([*a, *b, *c]), mask.map(hex)).fmt(f)
            }
            Self::VlanPcp(value)
            | Self::IpDscp(value)
            | Self::IpEcn(value)
            | Self::IpProto(value)
            | Self::Icmpv4Type(value)
            | Self::Icmpv4Code(value)
            | Self::Icmpv6Type(value)
            | Self::Icmpv6Code(value)
            | Self::MplsTc(value)
            | Self::MplsBos(value) => value.fmt(f),
            Self::MplsLabel(value) => value.fmt(f),
            Self::Ipv4Src { value, mask }
            | Self::Ipv4Dst { value, mask }
            | Self::ArpSpa { value, mask }
            | Self::ArpTpa { value, mask } => Masked(Ipv4(*value), mask.map(Ipv4Mask)).fmt(f),
            Self::Ipv6Src { value, mask } | Self::Ipv6Dst { value, mask } => {
                Masked(Ipv6Addr::from(*value), mask.map(Ipv6Mask)).fmt(f)
            }
            Self::Ipv6NdTarget(address) => Ipv6Addr::from(*address).fmt(f),
            Self::TcpSrc { value, mask }
            | Self::TcpDst { value, mask }
            | Self::UdpSrc { value, mask }
            | Self::UdpDst { value, mask }
            | Self::SctpSrc { value, mask }
            | Self::SctpDst { value, mask } => match mask {
                Some(mask) => write!(f, "0x{value:x}/0x{mask:x}"),
                None => value.fmt(f),
            },
            Self::ArpOp(number) => number.fmt(f),
            Self::Unknown { class, field, has_mask, payload } => {
                let masked = if *has_mask { ",masked" } else { "" };
                write!(f, "[class=0x{class:04x},field={field}{masked},{}]", Hex(payload))
            }
        }
    }
}

impl Display for Oxm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            // The id alone, as everybody writes it; the presence bit goes without saying.
            Self::VlanVid { value, mask: None } if value & vlan::PRESENT != 0 => {
                write!(f, "dl_vlan={}", value & !vlan::PRESENT)
            }
            Self::VlanVid { value: vlan::NONE, mask: None } => f.write_str("vlan_tci=0x0000"),
            _ => {
                write!(f, "{}=", self.name())?;
                self.write_value(f)
            }
        }
    }
}

/// Conditions with commas between them; nothing for the match of every packet.
impl Display for Match {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Join(",", self.oxms.iter()).fmt(f)
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output { port: port::CONTROLLER, max_len } => write!(f, "CONTROLLER:{max_len}"),
            Self::Output { port: number @ port::MAX.., .. } => PortNo(*number).fmt(f),
            Self::Output { port, .. } => write!(f, "output:{port}"),
            Self::SetQueue(queue) => write!(f, "set_queue:{queue}"),
            Self::Group(group) => write!(f, "group:{group}"),
            Self::SetField(oxm) => {
                f.write_str("set_field:")?;
                oxm.write_value(f)?;
                write!(f, "->{}", oxm.name())
            }
            Self::CopyTtlOut => f.write_str("copy_ttl_out"),
            Self::CopyTtlIn => f.write_str("copy_ttl_in"),
            Self::SetMplsTtl(ttl) => write!(f, "set_mpls_ttl:{ttl}"),
            Self::DecMplsTtl => f.write_str("dec_mpls_ttl"),
            Self::PushMpls(ether_type) => write!(f, "push_mpls:0x{ether_type:04x}"),
            Self::PopMpls(ether_type) => write!(f, "pop_mpls:0x{ether_type:04x}"),
            Self::PushPbb(ether_type) => write!(f, "push_pbb:0x{ether_type:04x}"),
            Self::PopPbb => f.write_str("pop_pbb"),
            Self::PushVlan(ether_type) => write!(f, "push_vlan:0x{ether_type:04x}"),
            Self::PopVlan => f.write_str("pop_vlan"),
            Self::SetNwTtl(ttl) => write!(f, "mod_nw_ttl:{ttl}"),
            Self::DecNwTtl => f.write_str("dec_ttl"),
            Self::Monitor(monitor) => write!(f, "monitor:{monitor}"),
            Self::Buffer { version, messages } => {
                write!(f, "buffer(set={version} of {messages})")
            }
            Self::Encap(encap) => encap.fmt(f),
            Self::Experimenter { experimenter, data } => {
                write!(f, "experimenter[id=0x{experimenter:08x},{}]", Hex(data))
            }
            Self::Unknown { type_, data } => write!(f, "action[type={type_},{}]", Hex(data)),
        }
    }
}

/// Actions with commas between them; none at all drop the packet.
pub(super) struct Actions<'a>(pub(super) &'a [Action]);

impl Display for Actions<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("drop") } else { Join(",", self.0.iter()).fmt(f) }
    }
}

impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::GotoTable(table) => write!(f, "goto_table:{table}"),
            Self::WriteMetadata { metadata, mask: u64::MAX } => {
                write!(f, "write_metadata:0x{metadata:x}")
            }
            Self::WriteMetadata { metadata, mask } => {
                write!(f, "write_metadata:0x{metadata:x}/0x{mask:x}")
            }
            Self::WriteActions(actions) => write!(f, "write_actions({})", Actions(actions)),
            Self::ApplyActions(actions) if actions.is_empty() => f.write_str("apply_actions()"),
            Self::ApplyActions(actions) => Actions(actions).fmt(f),
            Self::ClearActions => f.write_str("clear_actions"),
            Self::Meter(meter) => write!(f, "meter:{meter}"),
            Self::Experimenter { experimenter, data } => {
                write!(f, "experimenter[id=0x{experimenter:08x},{}]", Hex(data))
            }
            Self::Unknown { type_, data } => write!(f, "instruction[type={type_},{}]", Hex(data)),
        }
    }
}

/// Instructions with commas between them; none at all drop the packet.
pub(super) struct Instructions<'a>(pub(super) &'a [Instruction]);

impl Display for Instructions<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("drop") } else { Join(",", self.0.iter()).fmt(f) }
    }
}
