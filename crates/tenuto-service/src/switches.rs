//! The switches themselves: sessions around the controller core, and the plan in force in all of them.
//!
//! One task owns the core. It is told of bytes, of another plan and of the time for an audit; what it
//! makes is sent on. A switch that holds something else is changed by its differences, so traffic
//! of flows that stay is forwarded at every moment, also by a service that was killed in between.

use crate::service::Inner;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tenuto_controller::{
    Approach, ConnId, Controller, ControllerConfig, ControllerEvent, ControllerLimits, InstallKind,
    InstallLimits, ModeSettings,
};
use tenuto_model::Plan;
use tenuto_units::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant as Moment, sleep_until};

/// Bytes taken from a session at once.
const INPUT_BYTES: usize = 64 * 1024;
/// News of sessions that wait for the one task.
const NEWS_MAX: usize = 256;
/// Where nothing is due the task looks again after so long.
const IDLE: Duration = Duration::from_secs(60);

/// What a session tells.
enum News {
    Bytes(ConnId, Vec<u8>),
    /// There is room for more that is to be sent.
    Written,
    Closed(ConnId),
}

struct Switches {
    inner: Weak<Inner>,
    controller: Controller,
    began: Moment,
    news: mpsc::Sender<News>,
    writers: BTreeMap<ConnId, mpsc::Sender<Vec<u8>>>,
    next: u64,
    /// The decision whose plan the core has.
    decision: u64,
    names: BTreeMap<u64, String>,
}

/// Keeps switches at the plan in force until the service is over.
///
/// # Errors
/// The listener fails.
pub(crate) async fn keep(
    listener: TcpListener,
    inner: Arc<Inner>,
    audit_every: Duration,
) -> io::Result<()> {
    let (news, mut heard) = mpsc::channel(NEWS_MAX);
    let mut decisions = inner.decided.subscribe();
    let view = inner.view();
    let mut switches = Switches::new(&view.plan, Arc::downgrade(&inner), news, view.decision);
    drop((inner, view));
    let mut audit_at = Moment::now() + audit_every;
    loop {
        let due = switches.due().min(audit_at);
        tokio::select! {
            accepted = listener.accept() => switches.accept(accepted),
            Some(news) = heard.recv() => switches.take(news),
            changed = decisions.changed() => match changed {
                Ok(()) => {}
                Err(_) => return Ok(()),
            },
            () = sleep_until(due) => {}
        }
        let now = switches.now();
        switches.controller.fire_due(now);
        if Moment::now() >= audit_at {
            switches.controller.audit(now);
            audit_at = Moment::now() + audit_every;
        }
        switches.update();
        switches.send();
        switches.tell();
    }
}

fn deployments(plan: &Plan) -> (Vec<u64>, ModeSettings) {
    let dpids: Vec<u64> = plan.switches.iter().map(|it| it.datapath_id).collect();
    let modes = ModeSettings { levels: 1, members: dpids.clone(), ..ModeSettings::default() };
    (dpids, modes)
}

impl Switches {
    fn new(plan: &Plan, inner: Weak<Inner>, news: mpsc::Sender<News>, decision: u64) -> Self {
        let (manages, modes) = deployments(plan);
        let install = InstallLimits { approach: Approach::Change, ..InstallLimits::default() };
        let controller = Controller::new(ControllerConfig {
            name: "service".to_owned(),
            manages,
            deployments: plan.switches.clone(),
            modes,
            epoch: 1,
            limits: ControllerLimits { install, ..ControllerLimits::default() },
            ..ControllerConfig::default()
        });
        let names = plan.switches.iter().map(|it| (it.datapath_id, it.switch.clone())).collect();
        let (began, writers) = (Moment::now(), BTreeMap::new());
        Self { inner, controller, began, news, writers, next: 0, decision, names }
    }

