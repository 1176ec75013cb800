//! An application that is written in Python.

use super::worker::{Worker, python};
use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tenuto_controller::reactive::{Answer, Packet, ReactiveApp};
use tenuto_openflow::{
    Body, ErrorMessage, FlowRemoved, FlowStats, Message, MultipartReply, Port, PortStats,
    PortStatus, ReplyBody,
};
use tenuto_units::Span;

/// What is done with the state around an event.
const LOAD: u8 = 1;
const SAVE: u8 = 2;
/// Several requests, each with its length in front.
const BATCH: u8 = 4;
/// Events of a batch at most.
const BATCH_MAX: usize = 256;
/// Kinds of events, as `tenuto.worker` numbers them; nothing but the state is asked for with the first.
const NOTHING: u8 = 0;
const SWITCH_UP: u8 = 1;
const SWITCH_DOWN: u8 = 2;
const PORT_STATUS: u8 = 3;
const PACKET_IN: u8 = 4;
const FLOW_REMOVED: u8 = 5;
const PORT_STATS: u8 = 6;
const FLOW_STATS: u8 = 7;
const REFUSED: u8 = 8;
const TIMER: u8 = 9;

/// Where the state is.
enum State {
    /// In the worker alone, which serves nobody else.
    Worker,
    /// Here, as bytes: the worker is given it with each event, twice, and has to answer the same.
    Bytes(Vec<u8>),
}

/// An application of a worker process. A copy shares the worker and has a state of its own.
pub struct PythonApp {
    worker: Arc<Mutex<Worker>>,
    state: State,
}

impl PythonApp {
    /// Starts the program of a file, its state kept in the worker: fast, for live use.
    ///
    /// # Errors
    /// When there is no Python, or the program fails; with the program's file and line.
    pub fn start(program: &Path) -> io::Result<Self> {
        let worker = Worker::start(&python(), program)?;
        Ok(Self { worker: Arc::new(Mutex::new(worker)), state: State::Worker })
    }

    /// This application with its state outside of the worker, so that it can be forked. Each event is handled
    /// twice from the same state; a handler that does not do the same both times is a fault.
    ///
    /// # Errors
    /// When the state cannot be saved.
    pub fn checked(self) -> Result<Self, String> {
        let state = self.saved()?;
        Ok(Self { state: State::Bytes(state), ..self })
    }

    /// The state as bytes.
    ///
    /// # Errors
    /// When `save()` fails.
    pub fn saved(&self) -> Result<Vec<u8>, String> {
        match &self.state {
            State::Bytes(bytes) => Ok(bytes.clone()),
            State::Worker => {
                let answer = self.ask(&request(SAVE, None, (NOTHING, 0, 0), &[]))?;
                // No items: the state is what follows their number.
                Ok(answer.get(4..).unwrap_or_default().to_vec())
            }
        }
    }

    fn ask(&self, request: &[u8]) -> Result<Vec<u8>, String> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner).ask(request)
    }

    fn tell(&mut self, kind: u8, datapath: u64, data: &[u8], answer: &mut Answer) {
        if let Err(why) = self.handle(kind, datapath, data, answer) {
            answer.fail(why);
        }
    }

    fn handle(
        &mut self,
        kind: u8,
        datapath: u64,
        data: &[u8],
        answer: &mut Answer,
    ) -> Result<(), String> {
        let event = (kind, datapath, answer.now().as_ns());
        let State::Bytes(before) = &self.state else {
            let bytes = self.ask(&request(0, None, event, data))?;
            return take(&bytes, answer).map(|_| ());
        };
        let request = request(LOAD | SAVE, Some(before), event, data);
        let bytes = self.ask(&request)?;
        if self.ask(&request)? != bytes {
            return Err(
                "not deterministic: a handler that ran twice from one state, with one event, \
                        answered or remembered something else"
                    .to_owned(),
            );
        }
        let after = take(&bytes, answer)?.to_vec();
        self.state = State::Bytes(after);
        Ok(())
    }
}

