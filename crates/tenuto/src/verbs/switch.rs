//! `tenuto switch`: an OpenFlow switch of its own, over interfaces of this machine.

#![allow(rustdoc::broken_intra_doc_links)] // brackets in help texts mark what may be left out

use super::switch_flags::{
    MeterBytes, PortFlag, ThreadFlags, TlsFlags, actions, buckets, controller, copies, datapath_id,
    link_secret, listen, masks, port, tap, tap_file, time,
};
use super::switch_slices;
use crate::failure::Failure;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output;
use clap::{Args as Flags, ValueEnum};
use std::io;
use std::path::{Path, PathBuf};
use tenuto_dataplane::switch::FailMode;
use tenuto_io::PortKind;
use tenuto_model::{SwitchFile, SwitchFilePort, SwitchText, read_switch};
use tenuto_runtime::standalone::{
    ControllerSettings, ListenAt, PortSettings, QueueLevels, SwitchNews, SwitchSettings,
    TapSettings, TlsFiles, Transport, run_switch,
};
use tenuto_units::{Rate, Span, counted};

#[derive(Debug, Flags)]
pub(crate) struct Switch {
    /// File that describes the switch (docs/reference/switch.md); flags override it
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// What people call it; s1 unless said
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// OpenFlow datapath id, such as 0x2; 0x1 unless said: each switch of a controller needs its own
    #[arg(long, value_name = "ID", value_parser = datapath_id)]
    datapath_id: Option<u64>,
    /// Interface, and perhaps its number, rate, queues, which of these share a level, buffer and kind:
    /// eth1[,number=3][,rate=100Mbit/s][,queues=8][,levels=0/1x3+2][,buffer=1MB][,kind=packet|packet-ring|xdp|tap|memory]; may be repeated.
    /// With peer=SWITCH:PORT it is a trunk to that port of another switch, for mode changes: --link-secret
    #[arg(long = "port", value_name = "PORT", value_parser = port)]
    ports: Vec<PortFlag>,
    /// Controller: tcp:HOST(:PORT) or tls:HOST(:PORT), perhaps with auxiliary=N; may be repeated
    #[arg(long = "controller", value_name = "WHERE", value_parser = controller)]
    controllers: Vec<ControllerSettings>,
    /// File of the secret that keys of trunks are made of, 32 hexadecimal digits; the same in all switches of a network
    #[arg(long, value_name = "FILE")]
    link_secret: Option<PathBuf>,
    /// What meters count of a frame; frame unless said
    #[arg(long, value_enum)]
    meter_bytes: Option<MeterBytes>,
    /// Where tools such as ovs-ofctl may connect: ptcp:[HOST:]PORT or ptls:[HOST:]PORT; may be
    /// repeated. Without HOST only from this machine
    #[arg(long, value_name = "WHERE", value_parser = listen)]
    listen: Vec<ListenAt>,
    /// What it does without a controller; secure unless said
    #[arg(long, value_enum)]
    fail_mode: Option<FailModeName>,
    /// Flow tables; 64 unless said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=254))]
    tables: Option<u8>,
    /// Refuse to take tables out of the pipeline, as a request for table features may ask
    #[arg(long)]
    fixed_tables: bool,
    /// Entries over all tables; 100000 unless said
    #[arg(long, value_name = "N")]
    entries: Option<usize>,
    /// Distinct masks over all tables, each a probe of every look-up at worst; 1024 unless said
    #[arg(long, value_name = "N", value_parser = masks)]
    masks: Option<usize>,
    /// Actions over all entries, some 90 bytes of memory each; 2000000 unless said
    #[arg(long, value_name = "N", value_parser = actions)]
    actions: Option<usize>,
    /// Buckets of one group; 256 unless said
    #[arg(long, value_name = "N", value_parser = buckets)]
    buckets: Option<usize>,
    /// Times that one frame is sent at most, some 2 us each; 512 unless said, or as many as there are ports
    #[arg(long, value_name = "N", value_parser = copies)]
    copies: Option<u32>,
    /// Packet-ins of one port in a second, 10000 unless said; 0 for no limit
    #[arg(long, value_name = "N")]
    packet_in_rate: Option<u32>,
    /// File of slices that share the switch (docs/reference/switch.md): controllers and --listen of the switch
    /// then only read
    #[arg(long, value_name = "FILE")]
    slices: Option<PathBuf>,
    #[command(flatten)]
    thread: ThreadFlags,
    /// Silence after which a controller is asked whether it is there, 5s unless said
    #[arg(long, value_name = "TIME", value_parser = time)]
    probe: Option<Span>,
    /// Longest pause between attempts to connect, 8s unless said
    #[arg(long, value_name = "TIME", value_parser = time)]
    backoff_max: Option<Span>,
    #[command(flatten)]
    tls: TlsFlags,
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

/// Settings as the file says, and the flags over it.
fn settings(args: &Switch) -> Result<SwitchSettings, Failure> {
    let mut settings = SwitchSettings::new("s1");
    if let Some(path) = &args.file {
        take_file(&mut settings, &read_file(path)?, path);
    }
    take_flags(&mut settings, args)?;
    check(&settings)?;
    if let Some(path) = &args.slices {
        switch_slices::take(&mut settings, path)?;
    }
    Ok(settings)
}

fn read_file(path: &Path) -> Result<SwitchFile, Failure> {
    let shown = path.display().to_string();
    let text = named_file::text(path, Kind::SWITCH)?;
    let judge = |what, text: &str| match what {
        SwitchText::Controller => controller(text).map(drop),
        SwitchText::Listen => listen(text).map(drop),
        SwitchText::PortKind => text.parse::<PortKind>().map(drop),
        SwitchText::Tap => tap_file(text).map(drop),
        SwitchText::Levels => text.parse::<QueueLevels>().map(drop),
    };
    read_switch(&text, &shown, &judge)
        .map_err(|problems| Failure::of(&problems, "no switch was started"))
}

/// Texts of the file were judged by the parsers that are used here again.
fn take_file(settings: &mut SwitchSettings, file: &SwitchFile, path: &Path) {
    let beside = |name: &Path| path.parent().unwrap_or(Path::new("")).join(name);
    if let Some(name) = &file.name {
        settings.name.clone_from(name);
    }
    settings.datapath_id = file.datapath_id.unwrap_or(settings.datapath_id);
    for port in &file.ports {
        let mut port = file_port(port, settings);
        if let Some(tap) = &mut port.tap {
            tap.file = beside(&tap.file);
        }
        settings.ports.push(port);
    }
    for (text, auxiliary) in &file.controllers {
        let parsed = controller(text).ok();
        settings
            .controllers
            .extend(parsed.map(|it| ControllerSettings { auxiliary: *auxiliary, ..it }));
    }
    settings.listen.extend(file.listen.iter().filter_map(|text| listen(text).ok()));
    settings.fail_mode = match file.standalone {
        Some(true) => FailMode::Standalone,
        Some(false) => FailMode::Secure,
        None => settings.fail_mode,
    };
    settings.tables = file.tables.unwrap_or(settings.tables);
    settings.fixed_tables = file.fixed_tables.unwrap_or(settings.fixed_tables);
    let limit = |limit: Option<u64>| limit.and_then(|limit| usize::try_from(limit).ok());
    settings.entries_max = limit(file.entries).unwrap_or(settings.entries_max);
    settings.masks_max = limit(file.masks).unwrap_or(settings.masks_max);
    settings.actions_max = limit(file.actions).unwrap_or(settings.actions_max);
    settings.buckets_max = limit(file.buckets).unwrap_or(settings.buckets_max);
    let copies = file.copies.and_then(|limit| u32::try_from(limit).ok());
    settings.copies_max = copies.unwrap_or(settings.copies_max);
    take_rate(settings, file.packet_in_rate);
    settings.probe = file.probe_ns.map_or(settings.probe, Span::from_ns);
    settings.backoff_max = file.backoff_max_ns.map_or(settings.backoff_max, Span::from_ns);
    if let Some([ca, certificate, key]) = &file.tls {
        let [ca, certificate, key] =
            [ca, certificate, key].map(|name| beside(Path::new(name.as_str())));
        settings.tls = Some(TlsFiles { ca, certificate, key });
    }
}

fn file_port(port: &SwitchFilePort, settings: &SwitchSettings) -> PortSettings {
    let number = port.number.unwrap_or_else(|| next_number(settings));
    let mut made = PortSettings::new(number, &port.interface);
    made.kind = port.kind.as_ref().and_then(|kind| kind.parse().ok());
    made.rate = port.rate_bps.and_then(Rate::from_bps);
    made.queues = port.queues.unwrap_or(made.queues);
    let levels = port.levels.as_ref().and_then(|levels| levels.parse().ok());
    made.levels = levels.unwrap_or_default();
    made.buffer_bytes = port.buffer_bytes.unwrap_or(made.buffer_bytes);
    made.tap = port.tap.as_ref().and_then(|text| tap_file(text).ok());
    made
}

fn next_number(settings: &SwitchSettings) -> u32 {
    settings.ports.iter().map(|port| port.number).max().unwrap_or(0).saturating_add(1)
}

const fn take_rate(settings: &mut SwitchSettings, rate: Option<u32>) {
    match rate {
        Some(0) => settings.packet_ins_per_s = None,
        Some(rate) => settings.packet_ins_per_s = Some(rate),
        None => {}
    }
}

/// Ports, controllers and addresses of flags replace those of the file.
fn take_flags(settings: &mut SwitchSettings, args: &Switch) -> Result<(), Failure> {
    if !args.ports.is_empty() {
        settings.ports.clear();
    }
    for flag in &args.ports {
        let mut port = flag.settings.clone();
        if !flag.numbered {
            port.number = next_number(settings);
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
    if !args.controllers.is_empty() {
        settings.controllers.clone_from(&args.controllers);
    }
    if !args.listen.is_empty() {
        settings.listen.clone_from(&args.listen);
    }
    if let Some(name) = &args.name {
        settings.name.clone_from(name);
    }
    settings.datapath_id = args.datapath_id.unwrap_or(settings.datapath_id);
    settings.tables = args.tables.unwrap_or(settings.tables);
    settings.fixed_tables |= args.fixed_tables;
    settings.entries_max = args.entries.unwrap_or(settings.entries_max);
    settings.masks_max = args.masks.unwrap_or(settings.masks_max);
    settings.actions_max = args.actions.unwrap_or(settings.actions_max);
    settings.buckets_max = args.buckets.unwrap_or(settings.buckets_max);
    settings.copies_max = args.copies.unwrap_or(settings.copies_max);
    settings.probe = args.probe.unwrap_or(settings.probe);
    settings.backoff_max = args.backoff_max.unwrap_or(settings.backoff_max);
    settings.fail_mode = match args.fail_mode {
        Some(FailModeName::Standalone) => FailMode::Standalone,
        Some(FailModeName::Secure) => FailMode::Secure,
        None => settings.fail_mode,
    };
    take_rate(settings, args.packet_in_rate);
    settings.meter_extra_bytes =
        args.meter_bytes.map_or(settings.meter_extra_bytes, MeterBytes::extra);
    if let Some(path) = &args.link_secret {
        let shown = path.display().to_string();
        let wrong = |why: String| Failure::input(why, Some(&shown), None);
        settings.link_secret = Some(link_secret(path).map_err(wrong)?);
    }
    settings.thread = args.thread.settings();
    settings.io_threads = args.thread.io_threads();
    settings.tls = args.tls.files().or_else(|| settings.tls.take());
    Ok(())
}

/// What no single flag can say of itself.
fn check(settings: &SwitchSettings) -> Result<(), Failure> {
    let wrong = |text: String, hint: &str| Err(Failure::input(text, None, Some(hint)));
    if settings.ports.is_empty() {
        return wrong("a switch has ports".into(), "name its interfaces: --port eth1 --port eth2");
    }
    let by_tls = settings.controllers.iter().map(|it| it.endpoint.transport);
    let mut by_tls = by_tls.chain(settings.listen.iter().map(|it| it.transport));
    if settings.tls.is_none() && by_tls.any(|transport| transport == Transport::Tls) {
        let text = "TLS needs an authority, a certificate and its key".into();
        return wrong(text, "name them: --tls-ca FILE --tls-cert FILE --tls-key FILE");
    }
    if settings.link_secret.is_none() && settings.ports.iter().any(|port| port.peer.is_some()) {
        let text = "a trunk needs a key, or anybody could raise the mode".into();
        return wrong(text, "name the secret that all switches share: --link-secret FILE");
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
            return wrong(
                format!("port {}: {} queues", port.interface, port.queues),
                "from 1 to 64",
            );
        }
        if let Err(why) = port.levels.of_port(port.queues) {
            return wrong(format!("port {}: {why}", port.interface), "queues= says how many");
        }
    }
    Ok(())
}

/// Whether it drops every frame for ever: no entry can come, and without entries it is no bridge.
fn is_deaf(settings: &SwitchSettings) -> bool {
    settings.slices.is_empty()
        && settings.controllers.is_empty()
        && settings.listen.is_empty()
        && settings.fail_mode == FailMode::Secure
}

pub(crate) fn run(args: &Switch) -> Result<Outcome, Failure> {
    let settings = settings(args)?;
    if is_deaf(&settings) {
        output::complain(
            "warning: nothing will be forwarded: no entry is there, and nobody can add one\n         \
             name who may: --controller or --listen; or let it learn: --fail-mode standalone",
        );
    }
    let tell = |news: SwitchNews| output::complain(&format!("{news}"));
    let summary = run_switch(&settings, tell).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::undecidable(error.to_string(), None),
        _ => Failure::input(error.to_string(), None, None),
    })?;
    output::say(&format!(
        "{}: {} received, {} sent, {} dropped, {} cut short, {} not stored; {} over their rate, \
         {} that no controller wanted, {} not read\n",
        settings.name,
        counted(summary.received, "frame"),
        summary.sent,
        summary.dropped,
        summary.cut_short,
        summary.not_stored,
        counted(summary.packet_ins_limited, "packet-in"),
        summary.packet_ins_unheard,
        counted(summary.unread, "asynchronous message")
    ))?;
    Ok(if summary.interrupted { Outcome::Interrupted } else { Outcome::Good })
}
