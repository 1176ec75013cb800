//! What both kinds of ports on AF_PACKET have in common.
//!
//! What such a socket does that a switch must not suffer from, and what is done about it: it hears
//! its own transmissions (ignored), waits in a queue discipline (bypassed), loses the outer VLAN
//! tag to metadata (put back), shares its frames with the host's own stack (see
//! [`crate::HostStack`]), and reports a link that went down as an error (counted).

use crate::frame_fit::{TYPE_AT, check_frame};
use crate::interface::Interface;
use crate::sys::burst::{Gather, SendBurst};
use crate::sys::socket;
use crate::{BURST_FRAMES, FRAME_BYTES_LIMIT, FlushReport, LinkState, Offer, PortStatistics};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// EtherType of a tag whose own is not reported.
const ETHERTYPE_VLAN: u16 = 0x8100;
/// So many calls without frames pass between two looks for an error.
const IDLE_CALLS_PER_LOOK: u32 = 64;

/// A packet socket on one interface, with a burst to send and its books.
pub(crate) struct PacketSocket {
    fd: OwnedFd,
    pub(crate) interface: Interface,
    pub(crate) send: SendBurst,
    gather: Gather,
    pub(crate) statistics: PortStatistics,
    idle_calls: u32,
}

impl PacketSocket {
    /// Opens a socket that hears nothing yet: `prepare` and then [`Self::bind`] come after.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let step = |what| step(name, what);
        let interface = Interface::find(name).map_err(step("find it"))?;
        let fd = socket::packet_socket().map_err(step("open a packet socket (CAP_NET_RAW)"))?;
        let packet = |option, value| socket::set_int(fd.as_fd(), libc::SOL_PACKET, option, value);
        packet(libc::PACKET_IGNORE_OUTGOING, 1).map_err(step("ignore own frames (Linux 4.20)"))?;
        packet(libc::PACKET_QDISC_BYPASS, 1).map_err(step("bypass the queue discipline"))?;
        socket::set_int(fd.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
            .map_err(step("ask for stamps"))?;
        socket::join_promiscuous(fd.as_fd(), interface.index())
            .map_err(step("enter promiscuous mode"))?;
        Ok(Self {
            fd,
            interface,
            send: SendBurst::new(),
            gather: Gather::new(),
            statistics: PortStatistics::default(),
            idle_calls: 0,
        })
    }

    /// Hears from now on; last, so that no frame is received with some of the options missing.
    pub(crate) fn bind(&self, name: &str) -> io::Result<()> {
        socket::bind_packet(self.fd(), self.interface.index()).map_err(step(name, "bind"))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Judges an error of the socket: a link that went down is counted, and no error unless its
    /// interface was removed.
    pub(crate) fn forgive(&mut self, error: io::Error) -> io::Result<()> {
        match error.raw_os_error() {
            // Reported once when the link goes down; the socket hears again once it is up.
            Some(libc::ENETDOWN) if socket::is_bound(self.fd())? => {
                self.statistics.link_downs += 1;
                Ok(())
            }
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => Err(self.interface.gone()),
            _ => Err(error),
        }
    }

    /// After a call without frames that asked the kernel nothing: looks for an error now and then.
    pub(crate) fn idle(&mut self) -> io::Result<()> {
        let look = self.idle_calls.is_multiple_of(IDLE_CALLS_PER_LOOK);
        self.idle_calls = self.idle_calls.wrapping_add(1);
        if !look {
            return Ok(());
        }
        match socket::take_error(self.fd())? {
            Some(error) => self.forgive(error),
            None => Ok(()),
        }
    }

    /// After a call with frames.
    pub(crate) fn busy(&mut self) {
        self.idle_calls = 0;
    }

    /// Sends the burst.
    pub(crate) fn flush(&mut self) -> io::Result<FlushReport> {
        let count = self.send.count();
        let Self { fd, send, .. } = self;
        let done = drive(count, WhenFull::Refuse, |next| send.send(fd.as_fd(), next..count));
        self.send.clear();
        self.book(done)
    }

    /// Sends frames from where they are.
    pub(crate) fn transmit(&mut self, frames: &[&[u8]]) -> io::Result<FlushReport> {
        let mut report = FlushReport::default();
        for frames in frames.chunks(BURST_FRAMES) {
            let mut fit: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
            let mut count = 0;
            for frame in frames.iter().filter(|it| check_frame(it, FRAME_BYTES_LIMIT).is_ok()) {
                fit[count] = frame;
                count += 1;
            }
            let Self { fd, gather, .. } = self;
            let send = |next| gather.send(fd.as_fd(), &fit[next..count]);
            let done = drive(count, WhenFull::Refuse, send);
            let done = self.book(done)?;
            let unfit = frames.len() - count;
            self.statistics.refused += unfit as u64;
            report.sent += done.sent;
            report.refused += done.refused + unfit;
        }
        Ok(report)
    }

    /// Sends frames from where they are, up to the first that finds no room.
    pub(crate) fn offer(&mut self, frames: &[&[u8]]) -> io::Result<Offer> {
        let mut report = FlushReport::default();
        let mut next = 0;
        while next < frames.len() {
            let rest = &frames[next..];
            let does_fit = |it: &&&[u8]| check_frame(it, FRAME_BYTES_LIMIT).is_ok();
            let count = rest.iter().take(BURST_FRAMES).take_while(does_fit).count();
            if count == 0 {
                self.statistics.refused += 1;
                report.refused += 1;
                next += 1;
                continue;
            }
            let Self { fd, gather, .. } = self;
            let send = |at| gather.send(fd.as_fd(), &rest[at..count]);
            let done = drive(count, WhenFull::Stop, send);
            let done = self.book(done)?;
            report += done;
            next += done.sent + done.refused;
            if done.sent + done.refused < count {
                break;
            }
        }
        Ok(Offer { report, left: frames.len() - next })
    }

    /// Books what was sent, and says what an error means.
    fn book(&mut self, done: io::Result<FlushReport>) -> io::Result<FlushReport> {
        match done {
            Ok(report) => {
                self.statistics.sent += report.sent as u64;
                self.statistics.refused += report.refused as u64;
                Ok(report)
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::ENXIO | libc::ENODEV) => Err(self.interface.gone()),
                _ => Err(error),
            },
        }
    }

