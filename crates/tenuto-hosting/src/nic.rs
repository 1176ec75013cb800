//! The host's end of a tenant's virtual NIC.
//!
//! The tenant's end is in its network namespace and goes with it, and this end goes with that one. A
//! frame from the tenant is believed to be from the tenant's address only, and goes to this host only:
//! both are settings of this end, where no tenant gets.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use tenuto_io::links::{
    LinkChanger, LinkName, disable_ipv6, disable_ipv6_on, offloads_off, open_tap, set_tso,
};
use tenuto_io::namespaces::within_netns;
use tenuto_io::{Crossing, KernelSchedule, NicPolicer, RateLimits, ReceiveSplit, Split, realtime};
use tenuto_model::{NicReceive, ReceivePath, ReceivePriority, TenantNic};
use tenuto_units::Span;

/// A virtual NIC that was made.
pub(crate) struct HostEnd {
    name: LinkName,
    policers: Vec<NicPolicer>,
    split: Option<ReceiveSplit>,
}

/// What crossed a virtual NIC, as seen from the tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crossed {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) dropped: u64,
}

impl HostEnd {
    /// Makes the pair, the other end named `peer` in the network namespace of the process `pid`.
    pub(crate) fn make(
        name: LinkName,
        nic: &TenantNic,
        peer: &LinkName,
        pid: u32,
    ) -> io::Result<Self> {
        let mut links = LinkChanger::new()?;
        match links.add_veth(&name, peer, pid) {
            // Of a sandbox that the kernel has not quite ended yet, or has by now.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let _ = links.remove(&name);
                links.add_veth(&name, peer, pid)?;
            }
            result => result?,
        }
        Self::set_up(name, nic, &mut links)
    }

    /// Makes a TAP interface, for a machine whose emulator holds the other end.
    pub(crate) fn make_tap(name: LinkName, nic: &TenantNic) -> io::Result<(Self, OwnedFd)> {
        let tap = open_tap(&name)?;
        Ok((Self::set_up(name, nic, &mut LinkChanger::new()?)?, tap))
    }

    fn set_up(name: LinkName, nic: &TenantNic, links: &mut LinkChanger) -> io::Result<Self> {
        disable_ipv6_on(&name)?;
        for (setting, value) in SETTINGS {
            set(&name, setting, value)?;
        }
        links.add_address(&name, nic.host, nic.prefix_bits)?;
        links.set_up(&name)?;
        Ok(Self { name, policers: Vec::new(), split: None })
    }

    /// Splits what the other end receives; `peer` is its name in the network namespace of the process `pid`.
    /// An error of the second kind leaves it split, but its thread as the kernel made it.
    pub(crate) fn receive(
        &mut self,
        peer: &LinkName,
        pid: u32,
        receive: &NicReceive,
        pinned: Option<&[u32]>,
    ) -> Result<(), SplitError> {
        let split = match receive.path {
            // What nothing was measured for is as the kernel has it.
            ReceivePath::Inline | ReceivePath::Auto => return Ok(()),
            ReceivePath::Threaded => Split::Threaded,
            ReceivePath::Cpumap => Split::Cpumap {
                processor: receive.processor.unwrap_or_else(|| processor_beside(pinned)),
                ring_frames: receive.ring_frames,
            },
        };
        let sends = match split {
            Split::Threaded => set_tso(&self.name, false),
            // XDP takes frames as they are: whole, with their checksums.
            Split::Cpumap { .. } => offloads_off(&self.name),
        };
        sends.map_err(SplitError::NotSplit)?;
        let made = within_netns(pid, || {
            disable_ipv6()?;
            ReceiveSplit::new(peer, split)
        });
        let made = made.and_then(|made| made).map_err(SplitError::NotSplit)?;
        let placed = made.place(receive.processor, schedule_of(receive.priority));
        self.split = Some(made);
        // Nothing was asked for that it does not have anyway.
        let is_asked =
            receive.processor.is_some() || receive.priority != NicReceive::INLINE.priority;
        placed.or_else(|error| if is_asked { Err(SplitError::NotPlaced(error)) } else { Ok(()) })
    }

    /// Frames that wait for the thread that receives; `None` where there is none.
    pub(crate) fn ring_frames(&self) -> Option<u32> {
        self.split.as_ref().map(ReceiveSplit::ring_frames)
    }

    /// Processor time of the thread that receives; `None` where none is seen.
    pub(crate) fn receive_time(&self) -> Option<Span> {
        let split = self.split.as_ref().filter(|split| !split.threads().is_empty())?;
        Some(split.processor_time())
    }

    /// Limits what crosses, each way by itself.
    pub(crate) fn limit(&mut self, limits: RateLimits) -> io::Result<()> {
        if limits == RateLimits::default() {
            return Ok(());
        }
        for crossing in [Crossing::In, Crossing::Out] {
            self.policers.push(NicPolicer::new(&self.name, crossing, limits)?);
        }
        Ok(())
    }

    /// Frames above the limits that were dropped; `None` where nothing is limited.
    pub(crate) fn policed(&self) -> Option<u64> {
        let dropped = self.policers.iter().map(|policer| policer.dropped().unwrap_or(0));
        (!self.policers.is_empty()).then(|| dropped.sum())
    }

    /// What crossed it so far; `None` when it is gone.
    pub(crate) fn crossed(&self) -> Option<Crossed> {
        let table = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
        crossed_in(&table, self.name.as_str())
    }
}

