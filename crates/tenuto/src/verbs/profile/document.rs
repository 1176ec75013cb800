//! What was measured, for programs.

use super::{Profile, held};
use crate::header::Header;
use crate::outcome::Outcome;
use serde::Serialize;
use tenuto_model::Profile as SwitchProfile;
use tenuto_world::profiling::{
    Cell, CheckRow, Cost, Firmware, HostNoise, Masks, Measured, MessageSample, Meters, Queues,
    Stamps, Summary, Throughput, Update,
};

/// The document.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    /// The virtual device, or `the switch`.
    device: &'a str,
    /// What a plan reads of it; of a check, the profile that was held against the device.
    profile: &'a SwitchProfile,
    /// The built-in profile that what was not measured is taken from.
    like: &'a str,
    /// Whose stamps, and how exact.
    stamps: StampsRow<'a>,
    /// What the machine that measured added by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<HostRow>,
    /// Claims of the profile, each with what was seen; of a check only.
    rows: Vec<CheckLine<'a>>,
    /// Entries that found room.
    entries: u32,
    /// One more was refused; otherwise no more were tried.
    is_entries_limit: bool,
    /// Frames held at once, by their size; none: no loss was found.
    buffer: Vec<BufferRow>,
    /// The largest distance of a mean from the fitted cost.
    residual_ns: f64,
    /// How much the dearest frame of a use costs more than the mean one, as a part of it.
    dearest_over_mean: f64,
    /// Every use.
    frames: Vec<FrameRow>,
    /// Throughput, computed and searched.
    throughput: Vec<ThroughputRow>,
    /// What another mask costs; null: not measured.
    per_mask_ns: Option<f64>,
    /// Meters held against frames at twice their rate.
    meters: Vec<MeterRow>,
    /// Why there are none, in the device's words.
    meters_refused: Option<&'a str>,
    /// Bytes counted beside those of a frame with its FCS; null: unknown.
    meter_extra_bytes: Option<i64>,
    /// Numbers of the queues of a port.
    queues: Vec<u32>,
    /// Which of the least and the largest number is served first; null: none was seen to be.
    queue_first: Option<u32>,
    /// Control messages.
    messages: Vec<MessageRow>,
    /// Changes of the table, watched by barrier and by frames.
    changes: Vec<ChangeRow>,
    /// Whether no answer of a barrier promised more than was in effect; null: none was watched.
    is_barrier_true: Option<bool>,
    /// What the firmware does besides; null: not measured.
    firmware: Option<FirmwareRow>,
    /// What was not measured, and why.
    notes: &'a [String],
}

/// Where stamps come from.
#[derive(Serialize)]
struct StampsRow<'a> {
    /// In words.
    source: &'a str,
    /// The least difference that they tell.
    resolution_ns: u64,
    /// What the stamping machine itself adds to a difference in 99 of 100 cases.
    noise_ns: u64,
    /// Nothing outside of the device can delay what is stamped.
    is_exact: bool,
}

/// What the machine that measured added by itself.
#[derive(Serialize)]
struct HostRow {
    /// Frames that crossed a line of its own without a device.
    frames: u64,
    frame_ns_p50: u64,
    frame_ns_p99: u64,
    frame_ns_max: u64,
    /// Times at which it was to wake up the measurement, and how late it was.
    wakes: u64,
    wake_ns_p50: u64,
    wake_ns_p99: u64,
    wake_ns_max: u64,
    /// Its tail may be taken for the device's.
    is_noisy: bool,
}

/// A claim, and what was seen.
#[derive(Serialize)]
struct CheckLine<'a> {
    what: &'a str,
    /// Null: nothing.
    seen: Option<f64>,
    /// Null: no limit.
    stated: Option<f64>,
    unit: &'a str,
    /// `kept`, `exceeded`, `line-bound`, `not-observed`.
    verdict: &'a str,
}

/// Frames of one size that were held at once.
#[derive(Serialize)]
struct BufferRow {
    frame_bytes: u32,
    frames: u64,
}

/// Samples of one thing.
#[derive(Serialize)]
struct SpreadRow {
    count: usize,
    least_ns: f64,
    /// 5, 25, 50, 75 and 95 %.
    percentiles_ns: [f64; 5],
    mean_ns: f64,
    /// The mean of all is within so much of that of the samples in 99.5 of 100 cases, if they are independent.
    mean_within_ns: f64,
    deviation_ns: f64,
    most_ns: f64,
}

