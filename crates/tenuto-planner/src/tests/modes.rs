use super::builder::{MS, contract, findings, flow, quick, vehicle};
use crate::plan;
use tenuto_model::{Plan, Size, Transition};

const RAISE: Transition = Transition::Raise { from: 0, to: 1 };
const RETURN: Transition = Transition::Return { from: 1, to: 0 };

fn show(plan: &Plan) -> String {
    let row = |r: &tenuto_model::FlowBound| {
        format!(
            "{} {} {:?} <= {}",
            r.flow,
            r.mode.label(&plan.network.modes),
            r.delay_bound_ps,
            r.deadline_ns
        )
    };
    let rows: Vec<String> = plan.flows.iter().map(row).collect();
    let refused: Vec<String> = plan
        .refusals
        .iter()
        .map(|r| {
            format!("{} {} {:?}: {} {:?}", r.place, r.resource, r.mode, r.because, r.would_fit)
        })
        .collect();
    format!("{}\n{}\n{:?}", rows.join("\n"), refused.join("\n"), plan.mode_changes)
}

#[test]
fn the_car_holds_in_both_modes_and_both_changes() {
    let plan = plan(&vehicle(45, 2, 1), &quick());
    assert!(plan.feasible, "{}", show(&plan));
    // LIDAR and CAM: LO, HI, LO>HI, HI>LO; STREAM: LO and HI>LO.
    assert_eq!(plan.flows.len(), 4 + 4 + 2);
    assert!(plan.flows.iter().all(|row| row.delay_bound_ps.is_some()));
    assert_eq!(plan.mode_changes.len(), 2);
    assert_eq!(plan.signal_copies, 2);
}

/// A switch that asks queued frames too slowly may keep lines idle at its swap: rows of raises count that.
#[test]
fn lines_that_may_be_idle_at_a_swap_count() {
    let with = |purge_ns| {
        let mut it = vehicle(45, 2, 1);
        it.profiles.get_mut("tenuto").expect("it is used").purge_frame_ns_max = purge_ns;
        let plan = plan(&it, &quick());
        assert_eq!(findings(&plan), Vec::<String>::new());
        plan
    };
    let d_q_ps = |plan: &Plan| {
        let terms = &plan.mode_changes[0].terms;
        terms.iter().find(|term| term.name == "D_q").expect("it has one").bound_ps
    };
    let raise_ps = |plan: &Plan| -> u64 {
        let row = plan.flows.iter().find(|row| row.flow == "LIDAR" && row.mode == RAISE);
        row.and_then(|row| row.delay_bound_ps).expect("a bound")
    };
    // 84 B take 6.72 us; flows leave each switch by two ports at most, and each may ask for two frames.
    let (fast, slow) = (with(1_680), with(1_681));
    let more_ps = raise_ps(&slow) - raise_ps(&fast);
    assert!(d_q_ps(&slow) - d_q_ps(&fast) < 10_000_000, "{} ps", d_q_ps(&slow));
    assert!(more_ps > d_q_ps(&fast), "once a switch at least: {more_ps} ps");
    // The checker asks for the same of a plan that claims less.
    let mut forged = fast.clone();
    forged.network.profiles.get_mut("tenuto").expect("it is used").purge_frame_ns_max = 1_681;
    let found = findings(&forged);
    assert!(found.iter().any(|it| it.contains("LO>HI") && it.contains("x >= F(x)")), "{found:?}");
}

#[test]
fn the_largest_stream_of_the_car() {
    // Per-hop analysis charges one CAM message at each shared port. CAM above STREAM: 50 kB,
    // of a host that may babble and spread its messages as far as the monitor lets it.
    let fits = |kb: u32, stream: u8, cam: u8| plan(&vehicle(kb, stream, cam), &quick()).feasible;
    assert!(fits(50, 2, 1) && !fits(51, 2, 1));
    assert!(fits(19, 1, 2) && !fits(20, 1, 2));
}

