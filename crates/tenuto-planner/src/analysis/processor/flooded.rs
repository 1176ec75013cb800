//! How long an accepted frame takes at a processor with ports in turn whatever its host sends
//! (theory, "A host that fills its own queue").

use super::bound::steady;
use super::costs::Costs;
use super::site::{Line, Site};
use tenuto_calculus::{Bucket, GroupCurves, delay};
use tenuto_model::{Receive, ReceiveBuffer};
use tenuto_units::Picos;

impl Site<'_> {
    /// The lines whose hosts may fill a queue that is theirs alone.
    pub(super) fn floodable(&self) -> impl Iterator<Item = &Line> {
        let takes_turns = matches!(self.processor.receive, Receive::RoundRobin(_));
        self.lines.iter().filter(move |line| takes_turns && line.is_babbling)
    }

    /// P° over a line; `None` without a bound.
    pub(super) fn flooded(&self, line: &Line, costs: &Costs<'_>) -> Option<Picos> {
        let Receive::RoundRobin(burst) = self.processor.receive else { return None };
        let share = self.after(burst, line, line.brought(self.round(line)));
        let buffer = self.buffer.filter(|buffer| buffer.is_per_port);
        let stored = buffer.and_then(|buffer| self.stored(line, buffer, costs));
        let stored = stored.and_then(|stored| self.after(burst, line, stored));
        [share, self.order_of_lines(line), stored].into_iter().flatten().min()
    }

    /// So much work, the turns of other ports in it, and those that it waits for before.
    fn after(&self, burst_frames: u32, line: &Line, own: Bucket) -> Option<Picos> {
        let blocking = (i128::from(burst_frames) - 1) * self.round(line);
        let own = GroupCurves { class: steady(own), ..GroupCurves::default() };
        let groups: Vec<GroupCurves> = std::iter::once(own).chain(self.control()).collect();
        delay(Self::server_behind(blocking), &groups)
    }

    /// Whatever the order: every line brings what it can.
    fn order_of_lines(&self, line: &Line) -> Option<Picos> {
        let brings = |other: &Line| {
            let all = steady(other.brought(0));
            match other.line == line.line {
                true => GroupCurves { class: all, ..GroupCurves::default() },
                false => GroupCurves { higher: all, ..GroupCurves::default() },
            }
        };
        let groups: Vec<GroupCurves> =
            self.lines.iter().map(brings).chain(self.control()).collect();
        delay(Self::server_behind(0), &groups)
    }

    /// All that a buffer of its own holds, and what is in service.
    fn stored(&self, line: &Line, buffer: ReceiveBuffer, costs: &Costs<'_>) -> Option<Bucket> {
        let round = self.round(line);
        let waiting = costs.most_stored(buffer, line.outputs, round)?;
        let in_service = if buffer.has_place_in_service { line.cost_max + round } else { 0 };
        Some(Bucket { burst_ubit: waiting.checked_add(in_service)?, rate_ubps: 0 })
    }
}
