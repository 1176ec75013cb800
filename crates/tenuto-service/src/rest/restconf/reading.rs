//! A stream as it was written, read as the fields of a flow.
//!
//! Where both do not say the same, the flow asks for more: several frames of an interval are as many of the largest kind, an interval
//! is rounded down, and the latency of a frame is that of the whole message. What the network cannot do (gates,
//! tags, more than two trees) is refused by name.

use super::error::Error;
use serde_json::{Map, Value, json};
use tenuto_model::quantity::{format_size, format_time};
use tenuto_model::{Addressing, Network};

/// IPv4 and UDP in front of a payload (`max-frame-size` leaves Ethernet out).
const HEADER_BYTES: u64 = 28;
/// The largest packet of Ethernet.
const PACKET_BYTES_MAX: u64 = 1_500;
/// What a frame of a message carries (docs/theory, "Sizes").
const SEGMENT_BYTES: u64 = 1_460;
const UDP: u64 = 17;
/// `protocol` of no protocol, `dscp` of none.
const NO_PROTOCOL: u64 = 0xffff;
const NS_PER_S: u128 = 1_000_000_000;

/// What a stream asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// The fields of its flow.
    pub(super) fields: Value,
    /// Whether the first latency is to be the most that is ever allowed (46.2.3.6.2).
    pub(super) keeps_first_latency: bool,
}

/// Reads a stream.
pub(super) fn wanted(stream: &Value, network: &Network) -> Result<Wanted, Error> {
    let talker = member(stream, "talker")?;
    let source = station(talker, "talker", network)?;
    let traffic = member(talker, "traffic-specification")?;
    if traffic.get("time-aware").is_some() {
        let text = "talker/traffic-specification/time-aware: this network has no gates; leave it out, and the bound holds whenever the talker sends";
        return Err(Error::unsupported(text));
    }
    let mut fields = Map::from_iter([("source".to_owned(), json!(source.name))]);
    let (key, size) = size(traffic)?;
    fields.insert(key.to_owned(), json!(format_size(size)));
    fields.insert("period".to_owned(), json!(format_time(interval_ns(traffic)?)));
    let general = latency(talker, "talker")?;
    let mut targets = Map::new();
    let listeners = stream.get("listener").and_then(Value::as_array).filter(|it| !it.is_empty());
    let listeners = listeners.ok_or_else(|| Error::value("listener: a stream has at least one"))?;
    let (mut has_deadline, mut has_none) = (false, false);
    for listener in listeners {
        let host = station(listener, "listener", network)?;
        let own = latency(listener, "listener")?;
        let deadline = general.into_iter().chain(own).min();
        (has_deadline, has_none) =
            (has_deadline || deadline.is_some(), has_none || deadline.is_none());
        let deadline = deadline.map(|ns| ("deadline".to_owned(), json!(format_time(ns))));
        if targets
            .insert(host.name.clone(), Value::Object(deadline.into_iter().collect()))
            .is_some()
        {
            return Err(Error::value(format!("listener: {} is there twice", host.name)));
        }
    }
    if has_deadline && has_none {
        let text = "max-latency: give one to every listener, or to the talker, or to none";
        return Err(Error::value(text));
    }
    fields.insert("targets".to_owned(), Value::Object(targets));
    match trees(talker)? {
        0 | 1 => {}
        2 if network.networks.is_empty() => {
            drop(fields.insert("copies".to_owned(), json!("disjoint")))
        }
        2 => drop(fields.insert("copies".to_owned(), json!(network.networks))),
        more => {
            return Err(Error::unsupported(format!(
                "num-seamless-trees: {more} are asked for, and a flow has two copies at most"
            )));
        }
    }
    if let Some(port) = port(talker, source, network)? {
        fields.insert("udp_port".to_owned(), json!(port));
    }
    Ok(Wanted { fields: Value::Object(fields), keeps_first_latency: has_none })
}

fn member<'a>(value: &'a Value, name: &str) -> Result<&'a Value, Error> {
    value
        .get(name)
        .filter(|it| it.is_object())
        .ok_or_else(|| Error::value(format!("{name}: it is missing")))
}

/// A number of a container, where it is.
fn number(value: &Value, name: &str, most: u64) -> Result<Option<u64>, Error> {
    let Some(it) = value.get(name) else { return Ok(None) };
    let number = it.as_u64().filter(|it| *it <= most);
    number
        .map(Some)
        .ok_or_else(|| Error::value(format!("{name}: {it} is no whole number up to {most}")))
}

