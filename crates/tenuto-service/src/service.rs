//! The service without its surfaces: one writer of decisions, any number of readers.

use crate::answer::{Accepted, BoundRow, Denied};
use crate::certifying::{self, Bell};
use crate::change::Change;
use crate::cluster::{Beginning, Course, Standing};
use crate::decide::{Decided, Planning, decide};
use crate::events::Events;
use crate::listening::Listening;
use crate::log::{Decision, Entry, Log, LogError, Replayed, Store};
use crate::metrics::Metrics;
use crate::modes::ModeBook;
use crate::observed::ObservedBook;
use crate::pinned::bare;
use crate::switches;
use crate::tokens::hex;
use crate::view::View;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tenuto_controller::Leadership;
use tenuto_model::{Flow, Network, Plan};
use tokio::sync::watch;
use tokio::time::timeout;

/// Keys of requests that are remembered.
const KEYS_MAX: usize = 10_000;
/// Most changes of one batch.
const CHANGES_MAX: usize = 10_000;
/// How decisions are made, as answers say it.
const DECIDED_BY: &str = "whole plan";

/// What is asked, and by whom.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The changes, all or none.
    pub changes: Vec<Change>,
    /// Name of who asks.
    pub who: String,
    /// A key by which the same request is told from another one like it.
    pub key: Option<String>,
    /// Whether a refusal is to say what would fit.
    pub advice: bool,
}

/// How switches are looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// They are read again after so long.
    pub audit_every: Duration,
    /// Links and hosts are looked at after so long, if at all; the file has to carry `other_traffic`.
    pub links_every: Option<Duration>,
}

