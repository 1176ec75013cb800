//! The switch that is there: its greeting, its messages, and what waits for it.

use super::super::channel::{Channel, Ended};
use super::super::stream::Stream;
use super::setup::{self, ProxiedSlice};
use tenuto_dataplane::switch::{ConnectionId, ProxyEffects, SliceProxy};
use tenuto_io::PollSet;
use tenuto_openflow::constants::{message_type, multipart_flag};
use tenuto_openflow::{Body, Hello, Message, MultipartRequest, Port, ReplyBody, RequestBody};
use tenuto_units::{Instant, Span};

/// Bytes that wait for it: controllers are not heard meanwhile, and TCP tells them.
pub(super) const BEHIND_BYTES: usize = 64 * 1024;
/// What may wait for it, or for a controller, at all.
pub(super) const WAITING_MAX: usize = 64 << 20;
/// Messages before others have a turn.
const TURN: usize = 64;
/// It has told its ports by then.
const GREETING: Span = Span::from_s(10);
/// Ports of a switch.
const PORTS_MAX: usize = 4_096;
/// `OFP_VERSION` of OpenFlow 1.3.
const VERSION: u8 = 4;
const CONNECTION: ConnectionId = ConnectionId(0);

/// Has a switch forget its entries, groups and meters.
fn empty(channel: &mut Channel) {
    for body in SliceProxy::emptying() {
        channel.queue(&Message::new(0, body).to_bytes());
    }
}

/// A switch of others.
pub(super) struct Guest {
    pub(super) channel: Channel,
    ports: Vec<Port>,
    /// Which number each name has, as slices are told by names.
    numbers: Vec<(String, u32)>,
    greeted_by: Instant,
    /// The slices in front of it, once its ports are known.
    pub(super) proxy: Option<SliceProxy>,
}

impl Guest {
    /// Greets it, empties it, and asks for its ports.
    pub(super) fn new(peer: String, stream: Stream, now: Instant, poll: &mut PollSet) -> Self {
        let mut channel = Channel::new(CONNECTION, peer, stream, usize::MAX, now, poll);
        // It may stop reading until its own answers are read: these always are.
        channel.answers_max = usize::MAX;
        channel.queue(&Message::new(0, Body::Hello(Hello::default())).to_bytes());
        // Entries of before would go on, whatever ports it has now.
        empty(&mut channel);
        let ports = MultipartRequest::new(RequestBody::PortDescription);
        channel.queue(&Message::new(0, Body::MultipartRequest(ports)).to_bytes());
        Self {
            channel,
            ports: Vec::new(),
            numbers: Vec::new(),
            greeted_by: now + GREETING,
            proxy: None,
        }
    }

    /// Whether so much waits for it that no more is made.
    pub(super) fn is_behind(&self) -> bool {
        self.channel.waiting() > BEHIND_BYTES
    }

    pub(super) fn deadline(&self, now: Instant, probe: Span) -> Instant {
        if self.channel.has_message() {
            return now;
        }
        let silence = self.channel.deadline(probe);
        if self.proxy.is_none() { silence.min(self.greeted_by) } else { silence }
    }

    /// What it has said; whether the slices are in front of it since.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        probe: Span,
        slices: &[ProxiedSlice],
        poll: &PollSet,
        out: &mut ProxyEffects,
    ) -> Result<bool, Ended> {
        if poll.readiness(self.channel.key).readable {
            self.channel.read(now)?;
        }
        self.channel.keep_alive(now, probe)?;
        let mut is_new = false;
        let mut message = Vec::new();
        for _ in 0..TURN {
            if !self.channel.next_message(&mut message) {
                break;
            }
            let is_hello = message[1] == message_type::HELLO;
            if message[0] < VERSION || (message[0] != VERSION && !is_hello) {
                return Err(format!("it speaks version {} of OpenFlow, not 4 (1.3)", message[0]));
            }
            if message[1] == message_type::PORT_STATUS
                && let Err(why) = self.watch_numbers(&message)
            {
                // As far as it reads that before the end; else it is emptied when it comes again.
                empty(&mut self.channel);
                return Err(why);
            }
            match &mut self.proxy {
                Some(proxy) => proxy.from_switch(now, &message, out),
                None => is_new |= self.greet(&message, slices, out)?,
            }
        }
        if self.proxy.is_none() && self.greeted_by <= now {
            return Err("it does not tell its ports".into());
        }
        Ok(is_new)
    }

    /// A message before its ports are known; whether they are since.
    fn greet(
        &mut self,
        bytes: &[u8],
        slices: &[ProxiedSlice],
        out: &mut ProxyEffects,
    ) -> Result<bool, Ended> {
        let Ok(Message { xid, body }) = Message::parse(bytes) else { return Ok(false) };
        let is_last = match body {
            Body::EchoRequest(data) => {
                self.channel.queue(&Message::new(xid, Body::EchoReply(data)).to_bytes());
                return Ok(false);
            }
            Body::MultipartReply(reply) => {
                let ReplyBody::PortDescription(ports) = reply.body else { return Ok(false) };
                self.ports.extend(ports);
                reply.flags & multipart_flag::MORE == 0
            }
            _ => return Ok(false),
        };
        if self.ports.len() > PORTS_MAX {
            return Err(format!("it has more than {PORTS_MAX} ports"));
        }
        if is_last {
            let ports = std::mem::take(&mut self.ports);
            let named =
                ports.iter().filter_map(|it| Some((it.name.as_str()?.to_owned(), it.port_no)));
            self.numbers = named.collect();
            let mut proxy = setup::proxy(slices, ports).map_err(|error| error.to_string())?;
            proxy.start(out);
            self.proxy = Some(proxy);
        }
        Ok(is_last)
    }

    /// Entries name ports by numbers, and slices by names. Where these are no longer those that they were, another port may
    /// have the number of a slice's: the switch has to come anew.
    fn watch_numbers(&self, message: &[u8]) -> Result<(), Ended> {
        let Ok(Message { body: Body::PortStatus(status), .. }) = Message::parse(message) else {
            return Ok(());
        };
        let (name, number) = (status.port.name.as_str().unwrap_or_default(), status.port.port_no);
        let changed = self.numbers.iter().find(|(known, at)| (known == name) != (*at == number));
        match changed {
            Some((known, at)) => Err(format!(
                "its port {at} was {known}, and {name} is its port {number} now: slices begin anew with it"
            )),
            None => Ok(()),
        }
    }

    /// Sends it what it takes.
    pub(super) fn send(&mut self, bytes: &[u8], poll: &mut PollSet) -> Result<(), Ended> {
        self.channel.queue(bytes);
        self.channel.flush(poll)?;
        match self.channel.waiting() > WAITING_MAX {
            true => Err("it does not read what it is sent".into()),
            false => Ok(()),
        }
    }
}
