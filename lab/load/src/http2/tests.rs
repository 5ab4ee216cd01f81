use weir_wire::{
    head::{FieldTable, Method, Overflow},
    http2::FRAME_HEADER_BYTES,
};

use super::*;
use crate::{block::Blocks, script::Script};

/// A server that says what a test wants.
struct Server(Connection<()>);

impl Server {
    fn new() -> Self {
        let config = Config {
            settings: Settings::default(),
            window: 65_535,
            head_bytes: HEAD_BYTES_MAX,
            control_frames: 0,
            empty_frames: 0,
        };
        Self(Connection::new(Role::Server, config, 0))
    }

    /// Takes what a client says; returns the heads of its requests, in their streams.
    fn take(&mut self, piece: &[u8]) -> Vec<(u32, String)> {
        let (mut at, mut heads, mut table) = (0, Vec::new(), FieldTable::new());
        loop {
            match self.0.take(piece, &mut at, 0).unwrap() {
                Event::Head { stream, .. } => {
                    let request = self.0.request(piece, &Limits::new(0, 0, 0), &mut table).unwrap();
                    let path = String::from_utf8_lossy(request.head.path).into_owned();
                    heads.push((stream, path));
                }
                Event::Data { stream, content, .. } => self.0.give_back(stream, content.len() as u32),
                Event::More => return heads,
                _ => {}
            }
        }
    }

    fn head(&mut self, stream: u32, fields: &[(&str, &str)], is_all: bool) -> Vec<u8> {
        let block = crate::origin::site::block(fields);
        let mut out = std::mem::take(self.0.control());
        let start = out.len();
        out.resize(start + 2 * FRAME_HEADER_BYTES + block.len(), 0);
        let written = self.0.write_head(&mut out[start..], stream, is_all, |room| {
            room[..block.len()].copy_from_slice(&block);
            Ok::<_, Overflow>(block.len())
        });
        out.truncate(start + written.unwrap());
        out
    }

    fn data(&mut self, stream: u32, content: &[u8], is_all: bool) -> Vec<u8> {
        [&self.0.data(stream, content.len() as u32, is_all)[..], content].concat()
    }
}

fn request(body: &[u8]) -> Request {
    let fields = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/b")];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Request { head: Blocks::new(&fields), body: body.to_vec() }
}

fn fed(client: &mut Http2, bytes: &[u8], grpc: bool) -> Result<Vec<Outcome>, Cause> {
    let (mut table, mut outcomes) = (FieldTable::new(), Vec::new());
    let mut reading = Reading {
        method: Method::Get,
        grpc,
        script: &Script::Datagram(Vec::new()),
        answer_bytes: Some(3),
        table: &mut table,
        server_header: None,
        on_value: &mut |_| {},
    };
    client.feed(bytes, &mut reading, &mut Vec::new(), &mut outcomes).map(|()| outcomes)
}

/// A client that has asked on lanes 0 to 2, which are streams 1, 3 and 5.
fn asked() -> (Http2, Server) {
    let (mut client, mut server, mut out) = (Http2::new(), Server::new(), Vec::new());
    (0..3).for_each(|lane| client.ask(lane, &request(b""), &mut out).unwrap());
    assert_eq!(server.take(&out), [(1, "/b".into()), (3, "/b".into()), (5, "/b".into())]);
    (client, server)
}

fn answered(lane: u32, status: u16) -> Outcome {
    Outcome { lane, came: Came::Answered(Answered { status, keep_alive: true }) }
}

#[test]
fn answers_belong_to_the_lane_of_their_stream() {
    let (_, mut server) = asked();
    let (last, first) = (server.head(5, &[(":status", "200")], false), server.head(1, &[(":status", "503")], true));
    let bytes = [last, first, server.data(5, b"abc", true)].concat();
    for at in 0..bytes.len() {
        let (mut client, _) = asked();
        let mut outcomes = fed(&mut client, &bytes[..at], false).unwrap();
        outcomes.extend(fed(&mut client, &bytes[at..], false).unwrap());
        assert_eq!(outcomes, [answered(0, 503), answered(2, 200)], "cut at {at}");
    }
    // A stream that is no more, and one that never was.
    for stream in [1, 9] {
        let (mut client, _) = asked();
        assert_eq!(fed(&mut client, &bytes, false).map(|outcomes| outcomes.len()), Ok(2));
        let another = [&[0, 0, 1, 0, 1, 0, 0, 0, stream][..], b"x"].concat();
        assert_eq!(fed(&mut client, &another, false), Err(Cause::BadResponse), "stream {stream}");
    }
}

