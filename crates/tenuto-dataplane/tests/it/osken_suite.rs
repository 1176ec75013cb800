//! The switch tests that ship with os-ken, against the switch directly, in virtual time.
//!
//! `scripts/osken_suite.py` turns them into messages and frames. Set `TENUTO_OSKEN_PYTHON` to a
//! Python that has os-ken; `TENUTO_OSKEN_TESTS` chooses files by how their names begin. What the
//! suite's own tester does with two switches, cables and clocks is done here by calls:
//!
//! - every installed entry, meter and group is read back and must be what was sent;
//! - frames are compared as they would be on a wire, padded to 60 bytes;
//! - rates are counted over the whole duration by a second switch behind ports 2 and 3, within 10 %.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a test runs its helper

use crate::support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use support::Bench;
use tenuto_dataplane::switch::{
    ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, SwitchConfig,
};
use tenuto_dataplane::{EgressConfig, Frames};
use tenuto_openflow::constants::meter;
use tenuto_openflow::{
    Action, Body, FlowMod, FlowStatsRequest, Instruction, Message, PacketInReason, ReplyBody,
    RequestBody,
};
use tenuto_units::{Instant, Rate, Span};

const RATE_TOLERANCE_PERCENT: u64 = 10;
/// The suite's kilobits have 1024 bits.
const KBIT: u64 = 1024;
/// What every switch of the survey before passed of the 940 tests of one frame.
const OVS_3_1: usize = 694;

/// What the suite's switch under test has.
fn bench() -> Bench {
    let egress = EgressConfig {
        rate: Rate::from_bps(10_000_000_000).expect("not zero"),
        queues: 4,
        buffer_bits: 1 << 30,
        unpromised_from: None,
    };
    let port = |port| PortConfig { port, role: PortRole::Host, egress };
    Bench::with(SwitchConfig {
        datapath_id: 1,
        ports: (1..=3).map(port).collect(),
        tables: 64,
        entries_max: 1_000,
        meters_max: 16,
        groups_max: 16,
        meter_extra_bytes: 0,
        classifier: ClassifierKind::ByMask,
        boot_seed: 1,
        hash_key: HashKey::fixed(),
        mode_retry: Span::from_ms(10),
        general: Some(GeneralConfig::default()),
    })
}

impl Bench {
    /// Everything that leaves until `end`.
    fn each_to(&mut self, end: Instant, mut left: impl FnMut(u32, &[u8])) {
        while let Some((timer, at)) = self.switch.next_deadline().filter(|(_, at)| *at <= end) {
            self.now = self.now.max(at);
            self.switch.fire(timer, self.now, &mut self.frames, &mut self.fx);
            for sent in self.fx.transmits.drain(..) {
                left(sent.port, self.frames.bytes(sent.frame));
                self.frames.release(sent.frame);
            }
        }
        self.fx.drops.clear();
        self.now = self.now.max(end);
    }

    /// Installs something and reads it back, as the suite does.
    fn install_and_read(&mut self, bytes: &[u8]) -> Result<(), String> {
        let sent = Message::parse(bytes).map_err(|error| error.to_string())?;
        if let Some(refusal) = self.control(bytes).first() {
            return Err(format!("{sent} is answered {refusal}"));
        }
        let is_there = match &sent.body {
            Body::FlowMod(flow_mod) => self.has_flow(flow_mod),
            Body::MeterMod(wanted) => {
                let ReplyBody::MeterConfig(meters) =
                    self.reply(RequestBody::MeterConfig { meter_id: meter::ALL })
                else {
                    unreachable!("a reply to another request")
                };
                meters.iter().any(|found| {
                    (found.flags, found.meter_id, &found.bands)
                        == (wanted.flags, wanted.meter_id, &wanted.bands)
                })
            }
            Body::GroupMod(wanted) => {
                let ReplyBody::GroupDesc(groups) = self.reply(RequestBody::GroupDesc) else {
                    unreachable!("a reply to another request")
                };
                groups.iter().any(|found| {
                    (found.type_, found.group_id, &found.buckets)
                        == (wanted.type_, wanted.group_id, &wanted.buckets)
                })
            }
            other => return Err(format!("{other:?} is installed")),
        };
        if is_there { Ok(()) } else { Err(format!("{sent} is not read back")) }
    }

