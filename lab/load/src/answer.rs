//! What comes of requests, and the reader of HTTP/1.1: one response at a time from the plaintext of a connection.

use weir_wire::{
    head::{FieldTable, Limits, Method},
    http1::{self, Body, Parsed},
};

use crate::{script::Script, tally::Cause};

pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// A response that is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    pub status: u16,
    pub keep_alive: bool,
}

/// What came of the request of a lane.
#[derive(PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Among the lanes of its connection.
    pub lane: u32,
    pub came: Came,
}

#[derive(PartialEq, Eq, Debug)]
pub enum Came {
    Answered(Answered),
    Failed(Cause),
    /// The server says that it has not looked at the request.
    Unprocessed,
}

/// Shared by all readers of a thread, with the callback for the value of the field by which answers are counted.
pub struct Reading<'a> {
    pub method: Method,
    /// Each answer is one message of gRPC, with its status in the trailers.
    pub grpc: bool,
    pub script: &'a Script,
    /// The length that every body has to have.
    pub answer_bytes: Option<u64>,
    pub table: &'a mut FieldTable,
    pub server_header: Option<&'a [u8]>,
    pub on_value: &'a mut dyn FnMut(&[u8]),
}

#[derive(Default)]
pub struct Reader {
    /// The beginning of a head that is not whole yet.
    head: Vec<u8>,
    body: Option<(Body, Answered)>,
    /// Of the body that is being read.
    content_bytes: u64,
    outcome: Option<Result<Answered, Cause>>,
}

impl Reader {
    /// Reads on; what came of it is taken with [`outcome`](Self::outcome).
    pub fn feed(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        if self.outcome.is_some() {
            // Bytes behind the end of the response belong to no request of ours.
            return self.outcome = Some(Err(Cause::BadResponse));
        }
        if self.body.is_some() {
            return self.feed_body(bytes, reading);
        }
        if self.head.is_empty() {
            return self.feed_head(bytes, reading);
        }
        let mut head = std::mem::take(&mut self.head);
        head.extend_from_slice(bytes);
        self.feed_head(&head, reading);
    }

    fn feed_head(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        let limits = Limits::new(HEAD_BYTES_MAX, 0, 0);
        let len = match http1::response(bytes, reading.method, &limits, reading.table) {
            Err(_) => return self.outcome = Some(Err(Cause::BadResponse)),
            Ok(Parsed::Partial) => return self.head.extend_from_slice(bytes),
            Ok(Parsed::Whole(response)) => {
                let head = response.head;
                if head.status >= 200 {
                    let value = reading.server_header.and_then(|name| head.fields.find(name));
                    if reading.server_header.is_some() {
                        (reading.on_value)(value.unwrap_or(b"(none)"));
                    }
                    let answered = Answered { status: head.status, keep_alive: response.keep_alive };
                    self.body = Some((Body::new(response.framing), answered));
                }
                response.len
            }
        };
        let rest = &bytes[len..];
        match self.body {
            Some(_) => self.feed_body(rest, reading),
            // An interim response: the final one follows.
            None if rest.is_empty() => {}
            None => self.feed_head(rest, reading),
        }
    }

    fn feed_body(&mut self, bytes: &[u8], reading: &Reading<'_>) {
        let Some((body, answered)) = &mut self.body else { return };
        let Ok(piece) = body.read(bytes) else { return self.outcome = Some(Err(Cause::BadResponse)) };
        self.content_bytes += piece.payload as u64;
        let is_other = answered.status < 400 && reading.answer_bytes.is_some_and(|bytes| bytes != self.content_bytes);
        self.outcome = match piece.done {
            true if piece.taken < bytes.len() || is_other => Some(Err(Cause::BadResponse)),
            true => Some(Ok(*answered)),
            false => None,
        };
    }

