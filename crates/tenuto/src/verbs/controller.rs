//! `tenuto controller NET`: the admitted flows of a network, kept and served.

use super::controller_alarms;
use super::controller_state::{ADDRESS_FILE, StateFolder, TOKEN_FILE};
use super::controller_tls::{self, OpenFlowAt, Secured, openflow_at};
use super::supervisor::Supervisor;
use super::switch_flags::TlsFlags;
use crate::failure::Failure;
use crate::format::counted;
use crate::outcome::Outcome;
use crate::side_by_side::SideBySide;
use crate::{load, output, planning, refusals};
use clap::Args as Flags;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tenuto_service::rest::{Audit, HttpLimits, Shared, serve};
use tenuto_service::{
    EtcdAddress, EtcdTls, FileStore, Keeping, Membership, OpenError, Planning, Role, Service,
    Tokens, new_token,
};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Where it listens and keeps its state where nothing else is said.
pub(crate) const STATE_USUAL: &str = "tenuto.state";
const LISTEN_USUAL: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7733);
/// Waiting for other controllers is told where it takes longer.
const TOLD_AFTER: Duration = Duration::from_secs(2);

#[derive(Debug, Flags)]
pub(crate) struct Controller {
    /// Network file: its flows are the first that are admitted
    #[arg(value_name = "NET", required_unless_present = "app")]
    network: Option<PathBuf>,
    /// Run a reactive application instead, as `tenuto app` does: a name or a Python file
    #[arg(long, value_name = "APP")]
    app: Option<String>,
    /// A setting of that application, such as idle=30; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "app", value_parser = super::app::setting)]
    set: Vec<(String, String)>,
    /// Have switches that know Attendre keep packets until they are answered
    #[arg(long, requires = "app")]
    attendre: bool,
    /// Where it is spoken to, 127.0.0.1:7733 unless said: by HTTPS where there are certificates (--tls-cert), else by
    /// HTTP. With --app where switches connect, tcp:127.0.0.1:6653 unless said
    #[arg(long, value_name = "ADDRESS", value_parser = super::app::address)]
    listen: Option<SocketAddr>,
    /// Folder of its state, made if it is not there: the log of decisions, tokens, who did what
    #[arg(long, value_name = "DIR", default_value = STATE_USUAL)]
    state: PathBuf,
    /// Where decisions are kept instead of in that folder, for several controllers of one network: etcd://HOST:PORT,HOST:PORT/PREFIX,
    /// or etcds:// by TLS with the files of --tls-ca, --tls-cert and --tls-key
    #[arg(long, value_name = "ETCD", conflicts_with_all = ["app", "new_token"])]
    store: Option<EtcdAddress>,
    /// Silence of the controller that leads after which another one takes over, in milliseconds
    #[arg(long, value_name = "MS", requires = "store", default_value_t = 600, value_parser = clap::value_parser!(u64).range(120..=60_000))]
    lease: u64,
    /// Where others are told that this controller is spoken to, https:// with ctl-a.example:7733 for example; its --listen address unless said
    #[arg(long, value_name = "URL", requires = "store", value_parser = url)]
    advertise: Option<String>,
    /// Where switches connect, such as 127.0.0.1:6653, or ptls:0.0.0.0:6653 for TLS with certificates on both sides: they
    /// are kept at the plan in force; may be repeated
    #[arg(long, value_name = "[ptls:]ADDRESS", value_parser = openflow_at)]
    openflow: Vec<OpenFlowAt>,
    #[command(flatten)]
    tls: TlsFlags,
    /// How often switches are read again, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    audit: u64,
    /// Seconds between looks at links and hosts by LLDP and ARP; 0 for none. The file has to carry `other_traffic`
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=3_600))]
    links: u64,
    /// Tell every event on stderr, a JSON object a line; without it alarms alone are told, in words
    #[arg(long, value_enum)]
    log: Option<LogAs>,
    /// Make a token, print it and end: read:NAME, admit:NAME or administer:NAME
    #[arg(long, value_name = "ROLE:NAME", value_parser = role_and_name)]
    new_token: Option<(Role, String)>,
    /// How long that token is good for, such as 30d; without it, until its line is taken out
    #[arg(long = "for", value_name = "DAYS", requires = "new_token", value_parser = days)]
    days: Option<u64>,
}

