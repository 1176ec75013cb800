//! A change of mode that a controller makes: what the switches' own change is held against.
//!
//! It is told of the excess, sends every switch its entries of the new mode and a barrier, and the
//! change is done when the last switch has carried out its barrier. Only latencies and lines take
//! time; what controller and switches have to work takes none, which is to the controller's favour.

use tenuto_controller::compile;
use tenuto_model::{Plan, Profile};
use tenuto_openflow::{Body, Experimenter, Message, ModesMessage};

/// One way between switch and controller, as in virtual time.
const CHANNEL_NS: u64 = 500_000;
/// The controller's line, on which one switch's messages follow the other's.
const LINE_BPS: u64 = 1_000_000_000;
/// Of TCP, IP and Ethernet per segment on the line.
const SEGMENT_BYTES: u64 = 1_460;
const SEGMENT_OVERHEAD_BYTES: u64 = 78;

/// How long so many changes take, nanoseconds; they differ by what switches add to a frame.
pub fn controller_changes(plan: &Plan, count: u32, seed: u64) -> Vec<u64> {
    let mut line_ns = 0;
    let mut ends = Vec::new();
    for bytes in changes_of_switches(plan) {
        line_ns += sending_ns(bytes);
        ends.push(line_ns);
    }
    let latencies: Vec<(u64, u64)> = plan
        .network
        .switches
        .iter()
        .map(|switch| {
            let profile: &Profile = &plan.network.profiles[&switch.profile];
            (profile.latency_ns_min, profile.latency_ns_max)
        })
        .collect();
    let mut state = seed;
    let mut draw = |(least, most): (u64, u64)| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + (state >> 33) % (most - least + 1)
    };
    let mut change = || {
        let told = CHANNEL_NS + draw(latencies.first().copied().unwrap_or_default());
        let done = ends.iter().zip(&latencies).map(|(end, &latency)| end + draw(latency));
        told + CHANNEL_NS + done.max().unwrap_or(0)
    };
    (0..count).map(|_| change()).collect()
}

/// Bytes of each switch's entries of the highest mode, and of a barrier, as they are really sent.
fn changes_of_switches(plan: &Plan) -> Vec<u64> {
    let modes = tenuto_world::mode_settings(plan, 1);
    let highest = modes.levels.saturating_sub(1);
    let of = |deployment| {
        let mut bytes = Vec::new();
        for body in compile(deployment, &modes) {
            if let Body::Experimenter(Experimenter::Modes(ModesMessage::ShadowFlowMod {
                level,
                flow_mod,
            })) = body
                && level == highest
            {
                Message::new(1, Body::FlowMod(flow_mod)).emit(&mut bytes);
            }
        }
        Message::new(2, Body::BarrierRequest).emit(&mut bytes);
        bytes.len() as u64
    };
    plan.switches.iter().map(of).collect()
}

const fn sending_ns(bytes: u64) -> u64 {
    let on_line = bytes + bytes.div_ceil(SEGMENT_BYTES) * SEGMENT_OVERHEAD_BYTES;
    (on_line * 8 * 1_000_000_000).div_ceil(LINE_BPS)
}
