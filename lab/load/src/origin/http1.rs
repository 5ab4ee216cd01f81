//! HTTP/1.1, and the upgrade to WebSocket.

use weir_wire::{
    head::{FieldTable, Limits, Method},
    http1::{self, Body, Parsed},
};

use super::{
    site::{Goes, Site, WAIT},
    websocket,
};
use crate::answer::HEAD_BYTES_MAX;

#[derive(Default)]
pub struct Http1 {
    /// The beginning of a head that is not whole yet.
    head: Vec<u8>,
    body: Option<Body>,
    after: After,
}

/// What follows the body of a request.
#[derive(Clone, Copy, Default)]
enum After {
    #[default]
    Answer,
    AnswerHead,
    Nothing,
}

impl Http1 {
    pub fn feed(&mut self, bytes: &[u8], site: &Site, table: &mut FieldTable, out: &mut Vec<u8>) -> Goes {
        let mut input = std::mem::take(&mut self.head);
        input.extend_from_slice(bytes);
        let mut rest = &input[..];
        while !rest.is_empty() {
            if let Some(body) = &mut self.body {
                let Ok(piece) = body.read(rest) else { return Goes::Over };
                rest = &rest[piece.taken..];
                if !piece.done {
                    return Goes::On;
                }
                self.answer(site, out);
                continue;
            }
            let limits = Limits::new(HEAD_BYTES_MAX, 0, 0);
            let request = match http1::request(rest, &limits, table) {
                Ok(Parsed::Whole(request)) => request,
                Ok(Parsed::Partial) => {
                    self.head = rest.to_vec();
                    return Goes::On;
                }
                Err(_) => return Goes::Over,
            };
            rest = &rest[request.len..];
            if let Some(key) = request.head.fields.find(b"sec-websocket-key") {
                out.extend_from_slice(&websocket::accepted(key, &site.name));
                return Goes::Upgraded(rest.to_vec());
            }
            self.after = match request.head.method {
                _ if request.head.path == WAIT => After::Nothing,
                Method::Head => After::AnswerHead,
                _ => After::Answer,
            };
            let body = Body::new(request.framing);
            let is_done = body.is_done();
            self.body = Some(body);
            if is_done {
                self.answer(site, out);
            }
        }
        Goes::On
    }

    /// A client that wants its connection to end, ends it.
    fn answer(&mut self, site: &Site, out: &mut Vec<u8>) {
        self.body = None;
        match self.after {
            After::Answer => out.extend_from_slice(&site.http1),
            After::AnswerHead => out.extend_from_slice(&site.http1[..site.http1.len() - site.object.len()]),
            After::Nothing => {}
        }
    }
}
