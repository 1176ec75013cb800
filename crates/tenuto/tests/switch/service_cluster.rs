//! Two controllers behind three members of a real etcd, and a switch that forwards all the while: the one that leads is killed
//! in the middle of batches, and members are cut off, one and then two.

use crate::lab::{Hosts, PATIENCE, Switch, in_lab, tenuto};
use crate::service::traffic;
use crate::service_members::Members;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const NET: &str = "\
tenuto: 1
name: one
hosts: {h1: {}, h2: {}, h3: {}}
switches: {s1: {profile: tenuto, dpid: 42}}
links: [{ends: [h1, s1], rate: 100 Mbit/s}, {ends: [h2, s1], rate: 100 Mbit/s}, {ends: [h3, s1], rate: 100 Mbit/s}]
flows:
  FIRST: {source: h1, targets: [h2], payload: 100 B, period: 1 ms, priority: 1}
";
/// Of a controller that answers, on a machine with much else to do.
const LEASE: &str = "600";

fn folder() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("switch-cluster");
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    std::fs::write(path.join("one.yaml"), NET).expect("a file for the test");
    path
}

/// One of the controllers; it is killed with its test.
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

impl Controller {
    fn start(folder: &Path, which: usize, store: &str) -> Self {
        let (state, openflow) = (format!("state-{which}"), format!("127.0.0.1:{}", 6653 + which));
        let args = ["controller", "one.yaml", "--listen", "127.0.0.1:0", "--state", &state];
        let more = ["--openflow", &openflow, "--store", store, "--lease", LEASE, "--audit", "1"];
        let mut command = tenuto(&[&args[..], &more[..]].concat());
        let mut child =
            command.current_dir(folder).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("it says where it is");
        print!("    {line}");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let token = std::fs::read_to_string(folder.join(state).join("token")).expect("a token");
        Self { child, address, token: token.trim().to_owned() }
    }

    fn call(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    fn get(&self, path: &str) -> Value {
        let (_, text) = self.call("GET", path, "").expect("it runs");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Asks until the answer is as it shall be.
    fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE * 4;
        loop {
            let answer = self.get(path);
            if is_so(&answer) {
                return answer;
            }
            assert!(Instant::now() < end, "{path}: {answer}");
            std::thread::yield_now();
        }
    }

    fn leads(&self) -> bool {
        self.get("/v1/status")["role"] == "leader"
    }

    /// Adds two flows, of which both are there or none.
    fn add_pair(&self, number: usize) -> Option<(u16, Value)> {
        let flow = json!({"source": "h3", "targets": ["h2"], "payload": "20 B", "period": "100 ms", "priority": 2});
        let add = |part| json!({"action": "add", "name": format!("F{number}{part}"), "flow": flow});
        let body = json!({"changes": [add('a'), add('b')]}).to_string();
        let (status, text) = self.call("POST", "/v1/batch?advice=false", &body)?;
        Some((status, serde_json::from_str(&text).ok()?))
    }

    /// Adds two flows, however often that is to be tried.
    fn add_pair_at_last(&self, number: usize) {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.add_pair(number) {
                Some((200, answer)) if answer["state"] == "confirmed" => return,
                // An earlier attempt had no good answer, and is there all the same.
                Some((409, answer)) if answer["type"] == "/problems/conflict" => return,
                other => assert!(Instant::now() < end, "{other:?}"),
            }
            std::thread::yield_now();
        }
    }

    fn flows(&self) -> BTreeSet<String> {
        let flows = self.get("/v1/flows?limit=1000");
        let rows = flows["flows"].as_array().expect("a list");
        rows.iter().filter_map(|row| Some(row["name"].as_str()?.to_owned())).collect()
    }
}

/// What was confirmed, and how many pairs were ever asked for.
#[derive(Default)]
struct Book {
    confirmed: Vec<usize>,
    number: usize,
}

impl Book {
    /// Nothing that was confirmed is lost, and nothing is there by half.
    #[track_caller]
    fn holds(&self, controller: &Controller) {
        let held = controller.flows();
        assert!(held.contains("FIRST"));
        for pair in 0..self.number {
            let both = ['a', 'b'].map(|part| held.contains(&format!("F{pair}{part}")));
            assert_eq!(both[0], both[1], "pair {pair} is there by half");
            assert!(both[0] || !self.confirmed.contains(&pair), "pair {pair} was confirmed");
        }
    }
}

