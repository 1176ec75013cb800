//! Laying a track: the walk of a frame of which nothing is known but that it matches an entry of the
//! first table.
//!
//! Whatever the walk would do is either known from that, or written down for the frames to come
//! ([`Tail`]); where it is neither, there is no track.

use super::counted_table::TableState;
use super::entry::{ActionStep, Entry};
use super::group::{Chosen, DEPTH_MAX, GroupCounts, GroupState, Liveness};
use super::key::{Pattern, field};
use super::packet::{Edit, EditSet, FieldValue};
use super::pipeline::ActionSet;
use super::tables::{TABLE_WATCH, Tables};
use super::tail::{Change, Choice, Step, THE_END, Tail};
use super::track::{SEVERAL, STAGES, Track, Way};
use tenuto_openflow::constants::port;

/// What decides about a track beside the tables.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    /// Level and admitted level.
    pub(super) mode: (u8, u8),
    /// Ports and groups.
    pub(super) live: Liveness<'a>,
    /// What groups have seen, if that is counted.
    pub(super) counts: Option<&'a GroupCounts>,
    /// Times that a frame is sent at most: one that may ask for more walks.
    pub(super) copies_max: u32,
}

/// A track, the entries that it leads through, and whether these were told apart by anything that others
/// have written.
pub(super) struct Laid {
    pub(super) track: Track,
    pub(super) way: Way,
    pub(super) is_by_written: bool,
}

/// A track that is being laid.
struct Laying<'a> {
    tables: &'a Tables,
    around: &'a Surroundings<'a>,
    track: Track,
    way: Way,
    tail: &'a mut Tail,
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
    /// The step that counts actions; the track does outside of choices.
    counter: Option<u16>,
}

/// Lays the track of the entry in a slot of the first table; writes its end into a tail, and says there is no
/// track if frames of the entry can differ, or do anything that a track has no place for.
pub(super) fn lay(
    tables: &Tables,
    tail: &mut Tail,
    (slot, generation): (u32, u32),
    around: &Surroundings<'_>,
) -> Laid {
    let none = Track::none_in(generation, around.mode);
    let Some(table) = tables.get(0, TABLE_WATCH).map(TableState::table) else {
        return Laid { track: none, way: Way::NONE, is_by_written: false };
    };
    tail.clear();
    let mut laying = Laying {
        tables,
        around,
        track: none,
        way: Way::NONE,
        tail,
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
    };
    // The linear twin compares entry after entry, for every frame.
    let is_led = table.is_by_mask() && laying.lead_through(slot).is_some();
    let Laying { track, way, is_by_written, .. } = laying;
    match is_led {
        true => Laid { track, way, is_by_written },
        false => Laid { track: none, way: Way::NONE, is_by_written: false },
    }
}

