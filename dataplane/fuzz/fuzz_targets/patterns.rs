#![no_main]

#[path = "../src/patterns.rs"]
mod patterns;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    patterns::check(input);
});