/// How events are told.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LogAs {
    /// A JSON object a line
    Json,
}

fn role_and_name(text: &str) -> Result<(Role, String), String> {
    let (role, name) = text.split_once(':').ok_or("write ROLE:NAME, such as admit:ada")?;
    let role = Role::of(role).ok_or("a role is read, admit or administer")?;
    Ok((role, name.to_owned()))
}

fn url(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let is_fine = |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_graphic());
    match host.is_some_and(is_fine) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err("write http:// or https:// with a host and a port".to_owned()),
    }
}

fn days(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('d').unwrap_or(text).trim();
    let days = number.parse().ok().filter(|days| (1..=36_500).contains(days));
    days.ok_or_else(|| "write days, such as 30d".to_owned())
}

pub(crate) fn run(args: &Controller) -> Result<Outcome, Failure> {
    if let Some(app) = &args.app {
        let network = args.network.as_deref();
        let application = super::app::application(app, &args.set, network, false)?;
        return super::app::serve(app, application, args.listen, args.attendre, None);
    }
    let state = &args.state;
    let mut folder = StateFolder::open(state).map_err(|error| at(state, &error))?;
    let tokens = Tokens::of(state.join("tokens"));
    if let Some((role, name)) = &args.new_token {
        let token = made(&tokens, *role, name, args.days).map_err(|error| at(state, &error))?;
        folder.keep();
        output::say(&format!("{token}\n"))?;
        return Ok(Outcome::Good);
    }
    let secured = Secured::of(&args.tls).map_err(|error| {
        Failure::input(error.to_string(), None, Some("give PEM files that fit"))
    })?;
    let (opened, listener, lock) = match &args.store {
        Some(store) => {
            // What others are told of where it listens is known before it joins them.
            let lock = lock(state)?;
            let listener = bind(args)?;
            (join(args, store, &listener, secured.is_some())?, Some(listener), Some(lock))
        }
        None => (open(args)?, None, None),
    };
    let service = match opened {
        Ok(service) => service,
        Err(outcome) => return Ok(outcome),
    };
    // From here on the folder is this process's.
    if let Some(secured) = &secured {
        secured.tell_authority(state).map_err(|error| at(state, &error))?;
    }
    if tokens.is_empty() {
        let token = made(&tokens, Role::Administer, "local", None);
        token
            .and_then(|token| write_secret(&state.join(TOKEN_FILE), &token))
            .map_err(|error| at(state, &error))?;
    }
    let audit = Audit::open(&state.join("audit.jsonl")).map_err(|error| at(state, &error))?;
    let shared = Shared::new(service, tokens, audit);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::undecidable(error.to_string(), None))?;
    let kept = (listener, folder);
    let ended = runtime.block_on(listen(args, Arc::clone(&shared), secured.as_ref(), kept));
    shared.service().leave();
    // A decision under way is stored or it is not: nobody waits for it.
    runtime.shutdown_background();
    let _ = std::fs::remove_file(state.join(ADDRESS_FILE));
    drop(lock);
    ended
}

/// Keeps every other process out of the folder, whose decisions are elsewhere.
fn lock(state: &Path) -> Result<FileStore, Failure> {
    let log = state.join("decisions.log");
    if log.exists() {
        let hint = "name another folder for this controller's tokens and address: --state DIR";
        let why = "this folder has decisions of its own, which a store of several controllers would not have";
        return Err(Failure::input(why.to_owned(), Some(&log.display().to_string()), Some(hint)));
    }
    let path = state.join("lock");
    FileStore::open(&path).map_err(|error| at(&path, &error))
}

fn bind(args: &Controller) -> Result<std::net::TcpListener, Failure> {
    let at = args.listen.unwrap_or(LISTEN_USUAL);
    let bound =
        std::net::TcpListener::bind(at).and_then(|it| it.set_nonblocking(true).map(|()| it));
    bound.map_err(|error| cannot_listen(at, &error))
}

fn cannot_listen(at: SocketAddr, error: &io::Error) -> Failure {
    let hint = "name another address: --listen 127.0.0.1:0 takes any port";
    Failure::input(format!("cannot listen: {error}"), Some(&at.to_string()), Some(hint))
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::input(error.to_string(), Some(&path.display().to_string()), None)
}

