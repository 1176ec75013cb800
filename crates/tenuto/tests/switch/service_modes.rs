//! `tenuto controller` with switches of a network that has modes: the mode is raised by traffic, with and without a
//! controller, and flows come and go meanwhile.

use crate::lab::{Hosts, PATIENCE, in_lab, tenuto};
use crate::service::{Service, frame, take};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tenuto_io::links::{IpBatch, LinkName, VethEnd, offloads_off};
use tenuto_io::{Interest, MonotonicClock, PollSet, Port};
use tenuto_units::Span;

/// A camera that sends every 100 ms in LO and every 5 ms in HI, in small parts of
/// what it may, so that a slow machine makes no burst that is policed; a stream that is dropped in HI.
const NET: &str = "\
tenuto: 1
name: two
modes: [LO, HI]
hosts: {h1: {}, h2: {}, h3: {}}
switches: {s1: {profile: tenuto, dpid: 1}, s2: {profile: tenuto, dpid: 2}}
defaults: {link: {rate: 100 Mbit/s}}
links: [{ends: [h1, s1]}, {ends: [h3, s1]}, {ends: [s1, s2]}, {ends: [s2, h2]}]
flows:
  CAM:
    source: h1
    targets: [h2]
    level: HI
    payload: 1400 B
    period: {LO: 100 ms, HI: 5 ms}
    deadline: {LO: 100 ms, HI: 5 ms}
    priority: 1
  STREAM:
    source: h3
    targets: [h2]
    level: LO
    payload: 1400 B
    period: 5 ms
    priority: 2
    out_of_mode: drop
mode_return: {quiet: 500 ms}
tolerates: {babbling_hosts: 1, lost_signals: 1, controller_loss: true}
";

struct Switches(Vec<Child>);

impl Drop for Switches {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A trunk between both switches: `t1` is of the first.
fn trunk() {
    let end = |text: &str, last| VethEnd {
        name: LinkName::new(text).expect("a good name"),
        pid: None,
        mac: Some([2, 0, 0, 0, 9, last]),
    };
    let (one, other) = (end("t1", 1), end("t2", 2));
    let mut batch = IpBatch::new();
    let batch = batch.veth_pair(&one, &other).up(&one.name).up(&other.name);
    batch.run().expect("root of the lab");
    offloads_off(&one.name).expect("root of the lab");
    offloads_off(&other.name).expect("root of the lab");
}

fn switches(folder: &Path) -> Switches {
    trunk();
    let secret = folder.join("links.secret");
    std::fs::write(&secret, "000102030405060708090a0b0c0d0e0f\n").expect("a file for the test");
    let secret = secret.to_str().expect("UTF-8").to_owned();
    let ports = [
        vec!["s1,rate=100Mbit/s", "s3,rate=100Mbit/s", "t1,rate=100Mbit/s,peer=s2:1"],
        vec!["t2,rate=100Mbit/s,peer=s1:3", "s2,rate=100Mbit/s"],
    ];
    let one = |(number, ports): (usize, &Vec<&str>)| {
        let (name, id) = (format!("s{number}"), number.to_string());
        let mut args =
            vec!["switch", "--name", &name, "--datapath-id", &id, "--link-secret", &secret];
        args.extend(["--meter-bytes", "wire", "--controller", "tcp:127.0.0.1:6653"]);
        args.extend(["--backoff-max", "200ms"]);
        ports.iter().for_each(|port| args.extend(["--port", port]));
        let mut command = tenuto(&args);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                println!("    {name}: {line}");
                let _ = tell.send(line);
            }
        });
        let is_up =
            || told.recv_timeout(PATIENCE).expect("it says that it is up").contains("is up");
        while !is_up() {}
        child
    };
    Switches((1..).zip(&ports).map(one).collect())
}

fn folder() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("switch-service-modes");
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    std::fs::write(path.join("two.yaml"), NET).expect("a file for the test");
    path
}

