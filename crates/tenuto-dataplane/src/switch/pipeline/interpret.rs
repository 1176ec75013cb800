//! What OpenFlow has a frame go through, in its order (OpenFlow 1.3.5, sections 5.1 to 5.12): the one
//! place that says so.
//!
//! The interpreter runs on a [`Machine`]. The [executor](super::executor) carries every operation out on
//! one frame. The [path compiler](crate::switch::path_cache::compile) has an entry of the first table in
//! place of a frame, and emits the path of all frames that match it: what it looks up, and a program of
//! actions that the fast path runs.

use crate::switch::actions::group::{Chosen, GroupState, Groups};
use crate::switch::actions::packet::{Edit, EditSet};
use crate::switch::pipeline::ActionSet;
use crate::switch::tables::compact_instructions::CompactInstructions;
use crate::switch::tables::entry::{ActionStep, Entry};
use std::ops::Deref;
use tenuto_openflow::constants::port;

/// The operations of the pipeline. Each may stop the interpreter.
pub(in crate::switch) trait Machine: Sized {
    /// Why the interpreter goes no further.
    type Stop;
    /// Groups, in a form that outlasts changes of the machine.
    type Groups: Deref<Target = Groups>;
    /// What a bucket gives back when it has ended.
    type Outside;

    /// Looks up a table, and makes the entry found there the entry at hand.
    fn look_up(&mut self, table: u8) -> Result<CompactInstructions, Self::Stop>;
    /// The entry at hand.
    fn entry(&self) -> &Entry;
    /// The meter of the entry at hand judges the frame.
    fn ask_meter(&mut self, id: u32) -> Result<(), Self::Stop>;
    /// Metadata under a mask become a value.
    fn write_metadata(&mut self, value: u64, mask: u64);
    /// No table is left: what follows is the action set.
    fn end_tables(&mut self);

    /// The action set but for edits.
    fn set(&mut self) -> &mut ActionSet;
    /// The edits of the action set; `None` if the switch makes none.
    fn set_edits(&mut self) -> Option<&mut EditSet>;
    /// The entry at hand writes a command for another switch into the action set.
    fn write_command(&mut self, index: u16) -> Result<(), Self::Stop>;

    /// Counts an action that is about to be carried out.
    fn begin_action(&mut self, step: ActionStep) -> Result<(), Self::Stop>;
    /// Later outputs go to this queue.
    fn set_queue(&mut self, queue: u32);
    /// The frame is shown to a monitor.
    fn observe(&mut self, id: u32) -> Result<(), Self::Stop>;
    /// The frame is changed.
    fn edit(&mut self, edit: Edit) -> Result<(), Self::Stop>;
    /// The frame goes to the controllers, so many bytes of it.
    fn send_to_controllers(&mut self, max_len: u16) -> Result<(), Self::Stop>;
    /// The frame takes a command along to the next switch.
    fn take_along(&mut self, index: u16) -> Result<(), Self::Stop>;

    /// How many ports there are.
    fn ports(&self) -> usize;
    /// The place of a port of this number.
    fn place_of(&self, port: u32) -> Option<usize>;
    /// The frame is queued at a port, unless it came from there: neither outputs nor groups send it
    /// back (OpenFlow 1.3.5, sections 5.6.1 and 7.2.5), so that it cannot bounce between two switches.
    fn send(&mut self, place: usize) -> Result<(), Self::Stop>;
    /// The frame is queued at the port that it came from.
    fn send_back(&mut self) -> Result<(), Self::Stop>;
    /// The frame goes where its address was learned (`OFPP_NORMAL`).
    fn send_as_bridge(&mut self) -> Result<(), Self::Stop>;

    /// The groups.
    fn groups(&self) -> Self::Groups;
    /// Which buckets of a group are concerned.
    fn chosen(&self, groups: &Groups, group: &GroupState) -> Chosen;
    /// The frame counts for a group.
    fn count_group(&mut self, id: u32) -> Result<(), Self::Stop>;
    /// Runs `bucket` for the place of the bucket that the headers of the frame choose.
    fn choose_by_headers(
        &mut self,
        groups: &Groups,
        group: &GroupState,
        bucket: impl FnMut(&mut Self, usize) -> Result<(), Self::Stop>,
    ) -> Result<(), Self::Stop>;
    /// The frame enters a bucket of a group, which may change it: then a copy of it does.
    fn open_bucket(
        &mut self,
        id: u32,
        place: usize,
        changes: bool,
    ) -> Result<Self::Outside, Self::Stop>;
    /// The bucket has ended as `ended` says: behind it the frame is as before.
    fn close_bucket(
        &mut self,
        outside: Self::Outside,
        ended: Result<(), Self::Stop>,
    ) -> Result<(), Self::Stop>;
}

/// Runs the tables from one on, and the action set behind the last.
pub(in crate::switch) fn run_tables<M: Machine>(
    machine: &mut M,
    mut table: u8,
) -> Result<(), M::Stop> {
    loop {
        let instructions = machine.look_up(table)?;
        if instructions.writes {
            write_set(machine)?;
        }
        if let Some(id) = instructions.meter() {
            machine.ask_meter(id)?;
        }
        apply(machine, &instructions)?;
        if instructions.writes
            && let Some((value, mask)) = machine.entry().behaviour.metadata
        {
            machine.write_metadata(value, mask);
        }
        match instructions.goto() {
            Some(next) => table = next,
            None => return execute_set(machine),
        }
    }
}

