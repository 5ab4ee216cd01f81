//! A simulated client that speaks HTTP/2: many streams at once on one connection. It checks that the answer on each
//! stream is its own, in order, and complete, and that the proxy keeps the standard.
//!
//! `weir-wire` writes and reads its heads and keeps its streams; the windows are its own, and [`Watch`] checks them.

use std::time::Duration;

use weir_proxy::io::Time;
use weir_wire::{
    head::{FieldTable, HeadSink, Limits, Method, Overflow},
    http2::{
        Code, Config, Connection, Event, Role, Settings, WINDOW_MAX,
        hpack::{Encoder, Target},
    },
};

use crate::{
    breach::{Breach, frame, malformed_head},
    channel::Channel,
    client::{Promises, Request, RequestBody},
    network::Wake,
    peer::{Deed, Desk, Ledger, Peer},
    rng::{BodyOf, Rng, body_of},
    server::{REQUEST_BODY, Style},
    watch::Watch,
};

const LIMITS: Limits = Limits { head_bytes: 64 * 1024, field_bytes: 16 * 1024, fields: 64 };
/// A request that was refused is asked again as another one, so that it is known that no server has got the first.
const AGAIN: u64 = 1 << 40;
/// The frames of one visit to all bodies.
const FRAMES_AT_ONCE: usize = 64;
/// Control frames that a restless client sends.
const RESTLESS_FRAMES: u32 = 20;

/// What a client does besides asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    Polite,
    /// Resets the connection after a while.
    Resets(Duration),
    /// Closes the connection after a while.
    Closes(Duration),
    /// Sends this many bytes of what it should, and no more.
    FallsSilent(usize),
    /// Breaks the standard after a while.
    Breaks(Breach, Duration),
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub name: String,
    pub requests: Vec<Request>,
    pub manner: Manner,
    /// How many streams it has open at once, at most.
    pub streams: usize,
    /// Of each stream, for what it receives.
    pub window: u32,
    /// How long it keeps what it has received before it lets more come.
    pub late_us: u64,
    /// Pause between two pieces of what it sends.
    pub pause_us: u64,
    /// Sends PINGs, SETTINGS that change the window, and priorities amid it all.
    pub restless: bool,
    /// How often it resets a stream, in percent of the times when something comes.
    pub resets_percent: u64,
    /// How many malformed requests it sends besides.
    pub malformed: u64,
    /// The ids of those.
    pub malformed_id: u64,
    /// Goes on to ask until it is told which stream was the last.
    pub eager: bool,
    /// Reads nothing, so it may wait for ever.
    pub deaf: bool,
    /// Nothing goes wrong in this run: each request must be answered by a server.
    pub calm: bool,
    /// Nothing in this run makes the proxy end the connection of its own.
    pub stays: bool,
    pub promises: Promises,
}

/// What it keeps with a stream.
#[derive(Default)]
struct Ask {
    /// `None`: it is malformed.
    request: Option<Request>,
    body: Vec<u8>,
    sent: usize,
    /// Waits with the body for a 100.
    is_held: bool,
    said_all: bool,
    answer: Option<Answer>,
    is_answered: bool,
    has_trailers: bool,
    /// Received, and not given back.
    owed: u32,
}

struct Answer {
    status: u16,
    from_server: bool,
    body: BodyOf,
}

enum Task {
    Write,
    GiveBack,
    Leave,
    Break,
}

pub struct Browser {
    plan: Plan,
    channel: Channel,
    hello: Vec<u8>,
    connection: Connection<Ask>,
    watch: Watch,
    table: FieldTable,
    /// To be asked, the next one last.
    waiting: Vec<Request>,
    tasks: Vec<(Time, Task)>,
    script: Vec<Vec<u8>>,
    pacing: bool,
    giving_back: bool,
    restless_frames: u32,
    window: u32,
    /// The proxy has announced that it goes away.
    told_to_leave: bool,
    /// Behind which stream it takes nothing.
    last: Option<u32>,
    accused: Option<Code>,
    has_heard: bool,
    over: bool,
}

