//! RESTCONF by IEEE Std 802.1Qdj: the flows of the service as streams, written, computed, refused and removed; what is
//! said is held against the modules by `yanglint`, where it and they are.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use tenuto_model::{MemorySources, read_network};
use tenuto_service::rest::{Audit, HttpLimits, Shared, serve};
use tenuto_service::{FileStore, Planning, Role, Service, Tokens};

const FILE: &str = "tenuto: 1
name: line
hosts: {h1: {}, h2: {}, h3: {}}
switches: {sw1: {profile: tenuto}, sw2: {profile: tenuto}}
defaults: {link: {rate: 100 Mbit/s}}
links: [{ends: [h1, sw1]}, {ends: [h3, sw1]}, {ends: [sw1, sw2]}, {ends: [sw2, h2]}]
flows:
  FIRST: {source: h1, targets: [h2], message: 10 kB, period: 10 ms, priority: 1}
";
const ROOT: &str = "/restconf/data/ieee802-dot1q-cnc-config:cnc-config";
const MODULE: &str = "ieee802-dot1q-cnc-config";
/// Names a folder with the modules of IEEE 802.1 and `ietf-inet-types`.
const MODULES_VARIABLE: &str = "TENUTO_YANG_MODULES";

struct Running {
    folder: PathBuf,
    address: SocketAddr,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().expect("once").join().expect("it ends in order");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn start(name: &str) -> Running {
    let folder =
        std::env::temp_dir().join(format!("tenuto-restconf-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let network = read_network(&MemorySources::new().with("line.yaml", FILE), "line.yaml");
    let store = FileStore::open(&folder.join("decisions.log")).expect("a log");
    let network = network.expect("read").0;
    let service = Service::open(&network, FILE, Box::new(store), Planning::default());
    let tokens = Tokens::of(folder.join("tokens"));
    tokens.add("admitter", Role::Admit, "cuc", None).expect("stored");
    tokens.add("looker", Role::Read, "eve", None).expect("stored");
    let audit = Audit::open(&folder.join("audit.jsonl")).expect("a file");
    let shared = Shared::new(service.expect("it opens"), tokens, audit);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("set");
    let address = listener.local_addr().expect("bound");
    let (end, over) = tokio::sync::oneshot::channel::<()>();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            serve(listener, shared, HttpLimits::default(), async move { drop(over.await) }).await;
        });
    });
    Running { folder, address, end: Some(end), thread: Some(thread) }
}

impl Running {
    fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        if !body.is_empty() {
            assert!(head.contains("json"), "{head}");
        }
        let body =
            if body.is_empty() { Value::Null } else { serde_json::from_str(body).expect("JSON") };
        (status, body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.ask("admitter", method, path, body)
    }

    /// Computes one stream; the result in words.
    fn compute(&self, cuc: &str, id: &str) -> String {
        let input = json!({"domain": [{"domain-id": "line", "cuc": [{"cuc-id": cuc, "stream-list": [{"stream-id": id}]}]}]});
        let body = json!({format!("{MODULE}:input"): input});
        let (status, answer) =
            self.call("POST", &format!("/restconf/operations/{MODULE}:compute_streams"), &body);
        assert_eq!(status, 200, "{answer}");
        answer[format!("{MODULE}:output")]["result"].as_str().expect("a text").to_owned()
    }

    /// The first notifications, as many as are waited for.
    fn notifications(&self, count: usize) -> Vec<Value> {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        let request = "GET /restconf/streams/cnc HTTP/1.1\r\nhost: x\r\nauthorization: Bearer looker\r\nlast-event-id: 0\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("it reads");
        let lines = std::io::BufRead::lines(std::io::BufReader::new(stream)).map_while(Result::ok);
        let data = lines.filter_map(|line| {
            Some(serde_json::from_str(line.strip_prefix("data: ")?).expect("JSON"))
        });
        data.take(count).collect()
    }

    fn holds(&self, kind: &str, value: &Value) {
        yanglint(&self.folder, kind, value);
    }
}

/// Held against the modules, or a line that says why not.
fn yanglint(folder: &Path, kind: &str, value: &Value) {
    let Some(modules) = std::env::var_os(MODULES_VARIABLE).map(PathBuf::from) else {
        return println!("SKIPPED yanglint: {MODULES_VARIABLE} names no folder with the modules");
    };
    let file = folder.join("said.json");
    std::fs::write(&file, value.to_string()).expect("written");
    let module = modules.join(format!("{MODULE}.yang"));
    let mut command = Command::new("yanglint");
    command.arg("-p").arg(&modules).args(["-t", kind]).arg(module).arg(&file);
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("SKIPPED yanglint: it is not installed (Debian: libyang-tools)");
        }
        Err(error) => panic!("{error}"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !said.contains("err"), "{said}\n{value:#}");
        }
    }
}

