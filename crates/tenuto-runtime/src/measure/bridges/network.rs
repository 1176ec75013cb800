//! The network of a plan as bridges of one Open vSwitch, with a line for the request.

use super::BridgeOrder;
use super::inside::REQUEST_UDP_PORT;
use crate::measure::live::open_vswitch::{Daemon, SCHEMA, missing, quiet, run, tool, wait_for};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tenuto_io::links::{IpBatch, LinkName, VethEnd, disable_ipv6_on, offloads_off};
use tenuto_io::measure::{Forwarding, ProcessSubject, Subject};
use tenuto_io::{PacketPort, Port};
use tenuto_model::Network;
use tenuto_wire::{MacAddress, UdpFrame};

const FOLDER: &str = "/run/bridges";
/// The thread that serves all bridges and their sessions.
const SERVING: &str = "ovs-vswitchd";

/// The running bridges; the n-th is that of the plan's n-th switch.
pub(super) struct Bridges {
    folder: PathBuf,
    names: Vec<String>,
    pub(super) datapath_ids: Vec<u64>,
    requests: PacketPort,
    request: Vec<u8>,
    // Dropped in this order.
    _process: ProcessSubject,
    _switch: Daemon,
    _database: Daemon,
}

impl Bridges {
    /// Starts the daemons, on `processor` if one is given, and makes the bridges.
    pub(super) fn start(order: &BridgeOrder, processor: Option<usize>) -> io::Result<Self> {
        let folder = PathBuf::from(FOLDER);
        std::fs::create_dir_all(&folder)?;
        let line = Line::new()?;
        let (database, switch) = daemons(&folder)?;
        let network = &order.plan.network;
        let names: Vec<String> = order.plan.switches.iter().map(|it| it.switch.clone()).collect();
        let datapath_ids: Vec<u64> = order.plan.switches.iter().map(|it| it.datapath_id).collect();
        let mut command = tool("ovs-vsctl", &folder);
        command.args([&database_at(&folder), "--timeout=60"]);
        for (name, id) in names.iter().zip(&datapath_ids) {
            command.args(["--", "add-br", name, "--", "set", "bridge", name]);
            command.args(["datapath_type=netdev", "fail_mode=secure", "protocols=OpenFlow13"]);
            command.arg(format!("other-config:datapath-id={id:016x}"));
            for port in ports(network, name, &order.requester) {
                command.args(["--", "add-port", name, &port.name, "--", "set", "interface"]);
                command.arg(&port.name).arg(format!("ofport_request={}", port.number));
                command.args(&port.kind);
            }
        }
        run(&mut command)?;
        let mut process =
            ProcessSubject::stop(switch.0.id(), processor, Forwarding::Named(SERVING))?;
        process.begin()?;
        let requests = PacketPort::open(line.ours.as_str())?;
        let (_process, _switch, _database) = (process, switch, database);
        let request = request_frame();
        Ok(Self { folder, names, datapath_ids, requests, request, _process, _switch, _database })
    }

    /// Has every bridge call its controller; those of the one before are forgotten, and what it has told.
    pub(super) fn call(&self, controllers: &[SocketAddr]) -> io::Result<()> {
        let mut command = tool("ovs-vsctl", &self.folder);
        command.args([&database_at(&self.folder), "--timeout=60"]);
        for name in &self.names {
            command.args(["--", "del-controller", name]);
        }
        run(&mut command)?;
        for name in &self.names {
            let at = format!("unix:{}", self.folder.join(format!("{name}.mgmt")).display());
            for what in ["del-flows", "del-groups", "del-meters"] {
                run(tool("ovs-ofctl", &self.folder).args(["-O", "OpenFlow13", what, &at]))?;
            }
        }
        let mut command = tool("ovs-vsctl", &self.folder);
        command.args([&database_at(&self.folder), "--timeout=60"]);
        for (name, at) in self.names.iter().zip(controllers) {
            command.args(["--", "set-controller", name, &format!("tcp:{at}")]);
        }
        run(&mut command).map(|_| ())
    }

