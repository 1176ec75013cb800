//! A proxy that puts slices in front of a switch of others: one thread, one switch, controllers of each slice.
//!
//! The switch connects to it as to its controller; it connects to each slice's controllers as that slice's switch. What is
//! judged and translated is the core's ([`SliceProxy`]); here are sockets, and limits of what waits for them. A switch
//! that comes again is emptied, and slices begin anew with it.

mod controller;
mod guest;
mod news;
mod setup;

use self::controller::{Controller, TOLD};
use self::guest::Guest;
pub use self::news::ProxyNews;
pub use self::setup::ProxiedSlice;
use super::channel::Ended;
use super::endpoint::ListenAt;
use super::listener::Listener;
use super::settings::TlsFiles;
use super::telling::{Quota, Telling};
use super::tls::Tls;
use std::io;
use std::os::fd::AsRawFd;
use tenuto_dataplane::switch::{ConnectionId, ProxyEffects, ProxyEvent, SliceProxy};
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, MonotonicClock, PollSet};
use tenuto_units::{Instant, Span};

/// What the proxy does.
#[derive(Clone, Debug)]
pub struct ProxySettings {
    /// Where the switch connects.
    pub listen: ListenAt,
    /// The slices.
    pub slices: Vec<ProxiedSlice>,
    /// How often the switch is asked for its entries.
    pub audit: Span,
    /// Silence after which a peer is asked whether it is there.
    pub probe: Span,
    /// Longest pause between attempts to reach a controller.
    pub backoff_max: Span,
    /// Certificates, if there is TLS on either side.
    pub tls: Option<TlsFiles>,
}

struct Proxy {
    settings: ProxySettings,
    poll: PollSet,
    listener: Listener,
    guest: Option<Guest>,
    controllers: Vec<Controller>,
    audit_at: Instant,
    out: ProxyEffects,
    telling: Telling<ProxyNews>,
    strangers: Quota,
}

/// Serves until a signal ends it; whether that was Ctrl-C.
///
/// # Errors
/// Where it cannot listen, and for slices that no switch can have.
pub fn run_slice_proxy(
    settings: ProxySettings,
    tell: impl FnMut(ProxyNews) + Send + 'static,
) -> io::Result<bool> {
    setup::check(&settings.slices)?;
    let mut signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate])?;
    let mut proxy = Proxy::new(settings, tell)?;
    let signals_key = proxy.poll.add(signals.as_raw_fd(), Interest::Read);
    loop {
        let deadline = proxy.deadline();
        proxy.poll.wait(Some(deadline))?;
        if proxy.poll.readiness(signals_key).readable
            && let Some(signal) = signals.next_pending()?
        {
            return Ok(signal == Signal::Interrupt);
        }
        proxy.turn();
    }
}

impl Proxy {
    fn new(
        settings: ProxySettings,
        tell: impl FnMut(ProxyNews) + Send + 'static,
    ) -> io::Result<Self> {
        let tls = settings.tls.as_ref().map(Tls::load).transpose()?;
        let mut poll = PollSet::new();
        let listener = Listener::open(0, &settings.listen, tls.as_ref(), &mut poll)?;
        let mut telling = Telling::start(tell, ProxyNews::Untold)?;
        telling.tell(ProxyNews::Listening(listener.socket.local_addr()?));
        let mut controllers = Vec::new();
        for (place, slice) in settings.slices.iter().enumerate() {
            for (number, endpoint) in (1..).zip(&slice.controllers) {
                let of = (place, slice);
                controllers.push(Controller::new(of, number, endpoint, tls.as_ref()));
            }
        }
        Ok(Self {
            settings,
            poll,
            listener,
            guest: None,
            controllers,
            audit_at: Instant::ZERO,
            out: ProxyEffects::default(),
            telling,
            strangers: Quota::new(TOLD),
        })
    }

    /// When something is to be done although nothing has happened.
    fn deadline(&self) -> Instant {
        let now = MonotonicClock::now();
        let probe = self.settings.probe;
        let quotas = self.controllers.iter().map(|it| &it.told).chain([&self.strangers]);
        let untold = quotas.filter_map(Quota::deadline);
        let guest = self.guest.as_ref().map(|guest| guest.deadline(now, probe));
        let is_up = self.guest.as_ref().is_some_and(|guest| guest.proxy.is_some());
        let audit = is_up.then_some(self.audit_at);
        let controllers = self.controllers.iter().filter_map(|it| it.deadline(now, probe));
        let handshakes = self.listener.full_until;
        let all = controllers.chain(guest).chain(audit).chain(untold).chain(handshakes);
        all.fold(now + Span::from_s(1), Instant::min)
    }

    fn turn(&mut self) {
        let now = MonotonicClock::now();
        self.accept(now);
        if let Err(why) = self.hear_switch(now) {
            self.lose_switch(&why, now);
        }
        for place in 0..self.controllers.len() {
            self.turn_of(place, now);
        }
        self.audit(now);
        self.tell_events(now);
        self.hand_out(now);
    }

    fn accept(&mut self, now: Instant) {
        let (mut fresh, mut refused) = (Vec::new(), Vec::new());
        self.listener.take(&self.poll, &mut fresh, &mut refused);
        for (stream, caller) in fresh {
            match &self.guest {
                Some(guest) => {
                    let why = format!("the switch at {} is there", guest.channel.peer);
                    refused.push((caller.name, why));
                }
                None => {
                    self.guest = Some(Guest::new(caller.name, stream, now, &mut self.poll));
                }
            }
        }
        for (peer, why) in refused {
            if self.strangers.takes(now) {
                self.telling.tell(ProxyNews::Gone { peer, why });
            }
        }
    }

