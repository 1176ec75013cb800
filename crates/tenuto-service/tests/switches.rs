//! Switches over TCP that refuse: what was decided is undone everywhere, in the log too.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tenuto_model::{MemorySources, read_network};
use tenuto_openflow::{
    Body, ErrorMessage, Features, FlowModCommand, FlowModFailed, FlowStats, Framer,
    GroupModCommand, Hello, Message, MeterConfig, MeterModCommand, MultipartReply, ReplyBody,
    RequestBody,
};
use tenuto_service::rest::{Audit, HttpLimits, Shared, serve};
use tenuto_service::{FileStore, Keeping, Planning, Role, Service, Tokens};

const FILE: &str = "tenuto: 1
name: line
hosts: {h1: {}, h2: {}, h3: {}}
switches: {sw1: {profile: tenuto, dpid: 1}, sw2: {profile: tenuto, dpid: 2}}
defaults: {link: {rate: 100 Mbit/s}}
links: [{ends: [h1, sw1]}, {ends: [h3, sw1]}, {ends: [sw1, sw2]}, {ends: [sw2, h2]}]
flows:
  FIRST: {source: h1, targets: [h2], message: 10 kB, period: 10 ms, priority: 1}
";
const PATIENCE: Duration = Duration::from_secs(120);
const KEEPING: Keeping = Keeping { audit_every: PATIENCE, links_every: None };

/// What a switch holds: entries by table, priority and match, and meters by id.
#[derive(Clone, Debug, Default, PartialEq)]
struct Held {
    entries: BTreeMap<(u8, u16, String), FlowStats>,
    meters: BTreeMap<u32, MeterConfig>,
}

/// A small switch of its own: it shares no code with the controller.
#[derive(Clone, Default)]
struct FakeSwitch {
    held: Arc<Mutex<Held>>,
    /// Commands until one is refused; 0 for none.
    refuse_in: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl FakeSwitch {
    fn start(dpid: u64, to: SocketAddr) -> Self {
        let switch = Self::default();
        let own = switch.clone();
        thread::spawn(move || own.run(dpid, to));
        switch
    }

    fn run(&self, dpid: u64, to: SocketAddr) {
        let mut stream = TcpStream::connect(to).expect("the service listens");
        stream.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
        let mut framer = Framer::new();
        let (mut bytes, mut output) = (vec![0; 4096], Vec::new());
        Message::new(0, Body::Hello(Hello::default())).emit(&mut output);
        while !self.is_over.load(Ordering::Relaxed) {
            stream.write_all(&std::mem::take(&mut output)).expect("it reads");
            let count = match stream.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => count,
                Err(_) => continue,
            };
            framer.push(&bytes[..count]).expect("small parts");
            while let Some(message) = framer.next() {
                self.answer(dpid, &message.expect("well formed"), &mut output);
            }
        }
    }

    fn answer(&self, dpid: u64, message: &Message, output: &mut Vec<u8>) {
        let is_command =
            matches!(message.body, Body::FlowMod(_) | Body::MeterMod(_) | Body::GroupMod(_));
        if is_command && self.is_refused() {
            let error = ErrorMessage::new(FlowModFailed::TableFull.into(), &message.to_bytes());
            return Message::new(message.xid, Body::Error(error)).emit(output);
        }
        let mut held = self.held.lock().expect("nobody panics with it");
        let reply = match &message.body {
            Body::FeaturesRequest => Body::FeaturesReply(Features {
                datapath_id: dpid,
                n_buffers: 0,
                n_tables: 8,
                auxiliary_id: 0,
                capabilities: 0,
            }),
            Body::EchoRequest(data) => Body::EchoReply(data.clone()),
            Body::BarrierRequest => Body::BarrierReply,
            Body::FlowMod(it) => {
                let key = (it.table_id, it.priority, format!("{:?}", it.match_));
                match it.command {
                    FlowModCommand::Add => drop(held.entries.insert(
                        key,
                        FlowStats {
                            table_id: it.table_id,
                            duration_sec: 0,
                            duration_nsec: 0,
                            priority: it.priority,
                            idle_timeout: it.idle_timeout,
                            hard_timeout: it.hard_timeout,
                            flags: it.flags,
                            cookie: it.cookie,
                            packet_count: 0,
                            byte_count: 0,
                            match_: it.match_.clone(),
                            instructions: it.instructions.clone(),
                        },
                    )),
                    FlowModCommand::DeleteStrict => {
                        drop(held.entries.remove(&key).expect("it is there"))
                    }
                    other => panic!("not asked for here: {other:?}"),
                }
                return;
            }
            Body::MeterMod(it) => {
                let config =
                    MeterConfig { flags: it.flags, meter_id: it.meter_id, bands: it.bands.clone() };
                match it.command {
                    MeterModCommand::Delete => drop(held.meters.remove(&it.meter_id)),
                    _ => drop(held.meters.insert(it.meter_id, config)),
                }
                return;
            }
            Body::GroupMod(it) => {
                assert_eq!(it.command, GroupModCommand::Add, "flows of one target need none");
                return;
            }
            Body::MultipartRequest(request) => {
                let body = match &request.body {
                    RequestBody::Flow(_) => {
                        ReplyBody::Flow(held.entries.values().cloned().collect())
                    }
                    RequestBody::MeterConfig { .. } => {
                        ReplyBody::MeterConfig(held.meters.values().cloned().collect())
                    }
                    RequestBody::GroupDesc => ReplyBody::GroupDesc(Vec::new()),
                    RequestBody::PortStats { .. } => ReplyBody::PortStats(Vec::new()),
                    _ => ReplyBody::Meter(Vec::new()),
                };
                Body::MultipartReply(MultipartReply { flags: 0, body })
            }
            _ => return,
        };
        Message::new(message.xid, reply).emit(output);
    }