/// Why a service does not start.
#[derive(Debug)]
pub enum OpenError {
    /// The log.
    Log(LogError),
    /// The log began with another network file.
    OtherNetwork,
    /// The set cannot be guaranteed: its plan says what is scarce.
    Refused(Box<Plan>),
    /// The beginning could not be stored.
    NotStored(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => error.fmt(f),
            Self::OtherNetwork => f.write_str(
                "the state is of another network than this file describes: take the file that it began with or was given since, or another \
                 state directory or prefix",
            ),
            Self::Refused(plan) => {
                let because = plan.refusals.first().map_or("", |it| it.because.as_str());
                write!(f, "the flows cannot be guaranteed: {because}")
            }
            Self::NotStored(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for OpenError {}

/// Says what is wrong with a plan; nothing if it is accepted.
pub(crate) type Checker = fn(&Plan) -> Vec<String>;

/// What the writer alone has.
#[derive(Debug)]
struct Writer {
    log: Log,
    /// Digest and answer of requests with a key.
    keys: BTreeMap<String, (String, Result<Accepted, Denied>)>,
    order: VecDeque<String>,
    /// The flows of the network file, as it was last read.
    filed: Vec<Flow>,
    /// Its text.
    file: String,
}

#[derive(Debug)]
pub(crate) struct Inner {
    planning: Planning,
    /// The network of the file without its flows.
    bare: Network,
    writer: Mutex<Writer>,
    undone: Mutex<VecDeque<(RangeInclusive<u64>, String)>>,
    pub(crate) metrics: Metrics,
    pub(crate) modes: ModeBook,
    pub(crate) observed: ObservedBook,
    view: RwLock<Arc<View>>,
    pub(crate) events: Events,
    /// Number of the latest decision.
    pub(crate) decided: watch::Sender<u64>,
    pub(crate) checker: Checker,
    bell: Arc<Bell>,
    /// How it stands among others, if there are any.
    course: Option<Arc<Course>>,
    /// The same as switches are told it.
    pub(crate) leadership: watch::Sender<Leadership>,
    /// Whether switches are kept while it leads.
    pub(crate) has_keeper: AtomicBool,
}

/// The admitted flows of one network, as a service.
#[derive(Debug)]
pub struct Service {
    pub(crate) inner: Arc<Inner>,
    certifier: Option<thread::JoinHandle<()>>,
    /// Gives signs of life, where there are others.
    pub(crate) beating: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.leave();
        self.inner.bell.end();
        if let Some(certifier) = self.certifier.take() {
            // It ends after the set that it looks at.
            let _ = certifier.join();
        }
    }
}

impl Service {
    /// Begins with a network file, or goes on where the log ends. `file` is its text.
    ///
    /// # Errors
    /// The log cannot be read, is of another network, or what it holds cannot be guaranteed.
    pub fn open(
        network: &Network,
        file: &str,
        store: Box<dyn Store>,
        planning: Planning,
    ) -> Result<Self, OpenError> {
        Self::open_with(network, file, store, planning, certify)
    }

    pub(crate) fn open_with(
        network: &Network,
        file: &str,
        store: Box<dyn Store>,
        planning: Planning,
        checker: Checker,
    ) -> Result<Self, OpenError> {
        let beginning = Beginning { network, file, planning, checker };
        let (log, mut replayed) = Log::open(store).map_err(OpenError::Log)?;
        let (settled, plan, log) = beginning.stand_on(&mut replayed, log)?;
        let service = Self::of(beginning, &replayed, (settled, plan), log, None);
        if replayed.torn > 0 {
            let text = format!("{} B of an unfinished record were cut off", replayed.torn);
            service.inner.raise("log-torn", "", text);
        }
        Ok(service)
    }

    /// Writes the beginning of a log that is empty.
    ///
    /// # Errors
    /// As [`Service::open`].
    pub(crate) fn begin(beginning: Beginning<'_>, store: Box<dyn Store>) -> Result<(), OpenError> {
        let (log, mut replayed) = Log::open(store).map_err(OpenError::Log)?;
        beginning.stand_on(&mut replayed, log).map(drop)
    }

    /// Reads what others decide, until it leads.
    ///
    /// # Errors
    /// As [`Service::open`].
    pub(crate) fn following(
        beginning: Beginning<'_>,
        replayed: &Replayed,
        course: Arc<Course>,
    ) -> Result<Self, OpenError> {
        let (settled, plan) = beginning.settled(replayed)?;
        let log = Log::closed("another controller leads");
        Ok(Self::of(beginning, replayed, (settled, plan), log, Some(course)))
    }

    fn of(
        beginning: Beginning<'_>,
        replayed: &Replayed,
        (settled, plan): (Network, Plan),
        log: Log,
        course: Option<Arc<Course>>,
    ) -> Self {
        let Beginning { network, planning, checker, .. } = beginning;
        let (keys, order, undone) = (BTreeMap::new(), VecDeque::new(), Mutex::default());
        let (filed, file) = (network.flows.clone(), replayed.file.clone());
        let writer = Writer { log, keys, order, filed, file };
        let view = View {
            decision: replayed.decisions.len() as u64,
            network: Arc::new(settled),
            plan: Arc::new(plan),
            certified: None,
            installed: None,
            keeps_switches: false,
            stopped: None,
            alarms: Vec::new(),
        };
        let bell = Arc::new(Bell::default());
        let leadership = match course {
            None => Leadership::Alone,
            Some(_) => Leadership::Follows { generation: 0 },
        };
        let inner = Arc::new(Inner {
            planning,
            bare: bare(network),
            undone,
            metrics: Metrics::default(),
            modes: ModeBook::default(),
            observed: ObservedBook::default(),
            writer: Mutex::new(writer),
            decided: watch::Sender::new(view.decision),
            view: RwLock::new(Arc::new(view)),
            events: Events::new(),
            checker,
            bell: Arc::clone(&bell),
            course,
            leadership: watch::Sender::new(leadership),
            has_keeper: AtomicBool::new(false),
        });
        inner.remember_decided(replayed, 0);
        let certifier = certifying::start(Arc::clone(&bell), Arc::downgrade(&inner));
        bell.ring();
        Self { inner, certifier: Some(certifier), beating: Mutex::default() }
    }

    /// How it stands among other controllers.
    pub fn standing(&self) -> Standing {
        self.inner.standing()
    }

    /// Nothing is decided any more, and others are told that they may take over.
    pub fn leave(&self) {
        if let Some(course) = &self.inner.course {
            course.end();
        }
        if let Some(beating) = self.beating.lock().expect("nobody panics with it").take() {
            let _ = beating.join();
        }
    }

    /// What is in force.
    pub fn view(&self) -> Arc<View> {
        self.inner.view()
    }

    /// Decides, stores what was accepted, and then makes it seen.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub fn submit(&self, request: &Request) -> Result<Accepted, Denied> {
        self.inner.submit(request)
    }

    /// Decides as [`Service::submit`] would at this moment, and changes nothing.
    ///
    /// # Errors
    /// Why nothing would be changed.
    pub fn what_if(&self, changes: &[Change], advice: bool) -> Result<Accepted, Denied> {
        let started = Instant::now();
        let view = self.view();
        let file = self.inner.writer().file.clone();
        let decided = self.inner.decide(&view, &file, changes, advice)?;
        Ok(accepted(view.decision, false, started, changes, &decided))
    }
}

impl Service {
    /// Keeps the switches that connect where it is listened at the plan in force, for as long as this is polled. Nothing of
    /// a mode change waits for it.
    pub async fn keep_switches(&self, listening: Vec<Listening>, keeping: Keeping) {
        self.inner.has_keeper.store(true, Ordering::Release);
        let leads = self.inner.leadership.borrow().is_leading();
        self.inner.show(|view| view.keeps_switches = leads);
        switches::keep(listening, Arc::clone(&self.inner), keeping).await;
    }

