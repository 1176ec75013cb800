//! The file system of a sandbox: empty but for what a program needs to run, and read-only but for
//! folders in memory.
//!
//! The host's programs and libraries are seen at their places, read-only. Of /etc only what libraries
//! read is seen, with names of users and hosts that are the sandbox's own. Sockets and state of the
//! host (/run, /var, /home, /root) do not exist.

use crate::setup::{INSIDE_USER, Setup};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tenuto_io::mounts::{
    MountLimits, change_root, close_mount, limit_mount, mount_also, mount_memory, mount_processes,
    unmount,
};

/// Where the new root is put together; the host's own content of it is seen again below [`OLD`].
const STAGE: &str = "/tmp";
/// The host's root while the new one is put together.
const OLD: &str = "/old";
/// The new root.
const NEW: &str = "/new";
/// Programs and libraries of the host.
const PROGRAMS: [&str; 8] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt"];
/// What libraries read in /etc, and nobody keeps secrets in.
const SETTINGS: [&str; 10] = [
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "protocols",
    "services",
    "mime.types",
    "ssl/certs",
    "ssl/openssl.cnf",
];
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Lends the host's processor to machines.
pub(crate) const KVM: &str = "/dev/kvm";
/// What of /proc concerns the whole machine: hidden, or no more than read.
const HIDDEN: [&str; 8] = [
    "kcore",
    "keys",
    "key-users",
    "kmsg",
    "sched_debug",
    "sysrq-trigger",
    "timer_list",
    "kallsyms",
];
const READ_ONLY: [&str; 5] = ["sys", "irq", "bus", "fs", "acpi"];
/// The root itself holds folders and a few texts.
const ROOT_BYTES: u64 = 4_000_000;

/// Puts the file system together and makes it the root of this mount namespace.
pub(crate) fn enter(setup: &Setup) -> io::Result<()> {
    mount_memory(Path::new(STAGE), ROOT_BYTES, 0o755)?;
    let staged = |path: &str| PathBuf::from(format!("{STAGE}{path}"));
    fs::create_dir(staged(OLD))?;
    fs::create_dir(staged(NEW))?;
    change_root(Path::new(STAGE), &staged(OLD))?;
    mount_memory(Path::new(NEW), ROOT_BYTES, 0o755)?;
    add_programs()?;
    add_settings(setup)?;
    add_devices(setup)?;
    add_processes()?;
    add_folders(setup)?;
    let machine = setup.machine.iter().flat_map(|it| it.drivers.iter().chain([&it.kernel]));
    for file in setup.files.iter().chain(machine) {
        add_file(file)?;
    }
    if setup.machine.as_ref().is_some_and(|machine| machine.lacks_kvm.is_none()) {
        let (source, target) = (old(KVM), new(KVM));
        fs::write(&target, "")?;
        mount_also(&source, &target)?;
        limit_mount(&target, MountLimits::Devices)?;
    }
    if setup.machine.is_some() {
        close_mount(&new("dev"))?;
    }
    std::env::set_current_dir(NEW)?;
    change_root(Path::new("."), Path::new("."))?;
    unmount(Path::new("."))?;
    close_mount(Path::new("/"))
}

fn new(path: impl AsRef<Path>) -> PathBuf {
    Path::new(NEW).join(path.as_ref().strip_prefix("/").unwrap_or(path.as_ref()))
}

fn old(path: impl AsRef<Path>) -> PathBuf {
    Path::new(OLD).join(path.as_ref().strip_prefix("/").unwrap_or(path.as_ref()))
}

