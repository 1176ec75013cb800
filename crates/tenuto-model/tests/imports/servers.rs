//! Formats that become server graphs.

use crate::{accepted, data, graph, mistakes, refused};
use tenuto_calculus::{Bucket, Multiplexing, RateLatency, ServerGraph};
use tenuto_model::{ImportFormat, ImportOptions, Imported, write_saihu};
use tenuto_units::Picos;

const MEGA: i128 = 1_000_000_000_000;
const BYTE: i128 = 8_000_000;

fn import(text: &str, format: ImportFormat) -> Imported {
    let imported = accepted(text, "small", &ImportOptions::default());
    assert_eq!(imported.format, format);
    imported
}

fn shape(graph: &ServerGraph) -> [usize; 3] {
    let targets = graph.flows.iter().map(|flow| flow.targets.len()).sum();
    [graph.servers.len(), graph.flows.len(), targets]
}

fn notes(imported: &Imported) -> String {
    imported.notes.join("\n")
}

const SAIHU: &str = r#"{
  "network": {"name": "traps", "packetizer": true, "multiplexing": "FIFO",
    "analysis_option": ["IS", "CEIL"], "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps",
    "max_packet_length": 64},
  "servers": [
    {"name": "a-o0", "service_curve": {"latencies": [0, "1ms"], "rates": ["4Mbps", 50]},
     "capacity": 100},
    {"name": "b-o0", "service_curve": {"latencies": ["1e-2ms"], "rates": [500, "1Gbps"]},
     "capacity": "125kBps", "rate_unit": "kbps", "multiplexing": "ARBITRARY"},
    {"name": "b-o1", "service_curve": {"latencies": 2, "rates": 3}, "time_unit": "ms"}
  ],
  "flows": [
    {"name": "f", "path": ["a-o0", "b-o0"], "path_name": "left",
     "multicast": [{"name": "right", "path": ["a-o0", "b-o1"]}, {"path": ["b-o1"]}],
     "arrival_curve": {"bursts": [10, "2kB", "80b"], "rates": ["10kbps", 0.5]},
     "rate_unit": "kbps", "max_packet_length": "1kb"},
    {"name": "g", "path": [1], "arrival_curve": {"bursts": ["10B"], "rates": ["60kbpm"]}}
  ]
}"#;

