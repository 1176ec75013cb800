//! A switch in namespaces of its own, with hosts around it.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tenuto_io::PacketPort;
use tenuto_io::links::{IpBatch, LinkName, VethEnd, disable_ipv6, offloads_off};
use tenuto_io::namespaces::{
    namespace_rights, spawn_in_new_namespaces, spawn_in_new_netns, within_netns,
};
use tenuto_io::signals::Signal;

/// A kernel repeats what was not answered after a second.
const BEFORE_A_SECOND_SYN: Duration = Duration::from_millis(900);
const INSIDE: &str = "TENUTO_SWITCH_TEST_INSIDE";
/// Nothing here takes longer unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `body` inside a lab of its own; `test` is the path of the test function that calls this.
pub(crate) fn in_lab(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        IpBatch::new().up(&name("lo")).run().expect("root of the lab");
        disable_ipv6().expect("root of the lab");
        return body();
    }
    let lab = match namespace_rights().lab() {
        Ok(lab) => lab,
        Err(refusal) => return println!("SKIPPED {test}: no namespaces here: {refusal}"),
    };
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
    let mut guardian = spawn_in_new_namespaces(command, &lab).expect("rights were probed");
    assert!(guardian.wait().expect("a child").success(), "{test} failed inside the lab");
}

fn name(text: &str) -> LinkName {
    LinkName::new(text).expect("a good name")
}

/// Hosts 1 to N: host K is 10.0.0.K behind the interface `sK`.
pub(crate) struct Hosts {
    keepers: Vec<Child>,
}

impl Hosts {
    pub(crate) fn new(count: u32) -> Self {
        let mut keepers = Vec::new();
        for number in 1..=count {
            let mut command = Command::new("sleep");
            command.arg("600").stdin(Stdio::null());
            let keeper = spawn_in_new_netns(command).expect("root of the lab");
            join(&format!("s{number}"), number, keeper.id());
            keepers.push(keeper);
        }
        Self { keepers }
    }

    /// Removes a host's link with both its interfaces, and makes another one of their names.
    pub(crate) fn replace(&mut self, host: usize) {
        let mut batch = IpBatch::new();
        batch.add(format!("link delete s{host}")).run().expect("it is there");
        join(&format!("s{host}"), u32::try_from(host).expect("few hosts"), self.pid(host));
    }

    /// The same with another one that has this MTU before it has its name.
    pub(crate) fn replace_with_mtu(&mut self, host: usize, mtu_bytes: u32) {
        let mut batch = IpBatch::new();
        batch.add(format!("link delete s{host}")).run().expect("it is there");
        join("later", u32::try_from(host).expect("few hosts"), self.pid(host));
        let mut batch = IpBatch::new();
        batch.down(&name("later")).mtu(&name("later"), mtu_bytes);
        batch.add(format!("link set dev later name s{host}")).up(&name(&format!("s{host}")));
        batch.run().expect("root of the lab");
    }

    /// Changes the MTU at the switch's end of a host's link.
    pub(crate) fn set_mtu(&self, host: usize, mtu_bytes: u32) {
        let mut batch = IpBatch::new();
        batch.mtu(&name(&format!("s{host}")), mtu_bytes).run().expect("it is there");
    }

    fn pid(&self, host: usize) -> u32 {
        self.keepers[host - 1].id()
    }

    /// A raw port at a host's interface.
    pub(crate) fn port(&self, host: usize) -> PacketPort {
        let opened = within_netns(self.pid(host), || PacketPort::open(&format!("h{host}")));
        opened.expect("root of the lab").expect("it is there")
    }

    /// Switches a host's interface on or off.
    pub(crate) fn set_link(&self, host: usize, is_up: bool) {
        let link = name(&format!("h{host}"));
        let mut batch = IpBatch::new();
        let batch = if is_up { batch.up(&link) } else { batch.down(&link) };
        within_netns(self.pid(host), || batch.run()).expect("root").expect("it is there");
    }

