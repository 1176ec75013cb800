//! Commands for `ip -batch`.

use super::{LinkName, VethEnd};
use crate::namespaces::{SpawnError, spawn_in_netns_of};
use crate::signals::unblock_in;
use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};

/// Why a batch was not carried out.
#[derive(Debug)]
pub enum IpError {
    /// Not the name of an interface.
    Name(String),
    /// The program `ip` could not be started.
    Start(SpawnError),
    /// Talking to the program failed.
    Io(io::Error),
    /// A command was refused; those before it are done, those after it are not.
    Refused {
        /// The command, without `ip`.
        command: String,
        /// What `ip` said.
        stderr: String,
    },
}

impl fmt::Display for IpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "{name:?} is not the name of an interface: 1 to 15 letters, digits, '-', '.', '_'"
            ),
            Self::Start(error) => {
                write!(f, "cannot start the program `ip` (is iproute2 installed?): {error}")
            }
            Self::Io(error) => write!(f, "talking to the program `ip`: {error}"),
            Self::Refused { command, stderr } => write!(f, "`ip {command}` failed: {stderr}"),
        }
    }
}

impl std::error::Error for IpError {}

/// Commands of the `ip` program, carried out in order in one call; the first failure ends it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IpBatch {
    commands: Vec<String>,
}

impl IpBatch {
    /// Without commands; running it does nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a command as `ip` takes it, without `ip`: `link add ...`.
    ///
    /// Must be one line and built from checked parts only; the other functions see to that. Put
    /// `dev` or `name` before the name of an interface: `ip` takes a bare `a` for `address`.
    pub fn add(&mut self, command: impl Into<String>) -> &mut Self {
        let command = command.into();
        assert!(!command.contains('\n'), "one command is one line: {command:?}");
        self.commands.push(command);
        self
    }

    /// A veth pair, its ends made right in the namespaces they belong to.
    pub fn veth_pair(&mut self, a: &VethEnd, b: &VethEnd) -> &mut Self {
        self.add(format!("link add {} type veth peer {}", end_text(a), end_text(b)))
    }

    /// A pair of plain ends, in the namespaces of two processes.
    pub fn veth_between(
        &mut self,
        (a, a_pid): (&LinkName, u32),
        (b, b_pid): (&LinkName, u32),
    ) -> &mut Self {
        let end = |name: &LinkName, pid| VethEnd { name: name.clone(), pid: Some(pid), mac: None };
        self.veth_pair(&end(a, a_pid), &end(b, b_pid))
    }

    /// A bridge of the kernel, without spanning tree, up.
    pub fn bridge(&mut self, name: &LinkName) -> &mut Self {
        self.add(format!("link add name {name} up type bridge stp_state 0 forward_delay 0"))
    }

    /// Makes an interface a port of a bridge.
    pub fn enslave(&mut self, name: &LinkName, bridge: &LinkName) -> &mut Self {
        self.add(format!("link set dev {name} master {bridge}"))
    }

    /// Switches an interface on.
    pub fn up(&mut self, name: &LinkName) -> &mut Self {
        self.add(format!("link set dev {name} up"))
    }

    /// Switches an interface off.
    pub fn down(&mut self, name: &LinkName) -> &mut Self {
        self.add(format!("link set dev {name} down"))
    }

    /// Removes an interface; the other end of a veth pair goes with it.
    pub fn delete(&mut self, name: &LinkName) -> &mut Self {
        self.add(format!("link delete dev {name}"))
    }

    /// The largest payload of a frame, in bytes.
    pub fn mtu(&mut self, name: &LinkName, bytes: u32) -> &mut Self {
        self.add(format!("link set dev {name} mtu {bytes}"))
    }

    /// Gives an interface an address.
    pub fn address(&mut self, name: &LinkName, address: IpAddr, prefix_bits: u8) -> &mut Self {
        // IPv6 addresses are usable at once: nobody else can have them in a lab.
        let quick = if address.is_ipv6() { " nodad" } else { "" };
        self.add(format!("address add {address}/{prefix_bits} dev {name}{quick}"))
    }

    /// Tells the stack the hardware address of a neighbour, so that it never asks.
    pub fn neighbour(&mut self, name: &LinkName, address: IpAddr, mac: [u8; 6]) -> &mut Self {
        let mac = mac_text(mac);
        self.add(format!("neighbour replace {address} lladdr {mac} dev {name} nud permanent"))
    }

