//! `tenuto switch`: an OpenFlow switch of its own, over interfaces of this machine.

use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output;
use clap::{Args as Flags, ValueEnum};
use std::io;
use std::path::PathBuf;
use tenuto_dataplane::switch::FailMode;
use tenuto_model::quantity;
use tenuto_runtime::standalone::{
    ControllerSettings, Endpoint, ListenAt, PortMedium, PortSettings, SwitchSettings, TapSettings,
    TlsFiles, run_switch,
};
use tenuto_units::{Rate, Span};

/// Bytes of a capture that states none.
const TAP_BYTES: u64 = 100_000_000;

#[derive(Debug, Flags)]
pub(crate) struct Switch {
    /// What people call it
    #[arg(long, value_name = "NAME", default_value = "s1")]
    name: String,
    /// OpenFlow datapath id, such as 0x1
    #[arg(long, value_name = "ID", value_parser = datapath_id)]
    datapath_id: Option<u64>,
    /// Interface, and perhaps its number, rate, queues, buffer and kind:
    /// eth1[,number=3][,rate=100Mbit/s][,queues=8][,buffer=1MB][,kind=packet|memory]; may be repeated
    #[arg(long = "port", value_name = "PORT", value_parser = port)]
    ports: Vec<PortFlag>,
    /// Controller: tcp:HOST[:PORT] or tls:HOST[:PORT], perhaps with auxiliary=N; may be repeated
    #[arg(long = "controller", value_name = "WHERE", value_parser = controller)]
    controllers: Vec<ControllerSettings>,
    /// Where tools such as ovs-ofctl may connect: ptcp:[HOST:]PORT or ptls:[HOST:]PORT; may be
    /// repeated. Without HOST only from this machine
    #[arg(long, value_name = "WHERE", value_parser = listen)]
    listen: Vec<ListenAt>,
    /// What it does without a controller
    #[arg(long, value_enum)]
    fail_mode: Option<FailModeName>,
    /// Flow tables
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=254))]
    tables: Option<u8>,
    /// Entries over all tables
    #[arg(long, value_name = "N")]
    entries: Option<usize>,
    /// Packet-ins of one port in a second; 0 for no limit
    #[arg(long, value_name = "N")]
    packet_in_rate: Option<u32>,
    /// Silence after which a controller is asked whether it is there, such as 5s
    #[arg(long, value_name = "TIME", value_parser = time)]
    probe: Option<Span>,
    /// Longest pause between attempts to connect, such as 8s
    #[arg(long, value_name = "TIME", value_parser = time)]
    backoff_max: Option<Span>,
    /// Who may vouch for peers of TLS, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    tls_ca: Option<PathBuf>,
    /// Certificate of the switch, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// Private key of that certificate, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_cert"])]
    tls_key: Option<PathBuf>,
    /// Capture what passes a port, as pcap: eth1=file.pcap[,bytes=100MB][,files=4][,only=rx|tx];
    /// may be repeated
    #[arg(long = "tap", value_name = "PORT=FILE", value_parser = tap)]
    taps: Vec<(String, TapSettings)>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FailModeName {
    /// Entries stay in force; what is for the controller is dropped
    Secure,
    /// It forwards as a learning bridge
    Standalone,
}

/// A port whose number may be left to its place.
#[derive(Clone, Debug)]
struct PortFlag {
    numbered: bool,
    settings: PortSettings,
}

/// `KEY=VALUE` behind commas.
fn options(text: &str) -> Result<(&str, Vec<(&str, &str)>), String> {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let pairs = parts.map(|part| {
        part.split_once('=').ok_or_else(|| format!("`{part}` is no KEY=VALUE"))
    });
    Ok((first, pairs.collect::<Result<_, _>>()?))
}

fn whole<T: std::str::FromStr>(key: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{key}: `{text}` is no whole number that fits"))
}

fn port(text: &str) -> Result<PortFlag, String> {
    let (interface, pairs) = options(text)?;
    if interface.is_empty() || interface.contains('=') {
        return Err("the interface comes first: eth1,rate=100Mbit/s".into());
    }
    let mut flag = PortFlag { numbered: false, settings: PortSettings::new(0, interface) };
    let settings = &mut flag.settings;
    for (key, value) in pairs {
        match key {
            "number" => {
                settings.number = whole(key, value)?;
                flag.numbered = true;
            }
            "rate" => {
                let bps = quantity::parse_rate_bps(value).map_err(|error| error.to_string())?;
                settings.rate = Some(Rate::from_bps(bps).ok_or("a rate is above zero")?);
            }
            "queues" => settings.queues = whole(key, value)?,
            "buffer" => {
                let bytes = quantity::parse_size_bytes(value);
                settings.buffer_bytes = bytes.map_err(|error| error.to_string())?;
            }
            "kind" => {
                let names = PortMedium::NAMES.map(|(name, _)| name).join(", ");
                let unknown = || format!("kind `{value}` is not known: {names}");
                settings.medium = PortMedium::named(value).ok_or_else(unknown)?;
            }
            _ => return Err(format!("`{key}` is none of number, rate, queues, buffer, kind")),
        }
    }
    Ok(flag)
}

fn controller(text: &str) -> Result<ControllerSettings, String> {
    let (place, pairs) = options(text)?;
    let endpoint = Endpoint::parse(place).map_err(|error| error.to_string())?;
    let mut settings = ControllerSettings { endpoint, auxiliary: 0 };
    for (key, value) in pairs {
        match key {
            "auxiliary" => settings.auxiliary = whole(key, value)?,
            _ => return Err(format!("`{key}` is not auxiliary")),
        }
    }
    Ok(settings)
}

