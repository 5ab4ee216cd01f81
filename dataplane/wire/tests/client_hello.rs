//! What the reader of a ClientHello finds in hellos of real clients, and in what is none.

use proptest::prelude::*;
use weir_wire::tls::{ClientHello, ClientHelloReader, HELLO_BYTES_MAX, NoClientHello};

#[path = "../../fuzz/src/client_hello.rs"]
mod fuzzed;

const OPENSSL: &[u8] = include_bytes!("../../fuzz/corpus/client_hello/openssl");
const CURL: &[u8] = include_bytes!("../../fuzz/corpus/client_hello/curl");
const NAMELESS: &[u8] = include_bytes!("../../fuzz/corpus/client_hello/nameless");

/// What a hello says: name, protocols, versions.
type Said = (Option<String>, Vec<String>, Vec<u16>);

fn said(hello: &ClientHello<'_>) -> Said {
    let protocols = hello.protocols().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    (hello.server_name().map(str::to_owned), protocols, hello.versions().collect())
}

fn read(bytes: &[u8]) -> Result<Option<Said>, NoClientHello> {
    let mut reader = ClientHelloReader::default();
    match reader.take(bytes)? {
        true => reader.client_hello().map(|hello| Some(said(&hello))),
        false => Ok(None),
    }
}

/// A record of handshake.
fn record(content: &[u8]) -> Vec<u8> {
    [&[22, 3, 1][..], &(content.len() as u16).to_be_bytes(), content].concat()
}

fn vector(len_bytes: usize, content: &[u8]) -> Vec<u8> {
    [&content.len().to_be_bytes()[8 - len_bytes..], content].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &vector(2, content)].concat()
}

fn name_extension(name: &[u8]) -> Vec<u8> {
    extension(0, &vector(2, &[&[0][..], &vector(2, name)].concat()))
}

/// The message of a hello with these extensions.
fn message(extensions: &[u8]) -> Vec<u8> {
    let fixed = [&[3, 3][..], &[7; 32], &vector(1, &[]), &vector(2, &[0x13, 0x01]), &vector(1, &[0])].concat();
    let body = [fixed, vector(2, extensions)].concat();
    [&[1][..], &vector(3, &body)].concat()
}

#[test]
fn finds_name_protocols_and_versions_in_hellos_of_real_clients() {
    let some = |name: &str, protocols: &[&str], versions: &[u16]| {
        let protocols = protocols.iter().map(|name| name.to_string()).collect();
        Ok(Some((Some(name.to_owned()), protocols, versions.to_vec())))
    };
    assert_eq!(read(OPENSSL), some("shop.example.com", &["h2", "http/1.1"], &[0x304, 0x303, 0x302, 0x301]));
    assert_eq!(read(CURL), some("www.example.com", &["h2", "http/1.1"], &[0x304, 0x303, 0x302, 0x301]));
    assert_eq!(read(NAMELESS), Ok(Some((None, vec![], vec![0x303]))));
}

#[test]
fn every_way_to_cut_it_into_reads_and_records_says_the_same() {
    let message = &OPENSSL[5..];
    let whole = read(OPENSSL);
    for size in [1, 2, 3, 7, 100, message.len()] {
        let records: Vec<u8> = message.chunks(size).flat_map(record).collect();
        assert_eq!(read(&records), whole, "records of {size}");
        for step in [1, 2, 5, 64] {
            let mut reader = ClientHelloReader::default();
            let last = records.chunks(step).map(|piece| reader.take(piece).unwrap()).last();
            assert_eq!(last, Some(true), "records of {size}, reads of {step}");
            assert_eq!(Ok(Some(said(&reader.client_hello().unwrap()))), whole);
        }
    }
}

#[test]
fn no_prefix_is_whole_and_none_is_refused() {
    for len in 0..OPENSSL.len() {
        assert_eq!(read(&OPENSSL[..len]), Ok(None), "{len}");
    }
}

#[test]
fn what_follows_the_message_is_not_looked_at() {
    assert_eq!(read(&[OPENSSL, &[0xff; 100]].concat()), read(OPENSSL));
    assert_eq!(read(&record(&[&OPENSSL[5..], &[1; 100]].concat())), read(OPENSSL));
}

#[test]
fn refuses_what_is_no_client_hello() {
    use NoClientHello::*;
    let long_record = [&[22, 3, 1, 0x40, 0x01][..], &[1; 100]].concat();
    let long_message = record(&[1, 1, 0, 0, 3, 3]);
    let twice = message(&[name_extension(b"a.test"), name_extension(b"b.test")].concat());
    let two_names = vector(2, &[&[0][..], &vector(2, b"a.test"), &[0], &vector(2, b"b.test")].concat());
    let cut = {
        let mut cut = message(&name_extension(b"a.test"));
        cut.truncate(cut.len() - 1);
        cut[3] -= 1;
        cut
    };
    for (bytes, why) in [
        (b"GET / HTTP/1.1\r\n".to_vec(), NotTls),
        (vec![22, 2], NotTls),
        (record(&[2, 0, 0, 1, 0]), NotTls),
        (record(&[]), Malformed),
        (long_record, TooLong),
        (long_message, TooLong),
        (record(&twice), Malformed),
        (record(&message(&extension(0, &two_names))), Malformed),
        (record(&cut), Malformed),
        (record(&message(&extension(43, &[0]))), Malformed),
        (record(&message(&extension(16, &vector(2, &[0])))), Malformed),
    ] {
        assert_eq!(read(&bytes), Err(why), "{:02x?}", &bytes[..bytes.len().min(16)]);
    }
}

#[test]
fn what_is_no_name_of_a_host_counts_as_none() {
    for name in [&b""[..], b"a\0.test", b"a b", b"[::1]", &[b'a'; 254], "\u{e4}.test".as_bytes()] {
        let said = read(&record(&message(&name_extension(name)))).unwrap().unwrap();
        assert_eq!(said.0, None, "{name:?}");
    }
    assert_eq!(read(&record(&message(&name_extension(b"A_b-1.Test")))).unwrap().unwrap().0.unwrap(), "A_b-1.Test");
}

#[test]
fn input_is_bounded_whether_records_are_long_or_short() {
    let padding = |len: usize| message(&extension(21, &vec![0; len]));
    let fits = padding(60_000);
    let records = |size: usize| -> Vec<u8> { fits.chunks(size).flat_map(record).collect() };
    assert!(read(&records(16 * 1024)).unwrap().is_some());
    assert_eq!(read(&records(1)), Err(NoClientHello::TooLong));
    assert!(records(1).len() > HELLO_BYTES_MAX);
}

proptest! {
    #[test]
    fn any_bytes_are_read_alike_in_one_piece_and_in_many(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzzed::check(&bytes);
    }

    #[test]
    fn damaged_hellos_are_read_alike_in_one_piece_and_in_many(at in 0..OPENSSL.len(), to in any::<u8>()) {
        let mut damaged = OPENSSL.to_vec();
        damaged[at] = to;
        fuzzed::check(&damaged);
    }
}

#[test]
fn corpus_of_the_fuzzer_holds() {
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/client_hello")).unwrap() {
        fuzzed::check(&std::fs::read(file.unwrap().path()).unwrap());
    }
}