    fn is_refused(&self) -> bool {
        let left = self.refuse_in.load(Ordering::Relaxed);
        self.refuse_in.store(left.saturating_sub(1), Ordering::Relaxed);
        left == 1
    }

    fn held(&self) -> Held {
        self.held.lock().expect("nobody panics with it").clone()
    }
}

/// A running service with its switches' address.
struct Running {
    address: SocketAddr,
    switches: SocketAddr,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().expect("once").join().expect("it ends in order");
    }
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tenuto-switches-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

fn start(folder: &std::path::Path) -> Running {
    let network = read_network(&MemorySources::new().with("line.yaml", FILE), "line.yaml");
    let store = FileStore::open(&folder.join("decisions.log")).expect("a log");
    let network = network.expect("read").0;
    let service = Service::open(&network, FILE, Box::new(store), Planning::default());
    let tokens = Tokens::of(folder.join("tokens"));
    if tokens.is_empty() {
        tokens.add("boss", Role::Administer, "bob", None).expect("stored");
    }
    let audit = Audit::open(&folder.join("audit.jsonl")).expect("a file");
    let shared = Shared::new(service.expect("it opens"), tokens, audit);
    let bind = || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("set");
        (listener.local_addr().expect("bound"), listener)
    };
    let ((address, rest), (switches, openflow)) = (bind(), bind());
    let (end, over) = tokio::sync::oneshot::channel::<()>();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let of = |it| tokio::net::TcpListener::from_std(it).expect("a listener");
            let (rest, openflow) = (of(rest), of(openflow));
            let end = async move { drop(over.await) };
            tokio::select! {
                () = serve(rest, Arc::clone(&shared), HttpLimits::default(), end) => {}
                () = shared.service().keep_switches(vec![openflow.into()], KEEPING) => {}
            }
        });
    });
    Running { address, switches, end: Some(end), thread: Some(thread) }
}

impl Running {
    fn call(&self, method: &str, path: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer boss\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
    }

    fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = self.call("GET", path, "");
            if is_so(&answer) {
                return answer;
            }
            assert!(Instant::now() < end, "{path}: {answer}");
            thread::yield_now();
        }
    }
}

fn flow(name: &str) -> String {
    let flow = json!({"source": "h3", "targets": ["h2"], "message": "5 kB", "period": "20 ms", "priority": 2});
    json!({"name": name, "flow": flow}).to_string()
}

#[test]
fn a_flow_that_any_switch_refuses_at_any_command_is_in_none_and_not_in_the_log() {
    let folder = folder("refused");
    let running = start(&folder);
    let switches = [1, 2].map(|dpid| FakeSwitch::start(dpid, running.switches));
    running.until("/v1/status", |it| it["installed"] == 0);
    let before = [switches[0].held(), switches[1].held()];
    assert!(before.iter().all(|it| !it.entries.is_empty()));
    let mut refused = 0;
    for switch in &switches {
        for command in 1.. {
            assert!(command < 50, "there is an end");
            switch.refuse_in.store(command, Ordering::Relaxed);
            let answer = running.call("POST", "/v1/flows", &flow("NEXT"));
            if answer["state"] == "confirmed" {
                break;
            }
            assert_eq!(answer["type"], "/problems/switch-refused", "{answer}");
            let detail = answer["detail"].as_str().expect("a text");
            assert!(detail.contains("the change is undone everywhere"), "{detail}");
            running.until("/v1/status", |it| it["installed"] == it["decision"]);
            assert_eq!([switches[0].held(), switches[1].held()], before, "command {command}");
            let flows = running.call("GET", "/v1/flows", "");
            assert_eq!(flows["total"], 1, "{flows}");
            refused += 1;
        }
        switch.refuse_in.store(0, Ordering::Relaxed);
        let gone = running.call("DELETE", "/v1/flows/NEXT", "");
        assert_eq!(gone["state"], "confirmed", "{gone}");
        assert_eq!([switches[0].held(), switches[1].held()], before);
    }
    assert!(refused >= 4, "a meter and entries at both: {refused}");
    let alarms = running.call("GET", "/v1/alarms", "");
    assert!(alarms.as_array().expect("a list").iter().any(|it| it["kind"] == "change-undone"));
    let status = running.call("GET", "/v1/status", "");
    drop(running);
    let again = start(&folder);
    let known = again.call("GET", "/v1/status", "");
    assert_eq!(
        (&known["decision"], &known["plan_hash"]),
        (&status["decision"], &status["plan_hash"])
    );
    switches.iter().for_each(|it| it.is_over.store(true, Ordering::Relaxed));
    drop(again);
    let _ = std::fs::remove_dir_all(&folder);
}
