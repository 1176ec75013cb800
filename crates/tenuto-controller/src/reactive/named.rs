//! Applications by name, with settings as text.

use super::app::ReactiveApp;
use super::firewall::Firewall;
use super::learning_switch::LearningSwitch;
use super::load_balancer::{LoadBalancer, Replica};
use super::monitor::Monitor;
use super::route_flow::RouteFlow;
use super::shortest_ways::shortest_ways;
use super::spanning_tree::SpanningTree;
use super::traffic_engineering::{LoadLimits, TrafficEngineering};
use super::way::Hop;
use std::ops::RangeInclusive;
use tenuto_model::Network;
use tenuto_units::Span;

/// Addresses, flows or conversations that an application keeps at most.
const KEPT_MAX: usize = 65_536;

/// Silence after which an entry goes, as OpenFlow counts it; 0 keeps it.
const IDLE_S: RangeInclusive<u64> = 0..=65_535;
/// Time between two questions for counters.
const POLL_S: RangeInclusive<u64> = 1..=86_400;
/// Ports of a switch, as OpenFlow numbers them.
const PORTS: RangeInclusive<u64> = 1..=0xffff_ff00;
/// Rates, bit/s.
const RATES_BPS: RangeInclusive<u64> = 0..=1_000_000_000_000_000;

/// Names of applications, each with what it does and the settings that it takes.
pub const APPLICATIONS: [(&str, &str); 6] = [
    ("learning-switch", "MAC learning, loop-free with a network file; idle=SECONDS"),
    (
        "route-flow",
        "entries on the whole way at once, the shortest of a network file unless said; \
         way=MAC@DATAPATH:PORT,DATAPATH:PORT,…, match=addresses|conversations",
    ),
    ("firewall", "replies only come in; inside=PORT, outside=PORT, idle=SECONDS"),
    ("load-balancer", "flows to replicas in turn; service=MAC, replica=MAC@PORT, idle=SECONDS"),
    (
        "traffic-engineering",
        "REsPoNse; always-on=WAY and on-demand=WAY in pairs, loaded=BIT/S, free=BIT/S, poll=SECONDS, \
         idle=SECONDS",
    ),
    ("monitor", "a learning switch that counts what its flows carry; poll=SECONDS, idle=SECONDS"),
];

/// `key=value` as on a command line; a key may come several times.
pub type Settings = [(String, String)];

/// The application of that name.
///
/// # Errors
/// In words, if there is none, or a setting does not fit.
pub fn named(
    name: &str,
    settings: &Settings,
    network: Option<&Network>,
) -> Result<Box<dyn ReactiveApp>, String> {
    let reader = Reader { name, settings };
    let tree = network.map(SpanningTree::of).unwrap_or_default();
    Ok(match name {
        "learning-switch" => {
            reader.only(&["idle"])?;
            Box::new(learning(&reader, tree)?)
        }
        "route-flow" => {
            reader.only(&["way", "match"])?;
            let mut ways = reader.all("way").map(way).collect::<Result<Vec<_>, _>>()?;
            if let Some(network) = network.filter(|_| ways.is_empty()) {
                ways = shortest_ways(network);
            } else if ways.is_empty() {
                return Err("route-flow needs a `way`, or a network file".to_owned());
            }
            let add = |app: RouteFlow, (dst, hops)| app.with_way(dst, hops);
            let app = ways.into_iter().fold(RouteFlow::new(), add);
            match reader.all("match").last() {
                None | Some("addresses") => Box::new(app),
                Some("conversations") => Box::new(app.with_conversations()),
                Some(other) => {
                    return Err(format!("`match={other}`: addresses or conversations is meant"));
                }
            }
        }
        "firewall" => {
            reader.only(&["inside", "outside", "idle"])?;
            let (inside, outside) = (
                reader.number("inside", Some(1), PORTS)?,
                reader.number("outside", Some(2), PORTS)?,
            );
            if inside == outside {
                return Err("`inside` and `outside` are to be two ports".to_owned());
            }
            let idle_s = reader.number("idle", Some(60), IDLE_S)?;
            Box::new(Firewall::new(inside, outside, KEPT_MAX).with_idle_s(idle_s))
        }
        "load-balancer" => {
            reader.only(&["service", "replica", "idle"])?;
            let service = mac(reader.one("service")?)?;
            let replicas = reader.all("replica").map(replica).collect::<Result<Vec<_>, _>>()?;
            if replicas.is_empty() {
                return Err("load-balancer needs a `replica`".to_owned());
            }
            let idle_s = reader.number("idle", Some(60), IDLE_S)?;
            Box::new(LoadBalancer::new(service, replicas).with_affinity(KEPT_MAX, idle_s))
        }
        "traffic-engineering" => Box::new(engineering(&reader)?),
        "monitor" => {
            reader.only(&["poll", "idle"])?;
            let poll = Span::from_s(reader.number("poll", Some(5), POLL_S)?);
            Box::new(Monitor::new(learning(&reader, tree)?, poll, KEPT_MAX))
        }
        _ => {
            let known = APPLICATIONS.map(|(name, _)| name).join(", ");
            return Err(format!("no application is called `{name}`; there are {known}"));
        }
    })
}

