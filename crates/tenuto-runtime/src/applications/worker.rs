//! A worker process: CPython with one application, messages with their length in front.
//!
//! The package `tenuto` of Python is a part of this program, so that both always fit each other.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// Longest message of a worker.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// How long one answer may take; a worker that takes longer is ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Modules in the order in which they need each other.
const SOURCES: [(&str, &str); 4] = [
    ("tenuto.openflow", include_str!("../../../../python/tenuto/openflow.py")),
    ("tenuto.app", include_str!("../../../../python/tenuto/app.py")),
    ("tenuto", include_str!("../../../../python/tenuto/__init__.py")),
    ("tenuto.worker", include_str!("../../../../python/tenuto/worker.py")),
];

/// Makes the modules out of their sources, and runs the worker.
const BOOT: &str = "\
import json, os, sys, types
sources = json.loads(os.environ.pop('TENUTO_SOURCES'))
package = types.ModuleType('tenuto')
package.__path__ = []
sys.modules['tenuto'] = package
for name, text in sources:
    module = package if name == 'tenuto' else types.ModuleType(name)
    module.__package__ = 'tenuto'
    sys.modules[name] = module
    if name != 'tenuto':
        setattr(package, name.split('.')[1], module)
    exec(compile(text, name.replace('.', '/') + '.py', 'exec'), module.__dict__)
sys.modules['tenuto.worker'].main(sys.argv[1])
";

/// A running worker, which ends with this.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    stream: UnixStream,
    /// Why it is of no use any more.
    broken: Option<String>,
}

impl Worker {
    /// Starts one and waits until its application is there.
    ///
    /// # Errors
    /// When there is no Python, or the program fails; with the program's file and line.
    pub(super) fn start(python: &Path, program: &Path) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut command = Command::new(python);
        command.args(["-c", BOOT]).arg(program);
        // One hash seed, or two runs would differ in the order of sets.
        command.env("PYTHONHASHSEED", "0").env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("TENUTO_SOURCES", serde_json::to_string(&SOURCES)?);
        command.stdin(OwnedFd::from(theirs.try_clone()?)).stdout(OwnedFd::from(theirs));
        tenuto_io::signals::unblock_in(&mut command);
        let child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", python.display()))
        })?;
        // Our copies of its ends go with the command, so that its end is heard.
        drop(command);
        let mut worker = Self { child, stream, broken: None };
        worker.answer().map_err(io::Error::other)?;
        Ok(worker)
    }

    /// Sends a request and waits for what it answers.
    ///
    /// # Errors
    /// What the application did wrong, or why the worker is gone.
    pub(super) fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>, String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        let sent = frame(request).and_then(|bytes| self.stream.write_all(&bytes));
        match sent {
            Ok(()) => self.answer(),
            Err(error) => Err(self.give_up(&error)),
        }
    }

    fn answer(&mut self) -> Result<Vec<u8>, String> {
        let mut read = || {
            let mut head = [0; 4];
            self.stream.read_exact(&mut head)?;
            let length = u32::from_be_bytes(head) as usize;
            if length == 0 || length > ANSWER_BYTES_MAX {
                return Err(io::Error::other(format!("it answers with {length} bytes")));
            }
            let mut body = vec![0; length];
            self.stream.read_exact(&mut body)?;
            Ok(body)
        };
        match read() {
            Ok(mut body) => match body.remove(0) {
                0 => Ok(body),
                _ => Err(String::from_utf8_lossy(&body).into_owned()),
            },
            Err(error) => Err(self.give_up(&error)),
        }
    }

    fn give_up(&mut self, error: &io::Error) -> String {
        let is_slow = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
        let why = match is_slow {
            true => format!("the Python worker did not answer for {} s", PATIENCE.as_secs()),
            false => format!("the Python worker is gone: {error}"),
        };
        let _ = self.child.kill();
        self.broken = Some(why.clone());
        why
    }
}

fn frame(body: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    Ok([&length.to_be_bytes()[..], body].concat())
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The Python that is used: `TENUTO_PYTHON`, or `python3`.
pub(super) fn python() -> PathBuf {
    std::env::var_os("TENUTO_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from)
}
