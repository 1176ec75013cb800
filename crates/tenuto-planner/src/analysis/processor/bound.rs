//! How long a frame takes at a processor, and how much room it needs there.

use super::costs::FINE_PER_PS;
use super::site::{Entering, Line, Site};
use tenuto_calculus::{
    Bucket, Flows, GroupCurves, Server, UBIT_PER_BIT, backlog, busy_period, delay, div_up,
};
use tenuto_model::Receive;
use tenuto_units::{FRAME_BYTES_MIN, Picos};

/// A processor does one nanosecond of work per nanosecond; a "bit" of the calculus is 1 ns here.
const WORK_PER_S: u64 = 1_000_000_000;

/// How late every stream can be when it enters, by visit; `None` without a bound.
pub(crate) type Lateness<'a> = dyn Fn(usize) -> Option<Picos> + 'a;

/// What a receive buffer has to hold, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Port of entry; `None` for a buffer of all ports.
    pub(crate) port: Option<u32>,
    /// Index of the line that it is of; `None` for all.
    pub(crate) line: Option<usize>,
    /// Units that may wait; `None` where there is no bound.
    pub(crate) backlog: Option<u64>,
}

/// Σ of one bucket of every stream, grown by its lateness.
fn sum(line: &Line, late: &Lateness<'_>, of: impl Fn(&Entering) -> Bucket) -> Option<Bucket> {
    let mut sum = Bucket::ZERO;
    for stream in &line.streams {
        let lateness = stream.visit.map_or(Some(Picos(0)), late)?;
        sum = sum.plus(of(stream).grown(lateness));
    }
    Some(sum)
}

pub(super) const fn steady(bucket: Bucket) -> Flows {
    Flows { steady: bucket, ending: Bucket::ZERO }
}

/// Both: what line and frames bring with `more` on every frame.
fn dearer(work: Bucket, frames: Bucket, more: i128) -> Bucket {
    let scaled = |ubit: i128| match ubit.checked_mul(more) {
        Some(product) => div_up(product, UBIT_PER_BIT),
        None => i128::MAX,
    };
    work.plus(Bucket { burst_ubit: scaled(frames.burst_ubit), rate_ubps: scaled(frames.rate_ubps) })
}

impl Line {
    /// What the line itself can bring, with `more` on every frame.
    pub(super) fn brought(&self, more: i128) -> Bucket {
        dearer(self.work, self.frames, more)
    }
}

