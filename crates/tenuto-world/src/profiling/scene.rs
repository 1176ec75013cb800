//! A table and the frame that meets it, in the dimensions of \[Loko\] Table 1.

use tenuto_model::{Action as Change, MatchType, Position, PriorityOrder, Use};
use tenuto_openflow::{Action, FlowMod, FlowModCommand, Instruction, Match, Oxm};
use tenuto_units::FRAME_BYTES_MIN;
use tenuto_wire::build::UDP_PAYLOAD_START;
use tenuto_wire::{MacAddress, UdpFrame};

const IPV4: u16 = 0x0800;
const UDP: u8 = 17;
const VLAN_TAG: u16 = 0x8100;
const VLAN_PRESENT: u16 = 0x1000;
const SOURCE: [u8; 4] = [10, 1, 0, 1];
const FCS_BYTES: usize = 4;
/// Ports that no device of this field has: entries that match none of its frames.
const NO_PORT: u32 = 0x1_0000;

/// A table, of which one entry is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scene {
    /// The dimensions; `frame_bytes` is that of the probe.
    pub used: Use,
    /// Where frames enter.
    pub port_in: u32,
    /// Where they leave.
    pub port_out: u32,
    /// Copies more than one, by the same port.
    pub copies: u32,
}

impl Scene {
    /// A table for frames from port 1 to port 2.
    pub const fn new(used: Use) -> Self {
        Self { used, port_in: 1, port_out: 2, copies: 0 }
    }

    /// The entries in the order in which they are added.
    pub fn entries(&self) -> Vec<FlowMod> {
        (0..self.used.entries.max(1)).map(|place| self.entry(place)).collect()
    }

    /// The entry at a place.
    pub fn entry(&self, place: u32) -> FlowMod {
        let above = u16::try_from(place).unwrap_or(u16::MAX / 2);
        let priority = match self.used.order {
            PriorityOrder::Increasing => 1_000 + above,
            PriorityOrder::Decreasing => 60_000 - above,
        };
        FlowMod {
            priority,
            match_: Match::from(self.fields(place)),
            instructions: vec![Instruction::ApplyActions(self.actions())],
            ..FlowMod::new(FlowModCommand::Add, 0)
        }
    }

    const fn place(&self) -> u32 {
        match self.used.position {
            Position::First => 0,
            Position::Last => self.used.entries.saturating_sub(1),
        }
    }

    fn fields(&self, place: u32) -> Vec<Oxm> {
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        let [high, low] = number.to_be_bytes();
        let port = 2_000_u16.wrapping_add(number);
        let transport = || vec![Oxm::EthType(IPV4), Oxm::IpProto(UDP)];
        let five_tuple = || {
            let mut fields = transport();
            fields.push(Oxm::Ipv4Src { value: SOURCE, mask: None });
            fields.push(Oxm::Ipv4Dst { value: [10, high, low, 1], mask: None });
            fields.push(Oxm::UdpSrc { value: 1_000, mask: None });
            fields.push(Oxm::UdpDst { value: port, mask: None });
            fields
        };
        match self.used.matching {
            MatchType::Port if place == self.place() => vec![Oxm::InPort(self.port_in)],
            MatchType::Port => vec![Oxm::InPort(NO_PORT + place)],
            MatchType::TpDst => {
                let mut fields = transport();
                fields.push(Oxm::UdpDst { value: port, mask: None });
                fields
            }
            MatchType::DlDst => vec![Oxm::EthDst { value: target(number).0, mask: None }],
            MatchType::MaskedNwDst => {
                let mask = Some([255, 255, 255, 0]);
                vec![Oxm::EthType(IPV4), Oxm::Ipv4Dst { value: [10, high, low, 0], mask }]
            }
            MatchType::FiveTuple => five_tuple(),
            MatchType::All => {
                let mut fields = vec![Oxm::InPort(self.port_in)];
                fields.push(Oxm::EthDst { value: target(number).0, mask: None });
                fields.push(Oxm::EthSrc { value: sender().0, mask: None });
                fields.extend(five_tuple());
                fields.push(Oxm::IpDscp(0));
                fields
            }
        }
    }

    fn actions(&self) -> Vec<Action> {
        let output = || Action::Output { port: self.port_out, max_len: 0 };
        let mut actions = match self.used.action {
            Change::Output => Vec::new(),
            Change::SetVlanId => vec![
                Action::PushVlan(VLAN_TAG),
                Action::SetField(Oxm::VlanVid { value: VLAN_PRESENT | 5, mask: None }),
            ],
            Change::SetVlanPcp => {
                vec![Action::PushVlan(VLAN_TAG), Action::SetField(Oxm::VlanPcp(3))]
            }
            Change::StripVlan => vec![Action::PopVlan],
            Change::SetDlSrc => {
                vec![Action::SetField(Oxm::EthSrc { value: target(9).0, mask: None })]
            }
            Change::SetNwSrc => {
                vec![Action::SetField(Oxm::Ipv4Src { value: [10, 9, 9, 9], mask: None })]
            }
            Change::SetNwTos => vec![Action::SetField(Oxm::IpDscp(10))],
            Change::SetTpSrc => {
                vec![Action::SetField(Oxm::UdpSrc { value: 4_000, mask: None })]
            }
        };
        actions.extend((0..=self.copies).map(|_| output()));
        actions
    }

    /// The frame that the used entry matches, without FCS.
    pub fn frame(&self) -> Vec<u8> {
        self.frame_for(self.place())
    }

    /// The frame that the entry at a place matches.
    pub fn frame_for(&self, place: u32) -> Vec<u8> {
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        let [high, low] = number.to_be_bytes();
        let len = (self.used.frame_bytes.max(FRAME_BYTES_MIN) as usize).saturating_sub(FCS_BYTES);
        let mut bytes = vec![0; len];
        let frame = UdpFrame {
            eth_dst: target(number),
            eth_src: sender(),
            ip_src: SOURCE,
            ip_dst: [10, high, low, 1],
            udp_src: 1_000,
            udp_dst: 2_000_u16.wrapping_add(number),
            dscp: 0,
            payload_len: len.saturating_sub(UDP_PAYLOAD_START),
        };
        if frame.emit(&mut bytes).is_err() {
            bytes.clear();
        }
        bytes
    }
}

const fn sender() -> MacAddress {
    MacAddress([2, 0, 0, 1, 0, 1])
}

const fn target(number: u16) -> MacAddress {
    let [high, low] = number.to_be_bytes();
    MacAddress([2, 0, 0, 2, high, low])
}