    fn has_flow(&mut self, wanted: &FlowMod) -> bool {
        let ReplyBody::Flow(flows) = self.reply(RequestBody::Flow(FlowStatsRequest::ALL)) else {
            unreachable!("a reply to another request")
        };
        flows.iter().any(|found| {
            (found.table_id, found.cookie, found.priority)
                == (wanted.table_id, wanted.cookie, wanted.priority)
                && (found.idle_timeout, found.hard_timeout)
                    == (wanted.idle_timeout, wanted.hard_timeout)
                && found.match_ == wanted.match_
                && found.instructions == wanted.instructions
        })
    }

    /// Look-ups and matches by table.
    fn table_counts(&mut self) -> BTreeMap<u8, (u64, u64)> {
        let ReplyBody::Table(tables) = self.reply(RequestBody::Table) else {
            unreachable!("a reply to another request")
        };
        tables.iter().map(|t| (t.table_id, (t.lookup_count, t.matched_count))).collect()
    }
}

/// Bytes written as hexadecimal digits; `,XX*N` at the end is a run of N bytes.
fn bytes(text: &str) -> Vec<u8> {
    let (head, run) = text.split_once(',').unwrap_or((text, ""));
    let byte = |digits: &str| u8::from_str_radix(digits, 16).expect("two hexadecimal digits");
    let mut bytes: Vec<u8> =
        (0..head.len() / 2).map(|place| byte(&head[2 * place..2 * place + 2])).collect();
    if let Some((digits, count)) = run.split_once('*') {
        let count: usize = count.parse().expect("a count");
        bytes.resize(bytes.len() + count, byte(digits));
    }
    bytes
}

/// As it is on a wire, FCS excluded.
fn padded(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len().max(60), 0);
    frame
}

struct Stream {
    per_second: u64,
    seconds: u64,
    frames: Vec<Vec<u8>>,
}

/// One test: what its lines have built up so far.
struct Test {
    bench: Bench,
    frame: Vec<u8>,
    stream: Option<Stream>,
    rates: Vec<(bool, u64, FlowMod)>,
    failure: Option<String>,
}

impl Test {
    fn new() -> Self {
        let (frame, rates) = (Vec::new(), Vec::new());
        Self { bench: bench(), frame, stream: None, rates, failure: None }
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let done = match word {
            "install" => self.bench.install_and_read(&bytes(rest)),
            "send" => {
                self.frame = bytes(rest);
                Ok(())
            }
            "stream" => {
                let (per_second, seconds) = rest.split_once(' ').expect("two numbers");
                let [per_second, seconds] =
                    [per_second, seconds].map(|n| n.parse().expect("a number"));
                self.stream = Some(Stream { per_second, seconds, frames: Vec::new() });
                Ok(())
            }
            "frame" => {
                self.stream.as_mut().expect("in a stream").frames.push(bytes(rest));
                Ok(())
            }
            "egress" => self.expect_egress(bytes(rest)),
            "packet_in" => self.expect_packet_in(bytes(rest)),
            "miss" => self.expect_miss(rest),
            "rate" => {
                let mut words = rest.split(' ');
                let (unit, value) = (words.next(), words.next().and_then(|v| v.parse().ok()));
                let message = Message::parse(&bytes(words.next().expect("a message")));
                let Body::FlowMod(flow_mod) = message.expect("well-formed").body else {
                    unreachable!("a flow-mod has the match")
                };
                self.rates.push((unit == Some("kbps"), value.expect("a number"), flow_mod));
                Ok(())
            }
            "end" => self.expect_rates(),
            other => panic!("unknown line {other}"),
        };
        self.failure = self.failure.take().or(done.err());
    }

    /// Sends the frame; what leaves in the second after.
    fn send(&mut self) -> Vec<(u32, Vec<u8>)> {
        let mut left = Vec::new();
        self.bench.receive(1, &self.frame);
        let end = self.bench.now + Span::from_s(1);
        self.bench.each_to(end, |port, bytes| left.push((port, bytes.to_vec())));
        left
    }

