//! How frames for a tenant are received: `receive` in the file of tenants.

use super::reader::{Field, Reader};
use super::tenant_text::{JudgeTenant, TenantText, judged};

/// The receive path of a virtual NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicReceive {
    /// Where protocols are handled.
    pub path: ReceivePath,
    /// The processor of that thread; `None` for one that is chosen.
    pub processor: Option<u32>,
    /// How it is scheduled.
    pub priority: ReceivePriority,
    /// Frames that wait for it at most (`cpumap`; the others have the device's own ring).
    pub ring_frames: u32,
}

impl NicReceive {
    /// Frames of a ring that nobody has chosen: TCP of 64 connections loses nothing in it.
    pub const RING_FRAMES: u32 = 512;

    /// As the kernel does it.
    pub const INLINE: Self = Self {
        path: ReceivePath::Inline,
        processor: None,
        priority: ReceivePriority::Nice(0),
        ring_frames: Self::RING_FRAMES,
    };
}

/// Where the protocols of received frames are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReceivePath {
    /// Where they arrive.
    Inline,
    /// In a thread of the device.
    Threaded,
    /// In a thread of a processor, behind a ring.
    Cpumap,
    /// As was best when it was measured on the machine.
    Auto,
}

impl ReceivePath {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Threaded => "threaded",
            Self::Cpumap => "cpumap",
            Self::Auto => "auto",
        }
    }
}

/// How the thread that handles protocols is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivePriority {
    /// With others, by a nice value from -20 to 19.
    Nice(i8),
    /// Before others, under SCHED_FIFO.
    Fifo(u8),
}

const KEYS: [&str; 4] = ["path", "processor", "priority", "ring"];
const PATHS: [(&str, ReceivePath); 4] = [
    ("inline", ReceivePath::Inline),
    ("threaded", ReceivePath::Threaded),
    ("cpumap", ReceivePath::Cpumap),
    ("auto", ReceivePath::Auto),
];

/// `receive: threaded`, or a map with the path and how its thread runs.
pub(super) fn read_receive(
    reader: &mut Reader,
    of: &Field<'_>,
    judge: JudgeTenant<'_>,
) -> NicReceive {
    let Some(field) = of.get("receive") else { return NicReceive::INLINE };
    let receive = match field.pairs().is_empty() {
        true => of_path(reader.choice(&field, &PATHS)),
        false => read_map(reader, &field, judge),
    };
    if of.get("address").is_none() {
        reader.error(&field, "a tenant without an address has no virtual NIC", "add `address`");
    }
    receive
}

fn of_path(path: Option<ReceivePath>) -> NicReceive {
    NicReceive { path: path.unwrap_or(ReceivePath::Inline), ..NicReceive::INLINE }
}

fn read_map(reader: &mut Reader, field: &Field<'_>, judge: JudgeTenant<'_>) -> NicReceive {
    reader.expect_map(field, &KEYS);
    let Some(path) = field.get("path") else {
        reader.error(field, "there is no path", "add `path: threaded`");
        return NicReceive::INLINE;
    };
    let mut receive = of_path(reader.choice(&path, &PATHS));
    if let Some(processor) = field.get("processor") {
        let number = reader.number(&processor, 0, 1_023);
        receive.processor = number
            .filter(|n| judged(reader, &processor, judge, TenantText::Processor, &n.to_string()))
            .and_then(|n| u32::try_from(n).ok());
    }
    if let Some(priority) = field.get("priority")
        && let Some(read) = read_priority(reader, &priority)
    {
        receive.priority = read;
    }
    if let Some(ring) = field.get("ring")
        && let Some(frames) = reader.number(&ring, 8, 16_384)
    {
        receive.ring_frames = u32::try_from(frames).unwrap_or(NicReceive::RING_FRAMES);
    }
    for (key, paths) in [
        ("ring", &[ReceivePath::Cpumap][..]),
        ("processor", &[ReceivePath::Cpumap, ReceivePath::Threaded]),
        ("priority", &[ReceivePath::Cpumap, ReceivePath::Threaded]),
    ] {
        let Some(unused) = field.get(key).filter(|_| !paths.contains(&receive.path)) else {
            continue;
        };
        let message = format!("`{}` has no {key} of its own", receive.path.name());
        let hint = format!("leave `{key}` out, or write `path: {}`", paths[0].name());
        reader.error(&unused, &message, &hint);
    }
    receive
}

/// `nice 10` or `fifo 5`.
fn read_priority(reader: &mut Reader, field: &Field<'_>) -> Option<ReceivePriority> {
    let text = reader.text(field)?;
    let priority = match text.split_once(' ') {
        Some(("nice", number)) => {
            let nice = number.parse().ok().filter(|nice| (-20..=19).contains(nice));
            nice.map(ReceivePriority::Nice)
        }
        Some(("fifo", number)) => {
            let level = number.parse().ok().filter(|level| (1..=49).contains(level));
            level.map(ReceivePriority::Fifo)
        }
        _ => None,
    };
    if priority.is_none() {
        let message = format!("`{}` is no priority", super::reader::shown(text));
        reader.error(field, &message, "write `nice 10` (-20 to 19) or `fifo 5` (1 to 49)");
    }
    priority
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(receive: &str) -> Result<NicReceive, String> {
        let text = format!(
            "tenuto_tenants: 1\ntenants: {{a: {{program: [/bin/c], address: 10.9.1.2/30, receive: {receive}}}}}\n"
        );
        let file = super::super::read_tenants(&text, "t.yaml", &|_, text| match text {
            "9" => Err("there is no processor 9".into()),
            _ => Ok(()),
        });
        file.map(|file| file.tenants[0].receive).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_path_is_a_word_or_a_map() {
        assert_eq!(read("inline"), Ok(NicReceive::INLINE));
        let threaded = NicReceive { path: ReceivePath::Threaded, ..NicReceive::INLINE };
        assert_eq!(read("threaded"), Ok(threaded));
        let whole = "{path: cpumap, processor: 1, priority: fifo 5, ring: 64}";
        let expected = NicReceive {
            path: ReceivePath::Cpumap,
            processor: Some(1),
            priority: ReceivePriority::Fifo(5),
            ring_frames: 64,
        };
        assert_eq!(read(whole), Ok(expected));
        let nice = read("{path: threaded, priority: nice -5}").expect("good");
        assert_eq!(nice.priority, ReceivePriority::Nice(-5));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        for (text, words) in [
            ("cpumpa", "did you mean"),
            ("{ring: 64}", "there is no path"),
            ("{path: threaded, ring: 64}", "`threaded` has no ring of its own"),
            ("{path: inline, processor: 0}", "`inline` has no processor of its own"),
            ("{path: cpumap, ring: 4}", "ring"),
            ("{path: cpumap, processor: 9}", "there is no processor 9"),
            ("{path: cpumap, priority: nice 20}", "is no priority"),
            ("{path: cpumap, priority: fifo 50}", "is no priority"),
        ] {
            let told = read(text).expect_err(text);
            assert!(told.contains(words), "{text}: {told}");
        }
    }
}
