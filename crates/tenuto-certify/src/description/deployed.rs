//! What a plan tells switches and end systems, as it is read.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct SwitchDeployment {
    pub(crate) switch: String,
    pub(crate) datapath_id: u64,
    pub(crate) ports: Vec<PortDeployment>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) groups: Vec<Group>,
    pub(crate) meters: Vec<Meter>,
    pub(crate) monitors: Vec<Monitor>,
    pub(crate) usage: Usage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Usage {
    pub(crate) entries: u32,
    pub(crate) shadow: u32,
    pub(crate) meters: u32,
    pub(crate) groups: u32,
    pub(crate) queues: u32,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PortDeployment {
    pub(crate) port: u32,
    pub(crate) role: Role,
    pub(crate) peer: String,
    pub(crate) peer_port: u32,
    pub(crate) rate_bps: u64,
    pub(crate) queues: u8,
    pub(crate) buffer_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    Host,
    Trunk,
}

/// Header fields; an absent one matches anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Match {
    pub(crate) in_port: Option<u32>,
    pub(crate) eth_dst: Option<[u8; 6]>,
    pub(crate) eth_type: Option<u16>,
    pub(crate) ip_src: Option<[u8; 4]>,
    pub(crate) ip_dst: Option<[u8; 4]>,
    pub(crate) ip_proto: Option<u8>,
    pub(crate) udp_dst: Option<u16>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    pub(crate) table: u8,
    pub(crate) level: Option<u8>,
    pub(crate) precedence: u16,
    pub(crate) cookie: u64,
    pub(crate) flow: Option<String>,
    #[serde(rename = "match")]
    pub(crate) matching: Match,
    pub(crate) monitor: Option<u32>,
    pub(crate) meter: Option<u32>,
    pub(crate) output: Option<Output>,
    pub(crate) goto: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Output {
    Port(PortQueue),
    Group(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct PortQueue {
    pub(crate) port: u32,
    pub(crate) queue: u8,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Group {
    pub(crate) id: u32,
    pub(crate) outputs: Vec<PortQueue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Meter {
    pub(crate) id: u32,
    pub(crate) flow: Option<String>,
    pub(crate) rate_bps: u64,
    pub(crate) burst_bytes: u64,
}

impl Meter {
    /// Burst in bits; more than any band can state is refused where steps are.
    pub(crate) const fn burst_bits(&self) -> u64 {
        self.burst_bytes.saturating_mul(8)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Monitor {
    pub(crate) id: u32,
    pub(crate) flow: String,
    pub(crate) kind: MonitorKind,
    pub(crate) contracts: Vec<LevelContract>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MonitorKind {
    Message,
    Frame,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct LevelContract {
    pub(crate) level: u8,
    pub(crate) bytes_max: u32,
    pub(crate) period_ns: u64,
    pub(crate) jitter_ns: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HostDeployment {
    pub(crate) host: String,
    pub(crate) ports: Vec<PortDeployment>,
    pub(crate) senders: Vec<Sender>,
    pub(crate) receivers: Vec<Receiver>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Sender {
    pub(crate) flow: String,
    pub(crate) flow_index: u16,
    pub(crate) ports: Vec<u32>,
    pub(crate) queues: Vec<u8>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Receiver {
    pub(crate) flow: String,
    pub(crate) flow_index: u16,
    pub(crate) ports: Vec<u32>,
    pub(crate) skew_max_ns: Option<u64>,
}
