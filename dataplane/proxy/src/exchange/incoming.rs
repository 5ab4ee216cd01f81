//! The body of a message that arrives: takes the body's pieces from the inbox, wherever the message was split.
//!
//! Code that moves a body uses this type, and does not know how a protocol frames bodies.

use std::ops::Range;

use weir_policy::HttpProfile;
use weir_wire::http1::{Body, Framing, OutgoingBody, Parsed, TRAILER_BYTES_MAX};

use crate::{buf::Buf, connection::inbox::Inbox, error::Error, io::Io};

pub(crate) struct Incoming {
    body: Body,
    /// Bytes of content so far.
    pub content_bytes: u64,
    most_bytes: u64,
    /// Whether an error in the body is the client's or the server's.
    wrong: fn(weir_wire::Error) -> Error,
}

/// The form in which a body is passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Byte for byte as it arrives, framing included.
    AsReceived,
    /// The content alone, without trailers.
    Content,
}

impl Form {
    pub fn of(body: OutgoingBody) -> Self {
        match body {
            OutgoingBody::AsReceived => Form::AsReceived,
            OutgoingBody::Unchunked => Form::Content,
        }
    }
}

impl Incoming {
    /// The body of a request; it may have at most `most_bytes` of content.
    pub fn of_client(framing: Framing, most_bytes: Option<u64>) -> Self {
        let most_bytes = most_bytes.unwrap_or(u64::MAX);
        Self { body: Body::new(framing), content_bytes: 0, most_bytes, wrong: Error::Request }
    }

    /// The body of a response.
    pub fn of_server(framing: Framing) -> Self {
        Self { body: Body::new(framing), content_bytes: 0, most_bytes: u64::MAX, wrong: Error::Response }
    }

    /// Whether the body is complete; true from the beginning if there is none.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.body.is_done()
    }

    /// Whether the end of the connection would end the body now, and not cut it.
    pub fn ends_with_connection(&self) -> bool {
        self.body.cut_is_end()
    }

    /// Bytes still to come that need not be parsed.
    pub fn unseen_bytes(&self) -> u64 {
        self.body.length_left()
    }

    /// Counts bytes that the driver has relayed.
    pub fn pass(&mut self, bytes: u64) {
        self.content_bytes += bytes;
        self.body.pass(bytes);
    }

    /// Passes on the next piece of the body, as it is or as several pieces of content. False: no more has arrived.
    #[inline]
    pub fn read<I: Io>(
        &mut self,
        io: &mut I,
        inbox: &mut Inbox,
        http: &HttpProfile,
        form: Form,
        mut take: impl FnMut(&mut I, Buf),
    ) -> Result<bool, Error> {
        if self.body.is_at_trailers() {
            let Some(trailers) = self.read_trailers(io, inbox, http)? else { return Ok(false) };
            if form == Form::AsReceived {
                take(io, trailers);
            }
            return Ok(true);
        }
        let Some(mut piece) = inbox.pop() else { return Ok(false) };
        let read = match form {
            Form::AsReceived => self.body.read(&piece),
            Form::Content => self.body.read_payload(&piece, |range| take(io, part(&piece, range))),
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
            take(io, piece);
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
            match self.body.trailers(bytes).map_err(self.wrong)? {
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

fn part(piece: &Buf, range: Range<usize>) -> Buf {
    let mut part = piece.share();
    part.truncate(range.end);
    part.advance(range.start);
    part
}
