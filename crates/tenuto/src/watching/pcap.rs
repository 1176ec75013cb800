//! Captures of the links of a run, as pcap with nanoseconds: one file for each direction of a link.
//!
//! A frame is stamped when its last bit has left the sender, in nanoseconds after traffic started.

use crate::failure::Failure;
use crate::output;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tenuto_model::{LinkEnd, Plan};
use tenuto_units::Instant;
use tenuto_world::clockwork::{Departed, Onlooker, Place, node_names};

/// The magic number of files with nanoseconds.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
const SNAP_BYTES: u32 = 65_535;
/// `LINKTYPE_ETHERNET`.
const ETHERNET: u32 = 1;
const NS_PER_S: u64 = 1_000_000_000;
/// Files that are open at once at most.
const FILES_MAX: usize = 900;
const BUFFER_BYTES: usize = 16 * 1024;

/// Files of links that are being written.
#[derive(Debug)]
pub(super) struct Captures {
    start: Instant,
    files: BTreeMap<Place, Capture>,
    failure: Option<(PathBuf, io::Error)>,
}

#[derive(Debug)]
struct Capture {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Captures {
    /// A file in the folder for each direction of the links that are named, `sw1-sw2`; of all links if none is.
    pub(super) fn open(plan: &Plan, folder: &Path, links: &[String]) -> Result<Self, Failure> {
        let ends = ends(plan, links)?;
        if ends.len() > FILES_MAX {
            let message = format!("{} files for --pcap; at most {FILES_MAX}", ends.len());
            let hint = "name the links that are of interest: --links sw1-sw2,sw3-d1";
            return Err(Failure::input(message, None, Some(hint)));
        }
        std::fs::create_dir_all(folder)
            .map_err(|error| output::unwritten("file", folder, &error))?;
        let mut files = BTreeMap::new();
        for (place, from, to) in ends {
            let name =
                format!("{}.{}-{}.{}.pcap", plain(&from.node), from.port, plain(&to.node), to.port);
            let path = folder.join(name);
            let capture = Capture::open(path.clone())
                .map_err(|error| output::unwritten("file", &path, &error))?;
            files.insert(place, capture);
        }
        Ok(Self { start: Instant::ZERO, files, failure: None })
    }

    /// Ends all files.
    pub(super) fn finish(self) -> Result<(), Failure> {
        if let Some((path, error)) = self.failure {
            return Err(output::unwritten("file", &path, &error));
        }
        for mut capture in self.files.into_values() {
            capture
                .file
                .flush()
                .map_err(|error| output::unwritten("file", &capture.path, &error))?;
        }
        Ok(())
    }
}

/// Both directions of every link that is asked for.
fn ends<'a>(
    plan: &'a Plan,
    links: &[String],
) -> Result<Vec<(Place, &'a LinkEnd, &'a LinkEnd)>, Failure> {
    let names = node_names(plan);
    let network = &plan.network;
    let is_of =
        |text: &str, a: &str, b: &str| text == format!("{a}-{b}") || text == format!("{b}-{a}");
    for text in links {
        if !network.links.iter().any(|it| is_of(text, &it.a.node, &it.b.node)) {
            let message = format!("--links {text}: there is no such link");
            let some =
                network.links.iter().take(6).map(|it| format!("{}-{}", it.a.node, it.b.node));
            let some = some.collect::<Vec<_>>().join(", ");
            return Err(Failure::input(
                message,
                None,
                Some(&format!("a link is named by its ends, as {some}")),
            ));
        }
    }
    let mut ends = Vec::new();
    for link in &network.links {
        let (a, b) = (&link.a, &link.b);
        if links.is_empty() || links.iter().any(|text| is_of(text, &a.node, &b.node)) {
            for (from, to) in [(a, b), (b, a)] {
                let node = names.iter().position(|it| *it == from.node);
                ends.extend(node.map(|node| (Place { node, port: from.port }, from, to)));
            }
        }
    }
    Ok(ends)
}

/// A name as part of a file's.
fn plain(name: &str) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() || it == '_' { it } else { '_' };
    name.chars().map(plain).collect()
}

impl Capture {
    fn open(path: PathBuf) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, File::create(&path)?);
        file.write_all(&MAGIC_NS.to_le_bytes())?;
        file.write_all(&2_u16.to_le_bytes())?;
        file.write_all(&4_u16.to_le_bytes())?;
        file.write_all(&[0; 8])?;
        file.write_all(&SNAP_BYTES.to_le_bytes())?;
        file.write_all(&ETHERNET.to_le_bytes())?;
        Ok(Self { path, file })
    }

    fn write(&mut self, at_ns: u64, frame: &[u8]) -> io::Result<()> {
        let word = |it: u64| u32::try_from(it).unwrap_or(u32::MAX).to_le_bytes();
        let bytes = word(frame.len() as u64);
        self.file.write_all(&word(at_ns / NS_PER_S))?;
        self.file.write_all(&word(at_ns % NS_PER_S))?;
        self.file.write_all(&bytes)?;
        self.file.write_all(&bytes)?;
        self.file.write_all(frame)
    }
}

impl Onlooker for Captures {
    fn start(&mut self, at: Instant) {
        self.start = at;
    }

    fn left(&mut self, from: Place, frame: &Departed<'_>) {
        if self.failure.is_some() || frame.departure < self.start {
            return;
        }
        let Some(capture) = self.files.get_mut(&from) else { return };
        let at_ns = frame.departure.since(self.start).as_ns();
        if let Err(error) = capture.write(at_ns, frame.bytes) {
            self.failure = Some((capture.path.clone(), error));
        }
    }
}
