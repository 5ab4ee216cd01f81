#![no_main]

#[path = "../src/crl.rs"]
mod crl;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    crl::check(input);
});
