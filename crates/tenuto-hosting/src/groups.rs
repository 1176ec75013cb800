//! Control groups, of either version, whichever has the controller; only files are read and written.

use crate::setup::Missing;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tenuto_model::{Environment, Microvm, Tenant};

/// What a group limits or counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Controller {
    Memory,
    Processes,
    Time,
    Cores,
    /// Version 1 only; in version 2 every group counts time.
    TimeCount,
}

impl Controller {
    const ALL: [Self; 5] =
        [Self::Memory, Self::Processes, Self::Time, Self::Cores, Self::TimeCount];

    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
            Self::Time => "cpu",
            Self::Cores => "cpuset",
            Self::TimeCount => "cpuacct",
        }
    }
}

/// Where the own group of a controller is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    is_v2: bool,
    folder: PathBuf,
}

/// The groups of this machine as they are mounted, and this process in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mounted {
    places: BTreeMap<Controller, Place>,
}

impl Mounted {
    /// Of this process.
    pub(crate) fn find() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::of(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    /// The mounted controllers without processor time, which is not limited then.
    pub(crate) fn without_time(mut self) -> Self {
        self.places.remove(&Controller::Time);
        self
    }

    /// Of the texts of /proc/self/mountinfo and /proc/self/cgroup (cgroups(7)).
    fn of(mounts: &str, own: &str) -> Self {
        let mut places = BTreeMap::new();
        for mount in mounts.lines().filter_map(GroupMount::of) {
            for controller in Controller::ALL {
                let has = if mount.is_v2 {
                    let list = mount.own_folder(own, "").map(|it| it.join("cgroup.controllers"));
                    let list = list.and_then(|path| fs::read_to_string(path).ok());
                    list.is_some_and(|it| it.split_whitespace().any(|it| it == controller.name()))
                } else {
                    mount.options.split(',').any(|option| option == controller.name())
                };
                let key = if mount.is_v2 { "" } else { controller.name() };
                if let Some(folder) = mount.own_folder(own, key).filter(|_| has) {
                    places.entry(controller).or_insert(Place { is_v2: mount.is_v2, folder });
                }
            }
        }
        Self { places }
    }

    /// Makes the group in which those of all tenants are; what cannot be limited is missing.
    pub(crate) fn make_parent(&self, name: &str) -> (Groups, Vec<Missing>) {
        let mut groups = Groups { parents: BTreeMap::new() };
        let mut missing = Vec::new();
        for controller in Controller::ALL {
            let v2 = self.places.values().any(|place| place.is_v2);
            let Some(place) = self.places.get(&controller) else {
                if controller != Controller::TimeCount || !v2 {
                    missing.push(lacks(controller, "no control group has it here"));
                }
                continue;
            };
            match place.make_below(name, controller) {
                Ok(parent) => {
                    groups.parents.insert(controller, parent);
                }
                Err(error) => missing.push(lacks(controller, &error.to_string())),
            }
        }
        (groups, missing)
    }
}

fn lacks(controller: Controller, why: &str) -> Missing {
    let what = match controller {
        Controller::Memory => "limit of memory (per process only, by address space)",
        Controller::Processes => "limit of processes by control group (by user only)",
        Controller::Time => "limit of processor time",
        Controller::Cores => "pinning to cores",
        Controller::TimeCount => "exact count of processor time (added up from /proc)",
    };
    Missing::new(what, why)
}

/// A line of mountinfo that is a mount of control groups.
struct GroupMount<'a> {
    is_v2: bool,
    root: &'a str,
    target: &'a str,
    options: &'a str,
}

impl<'a> GroupMount<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, target) = (fields.next()?, fields.next()?);
        let mut rest = after.split(' ');
        let kind = rest.next()?;
        let options = rest.nth(1)?;
        matches!(kind, "cgroup" | "cgroup2").then_some(Self {
            is_v2: kind == "cgroup2",
            root,
            target,
            options,
        })
    }

    /// The folder of the own group: what /proc/self/cgroup says, from the root that is mounted.
    fn own_folder(&self, own: &str, controller: &str) -> Option<PathBuf> {
        let line = own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            controllers.split(',').any(|it| it == controller).then_some(path)
        })?;
        let below = line.strip_prefix(self.root.trim_end_matches('/')).unwrap_or("");
        Some(Path::new(self.target).join(below.trim_start_matches('/')))
    }
}

