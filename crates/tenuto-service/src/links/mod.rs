//! Links and hosts as they are, beside those of the file: what was not described is an alarm.
//!
//! Every switch sends a frame of LLDP through each of its ports, and shows those that it gets
//! ([`tenuto_controller::ControllerConfig::watches_links`]). They go in the class of `other_traffic`, below every flow: the bound of each
//! flow holds a frame of that class in front of it at every port already, and frames of ours have the least length that
//! there is. A network that carries nothing else (`other_traffic: drop`) has no such room, and is not watched.
//!
//! Switches show ARP frames of hosts too: a station at a port of another host, or beside it, is told by its address.

mod lldp;

use lldp::{End, FRAME_BYTES, Prover, Said};
use std::collections::BTreeMap;
use tenuto_controller::{ARP_ETHER_TYPE, LLDP_ETHER_TYPE};
use tenuto_model::{Addressing, Network, OtherTraffic, Plan};
use tenuto_openflow::constants::{port, port_config, port_state};
use tenuto_openflow::{Oxm, PacketIn, Port};

/// Rounds without a frame after which a link is missing, and what was found is forgotten.
const ROUNDS: u64 = 3;
/// What was found at undescribed places at once; more is not told apart.
const FOUND_MAX: usize = 256;
/// Where the sender of an ARP frame names its IPv4 address.
const ARP_SENDER_AT: usize = 28;

/// What is at the far end of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Far {
    Switch(End),
    Host { name: String, mac: [u8; 6] },
}

/// What somebody has to look at, or need no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// An alarm of a kind, at a place.
    Raise(&'static str, String, String),
    /// It is over.
    Lower(&'static str, String),
}

/// How far a described link is, one way.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// Frames that were sent since one was heard.
    unheard: u64,
    is_missing: bool,
}

/// Links and hosts of a network, as they are described and as they are found.
#[derive(Debug)]
pub(crate) struct LinkWatch {
    queue: u8,
    ttl_s: u16,
    prover: Prover,
    round: u64,
    names: BTreeMap<u64, String>,
    described: BTreeMap<End, Far>,
    /// Ports that switches tell of, and whether they are up.
    ports: BTreeMap<End, bool>,
    heard: BTreeMap<End, Heard>,
    /// What was found by kind and place, and in which round last.
    found: BTreeMap<(&'static str, String), u64>,
}

pub(crate) const UNDESCRIBED: &str = "link-undescribed";
pub(crate) const MISSING: &str = "link-missing";
pub(crate) const STRANGER: &str = "host-unauthorised";
pub(crate) const PORT_UP: &str = "port-undescribed";

impl LinkWatch {
    /// Watches a network every so many seconds; the secret is for nobody else to know.
    ///
    /// # Errors
    /// No class has room for it, and what would give it some.
    pub(crate) fn new(plan: &Plan, every_s: u64, secret: [u8; 32]) -> Result<Self, String> {
        let network = &plan.network;
        let OtherTraffic::Carry { priority, frame_bytes_max, .. } = network.other_traffic else {
            return Err(
                "links are not watched: LLDP needs a class below every flow, and the file drops other traffic: write \
                 `other_traffic: {priority: N, rate: 64 kbit/s, frame: 128 B}` with N below every flow"
                    .to_owned(),
            );
        };
        if frame_bytes_max < FRAME_BYTES {
            return Err(format!(
                "links are not watched: a frame of LLDP has {FRAME_BYTES} B, and `other_traffic` is charged for {frame_bytes_max} B"
            ));
        }
        let names: BTreeMap<u64, String> =
            plan.switches.iter().map(|it| (it.datapath_id, it.switch.clone())).collect();
        let described = described(network, &names);
        let ttl = (every_s.saturating_mul(ROUNDS + 1)).clamp(1, u64::from(u16::MAX));
        Ok(Self {
            queue: priority,
            ttl_s: u16::try_from(ttl).unwrap_or(u16::MAX),
            prover: Prover::new(secret),
            round: 0,
            names,
            described,
            ports: BTreeMap::new(),
            heard: BTreeMap::new(),
            found: BTreeMap::new(),
        })
    }

    /// The queue of its frames at every port.
    pub(crate) const fn queue(&self) -> u8 {
        self.queue
    }

