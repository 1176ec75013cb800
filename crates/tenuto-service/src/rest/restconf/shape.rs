//! Which members the model has where: what it has not is refused, since a name with a slip in it would ask for nothing.

use super::MODULE;
use super::error::Error;
use serde_json::Value;

/// A node of the model.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    /// A value, or a list of values; whoever reads it looks at it.
    Leaf,
    /// State that a client may send back as it was read; it is left out unread.
    State,
    Container(Members),
    List(Members),
}

/// What may be in a container or in each entry of a list.
pub(super) type Members = &'static [(&'static str, Node)];

use Node::{Container, Leaf, List, State};

const STREAM_LIST: (&str, Node) = ("stream-list", List(&[("stream-id", Leaf)]));

/// Of `compute_streams`.
pub(super) const NAMED_STREAMS: Members =
    &[("domain", List(&[("domain-id", Leaf), ("cuc", List(&[("cuc-id", Leaf), STREAM_LIST]))]))];

/// Of `compute_planned_and_modified_streams` and `compute_all_streams`.
pub(super) const NAMED_CUCS: Members =
    &[("domain", List(&[("domain-id", Leaf), ("cuc", List(&[("cuc-id", Leaf)]))]))];

/// Of `request_domain_id`.
pub(super) const ONE_CUC: Members = &[("cuc-id", Leaf)];

/// Of `request_free_stream_id`.
pub(super) const CUC_OF_DOMAIN: Members = &[("domain-id", Leaf), ("cuc-id", Leaf)];

/// Of the action `remove_streams`.
pub(super) const REMOVED: Members = &[STREAM_LIST];

const INTERFACES: Node = List(&[("mac-address", Leaf), ("interface-name", Leaf)]);

const CAPABILITIES: Node = Container(&[
    ("vlan-tag-capable", Leaf),
    ("cb-stream-iden-type-list", Leaf),
    ("cb-sequence-type-list", Leaf),
]);

const REQUIREMENTS: Node = Container(&[("num-seamless-trees", Leaf), ("max-latency", Leaf)]);

const IP_TUPLE: Node = Container(&[
    ("source-ip-address", Leaf),
    ("destination-ip-address", Leaf),
    ("dscp", Leaf),
    ("protocol", Leaf),
    ("source-port", Leaf),
    ("destination-port", Leaf),
]);

const FRAMES: Node = List(&[
    ("index", Leaf),
    (
        "ieee802-mac-addresses",
        Container(&[("destination-mac-address", Leaf), ("source-mac-address", Leaf)]),
    ),
    ("ieee802-vlan-tag", Container(&[("priority-code-point", Leaf), ("vlan-id", Leaf)])),
    ("ipv4-tuple", IP_TUPLE),
    ("ipv6-tuple", IP_TUPLE),
]);

const TRAFFIC: Node = Container(&[
    ("interval", Container(&[("numerator", Leaf), ("denominator", Leaf)])),
    ("max-frames-per-interval", Leaf),
    ("max-frame-size", Leaf),
    ("transmission-selection", Leaf),
    (
        "time-aware",
        Container(&[
            ("earliest-transmit-offset", Leaf),
            ("latest-transmit-offset", Leaf),
            ("jitter", Leaf),
        ]),
    ),
]);

/// Of a stream.
pub(super) const STREAM: Members = &[
    ("stream-id", Leaf),
    ("stream-status", State),
    (
        "talker",
        Container(&[
            ("stream-rank", Container(&[("rank", Leaf)])),
            ("end-station-interfaces", INTERFACES),
            ("data-frame-specification", FRAMES),
            ("traffic-specification", TRAFFIC),
            ("user-to-network-requirements", REQUIREMENTS),
            ("interface-capabilities", CAPABILITIES),
            ("accumulated-latency", State),
            ("interface-configuration", State),
        ]),
    ),
    (
        "listener",
        List(&[
            ("index", Leaf),
            ("end-station-interfaces", INTERFACES),
            ("user-to-network-requirements", REQUIREMENTS),
            ("interface-capabilities", CAPABILITIES),
            ("accumulated-latency", State),
            ("interface-configuration", State),
        ]),
    ),
    ("status-info", State),
    ("failed-interfaces", State),
];

/// The one member of a body, named with its module or without.
pub(super) fn body_member<'a>(body: &'a Value, name: &str, what: &str) -> Result<&'a Value, Error> {
    let qualified = format!("{MODULE}:{name}");
    let wrong = || Error::malformed(format!("send {{\"{qualified}\": {what}}}"));
    let members = body.as_object().ok_or_else(wrong)?;
    let own = members.get(&qualified).or_else(|| members.get(name)).ok_or_else(wrong)?;
    match members.keys().find(|it| **it != qualified && **it != name) {
        Some(other) => Err(unknown("the body", other, &[(name, Leaf)])),
        None if members.len() > 1 => Err(wrong()),
        None => Ok(own),
    }
}

/// Refuses what the model does not have in `value`.
pub(super) fn check(value: &Value, members: &[(&str, Node)], at: &str) -> Result<(), Error> {
    let Some(map) = value.as_object() else {
        return Err(Error::value(format!("{at}: {} is no container", shown(&value.to_string()))));
    };
    for (name, inside) in map {
        let Some((_, node)) = members.iter().find(|(own, _)| own == name) else {
            return Err(unknown(at, name, members));
        };
        check_node(inside, *node, &format!("{at}/{name}"))?;
    }
    Ok(())
}

fn check_node(value: &Value, node: Node, at: &str) -> Result<(), Error> {
    match (node, value) {
        (Leaf | State, _) => Ok(()),
        (Container(members), value) => check(value, members, at),
        (List(members), Value::Array(entries)) => {
            (1..).zip(entries).try_for_each(|(number, entry): (usize, _)| {
                check(entry, members, &format!("{at}[{number}]"))
            })
        }
        (List(_), other) => {
            Err(Error::value(format!("{at}: {} is no list", shown(&other.to_string()))))
        }
    }
}

fn unknown(at: &str, name: &str, members: &[(&str, Node)]) -> Error {
    let there = members.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Error::unknown(format!("{at}: the model has no `{}` here: there is {there}", shown(name)))
}

/// The beginning of what a client sent, without what a terminal would obey.
fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    text.chars().filter(|it| !it.is_control()).take(CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(value: &Value) -> String {
        check(value, STREAM, "stream").map_or_else(|it| it.message().to_owned(), |()| String::new())
    }

    #[test]
    fn a_slip_is_told_with_its_place_and_what_there_is() {
        assert_eq!(
            told(&json!({"talker": {"user-to-network-requirements": {"max-latncy": 5}}})),
            "stream/talker/user-to-network-requirements: the model has no `max-latncy` here: there is num-seamless-trees, max-latency"
        );
        assert!(told(&json!({"listener": [{}, {"x": 1}]})).starts_with("stream/listener[2]: "));
        assert_eq!(told(&json!({"listener": 5})), "stream/listener: 5 is no list");
        assert_eq!(told(&json!({"talker": []})), "stream/talker: [] is no container");
        assert_eq!(told(&json!({"talker": {"interface-configuration": {"any": [1]}}})), "");
        let long = "\u{1b}[2J".to_owned() + &"x".repeat(1_000);
        assert!(told(&json!({long: 1})).len() < 200, "and nothing that a terminal obeys");
    }
}
