//! A controller of the tests' own.

use crate::lab::PATIENCE;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tenuto_openflow::constants::port;
use tenuto_openflow::{
    Action, Body, FlowMod, FlowModCommand, Framer, Hello, Instruction, Match, Message, Oxm,
};

/// One OpenFlow connection.
pub(crate) struct Peer<S = TcpStream> {
    pub(crate) stream: S,
    framer: Framer,
    next_xid: u32,
    /// Messages that nobody has asked about yet.
    pub(crate) heard: Vec<Message>,
}

/// Where the tests' controller listens.
pub(crate) const CONTROLLER: &str = "tcp:127.0.0.1:6653";

pub(crate) fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:6653").expect("a network of its own")
}

impl Peer {
    /// Takes the next switch that connects.
    pub(crate) fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = listener.accept().expect("a switch");
        Self::greet(stream)
    }

    /// Connects to the switch.
    pub(crate) fn connect() -> Self {
        Self::connect_to("127.0.0.1:6634")
    }

    /// Connects to the switch at one of its addresses.
    pub(crate) fn connect_to(address: &str) -> Self {
        Self::greet(TcpStream::connect(address).expect("it listens"))
    }

    fn greet(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("TCP");
        stream.set_read_timeout(Some(Duration::from_millis(20))).expect("TCP");
        let mut peer = Self::over(stream);
        peer.send(Body::Hello(Hello::default()));
        peer.wait(|body| matches!(body, Body::Hello(_)));
        peer
    }
}

impl<S: Read + Write> Peer<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self { stream, framer: Framer::new(), next_xid: 1, heard: Vec::new() }
    }

    pub(crate) fn send(&mut self, body: Body) -> u32 {
        let xid = self.next_xid;
        self.next_xid += 1;
        let bytes = Message::new(xid, body).to_bytes();
        self.stream.write_all(&bytes).expect("the switch reads");
        xid
    }

    /// Reads once, at most for a moment; false if the switch has closed the connection.
    pub(crate) fn listen(&mut self) -> bool {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(count) => self.framer.push(&bytes[..count]).expect("OpenFlow"),
            Err(error) => {
                use std::io::ErrorKind as E;
                return matches!(error.kind(), E::WouldBlock | E::TimedOut | E::Interrupted);
            }
        }
        while let Some(message) = self.framer.next() {
            let message = message.expect("OpenFlow");
            match message.body {
                Body::EchoRequest(data) => {
                    let bytes = Message::new(message.xid, Body::EchoReply(data)).to_bytes();
                    self.stream.write_all(&bytes).expect("the switch reads");
                }
                _ => self.heard.push(message),
            }
        }
        true
    }

    /// Waits for a message; those before it are kept.
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Body) -> bool) -> Message {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(place) = self.heard.iter().position(|message| wanted(&message.body)) {
                return self.heard.remove(place);
            }
            assert!(self.listen(), "the switch closed the connection");
            assert!(Instant::now() < until, "never heard it; instead {:?}", self.heard);
        }
    }

    /// Waits until everything before is in effect.
    pub(crate) fn barrier(&mut self) {
        self.send(Body::BarrierRequest);
        self.wait(|body| matches!(body, Body::BarrierReply));
    }

    pub(crate) fn add(&mut self, priority: u16, oxms: Vec<Oxm>, actions: Vec<Action>) {
        self.send(flow(FlowModCommand::Add, priority, oxms, actions));
    }
}

/// A flow-mod for table 0.
pub(crate) fn flow(
    command: FlowModCommand,
    priority: u16,
    oxms: Vec<Oxm>,
    actions: Vec<Action>,
) -> Body {
    Body::FlowMod(FlowMod {
        priority,
        match_: Match::from(oxms),
        instructions: vec![Instruction::ApplyActions(actions)],
        ..FlowMod::new(command, 0)
    })
}

pub(crate) const fn out(port: u32) -> Action {
    Action::Output { port, max_len: 0 }
}

pub(crate) const fn to_controller() -> Action {
    Action::Output { port: port::CONTROLLER, max_len: 0xffff }
}

/// Hosts 1 and 2 reach each other.
pub(crate) fn join_two<S: Read + Write>(peer: &mut Peer<S>) {
    peer.add(10, vec![Oxm::InPort(1)], vec![out(2)]);
    peer.add(10, vec![Oxm::InPort(2)], vec![out(1)]);
    peer.barrier();
}
