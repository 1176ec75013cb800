//! Four tenants' controllers, each unmodified and in its sandbox, on one network of a switch of ours and an Open vSwitch:
//! the files of `networks/hosted`, which users run too.

use crate::lab::{Hosts, PATIENCE, Switch, has_program, in_lab, said, tenuto};
use crate::open_vswitch::{OpenVswitch, Running};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use tenuto_io::links::{IpBatch, LinkName, VethEnd, offloads_off};
use tenuto_io::signals::Signal;
use tenuto_io::{PacketPort, Port};

/// In the order of their hosts: 1 and 2 are those of the first, and so on.
const TENANTS: [&str; 4] = ["tenuto", "osken", "ovs", "faucet"];
/// The tenant that crashes, the one that floods.
const CRASHES: usize = 1;
const FLOODS: usize = 2;
/// Frames of the flood, each from another address: learning switches are asked of each.
const FLOOD: u32 = 50_000;

/// A Python with Faucet, and the folders without which it does not run; says why not otherwise.
fn python_with_faucet(test: &str) -> Option<Vec<String>> {
    let python = std::env::var("TENUTO_OSKEN_PYTHON").ok().filter(|path| !path.is_empty());
    let Some(python) = python else {
        println!("SKIPPED {test}: TENUTO_OSKEN_PYTHON names no Python that has os-ken and Faucet");
        return None;
    };
    let ask = "import sys, faucet, os_ken; print(sys.prefix); print(sys.base_prefix)";
    let answer = Command::new(&python).args(["-c", ask]).output().expect("it names a Python");
    if !answer.status.success() {
        let why = String::from_utf8_lossy(&answer.stderr);
        println!("SKIPPED {test}: {python} lacks os-ken or Faucet: {}", why.trim());
        return None;
    }
    let folders = String::from_utf8_lossy(&answer.stdout);
    Some(folders.lines().map(str::to_owned).collect())
}

/// The files of the example in a folder of their own, with the paths of this machine.
fn example(folders: &[String]) -> PathBuf {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../networks/hosted");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosted");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let own = folder.to_str().expect("UTF-8");
    let more = folders.iter().filter(|it| !it.starts_with("/usr") && !it.starts_with("/opt"));
    let files: Vec<&str> = [own].into_iter().chain(more.map(String::as_str)).collect();
    let files = format!("files: [{}]", files.join(", "));
    let binary = env!("CARGO_BIN_EXE_tenuto");
    for entry in std::fs::read_dir(&shipped).expect("it is there") {
        let path = entry.expect("it is there").path();
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        let text = text.replace("files: [/opt/hosted]", &files).replace("/opt/hosted", own);
        let text = text.replace("/opt/controllers", &folders[0]).replace(
            "program: [/usr/local/bin/tenuto,",
            &format!("files: [{binary}]\n    program: [{binary},"),
        );
        let name = path.file_name().expect("a file");
        std::fs::write(folder.join(name), text).expect("a file for the test");
    }
    folder
}

/// A program with what it says, line by line.
struct Told {
    process: Running,
    lines: Receiver<String>,
    told: Vec<String>,
}

impl Told {
    fn start(who: &'static str, command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let (tell, lines) = channel();
        let outputs: [Box<dyn std::io::Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("piped")),
            Box::new(child.stderr.take().expect("piped")),
        ];
        for output in outputs {
            let tell = tell.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    println!("    {who}: {line}");
                    if tell.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Self { process: Running(child), lines, told: Vec::new() }
    }

    /// Waits until each of these has been said, in whatever order.
    fn wait_for_all(&mut self, parts: &[String]) {
        let mut waiting: Vec<&String> = parts.iter().collect();
        let until = Instant::now() + PATIENCE;
        while !waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("never said {waiting:?}: {:?}", self.told));
            waiting.retain(|part| !line.contains(*part));
            self.told.push(line);
        }
    }

    /// Ends it with SIGTERM, which is a good end.
    fn stop(mut self) -> Vec<String> {
        Signal::Terminate.send(self.process.0.id()).expect("it runs");
        let status = self.process.0.wait().expect("a child");
        assert!(status.success(), "{status}: {:?}", self.told);
        self.told.extend(self.lines.iter());
        self.told
    }
}

