//! \[MC-SDN\] section VIII: emergency braking. A car drives towards a wall; its camera sees 2 m far. How far it still
//! drives depends on how soon an image with the wall is where the brakes are decided on.

use super::figure::{Figure, Printed};
use super::plot::{Boxed, Boxes};
use crate::failure::Failure;
use crate::verbs::bench::sheet::{Sheet, rounded};
use tenuto_model::{Event, EventAction, MemorySources, Network, Plan, Scenario, read_network};
use tenuto_planner::{Options, plan};
use tenuto_units::Draws;
use tenuto_world::{RunDocument, clockwork};

/// Of the print.
const SPEED_M_PER_S: f64 = 2.1;
const SIGHT_M: f64 = 2.0;
const TRIALS: u64 = 30;
/// Assumed: a car of a tenth of the size on a smooth floor. The same in every system, so that differences do not depend on it.
const BRAKES_M_PER_S2: f64 = 3.0;
/// Assumed, likewise: from an image at the controller to the brakes.
const DECIDING_S: f64 = 0.010;
/// The wall comes into sight so long after traffic has started, at some phase of the camera.
const SEEN_AFTER_NS: u64 = 1_500_000_000;
const PHASES_NS: u64 = 200_000_000;
/// How long after that a run goes on.
const REST_NS: u64 = 600_000_000;
const CAMERA: &str = "CAM";

/// How the car's network is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    /// Always in LO: the camera every 200 ms.
    LoOnly,
    /// Always in HI: no stream.
    HiOnly,
    /// Raised by the camera's excess.
    Switched,
}

impl System {
    const ALL: [Self; 3] = [Self::LoOnly, Self::HiOnly, Self::Switched];

    const fn name(self) -> &'static str {
        match self {
            Self::LoOnly => "LO only",
            Self::HiOnly => "HI only",
            Self::Switched => "MC-SDN",
        }
    }
}

/// What one trial showed.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// From the wall in sight to the first image with it at the controller, ns.
    perceived_ns: u64,
    /// Messages of the stream that arrived before the wall came into sight.
    streamed: u64,
}

impl Trial {
    /// Perception and reaction, braking, in all; metres.
    fn distances(self) -> [f64; 3] {
        let reacting = (self.perceived_ns as f64 / 1e9 + DECIDING_S) * SPEED_M_PER_S;
        let braking = SPEED_M_PER_S * SPEED_M_PER_S / (2.0 * BRAKES_M_PER_S2);
        [reacting, braking, reacting + braking]
    }
}

/// The study in the shipped network, or in another of the same flows.
pub(super) fn figure(progress: &mut dyn FnMut(&str)) -> Result<Figure, Failure> {
    let network = network()?;
    let planned = plan(&network, &Options::default());
    let mut trials: Vec<(System, Vec<Trial>)> = Vec::new();
    for system in System::ALL {
        progress(&format!("emergency braking, {}", system.name()));
        let of = (0..TRIALS).map(|seed| trial(&planned, system, seed));
        trials.push((system, of.collect::<Result<_, _>>()?));
    }
    Ok(shown(&trials))
}

fn network() -> Result<Network, Failure> {
    let text = include_str!("../../../../../../networks/vehicle.yaml");
    let sources = MemorySources::new().with("vehicle.yaml", text);
    Ok(read_network(&sources, "vehicle.yaml")?.0)
}

fn trial(planned: &Plan, system: System, seed: u64) -> Result<Trial, Failure> {
    let mut draws = Draws::new(seed);
    let seen_ns = SEEN_AFTER_NS + draws.below(PHASES_NS);
    let mut scenario = Scenario::plain(seen_ns + REST_NS, seed);
    let behave = |at_ns| {
        let action = EventAction::Behave { flow: CAMERA.into(), mode: 1 };
        Event { at_ns, action, note: None }
    };
    match system {
        System::LoOnly => {}
        System::HiOnly => scenario.events.push(behave(1)),
        System::Switched => scenario.events.push(behave(seen_ns)),
    }
    let run = clockwork::run(planned, &scenario)
        .map_err(|error| Failure::undecidable(error.to_string(), None))?;
    let perceived_ns = perceived(&run, seen_ns).ok_or_else(|| {
        Failure::undecidable(format!("no image of trial {seed} arrived: {}", run.summary), None)
    })?;
    let of_stream = run.flows.iter().filter(|row| row.flow == "STREAM").flat_map(|row| &row.delays);
    let streamed = of_stream.filter(|it| it.at_ns + it.delay_ns <= seen_ns).count() as u64;
    Ok(Trial { perceived_ns, streamed })
}

