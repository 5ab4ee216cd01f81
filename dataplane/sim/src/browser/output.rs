//! What a client of HTTP/2 sends: heads, bodies as windows allow, and all of it in any pieces.

use std::time::Duration;

use weir_wire::{
    head::{HeadSink, Overflow},
    http2::hpack::{Encoder, Target},
};

use super::{AGAIN, Browser, Manner, Task};
use crate::{
    breach::{frame, malformed_head},
    client::{Request, RequestBody},
    peer::Desk,
    rng::{Rng, body_of},
    server::REQUEST_BODY,
    unpacked::takes_gzip,
};

/// The frames of one visit to all bodies.
const FRAMES_AT_ONCE: usize = 64;

impl Browser {
    pub(super) fn may_ask(&self) -> bool {
        self.last.is_none() && (self.plan.eager || !self.told_to_leave)
    }

    pub(super) fn ask(&mut self, desk: &mut Desk<'_>) {
        while self.may_ask() && self.connection.streams() < self.plan.streams {
            let is_malformed = self.plan.malformed > 0 && (self.waiting.is_empty() || desk.rng.chance(30));
            if !is_malformed && self.waiting.is_empty() && self.plan.sockets.is_empty() {
                return;
            }
            let Some(id) = self.connection.open() else { return };
            if let Some(plan) = self.plan.sockets.pop() {
                self.ask_for_tunnel(id, plan, desk);
            } else if is_malformed {
                self.ask_malformed(id, desk);
            } else if let Some(request) = self.waiting.pop() {
                self.ask_for(id, request, desk);
            }
        }
    }

    fn ask_malformed(&mut self, id: u32, desk: &mut Desk<'_>) {
        self.plan.malformed -= 1;
        let number = self.plan.malformed_id + self.plan.malformed;
        let (block, is_all) = malformed_head(desk.rng, number);
        desk.tell(&self.plan.name, format_args!("{id}: sends {:?}", String::from_utf8_lossy(&block)));
        desk.ledger.tally.asked += 1;
        desk.ledger.promise_unserved(&self.plan.name, number);
        if let Some(ask) = self.connection.kept(id) {
            (ask.said_all, ask.is_held) = (is_all, true);
        }
        self.write_head(id, is_all, desk, |room| {
            room.get_mut(..block.len()).ok_or(Overflow)?.copy_from_slice(&block);
            Ok(block.len())
        });
    }