#[test]
fn saihu_units_lengths_and_overrides_are_exact() {
    let imported = import(SAIHU, ImportFormat::Saihu);
    let said = notes(&imported);
    for words in ["CEIL concerns xTFA", "keep it", "without capacity shape nothing"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let warned = imported.warnings.to_string();
    assert!(warned.contains("has 3 and 2 values") && warned.contains("has 1 and 2 values"));
    assert!(warned.contains("path `p2` meets another path of `f` again at `b-o1`"), "{warned}");
    assert!(imported.yaml.contains("# warning: line 14: path `p2` meets"), "{}", imported.yaml);
    let g = graph(imported);
    assert_eq!(shape(&g), [3, 3, 4]);
    let piece = |rate_ubps, latency| RateLatency { rate_ubps, latency: Picos(latency) };
    assert_eq!(g.servers[0].service, [piece(4 * MEGA, 0), piece(50 * MEGA, 1_000_000_000)]);
    assert_eq!(g.servers[1].service, [piece(MEGA / 2, 10_000_000)], "500 kbps, 1e-2 ms");
    assert_eq!(g.servers[2].service, [piece(3 * MEGA, 2_000_000_000)], "2 of its own ms");
    assert_eq!(g.servers[0].multiplexing, Multiplexing::Fifo);
    assert_eq!(g.servers[1].multiplexing, Multiplexing::Arbitrary, "its own, not the network's");
    // 64 B of `g` and 1000 bit of `f`: bits and bytes are told apart.
    assert_eq!(g.servers[0].packet_ubit, 1_000_000_000);
    assert_eq!(g.servers[1].packet_ubit, 1_000_000_000);
    let line = |burst_ubit, rate_ubps| Some(Bucket { burst_ubit, rate_ubps });
    assert_eq!(g.servers[0].line, line(1_000_000_000, 100 * MEGA));
    assert_eq!(g.servers[1].line, line(1_000_000_000, MEGA), "125 kB/s");
    assert_eq!(g.servers[2].line, None, "not the largest service rate");
    let bucket = |burst_ubit, rate_ubps| Bucket { burst_ubit, rate_ubps };
    let arrival = [bucket(10 * BYTE, MEGA / 100), bucket(2_000 * BYTE, 500_000_000)];
    assert_eq!(g.flows[0].arrival, arrival);
    assert_eq!(g.flows[0].visits.len(), 3, "the common server is visited once");
    assert_eq!(g.flows[1].name, "f#p2", "what meets again is counted besides");
    assert_eq!(g.flows[2].arrival, [bucket(10 * BYTE, 1_000_000_000)], "60 kbit per minute");
    assert_eq!(g.path(2, 0), [1], "paths may be numbers of servers");
}

#[test]
fn saihu_servers_without_capacity_have_lines_if_that_is_stated() {
    let stated = ImportOptions { lines_of_service: true, ..ImportOptions::default() };
    let imported = accepted(SAIHU, "small", &stated);
    assert!(notes(&imported).contains("as --lines-of-service says"), "{}", notes(&imported));
    let (with, without) = (graph(imported), graph(import(SAIHU, ImportFormat::Saihu)));
    let line = Bucket { burst_ubit: with.servers[2].packet_ubit, rate_ubps: 3 * MEGA };
    assert_eq!(with.servers[2].line, Some(line), "its fastest rate");
    assert_eq!(with.servers[..2], without.servers[..2], "what states a capacity keeps it");
}

#[test]
fn saihu_capacities_shape_without_is_too_and_packets_are_left_out_in_a_note() {
    let text =
        SAIHU.replace("\"IS\", ", "").replace("\"packetizer\": true", "\"packetizer\": false");
    let imported = import(&text, ImportFormat::Saihu);
    let said = notes(&imported);
    assert!(said.contains("lines that shape") && said.contains("packetizer is off"), "{said}");
    assert!(said.contains("max_packet_length is left out"), "{said}");
    let g = graph(imported);
    let is_fluid_line = |line: &Option<Bucket>| line.is_none_or(|line| line.burst_ubit == 0);
    assert!(g.servers.iter().all(|s| is_fluid_line(&s.line) && s.packet_ubit == 0));
    assert!(g.servers.iter().any(|s| s.line.is_some()));
}

#[test]
fn a_port_serves_no_faster_than_its_capacity() {
    let slower = |text: &str, format| {
        let imported = import(text, format);
        let warned = imported.warnings.to_string();
        assert!(warned.contains("the capacity is below the service rate"), "{warned}");
        assert!(warned.contains("taken to serve at its capacity"), "{warned}");
        graph(imported)
    };
    let text = SAIHU.replace("\"capacity\": 100", "\"capacity\": 30");
    let g = slower(&text, ImportFormat::Saihu);
    let piece = |rate_ubps, latency| RateLatency { rate_ubps, latency: Picos(latency) };
    // Of the two pieces the faster one; its latency is as stated.
    assert_eq!(g.servers[0].service, [piece(4 * MEGA, 0), piece(30 * MEGA, 1_000_000_000)]);
    let text = XTFA.replace("service-rate=\"50Mbps\"", "service-rate=\"500Mbps\"");
    let g = slower(&text, ImportFormat::Xtfa);
    let rates: Vec<i128> = g.servers.iter().map(|s| s.service[0].rate_ubps).collect();
    assert!(rates.contains(&(40 * MEGA)) && !rates.contains(&(500 * MEGA)), "{rates:?}");
    // Without a capacity nothing is known of its line.
    let free = SAIHU.replace("\"capacity\": \"125kBps\", ", "");
    let imported = import(&free, ImportFormat::Saihu);
    assert!(!imported.warnings.to_string().contains("capacity"), "{}", imported.warnings);
}

#[test]
fn a_value_that_is_none_is_one_problem() {
    let text = SAIHU.replace("\"rates\": 3", "\"rates\": \"3 furlongs\"");
    let said = refused(ImportFormat::Saihu, &text, &ImportOptions::default()).to_string();
    assert!(said.contains("furlongs"), "{said}");
    assert!(!said.contains("serves nothing") && !said.contains("no piece"), "{said}");
    assert!(!said.contains("there is no server"), "{said}");
}

#[test]
fn saihu_mistakes_have_their_line() {
    let cases = [
        ("\"4Mbps\"", "\"4Mb/s\"", 6, "no unit of rate"),
        ("\"2kB\"", "\"2KB\"", 15, "`KB` is no unit of data"),
        ("\"1ms\"", "\"1 sec\"", 6, "no unit of time"),
        ("[1], \"arr", "[7], \"arr", 17, "there is no server `7`"),
        ("[\"a-o0\", \"b-o0\"]", "[\"a-o0\", \"b-o\"]", 13, "did you mean b-o0"),
        ("[\"a-o0\", \"b-o0\"]", "[\"a-o0\", \"a-o0\"]", 13, "visits `a-o0` twice"),
        ("\"name\": \"b-o1\"", "\"name\": \"b-o0\"", 10, "two servers are called"),
        ("\"capacity\": 100", "\"capacity\": 0", 7, "the capacity is zero"),
        ("\"rates\": [500", "\"rates\": [-500", 8, "cannot be negative"),
        ("\"rates\": 3", "\"rates\": 0", 10, "serves nothing"),
        ("\"rates\": 3", "\"rates\": \"3EBps\"", 10, "too large"),
        ("\"FIFO\"", "\"LIFO\"", 2, "none of the choices"),
        ("\"us\"", "\"usec\"", 3, "no unit of time"),
    ];
    mistakes(ImportFormat::Saihu, SAIHU, &ImportOptions::default(), &cases);
    for text in ["", "[]", "{}", "{\"network\": {}}", &SAIHU[..300]] {
        refused(ImportFormat::Saihu, text, &ImportOptions::default());
    }
}

#[test]
fn the_demo_of_saihu_is_the_same_in_both_formats_but_for_packets() {
    let (Some(json), Some(xml)) = (data("saihu-demo/demo.json"), data("saihu-demo/demo.xml"))
    else {
        return;
    };
    let json = graph(accepted(&json, "demo.json", &ImportOptions::default()));
    assert_eq!(shape(&json), [3, 3, 4]);
    assert_eq!(json.servers[0].service[1].latency, Picos(1_000_000_000));
    assert_eq!(
        json.flows[0].arrival[1],
        Bucket { burst_ubit: 2_000 * BYTE, rate_ubps: 500_000_000 }
    );
    assert!(
        json.servers
            .iter()
            .all(|s| s.line == Some(Bucket { burst_ubit: 0, rate_ubps: 100 * MEGA }))
    );
    let xml = graph(accepted(&xml, "demo.xml", &ImportOptions::default()));
    assert_eq!(shape(&xml), [3, 3, 4]);
    assert!(xml.servers.iter().all(|s| s.packet_ubit == 50 * BYTE));
    let names = |g: &ServerGraph| g.servers.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&xml), names(&json));
    let paths = |g: &ServerGraph| (g.path(0, 0), g.path(0, 1), g.path(1, 0), g.path(2, 0));
    assert_eq!(paths(&xml), paths(&json));
}