const ID: &str = "02-00-00-00-02-20:00-01";

/// A stream from the third host to the second one.
fn stream(frame_bytes: u32, latency_ns: u32) -> Value {
    json!({format!("{MODULE}:stream"): [{
        "stream-id": ID,
        "talker": {
            "stream-rank": {"rank": 1},
            "end-station-interfaces": [{"mac-address": "02-00-00-00-02-20", "interface-name": "eth0"}],
            "traffic-specification": {
                "interval": {"numerator": 1, "denominator": 50}, "max-frames-per-interval": 1, "max-frame-size": frame_bytes,
            },
            "user-to-network-requirements": {"num-seamless-trees": 1, "max-latency": latency_ns},
        },
        "listener": [{"index": 0, "end-station-interfaces": [{"mac-address": "02-00-00-00-01-20", "interface-name": ""}]}],
    }]})
}

fn address(cuc: &str) -> String {
    format!("{ROOT}/domain=line/cuc={cuc}/stream={}", ID.replace(':', "%3A"))
}

#[test]
fn a_stream_is_planned_computed_seen_as_a_flow_and_removed() {
    let it = start("life");
    let (status, all) = it.call("GET", ROOT, &Value::Null);
    assert_eq!(status, 200);
    it.holds("data", &all);
    let own = &all[format!("{MODULE}:cnc-config")]["domain"][0]["cuc"][0];
    assert_eq!(
        (&own["cuc-id"], &own["stream"][0]["stream-status"]),
        (&json!("tenuto"), &json!("configured"))
    );
    // 10 kB are seven frames of at most 1500 B.
    let traffic = &own["stream"][0]["talker"]["traffic-specification"];
    assert_eq!(
        (&traffic["max-frames-per-interval"], &traffic["max-frame-size"]),
        (&json!(7), &json!(1500))
    );

    assert_eq!(it.call("PUT", &address("plant"), &stream(500, 5_000_000)).0, 201);
    let (_, planned) = it.call("GET", &address("plant"), &Value::Null);
    assert_eq!(planned[format!("{MODULE}:stream")][0]["stream-status"], "planned");
    assert_eq!(it.call("GET", "/v1/flows", &Value::Null).1["total"], 1, "nothing is promised yet");
    assert_eq!(it.compute("plant", ID), "1 of 1 configured");
    let (_, all) = it.call("GET", ROOT, &Value::Null);
    it.holds("data", &all);
    let (_, seen) = it.call("GET", &address("plant"), &Value::Null);
    let seen = &seen[format!("{MODULE}:stream")][0];
    assert_eq!(seen["stream-status"], "configured");
    let latency = seen["listener"][0]["accumulated-latency"].as_u64().expect("a bound");
    assert!((1..=5_000_000).contains(&latency), "{latency}");
    let (_, flow) = it.call("GET", "/v1/flows/plant.020000000220.0001", &Value::Null);
    assert_eq!(flow["flow"]["payload"], "472 B", "500 B less IPv4 and UDP");
    assert_eq!(flow["flow"]["targets"]["h2"]["deadline"], "5 ms");
    assert_eq!(flow["bounds"][0]["delay_bound_ns"], latency, "one bound, told twice");

    // What was read can be written again.
    let again = json!({format!("{MODULE}:stream"): [seen]});
    assert_eq!(it.call("PUT", &address("plant"), &again).0, 204);
    let (_, modified) = it.call("GET", &address("plant"), &Value::Null);
    assert_eq!(modified[format!("{MODULE}:stream")][0]["stream-status"], "modified");
    it.holds("data", &it.call("GET", ROOT, &Value::Null).1);
    assert_eq!(it.compute("plant", ID), "1 of 1 configured");

    let action = format!("{ROOT}/domain=line/cuc=plant/remove_streams");
    let body = json!({format!("{MODULE}:input"): {"stream-list": [{"stream-id": ID}]}});
    let (status, answer) = it.call("POST", &action, &body);
    assert_eq!(
        (status, &answer[format!("{MODULE}:output")]["result"]),
        (200, &json!("1 of 1 removed"))
    );
    assert_eq!(it.call("GET", "/v1/flows", &Value::Null).1["total"], 1);
    let told = it.notifications(5);
    for notification in &told {
        let mut value = notification["ietf-restconf:notification"].clone();
        let time = value.as_object_mut().and_then(|it| it.remove("eventTime")).expect("a time");
        assert!(time.as_str().is_some_and(|it| it.ends_with('Z')), "{time}");
        it.holds("notif", &value);
    }
    let last = &told[4]["ietf-restconf:notification"][format!("{MODULE}:remove_streams_completed")];
    assert_eq!(
        last["domain"][0]["cuc"][0]["stream"][0],
        json!({"stream-id": ID, "failure-code": 0})
    );
}

