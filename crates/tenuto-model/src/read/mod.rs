//! Reading files into values: text in, every problem out.

mod added;
mod flows;
pub(crate) mod network;
mod nodes;
mod processor;
mod profile;
pub(crate) mod reader;
mod receive_path;
mod scenario;
mod scenario_events;
mod slice_control;
mod slices_file;
mod switch_file;
pub(crate) mod tables;
mod tenant_environment;
mod tenant_text;
mod tenants_file;
mod tenants_slices;

pub use added::read_flows;
pub use network::read_network;
pub use receive_path::{NicReceive, ReceivePath, ReceivePriority};
pub use scenario::{FindProgram, read_scenario, read_scenario_with_programs};
pub use slices_file::{SLICES_MAX, SliceBudget, SliceFile, SlicesFile, read_slices};
pub use switch_file::{
    JudgeText, SWITCH_ACTIONS_MAX, SWITCH_BUCKETS_MAX, SWITCH_COPIES_MAX, SWITCH_MASKS_MAX,
    SwitchFile, SwitchFilePort, SwitchText, read_switch,
};
pub use tenant_environment::{Environment, Microvm};
pub use tenant_text::{JudgeTenant, TenantText};
pub use tenants_file::{Restart, TENANTS_MAX, Tenant, TenantNic, TenantsFile, read_tenants};
pub use tenants_slices::check_tenant_slices;
