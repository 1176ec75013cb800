//! Measuring the switch: what its pipeline costs, and how exact, quick and undisturbed it is; and what it costs
//! controllers to answer.
//!
//! What is decided in virtual time (meters, changes of mode) is the same on every machine. What is
//! timed is processor time of one thread, in repetitions that take turns between what is compared.

mod apart;
mod bridges;
mod controllers;
mod live;
mod long_work;
mod look_ups;
mod meters;
mod paired;
mod pipeline;
mod planned;
mod queues;
mod spread;
mod updates;

pub use bridges::{BridgeChanges, BridgeOrder, BridgeReport, measure_bridges};
pub(crate) use bridges::{ROLE as BRIDGES_ROLE, main as bridges_main};
pub use controllers::{
    ControllerOrder, ControllerReport, ControllerRow, CoreSwitch, Delays, Load, LoadFigures,
    LoadKind, LoadOrder, SharedSwitch, measure_controllers,
};
pub use live::{
    BABBLE_FRAME_BYTES, BabblePoint, FlowCurve, FlowPoint, LINE_BPS, LiveFigures, LiveOrder,
    LiveQuantity, LiveRatio, LiveReport, LiveSubject, LiveTask, METER_KBIT, VICTIM_FRAME_BYTES,
    VICTIM_PPS, measure_live,
};
pub(crate) use live::{ROLE as LIVE_ROLE, main as live_main};
pub use long_work::{LongWorkCost, long_work_costs};
pub use look_ups::{LookUpCost, worst_look_ups};
pub use meters::{MeterAccuracy, meter_accuracy};
pub use paired::Paired;
pub use pipeline::{Pipeline, PipelineCost, pipeline_costs};
pub use planned::{Handling, PlannedSwitch};
pub use queues::{QueueCost, queue_costs};
pub use spread::Spread;
pub use updates::{UpdateCost, update_costs};
