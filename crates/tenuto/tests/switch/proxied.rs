//! Slices in front of a switch of others: an Open vSwitch behind `tenuto proxy`, controllers that behave and one that does not.

use crate::lab::{Hosts, PATIENCE, has_program, in_lab, run, tenuto};
use crate::open_vswitch::{OpenVswitch, Running};
use crate::peer::{CONTROLLER, Peer, out, to_controller};
use crate::tls::Files;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tenuto_io::signals::Signal;
use tenuto_openflow::constants::{NO_BUFFER, port, table};
use tenuto_openflow::{
    Body, ControllerRole, ErrorCode, FlowMod, FlowModCommand, MultipartRequest, Oxm, PacketOut,
    RequestBody, Role,
};

/// Blue has hosts 1 and 2, green 3 and 4, red 5 and 6. Each frame of blue's asks its controller, as fast as answers come.
const SLICES: &str = "tenuto_slices: 1\nslices:\n  \
    blue: {datapath_id: 0x101, ports: [s1, s2], controllers: [\"tcp:127.0.0.1:6655\"], \
    budget: {messages: 10000 /s, changes: 5000 /s, packet_outs: 5000 /s, packet_ins: 5000 /s, bytes: 10 MB/s}}\n  \
    green: {datapath_id: 0x102, ports: [s3, s4], controllers: [\"tcp:127.0.0.1:6656\"]}\n  \
    red: {datapath_id: 0x103, ports: [s5, s6], controllers: [\"tcp:127.0.0.1:6657\"]}\n";

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("proxied-{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    path
}

/// A running `tenuto proxy`.
struct Proxy {
    process: Running,
    lines: Receiver<String>,
    told: Vec<String>,
}

impl Proxy {
    fn start(folder: &Path, slices: &str) -> Self {
        Self::start_with(folder, slices, &[])
    }

    fn start_with(folder: &Path, slices: &str, more: &[&str]) -> Self {
        std::fs::write(folder.join("slices.yaml"), slices).expect("a file for the test");
        let mut command = tenuto(&["proxy", "slices.yaml", "--audit", "500ms"]);
        command.args(["--backoff-max", "300ms"]).args(more).current_dir(folder);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                println!("    proxy: {line}");
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let mut proxy = Self { process: Running(child), lines, told: Vec::new() };
        proxy.wait_for("the switch connects at 127.0.0.1:6653");
        proxy
    }

    fn wait_for(&mut self, part: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("never said `{part}`: {:?}", self.told));
            let is_it = line.contains(part);
            self.told.push(line);
            if is_it {
                return;
            }
        }
    }

    fn memory_kb(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.0.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("Linux");
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("kB")
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

fn quiet(mut command: impl std::borrow::BorrowMut<Command>) -> Running {
    let command = command.borrow_mut();
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running(quiet.spawn().expect("it was probed"))
}

fn reach(hosts: &Hosts, from: usize, to: usize) {
    let until = Instant::now() + PATIENCE;
    while hosts.ping(from, to, 3).0 < 3 {
        assert!(Instant::now() < until, "{from} does not reach {to}");
    }
}

/// What a slice may not do: match, send and delete what is not its own.
fn attack() -> Vec<Body> {
    let mut steal = FlowMod::new(FlowModCommand::Add, 0);
    steal.priority = 60_000;
    steal.match_ = vec![Oxm::InPort(1)].into();
    let mut inject = FlowMod::new(FlowModCommand::Add, 0);
    inject.priority = 60_000;
    inject.instructions = vec![tenuto_openflow::Instruction::ApplyActions(vec![out(1)])];
    let packet = PacketOut {
        buffer_id: NO_BUFFER,
        in_port: port::CONTROLLER,
        actions: vec![out(2)],
        data: vec![0xff; 64],
    };
    vec![
        Body::FlowMod(steal),
        Body::FlowMod(inject),
        Body::PacketOut(packet),
        Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL)),
    ]
}