fn learning(reader: &Reader<'_>, tree: SpanningTree) -> Result<LearningSwitch, String> {
    let idle_s = reader.number("idle", Some(60), IDLE_S)?;
    Ok(LearningSwitch::new(KEPT_MAX).with_idle_s(idle_s).with_tree(tree))
}

fn engineering(reader: &Reader<'_>) -> Result<TrafficEngineering, String> {
    reader.only(&["always-on", "on-demand", "loaded", "free", "poll", "idle"])?;
    let limits = LoadLimits {
        loaded_from_bps: reader.number("loaded", None, RATES_BPS)?,
        free_until_bps: reader.number("free", None, RATES_BPS)?,
        poll: Span::from_s(reader.number("poll", Some(5), POLL_S)?),
    };
    if limits.free_until_bps >= limits.loaded_from_bps {
        return Err("`free` is to be below `loaded`: a port would be both".to_owned());
    }
    let ways = |key| reader.all(key).map(way).collect::<Result<Vec<_>, _>>();
    let (always_on, on_demand) = (ways("always-on")?, ways("on-demand")?);
    let is_paired = always_on.iter().map(|it| it.0).eq(on_demand.iter().map(|it| it.0));
    if !is_paired {
        return Err(
            "each `always-on` needs an `on-demand` to the same MAC, in the same order".to_owned()
        );
    }
    let app = TrafficEngineering::new(limits, reader.number("idle", Some(10), IDLE_S)?);
    let pairs = always_on.into_iter().zip(on_demand);
    Ok(pairs.fold(app, |app, ((dst, always_on), (_, on_demand))| {
        app.with_ways(dst, always_on, on_demand)
    }))
}

struct Reader<'a> {
    name: &'a str,
    settings: &'a Settings,
}

impl<'a> Reader<'a> {
    fn only(&self, keys: &[&str]) -> Result<(), String> {
        match self.settings.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            Some((key, _)) => {
                Err(format!("{} has no setting `{key}`; there are {}", self.name, keys.join(", ")))
            }
            None => Ok(()),
        }
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &'a str> {
        self.settings.iter().filter(move |(it, _)| it == key).map(|(_, value)| value.as_str())
    }

    fn one(&self, key: &str) -> Result<&'a str, String> {
        self.all(key).last().ok_or_else(|| format!("{} needs `{key}`", self.name))
    }

    fn number<N: TryFrom<u64>>(
        &self,
        key: &str,
        usual: Option<N>,
        range: RangeInclusive<u64>,
    ) -> Result<N, String> {
        match (self.all(key).last(), usual) {
            (None, Some(usual)) => Ok(usual),
            (None, None) => Err(format!("{} needs `{key}`", self.name)),
            (Some(text), _) => whole(text, &range).ok_or_else(|| {
                let (least, most) = range.into_inner();
                format!("`{key}={text}`: a whole number from {least} to {most} is meant")
            }),
        }
    }
}

