//! Heads of HTTP/2 on generated messages: one that is read goes on as HTTP/1, and must mean the same there.

use proptest::prelude::*;
use weir_wire::http2::hpack::{Decoder, TABLE_BYTES};

#[allow(dead_code, reason = "the fuzz target uses more of it")]
#[path = "../../fuzz/src/http2.rs"]
mod http2;

const START: [(&str, &str); 4] = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/")];

/// Values that readers of HTTP/1 obey, or that an attacker would like them to.
const FIELDS: [(&str, &str); 32] = [
    (":method", "POST"),
    (":method", "OPTIONS"),
    (":method", "GET / HTTP/1.1\r\nx: "),
    (":path", "*"),
    (":path", "/a?b"),
    (":path", "/ HTTP/1.1\r\nHost: b\r\n\r\n"),
    (":path", "http://b/"),
    (":authority", "b:80"),
    (":authority", "a\r\nx-a: b"),
    (":scheme", "http"),
    (":status", "200"),
    ("host", "a"),
    ("host", "b"),
    ("content-length", "0"),
    ("content-length", "7"),
    ("content-length", "07, 7"),
    ("transfer-encoding", "chunked"),
    ("connection", "x-a"),
    ("te", "trailers"),
    ("te", "chunked"),
    ("upgrade", "websocket"),
    ("expect", "100-continue"),
    ("cookie", "a=b"),
    ("cookie", "c=d"),
    ("x-a", "b"),
    ("x-a", "b\r\ncontent-length: 9"),
    ("x-a", "b\n c"),
    ("x-a", "b\0"),
    ("x-a:", "b"),
    ("X-A", "b"),
    ("x a", "b"),
    ("", "b"),
];

fn literal((name, value): (&str, &str)) -> Vec<u8> {
    let string = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [vec![0x40], string(name), string(value)].concat()
}

proptest! {
    #[test]
    fn request_that_is_read_means_the_same_in_http1(
        replaced in prop::option::of((0..4usize, prop::sample::select(&FIELDS[..]))),
        added in prop::collection::vec(prop::sample::select(&FIELDS[..]), 0..8),
        is_all: bool,
    ) {
        let mut start = START;
        if let Some((at, field)) = replaced {
            start[at] = field;
        }
        let block: Vec<u8> = start.into_iter().chain(added).flat_map(literal).collect();
        http2::check_block(&mut Decoder::new(TABLE_BYTES), &block, is_all);
    }

    #[test]
    fn any_bytes_are_read_or_refused(input in prop::collection::vec(any::<u8>(), 0..400)) {
        http2::check_blocks(&input);
    }
}

#[test]
fn corpus_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/http2_request");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    files.iter().for_each(|file| http2::check_blocks(&std::fs::read(file).unwrap()));
}
