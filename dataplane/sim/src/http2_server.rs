//! A simulated server that speaks HTTP/2 on one connection. It answers requests as [`Server`](crate::server::Server)
//! does, many at once, and misbehaves as configured: it resets and refuses streams, goes away, and gives small windows.

use std::time::Duration;

use weir_proxy::io::Time;
use weir_wire::{
    head::{FieldTable, HeadSink, Limits, Overflow},
    http2::{Code, Config, Connection, Event, Refused, Role, Settings, hpack::Encoder},
};

use crate::{
    network::Wake,
    peer::{Deed, Desk, Peer},
    rng::{BodyOf, Rng, body_of},
    server::{Fault, REQUEST_BODY, Style, Temper},
    watch::{self, Watch},
};

const LIMITS: Limits = Limits { head_bytes: 64 * 1024, field_bytes: 32 * 1024, fields: 128 };
/// It goes away behind so many requests, if it does. More than there are clients: a request that it has not seen is
/// certainly seen by the next connection.
const REQUESTS_BEFORE_LEAVING: u64 = 24;

pub struct Http2Server {
    name: String,
    temper: Temper,
    /// Nothing goes wrong in this run.
    calm: bool,
    connection: Connection<Sheet>,
    watch: Watch,
    /// When which stream is answered.
    due: Vec<(Time, u32)>,
    requests: u64,
    leaves: bool,
    deaf: bool,
}

/// A stream: what it asks, and what is to be sent.
#[derive(Default)]
struct Sheet {
    request: Option<Request>,
    body: Vec<u8>,
    sent: usize,
    has_head: bool,
    ends: Option<End>,
}

struct Request {
    id: u64,
    head_only: bool,
    len: usize,
    style: Style,
    body: BodyOf,
    answered: bool,
}

/// What comes behind the body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Stream,
    Trailers,
    Reset,
    Close,
    Never,
}

impl Http2Server {
    pub fn new(name: String, temper: Temper, calm: bool, rng: &mut Rng) -> Self {
        let settings = Settings {
            max_concurrent_streams: rng.pick(&[None, Some(1), Some(3), Some(100)]),
            // A byte at a time takes longer than a client waits.
            initial_window: rng.pick(if calm { &[5_000, 65_535, 1 << 20] } else { &[1, 100, 65_535] }),
            ..Settings::default()
        };
        let window = rng.pick(&[65_535, 1 << 20]);
        let config = Config { settings, window, head_bytes: 64 * 1024, control_frames: 0, empty_frames: 0 };
        let connection = Connection::new(Role::Server, config, 0);
        let leaves = rng.chance(30) && !temper.stays;
        let watch = Watch::new(watch::Peer::Server);
        Self { name, temper, calm, connection, watch, due: Vec::new(), requests: 0, leaves, deaf: false }
    }

    fn hear(&mut self, piece: &[u8], desk: &mut Desk<'_>) -> Result<(), Code> {
        let mut at = 0;
        loop {
            match self.connection.take(piece, &mut at, desk.now.nanos / 1_000_000)? {
                Event::More => return Ok(()),
                Event::Head { stream, is_all } => self.head(stream, is_all, piece, desk)?,
                Event::Trailers { stream } => {
                    self.trailers(stream, piece, desk);
                    self.body(stream, &[], true, desk);
                }
                Event::Data { stream, content, is_all } => {
                    self.connection.give_back(stream, content.len() as u32);
                    self.body(stream, &piece[content], is_all, desk);
                }
                Event::Reset { stream, code } => {
                    desk.tell(&self.name, format_args!("hears that stream {stream} is over: {code:?}"));
                    self.connection.end(stream, Code::NoError);
                }
                Event::Room { .. } | Event::Priority { .. } => {}
                Event::GoAway { .. } => self.leaves = true,
            }
        }
    }

