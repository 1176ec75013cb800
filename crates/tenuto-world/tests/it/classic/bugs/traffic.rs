//! Bugs VIII to XI: traffic engineering that leaves packets behind, or takes the wrong way.

use super::{Spoiled, caught, exact, passes};
use tenuto_world::explore::classic::apps::{Map, TrafficEngineering};
use tenuto_world::explore::classic::response::response;
use tenuto_world::explore::classic::{
    Answers, Application, Load, Mixer, Order, Packet, PacketIn, Property, Setup, Traffic,
};

const FORGOTTEN: Property = Property::NoForgottenPackets(Traffic::Tcp);

fn setup(connections: u8) -> (Setup, Map) {
    let (setup, map) = response(0, 1, connections);
    let properties =
        vec![FORGOTTEN, Property::NoBlackHoles(Traffic::Tcp), Property::UseCorrectRoutingTable];
    (exact(setup, properties), map)
}

#[test]
fn traffic_engineering_without_bugs_passes() {
    for connections in [1, 2] {
        let (setup, map) = setup(connections);
        passes(&setup, TrafficEngineering::new(&map));
    }
}

#[test]
fn viii_the_first_packet_of_a_flow_stays() {
    let (setup, map) = setup(1);
    let buggy = Spoiled::new(TrafficEngineering::new(&map), |_, _, asked, answers| {
        for answer in &mut answers.list {
            if let Order::Add { buffer, .. } = &mut answer.order
                && asked.packet.is_tcp()
            {
                *buffer = None;
            }
        }
    });
    caught(&setup, buggy, FORGOTTEN);
}

#[test]
fn ix_a_packet_at_the_second_switch_stays() {
    let (setup, map) = setup(1);
    let buggy = Spoiled::new(TrafficEngineering::new(&map), |_, switch, asked, answers| {
        // Hosts hang at ports 3 and 4 of the first and last switch.
        if asked.packet.is_tcp() && (switch > 1 || asked.port < 3) {
            answers.list.clear();
        }
    });
    caught(&setup, buggy, FORGOTTEN);
}

/// Takes the on-demand way always.
#[derive(Clone)]
struct NeverAlwaysOn<'a> {
    right: TrafficEngineering<'a>,
    wrong: TrafficEngineering<'a>,
    ways_differ: bool,
}

impl Application for NeverAlwaysOn<'_> {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        let mut right = Answers::default();
        self.right.packet_in(switch, asked, &mut right);
        self.wrong.packet_in(switch, asked, answers);
        self.ways_differ = right.list.len() != answers.list.len();
    }

    fn statistics(&mut self, switch: usize, load: &mut Load) {
        self.right.statistics(switch, load);
    }

    fn wrong_route(&self, packet: &Packet) -> Option<String> {
        self.ways_differ.then(|| format!("{packet}: on-demand rules under low load"))
    }

    fn key(&self, has_learned: bool, mixer: &mut Mixer) {
        self.right.key(has_learned, mixer);
    }
}

#[test]
fn x_only_the_on_demand_way_is_used() {
    let (setup, map) = setup(1);
    let mut wrong = map.clone();
    wrong.always_on = wrong.on_demand.clone();
    for host in &mut wrong.hosts {
        host.always_on = host.on_demand.clone();
    }
    let buggy = NeverAlwaysOn {
        right: TrafficEngineering::new(&map),
        wrong: TrafficEngineering::new(&wrong),
        ways_differ: false,
    };
    caught(&setup, buggy, Property::UseCorrectRoutingTable);
}

#[test]
fn xi_a_packet_stays_when_the_load_falls() {
    let (setup, map) = setup(2);
    caught(&setup, TrafficEngineering::as_released(&map), FORGOTTEN);
}