/// Sends as much as is taken for so long, and reads nothing; messages that were sent.
fn flood(peer: &mut Peer, time: Duration) -> usize {
    let ports = Body::MultipartRequest(MultipartRequest::new(RequestBody::PortDescription));
    let mut bodies = attack();
    bodies.extend([Body::BarrierRequest, ports]);
    let bytes: Vec<u8> = (1..)
        .zip(bodies.iter().cycle().take(600))
        .flat_map(|(xid, body)| tenuto_openflow::Message::new(xid, body.clone()).to_bytes())
        .collect();
    peer.stream.set_write_timeout(Some(Duration::from_millis(50))).expect("TCP");
    let (until, mut sent) = (Instant::now() + time, 0);
    // Cut anywhere: where it did not go on is where the next write begins.
    let mut rest: &[u8] = &bytes;
    while Instant::now() < until {
        match peer.stream.write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("after {sent} times 600 messages: {error}"),
        }
        if rest.is_empty() {
            (rest, sent) = (&bytes, sent + 600);
        }
    }
    sent
}

#[test]
fn a_controller_that_misbehaves_harms_no_other_slice() {
    const TEST: &str = "proxied::a_controller_that_misbehaves_harms_no_other_slice";
    if !has_program("ovs-vswitchd", TEST) || !has_program("ovs-testcontroller", TEST) {
        return;
    }
    in_lab(TEST, || {
        let hosts = Hosts::new(6);
        let red = TcpListener::bind("127.0.0.1:6657").expect("a network of its own");
        let mut proxy = Proxy::start(&folder("misbehaves"), SLICES);
        let switch = OpenVswitch::start(&["s1", "s2", "s3", "s4", "s5", "s6"], Some(7));
        proxy.wait_for("slices are in front of the switch");
        let _blue = quiet(Command::new("ovs-testcontroller").args(["ptcp:6655", "--unixctl=none"]));
        let _green = quiet(&mut tenuto(&["app", "learning-switch", "--listen", "127.0.0.1:6656"]));
        let mut bad = Peer::accept(&red);
        reach(&hosts, 1, 2);
        // What is judged: errors of each kind, and nothing of it in the switch.
        for (body, code) in attack().into_iter().zip(["EPERM", "OUT_PORT", "OUT_PORT"]) {
            bad.send(body);
            let Body::Error(error) = bad.wait(|body| matches!(body, Body::Error(_))).body else {
                unreachable!("it was waited for");
            };
            let told = ErrorCode::from_wire(error.type_, error.code).expect("a known one");
            assert!(told.name().contains(code), "{told} for {code}");
        }
        // Its own are carried out: frames of its hosts come to it.
        bad.add(1, Vec::new(), vec![to_controller()]);
        bad.barrier();
        assert_eq!(hosts.ping(5, 6, 1).0, 0);
        bad.wait(|body| matches!(body, Body::PacketIn(_)));
        let quiet_ms = hosts.ping(1, 2, 50);
        let before = proxy.memory_kb();
        let flooding = std::thread::spawn(move || (flood(&mut bad, Duration::from_secs(4)), bad));
        // Blue's frames pass; green's hosts are heard of for the first time.
        reach(&hosts, 3, 4);
        let beside_ms = hosts.ping(1, 2, 50);
        assert_eq!((quiet_ms.0, beside_ms.0), (50, 50));
        assert_eq!((hosts.ping(1, 3, 2).0, hosts.ping(3, 5, 2).0), (0, 0));
        let (sent, bad) = flooding.join().expect("it floods to its end");
        let grown = proxy.memory_kb().saturating_sub(before);
        println!(
            "    {sent} messages taken of the flood; 50 answers in {:.2} ms quiet, {:.2} ms beside it; {grown} kB more",
            quiet_ms.1, beside_ms.1
        );
        assert!(sent > 0 && grown < 64 << 10, "{sent}, {grown} kB");
        let entries = switch.ofctl("dump-flows", &[]);
        let stolen = |line: &&str| line.contains("priority=60000");
        assert_eq!(entries.lines().find(stolen), None, "{entries}");
        // Bytes that are no OpenFlow end its own connection alone: here the rest of a message never comes.
        drop(bad);
        let (mut stream, _): (TcpStream, _) = red.accept().expect("it is called again");
        stream.write_all(&[0x47; 4_096]).expect("it is read");
        proxy.wait_for("controller of red at 127.0.0.1:6657: a part of a message came in 5 s");
        reach(&hosts, 1, 2);
        reach(&hosts, 3, 4);
        // What is made past the proxy is noticed.
        switch.ofctl("add-flow", &["table=20,priority=7,actions=drop"]);
        proxy.wait_for("table 20 has an entry that no slice has made: priority 7");
        let told = proxy.stop();
        let refused = told.iter().filter(|line| line.contains("slice red: a message")).count();
        assert!((3..200).contains(&refused), "told {refused} times: {told:?}");
        assert!(!told.iter().any(|line| line.contains("slice blue: a message")), "{told:?}");
    });
}

