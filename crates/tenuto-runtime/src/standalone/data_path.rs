//! The one thread of a stand-alone switch: ports, timers and control connections around the core.
//!
//! Control messages are carried out between two bursts of frames. A barrier reply is written when what
//! came before it on its connection is in effect for the next frame that is looked up. What touches
//! very many entries is done a step at a time.

mod core_config;
mod messages;
mod port_events;

use super::channel::Channel;
use super::control::{Change, Control};
use super::frame_store::pool_frames;
use super::io_threads::{self, IoGroups, RunningIo};
use super::news::SwitchNews;
use super::ports::{self, SwitchPort};
use super::reopening::Reopening;
use super::settings::{PortSettings, SliceSettings, SwitchSettings};
use super::telling::Telling;
use crate::beside;
use crate::forwarding::{Forwarding, Witness};
use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use tenuto_dataplane::DropReason;
use tenuto_dataplane::switch::{ConnectionId, Datapath, HashKey, Overlap, SlicedSwitch, Switch};
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, LinkWatch, MonotonicClock, PollKey, PollSet, PortWait, random_bytes};
use tenuto_units::Instant;

/// Entries that one message touches before frames get a turn: some 50 us.
pub(crate) const ENTRIES_AT_ONCE: u32 = 64;

/// What a stand-alone switch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchSummary {
    /// Whether Ctrl-C ended it, rather than SIGTERM.
    pub interrupted: bool,
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that went no further, for whatever reason.
    pub dropped: u64,
    /// Frames that were sent, though less often than their entries ask for: more than one frame may.
    pub cut_short: u64,
    /// Frames that found the store of frames full, or were too long for it.
    pub not_stored: u64,
    /// Packet-ins that were not made, as their port had its share.
    pub packet_ins_limited: u64,
    /// Packet-ins that were not made, as no controller wanted them.
    pub packet_ins_unheard: u64,
    /// Asynchronous messages that were dropped because a controller did not read.
    pub unread: u64,
}

struct DataPath<'a, D = Switch> {
    core: Forwarding<D>,
    ports: Vec<SwitchPort>,
    control: Control,
    changes: Vec<Change>,
    poll: PollSet,
    wait: PortWait,
    links: LinkWatch,
    links_key: PollKey,
    reopening: Reopening,
    signals: SignalFd,
    signals_key: PollKey,
    news: &'a mut dyn FnMut(SwitchNews),
    summary: SwitchSummary,
    /// Port that is served first in the next turn.
    first: usize,
    message: Vec<u8>,
    /// The connection that is served first in the next turn, by its place, and the first whose work
    /// goes on.
    first_channel: usize,
    first_work: Option<ConnectionId>,
    /// When ports are looked at next, if there are captures or devices of other threads.
    ports_at: Option<Instant>,
    /// When it was last asked for what devices have lost.
    losses_at: Option<Instant>,
    /// What slices were refused, as far as it was told, by name.
    refused: BTreeMap<String, [u64; 3]>,
}

/// Runs a switch until SIGINT or SIGTERM; to be called before any other thread is started. News are
/// told on a thread of their own, so that `tell` may take its time.
///
/// # Errors
/// When a port cannot be opened, an address cannot be listened at, or a file for TLS cannot be used;
/// the text says which and what would help.
pub fn run_switch(
    settings: &SwitchSettings,
    tell: impl FnMut(SwitchNews) + Send + 'static,
) -> io::Result<SwitchSummary> {
    tenuto_io::realtime::steady_allocation();
    let hash_key = HashKey::new(random_bytes()?);
    if settings.slices.is_empty() {
        let config = core_config::config(settings, hash_key);
        return run(settings, Switch::new(Arc::new(config)), tell);
    }
    let (operator, slices) = core_config::sliced(settings, hash_key)?;
    let switch = SlicedSwitch::new(Arc::new(operator), slices).map_err(|Overlap(one, other)| {
        let text = format!(
            "slices {one} and {other} would both own some frames: give them other ports, VLANs or addresses"
        );
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })?;
    run(settings, switch, tell)
}