    /// Begins a round: what the last ones found out, and a frame for every port of the switches that are as they should be.
    pub(crate) fn begin_round(
        &mut self,
        is_installed: impl Fn(u64) -> bool,
    ) -> (Vec<(End, Vec<u8>)>, Vec<Finding>) {
        self.round += 1;
        let mut findings = self.judge_links(&is_installed);
        findings.extend(self.forget());
        let told = self.ports.keys().filter(|(dpid, _)| is_installed(*dpid));
        let planned = self.described.keys().filter(|(dpid, _)| is_installed(*dpid));
        let mut ends: Vec<End> = told.chain(planned).copied().collect();
        ends.sort_unstable();
        ends.dedup();
        let frame = |end: End| (end, self.prover.frame(end, self.round, self.ttl_s));
        (ends.into_iter().map(frame).collect(), findings)
    }

    /// A link is missing where several frames in a row did not come over, with both switches there.
    fn judge_links(&mut self, is_installed: &impl Fn(u64) -> bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (from, far) in &self.described {
            let Far::Switch(to) = far else { continue };
            let state = self.heard.entry(*from).or_default();
            if !is_installed(from.0) || !is_installed(to.0) {
                state.unheard = 0;
                continue;
            }
            if state.unheard >= ROUNDS && !state.is_missing {
                state.is_missing = true;
                let (place, far) = (shown(&self.names, *from), shown(&self.names, *to));
                let text = format!(
                    "{place}: nothing comes over to {far} any more, where the file has a link: {ROUNDS} frames in a row were lost"
                );
                findings.push(Finding::Raise(MISSING, place, text));
            }
            // Of the frame that is sent now.
            state.unheard += 1;
        }
        findings
    }

    /// What was not found again for some rounds is over.
    fn forget(&mut self) -> Vec<Finding> {
        let round = self.round;
        let is_over = |last: &u64| *last + ROUNDS < round;
        let over: Vec<_> = self
            .found
            .iter()
            .filter(|(_, last)| is_over(last))
            .map(|(key, _)| key.clone())
            .collect();
        over.into_iter()
            .map(|(kind, place)| {
                self.found.remove(&(kind, place.clone()));
                Finding::Lower(kind, place)
            })
            .collect()
    }

    /// Ports that a switch tells it has.
    pub(crate) fn has_ports(&mut self, dpid: u64, ports: &[Port]) -> Vec<Finding> {
        let of_switch = ports.iter().filter(|it| it.port_no < port::MAX).take(FOUND_MAX);
        let changed = of_switch.map(|it| {
            let is_down =
                it.config & port_config::PORT_DOWN != 0 || it.state & port_state::LINK_DOWN != 0;
            (it.port_no, !is_down)
        });
        let changed: Vec<(u32, bool)> = changed.collect();
        changed.into_iter().filter_map(|(port, is_up)| self.port_is(dpid, port, is_up)).collect()
    }

    /// A port has come up or gone down.
    pub(crate) fn port_is(&mut self, dpid: u64, port: u32, is_up: bool) -> Option<Finding> {
        let end = (dpid, port);
        let name = self.names.get(&dpid)?;
        if self.ports.len() >= FOUND_MAX * self.names.len() && !self.ports.contains_key(&end) {
            return None;
        }
        let before = self.ports.insert(end, is_up);
        if self.described.contains_key(&end) || before == Some(is_up) {
            return None;
        }
        let place = shown(&self.names, end);
        match (is_up, before) {
            (true, _) => {
                let text =
                    format!("{name} has something at port {port}, where the file has nothing");
                Some(Finding::Raise(PORT_UP, place, text))
            }
            (false, Some(_)) => Some(Finding::Lower(PORT_UP, place)),
            (false, None) => None,
        }
    }

