//! What the proxy tells whoever started it.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use tenuto_dataplane::switch::ProxyEvent;
use tenuto_units::counted;

/// Something that an operator wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyNews {
    /// The switch can connect here.
    Listening(SocketAddr),
    /// The switch is there, and the slices are in front of it.
    Switch(String),
    /// A slice's controller is there.
    Controller(String),
    /// A peer is gone, was refused, or cannot be reached.
    Gone {
        /// Which.
        peer: String,
        /// Why.
        why: String,
    },
    /// What the core tells.
    Event(ProxyEvent),
    /// Packet-ins for a slice that were dropped, as they were more than its budget, since the last such news.
    Limited {
        /// The slice.
        slice: String,
        /// How many.
        packet_ins: u64,
    },
    /// More of the like than is told one by one.
    More {
        /// A slice, or the switch.
        whose: String,
        /// How many.
        count: u64,
    },
    /// News that were not told, since they were not read.
    Untold(u64),
}

impl Display for ProxyNews {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening(address) => write!(f, "the switch connects at {address}"),
            Self::Switch(peer) => write!(f, "slices are in front of the switch at {peer}"),
            Self::Controller(slice) => write!(f, "slice {slice}: its controller is there"),
            Self::Gone { peer, why } => write!(f, "{peer}: {why}"),
            Self::Event(event) => told(f, event),
            Self::Limited { slice, packet_ins } => {
                let dropped = counted(*packet_ins, "packet-in");
                write!(f, "slice {slice}: {dropped} above its budget dropped")
            }
            Self::More { whose, count } => write!(f, "{whose}: {count} more like that"),
            Self::Untold(count) => write!(f, "{} not told", counted(*count, "message")),
        }
    }
}

fn told(f: &mut Formatter<'_>, event: &ProxyEvent) -> fmt::Result {
    match event {
        ProxyEvent::Refused { slice, type_, code } => {
            write!(f, "slice {slice}: a message of type {type_} was refused: {code}")
        }
        ProxyEvent::SwitchRefused(error) => write!(
            f,
            "the switch refused what slices need: error {}, code {}",
            error.type_, error.code
        ),
        ProxyEvent::Foreign { table, priority, match_ } => {
            write!(f, "table {table} has an entry that no slice has made: priority {priority}, ")?;
            match match_.oxms.as_slice() {
                [] => f.write_str("every frame"),
                _ => match_.fmt(f),
            }
        }
        ProxyEvent::Missing { slice, entries } => {
            let gone = counted(*entries as u64, "entry");
            match slice {
                Some(slice) => write!(f, "slice {slice}: {gone} gone from the switch"),
                None => write!(f, "{gone} gone by which slices are told apart"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_openflow::{Match, Oxm};

    /// A match is written as everywhere else, not as the program holds it.
    #[test]
    fn what_the_proxy_tells_is_for_people() {
        let foreign = |oxms: Vec<Oxm>| {
            let match_ = Match { oxms };
            ProxyNews::Event(ProxyEvent::Foreign { table: 0, priority: 7, match_ }).to_string()
        };
        let told = "table 0 has an entry that no slice has made: priority 7, ";
        assert_eq!(foreign(vec![Oxm::InPort(3)]), format!("{told}in_port=3"));
        assert_eq!(foreign(Vec::new()), format!("{told}every frame"));
        let one = ProxyNews::Limited { slice: "a".into(), packet_ins: 1 };
        assert_eq!(one.to_string(), "slice a: 1 packet-in above its budget dropped");
        let gone = ProxyNews::Event(ProxyEvent::Missing { slice: None, entries: 1 });
        assert_eq!(gone.to_string(), "1 entry gone by which slices are told apart");
    }
}