fn kill(controller: &Controller) {
    let id = controller.child.id().to_string();
    assert!(Command::new("kill").args(["-9", &id]).status().expect("a program").success());
}

fn leader(controllers: &[Controller; 2]) -> usize {
    let end = Instant::now() + PATIENCE * 4;
    loop {
        if let Some(found) = controllers.iter().position(Controller::leads) {
            return found;
        }
        assert!(Instant::now() < end, "nobody leads");
        std::thread::yield_now();
    }
}

/// Kills the one that leads while a batch is anywhere, and takes the time until the other decides and has read the switch.
fn take_over(
    folder: &Path,
    store: &str,
    controllers: &mut [Controller; 2],
    book: &mut Book,
    round: u64,
) -> (Duration, Duration) {
    let first = leader(controllers);
    let other = 1 - first;
    for _ in 0..2 {
        let answer = controllers[first].add_pair(book.number).expect("it answers");
        assert_eq!((answer.0, &answer.1["state"]), (200, &json!("confirmed")), "{answer:?}");
        book.confirmed.push(book.number);
        book.number += 1;
    }
    // The one that follows says who leads, and answers what is asked.
    let (status, problem) = controllers[other].add_pair(999).expect("it answers");
    assert_eq!((status, &problem["type"]), (503, &json!("/problems/not-leading")), "{problem}");
    let leads = format!("http://{}", controllers[first].address);
    assert_eq!(problem["leader"], json!(leads), "{problem}");
    let decision = controllers[first].get("/v1/status")["decision"].clone();
    controllers[other].until("/v1/status", |it| it["decision"] == decision);
    book.holds(&controllers[other]);
    let killed = std::thread::scope(|scope| {
        let (asked, number) = (&controllers[first], book.number);
        let asked = scope.spawn(move || asked.add_pair(number));
        let spin = (0..round * 3_000_000).fold(0, |sum, it| sum ^ std::hint::black_box(it));
        std::hint::black_box(spin);
        kill(&controllers[first]);
        let killed = Instant::now();
        if asked.join().expect("it answers or not").is_some_and(|it| it.0 == 200) {
            book.confirmed.push(number);
        }
        book.number += 1;
        killed
    });
    let next = &controllers[other];
    next.until("/v1/status", |it| it["role"] == "leader");
    let decides = killed.elapsed();
    next.until("/v1/status", |it| it["installed"] == it["decision"]);
    let installed = killed.elapsed();
    book.holds(next);
    controllers[first] = Controller::start(folder, first, store);
    (decides, installed)
}

#[test]
fn a_leader_that_is_killed_and_members_that_are_cut_off_lose_no_flow_and_no_frame() {
    const TEST: &str = "service_cluster::a_leader_that_is_killed_and_members_that_are_cut_off_lose_no_flow_and_no_frame";
    in_lab(TEST, || {
        let folder = folder();
        let Some(members) = Members::start(&folder, 3, TEST) else { return };
        let store = members.store("lab");
        let mut controllers = [0, 1].map(|which| Controller::start(&folder, which, &store));
        let hosts = Hosts::new(3);
        let more = ["--controller", "tcp:127.0.0.1:6653", "--controller", "tcp:127.0.0.1:6654"];
        let _switch = Switch::start(3, &[&more[..], &["--backoff-max", "200ms"]].concat());
        let first = leader(&controllers);
        controllers[first].until("/v1/status", |it| it["installed"] == json!(0));
        let is_over = AtomicBool::new(false);
        let (sent, came) = std::thread::scope(|scope| {
            let traffic = scope.spawn(|| traffic(&hosts, &is_over));
            let mut book = Book::default();
            for round in 0..5 {
                let (decides, installed) =
                    take_over(&folder, &store, &mut controllers, &mut book, round);
                println!(
                    "    taken over: decides {decides:?} after kill -9, and has read the switch {installed:?}"
                );
            }
            is_stopped_for_a_while(&controllers, &mut book);
            cut_off(&members, &controllers, &mut book);
            is_over.store(true, Ordering::Relaxed);
            traffic.join().expect("it ends")
        });
        let first: Vec<u32> =
            came.iter().filter(|(port, _)| *port == 20_000).map(|it| it.1).collect();
        assert_eq!(first, (0..sent).collect::<Vec<u32>>(), "every frame once and in order");
    });
}