/// The examples of the reference: each request is sent, and answered as printed there.
#[test]
fn the_examples_of_the_reference_are_answered_as_printed() {
    let page = include_str!("../../../docs/reference/service.md");
    let block = page.split("```restconf\n").nth(1).and_then(|it| it.split("```").next());
    let it = start("examples");
    let mut sent = 0;
    for example in block.expect("the examples").split("\n\n") {
        let mut lines = example.trim().lines();
        let (method, path) = lines.next().and_then(|it| it.split_once(' ')).expect("a request");
        let rest: Vec<&str> = lines.collect();
        let at = rest.iter().position(|it| it.parse::<u16>().is_ok()).expect("a status");
        let json = |text: &[&str]| match text {
            [] => Value::Null,
            text => serde_json::from_str(&text.concat()).expect("JSON"),
        };
        let (status, said) = it.call(method, path, &json(&rest[..at]));
        let printed = (rest[at].parse::<u16>().expect("a number"), json(&rest[at + 1..]));
        assert_eq!((status, said), printed, "{method} {path}");
        sent += 1;
    }
    assert_eq!(sent, 9);
}

/// Whatever is wrong below `/restconf` is told in one shape, what HTTP or the tokens refuse too.
#[test]
fn every_error_has_the_shape_of_rfc_8040() {
    let it = start("shape");
    let root = it.call("GET", "/restconf/data", &Value::Null);
    let all = it.call("GET", ROOT, &Value::Null);
    assert_eq!(
        (root.0, &root.1["ietf-restconf:data"]),
        (200, &all.1),
        "the datastore is all of it"
    );
    let compute = format!("/restconf/operations/{MODULE}:compute_all_streams");
    let slip = json!({"input": {"domian": []}});
    let half = json!({"input": {"domain": [{"domain-id": "line", "cuc": {"cuc-id": "plant"}}]}});
    let cases: [(&str, &str, &str, Value, u16, &str); 14] = [
        ("admitter", "GET", "/restconf/nothing", Value::Null, 404, "invalid-value"),
        ("admitter", "GET", "/restconf/data/x", Value::Null, 404, "invalid-value"),
        ("admitter", "GET", "/restconf/data/%ff", Value::Null, 400, "invalid-value"),
        ("admitter", "PUT", "/restconf/data", json!({}), 405, "operation-not-supported"),
        ("admitter", "GET", &compute, Value::Null, 405, "operation-not-supported"),
        ("nobody", "GET", "/restconf/data", Value::Null, 401, "access-denied"),
        ("looker", "POST", &compute, json!({}), 403, "access-denied"),
        ("admitter", "POST", &compute, slip, 400, "unknown-element"),
        ("admitter", "POST", &compute, half, 400, "invalid-value"),
        ("admitter", "POST", &compute, json!({"input": {}, "output": {}}), 400, "unknown-element"),
        ("admitter", "POST", &compute, json!({"input": []}), 400, "invalid-value"),
        ("admitter", "POST", &compute, json!([]), 400, "malformed-message"),
        ("admitter", "PUT", &address("plant"), slipped(), 400, "unknown-element"),
        ("admitter", "DELETE", &address("plant"), Value::Null, 404, "invalid-value"),
    ];
    for (token, method, path, body, status, tag) in cases {
        let (said, answer) = it.ask(token, method, path, &body);
        let error = &answer["ietf-restconf:errors"]["error"][0];
        assert_eq!((said, &error["error-tag"]), (status, &json!(tag)), "{method} {path}: {answer}");
        assert!(error["error-message"].as_str().is_some_and(|it| it.len() > 10), "{answer}");
    }
    assert_eq!(it.call("GET", "/v1/nothing", &Value::Null).1["status"], 404, "elsewhere as ever");
}

/// A latency with a slip in its name: taken silently, nothing would be promised.
fn slipped() -> Value {
    let mut stream = stream(500, 5_000_000);
    let talker = &mut stream[format!("{MODULE}:stream")][0]["talker"];
    talker["user-to-network-requirements"] = json!({"max-latncy": 5_000_000});
    stream
}

