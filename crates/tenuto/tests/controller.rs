//! `tenuto controller` and those who speak to it, as a stranger meets them; and killed in the middle of batches.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const TENUTO: &str = env!("CARGO_BIN_EXE_tenuto");
const NET: &str = "\
tenuto: 1
name: line
hosts: {s1: {}, s2: {}, d1: {}}
switches: {sw1: {profile: tenuto}, sw2: {profile: tenuto}}
defaults: {link: {rate: 100 Mbit/s}}
links: [{ends: [s1, sw1]}, {ends: [s2, sw1]}, {ends: [sw1, sw2]}, {ends: [sw2, d1]}]
flows:
  FIRST: {source: s1, targets: [d1], message: 10 kB, period: 10 ms, priority: 1}
";

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    std::fs::write(path.join("line.yaml"), NET).expect("a file for the test");
    path
}

/// A controller that is killed with its test.
struct Controller {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(folder: &Path) -> Controller {
    let mut child = Command::new(TENUTO)
        .args(["controller", "line.yaml", "--listen", "127.0.0.1:0", "--state", "state"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdout.read_line(&mut line).expect("it says where it is");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split(',').next());
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    let token = std::fs::read_to_string(folder.join("state/token")).expect("a token");
    Controller { child, address, token: token.trim().to_owned() }
}

fn tenuto(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(TENUTO);
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().expect("it starts")
}

#[track_caller]
fn says(output: &Output, code: i32, words: &[&str]) {
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in:\n{text}");
    }
}

#[test]
fn flows_come_and_go_from_the_command_line() {
    let folder = folder("controller-flows");
    let controller = start(&folder);
    let run = |args: &[&str]| tenuto(&folder, &[args, &["--state", "state"]].concat());
    let contract = ["source=s2", "targets=d1", "message=20kB", "period=20ms"];
    let with = |verb: &[&'static str]| run(&[verb, &contract].concat());
    says(&with(&["flow", "what-if", "CAM"]), 0, &["WOULD BE ADMITTED", "CAM to d1"]);
    says(&with(&["flow", "add", "CAM"]), 0, &["ADMITTED: decision 1, by whole plan"]);
    says(&with(&["flow", "add", "CAM"]), 1, &["there is a flow `CAM` already"]);
    says(&run(&["flow", "list"]), 0, &["CAM", "FIRST", "slack ms"]);
    let large =
        ["flow", "change", "CAM", "source=s2", "targets=d1", "message=220kB", "period=20ms"];
    says(&run(&large), 1, &["REFUSED", "place", "rate: needed", "would fit"]);
    let wrong = ["flow", "add", "X", "source=s2", "targets=d1", "message=1KB", "period=20ms"];
    says(&run(&wrong), 2, &["flows.X.message"]);
    says(&run(&["show", "status"]), 0, &["decision", "plan_hash"]);
    for what in ["flows", "switches", "modes", "alarms"] {
        says(&run(&["show", what]), 0, &[]);
        let shown = run(&["show", what, "--json"]);
        let shown = serde_json::from_slice::<Value>(&shown.stdout).expect(what);
        match what {
            "modes" => {
                assert!(shown["history"].is_array() && shown["modes"][0]["name"].is_string())
            }
            _ => assert!(shown.is_array(), "{shown}"),
        }
    }
    says(&run(&["show", "plan", "-o", "plan.json"]), 0, &[]);
    says(&tenuto(&folder, &["certify", "plan.json"]), 0, &["CERTIFIED", "every promise holds"]);
    says(&run(&["show", "network", "-o", "now.yaml"]), 0, &[]);
    says(&tenuto(&folder, &["plan", "now.yaml"]), 0, &["GUARANTEED"]);
    says(&run(&["flow", "remove", "CAM", "NONE"]), 2, &["there is no flow `NONE`"]);
    says(&run(&["flow", "remove", "CAM"]), 0, &["decision 2"]);
    let other = tenuto(&folder, &["controller", "line.yaml", "--state", "state"]);
    says(&other, 2, &["another process has this state open"]);
    drop(controller);
    says(&run(&["flow", "list"]), 3, &["does not answer"]);
    says(
        &tenuto(&folder, &["flow", "list", "--state", "nowhere"]),
        2,
        &["no controller is known here"],
    );
}

#[test]
fn tokens_are_made_and_what_cannot_be_held_does_not_start() {
    let folder = folder("controller-tokens");
    let made =
        ["controller", "line.yaml", "--state", "state", "--new-token", "read:eve", "--for", "30d"];
    let token = tenuto(&folder, &made);
    says(&token, 0, &[]);
    std::fs::write(folder.join("eve"), &token.stdout).expect("written");
    let controller = {
        // The first start makes a token of its own only where there is none.
        let all = ["controller", "line.yaml", "--state", "state", "--new-token", "administer:bob"];
        let all = tenuto(&folder, &all);
        std::fs::write(folder.join("state/token"), &all.stdout).expect("written");
        start(&folder)
    };
    let by = |args: &[&str]| {
        tenuto(&folder, &[args, &["--state", "state", "--token-file", "eve"]].concat())
    };
    says(&by(&["flow", "list"]), 0, &["FIRST"]);
    says(&by(&["flow", "remove", "FIRST"]), 2, &["`eve` may read"]);
    drop(controller);
    let net = NET.replace("message: 10 kB", "message: 100 kB");
    let net = net.replace(
        "flows:",
        "flows:\n  MORE: {source: s2, targets: [d1], message: 50 kB, period: 10 ms}",
    );
    std::fs::write(folder.join("over.yaml"), net).expect("written");
    let over = tenuto(&folder, &["controller", "over.yaml", "--state", "over"]);
    says(&over, 1, &["REFUSED", "rate"]);
    assert!(!folder.join("over").exists(), "a start that was refused leaves nothing");
    let gone = ["controller", "gone.yaml", "--state", "deep/state"];
    says(&tenuto(&folder, &gone), 2, &["no such file"]);
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = busy.local_addr().expect("bound").to_string();
    let deep = ["controller", "line.yaml", "--state", "deep/state", "--listen", &at];
    says(&tenuto(&folder, &deep), 2, &["cannot listen"]);
    assert!(!folder.join("deep").exists());
    let other = tenuto(&folder, &["controller", "over.yaml", "--state", "state"]);
    says(&other, 2, &["the state is of another network"]);
}

#[test]
fn a_store_that_is_none_and_a_folder_with_decisions_of_its_own_are_refused() {
    let folder = folder("controller-store");
    let run = |more: &[&str]| {
        let args = ["controller", "line.yaml", "--listen", "127.0.0.1:0", "--state"];
        tenuto(&folder, &[&args[..], more].concat())
    };
    for (store, words) in [
        ("http://127.0.0.1:1/a", "no scheme of a store"),
        ("etcd://127.0.0.1:1", "no prefix of keys"),
        ("etcd://root:secret@127.0.0.1:1/a", "no host and port"),
    ] {
        says(&run(&["new", "--store", store]), 2, &[words, "such as etcd://"]);
    }
    says(&run(&["new", "--store", "etcds://127.0.0.1:1/a"]), 2, &["TLS to etcd needs", "--tls-ca"]);
    says(&run(&["new", "--lease", "500"]), 2, &["--store"]);
    says(&run(&["new", "--store", "etcd://127.0.0.1:1/a", "--lease", "5"]), 2, &["120"]);
    drop(start(&folder));
    let own = run(&["state", "--store", "etcd://127.0.0.1:1/a"]);
    says(&own, 2, &["decisions of its own", "--state DIR"]);
}

/// Sends a batch and takes the answer; nothing if the other side was killed meanwhile.
fn batch(address: &str, token: &str, changes: &Value) -> Option<u16> {
    let body = json!({ "changes": changes }).to_string();
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!(
        "POST /v1/batch?advice=false HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    // An answer that was cut says nothing.
    let (head, body) = answer.split_once("\r\n\r\n")?;
    serde_json::from_str::<Value>(body).ok()?;
    head.split(' ').nth(1)?.parse().ok()
}

/// Two flows, of which both are admitted or none.
fn pair(number: usize) -> Value {
    let flow = json!({"source": "s2", "targets": ["d1"], "message": "100 B", "period": "50 ms", "priority": 3});
    let add =
        |part: char| json!({"action": "add", "name": format!("F{number}{part}"), "flow": flow});
    json!([add('a'), add('b')])
}

fn admitted(folder: &Path) -> BTreeSet<String> {
    let shown = tenuto(folder, &["show", "flows", "--json", "--state", "state"]);
    let rows: Vec<Value> = serde_json::from_slice(&shown.stdout).expect("a list");
    rows.iter().filter_map(|row| Some(row["name"].as_str()?.to_owned())).collect()
}

#[test]
fn killed_in_the_middle_of_batches_it_loses_nothing_and_has_nothing_by_half() {
    let folder = folder("controller-killed");
    let (mut confirmed, mut number) = (Vec::new(), 0);
    for round in 0..12_u32 {
        let mut controller = start(&folder);
        let held = admitted(&folder);
        for pair in &confirmed {
            let both = ['a', 'b'].map(|part| held.contains(&format!("F{pair}{part}")));
            assert_eq!(both, [true, true], "pair {pair} was confirmed; round {round}");
        }
        for pair in 0..number {
            let both = ['a', 'b'].map(|part| held.contains(&format!("F{pair}{part}")));
            assert_eq!(both[0], both[1], "pair {pair} is there by half; round {round}");
        }
        // Killed after some answers, while the next batch is anywhere between being sent and being answered.
        for _ in 0..round % 3 {
            assert_eq!(batch(&controller.address, &controller.token, &pair(number)), Some(200));
            confirmed.push(number);
            number += 1;
        }
        let body = pair(number);
        let under_way = std::thread::scope(|scope| {
            let sent = scope.spawn(|| batch(&controller.address, &controller.token, &body));
            let spin: u64 =
                (0..u64::from(round) * 40_000).fold(0, |sum, it| sum ^ std::hint::black_box(it));
            std::hint::black_box(spin);
            kill(controller.child.id());
            sent.join().expect("it answers or it does not")
        });
        controller.child.wait().expect("a child of ours");
        if under_way == Some(200) {
            confirmed.push(number);
        }
        number += 1;
    }
    let _controller = start(&folder);
    let plan = tenuto(&folder, &["show", "plan", "-o", "plan.json", "--state", "state"]);
    says(&plan, 0, &[]);
    says(&tenuto(&folder, &["certify", "plan.json"]), 0, &["CERTIFIED", "every promise holds"]);
}

fn kill(id: u32) {
    let sent = Command::new("kill").args(["-9", &id.to_string()]).status();
    assert!(sent.expect("a program").success());
}

/// The page's own script with a document of the least that it uses; where node is not installed this says so and passes.
#[test]
fn the_page_shows_flows_asks_what_if_admits_and_tells_of_refusals() {
    if Command::new("node").arg("--version").output().is_err() {
        return println!("SKIPPED the page: node is not installed");
    }
    let folder = folder("controller-page");
    let controller = start(&folder);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = here.join("../tenuto-service/src/rest/page");
    std::fs::copy(page.join("page.js"), folder.join("page.mjs")).expect("copied");
    std::fs::copy(page.join("charts.js"), folder.join("charts.js")).expect("copied");
    std::fs::write(folder.join("package.json"), "{\"type\": \"module\"}").expect("written");
    std::fs::copy(page.join("index.html"), folder.join("index.html")).expect("copied");
    std::fs::copy(here.join("tests/page.mjs"), folder.join("test.mjs")).expect("copied");
    let mut node = Command::new("node");
    node.arg("test.mjs").current_dir(&folder).stdin(Stdio::null());
    node.env("BASE", format!("http://{}", controller.address)).env("TOKEN", &controller.token);
    let said = node.output().expect("it was there");
    says(
        &said,
        0,
        &[
            "status: 1 flows, decision 0",
            "what-if: It would be admitted",
            "refused: Not every flow can be guaranteed",
            "would fit: CAM message <=",
            "added: Admitted: decision 1",
            // The second of two samples is above its bound, which lies at half of the height.
            "chart: chart bad 4.0,35.5 296.0,4.0 | 25",
            "modes: 4.0,46.0 150.0,46.0 150.0,4.0 296.0,4.0",
            "rows: 2",
            "removed: Admitted: decision 2",
        ],
    );
}

/// The page in a browser: a flow admitted by its form, a refusal read, charts drawn; where node or Chromium are not
/// installed this says so and passes.
#[test]
fn the_page_works_in_a_real_browser() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("node") || !has("chromium") {
        return println!("SKIPPED the page in a browser: node or chromium is not installed");
    }
    let folder = folder("controller-browser");
    let controller = start(&folder);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut node = Command::new("node");
    node.arg(here.join("tests/browser.mjs")).current_dir(&folder).stdin(Stdio::null());
    node.env("BASE", format!("http://{}", controller.address)).env("TOKEN", &controller.token);
    let said = node.output().expect("it was there");
    says(
        &said,
        0,
        &[
            "title: ",
            "what-if: It would be admitted",
            "refused: Not every flow can be guaranteed",
            "added: Admitted: decision 1",
            "rows: 2",
            "chart: 1 polyline, 1 line",
            "errors: 0",
        ],
    );
}

/// Waits for a line with this in it.
fn line_with(lines: &std::sync::mpsc::Receiver<String>, part: &str) -> String {
    let patience = std::time::Duration::from_secs(120);
    let mut told = Vec::new();
    loop {
        let line = lines.recv_timeout(patience);
        let line = line.unwrap_or_else(|_| panic!("never said `{part}`: {told:?}"));
        if line.contains(part) {
            return line;
        }
        told.push(line);
    }
}

#[test]
fn a_supervisor_is_told_the_file_is_read_anew_and_the_end_is_in_order() {
    let folder = folder("controller-supervised");
    let socket = std::env::temp_dir().join(format!("tenuto-supervisor-{}", std::process::id()));
    let _ = std::fs::remove_file(&socket);
    let supervisor = std::os::unix::net::UnixDatagram::bind(&socket).expect("a socket");
    let args = ["controller", "line.yaml", "--listen", "127.0.0.1:0", "--state", "state"];
    let mut child = Command::new(TENUTO)
        .args([&args[..], &["--log", "json"]].concat())
        .env("NOTIFY_SOCKET", &socket)
        .env("WATCHDOG_USEC", "200000")
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let (tell, lines) = std::sync::mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).try_for_each(|it| tell.send(it))
    });
    let told = |line: &str| {
        let mut bytes = [0; 64];
        loop {
            let count = supervisor.recv(&mut bytes).expect("a line");
            if &bytes[..count] == line.as_bytes() {
                return;
            }
        }
    };
    told("READY=1");
    told("WATCHDOG=1");
    told("WATCHDOG=1");
    let signal = |name: &str| {
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.expect("a program").success());
    };
    let event = line_with(&lines, "\"kind\":\"certified\"");
    assert_eq!(serde_json::from_str::<Value>(&event).expect("an object")["decision"], json!(0));
    let more = "  NEXT: {source: s2, targets: [d1], message: 5 kB, period: 20 ms}\n";
    std::fs::write(folder.join("line.yaml"), format!("{NET}{more}")).expect("written");
    signal("HUP");
    told("RELOADING=1");
    told("READY=1");
    line_with(&lines, "+ NEXT {");
    line_with(&lines, "the file was read: decision 1");
    let worse = NET.replace("message: 10 kB", "message: 116 kB");
    std::fs::write(folder.join("line.yaml"), worse).expect("written");
    signal("HUP");
    line_with(&lines, "~ FIRST {");
    line_with(&lines, "the file is not taken, and the set in force stays");
    std::fs::write(folder.join("line.yaml"), "tenuto: 1\nname: [").expect("written");
    signal("HUP");
    line_with(&lines, "line.yaml: not taken");
    let flows = tenuto(&folder, &["flow", "list", "--state", "state"]);
    says(&flows, 0, &["FIRST", "NEXT"]);
    signal("TERM");
    told("STOPPING=1");
    assert_eq!(child.wait().expect("a child").code(), Some(0));
    let _ = std::fs::remove_file(&socket);
}

/// What was generated from the interface's document, against the service; where Python is not installed this says so and passes.
#[test]
fn the_python_client_is_current_and_adds_asks_and_is_refused() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let mut check = Command::new("python3");
    let Ok(checked) = check.arg(python.join("generate_client.py")).arg("--check").output() else {
        return println!("SKIPPED the Python client: python3 is not installed");
    };
    says(&checked, 0, &[]);
    let folder = folder("controller-python");
    let _controller = start(&folder);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client.py");
    let mut python3 = Command::new("python3");
    python3.arg(script).env("PYTHONPATH", &python).current_dir(&folder).stdin(Stdio::null());
    let said = python3.output().expect("it was there");
    says(
        &said,
        0,
        &[
            "status: line 1",
            "what-if: True decision 0",
            "added: decision 1",
            "the same answer: 1",
            "refused: 409 True rate",
            "wrong: 422 flows.CAM.message",
            "changed: decision 2",
            "batch: decision 3",
            "pages: CAM FIRST SECOND",
            "one: CAM s2",
            "event: accepted",
            "plan: line",
            "metrics: True",
            "removed: decision 4",
            "missing: 404",
            "stranger: 401",
        ],
    );
}
