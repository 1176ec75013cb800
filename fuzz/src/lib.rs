//! The bodies of the fuzz targets: any bytes, and a panic only if a promise is broken.
//!
//! They are functions of a library, so that a plain `cargo test` runs every corpus.

#[path = "../../crates/tenuto-wire/tests/fuzz_bodies/mod.rs"]
mod wire_bodies;

mod attendre;
mod slices;
mod packets;
mod switch;
mod texts;

pub use attendre::switch_attendre;
pub use slices::switch_slices;
pub use packets::reactive_packet;
pub use switch::{switch_control, switch_general, switch_receive};
pub use texts::{
    afdx_designer_xml, applications_xml, can_csv, certify_bounds, certify_plan, gml, graphml,
    lias_json, netcalbounds_txt, network_yaml, plan_json, ros2_topics, rtns_json, saihu_json,
    scenario_yaml, servers_yaml, tas_benchmark_json, tsnsched_json, vl_table_csv, wopanets_xml,
    xtfa_xml,
};

use tenuto_openflow::{DecodeError, Framer, Message};

/// A target: its name, which is that of its corpus, and its body.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 29] = [
    ("openflow_decode", openflow_decode),
    ("wire_frames", wire_frames),
    ("switch_control", switch_control),
    ("switch_receive", switch_receive),
    ("switch_general", switch_general),
    ("switch_attendre", switch_attendre),
    ("switch_slices", switch_slices),
    ("reactive_packet", reactive_packet),
    ("network_yaml", network_yaml),
    ("scenario_yaml", scenario_yaml),
    ("servers_yaml", servers_yaml),
    ("wopanets_xml", wopanets_xml),
    ("xtfa_xml", xtfa_xml),
    ("saihu_json", saihu_json),
    ("rtns_json", rtns_json),
    ("netcalbounds_txt", netcalbounds_txt),
    ("graphml", graphml),
    ("gml", gml),
    ("applications_xml", applications_xml),
    ("vl_table_csv", vl_table_csv),
    ("afdx_designer_xml", afdx_designer_xml),
    ("lias_json", lias_json),
    ("tsnsched_json", tsnsched_json),
    ("tas_benchmark_json", tas_benchmark_json),
    ("can_csv", can_csv),
    ("ros2_topics", ros2_topics),
    ("plan_json", plan_json),
    ("certify_plan", certify_plan),
    ("certify_bounds", certify_bounds),
];

/// Any bytes as an OpenFlow stream: what was understood is stable.
pub fn openflow_decode(bytes: &[u8]) {
    let mut framer = Framer::new();
    for segment in bytes.chunks(Framer::PUSH_BYTES_MAX) {
        framer.push(segment).expect("a segment fits when everything complete was taken");
        while let Some(message) = framer.next() {
            match message {
                Ok(message) => check_message(&message),
                Err(error) => check_error(&error),
            }
        }
    }
}

fn check_message(message: &Message) {
    // A hello of the greatest length outgrows it by the last padding, if its sender left that out.
    let mut bytes = Vec::new();
    if message.try_emit(&mut bytes).is_ok() {
        assert_eq!(Message::parse(&bytes).as_ref(), Ok(message));
    }
    assert!(!message.to_string().contains('\n'));
}

fn check_error(error: &DecodeError) {
    if let Some(answer) = error.answer() {
        assert_eq!(Message::parse(&answer.to_bytes()), Ok(answer));
    }
}

/// Any bytes as a frame, and as each header of ours.
pub fn wire_frames(bytes: &[u8]) {
    wire_bodies::frame(bytes);
    wire_bodies::shim_header(bytes);
    wire_bodies::stamp(bytes);
}