impl PythonApp {
    /// Asks about several packets at once.
    fn handle_all(
        &self,
        datapath: u64,
        packets: &[Packet<'_>],
        answers: &mut [Answer],
    ) -> Result<(), String> {
        let mut all = vec![BATCH];
        all.extend(length(packets.len()));
        for (packet, answer) in packets.iter().zip(answers.iter()) {
            let event = (PACKET_IN, datapath, answer.now().as_ns());
            let one = request(0, None, event, &bytes(Body::PacketIn(packet.message.clone())));
            all.extend(length(one.len()));
            all.extend(one);
        }
        let replies = self.ask(&all)?;
        let cut = || "the worker's answer is cut off".to_owned();
        let mut rest = &replies[..];
        for answer in answers {
            let (&[status, a, b, c, d], behind) = rest.split_first_chunk().ok_or_else(cut)?;
            let length = u32::from_be_bytes([a, b, c, d]) as usize;
            let (reply, behind) = behind.split_at_checked(length).ok_or_else(cut)?;
            rest = behind;
            let taken = match status {
                0 => take(reply, answer).map(|_| ()),
                _ => Err(String::from_utf8_lossy(reply).into_owned()),
            };
            if let Err(why) = taken {
                answer.fail(why);
            }
        }
        Ok(())
    }
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}

fn request(flags: u8, state: Option<&[u8]>, event: (u8, u64, u64), data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![flags];
    if let Some(state) = state {
        let length = u32::try_from(state.len()).unwrap_or(u32::MAX);
        bytes.extend(length.to_be_bytes());
        bytes.extend(state);
    }
    let (kind, datapath, now_ns) = event;
    bytes.push(kind);
    bytes.extend(datapath.to_be_bytes());
    bytes.extend(now_ns.to_be_bytes());
    bytes.extend(data);
    bytes
}

/// Fills the answer with the items of a worker, and gives the state behind them.
fn take<'a>(bytes: &'a [u8], answer: &mut Answer) -> Result<&'a [u8], String> {
    let cut = || "the worker's answer is cut off".to_owned();
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    for _ in 0..u32::from_be_bytes(*count) {
        let (head, behind) = rest.split_first_chunk::<13>().ok_or_else(cut)?;
        let [kind, number @ .., a, b, c, d] = *head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let (data, behind) = behind.split_at_checked(length).ok_or_else(cut)?;
        item(kind, u64::from_be_bytes(number), data, answer)?;
        rest = behind;
    }
    Ok(rest)
}

fn item(kind: u8, number: u64, data: &[u8], answer: &mut Answer) -> Result<(), String> {
    let text = || String::from_utf8_lossy(data).into_owned();
    match kind {
        1 => message(number, data, answer)?,
        2 => answer.start_timer(&text(), Span::from_ns(number)),
        3 => answer.stop_timer(&text()),
        4 => answer.note(text()),
        5 => {
            let (port, to) = data.split_first_chunk::<4>().ok_or("a lead is cut off")?;
            let to = to.first_chunk::<8>().ok_or("a lead is cut off")?;
            answer.lead(number, u32::from_be_bytes(*port), u64::from_be_bytes(*to));
        }
        other => return Err(format!("the worker answers with an item of kind {other}")),
    }
    Ok(())
}

fn message(datapath: u64, bytes: &[u8], answer: &mut Answer) -> Result<(), String> {
    let message =
        Message::parse(bytes).map_err(|error| format!("a message is no OpenFlow: {error}"))?;
    match message.body {
        Body::FlowMod(flow_mod) => answer.flow_mod(datapath, flow_mod),
        Body::PacketOut(packet_out) => answer.packet_out(datapath, packet_out),
        Body::GroupMod(group_mod) => answer.group_mod(datapath, group_mod),
        Body::MeterMod(meter_mod) => answer.meter_mod(datapath, meter_mod),
        Body::MultipartRequest(request) => answer.ask(datapath, request.body),
        _ => {
            return Err(
                "an application sends flow-mods, packet-outs, groups, meters, requests".into()
            );
        }
    }
    Ok(())
}

fn bytes(body: Body) -> Vec<u8> {
    Message::new(0, body).to_bytes()
}

