//! A network of the size of an aircraft's: 136 directed ports, some 1000 targets.

mod support;

use serde_json::json;
use support::{Flow, Net, Size, car, sealed};
use tenuto_certify::certify;

/// 8 switches in a full mesh of 28 links and 40 hosts, five to a switch: 136 directed ports.
fn aircraft() -> Net {
    let mut net = car();
    net.modes = vec!["normal"];
    net.switches = (0..8).map(|s| (format!("s{s}"), None)).collect();
    net.hosts = (0..40).map(|h| format!("h{h}")).collect();
    net.links = (0..40).map(|h| (format!("h{h}"), format!("s{}", h / 5))).collect();
    for a in 0..8 {
        net.links.extend((a + 1..8).map(|b| (format!("s{a}"), format!("s{b}"))));
    }
    net.flows.clear();
    for flow in 0..251_usize {
        let source = flow % 40;
        let reach = |t: usize| {
            let target = (source + 3 + 7 * t) % 40;
            let mut nodes = vec![format!("h{source}"), format!("s{}", source / 5)];
            if target / 5 != source / 5 {
                nodes.push(format!("s{}", target / 5));
            }
            nodes.push(format!("h{target}"));
            nodes
        };
        net.flows.push(Flow {
            name: Box::leak(format!("vl{flow}").into_boxed_str()),
            vl: Some(u16::try_from(flow).expect("few")),
            contracts: vec![(
                Size::Frame(64 + 17 * u32::try_from(flow % 60).expect("few")),
                1_000_000 << (3 + flow % 5),
                u8::from(flow % 3 == 0),
            )],
            copies: vec![],
            paths: vec![(0..4).map(reach).collect()],
            deadline_ns: 100_000_000,
        });
    }
    net.profile["meter_counts"] = json!("frame");
    net.delay_ps = 5_000_000_000;
    net
}

#[test]
fn a_thousand_targets_are_certified() {
    let net = aircraft();
    assert_eq!(net.links.len() * 2, 136);
    let plan = sealed(net.plan());
    let certificate = certify(&plan).unwrap_or_else(|f| {
        panic!("{}", f.iter().take(5).map(|f| format!("{f}\n")).collect::<String>())
    });
    assert_eq!(certificate.flows_checked, 251);
    assert!(certificate.ports_checked > 100);
}