/// The host of a talker or listener, by the address of its interface.
fn station<'a>(
    of: &Value,
    what: &str,
    network: &'a Network,
) -> Result<&'a tenuto_model::Host, Error> {
    let interfaces = of.get("end-station-interfaces").and_then(Value::as_array);
    let first = interfaces.and_then(|it| it.first()).and_then(|it| it.get("mac-address")?.as_str());
    let text = first.ok_or_else(|| {
        Error::value(format!(
            "{what}/end-station-interfaces: name the interface by its mac-address"
        ))
    })?;
    let addressing = Addressing::new(network);
    let networks = network.networks.iter().map(|it| Some(it.as_str())).chain([None]);
    let networks: Vec<Option<&str>> = networks.collect();
    let has = |index: usize| {
        networks.iter().any(|of| mac(&addressing.host_mac(index, *of)).eq_ignore_ascii_case(text))
    };
    let found = network.hosts.iter().enumerate().find(|(index, _)| has(*index));
    found.map(|(_, host)| host).ok_or_else(|| {
        let first = network.hosts.first().map_or_else(String::new, |host| {
            format!("; {} is {}", host.name, mac(&addressing.host_mac(0, None)))
        });
        Error::value(format!(
            "{what}/end-station-interfaces: no host of the network has {text}{first}"
        ))
    })
}

/// An address as the model writes it.
pub(super) fn mac(mac: &[u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02X}")).join("-")
}

/// Whether one datagram or a message of several, and how large.
fn size(traffic: &Value) -> Result<(&'static str, u64), Error> {
    let frames = number(traffic, "max-frames-per-interval", 0xffff)?.unwrap_or(1);
    let packet = number(traffic, "max-frame-size", 0xffff)?;
    let packet = packet.ok_or_else(|| Error::value("max-frame-size: how large is a frame?"))?;
    if frames == 0 || packet <= HEADER_BYTES || packet > PACKET_BYTES_MAX {
        return Err(Error::value(format!(
            "max-frame-size {packet} and max-frames-per-interval {frames}: a frame has {} to {PACKET_BYTES_MAX} B behind its \
             Ethernet header, and there is one at least",
            HEADER_BYTES + 1
        )));
    }
    Ok(match frames {
        1 => ("payload", packet - HEADER_BYTES),
        // As many of the largest kind: the flow counts bytes and cuts by itself.
        several => ("message", several * SEGMENT_BYTES),
    })
}

fn interval_ns(traffic: &Value) -> Result<u64, Error> {
    let interval = member(traffic, "interval")?;
    let part = |name| number(interval, name, u64::from(u32::MAX));
    let wrong =
        || Error::value("interval: numerator and denominator of seconds, neither of them 0");
    let numerator = part("numerator")?.filter(|it| *it > 0).ok_or_else(wrong)?;
    let denominator = part("denominator")?.filter(|it| *it > 0).ok_or_else(wrong)?;
    let ns = u128::from(numerator) * NS_PER_S / u128::from(denominator);
    u64::try_from(ns).ok().filter(|it| *it > 0).ok_or_else(|| {
        Error::value(format!("interval: {numerator}/{denominator} s is less than a nanosecond"))
    })
}

/// A latency that is asked for; 0 asks for none.
fn latency(of: &Value, what: &str) -> Result<Option<u64>, Error> {
    let Some(requirements) = of.get("user-to-network-requirements") else { return Ok(None) };
    let ns = number(requirements, "max-latency", u64::from(u32::MAX));
    Ok(ns
        .map_err(|error| Error::value(format!("{what}: {}", error.message())))?
        .filter(|ns| *ns > 0))
}

fn trees(talker: &Value) -> Result<u64, Error> {
    let requirements = talker.get("user-to-network-requirements").unwrap_or(&Value::Null);
    Ok(number(requirements, "num-seamless-trees", 255)?.unwrap_or(1))
}

/// The UDP port that the frames are told by; `None` leaves it to the network.
fn port(
    talker: &Value,
    source: &tenuto_model::Host,
    network: &Network,
) -> Result<Option<u16>, Error> {
    let all = talker.get("data-frame-specification").and_then(Value::as_array);
    let Some(fields) = all.filter(|it| !it.is_empty()) else { return Ok(None) };
    let what = "talker/data-frame-specification";
    let mut port = None;
    for field in fields {
        if field.get("ieee802-vlan-tag").is_some() || field.get("ipv6-tuple").is_some() {
            return Err(Error::unsupported(format!(
                "{what}: frames of this network are IPv4 without a tag: give an ipv4-tuple"
            )));
        }
        let Some(tuple) = field.get("ipv4-tuple") else { continue };
        let protocol = number(tuple, "protocol", 0xffff)?.unwrap_or(UDP);
        if protocol != UDP && protocol != NO_PROTOCOL {
            return Err(Error::unsupported(format!(
                "{what}: protocol {protocol}: flows are UDP, {UDP}"
            )));
        }
        let index = network.hosts.iter().position(|it| it.name == source.name).unwrap_or(0);
        let own = Addressing::new(network).host(index).ip.map(|it| it.to_string()).join(".");
        let given = tuple.get("source-ip-address").and_then(Value::as_str).unwrap_or(&own);
        if given != own && given != "0.0.0.0" {
            return Err(Error::value(format!(
                "{what}: {} has {own} here, not {given}",
                source.name
            )));
        }
        let wanted = number(tuple, "destination-port", 0xffff)?.filter(|it| *it > 0);
        port = wanted.and_then(|it| u16::try_from(it).ok()).filter(|_| protocol == UDP);
    }
    Ok(port)
}
