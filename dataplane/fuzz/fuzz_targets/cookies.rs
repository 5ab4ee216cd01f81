#![no_main]

#[path = "../src/cookies.rs"]
mod cookies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    cookies::check(input);
});
