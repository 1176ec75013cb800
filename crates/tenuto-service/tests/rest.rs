//! The service over TCP, as a stranger uses it, and as one misuses it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
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
/// So long is waited for an answer that is to come.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tenuto-rest-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running service.
struct Running {
    address: SocketAddr,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().expect("once").join().expect("it ends in order");
    }
}

fn start(folder: &Folder, limits: HttpLimits) -> Running {
    let network = read_network(&MemorySources::new().with("line.yaml", FILE), "line.yaml");
    let store = FileStore::open(&folder.0.join("decisions.log")).expect("a log");
    let network = network.expect("read").0;
    let service = Service::open(&network, FILE, Box::new(store), Planning::default());
    let tokens = Tokens::of(folder.0.join("tokens"));
    if tokens.is_empty() {
        tokens.add("looker", Role::Read, "eve", None).expect("stored");
        tokens.add("admitter", Role::Admit, "ada", None).expect("stored");
        tokens.add("boss", Role::Administer, "bob", None).expect("stored");
        tokens.add("old", Role::Administer, "ann", Some(1)).expect("stored");
    }
    let audit = Audit::open(&folder.0.join("audit.jsonl")).expect("a file");
    let shared = Shared::new(service.expect("it opens"), tokens, audit);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("set");
    let address = listener.local_addr().expect("bound");
    let (end, over) = tokio::sync::oneshot::channel::<()>();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            let over = async move { drop(over.await) };
            serve(listener, Arc::clone(&shared), limits, over).await;
        });
    });
    Running { address, end: Some(end), thread: Some(thread) }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }
}

impl Running {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    /// Sends bytes and reads until the other side closes.
    fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The other side may have answered and closed before all was sent.
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn call(&self, method: &str, path: &str, token: &str, body: &str) -> Answer {
        self.call_with(method, path, token, body, "")
    }

    fn call_with(&self, method: &str, path: &str, token: &str, body: &str, more: &str) -> Answer {
        let length = body.len();
        self.raw(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n{more}\
                 content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
            .as_bytes(),
        )
    }

    fn add(&self, name: &str, message: &str) -> Answer {
        self.call("POST", "/v1/flows", "admitter", &new_flow(name, message).to_string())
    }
}

fn new_flow(name: &str, message: &str) -> Value {
    let flow = json!({"source": "h3", "targets": ["h2"], "message": message, "period": "20 ms"});
    json!({"name": name, "flow": flow})
}

#[test]
fn a_flow_comes_is_seen_changes_and_goes() {
    let folder = Folder::new();
    let service = start(&folder, HttpLimits::default());
    let added = service.add("A", "20 kB");
    assert_eq!((added.status, added.json()["decision"].as_u64()), (201, Some(1)));
    let bound = added.json()["bounds"][0]["delay_bound_ns"].as_u64().expect("a bound");
    let flow = service.call("GET", "/v1/flows/A", "looker", "").json();
    assert_eq!(flow["bounds"][0]["delay_bound_ns"].as_u64(), Some(bound));
    assert_eq!(flow["flow"]["targets"]["h2"]["route"], json!(["sw1", "sw2"]));
    let mut fields = flow["flow"].clone();
    fields["message"] = json!("10 kB");
    let changed = service.call("PUT", "/v1/flows/A", "admitter", &fields.to_string());
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert!(changed.json()["bounds"][0]["delay_bound_ns"].as_u64() < Some(bound));
    let plan = service.call("GET", "/v1/plan", "looker", "");
    let certificate = tenuto_certify::certify(&plan.body).expect("what it shows is certified");
    let status = service.call("GET", "/v1/status", "looker", "").json();
    assert_eq!(status["plan_hash"], json!(certificate.plan_hash));
    assert_eq!((&status["flows"], &status["decision"]), (&json!(2), &json!(2)));
    assert_eq!(service.call("DELETE", "/v1/flows/A", "admitter", "").status, 200);
    assert_eq!(service.call("GET", "/v1/flows/A", "looker", "").status, 404);
    for path in ["/v1/ports", "/v1/switches", "/v1/modes", "/v1/alarms"] {
        assert!(service.call("GET", path, "looker", "").json().is_array(), "{path}");
    }
    let file = service.call("GET", "/v1/network", "looker", "").body;
    assert!(file.starts_with("tenuto: 1\n") && file.contains("FIRST"), "{file}");
}

