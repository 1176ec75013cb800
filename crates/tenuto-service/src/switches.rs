//! The switches themselves: sockets and the clock around the [`Keeper`].
//!
//! One task owns it. It is told of bytes, of another plan and of the time for an audit; what it
//! makes is sent on. A switch that holds something else is changed by its differences, so traffic
//! of flows that stay is forwarded at every moment, also by a service that was killed in between.

use crate::keeper::Keeper;
use crate::links::LinkWatch;
use crate::listening::Listening;
use crate::service::{Inner, Keeping};
use crate::session_io::{Halves, News, accept};
use crate::view::View;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tenuto_controller::ConnId;
use tenuto_units::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant as Moment, sleep_until};

/// News of sessions that wait for the one task.
const NEWS_MAX: usize = 256;
/// How often switches are asked for counters and modes.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// Where nothing is due the task looks again after so long.
const IDLE: Duration = Duration::from_secs(60);

struct Switches {
    inner: Weak<Inner>,
    keeper: Keeper,
    began: Moment,
    news: mpsc::Sender<News>,
    writers: BTreeMap<ConnId, mpsc::Sender<Vec<u8>>>,
    next: u64,
}

/// Keeps switches at the plan in force until the service is over.
pub(crate) async fn keep(listening: Vec<Listening>, inner: Arc<Inner>, keeping: Keeping) {
    let (news, mut heard) = mpsc::channel(NEWS_MAX);
    // They end with this.
    let mut accepting = JoinSet::new();
    for one in listening {
        accepting.spawn(accept(one, news.clone()));
    }
    let mut decisions = inner.decided.subscribe();
    let mut leadership = inner.leadership.subscribe();
    leadership.mark_changed();
    let view = inner.view();
    let links = links(&inner, &view, keeping.links_every);
    let links_every = keeping.links_every.filter(|_| links.is_some());
    let keeper = Keeper::new(view, Arc::downgrade(&inner), links);
    let mut switches = Switches::new(keeper, Arc::downgrade(&inner), news);
    drop(inner);
    let mut audit_at = Moment::now() + keeping.audit_every;
    let mut ask_at = Moment::now() + ASK_EVERY;
    let mut links_at = links_every.map(|every| Moment::now() + every);
    loop {
        let due = switches.due().min(audit_at).min(ask_at);
        let due = links_at.map_or(due, |at| due.min(at));
        tokio::select! {
            Some(news) = heard.recv() => switches.take(news),
            changed = decisions.changed() => match changed {
                Ok(()) => {}
                Err(_) => return,
            },
            Ok(()) = leadership.changed() => {}
            () = sleep_until(due) => {}
        }
        let now = switches.now();
        let stands = *leadership.borrow_and_update();
        switches.keeper.stand(now, stands);
        switches.keeper.controller.fire_due(now);
        if Moment::now() >= audit_at {
            switches.keeper.audit(now);
            audit_at = Moment::now() + keeping.audit_every;
        }
        if Moment::now() >= ask_at {
            switches.keeper.controller.ask_modes();
            switches.keeper.controller.ask_counters();
            switches.keeper.controller.ask_delays();
            ask_at = Moment::now() + ASK_EVERY;
        }
        if links_at.is_some_and(|at| Moment::now() >= at) {
            switches.keeper.look_at_links();
            links_at = links_every.map(|every| Moment::now() + every);
        }
        switches.keeper.go_on(now);
        switches.undo();
        switches.send();
    }
}

/// Watches links, where that is wanted and the network has room for it.
fn links(inner: &Inner, view: &View, every: Option<Duration>) -> Option<LinkWatch> {
    let secret = || -> std::io::Result<[u8; 32]> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let every_s = every?.as_secs();
    let watch = secret()
        .map_err(|error| format!("links are not watched: no random numbers: {error}"))
        .and_then(|secret| LinkWatch::new(&view.plan, every_s, secret));
    watch.map_err(|why| inner.tell("links", None, why)).ok()
}

impl Switches {
    fn new(keeper: Keeper, inner: Weak<Inner>, news: mpsc::Sender<News>) -> Self {
        let (began, writers, next) = (Moment::now(), BTreeMap::new(), 0);
        Self { inner, keeper, began, news, writers, next }
    }

    fn now(&self) -> Instant {
        let ns = self.began.elapsed().as_nanos();
        Instant::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// When something is due.
    fn due(&self) -> Moment {
        let next = self.keeper.controller.next_deadline();
        let next = next.map(|at| self.began + Duration::from_nanos(at.as_ns()));
        next.unwrap_or_else(|| Moment::now() + IDLE)
    }

    fn connected(&mut self, halves: Halves, from: SocketAddr) {
        let conn = ConnId(self.next);
        self.next += 1;
        self.writers.insert(conn, halves.carry(conn, &self.news));
        let now = self.now();
        self.keeper.controller.connected_from(now, conn, from.ip());
    }

    fn take(&mut self, news: News) {
        let now = self.now();
        match news {
            News::Connected(halves, from) => self.connected(halves, from),
            News::Unfit(from, why) => {
                if let Some(inner) = self.inner.upgrade() {
                    let text = format!("{}: not taken as a switch: {why}", from.ip());
                    inner.raise("peer-refused", "", text);
                }
            }
            News::Bytes(conn, bytes) => self.keeper.controller.received(now, conn, &bytes),
            News::Written => {}
            News::Closed(conn) => {
                self.keeper.controller.closed(now, conn);
                self.writers.remove(&conn);
            }
        }
    }

    /// Writes a refusal down beside this task, which may not wait for the writer.
    fn undo(&mut self) {
        if let Some(undo) = self.keeper.take_undo()
            && let Some(inner) = self.inner.upgrade()
        {
            tokio::task::spawn_blocking(move || undo.carry_out(&inner));
        }
    }

    fn send(&mut self) {
        let conns: Vec<ConnId> = self.writers.keys().copied().collect();
        for conn in conns {
            let Some(writer) = self.writers.get(&conn) else { continue };
            // What a switch does not read waits in its session, which has a limit.
            let mut is_gone = writer.is_closed();
            let mut is_empty = true;
            if let Some(output) = self.keeper.controller.output(conn)
                && !output.is_empty()
            {
                is_empty = false;
                if let Ok(place) = writer.try_reserve() {
                    place.send(std::mem::take(output));
                    is_empty = true;
                } else {
                    is_gone |= writer.is_closed();
                }
            }
            if is_gone || (is_empty && self.keeper.controller.wants_close(conn)) {
                // The writer ends when it has sent what it has, and the reader with the connection.
                self.writers.remove(&conn);
                self.keeper.controller.closed(self.now(), conn);
            }
        }
    }
}