    /// Sends the frame that is the request.
    pub(super) fn request(&mut self) -> io::Result<()> {
        self.requests.transmit(&[&self.request]).map(|_| ())
    }
}

/// Both ends of the line by which the request comes.
struct Line {
    ours: LinkName,
}

const REQUEST_PORT_NAME: &str = "asked";

impl Line {
    fn new() -> io::Result<Self> {
        let name = |text: &str| LinkName::new(text).map_err(io::Error::other);
        let (ours, theirs) = (name("asks")?, name(REQUEST_PORT_NAME)?);
        let end = |name: &LinkName| VethEnd { name: name.clone(), pid: None, mac: None };
        let mut batch = IpBatch::new();
        batch.veth_pair(&end(&ours), &end(&theirs)).run().map_err(io::Error::other)?;
        let mut up = IpBatch::new();
        for link in [&ours, &theirs] {
            disable_ipv6_on(link)?;
            offloads_off(link)?;
            up.up(link);
        }
        up.run().map_err(io::Error::other)?;
        Ok(Self { ours })
    }
}

fn request_frame() -> Vec<u8> {
    let udp = UdpFrame {
        eth_dst: MacAddress([0x02, 0, 0, 0, 0, 2]),
        eth_src: MacAddress([0x02, 0, 0, 0, 0, 1]),
        ip_src: [10, 0, 0, 1],
        ip_dst: [10, 0, 0, 2],
        udp_src: REQUEST_UDP_PORT,
        udp_dst: REQUEST_UDP_PORT,
        dscp: 0,
        payload_len: 18,
    };
    let mut buffer = vec![0; 128];
    let written = udp.emit(&mut buffer).expect("the buffer has room");
    buffer.truncate(written.len);
    buffer
}

/// A port of a bridge, and what makes it one.
struct BridgePort {
    number: u32,
    name: String,
    kind: Vec<String>,
}

/// Links between switches are patches; a line of a host is a device of the daemon, but that of the one
/// that requests.
fn ports(network: &Network, switch: &str, requester: &str) -> Vec<BridgePort> {
    let is_switch = |name: &str| network.switches.iter().any(|switch| switch.name == name);
    let port = |own: &str, number: u32| format!("{own}p{number}");
    network
        .ends_of(switch)
        .map(|(own, far, _)| {
            let number = own.port;
            let plain = port(switch, number);
            let (name, kind) = if is_switch(&far.node) {
                let peer = format!("options:peer={}", port(&far.node, far.port));
                (plain, vec!["type=patch".to_owned(), peer])
            } else if far.node == requester {
                (REQUEST_PORT_NAME.to_owned(), Vec::new())
            } else {
                (plain, vec!["type=internal".to_owned()])
            };
            BridgePort { number, name, kind }
        })
        .collect()
}

fn database_at(folder: &Path) -> String {
    format!("--db=unix:{}", folder.join("db.sock").display())
}

fn daemons(folder: &Path) -> io::Result<(Daemon, Daemon)> {
    let file = folder.join("conf.db");
    run(tool("ovsdb-tool", folder).arg("create").arg(&file).arg(SCHEMA))?;
    let socket = folder.join("db.sock");
    let mut server = tool("ovsdb-server", folder);
    server.arg(format!("--remote=punix:{}", socket.display()));
    server.arg(format!("--unixctl={}", folder.join("database.ctl").display())).arg(&file);
    let database = Daemon(quiet(server, folder)?.spawn().map_err(missing)?);
    wait_for(&socket)?;
    run(tool("ovs-vsctl", folder).args([&database_at(folder), "--no-wait", "init"]))?;
    let mut daemon = tool("ovs-vswitchd", folder);
    daemon.arg(format!("--unixctl={}", folder.join("switch.ctl").display()));
    daemon.arg(format!("unix:{}", socket.display()));
    let switch = Daemon(quiet(daemon, folder)?.spawn().map_err(missing)?);
    Ok((database, switch))
}
