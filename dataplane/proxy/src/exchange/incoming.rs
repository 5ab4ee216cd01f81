//! The body of a message that arrives: takes the body's pieces from the inbox, wherever the message was split.
//!
//! Code that moves a body uses this type, and does not know how a protocol frames bodies.

use std::io::Write;

use weir_policy::HttpProfile;
use weir_wire::{
    head::BodyLength,
    http1::{Body, Framing, OutgoingBody, Parsed, TRAILER_BYTES_MAX},
};

use crate::{
    buf::Buf,
    connection::inbox::Inbox,
    error::{Error, defect},
    io::Io,
};

/// What begins the end of a body in chunks. Trailers and an empty line follow.
const LAST_CHUNK: &[u8] = b"0\r\n";
const LINE_END: &[u8] = b"\r\n";
/// What a chunk has beside its content.
const CHUNK_BYTES_ADDED: usize = 20;

pub(crate) struct Incoming {
    body: Framed,
    /// Bytes of content so far.
    pub content_bytes: u64,
    most_bytes: u64,
    /// Whether an error in the body is the client's or the server's.
    wrong: fn(weir_wire::Error) -> Error,
}

/// How the protocol of a message frames its body.
enum Framed {
    Http1(Body),
    /// By the frames of a stream: the inbox holds content alone.
    Stream(StreamBody),
}

/// A body that comes on a stream.
struct StreamBody {
    /// What the head said.
    length: BodyLength,
    /// Content that has come.
    came_bytes: u64,
    /// All of it has come.
    has_ended: bool,
    /// What stands behind the content, as in [`Part::Trailers`].
    trailers: Option<Box<Buf>>,
    /// The end was passed on, if it is more than the end of the content.
    is_closed: bool,
}

/// The form in which a body is passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// For HTTP/1: byte for byte as it arrives, framing included. What comes on a stream goes in chunks if its length is
    /// unknown.
    AsReceived,
    /// The content, and its trailers apart.
    Content,
    /// The content in chunks.
    Chunks,
    /// What an encoder makes of the content, or chunks of that. The body is read as [`Form::Content`].
    Coded { in_chunks: bool },
}

/// A part of a body to pass on.
pub(crate) enum Part {
    Bytes(Buf),
    /// The last part, if the form keeps trailers apart: their fields, as lines of text.
    Trailers(Buf),
}

impl Framed {
    fn stream(length: BodyLength, is_all: bool) -> Self {
        let is_closed = length.is_zero();
        Framed::Stream(StreamBody { length, came_bytes: 0, has_ended: is_all, trailers: None, is_closed })
    }
}

impl Form {
    pub fn of(body: OutgoingBody) -> Self {
        match body {
            OutgoingBody::AsReceived => Form::AsReceived,
            OutgoingBody::Unchunked => Form::Content,
            OutgoingBody::Chunked => Form::Chunks,
        }
    }
}

impl Incoming {
    /// The body of a request; it may have at most `most_bytes` of content.
    pub fn of_client(framing: Framing, most_bytes: Option<u64>) -> Self {
        let most_bytes = most_bytes.unwrap_or(u64::MAX);
        Self { body: Framed::Http1(Body::new(framing)), content_bytes: 0, most_bytes, wrong: Error::Request }
    }

    /// The body of a request that comes on a stream. `is_all`: nothing comes.
    pub fn of_stream(length: BodyLength, is_all: bool, most_bytes: Option<u64>) -> Self {
        let most_bytes = most_bytes.unwrap_or(u64::MAX);
        Self { body: Framed::stream(length, is_all), content_bytes: 0, most_bytes, wrong: Error::Request }
    }

    /// Content has come on the stream. Error: it does not fit the length that was announced.
    pub fn came(&mut self, bytes: usize, is_all: bool) -> Result<(), Error> {
        let Framed::Stream(body) = &mut self.body else { return Err(defect("content of a stream for another body")) };
        body.came_bytes += bytes as u64;
        body.has_ended = is_all;
        let fits = match body.length {
            BodyLength::Bytes(length) => body.came_bytes <= length && (!is_all || body.came_bytes == length),
            // What came behind a head without content would be taken for the next message.
            BodyLength::None => body.came_bytes == 0,
            BodyLength::Unknown => true,
        };
        if fits { Ok(()) } else { Err((self.wrong)(weir_wire::Error::ContentLength)) }
    }

