//! Values of the flags of `tenuto switch`, each with what would fit where it does not.

use tenuto_io::{ThreadSettings, WaitPolicy};
use tenuto_model::{
    SWITCH_ACTIONS_MAX, SWITCH_BUCKETS_MAX, SWITCH_COPIES_MAX, SWITCH_MASKS_MAX, quantity,
};
use tenuto_runtime::standalone::{
    ControllerSettings, Endpoint, IoThreads, ListenAt, PortSettings, TapDirection, TapSettings,
    TlsFiles,
};
use tenuto_units::{Rate, Span};

/// Bytes of a capture that states none.
const TAP_BYTES: u64 = 100_000_000;

/// Files for TLS control channels, the same for every verb that speaks over one.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TlsFlags {
    /// Who may vouch for peers of TLS, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    tls_ca: Option<std::path::PathBuf>,
    /// Our certificate, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    tls_cert: Option<std::path::PathBuf>,
    /// Private key of that certificate, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_cert"])]
    tls_key: Option<std::path::PathBuf>,
}

impl TlsFlags {
    /// The files, if they were named.
    pub(super) fn files(&self) -> Option<TlsFiles> {
        let (ca, certificate) = (self.tls_ca.clone()?, self.tls_cert.clone()?);
        Some(TlsFiles { ca, certificate, key: self.tls_key.clone()? })
    }
}

/// How the thread of the data path waits and is scheduled.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ThreadFlags {
    /// How it waits for frames: `block` sleeps, `adaptive` looks for 50us first, `spin` never sleeps
    /// and wants a processor of its own
    #[arg(long, value_name = "HOW", default_value = "adaptive")]
    wait: WaitPolicy,
    /// Processor that the data path runs on, counted from 0
    #[arg(long, value_name = "N")]
    processor: Option<usize>,
    /// Priority of the data path under SCHED_FIFO
    #[arg(long, value_name = "1-99", value_parser = clap::value_parser!(u8).range(1..=99))]
    fifo: Option<u8>,
    /// Keep all memory of the switch resident
    #[arg(long)]
    lock_memory: bool,
    /// With --fifo and --wait spin: take no rests, and be stopped by the kernel instead
    #[arg(long, requires = "fifo")]
    never_rest: bool,
    /// Threads that receive and send for the data path, each for a group of ports; 0: it does so
    /// itself. For machines with a processor for each of them beside that of the data path
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = io_threads)]
    io_threads: usize,
    /// Processors of these threads, such as 2,3; without it they run anywhere
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "io_threads")]
    io_processors: Vec<usize>,
}

/// Threads for ports at most: as many as a switch has any use for.
const IO_THREADS_MAX: usize = 64;

fn io_threads(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count <= IO_THREADS_MAX);
    count.ok_or_else(|| format!("`{text}` is no whole number from 0 to {IO_THREADS_MAX}"))
}

impl ThreadFlags {
    pub(super) const fn settings(&self) -> ThreadSettings {
        ThreadSettings {
            policy: self.wait,
            processor: self.processor,
            fifo_priority: self.fifo,
            lock_memory: self.lock_memory,
            never_rest: self.never_rest,
        }
    }

    pub(super) fn io_threads(&self) -> IoThreads {
        IoThreads { count: self.io_threads, processors: self.io_processors.clone() }
    }
}

/// Distinct masks over all tables.
pub(super) fn masks(text: &str) -> Result<usize, String> {
    limit(text, SWITCH_MASKS_MAX)
}

/// Actions over all entries.
pub(super) fn actions(text: &str) -> Result<usize, String> {
    limit(text, SWITCH_ACTIONS_MAX)
}

/// Buckets of one group.
pub(super) fn buckets(text: &str) -> Result<usize, String> {
    limit(text, SWITCH_BUCKETS_MAX)
}

/// Times that one frame is sent at most.
pub(super) fn copies(text: &str) -> Result<u32, String> {
    limit(text, SWITCH_COPIES_MAX).and_then(|it| u32::try_from(it).map_err(|e| e.to_string()))
}

