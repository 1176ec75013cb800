//! `tenuto bench attendre-delay`: the first packet of a flow over six switches.

use super::sheet::{Form, Sheet, rounded, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use tenuto_planner::comparison::attendre::{Way, link_ps};

const PS_PER_US: u64 = 1_000_000;
/// Attendre, section VIII.C.
const SWITCHES: usize = 6;
const QUEUEING_PS: u64 = 3_400_000;
const PROPAGATION_PS: u64 = 167_000;
const SENDING_PS: u64 = 576_000;
const SENDING_ENCAPSULATED_PS: u64 = 3_040_000;
const PACKET_PS: u64 = 5 * PS_PER_US;
const COMMAND_PS: u64 = 1_000 * PS_PER_US;
const CONTROLLER_US: [u64; 4] = [100, 400, 700, 1_000];
const ROUND_TRIP_US: [u64; 6] = [50, 90, 130, 170, 210, 250];

pub(super) fn run(form: &Form) -> Result<Outcome, Failure> {
    let (mut plain, mut barriers, mut attendre) = (Vec::new(), Vec::new(), Vec::new());
    let round_trips = ROUND_TRIP_US.len();
    let combinations = round_trips.pow(u32::try_from(SWITCHES).unwrap_or(0));
    for controller in CONTROLLER_US {
        for number in 0..combinations {
            let trip = |k: u32| ROUND_TRIP_US[number / round_trips.pow(k) % round_trips];
            let mut way = way(controller, (0..6).map(trip).collect());
            plain.push(way.openflow_ps());
            barriers.push(way.barriers_ps());
            // Between switches a packet carries its command.
            let between =
                link_ps(QUEUEING_PS, SENDING_ENCAPSULATED_PS, PROPAGATION_PS, QUEUEING_PS);
            way.links_ps[1..SWITCHES].fill(between);
            attendre.push(way.attendre_ps());
        }
    }
    let mut sheet = Sheet::new(
        "Attendre, Fig. 10: delay of a first packet, all combinations of controller and round trips",
        &["mechanism", "min ms", "p25 ms", "p50 ms", "p60 ms", "p75 ms", "max ms"],
    );
    for values in [&mut plain, &mut barriers, &mut attendre] {
        values.sort_unstable();
    }
    let ms = |values: &[u64], percent: usize| {
        rounded(values[(values.len() - 1) * percent / 100] as f64 / 1e9, 3)
    };
    for (name, values) in
        [("OpenFlow", &plain), ("OpenFlow-B", &barriers), ("OpenFlow-Attendre", &attendre)]
    {
        let cells = [0, 25, 50, 60, 75, 100].map(|percent| ms(values, percent));
        sheet.push(std::iter::once(name.into()).chain(cells).collect());
    }
    let worst = attendre.last().copied().unwrap_or(0);
    let later = plain.iter().filter(|&&ps| ps > worst).count() as f64 / plain.len() as f64;
    let best = barriers.first().copied().unwrap_or(0);
    sheet.note(format!(
        "Attendre's worst case is better than {:.1} % of the cases of OpenFlow (printed: 60 %)",
        later * 100.0
    ));
    sheet.note(format!(
        "its worst case {:.3} ms, the best of OpenFlow-B {:.3} ms (printed: the former is better)",
        worst as f64 / 1e9,
        best as f64 / 1e9
    ));
    show("attendre-delay", None, &[sheet], form)
}

fn way(controller_us: u64, round_trips_us: Vec<u64>) -> Way {
    let link = link_ps(QUEUEING_PS, SENDING_PS, PROPAGATION_PS, QUEUEING_PS);
    Way {
        links_ps: vec![link; SWITCHES + 1],
        packet_ps: vec![PACKET_PS; SWITCHES],
        command_ps: vec![COMMAND_PS; SWITCHES],
        round_trip_ps: round_trips_us.into_iter().map(|us| us * PS_PER_US).collect(),
        controller_ps: vec![controller_us * PS_PER_US; SWITCHES],
    }
}