    fn now(&self) -> Instant {
        let ns = self.began.elapsed().as_nanos();
        Instant::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// When something is due.
    fn due(&self) -> Moment {
        let next = self.controller.next_deadline();
        let next = next.map(|at| self.began + Duration::from_nanos(at.as_ns()));
        next.unwrap_or_else(|| Moment::now() + IDLE)
    }

    fn accept(&mut self, accepted: io::Result<(TcpStream, SocketAddr)>) {
        // A peer that has left again, or no descriptor is left: the next may do.
        let Ok((stream, from)) = accepted else { return };
        let _ = stream.set_nodelay(true);
        let conn = ConnId(self.next);
        self.next += 1;
        let (reader, writer) = stream.into_split();
        let (to_write, bytes) = mpsc::channel(1);
        self.writers.insert(conn, to_write);
        tokio::spawn(read(conn, reader, self.news.clone()));
        tokio::spawn(write(writer, bytes, self.news.clone()));
        let now = self.now();
        self.controller.connected_from(now, conn, from.ip());
    }

    fn take(&mut self, news: News) {
        let now = self.now();
        match news {
            News::Bytes(conn, bytes) => self.controller.received(now, conn, &bytes),
            News::Written => {}
            News::Closed(conn) => {
                self.controller.closed(now, conn);
                self.writers.remove(&conn);
            }
        }
    }

    /// Wants the plan in force, if it is another.
    fn update(&mut self) {
        let Some(inner) = self.inner.upgrade() else { return };
        let view = inner.view();
        if view.decision != self.decision {
            self.decision = view.decision;
            let (_, modes) = deployments(&view.plan);
            self.controller.update(self.now(), &view.plan.switches, modes);
        }
    }

    fn send(&mut self) {
        let conns: Vec<ConnId> = self.writers.keys().copied().collect();
        for conn in conns {
            let Some(writer) = self.writers.get(&conn) else { continue };
            // What a switch does not read waits in its session, which has a limit.
            let mut is_gone = writer.is_closed();
            let mut is_empty = true;
            if let Some(output) = self.controller.output(conn)
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
            if is_gone || (is_empty && self.controller.wants_close(conn)) {
                // The writer ends when it has sent what it has, and the reader with the connection.
                self.writers.remove(&conn);
                self.controller.closed(self.now(), conn);
            }
        }
    }

    fn tell(&mut self) {
        let Some(inner) = self.inner.upgrade() else { return };
        while let Some(event) = self.controller.next_event() {
            let name = |dpid: &u64| self.names.get(dpid).cloned().unwrap_or_default();
            match &event {
                ControllerEvent::Ready => inner.installed(self.decision),
                ControllerEvent::Differs { dpid, .. } => {
                    inner.raise("drift", &name(dpid), event.to_string());
                }
                ControllerEvent::InstallFailed { dpid, .. } => {
                    inner.raise("switch-failed", &name(dpid), event.to_string());
                }
                ControllerEvent::Closed { dpid: Some(dpid), .. } => {
                    inner.raise("switch-gone", &name(dpid), event.to_string());
                }
                ControllerEvent::Installed { dpid, kind } => {
                    for kind in ["switch-failed", "switch-gone", "drift"] {
                        inner.lower_at(kind, &name(dpid));
                    }
                    if *kind != InstallKind::Adopted {
                        inner.tell("switch", Some(self.decision), event.to_string());
                    }
                }
                ControllerEvent::Up { .. } | ControllerEvent::CommandRefused { .. } => {
                    inner.tell("switch", Some(self.decision), event.to_string());
                }
                _ => {}
            }
        }
    }
}

async fn read(conn: ConnId, mut reader: OwnedReadHalf, news: mpsc::Sender<News>) {
    let mut bytes = vec![0; INPUT_BYTES];
    loop {
        let told = match reader.read(&mut bytes).await {
            Ok(count) if count > 0 => News::Bytes(conn, bytes[..count].to_vec()),
            _ => News::Closed(conn),
        };
        let is_over = matches!(told, News::Closed(_));
        if news.send(told).await.is_err() || is_over {
            return;
        }
    }
}

async fn write(
    mut writer: OwnedWriteHalf,
    mut bytes: mpsc::Receiver<Vec<u8>>,
    news: mpsc::Sender<News>,
) {
    while let Some(part) = bytes.recv().await {
        if writer.write_all(&part).await.is_err() || news.send(News::Written).await.is_err() {
            return;
        }
    }
}
