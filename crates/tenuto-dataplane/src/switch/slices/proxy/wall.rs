//! The last look at what goes to the switch for a slice: whatever judged it before and put it under other numbers, it
//! names only the slice's tables, groups, meters and ports. A fault there is an error of one controller here, not a hole.

use super::super::traffic::SliceTraffic;
use super::places::Places;
use tenuto_openflow::constants::{NO_BUFFER, group, meter, port};
use tenuto_openflow::{Action, Body, Bucket, FlowMod, GroupMod, Instruction, RequestBody};

/// Whether a message for the switch is about a slice's own.
pub(super) fn is_own(places: Places, traffic: &SliceTraffic, body: &Body) -> bool {
    Wall { places, traffic }.passes(body)
}

struct Wall<'a> {
    places: Places,
    traffic: &'a SliceTraffic,
}

impl Wall<'_> {
    fn passes(&self, body: &Body) -> bool {
        match body {
            Body::FlowMod(it) => self.passes_flow(it),
            Body::GroupMod(it) => self.passes_group(it),
            Body::MeterMod(it) => self.has_meter(it.meter_id),
            Body::PacketOut(it) => {
                it.buffer_id == NO_BUFFER
                    && it.actions.iter().all(|action| self.passes_sent(action))
            }
            Body::MultipartRequest(it) => self.passes_request(&it.body),
            Body::BarrierRequest => true,
            _ => false,
        }
    }

    fn has_table(&self, table: u8) -> bool {
        self.places.table_in(table).is_some()
    }

    fn has_group(&self, id: u32) -> bool {
        self.places.group_in(id).is_some()
    }

    fn has_meter(&self, id: u32) -> bool {
        self.places.meter_in(id).is_some()
    }

    fn passes_flow(&self, it: &FlowMod) -> bool {
        let passes = |instruction: &Instruction| match instruction {
            Instruction::GotoTable(table) => self.has_table(*table),
            Instruction::Meter(id) => self.has_meter(*id),
            Instruction::ApplyActions(all) | Instruction::WriteActions(all) => {
                all.iter().all(|action| self.passes_action(action))
            }
            Instruction::WriteMetadata { .. } | Instruction::ClearActions => true,
            _ => false,
        };
        self.has_table(it.table_id)
            && it.buffer_id == NO_BUFFER
            && (it.out_group == group::ANY || self.has_group(it.out_group))
            && it.instructions.iter().all(passes)
    }

    fn passes_group(&self, it: &GroupMod) -> bool {
        let passes = |bucket: &Bucket| {
            (bucket.watch_port == port::ANY || self.traffic.has_port(bucket.watch_port))
                && (bucket.watch_group == group::ANY || self.has_group(bucket.watch_group))
                && bucket.actions.iter().all(|action| self.passes_action(action))
        };
        self.has_group(it.group_id) && it.buckets.iter().all(passes)
    }

    fn passes_action(&self, action: &Action) -> bool {
        match action {
            Action::Output { port, .. } => {
                matches!(*port, port::IN_PORT | port::CONTROLLER) || self.traffic.has_port(*port)
            }
            Action::Group(id) => self.has_group(*id),
            Action::Experimenter { .. }
            | Action::Unknown { .. }
            | Action::Buffer { .. }
            | Action::Encap(_)
            | Action::Monitor(_) => false,
            _ => true,
        }
    }

    /// Frames of packet-outs are the slice's as they are, and are only sent.
    fn passes_sent(&self, action: &Action) -> bool {
        matches!(action, Action::Output { port, .. } if self.traffic.has_port(*port))
    }

    fn passes_request(&self, body: &RequestBody) -> bool {
        let has_port = |number: u32| number == port::ANY || self.traffic.has_port(number);
        match body {
            RequestBody::Flow(it) | RequestBody::Aggregate(it) => {
                self.has_table(it.table_id)
                    && (it.out_group == group::ANY || self.has_group(it.out_group))
            }
            // Of all, the slice is told its own.
            RequestBody::Group { group_id } => *group_id == group::ALL || self.has_group(*group_id),
            RequestBody::Meter { meter_id } => *meter_id == meter::ALL || self.has_meter(*meter_id),
            RequestBody::PortStats { port_no } | RequestBody::Queue { port_no, .. } => {
                has_port(*port_no)
            }
            RequestBody::Table | RequestBody::PortDescription => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_openflow::{FlowModCommand, FlowStatsRequest, MultipartRequest, PacketOut};

    /// The second slice, with tables 5 to 8 and ports 2 and 3.
    fn passes(body: Body) -> bool {
        let traffic = SliceTraffic::new(vec![2, 3], None, Vec::new());
        is_own(Places::new(2, 5, 4), &traffic, &body)
    }

    fn entry(table: u8, instructions: Vec<Instruction>) -> Body {
        Body::FlowMod(FlowMod { instructions, ..FlowMod::new(FlowModCommand::Add, table) })
    }

    fn applied(action: Action) -> Body {
        entry(5, vec![Instruction::ApplyActions(vec![action])])
    }

    #[test]
    fn what_names_anything_of_others_does_not_pass() {
        let output = |port| Action::Output { port, max_len: 0 };
        let asked = |body| Body::MultipartRequest(MultipartRequest::new(body));
        let stats = |table_id| FlowStatsRequest { table_id, ..FlowStatsRequest::ALL };
        let own = [
            entry(8, vec![Instruction::GotoTable(8), Instruction::Meter(2_048)]),
            applied(output(3)),
            applied(output(port::CONTROLLER)),
            applied(Action::Group(2 << 24)),
            asked(RequestBody::Aggregate(stats(6))),
            asked(RequestBody::PortStats { port_no: port::ANY }),
        ];
        for body in own {
            assert!(passes(body.clone()), "{body:?}");
        }
        let others = [
            entry(4, Vec::new()),
            entry(9, Vec::new()),
            entry(0xff, Vec::new()),
            entry(5, vec![Instruction::GotoTable(9)]),
            entry(5, vec![Instruction::Meter(1_025)]),
            applied(output(1)),
            applied(output(port::FLOOD)),
            applied(output(port::NORMAL)),
            applied(output(port::TABLE)),
            applied(Action::Group(3 << 24)),
            asked(RequestBody::Aggregate(stats(9))),
            asked(RequestBody::Flow(stats(0xff))),
            asked(RequestBody::PortStats { port_no: 1 }),
            asked(RequestBody::GroupDesc),
            Body::PacketOut(PacketOut {
                buffer_id: NO_BUFFER,
                in_port: port::CONTROLLER,
                actions: vec![output(port::TABLE)],
                data: Vec::new(),
            }),
            Body::FeaturesRequest,
        ];
        for body in others {
            assert!(!passes(body.clone()), "{body:?}");
        }
    }
}
