//! Flows that come to a network that has been read.

use tenuto_model::{MemorySources, Network, read_flows, read_network, write_network};

const FILE: &str = "tenuto: 1
name: pair
hosts: {h1: {}, h2: {}, h3: {}}
switches: {sw1: {profile: tenuto}}
defaults: {flow: {jitter: 1 ms}}
links: [{ends: [h1, sw1], rate: 100 Mbit/s}, {ends: [h2, sw1], rate: 100 Mbit/s}, {ends: [h3, sw1], rate: 100 Mbit/s}]
flows:
  FAST: {source: h1, targets: [h2], message: 1 kB, period: 5 ms, jitter: 0 ms}
  SLOW: {source: h1, targets: [h2], message: 1 kB, period: 50 ms}
";

fn network() -> Network {
    read_network(&MemorySources::new().with("pair.yaml", FILE), "pair.yaml").expect("read").0
}

fn added(text: &str) -> Result<Network, String> {
    read_flows(&network(), FILE, ("request", text)).map(|it| it.0).map_err(|it| it.to_string())
}

#[test]
fn a_flow_added_is_what_the_file_with_it_says() {
    let line = "MORE: {source: h3, targets: [h1], message: 2 kB, period: 20 ms, priority: 4}";
    let whole = format!("{FILE}  {line}\n");
    let read = read_network(&MemorySources::new().with("pair.yaml", &whole), "pair.yaml");
    assert_eq!(added(&format!("{{{line}}}")).expect("read"), read.expect("read").0);
}

#[test]
fn json_is_read_and_a_class_is_found_beside_the_others() {
    let class = |period: &str| {
        let text = format!(
            "{{\"X\": {{\"source\": \"h3\", \"targets\": [\"h1\"], \"frame\": \"100 B\", \"period\": \"{period}\"}}}}"
        );
        let network = added(&text).expect("read");
        let flow = network.flows.last().expect("three").clone();
        assert_eq!(flow.contracts[0].jitter_ns, 1_000_000, "the default of the file");
        assert_eq!(network.flows[..2], self::network().flows);
        flow.contracts[0].priority
    };
    assert_eq!(["2 ms", "5 ms", "30 ms", "50 ms", "1 s"].map(class), [0, 0, 0, 1, 1]);
}

#[test]
fn mistakes_are_told_as_those_of_a_file() {
    for (text, words) in [
        (
            "{FAST: {source: h1, targets: [h2], message: 1 kB, period: 5 ms}}",
            "a flow `FAST` already",
        ),
        ("{X: {source: h9, targets: [h2], message: 1 kB, period: 5 ms}}", "h9"),
        ("{X: {source: h1, targets: [h2], message: 1 KB, period: 5 ms}}", "kB"),
        ("{X: {source: h1, targets: [h2], message: 1 kB, period: 5 ms, colour: red}}", "colour"),
        ("{X: {source: h1, targets: [h2], period: 5 ms}}", "flow `X` has no size"),
        ("[]", "flows are a map"),
        ("", "there is no flow"),
        ("{X: [", "not valid YAML"),
    ] {
        let told = added(text).expect_err(text);
        assert!(told.contains(words), "{text}: {told}");
    }
}

#[test]
fn a_network_with_an_added_flow_is_written_and_read_to_the_same() {
    let text = "{X: {source: h3, targets: {h1: {route: [sw1]}}, message: 3 kB, period: 30 ms}}";
    let network = added(text).expect("read");
    let file = write_network(&network);
    let read = read_network(&MemorySources::new().with("pair.yaml", &file), "pair.yaml");
    assert_eq!(read.expect("read").0, network);
}