fn limit(text: &str, most: u64) -> Result<usize, String> {
    let limit = text.parse().ok().filter(|limit| (1..=most).contains(limit));
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    limit.ok_or_else(|| format!("`{text}` is no whole number from 1 to {most}"))
}

/// Where a switch is that is asked.
pub(super) fn switch_at(text: &str) -> Result<Endpoint, String> {
    Endpoint::parse(text).map_err(|error| error.to_string())
}

/// A port whose number may be left to its place.
#[derive(Clone, Debug)]
pub(crate) struct PortFlag {
    pub(super) numbered: bool,
    pub(super) settings: PortSettings,
}

/// Options of a flag, in their order.
type Pairs<'a> = Vec<(&'a str, &'a str)>;

/// `KEY=VALUE` behind commas.
fn options(text: &str) -> Result<(&str, Pairs<'_>), String> {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let pairs =
        parts.map(|part| part.split_once('=').ok_or_else(|| format!("`{part}` is no KEY=VALUE")));
    Ok((first, pairs.collect::<Result<_, _>>()?))
}

fn whole<T: std::str::FromStr>(key: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{key}: `{text}` is no whole number that fits"))
}

pub(super) fn port(text: &str) -> Result<PortFlag, String> {
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
            "levels" => settings.levels = value.parse()?,
            "kind" => settings.kind = Some(value.parse()?),
            "peer" => settings.peer = Some(peer(value)?),
            _ => {
                return Err(format!(
                    "`{key}` is none of number, rate, queues, levels, buffer, kind, peer"
                ));
            }
        }
    }
    Ok(flag)
}

/// `SWITCH:PORT`: what is at the other end.
fn peer(text: &str) -> Result<(String, u32), String> {
    let said = text.split_once(':').filter(|(name, _)| !name.is_empty());
    let (name, port) = said.ok_or("peer: write SWITCH:PORT, such as sw2:1")?;
    Ok((name.to_owned(), whole("peer", port)?))
}

/// The secret that keys of trunks are made of: 32 hexadecimal digits in a file.
pub(super) fn link_secret(path: &std::path::Path) -> Result<[u8; 16], String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let text = text.trim();
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
    let secret = number.map(u128::to_be_bytes);
    secret.ok_or_else(|| "a secret is 32 hexadecimal digits: openssl rand -hex 16".to_owned())
}

/// What meters count of a frame.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum MeterBytes {
    /// The frame without its FCS
    L2,
    /// The frame with its FCS
    Frame,
    /// What a line carries: preamble, FCS and gap too, as plans with our profile have it
    Wire,
}

impl MeterBytes {
    /// Bytes beyond the frame without its FCS.
    pub(super) const fn extra(self) -> u32 {
        match self {
            Self::L2 => 0,
            Self::Frame => 4,
            Self::Wire => 24,
        }
    }
}

pub(super) fn controller(text: &str) -> Result<ControllerSettings, String> {
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

pub(super) fn listen(text: &str) -> Result<ListenAt, String> {
    ListenAt::parse(text).map_err(|error| error.to_string())
}

pub(super) fn datapath_id(text: &str) -> Result<u64, String> {
    let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    hex.unwrap_or_else(|| text.parse()).map_err(|_| "a number such as 1 or 0x1".into())
}

pub(super) fn time(text: &str) -> Result<Span, String> {
    match quantity::parse_time_ns(text).map_err(|error| error.to_string())? {
        0 => Err("a time above zero, such as 5s".into()),
        ns => Ok(Span::from_ns(ns)),
    }
}

/// `PORT=FILE` with its options.
pub(super) fn tap(text: &str) -> Result<(String, TapSettings), String> {
    let named = text.split_once('=').filter(|(port, _)| !port.contains(','));
    let (port, rest) = named.ok_or("say which port and file: eth1=eth1.pcap")?;
    Ok((port.to_owned(), tap_file(rest)?))
}

/// `FILE` with the options of a capture.
pub(super) fn tap_file(text: &str) -> Result<TapSettings, String> {
    let (file, pairs) = options(text)?;
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
    Ok(tap)
}