#[test]
fn a_refusal_is_a_problem_document_that_says_what_would_fit() {
    let folder = Folder::new();
    let service = start(&folder, HttpLimits::default());
    let asked = json!({"changes": [{"action": "add", "name": "A", "flow": new_flow("A", "220 kB")["flow"]}]});
    for (path, token) in [("/v1/what-if", "looker"), ("/v1/batch", "admitter")] {
        let refused = service.call("POST", path, token, &asked.to_string());
        assert_eq!(refused.status, 409, "{}", refused.body);
        assert!(
            refused.head.contains("content-type: application/problem+json"),
            "{}",
            refused.head
        );
        let problem = refused.json();
        assert_eq!(problem["type"], "/problems/refused");
        let refusal = &problem["refusals"][0];
        assert!(refusal["needed"].as_u64() > refusal["available"].as_u64(), "{refusal}");
        assert!(!refusal["would_fit"].as_array().expect("a list").is_empty(), "{refusal}");
    }
    assert_eq!(service.call("GET", "/v1/status", "looker", "").json()["decision"], json!(0));
}

#[test]
fn tokens_allow_what_they_allow() {
    let folder = Folder::new();
    let service = start(&folder, HttpLimits::default());
    let flow = new_flow("A", "1 kB").to_string();
    for (method, path, token, body, status) in [
        ("GET", "/v1/status", "", "", 401),
        ("GET", "/v1/status", "guess", "", 401),
        ("GET", "/v1/status", "old", "", 401),
        ("GET", "/v1/status", "looker", "", 200),
        ("POST", "/v1/flows", "looker", flow.as_str(), 403),
        ("DELETE", "/v1/flows/FIRST", "looker", "", 403),
        ("GET", "/v1/audit", "admitter", "", 403),
        ("POST", "/v1/flows", "admitter", flow.as_str(), 201),
        ("GET", "/v1/audit", "boss", "", 200),
        ("GET", "/openapi.json", "", "", 200),
        ("GET", "/v1/nothing", "looker", "", 404),
        ("PATCH", "/v1/flows", "admitter", "", 405),
    ] {
        let answer = service.call(method, path, token, body);
        assert_eq!(answer.status, status, "{method} {path} {token}: {}", answer.body);
        if status >= 400 {
            assert_eq!(answer.json()["status"], json!(status));
        }
    }
    let audit = service.call("GET", "/v1/audit", "boss", "").body;
    let line =
        |who: &str, status: u16| audit.contains(&format!("\"status\":{status},\"who\":\"{who}\""));
    assert!(line("ada", 201) && line("-", 403) && line("-", 401), "{audit}");
    // A line that is taken out counts at once.
    let kept = std::fs::read_to_string(folder.0.join("tokens")).expect("tokens");
    assert!(!kept.contains("admitter"), "only hashes are kept");
    let kept: Vec<&str> = kept.lines().filter(|line| !line.contains("ada")).collect();
    std::fs::write(folder.0.join("tokens"), kept.join("\n")).expect("written");
    assert_eq!(service.add("B", "1 kB").status, 401);
}