/// What came of a wish for a receive path.
#[derive(Debug)]
pub(crate) enum SplitError {
    /// Frames are received inline.
    NotSplit(io::Error),
    /// They are received as asked, in a thread that runs where and as the kernel likes.
    NotPlaced(io::Error),
}

/// The usual scheduling is what a thread has.
fn schedule_of(priority: ReceivePriority) -> Option<KernelSchedule> {
    match priority {
        ReceivePriority::Nice(0) => None,
        ReceivePriority::Nice(nice) => Some(KernelSchedule::Nice(nice)),
        ReceivePriority::Fifo(level) => Some(KernelSchedule::Fifo(level)),
    }
}

/// The last processor on which the tenant does not run, or the last one if it may run on all.
pub(crate) fn processor_beside(pinned: Option<&[u32]>) -> u32 {
    let allowed = realtime::allowed_processors().unwrap_or_default();
    let allowed: Vec<u32> = allowed.into_iter().filter_map(|it| u32::try_from(it).ok()).collect();
    let is_free = |it: &&u32| pinned.is_some_and(|pinned| !pinned.contains(it));
    allowed.iter().rev().find(is_free).or(allowed.last()).copied().unwrap_or(0)
}

/// No source but the tenant's network (RFC 3704, strict), nothing passed on to others, no other
/// interface's address answered for, and no advice taken on routes.
const SETTINGS: [(&str, &str); 6] = [
    ("rp_filter", "1"),
    ("forwarding", "0"),
    ("arp_ignore", "2"),
    ("accept_redirects", "0"),
    ("accept_source_route", "0"),
    ("send_redirects", "0"),
];

fn set(name: &LinkName, setting: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/ipv4/conf/{name}/{setting}");
    let said = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
    fs::write(Path::new(&path), value).map_err(said)
}

/// The line of an interface: what it received the tenant has sent.
fn crossed_in(table: &str, name: &str) -> Option<Crossed> {
    let mut lines = table.lines().filter_map(|line| line.trim().split_once(':'));
    let (_, numbers) = lines.find(|(found, _)| *found == name)?;
    let numbers: Vec<u64> =
        numbers.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect();
    let at = |place: usize| numbers.get(place).copied();
    Some(Crossed { sent: at(1)?, received: at(9)?, dropped: at(3)? + at(11)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_crossed_is_seen_from_the_tenant() {
        let table = "Inter-|\n face |\n  tn-a: 100 1 0 3 0 0 0 0 200 9 0 4 0 0 0 0\n";
        let crossed = Crossed { sent: 1, received: 9, dropped: 7 };
        assert_eq!(crossed_in(table, "tn-a"), Some(crossed));
        assert_eq!(crossed_in(table, "tn"), None);
    }
}