    /// Trailers have come on the stream. They end it.
    pub fn trailers_came(&mut self, lines: Buf) {
        if let Framed::Stream(body) = &mut self.body
            && !lines.is_empty()
        {
            (body.trailers, body.is_closed) = (Some(Box::new(lines)), false);
        }
    }

    /// The body of a response.
    pub fn of_server(framing: Framing) -> Self {
        Self { body: Framed::Http1(Body::new(framing)), content_bytes: 0, most_bytes: u64::MAX, wrong: Error::Response }
    }

    /// The same, of a response that comes on a stream. `is_all`: nothing comes.
    pub fn of_server_stream(length: BodyLength, is_all: bool) -> Self {
        let body = Framed::stream(length, is_all);
        Self { body, content_bytes: 0, most_bytes: u64::MAX, wrong: Error::Response }
    }

    /// Whether the body comes on a stream whose end alone shows how long it is.
    pub fn is_endless_stream(&self) -> bool {
        matches!(&self.body, Framed::Stream(body) if body.length == BodyLength::Unknown)
    }

    /// Whether all of a body that comes on a stream has come.
    pub fn has_all_come(&self) -> bool {
        matches!(&self.body, Framed::Stream(body) if body.has_ended)
    }

    /// Whether the body is complete; true from the beginning if there is none.
    #[inline]
    pub fn is_done(&self) -> bool {
        match &self.body {
            Framed::Http1(body) => body.is_done(),
            Framed::Stream(body) => body.is_closed && body.has_ended && self.content_bytes == body.came_bytes,
        }
    }

    /// The end of its connection has ended the body.
    pub fn end(&mut self) {
        if self.ends_with_connection() {
            self.body = Framed::Http1(Body::new(Framing::None));
        }
    }

    /// Whether the end of the connection would end the body now, and not cut it.
    pub fn ends_with_connection(&self) -> bool {
        matches!(&self.body, Framed::Http1(body) if body.cut_is_end())
    }

    /// Bytes still to come that need not be parsed.
    pub fn unseen_bytes(&self) -> u64 {
        match &self.body {
            Framed::Http1(body) => body.length_left(),
            Framed::Stream(_) => 0,
        }
    }

    /// Counts bytes that the driver has relayed.
    pub fn pass(&mut self, bytes: u64) {
        self.content_bytes += bytes;
        if let Framed::Http1(body) = &mut self.body {
            body.pass(bytes);
        }
    }

    /// Passes on the next piece of the body, as it is or as several pieces of content. False: no more has arrived.
    #[inline]
    pub fn read<I: Io>(
        &mut self,
        io: &mut I,
        inbox: &mut Inbox,
        http: &HttpProfile,
        form: Form,
        mut take: impl FnMut(&mut I, Part),
    ) -> Result<bool, Error> {
        let body = match &mut self.body {
            Framed::Http1(body) => body,
            Framed::Stream(_) => return self.read_stream(io, inbox, form, take),
        };
        if body.is_at_trailers() {
            let Some(mut trailers) = self.read_trailers(io, inbox, http)? else { return Ok(false) };
            match form {
                Form::AsReceived => take(io, Part::Bytes(trailers)),
                Form::Content | Form::Coded { .. } if trailers.len() > LINE_END.len() => {
                    take(io, Part::Trailers(trailers.split_to(trailers.len() - LINE_END.len())));
                }
                Form::Content | Form::Chunks | Form::Coded { .. } => {}
            }
            return Ok(true);
        }
        let Some(mut piece) = inbox.pop() else { return Ok(false) };
        let read = match form {
            Form::AsReceived => body.read(&piece),
            Form::Content | Form::Coded { .. } => {
                body.read_payload(&piece, |range| take(io, Part::Bytes(piece.part(range))))
            }
            Form::Chunks => body.read_payload(&piece, |range| {
                let chunk = chunk(io, &piece[range]);
                take(io, Part::Bytes(chunk));
            }),
        };
        let read = read.map_err(self.wrong)?;
        self.content_bytes += read.payload as u64;
        if self.content_bytes > self.most_bytes {
            return Err(Error::BodyTooLarge);
        }
        if read.taken < piece.len() {
            let body = piece.split_to(read.taken);
            inbox.put_back(piece);
            piece = body;
        }
        if form == Form::AsReceived {
            take(io, Part::Bytes(piece));
        }
        Ok(true)
    }

