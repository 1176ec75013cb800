//! Asking a switch for everything that it holds: one request at a time, replies in parts.

use crate::compile::ours;
use crate::tables::SwitchTables;
use std::collections::VecDeque;
use tenuto_openflow::constants::{meter, multipart_flag};
use tenuto_openflow::{
    Body, Experimenter, FlowStatsRequest, ModeStatus, ModesMessage, MultipartReply,
    MultipartRequest, ReplyBody, RequestBody,
};

/// A reading under way, and what it found so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReadBack {
    requests: VecDeque<Body>,
    /// Transaction id of the request that waits for its reply.
    waits_for: Option<u32>,
    items: usize,
    items_max: usize,
    /// What the switch holds.
    pub(crate) found: SwitchTables,
    /// Its mode, if it was asked.
    pub(crate) status: Option<ModeStatus>,
    /// Requests that the switch refused: it has no such thing, or cannot tell.
    pub(crate) refused: Vec<Body>,
}

/// The reading cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReadError {
    /// The reply is of another kind than the request.
    WrongKind,
    /// More than can be installed at all.
    TooMany,
}

impl ReadBack {
    /// Starts a reading; our own messages are sent only where `levels` says that modes are used.
    pub(crate) fn new(levels: Option<u8>, items_max: usize) -> Self {
        let multipart = |body| Body::MultipartRequest(MultipartRequest { flags: 0, body });
        let mut requests = VecDeque::from([
            multipart(RequestBody::MeterConfig { meter_id: meter::ALL }),
            multipart(RequestBody::GroupDesc),
            multipart(RequestBody::Flow(FlowStatsRequest::ALL)),
        ]);
        if let Some(levels) = levels {
            requests.push_back(ours(ModesMessage::MonitorStatsRequest));
            let shadow = (1..levels).map(|level| ModesMessage::ShadowStatsRequest { level });
            requests.extend(shadow.map(ours));
            requests.push_back(ours(ModesMessage::ModeStatusRequest));
        }
        Self {
            requests,
            waits_for: None,
            items: 0,
            items_max,
            found: SwitchTables::default(),
            status: None,
            refused: Vec::new(),
        }
    }

    /// The next request, if none is under way.
    pub(crate) fn next_request(&self) -> Option<&Body> {
        if self.waits_for.is_some() { None } else { self.requests.front() }
    }

    /// The next request was sent.
    pub(crate) const fn sent(&mut self, xid: u32) {
        self.waits_for = Some(xid);
    }

    /// Whether everything was answered or refused.
    pub(crate) fn is_done(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether a message or refusal with this transaction id is for this reading.
    pub(crate) fn waits_for(&self, xid: u32) -> bool {
        self.waits_for == Some(xid)
    }

    /// The request under way was refused.
    pub(crate) fn refuse(&mut self) {
        self.waits_for = None;
        self.refused.extend(self.requests.pop_front());
    }

    /// Takes a reply, or a part of one, to the request under way.
    pub(crate) fn take(&mut self, body: Body) -> Result<(), ReadError> {
        let before = self.requests.front().ok_or(ReadError::WrongKind)?;
        let more = match (before, body) {
            (Body::MultipartRequest(request), Body::MultipartReply(reply)) => {
                let MultipartReply { flags, body } = reply;
                let request = request.body.clone();
                self.take_multipart(&request, body)?;
                flags & multipart_flag::MORE != 0
            }
            (
                Body::Experimenter(Experimenter::Modes(request)),
                Body::Experimenter(Experimenter::Modes(reply)),
            ) => {
                let request = request.clone();
                self.take_ours(&request, reply)?
            }
            _ => return Err(ReadError::WrongKind),
        };
        if !more {
            self.waits_for = None;
            self.requests.pop_front();
        }
        Ok(())
    }

    fn count(&mut self, items: usize) -> Result<(), ReadError> {
        self.items = self.items.saturating_add(items);
        if self.items > self.items_max { Err(ReadError::TooMany) } else { Ok(()) }
    }

    fn take_multipart(&mut self, request: &RequestBody, reply: ReplyBody) -> Result<(), ReadError> {
        match (request, reply) {
            (RequestBody::Flow(_), ReplyBody::Flow(entries)) => {
                self.count(entries.len())?;
                entries.into_iter().for_each(|entry| self.found.found_entry(0, entry));
            }
            (RequestBody::GroupDesc, ReplyBody::GroupDesc(groups)) => {
                self.count(groups.len())?;
                groups.iter().for_each(|group| self.found.found_group(group));
            }
            (RequestBody::MeterConfig { .. }, ReplyBody::MeterConfig(meters)) => {
                self.count(meters.len())?;
                meters.into_iter().for_each(|meter| self.found.found_meter(meter));
            }
            _ => return Err(ReadError::WrongKind),
        }
        // A part without anything still counts, or a switch could keep us reading for ever.
        self.count(1)
    }

    /// Returns whether more parts follow.
    fn take_ours(
        &mut self,
        request: &ModesMessage,
        reply: ModesMessage,
    ) -> Result<bool, ReadError> {
        match (request, reply) {
            (ModesMessage::MonitorStatsRequest, ModesMessage::MonitorStatsReply(monitors)) => {
                self.count(monitors.len())?;
                let ids = monitors.iter().map(|monitor| (monitor.monitor_id, None));
                self.found.monitors.extend(ids);
                Ok(false)
            }
            (
                ModesMessage::ShadowStatsRequest { level },
                ModesMessage::ShadowStatsReply { level: of, more, entries },
            ) if *level == of => {
                self.count(entries.len() + 1)?;
                entries.into_iter().for_each(|entry| self.found.found_entry(of, entry));
                Ok(more)
            }
            (ModesMessage::ModeStatusRequest, ModesMessage::ModeStatusReply(status)) => {
                self.status = Some(status);
                Ok(false)
            }
            _ => Err(ReadError::WrongKind),
        }
    }
}
