//! Requests of slices that the switch has not answered yet, under transaction ids of the proxy's own.

use super::ProxyEffects;
use super::places::Places;
use std::collections::BTreeMap;
use tenuto_openflow::constants::table;
use tenuto_openflow::{
    AggregateStats, Body, FlowStatsRequest, Message, MultipartRequest, RequestBody,
};

/// Messages whose errors are waited for: older ones are forgotten, as most have no answer.
const OPEN_MAX: usize = 16_384;

/// A message of a slice, which may be several for the switch.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) slice: usize,
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
#[derive(Clone, Debug)]
enum Open {
    /// The proxy itself.
    Own,
    /// A slice's request, by the first of its ids.
    Part(u32),
}

/// Ids, and what is open.
#[derive(Debug, Default)]
pub(super) struct Requests {
    last: u32,
    open: BTreeMap<u32, Open>,
    asked: BTreeMap<u32, Asked>,
}

/// Whose an id is.
pub(super) enum Whose {
    /// Nobody's that is known.
    Nobody,
    /// The proxy's.
    Own,
    /// A slice's: the key of its request.
    Slice(u32),
}

impl Requests {
    fn next(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1).max(1);
        self.last
    }

    /// An id for a message of the proxy.
    pub(super) fn own(&mut self) -> u32 {
        let xid = self.next();
        self.note(xid, Open::Own);
        xid
    }

    fn note(&mut self, xid: u32, open: Open) {
        self.open.insert(xid, open);
        while self.open.len() > OPEN_MAX {
            if let Some((_, Open::Part(first))) = self.open.pop_first() {
                self.asked.remove(&first);
            }
        }
    }

    /// Sends a request of a slice as these messages.
    pub(super) fn begin(
        &mut self,
        slice: usize,
        xid: u32,
        head: &[u8],
        bodies: Vec<Body>,
        out: &mut ProxyEffects,
    ) {
        let left = bodies.len();
        let mut first = None;
        for body in bodies {
            let own = self.next();
            let first = *first.get_or_insert(own);
            self.note(own, Open::Part(first));
            Message::new(own, body).emit(&mut out.to_switch);
        }
        if let Some(first) = first {
            let sum = AggregateStats { packet_count: 0, byte_count: 0, flow_count: 0 };
            let head = head.to_vec();
            self.asked.insert(first, Asked { slice, xid, head, left, is_refused: false, sum });
        }
    }

    pub(super) fn whose(&self, xid: u32) -> Whose {
        match self.open.get(&xid) {
            None => Whose::Nobody,
            Some(Open::Own) => Whose::Own,
            Some(Open::Part(first)) => match self.asked.contains_key(first) {
                true => Whose::Slice(*first),
                false => Whose::Nobody,
            },
        }
    }

    pub(super) fn asked(&mut self, key: u32) -> Option<&mut Asked> {
        self.asked.get_mut(&key)
    }

    /// The last part of an answer has come for one id; the request, if that was the last of it.
    pub(super) fn answered(&mut self, xid: u32, key: u32) -> Option<Asked> {
        self.open.remove(&xid);
        let asked = self.asked.get_mut(&key)?;
        asked.left = asked.left.saturating_sub(1);
        if asked.left == 0 { self.asked.remove(&key) } else { None }
    }

    /// Forgets what a slice's controller has asked.
    pub(super) fn forget(&mut self, slice: usize) {
        self.asked.retain(|_, asked| asked.slice != slice);
    }
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
            let all = tenuto_openflow::constants::group::ALL;
            let group_id = if group_id == all { all } else { places.wanted_group(group_id) };
            vec![RequestBody::Group { group_id }]
        }
        RequestBody::Meter { meter_id } => {
            vec![RequestBody::Meter { meter_id: places.wanted_meter(meter_id) }]
        }
        other => vec![other],
    };
    let request = |body| Body::MultipartRequest(MultipartRequest { flags, body });
    bodies.into_iter().map(request).collect()
}
