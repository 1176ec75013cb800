//! A tool's connection to a switch: asks or commands, and waits for the answers.

use super::endpoint::{Endpoint, Transport};
use super::settings::TlsFiles;
use super::stream::Stream;
use super::tls::Tls;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use tenuto_openflow::{
    Body, Features, Framer, Hello, Message, MultipartRequest, PacketIn, PacketOut, ReplyBody,
    RequestBody, SwitchConfigMsg,
};

/// How long connecting, or one answer, may take.
const PATIENCE: Duration = Duration::from_secs(10);

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
        let mut client = Self { stream, framer: Framer::new(), next_xid: 1, name: name.clone() };
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
            if self.framer.push(&bytes[..count]).is_err() {
                return Err(self.wrong("sent no OpenFlow"));
            }
        }
    }

    /// The answer to a request.
    fn answer(&mut self, xid: u32, until: Instant) -> io::Result<Body> {
        loop {
            let message = self.receive(until)?;
            match message.body {
                Body::Error(error) if message.xid == xid => {
                    return Err(self.wrong(&format!("refused: {error}")));
                }
                body if message.xid == xid => return Ok(body),
                _ => {}
            }
        }
    }

    fn request(&mut self, body: Body) -> io::Result<u32> {
        let xid = self.next_xid;
        self.next_xid += 1;
        self.send(xid, body)?;
        Ok(xid)
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
    /// When it is gone, refuses, or does not answer in time.
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
        let mut parts = Vec::new();
        loop {
            match self.answer(xid, Instant::now() + PATIENCE)? {
                Body::MultipartReply(reply) => {
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
