//! Our messages about queues: who shares a level, and what queues have seen.

use super::{Done, Request};
use crate::switch::{PortState, Switch, SwitchEvent};
use crate::{Delays, Effects, Share};
use tenuto_openflow::constants::{port, queue};
use tenuto_openflow::{
    BadRequest, Body, DelayRange, ErrorCode, Experimenter, QueueDetail, QueueOpFailed, QueueShare,
    QueuesMessage,
};

impl Switch {
    pub(super) fn queues(
        &mut self,
        request: Request,
        message: &QueuesMessage,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        match message {
            QueuesMessage::QueueMod { port, shares } => self.queue_mod(*port, shares),
            QueuesMessage::DetailRequest { port, queue } => {
                let queues = self.queue_details(*port, *queue)?;
                for reply in QueuesMessage::detail_replies(queues) {
                    self.answer(request, Body::Experimenter(Experimenter::Queues(reply)), fx);
                }
                Ok(())
            }
            QueuesMessage::DetailReply { .. } => Err(BadRequest::BadType.into()),
        }
    }

    /// Puts queues of a port into levels, as a QueueMod does.
    ///
    /// # Errors
    /// As a QueueMod: an unknown port or queue, a level or weight out of range, a planned switch.
    pub fn share_queues(&mut self, port: u32, shares: &[QueueShare]) -> Result<(), ErrorCode> {
        self.queue_mod(port, shares)
    }

    fn queue_mod(&mut self, number: u32, shares: &[QueueShare]) -> Done {
        if !self.policy.takes_queue_shares() {
            return Err(QueueOpFailed::Eperm.into());
        }
        if number != port::ANY && !self.port_index.contains_key(&number) {
            return Err(QueueOpFailed::BadPort.into());
        }
        let is_meant = |state: &&mut PortState| number == port::ANY || state.number == number;
        let meant: Vec<&mut PortState> = self.ports.iter_mut().filter(is_meant).collect();
        let changed: Result<Vec<_>, ErrorCode> =
            meant.iter().map(|state| shares_with(state.egress.shares(), shares)).collect();
        for (state, of_queues) in meant.into_iter().zip(changed?) {
            state.egress.set_shares(of_queues);
        }
        Ok(())
    }

    fn queue_details(&self, number: u32, wanted: u32) -> Result<Vec<QueueDetail>, ErrorCode> {
        if number != port::ANY && !self.port_index.contains_key(&number) {
            return Err(QueueOpFailed::BadPort.into());
        }
        let ports = self.ports.iter().filter(|it| number == port::ANY || it.number == number);
        let details = ports.flat_map(details_of_port);
        let found: Vec<QueueDetail> =
            details.filter(|it| wanted == queue::ALL || it.share.queue == wanted).collect();
        match found.is_empty() && wanted != queue::ALL {
            true => Err(QueueOpFailed::BadQueue.into()),
            false => Ok(found),
        }
    }
}

/// The shares of a port's queues after a change.
fn shares_with(mut shares: Vec<Share>, changes: &[QueueShare]) -> Result<Vec<Share>, ErrorCode> {
    let levels = shares.len();
    for change in changes {
        let place = usize::try_from(change.queue).unwrap_or(usize::MAX);
        let share = shares.get_mut(place).ok_or(QueueOpFailed::BadQueue)?;
        if usize::from(change.level) >= levels || change.weight == 0 {
            return Err(QueueOpFailed::Eperm.into());
        }
        *share = Share { level: change.level, weight: change.weight };
    }
    Ok(shares)
}

fn details_of_port(state: &PortState) -> Vec<QueueDetail> {
    let egress = &state.egress;
    let waiting = egress.waiting();
    let queues = (0..).zip(egress.shares()).zip(egress.queue_stats()).zip(waiting);
    let detail = |(((place, share), seen), frames): (((u32, Share), _), u32)| {
        let seen: &crate::QueueCounters = seen;
        let delays = egress.delays().get(place as usize);
        QueueDetail {
            port: state.number,
            share: QueueShare { queue: place, level: share.level, weight: share.weight },
            frames,
            frames_max: seen.waiting_max,
            wire_bytes: seen.wire_bits / 8,
            wire_bytes_max: seen.wire_bits_max / 8,
            delay_ns_max: delays.map_or(0, |delays| delays.max().as_ns()),
            delays: delays.map(ranges).unwrap_or_default(),
        }
    };
    queues.map(detail).collect()
}

fn ranges(delays: &Delays) -> Vec<DelayRange> {
    let range = |(range, frames): (std::ops::Range<u64>, u64)| DelayRange {
        from_ns: range.start,
        below_ns: range.end,
        frames,
    };
    delays.ranges().map(range).collect()
}
