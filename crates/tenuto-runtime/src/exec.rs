//! `tenuto exec`: any program on a node of a running lab.

use crate::app_port::REFUSED_LOG;
use crate::lab::{LOG_FILE, NODES_FILE, NodesFile};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{fs, io};
use tenuto_io::namespaces::{SpawnError, spawn_inside, supervisor_of};

/// Why a program could not be run on a node.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// There is no such directory, or no lab runs from it.
    #[error("no lab runs from {}: start one with `tenuto up`", .0.display())]
    NoLab(PathBuf),
    /// The lab has no such node.
    #[error("no node {node}; there are {}", .known.join(", "))]
    NoNode {
        /// The name asked for.
        node: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Nothing to run.
    #[error("no program given: tenuto exec NODE -- PROGRAM ...")]
    NoProgram,
    /// The program could not be started.
    #[error("{0}")]
    Spawn(SpawnError),
    /// Waiting for it failed.
    #[error("waiting for the program: {0}")]
    Wait(io::Error),
}

/// The lab that runs from `dir`, or from the newest directory in it.
///
/// # Errors
/// [`ExecError::NoLab`].
pub fn running_lab(dir: &Path) -> Result<NodesFile, ExecError> {
    found(dir).map(|(_, file)| file)
}

/// The directory of a running lab, and its processes.
fn found(dir: &Path) -> Result<(PathBuf, NodesFile), ExecError> {
    let own = dir.join(NODES_FILE);
    let newest = || {
        let entries = fs::read_dir(dir).ok()?.filter_map(Result::ok);
        let files = entries.map(|entry| entry.path().join(NODES_FILE));
        let changed = |path: &PathBuf| -> Option<SystemTime> {
            fs::metadata(path).and_then(|meta| meta.modified()).ok()
        };
        files.filter_map(|path| Some((changed(&path)?, path))).max().map(|(_, path)| path)
    };
    let path = if own.exists() { Some(own) } else { newest() };
    let text = path.as_ref().and_then(|path| fs::read(path).ok());
    let file = text.and_then(|bytes| serde_json::from_slice::<NodesFile>(&bytes).ok());
    let place = path.as_deref().and_then(Path::parent).map(Path::to_owned);
    place.zip(file.filter(is_running)).ok_or_else(|| ExecError::NoLab(dir.to_owned()))
}

/// Why the lab has refused frames of programs of a node so far: its log says each reason once.
fn refusals(place: &Path, node: &str) -> Vec<String> {
    let log = fs::read_to_string(place.join(LOG_FILE)).unwrap_or_default();
    let start = format!("{node}: {REFUSED_LOG}");
    log.lines().filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect()
}

/// Whether the guardian is one, and not another process that was given its number later.
fn is_running(file: &NodesFile) -> bool {
    let name = fs::read_to_string(format!("/proc/{}/comm", file.guardian));
    name.is_ok_and(|name| name.trim() == "tenuto-guard")
}

/// What came of a program on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Its exit code, 128 + n for signal n.
    pub code: u8,
    /// Why the node has refused frames of programs so far, each reason once, in words.
    pub refusals: Vec<String>,
}

/// Runs a program in the namespaces of a node, until it ends.
///
/// # Errors
/// When there is no such lab, node or program.
pub fn exec(dir: &Path, node: &str, command: &[OsString]) -> Result<Executed, ExecError> {
    let (place, lab) = found(dir)?;
    let entry = lab.nodes.iter().find(|entry| entry.name == node).ok_or_else(|| {
        let known = lab.nodes.iter().map(|entry| entry.name.clone()).collect();
        ExecError::NoNode { node: node.to_owned(), known }
    })?;
    let (program, arguments) = command.split_first().ok_or(ExecError::NoProgram)?;
    let supervisor = supervisor_of(lab.guardian).map_err(|_| ExecError::NoLab(dir.to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments);
    let child = spawn_inside(command, supervisor, Some(entry.namespace_pid));
    let status = child.map_err(ExecError::Spawn)?.wait().map_err(ExecError::Wait)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(Executed { code, refusals: refusals(&place, node) })
}