    /// The connection has ended while a response was due.
    pub fn end(&mut self) {
        self.outcome = self.outcome.take().or(Some(match &self.body {
            Some((body, answered)) if body.cut_is_end() => Ok(Answered { keep_alive: false, ..*answered }),
            Some(_) => Err(Cause::ShortBody),
            None if self.head.is_empty() => Err(Cause::Reset),
            None => Err(Cause::BadResponse),
        }));
    }

    /// The response or what is wrong with it, once; then the next response is read.
    pub fn outcome(&mut self) -> Option<Result<Answered, Cause>> {
        let outcome = self.outcome.take()?;
        (self.body, self.content_bytes) = (None, 0);
        Some(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NOTHING: Script = Script::Datagram(Vec::new());

    fn reading<'a>(table: &'a mut FieldTable, on_value: &'a mut dyn FnMut(&[u8])) -> Reading<'a> {
        Reading {
            method: Method::Get,
            grpc: false,
            script: &NOTHING,
            answer_bytes: None,
            table,
            server_header: None,
            on_value,
        }
    }

    fn read(pieces: &[&str], end: bool) -> Option<Result<u16, Cause>> {
        read_of(None, pieces, end)
    }

    fn read_of(answer_bytes: Option<u64>, pieces: &[&str], end: bool) -> Option<Result<u16, Cause>> {
        let mut reader = Reader::default();
        let (mut table, mut on_value) = (FieldTable::new(), |_: &[u8]| {});
        let mut reading = Reading { answer_bytes, ..reading(&mut table, &mut on_value) };
        pieces.iter().for_each(|piece| reader.feed(piece.as_bytes(), &mut reading));
        if end {
            reader.end();
        }
        reader.outcome().map(|outcome| outcome.map(|answered| answered.status))
    }

    #[test]
    fn reads_response_however_it_is_cut() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(read(&[text], false), Some(Ok(200)));
        for cut in 1..text.len() {
            assert_eq!(read(&[&text[..cut], &text[cut..]], false), Some(Ok(200)), "cut at {cut}");
            assert_eq!(read(&[&text[..cut]], false), None, "cut at {cut}");
        }
    }

    #[test]
    fn tells_causes_apart() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(read(&[], true), Some(Err(Cause::Reset)));
        assert_eq!(read(&["HTTP/1.1 2"], true), Some(Err(Cause::BadResponse)));
        assert_eq!(read(&[head, "hell"], true), Some(Err(Cause::ShortBody)));
        assert_eq!(read(&[head, "hello!"], false), Some(Err(Cause::BadResponse)));
        assert_eq!(read(&[head, "hello", "!"], false), Some(Err(Cause::BadResponse)));
        assert_eq!(read(&["SSH-2.0-x\r\n"], false), Some(Err(Cause::BadResponse)));
        assert_eq!(read(&["HTTP/1.0 200 OK\r\n\r\nto the end"], true), Some(Ok(200)));
    }

    #[test]
    fn body_of_another_length_than_wanted_is_a_mistake() {
        let chunked = ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n", "3\r\nllo\r\n0\r\n\r\n"];
        assert_eq!(read_of(Some(5), &chunked, false), Some(Ok(200)));
        assert_eq!(read_of(Some(4), &chunked, false), Some(Err(Cause::BadResponse)));
        let page = ["HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"];
        assert_eq!(read_of(Some(5), &page, false), Some(Ok(503)));
    }

    #[test]
    fn tells_value_of_the_server_header() {
        let mut values = Vec::new();
        let mut table = FieldTable::new();
        let mut on_value = |value: &[u8]| values.push(value.to_vec());
        let mut reading = Reading { server_header: Some(b"x-origin"), ..reading(&mut table, &mut on_value) };
        let mut reader = Reader::default();
        reader.feed(b"HTTP/1.1 204 No\r\nX-Origin: one\r\n\r\n", &mut reading);
        assert!(reader.outcome().is_some());
        reader.feed(b"HTTP/1.1 204 No\r\n\r\n", &mut reading);
        assert_eq!(values, [&b"one"[..], b"(none)"]);
    }
}