const XTFA: &str = r#"<elements>
  <network name="x" technology="FIFO+IS+PK" overhead="20" transmission-capacity="100Mbps"/>
  <station name="e1" service-latency="1e-5"/><station name="e2" service-rate="50Mbps" service-latency="2us"/>
  <switch name="s" service-rate="40Mbps" service-latency="9us"/>
  <station name="t"/>
  <link from="e1" to="s" fromPort="p"/>
  <link from="e2" to="s"/>
  <link from="s" to="t" fromPort="o" service-latency="30us" transmission-capacity="1Gbps"/>
  <flow name="f" source="e1" arrival-curve="leaky-bucket" lb-burst="100" lb-rate="8kBps" maximum-packet-size="100B" deadline="3ms">
    <target name="left"><path node="s"/><path node="t"/></target>
  </flow>
  <flow name="g" source="e2" period="1ms" jitter="100us" max-payload="80">
    <target><path node="s"/><path node="t"/></target>
  </flow>
</elements>"#;

#[test]
fn xtfa_ports_become_servers_with_the_nearest_of_each_value() {
    let imported = import(XTFA, ImportFormat::Xtfa);
    let said = notes(&imported);
    for words in ["taken in seconds", "taken in bytes", "serve at their transmission-capacity"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let g = graph(imported);
    let names: Vec<&str> = g.servers.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["e1-p", "e2-o0", "s-o"]);
    let first = |at: usize| (g.servers[at].service[0].rate_ubps, g.servers[at].service[0].latency);
    assert_eq!(
        first(0),
        (100 * MEGA, Picos(10_000_000)),
        "a station without rate serves at the capacity"
    );
    assert_eq!(first(1), (50 * MEGA, Picos(2_000_000)));
    assert_eq!(first(2), (40 * MEGA, Picos(30_000_000)), "the link's latency, the node's rate");
    let line = Bucket { burst_ubit: 100 * BYTE, rate_ubps: 1_000 * MEGA };
    assert_eq!(g.servers[2].line, Some(line));
    let arrival = |at: usize| g.flows[at].arrival[0];
    assert_eq!(arrival(0), Bucket { burst_ubit: 100 * BYTE, rate_ubps: 64_000_000_000 });
    // 100 B every ms, and what 100 us of jitter add.
    assert_eq!(arrival(1), Bucket { burst_ubit: 110 * BYTE, rate_ubps: 800_000_000_000 });
    assert_eq!(g.flows[0].targets[0].deadline, Some(Picos(3_000_000_000)));
    assert_eq!(g.path(1, 0), [1, 2]);
}