/// The entry at hand clears the action set and writes into it (section 5.10).
fn write_set<M: Machine>(machine: &mut M) -> Result<(), M::Stop> {
    if machine.entry().behaviour.clear {
        *machine.set() = ActionSet::default();
        if let Some(edits) = machine.set_edits() {
            edits.clear();
        }
    }
    for place in 0..machine.entry().behaviour.write.len() {
        let step = machine.entry().behaviour.write[place];
        match step {
            ActionStep::SetQueue(queue) => machine.set().queue = Some(queue),
            ActionStep::Group(id) => machine.set().group = Some(id),
            ActionStep::Output(_) | ActionStep::Controller(_) => machine.set().output = Some(step),
            ActionStep::Edit(edit) => {
                if let Some(edits) = machine.set_edits() {
                    edits.write(edit);
                }
            }
            ActionStep::Encap(index) => machine.write_command(index)?,
            ActionStep::Monitor(_) => {}
        }
    }
    Ok(())
}

/// The actions of the entry at hand, one behind the other.
fn apply<M: Machine>(machine: &mut M, instructions: &CompactInstructions) -> Result<(), M::Stop> {
    if let Some(known) = instructions.steps() {
        return (0..known).try_for_each(|place| act(machine, instructions.step(place)));
    }
    for place in 0..machine.entry().behaviour.apply.len() {
        // Read anew each time: a monitor may have changed the mode, not the entries.
        let step = machine.entry().behaviour.apply[place];
        act(machine, step)?;
    }
    Ok(())
}

/// One action.
pub(in crate::switch) fn act<M: Machine>(machine: &mut M, step: ActionStep) -> Result<(), M::Stop> {
    machine.begin_action(step)?;
    match step {
        ActionStep::SetQueue(queue) => {
            machine.set_queue(queue);
            Ok(())
        }
        ActionStep::Output(port) => output(machine, port),
        ActionStep::Group(id) => group(machine, id),
        ActionStep::Monitor(id) => machine.observe(id),
        ActionStep::Edit(edit) => machine.edit(edit),
        ActionStep::Controller(max_len) => machine.send_to_controllers(max_len),
        ActionStep::Encap(index) => machine.take_along(index),
    }
}

/// An output to a port, or to one of the reserved ports that stand for several.
pub(in crate::switch) fn output<M: Machine>(machine: &mut M, number: u32) -> Result<(), M::Stop> {
    match number {
        port::IN_PORT => machine.send_back(),
        port::ALL | port::FLOOD => flood(machine),
        port::NORMAL => machine.send_as_bridge(),
        _ => machine.place_of(number).map_or(Ok(()), |place| machine.send(place)),
    }
}

/// An output to every port.
pub(in crate::switch) fn flood<M: Machine>(machine: &mut M) -> Result<(), M::Stop> {
    (0..machine.ports()).try_for_each(|place| machine.send(place))
}

fn group<M: Machine>(machine: &mut M, id: u32) -> Result<(), M::Stop> {
    let groups = machine.groups();
    let Some(group) = groups.get(&id) else { return Ok(()) };
    let run = |machine: &mut M, place| bucket(machine, id, group, place);
    match machine.chosen(&groups, group) {
        Chosen::One(None) => Ok(()),
        Chosen::One(Some(place)) => {
            machine.count_group(id)?;
            run(machine, place)
        }
        Chosen::All => {
            machine.count_group(id)?;
            (0..group.buckets.len()).try_for_each(|place| run(machine, place))
        }
        Chosen::ByHeaders => {
            machine.count_group(id)?;
            machine.choose_by_headers(&groups, group, run)
        }
    }
}

/// Every bucket works on a frame of its own (section 5.6.1).
fn bucket<M: Machine>(
    machine: &mut M,
    id: u32,
    group: &GroupState,
    place: usize,
) -> Result<(), M::Stop> {
    let steps = &group.buckets[place].steps;
    let changes = steps.iter().any(|step| matches!(step, ActionStep::Edit(_)));
    let outside = machine.open_bucket(id, place, changes)?;
    let ended = steps.iter().try_for_each(|&step| act(machine, step));
    machine.close_bucket(outside, ended)
}

/// The action set, in the order of section 5.10.
fn execute_set<M: Machine>(machine: &mut M) -> Result<(), M::Stop> {
    machine.end_tables();
    while let Some(edit) = machine.set_edits().and_then(EditSet::take_next) {
        act(machine, ActionStep::Edit(edit))?;
    }
    let set = *machine.set();
    if let Some(queue) = set.queue {
        machine.set_queue(queue);
    }
    // A group in the set takes precedence over an output.
    match (set.group, set.output) {
        (Some(id), _) => act(machine, ActionStep::Group(id)),
        (None, Some(output)) => act(machine, output),
        (None, None) => Ok(()),
    }
}