/// The first image that was taken with the wall in sight, from that moment until its last frame was there.
fn perceived(run: &RunDocument, seen_ns: u64) -> Option<u64> {
    let images = run.flows.iter().filter(|row| row.flow == CAMERA).flat_map(|row| &row.delays);
    let with_wall = images.filter(|it| it.at_ns >= seen_ns);
    with_wall.map(|it| it.at_ns + it.delay_ns - seen_ns).min()
}

/// Mean, standard deviation, largest.
fn spread(values: &[f64]) -> [f64; 3] {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
    let most = values.iter().copied().fold(0.0, f64::max);
    [mean, (squares / count).sqrt(), most]
}

fn shown(trials: &[(System, Vec<Trial>)]) -> Figure {
    let columns = [
        "system",
        "trials",
        "perceived mean ms",
        "perceived largest ms",
        "perception and reaction mean m",
        "deviation m",
        "total mean m",
        "total largest m",
        "left of the sight m",
        "stream messages",
    ];
    let mut values = Sheet::new("MC-SDN, Fig. 10(c): distances of 30 trials each", &columns);
    let (mut boxes, mut totals) = (Vec::new(), Vec::new());
    for (system, of) in trials {
        let perceived: Vec<f64> = of.iter().map(|it| it.perceived_ns as f64 / 1e6).collect();
        let reacting: Vec<f64> = of.iter().map(|it| it.distances()[0]).collect();
        let total: Vec<f64> = of.iter().map(|it| it.distances()[2]).collect();
        let [mean_ms, _, most_ms] = spread(&perceived);
        let [reacting_m, deviation_m, _] = spread(&reacting);
        let [total_m, _, most_m] = spread(&total);
        values.push(vec![
            system.name().into(),
            of.len().into(),
            rounded(mean_ms, 2),
            rounded(most_ms, 2),
            rounded(reacting_m, 3),
            rounded(deviation_m, 3),
            rounded(total_m, 3),
            rounded(most_m, 3),
            rounded(SIGHT_M - most_m, 3),
            (of.iter().map(|it| it.streamed).sum::<u64>() / of.len().max(1) as u64).into(),
        ]);
        boxes.push(Boxed {
            label: system.name().into(),
            quantiles: Some(quantiles(&total)),
            lost_percent: None,
        });
        totals.push((total_m, most_m, of.iter().map(|it| it.streamed).sum::<u64>()));
    }
    values.note(format!(
        "2.1 m/s, 2 m of sight; assumed: {BRAKES_M_PER_S2} m/s² of the brakes, {} ms from an image to the brakes",
        DECIDING_S * 1e3
    ));
    values.note("the shipped vehicle.yaml: its stream is smaller than Table IV prints, which no line of 100 Mbit/s carries");
    let picture = Boxes {
        title: "Fig. 10(c): total stopping distance",
        along: "system",
        of: "m",
        boxes: &boxes,
        promise: Some(SIGHT_M),
    };
    Figure {
        paper: "MC-SDN",
        name: "Fig. 10(c), Table IV",
        world: "virtual time, networks/vehicle.yaml, our switches, seeds 0 to 29".into(),
        svg: Some(picture.svg()),
        values,
        printed: claims(&totals),
    }
}

fn claims(totals: &[(f64, f64, u64)]) -> Vec<Printed> {
    let [lo, hi, switched] = totals else { return Vec::new() };
    vec![
        Printed::claim(
            "LO only stops later than HI only, on average and at worst",
            lo.0 > hi.0 && lo.1 > hi.1,
        ),
        Printed::claim(
            "MC-SDN stops as HI only does: its mean within a period of HI (22 ms, 46 mm)",
            (switched.0 - hi.0).abs() <= 0.022 * SPEED_M_PER_S,
        ),
        Printed::claim("MC-SDN carries the stream until the wall is in sight, HI only does not", {
            switched.2 > 0 && hi.2 * 10 < switched.2
        }),
        Printed::claim(
            "every system with HI stops before the wall",
            hi.1 < SIGHT_M && switched.1 < SIGHT_M,
        ),
    ]
}

/// Least, 1 %, 25 %, 50 %, 75 %, 99 %, largest.
fn quantiles(values: &[f64]) -> [f64; 7] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    [0, 1, 25, 50, 75, 99, 100].map(|percent| {
        let at = (sorted.len() * percent / 100).min(last);
        sorted.get(at).copied().unwrap_or(0.0)
    })
}
