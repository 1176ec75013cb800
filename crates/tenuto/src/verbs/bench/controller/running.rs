//! A controller of the service that is measured: a process in a folder of its own, and one connection to its interface.

use crate::failure::Failure;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing here takes longer unless it is broken.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often a status is asked for while nothing is told.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const FILE: &str = "net.yaml";

/// A folder that goes with its bench.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(name: &str, network: &str) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("tenuto-bench-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path)
            .and_then(|()| std::fs::write(path.join(FILE), network))
            .map_err(|error| failed(&error))?;
        Ok(Self(path))
    }
}

impl Folder {
    /// Another one in it.
    pub(super) fn within(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A controller that runs, killed with this.
pub(super) struct Running {
    child: Child,
    pub(super) openflow: SocketAddr,
    token: String,
    connection: BufReader<TcpStream>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn failed(error: &io::Error) -> Failure {
    Failure::undecidable(format!("the service cannot be measured: {error}"), None)
}

/// An address that was free a moment ago.
pub(super) fn free_address() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| failed(&error))?;
    listener.local_addr().map_err(|error| failed(&error))
}

impl Running {
    /// Starts it; it is answered when the network is planned and the interface is there.
    pub(super) fn start(
        program: &Path,
        folder: &Folder,
        openflow: SocketAddr,
    ) -> Result<Self, Failure> {
        Self::begin(program, &folder.0, openflow, ("state", &[])).map_err(|error| failed(&error))
    }

    /// The same as one of several, which have a folder of state each and a store together.
    pub(super) fn join(
        program: &Path,
        folder: &Folder,
        openflow: SocketAddr,
        (state, store): (&str, &str),
    ) -> Result<Self, Failure> {
        let more = ["--store", store];
        Self::begin(program, &folder.0, openflow, (state, &more)).map_err(|error| failed(&error))
    }

    fn begin(
        program: &Path,
        folder: &Path,
        openflow: SocketAddr,
        (state, more): (&str, &[&str]),
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["controller", FILE, "--state", state, "--listen", "127.0.0.1:0"]).args(more);
        command.args(["--openflow", &openflow.to_string()]).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn()?;
        let mut line = String::new();
        let said = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
        let read = BufReader::new(said).read_line(&mut line);
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(',').next());
        let address = address.and_then(|it| it.trim().parse::<SocketAddr>().ok());
        let connection = read.and_then(|_| {
            let address = address.ok_or_else(|| io::Error::other("it does not say where it is"))?;
            let token =
                std::fs::read_to_string(folder.join(state).join("token"))?.trim().to_owned();
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Ok((token, BufReader::new(stream)))
        });
        match connection {
            Ok((token, connection)) => Ok(Self { child, openflow, token, connection }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Asks over the one connection; the status and what was said.
    pub(super) fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<(u16, Value), Failure> {
        self.exchange(method, path, body).map_err(|error| failed(&error))
    }

    fn exchange(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, Value)> {
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.connection.get_mut().write_all(request.as_bytes())?;
        let wrong = || io::Error::other("its answer is not understood");
        let mut line = String::new();
        self.connection.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or_else(wrong)?;
        let mut length = 0;
        loop {
            line.clear();
            self.connection.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| wrong())?;
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body)?;
        Ok((status, serde_json::from_slice(&body).map_err(|_| wrong())?))
    }

    /// Waits until all switches have the latest set.
    pub(super) fn until_installed(&mut self) -> Result<(), Failure> {
        self.until("switches do not get the set", |it| it["installed"] == it["decision"])
    }

    /// Waits until its status is as it shall be.
    pub(super) fn until(
        &mut self,
        what_else: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        let mut events = self.listen().map_err(|error| failed(&error))?;
        loop {
            let (_, status) = self.ask("GET", "/v1/status", "")?;
            if is_so(&status) {
                return Ok(());
            }
            if Instant::now() > until {
                let (_, alarms) = self.ask("GET", "/v1/alarms", "")?;
                return Err(Failure::undecidable(format!("{what_else}: {alarms}"), None));
            }
            // Something has happened, or nothing was told for so long.
            if let Ok(told) = events.fill_buf().map(<[u8]>::len) {
                events.consume(told);
            }
        }
    }

    /// What the service tells from now on, over a connection of its own.
    fn listen(&self) -> io::Result<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(self.connection.get_ref().peer_addr()?)?;
        let token = &self.token;
        write!(
            stream,
            "GET /v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
        )?;
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        Ok(BufReader::new(stream))
    }

    /// Ends it as a loss of power would, but for the machine's memory.
    pub(super) fn kill(mut self) {
        self.kill_at_once();
        let _ = self.child.wait();
    }

    /// The same, without waiting for it.
    pub(super) fn kill_at_once(&mut self) {
        let _ = self.child.kill();
    }
}
