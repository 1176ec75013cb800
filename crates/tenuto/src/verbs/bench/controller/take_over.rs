//! How long it takes until another controller decides, once the one that leads is killed.

use super::super::sheet::Sheet;
use super::running::{Folder, Running, failed, free_address};
use super::service::{COLUMNS, SWITCHES, expect, flow, ms, network, row};
use crate::failure::Failure;
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tenuto_runtime::measure::SharedSwitch;

/// Times that leadership moves.
const TURNS: usize = 10;
/// Flows that are there.
const FLOWS: usize = 100;

/// One member of etcd, which is gone with its bench.
struct Etcd {
    child: Child,
    store: String,
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Etcd {
    /// Starts it; why not, if it cannot be.
    fn start(folder: &Path) -> Result<Result<Self, String>, Failure> {
        let (clients, peers) = (free_address()?, free_address()?);
        let at = |address: SocketAddr| format!("http://{address}");
        let started = Command::new("etcd")
            .arg("--data-dir")
            .arg(folder)
            .args(["--listen-client-urls", &at(clients), "--advertise-client-urls", &at(clients)])
            .args(["--listen-peer-urls", &at(peers), "--initial-advertise-peer-urls", &at(peers)])
            .args(["--initial-cluster", &format!("default={}", at(peers)), "--log-level", "error"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let store = format!("etcd://{clients}/bench");
        Ok(started.map(|child| Self { child, store }).map_err(|error| error.to_string()))
    }
}

/// The table.
pub(super) fn sheet(program: &Path, progress: &mut dyn FnMut(&str)) -> Result<Sheet, Failure> {
    let mut sheet = Sheet::new("How another controller takes over", &COLUMNS);
    let folder = Folder::new("take-over", &network(SWITCHES, FLOWS))?;
    let etcd = match Etcd::start(&folder.within("etcd"))? {
        Ok(etcd) => etcd,
        Err(why) => {
            sheet
                .note(format!("not measured: etcd (package etcd-server) cannot be started: {why}"));
            return Ok(sheet);
        }
    };
    let openflow = [free_address()?, free_address()?];
    let start = |which: usize| {
        let state = ["first", "second"][which];
        Running::join(program, &folder, openflow[which], (state, &etcd.store))
    };
    let mut controllers = [start(0)?, start(1)?];
    let start_switch = |dpid: u32| SharedSwitch::start(dpid.into(), &openflow);
    let switches: std::io::Result<Vec<_>> = (1..=SWITCHES).map(start_switch).collect();
    let switches = switches.map_err(|error| failed(&error))?;
    let mut leads = 0;
    until_leads(&mut controllers[0])?;
    controllers[0].until_installed()?;
    let (mut decides, mut confirms) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        progress(&format!("take-over {} of {TURNS}", turn + 1));
        let name = format!("T{turn}");
        let text = json!({"name": name, "flow": flow(SWITCHES, turn)}).to_string();
        expect(controllers[leads].ask("POST", "/v1/flows?advice=false", &text)?, 201)?;
        controllers[leads].kill_at_once();
        let killed = Instant::now();
        let next = 1 - leads;
        until_leads(&mut controllers[next])?;
        decides.push(ms(killed));
        let (_, known) = controllers[next].ask("GET", &format!("/v1/flows/{name}"), "")?;
        if known["name"] != json!(name) {
            return Err(Failure::undecidable(format!("{name} was confirmed and is lost"), None));
        }
        let gone = controllers[next].ask("DELETE", &format!("/v1/flows/{name}"), "")?;
        if expect(gone, 200)?["state"] != "confirmed" {
            return Err(Failure::undecidable("not confirmed".to_owned(), None));
        }
        confirms.push(ms(killed));
        controllers[leads] = start(leads)?;
        leads = next;
    }
    drop(switches);
    sheet.push(row("kill -9 until another one decides", decides, 1_000.0));
    sheet.push(row("and its first decision is in 5 switches", confirms, 1_000.0));
    sheet.note(format!(
        "one member of etcd on this machine, lease 600 ms; {FLOWS} flows, {SWITCHES} switches (cores of ours over TCP, \
         no frames) with both controllers; the flow that was confirmed last is there each time"
    ));
    Ok(sheet)
}

/// Waits until it decides.
fn until_leads(controller: &mut Running) -> Result<(), Failure> {
    controller.until("it does not take over", |it| it["role"] == "leader")
}