#[test]
fn the_car_as_printed_needs_more_than_the_link() {
    let plan = plan(&vehicle(432, 1, 2), &quick());
    assert!(!plan.feasible);
    let rate = plan.refusals.iter().find(|r| r.resource == "rate").expect("100.2 Mbit/s");
    assert_eq!(rate.place, "sw1:3 > sw2");
    assert_eq!(rate.mode, Some(Transition::Steady(0)));
    let needed = rate.needed.expect("an amount");
    assert!((100_200_000..100_500_000).contains(&needed), "{needed}");
    assert!(
        rate.because.starts_with(
            "STREAM 91.02 (432 kB = 296 frames of <= 1538 B per 40 ms), CAM 6.49, LIDAR 2.71"
        ),
        "{}",
        rate.because
    );
    let cam = plan.flows.iter().find(|r| r.flow == "CAM").expect("a row");
    assert_eq!(cam.delay_bound_ps, None, "overload has no bound");
}

#[test]
fn a_raise_counts_what_the_old_mode_left_behind() {
    let plan = plan(&vehicle(45, 2, 1), &quick());
    let bound = |flow: &str, mode| {
        let mut rows = plan.flows.iter();
        rows.find(|r| r.flow == flow && r.mode == mode).and_then(|r| r.delay_bound_ps)
    };
    let (low, high) = (bound("CAM", Transition::Steady(0)), bound("CAM", Transition::Steady(1)));
    assert!(bound("CAM", RAISE) >= low.max(high));
    assert_eq!(bound("CAM", RETURN), low.max(high));
    assert_eq!(bound("STREAM", RETURN), bound("STREAM", Transition::Steady(0)));
    assert_eq!(bound("STREAM", RAISE), None, "no row: nothing is promised to it");
}

#[test]
fn hosts_go_on_sending_what_is_out_of_mode() {
    // BULK is out of mode in HI, but its host does not know: at s1 it still delays CAM.
    let mut it = vehicle(45, 2, 1);
    let alone = plan(&it, &quick());
    it.flows.push(flow("BULK", "s1", &["d2"], contract(Size::FrameBytes(1518), 2 * MS, 0)));
    let shared = plan(&it, &quick());
    let source = |plan: &Plan| {
        let mut claims = plan.ports.iter();
        let at = |c: &&tenuto_model::PortService| {
            c.port.node == "s1" && c.class == 1 && c.mode == Transition::Steady(1)
        };
        claims.find(at).expect("a claim").delay_ps
    };
    assert!(source(&shared) > source(&alone));
    let in_high = |plan: &Plan| {
        let mut rows = plan.port_rows.iter();
        let row = rows.find(|r| r.port.node == "sw1" && r.mode == Transition::Steady(1));
        row.expect("a row").rate_bps
    };
    assert_eq!(in_high(&shared), in_high(&alone), "the first switch drops it");
}

#[test]
fn the_quiet_window_covers_every_bound_of_the_higher_mode() {
    let mut it = vehicle(45, 2, 1);
    let chosen = plan(&it, &quick()).quiet_ns.expect("modes have one");
    assert_eq!(chosen % MS, 0);
    it.mode_return.quiet_ns = Some(MS);
    let short = plan(&it, &quick());
    let refusal = short.refusals.iter().find(|r| r.resource == "quiet").expect("too short");
    assert_eq!(refusal.needed.map(|ns| ns.div_ceil(MS) * MS), Some(chosen));
    it.mode_return.quiet_ns = Some(500 * MS);
    let long = plan(&it, &quick());
    assert!(long.feasible);
    assert_eq!(long.quiet_ns, Some(500 * MS));
}

#[test]
fn three_modes_have_every_pair() {
    let mut it = vehicle(45, 2, 1);
    it.modes.push("TOP".into());
    for flow in it.flows.iter_mut().take(2) {
        flow.level = 2;
        flow.contracts.push(*flow.highest());
        for target in &mut flow.targets {
            target.deadline_ns.push(25 * MS);
        }
    }
    let plan = plan(&it, &quick());
    let modes: std::collections::BTreeSet<Transition> =
        plan.flows.iter().filter(|r| r.flow == "CAM").map(|r| r.mode).collect();
    assert_eq!(modes.len(), 3 + 3 + 3);
    assert!(plan.feasible, "{}", show(&plan));
}
