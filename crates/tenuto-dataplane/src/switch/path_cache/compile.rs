//! The path compiler: the machine that the interpreter runs on with an entry of the first table in place
//! of a frame.
//!
//! What holds for every frame that matches the entry is decided here. What differs between such frames
//! becomes a step of the [`ActionProgram`]: the port they entered by, a time to live that ends, headers
//! that a select group asks. An operation that is neither ends the compilation, and frames of the entry
//! take the slow path.

use super::action_program::{ActionProgram, Change, Choice, Step, THE_END};
use super::cached_path::{CachedPath, PathHops, SEVERAL, STAGES};
use crate::switch::actions::group::{Chosen, DEPTH_MAX, GroupCounts, GroupState, Groups, Liveness};
use crate::switch::actions::packet::{Edit, EditSet, FieldValue};
use crate::switch::classifier::key::{Pattern, field};
use crate::switch::pipeline::ActionSet;
use crate::switch::pipeline::interpret::{self, Machine};
use crate::switch::tables::compact_instructions::CompactInstructions;
use crate::switch::tables::counted_table::TableState;
use crate::switch::tables::entry::{ActionStep, Entry};
use crate::switch::tables::{TABLE_WATCH, Tables};

/// What a path depends on beside the tables.
#[derive(Clone, Copy)]
pub(in crate::switch) struct CompileInputs<'a> {
    /// Level and admitted level.
    pub(in crate::switch) mode: (u8, u8),
    /// Ports and groups.
    pub(in crate::switch) live: Liveness<'a>,
    /// What groups have seen, if that is counted.
    pub(in crate::switch) counts: Option<&'a GroupCounts>,
    /// Copies of a frame at most. Frames of an entry that may send more take the slow path.
    pub(in crate::switch) copies_max: u32,
}

/// A cached path, the entries that it leads through, and whether any of them was found by what another
/// entry has written.
pub(in crate::switch) struct CompiledPath {
    pub(in crate::switch) path: CachedPath,
    pub(in crate::switch) hops: PathHops,
    pub(in crate::switch) is_by_written: bool,
}

/// The state of the compilation of one path.
struct PathCompiler<'a> {
    tables: &'a Tables,
    around: &'a CompileInputs<'a>,
    path: CachedPath,
    hops: PathHops,
    program: &'a mut ActionProgram,
    /// Where the entry at hand is; at first, the slot of the first.
    level: u8,
    table: u8,
    slot: u32,
    /// What is known of the key of a frame that comes in.
    came: Pattern,
    /// What is known of the key in the table at hand.
    known: Pattern,
    /// Whether that is another than what came in.
    is_changed: bool,
    /// Whether the frame may have another size than the one that came in.
    is_resized: bool,
    is_by_written: bool,
    queue: u8,
    set: ActionSet,
    edits: EditSet,
    /// Where it is: one more than the last stage while the action set is carried out.
    stage: u8,
    /// Buckets around the step at hand.
    depth: u8,
    /// The step that counts actions; the path does outside of choices.
    counter: Option<u16>,
    /// Actions of the path in front of the entry at hand.
    counted_before: u8,
}

/// Frames of the entry do not all do the same, or do something that a program has no step for.
#[derive(Debug)]
struct NotCacheable;

/// Compiles the path of the entry in a slot of the first table, with its program. The path leads nowhere
/// if frames of the entry can differ, or do anything that a program has no step for.
pub(in crate::switch) fn compile(
    tables: &Tables,
    program: &mut ActionProgram,
    (slot, generation): (u32, u32),
    around: &CompileInputs<'_>,
) -> CompiledPath {
    let none = CachedPath::none_in(generation, around.mode);
    let Some(table) = tables.get(0, TABLE_WATCH).map(TableState::table) else {
        return CompiledPath { path: none, hops: PathHops::NONE, is_by_written: false };
    };
    program.clear();
    let mut compiler = PathCompiler {
        tables,
        around,
        path: none,
        hops: PathHops::NONE,
        program,
        level: 0,
        table: TABLE_WATCH,
        slot,
        came: table.entry(slot).pattern,
        known: table.entry(slot).pattern,
        is_changed: false,
        is_resized: false,
        is_by_written: false,
        queue: 0,
        set: ActionSet::default(),
        edits: EditSet::default(),
        stage: 0,
        depth: 0,
        counter: None,
        counted_before: 0,
    };
    // The linear twin compares entry after entry, for every frame.
    let is_led = table.is_by_mask() && compiler.run().is_ok();
    let PathCompiler { path, hops, is_by_written, .. } = compiler;
    match is_led {
        true => CompiledPath { path, hops, is_by_written },
        false => CompiledPath { path: none, hops: PathHops::NONE, is_by_written: false },
    }
}