fn add_programs() -> io::Result<()> {
    for name in PROGRAMS {
        let source = old(name);
        match fs::symlink_metadata(&source) {
            Ok(about) if about.is_symlink() => symlink(fs::read_link(&source)?, new(name))?,
            Ok(about) if about.is_dir() => {
                fs::create_dir(new(name))?;
                show(&source, &new(name))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Shows a file or folder of the host, read-only.
fn show(source: &Path, target: &Path) -> io::Result<()> {
    mount_also(source, target)?;
    limit_mount(target, MountLimits::ReadOnly)
}

/// Makes a place for `source`: a folder or an empty file.
fn make_place(source: &Path, target: &Path) -> io::Result<()> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if source.is_dir() { fs::create_dir_all(target) } else { fs::write(target, "") }
}

fn add_settings(setup: &Setup) -> io::Result<()> {
    fs::create_dir(new("etc"))?;
    for name in SETTINGS {
        // A link there may lead to a place of the host's root, which is elsewhere now.
        let source = follow(&Path::new("/etc").join(name));
        let Some(source) = source.filter(|source| source.exists()) else { continue };
        let target = new("etc").join(name);
        make_place(&source, &target)?;
        show(&source, &target)?;
    }
    for (name, text) in own_settings(setup) {
        fs::write(new("etc").join(name), text)?;
    }
    Ok(())
}

/// The place below [`OLD`] of a path of the host whose last part may be a link.
fn follow(path: &Path) -> Option<PathBuf> {
    const LINKS_MAX: usize = 8;
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(old(&path)) {
            Ok(to) if to.is_absolute() => path = to,
            Ok(to) => path = path.parent()?.join(to),
            Err(_) => return Some(old(&path)),
        }
    }
    None
}

/// Names of users and hosts inside; nobody else is asked for names.
fn own_settings(setup: &Setup) -> [(&'static str, String); 6] {
    let (name, user) = (&setup.name, INSIDE_USER);
    let own = setup
        .nic
        .as_ref()
        .map_or(String::new(), |nic| format!("{} {name}\n{} host\n", nic.address, nic.host));
    [
        ("passwd", format!("tenant:x:{user}:{user}:{name}:/data:/bin/sh\n")),
        ("group", format!("tenant:x:{user}:\n")),
        ("hostname", format!("{name}\n")),
        ("hosts", format!("127.0.0.1 localhost\n{own}")),
        ("resolv.conf", "# No name server: names are those of /etc/hosts.\n".to_owned()),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
    ]
}

fn add_devices(setup: &Setup) -> io::Result<()> {
    fs::create_dir(new("dev"))?;
    mount_memory(&new("dev"), ROOT_BYTES, 0o755)?;
    for name in DEVICES {
        let (source, target) = (old("dev").join(name), new("dev").join(name));
        fs::write(&target, "")?;
        mount_also(&source, &target)?;
        limit_mount(&target, MountLimits::Devices)?;
    }
    for (name, to) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{to}"), new("dev").join(name))?;
    }
    fs::create_dir(new("dev/shm"))?;
    mount_memory(&new("dev/shm"), setup.memory_files_bytes, 0o1777)?;
    match &setup.machine {
        // One device is to come.
        Some(_) => Ok(()),
        None => close_mount(&new("dev")),
    }
}

fn add_processes() -> io::Result<()> {
    fs::create_dir(new("proc"))?;
    mount_processes(&new("proc"))?;
    for name in READ_ONLY {
        let path = new("proc").join(name);
        if path.exists() {
            mount_also(&path, &path)?;
            limit_mount(&path, MountLimits::ReadOnly)?;
        }
    }
    for name in HIDDEN {
        let path = new("proc").join(name);
        if path.exists() {
            mount_also(&old("dev/null"), &path)?;
        }
    }
    Ok(())
}

fn add_folders(setup: &Setup) -> io::Result<()> {
    for name in ["tmp", "run"] {
        fs::create_dir(new(name))?;
        mount_memory(&new(name), setup.memory_files_bytes, 0o1777)?;
    }
    fs::create_dir(new("data"))?;
    match &setup.data {
        Some(data) => {
            mount_also(&old(data), &new("data"))?;
            limit_mount(&new("data"), MountLimits::Data)
        }
        None => mount_memory(&new("data"), setup.memory_files_bytes, 0o755),
    }
}

fn add_file(path: &Path) -> io::Result<()> {
    let (source, target) = (old(path), new(path));
    if target.exists() {
        return Ok(());
    }
    // A link of the host leads elsewhere here.
    let source = follow(path).unwrap_or(source);
    make_place(&source, &target)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    show(&source, &target)
}
