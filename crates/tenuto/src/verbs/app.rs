//! `tenuto app APP`: a reactive application for the switches that connect.

use crate::failure::Failure;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output::Place;
use crate::{load, output};
use clap::Args as Flags;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tenuto_controller::reactive::{APPLICATIONS, ReactiveApp, named};
use tenuto_model::Network;
use tenuto_runtime::applications::{AppNews, AppServer, AppSettings, PythonApp, Recorder};
use tenuto_units::counted;

/// The registered port of OpenFlow, from this machine alone: whoever connects is believed.
const LISTEN_USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 6653);

#[derive(Debug, Flags)]
pub(crate) struct App {
    /// Application: learning-switch, route-flow, firewall, load-balancer, traffic-engineering, monitor, or a
    /// Python file
    #[arg(value_name = "APP")]
    app: String,
    /// A setting of the application, such as idle=30; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Network file, for applications that go by it: learning in a network with loops
    #[arg(long, value_name = "NET")]
    network: Option<PathBuf>,
    /// Where switches connect, tcp:127.0.0.1:6653 unless said
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Have switches that know Attendre keep packets until they are answered
    #[arg(long)]
    attendre: bool,
    /// Handle each event twice and tell where the second time differs; of Python programs
    #[arg(long)]
    check_determinism: bool,
    /// Write down what was heard and told, for `tenuto races`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl App {
    pub(crate) fn places(&self) -> Vec<Place<'_>> {
        self.record.iter().map(|it| Place::File(it)).collect()
    }
}

/// `KEY=VALUE`.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as idle=30")?;
    if key.is_empty() || value.is_empty() {
        return Err("write KEY=VALUE, such as idle=30: one of them is empty".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// `HOST:PORT`, perhaps with `tcp:` in front.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let address = text.strip_prefix("tcp:").unwrap_or(text).parse();
    address.map_err(|_| "write an address and a port, such as 127.0.0.1:6653".to_owned())
}

pub(crate) fn run(args: &App) -> Result<Outcome, Failure> {
    let App { app, set, network, listen, attendre, check_determinism, record } = args;
    let application = application(app, set, network.as_deref(), *check_determinism)?;
    let record = record.as_deref().map(recorder).transpose()?;
    serve(app, application, *listen, *attendre, record)
}

fn recorder(path: &Path) -> Result<Recorder, Failure> {
    let shown = path.display().to_string();
    Recorder::create(path)
        .map_err(|error| Failure::input(format!("cannot be written: {error}"), Some(&shown), None))
}

/// Runs an application until it is ended.
pub(crate) fn serve(
    name: &str,
    app: Box<dyn ReactiveApp>,
    listen: Option<SocketAddr>,
    attendre: bool,
    record: Option<Recorder>,
) -> Result<Outcome, Failure> {
    let listen = listen.unwrap_or(LISTEN_USUAL);
    // Above that of every earlier start, as long as the clock is not set back.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let generation = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let settings = AppSettings { listen, attendre, generation };
    let fail = |error: io::Error| {
        let hint = "name another address: --listen tcp:127.0.0.1:0 takes any port";
        Failure::input(format!("cannot listen: {error}"), Some(&listen.to_string()), Some(hint))
    };
    let tell = |news: AppNews| output::complain(&format!("{news}"));
    let server = AppServer::bind(app, &settings, record, tell).map_err(fail)?;
    let summary = server.run().map_err(|error| Failure::undecidable(error.to_string(), None))?;
    let (sent, faults) = (summary.sent, summary.faults);
    let (heard, told) = (counted(summary.heard, "message"), counted(faults, "fault"));
    output::say(&format!("{name}: {heard} heard, {sent} sent, {told}\n"))?;
    Ok(match (faults, summary.interrupted) {
        (1.., _) => Outcome::Bad,
        (0, true) => Outcome::Interrupted,
        (0, false) => Outcome::Good,
    })
}

/// The application of a name or of a Python file.
pub(crate) fn application(
    name: &str,
    settings: &[(String, String)],
    network: Option<&Path>,
    is_checked: bool,
) -> Result<Box<dyn ReactiveApp>, Failure> {
    // Only what has a name goes by a network.
    let is_named = !name.ends_with(".py");
    let network = network.filter(|_| is_named).map(load::network).transpose()?;
    application_on(name, settings, network.as_ref(), is_checked)
}

/// The same for a network that was read.
pub(crate) fn application_on(
    name: &str,
    settings: &[(String, String)],
    network: Option<&Network>,
    is_checked: bool,
) -> Result<Box<dyn ReactiveApp>, Failure> {
    let wrong = |text: String, hint| Failure::input(text, Some(name), hint);
    if !name.ends_with(".py") {
        let own = APPLICATIONS.iter().find(|(known, _)| *known == name);
        let what = own.map(|(name, what)| format!("{name}: {what}"));
        return named(name, settings, network).map_err(|text| wrong(text, what.as_deref()));
    }
    if let Some((key, _)) = settings.first() {
        return Err(wrong(format!("a Python program has no setting `{key}`"), None));
    }
    named_file::check_there(Path::new(name), Kind::PROGRAM)?;
    let app = PythonApp::start(Path::new(name)).map_err(|error| wrong(error.to_string(), None))?;
    match is_checked {
        true => Ok(Box::new(app.checked().map_err(|text| wrong(text, None))?)),
        false => Ok(Box::new(app)),
    }
}
