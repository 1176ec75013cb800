//! The guest's kernel, and what of the distribution else a machine is made of.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The emulator, and where programs are.
const EMULATOR: &str = "qemu-system-x86_64";
const BUSYBOX: &str = "busybox";
const PROGRAMS: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];
/// Where kernels are kept.
const BOOT: &str = "/boot";
const KERNEL: &str = "vmlinuz-";
/// Drivers in the order in which they need one another. What a kernel has built in is not there as a file.
const DRIVERS: [&str; 6] = [
    "drivers/virtio/virtio_ring.ko",
    "drivers/virtio/virtio.ko",
    "drivers/virtio/virtio_mmio.ko",
    "net/core/failover.ko",
    "drivers/net/net_failover.ko",
    "drivers/net/virtio_net.ko",
];

/// What a machine is made of, found on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) emulator: PathBuf,
    pub(crate) busybox: PathBuf,
    pub(crate) kernel: PathBuf,
    /// The drivers that are files.
    pub(crate) drivers: Vec<PathBuf>,
}

impl Parts {
    /// Those for a kernel, or for the newest one of this host.
    ///
    /// # Errors
    /// Says what is missing, and which package has it.
    pub(crate) fn find(kernel: Option<&Path>) -> Result<Self, String> {
        let program = |name: &str, package: &str| {
            let mut places = PROGRAMS.iter().map(|folder| Path::new(folder).join(name));
            places
                .find(|path| path.is_file())
                .ok_or_else(|| format!("there is no {name}: install {package}"))
        };
        let kernel = match kernel {
            Some(kernel) => kernel.to_owned(),
            None => newest(Path::new(BOOT)).ok_or_else(|| {
                format!("there is no kernel in {BOOT}: install linux-image-cloud-amd64, or name one with `kernel`")
            })?,
        };
        let drivers = drivers_of(&kernel)?;
        Ok(Self {
            emulator: program(EMULATOR, "qemu-system-x86")?,
            busybox: program(BUSYBOX, "busybox-static")?,
            kernel,
            drivers,
        })
    }
}

/// The kernel of the highest version.
fn newest(boot: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(boot).ok()?.filter_map(Result::ok).map(|entry| entry.file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let newest = names.filter(|name| name.starts_with(KERNEL)).max_by_key(|name| version(name))?;
    Some(boot.join(newest))
}

/// The numbers of a version, to compare.
fn version(name: &str) -> Vec<u64> {
    let parts = name.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// The drivers of a kernel, in the folders that its package has beside it.
fn drivers_of(kernel: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = kernel.display();
    fs::File::open(kernel).map_err(|error: io::Error| format!("{shown}: {error}"))?;
    let name = kernel.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = name.strip_prefix(KERNEL).ok_or_else(|| {
        format!("{shown}: a kernel is called vmlinuz-VERSION, as its package has it")
    })?;
    let root = kernel.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let mut folders =
        ["lib/modules", "usr/lib/modules"].into_iter().map(|it| root.join(it).join(version));
    let folder = folders.find(|folder| folder.is_dir()).ok_or_else(|| {
        format!("{shown}: its drivers are neither in {0}/lib/modules/{version} nor in {0}/usr/lib/modules", root.display())
    })?;
    let mut drivers = Vec::new();
    for name in DRIVERS {
        let path = folder.join("kernel").join(name);
        if path.is_file() {
            drivers.push(path);
        } else if path.with_extension("ko.xz").is_file() || path.with_extension("ko.zst").is_file()
        {
            return Err(format!("{}: compressed drivers are not read", path.display()));
        }
    }
    Ok(drivers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_the_highest_number() {
        assert!(version("vmlinuz-6.1.0-56-cloud-amd64") > version("vmlinuz-6.1.0-9-cloud-amd64"));
    }

    #[test]
    fn a_kernel_without_its_drivers_is_told() {
        let why = drivers_of(Path::new("/bin/sh")).expect_err("no kernel");
        assert!(why.contains("a kernel is called vmlinuz-VERSION"), "{why}");
        let why = Parts::find(Some(Path::new("/no/boot/vmlinuz-1"))).expect_err("not there");
        assert!(why.contains("/no/boot/vmlinuz-1"), "{why}");
    }
}
