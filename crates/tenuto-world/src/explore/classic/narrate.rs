//! A trace told line by line: played again, with what each transition is about.

use super::application::Application;
use super::setup::Setup;
use super::step::Step;
use super::transition::{Enabled, Strategy, Transition};
use super::world::World;

/// Tells a path from the start, a line per transition; it ends where a transition is not enabled.
pub fn narrate<A: Application>(setup: &Setup, application: A, path: &[Transition]) -> Vec<String> {
    let mut world = World::new(setup, application);
    let mut lines = Vec::with_capacity(path.len());
    for transition in path {
        if !world.transitions(Strategy::CompleteCoverage).contains(transition) {
            break;
        }
        lines.push(format!(
            "{}: {}",
            setup.node_name(transition.node.into()),
            told(&world, setup, *transition)
        ));
        Step::run(&mut world, setup, *transition);
    }
    lines
}

pub(super) fn told<A: Application>(
    world: &World<A>,
    setup: &Setup,
    transition: Transition,
) -> String {
    let node = usize::from(transition.node);
    let switch_name = |switch: u8| setup.node_name(setup.switch_node(switch.into()));
    match transition.enabled {
        Enabled::ProcessPacket => {
            format!("takes {}", world.first_packets(setup, node).join(" and "))
        }
        Enabled::SendPacket(number) => format!("sends pkt{number}"),
        Enabled::SendReply(number, _) => format!("sends reply {number}"),
        Enabled::Move => "moves, and announces itself".into(),
        Enabled::StartConnection(number) => format!("begins connection {number}"),
        Enabled::ProcessCommand => {
            format!("carries out: {}", world.first_command(node - setup.hosts.len()))
        }
        Enabled::OvertakeCommand => "carries its second command out before its first".into(),
        Enabled::DuplicatePacket(port) => format!("doubles the first packet of port {port}"),
        Enabled::ProcessReport(switch) => {
            format!("handles of {}: {}", switch_name(switch), world.first_report(switch.into()))
        }
        Enabled::RequestStatistics(switch) => {
            format!("asks {} for statistics", switch_name(switch))
        }
        Enabled::Statistics(switch, load) => {
            format!("is told that {} has sent {load} MB", switch_name(switch))
        }
        Enabled::Callback(number) => format!("calls back {number}"),
    }
}
