//! What a connection of the load speaks.

use crate::{
    answer::{Answered, Came, Outcome, Reader, Reading},
    http2::Http2,
    script::Script,
    tally::Cause,
    websocket::WebSocket,
};

pub enum Speaker {
    Http1(Reader),
    Http2(Box<Http2>),
    WebSocket(WebSocket),
}

impl Speaker {
    pub fn new(script: &Script) -> Self {
        match script {
            Script::Http1 { .. } | Script::Datagram(_) => Speaker::Http1(Reader::default()),
            Script::Http2 { .. } => Speaker::Http2(Box::new(Http2::new())),
            Script::WebSocket(_) => Speaker::WebSocket(WebSocket::default()),
        }
    }

    /// Writes the request of a lane. `is_last`: the connection carries no other.
    pub fn ask(&mut self, lane: u32, is_last: bool, script: &Script, out: &mut Vec<u8>) -> Result<(), Cause> {
        match (self, script) {
            (Speaker::Http1(_), Script::Http1 { last, .. }) if is_last => out.extend_from_slice(last),
            (Speaker::Http1(_), Script::Http1 { request, .. }) => out.extend_from_slice(request),
            (Speaker::Http2(http2), Script::Http2 { request, .. }) => return http2.ask(lane, request, out),
            (Speaker::WebSocket(socket), Script::WebSocket(echo)) => socket.ask(echo, out),
            _ => {}
        }
        Ok(())
    }

    /// Opens streams whose answer shall not come.
    pub fn wait(&mut self, streams: usize, script: &Script, out: &mut Vec<u8>) -> Result<(), Cause> {
        match (self, script) {
            (Speaker::Http2(http2), Script::Http2 { waiting, .. }) => http2.wait(streams, waiting, out),
            _ => Ok(()),
        }
    }

    /// How many streams wait.
    pub fn waiting(&self) -> usize {
        match self {
            Speaker::Http2(http2) => http2.waiting(),
            _ => 0,
        }
    }

    /// Takes what has come, and writes what follows at once from it. An error ends the connection.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        reading: &mut Reading<'_>,
        out: &mut Vec<u8>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), Cause> {
        match (self, reading.script) {
            (Speaker::Http1(reader), _) => reader.feed(bytes, reading),
            (Speaker::Http2(http2), _) => return http2.feed(bytes, reading, out, outcomes),
            (Speaker::WebSocket(socket), Script::WebSocket(echo)) => socket.feed(bytes, echo, out),
            (Speaker::WebSocket(_), _) => {}
        }
        Ok(())
    }

    /// All that has come at once was fed.
    pub fn settle(&mut self, script: &Script, outcomes: &mut Vec<Outcome>) {
        match (self, script) {
            (Speaker::Http1(reader), _) => outcomes.extend(reader.outcome().map(of_one_lane)),
            (Speaker::WebSocket(socket), Script::WebSocket(echo)) => outcomes.extend(socket.outcome(echo)),
            _ => {}
        }
    }

    /// The server has ended the connection while answers were due.
    pub fn end(&mut self) -> Outcome {
        match self {
            Speaker::Http1(reader) => {
                reader.end();
                of_one_lane(reader.outcome().unwrap_or(Err(Cause::Reset)))
            }
            Speaker::Http2(_) | Speaker::WebSocket(_) => of_one_lane(Err(Cause::Reset)),
        }
    }

    /// The lane waits for its answer no longer; false: the connection cannot go on without it.
    pub fn cancel(&mut self, lane: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Speaker::Http2(http2) => {
                http2.cancel(lane, out);
                true
            }
            Speaker::Http1(_) | Speaker::WebSocket(_) => false,
        }
    }

    /// The server takes no new requests on this connection.
    pub fn is_leaving(&self) -> bool {
        matches!(self, Speaker::Http2(http2) if http2.is_leaving())
    }

    /// Says goodbye, where the protocol has a word for it.
    pub fn say_goodbye(&mut self, out: &mut Vec<u8>) {
        match self {
            Speaker::Http1(_) => {}
            Speaker::Http2(http2) => http2.say_goodbye(out),
            Speaker::WebSocket(socket) => socket.say_goodbye(out),
        }
    }
}

fn of_one_lane(outcome: Result<Answered, Cause>) -> Outcome {
    Outcome { lane: 0, came: outcome.map_or_else(Came::Failed, Came::Answered) }
}
