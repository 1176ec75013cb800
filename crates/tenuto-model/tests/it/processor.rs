//! Shared processors: the published figures of the Zodiac FX, and the promise of a cost function.

use proptest::prelude::*;
use tenuto_model::{
    Action, BufferUnit, LookUp, MatchType, MemorySources, Position, PriorityOrder, Processor,
    Profile, Receive, Use, read_network, write_network,
};

/// Whether `value` is within `permille` of what is printed.
fn is_near(value: f64, printed: f64, permille: f64) -> bool {
    (value - printed).abs() <= printed * permille / 1_000.0
}

fn zodiac() -> Processor {
    Profile::built_in("zodiac-fx").and_then(|p| p.processor).expect("it has one")
}

fn five_tuple(entries: u32, frame_bytes: u32) -> Use {
    Use::worst(MatchType::FiveTuple, Action::Output, entries, frame_bytes)
}

#[test]
fn the_zodiac_serves_as_loko_prints() {
    // Section 4: 128 entries and section 6: 17 entries, 306 B frames, five-tuple, output.
    for (entries, rate_mbps, traversal_us, latency_us) in
        [(128, 1.88, 1_350.0, 2_650.0), (17, 11.8, 257.0, 464.0)]
    {
        let service = zodiac().service(&five_tuple(entries, 306));
        let rate = service.rate_bps as f64 / 1e6;
        assert!(is_near(rate, rate_mbps, 5.0), "R {rate}");
        let traversal = service.traversal_ps as f64 / 1e6;
        assert!(is_near(traversal, traversal_us, 5.0), "p_FX {traversal}");
        let latency = service.latency_ps as f64 / 1e6;
        assert!(is_near(latency, latency_us, 5.0), "T {latency}");
    }
}

#[test]
fn every_dimension_of_table_1_counts_as_its_figure_says() {
    let zodiac = zodiac();
    let traversal_us = |it: &Use| zodiac.service(it).traversal_ps as f64 / 1e6;
    // Fig. 10b: 128 entries, 64 B; port 0.88 ms, all fields 1.65 ms.
    let by = |kind| traversal_us(&Use::worst(kind, Action::Output, 128, 64));
    assert!(is_near(by(MatchType::Port), 880.0, 10.0), "{}", by(MatchType::Port));
    assert!(is_near(by(MatchType::All), 1_650.0, 10.0), "{}", by(MatchType::All));
    // Fig. 10c: 1 entry, port, 1516 B; output 322 us, set-nw-src 380 us.
    let doing = |action| traversal_us(&Use::worst(MatchType::Port, action, 1, 1516));
    assert!(is_near(doing(Action::Output), 322.0, 5.0), "{}", doing(Action::Output));
    assert!(is_near(doing(Action::SetNwSrc), 380.0, 5.0), "{}", doing(Action::SetNwSrc));
    // There, output, set-dl-src and strip-vlan keep line rate, the others about 80 Mbit/s.
    let line = 1_516.0 / 1_537.0 * 100e6;
    for action in Action::ALL {
        let rate = zodiac.service(&Use::worst(MatchType::Port, action, 1, 1516)).rate_bps as f64;
        let keeps = matches!(action, Action::Output | Action::SetDlSrc | Action::StripVlan);
        let printed = if keeps { line } else { 80e6 };
        assert!(is_near(rate, printed, if keeps { 1.0 } else { 120.0 }), "{action:?} {rate}");
    }
    // Fig. 10a: only decreasing priorities with the first entry hit spare the others.
    let base = Use { frame_bytes: 790, ..five_tuple(17, 790) };
    let first = Use { position: Position::First, order: PriorityOrder::Decreasing, ..base };
    let other = Use { position: Position::First, ..base };
    assert!(zodiac.cpu_ps(&first) < zodiac.cpu_ps(&base));
    assert_eq!(zodiac.cpu_ps(&other), zodiac.cpu_ps(&base));
    // Section 3.3.3: from around 50 us to 2.1 ms over everything that was tried.
    let least = Use { entries: 1, ..Use::worst(MatchType::Port, Action::Output, 1, 64) };
    assert!(is_near(traversal_us(&least), 50.0, 60.0), "{}", traversal_us(&least));
    let most = Use::worst(MatchType::All, Action::SetNwSrc, 128, 1516);
    assert!(is_near(traversal_us(&most), 2_100.0, 120.0), "{}", traversal_us(&most));
}

#[test]
fn whole_frames_fit_the_cells_of_the_zodiac() {
    // Section 3.5: 25 frames of 64 B, 9 of 306 B, 3 of 1516 B.
    let buffer = Profile::built_in("zodiac-fx").and_then(|p| p.receive_buffer).expect("cells");
    let fits = |bytes| buffer.frames(bytes);
    assert_eq!((fits(64), fits(306), fits(1516)), (25, 9, 3));
    // The printed formula rounds 24 / 5 up to 5 frames of 548 B; only 4 fit whole.
    assert_eq!(fits(548), 5);
}