impl Place {
    /// A group below the own one, which passes its controller on.
    fn make_below(&self, name: &str, controller: Controller) -> io::Result<Self> {
        let folder = self.folder.join(name);
        if self.is_v2 {
            pass_on(&self.folder, controller)?;
        }
        make_folder(&folder)?;
        if self.is_v2 {
            pass_on(&folder, controller)?;
        } else if controller == Controller::Cores {
            inherit_cores(&self.folder, &folder)?;
        }
        Ok(Self { is_v2: self.is_v2, folder })
    }
}

/// Lets groups below have a controller. Version 2 refuses that to a group with processes of its own:
/// this process then moves to a group beside the tenants'.
fn pass_on(folder: &Path, controller: Controller) -> io::Result<()> {
    let control = folder.join("cgroup.subtree_control");
    let word = format!("+{}", controller.name());
    let listed = fs::read_to_string(&control)?;
    if listed.split_whitespace().any(|it| it == controller.name()) {
        return Ok(());
    }
    let Err(refused) = fs::write(&control, &word) else { return Ok(()) };
    let aside = folder.join("tenuto-supervisor");
    make_folder(&aside)?;
    fs::write(aside.join("cgroup.procs"), std::process::id().to_string())?;
    fs::write(&control, &word).map_err(|_| refused)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// A new group of version 1 has no cores and no memory, and takes no process until it has.
fn inherit_cores(from: &Path, to: &Path) -> io::Result<()> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        fs::write(to.join(file), fs::read(from.join(file))?)?;
    }
    Ok(())
}

/// The group in which those of all tenants are, per controller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    parents: BTreeMap<Controller, Place>,
}

impl Groups {
    /// Whether memory and processes are limited for a tenant as a whole.
    pub(crate) fn limits_memory(&self) -> bool {
        self.parents.contains_key(&Controller::Memory)
    }

    /// Makes the group of a tenant, with its limits.
    pub(crate) fn make(&self, tenant: &Tenant) -> io::Result<TenantGroup> {
        let mut folders = BTreeMap::new();
        for (&controller, parent) in &self.parents {
            let place = Place { is_v2: parent.is_v2, folder: parent.folder.join(&tenant.name) };
            make_folder(&place.folder)?;
            if !parent.is_v2 && controller == Controller::Cores {
                inherit_cores(&parent.folder, &place.folder)?;
            }
            limit(controller, &place, tenant)?;
            folders.insert(controller, place);
        }
        Ok(TenantGroup { folders })
    }

    /// Names of the groups that are there, left behind or in use.
    pub(crate) fn names(&self) -> Vec<String> {
        let folders = self.parents.values().flat_map(|place| subfolders(&place.folder));
        let mut names: Vec<String> = folders.collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Removes the group of a tenant; `false` while processes that are ending are still in it.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let removed = |place: &Place| is_removed(&place.folder.join(name));
        self.parents.values().filter(|place| !removed(place)).count() == 0
    }

    /// Removes the group of all tenants; `false` while one of them is left.
    pub(crate) fn remove_all(&self) -> bool {
        self.parents.values().filter(|place| !is_removed(&place.folder)).count() == 0
    }
}

fn is_removed(folder: &Path) -> bool {
    fs::remove_dir(folder).is_ok() || !folder.exists()
}

