//! `tenuto trace`: what the tables of a switch do to one frame, step by step.

use super::dump;
use super::switch_flags::{TlsFlags, switch_at};
use crate::args::Planning;
use crate::failure::Failure;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::{output, planning};
use clap::Args as Flags;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tenuto_dataplane::switch::LEVELS_MAX;
use tenuto_model::Plan;
use tenuto_runtime::standalone::{
    Dump, DumpPart, Endpoint, PacketText, Replica, TraceNames, pcap_frame, trace_text,
};

#[derive(Debug, Flags)]
pub(crate) struct Trace {
    /// NET or PLAN, unless --switch or --dump says where the tables are; then the packet, such as
    /// in_port=1,eth_type=0x800,ipv4_dst=10.0.0.2,tcp_dst=80
    #[arg(value_name = "[NET|PLAN] PACKET", num_args = 0..=2)]
    words: Vec<String>,
    /// A running switch: tcp:HOST(:PORT) or tls:HOST(:PORT)
    #[arg(long, value_name = "WHERE", value_parser = switch_at)]
    switch: Option<Endpoint>,
    /// What `tenuto dump all -o FILE` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "switch")]
    dump: Option<PathBuf>,
    /// Switch of the network
    #[arg(long, value_name = "NAME", conflicts_with_all = ["switch", "dump"])]
    at: Option<String>,
    /// Mode of the network, or its level counted from 0; if left out, the start mode of a plan, or the
    /// mode in force in a running switch
    #[arg(long, value_name = "MODE|LEVEL")]
    mode: Option<String>,
    /// The frame as hexadecimal digits, without FCS
    #[arg(long, value_name = "HEX", conflicts_with = "pcap")]
    frame: Option<String>,
    /// A frame of a capture, counted from 1
    #[arg(long, value_name = "FILE:N")]
    pcap: Option<String>,
    /// Port by which it enters, where the packet does not say in_port
    #[arg(long, value_name = "N")]
    port: Option<u32>,
    /// Network or plan whose flows and modes the entries belong to: each is named
    #[arg(long, value_name = "NET|PLAN")]
    names: Option<PathBuf>,
    #[command(flatten)]
    tls: TlsFlags,
}

/// Names of a plan, if there is one.
#[derive(Default)]
pub(super) struct PlanNames {
    plan: Option<Plan>,
    ports: BTreeMap<u32, String>,
}

impl PlanNames {
    /// Those of this network or plan, and of the ports that a switch told.
    pub(super) fn read(path: Option<&Path>, dump: Option<&Dump>) -> Result<Self, Failure> {
        let plan = path.map(|path| planning::of_input(path, &Planning::default())).transpose()?;
        let ports = dump.map(|dump| &dump.ports[..]).unwrap_or_default();
        let ports = ports.iter().map(|port| (port.port_no, port.name.to_string())).collect();
        Ok(Self { plan: plan.map(|planned| planned.plan), ports })
    }
}

impl TraceNames for PlanNames {
    fn flow(&self, cookie: u64) -> Option<String> {
        let place = usize::try_from(cookie.checked_sub(1)?).ok()?;
        Some(self.plan.as_ref()?.network.flows.get(place)?.name.clone())
    }

    fn mode(&self, level: u8) -> Option<String> {
        let modes = &self.plan.as_ref()?.network.modes;
        modes.get(usize::from(level)).filter(|_| modes.len() > 1).cloned()
    }

    fn port(&self, number: u32) -> Option<String> {
        self.ports.get(&number).cloned()
    }
}

pub(crate) fn run(args: &Trace) -> Result<Outcome, Failure> {
    let is_planned = args.switch.is_none() && args.dump.is_none();
    let (input, packet) = match (is_planned, &args.words[..]) {
        (true, [input, packet]) => (Some(input), Some(packet)),
        (true, [input]) => (Some(input), None),
        (false, [packet]) => (None, Some(packet)),
        (false, []) => (None, None),
        _ => {
            let hint = "tenuto trace NET --at s1 PACKET, or tenuto trace --switch tcp:HOST PACKET";
            return Err(Failure::input("it is not clear which tables are meant", None, Some(hint)));
        }
    };
    let packet = read_packet(args, packet.map(String::as_str))?;
    let (replica, names) = match input {
        Some(input) => planned(args, Path::new(input))?,
        None => told(args)?,
    };
    for left_out in &replica.left_out {
        output::complain(&format!("warning: not in this trace: {left_out}"));
    }
    let ports = replica.ports();
    let Some(port) = packet.in_port.or(args.port) else {
        let hint = "say in_port=N in the packet, or --port N";
        return Err(Failure::input("by which port does it enter?", None, Some(hint)));
    };
    if !ports.contains(&port) {
        let list: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let hint = format!("ports: {}", list.join(", "));
        return Err(Failure::input(format!("there is no port {port}"), None, Some(&hint)));
    }
    let steps = replica.trace(port, &packet.frame);
    output::say(&trace_text(port, &packet.frame, &steps, &names))?;
    Ok(Outcome::Good)
}