    /// The same of a stream.
    fn read_stream<I: Io>(
        &mut self,
        io: &mut I,
        inbox: &mut Inbox,
        form: Form,
        mut take: impl FnMut(&mut I, Part),
    ) -> Result<bool, Error> {
        let Framed::Stream(body) = &mut self.body else { return Ok(false) };
        let in_chunks = form == Form::AsReceived && body.length == BodyLength::Unknown;
        match inbox.pop() {
            Some(piece) => {
                self.content_bytes += piece.len() as u64;
                if self.content_bytes > self.most_bytes {
                    return Err(Error::BodyTooLarge);
                }
                let piece = if in_chunks { chunk(io, &piece) } else { piece };
                take(io, Part::Bytes(piece));
                body.is_closed |= body.length != BodyLength::Unknown && body.trailers.is_none();
            }
            None if body.has_ended && !body.is_closed => {
                body.is_closed = true;
                let trailers = body.trailers.take();
                if in_chunks {
                    let end = last_chunk(io, trailers.as_deref().map_or(&[], |lines| &lines[..]));
                    take(io, Part::Bytes(end));
                } else if form == Form::Content
                    && let Some(lines) = trailers
                {
                    take(io, Part::Trailers(*lines));
                }
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    /// The part to pass on of the trailer section at the start of the inbox; `None` while that is incomplete.
    #[cold]
    fn read_trailers<I: Io>(
        &mut self,
        io: &mut I,
        inbox: &mut Inbox,
        http: &HttpProfile,
    ) -> Result<Option<Buf>, Error> {
        while let Some(bytes) = inbox.head(TRAILER_BYTES_MAX) {
            let Framed::Http1(body) = &mut self.body else { return Ok(None) };
            match body.trailers(bytes).map_err(self.wrong)? {
                Parsed::Partial => {
                    if !inbox.keep_for_more() {
                        break;
                    }
                }
                Parsed::Whole(trailers) => {
                    let mut out = io.buffer_for(trailers.bytes());
                    let written = trailers.write(|field| http.passes_trailer(field), out.room());
                    let written = written.map_err(|_| Error::Defect)?;
                    out.filled(written);
                    let bytes = trailers.bytes();
                    inbox.head_read(bytes);
                    return Ok(Some(out));
                }
            }
        }
        Ok(None)
    }
}

/// Content as a chunk (RFC 9112 §7.1).
pub(crate) fn chunk<I: Io>(io: &mut I, content: &[u8]) -> Buf {
    let mut out = io.buffer_for(content.len() + CHUNK_BYTES_ADDED);
    let mut size = [0; CHUNK_BYTES_ADDED];
    let mut left = &mut size[..];
    // Sixteen digits and the line's end fit.
    let _ = write!(left, "{:x}\r\n", content.len());
    let digits = CHUNK_BYTES_ADDED - left.len();
    [&size[..digits], content, LINE_END].into_iter().for_each(|part| _ = out.append(part));
    out
}

/// The end of a body in chunks. `trailers`: lines of text.
pub(crate) fn last_chunk<I: Io>(io: &mut I, trailers: &[u8]) -> Buf {
    let mut out = io.buffer_for(LAST_CHUNK.len() + trailers.len() + LINE_END.len());
    [LAST_CHUNK, trailers, LINE_END].into_iter().for_each(|part| _ = out.append(part));
    out
}