/// One use of the table.
#[derive(Serialize)]
struct FrameRow {
    #[serde(rename = "match")]
    matching: String,
    action: String,
    entries: u32,
    position: String,
    order: String,
    frame_bytes: u32,
    traversal: SpreadRow,
    samples_ns: Vec<f64>,
    /// From one to the next of frames that waited for each other; null: unknown.
    spacing: Option<SpreadRow>,
    /// The processor was what limited them; otherwise lines, or what sent over them.
    is_busy: bool,
}

/// What a use gets through.
#[derive(Serialize)]
struct ThroughputRow {
    entries: u32,
    frame_bytes: u32,
    /// By Eq. 6; null: without a processor.
    computed_bps: Option<f64>,
    searched_bps: f64,
}

/// One meter and one size of frames.
#[derive(Serialize)]
struct MeterRow {
    asked_bps: u64,
    asked_burst_bytes: u64,
    frame_bytes: u32,
    enforced_bps: f64,
    /// Null: nothing was dropped.
    burst_bytes: Option<f64>,
}

/// One kind of control message over a table.
#[derive(Serialize)]
struct MessageRow {
    message: &'static str,
    entries: u32,
    actions: usize,
    /// Samples that do not meet Eq. 3.
    invalid: usize,
    took: SpreadRow,
}

/// One change of the table.
#[derive(Serialize)]
struct ChangeRow {
    change: &'static str,
    /// From telling it to the barrier's answer.
    answered_ns: u64,
    /// From telling it to the first frame, by when it was sent, that met it; null: none did.
    effect_ns: Option<u64>,
    /// Effect less answer; null: none met it.
    gap_ns: Option<i64>,
    /// From one frame to the next.
    step_ns: u64,
    /// Frames sent after the answer that did not meet it.
    missed: u64,
    is_true: bool,
}

/// What the firmware does besides.
#[derive(Serialize)]
struct FirmwareRow {
    /// Work of its own, at most; null: none follows a period.
    own_work_ps: Option<u64>,
    own_period_ps: Option<u64>,
    /// Late echoes that follow no period.
    stalls: u64,
    keeps_entries: bool,
    forwards_unknown: bool,
    echo_under_traffic_ns: f64,
}

/// Of a measurement.
pub(super) fn measured<'a>(args: &Profile, device: &'a str, it: &'a Measured) -> Document<'a> {
    document(args, device, it, &it.profile, "measured", Vec::new())
}

/// Of a profile held against a device.
pub(super) fn held<'a>(
    args: &Profile,
    device: &'a str,
    stored: &'a SwitchProfile,
    it: &'a Measured,
    rows: &'a [CheckRow],
    outcome: Outcome,
) -> Document<'a> {
    let lines = rows.iter().map(|it| CheckLine {
        what: &it.what,
        seen: it.seen,
        stated: it.stated,
        unit: it.unit,
        verdict: it.verdict.word(),
    });
    document(args, device, it, stored, held::verdict(outcome), lines.collect())
}

fn document<'a>(
    args: &Profile,
    device: &'a str,
    it: &'a Measured,
    profile: &'a SwitchProfile,
    verdict: &'static str,
    rows: Vec<CheckLine<'a>>,
) -> Document<'a> {
    let world = if args.live { "live" } else { "simulated" };
    let header = Header::new("tenuto-profile/1", verdict).world(world).seed(Some(it.seed));
    let Stamps { source, resolution_ns, noise_ns, is_exact, host } = &it.stamps;
    let (resolution_ns, noise_ns, is_exact) = (*resolution_ns, *noise_ns, *is_exact);
    let (meters, queues) = (it.meters.as_ref(), it.queues.as_ref());
    Document {
        header,
        device,
        profile,
        like: &it.like,
        stamps: StampsRow { source, resolution_ns, noise_ns, is_exact },
        host: host.as_ref().map(host_row),
        rows,
        entries: it.room.entries,
        is_entries_limit: it.room.is_limit,
        buffer: buffer_rows(it),
        residual_ns: it.residual_ns,
        dearest_over_mean: it.above_mean,
        frames: it.cells.iter().map(frame_row).collect(),
        throughput: it.throughput.iter().map(throughput_row).collect(),
        per_mask_ns: it.masks.as_ref().map(|Masks { per_mask_ns, .. }| *per_mask_ns),
        meters: meters.map_or_else(Vec::new, meter_rows),
        meters_refused: meters.and_then(|it| it.refused.as_deref()),
        meter_extra_bytes: meters.and_then(|it| it.extra_bytes),
        queues: queues.map_or_else(Vec::new, |Queues { ids, .. }| ids.clone()),
        queue_first: queues.and_then(|it| it.first),
        messages: it.message_samples.iter().map(message_row).collect(),
        changes: it.updates.iter().map(change_row).collect(),
        is_barrier_true: it.is_barrier_true(),
        firmware: it.firmware.as_ref().map(firmware_row),
        notes: &it.notes,
    }
}

