//! Writes a head in the form of its connection's protocol.

use weir_policy::{ClientFacts, HttpProfile};
use weir_rules::Edits;
use weir_wire::{
    head::{BodyLength, Field, FieldTable, Fields, HeadSink, Limits, Name, NameSet, Overflow, RequestHead},
    http1::{self, Framing, HeadWriter, Hop, Parsed},
    http2::{
        self,
        hpack::{Decoder, Encoder},
    },
    websocket,
};

use crate::{buf::Buf, error::Error, exchange::incoming::Form, io::Io};

const LINE_END: &[u8] = b"\r\n";
/// The only thing that a request may say in `te` in HTTP/2 (RFC 9113 §8.2.2).
pub(crate) const TAKES_TRAILERS: &[u8] = b"te: trailers\r\n";

/// Writes a head of HTTP/1, of at most `bytes_max` bytes of text. `hop`: what the head says of its connection.
#[inline]
pub(crate) fn write_text<I: Io>(
    io: &mut I,
    bytes_max: usize,
    hop: Hop,
    write: impl FnOnce(&mut HeadWriter<'_>),
) -> Result<Buf, Error> {
    fill(io.buffer_for(bytes_max + Hop::BYTES_MAX), |room| {
        let mut sink = HeadWriter::new(room, hop);
        write(&mut sink);
        sink.end()
    })
}

/// Writes the head of a response as a block of HTTP/2, of at most `bytes_max` bytes of text.
pub(crate) fn write_block<I: Io>(
    io: &mut I,
    bytes_max: usize,
    write: impl FnOnce(&mut Encoder<'_>),
) -> Result<Buf, Error> {
    fill(io.buffer_for(block_bytes_max(bytes_max)), |room| encode(Encoder::response(room), write))
}

/// Writes the head of a request to a server of HTTP/2 as a block, of at most `bytes_max` bytes of text. It waits for its
/// server in a buffer of its own size.
pub(crate) fn write_request_block(
    bytes_max: usize,
    target: http2::hpack::Target<'_>,
    write: impl FnOnce(&mut Encoder<'_>),
) -> Result<Buf, Error> {
    fill(Buf::with_room(block_bytes_max(bytes_max)), |room| encode(Encoder::request(room, target), write))
}

/// The length of a long string takes a byte or two more than the colon and the line's end.
fn block_bytes_max(text_bytes_max: usize) -> usize {
    text_bytes_max + text_bytes_max / 32
}

fn encode<'o>(mut sink: Encoder<'o>, write: impl FnOnce(&mut Encoder<'o>)) -> Result<usize, Overflow> {
    write(&mut sink);
    sink.end()
}

/// Fills a buffer. `write` returns how much it has written.
#[inline]
fn fill(mut out: Buf, write: impl FnOnce(&mut [u8]) -> Result<usize, Overflow>) -> Result<Buf, Error> {
    let bytes = write(out.room()).map_err(|_| Error::Defect)?;
    out.filled(bytes);
    Ok(out)
}

/// The fields that `keep` keeps, as lines of text.
pub(crate) fn lines<'b, I: Io>(io: &mut I, fields: &Fields<'b>, keep: impl FnMut(Field<'b>) -> bool) -> Buf {
    let mut out = io.buffer_for(fields.text_bytes() + LINE_END.len());
    let mut writer = HeadWriter::new(out.room(), Hop::default());
    writer.kept_if(fields, keep);
    // There is room for all of the fields.
    let bytes = writer.end().unwrap_or(LINE_END.len()) - LINE_END.len();
    out.filled(bytes);
    out
}

/// Writes trailers as a block of HTTP/2, from lines of text.
pub(crate) fn write_trailers<I: Io>(io: &mut I, lines: &[u8]) -> Result<Buf, Error> {
    fill(io.buffer_for(2 * lines.len()), |room| encode(Encoder::trailers(room), |out| out.lines(lines)))
}

/// The text of a request that was written as a block, for a server that speaks HTTP/1 after all.
/// `is_endless`: the body comes in chunks.
#[cold]
pub(crate) fn text_of<I: Io>(io: &mut I, block: &[u8], is_endless: bool, table: &mut FieldTable) -> Result<Buf, Error> {
    let mut decoder = Decoder::new(http2::hpack::TABLE_BYTES);
    let request =
        http2::request(block, false, &mut decoder, &Limits::new(0, 0, 0), table).map_err(|_| Error::Defect)?;
    let head = &request.head;
    let length = if head.body == BodyLength::Unknown && !is_endless { BodyLength::None } else { head.body };
    let framing = Framing::of(length);
    let bytes_max = head.fields.text_bytes() + head.method_text.len() + head.path.len() + 64;
    write_text(io, bytes_max, Hop::to_server(framing), |out| {
        out.request(head.method_text, head.path);
        out.kept(&head.fields, NameSet::default());
    })
}

/// Looks at a request that was written for a server.
#[cold]
pub(crate) fn look<R>(
    written: &[u8],
    form: Form,
    table: &mut FieldTable,
    look: impl FnOnce(&RequestHead<'_>) -> R,
) -> Result<R, Error> {
    if form == Form::Content {
        let mut decoder = Decoder::new(http2::hpack::TABLE_BYTES);
        let read = http2::request(written, false, &mut decoder, &Limits::new(0, 0, 0), table);
        return read.map(|request| look(&request.head)).map_err(|_| Error::Defect);
    }
    match http1::request(written, &Limits::new(0, 0, 0), table) {
        Ok(Parsed::Whole(request)) => Ok(look(&request.head)),
        _ => Err(Error::Defect),
    }
}

/// A request that was written for a server, with changes. `scheme`: of a block. `None`: it has no room for them.
#[cold]
pub(crate) fn with_edits(
    written: &[u8],
    form: Form,
    (scheme, edits): (&[u8], &Edits<'_>),
    table: &mut FieldTable,
) -> Option<Buf> {
    let bytes_max = |head: &RequestHead<'_>| {
        let target_bytes = head.method_text.len() + head.path.len();
        head.fields.text_bytes() + edits.bytes_max(&head.fields) + target_bytes + 64
    };
    if form != Form::Content {
        let Ok(Parsed::Whole(request)) = http1::request(written, &Limits::new(0, 0, 0), table) else { return None };
        let head = &request.head;
        // The lines about the connection are none of the fields that go on.
        let hop = match websocket::Key::asked_by(head) {
            Some(_) => Hop::websocket(),
            None => Hop::to_server(request.framing),
        };
        let made = fill(Buf::with_room(bytes_max(head) + 2 * Hop::BYTES_MAX), |room| {
            let mut sink = HeadWriter::new(room, hop);
            edits.write_request(&head.fields, &mut sink, |out| {
                out.request(head.method_text, head.path);
                out.kept(&head.fields, NameSet::default());
            });
            sink.end()
        });
        return made.ok();
    }
    look(written, form, table, |head| {
        let authority = edits.host().or(head.host).unwrap_or_default();
        write_request_block(bytes_max(head), http2::hpack::Target { scheme, authority }, |out| {
            edits.write_request(&head.fields, out, |out| {
                out.request(head.method_text, head.path);
                out.kept(&head.fields, NameSet::of(&[Name::Host]));
            });
            if head.fields.take_trailers() {
                out.line(TAKES_TRAILERS);
            }
        })
    })
    .and_then(|made| made)
    .ok()
}

/// A request that was written for a server, with another Host.
#[cold]
pub(crate) fn with_host(
    written: &[u8],
    form: Form,
    (scheme, host): (&[u8], &[u8]),
    table: &mut FieldTable,
) -> Result<Buf, Error> {
    const HOST: NameSet = NameSet::of(&[Name::Host]);
    if form != Form::Content {
        return text_with_host(written, host);
    }
    let mut decoder = Decoder::new(http2::hpack::TABLE_BYTES);
    let request =
        http2::request(written, false, &mut decoder, &Limits::new(0, 0, 0), table).map_err(|_| Error::Defect)?;
    let head = &request.head;
    let bytes_max = head.fields.text_bytes() + head.method_text.len() + head.path.len() + host.len() + 64;
    write_request_block(bytes_max, http2::hpack::Target { scheme, authority: host }, |out| {
        out.request(head.method_text, head.path);
        out.kept(&head.fields, HOST);
        if head.fields.take_trailers() {
            out.line(TAKES_TRAILERS);
        }
    })
}

/// The line of Host may stand anywhere in the head, and bytes of the body behind it.
fn text_with_host(written: &[u8], host: &[u8]) -> Result<Buf, Error> {
    const NAME: &[u8] = b"host:";
    let mut at = 0;
    loop {
        let line = written[at..].iter().position(|&byte| byte == b'\n').ok_or(Error::Defect)? + 1;
        if written[at..].get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)) {
            let (before, behind) = (&written[..at], &written[at + line..]);
            return Ok(Buf::from_vec([before, b"Host: ", host, LINE_END, behind].concat()));
        }
        if line == LINE_END.len() {
            return Err(Error::Defect);
        }
        at += line;
    }
}

/// A request that was written for a server, with lines of text besides.
#[cold]
pub(crate) fn with_lines<I: Io>(io: &mut I, written: &[u8], form: Form, lines: &[u8]) -> Result<Buf, Error> {
    let (before, between, behind) = match form {
        Form::Content => (written, write_trailers(io, lines)?, &b""[..]),
        _ => (written.strip_suffix(LINE_END).ok_or(Error::Defect)?, Buf::from_vec(lines.to_vec()), LINE_END),
    };
    Ok(Buf::from_vec([before, &between, behind].concat()))
}

/// The text of a request as its server sees it, by edits. `None`: it has no room, which would be a defect.
#[cold]
pub(crate) fn edited(
    http: &HttpProfile,
    head: &RequestHead<'_>,
    facts: &ClientFacts,
    edits: &Edits<'_>,
) -> Option<Vec<u8>> {
    let mut text = vec![0; http.request_bytes_max(head) + edits.bytes_max(&head.fields) + Hop::BYTES_MAX];
    let mut out = HeadWriter::new(&mut text, Hop::default());
    edits.write_request(&head.fields, &mut out, |out| http.write_request(head, facts, None, out));
    let bytes = out.end().ok()?;
    text.truncate(bytes);
    Some(text)
}

/// Path and query of a request that was written for a server.
#[cold]
pub(crate) fn target_of(written: &[u8], form: Form) -> Option<Vec<u8>> {
    if form == Form::Content {
        let mut table = FieldTable::new();
        let mut decoder = Decoder::new(http2::hpack::TABLE_BYTES);
        let request = http2::request(written, false, &mut decoder, &Limits::new(0, 0, 0), &mut table).ok()?;
        return Some(request.head.path.to_vec());
    }
    written.split(|&byte| byte == b' ').nth(1).map(<[u8]>::to_vec)
}

/// What a head of Weir's own is written for.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// A connection of HTTP/1.
    Text(Hop),
    /// A stream of HTTP/2.
    Block,
    /// A stream of HTTP/2 that carries a gRPC call.
    Call,
}

/// Either form of such a head.
pub(crate) enum Sink<'w, 'o> {
    Text(&'w mut HeadWriter<'o>),
    Block(&'w mut Encoder<'o>),
}

/// Writes the head of a response of Weir's own, in either form.
pub(crate) fn write_own<I: Io>(
    io: &mut I,
    bytes_max: usize,
    target: Target,
    write: impl FnOnce(&mut Sink<'_, '_>),
) -> Result<Buf, Error> {
    match target {
        Target::Text(hop) => write_text(io, bytes_max, hop, |text| write(&mut Sink::Text(text))),
        Target::Block | Target::Call => write_block(io, bytes_max, |block| write(&mut Sink::Block(block))),
    }
}

impl HeadSink for Sink<'_, '_> {
    fn request(&mut self, method: &[u8], path: &[u8]) {
        match self {
            Sink::Text(text) => text.request(method, path),
            Sink::Block(block) => block.request(method, path),
        }
    }

    fn status(&mut self, status: u16, reason: &[u8]) {
        match self {
            Sink::Text(text) => text.status(status, reason),
            Sink::Block(block) => block.status(status, reason),
        }
    }

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, keep: impl FnMut(Field<'b>) -> bool) {
        match self {
            Sink::Text(text) => text.kept_if(fields, keep),
            Sink::Block(block) => block.kept_if(fields, keep),
        }
    }

    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>) {
        match self {
            Sink::Text(text) => text.field(name, value),
            Sink::Block(block) => block.field(name, value),
        }
    }

    fn line(&mut self, line: &[u8]) {
        match self {
            Sink::Text(text) => text.line(line),
            Sink::Block(block) => block.line(line),
        }
    }
}