    /// Adds a route through an interface, by way of `gateway` if given.
    pub fn route(
        &mut self,
        (target, prefix_bits): (IpAddr, u8),
        name: &LinkName,
        gateway: Option<IpAddr>,
    ) -> &mut Self {
        let via = gateway.map_or(String::new(), |address| format!("via {address} "));
        self.add(format!("route add {target}/{prefix_bits} {via}dev {name}"))
    }

    /// Carries the commands out in the present network namespace.
    ///
    /// # Errors
    ///
    /// The command that failed, with the words of `ip`; or why `ip` could not be run.
    pub fn run(&self) -> Result<(), IpError> {
        self.run_by(|mut command| {
            let program = command.get_program().into();
            unblock_in(&mut command);
            command.spawn().map_err(|error| SpawnError::Program { program, error })
        })
    }

    /// Carries the commands out in the network namespace of the process `pid`.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn run_in(&self, pid: u32) -> Result<(), IpError> {
        self.run_by(|command| spawn_in_netns_of(command, pid))
    }

    fn run_by(
        &self,
        start: impl FnOnce(Command) -> Result<Child, SpawnError>,
    ) -> Result<(), IpError> {
        if self.commands.is_empty() {
            return Ok(());
        }
        let mut command = Command::new("ip");
        command.args(["-batch", "-"]).env("LC_ALL", "C").env("PATH", program_path());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = start(command).map_err(IpError::Start)?;
        let input = self.commands.join("\n") + "\n";
        // A batch that failed early closes its input; what it said matters then. Its few lines of
        // errors fit into the pipe, so that it cannot wait for us while we wait for it.
        let written = child.stdin.take().expect("piped").write_all(input.as_bytes());
        let output = child.wait_with_output().map_err(IpError::Io)?;
        if output.status.success() {
            return written.map_err(IpError::Io);
        }
        Err(self.refused(&String::from_utf8_lossy(&output.stderr)))
    }

    /// Finds the failed command by what `ip` says last: `Command failed -:7`.
    fn refused(&self, stderr: &str) -> IpError {
        let (mut said, mut line) = (String::new(), None);
        for text in stderr.lines() {
            match text.strip_prefix("Command failed -:") {
                Some(number) => line = number.trim().parse::<usize>().ok(),
                None => write!(said, "{}{text}", if said.is_empty() { "" } else { "; " })
                    .expect("strings take all"),
            }
        }
        let index = line.and_then(|line| line.checked_sub(1));
        let found = index.and_then(|index| self.commands.get(index));
        IpError::Refused {
            command: found.cloned().unwrap_or_else(|| self.commands.join("; ")),
            stderr: said,
        }
    }
}

/// Where to look for `ip`: some systems keep it where only root's PATH leads.
fn program_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin:/usr/bin:/bin");
    path
}

fn end_text(end: &VethEnd) -> String {
    let mut text = format!("name {}", end.name);
    if let Some(pid) = end.pid {
        write!(text, " netns {pid}").expect("strings take all");
    }
    if let Some(mac) = end.mac {
        write!(text, " address {}", mac_text(mac)).expect("strings take all");
    }
    text
}

fn mac_text([a, b, c, d, e, f]: [u8; 6]) -> String {
    format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> LinkName {
        LinkName::new(text).expect("a good name")
    }

    #[test]
    fn commands_are_what_ip_takes() {
        let mut batch = IpBatch::new();
        let a = VethEnd { name: name("a"), pid: Some(7), mac: Some([2, 0, 0, 0, 0, 255]) };
        let b = VethEnd { name: name("b"), pid: None, mac: None };
        batch.veth_pair(&a, &b).address(&name("a"), [10, 0, 0, 1].into(), 24);
        batch.neighbour(&name("a"), [10, 0, 0, 2].into(), [2, 0, 0, 0, 0, 1]);
        batch.route(([0, 0, 0, 0].into(), 0), &name("a"), Some([10, 0, 0, 2].into()));
        assert_eq!(
            batch.commands,
            [
                "link add name a netns 7 address 02:00:00:00:00:ff type veth peer name b",
                "address add 10.0.0.1/24 dev a",
                "neighbour replace 10.0.0.2 lladdr 02:00:00:00:00:01 dev a nud permanent",
                "route add 0.0.0.0/0 via 10.0.0.2 dev a",
            ]
        );
    }

    #[test]
    fn the_refused_command_is_named_with_the_words_of_ip() {
        let mut batch = IpBatch::new();
        batch.up(&name("a")).up(&name("b"));
        let error = batch.refused("Cannot find device \"b\"\nCommand failed -:2\n");
        assert_eq!(error.to_string(), "`ip link set dev b up` failed: Cannot find device \"b\"");
    }
}
