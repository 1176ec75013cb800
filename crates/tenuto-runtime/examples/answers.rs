//! How many packet-ins a controller answers per second: a switch that does nothing but ask.
//!
//! `cargo run --release -p tenuto-runtime --example answers -- 127.0.0.1:6653 PID [SECONDS] [WINDOW]`, with any
//! learning switch listening there as the process PID. Hosts 1 to 64 are announced first; then each of them sends to
//! each other, `WINDOW` packet-ins under way at once, each with a buffer of its own, by which answers are known.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tenuto_openflow::{
    Body, Features, Framer, Hello, Match, Message, MultipartReply, Oxm, PacketIn, PacketInReason,
    ReplyBody,
};

const HOSTS: u32 = 64;

struct Asker {
    stream: TcpStream,
    framer: Framer,
    sent_at: Vec<Instant>,
    delays_ns: Vec<u64>,
    answered: usize,
}

fn packet_in(number: u32) -> Body {
    let src = number % HOSTS;
    // Never itself.
    let dst = (src + 1 + number / HOSTS % (HOSTS - 1)) % HOSTS;
    let mac = |host: u32| [2, 0, 0, 0, 0, u8::try_from(host).expect("few hosts")];
    let mut data = [mac(dst), mac(src)].concat();
    data.extend([8, 0]);
    data.resize(128, 0);
    Body::PacketIn(PacketIn {
        buffer_id: number,
        total_len: 128,
        reason: PacketInReason::NoMatch,
        table_id: 0,
        cookie: 0,
        match_: Match::from(vec![Oxm::InPort(src + 1)]),
        data,
    })
}

impl Asker {
    fn ask(&mut self, count: usize) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        for _ in 0..count {
            let number = u32::try_from(self.sent_at.len()).expect("a short run");
            bytes.extend(Message::new(number, packet_in(number)).to_bytes());
            self.sent_at.push(Instant::now());
        }
        self.stream.write_all(&bytes)
    }

    /// Reads once and does what a switch does.
    fn listen(&mut self) -> std::io::Result<()> {
        let mut bytes = [0; 64 * 1024];
        let count = self.stream.read(&mut bytes)?;
        if count == 0 {
            return Err(std::io::Error::other("the controller has closed the connection"));
        }
        self.framer.push(&bytes[..count]).expect("messages are taken out");
        while let Some(message) = self.framer.next() {
            let Message { xid, body } = message.expect("OpenFlow");
            let answer = match body {
                Body::FeaturesRequest => Body::FeaturesReply(Features {
                    datapath_id: 1,
                    n_buffers: 1 << 20,
                    n_tables: 1,
                    auxiliary_id: 0,
                    capabilities: 0,
                }),
                Body::MultipartRequest(_) => Body::MultipartReply(MultipartReply {
                    flags: 0,
                    body: ReplyBody::PortDescription(Vec::new()),
                }),
                Body::EchoRequest(data) => Body::EchoReply(data),
                Body::BarrierRequest => Body::BarrierReply,
                Body::FlowMod(it) => {
                    self.note(it.buffer_id);
                    continue;
                }
                Body::PacketOut(it) => {
                    self.note(it.buffer_id);
                    continue;
                }
                _ => continue,
            };
            self.stream.write_all(&Message::new(xid, answer).to_bytes())?;
        }
        Ok(())
    }

    fn note(&mut self, buffer: u32) {
        if let Some(at) = self.sent_at.get(buffer as usize) {
            self.answered += 1;
            self.delays_ns.push(u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
    }
}

/// Processor time of a process, in clock ticks of 10 ms.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<u64>().ok()).sum()
}

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual| args.get(at).and_then(|it| it.parse().ok()).unwrap_or(usual);
    let (pid, seconds, window) = (number(1, 0), number(2, 5), number(3, 256));
    let stream = TcpStream::connect(&args[0])?;
    stream.set_nodelay(true)?;
    let mut asker = Asker {
        stream,
        framer: Framer::new(),
        sent_at: Vec::new(),
        delays_ns: Vec::new(),
        answered: 0,
    };
    asker.stream.write_all(&Message::new(0, Body::Hello(Hello::default())).to_bytes())?;
    // The handshake, and time for whatever the controller sets up.
    asker.stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    while asker.listen().is_ok() {}
    asker.stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    asker.ask(HOSTS as usize)?;
    while asker.answered < HOSTS as usize {
        asker.listen()?;
    }
    asker.delays_ns.clear();
    let (began, before, first) = (Instant::now(), ticks(pid), asker.answered);
    while began.elapsed() < Duration::from_secs(u64::from(seconds)) {
        // At least a quarter of the window at once, so that neither side works byte by byte.
        let free = window as usize - (asker.sent_at.len() - asker.answered);
        if free >= window as usize / 4 {
            asker.ask(free)?;
        }
        asker.listen()?;
    }
    let (took, used) = (began.elapsed().as_secs_f64(), ticks(pid) - before);
    let answers = asker.answered - first;
    asker.delays_ns.sort_unstable();
    let at =
        |permille: usize| asker.delays_ns[(asker.delays_ns.len() - 1) * permille / 1000] / 1000;
    println!(
        "{:.0} answers/s; {:.2} us of processor time each; us under way: median {}, p99 {}, p99.9 {}",
        answers as f64 / took,
        used as f64 * 10_000.0 / answers as f64,
        at(500),
        at(990),
        at(999)
    );
    Ok(())
}