    /// Waits until every switch that is kept has the plan of a decision, or a later one; at most for `patience`. How far it has come.
    ///
    /// # Errors
    /// A switch refused it, and it is undone.
    pub(crate) async fn reached(
        &self,
        decision: u64,
        patience: Duration,
    ) -> Result<&'static str, Denied> {
        let mut latest = self.inner.events.listen();
        let leads = || self.inner.leadership.borrow().is_leading();
        let is_pending = || self.view().state_of(decision) == "pending";
        let wait = async { while leads() && is_pending() && latest.changed().await.is_ok() {} };
        let _ = timeout(patience, wait).await;
        if let Some(why) = self.inner.undone_because(decision) {
            return Err(Denied::SwitchRefused(why));
        }
        // Whether switches have it is for another one to say by now, if this one does not lead any more.
        let is_confirmed = !is_pending() && leads();
        Ok(if is_confirmed { "confirmed" } else { "pending" })
    }

    /// Events behind a number, the oldest first; the latest 1024 are kept.
    pub fn events_after(&self, number: u64) -> Vec<crate::Event> {
        self.inner.events.after(number)
    }

    /// Tells the number of the latest event whenever there is another one.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.inner.events.listen()
    }

    /// What is counted, for Prometheus: its text format, or OpenMetrics.
    pub fn metrics(&self, is_open: bool) -> String {
        self.inner.metrics.text(&self.view(), &self.standing(), &self.inner.modes, is_open)
    }
}

