#![no_main]

#[path = "../src/http2_connection.rs"]
mod http2_connection;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    http2_connection::check_connection(input);
});
