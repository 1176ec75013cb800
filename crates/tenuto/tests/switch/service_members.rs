//! Members of a real etcd, each in a network namespace of its own behind a bridge: one that is cut off loses its frames, as
//! behind a cable that was pulled.

use crate::lab::PATIENCE;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tenuto_io::links::{IpBatch, LinkName, VethEnd};
use tenuto_io::namespaces::{spawn_in_new_netns, within_netns};

/// They are gone with their test.
pub(crate) struct Members {
    children: Vec<Child>,
}

fn name(text: &str) -> LinkName {
    LinkName::new(text).expect("a good name")
}

fn address(member: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 9, 0, member)
}

impl Members {
    /// Starts so many; nothing where etcd is not installed.
    pub(crate) fn start(folder: &Path, count: u8, test: &str) -> Option<Self> {
        if let Err(error) = Command::new("etcd").arg("--version").output() {
            println!("SKIPPED {test}: etcd (package etcd-server) cannot be started: {error}");
            return None;
        }
        let bridge = name("etcds");
        let mut batch = IpBatch::new();
        batch.bridge(&bridge).address(&bridge, IpAddr::V4(address(254)), 24);
        batch.run().expect("root of the lab");
        let peers = (1..=count).map(|it| format!("m{it}=http://{}:2380", address(it)));
        let peers = peers.collect::<Vec<_>>().join(",");
        let children = (1..=count).map(|it| start(folder, it, &peers)).collect();
        let members = Self { children };
        let end = Instant::now() + PATIENCE * 4;
        while !(1..=count).all(|it| health(it) == Some(true)) {
            assert!(Instant::now() < end, "etcd does not come up");
            std::thread::yield_now();
        }
        Some(members)
    }

    /// Where controllers find them.
    pub(crate) fn store(&self, prefix: &str) -> String {
        let count = u8::try_from(self.children.len()).expect("few");
        let at = (1..=count).map(|it| format!("{}:2379", address(it)));
        format!("etcd://{}/{prefix}", at.collect::<Vec<_>>().join(","))
    }

    /// Cuts a member off from all others and from controllers, or not any more.
    pub(crate) fn cut(&self, member: u8, is_cut: bool) {
        let link = name(&format!("m{member}"));
        let mut batch = IpBatch::new();
        let batch = if is_cut { batch.down(&link) } else { batch.up(&link) };
        batch.run().expect("it is there");
    }

    /// Which member the others follow, asked of `member`.
    pub(crate) fn leader(&self, member: u8) -> Option<u8> {
        let (status, list) =
            (ask(member, "/v3/maintenance/status")?, ask(member, "/v3/cluster/member/list")?);
        let leads = list["members"].as_array()?.iter().find(|it| it["ID"] == status["leader"])?;
        leads["name"].as_str()?.strip_prefix('m')?.parse().ok()
    }
}

/// A namespace with etcd in it, and a link to the bridge.
fn start(folder: &Path, member: u8, peers: &str) -> Child {
    let at = |port: u16| format!("http://{}:{port}", address(member));
    let mut command = Command::new("sh");
    // It begins once the link is there, and that takes a namespace to be in.
    command.args(["-c", "read go && exec etcd \"$@\"", "sh", "--name", &format!("m{member}")]);
    command.arg("--data-dir").arg(folder.join(format!("etcd-{member}")));
    command.args(["--listen-client-urls", &at(2379), "--advertise-client-urls", &at(2379)]);
    command.args(["--listen-peer-urls", &at(2380), "--initial-advertise-peer-urls", &at(2380)]);
    command.args(["--initial-cluster", peers, "--log-level", "error"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = spawn_in_new_netns(command).expect("root of the lab");
    let (here, there) = (name(&format!("m{member}")), name("eth"));
    let end = |name: &LinkName, pid| VethEnd { name: name.clone(), pid, mac: None };
    let mut batch = IpBatch::new();
    batch.veth_pair(&end(&here, None), &end(&there, Some(child.id())));
    batch.enslave(&here, &name("etcds")).up(&here).run().expect("root of the lab");
    within_netns(child.id(), || {
        let (lo, own) = (name("lo"), IpAddr::V4(address(member)));
        IpBatch::new().up(&lo).address(&there, own, 24).up(&there).run().expect("root of the lab");
    })
    .expect("root of the lab");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"go\n").expect("it waits");
    child
}

/// What a member answers over its JSON gateway; nothing within a moment is nothing.
fn ask(member: u8, path: &str) -> Option<Value> {
    let to = SocketAddr::from((address(member), 2379));
    let mut stream = TcpStream::connect_timeout(&to, Duration::from_millis(300)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

/// Whether a member knows a leader.
fn health(member: u8) -> Option<bool> {
    let status = ask(member, "/v3/maintenance/status")?;
    Some(status["leader"].as_str().is_some_and(|it| it != "0"))
}

impl Drop for Members {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
