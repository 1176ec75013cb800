//! Any bytes as an OpenFlow stream: no panic, and what was understood is stable.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tenuto_openflow::{DecodeError, Framer, Message};

fuzz_target!(|bytes: &[u8]| {
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
});

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