/// What hosts send while the test goes on.
#[derive(Default)]
struct Traffic {
    is_over: AtomicBool,
    /// Between frames of the camera, ms.
    camera_ms: AtomicU64,
    /// Frames of the camera so far.
    sent: AtomicU64,
}

impl Traffic {
    /// Waits until so many more frames were sent.
    fn wait(&self, more: u64) {
        let end = self.sent.load(Ordering::Relaxed) + more;
        while self.sent.load(Ordering::Relaxed) < end {
            std::thread::yield_now();
        }
    }
}

/// The port of a flow, numbers of frames sent, and what came by port.
type Came = BTreeMap<u16, Vec<u32>>;

/// Sends frames of both flows until told to stop; how many of the camera, and what came.
fn send(hosts: &Hosts, traffic: &Traffic, [camera, stream]: [u16; 2]) -> (u32, Came) {
    let (mut from, mut other, mut to) = (hosts.port(1), hosts.port(3), hosts.port(2));
    let mut poll = PollSet::new();
    poll.add(to.poll_fd().expect("pollable"), Interest::Read);
    let (mut numbers, mut came) = ([0, 0], Vec::new());
    let mut due = [MonotonicClock::now(); 2];
    while !traffic.is_over.load(Ordering::Relaxed) {
        let now = MonotonicClock::now();
        if now >= due[0] {
            assert!(from.send(&frame(1, camera, numbers[0])).expect("it fits"));
            from.flush().expect("it is there");
            numbers[0] += 1;
            traffic.sent.fetch_add(1, Ordering::Relaxed);
            // From the sending on, so that a late one is followed by no early one.
            let ms = traffic.camera_ms.load(Ordering::Relaxed);
            due[0] = MonotonicClock::now() + Span::from_ms(ms);
        }
        if now >= due[1] {
            assert!(other.send(&frame(3, stream, numbers[1])).expect("it fits"));
            other.flush().expect("it is there");
            numbers[1] += 1;
            due[1] = MonotonicClock::now() + Span::from_ms(10);
        }
        poll.wait(Some(due[0].min(due[1]))).expect("poll");
        take(&mut to, &mut came);
    }
    let end = MonotonicClock::now() + Span::from_s(10);
    let is_there = |came: &Vec<(u16, u32)>| came.contains(&(camera, numbers[0] - 1));
    while !is_there(&came) && MonotonicClock::now() < end {
        poll.wait(Some(MonotonicClock::now() + Span::from_ms(50))).expect("poll");
        take(&mut to, &mut came);
    }
    let mut by_port = Came::new();
    came.into_iter().for_each(|(port, number)| by_port.entry(port).or_default().push(number));
    (numbers[0], by_port)
}

fn all_in(mode: &'static str) -> impl Fn(&Value) -> bool {
    move |it| {
        let rows = it.as_array().expect("a list");
        rows.len() == 2 && rows.iter().all(|row| row["mode"] == mode && row["admitted"] == mode)
    }
}

/// The tool of Prometheus itself, where it is installed.
fn is_taken_by_promtool(text: &str) {
    let child = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        return println!("SKIPPED promtool check metrics: it is not installed");
    };
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = format!("{output:?}");
    assert!(output.status.success() && output.stdout.is_empty(), "{said}\n{text}");
}

fn port_of(service: &Service, flow: &str) -> u16 {
    let row = service.call("GET", &format!("/v1/flows/{flow}"), "").expect("an answer");
    u16::try_from(row["flow"]["udp_port"].as_u64().expect("a port")).expect("a port")
}