    /// Messages of the switch; why it is lost, if it is.
    fn hear_switch(&mut self, now: Instant) -> Result<(), Ended> {
        let Some(guest) = &mut self.guest else { return Ok(()) };
        let is_new = guest.hear(
            now,
            self.settings.probe,
            &self.settings.slices,
            &self.poll,
            &mut self.out,
        )?;
        if is_new {
            self.telling.tell(ProxyNews::Switch(guest.channel.peer.clone()));
            self.audit_at = now + self.settings.audit;
        }
        Ok(())
    }

    fn lose_switch(&mut self, why: &str, now: Instant) {
        let Some(mut guest) = self.guest.take() else { return };
        // The last words, if they are still heard.
        let _ = guest.channel.flush(&mut self.poll);
        self.poll.remove(guest.channel.key);
        if self.strangers.takes(now) {
            let peer = guest.channel.peer;
            self.telling.tell(ProxyNews::Gone { peer, why: why.to_owned() });
        }
        self.out = ProxyEffects::default();
        for controller in &mut self.controllers {
            controller.end(&mut self.poll);
        }
    }

    /// One controller: reached, heard.
    fn turn_of(&mut self, place: usize, now: Instant) {
        let Some(guest) = &mut self.guest else { return };
        let is_behind = guest.is_behind();
        let Some(proxy) = &mut guest.proxy else { return };
        let controller = &mut self.controllers[place];
        let probe = self.settings.probe;
        if !controller.is_up() {
            let backoff_max = self.settings.backoff_max;
            match controller.reach(now, backoff_max, &mut self.poll) {
                Some(Ok(())) => {
                    proxy.connected(controller.peer, &mut self.out);
                    self.telling.tell(ProxyNews::Controller(controller.slice.clone()));
                }
                Some(Err(why)) => {
                    let peer = controller.name.clone();
                    self.telling.tell(ProxyNews::Gone { peer, why });
                }
                None => {}
            }
            return;
        }
        let heard = controller.hear((now, probe, is_behind), proxy, &self.poll, &mut self.out);
        if let Err(why) = heard {
            self.lose_controller(place, why, now);
        }
    }

    fn lose_controller(&mut self, place: usize, why: Ended, now: Instant) {
        let controller = &mut self.controllers[place];
        controller.end(&mut self.poll);
        if controller.told.takes(now) {
            let peer = controller.name.clone();
            self.telling.tell(ProxyNews::Gone { peer, why });
        }
        let peer = controller.peer;
        if let Some(proxy) = self.core() {
            proxy.disconnected(peer);
        }
        // What was made for it meanwhile is not for who comes next.
        self.out.to_controllers.retain(|(it, _)| *it != peer);
    }

    fn core(&mut self) -> Option<&mut SliceProxy> {
        self.guest.as_mut()?.proxy.as_mut()
    }

    fn audit(&mut self, now: Instant) {
        let Self { guest: Some(guest), out, .. } = self else { return };
        if let Some(proxy) = &mut guest.proxy
            && self.audit_at <= now
        {
            self.audit_at = now + self.settings.audit;
            proxy.audit(out);
        }
    }

    /// A slice that is refused much is told of some times a second, and counted besides.
    fn tell_events(&mut self, now: Instant) {
        for event in std::mem::take(&mut self.out.events) {
            let quota = match &event {
                ProxyEvent::Refused { slice, .. } => {
                    let of = |it: &&mut Controller| it.slice == *slice;
                    self.controllers.iter_mut().find(of).map(|it| &mut it.told)
                }
                _ => None,
            };
            if quota.unwrap_or(&mut self.strangers).takes(now) {
                self.telling.tell(ProxyNews::Event(event));
            }
        }
        let core = self.guest.as_ref().and_then(|guest| guest.proxy.as_ref());
        for controller in &mut self.controllers {
            // What is of a slice is told once.
            let is_first = controller.peer.connection == ConnectionId(1);
            let dropped = core.filter(|_| is_first);
            let dropped = dropped.and_then(|core| core.messages(controller.peer.slice));
            let dropped = dropped.map_or(0, |messages| messages.packet_ins_limited);
            if let Some(packet_ins) = controller.take_limited(dropped, now) {
                let slice = controller.slice.clone();
                self.telling.tell(ProxyNews::Limited { slice, packet_ins });
            }
            if let Some(count) = controller.told.take_untold(now) {
                let whose = controller.slice.clone();
                self.telling.tell(ProxyNews::More { whose, count });
            }
        }
        if let Some(count) = self.strangers.take_untold(now) {
            self.telling.tell(ProxyNews::More { whose: "the switch".into(), count });
        }
    }

    /// Gives everybody what there is for them.
    fn hand_out(&mut self, now: Instant) {
        for (peer, bytes) in std::mem::take(&mut self.out.to_controllers) {
            if let Some(it) = self.controllers.iter_mut().find(|it| it.peer == peer) {
                it.queue(&bytes);
            }
        }
        let bytes = std::mem::take(&mut self.out.to_switch);
        let sent = match &mut self.guest {
            Some(guest) => guest.send(&bytes, &mut self.poll),
            None => Ok(()),
        };
        if let Err(why) = sent {
            self.lose_switch(&why, now);
        }
        for place in 0..self.controllers.len() {
            if let Err(why) = self.controllers[place].flush(&mut self.poll) {
                self.lose_controller(place, why, now);
            }
        }
    }
}
