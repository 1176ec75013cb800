//! What a node tells: observations in batches, drops summed up, and its own lateness.

use crate::lines::LineWriter;
use crate::protocol::NodeReport;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use tenuto_dataplane::{DropReason, Dropped};
use tenuto_units::{Instant, Span};
use tenuto_world::Observation;

/// Bytes of observations that a node keeps for a supervisor that is late.
const BUFFER_BYTES_MAX: usize = 16 << 20;
/// Waiting lines are sent when there is so much of them,
const BATCH_BYTES: usize = 16 * 1024;
/// or after this time.
const BATCH_TIME: Span = Span::from_ms(20);
/// Drops of frames that belong to no message of ours are told this often.
const DROPS_TIME: Span = Span::from_ms(100);
/// A node that has nothing to tell says so this often: one that stands still is known to have lived until
/// then.
const SIGN_OF_LIFE: Span = Span::from_ms(100);
/// How long the last lines may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The way from a node to the ledger.
pub(crate) struct Reporter {
    node: String,
    /// One for all nodes of a process.
    writer: Rc<RefCell<LineWriter>>,
    write_at: Option<Instant>,
    /// When the next sign of life is due, of the first node of a process.
    alive_at: Option<Instant>,
    /// Everything that was seen until then has been told.
    told_at: Instant,
    drops: BTreeMap<(u32, DropReason, u64), u64>,
    drops_at: Option<Instant>,
    stalls: StallWatch,
}

impl Reporter {
    pub(crate) fn new(node: &str, stream: UnixStream, allowance: Span) -> io::Result<Self> {
        let writer = LineWriter::new(stream, BUFFER_BYTES_MAX)?;
        let mut first = Self::with(node, Rc::new(RefCell::new(writer)), allowance);
        first.alive_at = Some(Instant::ZERO);
        Ok(first)
    }

    fn with(node: &str, writer: Rc<RefCell<LineWriter>>, allowance: Span) -> Self {
        Self {
            node: node.to_owned(),
            writer,
            write_at: None,
            alive_at: None,
            told_at: Instant::ZERO,
            drops: BTreeMap::new(),
            drops_at: None,
            stalls: StallWatch::new(allowance),
        }
    }

    /// Tells of another node of this process, by the same way.
    pub(crate) fn of_node(&self, node: &str, allowance: Span) -> Self {
        Self::with(node, Rc::clone(&self.writer), allowance)
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Tells the supervisor at once.
    pub(crate) fn tell(&mut self, report: &NodeReport) {
        let mut writer = self.writer.borrow_mut();
        writer.push(report);
        writer.write();
    }

    pub(crate) fn observe(&mut self, now: Instant, observation: &Observation) {
        self.writer.borrow_mut().push(observation);
        self.write_at = self.write_at.or(Some(now + BATCH_TIME));
    }

    pub(crate) fn event(&mut self, now: Instant, text: String) {
        let at_ns = now.as_ns();
        let event = Observation::Event { text, at_ns, tolerated: None, misbehaving: Vec::new() };
        self.observe(now, &event);
    }

    /// A frame went no further.
    pub(crate) fn dropped(&mut self, now: Instant, drop: &Dropped) {
        if drop.message.is_some() {
            let line = self.drop_line(now, (drop.port, drop.reason, drop.cookie), drop.message, 1);
            return self.observe(now, &line);
        }
        *self.drops.entry((drop.port, drop.reason, drop.cookie)).or_default() += 1;
        self.drops_at = self.drops_at.or(Some(now + DROPS_TIME));
    }

    fn drop_line(
        &self,
        now: Instant,
        (port, reason, cookie): (u32, DropReason, u64),
        message: Option<(u16, u32)>,
        frames: u64,
    ) -> Observation {
        let (node, reason) = (self.node.clone(), Observation::reason(reason).to_owned());
        Observation::Dropped { node, port, reason, cookie, message, frames, at_ns: now.as_ns() }
    }

    /// Something that was to happen at `from` happened now.
    pub(crate) fn lateness(&mut self, from: Instant, now: Instant) {
        if let Some(stall) = self.stalls.note(from, now) {
            self.stall(now, stall);
        }
    }

    fn stall(&mut self, now: Instant, (from, to): (Instant, Instant)) {
        let (from_ns, length_ns) = (from.as_ns(), to.since(from).as_ns());
        let line = Observation::Stall { node: self.node.clone(), from_ns, length_ns };
        self.observe(now, &line);
    }

    /// When [`Self::pump`] wants to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        [self.write_at, self.drops_at, self.alive_at].into_iter().flatten().min()
    }

