//! A tool's connection to a switch: asks or commands, and waits for the answers.

use super::endpoint::{Endpoint, Transport};
use super::settings::TlsFiles;
use super::stream::Stream;
use super::tls::Tls;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use tenuto_openflow::{
    Body, Experimenter, Features, Framer, Hello, Message, MultipartRequest, PacketIn, PacketOut,
    ReplyBody, RequestBody, SwitchConfigMsg,
};

/// How long connecting, or one answer, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the parts of one answer may come to: some 100 B for each of a million entries.
const ANSWER_BYTES_MAX: usize = 128 << 20;
/// What a part counts at least: it takes memory, however little is in it.
const PART_BYTES_MIN: usize = 256;
/// How long one look for a packet-in lasts.
const LISTENING: Duration = Duration::from_millis(50);
/// `OFPCML_NO_BUFFER`: packets come whole.
const NO_BUFFER_LENGTH: u16 = 0xffff;

/// A connection to a switch, Tenuto's or another's.
pub struct SwitchClient {
    stream: Stream,
    framer: Framer,
    next_xid: u32,
    name: String,
    heard_bytes: usize,
}

/// What an answer in parts has come to so far.
struct AnswerLength {
    heard_before: usize,
    parts: usize,
}

impl SwitchClient {
    /// Connects and greets.
    ///
    /// # Errors
    /// When the switch cannot be reached, or speaks no OpenFlow 1.3; the text names it.
    pub fn connect(endpoint: &Endpoint, tls: Option<&TlsFiles>) -> io::Result<Self> {
        let name = endpoint.to_string();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        let stream = open(endpoint, tls).map_err(named)?;
        let framer = Framer::new();
        let mut client = Self { stream, framer, next_xid: 1, name: name.clone(), heard_bytes: 0 };
        client.send(0, Body::Hello(Hello::default()))?;
        let until = Instant::now() + PATIENCE;
        loop {
            let message = client.receive(until)?;
            match message.body {
                Body::Hello(hello) if Hello::default().negotiate(&hello).is_some() => break,
                Body::Hello(_) => {
                    return Err(client.wrong("speaks no OpenFlow 1.3"));
                }
                _ => {}
            }
        }
        Ok(client)
    }

    fn wrong(&self, what: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", self.name))
    }

    fn send(&mut self, xid: u32, body: Body) -> io::Result<()> {
        self.stream.write_all(&Message { xid, body }.to_bytes())
    }

