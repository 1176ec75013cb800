//! A slice's virtual datapath, at the ports of a switch of others.

use super::super::endpoint::Endpoint;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, FailMode, GeneralConfig, HashKey, Ipv4Network, MessageBudget, PortConfig,
    PortRole, ProxyRefused, SliceConfig, SliceProxy, SliceSetup, SliceTraffic, SwitchConfig,
};
use tenuto_dataplane::{EgressConfig, UNPACED_BPS};
use tenuto_io::random_bytes;
use tenuto_openflow::Port;
use tenuto_units::{Rate, Span};

/// A slice in front of the switch.
#[derive(Clone, Debug)]
pub struct ProxiedSlice {
    /// Its name.
    pub name: String,
    /// The datapath id that its controller sees.
    pub datapath_id: u64,
    /// Ports, by their names or numbers at the switch.
    pub ports: Vec<String>,
    /// VLANs, 0 for frames without one; `None`: all.
    pub vlans: Option<Vec<u16>>,
    /// IPv4 networks.
    pub networks: Vec<(Ipv4Addr, u8)>,
    /// Its controllers.
    pub controllers: Vec<Endpoint>,
    /// Tables of the switch for it.
    pub tables: u8,
    /// Entries over all tables.
    pub entries_max: usize,
    /// Distinct masks.
    pub masks_max: usize,
    /// Actions over all entries.
    pub actions_max: usize,
    /// Groups.
    pub groups_max: usize,
    /// Meters.
    pub meters_max: usize,
    /// What its messages may take.
    pub budget: MessageBudget,
}

/// Whether any switch can have these slices, whatever numbers their ports have there.
pub(super) fn check(slices: &[ProxiedSlice]) -> io::Result<()> {
    let names = slices.iter().flat_map(|slice| &slice.ports);
    let mut numbers = BTreeMap::new();
    for name in names {
        let next = u32::try_from(numbers.len() + 1).map_err(io::Error::other)?;
        numbers.entry(name.as_str()).or_insert(next);
    }
    let number = |text: &str| numbers.get(text).copied();
    core(slices, Vec::new(), &number).map(drop)
}

/// The slices at the ports of a switch.
pub(super) fn proxy(slices: &[ProxiedSlice], ports: Vec<Port>) -> io::Result<SliceProxy> {
    let numbers: Vec<(Option<String>, u32)> =
        ports.iter().map(|it| (it.name.as_str().map(str::to_owned), it.port_no)).collect();
    let number = |text: &str| {
        let named = numbers.iter().find(|(name, _)| name.as_deref() == Some(text));
        let own: Option<u32> = text.parse().ok();
        let numbered = || numbers.iter().find(|(_, number)| Some(*number) == own);
        named.or_else(numbered).map(|(_, number)| *number)
    };
    core(slices, ports, &number)
}

fn core(
    slices: &[ProxiedSlice],
    ports: Vec<Port>,
    number: &dyn Fn(&str) -> Option<u32>,
) -> io::Result<SliceProxy> {
    let mut setups = Vec::new();
    for slice in slices {
        let mut numbers = Vec::new();
        for text in &slice.ports {
            numbers.push(number(text).ok_or_else(|| absent(slice, text, &ports))?);
        }
        setups.push(setup(slice, &numbers)?);
    }
    SliceProxy::new(ports, setups).map_err(refused)
}

fn absent(slice: &ProxiedSlice, text: &str, ports: &[Port]) -> io::Error {
    let all: Vec<&str> = ports.iter().filter_map(|port| port.name.as_str()).collect();
    let text =
        format!("slice {}: the switch has no port {text}, but {}", slice.name, all.join(", "));
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn refused(why: ProxyRefused) -> io::Error {
    let text = match why {
        ProxyRefused::Overlap(overlap) => {
            format!("slices {} and {} would both own some frames", overlap.0, overlap.1)
        }
        ProxyRefused::Tables(tables) => format!(
            "the slices up to one of them have {tables} tables, and a switch has 253 for them: lower `tables`"
        ),
        ProxyRefused::Entries(name) => {
            format!("slice {name} has more than 4096 combinations of ports, VLANs and addresses")
        }
        ProxyRefused::NoSlice(name) => format!("{name} is no slice"),
    };
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn setup(slice: &ProxiedSlice, numbers: &[u32]) -> io::Result<SliceSetup> {
    let egress = EgressConfig {
        rate: Rate::from_bps(UNPACED_BPS).expect("a trillion is not zero"),
        queues: 1,
        buffer_bits: 64 << 20,
        unpromised_from: None,
    };
    let vlans = slice.vlans.as_ref().map(|vlans| vlans.iter().copied().collect());
    let networks =
        slice.networks.iter().map(|(address, bits)| Ipv4Network::new((*address).into(), *bits));
    let traffic = SliceTraffic::new(numbers.to_vec(), vlans, networks.collect());
    let port = |&port: &u32| PortConfig { port, role: PortRole::Host, egress };
    let general = GeneralConfig {
        buffers_max: 0,
        connections_max: u16::try_from(slice.controllers.len()).unwrap_or(u16::MAX),
        fail_mode: FailMode::Secure,
        description: slice.name.clone(),
        masks_max: slice.masks_max,
        actions_max: slice.actions_max,
        attendre: None,
        tables_change: false,
        slice: Some(SliceConfig {
            traffic: Arc::new(traffic),
            budget: slice.budget,
            reads_only: false,
        }),
        ..GeneralConfig::default()
    };
    let config = SwitchConfig {
        datapath_id: slice.datapath_id,
        ports: numbers.iter().map(port).collect(),
        tables: slice.tables,
        entries_max: slice.entries_max,
        meters_max: slice.meters_max,
        groups_max: slice.groups_max,
        meter_extra_bytes: 0,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::new(random_bytes()?),
        boot_seed: 1,
        mode_retry: Span::from_ms(100),
        general: Some(general),
    };
    Ok(SliceSetup { name: slice.name.clone(), config: Arc::new(config) })
}
