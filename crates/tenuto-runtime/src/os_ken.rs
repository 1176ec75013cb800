//! A controller of others: os-ken, a process of its own, with a program that changes the mode as
//! [`tenuto_controller::ModeChanger`] does.

use crate::lines::LineReader;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use tenuto_controller::ModeCommands;
use tenuto_openflow::{Body, Experimenter, Message, ModeEvent, ModeEventKind, ModesMessage};
use tenuto_units::{Instant, Span};
use tenuto_world::ControlStep;

const PROGRAM: &str = include_str!("os_ken_changer.py");
/// Version, type, length and transaction id; behind them experimenter, its type, and the kind of event.
const HEADER_BYTES: usize = 8;
const EVENT_BYTES: usize = 9;

/// The first line that the program is told.
#[derive(Serialize)]
struct Order {
    address: IpAddr,
    port: u16,
    rest_s: f64,
    violation: String,
    switches: BTreeMap<u64, Commands>,
}

/// Messages in hexadecimal.
#[derive(Serialize)]
struct Commands {
    install: Vec<String>,
    raise: Vec<String>,
    lower: Vec<String>,
}

impl Commands {
    fn of(commands: &ModeCommands) -> Self {
        let all = |list: &[Body]| list.iter().map(|body| hex(&bytes(body))).collect();
        let ModeCommands { install, raise, lower } = commands;
        Self { install: all(install), raise: all(raise), lower: all(lower) }
    }
}

fn bytes(body: &Body) -> Vec<u8> {
    Message { xid: 0, body: body.clone() }.to_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How the message of a switch that tells of an excess begins behind its header.
fn violation() -> String {
    let event = ModeEvent {
        kind: ModeEventKind::Violation,
        generation: 0,
        epoch: 0,
        from_level: 0,
        to_level: 0,
        monitor_id: 0,
        at_ns: 0,
        purged_frames: 0,
    };
    let body = Body::Experimenter(Experimenter::Modes(ModesMessage::ModeEvent(event)));
    hex(&bytes(&body)[HEADER_BYTES..][..EVENT_BYTES])
}

/// What the program says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Every switch has what it begins with.
    Ready,
    /// So far it was at that time.
    Step(ControlStep, Instant),
    /// What it could not do.
    Trouble(String),
}

impl Said {
    fn parse(line: &str) -> Self {
        let step = |word| {
            Some(match word {
                "raising" => ControlStep::Raising,
                "raised" => ControlStep::Raised,
                "lowering" => ControlStep::Lowering,
                "lowered" => ControlStep::Lowered,
                _ => return None,
            })
        };
        let mut words = line.split(' ');
        let (word, at) = (words.next().unwrap_or(""), words.next().and_then(|at| at.parse().ok()));
        match (word, step(word), at) {
            ("ready", _, Some(_)) => Self::Ready,
            (_, Some(step), Some(at)) => Self::Step(step, Instant::from_ns(at)),
            _ => Self::Trouble(format!("os-ken: {line}")),
        }
    }
}

/// The running program, which ends with this.
pub(crate) struct OsKen {
    child: Child,
    reader: LineReader,
}

impl OsKen {
    /// Starts it: it listens at `at` for switches with these datapath ids, and `rest` after
    /// a raise it brings them back.
    pub(crate) fn start(
        python: &Path,
        (at, rest): (SocketAddr, Span),
        switches: impl IntoIterator<Item = (u64, ModeCommands)>,
    ) -> io::Result<Self> {
        let order = Order {
            address: at.ip(),
            port: at.port(),
            rest_s: rest.as_ns() as f64 / 1e9,
            violation: violation(),
            switches: switches.into_iter().map(|(id, it)| (id, Commands::of(&it))).collect(),
        };
        let (mut stream, theirs) = UnixStream::pair()?;
        let mut command = Command::new(python);
        command.args(["-c", PROGRAM]);
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("OSKEN_HUB_TYPE", "eventlet");
        // What its framework thinks of that is nobody's business here.
        command.env("PYTHONWARNINGS", "ignore");
        command.stdin(OwnedFd::from(theirs.try_clone()?)).stdout(OwnedFd::from(theirs));
        let child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", python.display()))
        })?;
        // Ours are all ends but two: they go with the command, so that its end is heard.
        drop(command);
        let mut line = serde_json::to_vec(&order)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        Ok(Self { child, reader: LineReader::new(stream)? })
    }

    /// What to wait for.
    pub(crate) fn fd(&self) -> RawFd {
        self.reader.fd()
    }

    /// What it has said since.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn read(&mut self) -> io::Result<Vec<Said>> {
        let mut said = Vec::new();
        let is_open = self.reader.read(|line| {
            said.push(Said::parse(&String::from_utf8_lossy(line)));
        })?;
        match is_open {
            true => Ok(said),
            false => Err(io::Error::other(format!("os-ken has ended: {said:?}"))),
        }
    }
}

impl Drop for OsKen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_says_is_read() {
        let at = Instant::from_ns(12);
        let said = ["ready 12", "raising 12", "lowered 12"].map(Said::parse);
        let step = |step| Said::Step(step, at);
        let expected = [Said::Ready, step(ControlStep::Raising), step(ControlStep::Lowered)];
        assert_eq!(said, expected);
        for other in ["", "raised", "raised soon", "refused type 5 code 2"] {
            assert!(matches!(Said::parse(other), Said::Trouble(text) if text.contains(other)));
        }
    }

    /// The experimenter's number, the type of a mode event, and the kind: whatever else it carries.
    #[test]
    fn a_violation_is_told_apart_by_its_first_bytes() {
        let of = |kind, at_ns| {
            let event = ModeEvent {
                kind,
                generation: 7,
                epoch: 7,
                from_level: 0,
                to_level: 1,
                monitor_id: 3,
                at_ns,
                purged_frames: 2,
            };
            let body = Body::Experimenter(Experimenter::Modes(ModesMessage::ModeEvent(event)));
            hex(&bytes(&body)[HEADER_BYTES..])
        };
        assert!(of(ModeEventKind::Violation, 99).starts_with(&violation()));
        assert!(!of(ModeEventKind::Raised, 99).starts_with(&violation()));
    }
}
