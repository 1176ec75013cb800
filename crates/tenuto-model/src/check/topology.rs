//! Rules of nodes and links, and who reaches whom.

use crate::read::network::Draft;
use crate::read::reader::{Reader, shown};
use crate::{Link, Network, NodeRef};
use std::collections::{BTreeMap, BTreeSet};

/// Most hosts: they are numbered into MAC and IPv4 addresses.
const HOSTS_MAX: usize = 4_000;
/// Most switches.
const SWITCHES_MAX: usize = 1_000;

/// Most switches that take part in mode changes: their votes are kept as the bits of one word.
const MEMBERS_MAX: usize = 64;

/// The graph of a network, ready for questions.
pub(crate) struct Topology<'a> {
    nodes: BTreeMap<&'a str, NodeRef>,
    /// Neighbours by name, with the link between.
    neighbours: BTreeMap<&'a str, Vec<(&'a str, &'a Link)>>,
    /// Component of each switch among the switches of its network.
    component: Vec<usize>,
    network: &'a Network,
}

/// How a host is attached.
#[derive(Clone, Copy)]
pub(crate) struct Attachment<'a> {
    /// The node at the other end.
    pub(crate) peer: &'a str,
    /// Index of the switch at the other end; `None` for a host.
    pub(crate) switch: Option<usize>,
    /// The link.
    pub(crate) link: &'a Link,
}

impl<'a> Topology<'a> {
    pub(crate) fn new(network: &'a Network) -> Self {
        let hosts = network.hosts.iter().enumerate();
        let mut nodes: BTreeMap<&str, NodeRef> =
            hosts.map(|(i, h)| (h.name.as_str(), NodeRef::Host(i))).collect();
        let switches = network.switches.iter().enumerate();
        nodes.extend(switches.map(|(i, s)| (s.name.as_str(), NodeRef::Switch(i))));
        let mut neighbours: BTreeMap<&str, Vec<(&str, &Link)>> = BTreeMap::new();
        for link in &network.links {
            neighbours.entry(&link.a.node).or_default().push((&link.b.node, link));
            neighbours.entry(&link.b.node).or_default().push((&link.a.node, link));
        }
        let mut topology = Self { nodes, neighbours, component: Vec::new(), network };
        topology.component = topology.components();
        topology
    }

    fn components(&self) -> Vec<usize> {
        let mut component = vec![usize::MAX; self.network.switches.len()];
        for start in 0..component.len() {
            if component[start] != usize::MAX {
                continue;
            }
            component[start] = start;
            let mut open = vec![start];
            while let Some(switch) = open.pop() {
                let name = self.network.switches[switch].name.as_str();
                for (peer, _) in self.neighbours(name) {
                    if let Some(NodeRef::Switch(next)) = self.node(peer)
                        && component[next] == usize::MAX
                        && self.network.switches[next].network
                            == self.network.switches[switch].network
                    {
                        component[next] = start;
                        open.push(next);
                    }
                }
            }
        }
        component
    }

    pub(crate) fn node(&self, name: &str) -> Option<NodeRef> {
        self.nodes.get(name).copied()
    }

    /// The node's name as the network has it.
    pub(super) fn name_of(&self, name: &str) -> Option<&'a str> {
        self.nodes.get_key_value(name).map(|(name, _)| *name)
    }

    pub(crate) fn neighbours(&self, name: &str) -> &[(&'a str, &'a Link)] {
        self.neighbours.get(name).map_or(&[], Vec::as_slice)
    }

    /// The links of a host that belong to `copy`, or all where there is one network.
    pub(crate) fn attachments<'t>(
        &'t self,
        host: &'t str,
        copy: Option<&'t str>,
    ) -> impl Iterator<Item = Attachment<'a>> + 't {
        self.neighbours(host).iter().filter_map(move |(peer, link)| {
            let switch = match self.node(peer)? {
                NodeRef::Switch(index) => Some(index),
                NodeRef::Host(_) => None,
            };
            let network = switch.and_then(|s| self.network.switches[s].network.as_deref());
            (copy.is_none() || network == copy).then_some(Attachment { peer, switch, link })
        })
    }

    /// Whether frames of `copy` can get from one host to another, through switches only.
    pub(crate) fn reaches(&self, source: &str, target: &str, copy: Option<&str>) -> bool {
        let far: Vec<_> = self.attachments(target, copy).collect();
        self.attachments(source, copy).any(|near| match near.switch {
            None => near.peer == target,
            Some(a) => {
                far.iter().filter_map(|f| f.switch).any(|b| self.component[a] == self.component[b])
            }
        })
    }
}

