//! Who reaches the controller's address and is none of its switches.

use super::fake_switch::FakeSwitch;
use super::lab::{Lab, deployment, modes};
use crate::{ConnId, ControllerConfig, ControllerEvent, ControllerLimits, NoPlace};
use core::net::{IpAddr, Ipv4Addr};

fn at(host: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + host))
}

/// Switches 1 and 2, each known to be at the address of its number.
fn lab() -> Lab {
    Lab::with_config(ControllerConfig {
        manages: vec![1, 2],
        sources: [(1, at(1)), (2, at(2))].into(),
        deployments: [1, 2].map(deployment).to_vec(),
        modes: modes(2, &[1, 2]),
        epoch: 1,
        ..ControllerConfig::default()
    })
}

/// Makes so many connections that say nothing; how many are taken, and why the last one is not.
fn connect_silently(lab: &mut Lab, source: IpAddr, count: usize) -> (usize, Option<NoPlace>) {
    let (mut taken, mut last) = (count, None);
    for _ in 0..count {
        let conn = lab.next_conn();
        lab.controller.connected_from(lab.now, conn, source);
        while let Some(event) = lab.controller.next_event() {
            let ControllerEvent::Refused { conn: refused, source: from, why } = event else {
                panic!("{event}");
            };
            assert_eq!((refused, from), (conn, Some(source)));
            assert!(lab.controller.wants_close(conn));
            (taken, last) = (taken - 1, Some(why));
        }
    }
    (taken, last)
}

#[test]
fn one_address_holds_a_few_places() {
    let mut lab = lab();
    let full = NoPlace::SourceFull { most: 8 };
    assert_eq!(connect_silently(&mut lab, at(99), 300), (8, Some(full)));
    assert_eq!(connect_silently(&mut lab, at(98), 3), (3, None));
    lab.controller.closed(lab.now, ConnId(1));
    let _ = lab.controller.next_event();
    assert_eq!(connect_silently(&mut lab, at(99), 2), (1, Some(full)));
}

/// However many there are, from however many addresses.
#[test]
fn strangers_take_no_places_of_switches() {
    let mut lab = lab();
    for host in 100..132 {
        assert_eq!(connect_silently(&mut lab, at(host), 8), (8, None));
    }
    let full = NoPlace::Full { most: 256 };
    assert_eq!(connect_silently(&mut lab, at(132), 8), (0, Some(full)));
    for dpid in [1, 2] {
        lab.connect_from(at(u32::try_from(dpid).expect("small")), FakeSwitch::new(dpid));
    }
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
    // Nor does a switch take more than its own.
    let full = NoPlace::SourceFull { most: 8 };
    assert_eq!(connect_silently(&mut lab, at(1), 9), (7, Some(full)));
}

#[test]
fn switches_behind_one_address_have_places_each() {
    let mut lab = Lab::with_config(ControllerConfig {
        manages: vec![1, 2],
        sources: [(1, at(7)), (2, at(7))].into(),
        ..ControllerConfig::default()
    });
    let full = NoPlace::SourceFull { most: 16 };
    assert_eq!(connect_silently(&mut lab, at(7), 20), (16, Some(full)));
}

/// Who says the name of a switch is not taken for it.
#[test]
fn a_stranger_is_not_taken_for_a_switch() {
    let mut lab = lab();
    let stranger = lab.connect_from(at(99), FakeSwitch::new(1));
    lab.settle();
    assert!(lab.events.contains(&ControllerEvent::WrongSource { conn: stranger, dpid: 1 }));
    assert!(lab.controller.wants_close(stranger));
    assert!(lab.told().contains("0x1 is expected from another address"), "{}", lab.told());
    for dpid in [1, 2] {
        lab.connect_from(at(u32::try_from(dpid).expect("small")), FakeSwitch::new(dpid));
    }
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
}

/// What is lost where nobody takes events is told in its place.
#[test]
fn lost_events_are_told() {
    let limits = ControllerLimits { events_max: 4, ..ControllerLimits::default() };
    let config = ControllerConfig { manages: vec![1], limits, ..ControllerConfig::default() };
    let mut lab = Lab::with_config(config);
    // Refused, as it has as many as an address may have.
    let mut refused = |count: usize| {
        for _ in 0..count {
            let conn = lab.next_conn();
            lab.controller.connected_from(lab.now, conn, at(99));
        }
        let told = std::iter::from_fn(|| lab.controller.next_event());
        told.map(|event| match event {
            ControllerEvent::Refused { .. } => "refused".to_owned(),
            other => other.to_string(),
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(refused(8 + 3), ["refused"; 3]);
    let lost = |count| format!("{count} events of the controller are not told: too many at once");
    let refused_and = |count| [vec!["refused".to_owned(); 4], vec![lost(count)]].concat();
    assert_eq!(refused(5), refused_and(1));
    assert_eq!(refused(100), refused_and(96), "counted anew");
    assert_eq!(refused(4), ["refused"; 4]);
}
