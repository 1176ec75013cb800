//! A switch that asks: one connection, the packets that it waits with, and its manners towards a controller.

use super::question::{Question, Said, address, first};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;
use tenuto_io::{Interest, PollKey, PollSet};
use tenuto_openflow::constants::capability;
use tenuto_openflow::{
    Body, ControllerRole, Features, Hello, Message, MultipartReply, ReplyBody, RequestBody,
    SwitchConfigMsg,
};

/// Hosts of a switch, each at a port of its own.
pub(super) const HOSTS: u32 = 64;
/// Buffers of a switch: questions under way at once.
const BUFFERS: u32 = 4_096;
const BUFFERS_LOG2: u32 = 12;
/// Bytes taken from a connection at once.
const INPUT_BYTES: usize = 64 * 1024;
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
const BROADCAST: [u8; 6] = [0xff; 6];

/// A buffer with a packet: when its question was due, and the number that tells it from earlier ones.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    due_ns: u64,
    times: u32,
    is_used: bool,
}

/// One emulated switch.
pub(super) struct EmulatedSwitch {
    number: u32,
    stream: TcpStream,
    key: PollKey,
    input: Vec<u8>,
    read: Vec<u8>,
    output: Vec<u8>,
    question: Question,
    buffers: Vec<Buffer>,
    free: Vec<u32>,
    /// Of all questions: which pair of hosts is next.
    asked: u32,
    pub(super) has_features_asked: bool,
}

impl EmulatedSwitch {
    /// Connects and says hello.
    pub(super) fn connect(number: u32, to: SocketAddr, poll: &mut PollSet) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&to, CONNECT_PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let key = poll.add(stream.as_raw_fd(), Interest::Read);
        let mut it = Self {
            number,
            stream,
            key,
            input: Vec::new(),
            read: vec![0; INPUT_BYTES],
            output: Vec::new(),
            question: Question::new(),
            buffers: vec![Buffer::default(); BUFFERS as usize],
            free: (0..BUFFERS).rev().collect(),
            asked: 0,
            has_features_asked: false,
        };
        it.say(0, Body::Hello(Hello::default()));
        Ok(it)
    }

    /// Questions under way.
    pub(super) fn outstanding(&self) -> usize {
        BUFFERS as usize - self.free.len()
    }

    /// Has the controller learn of a host: a packet of it to all. Whether there was a buffer.
    pub(super) fn introduce(&mut self, host: u32, now_ns: u64) -> bool {
        self.put((host, BROADCAST), now_ns)
    }

    /// Asks about a packet between two hosts; whether there was a buffer.
    pub(super) fn ask(&mut self, due_ns: u64) -> bool {
        let from = self.asked % HOSTS;
        // Never to itself: 1 to 63 places further.
        let to = (from + 1 + self.asked / HOSTS % (HOSTS - 1)) % HOSTS;
        let to = address(self.number, to);
        let is_put = self.put((from, to), due_ns);
        self.asked = self.asked.wrapping_add(u32::from(is_put));
        is_put
    }

    fn put(&mut self, (from, to): (u32, [u8; 6]), due_ns: u64) -> bool {
        let Some(place) = self.free.pop() else { return false };
        let buffer = &mut self.buffers[place as usize];
        // One bit is left out, so that no number is that of "no buffer".
        let times = (buffer.times + 1) & (u32::MAX >> (BUFFERS_LOG2 + 1));
        *buffer = Buffer { due_ns, times, is_used: true };
        let id = times << BUFFERS_LOG2 | place;
        let from = (address(self.number, from), from + 1);
        self.question.ask(&mut self.output, id, from, to);
        true
    }

    /// Forgets all questions; how many there were. Answers that still come are of no question.
    pub(super) fn give_up(&mut self) -> u64 {
        let lost = self.outstanding() as u64;
        self.free = (0..BUFFERS).rev().collect();
        self.buffers.iter_mut().for_each(|it| it.is_used = false);
        lost
    }

    /// Sends what there is room for.
    pub(super) fn send(&mut self, poll: &mut PollSet) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.output.len() {
            match self.stream.write(&self.output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        self.output.drain(..sent);
        let wants = if self.output.is_empty() { Interest::Read } else { Interest::ReadWrite };
        poll.set_interest(self.key, wants);
        Ok(())
    }

    /// Reads once, if there is something; tells when each question that was answered had been due.
    pub(super) fn receive(
        &mut self,
        poll: &PollSet,
        mut answered: impl FnMut(u64),
    ) -> io::Result<()> {
        if !poll.readiness(self.key).readable {
            return Ok(());
        }
        match self.stream.read(&mut self.read) {
            Ok(0) => return Err(io::Error::other("the controller has closed the connection")),
            Ok(count) => self.input.extend_from_slice(&self.read[..count]),
            Err(error) if is_later(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let input = std::mem::take(&mut self.input);
        let mut taken = 0;
        while let Some(found) = first(&input[taken..]) {
            let (said, length) =
                found.map_err(|()| io::Error::other("the controller sends no OpenFlow"))?;
            taken += length;
            match said {
                Said::Answer(id) => self.take(id).into_iter().for_each(&mut answered),
                Said::Other(message) => self.behave(message)?,
            }
        }
        self.input = input;
        self.input.drain(..taken);
        Ok(())
    }

    /// The instant at which the question of a buffer was due; that buffer is free again.
    fn take(&mut self, id: u32) -> Option<u64> {
        let place = id & (BUFFERS - 1);
        let buffer = self.buffers.get_mut(place as usize)?;
        if !buffer.is_used || buffer.times != id >> BUFFERS_LOG2 {
            return None;
        }
        buffer.is_used = false;
        self.free.push(place);
        Some(buffer.due_ns)
    }

    fn say(&mut self, xid: u32, body: Body) {
        Message::new(xid, body).emit(&mut self.output);
    }

    /// What any switch answers.
    fn behave(&mut self, bytes: &[u8]) -> io::Result<()> {
        let wrong = |error| io::Error::other(format!("the controller sends no OpenFlow: {error}"));
        let Message { xid, body } = Message::parse(bytes).map_err(wrong)?;
        let answer = match body {
            Body::FeaturesRequest => {
                self.has_features_asked = true;
                Body::FeaturesReply(self.features())
            }
            Body::EchoRequest(data) => Body::EchoReply(data),
            Body::BarrierRequest => Body::BarrierReply,
            Body::RoleRequest(mut it) => {
                if it.role == ControllerRole::NoChange {
                    it.role = ControllerRole::Equal;
                }
                Body::RoleReply(it)
            }
            Body::GetConfigRequest => {
                Body::GetConfigReply(SwitchConfigMsg { flags: 0, miss_send_len: 128 })
            }
            Body::MultipartRequest(request) => match described(&request.body) {
                Some(body) => Body::MultipartReply(MultipartReply { flags: 0, body }),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        self.say(xid, answer);
        Ok(())
    }

    fn features(&self) -> Features {
        Features {
            datapath_id: u64::from(self.number) + 1,
            n_buffers: BUFFERS,
            n_tables: 1,
            auxiliary_id: 0,
            capabilities: capability::FLOW_STATS,
        }
    }
}

/// The description of a switch without anything to tell of.
fn described(request: &RequestBody) -> Option<ReplyBody> {
    Some(match request {
        RequestBody::PortDescription => ReplyBody::PortDescription(Vec::new()),
        RequestBody::Flow(_) => ReplyBody::Flow(Vec::new()),
        _ => return None,
    })
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
