#![no_main]

#[path = "../src/plan.rs"]
mod plan;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    plan::check_plan(input);
});