impl Laying<'_> {
    /// Leads it from table to table.
    fn lead_through(&mut self, first: u32) -> Option<()> {
        let tables = self.tables;
        let came = self.known;
        // What entries write is nothing at first.
        for written in [field::METADATA, field::TUNNEL_ID] {
            self.known.mask.put(written, u64::MAX);
        }
        let (mut table, mut slot, mut probes) = (TABLE_WATCH, first, 0);
        for stage in 0..STAGES {
            let level = self.track.level_of(table);
            let entry = tables.get(level, table)?.table().entry(slot);
            let actions = self.track.actions;
            self.track.enter(entry.cookie, probes);
            self.stage = self.track.stages - 1;
            self.way.cookies[stage] = self.track.cookie;
            (self.way.tables[stage], self.way.slots[stage]) = (table, slot);
            (self.way.probes[stage], self.way.states[stage]) =
                (probes, tables.state_of(level, table)?);
            self.go_through(entry)?;
            self.way.actions[stage] = self.track.actions - actions;
            match entry.behaviour.goto {
                None => return self.end(),
                Some(next) => table = next,
            }
            if !self.can_go_on() {
                return None;
            }
            let next = tables.get(self.track.level_of(table), table)?.table();
            if !next.tells_nothing_beyond(&self.known) {
                return None;
            }
            self.is_by_written |= self.is_changed || !next.tells_nothing_beyond(&came);
            let (found, count) = next.look_up(&self.known.value);
            (slot, probes) = (found?, u8::try_from(count).ok()?);
        }
        None
    }

    /// What an entry does, in the order of the walk.
    fn go_through(&mut self, entry: &Entry) -> Option<()> {
        let behaviour = &entry.behaviour;
        if behaviour.clear {
            self.set = ActionSet::default();
            self.edits.clear();
        }
        behaviour.write.iter().try_for_each(|&step| self.write(step))?;
        if let Some(meter) = behaviour.meter {
            self.set_meter(meter)?;
        }
        behaviour.apply.iter().try_for_each(|&step| self.step(step))?;
        if let Some((value, mask)) = behaviour.metadata {
            self.known.value.set_metadata(value, mask);
            self.is_changed = true;
        }
        Some(())
    }

    /// Whether the next table can be looked up now.
    fn can_go_on(&mut self) -> bool {
        // Where a monitor changes the mode, the frame leaves the track in front of the next table, with
        // nothing but what it came with.
        let leaves = self.way.monitor_stage + 1 == self.track.stages && self.track.has_monitor();
        let can_leave = !leaves || self.is_fresh();
        // Later entries count other bytes than the first; and none where a time to live has ended.
        can_leave && !self.is_resized && self.tail.open_changes(0).next().is_none()
    }

    /// Whether nothing has happened to the frame yet.
    fn is_fresh(&self) -> bool {
        let is_unset = self.set.is_empty() && self.edits.is_empty();
        is_unset && self.queue == 0 && self.tail.steps.is_empty() && !self.is_changed
    }

    /// There is room for one meter, in front of all that happens to a frame: it judges it as it came. It
    /// does nothing to it but let it pass or not.
    fn set_meter(&mut self, id: u32) -> Option<()> {
        let meter = self.tables.tracks.meter(id)?;
        let can = meter.drops_only() && !self.track.has_meter() && self.tail.steps.is_empty();
        can.then(|| {
            self.track.lead_past_meter();
            (self.way.meter, self.way.meter_stage) = (id, self.stage);
        })
    }

    /// There is room for one monitor, in front of the meter and of all else.
    fn set_monitor(&mut self, id: u32) -> Option<()> {
        let is_first = !self.track.has_meter() && !self.track.has_monitor();
        (is_first && self.is_fresh()).then(|| {
            self.track.lead_past_monitor();
            (self.way.monitor, self.way.monitor_stage) = (id, self.stage);
        })
    }

    fn write(&mut self, step: ActionStep) -> Option<()> {
        match step {
            ActionStep::SetQueue(queue) => self.set.queue = Some(queue),
            ActionStep::Group(group) => self.set.group = Some(group),
            ActionStep::Output(_) => self.set.output = Some(step),
            ActionStep::Edit(edit) => self.edits.write(edit),
            ActionStep::Monitor(_) => {}
            ActionStep::Controller(_) | ActionStep::Encap(_) => return None,
        }
        Some(())
    }

    fn step(&mut self, step: ActionStep) -> Option<()> {
        self.count_action()?;
        match step {
            ActionStep::SetQueue(queue) => self.set_queue(queue),
            ActionStep::Output(number) => self.output(number)?,
            ActionStep::Group(id) => self.group(id)?,
            ActionStep::Edit(edit) => self.change(edit)?,
            ActionStep::Monitor(id) if self.depth == 0 => self.set_monitor(id)?,
            _ => return None,
        }
        Some(())
    }

    fn set_queue(&mut self, queue: u32) {
        self.queue = u8::try_from(queue).unwrap_or(u8::MAX - 1);
    }

    fn count_action(&mut self) -> Option<()> {
        match self.counter.map(|at| &mut self.tail.steps[usize::from(at)]) {
            Some(Step::Actions(count)) => *count = count.checked_add(1)?,
            _ => self.track.actions = self.track.actions.checked_add(1)?,
        }
        Some(())
    }

    /// The actions that are counted where the step at hand is.
    fn actions(&self) -> u16 {
        match self.counter.map(|at| self.tail.steps[usize::from(at)]) {
            Some(Step::Actions(count)) => count,
            _ => self.track.actions.into(),
        }
    }

    fn output(&mut self, number: u32) -> Option<()> {
        let Liveness { ports, index, .. } = self.around.live;
        match number {
            port::IN_PORT => {
                let (queue, cookie) = (self.queue, self.track.cookie);
                self.tail.push(Step::SendBack { queue, cookie })
            }
            port::ALL | port::FLOOD => (0..ports.len()).try_for_each(|place| self.send(place)),
            // Other numbers above those of ports ask for more than a place.
            0..=port::MAX => self.send(*index.get(&number)?),
            _ => None,
        }
    }

    fn send(&mut self, place: usize) -> Option<()> {
        let place = u16::try_from(place).ok().filter(|&place| place != SEVERAL)?;
        let (queue, cookie) = (self.queue, self.track.cookie);
        self.tail.push(Step::Send { place, queue, cookie })
    }

    fn group(&mut self, id: u32) -> Option<()> {
        let live = self.around.live;
        let Some(group) = live.groups.get(&id) else { return Some(()) };
        let chosen = match live.chosen(group) {
            Chosen::All => 0..group.buckets.len(),
            Chosen::One(Some(place)) => place..place + 1,
            Chosen::One(None) => return Some(()),
            Chosen::ByHeaders => return self.choose(id, group),
        };
        self.count_group(id)?;
        chosen.into_iter().try_for_each(|place| self.bucket(id, group, place))
    }

    /// The place of what a group has seen, if that is counted.
    fn counted(&self, id: u32) -> Option<u32> {
        self.around.counts.and_then(|counts| counts.place(id))
    }

    fn count_group(&mut self, id: u32) -> Option<()> {
        match self.counted(id) {
            Some(group) => self.tail.push(Step::Group(group)),
            None => Some(()),
        }
    }

    /// A choice for each bucket that frames can go to, one behind the other.
    fn choose(&mut self, id: u32, group: &GroupState) -> Option<()> {
        // Only where a frame may have lost its Ethernet header, the walk goes by an older key.
        let is_cut = self.tail.changes.iter().any(|it| it.edit == Edit::PopPbb);
        let weights = self.around.live.weights(group);
        let first = self.tail.choices.len();
        let mut below = 0;
        self.tail.choices.extend(weights.map(|(_, weight)| {
            below += weight;
            Choice { below, at: 0 }
        }));
        let count = u16::try_from(self.tail.choices.len() - first).ok()?;
        let first = u16::try_from(first).ok().filter(|_| !is_cut)?;
        self.tail.is_plain = false;
        self.tail.push(Step::Choose { first, count })?;
        for (choice, (place, _)) in (usize::from(first)..).zip(self.around.live.weights(group)) {
            let at = self.tail.next();
            self.tail.choices[choice].at = at;
            let outer = self.counter.replace(at);
            self.tail.push(Step::Actions(0))?;
            self.count_group(id)?;
            self.bucket(id, group, place)?;
            self.counter = outer;
            self.tail.push(Step::GoTo(0))?;
        }
        // Behind each choice, what is behind all of them.
        let next = self.tail.next();
        let behind_last = std::iter::once(next);
        let from = usize::from(first) + 1..usize::from(first) + usize::from(count);
        let begins: &[Choice] = &self.tail.choices[from];
        for begin in begins.iter().map(|choice| choice.at).chain(behind_last) {
            self.tail.steps[usize::from(begin) - 1] = Step::GoTo(next);
        }
        Some(())
    }

    /// A bucket works on a frame of its own.
    fn bucket(&mut self, id: u32, group: &GroupState, place: usize) -> Option<()> {
        if let Some(group) = self.counted(id) {
            self.tail.push(Step::Bucket { group, bucket: u32::try_from(place).ok()? })?;
        }
        let steps = &group.buckets[place].steps;
        let changes = steps.iter().any(|step| matches!(step, ActionStep::Edit(_)));
        let (queue, depth, from) = (self.queue, self.depth, self.tail.changes.len());
        if usize::from(depth) >= DEPTH_MAX {
            return None;
        }
        if changes {
            self.tail.push(Step::Open(depth))?;
        }
        self.depth += 1;
        steps.iter().try_for_each(|&step| self.step(step))?;
        self.depth = depth;
        self.lead_failures(from, self.tail.next());
        if changes {
            self.tail.push(Step::Close(depth))?;
        }
        self.queue = queue;
        Some(())
    }

    /// Says where changes from a place on lead if they fail.
    fn lead_failures(&mut self, from: usize, next: u16) {
        let actions = self.actions();
        for change in self.tail.open_changes(from) {
            (change.next, change.skipped) = (next, actions - change.skipped);
        }
    }

    fn change(&mut self, edit: Edit) -> Option<()> {
        if self.depth == 0 {
            self.is_changed = true;
            self.is_resized |= resizes(edit);
            self.know_changed(edit);
        }
        let place = u16::try_from(self.tail.changes.len()).ok()?;
        let change = Change::new(edit, self.stage, self.actions());
        self.tail.changes.push(change);
        self.tail.is_plain = false;
        self.tail.push(Step::Change(place))
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
                let nothing = super::key::PacketKey::default();
                self.known = Pattern { mask: nothing, value: nothing };
            }
        }
    }

    /// The action set is carried out, and what all of it comes to.
    fn end(&mut self) -> Option<()> {
        self.stage = self.track.stages;
        while let Some(edit) = self.edits.take_next() {
            self.count_action()?;
            self.change(edit)?;
        }
        if let Some(queue) = self.set.queue {
            self.set_queue(queue);
        }
        // A group in the set takes precedence over an output.
        match (self.set.group, self.set.output) {
            (Some(id), _) => self.step(ActionStep::Group(id))?,
            (None, Some(output)) => self.step(output)?,
            (None, None) => {}
        }
        self.lead_failures(0, THE_END);
        let is_sent = |step: &&Step| matches!(step, Step::Send { .. } | Step::SendBack { .. });
        if self.tail.steps.iter().filter(is_sent).count() > self.around.copies_max as usize {
            return None;
        }
        match self.tail.steps[..] {
            [Step::Send { place, queue, cookie }] if cookie == self.track.cookie => {
                (self.track.place, self.track.queue) = (place, queue);
            }
            // No port may have the place that says so.
            _ if self.around.live.ports.len() > SEVERAL.into() => return None,
            _ => self.track.place = SEVERAL,
        }
        Some(())
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
mod tests {
    use crate::switch::{
        ClassifierKind, GeneralConfig, PortConfig, PortRole, Switch, SwitchConfig,
    };
    use crate::{Effects, EgressConfig, FramePool, Frames};
    use std::sync::Arc;
    use tenuto_openflow::constants::meter_flag;
    use tenuto_openflow::{
        Action, Body, Bucket, FlowMod, FlowModCommand, GroupMod, GroupModCommand, GroupType,
        Instruction, Match, Message, MeterBand, MeterMod, MeterModCommand, Oxm,
    };
    use tenuto_units::{Instant, Rate, Span};

    const FLOW: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn switch() -> Switch {
        let rate = Rate::from_bps(1_000_000_000).expect("not zero");
        let egress = EgressConfig { rate, queues: 4, buffer_bits: 1 << 20, unpromised_from: None };
        let port = |port| PortConfig { port, role: PortRole::Host, egress };
        let mut switch = Switch::new(Arc::new(SwitchConfig {
            datapath_id: 1,
            ports: (1..5).map(port).collect(),
            tables: 8,
            entries_max: 16,
            meters_max: 2,
            groups_max: 8,
            meter_extra_bytes: 4,
            classifier: ClassifierKind::ByMask,
            boot_seed: 1,
            mode_retry: Span::from_ms(1),
            general: Some(GeneralConfig::default()),
        }));
        switch.connected(&mut Effects::new());
        switch
    }

    fn send(port: u32) -> Action {
        Action::Output { port, max_len: 64 }
    }

    fn entry(table: u8, match_: Vec<Oxm>, instructions: Vec<Instruction>) -> Body {
        let match_ = Match::from(match_);
        Body::FlowMod(FlowMod { match_, instructions, ..FlowMod::new(FlowModCommand::Add, table) })
    }

    fn to(value: [u8; 6]) -> Vec<Oxm> {
        vec![Oxm::EthDst { value, mask: None }]
    }

    /// The track that the first frame lays: none, to one port, or to several.
    fn laid(bodies: Vec<Body>) -> &'static str {
        let (mut switch, mut frames, mut fx) = (switch(), FramePool::new(8), Effects::new());
        for body in bodies {
            let bytes = Message::new(1, body.clone()).to_bytes();
            assert!(switch.control(Instant::ZERO, &bytes, &mut frames, &mut fx));
            assert!(fx.control.is_empty(), "{body:?} is refused");
        }
        let bytes = [&FLOW[..], &[2, 0, 0, 0, 0, 9, 8, 0], &[0; 50]].concat();
        let frame = frames.insert(&bytes).expect("room");
        switch.receive(Instant::ZERO, Instant::ZERO, 1, frame, &mut frames, &mut fx);
        let (track, _) = switch.tables.laid(0);
        match (track.is_fixed(), track.ends_in_several()) {
            (false, _) => "none",
            (true, false) => "one",
            (true, true) => "several",
        }
    }

    fn applied(actions: Vec<Action>) -> Vec<Body> {
        vec![entry(0, to(FLOW), vec![Instruction::ApplyActions(actions)])]
    }

    /// Through a second table whose entry is for frames like this.
    fn through(first: Vec<Instruction>, second: Vec<Oxm>) -> Vec<Body> {
        let first = [first, vec![Instruction::GotoTable(1)]].concat();
        let last = vec![Instruction::ApplyActions(vec![send(2)])];
        vec![entry(0, to(FLOW), first), entry(1, second, last)]
    }

    fn grouped(type_: GroupType, weights: &[u16]) -> Vec<Body> {
        let bucket = |&weight| Bucket { weight, watch_port: 2, ..Bucket::new(vec![send(2)]) };
        let buckets = weights.iter().map(bucket).collect();
        let group = GroupMod { command: GroupModCommand::Add, type_, group_id: 1, buckets };
        [vec![Body::GroupMod(group)], applied(vec![Action::Group(1)])].concat()
    }

    fn metered(band: MeterBand) -> Vec<Body> {
        let flags = meter_flag::KBPS | meter_flag::BURST;
        let bands = vec![band];
        let meter = MeterMod { command: MeterModCommand::Add, flags, meter_id: 1, bands };
        let then = vec![Instruction::Meter(1), Instruction::ApplyActions(vec![send(2), send(3)])];
        vec![Body::MeterMod(meter), entry(0, to(FLOW), then)]
    }

    #[test]
    fn what_is_known_of_all_frames_of_an_entry_is_laid() {
        use Instruction::{ApplyActions, WriteActions, WriteMetadata};
        use tenuto_openflow::constants::port;
        let metadata = |value| vec![Oxm::Metadata { value, mask: None }];
        let written = WriteMetadata { metadata: 5, mask: u64::MAX };
        let renamed = Action::SetField(Oxm::EthDst { value: OTHER, mask: None });
        let remarks = MeterBand::DscpRemark { rate: 1_000, burst_size: 100, prec_level: 1 };
        let drops = MeterBand::Drop { rate: 1_000, burst_size: 100 };
        let all = [
            (applied(vec![send(2)]), "one"),
            (applied(vec![send(2), send(3)]), "several"),
            (applied(vec![]), "several"),
            (applied(vec![send(port::FLOOD)]), "several"),
            (applied(vec![send(port::IN_PORT)]), "several"),
            (applied(vec![Action::DecNwTtl, send(2)]), "several"),
            (applied(vec![Action::PushVlan(0x8100), send(2)]), "several"),
            (grouped(GroupType::All, &[0, 0]), "several"),
            (grouped(GroupType::FastFailover, &[0, 0]), "several"),
            (grouped(GroupType::Select, &[1, 1]), "several"),
            (metered(drops), "several"),
            (through(vec![WriteActions(vec![Action::SetQueue(1), send(3)])], vec![]), "several"),
            (through(vec![], vec![]), "one"),
            (through(vec![written.clone()], metadata(5)), "one"),
            (through(vec![ApplyActions(vec![renamed])], to(OTHER)), "several"),
            // Whatever another frame of the entry may do otherwise.
            (applied(vec![send(port::CONTROLLER)]), "none"),
            (applied(vec![send(port::NORMAL)]), "none"),
            (metered(remarks), "none"),
            (through(vec![written], metadata(4)), "none"),
            (through(vec![], vec![Oxm::EthType(0x0800)]), "none"),
            (through(vec![ApplyActions(vec![Action::PushVlan(0x8100)])], vec![]), "none"),
            (through(vec![ApplyActions(vec![Action::DecNwTtl])], vec![]), "none"),
        ];
        for (bodies, expected) in all {
            assert_eq!(laid(bodies.clone()), expected, "{bodies:?}");
        }
    }
}
