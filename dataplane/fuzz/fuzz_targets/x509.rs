#![no_main]

#[path = "../src/x509.rs"]
mod x509;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    x509::check(input);
});