fn whole<N: TryFrom<u64>>(text: &str, range: &RangeInclusive<u64>) -> Option<N> {
    let number = text.parse().ok().filter(|it| range.contains(it))?;
    N::try_from(number).ok()
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    let error = || format!("`{text}` is no MAC address such as 02:00:00:00:00:01");
    let bytes: Option<Vec<u8>> = text
        .split(':')
        .map(|part| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2))
        .collect();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(error)
}

fn replica(text: &str) -> Result<Replica, String> {
    let parts =
        text.split_once('@').and_then(|(address, port)| Some((address, whole(port, &PORTS)?)));
    let (address, port) = parts.ok_or_else(|| format!("`replica={text}`: MAC@PORT is meant"))?;
    Ok(Replica { address: mac(address)?, port })
}

/// `MAC@DATAPATH:PORT,…`.
fn way(text: &str) -> Result<([u8; 6], Vec<Hop>), String> {
    let error = || format!("`{text}`: a way is MAC@DATAPATH:PORT,DATAPATH:PORT");
    let (dst, hops) = text.split_once('@').ok_or_else(error)?;
    let hop = |text: &str| {
        let (datapath, port) = text.split_once(':')?;
        Some(Hop { datapath: datapath.parse().ok()?, port: whole(port, &PORTS)? })
    };
    let hops: Option<Vec<Hop>> = hops.split(',').map(hop).collect();
    Ok((mac(dst)?, hops.ok_or_else(error)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, settings: &[(&str, &str)]) -> String {
        let settings: Vec<(String, String)> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        named(name, &settings, None).map_or_else(|why| why, |_| String::new())
    }

    /// A timer that is due at once, again and again, would let no time pass.
    #[test]
    fn numbers_have_limits_and_say_them() {
        assert_eq!(
            told("learning-switch", &[("idle", "99999999")]),
            "`idle=99999999`: a whole number from 0 to 65535 is meant"
        );
        assert!(told("monitor", &[("poll", "0")]).contains("from 1 to 86400"));
        assert!(told("firewall", &[("inside", "0")]).contains("from 1 to 4294967040"));
        assert!(told("firewall", &[("inside", "-1")]).contains("a whole number"));
        assert!(told("firewall", &[("inside", "2")]).contains("two ports"));
        let service = ("service", "02:00:00:00:00:01");
        assert!(told("load-balancer", &[service]).contains("needs a `replica`"));
        let replica = ("replica", "02:00:00:00:00:02@0");
        assert!(told("load-balancer", &[service, replica]).contains("MAC@PORT"));
        assert!(told("route-flow", &[]).contains("needs a `way`"));
        assert!(told("traffic-engineering", &[("loaded", "5")]).contains("needs `free`"));
        for (name, settings) in [
            ("learning-switch", &[("idle", "65535")][..]),
            ("firewall", &[("inside", "4"), ("idle", "0")]),
            ("monitor", &[("poll", "1")]),
            ("route-flow", &[("way", "02:00:00:00:00:01@1:2"), ("match", "conversations")]),
        ] {
            assert_eq!(told(name, settings), "", "{name}");
        }
    }

    /// The table of the page has every setting of every application.
    #[test]
    fn the_page_of_applications_has_every_setting() {
        let page = include_str!("../../../../docs/applications.md");
        for (name, what) in APPLICATIONS {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("no row of {name}"));
            let refused = told(name, &[("no-such-setting", "1")]);
            let keys = refused.split("there are ").nth(1).expect("the settings that there are");
            for key in keys.split(", ") {
                let is_told = |text: &str| {
                    [format!("`{key}`"), format!("`{key}=")].iter().any(|it| text.contains(it))
                };
                assert!(is_told(row), "{name}: `{key}` is not in {row}");
                assert!(what.contains(&format!("{key}=")), "{name}: `{key}` is not in its help");
            }
        }
    }
}
