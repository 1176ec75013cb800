//! The bodies of the fuzz targets: any bytes, and a panic only if a promise is broken.
//!
//! They are functions of a library, so that a plain `cargo test` runs every corpus.

#[path = "../../crates/tenuto-wire/tests/fuzz_bodies/mod.rs"]
mod wire_bodies;

mod switch;
mod texts;

pub use switch::{switch_control, switch_general, switch_receive};
pub use texts::{certify_plan, network_yaml, plan_json, scenario_yaml, wopanets_xml};

use tenuto_openflow::{DecodeError, Framer, Message};

/// A target: its name, which is that of its corpus, and its body.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 10] = [
    ("openflow_decode", openflow_decode),
    ("wire_frames", wire_frames),
    ("switch_control", switch_control),
    ("switch_receive", switch_receive),
    ("switch_general", switch_general),
    ("network_yaml", network_yaml),
    ("scenario_yaml", scenario_yaml),
    ("wopanets_xml", wopanets_xml),
    ("plan_json", plan_json),
    ("certify_plan", certify_plan),
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