fn made(tokens: &Tokens, role: Role, name: &str, days: Option<u64>) -> io::Result<String> {
    let token = new_token()?;
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    tokens.add(&token, role, name, days.map(|days| now_s + days * 86_400))?;
    Ok(token)
}

fn write_secret(path: &Path, token: &str) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{token}")
}

/// The service as one of several, or the outcome where its flows cannot be guaranteed.
fn join(
    args: &Controller,
    store: &EtcdAddress,
    listener: &std::net::TcpListener,
    is_secured: bool,
) -> Result<Result<Service, Outcome>, Failure> {
    let path = args.network.as_deref().unwrap_or(Path::new(""));
    let network = load::network(path)?;
    let file = load::text(path)?;
    let shown = store.to_string();
    let input = |why: String| Failure::input(why, Some(&shown), None);
    let read = |path: &PathBuf| std::fs::read(path).map_err(|error| at(path, &error));
    let tls = match (store.is_by_tls, args.tls.files()) {
        (true, Some(files)) => {
            let own = Some((read(&files.certificate)?, read(&files.key)?));
            Some(EtcdTls { ca: read(&files.ca)?, own })
        }
        _ => None,
    };
    let scheme = if is_secured { "https" } else { "http" };
    let address = listener.local_addr().map_err(|error| input(error.to_string()))?;
    let api = args.advertise.clone().unwrap_or_else(|| format!("{scheme}://{address}"));
    let lease = Duration::from_millis(args.lease);
    let membership = Membership { etcd: store.clone(), tls, lease, api };
    let planning = Planning { options: planning::usual_options, executor: &SideBySide };
    let (began, mut told) = (Instant::now(), String::new());
    let mut waiting = |why: &str| {
        if began.elapsed() >= TOLD_AFTER && told != why {
            why.clone_into(&mut told);
            output::complain(&format!("waiting: {why}"));
        }
    };
    opened(Service::join(&network, &file, &membership, planning, &mut waiting), &shown)
}

/// The service, or the outcome where its flows cannot be guaranteed.
fn open(args: &Controller) -> Result<Result<Service, Outcome>, Failure> {
    let path = args.network.as_deref().unwrap_or(Path::new(""));
    let network = load::network(path)?;
    let file = load::text(path)?;
    let log = args.state.join("decisions.log");
    let store = FileStore::open(&log).map_err(|error| at(&log, &error))?;
    let planning = Planning { options: planning::usual_options, executor: &SideBySide };
    let shown = log.display().to_string();
    opened(Service::open(&network, &file, Box::new(store), planning), &shown)
}

fn opened(
    opened: Result<Service, OpenError>,
    shown: &str,
) -> Result<Result<Service, Outcome>, Failure> {
    match opened {
        Ok(service) => Ok(Ok(service)),
        Err(OpenError::Refused(plan)) => {
            output::complain(&refusals::text(&plan, true));
            Ok(Err(Outcome::Bad))
        }
        Err(error) => Err(Failure::input(error.to_string(), Some(shown), None)),
    }
}

async fn listen(
    args: &Controller,
    shared: Arc<Shared>,
    secured: Option<&Secured>,
    (bound, mut folder): (Option<std::net::TcpListener>, StateFolder),
) -> Result<Outcome, Failure> {
    let at = args.listen.unwrap_or(LISTEN_USUAL);
    let fail = |error: io::Error| cannot_listen(at, &error);
    let listener = match bound {
        Some(listener) => TcpListener::from_std(listener).map_err(fail)?,
        None => TcpListener::bind(at).await.map_err(fail)?,
    };
    let address = listener.local_addr().map_err(fail)?;
    let told = args.state.join(ADDRESS_FILE);
    let scheme = if secured.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}");
    std::fs::write(&told, format!("{url}\n")).map_err(|error| self::at(&told, &error))?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(fail)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(fail)?;
    let mut hung_up = signal(SignalKind::hangup()).map_err(fail)?;
    say_start(args, &shared, &url)?;
    folder.keep();
    let telling = match args.log {
        Some(LogAs::Json) => tokio::spawn(tell_events(Arc::clone(&shared))),
        None => tokio::spawn(controller_alarms::tell(Arc::clone(&shared))),
    };
    let supervisor = Supervisor::of_environment();
    supervisor.tell("READY=1");
    let beside = async {
        let mut alive = tokio::time::interval(supervisor.watchdog_every());
        loop {
            tokio::select! {
                _ = alive.tick() => supervisor.tell("WATCHDOG=1"),
                _ = hung_up.recv() => {
                    supervisor.tell("RELOADING=1");
                    reload_certificates(secured);
                    let path = args.network.clone().unwrap_or_default();
                    let shared = Arc::clone(&shared);
                    let _ = tokio::task::spawn_blocking(move || reload(&path, &shared)).await;
                    supervisor.tell("READY=1");
                }
            }
        }
    };
    let ended = tokio::select! {
        ended = serve_all(args, listener, (&shared, secured), (&mut interrupted, &mut terminated)) => ended,
        () = beside => Ok(Outcome::Good),
    };
    supervisor.tell("STOPPING=1");
    telling.abort();
    ended
}

