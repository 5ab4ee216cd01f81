#![no_main]

#[path = "../src/scripts.rs"]
mod scripts;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    scripts::check(input);
});
