//! Starting a supervisor with what rights there are: as root here, otherwise inside a user and network
//! namespace of its own.

use crate::allowed::{HostError, needed_box};
use crate::state::StateFolder;
use crate::supervisor::{self, SupervisorEnd};
use crate::{measure, process, trial};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use tenuto_io::namespaces::spawn_in_new_namespaces;
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, PollSet};
use tenuto_model::{TenantsFile, read_tenants};

/// How this program is called when it supervises without rights on the machine.
const BOX_ROLE: &str = "tenuto-tenants-box";
/// Exit codes of a supervisor in a box.
const STOPPED: u8 = 0;
const INTERRUPTED: u8 = 130;

/// Plays a role in a sandbox if this process was started for one; to be called first in `main`.
///
/// `args` are those of the process, its own name first.
pub fn hidden_main(args: impl IntoIterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    let args: Vec<_> = args.into_iter().take(4).collect();
    match args.get(1)?.to_str()? {
        process::INIT_ROLE => Some(crate::init::main()),
        trial::ROLE => Some(trial::main(args.get(2)?)),
        measure::echo::ROLE => Some(measure::echo::main()),
        measure::ROLE => Some(measure::main(args.get(2)?)),
        BOX_ROLE => Some(box_main(Path::new(args.get(2)?), Path::new(args.get(3)?))),
        _ => None,
    }
}

/// Runs the tenants of the file at `path`, which was read as `file`, until told to end.
///
/// # Errors
///
/// When no sandbox can be made here, or the state folder cannot be used.
pub fn up(path: &Path, file: TenantsFile, state: StateFolder) -> Result<SupervisorEnd, HostError> {
    let Some(namespaces) = needed_box()? else {
        return Ok(supervisor::supervise(file, state, false)?);
    };
    let signals = [Signal::Child, Signal::Terminate, Signal::Interrupt, Signal::HangUp];
    let mut signals = SignalFd::new(&signals)?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(BOX_ROLE).arg(path).arg(state.path());
    let spawned = spawn_in_new_namespaces(command, &namespaces);
    let mut guardian = spawned.map_err(|error| HostError::NoNamespaces(error.to_string()))?;
    let mut set = PollSet::new();
    set.add(signals.as_raw_fd(), Interest::Read);
    loop {
        if let Some(status) = guardian.try_wait()? {
            return match status.code().and_then(|code| u8::try_from(code).ok()) {
                Some(STOPPED) => Ok(SupervisorEnd::Stopped),
                Some(INTERRUPTED) => Ok(SupervisorEnd::Interrupted),
                _ => Err(io::Error::other("the supervisor failed; it has said why").into()),
            };
        }
        set.wait(None)?;
        while let Some(signal) = signals.next_pending()? {
            if signal != Signal::Child {
                // One that has just ended is found above.
                let _ = signal.send(guardian.id());
            }
        }
    }
}

fn box_main(path: &Path, state: &Path) -> ExitCode {
    let state = StateFolder::of("", Some(state));
    let shown = path.display().to_string();
    let result = fs::read_to_string(path).map_err(|error| error.to_string()).and_then(|text| {
        let file = read_tenants(&text, &shown, &crate::judge::judge);
        let file = file.map_err(|problems| problems.to_string())?;
        supervisor::supervise(file, state, true).map_err(|error| error.to_string())
    });
    match result {
        Ok(SupervisorEnd::Stopped) => STOPPED.into(),
        Ok(SupervisorEnd::Interrupted) => INTERRUPTED.into(),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The state folder of the host that a file names.
pub fn state_of(file: &TenantsFile, asked: Option<PathBuf>) -> StateFolder {
    StateFolder::of(&file.name, asked.as_deref())
}
