//! Reading network files: what is understood, what is taken where nothing is written, and how
//! each mistake is answered.

use tenuto_model::{
    Diagnostics, MatchKind, MemorySources, Network, OtherTraffic, Severity, Size, read_network,
};

fn read(text: &str) -> Result<(Network, Diagnostics), Diagnostics> {
    read_network(&MemorySources::new().with("net/n.yaml", text), "net/n.yaml")
}

fn network(text: &str) -> Network {
    match read(text) {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}"),
    }
}

/// Two hosts, one switch, and the flow given.
fn with_flow(flow: &str) -> String {
    format!(
        "tenuto: 1\nmodes: [LO, HI]\nhosts: {{h1: {{}}, h2: {{}}}}\n\
         switches: {{sw1: {{profile: tenuto}}}}\n\
         defaults: {{link: {{rate: 100 Mbit/s}}}}\n\
         links: [{{ends: [h1, sw1]}}, {{ends: [h2, sw1]}}]\n\
         flows:\n  F: {flow}\n"
    )
}

/// Every problem's message and hint in one text.
fn problems(text: &str) -> String {
    match read(text) {
        Ok((_, warnings)) => warnings.to_string(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn the_shipped_car_is_understood() {
    let text = include_str!("../../../../networks/vehicle.yaml");
    let car = network(text);
    assert_eq!(car.modes, ["LO", "HI"]);
    assert_eq!(car.links.len(), 6);
    assert_eq!(car.links[0].propagation_ns, 11);
    let cam = car.flow("CAM").expect("there");
    assert_eq!(cam.level, 1);
    assert_eq!(cam.contracts[0].period_ns, 200_000_000);
    assert_eq!(cam.contracts[1].period_ns, 22_000_000);
    assert_eq!(cam.contracts[1].jitter_ns, 500_000);
    assert_eq!(cam.targets[0].deadline_ns, [200_000_000, 22_000_000]);
    assert!(cam.is_watched());
    let lidar = car.flow("LIDAR").expect("there");
    assert_eq!((lidar.contracts.len(), lidar.contracts[1].size), (2, Size::MessageBytes(8_000)));
    assert_eq!(car.flow("STREAM").map(|f| f.contracts.len()), Some(1));
    assert_eq!(car.controllers[0].manages, ["sw1", "sw2", "sw3"]);
    assert_eq!(car.mode_return.quiet_ns, Some(500_000_000));
}

#[test]
fn defaults_are_filled_in() {
    let n = network(&with_flow("{source: h1, targets: [h2], payload: 100 B, period: 10ms}"));
    let flow = &n.flows[0];
    assert_eq!(n.name, "n");
    assert_eq!((flow.level, flow.contracts.len()), (0, 1));
    assert_eq!(flow.targets[0].deadline_ns, [10_000_000]);
    assert_eq!(flow.targets[0].routes, [None]);
    assert_eq!(flow.matching, MatchKind::FiveTuple);
    assert_eq!(n.links[0].propagation_ns, 27);
    assert_eq!(n.switches[0].datapath_id, 1);
    assert_eq!((n.tolerates.lost_signals, n.tolerates.babbling_hosts), (1, 0));
    assert_eq!(n.other_traffic, OtherTraffic::Drop);
}

#[test]
fn left_out_priorities_follow_the_period_in_the_highest_mode() {
    let base = with_flow("{source: h1, targets: [h2], frame: 64 B, period: {LO: 9 ms, HI: 2 ms}}");
    let text = base
        + "  G: {source: h1, targets: [h2], frame: 64 B, period: 3 ms}\n"
        + "  H: {source: h2, targets: [h1], frame: 64 B, period: 2 ms}\n";
    let n = network(&text);
    let classes: Vec<u8> = n.flows.iter().map(|f| f.highest().priority).collect();
    assert_eq!(classes, [0, 1, 0]);
    assert_eq!(n.flows[0].level, 1);
}

#[test]
fn ports_are_numbered_around_the_written_ones() {
    let n = network(
        "tenuto: 1\nhosts: [h1, h2, h3]\nswitches: {s: {profile: ideal}}\n\
         defaults: {link: {rate: 1 Gbit/s}}\n\
         links: [{ends: [h1, s]}, {ends: [h2, 's:1']}, {ends: [s, h3]}]\n",
    );
    let ports: Vec<u32> =
        n.links.iter().map(|l| if l.a.node == "s" { l.a.port } else { l.b.port }).collect();
    assert_eq!(ports, [2, 1, 3]);
}

#[test]
fn every_mistake_is_answered() {
    let flow = |text: &str| with_flow(text);
    let good = "source: h1, targets: [h2]";
    for (text, words) in [
        (flow("{source: h1, targets: [h2], frame: 64 B, peroid: 1 ms}"), "did you mean period?"),
        (flow(&format!("{{{good}, frame: 64 B, period: 25}}")), "did you mean 25 ms?"),
        (flow(&format!("{{{good}, message: 8 KB, period: 25 ms}}")), "8 kB (1 kB = 1000 B)"),
        (flow(&format!("{{{good}, frame: 64 B}}")), "flow `F` has no period"),
        (flow(&format!("{{{good}, period: 1 ms}}")), "flow `F` has no size"),
        (flow(&format!("{{{good}, frame: 64 B, message: 1 B, period: 1 ms}}")), "written twice"),
        (flow(&format!("{{{good}, frame: 1519 B, period: 1 ms}}")), "18 B to 1518 B"),
        (flow(&format!("{{{good}, payload: 1473 B, period: 1 ms}}")), "1 B to 1472 B"),
        (flow(&format!("{{{good}, message: 0 B, period: 1 ms}}")), "16 B to 16 MB"),
        (flow(&format!("{{{good}, frame: 64 B, period: 0 ms}}")), "the period is zero"),
        (flow(&format!("{{{good}, frame: 64 B, period: 1 ms, jitter: 1 ms}}")), "jitter reaches"),
        (flow(&format!("{{{good}, frame: 64 B, bag: 8 ms}}")), "only a virtual link has a BAG"),
        (flow(&format!("{{{good}, frame: 64 B, vl: 7, period: 8 ms}}")), "has a BAG"),
        (flow(&format!("{{{good}, frame: 64 B, vl: 7, bag: 20 ms}}")), "did you mean 16 or 32?"),
        (flow(&format!("{{{good}, message: 9 kB, vl: 7, bag: 16 ms}}")), "takes 7 frames"),
        (flow(&format!("{{{good}, frame: 64 B, vl: 70000, bag: 16 ms}}")), "1 to 65535"),
        (flow(&format!("{{{good}, frame: 64 B, period: {{LO: 2 ms}}, level: HI}}")), "for mode HI"),
        (flow(&format!("{{{good}, frame: 64 B, period: {{HI: 2 ms}}}}")), "for mode LO"),
        (
            flow(&format!("{{{good}, frame: 64 B, period: {{LO: 2 ms, HI: 1 ms}}, level: LO}}")),
            "did you mean `level: HI`?",
        ),
        (
            flow(&format!("{{{good}, frame: 64 B, period: {{LO: 2 ms, MID: 1 ms}}}}")),
            "there is no mode `MID`",
        ),
        (
            flow(&format!("{{{good}, frame: 64 B, period: 1 ms, priority: {{LO: 1, HI: 0}}}}")),
            "priorities differ between modes",
        ),
        (flow(&format!("{{{good}, frame: 64 B, period: 1 ms, priority: 8}}")), "8 queues"),
        (flow(&format!("{{{good}, frame: 64 B, period: 1 ms, match: port}}")), "not supported yet"),
        (flow(&format!("{{{good}, frame: 64 B, period: 1 ms, match: vl}}")), "has no number"),
        (
            flow(&format!("{{{good}, frame: 64 B, period: 1 ms, skew_max: 5 ms}}")),
            "between two copies",
        ),
        (flow(&format!("{{{good}, frame: 64 B, period: 1 ms, frame_min: 65 B}}")), "swap them?"),
        (
            flow(&format!("{{{good}, message: 20 kB, period: 1 ms}}")),
            "alone overloads the link of `h1`",
        ),
        (
            flow(&format!("{{{good}, frame: 64 B, period: 1 ms, monitor_at: [sw2]}}")),
            "did you mean sw1?",
        ),
        (flow("{source: hh1, targets: [h2], frame: 64 B, period: 1 ms}"), "did you mean h1?"),
        (flow("{source: h1, targets: [sw1], frame: 64 B, period: 1 ms}"), "`sw1` is a switch"),
        (flow("{source: h1, targets: [h1], frame: 64 B, period: 1 ms}"), "end at its source"),
        (flow("{source: h1, targets: [], frame: 64 B, period: 1 ms}"), "no target"),
        (
            flow("{source: h1, targets: {h2: {route: [h1]}}, frame: 64 B, period: 1 ms}"),
            "no switch",
        ),
        (
            flow("{source: h1, targets: {h2: {route: []}}, frame: 64 B, period: 1 ms}"),
            "not connected",
        ),
        (
            flow("{source: h1, targets: {h2: {route: [sw1, sw1]}}, frame: 64 B, period: 1 ms}"),
            "twice",
        ),
        (
            flow(&format!("{{{good}, frame: 64 B, period: 1 ms, deadline: 0 ms}}")),
            "the deadline is zero",
        ),
    ] {
        let said = problems(&text);
        assert!(said.contains(words), "expected {words:?} of\n{text}got\n{said}");
        assert!(said.contains("nothing was planned"), "{said}");
    }
}

#[test]
fn mistakes_of_nodes_and_links_are_answered() {
    let top = |rest: &str| format!("tenuto: 1\n{rest}\n");
    for (text, words) in [
        (top("hosts: {a: {}}\nswitches: {s: {profile: afxd}}\nlinks: []"), "did you mean afdx?"),
        (top("hosts: {a: {}}\nswitches: {s: {}}\nlinks: []"), "has no profile"),
        (
            top("hosts: {a: {}}\nswitches: {a: {profile: ideal}}\nlinks: []"),
            "two nodes are called `a`",
        ),
        (top("hosts: {a: {}}\nlinks: [{ends: [a, a], rate: 1 Gbit/s}]"), "to itself"),
        (top("hosts: {a: {}, b: {}}\nlinks: [{ends: [a, b]}]"), "the link has no rate"),
        (
            top("hosts: {a: {}, b: {}}\nlinks: [{ends: [a, c], rate: 1 Gbit/s}]"),
            "no host or switch `c`",
        ),
        (top("hosts: {a: {}, b: {}}\nlinks: [{ends: [a], rate: 1 Gbit/s}]"), "two ends, not 1"),
        (
            top("hosts: {a: {}, b: {}}\nlinks: [{ends: ['a:0', b], rate: 1 Gbit/s}]"),
            "not a port number",
        ),
        (
            top(
                "hosts: {a: {}, b: {}, c: {}}\nlinks: [{ends: ['a:1', b], rate: 1 Gbit/s}, {ends: ['a:1', c], rate: 1 Gbit/s}]",
            ),
            "port 1 of `a` is used twice",
        ),
        (
            top(
                "networks: [A, B]\nhosts: {}\nswitches: {s: {profile: ideal}, t: {profile: ideal, network: C}}\nlinks: []",
            ),
            "there is no network `C`",
        ),
        (
            top(
                "networks: [A, B]\nhosts: {}\nswitches: {s: {profile: ideal, network: A}, t: {profile: ideal, network: B}}\nlinks: [{ends: [s, t], rate: 1 Gbit/s}]",
            ),
            "different networks",
        ),
        (
            top(
                "hosts: {}\nswitches: {s: {profile: ideal, dpid: 2}, t: {profile: ideal}}\nlinks: []",
            ),
            "datapath id 2",
        ),
        (
            top("modes: [LO, HI]\nhosts: {}\nswitches: {s: {profile: afdx}}\nlinks: []"),
            "cannot change them: s",
        ),
        (
            top(
                "hosts: {}\nswitches: {s: {profile: ideal}}\ncontrollers: {c: {manages: [t]}}\nlinks: []",
            ),
            "there is no switch `t`",
        ),
        (top("hosts: {}\nlinks: []\nhots: {}"), "did you mean hosts?"),
        ("hosts: {}\nlinks: []".into(), "`tenuto: 1`"),
        ("tenuto: 2\nhosts: {}\nlinks: []".into(), "write `tenuto: 1`"),
        ("- a\n".into(), "a network file is a map"),
        (String::new(), "there is no network"),
    ] {
        let said = problems(&text);
        assert!(said.contains(words), "expected {words:?} of\n{text}got\n{said}");
        assert!(said.contains("nothing was planned"), "{said}");
    }
}

#[test]
fn what_would_be_left_out_in_silence_is_refused() {
    let good = "{source: h1, targets: [h2], frame: 64 B, period: 1 ms}";
    let other = "tenuto: 1\nhosts: {h1: {}}\nlinks: []\n";
    for (text, words) in [
        (format!("{}\0\n  G: {good}\n", with_flow(good)), "NUL byte"),
        (format!("{}---\n{other}", with_flow(good)), "another network in the same file"),
        (with_flow(good).replace("h1", "\"h\\u200b1\""), "invisible characters"),
        (with_flow("{source: h1, targets: [h2], frame: 64 B, period: [1 ms]}"), "1 ms? leave the"),
        (with_flow("{source: h1, targets: [h2], frame: 64 B, period: 1e1 ms}"), "powers of ten"),
        (with_flow("{source: h3, targets: [h2], frame: 64 B, period: 1 ms}"), "did you mean h1?"),
        (with_flow("{source: north, targets: [h2], frame: 64 B, period: 1 ms}"), "is: h1, h2"),
    ] {
        let said = problems(&text);
        assert!(said.contains(words), "expected {words:?} of\n{text}got\n{said}");
    }
    let broken = problems("tenuto: 1\nhosts: [a\n");
    assert!(!broken.contains("there is no network"), "{broken}");
}

#[test]
fn a_skew_by_default_is_for_flows_of_two_copies() {
    let text = "tenuto: 1\nnetworks: [A, B]\nhosts: {h: {}, g: {}}\n\
        switches: {a: {network: A, profile: ideal}, b: {network: B, profile: ideal}}\n\
        defaults: {link: {rate: 1 Gbit/s}, flow: {copies: [A, B], skew_max: 1 ms}}\n\
        links: [{ends: [h, a]}, {ends: [a, g]}, {ends: [h, b]}, {ends: [b, g]}]\n\
        flows:\n  two: {source: h, targets: [g], frame: 64 B, period: 1 ms}\n  \
        one: {source: h, targets: [g], frame: 64 B, period: 1 ms, copies: [A]}\n";
    let n = network(text);
    let skew = |name| n.flow(name).expect("there").skew_max_ns;
    assert_eq!((skew("two"), skew("one")), (Some(1_000_000), None));
    let own = text.replace("copies: [A]}", "copies: [A], skew_max: 1 ms}");
    assert!(problems(&own).contains("a skew is between two copies"));
}

#[test]
fn a_profile_file_is_one_profile() {
    let text = "tenuto: 1\nhosts: {a: {}, b: {}}\nswitches: {s: {profile: ./p.yaml}}\n\
                defaults: {link: {rate: 1 Gbit/s}}\nlinks: [{ends: [a, s]}, {ends: [s, b]}]\n";
    let profile = "tenuto_profile: 1\nname: p\nlike: ideal\n";
    for (profile, words) in [
        ("", "the profile is empty"),
        ("# nothing but a comment\n", "the profile is empty"),
        ("name: [", "not valid YAML"),
        (&format!("{profile}---\n{profile}"), "the file goes on after `---`"),
    ] {
        let files = MemorySources::new().with("n.yaml", text).with("p.yaml", profile);
        let said = read_network(&files, "n.yaml").expect_err(words).to_string();
        assert!(said.contains(words) && said.contains("p.yaml"), "{words}: {said}");
    }
}

#[test]
fn tables_without_commas_or_names_are_said_to_be_so_once() {
    let text = "tenuto: 1\nhosts: {a: {}, b: {}}\ndefaults: {link: {rate: 1 Gbit/s}}\n\
                links: [{ends: [a, b]}]\nflow_tables: [t.csv]\n";
    for (table, words) in [
        ("name;source;targets\nx;a;b\ny;a;b\n", "separated by `;`"),
        ("name\tsource\nx\ta\n", "separated by tabs"),
        ("nam,source\nx,a\ny,a\n", "has no column `name`"),
        ("name,source,targets\n\"x,a,b\ny,a,b\n", "a quote is opened"),
    ] {
        let files = MemorySources::new().with("n.yaml", text).with("t.csv", table);
        let all = read_network(&files, "n.yaml").expect_err(words);
        assert!(all.to_string().contains(words), "{words}: {all}");
        assert!(all.errors() <= 2, "{all}");
    }
}

#[test]
fn problems_come_all_at_once_with_their_place() {
    let text = with_flow("{source: h9, targets: [h2], frame: 64 B, period: 25, jiter: 1 us}");
    let all = read(&text).expect_err("three mistakes");
    assert_eq!(all.errors(), 3, "{all}");
    let period = all.iter().find(|d| d.message.contains("no unit")).expect("there");
    assert_eq!((period.line, period.file.as_str()), (Some(8), "net/n.yaml"));
    assert_eq!(period.field_path, "flows.F.period");
    assert_eq!(period.severity, Severity::Error);
    assert!(period.excerpt.contains("25"), "{period}");
}

#[test]
fn tables_give_flows_and_yaml_overrides_them() {
    let yaml = "tenuto: 1\nnetworks: [A, B]\nhosts: {h1: {}, h2: {}, h3: {}}\n\
        defaults: {link: {rate: 100 Mbit/s}, switch: {profile: afdx}, flow: {copies: [A, B], skew_max: 5 ms, match: vl}}\n\
        switches: {a: {network: A}, b: {network: B}}\n\
        links: [{ends: [h1, a]}, {ends: [h1, b]}, {ends: [h2, a]}, {ends: [h2, b]}, {ends: [h3, a]}, {ends: [h3, b]}]\n\
        flow_tables: [vls.csv]\nflows: {two: {targets: {h3: {route: {A: [a]}, deadline: 9 ms}}}}\n";
    let csv = "vl,name,source,targets,bag_ms,frame_bytes_max,frame_bytes_min,jitter_us,deadline_ms,priority,copies,skew_ms_max\n\
        1001,one,h1,h2 h3,8,256,84,40,,1,A,\n1002,two,h2,h1,16,300,,,,,,\n";
    let read = |csv: &str| {
        let sources = MemorySources::new().with("n/n.yaml", yaml).with("n/vls.csv", csv);
        read_network(&sources, "n/n.yaml")
    };
    // A skew is between two copies: the first row has one, which the default skew does not concern.
    let (n, _) = read(csv).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((n.flows[0].copies.len(), n.flows[0].skew_max_ns), (1, None));
    assert_eq!(n.flows[1].skew_max_ns, Some(5_000_000));
    let error = read(&csv.replace(",A,", ",A,3")).expect_err("skew of one copy");
    assert!(error.to_string().contains("between two copies"), "{error}");
    let (n, _) = read(&csv.replace(",A,", ",A B,")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((n.flows[0].vl, n.flows[0].copies.len()), (Some(1001), 2));
    assert_eq!(n.flows[0].contracts[0].frame_bytes_min, Some(84));
    assert_eq!(n.flows[0].targets[1].deadline_ns, [8_000_000]);
    assert_eq!(n.flows[1].targets.len(), 1);
    assert_eq!(n.flows[1].targets[0].routes, [Some(vec!["a".to_owned()]), None]);
    let said = read(&csv.replace(",16,", ",20,")).expect_err("no BAG").to_string();
    assert!(said.contains("n/vls.csv:3, column bag_ms"), "{said}");
    assert!(said.contains("   3 | 1002,two,h2,h1,20,300"), "{said}");
    assert!(said.contains("20 ms is none: did you mean 16 or 32?"), "{said}");
    let said = read(&csv.replace("bag_ms", "bag_s")).expect_err("unknown").to_string();
    assert!(said.contains("did you mean bag_ms?"), "{said}");
}

#[test]
fn profiles_by_hand_are_read_from_their_file() {
    let yaml = "tenuto: 1\nhosts: {}\nswitches: {s: {profile: ./my.profile.yaml}}\nlinks: []\n";
    let profile = "tenuto_profile: 1\nname: lab\nlike: hp-e3800\nlatency: {min: 1 us, max: 9 us}\n\
        buffer_per_port: 64 kB\nqueues_per_port: 4\nentries: 100\nmeter_counts: l2-without-fcs\n\
        meter_rate_step: 64 kbit/s\nmeter_burst_step: 8 kbit\nclock_tolerance: 100 ppm\n";
    let sources = MemorySources::new().with("n/n.yaml", yaml).with("n/my.profile.yaml", profile);
    let (n, _) = read_network(&sources, "n/n.yaml").unwrap_or_else(|e| panic!("{e}"));
    let lab = &n.profiles["lab"];
    assert_eq!((lab.latency_ns_min, lab.latency_ns_max), (1_000, 9_000));
    assert_eq!((lab.meters_max, lab.entries_max), (2_000, 100));
    assert_eq!((lab.meter_rate_step_bps, lab.meter_burst_step_bytes), (64_000, 1_000));
    let sources = MemorySources::new()
        .with("n/n.yaml", yaml)
        .with("n/my.profile.yaml", &profile.replace("latency", "latenzy"));
    let said = read_network(&sources, "n/n.yaml").expect_err("slip").to_string();
    assert!(said.contains("did you mean latency?") && said.contains("my.profile.yaml:4"), "{said}");
}

#[test]
fn steps_of_meters_are_bits_per_second_and_whole_bytes() {
    let read = |rate: &str, burst: &str| {
        let yaml = format!(
            "tenuto: 1\nhosts: {{}}\nswitches: {{s: {{profile: odd}}}}\nlinks: []\nprofiles:\n  odd: {{like: \
             afdx, meter_rate_step: {rate}, meter_burst_step: {burst}}}\n"
        );
        read_network(&MemorySources::new().with("n.yaml", &yaml), "n.yaml")
    };
    for (rate, burst, steps) in [
        ("1 bit/s", "1 B", (1, 1)),
        ("1.5 kbit/s", "1 kbit", (1_500, 125)),
        ("64 kbit/s", "16 bit", (64_000, 2)),
        ("8 Mbit/s", "0.008 kbit", (8_000_000, 1)),
    ] {
        let (n, _) = read(rate, burst).unwrap_or_else(|e| panic!("{e}"));
        let odd = &n.profiles["odd"];
        assert_eq!((odd.meter_rate_step_bps, odd.meter_burst_step_bytes), steps);
    }
    for (rate, burst, words) in [
        ("0 bit/s", "1 B", "a step cannot be zero: write 1 bit/s or 1 kbit/s"),
        ("0.5 bit/s", "1 B", "not whole in bit/s: did you mean 1 bit/s?"),
        ("1 bit/s", "0 B", "a step cannot be zero: write 1 B or 1 kbit"),
        ("1 bit/s", "4 bit", "a meter's burst step is whole bytes: write 1 B, or 1 kbit (125 B)"),
        ("1 bit/s", "0.1 kbit", "a meter's burst step is whole bytes: write 13 B, or 1 kbit"),
        ("1 bit/s", "1 b", "did you mean 1 bit?"),
    ] {
        let problems = read(rate, burst).expect_err(words);
        let [problem] = problems.iter().as_slice() else { panic!("{problems}") };
        let said = format!("{}: {}", problem.message, problem.hint.as_deref().unwrap_or_default());
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_message_that_no_meter_lets_through_is_told_with_what_fits() {
    let with = |bytes: u64| {
        let flow = format!(
            "{{source: h1, targets: [h2], priority: 1, level: LO, message: {bytes} B, period: 10 s}}"
        );
        let profiles = "profiles: {odd: {like: tenuto, meter_burst_max: 10 MB}}\n";
        problems(&(with_flow(&flow).replace("profile: tenuto", "profile: odd") + profiles))
    };
    let said = with(12_000_000);
    for part in [
        "the meters of odd hold 10 MB at most, and a message of 12 MB passes them at once",
        "net/n.yaml:8, flows.F.message",
        "message <= 9492844 B",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    // 6,501 frames of 1,538 bytes on the wire, and one of 1,462.
    assert_eq!(with(9_492_844), "");
    assert!(with(9_492_845).contains("message <= 9492844 B"));
}

#[test]
fn the_largest_burst_of_meters_is_read_and_inherited() {
    let read = |more: &str| {
        let yaml = format!(
            "tenuto: 1\nhosts: {{}}\nswitches: {{s: {{profile: odd}}}}\nlinks: []\nprofiles:\n  odd: {{{more}}}\n"
        );
        read_network(&MemorySources::new().with("n.yaml", &yaml), "n.yaml")
    };
    for (more, bytes) in [
        ("like: tenuto", 2_305_843_009),
        ("like: afdx", 536_870_911_875),
        ("like: tenuto, meter_burst_max: 5 MB", 5_000_000),
    ] {
        let (n, _) = read(more).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(n.profiles["odd"].meter_burst_max_bytes, bytes, "{more}");
    }
    for wrong in ["like: afdx, meter_burst_max: 0 B", "like: afdx, meter_burst_max: 600000 MB"] {
        let said = read(wrong).expect_err(wrong).to_string();
        assert!(said.contains("no band of a meter states such a burst"), "{said}");
        assert!(said.contains("from 1 B to 536870911875 B"), "{said}");
    }
}

#[test]
fn only_our_own_switch_states_bits_and_bytes() {
    for name in tenuto_model::Profile::BUILT_IN {
        let profile = tenuto_model::Profile::built_in(name).expect("it is built in");
        let steps = (profile.meter_rate_step_bps, profile.meter_burst_step_bytes);
        assert_eq!(steps, if name == "tenuto" { (1, 1) } else { (1_000, 125) }, "{name}");
    }
}

#[test]
fn of_many_warnings_alike_a_few_are_printed_and_all_are_counted() {
    let mut all = tenuto_model::Diagnostics::new();
    for line in 1..=10 {
        all.push(tenuto_model::Diagnostic {
            severity: tenuto_model::Severity::Warning,
            message: format!("flow `f{line}` has a deadline beyond its period"),
            hint: Some("a message may then still be under way".to_owned()),
            file: "net.yaml".to_owned(),
            line: Some(line),
            column: None,
            field_path: String::new(),
            excerpt: String::new(),
        });
    }
    let text = all.to_string();
    assert_eq!(text.matches("warning: ").count(), 3, "{text}");
    assert!(text.contains("and 7 more like that: a message may"), "{text}");
    assert!(text.ends_with("10 warnings"), "{text}");
    assert_eq!(all.iter().count(), 10, "JSON has them all");
}