    /// Sends everything that the supervisor takes now.
    pub(crate) fn flush(&mut self, now: Instant) {
        self.flush_drops(now);
        self.write_at = Some(now);
        self.pump(now);
    }

    /// Sends what is due.
    pub(crate) fn pump(&mut self, now: Instant) {
        if self.drops_at.is_some_and(|at| at <= now) {
            self.flush_drops(now);
        }
        if self.alive_at.is_some_and(|at| at <= now) {
            self.alive_at = Some(now + SIGN_OF_LIFE);
            self.writer.borrow_mut().push(&NodeReport::Alive);
            self.write_at = Some(now);
        }
        let is_due = self.write_at.is_some_and(|at| at <= now);
        if !is_due && self.writer.borrow().pending() < BATCH_BYTES {
            return;
        }
        if let Some(stall) = self.stalls.take_over(now) {
            self.stall(now, stall);
        }
        self.writer.borrow_mut().write();
        self.tell_unseen(now);
        let mut writer = self.writer.borrow_mut();
        writer.write();
        // What the supervisor did not take is tried again later, not at once.
        let is_left = writer.pending() > 0 || self.stalls.is_open();
        self.write_at = is_left.then(|| now + BATCH_TIME);
    }

    /// Tells what was lost as soon as there is room for that.
    fn tell_unseen(&mut self, now: Instant) {
        let mut writer = self.writer.borrow_mut();
        if writer.has_all() {
            self.told_at = now;
        } else if writer.has_room() {
            let (node, from_ns) = (self.node.clone(), self.told_at.as_ns());
            let lines = writer.take_lost();
            writer.push(&Observation::Unseen { node, lines, from_ns });
        }
    }

    fn flush_drops(&mut self, now: Instant) {
        self.drops_at = None;
        for (key, frames) in std::mem::take(&mut self.drops) {
            let line = self.drop_line(now, key, None, frames);
            self.observe(now, &line);
        }
    }

    /// The last lines of this node.
    pub(crate) fn close(&mut self, now: Instant) {
        self.flush_drops(now);
        if let Some(stall) = self.stalls.take() {
            self.stall(now, stall);
        }
    }

    /// The last lines of this process, and that they are the last.
    pub(crate) fn finish(&mut self, now: Instant) {
        self.close(now);
        self.writer.borrow_mut().finish(PATIENCE);
        self.tell_unseen(now);
        let mut writer = self.writer.borrow_mut();
        writer.push(&NodeReport::Ended);
        writer.finish(PATIENCE);
    }
}

/// Lateness of one thread: what overlaps is one stall (docs/theory/observation.md).
#[derive(Debug)]
struct StallWatch {
    allowance: Span,
    open: Option<(Instant, Instant)>,
}

impl StallWatch {
    const fn new(allowance: Span) -> Self {
        Self { allowance, open: None }
    }

    const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Notes lateness from `from` to `to`; gives an earlier stall that this one does not touch.
    fn note(&mut self, from: Instant, to: Instant) -> Option<(Instant, Instant)> {
        if to.since(from) <= self.allowance {
            return None;
        }
        match &mut self.open {
            Some((first, last)) if from <= *last => {
                (*first, *last) = ((*first).min(from), (*last).max(to));
                None
            }
            open => open.replace((from, to)),
        }
    }