fn reply(body: ReplyBody) -> Vec<u8> {
    bytes(Body::MultipartReply(MultipartReply { flags: 0, body }))
}

impl ReactiveApp for PythonApp {
    fn switch_up(&mut self, datapath: u64, ports: &[Port], answer: &mut Answer) {
        // A message has room for a thousand ports.
        let ports = ports.iter().take(1_000).copied().collect();
        self.tell(SWITCH_UP, datapath, &reply(ReplyBody::PortDescription(ports)), answer);
    }

    fn switch_down(&mut self, datapath: u64, answer: &mut Answer) {
        self.tell(SWITCH_DOWN, datapath, &[], answer);
    }

    fn port_status(&mut self, datapath: u64, status: &PortStatus, answer: &mut Answer) {
        self.tell(PORT_STATUS, datapath, &bytes(Body::PortStatus(*status)), answer);
    }

    fn packet_ins(&mut self, datapath: u64, packets: &[Packet<'_>], answers: &mut [Answer]) {
        let is_checked = matches!(self.state, State::Bytes(_));
        for (packets, answers) in packets.chunks(BATCH_MAX).zip(answers.chunks_mut(BATCH_MAX)) {
            if is_checked || packets.len() == 1 {
                for (packet, answer) in packets.iter().zip(answers) {
                    self.packet_in(datapath, packet, answer);
                }
                continue;
            }
            if let Err(why) = self.handle_all(datapath, packets, answers) {
                // Whoever was not answered is answered with nothing.
                answers.iter_mut().for_each(|answer| answer.fail(why.clone()));
            }
        }
    }

    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        self.tell(PACKET_IN, datapath, &bytes(Body::PacketIn(packet.message.clone())), answer);
    }

    fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved, answer: &mut Answer) {
        self.tell(FLOW_REMOVED, datapath, &bytes(Body::FlowRemoved(removed.clone())), answer);
    }

    fn port_stats(&mut self, datapath: u64, stats: &[PortStats], answer: &mut Answer) {
        self.tell(PORT_STATS, datapath, &reply(ReplyBody::PortStats(stats.to_vec())), answer);
    }

    fn flow_stats(&mut self, datapath: u64, stats: &[FlowStats], answer: &mut Answer) {
        self.tell(FLOW_STATS, datapath, &reply(ReplyBody::Flow(stats.to_vec())), answer);
    }

    fn refused(&mut self, datapath: u64, error: &ErrorMessage, answer: &mut Answer) {
        self.tell(REFUSED, datapath, &bytes(Body::Error(error.clone())), answer);
    }

    fn timer(&mut self, name: &str, answer: &mut Answer) {
        self.tell(TIMER, 0, name.as_bytes(), answer);
    }
}

impl Clone for PythonApp {
    fn clone(&self) -> Self {
        // A worker that cannot save has an empty state, which it will refuse to load.
        let state = State::Bytes(self.saved().unwrap_or_default());
        Self { worker: Arc::clone(&self.worker), state }
    }
}

impl PartialEq for PythonApp {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.worker, &other.worker) && self.saved() == other.saved()
    }
}

impl Eq for PythonApp {}

impl Hash for PythonApp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.saved().hash(state);
    }
}

impl Debug for PythonApp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.saved() {
            Ok(state) => write!(f, "PythonApp {}", String::from_utf8_lossy(&state)),
            Err(why) => write!(f, "PythonApp (no state: {why})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use tenuto_controller::reactive::Reactive;
    use tenuto_openflow::constants::NO_BUFFER;
    use tenuto_openflow::{FlowMod, Match, Oxm, PacketIn, PacketInReason, PacketOut};
    use tenuto_units::Instant;

    fn example() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/examples/learning_switch.py")
    }

    /// A program of a test in a file of its own, which goes with the test.
    struct Program(PathBuf);