fn host_row(it: &HostNoise) -> HostRow {
    HostRow {
        frames: it.frames,
        frame_ns_p50: it.frame_ns_p50,
        frame_ns_p99: it.frame_ns_p99,
        frame_ns_max: it.frame_ns_max,
        wakes: it.wakes,
        wake_ns_p50: it.wake_ns_p50,
        wake_ns_p99: it.wake_ns_p99,
        wake_ns_max: it.wake_ns_max,
        is_noisy: it.is_noisy(),
    }
}

fn buffer_rows(it: &Measured) -> Vec<BufferRow> {
    let all = it.capacities.iter().flatten();
    all.map(|it| BufferRow { frame_bytes: it.frame_bytes, frames: it.frames }).collect()
}

fn spread_row(it: &Summary) -> SpreadRow {
    let ([low, median, high], [quarter, three]) = (it.percentiles_ns, it.quartiles_ns);
    SpreadRow {
        count: it.count,
        least_ns: it.least_ns,
        percentiles_ns: [low, quarter, median, three, high],
        mean_ns: it.mean_ns,
        mean_within_ns: it.mean_within_ns(),
        deviation_ns: it.deviation_ns,
        most_ns: it.most_ns,
    }
}

fn frame_row(it: &Cell) -> FrameRow {
    let (spacing, is_busy) = match &it.spacing {
        Cost::Busy(it) => (Some(spread_row(it)), true),
        Cost::LineBound(it) => (Some(spread_row(it)), false),
        Cost::Unknown => (None, false),
    };
    let used = &it.used;
    FrameRow {
        matching: tenuto_world::profiling::kind_name(used.matching).into(),
        action: tenuto_world::profiling::action_name(used.action).into(),
        entries: used.entries,
        position: format!("{:?}", used.position).to_lowercase(),
        order: format!("{:?}", used.order).to_lowercase(),
        frame_bytes: used.frame_bytes,
        traversal: spread_row(&it.traversal),
        samples_ns: it.samples_ns.clone(),
        spacing,
        is_busy,
    }
}

fn throughput_row(it: &Throughput) -> ThroughputRow {
    let Throughput { entries, frame_bytes, computed_bps, searched_bps } = *it;
    ThroughputRow { entries, frame_bytes, computed_bps, searched_bps }
}

fn meter_rows(it: &Meters) -> Vec<MeterRow> {
    let row = |it: &tenuto_world::profiling::MeterSample| MeterRow {
        asked_bps: u64::from(it.rate_kbit) * 1_000,
        asked_burst_bytes: u64::from(it.burst_kbit) * 125,
        frame_bytes: it.frame_bytes,
        enforced_bps: it.enforced_bps,
        burst_bytes: it.burst_bytes,
    };
    it.samples.iter().map(row).collect()
}

fn message_row(it: &MessageSample) -> MessageRow {
    let MessageSample { name, entries, actions, invalid, took, .. } = it;
    let (entries, actions, invalid) = (*entries, *actions, *invalid);
    MessageRow { message: name, entries, actions, invalid, took: spread_row(took) }
}

fn change_row(it: &Update) -> ChangeRow {
    ChangeRow {
        change: it.change.name(),
        answered_ns: it.answered_ns,
        effect_ns: it.effect_ns,
        gap_ns: it.gap_ns(),
        step_ns: it.step_ns,
        missed: it.missed,
        is_true: it.is_true(),
    }
}

fn firmware_row(it: &Firmware) -> FirmwareRow {
    FirmwareRow {
        own_work_ps: it.own_work.map(|own| own.time_ps),
        own_period_ps: it.own_work.map(|own| own.period_ps),
        stalls: it.stalls,
        keeps_entries: it.keeps_entries,
        forwards_unknown: it.forwards_unknown,
        echo_under_traffic_ns: it.echo_under_traffic_ns,
    }
}