    /// The stall, if it is over: nothing that began in it is still to be noted.
    fn take_over(&mut self, now: Instant) -> Option<(Instant, Instant)> {
        let allowance = self.allowance;
        self.open.take_if(|(_, last)| now.since(*last) > allowance)
    }

    fn take(&mut self) -> Option<(Instant, Instant)> {
        self.open.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_ns(us * 1_000)
    }

    /// Two nodes of a process, one way: each tells of itself, and the process ends once.
    #[test]
    fn nodes_of_one_process_tell_by_one_way() {
        use std::io::Read;
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let mut process = Reporter::new("w1", ours, Span::from_ms(1)).expect("a socket");
        let mut nodes = ["w1", "w2"].map(|name| process.of_node(name, Span::from_ms(1)));
        for node in &mut nodes {
            node.event(at(1), format!("of {}", node.node()));
            node.lateness(at(10), at(2_000));
        }
        nodes.iter_mut().for_each(|node| node.close(at(3_000)));
        process.finish(at(3_000));
        drop((process, nodes));
        let mut told = String::new();
        theirs.read_to_string(&mut told).expect("text");
        let lines: Vec<&str> = told.lines().collect();
        let wanted = ["of w1", "of w2", "\"w1\"", "\"w2\"", "ended"];
        assert_eq!(lines.len(), wanted.len(), "{told}");
        for (line, wanted) in lines.iter().zip(wanted) {
            assert!(line.contains(wanted), "{line}: {wanted}");
        }
    }

    fn lines(mut from: UnixStream) -> Vec<String> {
        use std::io::Read;
        let mut told = String::new();
        from.read_to_string(&mut told).expect("text");
        told.lines().map(str::to_owned).collect()
    }

    /// What stands still is known to have lived until its last word.
    #[test]
    fn who_has_nothing_to_tell_says_that_it_lives() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let mut reporter = Reporter::new("sw1", ours, Span::from_ms(1)).expect("a socket");
        for ms in [0, 50, 99, 100, 150, 200, 201] {
            reporter.pump(at(1_000 * ms));
        }
        assert_eq!(reporter.deadline(), Some(at(300_000)));
        drop(reporter);
        let told = lines(theirs);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.iter().all(|line| line.contains("alive")), "{told:?}");
    }

    #[test]
    fn what_could_not_be_told_is_told_as_unseen() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let writer = LineWriter::new(ours, 100).expect("a socket");
        let mut reporter = Reporter::with("sw1", Rc::new(RefCell::new(writer)), Span::from_ms(1));
        reporter.flush(at(7));
        for _ in 0..5 {
            reporter.event(at(20), "something that is seen and that is longer than short".into());
        }
        reporter.flush(at(30));
        reporter.flush(at(40));
        drop(reporter);
        let told = lines(theirs);
        let unseen: Vec<&String> = told.iter().filter(|line| line.contains("unseen")).collect();
        assert_eq!(unseen.len(), 1, "{told:?}");
        assert!(unseen[0].contains("\"lines\":4") && unseen[0].contains("\"from_ns\":7000"));
    }

    #[test]
    fn lateness_that_overlaps_is_one_stall() {
        let mut watch = StallWatch::new(Span::from_us(100));
        assert_eq!(watch.note(at(0), at(100)), None, "as late as allowed");
        assert!(!watch.is_open());
        // A timer late by 400 us, and frames that waited meanwhile.
        assert_eq!(watch.note(at(1_000), at(1_400)), None);
        assert_eq!(watch.note(at(1_200), at(1_410)), None);
        assert_eq!(watch.take_over(at(1_450)), None, "its frames are still being served");
        let first = watch.note(at(5_000), at(5_200));
        assert_eq!(first, Some((at(1_000), at(1_410))));
        assert_eq!(watch.take_over(at(5_400)), Some((at(5_000), at(5_200))));
        assert_eq!(watch.take(), None);
    }
}
