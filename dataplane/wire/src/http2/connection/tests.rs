use super::*;
use crate::{
    Error,
    head::{HeadSink, Overflow},
    http2::{FRAME_BYTES_MIN, FRAME_HEADER_BYTES, FrameHeader, STREAM_MAX, hpack::Encoder, hpack::Target},
};

const LIMITS: Limits = Limits { head_bytes: 4096, field_bytes: 2048, fields: 64 };

fn config() -> Config {
    let settings = Settings { enable_push: false, max_concurrent_streams: Some(3), ..Settings::default() };
    Config { settings, window: 1 << 20, head_bytes: LIMITS.head_bytes, control_frames: 20, empty_frames: 10 }
}

fn frame(kind: FrameType, flags: Flags, stream: u32, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader { bytes: payload.len() as u32, kind, flags, stream };
    [&header.write()[..], payload].concat()
}

/// A block of literals that are not stored.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let string = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0], string(name), string(value)].concat()).collect()
}

const GET: [(&str, &str); 4] = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")];
const END_HEADERS: Flags = Flags::END_HEADERS;

fn all() -> Flags {
    Flags::END_STREAM | Flags::END_HEADERS
}

/// One end, and what it has told.
struct End {
    connection: Connection<u32>,
    heard: Vec<String>,
}

impl End {
    fn new(role: Role, config: Config) -> Self {
        Self { connection: Connection::new(role, config, 0), heard: Vec::new() }
    }

    /// A server whose client has said nothing but its preface and its settings.
    fn begun() -> Self {
        let mut end = End::new(Role::Server, config());
        end.connection.control().clear();
        let first = [&PREFACE[..], &frame(FrameType::Settings, Flags::NONE, 0, &[])].concat();
        assert_eq!(end.take(&first), Ok(()));
        assert_eq!(end.sent(), [frame(FrameType::Settings, Flags::ACK, 0, &[])].concat());
        end
    }