/// The line between the two switches.
fn trunk() {
    let end = |text: &str| VethEnd {
        name: LinkName::new(text).expect("a good name"),
        pid: None,
        mac: None,
    };
    let (one, other) = (end("t1"), end("t2"));
    let mut batch = IpBatch::new();
    let batch = batch.veth_pair(&one, &other).up(&one.name).up(&other.name);
    batch.run().expect("root of the lab");
    offloads_off(&one.name).expect("root of the lab");
    offloads_off(&other.name).expect("root of the lab");
}

fn reach(hosts: &Hosts, tenant: usize) {
    let (from, to) = (2 * tenant + 1, 2 * tenant + 2);
    let until = Instant::now() + PATIENCE;
    while hosts.ping(from, to, 3).0 < 3 || hosts.ping(to, from, 3).0 < 3 {
        assert!(Instant::now() < until, "{}: {from} does not reach {to}", TENANTS[tenant]);
    }
}

/// The last bytes of the addresses of a frame of IPv4 or ARP in 10.0.0.0/24.
fn ends(frame: &[u8]) -> Option<[u8; 2]> {
    let kind = u16::from_be_bytes([*frame.get(12)?, *frame.get(13)?]);
    let (from, to) = match kind {
        0x0800 => (26, 30),
        0x0806 => (28, 38),
        _ => return None,
    };
    let host = |at: usize| frame.get(at..at + 4).filter(|it| it[..3] == [10, 0, 0]).map(|it| it[3]);
    Some([host(from)?, host(to)?])
}

/// What has come in at a host since its port was opened: frames that are not of its tenant, and how many are.
fn heard(port: &mut PacketPort, host: usize) -> usize {
    let own = |address: u8| (usize::from(address) - 1) / 2 == (host - 1) / 2;
    let mut count = 0;
    while port
        .lend(256, &mut |lent| {
            for ends in lent.frames.iter().filter_map(|frame| ends(frame)) {
                assert!(ends.into_iter().all(own), "host {host} hears of {ends:?}");
                count += 1;
            }
        })
        .expect("it is there")
        > 0
    {}
    count
}

/// A frame of ARP between hosts of a tenant, from an Ethernet address that nobody has seen.
fn stranger(tenant: usize, number: u32) -> Vec<u8> {
    let [from, to] = [2 * tenant + 1, 2 * tenant + 2].map(|it| u8::try_from(it).expect("few"));
    let source = [&[2, 0xf1][..], &number.to_be_bytes()].concat();
    let mut frame = [&[0xff; 6][..], &source, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &source].concat();
    frame.extend([10, 0, 0, from, 0, 0, 0, 0, 0, 0, 10, 0, 0, to]);
    frame.resize(60, 0);
    frame
}

/// What tenants see and have is their own, by tools that know nothing of slices: the operator's at the Open vSwitch.
fn entries_are_of_their_own(switch: &OpenVswitch) {
    let flows = switch.ofctl("dump-flows", &["--no-names"]);
    for line in flows.lines() {
        let Some(table) = line.split("table=").nth(1).and_then(|it| it.split(',').next()) else {
            continue;
        };
        let table: usize = table.parse().expect("a number");
        if table == 0 {
            continue;
        }
        let tenant = (table - 1) / 16;
        let ports = line.split("output:").skip(1).map(|it| {
            let digits: String = it.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().expect("a number")
        });
        for port in ports {
            assert!(port == tenant + 1 || port == 5, "{}: {line}", TENANTS[tenant]);
        }
    }
    for (tenant, name) in TENANTS.into_iter().enumerate() {
        let own = |line: &str| {
            let table = line.split("table=").nth(1).and_then(|it| it.split(',').next());
            table
                .and_then(|it| it.parse().ok())
                .is_some_and(|table: usize| table > 16 * tenant && table <= 16 * (tenant + 1))
        };
        assert!(flows.lines().any(own), "{name} has no entries in:\n{flows}");
    }
}

fn switch_of_ours(folder: &Path) -> Switch {
    let slices = folder.join("switch-slices.yaml");
    let mut args = Vec::new();
    for port in ["s1", "s3", "s5", "s7", "t1"] {
        args.extend(["--port".to_owned(), format!("{port},rate=100Mbit/s")]);
    }
    args.extend(["--backoff-max".into(), "500ms".into(), "--slices".into()]);
    args.push(slices.to_str().expect("UTF-8").to_owned());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Switch::start(0, &args)
}