async fn serve_all(
    args: &Controller,
    listener: TcpListener,
    (shared, secured): (&Arc<Shared>, Option<&Secured>),
    (interrupted, terminated): (&mut Signal, &mut Signal),
) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::Good;
    let end = async {
        tokio::select! {
            _ = interrupted.recv() => outcome = Outcome::Interrupted,
            _ = terminated.recv() => {}
        }
    };
    let api = controller_tls::api(listener, secured);
    let serving = serve(api, Arc::clone(shared), HttpLimits::default(), end);
    if args.openflow.is_empty() {
        serving.await;
        return Ok(outcome);
    }
    let mut switches = Vec::new();
    for at in &args.openflow {
        let listening = controller_tls::openflow(*at, secured).await;
        let shown = at.address.to_string();
        let cannot = |error: io::Error| Failure::input(error.to_string(), Some(&shown), None);
        switches.push(listening.map_err(cannot)?);
    }
    let keeping = Keeping {
        audit_every: Duration::from_secs(args.audit),
        links_every: (args.links > 0).then(|| Duration::from_secs(args.links)),
    };
    tokio::select! {
        () = serving => {}
        () = shared.service().keep_switches(switches, keeping) => {}
    }
    Ok(outcome)
}

/// Tells every event as a line of JSON.
async fn tell_events(shared: Arc<Shared>) {
    let service = shared.service();
    let (mut latest, mut seen) = (service.listen(), 0);
    loop {
        for event in service.events_after(seen) {
            seen = event.number;
            output::complain(&serde_json::to_string(&event).unwrap_or_default());
        }
        if latest.changed().await.is_err() {
            return;
        }
    }
}

/// Takes newer certificates; those in force stay where the files do not fit.
fn reload_certificates(secured: Option<&Secured>) {
    if let Some(Err(error)) = secured.map(Secured::reload) {
        output::complain(&format!("the certificates in force stay: {error}"));
    }
}

/// Takes the network file anew, and says what differs and what came of it.
fn reload(path: &Path, shared: &Shared) {
    let read = load::network(path).and_then(|network| Ok((network, load::text(path)?)));
    let (network, file) = match read {
        Ok(read) => read,
        Err(failure) => {
            return output::complain(&format!("{}: not taken: {}", path.display(), failure.text()));
        }
    };
    let (differences, text) = match shared.service().reload(&network, &file) {
        Ok(reloaded) => {
            let text = reloaded.decision.map_or_else(
                || "the file was read, and nothing differs".to_owned(),
                |decision| format!("the file was read: decision {decision}"),
            );
            (reloaded.differences, text)
        }
        Err((denied, differences)) => {
            let why = denied.problem().detail;
            (differences, format!("the file is not taken, and the set in force stays: {why}"))
        }
    };
    differences.iter().for_each(|line| output::complain(line));
    output::complain(&text);
}

fn say_start(args: &Controller, shared: &Shared, url: &str) -> Result<(), Failure> {
    let view = shared.service().view();
    let (name, flows) = (&view.network.name, view.network.flows.len());
    let state = args.state.display();
    let among = args.store.as_ref().map_or_else(String::new, |store| {
        format!(", decisions in {store}, {}", shared.service().standing().word())
    });
    let mut text = format!(
        "{name}: {} admitted, decision {}; {url}, state in {state}{among}\n",
        counted(flows, "flow"),
        view.decision
    );
    for alarm in &view.alarms {
        text.push_str(&format!("alarm: {}\n", alarm.text));
    }
    output::say(&text)
}