/// A controller by TLS that behaves, for as long as the test; whether it was called.
fn master_by_tls(listener: TcpListener, files: &Files) -> std::thread::JoinHandle<u64> {
    let config = server(files);
    std::thread::spawn(move || {
        let (socket, _) = listener.accept().expect("the proxy calls");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("TCP");
        let connection = rustls::ServerConnection::new(config).expect("good files");
        let mut peer = Peer::over(rustls::StreamOwned::new(connection, socket));
        peer.send(Body::Hello(tenuto_openflow::Hello::default()));
        peer.wait(|body| matches!(body, Body::Hello(_)));
        peer.send(Body::FeaturesRequest);
        let Body::FeaturesReply(features) =
            peer.wait(|body| matches!(body, Body::FeaturesReply(_))).body
        else {
            unreachable!("it was waited for")
        };
        peer.add(1, vec![Oxm::InPort(1)], vec![out(2)]);
        peer.add(1, vec![Oxm::InPort(2)], vec![out(1)]);
        peer.barrier();
        features.datapath_id
    })
}

fn server(files: &Files) -> Arc<rustls::ServerConfig> {
    let read = |path: &str| std::fs::read(path).expect("made by the test");
    let certificates = CertificateDer::pem_slice_iter(&read(&files.certificate))
        .collect::<Result<Vec<_>, _>>()
        .expect("PEM");
    let key = PrivateKeyDer::from_pem_slice(&read(&files.key)).expect("PEM");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("some")
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .expect("a pair");
    Arc::new(config)
}

#[test]
fn both_sides_speak_tls_and_strangers_are_turned_away() {
    const TEST: &str = "proxied::both_sides_speak_tls_and_strangers_are_turned_away";
    if !has_program("ovs-vswitchd", TEST) {
        return;
    }
    in_lab(TEST, || {
        let hosts = Hosts::new(2);
        let folder = folder("tls");
        let (ours, others) = (Files::make(&folder, "ours"), Files::make(&folder, "others"));
        let called = master_by_tls(TcpListener::bind("127.0.0.1:6655").expect("free"), &ours);
        let slices = "tenuto_slices: 1\nslices:\n  \
            a: {datapath_id: 0x101, ports: [s1, s2], controllers: [\"tls:127.0.0.1:6655\"]}\n";
        let flags = ours.flags();
        let more = [&["--listen", "ptls:127.0.0.1:6653"][..], &flags].concat();
        let mut proxy = Proxy::start_with(&folder, slices, &more);
        // A switch without TLS, and one of another authority.
        let plain = quiet(tenuto(&["switch", "--port", "s1", "--controller", CONTROLLER]));
        proxy.wait_for("tls:127.0.0.1:");
        drop(plain);
        let mut stranger =
            tenuto(&["switch", "--port", "s1", "--controller", "tls:127.0.0.1:6653"]);
        stranger.args(others.flags());
        let stranger = quiet(stranger);
        proxy.wait_for("tls:127.0.0.1:");
        drop(stranger);
        let switch = OpenVswitch::start(&["s1", "s2"], Some(7));
        switch.call_by_tls("ssl:127.0.0.1:6653", [&ours.ca, &ours.certificate, &ours.key]);
        proxy.wait_for("slices are in front of the switch");
        assert_eq!(called.join().expect("it is called"), 0x101);
        reach(&hosts, 1, 2);
        let told = proxy.stop();
        assert!(!told.iter().any(|line| line.contains("was refused:")), "{told:?}");
    });
}