#[test]
fn a_key_gives_one_decision_however_often_it_is_sent() {
    let folder = Folder::new();
    let flow = new_flow("A", "1 kB").to_string();
    let first = {
        let service = start(&folder, HttpLimits::default());
        let key = "idempotency-key: k-1\r\n";
        let first = service.call_with("POST", "/v1/flows", "admitter", &flow, key);
        let second = service.call_with("POST", "/v1/flows", "admitter", &flow, key);
        assert_eq!((first.status, first.json()), (201, second.json()));
        first.json()
    };
    let service = start(&folder, HttpLimits::default());
    let key = "idempotency-key: k-1\r\n";
    let again = service.call_with("POST", "/v1/flows", "admitter", &flow, key);
    assert_eq!(again.json(), first, "after a restart too");
    let other = new_flow("B", "1 kB").to_string();
    assert_eq!(service.call_with("POST", "/v1/flows", "admitter", &other, key).status, 422);
    let long = format!("idempotency-key: {}\r\n", "k".repeat(200));
    assert_eq!(service.call_with("POST", "/v1/flows", "admitter", &other, &long).status, 400);
}

#[test]
fn lists_come_in_pages() {
    let folder = Folder::new();
    let service = start(&folder, HttpLimits::default());
    let add = |number: u32| {
        let flow = new_flow("", "200 B")["flow"].clone();
        json!({"action": "add", "name": format!("F{number:02}"), "flow": flow})
    };
    let batch = json!({"changes": (0..9).map(add).collect::<Vec<_>>()});
    let answer = service.call("POST", "/v1/batch", "admitter", &batch.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let page = service.call("GET", &format!("/v1/flows?limit=4{after}"), "looker", "").json();
        assert_eq!(page["total"], json!(10));
        let flows = page["flows"].as_array().expect("a list");
        assert!(flows.len() <= 4);
        names.extend(flows.iter().map(|it| it["name"].as_str().expect("a name").to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(names.len(), 10);
    assert_eq!(names.last().map(String::as_str), Some("FIRST"));
    for query in ["limit=many", "limit=0", "limit=1001", "limt=4", "limit=-1", "after=a&x"] {
        let said = service.call("GET", &format!("/v1/flows?{query}"), "looker", "");
        assert_eq!(said.status, 400, "{query}");
    }
    assert_eq!(service.call("GET", "/v1/flows?limit=1000", "looker", "").status, 200);
    assert_eq!(service.call("POST", "/v1/what-if?advise=false", "looker", "{}").status, 400);
}

#[test]
fn events_are_told_to_who_listens_and_wait_for_nobody() {
    let folder = Folder::new();
    let service = start(&folder, HttpLimits::default());
    let listen = || {
        let mut stream = service.connect();
        let request = "GET /v1/events HTTP/1.1\r\nhost: x\r\nlast-event-id: 0\r\nauthorization: Bearer looker\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("sent");
        stream
    };
    // These never read.
    let _silent: Vec<TcpStream> = (0..8).map(|_| listen()).collect();
    let listener = BufReader::new(listen());
    for number in 0..20 {
        assert_eq!(service.add(&format!("F{number}"), "100 B").status, 201);
    }
    let mut lines = listener.lines().map(|line| line.expect("a line"));
    assert!(lines.any(|line| line == "event: accepted"));
    assert!(lines.any(|line| line.contains("\"kind\":\"accepted\"") && line.contains("F19")));
}

#[test]
fn what_is_no_request_harms_nobody() {
    let folder = Folder::new();
    let limits = HttpLimits { head_timeout: Duration::from_millis(200), ..HttpLimits::default() };
    let service = start(&folder, limits);
    for bytes in [&b"\0\xff\xfe\r\n\r\n"[..], b"GET", b"BREW /v1/status HTTP/9.9\r\n\r\n"] {
        assert!(service.raw(bytes).status >= 400 || service.raw(bytes).status == 0);
    }
    let long = format!("GET /v1/status HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    assert!(matches!(service.raw(long.as_bytes()).status, 0 | 400..500));
    for body in ["", "{", "[]", "null", "{\"name\": 3}", "{\"name\":\"A\",\"flow\":{},\"more\":1}"]
    {
        let answer = service.call("POST", "/v1/flows", "admitter", body);
        assert_eq!((answer.status, answer.json()["status"].clone()), (400, json!(400)), "{body}");
    }
    let deep = format!("{{\"name\":\"A\",\"flow\":{}1{}}}", "[".repeat(100), "]".repeat(100));
    assert_eq!(service.call("POST", "/v1/flows", "admitter", &deep).status, 422);
    let large = "POST /v1/flows HTTP/1.1\r\nhost: x\r\nauthorization: Bearer admitter\r\ncontent-length: 99999999999\r\n\r\n";
    let mut stream = service.connect();
    stream.write_all(large.as_bytes()).expect("sent");
    let mut status = [0; 12];
    stream.read_exact(&mut status).expect("answered before the body is there");
    assert_eq!(&status, b"HTTP/1.1 413");
    assert_eq!(service.call("GET", "/v1/status", "looker", "").json()["decision"], json!(0));
}

#[test]
fn more_connections_than_there_are_places_are_closed_and_the_others_served() {
    let folder = Folder::new();
    let limits = HttpLimits {
        connections_max: 4,
        head_timeout: Duration::from_millis(300),
        ..HttpLimits::default()
    };
    let service = start(&folder, limits);
    let idle: Vec<TcpStream> = (0..12).map(|_| service.connect()).collect();
    // Who has a place and says nothing loses it, so that all are closed in the end.
    for mut stream in idle {
        let mut end = Vec::new();
        let _ = stream.read_to_end(&mut end);
    }
    assert_eq!(service.call("GET", "/v1/status", "looker", "").status, 200);
}

/// Asks for the status from another address of this machine.
fn status_from(source: [u8; 4], to: SocketAddr) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((source, 0))).expect("an address of this machine");
        let mut stream = socket.connect(to).await.expect("it listens");
        let request = "GET /v1/status HTTP/1.1\r\nhost: x\r\nauthorization: Bearer looker\r\nconnection: close\r\n\r\n";
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    })
}

