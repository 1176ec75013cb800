//! All control connections: those that the switch makes, and those that are made to it.

use super::callers::{self, Origin, SERVICE_MAX, Taken, Verdict};
use super::channel::{CLOSED, Channel};
use super::dial::{Dial, Dialled, Way};
use super::endpoint::ListenAt;
use super::listener::{Caller, Listener};
use super::news::SwitchNews;
use super::settings::SwitchSettings;
use super::stream::Stream;
use super::telling::Quota;
use super::tls::Tls;
use std::io;
use tenuto_dataplane::switch::ConnectionId;
use tenuto_io::{MonotonicClock, PollSet};
use tenuto_units::{Instant, Span};

/// Losses of connections made to the switch that are told in a second, one by one.
const LOST_TOLD: u32 = 10;
/// Until an attempt is made again for which there was no descriptor or thread.
const RESOURCES: Span = Span::from_s(1);
/// A connection that lasted so long begins its next attempts without a pause.
const LASTING: Span = Span::from_s(5);

/// Connections at once, of both kinds.
pub(super) fn connections_max(settings: &SwitchSettings) -> u16 {
    let all = settings.slices.iter().map(|slice| &slice.controllers);
    let own = all.chain([&settings.controllers]).flatten().map(|it| 1 + u16::from(it.auxiliary));
    own.fold(SERVICE_MAX, u16::saturating_add)
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A controller that the switch was told of.
    Controller,
    /// A further connection of that controller, with its number.
    Auxiliary(ConnectionId, u8),
    /// Whoever connected: a tool, for all that is known.
    Service,
}

/// A connection to be made again whenever it is lost.
struct Slot {
    way: Way,
    /// The slice that its controller is of.
    slice: usize,
    /// 0 for the main connection.
    auxiliary: u8,
    /// The slot of the main connection.
    main: usize,
    state: SlotState,
    failures: u32,
    since: Instant,
}

enum SlotState {
    Idle,
    /// There was no descriptor or thread for an attempt: the next one is then.
    Waiting(Instant),
    Dialling(Dial),
    Up(ConnectionId),
}

/// What the switch core is to do about connections.
pub(super) enum Change {
    /// Take on a connection of a slice, by its place; of the whole switch, 0.
    New(ConnectionId, usize, Purpose),
    /// Forget one.
    Gone(ConnectionId),
}

pub(super) struct Control {
    pub(super) channels: Vec<Channel>,
    slots: Vec<Slot>,
    listeners: Vec<Listener>,
    next_id: u16,
    async_bytes_max: usize,
    probe: Span,
    /// Asynchronous messages that peers which are gone did not read.
    unread: u64,
    connections_max: u16,
    /// What is told of peers that the switch was not told of.
    strangers: Quota,
    /// Who has gone and may have left work behind.
    gone: Vec<(ConnectionId, Taken)>,
}

impl Control {
    pub(super) fn new(
        settings: &SwitchSettings,
        poll: &mut PollSet,
        news: &mut dyn FnMut(SwitchNews),
    ) -> io::Result<Self> {
        let tls = settings.tls.as_ref().map(Tls::load).transpose()?;
        let mut control = Self {
            channels: Vec::new(),
            slots: slots(settings, tls.as_ref()),
            listeners: Vec::new(),
            next_id: 0,
            async_bytes_max: settings.async_bytes_max,
            probe: settings.probe,
            unread: 0,
            connections_max: connections_max(settings),
            strangers: Quota::new(LOST_TOLD),
            gone: Vec::new(),
        };
        let of_slices = settings.slices.iter().map(|slice| &slice.listen);
        let all = [&settings.listen].into_iter().chain(of_slices).enumerate();
        for (slice, at) in all.flat_map(|(slice, list)| list.iter().map(move |at| (slice, at))) {
            let listener = Listener::open(slice, at, tls.as_ref(), poll)?;
            let local = listener.socket.local_addr()?;
            let shown = ListenAt { port: local.port(), ..at.clone() };
            news(SwitchNews::Listening(shown.to_string()));
            control.listeners.push(listener);
        }
        for slot in control.slots.iter_mut().filter(|slot| slot.auxiliary == 0) {
            slot.dial(poll, news);
        }
        Ok(control)
    }

