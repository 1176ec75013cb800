//! Entries beside those of a deployment, by which links and hosts are watched.
//!
//! LLDP frames (IEEE 802.1AB) go to the controller and nowhere else. No flow has their EtherType and address, so that no frame
//! of a flow meets these entries. ARP frames of host ports go where they would go without, and a copy of each to the
//! controller: it tells which station is there. Every port has a meter of its own, so that one that floods
//! does not keep the frames of others from being heard.

use crate::compile;
use tenuto_model::{
    EntrySpec, MatchSpec, MeterSpec, PortRole, SwitchDeployment, TABLE_POLICE, TABLE_WATCH,
};
use tenuto_openflow::constants::port;
use tenuto_openflow::{Action, Body, Experimenter, Instruction};

/// Group address of LLDP that no bridge forwards (IEEE 802.1AB, section 7.1).
pub const LLDP_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];
/// EtherType of LLDP.
pub const LLDP_ETHER_TYPE: u16 = 0x88cc;
/// EtherType of ARP.
pub const ARP_ETHER_TYPE: u16 = 0x0806;

/// Bytes of a frame that the controller is shown.
const SHOWN_BYTES: u16 = 256;
/// What a port may show: some 20 frames a second.
const RATE_BPS: u64 = 16_000;
const BURST_BYTES: u64 = 4_000;
const OF_A_PORT: u16 = u16::MAX;
const OF_ANY_PORT: u16 = u16::MAX - 1;

/// What is added to a deployment, in the order of its messages.
pub(crate) fn watching(deployment: &SwitchDeployment) -> Vec<Body> {
    // Nothing is watched at a switch that is to hold nothing.
    if deployment.entries.is_empty() {
        return Vec::new();
    }
    let first = deployment.meters.iter().map(|it| it.id).max().unwrap_or(0) + 1;
    let mut of_ports: Vec<(Option<u32>, bool)> =
        deployment.ports.iter().map(|it| (Some(it.port), it.role == PortRole::Host)).collect();
    // Ports that the deployment does not know have one meter together.
    of_ports.push((None, false));
    let (mut meters, mut entries) = (Vec::new(), Vec::new());
    for ((in_port, is_of_host), id) in of_ports.into_iter().zip(first..) {
        let meter = MeterSpec { id, flow: None, rate_bps: RATE_BPS, burst_bytes: BURST_BYTES };
        meters.push(compile::meter(&meter));
        let lldp = MatchSpec {
            in_port,
            eth_dst: Some(LLDP_ADDRESS),
            eth_type: Some(LLDP_ETHER_TYPE),
            ..MatchSpec::default()
        };
        let precedence = if in_port.is_some() { OF_A_PORT } else { OF_ANY_PORT };
        entries.push(shown(precedence, lldp, id, None));
        if is_of_host {
            let arp = MatchSpec { in_port, eth_type: Some(ARP_ETHER_TYPE), ..MatchSpec::default() };
            entries.push(shown(OF_ANY_PORT, arp, id, Some(TABLE_POLICE)));
        }
    }
    meters.extend(entries);
    meters
}

/// An entry that shows frames to the controller.
fn shown(precedence: u16, matching: MatchSpec, meter: u32, goto: Option<u8>) -> Body {
    let spec = EntrySpec {
        table: TABLE_WATCH,
        level: None,
        precedence,
        cookie: 0,
        flow: None,
        matching,
        monitor: None,
        meter: Some(meter),
        output: None,
        goto,
    };
    let mut body = compile::entry(&spec);
    if let Body::FlowMod(flow_mod) = &mut body {
        let show = Action::Output { port: port::CONTROLLER, max_len: SHOWN_BYTES };
        // Behind the meter, in front of the next table: the order in which they are carried out.
        flow_mod.instructions.insert(1, Instruction::ApplyActions(vec![show]));
    }
    debug_assert!(!matches!(body, Body::Experimenter(Experimenter::Modes(_))), "of every level");
    body
}