impl Browser {
    pub fn new(plan: Plan, channel: Channel, hello: Vec<u8>) -> Self {
        // The windows of streams are kept here: those of the connection would not follow a change of SETTINGS.
        let settings = Settings { enable_push: false, initial_window: WINDOW_MAX, ..Settings::default() };
        let config = Config { settings, window: 1 << 20, head_bytes: 64 * 1024, control_frames: 0, empty_frames: 0 };
        let waiting = plan.requests.iter().rev().cloned().collect();
        Self {
            window: plan.window,
            plan,
            channel,
            hello,
            connection: Connection::new(Role::Client, config, 0),
            watch: Watch::new(),
            table: FieldTable::new(),
            waiting,
            tasks: Vec::new(),
            script: Vec::new(),
            pacing: false,
            giving_back: false,
            restless_frames: 0,
            told_to_leave: false,
            last: None,
            accused: None,
            has_heard: false,
            over: false,
        }
    }

    fn begin(&mut self, desk: &mut Desk<'_>) {
        desk.send(std::mem::take(&mut self.hello));
        match &self.plan.manner {
            Manner::Resets(after) | Manner::Closes(after) => self.later(*after, Task::Leave, desk),
            Manner::Breaks(_, after) => self.later(*after, Task::Break, desk),
            Manner::Polite | Manner::FallsSilent(_) => {}
        }
        let window = self.settings();
        self.write(window, desk);
        self.go_on(desk);
    }

    fn settings(&self) -> Vec<u8> {
        frame(4, 0, 0, &[&[0, 4][..], &self.window.to_be_bytes()].concat())
    }

    fn later(&mut self, span: Duration, task: Task, desk: &mut Desk<'_>) {
        self.tasks.push((desk.now + span, task));
        desk.wake_after(span);
    }

    fn do_tasks(&mut self, desk: &mut Desk<'_>) {
        while let Some(at) = self.tasks.iter().position(|(at, _)| *at <= desk.now) {
            match self.tasks.remove(at).1 {
                Task::Write => self.write_next(desk),
                Task::GiveBack => {
                    self.giving_back = false;
                    self.give_back(desk);
                }
                Task::Leave => {
                    if let Manner::Resets(_) = self.plan.manner {
                        desk.deeds.push(Deed::Reset);
                    }
                    return self.end(true, desk);
                }
                Task::Break => self.break_the_standard(desk),
            }
        }
    }

    fn break_the_standard(&mut self, desk: &mut Desk<'_>) {
        if let Manner::Breaks(breach, _) = &self.plan.manner {
            let needs_stream = breach.needs_stream();
            let stream = if needs_stream { self.connection.open() } else { None };
            if needs_stream && stream.is_none() && !self.told_to_leave {
                return self.later(Duration::from_millis(1), Task::Break, desk);
            }
            let bytes = breach.bytes_on(stream.unwrap_or(1));
            if let Some(ask) = stream.and_then(|stream| self.connection.kept(stream)) {
                (ask.is_answered, ask.said_all) = (true, true);
            }
            desk.tell(&self.plan.name, format_args!("sends what deserves {:?}", breach.code));
            self.flush_control(desk);
            self.write_bytes(bytes, desk);
        }
    }

    /// Asks, sends what windows allow, and ends when all is done.
    fn go_on(&mut self, desk: &mut Desk<'_>) {
        self.ask(desk);
        self.send_bodies(desk);
        self.flush_control(desk);
        if self.is_done() && !self.over {
            self.leave(desk);
        }
    }

    fn leave(&mut self, desk: &mut Desk<'_>) {
        self.over = true;
        self.judge_windows(desk);
        if desk.rng.chance(50) {
            self.connection.go_away(Code::NoError);
            self.flush_control(desk);
        }
        desk.send(self.channel.say_goodbye());
        desk.deeds.push(Deed::Close);
    }

    fn judge_windows(&mut self, desk: &mut Desk<'_>) {
        let regular = self.plan.manner == Manner::Polite && self.plan.resets_percent == 0 && self.plan.malformed == 0;
        let has_early =
            self.plan.requests.iter().any(|request| request.style == Style::Early || request.expect_continue);
        if !self.plan.calm || !regular || has_early || self.told_to_leave {
            return;
        }
        if self.watch.is_short() {
            desk.ledger.violation(&self.plan.name, "was not given back its window");
        }
    }