impl PathCompiler<'_> {
    /// Compiles the whole path.
    fn run(&mut self) -> Result<(), NotCacheable> {
        // What entries write is nothing at first.
        for written in [field::METADATA, field::TUNNEL_ID] {
            self.known.mask.put(written, u64::MAX);
        }
        interpret::run_tables(self, TABLE_WATCH)?;
        self.finish().ok_or(NotCacheable)
    }

    /// The entry that all frames find in a table, and after how many probes.
    fn find(&mut self, level: u8, table: u8) -> Option<(u32, u8)> {
        if self.path.stages == 0 {
            return Some((self.slot, 0));
        }
        if usize::from(self.path.stages) == STAGES || !self.can_go_on() {
            return None;
        }
        let next = self.tables.get(level, table)?.table();
        if !next.tells_nothing_beyond(&self.known) {
            return None;
        }
        self.is_by_written |= self.is_changed || !next.tells_nothing_beyond(&self.came);
        let (slot, probes) = next.look_up(&self.known.value);
        Some((slot?, u8::try_from(probes).ok()?))
    }

    /// The path leads through an entry.
    fn enter(&mut self, level: u8, table: u8) -> Option<CompactInstructions> {
        let (slot, probes) = self.find(level, table)?;
        let state = self.tables.get(level, table)?;
        let instructions = *state.compact(slot);
        self.end_stage();
        self.stage = self.path.stages;
        let stage = usize::from(self.stage);
        self.path.enter(instructions.cookie, probes);
        self.hops.cookies[stage] = self.path.cookie;
        (self.hops.tables[stage], self.hops.slots[stage]) = (table, slot);
        self.hops.probes[stage] = probes;
        self.hops.states[stage] = self.tables.state_of(level, table)?;
        self.slot = slot;
        Some(instructions)
    }

    /// The actions of the entry at hand are all counted.
    fn end_stage(&mut self) {
        if let Some(last) = self.path.stages.checked_sub(1) {
            self.hops.actions[usize::from(last)] = self.path.actions - self.counted_before;
        }
        self.counted_before = self.path.actions;
    }

    /// Whether the next table can be looked up now.
    fn can_go_on(&mut self) -> bool {
        // Where a monitor changes the mode, the frame leaves the path in front of the next table, with
        // nothing but what it came with.
        let leaves = self.hops.monitor_stage + 1 == self.path.stages && self.path.has_monitor();
        let can_leave = !leaves || self.is_fresh();
        // Later entries count other bytes than the first; and none where a time to live has ended.
        can_leave && !self.is_resized && self.program.open_changes(0).next().is_none()
    }

    /// Whether nothing has happened to the frame yet.
    fn is_fresh(&self) -> bool {
        let is_unset = self.set.is_empty() && self.edits.is_empty();
        is_unset && self.queue == 0 && self.program.steps.is_empty() && !self.is_changed
    }

    /// There is room for one meter, in front of all that happens to a frame: it judges it as it came. It
    /// does nothing to it but let it pass or not.
    fn set_meter(&mut self, id: u32) -> Option<()> {
        let meter = self.tables.path_cache.meter(id)?;
        let can = meter.drops_only() && !self.path.has_meter() && self.program.steps.is_empty();
        can.then(|| {
            self.path.lead_past_meter();
            (self.hops.meter, self.hops.meter_stage) = (id, self.stage);
        })
    }

    /// There is room for one monitor, in front of the meter and of all else.
    fn set_monitor(&mut self, id: u32) -> Option<()> {
        let is_first = !self.path.has_meter() && !self.path.has_monitor();
        (is_first && self.is_fresh()).then(|| {
            self.path.lead_past_monitor();
            (self.hops.monitor, self.hops.monitor_stage) = (id, self.stage);
        })
    }

    fn count_action(&mut self) -> Option<()> {
        match self.counter.map(|at| &mut self.program.steps[usize::from(at)]) {
            Some(Step::Actions(count)) => *count = count.checked_add(1)?,
            _ => self.path.actions = self.path.actions.checked_add(1)?,
        }
        Some(())
    }

    /// The actions that are counted where the step at hand is.
    fn actions(&self) -> u16 {
        match self.counter.map(|at| self.program.steps[usize::from(at)]) {
            Some(Step::Actions(count)) => count,
            _ => self.path.actions.into(),
        }
    }

    /// The place of what a group has seen, if that is counted.
    fn counted(&self, id: u32) -> Option<u32> {
        self.around.counts.and_then(|counts| counts.place(id))
    }

    /// Says where changes from a place on lead if they fail.
    fn lead_failures(&mut self, from: usize, next: u16) {
        let actions = self.actions();
        for change in self.program.open_changes(from) {
            (change.next, change.skipped) = (next, actions - change.skipped);
        }
    }

    fn change(&mut self, edit: Edit) -> Option<()> {
        if self.depth == 0 {
            self.is_changed = true;
            self.is_resized |= resizes(edit);
            self.know_changed(edit);
        }
        let place = u16::try_from(self.program.changes.len()).ok()?;
        let change = Change::new(edit, self.stage, self.actions());
        self.program.changes.push(change);
        self.program.is_plain = false;
        self.program.push(Step::Change(place))
    }

    /// What is known of the key behind a change.
    fn know_changed(&mut self, edit: Edit) {
        let Pattern { mask, value } = &mut self.known;
        let changed = match edit {
            // No key has a time to live in it.
            Edit::CopyTtlIn | Edit::CopyTtlOut | Edit::SetMplsTtl(_) | Edit::SetNwTtl(_) => return,
            Edit::DecMplsTtl | Edit::DecNwTtl => return,
            Edit::SetField(FieldValue { field: number, .. }) => match number {
                3 => Some((field::ETH_DST, true)),
                4 => Some((field::ETH_SRC, true)),
                38 => Some((field::TUNNEL_ID, true)),
                6 => Some((field::VLAN_VID, false)),
                7 => Some((field::VLAN_PCP, false)),
                8 => Some((field::IP_DSCP, false)),
                9 => Some((field::IP_ECN, false)),
                11 => Some((field::IP_SRC, false)),
                12 => Some((field::IP_DST, false)),
                13 | 15 | 17 => Some((field::L4_SRC, false)),
                14 | 16 | 18 => Some((field::L4_DST, false)),
                _ => None,
            },
            _ => None,
        };
        match (changed, edit) {
            // Every frame has it.
            (Some((changed, true)), Edit::SetField(new)) => {
                mask.put(changed, u64::MAX);
                value.put(changed, new.number());
            }
            // Frames without it stay as they are.
            (Some((changed, _)), _) => {
                mask.put(changed, 0);
                value.put(changed, 0);
            }
            // Other headers may be behind.
            (None, _) => {
                let nothing = crate::switch::classifier::key::PacketKey::default();
                self.known = Pattern { mask: nothing, value: nothing };
            }
        }
    }

    /// The path ends: once, at a port, or with a program.
    fn finish(&mut self) -> Option<()> {
        self.lead_failures(0, THE_END);
        let is_sent = |step: &&Step| matches!(step, Step::Send { .. } | Step::SendBack { .. });
        if self.program.steps.iter().filter(is_sent).count() > self.around.copies_max as usize {
            return None;
        }
        match self.program.steps[..] {
            [Step::Send { place, queue, cookie }] if cookie == self.path.cookie => {
                (self.path.place, self.path.queue) = (place, queue);
            }
            // No port may have the place that says so.
            _ if self.around.live.ports.len() > SEVERAL.into() => return None,
            _ => self.path.place = SEVERAL,
        }
        Some(())
    }

    /// A choice for each bucket that frames can go to, one behind the other.
    fn choose(
        &mut self,
        group: &GroupState,
        mut bucket: impl FnMut(&mut Self, usize) -> Result<(), NotCacheable>,
    ) -> Option<()> {
        // Only where a frame may have lost its Ethernet header, the slow path goes by an older key.
        let is_cut = self.program.changes.iter().any(|it| it.edit == Edit::PopPbb);
        let weights = self.around.live.weights(group);
        let first = self.program.choices.len();
        let mut below = 0;
        self.program.choices.extend(weights.map(|(_, weight)| {
            below += weight;
            Choice { below, at: 0 }
        }));
        let count = u16::try_from(self.program.choices.len() - first).ok()?;
        let first = u16::try_from(first).ok().filter(|_| !is_cut)?;
        self.program.is_plain = false;
        self.program.push(Step::Choose { first, count })?;
        for (choice, (place, _)) in (usize::from(first)..).zip(self.around.live.weights(group)) {
            let at = self.program.next();
            self.program.choices[choice].at = at;
            let outer = self.counter.replace(at);
            self.program.push(Step::Actions(0))?;
            bucket(self, place).ok()?;
            self.counter = outer;
            self.program.push(Step::GoTo(0))?;
        }
        // Behind each choice, what is behind all of them.
        let next = self.program.next();
        let behind_last = std::iter::once(next);
        let from = usize::from(first) + 1..usize::from(first) + usize::from(count);
        let begins: &[Choice] = &self.program.choices[from];
        for begin in begins.iter().map(|choice| choice.at).chain(behind_last) {
            self.program.steps[usize::from(begin) - 1] = Step::GoTo(next);
        }
        Some(())
    }
}

