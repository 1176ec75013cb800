//! `tenuto proxy FILE`: slices in front of a switch of others.

use super::switch_flags::{TlsFlags, controller, listen, time};
use super::switch_slices::{self, Limits};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output;
use clap::Args as Flags;
use std::io;
use std::path::{Path, PathBuf};
use tenuto_model::SliceFile;
use tenuto_runtime::standalone::{
    Endpoint, ListenAt, OPENFLOW_PORT, ProxiedSlice, ProxyNews, ProxySettings, Transport,
    run_slice_proxy,
};
use tenuto_units::Span;

/// Between two requests for all entries of the switch.
const AUDIT: Span = Span::from_s(10);
/// Controllers of one slice.
const CONTROLLERS_MAX: usize = 16;
const PROBE: Span = Span::from_s(5);
const BACKOFF_MAX: Span = Span::from_s(8);

#[derive(Debug, Flags)]
pub(crate) struct Proxy {
    /// File of slices (docs/reference/switch.md, "In front of a switch of others")
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where the switch connects as to its controller: ptcp:PORT, ptls:PORT, or with HOST: in front of the port; ptcp:127.0.0.1:6653 unless
    /// said. Whoever connects first is the switch
    #[arg(long, value_name = "WHERE", value_parser = listen)]
    listen: Option<ListenAt>,
    /// How often the switch is asked for its entries, to notice those made past the proxy; 10s unless said
    #[arg(long, value_name = "TIME", value_parser = time)]
    audit: Option<Span>,
    /// Silence after which a peer is asked whether it is there, 5s unless said
    #[arg(long, value_name = "TIME", value_parser = time)]
    probe: Option<Span>,
    /// Longest pause between attempts to reach a controller, 8s unless said
    #[arg(long, value_name = "TIME", value_parser = time)]
    backoff_max: Option<Span>,
    #[command(flatten)]
    tls: TlsFlags,
}

pub(crate) fn run(args: &Proxy) -> Result<Outcome, Failure> {
    let settings = ProxySettings {
        listen: listen_at(args),
        slices: slices(&args.file)?,
        audit: args.audit.unwrap_or(AUDIT),
        probe: args.probe.unwrap_or(PROBE),
        backoff_max: args.backoff_max.unwrap_or(BACKOFF_MAX),
        tls: args.tls.files(),
    };
    check_tls(&settings)?;
    let tell = |news: ProxyNews| output::complain(&format!("{news}"));
    let is_interrupted = run_slice_proxy(settings, tell).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            let shown = args.file.display().to_string();
            Failure::input(error.to_string(), Some(&shown), None)
        }
        io::ErrorKind::PermissionDenied => Failure::undecidable(error.to_string(), None),
        _ => Failure::input(error.to_string(), None, None),
    })?;
    Ok(if is_interrupted { Outcome::Interrupted } else { Outcome::Good })
}

fn listen_at(args: &Proxy) -> ListenAt {
    let usual =
        || ListenAt { transport: Transport::Tcp, host: "127.0.0.1".into(), port: OPENFLOW_PORT };
    args.listen.clone().unwrap_or_else(usual)
}

/// Whether there are certificates for whoever is to be reached by TLS.
fn check_tls(settings: &ProxySettings) -> Result<(), Failure> {
    let controllers = settings.slices.iter().flat_map(|slice| &slice.controllers);
    let all = controllers.map(|it| it.transport).chain([settings.listen.transport]);
    if settings.tls.is_some() || all.into_iter().all(|it| it == Transport::Tcp) {
        return Ok(());
    }
    let text = "TLS needs an authority, a certificate and its key".to_owned();
    let hint = "name them: --tls-ca FILE --tls-cert FILE --tls-key FILE";
    Err(Failure::input(text, None, Some(hint)))
}

/// The slices of a file, if a proxy can keep them.
fn slices(path: &Path) -> Result<Vec<ProxiedSlice>, Failure> {
    let file = switch_slices::read(path)?;
    let mut problems = Vec::new();
    let slices = file.slices.iter().filter_map(|slice| of_file(slice, &mut problems)).collect();
    if problems.is_empty() {
        return Ok(slices);
    }
    let shown = path.display().to_string();
    let hint = "a proxy has no hold on queues and buffers of the switch, and calls the controllers of each slice";
    Err(Failure::input(problems.join("; "), Some(&shown), Some(hint)))
}

fn of_file(slice: &SliceFile, problems: &mut Vec<String>) -> Option<ProxiedSlice> {
    let name = &slice.name;
    let mut refuse = |what: &str| problems.push(format!("slice {name}: {what}"));
    for (port, share) in &slice.ports {
        if share.is_some() {
            refuse(&format!(
                "a share of port {port} cannot be kept by a proxy: write ports: [{port}]"
            ));
        }
    }
    for (is_there, what) in [
        (slice.buffer_bytes.is_some(), "`buffer` cannot be kept by a proxy"),
        (slice.standalone == Some(true), "`fail_mode: standalone` needs the switch itself"),
        (
            !slice.listen.is_empty(),
            "`listen`: a proxy calls controllers, and is not called by them",
        ),
    ] {
        if is_there {
            refuse(what);
        }
    }
    let controllers = controllers(slice).map_err(|what| refuse(&what)).ok()?;
    let limits = Limits::of(slice);
    Some(ProxiedSlice {
        name: name.clone(),
        datapath_id: slice.datapath_id,
        ports: slice.ports.iter().map(|(port, _)| port.clone()).collect(),
        vlans: slice.vlans.clone(),
        networks: slice.addresses.clone(),
        controllers,
        tables: limits.tables,
        entries_max: limits.entries,
        masks_max: limits.masks,
        actions_max: limits.actions,
        groups_max: limits.groups,
        meters_max: limits.meters,
        budget: switch_slices::budget(slice.budget),
    })
}

fn controllers(slice: &SliceFile) -> Result<Vec<Endpoint>, String> {
    if slice.controllers.is_empty() || slice.controllers.len() > CONTROLLERS_MAX {
        let count = slice.controllers.len();
        return Err(format!("it has {count} controllers, and needs 1 to {CONTROLLERS_MAX}"));
    }
    let endpoint = |(text, auxiliary): &(String, u8)| match auxiliary {
        0 => Ok(controller(text)?.endpoint),
        _ => Err(format!("{text}: it has auxiliary connections")),
    };
    slice.controllers.iter().map(endpoint).collect()
}
