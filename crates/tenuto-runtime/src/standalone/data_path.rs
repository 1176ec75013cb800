//! The one thread of a stand-alone switch: ports, timers and control connections around the core.
//!
//! Control messages are carried out between two bursts of frames. A barrier reply is written when what
//! came before it on its connection is in effect for the next frame that is looked up. What touches
//! very many entries is done a step at a time.

use super::channel::Channel;
use super::control::{Change, Control, Purpose, SERVICE_MAX, connections_max};
use super::frame_store::{frame_bits_least, pool_frames};
use super::io_threads::{IoGroups, RunningIo};
use super::news::SwitchNews;
use super::ports::{self, SwitchPort};
use super::reopening::{self, Attempt, Reopening};
use super::settings::{PortSettings, SwitchSettings};
use super::telling::Telling;
use crate::beside;
use crate::forwarding::{Forwarding, Witness};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, ConnectionId, GeneralConfig, PortConfig, PortRole, Switch, SwitchConfig,
};
use tenuto_dataplane::{DropReason, EgressConfig, UNPACED_BPS};
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{
    Interest, LinkState, LinkWatch, MonotonicClock, OpenedPort, PollKey, PollSet, PortWait,
};
use tenuto_units::{Instant, Rate, Span};

/// Messages are carried out for so long before frames get a turn, however many connections there are.
const MESSAGES_TIME: Span = Span::from_us(50);
/// Entries that one message touches before frames get a turn: some 50 us.
pub(crate) const ENTRIES_AT_ONCE: u32 = 64;
/// Captures that have ended are looked for so often.
const LOOK_AT_TAPS: Span = Span::from_s(1);

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

struct DataPath<'a> {
    core: Forwarding,
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
    /// When captures are looked at next, if there are any.
    taps_at: Option<Instant>,
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
    let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate])?;
    beside::remember_processors();
    let mut telling = Telling::start(tell)?;
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
    let mut core = Forwarding::new(Switch::new(Arc::new(config(settings))), pool_frames(settings));
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
        taps_at: settings.ports.iter().any(|port| port.tap.is_some()).then_some(Instant::ZERO),
    };
    let (name, ports) = (settings.name.clone(), settings.ports.len());
    (path.news)(SwitchNews::Up { name, datapath_id: settings.datapath_id, ports });
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

/// Counts what forwarding tells.
struct Counted<'a>(&'a mut SwitchSummary);

impl Witness for Counted<'_> {
    fn not_stored(&mut self, _port: u32, _bytes: usize) {
        self.0.not_stored += 1;
    }
}

impl DataPath<'_> {
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
}

/// What the core is made of.
fn config(settings: &SwitchSettings) -> SwitchConfig {
    let port = |port: &PortSettings| PortConfig {
        port: port.number,
        role: PortRole::Host,
        egress: EgressConfig {
            rate: port.rate.or(Rate::from_bps(UNPACED_BPS)).expect("a trillion is not zero"),
            queues: port.queues,
            buffer_bits: port.buffer_bytes.saturating_mul(8),
            unpromised_from: None,
        },
    };
    let names: BTreeMap<u32, String> =
        settings.ports.iter().map(|port| (port.number, port.interface.clone())).collect();
    SwitchConfig {
        datapath_id: settings.datapath_id,
        ports: settings.ports.iter().map(port).collect(),
        tables: settings.tables,
        entries_max: settings.entries_max,
        meters_max: settings.meters_max,
        groups_max: settings.groups_max,
        // As users of other switches expect it: frames with their FCS.
        meter_extra_bytes: 4,
        classifier: ClassifierKind::ByMask,
        boot_seed: MonotonicClock::now().as_ns(),
        mode_retry: Span::from_ms(100),
        general: Some(GeneralConfig {
            buffers_max: settings.buffers_max,
            connections_max: connections_max(settings),
            fail_mode: settings.fail_mode,
            packet_ins_per_s: settings.packet_ins_per_s,
            description: settings.name.clone(),
            port_names: names,
            began: MonotonicClock::now(),
            entries_at_once: Some(ENTRIES_AT_ONCE),
            masks_max: settings.masks_max,
            actions_max: settings.actions_max,
            buckets_max: settings.buckets_max,
            copies_max: settings.copies_max,
            frame_bits_least: frame_bits_least(settings),
            tables_change: !settings.fixed_tables,
            ..GeneralConfig::default()
        }),
    }
}