#[test]
fn an_address_that_takes_all_its_places_leaves_those_of_others() {
    let folder = Folder::new();
    let limits = HttpLimits { connections_of_one_max: 4, ..HttpLimits::default() };
    let service = start(&folder, limits);
    let idle: Vec<TcpStream> = (0..4).map(|_| service.connect()).collect();
    // A fifth is closed at once, whatever it asks.
    assert_eq!(status_from([127, 0, 0, 1], service.address), "");
    assert!(status_from([127, 0, 0, 2], service.address).starts_with("HTTP/1.1 200"));
    drop(idle);
    let until = std::time::Instant::now() + PATIENCE;
    while !status_from([127, 0, 0, 1], service.address).starts_with("HTTP/1.1 200") {
        assert!(std::time::Instant::now() < until, "places are given back");
    }
}

#[test]
fn one_state_has_one_service() {
    let folder = Folder::new();
    let _service = start(&folder, HttpLimits::default());
    let second = FileStore::open(&folder.0.join("decisions.log"));
    assert_eq!(second.err().map(|error| error.kind()), Some(std::io::ErrorKind::WouldBlock));
}

#[test]
fn the_page_is_small_and_asks_nobody_else() {
    let folder = Folder::new();
    let service = start(&folder, HttpLimits::default());
    let mut bytes = 0;
    for (path, kind) in [
        ("/", "text/html"),
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/charts.js", "text/javascript"),
    ] {
        let file = service.call("GET", path, "", "");
        assert_eq!(file.status, 200, "{path}");
        assert!(file.head.contains(&format!("content-type: {kind}")), "{}", file.head);
        assert!(file.head.contains("content-security-policy: default-src 'none'"), "{}", file.head);
        assert!(!file.body.contains("://"), "{path} names another address");
        bytes += file.body.len();
    }
    assert!(bytes < 300_000, "{bytes} B");
    let page = service.call("GET", "/", "", "").body;
    assert!(page.contains("href=\"/page.css\"") && page.contains("src=\"/page.js\""));
    assert!(!page.contains(" style=") && !page.contains("onclick"), "the policy forbids these");
}
