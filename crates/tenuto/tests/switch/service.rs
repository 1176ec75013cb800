//! `tenuto controller` with a real switch: flows come while traffic flows, the service is killed, and a switch
//! that somebody changed is repaired.

use crate::lab::{Hosts, PATIENCE, Switch, in_lab, tenuto};
use crate::peer::{CONTROLLER, Peer};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tenuto_io::{Interest, MonotonicClock, PacketPort, PollSet, Port};
use tenuto_openflow::constants::table;
use tenuto_openflow::{Body, FlowMod, FlowModCommand};
use tenuto_units::Span;

pub(crate) const NET: &str = "\
tenuto: 1
name: one
hosts: {h1: {}, h2: {}, h3: {}}
switches: {s1: {profile: tenuto, dpid: 42}}
links: [{ends: [h1, s1], rate: 100 Mbit/s}, {ends: [h2, s1], rate: 100 Mbit/s}, {ends: [h3, s1], rate: 100 Mbit/s}]
flows:
  FIRST: {source: h1, targets: [h2], payload: 100 B, period: 1 ms, priority: 1}
";

/// A controller that is killed with its test.
pub(crate) struct Service {
    pub(crate) child: Child,
    address: String,
    token: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Service {
    fn start(folder: &Path) -> Self {
        Self::start_with(folder, "one.yaml", &[])
    }

    /// Keeps the switches of this file.
    pub(crate) fn start_with(folder: &Path, file: &str, more: &[&str]) -> Self {
        let args = ["controller", file, "--listen", "127.0.0.1:0", "--state", "state"];
        let args = [&args[..], &["--openflow", "127.0.0.1:6653", "--audit", "1"]].concat();
        let mut command = tenuto(&[&args[..], more].concat());
        let mut child =
            command.current_dir(folder).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("it says where it is");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let token = std::fs::read_to_string(folder.join("state/token")).expect("a token");
        Self { child, address, token: token.trim().to_owned() }
    }

    /// Kills it as a loss of power would, but for the machine's memory.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        self.child.wait().expect("a child");
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// The text of an answer, head and all.
    pub(crate) fn text(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it runs");
        let token = &self.token;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }

    /// Asks until the answer is as it shall be.
    pub(crate) fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE * 4;
        loop {
            let answer = self.call("GET", path, "").expect("it runs");
            if is_so(&answer) {
                return answer;
            }
            assert!(Instant::now() < end, "{path}: {answer}");
            std::thread::yield_now();
        }
    }
}

/// A flow from host 3 to host 2.
fn flow(name: &str) -> Value {
    let flow = json!({"source": "h3", "targets": ["h2"], "payload": "100 B", "period": "50 ms", "priority": 2});
    json!({"name": name, "flow": flow})
}

/// A frame of the flow from host `from` to host 2 that has this port.
pub(crate) fn frame(from: u8, port: u16, number: u32) -> Vec<u8> {
    let mut frame = vec![0; 14 + 20 + 8 + 100];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 1, 0x20, 2, 0, 0, 0, from - 1, 0x20]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..18].copy_from_slice(&[0x45, 0, 0, 128]);
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, from, 10, 0, 0, 2]);
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame[38..40].copy_from_slice(&[0, 108]);
    frame[42..46].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Takes what came, numbers by port.
pub(crate) fn take(port: &mut PacketPort, into: &mut Vec<(u16, u32)>) {
    let mut sink = |_, bytes: &[u8]| {
        if bytes.len() >= 46 && bytes[12..14] == [8, 0] && bytes[23] == 17 {
            let port = u16::from_be_bytes([bytes[36], bytes[37]]);
            into.push((port, u32::from_be_bytes(*bytes[42..].first_chunk().expect("long enough"))));
        }
    };
    while port.receive(64, &mut sink).expect("it is there") > 0 {}
}

/// Sends frames of `FIRST`, one in some milliseconds, until told to stop; how many, and what came.
pub(crate) fn traffic(hosts: &Hosts, is_over: &AtomicBool) -> (u32, Vec<(u16, u32)>) {
    let (mut from, mut to) = (hosts.port(1), hosts.port(2));
    let mut poll = PollSet::new();
    poll.add(to.poll_fd().expect("pollable"), Interest::Read);
    let (mut sent, mut came) = (0, Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        assert!(from.send(&frame(1, 20_000, sent)).expect("it fits"));
        from.flush().expect("it is there");
        sent += 1;
        let next = MonotonicClock::now() + Span::from_ms(5);
        while MonotonicClock::now() < next {
            poll.wait(Some(next)).expect("poll");
            take(&mut to, &mut came);
        }
    }
    let end = MonotonicClock::now() + Span::from_s(20);
    while came.iter().filter(|(port, _)| *port == 20_000).count() < sent as usize
        && MonotonicClock::now() < end
    {
        poll.wait(Some(MonotonicClock::now() + Span::from_ms(50))).expect("poll");
        take(&mut to, &mut came);
    }
    (sent, came)
}