fn signal(controller: &Controller, name: &str) {
    let id = controller.child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &id]).status().expect("a program").success());
}

/// The one that leads is stopped in the middle of a batch, and wakes up when another one leads: it writes nothing more.
fn is_stopped_for_a_while(controllers: &[Controller; 2], book: &mut Book) {
    let first = leader(controllers);
    let (sleeper, other) = (&controllers[first], &controllers[1 - first]);
    let number = book.number;
    book.number += 1;
    let confirmed = std::thread::scope(|scope| {
        let asked = scope.spawn(|| sleeper.add_pair(number));
        let spin = (0..4_000_000_u64).fold(0, |sum, it| sum ^ std::hint::black_box(it));
        std::hint::black_box(spin);
        signal(sleeper, "STOP");
        other.until("/v1/status", |it| it["role"] == "leader");
        other.until("/v1/status", |it| it["installed"] == it["decision"]);
        signal(sleeper, "CONT");
        asked.join().expect("it answers").is_some_and(|it| it.0 == 200)
    });
    book.confirmed.extend(confirmed.then_some(number));
    book.confirmed.push(book.number);
    other.add_pair_at_last(book.number);
    book.number += 1;
    sleeper.until("/v1/status", |it| it["role"] == "follower");
    let decision = other.get("/v1/status")["decision"].clone();
    sleeper.until("/v1/status", |it| it["decision"] == decision);
    controllers.iter().for_each(|it| book.holds(it));
    println!("    one that slept follows, and has what was decided meanwhile");
}

/// One member is cut off, then another one, and both come back.
fn cut_off(members: &Members, controllers: &[Controller; 2], book: &mut Book) {
    let add = |book: &mut Book| {
        let first = leader(controllers);
        controllers[first].add_pair_at_last(book.number);
        book.confirmed.push(book.number);
        book.number += 1;
        book.holds(&controllers[first]);
    };
    // The one that leads the others: they have to choose another.
    let one = members.leader(1).expect("it answers");
    members.cut(one, true);
    println!("    member {one} of three is cut off");
    (0..3).for_each(|_| add(book));
    // What was decided before has reached both.
    let first = leader(controllers);
    let decision = controllers[first].get("/v1/status")["decision"].clone();
    controllers[1 - first].until("/v1/status", |it| it["decision"] == decision);
    let two = one % 3 + 1;
    members.cut(two, true);
    println!("    member {two} is cut off too");
    for controller in controllers {
        let status = controller.until("/v1/status", |it| it["role"] == "cut off");
        assert!(status["stopped"].as_str().is_some_and(|it| it.contains("cut off")), "{status}");
        let (code, problem) = controller.add_pair(1_000).expect("it answers");
        assert_eq!((code, &problem["type"]), (503, &json!("/problems/not-leading")), "{problem}");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(
            detail.contains("cut off from the majority of etcd")
                && detail.contains("traffic goes on"),
            "{detail}"
        );
        controller.until("/v1/alarms", |it| is_raised(it, "cut-off"));
        let (_, metrics) = controller.call("GET", "/metrics", "").expect("it answers");
        assert!(
            metrics.contains("tenuto_role{role=\"cut off\"} 1")
                && metrics.contains("tenuto_stopped 1"),
            "{metrics}"
        );
        // What is in force is still told.
        book.holds(controller);
    }
    members.cut(one, false);
    members.cut(two, false);
    println!("    both are back");
    (0..3).for_each(|_| add(book));
    for controller in controllers {
        controller.until("/v1/alarms", |it| !is_raised(it, "cut-off"));
    }
    let first = leader(controllers);
    let decision = controllers[first].get("/v1/status")["decision"].clone();
    controllers[1 - first].until("/v1/status", |it| it["decision"] == decision);
    controllers.iter().for_each(|it| book.holds(it));
}

fn is_raised(alarms: &Value, kind: &str) -> bool {
    alarms.as_array().is_some_and(|all| {
        all.iter().any(|it| it["kind"] == kind && it["is_raised"] == json!(true))
    })
}