/// A port that goes and one that comes with its number: slices are told by names.
#[test]
fn a_port_that_takes_the_number_of_another_is_not_the_slices() {
    const TEST: &str = "proxied::a_port_that_takes_the_number_of_another_is_not_the_slices";
    if !has_program("ovs-vswitchd", TEST) {
        return;
    }
    in_lab(TEST, || {
        let hosts = Hosts::new(4);
        let controller = TcpListener::bind("127.0.0.1:6655").expect("a network of its own");
        let slices = "tenuto_slices: 1\nslices:\n  \
            a: {datapath_id: 1, ports: [s1, s2], controllers: [\"tcp:127.0.0.1:6655\"]}\n";
        let mut proxy = Proxy::start(&folder("renumbered"), slices);
        let switch = OpenVswitch::start(&["s1", "s2", "s3"], Some(7));
        let mut peer = Peer::accept(&controller);
        peer.add(1, Vec::new(), vec![out(port::FLOOD)]);
        peer.barrier();
        reach(&hosts, 1, 2);
        switch.vsctl(&["del-port", "br0", "s2"]);
        let number = ["--", "set", "interface", "s4", "ofport_request=2"];
        switch.vsctl(&[&["add-port", "br0", "s4"][..], &number].concat());
        proxy.wait_for("slices begin anew with it");
        // It has come again, and is emptied before it is asked for its ports.
        proxy.wait_for("slice a: the switch has no port s2, but ");
        assert_eq!((hosts.ping(1, 4, 2).0, hosts.ping(1, 3, 2).0), (0, 0));
        proxy.stop();
    });
}

/// Two controllers of one slice: the master's entries count, the slave hears of no frames until it takes over.
#[test]
fn controllers_of_a_slice_have_their_roles() {
    in_lab("proxied::controllers_of_a_slice_have_their_roles", || {
        let hosts = Hosts::new(2);
        let listen = |port: u16| TcpListener::bind(("127.0.0.1", port)).expect("free");
        let (one, other) = (listen(6655), listen(6656));
        let slices = "tenuto_slices: 1\nslices:\n  \
            a: {datapath_id: 1, ports: [s1, s2], controllers: [\"tcp:127.0.0.1:6655\", \"tcp:127.0.0.1:6656\"]}\n";
        let mut proxy = Proxy::start(&folder("roles"), slices);
        let _switch = quiet(tenuto(&[
            "switch",
            "--port",
            "s1",
            "--port",
            "s2",
            "--controller",
            CONTROLLER,
            "--backoff-max",
            "200ms",
        ]));
        proxy.wait_for("slices are in front of the switch");
        let (mut first, mut second) = (Peer::accept(&one), Peer::accept(&other));
        let ask = |peer: &mut Peer, role, generation_id| {
            peer.send(Body::RoleRequest(Role { role, generation_id }));
            peer.wait(|body| matches!(body, Body::RoleReply(_)));
        };
        ask(&mut first, ControllerRole::Master, 1);
        ask(&mut second, ControllerRole::Slave, 1);
        second.add(9, Vec::new(), vec![out(port::FLOOD)]);
        let Body::Error(error) = second.wait(|body| matches!(body, Body::Error(_))).body else {
            unreachable!("it was waited for")
        };
        assert_eq!(error.error().map(|it| it.name()), Some("OFPBRC_IS_SLAVE"));
        first.add(1, Vec::new(), vec![to_controller()]);
        first.barrier();
        assert_eq!(hosts.ping(1, 2, 1).0, 0);
        first.wait(|body| matches!(body, Body::PacketIn(_)));
        second.barrier();
        assert!(!second.heard.iter().any(|it| matches!(it.body, Body::PacketIn(_))));
        // The first is lost: its entries stay, the second takes over.
        drop(first);
        ask(&mut second, ControllerRole::Master, 2);
        second.add(9, Vec::new(), vec![out(port::FLOOD)]);
        second.barrier();
        reach(&hosts, 1, 2);
        proxy.stop();
    });
}

