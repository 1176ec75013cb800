//! Fields that hold what no field can: each refused at its line, by its path, with what would fit.

use tenuto_model::{Diagnostics, MemorySources, read_network, read_scenario, read_servers};

const NETWORK: &str = "tenuto: 1
name: plain
hosts: {h1: {}, h2: {}}
switches: {sw1: {profile: mine}}
controllers: {c1: {manages: [sw1]}}
profiles: {mine: {like: tenuto}}
links:
  - {ends: [h1, sw1], rate: 100 Mbit/s}
  - {ends: [h2, sw1], rate: 1 Gbit/s}
flows:
  F: {source: h1, targets: [h2], frame: 64 B, period: 1 ms}
";

const SCENARIO: &str = "tenuto_scenario: 1
duration: 20 s
hosts: {h2: {run: ./player}}
events:
  - {at: 1 s, host: h1, babble: {rate: 100 Mbit/s, for: 1 s}, note: fine}
  - {at: 2 s, host: h1, do: garbage, frames_per_s: 1000}
";

const SERVERS: &str = "tenuto_servers: 1
name: plain
servers:
  A: {service: {rate: 4 Mbit/s, latency: 10 us}}
flows:
  f: {arrival: {burst: 1 kB, rate: 1 Mbit/s}, path: [A]}
";

/// The problems of a text with one change in it, and the line of that change.
fn refused<T>(
    (text, from, to): (&str, &str, &str),
    read: impl Fn(&str) -> Result<T, Diagnostics>,
) -> (Diagnostics, u32) {
    let at = text.find(from).unwrap_or_else(|| panic!("no {from}"));
    let line = u32::try_from(text[..at].matches('\n').count() + 1).expect("few lines");
    assert!(read(text).is_ok(), "the text without a change: {:?}", read(text).err());
    let long = format!("\"{}\"", "x".repeat(2_000_000));
    let to = to.replace("MEGABYTES", &long).replace("LONG", &"y".repeat(200));
    let told = read(&text.replacen(from, &to, 1));
    (told.err().unwrap_or_else(|| panic!("accepted: {}", &to[..to.len().min(60)])), line)
}

/// One error at the line and field, short, with a hint, and nothing in it that moves a cursor.
fn is_told(case: &str, told: &Diagnostics, file: &str, line: u32, field: &str, words: &str) {
    let found = told.iter().find(|it| it.message.contains(words));
    let found = found.unwrap_or_else(|| panic!("{case}: {told}"));
    assert_eq!((found.file.as_str(), found.line), (file, Some(line)), "{case}: {told}");
    assert!(found.field_path.starts_with(field), "{case}: {}", found.field_path);
    assert!(found.hint.as_ref().is_some_and(|hint| !hint.is_empty()), "{case} has no hint");
    let text = told.to_string();
    assert!(text.len() < 20_000, "{case}: {} B of problems", text.len());
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{case}: {text:?}");
}

#[test]
fn fields_of_a_network() {
    for (from, to, field, words) in [
        ("name: plain", "name: MEGABYTES", "name", "too long"),
        ("name: plain", "name: \"\\e[31mred\"", "name", "U+001B"),
        ("name: plain", "name: \"two\\nlines\"", "name", "one line"),
        ("name: plain", "name: \"\"", "name", "cannot be empty"),
        ("name: plain", "name: \"a\\u202eb\"", "name", "U+202E"),
        ("h1: {}", "\"h\\e1\": {}", "hosts", "no control"),
        ("h1: {}", "MEGABYTES: {}", "hosts", "at most 64"),
        ("profile: mine", "profile: \"mi\\ene\"", "switches.sw1.profile", "U+001B"),
        ("{mine: {like: tenuto}}", "{\"mi\\ene\": {like: tenuto}}", "profiles", "no control"),
        ("{mine: {like: tenuto}}", "{MEGABYTES: {like: tenuto}}", "profiles", "at most 64"),
        ("like: tenuto", "like: MEGABYTES", "profiles.mine.like", "too long"),
        ("manages: [sw1]", "manages: []", "controllers.c1.manages", "manages no switch"),
        ("c1:", "\"c\\e\":", "controllers", "no control"),
        ("ends: [h1, sw1]", "ends: []", "links[0].ends", "two ends"),
        ("rate: 100 Mbit/s", "rate: MEGABYTES", "links[0].rate", "too long"),
        ("F: {", "\"F\\e\": {", "flows", "no control"),
        ("F: {", "LONG: {", "flows", "at most 64"),
        ("source: h1", "source: \"h1\\a\"", "flows.F.source", "U+0007"),
        ("targets: [h2]", "targets: []", "flows.F", "no target"),
        ("targets: [h2]", "targets: [\"h2\\e\"]", "flows.F.targets", "U+001B"),
    ] {
        let read = |text: &str| {
            read_network(&MemorySources::new().with("n.yaml", text), "n.yaml").map(|(n, _)| n)
        };
        let (told, line) = refused((NETWORK, from, to), read);
        is_told(&format!("{from} -> {to}"), &told, "n.yaml", line, field, words);
    }
}

#[test]
fn fields_of_a_scenario() {
    let sources = MemorySources::new().with("n.yaml", NETWORK);
    let (network, _) = read_network(&sources, "n.yaml").expect("a network");
    for (from, to, field, words) in [
        (
            "rate: 100 Mbit/s",
            "rate: 101 Mbit/s",
            "events[0].babble.rate",
            "its line has 100 Mbit/s",
        ),
        ("for: 1 s", "for: 0 s", "events[0].babble.for", "nothing would be sent"),
        ("frames_per_s: 1000", "frames_per_s: 148810", "events[1].frames_per_s", "its line has"),
        ("note: fine", "note: \"\\e[2J\"", "events[0].note", "U+001B"),
        ("note: fine", "note: MEGABYTES", "events[0].note", "too long"),
        ("run: ./player", "run: \"./play\\eer\"", "hosts.h2.run", "U+001B"),
    ] {
        let read = |text: &str| read_scenario(text, "s.yaml", &network);
        let (told, line) = refused((SCENARIO, from, to), read);
        is_told(&format!("{from} -> {to}"), &told, "s.yaml", line, field, words);
    }
}

#[test]
fn fields_of_a_server_graph() {
    for (from, to, field, words) in [
        ("name: plain", "name: MEGABYTES", "name", "too long"),
        ("name: plain", "name: \"\\e[31mred\"", "name", "U+001B"),
        ("  A: {", "  \"A\\e\": {", "servers", "no control"),
        ("path: [A]", "path: []", "flows.f", ""),
        ("f: {arrival", "LONG: {arrival", "flows", "at most 128"),
    ] {
        let read = |text: &str| read_servers(text, "g.yaml");
        let (told, line) = refused((SERVERS, from, to), read);
        is_told(&format!("{from} -> {to}"), &told, "g.yaml", line, field, words);
    }
}

#[test]
fn a_network_without_flows_is_pointed_at() {
    let (head, _) = NETWORK.split_once("flows:").expect("its flows");
    for text in [head.to_owned(), format!("{head}flows: {{}}\n")] {
        let sources = MemorySources::new().with("n.yaml", &text);
        let (_, told) = read_network(&sources, "n.yaml").expect("a topology for flows to come");
        let line = if text.contains("flows") { 10 } else { 1 };
        is_told("no flows", &told, "n.yaml", line, "flows", "nothing to guarantee");
    }
}
