//! What a network *is*, what *happens* in a run, what a device *can*, and the plan.
//!
//! Everything here is a frozen, validated value: reading files (text in, no file system) reports
//! every problem at once as `Diagnostic`s, and a [`Network`] that exists is consistent: every
//! name resolves, every size can be on an Ethernet, every route is connected. Numbers carry their
//! unit in their name; times are whole nanoseconds, bounds picoseconds.
//!
//! This crate opens no file and owns no clock. It builds and reads no OpenFlow message: a [`Plan`] holds a
//! neutral [`SwitchDeployment`] per switch that a controller compiles one to one.

mod addressing;
mod check;
mod deployment;
mod diagnostic;
mod flow;
mod import;
mod network;
mod plan;
mod plan_file;
mod priorities;
mod profile;
mod proof_lines;
pub mod quantity;
mod read;
mod saihu_export;
mod scenario;
mod servers;
mod source;
mod suggest;
pub use suggest::meant;
mod summary;
mod verdict;
mod write;
mod yaml;

pub use addressing::{Addressing, FlowAddress, HostAddress};
pub use deployment::{
    EntrySpec, GROUP_OUTPUTS_MAX, GroupOutput, GroupSpec, HostDeployment, LevelContract, MatchSpec,
    MeterSpec, MonitorKind, MonitorSpec, OutputSpec, PortDeployment, PortRole, ReceiverSpec,
    SenderSpec, SwitchDeployment, TABLE_FORWARD, TABLE_POLICE, TABLE_WATCH, TableUse,
};
pub use diagnostic::{Column, Diagnostic, Diagnostics, Severity};
pub use flow::{
    Apart, Contract, Flow, FrameMix, MatchKind, OutOfMode, SEGMENT_PAYLOAD_BYTES, SHIM_BYTES, Size,
    Target, UDP_FRAME_OVERHEAD_BYTES,
};
pub use import::{Content, ImportFormat, ImportOptions, Imported, assumed_deadlines, import};
pub use network::{
    Channel, Controller, Host, Link, LinkEnd, ModeReturn, Network, NodeRef, OtherTraffic, Port,
    Switch, Tolerates, WhenLost,
};
pub use plan::{
    Assumption, BusyPeriod, Chosen, CopyBound, FlowBound, ForwardingModel, Hop, LinkLoss,
    ModeChangeBound, ModeChangeTerm, Plan, PortEnded, PortRow, PortService, ProcessorBusy,
    ProcessorRow, ProcessorService, Purge, Ranked, Refusal, Route, RoutedCopy, SettlingRound,
    Transition, WholePathProof, Witnesses,
};
pub use plan_file::{PLAN_SCHEMA, network_digest};
pub use profile::{
    ANSWER_BYTES_MAX, Action, ActionCosts, BufferUnit, ControlShare, ControlWork, FrameService,
    LookUp, MESSAGE_BYTES_MAX, MatchCosts, MatchType, MeterCounts, OPENFLOW_BURST_BYTES_MAX,
    Position, PriorityOrder, Processor, ProcessorLink, Profile, Receive, ReceiveBuffer,
    SliceControl, SliceShare, Use,
};
pub use read::{
    Environment, FindProgram, JudgeTenant, JudgeText, Microvm, NicReceive, ReceivePath,
    ReceivePriority, Restart, SLICES_MAX, SWITCH_ACTIONS_MAX, SWITCH_BUCKETS_MAX,
    SWITCH_COPIES_MAX, SWITCH_MASKS_MAX, SliceBudget, SliceFile, SlicesFile, SwitchFile,
    SwitchFilePort, SwitchText, TENANTS_MAX, Tenant, TenantNic, TenantText, TenantsFile,
    check_tenant_slices, read_flows, read_network, read_scenario, read_scenario_with_programs,
    read_slices, read_switch, read_tenants,
};
pub use saihu_export::write_saihu;
pub use scenario::{Event, EventAction, Expect, Offsets, Scenario, Sizes, Traffic};
pub use servers::{read_servers, servers_summary, write_servers};
pub use source::{MemorySources, Sources};
pub use summary::summary;
pub use verdict::Verdict;
pub use write::{write_network, yaml_scalar};
