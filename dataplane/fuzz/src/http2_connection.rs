//! What must hold for any bytes that a peer sends on a connection of HTTP/2, whatever its caller does meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use weir_wire::{
    head::{FieldTable, Limits, Method, Overflow},
    http2::{
        Code, Config, Connection, Event, FRAME_BYTES_MIN, FRAME_HEADER_BYTES, FrameHeader, FrameType, PREFACE, Refused,
        Role, Settings,
    },
};

const LIMITS: Limits = Limits { head_bytes: 4096, field_bytes: 2048, fields: 64 };
const STREAMS_MAX: u32 = 5;
/// `:method: GET`, `:scheme: http`, `:path: /`, `:authority: a`.
const GET: [u8; 6] = [0x82, 0x86, 0x84, 0x41, 1, b'a'];
/// `:status: 200`.
const OK: [u8; 1] = [0x88];

/// The first byte says what kind of end takes the bytes, and how they are cut. Cuts must change nothing.
pub fn check_connection(input: &[u8]) {
    let Some((&start, script)) = input.split_first() else { return };
    let whole = End::new(start).play(script, usize::MAX);
    let cut = End::new(start).play(script, usize::from(start >> 2) + 1);
    assert_eq!(whole, cut);
}

/// How far the peer's message on a stream has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Message {
    Awaited,
    Content,
    Whole,
}

/// What an end has told.
#[derive(PartialEq, Eq, Debug)]
enum Told {
    Line(String),
    Content(u32, Vec<u8>),
}

/// One end and its caller.
struct End {
    role: Role,
    connection: Connection<()>,
    table: FieldTable,
    now_ms: u64,
    messages: BTreeMap<u32, Message>,
    /// The caller has ended them.
    ended: BTreeSet<u32>,
    /// Content that was not given back.
    owed: BTreeMap<u32, u32>,
    told: Vec<Told>,
    sent: Vec<u8>,
    /// The last stream of which the peer was told that it is processed.
    last: u32,
}

impl End {
    /// Bit 0: a client. Bit 1: a server that has no preface and no SETTINGS yet.
    fn new(start: u8) -> Self {
        let role = if start & 1 == 1 { Role::Client } else { Role::Server };
        let settings = Settings {
            max_concurrent_streams: (role == Role::Server).then_some(STREAMS_MAX),
            initial_window: 10_000,
            ..Settings::default()
        };
        let config = Config { settings, window: 100_000, head_bytes: 4096, control_frames: 50, empty_frames: 5 };
        let mut end = Self {
            role,
            connection: Connection::new(role, config, 0),
            table: FieldTable::new(),
            now_ms: 0,
            messages: BTreeMap::new(),
            ended: BTreeSet::new(),
            owed: BTreeMap::new(),
            told: Vec::new(),
            sent: Vec::new(),
            last: u32::MAX,
        };
        end.collect_control(0);
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let first = if role == Role::Server { [&PREFACE[..], &settings].concat() } else { settings.to_vec() };
        if start & 2 == 0 {
            assert_eq!(end.take(&first), Ok(()));
        }
        end
    }

    /// Does what the script says, until the connection ends. Pieces are cut to this many bytes.
    fn play(mut self, mut script: &[u8], most: usize) -> (Vec<Told>, Vec<u8>) {
        while let Some((&step, rest)) = script.split_first() {
            script = rest;
            let more = usize::from(step >> 3);
            match step & 7 {
                0 => self.open(),
                1 => self.with_stream(more, Self::give_back),
                2 => self.with_stream(more, |end, id| end.end(id, Code::Cancel)),
                3 => self.leave(more),
                4 => self.with_stream(more, Self::speak),
                5 => self.now_ms += more as u64 * 100,
                kind => {
                    let Some((&bytes, rest)) = script.split_first() else { break };
                    let bytes = usize::from(bytes) * if kind == 6 { 1 } else { 64 };
                    let (piece, rest) = rest.split_at(rest.len().min(bytes));
                    script = rest;
                    if let Err(code) = piece.chunks(most).try_for_each(|part| self.take(part)) {
                        self.connection.go_away(code);
                        self.collect_control(0);
                        self.tell(format!("{code:?}"));
                        break;
                    }
                }
            }
            self.collect_control(0);
        }
        (self.told, self.sent)
    }

    fn with_stream(&mut self, at: usize, act: impl Fn(&mut Self, u32)) {
        let ids = self.connection.ids();
        if let Some(id) = ids.get(at % ids.len().max(1)) {
            act(self, *id);
        }
    }

    fn open(&mut self) {
        if self.role == Role::Client
            && let Some(id) = self.connection.open()
        {
            self.messages.insert(id, Message::Awaited);
            self.write_head(id, &GET);
        }
    }

    fn write_head(&mut self, id: u32, block: &[u8]) {
        let mut out = [0; 64];
        let written = self.connection.write_head(&mut out, id, false, |room| {
            room.get_mut(..block.len()).ok_or(Overflow)?.copy_from_slice(block);
            Ok::<_, Overflow>(block.len())
        });
        let written = written.expect("there is room");
        self.collect_control(0);
        self.sent.extend_from_slice(&out[..written]);
    }

    /// A server says its head with its content.
    fn speak(&mut self, id: u32) {
        if self.role == Role::Server {
            self.write_head(id, &OK);
        }
        let bytes = self.connection.room(id).min(1000);
        let header = self.connection.data(id, bytes, false);
        assert_eq!(FrameHeader::read(&header).check(FRAME_BYTES_MIN), Ok(()));
    }

    fn give_back(&mut self, id: u32) {
        let bytes = self.owed.remove(&id).unwrap_or_default();
        self.connection.give_back(id, bytes);
    }

