//! Networks, scenarios and imports as files. One program, since every program is linked by itself.

mod broken;
mod contracts;
mod hostile;
mod networks;
mod processor;
mod read_flows;
mod read_network;
mod read_scenario;
mod refused_fields;
