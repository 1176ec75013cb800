//! Switch and end system, by frames and messages. One program, since every program is linked by itself.

mod attendre;
mod exact_meters;
mod general_control;
mod general_copies;
mod general_floods;
mod general_frames;
mod general_long_work;
mod general_packet_outs;
mod general_pipeline;
mod general_properties;
mod general_tails;
mod general_trace;
mod general_tracks;
mod osken_suite;
mod places;
mod port_counters;
mod queue_messages;
mod shares;
mod slice_proxy;
mod slice_proxy_attacked;
mod slices;
mod slices_properties;
#[path = "../support/mod.rs"]
mod support;
mod switch_classifier;
mod switch_flow_mods;
mod switch_hash;
mod switch_modes;
mod switch_pipeline;
mod switch_properties;
mod switch_scale;
mod switch_tracks;
mod vectors;