    fn head(&mut self, stream: u32, is_all: bool, piece: &[u8], desk: &mut Desk<'_>) -> Result<(), Code> {
        let mut table = FieldTable::new();
        let request = match self.connection.request(piece, &LIMITS, &mut table) {
            Ok(request) => request,
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Message(error)) => {
                desk.ledger.violation(&self.name, format_args!("got a malformed request: {error:?}"));
                return Ok(());
            }
        };
        let (head, path) = (request.head, String::from_utf8_lossy(request.head.path).into_owned());
        let mut words = path.split('/').skip(1);
        let Some(id) = words.next().and_then(|id| id.parse::<u64>().ok()) else {
            desk.ledger.violation(&self.name, format_args!("got a request that nobody sent: {path:?}"));
            return Ok(());
        };
        let method = String::from_utf8_lossy(head.method_text).into_owned();
        desk.tell(&self.name, format_args!("gets {method} {path} on stream {stream}"));
        self.requests += 1;
        let may_refuse = is_all || !self.calm; // what has begun to be sent cannot be asked again
        if may_refuse && desk.rng.chance(self.temper.refuse_percent) && desk.ledger.may_refuse(id, self.calm) {
            desk.tell(&self.name, format_args!("refuses stream {stream}"));
            self.connection.end(stream, Code::RefusedStream);
            return Ok(());
        }
        let idempotent = matches!(method.as_str(), "GET" | "HEAD" | "PUT" | "DELETE");
        desk.ledger.serve(&self.name, id, idempotent);
        desk.ledger.tally.served_http2 += 1;
        let len = words.next().and_then(|len| len.parse().ok()).unwrap_or(0);
        let style = Style::named(words.next().unwrap_or_default());
        let (expects, head_only) = (head.expect_continue, method == "HEAD");
        let request = Request { id, head_only, len, style, body: BodyOf::new(id ^ REQUEST_BODY), answered: false };
        if let Some(sheet) = self.connection.kept(stream) {
            sheet.request = Some(request);
        }
        if expects {
            self.send_head(stream, 100, &[], false, desk);
        }
        self.body(stream, &[], is_all, desk);
        if self.leaves && self.requests == REQUESTS_BEFORE_LEAVING {
            desk.tell(&self.name, "goes away");
            self.connection.go_away(Code::NoError);
        }
        Ok(())
    }

    fn trailers(&mut self, stream: u32, piece: &[u8], desk: &mut Desk<'_>) {
        let mut table = FieldTable::new();
        let read = self.connection.trailers(piece, &LIMITS, &mut table);
        let sum = read.ok().and_then(|fields| std::str::from_utf8(fields.find(b"x-sum")?).ok()?.parse().ok());
        let Some(request) = self.connection.kept(stream).and_then(|sheet| sheet.request.as_ref()) else { return };
        if sum != Some(request.id) {
            desk.ledger.violation(&self.name, format_args!("got wrong trailers for request {}", request.id));
        }
    }

    fn body(&mut self, stream: u32, content: &[u8], is_all: bool, desk: &mut Desk<'_>) {
        let Some(request) = self.connection.kept(stream).and_then(|sheet| sheet.request.as_mut()) else { return };
        if !request.body.continues_with(content) {
            desk.ledger.violation(&self.name, format_args!("got a wrong body for request {}", request.id));
        }
        if !request.answered && (is_all || request.style == Style::Early) {
            request.answered = true;
            let think = Duration::from_micros(desk.rng.between(0, self.temper.think_time_us));
            self.due.push((desk.now + think, stream));
            desk.wake_after(think);
        }
    }

    /// Answers the streams whose time has come.
    fn act(&mut self, desk: &mut Desk<'_>) {
        let (due, later): (Vec<_>, Vec<_>) = self.due.drain(..).partition(|(at, _)| *at <= desk.now);
        self.due = later;
        for (_, stream) in due {
            self.answer(stream, desk);
        }
    }

    fn answer(&mut self, stream: u32, desk: &mut Desk<'_>) {
        let fault = desk.rng.chance(self.temper.fault_percent).then(|| desk.rng.pick(&self.temper.faults));
        let Some(request) = self.connection.kept(stream).and_then(|sheet| sheet.request.as_ref()) else { return };
        let (id, len, style, head_only) = (request.id, request.len, request.style, request.head_only);
        if style == Style::Hang {
            return;
        }
        if let Some(fault) = fault {
            desk.tell(&self.name, format_args!("has a fault on stream {stream}: {fault:?}"));
        }
        let (id_text, len_text) = (id.to_string(), len.to_string());
        let (x_id, text) = (("x-id", id_text.as_str()), ("content-type", "text/plain"));
        let (status, fields, has_body) = match style {
            Style::Chunked | Style::UntilClose | Style::Trailers => (200, vec![x_id, text], true),
            Style::NoContent => (204, vec![x_id], false),
            Style::NotModified => (304, vec![x_id, ("content-length", &len_text)], false),
            Style::Length | Style::Interim | Style::Early | Style::Hang => {
                (200, vec![x_id, text, ("content-length", &len_text)], true)
            }
        };
        let may_be_busy = status == 200 && style != Style::Interim && fault.is_none();
        let status = match may_be_busy && desk.rng.chance(self.temper.busy_percent) {
            true => {
                desk.ledger.turn_away(&self.name, id);
                503
            }
            false => status,
        };
        let body = if has_body && !head_only { body_of(id, len) } else { Vec::new() };
        let half = body[..body.len() / 2].to_vec();
        if style == Style::Interim && fault.is_none() {
            self.send_head(stream, 103, &[("link", "</a>; rel=preload")], false, desk);
            self.send_head(stream, 102, &[], false, desk);
        }
        let (body, end) = match fault {
            None if style == Style::Trailers && !head_only => (body, End::Trailers),
            None => (body, End::Stream),
            Some(Fault::Garbage) => {
                desk.send(body_of(id, 300));
                return self.close(desk);
            }
            Some(Fault::BadHead) => {
                return self.send_head(stream, 200, &[("transfer-encoding", "chunked")], false, desk);
            }
            Some(Fault::HugeHead) => {
                return self.send_head(stream, 200, &[("x-huge", &"x".repeat(60_000))], false, desk);
            }
            Some(Fault::Stall) => return,
            Some(Fault::ResetBefore) => {
                self.connection.end(stream, Code::InternalError);
                return;
            }
            Some(Fault::CloseBefore) => return self.close(desk),
            Some(Fault::StallHalfway) => (half, End::Never),
            Some(Fault::ResetHalfway) => (half, End::Reset),
            Some(Fault::CloseHalfway) => (half, End::Close),
            Some(Fault::Surplus) => ([&body[..], b"wrong"].concat(), End::Stream),
        };
        let has_length = fields.iter().any(|(name, _)| *name == "content-length");
        let surplus_fits = fault == Some(Fault::Surplus) && (!has_length || !has_body || head_only);
        if surplus_fits {
            // Nothing would tell the surplus from the body.
            self.connection.end(stream, Code::InternalError);
            return;
        }
        let is_all = body.is_empty() && end == End::Stream;
        self.send_head(stream, status, &fields, is_all, desk);
        match self.connection.kept(stream) {
            Some(_) if is_all => {
                self.connection.end(stream, Code::NoError);
            }
            Some(sheet) => (sheet.body, sheet.ends, sheet.has_head) = (body, Some(end), true),
            None => {}
        }
    }

    fn send_head(&mut self, stream: u32, status: u16, fields: &[(&str, &str)], is_all: bool, desk: &mut Desk<'_>) {
        self.send_block(stream, is_all, desk, |room| {
            let mut encoder = Encoder::response(room);
            encoder.status(status, b"");
            fields.iter().for_each(|(name, value)| encoder.field(name.as_bytes(), [value.as_bytes()]));
            encoder.end()
        });
    }

    fn send_block(
        &mut self,
        stream: u32,
        is_all: bool,
        desk: &mut Desk<'_>,
        write: impl FnOnce(&mut [u8]) -> Result<usize, Overflow>,
    ) {
        let mut out = vec![0; 70_000];
        self.flush(desk);
        let written = self.connection.write_head(&mut out, stream, is_all, write);
        out.truncate(written.unwrap_or(0));
        self.say(out, desk);
    }

    /// Sends what the windows allow, a frame of each stream in turn.
    fn speak(&mut self, desk: &mut Desk<'_>) {
        let mut sends = !self.deaf;
        while sends {
            sends = false;
            for stream in self.connection.ids() {
                sends |= self.speak_on(stream, desk);
                if self.deaf {
                    return;
                }
            }
        }
        self.flush(desk);
        if self.connection.is_over() && !std::mem::replace(&mut self.deaf, true) {
            // What it has sent may still be under way: a close would reset it if the proxy is saying something.
            desk.deeds.push(Deed::Finish);
        }
    }

    /// One frame of a stream; false: it has nothing to send, or no room.
    fn speak_on(&mut self, stream: u32, desk: &mut Desk<'_>) -> bool {
        let room = self.connection.room(stream) as usize;
        let most = desk.rng.between(1, 9000) as usize;
        let Some(sheet) = self.connection.kept(stream).filter(|sheet| sheet.has_head) else { return false };
        let (left, end) = (sheet.body.len() - sheet.sent, sheet.ends);
        let bytes = left.min(room).min(most);
        if left > 0 && bytes == 0 {
            return false;
        }
        let is_last = bytes == left;
        if is_last && left == 0 && end == Some(End::Never) {
            return false;
        }
        let id = sheet.request.as_ref().map_or(0, |request| request.id);
        let frame = sheet.body[sheet.sent..sheet.sent + bytes].to_vec();
        sheet.sent += bytes;
        let ends = is_last && end == Some(End::Stream);
        if !frame.is_empty() || ends {
            let header = self.connection.data(stream, bytes as u32, ends);
            self.flush(desk);
            self.say([&header[..], &frame].concat(), desk);
        }
        match end {
            Some(End::Stream) if is_last => _ = self.connection.end(stream, Code::NoError),
            Some(End::Trailers) if is_last => {
                self.send_block(stream, true, desk, |room| {
                    let mut encoder = Encoder::trailers(room);
                    encoder.lines(format!("X-Sum: {id}\r\n").as_bytes());
                    encoder.end()
                });
                self.connection.end(stream, Code::NoError);
            }
            Some(End::Reset) if is_last => _ = self.connection.end(stream, Code::InternalError),
            Some(End::Close) if is_last => self.close(desk),
            _ => {}
        }
        true
    }

    fn flush(&mut self, desk: &mut Desk<'_>) {
        let control = std::mem::take(self.connection.control());
        if !control.is_empty() && !self.deaf {
            self.say(control, desk);
        }
    }

    /// Sends whole frames.
    fn say(&mut self, frames: Vec<u8>, desk: &mut Desk<'_>) {
        self.watch.said(&frames);
        desk.send(frames);
    }

    fn close(&mut self, desk: &mut Desk<'_>) {
        self.flush(desk);
        if !std::mem::replace(&mut self.deaf, true) {
            desk.deeds.push(Deed::Close);
        }
    }
}

impl Peer for Http2Server {
    fn wake(&mut self, wake: Wake, desk: &mut Desk<'_>) {
        match wake {
            // It has finished, or closed before.
            Wake::Fin if self.deaf => return desk.deeds.push(Deed::Close),
            _ if self.deaf => return,
            Wake::Connected => {}
            Wake::Bytes(bytes) => {
                if let Err(wrong) = self.watch.heard(&bytes) {
                    desk.ledger.violation(&self.name, format_args!("the proxy {wrong}"));
                }
                if let Err(code) = self.hear(&bytes, desk) {
                    desk.ledger.violation(&self.name, format_args!("was spoken to wrongly: {code:?}"));
                    return self.close(desk);
                }
            }
            Wake::Fin => return self.close(desk),
            Wake::Reset => return self.deaf = true,
            Wake::Timer => self.act(desk),
        }
        self.speak(desk);
    }
}