/// Runs a datapath.
fn run<D: Datapath>(
    settings: &SwitchSettings,
    switch: D,
    tell: impl FnMut(SwitchNews) + Send + 'static,
) -> io::Result<SwitchSummary> {
    let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate])?;
    beside::remember_processors();
    // Before this thread is put on one of them.
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut telling = Telling::start(tell, SwitchNews::Untold)?;
    let news: &mut dyn FnMut(SwitchNews) = &mut |news| telling.tell(news);
    let mut poll = PollSet::new();
    let mut groups = IoGroups::new(settings.io_threads.count);
    let ports = ports::open(&settings.ports, &mut groups, &mut poll, news)?;
    let control = Control::new(settings, &mut poll, news)?;
    let links = LinkWatch::new()?;
    let links_key = poll.add(links.as_raw_fd(), Interest::Read);
    let reopening = Reopening::new(&mut poll)?;
    let signals_key = poll.add(signals.as_raw_fd(), Interest::Read);
    let io = groups.start(settings.thread, &settings.io_threads, news)?;
    let (wait, notes) = settings.thread.apply();
    notes.into_iter().for_each(|note| news(SwitchNews::Warning(note)));
    if let Some(text) = io_threads::advice(settings.io_threads.count, processors) {
        news(SwitchNews::Warning(text));
    }
    let mut core = Forwarding::new(switch, pool_frames(settings));
    if settings.io_threads.count > 0 {
        core.ask_lanes();
    }
    let mut path = DataPath {
        core,
        ports,
        control,
        changes: Vec::new(),
        poll,
        wait,
        links,
        links_key,
        reopening,
        signals,
        signals_key,
        news,
        summary: SwitchSummary::default(),
        first: 0,
        message: Vec::new(),
        first_channel: 0,
        first_work: None,
        ports_at: needs_a_look(settings).then_some(Instant::ZERO),
        losses_at: None,
        refused: BTreeMap::new(),
    };
    let (name, ports) = (settings.name.clone(), settings.ports.len());
    (path.news)(SwitchNews::Up { name, datapath_id: settings.datapath_id, ports });
    for SliceSettings { name, datapath_id, .. } in &settings.slices {
        (path.news)(SwitchNews::Slice { name: name.clone(), datapath_id: *datapath_id });
    }
    path.core.switch.keep_delays();
    path.share_queues(&settings.ports)?;
    (0..path.ports.len()).for_each(|place| path.learn_features(place));
    path.look_at_links();
    loop {
        if let Some(interrupted) = path.turn()? {
            return Ok(path.finish(interrupted, io));
        }
    }
}

/// Whether ports are to be looked at although nothing has happened.
fn needs_a_look(settings: &SwitchSettings) -> bool {
    let shared = settings.io_threads.count > 0 || !settings.slices.is_empty();
    shared || settings.ports.iter().any(|port| port.tap.is_some())
}

/// Counts what forwarding tells.
struct Counted<'a>(&'a mut SwitchSummary);

impl Witness for Counted<'_> {
    fn not_stored(&mut self, _port: u32, _bytes: usize) {
        self.0.not_stored += 1;
    }
}

