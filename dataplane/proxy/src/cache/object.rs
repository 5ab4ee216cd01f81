//! A stored response, one on its way into the cache, and one on its way to a client.

use std::rc::Rc;

use weir_cache::{Asked, Given, Selecting, Share, Terms, Validators};
use weir_snapshot::Cached;
use weir_wire::{
    head::{Field, FieldTable, Fields, Limits, Method, Name, NameSet, ResponseHead, StoredHead},
    http1::{self, Framing, Parsed},
};

use crate::{
    buf::Buf,
    cache::{
        flight::{Landing, Lead},
        room::Room,
    },
    io::Io,
};

/// When the server of a response was asked, as changes of its resource and purges count: what comes later ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Since {
    /// Those of the resource.
    pub changes: u32,
    /// The number of the last one.
    pub purge: u64,
}

impl Since {
    pub fn now(cached: &Cached, asked: &Asked) -> Self {
        Self { changes: cached.invalidations.of(&asked.key), purge: cached.purges.last() }
    }
}

/// Content is kept in pieces of this length; the last one may be shorter.
pub(crate) const PIECE_BYTES: usize = 16 * 1024;
/// Content of more bytes is kept in lasting memory, where the driver has some: to send less of it costs as much as to
/// copy it, so the driver copies up to four pieces.
const LASTING_BYTES_LEAST: u64 = 4 * PIECE_BYTES as u64;
/// What an object needs beside its head and its content.
const BYTES_BESIDE: usize = 512;

/// A whole response. Its pieces are shared with those who get them.
pub(crate) struct Object {
    pub status: u16,
    head: StoredHead,
    /// Its fields, as lines of text, without those that are of a connection, and without a length.
    lines: Box<[u8]>,
    reason: Box<[u8]>,
    pieces: Box<[Buf]>,
    pub length: u64,
    pub terms: Terms,
    pub validators: Validators,
    /// The values of the request's fields that it varies by.
    pub selecting: Selecting,
    pub since: Since,
    /// Whose memory it needs; `None`: that of all.
    pub share: Option<Share>,
}

/// A response while it comes.
pub(crate) struct Filling {
    begun: Begun,
    content: Vec<Vec<u8>>,
    bytes: u64,
    most_bytes: u64,
    least_bytes: u64,
    room: Room,
    /// Others wait for it.
    lead: Option<Lead>,
}

/// An object without its content.
struct Begun {
    status: u16,
    lines: Box<[u8]>,
    reason: Box<[u8]>,
    terms: Terms,
    selecting: Selecting,
    since: Since,
    share: Option<Share>,
}

/// All but fields that say something of one connection, one moment or a proxy (RFC 9111 §3.1).
fn is_stored(field: &Field<'_>) -> bool {
    let is = |name: &[u8]| field.name_text.eq_ignore_ascii_case(name);
    let others: [&[u8]; 4] = [b"age", b"x-cache", b"proxy-authenticate", b"proxy-authentication-info"];
    !NameSet::of(&[Name::ContentLength, Name::SetCookie]).has(field.name) && !others.into_iter().any(is)
}

/// The stored form of fields. `date`: a line for responses without one.
fn lines_of(fields: &Fields<'_>, date: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(fields.text_bytes() + date.len());
    for field in fields.passing().filter(is_stored) {
        [field.name_text, b": ", field.value, b"\r\n"].iter().for_each(|part| lines.extend_from_slice(part));
    }
    if !fields.has(Name::Date) {
        lines.extend_from_slice(date);
    }
    lines
}

impl Filling {
    /// `content_bytes` is how much is allowed: at least and at most.
    pub fn new(
        head: &ResponseHead<'_>,
        (terms, since): (Terms, Since),
        asked: &Asked,
        (least_bytes, most_bytes): (u64, u64),
        (date, lead, room, share): (&[u8], Option<Lead>, Room, Option<Share>),
    ) -> Self {
        let begun = Begun {
            status: head.status,
            lines: lines_of(&head.fields, date).into(),
            reason: head.reason.into(),
            terms,
            selecting: asked.selecting(&head.fields),
            since,
            share,
        };
        Self { begun, content: Vec::new(), bytes: 0, most_bytes, least_bytes, room, lead }
    }

