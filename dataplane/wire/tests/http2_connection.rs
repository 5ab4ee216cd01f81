//! Connections of HTTP/2 on generated frames: whatever comes, in whatever pieces, both ends keep the standard.

use proptest::prelude::*;

#[path = "../../fuzz/src/http2_connection.rs"]
mod http2_connection;

use http2_connection::check_connection;

/// Payloads that mean something in some frame: heads, trailers, numbers, settings.
const PAYLOADS: [&[u8]; 9] = [
    b"",
    b"\x82\x86\x84\x41\x01a",
    b"\x83\x86\x84\x41\x01a\x5c\x013",
    b"\x88",
    b"\x08\x03100",
    b"\0\x03x-a\x01b",
    b"\0\0\0\x08",
    b"\0\x04\0\0\0\x07",
    b"lastcall",
];

/// A frame in a piece of its own.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        4 => prop::sample::select(&PAYLOADS[..]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ];
    let flags = prop::sample::select(&[0u8, 1, 4, 5, 8, 0x20][..]);
    (0..12u8, flags, 0..12u8, payload).prop_map(|(kind, flags, stream, payload)| {
        let bytes = payload.len() as u8;
        [&[6, 9 + bytes, 0, 0, bytes, kind, flags, 0, 0, 0, stream], &payload[..]].concat()
    })
}

/// Something that the caller does.
fn deed() -> impl Strategy<Value = Vec<u8>> {
    (0..6u8, 0..4u8).prop_map(|(deed, more)| vec![deed | more << 3])
}

proptest! {
    #[test]
    fn any_frames_are_taken_or_refused(
        start: u8,
        script in prop::collection::vec(prop_oneof![3 => frame(), 1 => deed()], 0..40),
    ) {
        check_connection(&[&[start & !2], &script.concat()[..]].concat());
    }

    #[test]
    fn any_bytes_are_taken_or_refused(input in prop::collection::vec(any::<u8>(), 0..400)) {
        check_connection(&input);
    }
}

#[test]
fn corpus_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/http2_connection");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    files.iter().for_each(|file| check_connection(&std::fs::read(file).unwrap()));
}
