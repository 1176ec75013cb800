//! Nodes, links and the fault model: the network as described, every default filled in.

use crate::{Flow, Profile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A described network, validated: names resolve, routes are connected, sizes can be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// The name that reports carry.
    pub name: String,
    /// Criticality modes, lowest first; the first is the start mode. Never empty.
    pub modes: Vec<String>,
    /// Redundant networks (`A`, `B`); empty where there is one network only.
    pub networks: Vec<String>,
    /// Nodes that send or receive.
    pub hosts: Vec<Host>,
    /// Nodes that forward.
    pub switches: Vec<Switch>,
    /// Who installs the plan.
    pub controllers: Vec<Controller>,
    /// Full-duplex links; each end is a port.
    pub links: Vec<Link>,
    /// Traffic contracts.
    pub flows: Vec<Flow>,
    /// What happens to frames of no flow.
    pub other_traffic: OtherTraffic,
    /// How the network returns from a higher mode.
    pub mode_return: ModeReturn,
    /// The fault model that is promised for.
    pub tolerates: Tolerates,
    /// The switch profiles that are used, by name.
    pub profiles: BTreeMap<String, Profile>,
}

/// A node that sends or receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name, unique among all nodes.
    pub name: String,
}

/// A node that forwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// Its name, unique among all nodes.
    pub name: String,
    /// OpenFlow datapath id, never zero.
    pub datapath_id: u64,
    /// Key into [`Network::profiles`].
    pub profile: String,
    /// The redundant network it belongs to, where there are several.
    pub network: Option<String>,
}

/// A controller and what it manages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// Its name, unique among all nodes.
    pub name: String,
    /// Names of the switches it manages.
    pub manages: Vec<String>,
    /// How its sessions reach the switches.
    pub channel: Channel,
    /// What a switch does when the session is lost.
    pub when_lost: WhenLost,
}

/// How OpenFlow sessions reach the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// A management network of its own; it takes nothing from the planned links.
    OutOfBand,
}

/// What a switch does without a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenLost {
    /// Keep every entry, drop the unknown.
    Secure,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LinkEnd {
    /// Node name.
    pub node: String,
    /// Port number at that node, from 1.
    pub port: u32,
}

/// A full-duplex link between two ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// First end, as written.
    pub a: LinkEnd,
    /// Second end, as written.
    pub b: LinkEnd,
    /// Rate in each direction, bit/s.
    pub rate_bps: u64,
    /// Propagation delay in each direction, nanoseconds, rounded up.
    pub propagation_ns: u64,
}

/// What happens to frames that belong to no flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "policy")]
pub enum OtherTraffic {
    /// Dropped at the first switch and counted.
    Drop,
    /// Carried behind a meter below every flow; counts as blocking.
    Carry {
        /// Scheduling class.
        priority: u8,
        /// Rate limit per host port, bit/s.
        rate_bps: u64,
        /// Largest frame, bytes with FCS.
        frame_bytes_max: u32,
    },
}

/// How the network returns from a higher mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeReturn {
    /// Quiet window before a return is proposed; `None` lets the planner take the least safe one.
    pub quiet_ns: Option<u64>,
}

/// The fault model that is promised for; outside it nothing is promised
/// (docs/theory/README.md, "Who is trusted").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerates {
    /// Hosts that may send anything at line rate at the same time.
    pub babbling_hosts: u32,
    /// Mode signals that may be lost per mode change.
    pub lost_signals: u32,
    /// Whether every controller may be gone after set-up.
    pub controller_loss: bool,
    /// Links between switches that may be lost at the same time, at most one: bounds hold again
    /// once its flows go other ways.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub links_lost: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // The signature that serde asks for.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A directed egress: the port `port` of `node`, through which frames leave towards `peer`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Port {
    /// The sending node.
    pub node: String,
    /// The port number at that node.
    pub port: u32,
}

/// What a name refers to, with its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeRef {
    /// Index into [`Network::hosts`].
    Host(usize),
    /// Index into [`Network::switches`].
    Switch(usize),
}

impl Network {
    /// The node of that name, unless there is none or it is a controller.
    pub fn node(&self, name: &str) -> Option<NodeRef> {
        let host = || self.hosts.iter().position(|h| h.name == name).map(NodeRef::Host);
        let switch = || self.switches.iter().position(|s| s.name == name).map(NodeRef::Switch);
        host().or_else(switch)
    }

    /// The switch of that name.
    pub fn switch(&self, name: &str) -> Option<&Switch> {
        self.switches.iter().find(|s| s.name == name)
    }

    /// The flow of that name.
    pub fn flow(&self, name: &str) -> Option<&Flow> {
        self.flows.iter().find(|f| f.name == name)
    }

    /// The profile of a switch.
    ///
    /// # Panics
    /// If the network was not validated: a validated one has the profile of every switch.
    pub fn profile_of(&self, switch: &Switch) -> &Profile {
        self.profiles.get(&switch.profile).expect("validation resolved every profile name")
    }

    /// Whether a switch has a profile whose times are typical ones, not worst ones: what is computed
    /// of it is a model and no guarantee.
    pub fn has_typical_times(&self) -> bool {
        let mut profiles = self.switches.iter().filter_map(|it| self.profiles.get(&it.profile));
        profiles.any(Profile::has_typical_times)
    }

    /// Every end attached to `node`: own end, far end, link.
    pub fn ends_of<'a>(
        &'a self,
        node: &'a str,
    ) -> impl Iterator<Item = (&'a LinkEnd, &'a LinkEnd, &'a Link)> + 'a {
        self.links.iter().flat_map(move |link| {
            let forward = (link.a.node == node).then_some((&link.a, &link.b, link));
            let backward = (link.b.node == node).then_some((&link.b, &link.a, link));
            forward.into_iter().chain(backward)
        })
    }

    /// The far end and the link of a directed egress.
    pub fn peer(&self, port: &Port) -> Option<(&LinkEnd, &Link)> {
        self.links.iter().find_map(|link| {
            if link.a.node == port.node && link.a.port == port.port {
                Some((&link.b, link))
            } else if link.b.node == port.node && link.b.port == port.port {
                Some((&link.a, link))
            } else {
                None
            }
        })
    }

    /// `sw1:3 > sw2`: how a directed egress is named everywhere.
    pub fn port_label(&self, port: &Port) -> String {
        let far = self.peer(port).map_or("?", |(end, _)| end.node.as_str());
        match self.node(&port.node) {
            Some(NodeRef::Host(_)) if self.ends_of(&port.node).count() == 1 => {
                format!("{} > {far}", port.node)
            }
            _ => format!("{}:{} > {far}", port.node, port.port),
        }
    }

    /// The largest summed clock tolerance of any switch profile, parts per million.
    pub fn clock_tolerance_ppm(&self) -> u32 {
        self.switches.iter().map(|s| self.profile_of(s).clock_tolerance_ppm).max().unwrap_or(0)
    }
}