#[test]
fn xtfa_ports_without_capacity_have_lines_if_that_is_stated() {
    let text = XTFA.replace("transmission-capacity", "weight");
    let text = text.replace("<station name=\"e1\"", "<station name=\"e1\" service-rate=\"9Mbps\"");
    let lines = |options: &ImportOptions<'_>| {
        let imported = accepted(&text, "small", options);
        let said = notes(&imported);
        assert!(said.contains("ports without capacity"), "{said}");
        let servers = graph(imported).servers;
        servers.iter().map(|s| s.line.map(|l| l.rate_ubps)).collect::<Vec<_>>()
    };
    assert!(lines(&ImportOptions::default()).iter().all(Option::is_none));
    let stated = ImportOptions { lines_of_service: true, ..ImportOptions::default() };
    let rates = [9, 50, 40].map(|rate| Some(rate * MEGA));
    assert_eq!(lines(&stated), rates);
}

#[test]
fn xtfa_mistakes_have_their_line() {
    let cases = [
        ("period=\"1ms\"", "period=\"0.001\"", 12, "Saihu reads seconds, xTFA milliseconds"),
        ("deadline=\"3ms\"", "deadline=\"3\"", 9, "has no unit"),
        ("lb-rate=\"8kBps\"", "", 9, "no lb-rate"),
        ("leaky-bucket", "staircase", 9, "`staircase` cannot be read"),
        (
            "<path node=\"t\"/></target>\n  </flow>\n  <flow",
            "<path node=\"e2\"/></target>\n  </flow>\n  <flow",
            10,
            "no link from `s` to `e2`",
        ),
        ("to=\"t\"", "to=\"tt\"", 8, "there is no node `tt`"),
        ("technology=\"FIFO+", "technology=\"SP+", 2, "technology `SP` is not known"),
        ("\"50Mbps\"", "\"fast\"", 3, "not a number"),
        ("period=\"1ms\"", "period=\"0ms\"", 12, "the period is zero"),
    ];
    mistakes(ImportFormat::Xtfa, XTFA, &ImportOptions::default(), &cases);
}

const RTNS: &str = r#"{"name": "tiny", "multiplexing": "FIFO",
 "servers": [
  {"name": "s0", "latency": 0.0, "rate": 4.710605379978342},
  {"name": "s1", "latency": 1e-3, "rate": 3}],
 "turns": [["s0", "s1"]],
 "flows": [
  {"name": "f0", "burst": 1.0, "rate": 1.0, "path": ["s0", "s1"]},
  {"name": "f1", "burst": 0.1, "rate": 0.25, "path": ["s1"]}],
 "published_delay_bounds": {"f0": {"FF_LPA": 1.25}}}"#;

#[test]
fn numbers_without_unit_are_megabits_and_seconds_to_a_trillionth() {
    let imported = import(RTNS, ImportFormat::Rtns);
    assert!(notes(&imported).contains("a delay of 1 as 1 s"));
    let g = graph(imported);
    assert_eq!(g.servers[0].service[0].rate_ubps, 4_710_605_379_978, "rounded down");
    assert_eq!(g.servers[1].service[0].latency, Picos(1_000_000_000));
    assert_eq!(g.flows[1].arrival[0], Bucket { burst_ubit: MEGA / 10, rate_ubps: MEGA / 4 });
    let cases = [
        ("\"s1\"]}", "\"s2\"]}", 7, "there is no server `s2`"),
        ("\"rate\": 3", "\"rate\": 1e30", 4, "too large"),
        ("\"rate\": 3", "\"rat\": 3", 4, "is rat meant for it?"),
        ("\"burst\": 0.1", "\"burst\": -0.1", 8, "cannot be negative"),
    ];
    mistakes(ImportFormat::Rtns, RTNS, &ImportOptions::default(), &cases);
}

