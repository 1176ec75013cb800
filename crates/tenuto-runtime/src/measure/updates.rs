//! What a change of one entry among very many costs, while frames go on.

use super::pipeline::timed;
use super::{PlannedSwitch, Spread};
use serde::Serialize;
use tenuto_openflow::{Action, Body, FlowMod, FlowModCommand, Instruction, Match, Message, Oxm};

/// Flow-mods of one write of a controller, each write ended by a barrier.
const BATCH: u32 = 100;
/// Frames that pass between two writes.
const FRAMES: u32 = 32;

/// What changes of one kind cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UpdateCost {
    /// `add`, `modify` or `delete`.
    pub command: &'static str,
    /// Entries in the table when it is full.
    pub entries: u32,
    /// Flow-mods per second of processor time, forwarding left out.
    pub per_second: Spread,
    /// The longest write of a hundred, milliseconds of processor time.
    pub write_ms_max: f64,
    /// Processor time of a frame that passes between the writes, nanoseconds.
    pub ns_per_frame: Spread,
}

/// Adds `entries` entries to a switch that forwards, modifies and deletes all of them, so many
/// times; decoding included.
pub fn update_costs(
    entries: u32,
    repetitions: u32,
    progress: &mut dyn FnMut(&str),
) -> Vec<UpdateCost> {
    let commands = [
        ("add", FlowModCommand::Add),
        ("modify", FlowModCommand::Modify),
        ("delete", FlowModCommand::Delete),
    ];
    let mut switch = PlannedSwitch::new(649, 64);
    let mut rates = [const { Vec::new() }; 3];
    let mut frames = [const { Vec::new() }; 3];
    let mut worst = [0.0_f64; 3];
    for repetition in 1..=repetitions {
        for (place, (name, command)) in commands.iter().enumerate() {
            progress(&format!("updates: {name} {entries}, repetition {repetition}"));
            let (mut update_ns, mut frame_ns) = (0.0, Vec::new());
            for batch in 0..entries / BATCH {
                let bytes = write(*command, batch, repetition);
                let write_ns = timed(|| {
                    let answered = switch.control(&bytes);
                    assert_eq!(answered, 8, "the barrier is answered, and nothing else");
                    1
                });
                worst[place] = worst[place].max(write_ns / 1e6);
                update_ns += write_ns;
                frame_ns.push(timed(|| switch.pass(FRAMES)));
            }
            rates[place].push(f64::from(entries) / update_ns * 1e9);
            frames[place].push(Spread::of(frame_ns).median);
        }
    }
    let mut costs = Vec::new();
    for (place, (command, _)) in commands.into_iter().enumerate() {
        let per_second = Spread::of(std::mem::take(&mut rates[place]));
        let ns_per_frame = Spread::of(std::mem::take(&mut frames[place]));
        let write_ms_max = worst[place];
        costs.push(UpdateCost { command, entries, per_second, write_ms_max, ns_per_frame });
    }
    costs
}

/// One write: flow-mods in no order that a table could profit from, and a barrier.
fn write(command: FlowModCommand, batch: u32, salt: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in batch * BATCH..(batch + 1) * BATCH {
        let [a, b, c, d] = n.wrapping_mul(0x9e37_79b1).to_be_bytes();
        let port = 3 + (n + salt + u32::from(command == FlowModCommand::Modify)) % 2;
        let send = vec![Action::Output { port, max_len: 0 }];
        let flow_mod = FlowMod {
            cookie: u64::from(n) + 1_000_000,
            match_: Match::from(vec![Oxm::EthDst { value: [0x05, 0, a, b, c, d], mask: None }]),
            instructions: vec![Instruction::ApplyActions(send)],
            ..FlowMod::new(command, 2)
        };
        Message::new(n, Body::FlowMod(flow_mod)).emit(&mut bytes);
    }
    Message::new(0, Body::BarrierRequest).emit(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_leaves_the_tables_as_they_were() {
        let costs = update_costs(1_000, 2, &mut |_| ());
        let commands: Vec<&str> = costs.iter().map(|cost| cost.command).collect();
        assert_eq!(commands, ["add", "modify", "delete"]);
        let mut switch = PlannedSwitch::new(5, 64);
        let before = switch.switch().tables().entries();
        for command in [FlowModCommand::Add, FlowModCommand::Modify, FlowModCommand::Delete] {
            for batch in 0..3 {
                assert_eq!(switch.control(&write(command, batch, 1)), 8);
            }
            let more = if command == FlowModCommand::Delete { 0 } else { 3 * BATCH as usize };
            assert_eq!(switch.switch().tables().entries(), before + more);
        }
    }
}