    fn end(&mut self, id: u32, code: Code) {
        self.connection.end(id, code);
        self.messages.remove(&id);
        self.ended.insert(id);
        self.owed.remove(&id);
    }

    fn leave(&mut self, how: usize) {
        match how % 3 {
            0 => self.connection.leave(),
            1 => self.connection.end_leaving(),
            _ => self.connection.go_away(Code::NoError),
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Code> {
        let mut at = 0;
        let taken = loop {
            match self.connection.take(piece, &mut at, self.now_ms) {
                Ok(Event::More) => break Ok(()),
                Ok(event) => {
                    if let Err(code) = self.meet(event, piece) {
                        break Err(code);
                    }
                }
                Err(code) => break Err(code),
            }
        };
        assert!(taken.is_err() || at == piece.len());
        // What it answers is in proportion to what it gets, so that a caller bounds it by bounding that.
        self.collect_control(1000 + 4 * piece.len());
        let most = if self.role == Role::Server { STREAMS_MAX as usize } else { usize::MAX };
        assert!(self.connection.streams() <= most, "{} streams", self.connection.streams());
        taken
    }

    fn meet(&mut self, event: Event, piece: &[u8]) -> Result<(), Code> {
        match event {
            Event::Head { stream, is_all } => return self.read_head(stream, is_all, piece),
            Event::Trailers { stream } => {
                self.go_on(stream, Message::Whole);
                return match self.connection.trailers(piece, &LIMITS, &mut self.table).map(|fields| fields.text_bytes())
                {
                    Err(Refused::Connection(code)) => Err(code),
                    read => {
                        self.tell(format!("{stream} trailers {read:?}"));
                        Ok(())
                    }
                };
            }
            // The rest of a frame that had begun.
            Event::Data { stream, .. } if self.ended.contains(&stream) => {}
            Event::Data { stream, content, is_all } => {
                self.go_on(stream, if is_all { Message::Whole } else { Message::Content });
                *self.owed.entry(stream).or_default() += content.len() as u32;
                self.tell_content(stream, &piece[content]);
                if is_all {
                    self.tell(format!("{stream} all"));
                }
            }
            Event::Reset { stream, code } => {
                assert!(self.messages.contains_key(&stream), "{stream} was not open");
                self.tell(format!("{stream} reset {code:?}"));
                self.end(stream, Code::Cancel);
            }
            Event::Room { stream } => assert!(stream == 0 || self.connection.kept(stream).is_some()),
            other => self.tell(format!("{other:?}")),
        }
        Ok(())
    }

    fn read_head(&mut self, stream: u32, is_all: bool, piece: &[u8]) -> Result<(), Code> {
        if self.role == Role::Server {
            assert!(self.messages.insert(stream, Message::Awaited).is_none(), "{stream} begins again");
            assert!(stream <= self.last, "{stream} begins behind {}", self.last);
        }
        assert!(self.messages.contains_key(&stream), "{stream} is not open");
        let read = match self.role {
            Role::Server => self.connection.request(piece, &LIMITS, &mut self.table).map(|request| {
                assert_eq!(request.is_all, is_all);
                (0, request.head.fields.text_bytes())
            }),
            Role::Client => self
                .connection
                .response(piece, Method::Get, &LIMITS, &mut self.table)
                .map(|head| (head.status, head.fields.text_bytes())),
        };
        self.tell(format!("{stream} head {read:?}"));
        match read {
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Message(_)) => {
                self.end(stream, Code::ProtocolError);
                return Ok(());
            }
            // Another head follows.
            Ok((100..200, _)) => return Ok(()),
            Ok(_) => self.go_on(stream, if is_all { Message::Whole } else { Message::Content }),
        }
        Ok(())
    }

    fn tell(&mut self, line: String) {
        self.told.push(Told::Line(line));
    }

    /// Content counts as one, whatever parts it comes in.
    fn tell_content(&mut self, stream: u32, content: &[u8]) {
        match self.told.last_mut() {
            _ if content.is_empty() => {}
            Some(Told::Content(last, before)) if *last == stream => before.extend_from_slice(content),
            _ => self.told.push(Told::Content(stream, content.to_vec())),
        }
    }

    /// Notes how far a message has come: nothing comes behind its end, and nothing before its head.
    fn go_on(&mut self, stream: u32, next: Message) {
        let before = self.messages.insert(stream, next);
        let is_head = before == Some(Message::Awaited);
        assert!(is_head || before == Some(Message::Content), "{stream}: {next:?} after {before:?}");
    }

    /// What it has to send are whole frames that the peer accepts. `most`: how many bytes there may be; 0: any number.
    fn collect_control(&mut self, most: usize) {
        let control = std::mem::take(self.connection.control());
        assert!(most == 0 || control.len() <= most, "{} bytes to send", control.len());
        let mut frames = control.strip_prefix(&PREFACE[..]).unwrap_or(&control);
        while !frames.is_empty() {
            let header = FrameHeader::read(frames.first_chunk().expect("a whole header"));
            assert_eq!(header.check(FRAME_BYTES_MIN), Ok(()), "{header:?}");
            use FrameType::{GoAway, Ping, ResetStream, Settings, WindowUpdate};
            assert!(matches!(header.kind, GoAway | Ping | ResetStream | Settings | WindowUpdate), "{header:?}");
            let (payload, rest) = frames[FRAME_HEADER_BYTES..].split_at(header.bytes as usize);
            if header.kind == GoAway {
                self.last = u32::from_be_bytes(*payload.first_chunk().expect("the last stream"));
            }
            frames = rest;
        }
        self.sent.extend(control);
    }
}
