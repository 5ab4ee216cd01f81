#![no_main]

#[path = "../src/jwt.rs"]
mod jwt;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    jwt::check(input);
});
