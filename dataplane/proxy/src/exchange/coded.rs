//! A response of which something is made on its way to the client: it goes into the cache, has texts replaced, goes through
//! an encoder, or all of these, in this order.
//!
//! Encoding takes long, so one exchange takes only so much of its body in one batch. What the encoder holds back comes
//! out at the end of the batch, because nobody knows when the server sends more.

use std::{cell::Cell, time::Duration};

use weir_coding::{Outcome, Pooled, Replacer, Until, Values, Wanted, keeps_trailer};

use crate::{buf::Buf, cache::object::Filling, error::Error, exchange::incoming::chunk, io::Io};

/// What is taken of one body in one batch: up to two milliseconds of work at the slowest level.
const BYTES_PER_BATCH: usize = 64 * 1024;
/// The head of a chunk that is as long as any block needs: four digits.
const CHUNK_HEAD: &[u8] = b"0000\r\n";
const LINE_END: &[u8] = b"\r\n";

/// Of an exchange whose response may be compressed.
pub(crate) struct Compressing {
    pub wanted: Wanted,
    /// What became of it.
    pub outcome: Cell<Option<Outcome>>,
}

/// Of an exchange whose response is rewritten if it is of the right type.
pub(crate) struct Rewriting {
    /// The client has content of which something was made, under a weak tag.
    pub holds_weak: bool,
    /// What variables stand for; `None`: there are none.
    pub values: Option<Values>,
}

pub(crate) struct Coder {
    /// `None`: no text is replaced.
    replacer: Option<Replacer>,
    /// `None`: it is not encoded.
    encoder: Option<Pooled>,
    /// It is stored, too, once all of it has come.
    pub filling: Option<Box<Filling>>,
    /// The client gets chunks of HTTP/1.
    pub in_chunks: bool,
    /// What was made, and has not gone to the client.
    out: Option<Buf>,
    /// The encoder holds some of what it has taken.
    holds_back: bool,
    /// Content that was taken since [`rest`](Self::rest).
    taken_bytes: usize,
    /// Bytes of the content that went to the client.
    pub sent_bytes: u64,
    /// What stands behind the body, as lines of text.
    pub trailers: Option<Buf>,
    /// The proxy will look at it at the end of the batch.
    is_listed: bool,
}

impl Compressing {
    pub fn new(wanted: Wanted) -> Self {
        Self { wanted, outcome: Cell::new(None) }
    }
}

impl Coder {
    pub fn new(
        replacer: Option<Replacer>,
        encoder: Option<Pooled>,
        in_chunks: bool,
        filling: Option<Box<Filling>>,
    ) -> Self {
        Self {
            replacer,
            encoder,
            filling,
            in_chunks,
            out: None,
            holds_back: false,
            taken_bytes: 0,
            sent_bytes: 0,
            trailers: None,
            is_listed: false,
        }
    }

    /// Whether it has taken its share of this batch.
    pub fn has_had_its_share(&self) -> bool {
        self.taken_bytes >= BYTES_PER_BATCH
    }

    /// Begins another batch.
    pub fn rest(&mut self) {
        (self.taken_bytes, self.is_listed) = (0, false);
    }

    /// Puts it into the list of those that have something to do at the end of the batch. `false`: it is there.
    pub fn list(&mut self) -> bool {
        !std::mem::replace(&mut self.is_listed, true)
    }

    /// Takes a piece of the content. `send` gets what is ready for the client.
    pub fn encode<I: Io>(&mut self, io: &mut I, piece: Buf, mut send: impl FnMut(&mut I, Buf)) -> Result<(), Error> {
        if let Some(filling) = &mut self.filling
            && !filling.take(&piece)
        {
            self.filling = None;
        }
        if let Some(replacer) = &mut self.replacer {
            replacer.take(&piece);
            return Ok(());
        }
        if self.encoder.is_some() {
            self.taken_bytes += piece.len();
            self.holds_back |= !piece.is_empty();
            return self.run(io, &piece, Until::More, send);
        }
        self.sent_bytes += piece.len() as u64;
        let out = if self.in_chunks { chunk(io, &piece) } else { piece };
        send(io, out);
        Ok(())
    }

    /// Whether texts are to be replaced in content that was taken: [`replace`](Self::replace) before more is taken.
    pub fn has_texts_to_replace(&self) -> bool {
        self.replacer.as_ref().is_some_and(Replacer::is_due)
    }