#[test]
fn ten_lines_make_a_profile() {
    let yaml = "tenuto: 1\nhosts: {}\nswitches: {s: {profile: ./cell.profile.yaml}}\nlinks: []\n";
    let profile = "tenuto_profile: 1\nname: cell\nlike: ideal\nentries: 24\nqueues_per_port: 1\n\
        processor:\n  base: 32 us\n  per_byte: 0.026 us\n  per_entry: 9.86 us\n  \
        receive: {round_robin: 8}\n  control: {time: 2.3 ms, per: 500 ms}\n\
        receive_buffer: {cells: 24, cell: 128 B, place_in_service: true}\n";
    let read = |profile: &str| {
        let sources =
            MemorySources::new().with("n/n.yaml", yaml).with("n/cell.profile.yaml", profile);
        read_network(&sources, "n/n.yaml").map_err(|e| e.to_string())
    };
    let (network, _) = read(profile).unwrap_or_else(|e| panic!("{e}"));
    let cell = &network.profiles["cell"];
    let processor = cell.processor.as_ref().expect("said");
    assert_eq!((processor.base_ps, processor.per_byte_ps), (32_000_000, 26_000));
    assert_eq!(processor.receive, Receive::RoundRobin(8));
    assert_eq!(processor.control.time_ps, 2_300_000_000);
    assert_eq!(cell.receive_buffer.expect("said").unit, BufferUnit::Cells(128));
    let sources = MemorySources::new().with("again.yaml", &write_network(&network));
    let (again, _) = read_network(&sources, "again.yaml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again, network);
    for (wrong, right, said) in [
        ("round_robin", "round_robbin", "did you mean round_robin?"),
        ("base: 32 us", "base: 32", "units are ps, ns, us, ms"),
        ("per: 500 ms", "pre: 500 ms", "control needs processor time and a window"),
        ("cell: 128 B", "cell: 0 B", "how large is a cell?"),
        (
            "like: ideal",
            "like: zodiac-fx",
            "frames that share a link to the processor are one queue",
        ),
    ] {
        let found = read(&profile.replace(wrong, right)).expect_err(right);
        assert!(found.contains(said), "{right}: {found}");
    }
}

#[test]
fn built_in_profiles_are_written_by_name_alone_or_in_full() {
    for name in Profile::BUILT_IN {
        let yaml = format!(
            "tenuto: 1\nhosts: {{}}\nswitches: {{s: {{profile: p}}}}\nlinks: []\n\
            profiles: {{p: {{like: {name}}}}}\n"
        );
        let sources = MemorySources::new().with("n.yaml", &yaml);
        let (network, _) = read_network(&sources, "n.yaml").unwrap_or_else(|e| panic!("{e}"));
        let expected = Profile { name: "p".into(), ..Profile::built_in(name).expect("it is") };
        assert_eq!(network.profiles["p"], expected);
        let sources = MemorySources::new().with("again.yaml", &write_network(&network));
        let (again, _) = read_network(&sources, "again.yaml").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again, network, "{name}");
    }
}

fn processors() -> impl Strategy<Value = Processor> {
    let costs = (0..1_000_000_000_u64, 0..1_000_000_u64, 0..100_000_000_u64);
    let rest = (0..100_u32, any::<bool>(), proptest::option::of(1..100_u32));
    (costs, rest).prop_map(|((base, byte, entry), (spread, has_link, masks))| {
        let zodiac = zodiac();
        let mut per_entry_ps = zodiac.per_entry_ps;
        per_entry_ps.all += entry;
        Processor {
            base_ps: base,
            per_byte_ps: byte,
            per_entry_ps,
            look_up: masks.map_or(LookUp::Linear, LookUp::ByMask),
            spread_percent: spread,
            link: zodiac.link.filter(|_| has_link),
            ..zodiac
        }
    })
}

proptest! {
    #[test]
    fn a_sample_is_never_above_the_envelope(
        it in processors(),
        (bytes, entries, more) in (64..=1518_u32, 1..=512_u32, 0..512_u32),
        (kind, action, draw) in (0..6_usize, 0..8_usize, any::<u16>()),
    ) {
        let using = Use::worst(MatchType::ALL[kind], Action::ALL[action], entries, bytes);
        let sample = it.sample_ps(&using, draw);
        prop_assert!(sample <= it.cost_ps(&using));
        prop_assert!(sample >= it.least_ps());
        let simulated = it.simulated_ps(bytes, entries, draw);
        prop_assert!(simulated <= it.planned_ps(bytes, entries + more, 1));
        let passed = it.link.map_or(0, |link| link.passed_ps(bytes));
        prop_assert!(simulated + 2 * passed >= it.least_ps());
        prop_assert!(it.planned_ps(bytes, entries, 1) <= it.planned_ps(bytes, entries, 2));
    }
}
