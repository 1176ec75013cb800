//! The log of frames: all that was released is in it, at every port of its way, in order.

use crate::support::shipped;
use std::collections::BTreeSet;
use tenuto_model::Scenario;
use tenuto_planner::{Options, plan};
use tenuto_world::clockwork::{FrameLog, run_with_frames};

fn logged(file: &str, duration_ns: u64) -> FrameLog {
    let plan = plan(&shipped(file), &Options::default());
    let scenario = Scenario::plain(duration_ns, 1);
    run_with_frames(&plan, &scenario, &mut |_| {}).expect("the plan runs").1
}

#[test]
fn each_frame_has_the_ports_of_its_way() {
    let log = logged("line.yaml", 35_000_000);
    assert!((3..=4).contains(&log.frames.len()), "{:#?}", log.frames);
    for frame in &log.frames {
        let ports: Vec<_> = frame.hops.iter().map(|hop| (hop.node.as_str(), hop.port)).collect();
        assert_eq!(ports, [("sensor", 1), ("sw1", 2)]);
        assert_eq!(frame.hops[0].arrival_ns, frame.release_ns);
        // Preamble and gap take 20 B more on the line.
        let slot_ns = u64::from(frame.frame_bytes + 20) * 80;
        for hop in &frame.hops {
            assert_eq!(hop.departure_ns - hop.arrival_ns, slot_ns, "nothing is in the way");
        }
        assert!(frame.hops[0].departure_ns < frame.hops[1].arrival_ns);
    }
}

/// Sources stop at the end, and the last frames come out: none ends within the network.
#[test]
fn what_is_under_way_at_the_end_comes_out() {
    let log = logged("vehicle.yaml", 41_000_000);
    let last_hops = |flow: &str| -> BTreeSet<(String, usize)> {
        let mine = log.frames.iter().filter(|frame| frame.flow == flow);
        let last = |frame: &tenuto_world::clockwork::LoggedFrame| {
            frame.hops.last().map(|hop| (hop.node.clone(), frame.hops.len()))
        };
        mine.filter_map(last).collect()
    };
    for (flow, switches) in [("STREAM", 2), ("CAM", 3), ("LIDAR", 3)] {
        let last = last_hops(flow);
        assert!(last.len() <= 1, "{flow}: {last:?}");
        assert!(last.iter().all(|(_, hops)| *hops == switches + 1), "{flow}: {last:?}");
    }
    let stream = |message: u32| {
        let is_part = |frame: &&tenuto_world::clockwork::LoggedFrame| {
            frame.flow == "STREAM" && frame.message == message
        };
        log.frames.iter().filter(is_part).count()
    };
    assert_eq!(stream(0), 137, "all frames of a message of 200 kB");
    assert_eq!(log.frames_without_stamp, 0);
}
