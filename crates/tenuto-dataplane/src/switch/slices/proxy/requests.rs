//! Requests of slices that the switch has not answered yet, under transaction ids of the proxy's own.
//!
//! Most messages have no answer, and may have an error. A reply to a barrier tells that whatever was sent before it has
//! had its answers (OpenFlow 1.3.5, section 6.2): the proxy asks for one now and then, and forgets what is before it. A
//! slice for which [`OPEN_EACH`] messages are open waits until the switch has caught up. So no slice makes the proxy
//! forget another's.

use super::places::Places;
use super::{ProxyEffects, ProxyPeer};
use std::collections::BTreeMap;
use tenuto_openflow::constants::{group, meter, table};
use tenuto_openflow::{
    AggregateStats, Body, FlowStatsRequest, Message, MultipartRequest, RequestBody,
};

/// Messages to the switch for which one slice may wait.
const OPEN_EACH: usize = 1_024;
/// Messages between two barriers of the proxy.
const BARRIER_EACH: usize = 256;

/// A message of a slice, which may be several for the switch.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) peer: ProxyPeer,
    /// The controller's own id.
    pub(super) xid: u32,
    /// Its first bytes, for errors.
    pub(super) head: Vec<u8>,
    /// Answers that are still to come.
    pub(super) left: usize,
    /// Whether the controller was told of an error.
    pub(super) is_refused: bool,
    pub(super) sum: AggregateStats,
}

/// What stands behind an id of the proxy.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// A slice, and its request by the first of its numbers; `None`: the proxy itself.
    part: Option<(usize, u64)>,
    is_barrier: bool,
}

/// Ids, and what is open: by numbers that only grow, whose last 32 bits are the ids.
#[derive(Debug, Default)]
pub(super) struct Requests {
    last: u64,
    since_barrier: usize,
    open: BTreeMap<u64, Open>,
    asked: BTreeMap<u64, Asked>,
    /// How many are open for a slice.
    open_of: BTreeMap<usize, usize>,
}

/// Whose an id is.
pub(super) enum Whose {
    /// Nobody's that is known.
    Nobody,
    /// The proxy's.
    Own,
    /// A slice's: the key of its request.
    Slice(u64),
}

impl Requests {
    /// Sends a message of the proxy.
    pub(super) fn own(&mut self, body: Body, out: &mut ProxyEffects) {
        self.send(None, body, out);
        self.ask_for_barrier(out);
    }

    /// Sends one message; its number.
    fn send(&mut self, part: Option<(usize, u64)>, body: Body, out: &mut ProxyEffects) -> u64 {
        self.last += 1;
        if self.last.trailing_zeros() >= 32 {
            // What nobody has asked for has the id 0.
            self.last += 1;
        }
        let number = self.last;
        let is_barrier = matches!(body, Body::BarrierRequest);
        self.since_barrier = if is_barrier { 0 } else { self.since_barrier + 1 };
        let part = part.map(|(slice, first)| (slice, if first == 0 { number } else { first }));
        if let Some((slice, _)) = part {
            *self.open_of.entry(slice).or_default() += 1;
        }
        self.open.insert(number, Open { part, is_barrier });
        Message::new(xid_of(number), body).emit(&mut out.to_switch);
        number
    }

    fn ask_for_barrier(&mut self, out: &mut ProxyEffects) {
        if self.since_barrier >= BARRIER_EACH {
            self.send(None, Body::BarrierRequest, out);
        }
    }

    /// Sends a request of a slice as these messages.
    pub(super) fn begin(
        &mut self,
        peer: ProxyPeer,
        xid: u32,
        head: &[u8],
        bodies: Vec<Body>,
        out: &mut ProxyEffects,
    ) {
        let left = bodies.len();
        let mut first = 0;
        for body in bodies {
            let number = self.send(Some((peer.slice, first)), body, out);
            if first == 0 {
                first = number;
            }
        }
        if first != 0 {
            let sum = AggregateStats { packet_count: 0, byte_count: 0, flow_count: 0 };
            let head = head.to_vec();
            self.asked.insert(first, Asked { peer, xid, head, left, is_refused: false, sum });
        }
        self.ask_for_barrier(out);
    }

    /// Whether the switch has to catch up before more of a slice is sent.
    pub(super) fn is_full(&self, slice: usize) -> bool {
        self.open_of.get(&slice).is_some_and(|open| *open >= OPEN_EACH)
    }

    /// The number behind an id: the last one that has it.
    fn number(&self, xid: u32) -> u64 {
        let number = self.last & !u64::from(u32::MAX) | u64::from(xid);
        if number > self.last { number.saturating_sub(1 << 32) } else { number }
    }

    pub(super) fn whose(&self, xid: u32) -> Whose {
        match self.open.get(&self.number(xid)) {
            None => Whose::Nobody,
            Some(Open { part: None, .. }) => Whose::Own,
            Some(Open { part: Some((_, first)), .. }) => match self.asked.contains_key(first) {
                true => Whose::Slice(*first),
                false => Whose::Nobody,
            },
        }
    }

    pub(super) fn asked(&mut self, key: u64) -> Option<&mut Asked> {
        self.asked.get_mut(&key)
    }

    /// The last part of an answer has come for one id; the request, if that was the last of it.
    pub(super) fn answered(&mut self, xid: u32, key: u64) -> Option<Asked> {
        self.close(self.number(xid));
        let asked = self.asked.get_mut(&key)?;
        asked.left = asked.left.saturating_sub(1);
        if asked.left == 0 { self.asked.remove(&key) } else { None }
    }