fn listen(text: &str) -> Result<ListenAt, String> {
    ListenAt::parse(text).map_err(|error| error.to_string())
}

fn datapath_id(text: &str) -> Result<u64, String> {
    let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    hex.unwrap_or_else(|| text.parse()).map_err(|_| "a number such as 1 or 0x1".into())
}

fn time(text: &str) -> Result<Span, String> {
    match quantity::parse_time_ns(text).map_err(|error| error.to_string())? {
        0 => Err("a time above zero, such as 5s".into()),
        ns => Ok(Span::from_ns(ns)),
    }
}

fn tap(text: &str) -> Result<(String, TapSettings), String> {
    use tenuto_runtime::standalone::TapDirection;
    let (first, pairs) = options(text)?;
    let (port, file) = first.split_once('=').ok_or("say which port and file: eth1=eth1.pcap")?;
    let direction = TapDirection::Both;
    let mut tap = TapSettings { file: file.into(), bytes_max: TAP_BYTES, files: 1, direction };
    for (key, value) in pairs {
        match (key, value) {
            ("bytes", _) => {
                let bytes = quantity::parse_size_bytes(value);
                tap.bytes_max = bytes.map_err(|error| error.to_string())?;
            }
            ("files", _) => tap.files = whole(key, value)?,
            ("only", "rx") => tap.direction = TapDirection::Received,
            ("only", "tx") => tap.direction = TapDirection::Sent,
            _ => return Err(format!("`{key}={value}` is none of bytes=, files=, only=rx|tx")),
        }
    }
    Ok((port.to_owned(), tap))
}

/// Settings as the flags say.
fn settings(args: &Switch) -> Result<SwitchSettings, Failure> {
    let mut settings = SwitchSettings::new(&args.name);
    for flag in &args.ports {
        let mut port = flag.settings.clone();
        if !flag.numbered {
            port.number = settings.ports.iter().map(|p| p.number).max().unwrap_or(0) + 1;
        }
        settings.ports.push(port);
    }
    for (name, tap) in &args.taps {
        let port = settings.ports.iter_mut().find(|port| port.interface == *name);
        let unknown = || {
            let hint = "a capture is of a port of this switch: --port eth1 --tap eth1=eth1.pcap";
            Failure::input(format!("--tap: no port is called `{name}`"), None, Some(hint))
        };
        port.ok_or_else(unknown)?.tap = Some(tap.clone());
    }
    settings.controllers.clone_from(&args.controllers);
    settings.listen.clone_from(&args.listen);
    settings.datapath_id = args.datapath_id.unwrap_or(settings.datapath_id);
    settings.tables = args.tables.unwrap_or(settings.tables);
    settings.entries_max = args.entries.unwrap_or(settings.entries_max);
    settings.probe = args.probe.unwrap_or(settings.probe);
    settings.backoff_max = args.backoff_max.unwrap_or(settings.backoff_max);
    match args.fail_mode {
        Some(FailModeName::Standalone) => settings.fail_mode = FailMode::Standalone,
        Some(FailModeName::Secure) => settings.fail_mode = FailMode::Secure,
        None => {}
    }
    match args.packet_in_rate {
        Some(0) => settings.packet_ins_per_s = None,
        Some(rate) => settings.packet_ins_per_s = Some(rate),
        None => {}
    }
    if let (Some(ca), Some(certificate), Some(key)) = (&args.tls_ca, &args.tls_cert, &args.tls_key) {
        let (ca, certificate, key) = (ca.clone(), certificate.clone(), key.clone());
        settings.tls = Some(TlsFiles { ca, certificate, key });
    }
    check(&settings)?;
    Ok(settings)
}

/// What no single flag can say of itself.
fn check(settings: &SwitchSettings) -> Result<(), Failure> {
    let wrong = |text: String, hint: &str| Err(Failure::input(text, None, Some(hint)));
    if settings.ports.is_empty() {
        return wrong("a switch has ports".into(), "name its interfaces: --port eth1 --port eth2");
    }
    for (place, port) in settings.ports.iter().enumerate() {
        let before = &settings.ports[..place];
        if before.iter().any(|other| other.interface == port.interface) {
            return wrong(format!("port {} is named twice", port.interface), "once is enough");
        }
        if before.iter().any(|other| other.number == port.number) {
            let hint = "leave number= out and ports are numbered in their order";
            return wrong(format!("two ports have the number {}", port.number), hint);
        }
        if !(1..=0xffff_ff00).contains(&port.number) {
            return wrong(format!("port {}: number {}", port.interface, port.number), "from 1");
        }
        if !(1..=64).contains(&port.queues) {
            return wrong(format!("port {}: {} queues", port.interface, port.queues), "from 1 to 64");
        }
    }
    Ok(())
}

pub(crate) fn run(args: &Switch) -> Result<Outcome, Failure> {
    let settings = settings(args)?;
    let mut tell = |news| output::complain(&format!("{news}"));
    let summary = run_switch(&settings, &mut tell).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::undecidable(error.to_string(), None),
        _ => Failure::input(error.to_string(), None, None),
    })?;
    output::say(&format!(
        "{}: {} frames received, {} sent, {} dropped, {} not stored; {} packet-ins over their \
         rate, {} asynchronous messages not read\n",
        settings.name,
        summary.received,
        summary.sent,
        summary.dropped,
        summary.not_stored,
        summary.packet_ins_limited,
        summary.unread
    ))?;
    Ok(if summary.interrupted { Outcome::Interrupted } else { Outcome::Good })
}