fn subfolders(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// What an emulator takes besides the memory of its guest: itself, translated code, and the guest's image.
const EMULATOR_BYTES: u64 = 320_000_000;
/// Threads of an emulator.
const EMULATOR_THREADS: u64 = 64;

/// Memory of all processes of a tenant.
fn memory_of(tenant: &Tenant) -> Option<u64> {
    match tenant.environment {
        Environment::Sandbox => tenant.memory_bytes,
        Environment::Microvm(_) => {
            Some(tenant.memory_bytes.unwrap_or(Microvm::MEMORY_BYTES) + EMULATOR_BYTES)
        }
    }
}

/// Processes and threads on this machine; those in a guest are limited there.
fn processes_of(tenant: &Tenant) -> Option<u64> {
    match tenant.environment {
        Environment::Sandbox => tenant.processes.map(u64::from),
        Environment::Microvm(_) => Some(EMULATOR_THREADS),
    }
}

/// Period within which processor time is counted; the kernel's usual one.
const PERIOD_US: u64 = 100_000;

fn limit(controller: Controller, place: &Place, tenant: &Tenant) -> io::Result<()> {
    let write = |file: &str, value: String| {
        let path = place.folder.join(file);
        let said =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        fs::write(&path, value).map_err(said)
    };
    let optional = |file: &str, value: String| {
        if place.folder.join(file).exists() { write(file, value) } else { Ok(()) }
    };
    let quota = tenant.cores_milli.map(|milli| milli * PERIOD_US / 1_000);
    match (controller, place.is_v2) {
        (Controller::Memory, false) => {
            let bytes = memory_of(tenant).map_or("-1".to_owned(), |bytes| bytes.to_string());
            // Memory first: the sum with swap may not be below it. Lowering goes the other way.
            let memory = write("memory.limit_in_bytes", bytes.clone());
            optional("memory.memsw.limit_in_bytes", bytes.clone())?;
            memory.or_else(|_| write("memory.limit_in_bytes", bytes))
        }
        (Controller::Memory, true) => {
            let most = |limit: Option<u64>| limit.map_or("max".to_owned(), |it| it.to_string());
            write("memory.max", most(memory_of(tenant)))?;
            optional("memory.swap.max", most(memory_of(tenant).map(|_| 0)))?;
            optional("memory.oom.group", "1".to_owned())
        }
        (Controller::Processes, _) => {
            let most = processes_of(tenant).map(|most| most + OWN_PROCESSES);
            write("pids.max", most.map_or("max".to_owned(), |most| most.to_string()))
        }
        (Controller::Time, false) => {
            write("cpu.cfs_period_us", PERIOD_US.to_string())?;
            write("cpu.cfs_quota_us", quota.map_or("-1".to_owned(), |quota| quota.to_string()))
        }
        (Controller::Time, true) => {
            let quota = quota.map_or("max".to_owned(), |quota| quota.to_string());
            write("cpu.max", format!("{quota} {PERIOD_US}"))
        }
        (Controller::Cores, _) => match &tenant.pinned {
            Some(cores) => {
                let cores: Vec<String> = cores.iter().map(ToString::to_string).collect();
                write("cpuset.cpus", cores.join(","))
            }
            None => Ok(()),
        },
        (Controller::TimeCount, _) => Ok(()),
    }
}

/// Processes in a group besides the tenant's own: the first one of the sandbox.
pub(crate) const OWN_PROCESSES: u64 = 1;

/// The groups of one tenant.
#[derive(Clone, Debug, Default)]
pub(crate) struct TenantGroup {
    folders: BTreeMap<Controller, Place>,
}

impl TenantGroup {
    /// The files that take the id of a process, each once.
    pub(crate) fn entrances(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            self.folders.values().map(|place| place.folder.join("cgroup.procs")).collect();
        files.sort();
        files.dedup();
        files
    }

    /// Bytes of memory in use, files in memory included.
    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        self.number(Controller::Memory, "memory.usage_in_bytes", "memory.current")
    }

    /// Most bytes that were in use.
    pub(crate) fn memory_bytes_max(&self) -> Option<u64> {
        self.number(Controller::Memory, "memory.max_usage_in_bytes", "memory.peak")
    }

    /// Processes that the kernel killed for want of memory.
    pub(crate) fn memory_kills(&self) -> Option<u64> {
        self.word(Controller::Memory, "memory.oom_control", "memory.events", "oom_kill")
    }

    /// Times that a process was not started since there were too many.
    pub(crate) fn process_refusals(&self) -> Option<u64> {
        self.word(Controller::Processes, "pids.events", "pids.events", "max")
    }

    /// Processes and threads that are alive.
    pub(crate) fn processes(&self) -> Option<u64> {
        let alive = self.number(Controller::Processes, "pids.current", "pids.current")?;
        Some(alive.saturating_sub(OWN_PROCESSES))
    }

    /// Processor time used, nanoseconds.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        match self.folders.get(&Controller::TimeCount) {
            Some(place) => number(&place.folder.join("cpuacct.usage")),
            None => {
                let us = self.word(Controller::Time, "cpu.stat", "cpu.stat", "usage_usec")?;
                us.checked_mul(1_000)
            }
        }
    }

    fn file(&self, controller: Controller, v1: &str, v2: &str) -> Option<PathBuf> {
        let place = self.folders.get(&controller)?;
        Some(place.folder.join(if place.is_v2 { v2 } else { v1 }))
    }

    fn number(&self, controller: Controller, v1: &str, v2: &str) -> Option<u64> {
        number(&self.file(controller, v1, v2)?)
    }

    fn word(&self, controller: Controller, v1: &str, v2: &str, word: &str) -> Option<u64> {
        let text = fs::read_to_string(self.file(controller, v1, v2)?).ok()?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(found, _)| *found == word)?.1.trim().parse().ok()
    }
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(limits: &str) -> Tenant {
        let text = format!("tenuto_tenants: 1\ntenants: {{a: {{program: [/bin/c]{limits}}}}}\n");
        let read = tenuto_model::read_tenants(&text, "t.yaml", &|_, _| Ok(()));
        read.expect("a good file").tenants.remove(0)
    }

    /// An empty folder, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tenuto-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn own_groups_of_version_1_are_found() {
        let mounts = "24 1 0:20 / /proc rw - proc proc rw\n\
            30 2 0:25 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
            31 2 0:26 /outer /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        let own = "4:memory:/a/b\n3:cpu,cpuacct:/outer/c\n0::/\n";
        let mounted = Mounted::of(mounts, own);
        let folder = |controller| mounted.places.get(&controller).map(|it| it.folder.clone());
        assert_eq!(folder(Controller::Memory), Some("/sys/fs/cgroup/memory/a/b".into()));
        for controller in [Controller::Time, Controller::TimeCount] {
            assert_eq!(folder(controller), Some("/sys/fs/cgroup/cpu/c".into()));
        }
        let (_, missing) = Mounted::default().make_parent("x");
        assert_eq!(missing.len(), Controller::ALL.len(), "nothing is there");
    }

    /// Version 2 on plain files: the kernel's own refusals are not in it.
    #[test]
    fn groups_of_version_2_are_made_limited_and_read() {
        let root = Folder::new("groups");
        let path = root.0.display();
        fs::write(root.0.join("cgroup.controllers"), "cpu memory pids cpuset").expect("a file");
        fs::write(root.0.join("cgroup.subtree_control"), "cpu memory pids cpuset").expect("a file");
        let parent = root.0.join("tenuto-x");
        fs::create_dir(&parent).expect("a folder");
        fs::write(parent.join("cgroup.subtree_control"), "cpu memory pids cpuset").expect("a file");
        let mounted =
            Mounted::of(&format!("30 2 0:25 / {path} rw - cgroup2 cgroup2 rw\n"), "0::/\n");
        let (groups, missing) = mounted.make_parent("tenuto-x");
        assert_eq!((missing.as_slice(), groups.limits_memory()), (&[][..], true));
        let limits = ", memory: 64 MB, processes: 8, cores: 0.5, pinned: [0, 2]";
        let group = groups.make(&tenant(limits)).expect("plain files");
        let folder = parent.join("a");
        let read = |file: &str| fs::read_to_string(folder.join(file)).expect("written");
        assert_eq!(read("memory.max"), "64000000");
        assert_eq!(read("pids.max"), "9");
        assert_eq!(read("cpu.max"), "50000 100000");
        assert_eq!(read("cpuset.cpus"), "0,2");
        assert_eq!(group.entrances(), [folder.join("cgroup.procs")]);
        fs::write(folder.join("memory.events"), "low 0\noom_kill 3\n").expect("a file");
        fs::write(folder.join("cpu.stat"), "usage_usec 12\n").expect("a file");
        fs::write(folder.join("pids.current"), "5\n").expect("a file");
        assert_eq!((group.memory_kills(), group.cpu_ns()), (Some(3), Some(12_000)));
        assert_eq!((group.processes(), group.memory_bytes()), (Some(4), None));
        groups.make(&tenant("")).expect("plain files");
        assert_eq!((read("memory.max"), read("cpu.max")), ("max".into(), "max 100000".into()));
        assert_eq!(groups.names(), ["a"]);
    }
}