    /// Asks a closed port of another host, once and again: its kernel refuses with one frame, as it would answer
    /// `ping`, which not every machine has. Refusals received and their average time, in ms.
    pub(crate) fn ping(&self, from: usize, to: usize, count: u32) -> (u32, f64) {
        let to = SocketAddr::from(([10, 0, 0, u8::try_from(to).expect("few hosts")], 9));
        let (answer, answers) = channel();
        let ask = move || {
            let began = Instant::now();
            let refused = TcpStream::connect_timeout(&to, BEFORE_A_SECOND_SYN);
            let is_answer = refused.is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused);
            is_answer.then(|| began.elapsed().as_secs_f64() * 1e3)
        };
        let asked = move || {
            let mut times = Vec::new();
            for _ in 0..count {
                let answer = answer.clone();
                std::thread::spawn(move || answer.send(ask()));
                times.extend(answers.recv_timeout(Duration::from_millis(10)));
            }
            drop(answer);
            times.extend(answers);
            times.into_iter().flatten().collect::<Vec<f64>>()
        };
        let times = within_netns(self.pid(from), asked).expect("root of the lab");
        let received = u32::try_from(times.len()).expect("at most count");
        (received, times.iter().sum::<f64>() / f64::from(received))
    }
}

/// A link between the switch's namespace, where it is called `here`, and that of a host, which gets an
/// address.
fn join(here: &str, number: u32, host: u32) {
    let end = |text: String, pid, last| VethEnd {
        name: name(&text),
        pid,
        mac: Some([2, 0, 0, 0, last, u8::try_from(number).expect("few hosts")]),
    };
    let here = end(here.to_owned(), None, 1);
    let there = end(format!("h{number}"), Some(host), 0);
    let mut batch = IpBatch::new();
    batch.veth_pair(&here, &there).up(&here.name).run().expect("root of the lab");
    offloads_off(&here.name).expect("root of the lab");
    within_netns(host, || {
        let link = name(&format!("h{number}"));
        disable_ipv6().expect("root of the lab");
        offloads_off(&link).expect("root of the lab");
        let address = format!("address add 10.0.0.{number}/24 dev {link}");
        IpBatch::new().add(address).up(&link).run().expect("root of the lab");
    })
    .expect("root of the lab");
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for keeper in &mut self.keepers {
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

/// Whether a program is there; tests that need it say so otherwise.
pub(crate) fn has_program(program: &str, test: &str) -> bool {
    let found = Command::new(program).arg("-V").output().is_ok();
    if !found {
        println!("SKIPPED {test}: {program} is not installed");
    }
    found
}

/// A running `tenuto switch`.
pub(crate) struct Switch {
    child: Child,
    lines: Receiver<String>,
    pub(crate) told: Vec<String>,
}

/// The address at which switches of tests listen; each has a network of its own.
pub(crate) const LISTEN: &str = "ptcp:127.0.0.1:6634";
/// The same, to be connected to.
pub(crate) const SWITCH: &str = "tcp:127.0.0.1:6634";

impl Switch {
    /// Starts a switch with ports `s1` to `sN`, and waits until it is up.
    pub(crate) fn start(ports: u32, more: &[&str]) -> Self {
        Self::start_by(tenuto(&[]), ports, more)
    }

    /// The same with so many descriptors and no more.
    pub(crate) fn start_with_descriptors(count: u32, ports: u32, more: &[&str]) -> Self {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {count} && exec \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_tenuto")]).stdin(Stdio::null());
        Self::start_by(command, ports, more)
    }

    fn start_by(mut command: Command, ports: u32, more: &[&str]) -> Self {
        command.args(["switch", "--name", "s1", "--datapath-id", "0x2a"]);
        for number in 1..=ports {
            command.arg("--port").arg(format!("s{number}"));
        }
        command.args(["--listen", LISTEN]).args(more);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                println!("    switch: {line}");
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let mut switch = Self { child, lines, told: Vec::new() };
        switch.wait_for("is up");
        switch
    }

    /// Waits until the switch has said something with this in it.
    pub(crate) fn wait_for(&mut self, part: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("never said `{part}`: {:?}", self.told));
            self.told.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Sends it the signal of this name.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -s {name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    }

    /// Resident memory, kB.
    pub(crate) fn memory_kb(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("Linux");
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("kB")
    }

    /// Ends it with SIGTERM; what it says at its end.
    pub(crate) fn stop(mut self) -> String {
        Signal::Terminate.send(self.child.id()).expect("it runs");
        let mut said = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut said).expect("text");
        let status = self.child.wait().expect("a child");
        assert!(status.success(), "{status}: {said}");
        said
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program under test.
pub(crate) fn tenuto(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenuto"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program");
    let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    (status.success(), text)
}

/// Runs a program that is to succeed, and gives what it said.
#[track_caller]
pub(crate) fn said(command: &mut Command) -> String {
    let (is_done, text) = run(command);
    assert!(is_done, "{command:?}: {text}");
    text
}

/// Checks that a text has every part.
#[track_caller]
pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}
