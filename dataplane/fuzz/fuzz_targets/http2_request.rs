#![no_main]

#[allow(dead_code, reason = "the tests of wire use more of it")]
#[path = "../src/http2.rs"]
mod http2;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    http2::check_blocks(input);
});