    /// Takes more of the content. `false`: it is too much.
    pub fn take(&mut self, mut piece: &[u8]) -> bool {
        self.bytes += piece.len() as u64;
        if self.bytes > self.most_bytes || !self.room.take(piece.len() as u64) {
            self.land(Landing::NotStored);
            return false;
        }
        while !piece.is_empty() {
            let room = self.content.last().map_or(0, |last| PIECE_BYTES - last.len());
            if room == 0 {
                self.content.push(Vec::with_capacity(piece.len().min(PIECE_BYTES)));
                continue;
            }
            let (now, later) = piece.split_at(room.min(piece.len()));
            if let Some(last) = self.content.last_mut() {
                last.extend_from_slice(now);
            }
            piece = later;
        }
        true
    }

    /// The object, once all of its content has come. `None`: that is too short. Who leads says then what has become of it.
    pub fn finish<I: Io>(mut self, io: &mut I) -> (Option<Object>, Option<Lead>) {
        let lead = self.lead.take();
        let Self { begun, content, bytes, least_bytes, .. } = self;
        if bytes < least_bytes {
            return (None, lead);
        }
        (Object::of(begun, pieces_of(content, bytes, io), bytes), lead)
    }

    fn land(&mut self, landing: Landing) {
        if let Some(lead) = self.lead.take() {
            lead.land(landing);
        }
    }
}

fn pieces_of<I: Io>(content: Vec<Vec<u8>>, bytes: u64, io: &mut I) -> Box<[Buf]> {
    if bytes > LASTING_BYTES_LEAST
        && let Some(mut whole) = io.lasting(&content)
    {
        return content.iter().map(|piece| whole.split_to(piece.len())).collect();
    }
    let fitting = |mut piece: Vec<u8>| {
        piece.shrink_to_fit();
        Buf::from_vec(piece)
    };
    content.into_iter().map(fitting).collect()
}

impl Object {
    /// `None`: its head cannot be read again, which would be a defect.
    fn of(begun: Begun, pieces: Box<[Buf]>, length: u64) -> Option<Self> {
        let Begun { status, lines, reason, terms, selecting, since, share } = begun;
        let text =
            text_of((status, &reason), (&lines, |_| true), format!("Content-Length: {length}\r\n\r\n").as_bytes());
        let mut table = FieldTable::new();
        let Ok(Parsed::Whole(read)) = http1::response(&text, Method::Get, &Limits::new(0, 0, 0), &mut table) else {
            return None;
        };
        let (head, validators) = (StoredHead::of(&read.head), Validators::of(&read.head.fields));
        Some(Self { status, head, lines, reason, pieces, length, terms, validators, selecting, since, share })
    }

    /// Whether a request that is made now selects it, and nothing has ended it.
    pub fn is_for(&self, asked: &Asked, cached: &Cached, now: Since) -> bool {
        let Since { changes, purge } = self.since;
        changes == now.changes && asked.is_selected_by(&self.selecting) && !cached.purges.end(&asked.key, purge)
    }

    /// The memory that it needs.
    pub fn bytes(&self) -> usize {
        let head = self.head.bytes() + self.lines.len() + self.validators.bytes();
        head + self.length as usize + self.selecting.bytes() + BYTES_BESIDE
    }

    /// Its head, and how long its content is, in an answer to a request with this method.
    pub fn whole(&self, method: Method) -> (ResponseHead<'_>, Framing) {
        let framing = if method == Method::Head { Framing::None } else { Framing::Length(self.length) };
        (self.head.head(framing.length()), framing)
    }