fn folder() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("switch-service");
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    std::fs::write(path.join("one.yaml"), NET).expect("a file for the test");
    path
}

#[test]
fn flows_come_while_traffic_flows_and_a_killed_service_disturbs_nobody() {
    in_lab("service::flows_come_while_traffic_flows_and_a_killed_service_disturbs_nobody", || {
        let folder = folder();
        let hosts = Hosts::new(3);
        let mut service = Service::start(&folder);
        let more = ["--controller", CONTROLLER, "--backoff-max", "200ms"];
        let _switch = Switch::start(3, &more);
        service.until("/v1/status", |it| it["installed"] == json!(0));
        let is_over = AtomicBool::new(false);
        let (sent, came) = std::thread::scope(|scope| {
            let traffic = scope.spawn(|| traffic(&hosts, &is_over));
            let mut held = 0;
            for round in 0..5 {
                let name = format!("F{round}");
                let added = service.call("POST", "/v1/flows", &flow(&name).to_string());
                let added = added.expect("an answer");
                assert_eq!(added["state"], "confirmed", "{added}");
                held += 1;
                // Killed while the next ones are stored, told to the switch, or neither.
                std::thread::scope(|scope| {
                    let batch = json!({"changes": [
                        {"action": "add", "name": format!("G{round}"), "flow": flow("")["flow"]},
                        {"action": "remove", "name": name},
                    ]})
                    .to_string();
                    let service = &service;
                    let asked = scope.spawn(move || service.call("POST", "/v1/batch", &batch));
                    let spin =
                        (0..round * 300_000_u64).fold(0, |sum, it| sum ^ std::hint::black_box(it));
                    std::hint::black_box(spin);
                    let id = service.child.id().to_string();
                    let killed = std::process::Command::new("kill").args(["-9", &id]).status();
                    assert!(killed.expect("a program").success());
                    drop(asked.join());
                });
                service.child.wait().expect("a child");
                service = Service::start(&folder);
                let status = service.until("/v1/status", |it| it["installed"] == it["decision"]);
                assert_eq!(
                    status["flows"],
                    json!(1 + held),
                    "one came or one was replaced: {status}"
                );
            }
            // Somebody changes the switch: told, and repaired.
            let mut peer = Peer::connect();
            let count = entries(&mut peer);
            let (before, _) = drift(&service.call("GET", "/v1/alarms", "").expect("an answer"));
            let gone = FlowMod {
                cookie: 2,
                cookie_mask: u64::MAX,
                ..FlowMod::new(FlowModCommand::Delete, table::ALL)
            };
            peer.send(Body::FlowMod(gone));
            peer.barrier();
            service.until("/v1/alarms", |it| drift(it) == (before + 1, false));
            assert_eq!(entries(&mut peer), count);
            is_over.store(true, Ordering::Relaxed);
            traffic.join().expect("it ends")
        });
        let first: Vec<u32> =
            came.iter().filter(|(port, _)| *port == 20_000).map(|it| it.1).collect();
        assert_eq!(first, (0..sent).collect::<Vec<u32>>(), "every frame once and in order");
        // A flow that was admitted at run time is forwarded.
        let flows = service.call("GET", "/v1/flows", "").expect("an answer");
        let rows = flows["flows"].as_array().expect("a list");
        let other = rows.iter().find(|row| row["name"] != "FIRST").expect("it was admitted");
        let port = other["flow"]["udp_port"]
            .as_u64()
            .and_then(|it| u16::try_from(it).ok())
            .expect("a port");
        let (mut from, mut to) = (hosts.port(3), hosts.port(2));
        let mut poll = PollSet::new();
        poll.add(to.poll_fd().expect("pollable"), Interest::Read);
        assert!(from.send(&frame(3, port, 7)).expect("it fits"));
        from.flush().expect("it is there");
        let (mut came, end) = (Vec::new(), Instant::now() + PATIENCE);
        while !came.contains(&(port, 7)) {
            assert!(Instant::now() < end, "{came:?}");
            poll.wait(Some(MonotonicClock::now() + Span::from_ms(100))).expect("poll");
            take(&mut to, &mut came);
        }
    });
}

/// How often drift was found since the service was started, and whether there is some now.
fn drift(alarms: &Value) -> (u64, bool) {
    let found = alarms.as_array().and_then(|all| all.iter().find(|it| it["kind"] == "drift"));
    found.map_or((0, false), |it| {
        (it["count"].as_u64().expect("a number"), it["is_raised"] == json!(true))
    })
}

/// How many entries the switch has.
fn entries(peer: &mut Peer) -> usize {
    use tenuto_openflow::{FlowStatsRequest, MultipartRequest, ReplyBody, RequestBody};
    let body = RequestBody::Flow(FlowStatsRequest::ALL);
    peer.send(Body::MultipartRequest(MultipartRequest { flags: 0, body }));
    let reply = peer.wait(|body| matches!(body, Body::MultipartReply(_)));
    match reply.body {
        Body::MultipartReply(reply) => match reply.body {
            ReplyBody::Flow(entries) => entries.len(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}