    fn is_done(&self) -> bool {
        let stops = self.waiting.is_empty() && self.plan.malformed == 0 || self.told_to_leave;
        // A stream may still be open for a body that nobody needs.
        let quiet = self.plan.manner == Manner::Polite && self.connection.each_kept().all(|ask| ask.is_answered);
        quiet && stops && self.script.is_empty() && self.watch.is_acknowledged()
    }

    fn may_ask(&self) -> bool {
        self.last.is_none() && (self.plan.eager || !self.told_to_leave)
    }

    fn ask(&mut self, desk: &mut Desk<'_>) {
        while self.may_ask() && self.connection.streams() < self.plan.streams {
            let is_malformed = self.plan.malformed > 0 && (self.waiting.is_empty() || desk.rng.chance(30));
            if !is_malformed && self.waiting.is_empty() {
                return;
            }
            let Some(id) = self.connection.open() else { return };
            if is_malformed {
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
        let (method, path) = (request.method, request.path());
        let has_trailers = request.has_trailers();
        if let Some(ask) = self.connection.kept(id) {
            ask.body = body_of(request.id ^ REQUEST_BODY, len);
            (ask.is_held, ask.said_all) = (expects, is_all);
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
            encoder.end()
        });
    }

    /// Sends a head or trailers, some in two frames.
    fn write_head(
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
    fn send_bodies(&mut self, desk: &mut Desk<'_>) {
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
        !ask.said_all && !ask.is_held && (room > 0 || ask.sent == ask.body.len())
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
        let whole = ask.sent == ask.body.len();
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
    }

    fn flush_control(&mut self, desk: &mut Desk<'_>) {
        let control = std::mem::take(self.connection.control());
        self.write(control, desk);
    }

    /// Sends whole frames.
    fn write(&mut self, frames: Vec<u8>, desk: &mut Desk<'_>) {
        if !self.connection.control().is_empty() {
            self.flush_control(desk);
        }
        self.watch.said(&frames);
        self.write_bytes(frames, desk);
    }

    /// Sends in pieces, with pauses between them.
    fn write_bytes(&mut self, mut bytes: Vec<u8>, desk: &mut Desk<'_>) {
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

    fn write_next(&mut self, desk: &mut Desk<'_>) {
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

// What comes.
impl Browser {
    fn hear(&mut self, bytes: Vec<u8>, desk: &mut Desk<'_>) {
        let heard = self.channel.hear(bytes);
        if !heard.reply.is_empty() {
            desk.send(heard.reply);
        }
        if let Some(why) = heard.failed {
            desk.tell(&self.plan.name, format_args!("cannot go on with TLS: {why}"));
            if self.plan.calm && self.plan.manner == Manner::Polite {
                desk.ledger.violation(&self.plan.name, format_args!("TLS fails: {why}"));
            }
        }
        if self.is_http1(&heard.plain, desk) {
            return;
        }
        if let Err(wrong) = self.watch.heard(&heard.plain) {
            desk.ledger.violation(&self.plan.name, format_args!("the proxy {wrong}"));
        }
        self.take(&heard.plain, desk);
        self.fidget(desk);
        self.go_on(desk);
    }

    /// Whether a proxy answers that does not let its clients speak HTTP/2 any more.
    fn is_http1(&mut self, plain: &[u8], desk: &mut Desk<'_>) -> bool {
        let is_first = !plain.is_empty() && !std::mem::replace(&mut self.has_heard, true);
        let is_http1 = is_first && plain.starts_with(b"HTT");
        if is_http1 {
            self.end(false, desk);
        }
        is_http1
    }

    fn take(&mut self, piece: &[u8], desk: &mut Desk<'_>) {
        let mut at = 0;
        loop {
            let now_ms = desk.now.nanos / 1_000_000;
            match self.connection.take(piece, &mut at, now_ms) {
                Ok(Event::More) => return,
                Ok(event) => self.meet(event, piece, desk),
                Err(code) => {
                    self.over = true;
                    self.settle(desk.ledger);
                    desk.deeds.push(Deed::Reset);
                    return desk.ledger.violation(&self.plan.name, format_args!("the proxy deserves {code:?}"));
                }
            }
        }
    }

    fn meet(&mut self, event: Event, piece: &[u8], desk: &mut Desk<'_>) {
        match event {
            Event::Head { stream, is_all } => self.take_head(stream, is_all, piece, desk),
            Event::Data { stream, content, is_all } => self.take_content(stream, &piece[content], is_all, desk),
            Event::Trailers { stream } => self.take_trailers(stream, piece, desk),
            Event::Reset { stream, code } => self.take_reset(stream, code, desk),
            Event::GoAway { last, code } => self.take_go_away(last, code, desk),
            Event::Room { .. } | Event::Priority { .. } | Event::More => {}
        }
    }

    fn take_head(&mut self, stream: u32, is_all: bool, piece: &[u8], desk: &mut Desk<'_>) {
        let name = &self.plan.name;
        let request = self.connection.kept(stream).and_then(|ask| ask.request.clone());
        let method = request.as_ref().map_or(Method::Get, |request| Method::of(request.method.as_bytes()));
        let (status, id) = match self.connection.response(piece, method, &LIMITS, &mut self.table) {
            Ok(head) => {
                let id = head.fields.find(b"x-id").and_then(|id| std::str::from_utf8(id).ok()?.parse::<u64>().ok());
                (head.status, id)
            }
            Err(wrong) => {
                return desk.ledger.violation(name, format_args!("{stream}: got a malformed head: {wrong:?}"));
            }
        };
        desk.tell(name, format_args!("{stream}: gets {status}"));
        let Some(ask) = self.connection.kept(stream) else { return };
        let Some(request) = request else {
            return desk.ledger.violation(name, format_args!("{stream}: got {status} for a malformed request"));
        };
        if status < 200 {
            ask.is_held &= status != 100;
            return;
        }
        match id {
            Some(id) if id != request.id => {
                desk.ledger.violation(name, format_args!("{stream}: asked for {} and got {id}", request.id));
            }
            Some(_) => {}
            None => {
                let swallowed = !self.plan.promises.keepalive && !request.is_repeatable();
                if self.plan.calm && self.plan.manner == Manner::Polite && !(swallowed && status == 502) {
                    desk.ledger.violation(name, format_args!("{stream}: got {status} while nothing was wrong"));
                }
            }
        }
        ask.answer = Some(Answer { status, from_server: id.is_some(), body: BodyOf::new(request.id) });
        if is_all {
            self.finish(stream, desk);
        }
    }

    fn take_content(&mut self, stream: u32, content: &[u8], is_all: bool, desk: &mut Desk<'_>) {
        let Some(ask) = self.connection.kept(stream) else { return };
        ask.owed += content.len() as u32;
        match &mut ask.answer {
            Some(answer) => {
                if answer.from_server && !answer.body.continues_with(content) {
                    desk.ledger.violation(&self.plan.name, format_args!("{stream}: got a wrong body"));
                }
            }
            None => desk.ledger.violation(&self.plan.name, format_args!("{stream}: got content before a head")),
        }
        if is_all {
            self.finish(stream, desk);
        } else if !self.giving_back {
            self.giving_back = true;
            match self.plan.late_us {
                0 => self.later(Duration::ZERO, Task::GiveBack, desk),
                most => {
                    let late = Duration::from_micros(desk.rng.between(1, most));
                    self.later(late, Task::GiveBack, desk);
                }
            }
        }
    }

    fn take_trailers(&mut self, stream: u32, piece: &[u8], desk: &mut Desk<'_>) {
        let id =
            self.connection.kept(stream).and_then(|ask| ask.request.as_ref()).map(|request| request.id.to_string());
        match self.connection.trailers(piece, &LIMITS, &mut self.table) {
            Ok(fields) if fields.find(b"x-sum") == id.as_deref().map(str::as_bytes) => {}
            Ok(_) => desk.ledger.violation(&self.plan.name, format_args!("{stream}: got wrong trailers")),
            Err(wrong) => {
                desk.ledger.violation(&self.plan.name, format_args!("{stream}: got malformed trailers: {wrong:?}"));
            }
        }
        if let Some(ask) = self.connection.kept(stream) {
            ask.has_trailers = true;
        }
        self.finish(stream, desk);
    }

    /// An answer has come to its end.
    fn finish(&mut self, stream: u32, desk: &mut Desk<'_>) {
        let name = &self.plan.name;
        let Some(ask) = self.connection.kept(stream) else { return };
        let (Some(answer), Some(request)) = (&ask.answer, &ask.request) else { return };
        let expected = if request.has_no_response_body() { 0 } else { request.response_bytes };
        let (got, status, tally) = (answer.body.len, answer.status, &mut desk.ledger.tally);
        if !answer.from_server {
            tally.refused += 1;
        } else if got < expected && !self.plan.calm && request.style == Style::UntilClose {
            // A server that dies in a body without a length looks as if it were done.
            tally.cut += 1;
        } else {
            tally.answered += 1;
            if got != expected {
                desk.ledger.violation(name, format_args!("{stream}: got {got} of {expected} bytes ({status})"));
            }
            let expects_trailers = request.style == Style::Trailers && request.method != "HEAD";
            if self.plan.calm && ask.has_trailers != expects_trailers {
                desk.ledger.violation(name, format_args!("{stream}: got other trailers than were sent"));
            }
        }
        ask.is_answered = true;
        // Who has its answer may go on with its body, or not. Who waits with it does not send it any more.
        if ask.said_all || ask.is_held || desk.rng.chance(50) {
            self.connection.end(stream, Code::Cancel);
        }
    }

    fn take_reset(&mut self, stream: u32, code: Code, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, format_args!("{stream}: is reset: {code:?}"));
        let Some(ask) = self.connection.end(stream, Code::Cancel) else { return };
        if ask.is_answered {
            return;
        }
        match (ask.request, code) {
            (None, Code::ProtocolError | Code::RefusedStream) => desk.ledger.tally.refused += 1,
            (None, _) => {
                desk.ledger.tally.refused += 1;
                desk.ledger.violation(&self.plan.name, format_args!("{stream}: got {code:?} for a malformed request"));
            }
            (Some(request), Code::RefusedStream) => self.was_refused(request, desk),
            (Some(_), _) => {
                count_lost(desk.ledger, ask.answer.is_some());
                self.complain_if_calm(desk.ledger, format_args!("{stream} was reset: {code:?}"));
            }
        }
    }

    /// No server has got the request. It is asked again, unless the connection ends.
    fn was_refused(&mut self, mut request: Request, desk: &mut Desk<'_>) {
        desk.ledger.promise_unserved(&self.plan.name, request.id);
        if self.may_ask() && request.id / AGAIN < 3 {
            request.id += AGAIN;
            self.waiting.push(request);
        } else {
            desk.ledger.tally.unread += 1;
        }
    }

    fn take_go_away(&mut self, last: u32, code: Code, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, format_args!("is told to leave after {last}: {code:?}"));
        self.told_to_leave = true;
        if code != Code::NoError {
            self.accused = Some(code);
        }
        match &self.plan.manner {
            Manner::Breaks(breach, _) if code == breach.code => {}
            _ if code == Code::NoError => {
                if self.plan.calm && self.plan.stays && self.plan.manner == Manner::Polite {
                    desk.ledger.violation(&self.plan.name, "was told to leave for no reason");
                }
            }
            _ => desk.ledger.violation(&self.plan.name, format_args!("was accused of {code:?}")),
        }
        if last < WINDOW_MAX {
            self.last = Some(last);
        }
        for id in self.connection.ids().into_iter().filter(|id| *id > last) {
            let Some(ask) = self.connection.end(id, Code::Cancel) else { continue };
            if let Some(request) = ask.request {
                desk.ledger.promise_unserved(&self.plan.name, request.id);
            }
            desk.ledger.tally.unread += u64::from(!ask.is_answered);
        }
    }
}

// What it does of its own.
impl Browser {
    fn give_back(&mut self, desk: &mut Desk<'_>) {
        let half = self.window.div_ceil(2);
        for id in self.connection.ids() {
            let Some(ask) = self.connection.kept(id) else { continue };
            if ask.owed > 0 && ask.owed >= half {
                let bytes = std::mem::take(&mut ask.owed);
                self.write(frame(8, 0, id, &bytes.to_be_bytes()), desk);
            }
        }
    }

    fn fidget(&mut self, desk: &mut Desk<'_>) {
        if self.plan.restless && self.restless_frames < RESTLESS_FRAMES && desk.rng.chance(30) {
            self.restless_frames += 1;
            let ids = self.connection.ids();
            let stream = ids.last().copied().unwrap_or(1);
            let bytes = match desk.rng.between(0, 3) {
                0 => frame(6, 0, 0, &desk.rng.next().to_be_bytes()),
                1 => frame(16, 0, 0, &[&stream.to_be_bytes()[..], b"u=1, i"].concat()),
                2 => frame(0xfa, 0xff, stream, b"an extension"),
                _ => {
                    // A window that becomes smaller may be used up already. What was received counts for it.
                    self.window = (self.plan.window * desk.rng.between(1, 4) as u32).div_ceil(2);
                    self.settings()
                }
            };
            self.write(bytes, desk);
            self.give_back(desk);
        }
        if desk.rng.chance(self.plan.resets_percent) {
            let ids = self.connection.ids();
            if !ids.is_empty() {
                let id = desk.rng.pick(&ids);
                self.reset(id, desk);
            }
        }
    }

    fn reset(&mut self, id: u32, desk: &mut Desk<'_>) {
        let Some(ask) = self.connection.end(id, Code::Cancel) else { return };
        desk.tell(&self.plan.name, format_args!("{id}: resets it"));
        if !ask.is_answered {
            count_lost(desk.ledger, ask.answer.is_some());
        }
    }

    fn end(&mut self, reset: bool, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, if reset { "is reset" } else { "sees the end" });
        self.over = true;
        self.settle(desk.ledger);
        desk.deeds.push(Deed::Close);
    }

    /// Counts what will not be answered any more.
    fn settle(&mut self, ledger: &mut Ledger) {
        for id in self.connection.ids() {
            let Some(ask) = self.connection.end(id, Code::Cancel) else { continue };
            if !ask.is_answered {
                count_lost(ledger, ask.answer.is_some());
                self.complain_if_calm(ledger, format_args!("{id} was not answered"));
            }
        }
        // Refused, and not asked again.
        ledger.tally.unread += self.waiting.drain(..).filter(|request| request.id >= AGAIN).count() as u64;
    }

    fn complain_if_calm(&self, ledger: &mut Ledger, what: std::fmt::Arguments<'_>) {
        if self.plan.calm && self.plan.manner == Manner::Polite {
            ledger.violation(&self.plan.name, format_args!("{what} while nothing was wrong"));
        }
    }
}

fn count_lost(ledger: &mut Ledger, has_begun: bool) {
    if has_begun {
        ledger.tally.cut += 1;
    } else {
        ledger.tally.failed += 1;
    }
}

impl Peer for Browser {
    fn wake(&mut self, wake: Wake, desk: &mut Desk<'_>) {
        if self.over {
            return;
        }
        match wake {
            Wake::Connected => self.begin(desk),
            Wake::Bytes(bytes) => self.hear(bytes, desk),
            Wake::Fin => self.end(false, desk),
            Wake::Reset => self.end(true, desk),
            Wake::Timer => {
                self.do_tasks(desk);
                if !self.over {
                    self.go_on(desk);
                }
            }
        }
    }

    fn conclude(&mut self, ledger: &mut Ledger) {
        if !self.over && !self.plan.deaf {
            ledger.violation(&self.plan.name, "was left waiting for ever");
        }
        self.settle(ledger);
        if let Manner::Breaks(breach, _) = &self.plan.manner
            && self.plan.calm
            && self.accused != Some(breach.code)
            && !self.told_to_leave
        {
            ledger.violation(&self.plan.name, format_args!("was not accused of {:?}", breach.code));
        }
    }
}
