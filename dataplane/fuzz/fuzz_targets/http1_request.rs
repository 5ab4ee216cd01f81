#![no_main]

#[allow(dead_code, reason = "each target runs one of the checks")]
#[path = "../src/http1.rs"]
mod http1;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    http1::check_request(input);
});
