//! The root of a guest: busybox, drivers, the tenant's program with what it needs, and a script that starts it.

use super::archive::Archive;
use super::libraries::needs_of;
use super::script::{PROGRAMS, SHELL, first_script};
use crate::setup::{INSIDE_USER, MachineSetup, Setup};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Files of a tenant's image at most.
const FILES_MAX: usize = 50_000;

/// Writes the image of a tenant; its bytes.
pub(super) fn write(setup: &Setup, machine: &MachineSetup, to: &Path) -> io::Result<u64> {
    let file = File::create(to)?;
    let mut image = Image {
        archive: Archive::new(BufWriter::new(file), machine.image_bytes_max),
        done: BTreeSet::new(),
    };
    image.base(setup, machine)?;
    let program = setup.program.first().map(PathBuf::from).unwrap_or_default();
    for path in [program].iter().chain(&setup.files) {
        image.add(path)?;
    }
    image.archive.finish()
}

/// Programs of busybox that scripts of tenants find behind all others.
const APPLETS: &str = "cat chmod cp cut date dd echo env false grep head hostname id ip kill ls mkdir mv nc ping printf \
                       ps rm sed seq sleep sort tail test touch tr true uname wc wget";

struct Image<W: Write> {
    archive: Archive<W>,
    /// Files whose needs are there.
    done: BTreeSet<PathBuf>,
}

/// A path without the slash in front.
fn name_of(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
}

impl<W: Write> Image<W> {
    fn base(&mut self, setup: &Setup, machine: &MachineSetup) -> io::Result<()> {
        for folder in ["proc", "sys", "dev", "drivers", "run"] {
            self.archive.folder(folder, 0o755)?;
        }
        self.archive.folder("tmp", 0o1777)?;
        self.archive.folder("data", 0o777)?;
        self.add(&machine.busybox)?;
        let busybox = machine.busybox.to_string_lossy();
        self.archive.link(SHELL, &busybox)?;
        for name in APPLETS.split(' ') {
            self.archive.link(&format!("{PROGRAMS}/{name}"), &busybox)?;
        }
        for (number, driver) in machine.drivers.iter().enumerate() {
            self.archive.file(&format!("drivers/{number}.ko"), 0o644, &fs::read(driver)?)?;
        }
        let own = setup.nic.as_ref().map_or(String::new(), |nic| {
            format!("{} {}\n{} host\n", nic.address, setup.name, nic.host)
        });
        let user = INSIDE_USER;
        let texts = [
            (
                "etc/passwd",
                format!("root:x:0:0::/:/{SHELL}\ntenant:x:{user}:{user}::/data:/{SHELL}\n"),
            ),
            ("etc/group", format!("root:x:0:\ntenant:x:{user}:\n")),
            ("etc/hosts", format!("127.0.0.1 localhost\n{own}")),
            ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
        ];
        for (name, text) in texts {
            self.archive.file(name, 0o644, text.as_bytes())?;
        }
        self.archive.file("init", 0o755, first_script(setup, machine).as_bytes())
    }

    /// A file or folder of the host at its own place, with all that programs among it need.
    fn add(&mut self, path: &Path) -> io::Result<()> {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            if !self.done.insert(path.clone()) {
                continue;
            }
            if self.done.len() > FILES_MAX {
                let text = format!("{}: more than {FILES_MAX} files in one image", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            let more = self.add_one(&path);
            let said = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            left.extend(more.map_err(said)?);
        }
        Ok(())
    }

    /// One file; what it needs besides.
    fn add_one(&mut self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let path = self.with_links_above(path)?;
        let about = fs::symlink_metadata(&path)?;
        let name = name_of(&path);
        if about.is_symlink() {
            let to = fs::read_link(&path)?;
            self.archive.link(&name, &to.to_string_lossy())?;
            let target = path.parent().unwrap_or(Path::new("/")).join(to);
            return Ok(if target.exists() { vec![target] } else { Vec::new() });
        }
        if about.is_dir() {
            self.archive.folder(&name, 0o755)?;
            let entries: io::Result<Vec<_>> = fs::read_dir(&path)?.collect();
            return Ok(entries?.into_iter().map(|entry| entry.path()).collect());
        }
        if !about.is_file() {
            return Ok(Vec::new());
        }
        self.archive.file(&name, about.permissions().mode(), &fs::read(&path)?)?;
        needs_of(&path)?.found()
    }

    /// Makes the links among the folders above a path, such as /lib of a host whose libraries are below /usr;
    /// where the path leads to then.
    fn with_links_above(&mut self, path: &Path) -> io::Result<PathBuf> {
        let mut real = PathBuf::from("/");
        let mut parts: Vec<_> = path.components().collect();
        let last = parts.pop();
        for part in parts {
            match part {
                std::path::Component::ParentDir => {
                    real.pop();
                }
                std::path::Component::Normal(name) => {
                    let next = real.join(name);
                    if fs::symlink_metadata(&next).is_ok_and(|about| about.is_symlink()) {
                        let to = fs::read_link(&next)?;
                        self.archive.link(&name_of(&next), &to.to_string_lossy())?;
                        real = fs::canonicalize(&next)?;
                    } else {
                        real = next;
                    }
                }
                _ => {}
            }
        }
        if let Some(std::path::Component::Normal(name)) = last {
            real.push(name);
        }
        Ok(real)
    }
}