    /// When it wants a turn at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let silence = self.channels.iter().map(|channel| channel.deadline(self.probe)).min();
        let waiting = self.slots.iter().filter_map(|slot| match slot.state {
            SlotState::Waiting(until) => Some(until),
            _ => None,
        });
        let full = self.listeners.iter().filter_map(|listener| listener.full_until).min();
        [silence, self.strangers.deadline(), waiting.min(), full].into_iter().flatten().min()
    }

    /// Forgets those who have gone and left no work behind.
    pub(super) fn keep_at_work(&mut self, is_at_work: impl Fn(ConnectionId) -> bool) {
        self.gone.retain(|(id, _)| is_at_work(*id));
    }

    /// Asynchronous messages that were dropped because they were not read.
    pub(super) fn unread(&self) -> u64 {
        self.unread + self.channels.iter().map(|channel| channel.unread).sum::<u64>()
    }

    /// New connections, and silent ones that are given up; to be called when the poll set woke up.
    pub(super) fn turn(
        &mut self,
        poll: &mut PollSet,
        changes: &mut Vec<Change>,
        news: &mut dyn FnMut(SwitchNews),
    ) {
        self.take_dialled(poll, changes, news);
        self.accept(poll, changes, news);
        let now = MonotonicClock::now();
        if let Some(count) = self.strangers.take_untold(now) {
            news(SwitchNews::LostMore(count));
        }
        for slot in &mut self.slots {
            match (&slot.state, slot.auxiliary) {
                (SlotState::Waiting(until), 0) if *until <= now => slot.dial(poll, news),
                // It is made again behind its main connection.
                (SlotState::Waiting(until), _) if *until <= now => slot.state = SlotState::Idle,
                _ => {}
            }
        }
        for place in (0..self.channels.len()).rev() {
            let probe = self.probe;
            if let Err(why) = self.channels[place].keep_alive(now, probe) {
                changes.push(Change::Gone(self.channels[place].id));
                self.close(self.channels[place].id, &why, poll, news);
            }
        }
    }

    fn take_dialled(
        &mut self,
        poll: &mut PollSet,
        changes: &mut Vec<Change>,
        news: &mut dyn FnMut(SwitchNews),
    ) {
        for place in 0..self.slots.len() {
            let peer = self.slots[place].name();
            let SlotState::Dialling(dial) = &mut self.slots[place].state else { continue };
            match dial.turn(poll) {
                None => {}
                Some(Dialled::Failed(why)) => news(SwitchNews::Unreachable { peer, why }),
                Some(Dialled::Made(stream)) => {
                    if let SlotState::Dialling(dial) = self.slots[place].replace(SlotState::Idle) {
                        dial.end(poll);
                    }
                    self.take_made(place, peer, stream, poll, changes, news);
                }
            }
        }
    }

    fn take_made(
        &mut self,
        place: usize,
        peer: String,
        stream: Stream,
        poll: &mut PollSet,
        changes: &mut Vec<Change>,
        news: &mut dyn FnMut(SwitchNews),
    ) {
        let Slot { slice, auxiliary, main, .. } = self.slots[place];
        let purpose = match (auxiliary, &self.slots[main].state) {
            (0, _) => Purpose::Controller,
            (number, SlotState::Up(main)) => Purpose::Auxiliary(*main, number),
            // Its main connection is gone: it is made again behind that.
            _ => return,
        };
        let Some(id) = self.free_id() else {
            self.slots[place].failures = self.slots[place].failures.saturating_add(1);
            return self.slots[place].dial(poll, news);
        };
        self.slots[place].state = SlotState::Up(id);
        news(SwitchNews::Connected(peer.clone()));
        self.add(id, peer, stream, None, poll);
        changes.push(Change::New(id, slice, purpose));
    }

    /// Auxiliary connections follow when the main one has been answered.
    pub(super) fn start_auxiliaries(
        &mut self,
        poll: &mut PollSet,
        news: &mut dyn FnMut(SwitchNews),
    ) {
        for place in 0..self.slots.len() {
            let Slot { auxiliary, main, .. } = self.slots[place];
            let is_idle = matches!(self.slots[place].state, SlotState::Idle);
            let SlotState::Up(main) = self.slots[main].state else { continue };
            let has_spoken = self.channels.iter().any(|c| c.id == main && c.has_spoken);
            if auxiliary > 0 && is_idle && has_spoken {
                self.slots[place].dial(poll, news);
            }
        }
    }

    fn accept(
        &mut self,
        poll: &mut PollSet,
        changes: &mut Vec<Change>,
        news: &mut dyn FnMut(SwitchNews),
    ) {
        for place in 0..self.listeners.len() {
            let mut fresh = Vec::new();
            let listener = &mut self.listeners[place];
            let slice = listener.slice;
            let mut refused = Vec::new();
            listener.take(poll, &mut fresh, &mut refused);
            for (peer, why) in refused {
                self.tell_of_stranger(peer, why, 0, news);
            }
            for (stream, Caller { name, origin }) in fresh {
                match self.place_for(origin, poll, changes, news) {
                    Err(why) => self.tell_of_stranger(name, why, 0, news),
                    Ok(id) => {
                        self.add(id, name, stream, Some(origin), poll);
                        changes.push(Change::New(id, slice, Purpose::Service));
                    }
                }
            }
        }
    }

    /// A number for a new connection, which may take the place of another, or why it has no place.
    fn place_for(
        &mut self,
        origin: Origin,
        poll: &mut PollSet,
        changes: &mut Vec<Change>,
        news: &mut dyn FnMut(SwitchNews),
    ) -> Result<ConnectionId, String> {
        let (ids, taken): (Vec<ConnectionId>, Vec<Taken>) = self
            .channels
            .iter()
            .filter_map(|it| Some((it.id, it.taken()?)))
            .chain(self.gone.iter().copied())
            .unzip();
        match callers::judge(&taken, origin) {
            Verdict::Takes => {}
            Verdict::Refused(why) => return Err(why),
            Verdict::Replaces(place) => {
                changes.push(Change::Gone(ids[place]));
                let why = "others have fewer connections, and there is no room for all";
                self.close(ids[place], why, poll, news);
            }
        }
        self.free_id().ok_or_else(|| "there is no room for it".to_owned())
    }

    /// Tells that a peer is gone which had connected by itself, if not too many have just gone.
    fn tell_of_stranger(
        &mut self,
        peer: String,
        why: String,
        unread: u64,
        news: &mut dyn FnMut(SwitchNews),
    ) {
        if self.strangers.takes(MonotonicClock::now()) {
            news(SwitchNews::Lost { peer, why, unread });
        }
    }

    fn add(
        &mut self,
        id: ConnectionId,
        peer: String,
        stream: Stream,
        caller: Option<Origin>,
        poll: &mut PollSet,
    ) {
        let now = MonotonicClock::now();
        let mut channel = Channel::new(id, peer, stream, self.async_bytes_max, now, poll);
        channel.caller = caller;
        self.channels.push(channel);
    }

    /// A number that no connection has; those of the switch's own sessions begin with 1.
    fn free_id(&mut self) -> Option<ConnectionId> {
        if self.channels.len() >= usize::from(self.connections_max) {
            return None;
        }
        loop {
            self.next_id = self.next_id.checked_add(1).unwrap_or(1);
            let id = ConnectionId(self.next_id);
            let is_taken = self.channels.iter().any(|channel| channel.id == id)
                || self.gone.iter().any(|(gone, _)| *gone == id);
            if !is_taken {
                return Some(id);
            }
        }
    }

    /// Ends a connection; one that the switch had made is made again.
    pub(super) fn close(
        &mut self,
        id: ConnectionId,
        why: &str,
        poll: &mut PollSet,
        news: &mut dyn FnMut(SwitchNews),
    ) {
        let Some(place) = self.channels.iter().position(|channel| channel.id == id) else { return };
        let mut channel = self.channels.remove(place);
        if let Some(taken) = channel.taken() {
            self.gone.push((id, Taken { is_there: false, ..taken }));
        }
        // What it was told last may say why it is closed.
        let _ = channel.flush(poll);
        poll.remove(channel.key);
        self.unread += channel.unread;
        let (peer, unread) = (channel.peer, channel.unread);
        match channel.caller.is_some() {
            false => news(SwitchNews::Lost { peer, why: why.to_owned(), unread }),
            // Tools come and go.
            true if why == CLOSED && unread == 0 => {}
            true => self.tell_of_stranger(peer, why.to_owned(), unread, news),
        }
        let is_its = |slot: &Slot| matches!(slot.state, SlotState::Up(up) if up == id);
        let Some(place) = self.slots.iter().position(is_its) else { return };
        let slot = &mut self.slots[place];
        slot.state = SlotState::Idle;
        let lasted = MonotonicClock::now().since(slot.since) >= LASTING;
        slot.failures = if lasted { 0 } else { slot.failures.saturating_add(1) };
        if slot.auxiliary == 0 {
            slot.dial(poll, news);
        }
    }
}