impl Site<'_> {
    /// P over one line; `None` without a bound.
    pub(crate) fn delay(&self, line: &Line, late: &Lateness<'_>, shaping: bool) -> Option<Picos> {
        match self.processor.receive {
            Receive::Fifo => {
                let queued = self.queued(late, shaping)?;
                Some(Picos(queued.0 + 2 * self.link_ps()))
            }
            Receive::RoundRobin(burst) => {
                let share = self.share(line, burst, late, shaping);
                let order = self.any_order(line, late, shaping);
                match (share, order) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                }
            }
        }
    }

    /// The time of the largest frame on the line to the processor.
    pub(crate) fn link_ps(&self) -> i128 {
        self.processor.link.map_or(0, |l| i128::from(l.occupied_ps(self.frame_bytes_max)))
    }

    /// cost⁻.
    pub(crate) fn least_ps(&self) -> i128 {
        i128::from(self.processor.least_ps())
    }

    /// The longest that it is busy without a pause, the lines beside it too.
    pub(crate) fn busy_period(&self, late: &Lateness<'_>, shaping: bool) -> Option<Picos> {
        if let Some(longest) = busy_period(Self::server(), &self.together(late, shaping)?) {
            return Some(Picos(longest.0 + 2 * self.link_ps()));
        }
        // Where all together never end, the order of service proves nothing: only turns do, and
        // those look at the frames of one port.
        let Receive::RoundRobin(burst) = self.processor.receive else { return None };
        if self.load_ubps() <= i128::from(WORK_PER_S) * UBIT_PER_BIT {
            return None;
        }
        let mut longest = Picos(0);
        for line in self.lines.iter().filter(|line| !line.streams.is_empty()) {
            let (server, groups) = self.turns(line, burst, late, shaping)?;
            longest = longest.max(busy_period(server, &groups)?);
        }
        Some(longest)
    }

    const fn server() -> Server {
        Self::server_behind(0)
    }

    /// A processor that has so much to do before, 10⁻⁶ ns.
    pub(super) const fn server_behind(blocking: i128) -> Server {
        Server::new(WORK_PER_S, blocking)
    }

    /// S: a largest frame of every other port.
    pub(super) fn round(&self, line: &Line) -> i128 {
        let others = self.lines.iter().filter(|other| other.line != line.line);
        others.map(|other| other.cost_max).sum()
    }

    pub(super) fn control(&self) -> Option<GroupCurves> {
        let all = self.control.plus(self.unasked);
        let higher = steady(all);
        (!all.is_zero()).then_some(GroupCurves { higher, ..GroupCurves::default() })
    }

    /// What others see of a line: a host that may babble brings what its line can.
    fn arrivals(
        line: &Line,
        late: &Lateness<'_>,
        shaping: bool,
    ) -> Option<(Bucket, Option<Bucket>)> {
        if line.is_babbling {
            return Some((line.work, None));
        }
        Some((sum(line, late, |s| s.work)?, shaping.then_some(line.work)))
    }

    /// All lines as one queue.
    fn together(&self, late: &Lateness<'_>, shaping: bool) -> Option<Vec<GroupCurves>> {
        // Control stands in the queue; changes of mode and messages of slices do not wait for their turn.
        let own = GroupCurves {
            class: steady(self.control),
            higher: steady(self.unasked),
            ..GroupCurves::default()
        };
        let is_idle = self.control.is_zero() && self.unasked.is_zero();
        let mut groups: Vec<GroupCurves> = if is_idle { Vec::new() } else { vec![own] };
        for line in &self.lines {
            let (work, shape) = Self::arrivals(line, late, shaping)?;
            let class = steady(work);
            groups.push(GroupCurves { class, line: shape, ..GroupCurves::default() });
        }
        Some(groups)
    }

    fn queued(&self, late: &Lateness<'_>, shaping: bool) -> Option<Picos> {
        delay(Self::server(), &self.together(late, shaping)?)
    }

    /// What the other ports cannot keep from it: rounds of at most `burst_frames` each.
    fn share(
        &self,
        line: &Line,
        burst_frames: u32,
        late: &Lateness<'_>,
        shaping: bool,
    ) -> Option<Picos> {
        let (server, groups) = self.turns(line, burst_frames, late, shaping)?;
        delay(server, &groups)
    }

    fn turns(
        &self,
        line: &Line,
        burst_frames: u32,
        late: &Lateness<'_>,
        shaping: bool,
    ) -> Option<(Server, Vec<GroupCurves>)> {
        let round = self.round(line);
        let own = dearer(sum(line, late, |s| s.work)?, sum(line, late, |s| s.frames)?, round);
        let shaped = line.brought(round);
        let class = GroupCurves {
            class: steady(own),
            line: shaping.then_some(shaped),
            ..GroupCurves::default()
        };
        let blocking = (i128::from(burst_frames) - 1) * round;
        let groups: Vec<GroupCurves> = std::iter::once(class).chain(self.control()).collect();
        Some((Self::server_behind(blocking), groups))
    }

    /// What holds whatever the order of service.
    fn any_order(&self, line: &Line, late: &Lateness<'_>, shaping: bool) -> Option<Picos> {
        let mut groups: Vec<GroupCurves> = self.control().into_iter().collect();
        for other in &self.lines {
            if other.line == line.line {
                let class = steady(sum(line, late, |s| s.work)?);
                let line = shaping.then_some(line.work);
                groups.push(GroupCurves { class, line, ..GroupCurves::default() });
            } else {
                let (work, shape) = Self::arrivals(other, late, shaping)?;
                let higher = steady(work);
                groups.push(GroupCurves { higher, line: shape, ..GroupCurves::default() });
            }
        }
        delay(Self::server(), &groups)
    }

    /// The long-run load, 10⁻⁶ ns of work per second.
    pub(crate) fn load_ubps(&self) -> i128 {
        let of = |line: &Line| {
            if line.is_babbling {
                return line.work.rate_ubps;
            }
            line.streams.iter().map(|s| s.work.rate_ubps).sum()
        };
        let own = self.control.rate_ubps.saturating_add(self.unasked.rate_ubps);
        self.lines.iter().map(of).fold(own, i128::saturating_add)
    }

    /// The load with every host at its contracts, 10⁻⁶ bit/s.
    pub(crate) fn load_of_contracts_ubps(&self) -> i128 {
        let streams = self.lines.iter().flat_map(|line| &line.streams);
        let own = self.control.rate_ubps.saturating_add(self.unasked.rate_ubps);
        streams.map(|s| s.work.rate_ubps).fold(own, i128::saturating_add)
    }

    /// What the receive buffers have to hold, `delays` being P by line.
    pub(crate) fn held(
        &self,
        port_of: &dyn Fn(usize) -> u32,
        delays: &dyn Fn(usize) -> Option<Picos>,
        late: &Lateness<'_>,
        shaping: bool,
    ) -> Vec<Held> {
        let Some(buffer) = self.buffer else { return Vec::new() };
        if buffer.is_per_port {
            let of = |line: &Line| Held {
                port: Some(port_of(line.line)),
                line: Some(line.line),
                backlog: self.window(line, delays(line.line), late).and_then(whole),
            };
            return self.lines.iter().filter(|line| !line.streams.is_empty()).map(of).collect();
        }
        let backlog = self.held_by_all(delays, late, shaping, buffer.has_place_in_service);
        vec![Held { port: None, line: None, backlog }]
    }

    /// Units that a line can bring within `within`, 10⁻⁶.
    fn window(&self, line: &Line, within: Option<Picos>, late: &Lateness<'_>) -> Option<i128> {
        Some(sum(line, late, |s| s.units)?.grown(within?).burst_ubit)
    }

    fn held_by_all(
        &self,
        delays: &dyn Fn(usize) -> Option<Picos>,
        late: &Lateness<'_>,
        shaping: bool,
        has_place: bool,
    ) -> Option<u64> {
        if self.lines.iter().any(|line| line.is_babbling) {
            return None;
        }
        let mut longest = Picos(0);
        for line in &self.lines {
            longest = longest.max(delays(line.line)?);
        }
        let mut came = 0_i128;
        for line in &self.lines {
            came = came.saturating_add(self.window(line, Some(longest), late)?);
        }
        let unit = self.buffer?.unit;
        let is_free = self.control.is_zero() && self.unasked.is_zero();
        let own_place = if has_place && is_free { unit.of_frame(FRAME_BYTES_MIN) } else { 0 };
        let by_window = whole(came)?.saturating_sub(own_place);
        if self.processor.receive != Receive::Fifo {
            return Some(by_window);
        }
        let unfinished = backlog(Self::server(), &self.together(late, shaping)?)?;
        let unfinished = unfinished + self.link_ps() * FINE_PER_PS;
        let frames = u64::try_from(div_up(unfinished, self.cost_least.max(1))).ok()?;
        let streams = self.lines.iter().flat_map(|line| &line.streams);
        let most = streams.map(|s| unit.of_frame(s.frame_bytes_max)).max().unwrap_or(0);
        let waiting = frames.saturating_sub(u64::from(has_place));
        Some(by_window.min(waiting.saturating_mul(most)))
    }
}

/// Whole units, down: a part of a unit is in no buffer.
fn whole(millionths: i128) -> Option<u64> {
    u64::try_from(millionths / UBIT_PER_BIT).ok().filter(|units| *units < u64::MAX / 4)
}