impl DataPath<'_> {
    /// Waits and does what there is to do; at a signal, whether it was Ctrl-C.
    fn turn(&mut self) -> io::Result<Option<bool>> {
        let due = self.core.switch.next_deadline().map(|(_, at)| at);
        let control_at =
            if self.has_work() { Some(Instant::ZERO) } else { self.control.deadline() };
        let retry_at = self.core.retry_at();
        let first = [due, retry_at, control_at, self.taps_at].into_iter().flatten().min();
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
        let is_due = [control_at, self.taps_at].into_iter().flatten().min();
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
        self.look_at_taps();
        let mut ended = None;
        if self.poll.readiness(self.signals_key).readable {
            while let Some(signal) = self.signals.next_pending()? {
                ended = Some(signal == Signal::Interrupt);
            }
        }
        Ok(ended)
    }

    /// Whether there is control work that waits for nothing but its turn.
    fn has_work(&self) -> bool {
        let is_paused = |id| {
            self.control.channels.iter().any(|channel| channel.id == id && channel.is_paused())
        };
        self.core.switch.at_work().any(|id| !is_paused(id))
            || self.control.channels.iter().any(|channel| {
                channel.has_message() && self.core.switch.at_work().all(|id| id != channel.id)
            })
    }

    /// Goes a step on with what takes several of them: of each connection in turn, for no longer than
    /// frames may wait.
    fn work(&mut self, until: Instant) {
        let mut works: Vec<ConnectionId> = self.core.switch.at_work().collect();
        let first = self.first_work.unwrap_or(ConnectionId(0));
        let behind = works.partition_point(|id| *id < first);
        works.rotate_left(behind);
        for (done, &id) in works.iter().enumerate() {
            let now = MonotonicClock::now();
            if done > 0 && now >= until {
                self.first_work = Some(id);
                return;
            }
            let channel = self.control.channels.iter().find(|channel| channel.id == id);
            if !channel.is_some_and(Channel::is_paused) {
                let Forwarding { switch, pool, fx, .. } = &mut self.core;
                switch.work_on(id, now, pool, fx);
            }
        }
        self.first_work = None;
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

    /// Gives every connection what the core has for it.
    fn hand_out(&mut self) -> io::Result<()> {
        for (id, bytes) in &mut self.core.fx.channels {
            let channel = self.control.channels.iter_mut().find(|channel| channel.id.0 == *id);
            if let Some(channel) = channel {
                channel.queue(bytes);
            }
            bytes.clear();
        }
        for place in (0..self.control.channels.len()).rev() {
            let channel = &mut self.control.channels[place];
            if let Err(why) = channel.flush(&mut self.poll) {
                let id = channel.id;
                self.changes.push(Change::Gone(id));
                self.control.close(id, &why, &mut self.poll, self.news);
            }
        }
        Ok(())
    }

    /// Connections and their messages.
    fn take_control(&mut self) -> io::Result<()> {
        self.control.turn(&mut self.poll, &mut self.changes, self.news);
        self.carry_changes()?;
        let until = MonotonicClock::now() + MESSAGES_TIME;
        self.work(until);
        // One connection at least has its turn, and each is the first in one of the next turns.
        let count = self.control.channels.len();
        let first = self.first_channel % count.max(1);
        self.first_channel = first + 1;
        for turn in 0..count {
            let now = MonotonicClock::now();
            if turn > 0 && now >= until {
                break;
            }
            self.first_channel = first + turn + 1;
            // What is carried out for one connection may end others.
            let count = self.control.channels.len();
            let Some(channel) = self.control.channels.get_mut((first + turn) % count.max(1)) else {
                break;
            };
            let id = channel.id;
            let is_readable = self.poll.readiness(channel.key).readable;
            let read = if is_readable { channel.read(now) } else { Ok(()) };
            let followed = self.take_messages(id, until);
            let ended = read.and(followed);
            self.hand_out()?;
            if let Err(why) = ended {
                self.changes.push(Change::Gone(id));
                self.control.close(id, &why, &mut self.poll, self.news);
            }
            self.carry_changes()?;
        }
        self.control.start_auxiliaries(&mut self.poll, self.news);
        self.settle()
    }

    /// Carries out the messages of one connection, one at least, as long as its answers are read, but
    /// not for longer than frames may wait.
    fn take_messages(&mut self, id: ConnectionId, until: Instant) -> Result<(), String> {
        let Some(place) = self.control.channels.iter().position(|channel| channel.id == id) else {
            return Ok(());
        };
        let mut message = std::mem::take(&mut self.message);
        let (mut is_followed, mut is_over) = (true, false);
        while is_followed
            && !is_over
            && self.core.switch.at_work().all(|other| other != id)
            && self.control.channels[place].next_message(&mut message)
        {
            let Forwarding { switch, pool, fx, .. } = &mut self.core;
            is_followed = switch.control_from(id, MonotonicClock::now(), &message, pool, fx);
            let own = fx.channels.iter_mut().filter(|(number, _)| *number == id.0);
            for (_, bytes) in own {
                self.control.channels[place].queue(bytes);
                bytes.clear();
            }
            is_over = MonotonicClock::now() >= until;
        }
        self.message = message;
        match is_followed {
            true => Ok(()),
            false => Err("what it sent is no OpenFlow 1.3".into()),
        }
    }

    fn carry_changes(&mut self) -> io::Result<()> {
        for change in std::mem::take(&mut self.changes) {
            match change {
                Change::Gone(id) => {
                    for other in self.core.switch.disconnected_from(id) {
                        let why = "its main connection is gone";
                        self.control.close(other, why, &mut self.poll, self.news);
                    }
                    self.core.fx.channels.retain(|(number, _)| *number != id.0);
                }
                Change::New(id, Purpose::Service) if self.orphans() >= usize::from(SERVICE_MAX) => {
                    let why = "what others asked for before they went is still under way";
                    self.control.close(id, why, &mut self.poll, self.news);
                }
                Change::New(id, purpose) => {
                    let taken = match purpose {
                        Purpose::Controller => {
                            self.core.switch.connected_to(id, None, &mut self.core.fx)
                        }
                        Purpose::Auxiliary(main, number) => {
                            let auxiliary = Some((main, number));
                            self.core.switch.connected_to(id, auxiliary, &mut self.core.fx)
                        }
                        Purpose::Service => self.core.switch.serve(id, &mut self.core.fx),
                    };
                    if taken.is_err() {
                        let why = "there is no room for it";
                        self.control.close(id, why, &mut self.poll, self.news);
                    }
                }
            }
        }
        Ok(())
    }

    /// Works of connections that are gone: what they have asked to be changed is changed all the same.
    fn orphans(&self) -> usize {
        let is_there = |id| self.control.channels.iter().any(|channel| channel.id == id);
        self.core.switch.at_work().filter(|&id| !is_there(id)).count()
    }

    /// Asks every port for its link.
    fn look_at_links(&mut self) {
        (0..self.ports.len()).for_each(|place| self.look_at_link(place));
    }

    fn look_at_link(&mut self, place: usize) {
        let port = &mut self.ports[place];
        match port.link() {
            None => {}
            Some(Ok(LinkState::Gone)) => {
                self.lose_port(place, "its interface was removed".into());
            }
            Some(Ok(state)) => {
                let (number, is_up) = (port.number, state == LinkState::Up);
                let interface = port.interface.clone();
                if self.core.switch.is_link_up(number) != Some(is_up) {
                    self.learn_features(place);
                    self.core.switch.set_link(number, is_up, &mut self.core.fx);
                    (self.news)(SwitchNews::Link { interface, is_up });
                }
            }
            Some(Err(error)) => self.lose_port(place, error.to_string()),
        }
    }

    fn lose_port(&mut self, place: usize, why: String) {
        let port = &mut self.ports[place];
        if port.key.is_none() {
            return;
        }
        port.lose(&mut self.poll);
        let (number, interface) = (port.number, port.interface.clone());
        // What waits there has nothing to wait for.
        self.core.switch.set_room(MonotonicClock::now(), number, None);
        self.core.switch.set_link(number, false, &mut self.core.fx);
        (self.news)(SwitchNews::PortLost { interface, why });
        // Of another one of its name that is there already nothing more is told.
        if self.ports[place].is_interface_gone() {
            self.reopen(place);
        }
    }

    /// Looks for the interfaces of ports that have lost theirs.
    fn reopen_lost(&mut self) {
        (0..self.ports.len()).for_each(|place| self.reopen(place));
    }

    fn reopen(&mut self, place: usize) {
        let port = &self.ports[place];
        let Some(kind) = port.lost_kind() else { return };
        let interface = port.interface.clone();
        let attempt = move || reopening::attempt(&interface, kind);
        if let Err(error) = self.reopening.begin(place, attempt) {
            (self.news)(SwitchNews::Warning(format!("{}: {error}", port.interface)));
        }
    }

    /// Puts ports back into service whose interfaces were opened.
    fn take_reopened(&mut self) -> io::Result<()> {
        if !self.poll.readiness(self.reopening.key).readable {
            return Ok(());
        }
        for (place, attempt, once_more) in self.reopening.take() {
            match attempt {
                Attempt::Opened(opened) => self.put_back(place, opened),
                Attempt::Refused(why) => {
                    let interface = self.ports[place].interface.clone();
                    (self.news)(SwitchNews::PortNotBack { interface, why });
                }
                Attempt::Absent if once_more => self.reopen(place),
                // The kernel tells when it comes.
                Attempt::Absent => {}
            }
        }
        self.settle()
    }

    fn put_back(&mut self, place: usize, opened: OpenedPort) {
        let port = &mut self.ports[place];
        let interface = port.interface.clone();
        let is_zero_copy = opened.port.capabilities().zero_copy;
        if let Err(error) = port.put_back(opened.port, &mut self.poll) {
            return (self.news)(SwitchNews::Warning(format!("{interface}: {error}")));
        }
        if is_zero_copy {
            (self.news)(SwitchNews::ZeroCopy(interface.clone()));
        }
        (self.news)(SwitchNews::PortBack(interface));
        opened.notes.into_iter().for_each(|note| (self.news)(SwitchNews::Warning(note)));
        self.learn_features(place);
        self.look_at_link(place);
    }

    /// Has the core tell what a port's link is able to do.
    fn learn_features(&mut self, place: usize) {
        let port = &self.ports[place];
        self.core.switch.set_features(port.number, port.features());
    }

    fn look_at_taps(&mut self) {
        let now = MonotonicClock::now();
        if self.taps_at.is_none_or(|at| now < at) {
            return;
        }
        self.taps_at = Some(now + LOOK_AT_TAPS);
        for port in &mut self.ports {
            if let Some(why) = port.tap_end() {
                (self.news)(SwitchNews::TapEnded { interface: port.interface.clone(), why });
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
        let ports = self
            .core
            .switch
            .ports()
            .map(|(_, counters, egress)| (counters.received, egress.stats().frames));
        let (received, sent) =
            ports.fold((0, 0), |(r, s), (more_r, more_s)| (r + more_r, s + more_s));
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
            packet_ins_limited: self.core.switch.packet_ins_limited(),
            packet_ins_unheard: self.core.switch.packet_ins_unheard(),
            unread: self.control.unread(),
        }
    }
}