/// The word of the checker.
pub(crate) fn certify(plan: &Plan) -> Vec<String> {
    match tenuto_certify::certify(&plan.to_json()) {
        Ok(certificate) if certificate.feasible => Vec::new(),
        Ok(_) => vec!["not every promise holds".to_owned()],
        Err(findings) => findings.iter().map(ToString::to_string).collect(),
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn accepted(
    decision: u64,
    in_force: bool,
    started: Instant,
    changes: &[Change],
    decided: &Decided,
) -> Accepted {
    let stays = changes.iter().filter(|change| !matches!(change, Change::Remove { .. }));
    let bounds = stays.flat_map(|change| BoundRow::of_flow(&decided.plan, change.name()));
    Accepted {
        decision,
        in_force,
        state: "confirmed".to_owned(),
        decided_by: DECIDED_BY.to_owned(),
        took_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        plan_hash: decided.plan.plan_hash.clone(),
        bounds: bounds.collect(),
        warnings: decided.warnings.clone(),
    }
}

/// What tells a request from another with the same key.
fn digest_of(changes: &[Change]) -> String {
    let text = serde_json::to_vec(changes).unwrap_or_default();
    hex(&Sha256::digest(&text))
}

impl Writer {
    fn remember(&mut self, key: &str, digest: String, answer: Result<Accepted, Denied>) {
        if self.keys.insert(key.to_owned(), (digest, answer)).is_some() {
            return;
        }
        self.order.push_back(key.to_owned());
        if self.order.len() > KEYS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
    }

    /// The answer of a decision before a restart, with the bounds that its flows have now.
    fn remember_replayed(&mut self, number: u64, decision: &Decision, plan: &Plan) {
        let Some((key, digest)) = &decision.key else { return };
        let flows = decision.changes.iter().filter_map(|change| match change {
            crate::change::Settled::Add(flow) | crate::change::Settled::Change(flow) => {
                Some(flow.name.as_str())
            }
            crate::change::Settled::Remove(_) => None,
        });
        let answer = Accepted {
            decision: number,
            in_force: true,
            state: "confirmed".to_owned(),
            decided_by: DECIDED_BY.to_owned(),
            took_us: decision.took_us,
            plan_hash: decision.plan_hash.clone(),
            bounds: flows.flat_map(|flow| BoundRow::of_flow(plan, flow)).collect(),
            warnings: Vec::new(),
        };
        self.remember(key, digest.clone(), Ok(answer));
    }
}

impl Inner {
    pub(crate) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().expect("nobody panics with it"))
    }

    /// Changes what is seen, in one step.
    pub(crate) fn show(&self, change: impl FnOnce(&mut View)) {
        let mut view = self.view.write().expect("nobody panics with it");
        let mut next = View::clone(&view);
        change(&mut next);
        *view = Arc::new(next);
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().expect("nobody panics with it")
    }

    fn decide(
        &self,
        view: &View,
        file: &str,
        changes: &[Change],
        advice: bool,
    ) -> Result<Decided, Denied> {
        match changes.len() {
            0 => return Err(Denied::Conflict("nothing is asked for: name a change".to_owned())),
            1..=CHANGES_MAX => {}
            many => {
                let why = format!("{many} changes at once: at most {CHANGES_MAX}");
                return Err(Denied::Conflict(why));
            }
        }
        decide(&self.planning, (&view.network, file), changes, advice)
    }

    /// The network of the file without its flows, and its flows.
    pub(crate) fn filed(&self) -> (Network, Vec<Flow>) {
        (self.bare.clone(), self.writer().filed.clone())
    }

    /// Decides as [`Inner::submit`] does, on what another text of the file says; what is accepted goes with it.
    pub(crate) fn submit_file(
        &self,
        request: &Request,
        file: (String, String),
        flows: Vec<Flow>,
    ) -> Result<Accepted, Denied> {
        let mut writer = self.writer();
        let text = file.1.clone();
        let accepted = self.decide_and_store(&mut writer, request, "", Some(file))?;
        (writer.file, writer.filed) = (text, flows);
        self.tell("accepted", Some(accepted.decision), "the network file was read anew".into());
        Ok(accepted)
    }

    fn submit(&self, request: &Request) -> Result<Accepted, Denied> {
        // Answers that are known are those of who leads.
        self.check_leads()?;
        let mut writer = self.writer();
        let digest = digest_of(&request.changes);
        if let Some(key) = &request.key
            && let Some((known, answer)) = writer.keys.get(key)
        {
            return if *known == digest { answer.clone() } else { Err(Denied::KeyReused) };
        }
        let answer = self.decide_and_store(&mut writer, request, &digest, None);
        let names: Vec<&str> = request.changes.iter().map(Change::name).collect();
        let names = names.join(", ");
        match &answer {
            Ok(it) => self.tell("accepted", Some(it.decision), names),
            Err(denied) => {
                self.tell("refused", None, format!("{names}: {}", denied.problem().detail));
            }
        }
        // What could not be tried may be asked for again with the same key.
        let is_final = !matches!(
            answer,
            Err(Denied::Stopped(_) | Denied::NotStored(_) | Denied::NotLeading { .. })
        );
        if let Some(key) = request.key.as_ref().filter(|_| is_final) {
            writer.remember(key, digest, answer.clone());
        }
        answer
    }

    fn decide_and_store(
        &self,
        writer: &mut Writer,
        request: &Request,
        digest: &str,
        file: Option<(String, String)>,
    ) -> Result<Accepted, Denied> {
        let started = Instant::now();
        let answer = self.decide_at(writer, request, digest, (file, started));
        let outcome = match &answer {
            Ok(_) => "accepted",
            Err(Denied::Refused(_)) => "refused",
            Err(Denied::Stopped(_)) => "stopped",
            Err(Denied::NotLeading { .. }) => "not_leading",
            Err(Denied::NotStored(_)) => "not_stored",
            Err(_) => "invalid",
        };
        self.metrics.decided(outcome, started.elapsed());
        answer
    }

    fn decide_at(
        &self,
        writer: &mut Writer,
        request: &Request,
        digest: &str,
        (file, started): (Option<(String, String)>, Instant),
    ) -> Result<Accepted, Denied> {
        self.check_leads()?;
        let view = self.view();
        let only_removes = request.changes.iter().all(|it| matches!(it, Change::Remove { .. }));
        if let Some(why) = view.stopped.as_ref().filter(|_| !only_removes) {
            return Err(Denied::Stopped(why.clone()));
        }
        let text = file.as_ref().map_or(&writer.file, |(_, text)| text).clone();
        let decided = self.decide(&view, &text, &request.changes, request.advice)?;
        let number = view.decision + 1;
        let answer = accepted(number, true, started, &request.changes, &decided);
        let entry = Entry::Accepted(Decision {
            who: request.who.clone(),
            at_ms: now_ms(),
            changes: decided.settled.clone(),
            plan_hash: answer.plan_hash.clone(),
            key: request.key.as_ref().map(|key| (key.clone(), digest.to_owned())),
            took_us: answer.took_us,
            undoes_to: None,
            file,
        });
        let began = Instant::now();
        let written = writer.log.append(&entry);
        self.metrics.stored(began.elapsed());
        if let Err(why) = written {
            self.check_leads_still(&why)?;
            self.raise("not-stored", "", why.clone());
            return Err(Denied::NotStored(why));
        }
        self.show(|view| {
            view.decision = number;
            view.network = Arc::new(decided.network);
            view.plan = Arc::new(decided.plan);
        });
        self.decided.send_replace(number);
        self.bell.ring();
        Ok(answer)
    }
}

mod following;
mod telling;
#[cfg(test)]
mod tests;
mod undoing;