    fn sent(&mut self) -> Vec<u8> {
        std::mem::take(self.connection.control())
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Code> {
        self.take_at(piece, 0)
    }

    fn take_at(&mut self, piece: &[u8], now_ms: u64) -> Result<(), Code> {
        let mut at = 0;
        loop {
            let told = match self.connection.take(piece, &mut at, now_ms)? {
                Event::More => {
                    assert_eq!(at, piece.len());
                    return Ok(());
                }
                Event::Head { stream, is_all } => {
                    let head = self.head(stream, piece)?;
                    format!("{stream} {head}{}", if is_all { " all" } else { "" })
                }
                Event::Trailers { stream } => {
                    let mut table = FieldTable::new();
                    match self.connection.trailers(piece, &LIMITS, &mut table) {
                        Ok(fields) => format!("{stream} trailers {}", text(&fields)),
                        Err(Refused::Connection(code)) => return Err(code),
                        Err(Refused::Message(error)) => format!("{stream} trailers {error:?}"),
                    }
                }
                Event::Data { stream, content, is_all } => {
                    let told = format!(
                        "{stream} data {}{}",
                        String::from_utf8_lossy(&piece[content.clone()]),
                        if is_all { " all" } else { "" }
                    );
                    self.connection.give_back(stream, content.len() as u32);
                    told
                }
                Event::Reset { stream, code } => {
                    self.connection.end(stream, Code::Cancel);
                    format!("{stream} reset {code:?}")
                }
                other => format!("{other:?}"),
            };
            self.heard.push(told);
        }
    }

    fn head(&mut self, stream: u32, piece: &[u8]) -> Result<String, Code> {
        let mut table = FieldTable::new();
        let read = match self.connection.streams.role() {
            Role::Server => self.connection.request(piece, &LIMITS, &mut table).map(|request| {
                format!("{} {}", String::from_utf8_lossy(request.head.path), text(&request.head.fields))
            }),
            Role::Client => self
                .connection
                .response(piece, Method::Get, &LIMITS, &mut table)
                .map(|head| format!("{} {}", head.status, text(&head.fields))),
        };
        match read {
            Ok(text) => {
                *self.connection.kept(stream).ok_or(Code::InternalError)? = stream * 10;
                Ok(text)
            }
            Err(Refused::Connection(code)) => Err(code),
            Err(Refused::Message(error)) => Ok(format!("{error:?}")),
        }
    }

    fn respond(&mut self, stream: u32, status: u16, is_all: bool, value: &str) -> Vec<u8> {
        let mut out = vec![0; 64 * 1024];
        let written = self.connection.write_head(&mut out, stream, is_all, |room| {
            let mut encoder = Encoder::response(room);
            encoder.status(status, b"");
            encoder.field(b"x-a", [value.as_bytes()]);
            encoder.end()
        });
        out.truncate(written.unwrap());
        out
    }

    fn ask(&mut self, path: &str, is_all: bool) -> Vec<u8> {
        let stream = self.connection.open().unwrap();
        let mut out = vec![0; 64 * 1024];
        let written = self.connection.write_head(&mut out, stream, is_all, |room| {
            let mut encoder = Encoder::request(room, Target { scheme: b"http", authority: b"a" });
            encoder.request(b"GET", path.as_bytes());
            encoder.end()
        });
        out.truncate(written.unwrap());
        out
    }

    fn data(&mut self, stream: u32, content: &[u8], is_all: bool) -> Vec<u8> {
        [&self.connection.data(stream, content.len() as u32, is_all)[..], content].concat()
    }
}

fn text(fields: &Fields<'_>) -> String {
    let mut all = String::new();
    fields.kept_lines(|_| true, |lines| all.push_str(&String::from_utf8_lossy(lines)));
    all.replace("\r\n", "|")
}

/// Everything that a client says in an exchange with a body and trailers, and one without.
fn exchanges() -> Vec<u8> {
    let head = block(&[&GET[..], &[("x-b", "c")]].concat());
    let padded = [&[3][..], b"pad", &[0; 3]].concat();
    [
        &PREFACE[..],
        &frame(FrameType::Settings, Flags::NONE, 0, &[0, 4, 0, 0, 0, 9]),
        &frame(FrameType::Headers, Flags::NONE, 1, &head[..5]),
        &frame(FrameType::Continuation, Flags::NONE, 1, &head[5..20]),
        &frame(FrameType::Continuation, END_HEADERS, 1, &head[20..]),
        &frame(FrameType::Data, Flags::NONE, 1, b"ab"),
        &frame(FrameType::Unknown(0xee), Flags::NONE, 1, b"whatever"),
        &frame(FrameType::Headers, all() | Flags::PRIORITY, 3, &[&[0, 0, 0, 0, 7][..], &block(&GET)].concat()),
        &frame(FrameType::Data, Flags::PADDED, 1, &padded),
        &frame(FrameType::Ping, Flags::NONE, 0, b"12345678"),
        &frame(FrameType::Headers, all(), 1, &block(&[("x-t", "u")])),
        &frame(FrameType::WindowUpdate, Flags::NONE, 3, &[0, 0, 1, 0]),
    ]
    .concat()
}

#[test]
fn hears_the_same_in_whatever_pieces() {
    let bytes = exchanges();
    let heard = |pieces: &[&[u8]]| {
        let mut end = End::new(Role::Server, config());
        pieces.iter().for_each(|piece| assert_eq!(end.take(piece), Ok(())));
        // Content may come in parts.
        let mut heard: Vec<String> = Vec::new();
        for told in end.heard {
            match (heard.last_mut(), told.split_once("1 data ")) {
                (Some(last), Some((_, content))) if last.starts_with("1 data ") => last.push_str(content),
                _ => heard.push(told),
            }
        }
        let room = end.connection.room(3);
        (heard, end.connection.control, room)
    };
    let whole = heard(&[&bytes]);
    assert_eq!(whole.0, ["1 / host: a|x-b: c|", "1 data ab", "3 / host: a| all", "1 data pad", "1 trailers x-t: u|"],);
    assert_eq!(whole.2, 9 + 256);
    assert!(whole.1.ends_with(&frame(FrameType::Ping, Flags::ACK, 0, b"12345678")));
    for cut in 1..bytes.len() {
        assert_eq!(heard(&[&bytes[..cut], &bytes[cut..]]), whole, "{cut}");
    }
    assert_eq!(heard(&bytes.chunks(1).collect::<Vec<_>>()), whole);
}

#[test]
fn two_ends_understand_each_other() {
    let (mut client, mut server) = (End::new(Role::Client, config()), End::new(Role::Server, config()));
    let exchange = |from: &mut End, to: &mut End, bytes: Vec<u8>| {
        assert_eq!(to.take(&[from.sent(), bytes].concat()), Ok(()));
        assert_eq!(from.take(&to.sent()), Ok(()));
    };
    let asked = client.ask("/one", false);
    exchange(&mut client, &mut server, asked);
    let asked = [client.data(1, b"body", true), client.ask("/two", true)].concat();
    exchange(&mut client, &mut server, asked);
    assert_eq!(server.heard, ["1 /one host: a|", "1 data body all", "3 /two host: a| all"]);
    let answered = [
        server.respond(3, 103, false, "early"),
        server.respond(3, 200, false, "b"),
        server.data(3, b"two", false),
        server.respond(1, 204, true, "b"),
        server.data(3, b"", true),
    ]
    .concat();
    exchange(&mut server, &mut client, answered);
    assert_eq!(client.heard, ["3 103 x-a: early|", "3 200 x-a: b|", "3 data two", "1 204 x-a: b| all", "3 data  all"]);
}

#[test]
fn what_breaks_the_standard_ends_the_connection() {
    use FrameType::*;
    let get = block(&GET);
    let head = |stream, flags| frame(Headers, flags, stream, &block(&GET));
    let own_priority = [&[0, 0, 0, 1, 0][..], &get].concat();
    for (what, bytes, code) in [
        ("a push", frame(PushPromise, END_HEADERS, 1, &[0; 4]), Code::ProtocolError),
        ("a stream of the server", head(2, all()), Code::ProtocolError),
        ("a stream twice", [head(1, all()), head(1, all())].concat(), Code::StreamClosed),
        ("an older stream", [head(3, all()), head(1, all())].concat(), Code::StreamClosed),
        ("content of no stream", frame(Data, Flags::NONE, 1, b"a"), Code::ProtocolError),
        ("content behind the end", [head(1, all()), frame(Data, Flags::NONE, 1, b"a")].concat(), Code::StreamClosed),
        ("two heads", [head(1, END_HEADERS), head(1, END_HEADERS)].concat(), Code::ProtocolError),
        ("a block between", [frame(Headers, Flags::NONE, 1, &get), head(3, all())].concat(), Code::ProtocolError),
        (
            "an unknown frame in a block",
            [frame(Headers, Flags::NONE, 1, &get), frame(Unknown(99), Flags::NONE, 1, b"")].concat(),
            Code::ProtocolError,
        ),
        ("no block to continue", frame(Continuation, END_HEADERS, 1, &get), Code::ProtocolError),
        (
            "another stream's block",
            [frame(Headers, Flags::NONE, 1, &get), frame(Continuation, END_HEADERS, 3, &get)].concat(),
            Code::ProtocolError,
        ),
        (
            "an empty continuation",
            [frame(Headers, Flags::NONE, 1, &get), frame(Continuation, Flags::NONE, 1, b"")].concat(),
            Code::EnhanceYourCalm,
        ),
        (
            "nine continuations",
            [frame(Headers, Flags::NONE, 1, &get[..1]), frame(Continuation, Flags::NONE, 1, b"\0").repeat(9)].concat(),
            Code::EnhanceYourCalm,
        ),
        (
            "a block without end",
            [frame(Headers, Flags::NONE, 1, &get), frame(Continuation, Flags::NONE, 1, &[0; 6000])].concat(),
            Code::EnhanceYourCalm,
        ),
        ("a malformed block", frame(Headers, all(), 1, &[0x80]), Code::CompressionError),
        ("padding longer than the content", frame(Data, Flags::PADDED, 1, &[5, 0]), Code::ProtocolError),
        ("padding longer than the block", frame(Headers, all() | Flags::PADDED, 1, &[5, 0]), Code::ProtocolError),
        (
            "a stream that depends on itself",
            frame(Headers, all() | Flags::PRIORITY, 1, &own_priority),
            Code::ProtocolError,
        ),
        ("the same alone", frame(Priority, Flags::NONE, 1, &[0, 0, 0, 1, 0]), Code::ProtocolError),
        ("a reset of no stream", frame(ResetStream, Flags::NONE, 1, &[0; 4]), Code::ProtocolError),
        ("a window of no stream", frame(WindowUpdate, Flags::NONE, 1, &[0, 0, 4, 0]), Code::ProtocolError),
        ("a window of nothing", frame(WindowUpdate, Flags::NONE, 0, &[0; 4]), Code::ProtocolError),
        ("a window too large", frame(WindowUpdate, Flags::NONE, 0, &[0x7f, 0xff, 0xff, 0xff]), Code::FlowControlError),
        ("a frame too large", frame(Data, Flags::NONE, 1, &[0; FRAME_BYTES_MIN + 1]), Code::FrameSizeError),
        ("too many settings", frame(Settings, Flags::NONE, 0, &[0; 33 * 6]), Code::EnhanceYourCalm),
        ("a flood of settings", frame(Settings, Flags::NONE, 0, &[]).repeat(21), Code::EnhanceYourCalm),
        ("a flood of pings", frame(Ping, Flags::NONE, 0, &[0; 8]).repeat(21), Code::EnhanceYourCalm),
        (
            "a flood of small windows",
            frame(WindowUpdate, Flags::NONE, 0, &[0, 0, 0, 1]).repeat(21),
            Code::EnhanceYourCalm,
        ),
        (
            "a flood of empty frames",
            [head(1, END_HEADERS), frame(Data, Flags::NONE, 1, b"").repeat(11)].concat(),
            Code::EnhanceYourCalm,
        ),
        (
            "a flood of frames with padding alone",
            [head(1, END_HEADERS), frame(Data, Flags::PADDED, 1, &[1, 0]).repeat(11)].concat(),
            Code::EnhanceYourCalm,
        ),
        (
            "a flood of little content on a refused stream",
            [
                head(1, all()),
                head(3, all()),
                head(5, all()),
                head(7, END_HEADERS),
                frame(Data, Flags::NONE, 7, b"a").repeat(11),
            ]
            .concat(),
            Code::EnhanceYourCalm,
        ),
        ("a flood of windows", frame(WindowUpdate, Flags::NONE, 0, &[0, 0, 4, 0]).repeat(21), Code::EnhanceYourCalm),
        ("a flood of priorities", frame(Priority, Flags::NONE, 1, &[0, 0, 0, 3, 0]).repeat(21), Code::EnhanceYourCalm),
        (
            "a flood of later priorities",
            frame(PriorityUpdate, Flags::NONE, 0, &[0, 0, 0, 1, b'i']).repeat(21),
            Code::EnhanceYourCalm,
        ),
        (
            "a flood of resets",
            (0..21)
                .flat_map(|n| [head(2 * n + 1, all()), frame(ResetStream, Flags::NONE, 2 * n + 1, &[0; 4])].concat())
                .collect(),
            Code::EnhanceYourCalm,
        ),
        (
            "a flood of streams beyond the limit",
            (0..24).flat_map(|n| head(2 * n + 1, all())).collect(),
            Code::EnhanceYourCalm,
        ),
    ] {
        // The stream of content that only its padding is wrong with.
        let mut end = End::begun();
        let bytes = if what.starts_with("padding longer than the content") {
            [head(1, END_HEADERS), bytes].concat()
        } else {
            bytes
        };
        assert_eq!(end.take(&bytes), Err(code), "{what}");
    }
}

/// A peer may answer each DATA frame with two WINDOW_UPDATEs, but not when its windows made the frame small.
#[test]
fn content_calls_for_windows() {
    for (sent, updates, outcome) in
        [(vec![20; 100], 200, Ok(())), (vec![20; 100], 221, Err(Code::EnhanceYourCalm)), (vec![1000; 60], 120, Ok(()))]
    {
        let mut end = End::begun();
        assert_eq!(end.take(&frame(FrameType::Headers, all(), 1, &block(&GET))), Ok(()));
        for bytes in sent {
            end.data(1, &vec![0; bytes], false);
        }
        let update = frame(FrameType::WindowUpdate, Flags::NONE, 0, &[0, 0, 0, 20]);
        assert_eq!(end.take(&update.repeat(updates)), outcome);
    }
    let mut end = End::begun();
    let no_window = frame(FrameType::Settings, Flags::NONE, 0, &[0, 4, 0, 0, 0, 0]);
    assert_eq!(end.take(&[no_window, frame(FrameType::Headers, all(), 1, &block(&GET))].concat()), Ok(()));
    let update = frame(FrameType::WindowUpdate, Flags::NONE, 1, &[0, 0, 0, 1]);
    let took = (0..30).take_while(|_| {
        let taken = end.take(&update).is_ok();
        if taken {
            end.data(1, b"a", false);
        }
        taken
    });
    assert_eq!(took.count(), 18, "byte by byte costs one frame of 20 each, behind two SETTINGS");
}

#[test]
fn large_heads_and_frames_leave_no_memory_behind() {
    let mut end = End::begun();
    let long = block(&[("x-a", &"v".repeat(120)), ("x-b", &"v".repeat(120))]).repeat(16);
    let mut head = block(&GET);
    head.extend_from_slice(&long[..3500]);
    let (first, second) = head.split_at(2000);
    let frames = [
        frame(FrameType::Headers, Flags::END_STREAM, 1, first),
        frame(FrameType::Continuation, END_HEADERS, 1, second),
    ];
    for chunk in frames.concat().chunks(700) {
        let _ = end.take(chunk);
    }
    assert_eq!(end.take(&frame(FrameType::Ping, Flags::NONE, 0, &[0; 8])), Ok(()));
    let kept = end.connection.block.bytes.capacity() + end.connection.splitter.lend().capacity();
    assert!(kept <= 2 * KEPT_BYTES, "{kept} bytes");
}

#[test]
fn connection_begins_with_preface_and_settings() {
    for (bytes, code) in [
        (&b"GET / HTTP/1.1\r\n"[..], Code::ProtocolError),
        (&[&PREFACE[..], &frame(FrameType::Ping, Flags::NONE, 0, &[0; 8])].concat(), Code::ProtocolError),
        (&[&PREFACE[..], &frame(FrameType::Settings, Flags::ACK, 0, &[])].concat(), Code::ProtocolError),
    ] {
        assert_eq!(End::new(Role::Server, config()).take(bytes), Err(code));
    }
}

#[test]
fn streams_beyond_the_limit_are_refused_and_decoded() {
    let mut end = End::begun();
    // The fourth block stores a field, which the fifth names by its index.
    let stored = [block(&GET), vec![0x40, 3], b"x-s".to_vec(), vec![1], b"t".to_vec()].concat();
    let named = [block(&GET), vec![0xbe]].concat();
    let heads = [1, 3, 5].map(|stream| frame(FrameType::Headers, all(), stream, &block(&GET))).concat();
    assert_eq!(end.take(&[heads, frame(FrameType::Headers, all(), 7, &stored)].concat()), Ok(()));
    assert_eq!(end.sent(), frame(FrameType::ResetStream, Flags::NONE, 7, &[0, 0, 0, 7]));
    // What was under way to it counts for the connection alone.
    assert_eq!(end.take(&frame(FrameType::Data, Flags::NONE, 7, b"late")), Ok(()));
    assert_eq!(end.connection.end(3, Code::NoError), Some(30));
    assert_eq!(end.sent(), frame(FrameType::ResetStream, Flags::NONE, 3, &[0; 4]));
    end.heard.clear();
    assert_eq!(end.take(&frame(FrameType::Headers, all(), 9, &named)), Ok(()));
    assert_eq!(end.heard, ["9 / host: a|x-s: t| all"]);
    assert_eq!(end.connection.streams(), 3);
}

#[test]
fn malformed_message_is_the_callers() {
    let mut end = End::begun();
    let head = block(&[(":method", "GET"), (":path", "/")]);
    assert_eq!(end.take(&frame(FrameType::Headers, all(), 1, &head)), Ok(()));
    assert_eq!(end.heard, [format!("1 {:?} all", Error::Target)]);
}

#[test]
fn windows_limit_what_is_sent() {
    let mut end = End::begun();
    let head = frame(FrameType::Headers, all(), 1, &block(&GET));
    let settings = |bytes: u32| {
        let entry = [&[0, 4][..], &bytes.to_be_bytes()].concat();
        frame(FrameType::Settings, Flags::NONE, 0, &entry)
    };
    assert_eq!(end.take(&[settings(10), head].concat()), Ok(()));
    assert_eq!(end.connection.room(1), 10);
    end.data(1, &[0; 10], false);
    assert_eq!((end.connection.room(1), end.connection.room(9)), (0, 0));
    end.heard.clear();
    assert_eq!(end.take(&settings(4)), Ok(()));
    let update = |stream, bytes: u32| frame(FrameType::WindowUpdate, Flags::NONE, stream, &bytes.to_be_bytes());
    assert_eq!(end.take(&update(1, 6)), Ok(()));
    assert_eq!((end.connection.room(1), end.heard.len()), (0, 0), "the window was below zero");
    assert_eq!(end.take(&update(1, 5)), Ok(()));
    assert_eq!((end.connection.room(1), &end.heard[..]), (5, &["Room { stream: 1 }".to_string()][..]));
    assert_eq!(end.take(&settings(65_535)), Ok(()));
    // The connection's window is not the streams'.
    let sent: u32 = std::iter::from_fn(|| {
        let room = end.connection.room(1).min(10_000);
        (room > 0).then(|| end.data(1, &vec![0; room as usize], false).len() as u32 - FRAME_HEADER_BYTES as u32)
    })
    .sum();
    assert_eq!(sent, 65_535 - 10);
    end.heard.clear();
    assert_eq!(end.take(&update(0, 1000)), Ok(()));
    assert_eq!((end.connection.room(1), &end.heard[..]), (11, &["Room { stream: 0 }".to_string()][..]));
}

#[test]
fn peer_may_send_as_much_as_the_windows_say() {
    let mut end = End::begun();
    let head = frame(FrameType::Headers, END_HEADERS, 1, &block(&GET));
    assert_eq!(end.take(&head), Ok(()));
    let mut at = 0;
    let piece = frame(FrameType::Data, Flags::NONE, 1, &[0; 16_000]).repeat(5);
    let mut taken = 0;
    let outcome = loop {
        // Nothing is given back.
        match end.connection.take(&piece, &mut at, 0) {
            Ok(Event::Data { content, .. }) => taken += content.len(),
            other => break other,
        }
    };
    assert_eq!((taken, outcome), (64_000, Err(Code::FlowControlError)));
}

#[test]
fn peer_that_does_not_know_the_window_yet_may_use_the_first_one() {
    let settings = Settings { initial_window: 10, ..config().settings };
    let mut end = End::new(Role::Server, Config { settings, ..config() });
    let head = |id| frame(FrameType::Headers, END_HEADERS, id, &block(&GET));
    let first = [&PREFACE[..], &frame(FrameType::Settings, Flags::NONE, 0, &[]), &head(1)].concat();
    assert_eq!(end.take(&first), Ok(()));
    let data = |id, bytes| frame(FrameType::Data, Flags::NONE, id, &vec![0; bytes]);
    assert_eq!(end.take(&data(1, 16_000)), Ok(()));
    assert_eq!(end.take(&[frame(FrameType::Settings, Flags::ACK, 0, &[]), head(3)].concat()), Ok(()));
    assert_eq!(end.take(&data(3, 10)), Ok(()));
    assert_eq!(end.take(&data(3, 11)), Err(Code::FlowControlError));
}

#[test]
fn stream_that_waits_leaves_the_others_their_window() {
    let mut end = End::new(Role::Server, Config { window: WINDOW_FIRST, ..config() });
    let heads = [1, 3].map(|stream| frame(FrameType::Headers, END_HEADERS, stream, &block(&GET))).concat();
    let first = [&PREFACE[..], &frame(FrameType::Settings, Flags::NONE, 0, &[]), &heads].concat();
    assert_eq!(end.take(&first), Ok(()));
    for stream in [1, 3] {
        let piece = frame(FrameType::Data, Flags::NONE, stream, &[0; 16_000]).repeat(3);
        let (mut at, mut taken) = (0, 0);
        while let Event::Data { content, .. } = end.connection.take(&piece, &mut at, 0).unwrap() {
            taken += content.len();
        }
        assert_eq!(taken, 48_000, "of stream {stream}, and nothing is given back");
    }
}

#[test]
fn stream_opens_with_the_whole_of_its_head_and_stays_until_the_caller_ends_it() {
    let mut end = End::begun();
    let head = block(&GET);
    assert_eq!(end.take(&frame(FrameType::Headers, Flags::NONE, 1, &head[..5])), Ok(()));
    assert_eq!(end.connection.streams(), 0);
    assert_eq!(end.take(&frame(FrameType::Continuation, END_HEADERS, 1, &head[5..])), Ok(()));
    assert_eq!(end.connection.streams(), 1);
    let reset = frame(FrameType::ResetStream, Flags::NONE, 1, &[0, 0, 0, 8]);
    assert_eq!(end.connection.take(&reset, &mut 0, 0), Ok(Event::Reset { stream: 1, code: Code::Cancel }));
    assert_eq!(end.connection.end(1, Code::InternalError), Some(10));
    assert_eq!((end.sent().len(), end.connection.streams()), (0, 0), "the peer knows that it has ended");
}

#[test]
fn long_blocks_go_in_several_frames() {
    let (mut client, mut server) = (End::new(Role::Client, config()), End::begun());
    let asked = client.ask("/", true);
    let first = client.sent();
    assert_eq!(server.take(&[&first[PREFACE.len()..], &asked[..]].concat()), Ok(()));
    assert_eq!(client.take(&frame(FrameType::Settings, Flags::NONE, 0, &[])), Ok(()));
    let value = "v".repeat(3 * FRAME_BYTES_MIN);
    let answer = server.respond(1, 200, true, &value);
    assert!(answer.len() <= value.len() + 32 + server.connection.overhead(value.len()));
    let headers: Vec<(FrameType, u32)> = {
        let (mut at, mut all) = (0, Vec::new());
        while at < answer.len() {
            let header = FrameHeader::read(answer[at..].first_chunk().unwrap());
            all.push((header.kind, header.bytes));
            at += FRAME_HEADER_BYTES + header.bytes as usize;
        }
        all
    };
    let full = FRAME_BYTES_MIN as u32;
    assert_eq!(
        headers[..3],
        [(FrameType::Headers, full), (FrameType::Continuation, full), (FrameType::Continuation, full)]
    );
    assert_eq!(headers.len(), 4);
    let limits = Limits { head_bytes: 1 << 17, field_bytes: 1 << 16, fields: 64 };
    client.connection.config.head_bytes = limits.head_bytes;
    let (mut at, mut table) = (0, FieldTable::new());
    assert_eq!(client.connection.take(&answer, &mut at, 0), Ok(Event::Head { stream: 1, is_all: true }));
    let head = client.connection.response(&answer, Method::Get, &limits, &mut table).unwrap();
    assert_eq!(text(&head.fields), format!("x-a: {value}|"));
    let too_small = server.connection.write_head(&mut [0; 20], 1, true, |_| Err(Overflow));
    assert_eq!(too_small, Err(Overflow));
}

#[test]
fn leaving_takes_what_is_under_way() {
    let mut end = End::begun();
    let head = |stream| frame(FrameType::Headers, all(), stream, &block(&GET));
    assert_eq!(end.take(&head(1)), Ok(()));
    end.connection.leave();
    let go_away = |last: u32| frame(FrameType::GoAway, Flags::NONE, 0, &[&last.to_be_bytes()[..], &[0; 4]].concat());
    let ping = frame(FrameType::Ping, Flags::NONE, 0, b"lastcall");
    assert_eq!(end.sent(), [go_away(STREAM_MAX), ping].concat());
    assert_eq!(end.take(&head(3)), Ok(()));
    assert_eq!(end.take(&frame(FrameType::Ping, Flags::ACK, 0, b"lastcall")), Ok(()));
    assert_eq!(end.sent(), go_away(3));
    end.heard.clear();
    assert_eq!(end.take(&head(5)), Ok(()));
    assert_eq!((end.heard.len(), end.sent().len()), (0, 0), "it came too late");
    for stream in [1, 3] {
        assert!(!end.connection.is_over());
        end.respond(stream, 200, true, "b");
        assert_eq!(end.connection.end(stream, Code::Cancel), Some(stream * 10));
    }
    assert!(end.connection.is_over() && end.sent().is_empty());
}

/// A field that the peer's table stores, and a block that names it.
fn stored_and_named(start: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let stored = [start, &[0x40, 3], b"x-s", &[1], b"t"].concat();
    (stored, [&block(&GET)[..], &[0xbe]].concat())
}

#[test]
fn block_that_ends_behind_the_last_goodbye_opens_no_stream() {
    let mut end = End::begun();
    let (stored, named) = stored_and_named(&block(&GET));
    assert_eq!(end.take(&frame(FrameType::Headers, Flags::END_STREAM, 1, &stored[..5])), Ok(()));
    end.connection.leave();
    end.connection.end_leaving();
    assert_eq!(end.take(&frame(FrameType::Continuation, END_HEADERS, 1, &stored[5..])), Ok(()));
    assert_eq!((end.heard.len(), end.connection.streams()), (0, 0), "the peer was told that it is not processed");
    assert_eq!(end.take(&frame(FrameType::Data, Flags::NONE, 1, b"late")), Ok(()));
    assert_eq!(end.take(&frame(FrameType::Headers, all(), 3, &named)), Ok(()), "the table is the peer's");
}

#[test]
fn block_of_a_stream_that_ends_meanwhile_is_only_decoded() {
    let mut end = End::begun();
    let (stored, named) = stored_and_named(&[]);
    assert_eq!(end.take(&frame(FrameType::Headers, END_HEADERS, 1, &block(&GET))), Ok(()));
    assert_eq!(end.take(&frame(FrameType::Headers, Flags::END_STREAM, 1, &stored[..3])), Ok(()));
    end.connection.end(1, Code::Cancel);
    end.heard.clear();
    assert_eq!(end.take(&frame(FrameType::Continuation, END_HEADERS, 1, &stored[3..])), Ok(()));
    assert_eq!(end.heard, [""; 0]);
    assert_eq!(end.take(&frame(FrameType::Headers, all(), 3, &named)), Ok(()));
    assert_eq!(end.heard, ["3 / host: a|x-s: t| all"]);
}

#[test]
fn head_may_have_as_many_frames_as_its_limit_needs() {
    let mut end = End::new(Role::Server, Config { head_bytes: 256 * 1024, ..config() });
    let limits = Limits::new(0, 0, 0);
    let value = "v".repeat(12 * FRAME_BYTES_MIN);
    let long = [&[0, 3][..], b"x-a", &[0x7f, 0x81, 0xff, 0x0b], value.as_bytes()].concat();
    let head = [block(&GET), long].concat();
    let mut bytes = [&PREFACE[..], &frame(FrameType::Settings, Flags::NONE, 0, &[])].concat();
    let count = head.len().div_ceil(FRAME_BYTES_MIN);
    for (at, part) in head.chunks(FRAME_BYTES_MIN).enumerate() {
        let kind = if at == 0 { FrameType::Headers } else { FrameType::Continuation };
        let flags = if at + 1 == count { END_HEADERS } else { Flags::NONE };
        bytes.extend(frame(kind, flags, 1, part));
    }
    let mut at = 0;
    assert_eq!(end.connection.take(&bytes, &mut at, 0), Ok(Event::Head { stream: 1, is_all: false }));
    let mut table = FieldTable::new();
    let request = end.connection.request(&bytes, &limits, &mut table).unwrap();
    assert_eq!(request.head.fields.find(b"x-a").map(<[u8]>::len), Some(value.len()));
}

/// A client whose server has said nothing but its settings.
fn asking(settings: Settings) -> End {
    let mut end = End::new(Role::Client, config());
    end.connection.control().clear();
    let mut entries = Vec::new();
    settings.write(&mut entries);
    assert!(!end.connection.has_peer());
    assert_eq!(end.take(&frame(FrameType::Settings, Flags::NONE, 0, &entries)), Ok(()));
    assert_eq!((end.connection.has_peer(), end.sent()), (true, frame(FrameType::Settings, Flags::ACK, 0, &[])));
    end
}

#[test]
fn client_opens_as_many_streams_as_its_server_takes() {
    let mut client = asking(Settings { max_concurrent_streams: Some(2), ..Settings::default() });
    assert_eq!(
        [client.connection.open(), client.connection.open(), client.connection.open()],
        [Some(1), Some(3), None]
    );
    client.connection.end(3, Code::Cancel);
    assert_eq!(client.sent(), [0; 0], "the server has not heard of it");
    assert_eq!(client.connection.open(), Some(5));
}

#[test]
fn client_that_leaves_has_processed_no_stream_of_its_server() {
    let mut client = asking(Settings::default());
    client.ask("/", true);
    client.connection.go_away(Code::NoError);
    assert_eq!(client.sent(), frame(FrameType::GoAway, Flags::NONE, 0, &[0; 8]));
}

#[test]
fn client_takes_no_push_and_no_stream_of_its_server() {
    let push = [&[0, 0, 0, 2][..], &block(&GET)].concat();
    for wrong in [
        frame(FrameType::PushPromise, END_HEADERS, 1, &push),
        // ENABLE_PUSH is 1.
        frame(FrameType::Settings, Flags::NONE, 0, &[0, 2, 0, 0, 0, 1]),
        frame(FrameType::Headers, all(), 2, &block(&[(":status", "200")])),
        frame(FrameType::Headers, all(), 7, &block(&[(":status", "200")])),
    ] {
        let mut client = asking(Settings::default());
        client.ask("/", true);
        assert_eq!(client.take(&wrong), Err(Code::ProtocolError), "{wrong:?}");
    }
}

#[test]
fn answer_to_a_ping_shows_that_the_peer_still_stands() {
    let mut client = asking(Settings::default());
    client.connection.ping();
    assert!(!client.connection.has_peer());
    let ping = client.sent();
    let payload = &ping[FRAME_HEADER_BYTES..];
    assert_eq!(client.take(&frame(FrameType::Ping, Flags::ACK, 0, b"another!")), Ok(()));
    assert!(!client.connection.has_peer());
    assert_eq!(client.take(&frame(FrameType::Ping, Flags::ACK, 0, payload)), Ok(()));
    assert!(client.connection.has_peer());
}
