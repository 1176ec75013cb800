//! A receive path in two stages: one that only moves frames, and protocols in a thread of the kernel
//! (SP2 of \[SE2\], with what unmodified kernels have).
//!
//! ```text
//! inline     arrival ── protocols ── socket                 one processor, in the sender's or interrupt's time
//! threaded   arrival ═ device's ring ═ napi/NAME ── protocols ── socket
//! cpumap     arrival ── XDP ═ ring ═ cpumap/N ── protocols ── socket
//! ```

use crate::interface::Interface;
use crate::kernel_threads::{KernelSchedule, KernelThread};
use crate::links::{LinkChanger, LinkName, set_gro};
use crate::own_sysfs::with_own_sysfs;
use crate::sys::bpf::{CpuMap, attach_cpumap};
use std::os::fd::OwnedFd;
use std::{fs, io};
use tenuto_units::Span;

/// Frames that the ring of a virtual Ethernet device holds (`VETH_RING_SIZE` of the kernel).
pub const DEVICE_RING_FRAMES: u32 = 256;

/// How received frames are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// To a thread of the device (Linux 5.12).
    Threaded,
    /// To the thread of a processor, by XDP (Linux 4.15, links of programs 5.9).
    Cpumap {
        /// Where the thread runs.
        processor: u32,
        /// Frames that wait for it at most; more are dropped.
        ring_frames: u32,
    },
}

/// A receive path that was split, until this is dropped or the device is gone.
pub struct ReceiveSplit {
    ring_frames: u32,
    threads: Vec<KernelThread>,
    /// Held for their end: the program at the device, then the ring.
    _program: Option<(OwnedFd, CpuMap)>,
}

impl ReceiveSplit {
    /// Splits what `receiver` receives, in the present network namespace; switches the device on.
    ///
    /// # Errors
    ///
    /// Names what the kernel lacks or refuses.
    pub fn new(receiver: &LinkName, split: Split) -> io::Result<Self> {
        match split {
            Split::Threaded => Self::threaded(receiver),
            Split::Cpumap { processor, ring_frames } => {
                Self::cpumap(receiver, processor, ring_frames)
            }
        }
    }

    fn threaded(receiver: &LinkName) -> io::Result<Self> {
        // A virtual Ethernet device polls only if it may join segments.
        set_gro(receiver, true)?;
        LinkChanger::new()?.set_up(receiver)?;
        let prefix = format!("napi/{receiver}-");
        let before = KernelThread::named(&prefix);
        with_own_sysfs(|| {
            let path = format!("/sys/class/net/{receiver}/threaded");
            let said = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
            fs::write(&path, "1").map_err(said)
        })?;
        let threads = new_since(&before, &prefix);
        Ok(Self { ring_frames: DEVICE_RING_FRAMES, threads, _program: None })
    }

    fn cpumap(receiver: &LinkName, processor: u32, ring_frames: u32) -> io::Result<Self> {
        const PREFIX: &str = "cpumap/";
        let said = |what: &'static str| {
            move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"))
        };
        LinkChanger::new()?.set_up(receiver)?;
        let before = KernelThread::named(PREFIX);
        let map = CpuMap::new(processor).map_err(said("a ring to a processor"))?;
        map.set(processor, ring_frames).map_err(said("a ring to a processor"))?;
        let threads = new_since(&before, PREFIX);
        let interface = Interface::find(receiver.as_str())?.index();
        let link = attach_cpumap(interface, &map, processor).map_err(said("XDP in the driver"))?;
        Ok(Self { ring_frames, threads, _program: Some((link, map)) })
    }

    /// Frames that wait for the thread at most.
    pub const fn ring_frames(&self) -> u32 {
        self.ring_frames
    }

    /// Its threads; none where the kernel's threads are not seen.
    pub fn threads(&self) -> &[KernelThread] {
        &self.threads
    }

    /// Says where its threads run (that of a `cpumap` runs where it was made for) and how.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] where the kernel's threads are not seen, and those of the kernel.
    pub fn place(&self, processor: Option<u32>, how: Option<KernelSchedule>) -> io::Result<()> {
        if self.threads.is_empty() {
            let text = "threads of the kernel are not seen from this pid namespace";
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        for thread in &self.threads {
            if let Some(processor) = processor.filter(|_| self._program.is_none()) {
                thread.pin_to(processor)?;
            }
            how.map_or(Ok(()), |how| thread.schedule(how))?;
        }
        Ok(())
    }

    /// Processor time of its threads.
    pub fn processor_time(&self) -> Span {
        let times = self.threads.iter().filter_map(KernelThread::processor_time);
        times.fold(Span::ZERO, |sum, time| sum + time)
    }
}

/// Threads that were not there before. Should another program have made one of the same name in that
/// moment, none is believed to be ours.
fn new_since(before: &[KernelThread], prefix: &str) -> Vec<KernelThread> {
    let mut threads = KernelThread::named(prefix);
    threads.retain(|thread| !before.contains(thread));
    if threads.len() == 1 { threads } else { Vec::new() }
}
