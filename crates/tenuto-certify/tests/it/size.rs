//! A network of the size of an aircraft's: 136 directed ports, some 1000 targets.

use crate::support;

use serde_json::json;
use support::{Flow, Net, Size, car, sealed, with_rates};
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
            vl: Some(u16::try_from(flow + 1).expect("few")),
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

#[test]
fn a_thousand_targets_behind_faster_trunks_are_certified() {
    let net = aircraft();
    // The first 40 links are those of hosts.
    let plan = sealed(with_rates(&net, |link, _| {
        Some(if link < 40 { 100_000_000 } else { 1_000_000_000 })
    }));
    let certificate = certify(&plan).unwrap_or_else(|f| {
        panic!("{}", f.iter().take(5).map(|f| format!("{f}\n")).collect::<String>())
    });
    assert_eq!(certificate.flows_checked, 251);
}

/// Every link of a long line is faster than all before it, so that every set lies within others.
#[test]
fn a_long_line_of_ever_faster_links_is_followed_without_recursion() {
    let mut net = car();
    net.modes = vec!["normal"];
    net.babbling = 0;
    net.hosts = vec!["h1".into(), "h2".into()];
    net.switches = (0..900).map(|s| (format!("s{s}"), None)).collect();
    let mut nodes = vec!["h1".to_owned()];
    nodes.extend((0..900).map(|s| format!("s{s}")));
    nodes.push("h2".into());
    net.links = nodes.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    net.flows.clear();
    for flow in 0..12_u16 {
        net.flows.push(Flow {
            name: Box::leak(format!("vl{flow}").into_boxed_str()),
            vl: Some(flow + 1),
            contracts: vec![(Size::Frame(100), 128_000_000, 0)],
            copies: vec![],
            paths: vec![vec![nodes.clone()]],
            deadline_ns: 3_000_000_000,
        });
    }
    let steps = |link: usize| u64::try_from(link).expect("few") * 1_000_000;
    let plan = sealed(with_rates(&net, |link, _| Some(100_000_000 + steps(link))));
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let thread = small.spawn(move || certify(&plan).map(|c| c.inequalities));
    let found = thread.expect("a thread").join().expect("it comes back");
    assert_eq!(found.map_err(|f| f[0].to_string()), Ok(901));
}