#[test]
fn the_published_benchmark_comes_in_whole() {
    for (net, servers, flows) in
        [(7, 3, 4), (21, 5, 6), (11, 6, 9), (1, 13, 17), (5, 14, 17), (16, 18, 27), (2, 20, 33)]
    {
        let name = format!("nc-fifo-rtns2022/random_ff_{net}.json");
        let Some(text) = data(&name) else { continue };
        let imported = import(&text, ImportFormat::Rtns);
        assert_eq!(shape(&graph(imported)), [servers, flows, flows], "{name}");
    }
}

const TANDEM: &str = "# a tandem\nnservers 2\nnflows 2\nobjective 'd' 1\n\nbeginservers
server 1 (10.0,1.0);   # one piece
server 2 (10.,0.5) (20.0, 2);
endservers
beginflows
flow 1 [1,2]\t(0.,10.) (1.,3.33);
flow 1 [2,2] (2.,2.);
endflows\n";

#[test]
fn tandems_have_maxima_of_services_and_minima_of_arrivals() {
    let imported = import(TANDEM, ImportFormat::Netcalbounds);
    assert!(imported.warnings.to_string().contains("flow 1 is the entry number 2"));
    let g = graph(imported);
    assert_eq!(shape(&g), [2, 2, 2]);
    assert_eq!(g.servers[1].service[1].latency, Picos(2_000_000_000_000));
    assert_eq!(g.flows[0].arrival[1], Bucket { burst_ubit: MEGA, rate_ubps: 3_330_000_000_000 });
    assert_eq!(g.path(0, 0), [0, 1]);
    let cases = [
        ("nservers 2", "nservers 3", 1, "states 3 servers and has 2"),
        ("[1,2]", "[1,3]", 11, "`3` where a whole number"),
        ("[2,2]", "[2,1]", 12, "from 2 back to 1"),
        ("(20.0, 2)", "(20.0; 2)", 8, "`;` where , is needed"),
        ("server 2", "server 3", 8, "server 3 is the entry number 2"),
        ("(2.,2.)", "(two,2.)", 12, "`two` where a number"),
    ];
    mistakes(ImportFormat::Netcalbounds, TANDEM, &ImportOptions::default(), &cases);
    let idle = TANDEM.replacen("(10.,0.5)", "(0.,0.5)", 1);
    let problems =
        refused(ImportFormat::Netcalbounds, &idle, &ImportOptions::default()).to_string();
    assert!(problems.contains("servers.s2.service[0]"), "{problems}");
    assert!(problems.contains("a service of no rate serves nothing"), "{problems}");
}

#[test]
fn a_few_lines_do_not_stand_for_gigabytes() {
    let mut text = String::from("nservers 9999\nnflows 9999\nbeginservers\n");
    text.extend((1..=9_999).map(|n| format!("server {n} (10.,1.);\n")));
    text.push_str("endservers\nbeginflows\n");
    text.extend((1..=9_999).map(|n| format!("flow {n} [1,9999] (1.,1e-6);\n")));
    text.push_str("endflows\n");
    let problems = refused(ImportFormat::Netcalbounds, &text, &ImportOptions::default());
    assert!(problems.to_string().contains("too long together"), "{problems}");
}

#[test]
fn what_is_written_for_saihu_is_read_back_as_the_same() {
    for text in [SAIHU.to_owned(), SAIHU.replace("\"packetizer\": true", "\"packetizer\": false")] {
        let mut g = graph(import(&text, ImportFormat::Saihu));
        // Saihu's servers have the largest packet of the flows through them.
        g.servers.iter_mut().for_each(|s| s.packet_ubit = s.packet_ubit.min(1_000_000_000));
        let written = write_saihu(&g, None);
        let again = graph(accepted(&written, "again.json", &ImportOptions::default()));
        assert_eq!(again, g, "{written}");
    }
}