/// What a bucket gives back when it has ended.
struct Outside {
    queue: u8,
    changes: bool,
    /// The first change of the program that is made in it.
    first_change: usize,
}

impl<'a> Machine for PathCompiler<'a> {
    type Stop = NotCacheable;
    type Groups = &'a Groups;
    type Outside = Outside;

    fn look_up(&mut self, table: u8) -> Result<CompactInstructions, NotCacheable> {
        (self.level, self.table) = (self.path.level_of(table), table);
        self.enter(self.level, table).ok_or(NotCacheable)
    }

    fn entry(&self) -> &Entry {
        let state = self.tables.get(self.level, self.table).expect("looked up before");
        state.table().entry(self.slot)
    }

    fn ask_meter(&mut self, id: u32) -> Result<(), NotCacheable> {
        self.set_meter(id).ok_or(NotCacheable)
    }

    fn write_metadata(&mut self, value: u64, mask: u64) {
        self.known.value.set_metadata(value, mask);
        self.is_changed = true;
    }

    fn end_tables(&mut self) {
        self.end_stage();
        self.stage = self.path.stages;
    }

    fn set(&mut self) -> &mut ActionSet {
        &mut self.set
    }

    fn set_edits(&mut self) -> Option<&mut EditSet> {
        Some(&mut self.edits)
    }

