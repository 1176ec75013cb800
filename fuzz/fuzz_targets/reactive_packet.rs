#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenuto_fuzz::reactive_packet(bytes));