#[test]
fn mistakes_of_an_answer_are_told() {
    let ok = (":status", "200");
    for (fields, content, cause) in [
        (&[ok, ("content-length", "4")][..], &b"abc"[..], Cause::ShortBody),
        (&[ok, ("content-length", "2")], b"abc", Cause::BadResponse),
        (&[ok], b"abcd", Cause::BadResponse),
        (&[ok, ("bad name", "a")], b"abc", Cause::BadResponse),
    ] {
        let (mut client, mut server) = asked();
        let bytes = [server.head(3, fields, false), server.data(3, content, true)].concat();
        let outcomes = fed(&mut client, &bytes, false).unwrap();
        assert_eq!(outcomes, [Outcome { lane: 1, came: Came::Failed(cause) }], "{fields:?}");
    }
    let (mut client, mut server) = asked();
    server.0.end(3, Code::InternalError);
    let bytes = std::mem::take(server.0.control());
    assert_eq!(fed(&mut client, &bytes, false), Ok(vec![Outcome { lane: 1, came: Came::Failed(Cause::Reset) }]));
}

#[test]
fn call_of_grpc_needs_one_message_and_its_status() {
    let message = b"\0\0\0\0\x03abc";
    let failed = |cause| Came::Failed(cause);
    let good = Came::Answered(Answered { status: 200, keep_alive: true });
    for (content, trailers, came) in [
        (&message[..], &[("grpc-status", "0")][..], good),
        (message, &[("grpc-status", "13")], failed(Cause::Status)),
        (message, &[("x-a", "0")], failed(Cause::BadResponse)),
        (message, &[], failed(Cause::BadResponse)),
        (&message[..7], &[("grpc-status", "0")], failed(Cause::BadResponse)),
        (b"\x01\0\0\0\x03abc", &[("grpc-status", "0")], failed(Cause::BadResponse)),
        (b"\0\0\0\0\x02ab", &[("grpc-status", "0")], failed(Cause::BadResponse)),
    ] {
        let (mut client, mut server) = asked();
        let mut bytes = server.head(1, &[(":status", "200")], false);
        bytes.extend(server.data(1, content, trailers.is_empty()));
        if !trailers.is_empty() {
            bytes.extend(server.head(1, trailers, true));
        }
        assert_eq!(fed(&mut client, &bytes, true), Ok(vec![Outcome { lane: 0, came }]), "{content:?} {trailers:?}");
    }
    // An error may have no message.
    let (mut client, mut server) = asked();
    let bytes = server.head(1, &[(":status", "200"), ("grpc-status", "14")], true);
    assert_eq!(fed(&mut client, &bytes, true), Ok(vec![Outcome { lane: 0, came: failed(Cause::Status) }]));
}

#[test]
fn streams_behind_the_last_one_are_unprocessed() {
    let (mut client, mut server) = asked();
    let mut bytes = std::mem::take(server.0.control());
    bytes.extend([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
    assert_eq!(fed(&mut client, &bytes, false), Ok(vec![Outcome { lane: 2, came: Came::Unprocessed }]));
    assert!(client.is_leaving());
    let rest = [server.head(1, &[(":status", "204"), ("content-length", "3")], false), server.data(1, b"abc", true)];
    assert!(fed(&mut client, &rest.concat(), false).is_ok());
}

#[test]
fn server_without_a_table_gets_plain_fields() {
    let (mut client, mut server) = (Http2::new(), Server::new());
    let settings_of_no_table = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    let mut out = std::mem::take(client.connection.control());
    assert_eq!(fed(&mut client, &settings_of_no_table, false), Ok(vec![]));
    client.ask(0, &request(b""), &mut out).unwrap();
    assert_eq!(server.take(&out), [(1, "/b".into())]);
    assert!(out.windows(2).any(|bytes| bytes == b"/b"));
}

#[test]
fn cancelled_lane_gets_no_answer() {
    let (mut client, mut server) = asked();
    let mut out = Vec::new();
    client.cancel(1, &mut out);
    server.take(&out);
    let bytes = server.head(5, &[(":status", "404")], true);
    assert_eq!(fed(&mut client, &bytes, false), Ok(vec![answered(2, 404)]));
}
