#![no_main]

#[path = "../src/proxy_protocol.rs"]
mod proxy_protocol;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    proxy_protocol::check(input);
});
