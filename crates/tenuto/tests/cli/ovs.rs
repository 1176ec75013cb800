//! `tables --format ovs` in an Open vSwitch of the test's own: a data path without devices, so that
//! no rights are needed. Where Open vSwitch is not installed, the test says so and passes.

use crate::stranger::{folder, tenuto};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// The daemons; they end with the test.
struct Ovs {
    /// Sockets have short paths.
    at: PathBuf,
}

impl Ovs {
    fn start(bridges: &[String]) -> Option<Self> {
        let at = std::env::temp_dir().join(format!("tenuto-ovs-{}", std::process::id()));
        std::fs::create_dir_all(&at).expect("a temporary folder");
        let ovs = Self { at };
        let is_there = ovs.command("ovs-vswitchd").arg("--version").output().is_ok();
        if !is_there || !Path::new(SCHEMA).exists() {
            return None;
        }
        let daemon = ["--detach", "--no-chdir", "--log-file", "-vconsole:off"];
        ovs.run("ovsdb-tool", &["create", "conf.db", SCHEMA]);
        let database = ["conf.db", "--remote=punix:db.sock", "--pidfile=database.pid"];
        ovs.run("ovsdb-server", &[&database[..], &daemon].concat());
        ovs.run("ovs-vsctl", &["--db=unix:db.sock", "--no-wait", "init"]);
        let switch = ["unix:db.sock", "--enable-dummy=override", "--disable-system"];
        let switch = [&switch[..], &["--pidfile=switch.pid"], &daemon].concat();
        ovs.run("ovs-vswitchd", &switch);
        for bridge in bridges {
            let add = ["--db=unix:db.sock", "add-br", bridge, "--", "set", "bridge", bridge];
            let settings = ["datapath_type=dummy", "fail-mode=secure", "protocols=OpenFlow13"];
            ovs.run("ovs-vsctl", &[&add[..], &settings].concat());
        }
        Some(ovs)
    }

    /// A program that finds these daemons and no others.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command.current_dir(&self.at).env("PATH", format!("{path}:/usr/sbin:/sbin"));
        for folder in ["OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR"] {
            command.env(folder, &self.at);
        }
        command
    }

    #[track_caller]
    fn run(&self, program: &str, args: &[&str]) -> String {
        let Output { status, stdout, stderr } =
            self.command(program).args(args).output().expect("Open vSwitch is installed whole");
        let stderr = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "{program} {args:?}: {stderr}");
        String::from_utf8_lossy(&stdout).into_owned()
    }
}

impl Drop for Ovs {
    fn drop(&mut self) {
        for file in ["switch.pid", "database.pid"] {
            if let Ok(pid) = std::fs::read_to_string(self.at.join(file)) {
                let _ = Command::new("kill").arg(pid.trim()).status();
            }
        }
        let _ = std::fs::remove_dir_all(&self.at);
    }
}

/// Lines of a listing that have this word.
fn count(listing: &str, word: &str) -> usize {
    listing.matches(word).count()
}

#[test]
fn open_vswitch_takes_every_line_of_the_tables() {
    let folder = folder("ovs");
    for network in ["line.yaml", "vehicle.yaml"] {
        let document = tenuto(&["tables", network, "--json"]).exits(0).json();
        let switches = document["deployments"].as_array().expect("switches");
        let name = |it: &Value| it["switch"].as_str().expect("a name").to_owned();
        let names: Vec<String> = switches.iter().map(name).collect();
        let script = tenuto(&["tables", network, "--format", "ovs"]).exits(0).stdout;
        let Some(ovs) = Ovs::start(&names) else {
            return println!("SKIPPED open_vswitch_takes_every_line_of_the_tables: not installed");
        };
        let path = folder.join(format!("{network}.sh"));
        std::fs::write(&path, &script).expect("a file");
        ovs.run("sh", &["-e", path.to_str().expect("a path of text")]);
        for it in switches {
            let bridge = name(it);
            let list = |what: &str| ovs.run("ovs-ofctl", &["-O", "OpenFlow13", what, &bridge]);
            let of_start = |entry: &&Value| entry["level"].as_u64().unwrap_or(0) == 0;
            let entries = it["entries"].as_array().expect("entries").iter().filter(of_start);
            let rows = |key: &str| it[key].as_array().expect("rows").len();
            assert!(rows("meters") > 0 || rows("groups") > 0 || rows("entries") > 0);
            assert_eq!(count(&list("dump-flows"), "cookie="), entries.count(), "{bridge}");
            assert_eq!(count(&list("dump-meters"), "meter="), rows("meters"), "{bridge}");
            assert_eq!(count(&list("dump-groups"), "group_id="), rows("groups"), "{bridge}");
        }
    }
}
