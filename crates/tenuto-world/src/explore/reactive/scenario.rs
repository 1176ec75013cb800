//! The scenarios of \[Attendre\]: a line, or one switch with two replicas behind it, a host at each end.

use super::fixed::{Fixed, Host, Link, PortAt, SwitchAt, switch_config};
use super::packets::{Address, NOBODY};
use super::{Application, Budgets, Protocol, Settings};
use std::collections::BTreeSet;
use std::sync::Arc;
use tenuto_controller::reactive::{
    Firewall, Hop, LearningSwitch, LoadBalancer, ReactiveApp, Replica, RouteFlow,
};
use tenuto_units::Rate;

/// Shown whole to the controller, so that no switch has to keep it.
const PACKET_BYTES: usize = 106;
/// Towards the first host, and towards the last.
const LEFT: u32 = 1;
const RIGHT: u32 = 2;
/// The second replica.
const THIRD: u32 = 3;

const fn address(host: u8) -> Address {
    Address { mac: [2, 0, 0, 0, 0, host], ip: [10, 0, 0, host] }
}

const SERVICE: Address = address(9);

impl Fixed {
    /// # Errors
    /// In words, if the settings fit no scenario.
    pub(super) fn of_scenario(settings: &Settings) -> Result<Self, String> {
        let count = usize::from(settings.switches);
        let is_single =
            matches!(settings.application, Application::LoadBalancer | Application::Firewall);
        if count == 0 || count > 16 || settings.packets == 0 || is_single && count != 1 {
            let name = settings.application.name();
            let text = if is_single { "one switch" } else { "1 to 16 switches" };
            return Err(format!("{name} is explored with {text} and at least one packet"));
        }
        let is_balanced = settings.application == Application::LoadBalancer;
        let links = links(count);
        Ok(Self {
            switches: (0..count).map(|place| switch(place, is_balanced, &links)).collect(),
            hosts: hosts(settings, count),
            links,
            service: is_balanced.then_some(SERVICE),
            app: app(settings.application, count),
            protocol: if settings.attendre { Protocol::Attendre } else { Protocol::Openflow },
            packet_bytes: PACKET_BYTES,
            threads: settings.threads,
            ports_wait: true,
            properties: settings.properties.clone(),
            reductions: settings.reductions,
            forbidden: BTreeSet::new(),
            budgets: Budgets {
                timeouts: settings.timeouts,
                lost_commands: settings.lost_commands,
                ..Budgets::default()
            },
            mutant: settings.mutant,
        })
    }
}

fn app(application: Application, count: usize) -> Box<dyn ReactiveApp> {
    match application {
        Application::RouteFlow => {
            let hops = (1..=count as u64).map(|datapath| Hop { datapath, port: RIGHT });
            Box::new(RouteFlow::new().with_way(address(2).mac, hops.collect()))
        }
        Application::LearningSwitch => Box::new(LearningSwitch::new(16)),
        Application::LoadBalancer => {
            let replica = |host, port| Replica { address: address(host).mac, port };
            let replicas = vec![replica(2, RIGHT), replica(3, THIRD)];
            Box::new(LoadBalancer::new(SERVICE.mac, replicas))
        }
        Application::Firewall => Box::new(Firewall::new(LEFT, RIGHT, 16)),
    }
}

fn switch(place: usize, is_balanced: bool, links: &[Link]) -> SwitchAt {
    let rate = Rate::from_bps(1_000_000_000).expect("not zero");
    let is_trunk = |port| links.iter().any(|l| l.from == place && l.from_port == port);
    let port = |number| PortAt { number, rate, is_trunk: is_trunk(number) };
    let last = if is_balanced { THIRD } else { RIGHT };
    let ports: Vec<PortAt> = (LEFT..=last).map(port).collect();
    let config = Arc::new(switch_config(place as u64 + 1, &ports));
    SwitchAt { name: format!("s{}", place + 1), config }
}

fn hosts(settings: &Settings, count: usize) -> Vec<Host> {
    let is_balanced = settings.application == Application::LoadBalancer;
    let target = if is_balanced { NOBODY } else { 1 };
    let replies = settings.application.has_replies();
    let host = |number: u8, place, script, replies| Host {
        name: format!("h{number}"),
        address: address(number),
        places: vec![place],
        script,
        replies,
    };
    let script = vec![target; settings.packets.into()];
    let mut hosts =
        vec![host(1, (0, LEFT), script, false), host(2, (count - 1, RIGHT), Vec::new(), replies)];
    if is_balanced {
        hosts.push(host(3, (0, THIRD), Vec::new(), false));
    }
    hosts
}

fn links(count: usize) -> Vec<Link> {
    let name = |place: usize| format!("s{}", place + 1);
    let link = |from, from_port, to, to_port| {
        let ends = (name(from), name(to));
        Link { from, from_port, to, to_port, ends }
    };
    let both = |left| [link(left, RIGHT, left + 1, LEFT), link(left + 1, LEFT, left, RIGHT)];
    (0..count - 1).flat_map(both).collect()
}