    /// Commands leave with one frame, and not with the next.
    fn write_command(&mut self, _index: u16) -> Result<(), NotCacheable> {
        Err(NotCacheable)
    }

    fn begin_action(&mut self, _step: ActionStep) -> Result<(), NotCacheable> {
        self.count_action().ok_or(NotCacheable)
    }

    fn set_queue(&mut self, queue: u32) {
        self.queue = u8::try_from(queue).unwrap_or(u8::MAX - 1);
    }

    fn observe(&mut self, id: u32) -> Result<(), NotCacheable> {
        if self.depth > 0 { Err(NotCacheable) } else { self.set_monitor(id).ok_or(NotCacheable) }
    }

    fn edit(&mut self, edit: Edit) -> Result<(), NotCacheable> {
        self.change(edit).ok_or(NotCacheable)
    }

    /// Packet-ins are limited, numbered and buffered one by one.
    fn send_to_controllers(&mut self, _max_len: u16) -> Result<(), NotCacheable> {
        Err(NotCacheable)
    }

    fn take_along(&mut self, _index: u16) -> Result<(), NotCacheable> {
        Err(NotCacheable)
    }

    fn ports(&self) -> usize {
        self.around.live.ports.len()
    }

    fn place_of(&self, port: u32) -> Option<usize> {
        self.around.live.index.get(&port).copied()
    }