    fn ask_for(&mut self, id: u32, request: Request, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, format_args!("{id}: asks {} for {}", request.method, request.path()));
        desk.ledger.tally.asked += u64::from(request.id < AGAIN);
        let (len, length) = match request.body {
            RequestBody::None => (0, None),
            RequestBody::Length(len) => (len, Some(len)),
            RequestBody::Chunked(len) => (len, None),
        };
        let is_all = request.body == RequestBody::None;
        // Who has no content must expect nothing (RFC 9110 §10.1.1).
        let expects = request.expect_continue && len > 0;
        let (method, path, request_id) = (request.method, request.path(), request.id);
        let has_trailers = request.has_trailers();
        if let Some(ask) = self.connection.kept(id) {
            ask.body = body_of(request.id ^ REQUEST_BODY, len);
            (ask.is_held, ask.said_all, ask.asked_at) = (expects, is_all, desk.now);
            ask.request = Some(request);
        }
        self.write_head(id, is_all, desk, |room| {
            let mut encoder = Encoder::request(room, Target { scheme: b"http", authority: b"sim.test" });
            encoder.request(method.as_bytes(), path.as_bytes());
            if let Some(length) = length {
                encoder.field(b"content-length", [length.to_string().as_bytes()]);
            }
            if expects {
                encoder.field(b"expect", [&b"100-continue"[..]]);
            }
            if has_trailers {
                encoder.field(b"trailer", [&b"X-Sum"[..]]);
            }
            encoder.field(b"user-agent", [&b"sim"[..]]);
            if takes_gzip(request_id) {
                encoder.field(b"accept-encoding", [&b"gzip"[..]]);
            }
            encoder.end()
        });
    }

    /// Sends a head or trailers, some in two frames.
    pub(super) fn write_head(
        &mut self,
        id: u32,
        is_all: bool,
        desk: &mut Desk<'_>,
        write: impl FnOnce(&mut [u8]) -> Result<usize, Overflow>,
    ) {
        self.flush_control(desk);
        let mut out = vec![0; 1024];
        let Ok(written) = self.connection.write_head(&mut out, id, is_all, write) else {
            return desk.ledger.violation(&self.plan.name, "has no room for a head");
        };
        out.truncate(written);
        if desk.rng.chance(20) {
            out = continued(desk.rng, &out);
        }
        self.write(out, desk);
    }

    /// Sends of all bodies what windows allow, a frame of one at a time.
    pub(super) fn send_bodies(&mut self, desk: &mut Desk<'_>) {
        for _ in 0..FRAMES_AT_ONCE {
            let ready: Vec<u32> = self.connection.ids().into_iter().filter(|id| self.may_send_on(*id)).collect();
            if ready.is_empty() {
                return;
            }
            let id = desk.rng.pick(&ready);
            self.send_body(id, desk);
        }
        // The rest goes when the next piece of anything comes, at the latest soon.
        self.later(Duration::from_micros(50), Task::Write, desk);
    }

    fn may_send_on(&mut self, id: u32) -> bool {
        let room = self.connection.room(id);
        let Some(ask) = self.connection.kept(id) else { return false };
        let has_all = ask.tunnel.as_ref().is_none_or(|tunnel| tunnel.has_said_all);
        let is_due = if ask.sent < ask.body.len() { room > 0 } else { has_all };
        !ask.said_all && !ask.is_held && is_due
    }

    fn send_body(&mut self, id: u32, desk: &mut Desk<'_>) {
        self.flush_control(desk);
        let room = self.connection.room(id) as usize;
        let Some(ask) = self.connection.kept(id) else { return };
        let left = ask.body.len() - ask.sent;
        let most = desk.rng.pick(&[100, 5_000, 16_384]);
        let len = left.min(most).min(room);
        let padding = if room > len && desk.rng.chance(10) { (room - len - 1).min(most - len).min(255) } else { 0 };
        let pads = padding > 0;
        let content = ask.body[ask.sent..ask.sent + len].to_vec();
        ask.sent += len;
        let has_all = ask.tunnel.as_ref().is_none_or(|tunnel| tunnel.has_said_all);
        let whole = ask.sent == ask.body.len() && has_all;
        let has_trailers = whole && ask.request.as_ref().is_some_and(Request::has_trailers);
        // Its end comes with the last content, or in a frame of its own.
        let is_all = whole && !has_trailers && (len == 0 || desk.rng.chance(70));
        ask.said_all = is_all || has_trailers;
        let number = ask.request.as_ref().map_or(0, |request| request.id);
        desk.tell(&self.plan.name, format_args!("{id}: sends {len} bytes{}", if whole { ", all" } else { "" }));
        if len > 0 || is_all {
            let bytes = len + if pads { 1 + padding } else { 0 };
            let mut out = self.connection.data(id, bytes as u32, is_all).to_vec();
            if pads {
                out[4] |= 8;
                out.push(padding as u8);
            }
            out.extend(content);
            out.resize(out.len() + padding, 0);
            self.write(out, desk);
        }
        if has_trailers {
            self.write_head(id, true, desk, |room| {
                let mut encoder = Encoder::trailers(room);
                encoder.lines(format!("X-Sum: {number}\r\n").as_bytes());
                encoder.end()
            });
        }
        self.end_tunnel(id);
    }

    pub(super) fn flush_control(&mut self, desk: &mut Desk<'_>) {
        let control = std::mem::take(self.connection.control());
        self.write(control, desk);
    }

    /// Sends whole frames.
    pub(super) fn write(&mut self, frames: Vec<u8>, desk: &mut Desk<'_>) {
        if !self.connection.control().is_empty() {
            self.flush_control(desk);
        }
        self.watch.said(&frames);
        self.write_bytes(frames, desk);
    }

    /// Sends in pieces, with pauses between them.
    pub(super) fn write_bytes(&mut self, mut bytes: Vec<u8>, desk: &mut Desk<'_>) {
        if let Manner::FallsSilent(after) = &mut self.plan.manner {
            bytes.truncate(*after);
            *after -= bytes.len();
        }
        if self.plan.pause_us > 0 && bytes.len() > 1 && desk.rng.chance(20) {
            let cut = desk.rng.between(1, bytes.len() as u64 - 1) as usize;
            let rest = bytes.split_off(cut);
            self.script.extend([bytes, rest]);
        } else if !bytes.is_empty() {
            self.script.push(bytes);
        }
        if !self.pacing {
            self.write_next(desk);
        }
    }

    pub(super) fn write_next(&mut self, desk: &mut Desk<'_>) {
        self.pacing = false;
        let mut pieces = std::mem::take(&mut self.script).into_iter();
        for piece in pieces.by_ref() {
            let said = self.channel.say(&piece);
            desk.send(said);
            if self.plan.pause_us > 0 && desk.rng.chance(20) {
                break;
            }
        }
        self.script = pieces.collect();
        if !self.script.is_empty() {
            self.pacing = true;
            let pause = Duration::from_micros(desk.rng.between(1, self.plan.pause_us));
            self.later(pause, Task::Write, desk);
        }
    }
}

/// The frame of a head as two frames.
fn continued(rng: &mut Rng, head: &[u8]) -> Vec<u8> {
    let (header, block) = head.split_at(9);
    let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
    let cut = rng.between(0, block.len() as u64 - 1) as usize;
    [frame(1, header[4] & !4, stream, &block[..cut]), frame(9, 4, stream, &block[cut..])].concat()
}