pub(super) fn judge_topology(reader: &mut Reader, draft: &Draft, topology: &Topology<'_>) {
    let network = &draft.network;
    if network.hosts.len() > HOSTS_MAX {
        reader.error_at("hosts", "there are too many hosts", "at most 4000 can be numbered");
    }
    if network.switches.len() > SWITCHES_MAX {
        reader.error_at("switches", "there are too many switches", "at most 1000");
    }
    let mut ids: BTreeMap<u64, &str> = BTreeMap::new();
    for switch in &network.switches {
        let path = format!("switches.{}", switch.name);
        if let Some(other) = ids.insert(switch.datapath_id, &switch.name) {
            let message =
                format!("`{}` and `{other}` have datapath id {}", switch.name, switch.datapath_id);
            reader.error_at(&path, &message, "give each a `dpid` of its own");
        }
        judge_network_of(reader, network, switch.network.as_deref(), &switch.name, &path);
    }
    judge_links(reader, draft, topology);
    judge_hosts(reader, draft, topology);
    judge_modes(reader, network);
}

fn judge_network_of(
    reader: &mut Reader,
    network: &Network,
    belongs: Option<&str>,
    name: &str,
    path: &str,
) {
    let names = network.networks.join(", ");
    match belongs {
        None if !network.networks.is_empty() => {
            let message = format!("switch `{name}` belongs to no network");
            reader.error_at(path, &message, &format!("add `network:` with one of {names}"));
        }
        Some(own) if !network.networks.iter().any(|n| n == own) => {
            let message = format!("there is no network `{}`", shown(own));
            let hint = if network.networks.is_empty() {
                "add `networks: [A, B]` at the top, or leave it out here".to_owned()
            } else {
                format!("there is: {names}")
            };
            reader.error_at(path, &message, &hint);
        }
        _ => {}
    }
}

fn judge_links(reader: &mut Reader, draft: &Draft, topology: &Topology<'_>) {
    let network = &draft.network;
    for (index, link) in network.links.iter().enumerate() {
        let path = format!("links[{index}].ends");
        let ends = (topology.node(&link.a.node), topology.node(&link.b.node));
        match ends {
            (Some(NodeRef::Switch(a)), Some(NodeRef::Switch(b)))
                if network.switches[a].network != network.switches[b].network =>
            {
                let message = format!(
                    "the link joins switches of different networks: `{}`, `{}`",
                    link.a.node, link.b.node
                );
                reader.error_at(&path, &message, "redundant networks share no link");
            }
            (Some(NodeRef::Host(_)), Some(NodeRef::Host(_))) if !network.networks.is_empty() => {
                let hint = "with several networks, hosts are attached to switches";
                reader.error_at(&path, "the link between two hosts belongs to no network", hint);
            }
            _ => {}
        }
    }
}

fn judge_hosts(reader: &mut Reader, draft: &Draft, topology: &Topology<'_>) {
    let network = &draft.network;
    let used: BTreeSet<&str> = network
        .flows
        .iter()
        .flat_map(|f| std::iter::once(&f.source).chain(f.targets.iter().map(|t| &t.host)))
        .map(String::as_str)
        .collect();
    // Hosts of flows whose copies take disjoint ways need two links.
    let twice: BTreeSet<&str> = network
        .flows
        .iter()
        .filter(|flow| !flow.copies.is_empty())
        .flat_map(|f| std::iter::once(&f.source).chain(f.targets.iter().map(|t| &t.host)))
        .map(String::as_str)
        .collect();
    for host in &network.hosts {
        let path = format!("hosts.{}", host.name);
        let links = topology.neighbours(&host.name).len();
        if links == 0 && !draft.topology_in_doubt && !used.contains(host.name.as_str()) {
            let message = format!("host `{}` is attached to nothing", host.name);
            reader.warn_at(&path, &message, "add a link, or leave the host out");
        }
        if network.networks.is_empty() {
            let most = if twice.contains(host.name.as_str()) { 2 } else { 1 };
            if links > most {
                let message = format!("host `{}` is attached by {links} links", host.name);
                let hint = "one link; two with `networks: [A, B]`, one to each, or for flows with \
                            `copies: disjoint` or `link-disjoint`";
                reader.error_at(&path, &message, hint);
            }
            continue;
        }
        for name in &network.networks {
            if topology.attachments(&host.name, Some(name)).count() > 1 {
                let message = format!("host `{}` is attached to network {name} twice", host.name);
                reader.error_at(&path, &message, "one link to each network");
            }
        }
    }
}

fn judge_modes(reader: &mut Reader, network: &Network) {
    if network.modes.len() < 2 {
        return;
    }
    if network.switches.len() > MEMBERS_MAX {
        let message = format!("{} switches cannot change modes together", network.switches.len());
        let hint = format!("at most {MEMBERS_MAX} can: one mode, or fewer switches");
        reader.error_at("modes", &message, &hint);
    }
    let known = network.switches.iter().filter(|s| network.profiles.contains_key(&s.profile));
    let without: Vec<&str> =
        known.filter(|s| !network.profile_of(s).has_modes).map(|s| s.name.as_str()).collect();
    if without.is_empty() {
        return;
    }
    let mut names = without.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    if without.len() > 8 {
        names.push_str(", …");
    }
    let message = format!("the network has modes, but these switches cannot change them: {names}");
    let hint = "use `profile: tenuto`, or a profile with `modes: true`, or one mode";
    reader.error_at(&format!("switches.{}", without[0]), &message, hint);
}