/// The tables that a switch, or a file, tells.
fn told(args: &Trace) -> Result<(Replica, PlanNames), Failure> {
    let parts = [DumpPart::Ports, DumpPart::Meters, DumpPart::Groups, DumpPart::Flows];
    let tables = match (&args.switch, &args.dump) {
        (Some(endpoint), _) => dump::ask(endpoint, &args.tls, &parts)?,
        (None, Some(path)) => dump::read(path)?,
        (None, None) => return Err(Failure::usage("name a switch")),
    };
    let names = PlanNames::read(args.names.as_deref(), Some(&tables))?;
    let modes = names.plan.as_ref().map_or(&[][..], |plan| &plan.network.modes[..]);
    let level = args.mode.as_deref().map(|mode| level_of(mode, modes)).transpose()?;
    if level.is_some_and(|level| level > 0) && tables.mode.is_none() && tables.shadows.is_empty() {
        let hint = "leave --mode out: its entries are the same in every mode";
        return Err(Failure::input("this switch has no modes", None, Some(hint)));
    }
    Ok((Replica::of_dump(&tables, level), names))
}

/// The level of a mode that is given by its name, or by the level itself.
fn level_of(mode: &str, modes: &[String]) -> Result<u8, Failure> {
    let place = modes.iter().position(|known| known == mode);
    let named = place.and_then(|place| u8::try_from(place).ok());
    let levels = if modes.is_empty() { LEVELS_MAX } else { modes.len() };
    let numbered = || mode.parse().ok().filter(|level| usize::from(*level) < levels);
    named.or_else(numbered).ok_or_else(|| {
        let hint = match modes {
            [] => format!("a level from 0 to {}, or name modes by --names NET", LEVELS_MAX - 1),
            modes => format!("modes: {}", modes.join(", ")),
        };
        Failure::input(format!("no mode is `{mode}`"), None, Some(&hint))
    })
}

/// The tables of a plan.
fn planned(args: &Trace, input: &Path) -> Result<(Replica, PlanNames), Failure> {
    let plan = planning::of_input(input, &Planning::default())?.plan;
    let known: Vec<&str> = plan.switches.iter().map(|it| it.switch.as_str()).collect();
    let hint = format!("switches: {}", known.join(", "));
    let Some(at) = &args.at else {
        return Err(Failure::input("at which switch? add --at NAME", None, Some(&hint)));
    };
    let Some(deployment) = plan.switches.iter().find(|it| it.switch == *at) else {
        return Err(Failure::input(format!("no switch is `{at}`"), None, Some(&hint)));
    };
    let level = match &args.mode {
        None => 0,
        Some(mode) => level_of(mode, &plan.network.modes)?,
    };
    let replica = Replica::of_plan(&plan, deployment, level);
    let ports = deployment.ports.iter().map(|port| (port.port, format!("to {}", port.peer)));
    let ports = ports.collect();
    Ok((replica, PlanNames { plan: Some(plan), ports }))
}

/// The frame, from whichever form it was given in.
fn read_packet(args: &Trace, text: Option<&str>) -> Result<PacketText, Failure> {
    let wrong = |why: String| Failure::input(why, None, None);
    match (text, &args.frame, &args.pcap) {
        (Some(text), None, None) => PacketText::parse(text).map_err(wrong),
        (None, Some(hex), None) => {
            let frame = read_hex(hex).map_err(wrong)?;
            Ok(PacketText { in_port: None, frame })
        }
        (None, None, Some(place)) => {
            let frame = read_capture(place)?;
            Ok(PacketText { in_port: None, frame })
        }
        _ => {
            let hint =
                "in_port=1,eth_type=0x800,…, or --frame HEX --port 1, or --pcap FILE:1 --port 1";
            Err(Failure::input("say one packet", None, Some(hint)))
        }
    }
}

fn read_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace() && *c != ':').collect();
    let byte = |pair: &[char]| {
        let [high, low] = pair else { return None };
        let value = high.to_digit(16)? << 4 | low.to_digit(16)?;
        u8::try_from(value).ok()
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    match bytes {
        Some(bytes) if bytes.len() >= 14 => Ok(bytes),
        Some(bytes) => Err(format!("--frame: {} bytes are no Ethernet frame", bytes.len())),
        None => Err("--frame: pairs of hexadecimal digits, such as 0200…".into()),
    }
}

fn read_capture(place: &str) -> Result<Vec<u8>, Failure> {
    let parsed = place.rsplit_once(':').and_then(|(file, n)| Some((file, n.parse().ok()?)));
    let Some((file, number)) = parsed.filter(|(_, number)| *number > 0) else {
        let hint = "--pcap capture.pcap:1 is its first frame";
        return Err(Failure::input(format!("`{place}` is no FILE:N"), None, Some(hint)));
    };
    let bytes = named_file::bytes(Path::new(file), Kind::CAPTURE)?;
    pcap_frame(&bytes, number).map_err(|why| Failure::input(why, Some(file), None))
}