    /// The books, with the kernel's count of frames that found no room.
    pub(crate) fn statistics(&mut self, clock_steps: u64) -> io::Result<PortStatistics> {
        self.statistics.overflowed += socket::take_drops(self.fd())?;
        self.statistics.clock_steps = clock_steps;
        Ok(self.statistics)
    }

    pub(crate) fn link(&mut self) -> io::Result<LinkState> {
        self.interface.refresh()
    }
}

/// What becomes of a frame that finds no room in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenFull {
    /// It is lost, as it would be on a wire; the next one may pass.
    Refuse,
    /// It and those behind it are left.
    Stop,
}

/// Has `send` hand `count` frames to a device, beginning at the one that it is told, until it has
/// taken or refused all of them, or is full.
fn drive(
    count: usize,
    when_full: WhenFull,
    mut send: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<FlushReport> {
    let mut report = FlushReport::default();
    let (mut next, mut old_news) = (0, false);
    while next < count {
        match send(next) {
            Ok(sent) => {
                report.sent += sent;
                next += sent;
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The socket may only now report that the link was down some time ago.
                Some(libc::ENETDOWN) if !old_news => old_news = true,
                // The buffer of the socket, the ring of the device or the memory is full; or the carrier
                // is off, or the frame too long for the other end of a pair.
                Some(libc::EAGAIN | libc::ENOBUFS) if when_full == WhenFull::Stop => break,
                // Full, out of memory, down, or longer than its MTU: the device's affair.
                Some(libc::EAGAIN | libc::ENOBUFS | libc::ENETDOWN | libc::EMSGSIZE) => {
                    report.refused += 1;
                    next += 1;
                }
                _ => return Err(error),
            },
        }
    }
    Ok(report)
}

/// Names the interface and the step that failed.
pub(crate) fn step<'a>(
    name: &'a str,
    what: &'static str,
) -> impl Fn(io::Error) -> io::Error + use<'a> {
    move |error| io::Error::new(error.kind(), format!("interface {name}: {what}: {error}"))
}

/// A VLAN tag as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VlanTag {
    /// EtherType of the tag.
    pub(crate) protocol: u16,
    /// Priority, drop eligibility and VLAN id.
    pub(crate) control: u16,
}

impl VlanTag {
    /// The tag that the status word of a received frame tells of.
    pub(crate) fn reported(status: u32, control: u16, protocol: u16) -> Option<Self> {
        let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let tag = Self { protocol: if known { protocol } else { ETHERTYPE_VLAN }, control };
        (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(tag)
    }

    fn to_bytes(self) -> [u8; TAG_BYTES] {
        let ([a, b], [c, d]) = (self.protocol.to_be_bytes(), self.control.to_be_bytes());
        [a, b, c, d]
    }
}

const TAG_BYTES: usize = 4;

/// Makes the frame what it was on the wire: with its VLAN tag, if the kernel took one off. `slot`
/// has the room of a tag in front of the frame. Gives where in the slot the frame begins.
pub(crate) fn make_whole(slot: &mut [u8], vlan: Option<VlanTag>) -> usize {
    match vlan {
        Some(tag) if slot.len() >= TAG_BYTES + TYPE_AT => {
            slot.copy_within(TAG_BYTES..TAG_BYTES + TYPE_AT, 0);
            slot[TYPE_AT..TYPE_AT + TAG_BYTES].copy_from_slice(&tag.to_bytes());
            0
        }
        _ => TAG_BYTES.min(slot.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_tag_is_put_back_behind_the_addresses() {
        let mut slot: Vec<u8> = (0..64).collect();
        let tag = VlanTag { protocol: 0x8100, control: 0x6005 };
        let start = make_whole(&mut slot, Some(tag));
        let frame = &slot[start..];
        assert_eq!(frame.len(), 64);
        assert_eq!(frame[..12], (4..16).collect::<Vec<u8>>());
        assert_eq!(frame[12..16], [0x81, 0x00, 0x60, 0x05]);
        assert_eq!(frame[16..], (16..64).collect::<Vec<u8>>());
    }

    #[test]
    fn slots_of_any_length_are_read() {
        let tag = VlanTag { protocol: 0x8100, control: 1 };
        for bytes in 0..20 {
            let mut slot = vec![7; bytes];
            assert_eq!(bytes - make_whole(&mut slot, None), bytes.saturating_sub(4));
            let tagged = bytes - make_whole(&mut slot, Some(tag));
            assert_eq!(tagged, if bytes < 16 { bytes.saturating_sub(4) } else { bytes });
        }
    }

    #[test]
    fn an_unnamed_tag_is_a_customer_tag() {
        let both = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let tag = |protocol| Some(VlanTag { protocol, control: 5 });
        assert_eq!(VlanTag::reported(both, 5, 0x88a8), tag(0x88a8));
        assert_eq!(VlanTag::reported(libc::TP_STATUS_VLAN_VALID, 5, 0), tag(0x8100));
        assert_eq!(VlanTag::reported(0, 5, 0x8100), None);
    }
}