    /// The next message; requests to show that we are there are answered on the way.
    fn receive(&mut self, until: Instant) -> io::Result<Message> {
        let mut bytes = [0; 16 * 1024];
        loop {
            while let Some(next) = self.framer.next() {
                match next {
                    Ok(Message { xid, body: Body::EchoRequest(data) }) => {
                        self.send(xid, Body::EchoReply(data))?;
                    }
                    Ok(message) => return Ok(message),
                    Err(error) => return Err(self.wrong(&format!("sent no OpenFlow: {error}"))),
                }
            }
            if Instant::now() >= until {
                let text = format!("{}: does not answer", self.name);
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            let count = match self.stream.read(&mut bytes) {
                Ok(0) => return Err(self.wrong("closed the connection")),
                Ok(count) => count,
                Err(error) if super::stream::is_later(&error) => continue,
                Err(error) => return Err(error),
            };
            self.heard_bytes += count;
            if self.framer.push(&bytes[..count]).is_err() {
                return Err(self.wrong("sent no OpenFlow"));
            }
        }
    }

    /// The answer to a request, be it a refusal.
    fn reply(&mut self, xid: u32, until: Instant) -> io::Result<Body> {
        loop {
            let message = self.receive(until)?;
            if message.xid == xid {
                return Ok(message.body);
            }
        }
    }

    /// The answer to a request that is not refused.
    fn answer(&mut self, xid: u32, until: Instant) -> io::Result<Body> {
        match self.reply(xid, until)? {
            Body::Error(error) => Err(self.wrong(&format!("refused: {error}"))),
            body => Ok(body),
        }
    }

    fn request(&mut self, body: Body) -> io::Result<u32> {
        let xid = self.next_xid;
        self.next_xid += 1;
        self.send(xid, body)?;
        Ok(xid)
    }

    /// An answer in parts begins.
    const fn begin_answer(&self) -> AnswerLength {
        AnswerLength { heard_before: self.heard_bytes, parts: 0 }
    }

    /// Another part of it has come; refuses an answer that has no end.
    fn count_part(&self, length: &mut AnswerLength) -> io::Result<()> {
        length.parts += 1;
        let bytes = self.heard_bytes - length.heard_before;
        if bytes + length.parts * PART_BYTES_MIN <= ANSWER_BYTES_MAX {
            return Ok(());
        }
        Err(self
            .wrong(&format!("has answered with {} parts, {bytes} B, and goes on", length.parts)))
    }

    /// Sends commands and a barrier; when this returns all of them are in effect.
    ///
    /// # Errors
    /// When the switch is gone, refuses one, or does not answer in time.
    pub fn carry_out(&mut self, commands: Vec<Body>) -> io::Result<()> {
        let first = self.next_xid;
        for command in commands {
            self.request(command)?;
        }
        let barrier = self.request(Body::BarrierRequest)?;
        let until = Instant::now() + PATIENCE;
        loop {
            let message = self.receive(until)?;
            match message.body {
                Body::Error(error) if (first..=barrier).contains(&message.xid) => {
                    return Err(self.wrong(&format!("refused: {error}")));
                }
                Body::BarrierReply if message.xid == barrier => return Ok(()),
                _ => {}
            }
        }
    }

    /// Asks to be sent packet-ins, whole, from now on.
    ///
    /// # Errors
    /// As [`Self::carry_out`].
    pub fn listen_to_packets(&mut self) -> io::Result<()> {
        let config = SwitchConfigMsg { flags: 0, miss_send_len: NO_BUFFER_LENGTH };
        self.carry_out(vec![Body::SetConfig(config)])?;
        self.stream.wait_at_most(LISTENING)
    }

    /// The next packet-in; `None` if none comes for a moment.
    ///
    /// # Errors
    /// When the switch is gone.
    pub fn next_packet(&mut self) -> io::Result<Option<PacketIn>> {
        match self.receive(Instant::now() + LISTENING) {
            Ok(Message { body: Body::PacketIn(packet), .. }) => Ok(Some(packet)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a packet out.
    ///
    /// # Errors
    /// When the switch is gone.
    pub fn send_packet(&mut self, packet: PacketOut) -> io::Result<()> {
        self.request(Body::PacketOut(packet)).map(|_| ())
    }

    /// What the switch is.
    ///
    /// # Errors
    /// When it is gone, refuses, does not answer in time, or answers without end.
    pub fn features(&mut self) -> io::Result<Features> {
        let xid = self.request(Body::FeaturesRequest)?;
        match self.answer(xid, Instant::now() + PATIENCE)? {
            Body::FeaturesReply(features) => Ok(features),
            _ => Err(self.wrong("answered something else")),
        }
    }

    /// Asks for statistics; every part of the answer.
    ///
    /// # Errors
    /// As [`Self::features`].
    pub fn ask(&mut self, body: RequestBody) -> io::Result<Vec<ReplyBody>> {
        let xid = self.request(Body::MultipartRequest(MultipartRequest::new(body)))?;
        let (mut parts, mut length) = (Vec::new(), self.begin_answer());
        loop {
            match self.answer(xid, Instant::now() + PATIENCE)? {
                Body::MultipartReply(reply) => {
                    self.count_part(&mut length)?;
                    let has_more = reply.has_more();
                    parts.push(reply.body);
                    if !has_more {
                        return Ok(parts);
                    }
                }
                _ => return Err(self.wrong("answered something else")),
            }
        }
    }

    /// Asks with a message of our own; every part of the answer, of which `has_more` says whether
    /// another follows. `None` if the switch does not know such messages.
    ///
    /// # Errors
    /// As [`Self::features`].
    pub fn ask_ours(
        &mut self,
        message: Experimenter,
        has_more: impl Fn(&Experimenter) -> bool,
    ) -> io::Result<Option<Vec<Experimenter>>> {
        let xid = self.request(Body::Experimenter(message))?;
        let (mut parts, mut length) = (Vec::new(), self.begin_answer());
        loop {
            let message = self.reply(xid, Instant::now() + PATIENCE)?;
            match message {
                Body::Experimenter(part) => {
                    self.count_part(&mut length)?;
                    let is_last = !has_more(&part);
                    parts.push(part);
                    if is_last {
                        return Ok(Some(parts));
                    }
                }
                // Whatever a switch without our messages finds wrong with them.
                Body::Error(_) if parts.is_empty() => return Ok(None),
                Body::Error(error) => return Err(self.wrong(&format!("refused: {error}"))),
                _ => return Err(self.wrong("answered something else")),
            }
        }
    }
}

fn open(endpoint: &Endpoint, tls: Option<&TlsFiles>) -> io::Result<Stream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (endpoint.host.as_str(), endpoint.port).to_socket_addrs()? {
        let socket = match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(socket) => socket,
            Err(error) => {
                last = error;
                continue;
            }
        };
        let stream = match (endpoint.transport, tls) {
            (Transport::Tcp, _) => Stream::tcp(socket)?,
            (Transport::Tls, Some(files)) => Tls::load(files)?.connect(socket, &endpoint.host)?,
            (Transport::Tls, None) => {
                let text = "TLS needs --tls-ca, --tls-cert and --tls-key";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        };
        stream.wait_at_most(PATIENCE)?;
        return Ok(stream);
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use tenuto_openflow::{ModesMessage, MultipartReply, QueuesMessage};

    /// Takes one connection, and answers what follows the hello by `part` until nobody listens.
    fn answer_for_ever(part: Body) -> (Endpoint, std::thread::JoinHandle<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = listener.local_addr().expect("bound").port();
        let endpoint = Endpoint::parse(&format!("tcp:127.0.0.1:{port}")).expect("an endpoint");
        let work = move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let hello = Message { xid: 0, body: Body::Hello(Hello::default()) };
            stream.write_all(&hello.to_bytes()).expect("it listens");
            // The hello of the other side, and its first request, whose number is 1.
            let mut heard = vec![0; 8];
            stream.read_exact(&mut heard).expect("it greets");
            let parts = Message { xid: 1, body: part }.to_bytes().repeat(1_000);
            (1..).find(|_| stream.write_all(&parts).is_err()).expect("it gives up")
        };
        (endpoint, std::thread::spawn(work))
    }

    #[test]
    fn an_answer_without_end_is_refused() {
        let mut reply = MultipartReply::new(ReplyBody::Flow(Vec::new()));
        reply.flags = 1;
        let (endpoint, switch) = answer_for_ever(Body::MultipartReply(reply));
        let mut client = SwitchClient::connect(&endpoint, None).expect("it listens");
        let refused = client.ask(RequestBody::PortDescription).expect_err("no end").to_string();
        assert!(refused.contains("and goes on"), "{refused}");
        drop(client);
        assert!(switch.join().expect("no panic") < 2_000, "thousands of parts");

        let entries = Vec::new();
        let part = ModesMessage::ShadowStatsReply { level: 1, more: true, entries };
        let (endpoint, switch) = answer_for_ever(Body::Experimenter(Experimenter::Modes(part)));
        let mut client = SwitchClient::connect(&endpoint, None).expect("it listens");
        let asked = Experimenter::Queues(QueuesMessage::DetailRequest { port: 1, queue: 0 });
        let refused = client.ask_ours(asked, |_| true).expect_err("no end").to_string();
        assert!(refused.contains("and goes on"), "{refused}");
        drop(client);
        assert!(switch.join().expect("no panic") < 2_000, "thousands of parts");
    }
}
