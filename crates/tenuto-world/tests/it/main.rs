//! Simulated and explored runs. One program, since every program is linked by itself.

mod applications;
mod campaigns;
mod classic;
mod controlled;
mod devices;
mod devices_in_networks;
mod evaluation;
mod exact_meters;
mod exploration;
mod floods;
mod found;
mod frame_log;
mod installed;
mod judging;
mod processors;
mod profiling;
mod races;
mod raises;
mod rates;
mod reactive;
mod reductions;
mod runs;
mod schedules;
mod support;
mod verdicts;
mod watching;