#[test]
fn four_controllers_of_four_makers_work_at_once() {
    const TEST: &str = "hosted::four_controllers_of_four_makers_work_at_once";
    let is_there = ["ovs-vswitchd", "ovs-testcontroller"].map(|it| has_program(it, TEST));
    let python = python_with_faucet(TEST);
    let (Some(folders), [true, true]) = (python, is_there) else { return };
    in_lab(TEST, || {
        let folder = example(&folders);
        let hosts = Hosts::new(8);
        trunk();
        let at = |mut command: Command| {
            command.current_dir(&folder);
            command
        };
        let up = tenuto(&["tenants", "up", "tenants.yaml", "--state", "state"]);
        let mut up = Told::start("tenants", &mut at(up));
        up.wait_for_all(&TENANTS.map(|name| format!("{name} runs")));
        let switch = switch_of_ours(&folder);
        let proxy = tenuto(&["proxy", "proxy-slices.yaml", "--backoff-max", "500ms"]);
        let mut proxy = Told::start("proxy", &mut at(proxy));
        proxy.wait_for_all(&["the switch connects at".into()]);
        let other = OpenVswitch::start(&["s2", "s4", "s6", "s8", "t2"], None);
        let mut there =
            TENANTS.map(|name| format!("slice {name}: its controller is there")).to_vec();
        there.push("slices are in front of the switch".into());
        proxy.wait_for_all(&there);
        // Whatever comes to a host from here on is looked at.
        let mut ports: Vec<PacketPort> = (1..=8).map(|host| hosts.port(host)).collect();
        (0..TENANTS.len()).for_each(|tenant| reach(&hosts, tenant));
        let met = |from: usize, to: usize| hosts.ping(2 * from + 1, 2 * to + 2, 1).0;
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0)] {
            assert_eq!(met(from, to), 0, "{} reaches {}", TENANTS[from], TENANTS[to]);
        }
        entries_are_of_their_own(&other);
        // One crashes: the others' frames pass meanwhile, and it comes again.
        let status = tenuto(&["tenants", "status", "tenants.yaml", "--state", "state", "--json"]);
        let status: Value = serde_json::from_str(&said(&mut at(status))).expect("JSON");
        let tenants = status["tenants"].as_array().expect("a list");
        let crashed = tenants.iter().find(|it| it["tenant"] == TENANTS[CRASHES]).expect("it runs");
        let process = crashed["pid"].as_u64().expect("it runs");
        said(Command::new("kill").args(["-s", "KILL", &process.to_string()]));
        for tenant in (0..TENANTS.len()).filter(|it| *it != CRASHES) {
            reach(&hosts, tenant);
        }
        up.wait_for_all(&[format!("{} runs", TENANTS[CRASHES])]);
        reach(&hosts, CRASHES);
        ports.iter_mut().zip(1..).for_each(|(port, host)| assert!(heard(port, host) > 0));
        // One host floods its controller with addresses: no frame of the others is lost.
        for number in 0..FLOOD {
            let port = &mut ports[2 * FLOODS];
            while !port.send(&stranger(FLOODS, number)).expect("it fits") {
                port.flush().expect("it is there");
            }
            if number % 64 == 0 {
                port.flush().expect("it is there");
            }
            if number % (FLOOD / 4) == 0 {
                for tenant in (0..TENANTS.len()).filter(|it| *it != FLOODS) {
                    let (count, _) = hosts.ping(2 * tenant + 1, 2 * tenant + 2, 5);
                    assert_eq!(count, 5, "{} beside a flood", TENANTS[tenant]);
                }
            }
        }
        (0..TENANTS.len()).for_each(|tenant| reach(&hosts, tenant));
        ports.iter_mut().zip(1..).for_each(|(port, host)| assert!(heard(port, host) > 0));
        entries_are_of_their_own(&other);
        let told = proxy.stop();
        let refused: Vec<&String> = told.iter().filter(|it| it.contains("was refused")).collect();
        assert!(refused.is_empty(), "what these controllers say is understood: {refused:?}");
        let end = switch.stop();
        println!("    {end}");
        let stopped = tenuto(&["tenants", "stop", "tenants.yaml", "--state", "state"]);
        said(&mut at(stopped));
        assert!(up.process.0.wait().expect("a child").success());
    });
}
