//! A real Open vSwitch with the userspace datapath, in the lab of a test.

use crate::lab::{PATIENCE, said};
use crate::peer::CONTROLLER;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// A process that ends with this.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Open vSwitch with daemons and a database of its own, in a folder that goes with it.
pub(crate) struct OpenVswitch {
    _daemons: [Running; 2],
    folder: PathBuf,
}

impl OpenVswitch {
    /// Starts one bridge, `br0`, with these interfaces as its ports 1, 2, …; it calls its controller.
    pub(crate) fn start(ports: &[&str], datapath_id: Option<u64>) -> Self {
        // Labs have process ids of their own, which are the same in each.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
        let folder = std::env::temp_dir().join(format!("tenuto-ovs-{since}"));
        std::fs::create_dir(&folder).expect("a temporary folder");
        let tool = |program: &str| tool(program, &folder);
        let daemon = |command: &mut Command| {
            let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
            Running(quiet.spawn().expect("it is installed"))
        };
        let (file, socket) = (folder.join("conf.db"), folder.join("db.sock"));
        said(tool("ovsdb-tool").arg("create").arg(&file).arg(SCHEMA));
        let at = format!("unix:{}", socket.display());
        let database = daemon(tool("ovsdb-server").arg(format!("--remote=p{at}")).arg(&file));
        let until = Instant::now() + PATIENCE;
        while !socket.exists() {
            assert!(Instant::now() < until, "no database");
            std::thread::yield_now();
        }
        let db = format!("--db={at}");
        said(tool("ovs-vsctl").args([&db, "--no-wait", "init"]));
        let switch = daemon(tool("ovs-vswitchd").arg(&at));
        let mut add = tool("ovs-vsctl");
        add.args([&db, "--timeout=20", "add-br", "br0", "--", "set", "bridge", "br0"]);
        add.args(["datapath_type=netdev", "fail_mode=secure", "protocols=OpenFlow13"]);
        add.args(datapath_id.map(|id| format!("other-config:datapath-id={id:016x}")));
        for (number, port) in (1..).zip(ports) {
            add.args(["--", "add-port", "br0", port, "--", "set", "interface", port]);
            add.arg(format!("ofport_request={number}"));
        }
        said(add.args(["--", "set-controller", "br0", CONTROLLER]));
        Self { _daemons: [switch, database], folder }
    }

    /// What `ovs-ofctl` says of the bridge.
    pub(crate) fn ofctl(&self, verb: &str, more: &[&str]) -> String {
        let at = format!("unix:{}", self.folder.join("br0.mgmt").display());
        let mut command = tool("ovs-ofctl", &self.folder);
        said(command.args(["-O", "OpenFlow13", verb, &at]).args(more))
    }

    /// Has it call its controller by TLS, with these files.
    pub(crate) fn call_by_tls(&self, controller: &str, files: [&str; 3]) {
        let [ca, certificate, key] = files;
        self.vsctl(&["set-ssl", key, certificate, ca]);
        self.vsctl(&["set-controller", "br0", controller]);
    }

    /// Configures it by its own tool.
    pub(crate) fn vsctl(&self, args: &[&str]) -> String {
        let db = format!("--db=unix:{}", self.folder.join("db.sock").display());
        said(tool("ovs-vsctl", &self.folder).args([&db, "--timeout=20"]).args(args))
    }
}

impl Drop for OpenVswitch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A program that finds these daemons and no others.
fn tool(program: &str, folder: &PathBuf) -> Command {
    let mut command = Command::new(program);
    for name in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
        command.env(name, folder);
    }
    command.stdin(Stdio::null());
    command
}