    fn expect_egress(&mut self, expected: Vec<u8>) -> Result<(), String> {
        let left: Vec<_> = self.send().into_iter().map(|(port, f)| (port, padded(f))).collect();
        let told = self.bench.messages();
        match left == [(2, padded(expected.clone()))] && told.is_empty() {
            true => Ok(()),
            false => Err(format!("leaves {left:02x?}, not {expected:02x?}; {told:?}")),
        }
    }

    fn expect_packet_in(&mut self, expected: Vec<u8>) -> Result<(), String> {
        let left = self.send();
        let told = self.bench.messages();
        let [Message { body: Body::PacketIn(packet_in), .. }] = told.as_slice() else {
            return Err(format!("the controller hears {told:?}"));
        };
        let is_whole = padded(packet_in.data.clone()) == padded(expected);
        match is_whole && packet_in.reason == PacketInReason::Action && left.is_empty() {
            true => Ok(()),
            false => Err(format!("{packet_in:?}, {left:?}")),
        }
    }

    fn expect_miss(&mut self, tables: &str) -> Result<(), String> {
        let before = self.bench.table_counts();
        let left = self.send();
        let after = self.bench.table_counts();
        let tables = tables.split(',').map(|table| table.parse::<u8>().expect("a table"));
        let grown: Vec<_> =
            tables.map(|t| (after[&t].0 > before[&t].0, after[&t].1 > before[&t].1)).collect();
        let is_looked_up = grown.iter().any(|(looked_up, _)| *looked_up);
        let is_matched = grown.iter().any(|(_, matched)| *matched);
        match is_looked_up && !is_matched && left.is_empty() {
            true => Ok(()),
            false => Err(format!("tables {before:?} {after:?}, leaves {left:?}")),
        }
    }

    fn expect_rates(&mut self) -> Result<(), String> {
        let Some(stream) = self.stream.take() else { return Ok(()) };
        let mut tester = bench();
        for (place, (_, _, flow_mod)) in (1..).zip(&self.rates) {
            // In the tester every match is an entry of its own that counts.
            let instructions = vec![Instruction::ApplyActions(Vec::<Action>::new())];
            let flow_mod = FlowMod { cookie: place, instructions, ..flow_mod.clone() };
            tester.install_and_read(&Message::new(0, Body::FlowMod(flow_mod)).to_bytes())?;
        }
        let start = self.bench.now;
        for number in 0..stream.per_second * stream.seconds {
            let at = start + Span::from_ns(number * 1_000_000_000 / stream.per_second);
            self.bench.each_to(at, |port, bytes| {
                tester.now = tester.now.max(at);
                tester.receive(port, bytes);
            });
            tester.fx.clear();
            let place = usize::try_from(number).expect("small") % stream.frames.len();
            self.bench.receive(1, &stream.frames[place]);
        }
        let end = start + Span::from_s(stream.seconds);
        self.bench.each_to(end, |port, bytes| {
            tester.receive(port, bytes);
        });
        let ReplyBody::Flow(flows) = tester.reply(RequestBody::Flow(FlowStatsRequest::ALL)) else {
            unreachable!("a reply to another request")
        };
        for (cookie, (in_kbps, value, _)) in (1_u64..).zip(&self.rates) {
            let flow = flows.iter().find(|flow| flow.cookie == cookie).expect("installed");
            // The suite counts frames without FCS.
            let bits = (flow.byte_count - 4 * flow.packet_count) * 8;
            let (counted, unit) = if *in_kbps { (bits, KBIT) } else { (flow.packet_count, 1) };
            let expected = value * stream.seconds * unit;
            let off = counted.abs_diff(expected) * 100;
            if off > expected * RATE_TOLERANCE_PERCENT {
                return Err(format!("counted {counted}, expected {expected}"));
            }
        }
        Ok(())
    }
}

