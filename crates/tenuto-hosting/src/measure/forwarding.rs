//! The paper's Table 2: the kernel forwards IP packets, by receive path.

use super::echo;
use super::figures::{Observed, Row, Series};
use super::surroundings::Surroundings;
use std::io;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use tenuto_io::links::IpBatch;
use tenuto_io::measure::{Load, Subject, Wiring, measure as measure_window};
use tenuto_io::namespaces::{spawn_in_new_netns, within_netns};
use tenuto_io::{KernelSchedule, ReceiveSplit, Split};
use tenuto_model::NicReceive;
use tenuto_units::Span;

/// Of whoever hears what was forwarded.
const TARGET: Ipv4Addr = Ipv4Addr::new(10, 97, 2, 2);
const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 97, 1, 2);
/// Hardware addresses: of the router's entry, of the sender, of the target.
const ENTRY: [u8; 6] = [2, 0, 0, 0, 97, 1];
const SENDER: [u8; 6] = [2, 0, 0, 0, 97, 2];
const HEARER: [u8; 6] = [2, 0, 0, 0, 97, 3];
/// Of the thread that receives: as of the sender, on the other processor.
const PRIORITY: u8 = 10;

/// A network namespace that forwards, with a receive path at its entry.
struct Router {
    name: &'static str,
    child: Child,
    wiring: Wiring,
    split: Option<ReceiveSplit>,
}

pub(super) fn measure(with: &Surroundings<'_>) -> io::Result<Series> {
    let mut notes = vec![
        "processor time is that of the thread that receives: without a split all is done in the sender's".to_owned(),
    ];
    let processor = u32::try_from(with.processors[1]).map_err(io::Error::other)?;
    let ring_frames = NicReceive::RING_FRAMES;
    let wanted = [
        ("inline", None),
        ("threaded", Some(Split::Threaded)),
        ("cpumap, ring 512", Some(Split::Cpumap { processor, ring_frames })),
    ];
    let mut all = Vec::new();
    for (number, (name, split)) in wanted.into_iter().enumerate() {
        match Router::start(name, number, split, processor) {
            Ok(router) => all.push(router),
            Err(error) if number == 0 => return Err(error),
            Err(error) => notes.push(format!("{name} cannot be had here: {error}")),
        }
    }
    let mut blocks = Vec::new();
    for bytes in [64, 1_500] {
        let row =
            |it: &Router| Row { setting: format!("{bytes} B, {}", it.name), rounds: Vec::new() };
        let mut rows: Vec<Row> = all.iter().map(row).collect();
        for _ in 0..with.settings.rounds {
            for (router, row) in all.iter_mut().zip(&mut rows) {
                row.rounds.push(router.window(bytes, with)?);
            }
        }
        blocks.push(rows);
    }
    let title = "IP forwarding by receive path (Table 2)".into();
    Ok(Series { name: "forwarding".into(), title, blocks, notes })
}

impl Router {
    fn start(
        name: &'static str,
        number: usize,
        split: Option<Split>,
        processor: u32,
    ) -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        // It serves nobody; what forwards is the kernel in its network namespace.
        command.arg(echo::ROLE).stdin(Stdio::null()).stdout(Stdio::null());
        let child = spawn_in_new_netns(command).map_err(io::Error::other)?;
        let wiring = Wiring::veth_called(&format!("-r{number}"), Some(child.id()))?;
        let mut router = Self { name, child, wiring, split: None };
        let wiring = router.wiring.clone();
        router.split = within_netns(router.child.id(), || route(&wiring, split, processor))??;
        Ok(router)
    }

    fn window(&mut self, bytes: usize, with: &Surroundings<'_>) -> io::Result<Observed> {
        let load = Load {
            frame: frame(bytes),
            mark_at: MARK_AT,
            ..Load::plain(bytes, None, with.settings.window())
        };
        let (wiring, processor) = (self.wiring.clone(), with.processors[0]);
        let mut subject = Receiving { split: self.split.as_ref(), before: Span::ZERO };
        let window = measure_window(&wiring, &load, processor, &mut subject)?;
        Ok(Observed {
            messages: window.arrived,
            ns: window.sent_for_ns,
            cpu_ns: window.sent_for_ns + window.processor_ns,
            receive_cpu_ns: window.processor_ns,
            is_real_time: window.is_real_time,
            ..Observed::default()
        })
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The thread that receives, if there is one.
struct Receiving<'a> {
    split: Option<&'a ReceiveSplit>,
    before: Span,
}

impl Receiving<'_> {
    fn used(&self) -> Span {
        self.split.map_or(Span::ZERO, ReceiveSplit::processor_time)
    }
}

impl Subject for Receiving<'_> {
    fn begin(&mut self) -> io::Result<()> {
        self.before = self.used();
        Ok(())
    }

    fn end(&mut self) -> io::Result<Span> {
        Ok(self.used() - self.before)
    }
}

/// Makes the present network namespace a router between the wiring's two ends in it.
fn route(
    wiring: &Wiring,
    split: Option<Split>,
    processor: u32,
) -> io::Result<Option<ReceiveSplit>> {
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    let (entry, exit) = (&wiring.entry, &wiring.exit);
    let mut batch = IpBatch::new();
    batch.add(format!("link set dev {entry} address {}", text_of(ENTRY)));
    batch.address(entry, Ipv4Addr::new(10, 97, 1, 1).into(), 24);
    batch.address(exit, Ipv4Addr::new(10, 97, 2, 1).into(), 24);
    batch.neighbour(exit, TARGET.into(), HEARER);
    batch.run().map_err(io::Error::other)?;
    let Some(split) = split else { return Ok(None) };
    let made = ReceiveSplit::new(entry, split)?;
    made.place(Some(processor), Some(KernelSchedule::Fifo(PRIORITY)))?;
    Ok(Some(made))
}

fn text_of(address: [u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// Behind the headers of Ethernet, IPv4 and UDP.
const MARK_AT: usize = 42;

/// A UDP packet of so many bytes on the wire but for the FCS, from the sender to the target.
fn frame(bytes: usize) -> Vec<u8> {
    const MARK_BYTES: usize = 16;
    let bytes = bytes.max(MARK_AT + MARK_BYTES);
    let mut frame = [&ENTRY[..], &SENDER, &[0x08, 0x00]].concat();
    let ip_bytes = u16::try_from(bytes - 14).expect("a frame");
    let mut header = vec![0x45, 0];
    header.extend(ip_bytes.to_be_bytes());
    header.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    header.extend(SOURCE.octets());
    header.extend(TARGET.octets());
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend([0x13, 0x89, 0x13, 0x89]);
    frame.extend((ip_bytes - 20).to_be_bytes());
    // No checksum of UDP.
    frame.extend([0, 0]);
    frame.resize(bytes, 0);
    frame
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words =
        header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_a_good_header() {
        let frame = frame(1_500);
        assert_eq!((frame.len(), &frame[12..14]), (1_500, &[8, 0][..]));
        assert_eq!(checksum(&frame[14..34]), 0, "with its own checksum the sum is all ones");
        assert_eq!(u16::from_be_bytes([frame[16], frame[17]]), 1_486);
    }
}