    /// The switch has replied to a barrier: who asked for it, if that was a slice. What was sent before it has had
    /// its answers.
    pub(super) fn caught_up(&mut self, xid: u32) -> Option<Asked> {
        let number = self.number(xid);
        let Open { part, .. } = *self.open.get(&number).filter(|open| open.is_barrier)?;
        let asked = part.and_then(|(_, first)| self.asked.remove(&first));
        let later = self.open.split_off(&(number + 1));
        for before in std::mem::replace(&mut self.open, later).into_values() {
            // No barrier stands between the messages of one request.
            if let Some((slice, first)) = before.part {
                self.count_down(slice);
                self.asked.remove(&first);
            }
        }
        asked
    }

    fn close(&mut self, number: u64) {
        if let Some(Open { part: Some((slice, _)), .. }) = self.open.remove(&number) {
            self.count_down(slice);
        }
    }

    fn count_down(&mut self, slice: usize) {
        if let Some(open) = self.open_of.get_mut(&slice) {
            *open = open.saturating_sub(1);
        }
    }

    /// Forgets what a controller has asked; what is under way for it still counts as its slice's.
    pub(super) fn forget(&mut self, peer: ProxyPeer) {
        self.asked.retain(|_, asked| asked.peer != peer);
    }

    #[cfg(test)]
    fn open(&self) -> usize {
        self.open.len()
    }
}

/// The id of a number.
const fn xid_of(number: u64) -> u32 {
    (number & 0xffff_ffff) as u32
}

/// A request under the slice's numbers.
pub(super) fn requests(places: Places, body: Body) -> Vec<Body> {
    let Body::MultipartRequest(MultipartRequest { flags, body }) = body else { return vec![body] };
    let flow = |wanted: &FlowStatsRequest| -> Vec<FlowStatsRequest> {
        let tables: Vec<u8> = match wanted.table_id {
            table::ALL => places.tables().collect(),
            own => vec![places.table_out(own)],
        };
        let of = |table_id| {
            let out_group = places.wanted_group(wanted.out_group);
            FlowStatsRequest { table_id, out_group, ..wanted.clone() }
        };
        tables.into_iter().map(of).collect()
    };
    let bodies: Vec<RequestBody> = match body {
        RequestBody::Flow(wanted) => flow(&wanted).into_iter().map(RequestBody::Flow).collect(),
        RequestBody::Aggregate(wanted) => {
            flow(&wanted).into_iter().map(RequestBody::Aggregate).collect()
        }
        RequestBody::Group { group_id } => {
            let group_id =
                if group_id == group::ALL { group_id } else { places.wanted_group(group_id) };
            vec![RequestBody::Group { group_id }]
        }
        RequestBody::Meter { meter_id } => {
            let meter_id =
                if meter_id == meter::ALL { meter_id } else { places.wanted_meter(meter_id) };
            vec![RequestBody::Meter { meter_id }]
        }
        other => vec![other],
    };
    let request = |body| Body::MultipartRequest(MultipartRequest { flags, body });
    bodies.into_iter().map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::ConnectionId;

    fn peer(slice: usize) -> ProxyPeer {
        ProxyPeer { slice, connection: ConnectionId(1) }
    }

    /// Ids begin anew after four billion messages: those before are still known, and answered in their order.
    #[test]
    fn ids_that_begin_anew_are_those_of_the_last_messages() {
        let mut requests = Requests { last: (1 << 32) - 3, ..Requests::default() };
        let mut out = ProxyEffects::default();
        for slice in 0..6 {
            requests.begin(peer(slice), 7, &[], vec![Body::BarrierRequest], &mut out);
        }
        let sent: Vec<u32> = out
            .to_switch
            .chunks(8)
            .map(|it| u32::from_be_bytes([it[4], it[5], it[6], it[7]]))
            .collect();
        assert_eq!(sent, [u32::MAX - 1, u32::MAX, 1, 2, 3, 4]);
        for (slice, xid) in sent.into_iter().enumerate() {
            let asked = requests.caught_up(xid).expect("it is open");
            assert_eq!(asked.peer, peer(slice));
        }
        assert_eq!(requests.open(), 0);
    }

    #[test]
    fn a_switch_that_is_late_has_the_slice_wait_that_asks_and_no_other() {
        let mut requests = Requests::default();
        let mut out = ProxyEffects::default();
        let change = || {
            vec![Body::FlowMod(tenuto_openflow::FlowMod::new(
                tenuto_openflow::FlowModCommand::Delete,
                1,
            ))]
        };
        requests.begin(
            peer(1),
            9,
            &[],
            vec![Body::MultipartRequest(MultipartRequest::new(RequestBody::Table))],
            &mut out,
        );
        for _ in 0..OPEN_EACH - 1 {
            requests.begin(peer(0), 7, &[], change(), &mut out);
        }
        assert!(!requests.is_full(0));
        requests.begin(peer(0), 7, &[], change(), &mut out);
        assert!(requests.is_full(0) && !requests.is_full(1));
        assert!(matches!(requests.whose(1), Whose::Slice(1)), "the other's is not forgotten");
        let asked = requests.answered(1, 1).expect("it is whole");
        assert_eq!((asked.peer, asked.xid), (peer(1), 9));
        // The switch answers the last barrier of the proxy.
        let barrier = *requests.open.iter().rfind(|(_, it)| it.is_barrier).expect("asked for").0;
        assert!(requests.caught_up(xid_of(barrier)).is_none(), "no slice has asked for it");
        assert!(!requests.is_full(0) && requests.open() < BARRIER_EACH);
        assert!(requests.asked.len() <= requests.open());
    }
}