/// The main connection of every controller, and its auxiliary ones.
fn slots(settings: &SwitchSettings, tls: Option<&Tls>) -> Vec<Slot> {
    let mut slots = Vec::new();
    let of_slices = settings.slices.iter().map(|slice| &slice.controllers);
    let all = [&settings.controllers].into_iter().chain(of_slices).enumerate();
    for (slice, controller) in all.flat_map(|(slice, list)| list.iter().map(move |it| (slice, it)))
    {
        let main = slots.len();
        for auxiliary in 0..=controller.auxiliary {
            let way = Way {
                endpoint: controller.endpoint.clone(),
                tls: tls.cloned(),
                backoff_max: settings.backoff_max,
            };
            let (state, since) = (SlotState::Idle, Instant::ZERO);
            slots.push(Slot { way, slice, auxiliary, main, state, failures: 0, since });
        }
    }
    slots
}

impl Slot {
    fn name(&self) -> String {
        match self.auxiliary {
            0 => self.way.endpoint.to_string(),
            number => format!("{} (auxiliary {number})", self.way.endpoint),
        }
    }

    /// Begins to connect. What is missing for that may be there later: frames are forwarded anyway.
    fn dial(&mut self, poll: &mut PollSet, news: &mut dyn FnMut(SwitchNews)) {
        let is_first = !matches!(self.state, SlotState::Waiting(_));
        self.state = match Dial::start(self.way.clone(), self.failures, poll) {
            Ok(dial) => SlotState::Dialling(dial),
            Err(error) => {
                if is_first {
                    let (peer, why) = (self.name(), error.to_string());
                    news(SwitchNews::Unreachable { peer, why });
                }
                SlotState::Waiting(MonotonicClock::now() + RESOURCES)
            }
        };
    }

    fn replace(&mut self, state: SlotState) -> SlotState {
        self.since = MonotonicClock::now();
        std::mem::replace(&mut self.state, state)
    }
}