impl<D: Datapath> DataPath<'_, D> {
    /// Puts queues into the levels that the settings say.
    fn share_queues(&mut self, ports: &[PortSettings]) -> io::Result<()> {
        for port in ports.iter().filter(|port| !port.levels.is_empty()) {
            let wrong = |why| {
                let text = format!("port {}: {why}", port.interface);
                io::Error::new(io::ErrorKind::InvalidInput, text)
            };
            let shares = port.levels.of_port(port.queues).map_err(wrong)?;
            let shared = self.core.switch.share_queues(port.number, &shares);
            shared.map_err(|code| wrong(code.to_string()))?;
        }
        Ok(())
    }

    /// Waits and does what there is to do; at a signal, whether it was Ctrl-C.
    fn turn(&mut self) -> io::Result<Option<bool>> {
        let due = match self.core.switch.is_purging() {
            true => Some(Instant::ZERO),
            false => self.core.switch.next_deadline_at(),
        };
        let control_at = match self.has_work() {
            true => Some(Instant::ZERO),
            false => [self.control.deadline(), self.budget_at()].into_iter().flatten().min(),
        };
        let retry_at = self.core.retry_at();
        let first = [due, retry_at, control_at, self.ports_at].into_iter().flatten().min();
        let Self { wait, poll, ports, .. } = self;
        wait.wait(poll, first, &mut |look| SwitchPort::pending(ports, look))?;
        let waits = due.is_some() || retry_at.is_some();
        if waits || self.ports.iter().any(SwitchPort::is_held) {
            self.settle()?;
        }
        for turn in 0..self.ports.len() {
            let place = (self.first + turn) % self.ports.len();
            if self.ports[place].is_ready(&self.poll) {
                let mut witness = Counted(&mut self.summary);
                self.core.receive(&mut self.ports, place, &mut witness);
                self.carry_out()?;
            }
        }
        self.first = (self.first + 1) % self.ports.len().max(1);
        let is_due = [control_at, self.ports_at].into_iter().flatten().min();
        let is_due = is_due.is_some_and(|at| at <= MonotonicClock::now());
        if !is_due && self.changes.is_empty() && !self.has_news() {
            return Ok(None);
        }
        self.take_control()?;
        if self.poll.readiness(self.links_key).readable {
            self.links.take_news()?;
            self.look_at_links();
            self.reopen_lost();
            self.settle()?;
        }
        self.take_reopened()?;
        self.look_at_ports();
        let mut ended = None;
        if self.poll.readiness(self.signals_key).readable {
            while let Some(signal) = self.signals.next_pending()? {
                ended = Some(signal == Signal::Interrupt);
            }
        }
        Ok(ended)
    }

    /// Whether a descriptor is ready that is none of a port.
    fn has_news(&self) -> bool {
        let keys = self.ports.iter().filter_map(|port| port.key);
        let ports = keys.filter(|&key| self.poll.readiness(key).readable).count();
        self.poll.ready().count() > ports
    }

    /// Fires what is due and carries out what the core wants.
    fn settle(&mut self) -> io::Result<()> {
        self.core.fire(&mut self.ports);
        self.carry_out()
    }

    /// Carries out what the core wants.
    fn carry_out(&mut self) -> io::Result<()> {
        let mut witness = Counted(&mut self.summary);
        self.core.transmit(&mut self.ports, false, &mut witness);
        self.count_drops();
        self.core.fx.events.clear();
        while let Some((place, why)) = self.core.lost.pop() {
            self.lose_port(place, why);
        }
        for place in 0..self.ports.len() {
            let port = &mut self.ports[place];
            let (number, untold) = (port.number, port.take_untold());
            if untold > 0 {
                self.core.switch.not_taken(number, untold);
            }
            if self.ports[place].is_doubtful() {
                self.look_at_link(place);
            }
        }
        let is_told = self.core.fx.channels.iter().any(|(_, bytes)| !bytes.is_empty())
            || self.control.channels.iter().any(Channel::is_waiting);
        if is_told { self.hand_out() } else { Ok(()) }
    }

    /// Counts what went no further; of a frame that was cut short, copies have left.
    fn count_drops(&mut self) {
        for drop in self.core.fx.drops.drain(..) {
            match drop.reason {
                DropReason::Spent => self.summary.cut_short += 1,
                _ => self.summary.dropped += 1,
            }
        }
    }

    /// The end: captures are written out, connections closed, and what happened is counted.
    fn finish(mut self, interrupted: bool, io: RunningIo) -> SwitchSummary {
        for port in &mut self.ports {
            if let Some(text) = port.finish() {
                (self.news)(SwitchNews::Warning(text));
            }
        }
        let (received, sent) = self.core.switch.frames_passed();
        let (packet_ins_limited, packet_ins_unheard) = self.core.switch.packet_ins_withheld();
        let refused: u64 = self.ports.iter_mut().map(SwitchPort::take_last_refused).sum();
        // What waits for its device goes no further.
        let refused = refused + self.core.kept() as u64;
        self.ports.clear();
        io.join().into_iter().for_each(|why| (self.news)(SwitchNews::Warning(why)));
        SwitchSummary {
            interrupted,
            received,
            sent: sent - refused.min(sent),
            dropped: self.summary.dropped + refused,
            cut_short: self.summary.cut_short,
            not_stored: self.summary.not_stored,
            packet_ins_limited,
            packet_ins_unheard,
            unread: self.control.unread(),
        }
    }
}