    /// A frame that a switch shows.
    pub(crate) fn heard(&mut self, dpid: u64, packet_in: &PacketIn) -> Option<Finding> {
        let in_port = packet_in.match_.oxms.iter().find_map(|it| match it {
            Oxm::InPort(port) => Some(*port),
            _ => None,
        })?;
        let here = (dpid, in_port);
        let data = &packet_in.data;
        let source = data.get(6..12)?.first_chunk::<6>()?;
        let ether_type = u16::from_be_bytes(*data.get(12..)?.first_chunk()?);
        match ether_type {
            LLDP_ETHER_TYPE => match self.prover.read(&data[14..], self.round)? {
                Said::Ours(from) => self.linked(from, here),
                Said::Forged(from) => {
                    let from = shown(&self.names, from);
                    self.stranger(here, &format!("{} pretends to be {from}", mac_text(source)))
                }
                Said::Other(_) if self.is_host(here, source) => None,
                Said::Other(chassis) => {
                    let who = mac_text(source);
                    self.stranger(here, &format!("{who} says by LLDP that it is `{chassis}`"))
                }
            },
            ARP_ETHER_TYPE if !self.is_host(here, source) => {
                let ip = data.get(ARP_SENDER_AT..).and_then(|it| it.first_chunk::<4>());
                let ip = ip.map_or_else(String::new, |ip| {
                    format!(
                        ", which asks for addresses as {}",
                        ip.map(|it| it.to_string()).join(".")
                    )
                });
                self.stranger(here, &format!("{}{ip}", mac_text(source)))
            }
            _ => None,
        }
    }

    /// Whether a station is the one that the file has there.
    fn is_host(&self, here: End, station: &[u8; 6]) -> bool {
        matches!(self.described.get(&here), Some(Far::Host { mac, .. }) if mac == station)
    }

    /// A frame of ours has come from one port to another.
    fn linked(&mut self, from: End, here: End) -> Option<Finding> {
        if self.described.get(&from) == Some(&Far::Switch(here)) {
            let state = self.heard.entry(from).or_default();
            state.unheard = 0;
            if std::mem::take(&mut state.is_missing) {
                return Some(Finding::Lower(MISSING, shown(&self.names, from)));
            }
            return None;
        }
        let (place, far) = (shown(&self.names, here), shown(&self.names, from));
        let text = format!(
            "{place} hears {far}; the file has {} at {place} and {} at {far}",
            self.expected(here),
            self.expected(from)
        );
        self.find(UNDESCRIBED, place, text)
    }

    fn stranger(&mut self, here: End, who: &str) -> Option<Finding> {
        let place = shown(&self.names, here);
        let text = format!("{place}: {who}; the file has {} there", self.expected(here));
        self.find(STRANGER, place, text)
    }

    /// Told once, until it was away for some rounds.
    fn find(&mut self, kind: &'static str, place: String, text: String) -> Option<Finding> {
        let key = (kind, place.clone());
        let is_known = self.found.contains_key(&key);
        if !is_known && self.found.len() >= FOUND_MAX {
            return None;
        }
        self.found.insert(key, self.round);
        (!is_known).then_some(Finding::Raise(kind, place, text))
    }

    /// What the file has at a port.
    fn expected(&self, end: End) -> String {
        match self.described.get(&end) {
            Some(Far::Switch(far)) => shown(&self.names, *far),
            Some(Far::Host { name, mac }) => format!("{name} ({})", mac_text(mac)),
            None => "nothing".to_owned(),
        }
    }
}

fn described(network: &Network, names: &BTreeMap<u64, String>) -> BTreeMap<End, Far> {
    let addressing = Addressing::new(network);
    let dpid_of = |name: &str| names.iter().find(|(_, it)| *it == name).map(|(dpid, _)| *dpid);
    let mut described = BTreeMap::new();
    for switch in &network.switches {
        for (own, far, _) in network.ends_of(&switch.name) {
            let there = match dpid_of(&far.node) {
                Some(dpid) => Some(Far::Switch((dpid, far.port))),
                None => network.hosts.iter().position(|it| it.name == far.node).map(|index| {
                    let mac = addressing.host_mac(index, switch.network.as_deref());
                    Far::Host { name: far.node.clone(), mac }
                }),
            };
            described.extend(there.map(|it| ((switch.datapath_id, own.port), it)));
        }
    }
    described
}

/// A port as people read it.
fn shown(names: &BTreeMap<u64, String>, (dpid, port): End) -> String {
    match names.get(&dpid) {
        Some(name) => format!("{name}:{port}"),
        None => format!("{dpid:#x}:{port}"),
    }
}

fn mac_text(mac: &[u8]) -> String {
    mac.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod played;
#[cfg(test)]
mod tests;