#[test]
fn a_refusal_is_a_failure_code_and_our_text() {
    let it = start("refused");
    // 1500 B in 100 us: no network of these links is as quick.
    assert_eq!(it.call("PUT", &address("plant"), &stream(1_500, 100_000)).0, 201);
    let said = it.compute("plant", ID);
    assert!(said.starts_with("0 of 1 configured") && said.contains("failure-code 21"), "{said}");
    assert!(said.contains("what would fit"), "{said}");
    let (_, seen) = it.call("GET", &address("plant"), &Value::Null);
    let seen = &seen[format!("{MODULE}:stream")][0];
    assert_eq!(
        (&seen["stream-status"], &seen["status-info"]["failure-code"]),
        (&json!("planned"), &json!(21))
    );
    it.holds("data", &it.call("GET", ROOT, &Value::Null).1);
    let told = it.notifications(2);
    let streams = &told[0]["ietf-restconf:notification"]
        [format!("{MODULE}:compute_streams_completed")]["domain"][0]["cuc"][0];
    assert_eq!(streams["stream"][0], json!({"stream-id": ID, "failure-code": 21}));
    assert_eq!(it.call("DELETE", &address("plant"), &Value::Null).0, 204);
    assert_eq!(it.call("GET", &address("plant"), &Value::Null).0, 404);
}

#[test]
fn without_a_latency_the_first_bound_is_the_deadline() {
    let it = start("first");
    assert_eq!(it.call("PUT", &address("plant"), &stream(200, 0)).0, 201);
    assert_eq!(it.compute("plant", ID), "1 of 1 configured");
    let (_, flow) = it.call("GET", "/v1/flows/plant.020000000220.0001", &Value::Null);
    assert_eq!(flow["bounds"][0]["slack_ns"], 0, "locked down (46.2.3.6.2): {flow}");
}

#[test]
fn what_the_network_cannot_do_is_refused_by_name_and_what_is_no_stream_too() {
    let it = start("wrong");
    let good = stream(500, 5_000_000);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut body = good.clone();
        change(&mut body[format!("{MODULE}:stream")][0]);
        body
    };
    let cases: [(&str, Value); 8] = [
        (
            "no gates",
            with(&|it| it["talker"]["traffic-specification"]["time-aware"] = json!({"jitter": 1})),
        ),
        (
            "no host of the network has",
            with(&|it| {
                it["listener"][0]["end-station-interfaces"][0]["mac-address"] =
                    json!("02-00-00-00-99-20")
            }),
        ),
        (
            "max-frame-size",
            with(&|it| it["talker"]["traffic-specification"]["max-frame-size"] = json!(9_000)),
        ),
        (
            "interval",
            with(&|it| it["talker"]["traffic-specification"]["interval"]["denominator"] = json!(0)),
        ),
        (
            "num-seamless-trees",
            with(&|it| {
                it["talker"]["user-to-network-requirements"]["num-seamless-trees"] = json!(3)
            }),
        ),
        (
            "without a tag",
            with(&|it| {
                it["talker"]["data-frame-specification"] =
                    json!([{"index": 0, "ieee802-vlan-tag": {"vlan-id": 5}}])
            }),
        ),
        ("at least one", with(&|it| it["listener"] = json!([]))),
        ("another one", with(&|it| it["stream-id"] = json!("02-00-00-00-02-20:00-02"))),
    ];
    for (words, body) in cases {
        let (status, answer) = it.call("PUT", &address("plant"), &body);
        let message =
            answer["ietf-restconf:errors"]["error"][0]["error-message"].as_str().expect("a text");
        assert!(
            (400..500).contains(&status) && message.contains(words),
            "{words}: {status} {message}"
        );
    }
    for body in
        [json!(null), json!([]), json!({"x": 1}), json!({format!("{MODULE}:stream"): [1, 2]})]
    {
        assert_eq!(it.call("PUT", &address("plant"), &body).0, 400, "{body}");
    }
    assert_eq!(it.call("PUT", &address("tenuto"), &good).0, 405, "flows that came otherwise");
    assert_eq!(it.ask("looker", "PUT", &address("plant"), &good).0, 403);
    let raw = |token: &str| it.ask(token, "GET", "/v1/status", &Value::Null).0;
    assert_eq!((raw("looker"), raw("nobody")), (200, 401));
    assert_eq!(it.call("GET", "/restconf/data/other:thing", &Value::Null).0, 404);
    assert_eq!(it.call("GET", &format!("{ROOT}/domain=other"), &Value::Null).0, 404);
    assert_eq!(
        it.call(
            "POST",
            &format!("/restconf/operations/{MODULE}:format_disk"),
            &json!({format!("{MODULE}:input"): {}})
        )
        .0,
        404
    );
    let free = json!({format!("{MODULE}:input"): {"cuc-id": "plant"}});
    let (_, answer) =
        it.call("POST", &format!("/restconf/operations/{MODULE}:request_free_stream_id"), &free);
    assert_eq!(answer[format!("{MODULE}:output")]["result"], "02-00-00-00-00-00:00-01");
}