    /// The fast path knows where a frame came from.
    fn send(&mut self, place: usize) -> Result<(), NotCacheable> {
        let place = u16::try_from(place).ok().filter(|&place| place != SEVERAL);
        let (queue, cookie) = (self.queue, self.path.cookie);
        let send = place.map(|place| Step::Send { place, queue, cookie });
        send.and_then(|step| self.program.push(step)).ok_or(NotCacheable)
    }

    fn send_back(&mut self) -> Result<(), NotCacheable> {
        let (queue, cookie) = (self.queue, self.path.cookie);
        self.program.push(Step::SendBack { queue, cookie }).ok_or(NotCacheable)
    }

    /// Addresses are learned, and age, beside the tables.
    fn send_as_bridge(&mut self) -> Result<(), NotCacheable> {
        Err(NotCacheable)
    }

    fn groups(&self) -> &'a Groups {
        self.around.live.groups
    }

    fn chosen(&self, _groups: &Groups, group: &GroupState) -> Chosen {
        self.around.live.chosen(group)
    }

    fn count_group(&mut self, id: u32) -> Result<(), NotCacheable> {
        match self.counted(id) {
            Some(group) => self.program.push(Step::Group(group)).ok_or(NotCacheable),
            None => Ok(()),
        }
    }

    fn choose_by_headers(
        &mut self,
        _groups: &Groups,
        group: &GroupState,
        bucket: impl FnMut(&mut Self, usize) -> Result<(), NotCacheable>,
    ) -> Result<(), NotCacheable> {
        self.choose(group, bucket).ok_or(NotCacheable)
    }

    fn open_bucket(
        &mut self,
        id: u32,
        place: usize,
        changes: bool,
    ) -> Result<Outside, NotCacheable> {
        if usize::from(self.depth) >= DEPTH_MAX {
            return Err(NotCacheable);
        }
        if let Some(group) = self.counted(id) {
            let bucket = u32::try_from(place).map_err(|_| NotCacheable)?;
            self.program.push(Step::Bucket { group, bucket }).ok_or(NotCacheable)?;
        }
        if changes {
            self.program.push(Step::Open(self.depth)).ok_or(NotCacheable)?;
        }
        self.depth += 1;
        let first_change = self.program.changes.len();
        Ok(Outside { queue: self.queue, changes, first_change })
    }

    fn close_bucket(
        &mut self,
        Outside { queue, changes, first_change }: Outside,
        ended: Result<(), NotCacheable>,
    ) -> Result<(), NotCacheable> {
        ended?;
        self.depth -= 1;
        self.queue = queue;
        self.lead_failures(first_change, self.program.next());
        match changes {
            true => self.program.push(Step::Close(self.depth)).ok_or(NotCacheable),
            false => Ok(()),
        }
    }
}

/// Whether a change can make a frame longer or shorter.
const fn resizes(edit: Edit) -> bool {
    !matches!(
        edit,
        Edit::SetField(_)
            | Edit::CopyTtlIn
            | Edit::CopyTtlOut
            | Edit::SetMplsTtl(_)
            | Edit::SetNwTtl(_)
            | Edit::DecMplsTtl
            | Edit::DecNwTtl
    )
}

#[cfg(test)]
mod tests;