#[test]
fn a_switch_that_lacks_a_port_is_told_and_another_is_waited_for() {
    in_lab("proxied::a_switch_that_lacks_a_port_is_told_and_another_is_waited_for", || {
        let _hosts = Hosts::new(3);
        let slices = "tenuto_slices: 1\nslices:\n  \
            a: {datapath_id: 1, ports: [s3], controllers: [\"tcp:127.0.0.1:6655\"]}\n";
        let mut proxy = Proxy::start(&folder("lacks"), slices);
        let own = |ports: &[&str]| {
            let mut command = tenuto(&["switch", "--controller", CONTROLLER]);
            command.args(["--backoff-max", "200ms"]);
            for port in ports {
                command.args(["--port", port]);
            }
            quiet(&mut command)
        };
        let without = own(&["s1", "s2"]);
        proxy.wait_for("slice a: the switch has no port s3, but s1, s2");
        drop(without);
        let _with = own(&["s3"]);
        proxy.wait_for("slices are in front of the switch");
        proxy.stop();
    });
}

#[test]
fn what_a_proxy_cannot_keep_is_refused_by_name() {
    let folder = folder("refused");
    let refused = |slices: &str, parts: &[&str]| {
        let text = format!("tenuto_slices: 1\nslices:\n{slices}");
        std::fs::write(folder.join("slices.yaml"), text).expect("a file for the test");
        let (is_done, said) = run(tenuto(&["proxy", "slices.yaml"]).current_dir(&folder));
        assert!(!is_done, "{said}");
        crate::lab::has(&said, parts);
    };
    refused(
        "  a: {datapath_id: 1, ports: {s1: 6 Mbit/s}, buffer: 64 kB, fail_mode: standalone, listen: [\"ptcp:6701\"]}\n",
        &[
            "slices.yaml",
            "slice a: a share of port s1 cannot be kept",
            "`buffer`",
            "`fail_mode: standalone`",
            "`listen`",
            "it has 0 controllers, and needs 1 to 16",
        ],
    );
    let with = |more: &str| format!("controllers: [\"tcp:127.0.0.1:6655\"], {more}");
    let two = |a: &str, b: &str| {
        format!("  a: {{datapath_id: 1, {}}}\n  b: {{datapath_id: 2, {}}}\n", with(a), with(b))
    };
    refused(&two("ports: [s1]", "ports: [s1], vlans: [7]"), &["slices a and b would both own"]);
    refused(&two("ports: [s1], tables: 200", "ports: [s2], tables: 54"), &["254 tables", "253"]);
    let by_tls = "  a: {datapath_id: 1, ports: [s1], controllers: [\"tls:c:1\"]}\n";
    refused(by_tls, &["TLS needs an authority", "--tls-ca FILE"]);
    let (is_done, said) = run(&mut tenuto(&["proxy", "nowhere.yaml"]));
    assert!(!is_done && said.contains("nowhere.yaml"), "{said}");
}
