//! Properties of the parsers on generated messages and on the corpus of the fuzz targets.

use proptest::prelude::*;
use weir_wire::{
    head::{FieldTable, Fields, Limits, Method},
    http1::{Parsed, request, response},
};

#[path = "../../fuzz/src/http1.rs"]
mod http1;

/// What heads are made of, whole and in pieces, harmless and not.
const FRAGMENTS: [&str; 40] = [
    "GET ",
    "POST ",
    "OPTIONS ",
    "CONNECT ",
    "/",
    "/index.html?a=b",
    "*",
    "http://a.example",
    " HTTP/1.1\r\n",
    " HTTP/1.0\r\n",
    " HTTP/2.0\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 304 Not Modified\r\n",
    "HTTP/1.1 101 \r\n",
    "Host: a.example\r\n",
    "Host: [::1]:80\r\n",
    "host:\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 05 \r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive, x-a\r\n",
    "Expect: 100-continue\r\n",
    "X-A: b\r\n",
    "X-A:\t b \t\r\n",
    "X-A: b\n",
    " folded\r\n",
    "X-B : c\r\n",
    ": d\r\n",
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    "\0",
    "\u{fc}",
    " ",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
];

const CHUNK_FRAGMENTS: [&str; 16] = [
    "5\r\nhello\r\n",
    "0\r\n\r\n",
    "0\r\n",
    "\r\n",
    "1;a=b\r\nx\r\n",
    "1;a=\"\r\n",
    "00000002\r\nab\r\n",
    "a\r\n0123456789\r\n",
    "FFFFFFFFFFFFFFFFF\r\n",
    "X-T: v\r\n",
    "Content-Length: 1\r\n",
    "hello",
    "\n",
    "5 \r\n",
    "-1\r\n",
    "\0",
];

fn joined(fragments: &'static [&'static str], max: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::sample::select(fragments), 0..max).prop_map(|parts| parts.concat().into_bytes())
}

fn field() -> impl Strategy<Value = String> {
    ("[A-Za-z][A-Za-z0-9-]{0,12}", "[!-~]([ -~]{0,20}[!-~])?").prop_map(|(name, value)| format!("X{name}: {value}\r\n"))
}

fn fields() -> impl Strategy<Value = String> {
    proptest::collection::vec(field(), 0..10).prop_map(|fields| fields.concat())
}

type Pairs<'a> = Vec<(&'a [u8], &'a [u8])>;

fn pairs<'a>(fields: &Fields<'a>) -> Pairs<'a> {
    fields.iter().map(|field| (field.name_text, field.value)).collect()
}

fn pairs_of<'a>(headers: &[httparse::Header<'a>]) -> Pairs<'a> {
    headers.iter().map(|header| (header.name.as_bytes(), header.value)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_of_a_request_gives_the_same_result(input in joined(&FRAGMENTS, 12)) {
        http1::check_request(&input);
    }

    #[test]
    fn any_split_of_a_response_gives_the_same_result(input in joined(&FRAGMENTS, 12)) {
        http1::check_response(&input);
    }

    #[test]
    fn any_split_of_a_chunked_body_gives_the_same_result(input in joined(&CHUNK_FRAGMENTS, 12)) {
        http1::check_chunked(&input);
    }

    #[test]
    fn another_parser_reads_each_request_that_we_take_as_we_do(input in joined(&FRAGMENTS, 12)) {
        let (mut table, mut headers) = (FieldTable::new(), [httparse::EMPTY_HEADER; 64]);
        if let Ok(Parsed::Whole(ours)) = request(&input, &Limits::new(0, 0, 0), &mut table) {
            let mut other = httparse::Request::new(&mut headers);
            prop_assert_eq!(other.parse(&input), Ok(httparse::Status::Complete(ours.len)));
            let start = (ours.head.method_text, ours.head.target);
            prop_assert_eq!(start, (other.method.unwrap().as_bytes(), other.path.unwrap().as_bytes()));
            prop_assert_eq!(pairs(&ours.head.fields), pairs_of(other.headers));
        }
    }

    #[test]
    fn another_parser_reads_each_response_that_we_take_as_we_do(input in joined(&FRAGMENTS, 12)) {
        let (mut table, mut headers) = (FieldTable::new(), [httparse::EMPTY_HEADER; 64]);
        if let Ok(Parsed::Whole(ours)) = response(&input, Method::Get, &Limits::new(0, 0, 0), &mut table) {
            let mut other = httparse::Response::new(&mut headers);
            let mut lenient = httparse::ParserConfig::default();
            lenient.allow_spaces_after_header_name_in_responses(true);
            let len = lenient.parse_response(&mut other, &input);
            prop_assert_eq!(len, Ok(httparse::Status::Complete(ours.len)));
            let start = (ours.head.status, ours.head.reason);
            prop_assert_eq!(start, (other.code.unwrap(), other.reason.unwrap().as_bytes()));
            prop_assert_eq!(pairs(&ours.head.fields), pairs_of(other.headers));
        }
    }

    #[test]
    fn no_bytes_make_a_parser_panic(input in proptest::collection::vec(any::<u8>(), 0..200)) {
        http1::check_request(&input);
        http1::check_response(&input);
        http1::check_chunked(&input);
    }

    #[test]
    fn well_formed_request_is_accepted(
        method in "[A-Z]{1,10}", path in "/[a-z0-9/._~%?=&-]{0,60}", fields in fields(), rest in any::<Vec<u8>>(),
    ) {
        prop_assume!(method != "CONNECT");
        let head = format!("{method} {path} HTTP/1.1\r\nHost: a.example\r\n{fields}\r\n");
        prop_assert!(http1::check_request(&[head.as_bytes(), &rest].concat()));
    }

    #[test]
    fn well_formed_response_is_accepted(
        status in 200..600_u16, reason in "[ -~]{0,20}", fields in fields(), rest in any::<Vec<u8>>(),
    ) {
        let head = format!("HTTP/1.1 {status} {reason}\r\n{fields}\r\n");
        prop_assert!(http1::check_response(&[head.as_bytes(), &rest].concat()));
    }

    #[test]
    fn well_formed_chunks_are_accepted(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
        trailers in fields(), rest in any::<Vec<u8>>(),
    ) {
        let mut body = Vec::new();
        for chunk in &chunks {
            body.extend_from_slice(format!("{:X};ext=1\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
        prop_assert!(http1::check_chunked(&[body, rest].concat()));
    }
}

type Check = fn(&[u8]) -> bool;

const TARGETS: [(&str, Check); 3] = [
    ("http1_request", http1::check_request),
    ("http1_response", http1::check_response),
    ("http1_chunked", http1::check_chunked),
];

#[test]
fn corpus_holds() {
    for (target, check) in TARGETS {
        let folder = format!("{}/../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
        let accepted: Vec<bool> = files.map(|file| check(&std::fs::read(file.unwrap().path()).unwrap())).collect();
        let both = accepted.contains(&true) && accepted.contains(&false);
        assert!(both, "{target}: messages that are accepted and messages that are refused belong into a corpus");
    }
}