    /// Replaces texts until a block is full, or more has to come. `send` gets what is ready for the client.
    pub fn replace<I: Io>(&mut self, io: &mut I, mut send: impl FnMut(&mut I, Buf)) -> Result<(), Error> {
        let Some(replacer) = &mut self.replacer else { return Ok(()) };
        let held_bytes = replacer.held_bytes();
        let in_chunks = self.in_chunks;
        if self.encoder.is_none() {
            let out = self.out.get_or_insert_with(|| begin(io, in_chunks));
            let room = content_room(out, in_chunks);
            let (most, written) = (room.len(), replacer.write(room));
            out.filled(written);
            self.taken_bytes += written.max(held_bytes - replacer.held_bytes()) + replacer.worked_bytes();
            if written == most {
                send_out(&mut self.out, &mut self.sent_bytes, in_chunks, io, &mut send);
            }
            return Ok(());
        }
        let mut block = io.buffer();
        let written = replacer.write(block.room());
        block.filled(written);
        self.taken_bytes += written.max(held_bytes - replacer.held_bytes()) + replacer.worked_bytes();
        self.holds_back |= written > 0;
        self.run(io, &block, Until::More, send)
    }

    /// No more content comes. Returns whether texts are to be replaced in the rest.
    pub fn end(&mut self) -> bool {
        if let Some(replacer) = &mut self.replacer {
            replacer.end();
        }
        self.has_texts_to_replace()
    }

    /// Sends all that is ready. Until more comes, the encoder may serve another response instead.
    pub fn flush<I: Io>(&mut self, io: &mut I, mut send: impl FnMut(&mut I, Buf)) -> Result<(), Error> {
        // A head may come long before its content.
        if std::mem::take(&mut self.holds_back) {
            self.run(io, &[], Until::Flush, &mut send)?;
        }
        if let Some(encoder) = &mut self.encoder {
            encoder.rest(since_start(io));
        }
        send_out(&mut self.out, &mut self.sent_bytes, self.in_chunks, io, &mut send);
        Ok(())
    }

    /// The same at the end of the content.
    pub fn finish<I: Io>(&mut self, io: &mut I, mut send: impl FnMut(&mut I, Buf)) -> Result<(), Error> {
        self.run(io, &[], Until::End, &mut send)?;
        send_out(&mut self.out, &mut self.sent_bytes, self.in_chunks, io, &mut send);
        Ok(())
    }

    /// The trailers that still hold, as lines of text.
    pub fn take_trailers(&mut self) -> Vec<u8> {
        let Some(lines) = self.trailers.take() else { return Vec::new() };
        lines.split_inclusive(|&byte| byte == b'\n').filter(|line| keeps_trailer(line)).flatten().copied().collect()
    }

    fn run<I: Io>(
        &mut self,
        io: &mut I,
        mut input: &[u8],
        until: Until,
        mut send: impl FnMut(&mut I, Buf),
    ) -> Result<(), Error> {
        let Some(encoder) = &mut self.encoder else { return Ok(()) };
        loop {
            let in_chunks = self.in_chunks;
            let out = self.out.get_or_insert_with(|| begin(io, in_chunks));
            let room = content_room(out, in_chunks);
            let most = room.len();
            let step = encoder.step(input, room, until).map_err(|_| Error::Defect)?;
            out.filled(step.written);
            input = input.get(step.read..).unwrap_or_default();
            if step.is_done {
                return Ok(());
            }
            if step.written < most && step.read == 0 && step.written == 0 {
                return Err(Error::Defect); // it would never end
            }
            if step.written == most {
                send_out(&mut self.out, &mut self.sent_bytes, in_chunks, io, &mut send);
            }
        }
    }
}

/// The time as encoders know it.
pub(crate) fn since_start<I: Io>(io: &I) -> Duration {
    Duration::from_nanos(io.now().nanos)
}

fn send_out<I: Io>(
    out: &mut Option<Buf>,
    sent_bytes: &mut u64,
    in_chunks: bool,
    io: &mut I,
    send: &mut impl FnMut(&mut I, Buf),
) {
    let Some(mut out) = out.take() else { return };
    let content_bytes = out.len() - if in_chunks { CHUNK_HEAD.len() } else { 0 };
    if content_bytes == 0 {
        return;
    }
    if in_chunks {
        if let Some(head) = out.bytes_mut().and_then(|bytes| bytes.first_chunk_mut::<4>()) {
            *head = digits(content_bytes);
        }
        out.append(LINE_END);
    }
    *sent_bytes += content_bytes as u64;
    send(io, out);
}

fn begin<I: Io>(io: &mut I, in_chunks: bool) -> Buf {
    let mut out = io.buffer();
    if in_chunks {
        out.append(CHUNK_HEAD);
    }
    out
}

/// The room for content in a block.
fn content_room(out: &mut Buf, in_chunks: bool) -> &mut [u8] {
    let room = out.room();
    let behind = if in_chunks { LINE_END.len() } else { 0 };
    let most = room.len().saturating_sub(behind);
    &mut room[..most]
}

/// The size of a chunk (RFC 9112 §7.1); zeros in front do not count.
fn digits(bytes: usize) -> [u8; 4] {
    std::array::from_fn(|at| b"0123456789abcdef"[bytes >> (12 - 4 * at) & 15])
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_of_chunks_have_four_digits() {
        for (bytes, text) in [(1, b"0001"), (255, b"00ff"), (0x3ff8, b"3ff8"), (0xffff, b"ffff")] {
            assert_eq!(&super::digits(bytes), text);
        }
    }
}