    impl Program {
        fn new(name: &str, text: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("tenuto-{}-{name}.py", std::process::id()));
            std::fs::write(&path, text).expect("a temporary folder");
            Self(path)
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn started(program: &Path) -> Option<PythonApp> {
        match PythonApp::start(program) {
            Ok(app) => Some(app),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                println!("SKIPPED: no Python here: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn asked(src: u8, dst: u8, in_port: u32, buffer_id: u32) -> Body {
        let data = [2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, src, 8, 0, 1, 2, 3].to_vec();
        Body::PacketIn(PacketIn {
            buffer_id,
            total_len: 60,
            reason: PacketInReason::NoMatch,
            table_id: 0,
            cookie: 0,
            match_: Match::from(vec![Oxm::InPort(in_port)]),
            data,
        })
    }

    fn on(app: PythonApp) -> Reactive<Box<dyn ReactiveApp>> {
        Reactive::new(Box::new(app), 1)
    }

    /// Packets that came together are answered as one after the other, by a worker that is asked once; one that fails
    /// keeps none of the others from being answered.
    #[test]
    fn packets_that_came_together_are_answered_like_one_after_the_other() {
        let Some(together) = started(&example()) else { return };
        let (mut together, mut alone) = (on(together), on(started(&example()).expect("as before")));
        let bodies: Vec<Body> = (0..600_u32)
            .map(|number| {
                let host = |by: u32| u8::try_from(number * by % 7).expect("few");
                asked(host(1), host(3), 1 + number % 7, number)
            })
            .collect();
        let one_by_one: Vec<_> =
            bodies.iter().map(|body| alone.receive(Instant::ZERO, 5, body)).collect();
        assert_eq!(together.receive_all(Instant::ZERO, 5, &bodies), one_by_one);
        let picky = Program::new(
            "picky",
            "from tenuto import App, FLOOD, output\nclass Picky(App):\n    def packet_in(self, datapath, packet, answer):\n        \
             if packet.in_port == 2:\n            raise ValueError('two')\n        answer.send([output(FLOOD)])\n",
        );
        let mut picky = on(started(&picky.0).expect("as before"));
        let found = picky.receive_all(Instant::ZERO, 5, &bodies[..3]);
        let faults: Vec<bool> = found.iter().map(|it| it.fault.is_some()).collect();
        assert_eq!(faults, [false, true, false]);
        assert!(found[1].fault.as_ref().is_some_and(|why| why.contains("two")), "{found:?}");
        assert_eq!(found[2].messages.len(), 1);
    }

    /// Flooded; then an entry back, with the packet; the same whether the state is here or there.
    #[test]
    fn the_learning_switch_of_the_tutorial_learns() {
        let Some(live) = started(&example()) else { return };
        let checked = started(&example()).expect("as before").checked().expect("it can be saved");
        for mut app in [on(live), on(checked)] {
            let first = app.receive(Instant::ZERO, 5, &asked(1, 2, 4, NO_BUFFER));
            assert_eq!(first.fault, None);
            let [(5, Body::PacketOut(PacketOut { actions, data, in_port: 4, .. }))] =
                &first.messages[..]
            else {
                panic!("{first:?}")
            };
            let flood = tenuto_openflow::constants::port::FLOOD;
            assert_eq!(
                (&actions[..], data.len()),
                (&[tenuto_controller::reactive::output(flood)][..], 17)
            );
            let second = app.receive(Instant::ZERO, 5, &asked(2, 1, 7, 9));
            let [(5, Body::FlowMod(FlowMod { match_, buffer_id: 9, idle_timeout: 60, .. }))] =
                &second.messages[..]
            else {
                panic!("{second:?}")
            };
            assert_eq!(
                match_.to_string(),
                "in_port=7,dl_dst=02:00:00:00:00:01,dl_src=02:00:00:00:00:02"
            );
            let shown = format!("{:?}", app.app());
            assert!(shown.contains("'seen'") && shown.contains("02:00:00:00:00:02"), "{shown}");
        }
    }

    #[test]
    fn a_copy_has_a_state_of_its_own() {
        let Some(app) = started(&example()) else { return };
        let mut one: Box<dyn ReactiveApp> = Box::new(app.checked().expect("it can be saved"));
        let other = one.clone();
        assert!(*one == *other);
        let body = asked(1, 2, 4, 9);
        let Body::PacketIn(message) = &body else { panic!("{body:?}") };
        let packet = Packet::of(message).expect("it is one");
        let mut answer = Answer::new(5, None);
        one.packet_in(5, &packet, &mut answer);
        assert!(*one != *other);
        let mut other = other;
        other.packet_in(5, &packet, &mut answer);
        assert!(*one == *other, "the order of events decides, not who was first");
    }

    #[test]
    fn errors_name_the_line_of_the_program() {
        let wrong = Program::new(
            "wrong",
            "from tenuto import App\n\n\nclass Wrong(App):\n    def packet_in(self, datapath, packet, answer):\n        answer.send([self.nothing])\n",
        );
        let Some(app) = started(&wrong.0) else { return };
        let mut app = on(app);
        let fault = app.receive(Instant::ZERO, 5, &asked(1, 2, 4, 9)).fault.expect("it fails");
        let expected = format!("{}:6: in packet_in: AttributeError", wrong.0.display());
        assert!(fault.starts_with(&expected), "{fault}");
        // It goes on.
        assert!(app.receive(Instant::ZERO, 5, &asked(1, 2, 4, 9)).fault.is_some());
        let broken = Program::new("broken", "from tenuto import App\nclass Broken(App:\n");
        let error = PythonApp::start(&broken.0).expect_err("a syntax error").to_string();
        assert!(error.contains(":2: SyntaxError"), "{error}");
        let empty = Program::new("empty", "x = 1\n");
        let error = PythonApp::start(&empty.0).expect_err("no application").to_string();
        assert!(error.contains("one class of tenuto.App"), "{error}");
    }

    #[test]
    fn what_is_not_deterministic_is_told() {
        let random = Program::new(
            "random",
            "import random\nfrom tenuto import App, output\n\n\nclass Random(App):\n    def packet_in(self, datapath, packet, answer):\n        answer.send([output(random.randrange(1 << 30))])\n",
        );
        let Some(app) = started(&random.0) else { return };
        let mut app = on(app.checked().expect("it can be saved"));
        let fault = app.receive(Instant::ZERO, 5, &asked(1, 2, 4, 9)).fault.expect("it differs");
        assert!(fault.contains("not deterministic"), "{fault}");
    }

    /// A worker that ends, or prints, does no harm to the controller.
    #[test]
    fn a_worker_may_print_and_die() {
        let dying = Program::new(
            "dying",
            "import os\nfrom tenuto import App\n\n\nclass Dying(App):\n    def packet_in(self, datapath, packet, answer):\n        print('here')\n        answer.note('there')\n\n    def timer(self, name, answer):\n        os._exit(1)\n\n    def switch_down(self, datapath, answer):\n        answer.start_timer('end', 1.5)\n",
        );
        let Some(app) = started(&dying.0) else { return };
        let mut app = on(app);
        let said = app.receive(Instant::ZERO, 5, &asked(1, 2, 4, 9));
        assert_eq!((said.notes, said.fault), (vec!["there".to_owned()], None));
        let _ = app.switch_down(Instant::ZERO, 5);
        assert_eq!(app.next_deadline(), Some(("end", Instant::from_ns(1_500_000_000))));
        for _ in 0..2 {
            let fault = app.fire("end", Instant::ZERO).fault;
            assert!(fault.is_none_or(|fault| fault.contains("is gone")));
        }
        let fault = app.receive(Instant::ZERO, 5, &asked(1, 2, 4, 9)).fault;
        assert!(fault.is_some_and(|fault| fault.contains("is gone")));
    }

    #[test]
    fn an_answer_that_is_cut_off_is_refused() {
        let mut whole = vec![0, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
        whole.extend(*b"hi");
        for cut in 0..whole.len() {
            assert!(take(&whole[..cut], &mut Answer::new(1, None)).is_err(), "{cut}");
        }
        assert_eq!(take(&whole, &mut Answer::new(1, None)), Ok(&[][..]));
        whole[4] = 9;
        assert!(take(&whole, &mut Answer::new(1, None)).is_err());
        assert!(item(1, 1, &[4, 14, 0, 8, 0, 0, 0, 0], &mut Answer::new(1, None)).is_err());
    }
}