    /// The head of an answer, as HTTP/1 has it. `more`: lines besides.
    pub fn head(&self, given: Given, more: &[u8]) -> Vec<u8> {
        let start: (u16, &[u8]) = match given {
            Given::Whole => (self.status, &self.reason),
            Given::NotModified => (304, b"Not Modified"),
            Given::Part { .. } => (206, b"Partial Content"),
            Given::Unsatisfiable => (416, b"Range Not Satisfiable"),
        };
        let length = self.length;
        let framing = match given {
            Given::Whole => format!("Content-Length: {length}\r\n\r\n"),
            Given::NotModified => "\r\n".to_owned(),
            Given::Part { first, last } => {
                format!("Content-Range: bytes {first}-{last}/{length}\r\nContent-Length: {}\r\n\r\n", last - first + 1)
            }
            Given::Unsatisfiable => format!("Content-Range: bytes */{length}\r\nContent-Length: 0\r\n\r\n"),
        };
        let is_whole = given == Given::Whole || matches!(given, Given::Part { .. });
        let end = [more, framing.as_bytes()].concat();
        text_of(start, (&self.lines, |line| is_whole || is_of_304(line)), &end)
    }

    /// The same object, as a 304 freshens it (RFC 9111 §3.2, §4.3.4): what it says replaces what was said.
    /// `date`: a line for a 304 without one. `share`: whose memory it needs from now on.
    pub fn freshened(&self, head: &ResponseHead<'_>, date: &[u8], since: Since, share: Option<Share>) -> Option<Self> {
        let said = lines_of(&head.fields, date);
        let name_in = |line: &[u8]| line.split(|&byte| byte == b':').next().unwrap_or_default().to_ascii_lowercase();
        let names: Vec<Vec<u8>> = said.split_inclusive(|&byte| byte == b'\n').map(name_in).collect();
        let is_kept = |line: &&[u8]| !names.contains(&name_in(line));
        let mut lines: Vec<u8> =
            self.lines.split_inclusive(|&byte| byte == b'\n').filter(is_kept).flatten().copied().collect();
        // Of its form and its content the object knows more than a 304.
        let of_content = |line: &&[u8]| !name_in(line).starts_with(b"content-");
        lines.extend(said.split_inclusive(|&byte| byte == b'\n').filter(of_content).flatten().copied());
        let kept_content =
            self.lines.split_inclusive(|&byte| byte == b'\n').filter(|line| !is_kept(line) && !of_content(line));
        lines.extend(kept_content.flatten().copied());
        let begun = Begun {
            status: self.status,
            lines: lines.into(),
            reason: self.reason.clone(),
            terms: self.terms,
            selecting: self.selecting.clone(),
            since,
            share,
        };
        Self::of(begun, self.pieces.iter().map(Buf::share).collect(), self.length)
    }

    /// The content from `at` up to `end`, as far as one piece has it. It shares the piece.
    pub fn piece(&self, at: u64, end: u64) -> Option<Buf> {
        let piece = self.pieces.get((at / PIECE_BYTES as u64) as usize)?;
        let begin = (at % PIECE_BYTES as u64) as usize;
        let wanted = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        let end = piece.len().min(begin.saturating_add(wanted));
        (begin < end).then(|| piece.part(begin..end))
    }
}

/// A head as HTTP/1 has it: the status, those of the lines that are wanted, and the end.
fn text_of((status, reason): (u16, &[u8]), (lines, is_wanted): (&[u8], impl Fn(&[u8]) -> bool), end: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(lines.len() + end.len() + reason.len() + 32);
    text.extend_from_slice(format!("HTTP/1.1 {status} ").as_bytes());
    text.extend_from_slice(reason);
    text.extend_from_slice(b"\r\n");
    for line in lines.split_inclusive(|&byte| byte == b'\n').filter(|line| is_wanted(line)) {
        text.extend_from_slice(line);
    }
    text.extend_from_slice(end);
    text
}

/// Whether a 304 says it, too (RFC 9110 §15.4.5).
fn is_of_304(line: &[u8]) -> bool {
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
    let names: [&[u8]; 6] = [b"cache-control", b"content-location", b"date", b"etag", b"expires", b"vary"];
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// An object on its way to one client: what is left of it.
pub(crate) struct Serving {
    pub object: Rc<Object>,
    pub at: u64,
    pub end: u64,
    /// Bytes that went to the client.
    pub sent_bytes: u64,
}

impl Serving {
    /// The next piece.
    pub fn next(&mut self) -> Option<Buf> {
        let piece = self.object.piece(self.at, self.end).filter(|piece| !piece.is_empty())?;
        self.at += piece.len() as u64;
        self.sent_bytes += piece.len() as u64;
        Some(piece)
    }
}
