//! Reading meters back, some at a time: there may be thousands of several bands each.

use super::task::{MeterReading, Task};
use super::{Done, Request};
use crate::Effects;
use crate::switch::tables::expiry::duration;
use crate::switch::tables::users::User;
use crate::switch::{MeterState, Switch, SwitchEvent};
use std::borrow::Cow;
use tenuto_openflow::constants::{meter, meter_flag, multipart_flag};
use tenuto_openflow::{
    BandStats, Body, MeterBand, MeterConfig, MeterModFailed, MeterStats, MultipartReply, ReplyBody,
};
use tenuto_units::Instant;

/// Numbers that are looked at in a step, for each meter that may be told.
const NUMBERS_LOOKED_AT: u32 = 8;

impl Switch {
    /// Tells meters, or what they have counted: one of them, which has to be there, or all.
    pub(super) fn read_meters(
        &mut self,
        request: Request,
        wanted: u32,
        is_counted: bool,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let all = self.tables.meter_ids();
        let left = match wanted {
            meter::ALL => all,
            // As Open vSwitch and BOFUSS answer; the specification leaves it open.
            id if !self.has_meter(id) => return Err(MeterModFailed::UnknownMeter.into()),
            meter::CONTROLLER => 0..0,
            id => id..id + 1,
        };
        let is_virtual_told = matches!(wanted, meter::ALL | meter::CONTROLLER);
        let is_long = self.entries_at_once().is_some_and(|limit| left.len() > limit);
        let reading = MeterReading { is_counted, left, is_virtual_told };
        let now = match is_long {
            true => self.note_down(request, Task::Meters(reading)),
            false => Some(Task::Meters(reading)),
        };
        if let Some(Task::Meters(mut reading)) = now {
            while !self.tell_meters(request, &mut reading, fx) {}
        }
        Ok(())
    }

    fn has_meter(&self, id: u32) -> bool {
        match id {
            meter::CONTROLLER => {
                self.general.as_ref().is_some_and(|general| general.controller_meter.is_some())
            }
            id => self.tables.meter(id).is_some(),
        }
    }

    /// Tells the next meters; true if these were the last.
    pub(super) fn tell_meters(
        &self,
        request: Request,
        reading: &mut MeterReading,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let chosen = self.next_meters(reading);
        let is_done = reading.left.is_empty();
        let body = match reading.is_counted {
            true => ReplyBody::Meter(
                chosen.iter().map(|(id, it)| self.meter_stats(request.now, *id, it)).collect(),
            ),
            false => ReplyBody::MeterConfig(
                chosen.iter().map(|(id, it)| self.described_meter(*id, it)).collect(),
            ),
        };
        let flags = if is_done { 0 } else { multipart_flag::MORE };
        for part in (MultipartReply { flags, body }).split() {
            self.answer(request, Body::MultipartReply(part), fx);
        }
        is_done
    }

    /// As many meters as are told at once, the virtual one of the controllers last.
    fn next_meters(&self, reading: &mut MeterReading) -> Vec<(u32, Cow<'_, MeterState>)> {
        let limit = self.entries_at_once();
        let mut chosen = Vec::new();
        let looked_at_max = limit.map_or(usize::MAX, |it| it * NUMBERS_LOOKED_AT as usize);
        for id in reading.left.clone().take(looked_at_max) {
            if limit.is_some_and(|limit| chosen.len() >= limit) {
                break;
            }
            reading.left.start = id + 1;
            chosen.extend(self.tables.meter(id).map(|meter| (id, meter)));
        }
        if reading.left.is_empty() && reading.is_virtual_told {
            let of_controllers = self.general.as_ref().and_then(|g| g.controller_meter.as_ref());
            chosen.extend(of_controllers.map(|it| (meter::CONTROLLER, Cow::Borrowed(it))));
        }
        chosen
    }

    fn described_meter(&self, meter_id: u32, state: &MeterState) -> MeterConfig {
        match (self.policy.is_general(), &*state.sent) {
            (false, [MeterBand::Drop { rate, burst_size }]) => MeterConfig {
                flags: meter_flag::KBPS | meter_flag::BURST | meter_flag::STATS,
                meter_id,
                bands: vec![MeterBand::Drop { rate: *rate, burst_size: *burst_size }],
            },
            (_, sent) => MeterConfig { flags: state.flags, meter_id, bands: sent.to_vec() },
        }
    }

    fn meter_stats(&self, now: Instant, meter_id: u32, state: &MeterState) -> MeterStats {
        let flows =
            if self.policy.is_general() { self.tables.users(0, User::Meter(meter_id)) } else { 0 };
        let age = self.policy.shows_ages().then(|| duration(now, state.since));
        let (duration_sec, duration_nsec) = age.unwrap_or((0, 0));
        let bands = state.bands.iter().map(|band| BandStats {
            packet_band_count: band.applied.frames,
            byte_band_count: band.applied.bytes,
        });
        MeterStats {
            meter_id,
            flow_count: flows,
            packet_in_count: state.seen.frames,
            byte_in_count: state.seen.bytes,
            duration_sec,
            duration_nsec,
            bands: bands.collect(),
        }
    }
}
