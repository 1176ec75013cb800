//! A machine of a tenant, from inside its sandbox: image, start with a limit of time and further tries, what it says, its
//! end.

use super::emulator::{Processor, command};
use super::image;
use super::words::{STOP, Said, said};
use crate::setup::{MachineSetup, Missing, Setup};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, MonotonicClock, PollSet, confine};
use tenuto_units::{Instant, Span};

const IMAGE: &str = "/tmp/image";
/// From its start until the tenant's program runs; an emulated machine takes some seconds, one in some has hung.
const BOOT: Span = Span::from_s(25);
/// Tries with an emulated processor.
const TRIES: usize = 2;
/// From the word to end until the plug is pulled; the supervisor's own patience is longer.
const GRACE: Span = Span::from_s(3);
/// Bytes of a line that is looked at; the rest is passed on.
const LINE_BYTES_MAX: usize = 4_096;
/// What a machine ends with whose kernel has ended before its program.
const KERNEL_ENDED: u8 = 70;

/// What a program ends with that was killed (128 and SIGKILL).
const KILLED: u8 = 137;

/// How a machine has ended.
enum End {
    /// The program, with its status.
    Program(u8),
    /// The guest's kernel, or the emulator.
    Machine,
    /// The program did not run in time, or at all.
    NoStart(String),
}

/// Starts the machine, tells `started` once its program runs, and waits for its end; the status of the program.
pub(crate) fn run(
    setup: &Setup,
    machine: &MachineSetup,
    signals: &mut SignalFd,
    mut missing: Vec<Missing>,
    started: &mut dyn FnMut(Vec<Missing>),
) -> Result<u8, String> {
    let image = Path::new(IMAGE);
    image::write(setup, machine, image).map_err(|error| format!("the guest's image: {error}"))?;
    let mut tries = vec![Processor::Emulated; TRIES];
    match &machine.lacks_kvm {
        None => tries.insert(0, Processor::Kvm),
        Some(why) => missing.push(emulated(why)),
    }
    let mut why = String::new();
    for (at, processor) in tries.iter().enumerate() {
        if at > 0 {
            let name = processor.name();
            eprintln!("tenuto: {why}; try {} of {}, {name}", at + 1, tries.len());
            if tries[0] == Processor::Kvm && at == 1 {
                missing.push(emulated(&format!("with KVM {why}")));
            }
        }
        let guest = Guest::start(machine, image, *processor);
        let mut guest = guest.map_err(|error| format!("cannot run the emulator: {error}"))?;
        let mut tell = || {
            // The guest has its own copy.
            let _ = fs::remove_file(image);
            started(std::mem::take(&mut missing));
        };
        match guest.watch(signals, &mut tell).map_err(|error| error.to_string())? {
            End::Program(status) => return Ok(status),
            End::Machine => {
                eprintln!("tenuto: the guest's kernel has ended before its program");
                return Ok(KERNEL_ENDED);
            }
            End::NoStart(said) => why = said,
        }
        if guest.is_told {
            return Err(why);
        }
    }
    Err(format!("{why}, in {} tries", tries.len()))
}

fn emulated(why: &str) -> Missing {
    Missing::new("KVM (its processor is emulated: an order of magnitude slower)", why)
}

/// A machine that was started.
struct Guest {
    emulator: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What has come of a line that has not ended.
    line: Vec<u8>,
    boots_until: Option<Instant>,
    /// Since when it was told to end.
    is_told: bool,
    ends_until: Option<Instant>,
    is_killed: bool,
    status: Option<u8>,
}

impl Guest {
    fn start(machine: &MachineSetup, image: &Path, processor: Processor) -> io::Result<Self> {
        let mut command = command(machine, image, processor);
        command.stderr(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
        tenuto_io::signals::unblock_in(&mut command);
        let mut emulator = command.spawn()?;
        let input = emulator.stdin.take();
        let output = emulator.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            emulator,
            input,
            output,
            line: Vec::new(),
            boots_until: Some(MonotonicClock::now() + BOOT),
            is_told: false,
            ends_until: None,
            is_killed: false,
            status: None,
        })
    }

    /// Passes on what it says until it has ended.
    fn watch(&mut self, signals: &mut SignalFd, started: &mut dyn FnMut()) -> io::Result<End> {
        let mut set = PollSet::new();
        set.add(signals.as_raw_fd(), Interest::Read);
        let serial = set.add(self.output.as_raw_fd(), Interest::Read);
        let mut has_output = true;
        loop {
            let until = self.boots_until.into_iter().chain(self.ends_until).min();
            let until = until.filter(|_| !self.is_killed);
            set.wait(until)?;
            if has_output && set.readiness(serial).readable {
                has_output = self.take_output(started)?;
                if !has_output {
                    set.remove(serial);
                }
            }
            while let Some(signal) = signals.next_pending()? {
                if signal != Signal::Child {
                    self.tell_to_end();
                }
            }
            while let Some(ended) = confine::reap()? {
                if ended.pid == self.emulator.id() {
                    while has_output && self.take_output(started)? {}
                    return Ok(self.end(ended.status));
                }
            }
            if until.is_some_and(|until| until <= MonotonicClock::now()) {
                self.kill();
            }
        }
    }

    /// Pulls the plug; that it has ended is found by its status.
    fn kill(&mut self) {
        let _ = self.emulator.kill();
        self.is_killed = true;
    }

    fn end(&self, status: u8) -> End {
        let has_started = self.boots_until.is_none();
        match self.status {
            Some(status) => End::Program(status),
            // The plug was pulled, since the guest did not end when it was told to.
            None if has_started && self.is_told => End::Program(KILLED),
            None if has_started => End::Machine,
            None if self.is_told => End::NoStart("it was told to end before it had booted".into()),
            None if self.is_killed => End::NoStart(format!(
                "the guest did not boot in {} s",
                BOOT.as_ns() / 1_000_000_000
            )),
            None => End::NoStart(format!("the machine ended with {status} before it had booted")),
        }
    }

    /// Tells the guest to end its program; one that has not booted has none.
    fn tell_to_end(&mut self) {
        if !self.is_told {
            self.is_told = true;
            self.ends_until = Some(MonotonicClock::now() + GRACE);
            let told = self.input.as_mut().map(|input| input.write_all(STOP));
            if self.boots_until.is_some() || !matches!(told, Some(Ok(()))) {
                self.kill();
            }
        }
    }

    /// Passes on what has come; false at its end.
    fn take_output(&mut self, started: &mut dyn FnMut()) -> io::Result<bool> {
        let mut bytes = [0; LINE_BYTES_MAX];
        let read = match self.output.read(&mut bytes) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        };
        for byte in &bytes[..read] {
            self.line.push(*byte);
            if *byte == b'\n' || self.line.len() >= LINE_BYTES_MAX {
                self.pass_on(started);
            }
        }
        if read == 0 {
            self.pass_on(started);
        }
        Ok(read > 0)
    }

    fn pass_on(&mut self, started: &mut dyn FnMut()) {
        let mut line = std::mem::take(&mut self.line);
        match said(&line) {
            Some(Said::Runs) if self.boots_until.is_some() => {
                self.boots_until = None;
                started();
            }
            Some(Said::Ended(status)) if self.boots_until.is_none() => self.status = Some(status),
            _ => {
                line.retain(|byte| *byte != b'\r');
                // A log that nobody reads any more is of no use.
                let _ = io::stderr().write_all(&line);
            }
        }
    }
}