#[test]
fn the_switch_passes_the_suite_of_os_ken() {
    let Ok(python) = std::env::var("TENUTO_OSKEN_PYTHON") else {
        println!("skipped: TENUTO_OSKEN_PYTHON names no Python that has os-ken");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/osken_suite.py");
    let chosen = std::env::var("TENUTO_OSKEN_TESTS").unwrap_or_default();
    let mut helper = Command::new(python)
        .arg(script)
        .args(chosen.split_whitespace())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the helper starts");
    let output = BufReader::new(helper.stdout.take().expect("piped"));
    // Passed and run, by group.
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut failures, mut names, mut test) = (Vec::new(), Vec::new(), Test::new());
    for line in output.lines() {
        let line = line.expect("text");
        if let Some(title) = line.strip_prefix("test ") {
            names = title.split('\t').map(str::to_owned).collect();
            test = Test::new();
            continue;
        }
        if test.failure.is_none() {
            test.line(&line);
        }
        if line == "end" {
            let (passed, run) = counts.entry(names[0].clone()).or_default();
            *run += 1;
            match &test.failure {
                None => *passed += 1,
                Some(failure) => failures.push(format!("{} {}: {failure}", names[1], names[2])),
            }
        }
    }
    assert!(helper.wait().expect("it ends").success(), "the helper says what is missing");
    println!("passed: {counts:?}");
    assert!(failures.is_empty(), "{} fail: {failures:#?}", failures.len());
    let run: usize = counts.values().map(|(_, run)| run).sum();
    if chosen.is_empty() {
        assert!(run > OVS_3_1, "{run} tests");
    }
    assert!(run > 0, "no test is called {chosen:?}");
}

/// What the lines of one test come to, after an entry that sets the VLAN priority and sends to
/// port 2, and one in table 1 that nothing leads to.
fn outcome(lines: &[String]) -> Option<String> {
    let mut test = Test::new();
    let apply = |actions| vec![Instruction::ApplyActions(actions)];
    let set = Action::SetField(tenuto_openflow::Oxm::VlanPcp(5));
    let entry = FlowMod {
        match_: vec![tenuto_openflow::Oxm::VlanVid { value: 0x1064, mask: None }].into(),
        instructions: apply(vec![set, Action::Output { port: 2, max_len: 0 }]),
        ..FlowMod::new(tenuto_openflow::FlowModCommand::Add, 0)
    };
    let installed = Message::new(0, Body::FlowMod(entry)).to_bytes();
    test.line(&format!(
        "install {}",
        installed.iter().map(|b| format!("{b:02x}")).collect::<String>()
    ));
    lines.iter().chain([&"end".to_owned()]).for_each(|line| test.line(line));
    test.failure
}

#[test]
fn the_runner_sees_what_is_wrong() {
    let frame =
        |word: &str, tci: &str| format!("{word} 2222222222221211111111118100{tci}0800,11*40");
    let sent = frame("send", "6064");
    assert_eq!(outcome(&[sent.clone(), frame("egress", "a064")]), None);
    assert!(outcome(&[sent.clone(), frame("egress", "6064")]).is_some(), "another priority");
    assert!(outcome(&[sent.clone(), frame("packet_in", "a064")]).is_some(), "nobody is told");
    assert!(outcome(&[sent.clone(), "miss 0".into()]).is_some(), "it matches");
    assert!(outcome(&[sent, "miss 1".into()]).is_some(), "table 1 is not looked up");
    assert_eq!(outcome(&[frame("send", "6065"), "miss 0".into()]), None);
    let flow_mod = FlowMod::new(tenuto_openflow::FlowModCommand::Add, 0);
    let any = Message::new(0, Body::FlowMod(flow_mod)).to_bytes();
    let any: String = any.iter().map(|b| format!("{b:02x}")).collect();
    let stream = |rate: &str| {
        outcome(&["stream 100 3".into(), frame("frame", "6064"), format!("rate {rate} {any}")])
    };
    assert_eq!(stream("pktps 100"), None);
    assert!(stream("pktps 112").is_some() && stream("pktps 90").is_some());
    // 60 bytes a frame on the wire.
    assert_eq!(stream("kbps 47"), None);
    assert!(stream("kbps 53").is_some() && stream("kbps 42").is_some());
}