#[test]
fn a_raise_is_in_nobodys_way_and_a_restarted_service_leaves_it() {
    in_lab("service_modes::a_raise_is_in_nobodys_way_and_a_restarted_service_leaves_it", || {
        let folder = folder();
        let hosts = Hosts::new(3);
        let mut service = Service::start_with(&folder, "two.yaml", &[]);
        let _switches = switches(&folder);
        service.until("/v1/status", |it| it["installed"] == json!(0));
        service.until("/v1/modes/switches", all_in("LO"));
        let ports = ["CAM", "STREAM"].map(|flow| port_of(&service, flow));
        let traffic = Traffic::default();
        traffic.camera_ms.store(300, Ordering::Relaxed);
        let (sent, came) = std::thread::scope(|scope| {
            let sending = scope.spawn(|| send(&hosts, &traffic, ports));
            // The raise, with the service dead: switches agree on it by themselves.
            service.kill();
            traffic.camera_ms.store(20, Ordering::Relaxed);
            traffic.wait(20);
            service = Service::start_with(&folder, "two.yaml", &[]);
            service.until("/v1/status", |it| it["installed"] == json!(0));
            let raised = service.until("/v1/modes/switches", all_in("HI"));
            // A flow that comes while the mode is raised, and one that is taken back.
            let flow = json!({"source": "h3", "targets": ["h2"], "level": "HI", "payload": "100 B",
                "period": "50 ms", "priority": 3});
            let body = json!({"name": "NEW", "flow": flow}).to_string();
            let added = service.call("POST", "/v1/flows", &body).expect("an answer");
            assert_eq!(added["state"], "confirmed", "{added}");
            let gone = service.call("DELETE", "/v1/flows/NEW", "").expect("an answer");
            assert_eq!(gone["state"], "confirmed", "{gone}");
            let added = service.call("POST", "/v1/flows", &body).expect("an answer");
            assert_eq!(added["state"], "confirmed", "{added}");
            service.kill();
            service = Service::start_with(&folder, "two.yaml", &[]);
            service.until("/v1/status", |it| it["installed"] == json!(3));
            let still = service.until("/v1/modes/switches", all_in("HI"));
            let epochs = |it: &Value| [it[0]["epoch"].clone(), it[1]["epoch"].clone()];
            assert_eq!(epochs(&still), epochs(&raised), "one raise, and no activation since");
            assert_eq!(still[0]["raises"], json!(1), "{still}");
            // Quiet again: they return by themselves, and tell of it.
            traffic.camera_ms.store(300, Ordering::Relaxed);
            service.until("/v1/modes/switches", all_in("LO"));
            // A raise that the service sees from its beginning to its end.
            traffic.camera_ms.store(20, Ordering::Relaxed);
            service.until("/v1/modes/switches", all_in("HI"));
            traffic.camera_ms.store(300, Ordering::Relaxed);
            service.until("/v1/modes/switches", all_in("LO"));
            traffic.wait(1);
            traffic.is_over.store(true, Ordering::Relaxed);
            sending.join().expect("it ends")
        });
        let history = service.call("GET", "/v1/modes/history", "").expect("an answer");
        let rows = history.as_array().expect("a list");
        let of = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
        assert!(of("raised") >= 2 && of("returned") >= 2, "{history}");
        let violation = rows.iter().find(|row| row["kind"] == "violation").expect("one");
        assert_eq!((&violation["flow"], &violation["to"]), (&json!("CAM"), &json!("HI")));
        let numbers = came.get(&ports[0]).cloned().unwrap_or_default();
        assert_eq!(numbers, (0..sent).collect::<Vec<u32>>(), "every frame once and in order");
        let stream = came.get(&ports[1]).cloned().unwrap_or_default();
        assert!(stream.is_sorted() && !stream.is_empty());
        assert!(stream.windows(2).any(|it| it[1] > it[0] + 20), "dropped while the mode is raised");
        // Counters are asked for every 10 s.
        let end = std::time::Instant::now() + PATIENCE;
        while !service.text("/metrics").contains("tenuto_port_sent_frames_total{switch=\"s2\"") {
            assert!(std::time::Instant::now() < end, "{}", service.text("/metrics"));
            std::thread::yield_now();
        }
        let metrics = service.text("/metrics");
        is_taken_by_promtool(metrics.split_once("\r\n\r\n").expect("a body").1);
        assert!(
            metrics.contains("tenuto_mode_events_total{switch=\"s1\",kind=\"raised\"}"),
            "{metrics}"
        );
    });
}
