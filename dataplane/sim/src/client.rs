//! A simulated client. It sends requests as planned, one after the other or pipelined, and checks that responses are
//! its own, in order, and complete.

use std::{collections::VecDeque, time::Duration};

use crate::{
    channel::Channel,
    message::{Framing, Head, Reader, chunked},
    network::Wake,
    peer::{Deed, Desk, Ledger, Peer},
    rng::{BodyOf, body_of},
    server::{REQUEST_BODY, Style},
    sessions,
    unpacked::{Unpacked, takes_gzip},
};

#[derive(Clone, Debug)]
pub struct Request {
    pub id: u64,
    pub method: &'static str,
    pub http10: bool,
    pub response_bytes: usize,
    pub style: Style,
    pub body: RequestBody,
    pub expect_continue: bool,
    pub close: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestBody {
    None,
    Length(usize),
    Chunked(usize),
}

/// What a client does besides asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    Polite,
    /// Sends its end behind its last request, and reads on.
    HalfCloses,
    /// Resets the connection after a while.
    Resets(Duration),
    /// Closes the connection after a while.
    Closes(Duration),
    /// Sends this many bytes of what it should, and no more.
    FallsSilent(usize),
    /// Sends these bytes, for which one of these statuses is right; none: only the end of the connection is.
    Sends(Vec<u8>, Vec<u16>),
}

pub struct Plan {
    pub name: String,
    pub requests: Vec<Request>,
    pub pipelined: bool,
    pub manner: Manner,
    /// Pause between two pieces of what it sends.
    pub pause_us: u64,
    /// Reads nothing, so it may wait for ever.
    pub deaf: bool,
    /// Nothing goes wrong in this run: each request must be answered by a server.
    pub calm: bool,
    pub promises: Promises,
}

/// What the Plan promises to clients of a calm run.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// A client that has ended its side still gets its response.
    pub half_close: bool,
    /// No server closes a connection that might be used again.
    pub keepalive: bool,
    /// A server that is busy turns requests away, and another one takes them.
    pub reselect: bool,
}

pub struct Client {
    plan: Plan,
    channel: Channel,
    hello: Vec<u8>,
    reader: Reader,
    next: usize,
    /// Sent and not answered.
    asked: VecDeque<usize>,
    answer: Option<Answer>,
    /// Waits with the body for a 100.
    held_body: Option<Vec<u8>>,
    script: VecDeque<Vec<u8>>,
    pacing: bool,
    quitting: bool,
    told_to_close: bool,
    over: bool,
    pages: Vec<u16>,
    /// That binds it to a server.
    cookie: Option<String>,
}

struct Answer {
    status: u16,
    /// Of a server's response.
    id: Option<u64>,
    framing: Framing,
    body: BodyOf,
    /// Of content that is compressed.
    unpacked: Option<Unpacked>,
    ends_by_close: bool,
}

impl Client {
    pub fn new(plan: Plan, channel: Channel, hello: Vec<u8>) -> Self {
        Self {
            plan,
            channel,
            hello,
            reader: Reader::default(),
            next: 0,
            asked: VecDeque::new(),
            answer: None,
            held_body: None,
            script: VecDeque::new(),
            pacing: false,
            quitting: false,
            told_to_close: false,
            over: false,
            pages: Vec::new(),
            cookie: None,
        }
    }

    fn begin(&mut self, desk: &mut Desk<'_>) {
        desk.send(std::mem::take(&mut self.hello));
        match &self.plan.manner {
            Manner::Resets(after) | Manner::Closes(after) => desk.wake_after(*after),
            Manner::Sends(bytes, _) => {
                let bytes = bytes.clone();
                desk.tell(
                    &self.plan.name,
                    format_args!("sends {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)])),
                );
                self.write(bytes, desk);
            }
            _ => {}
        }
        self.ask(desk);
    }

    fn ask(&mut self, desk: &mut Desk<'_>) {
        while self.next < self.plan.requests.len() && !self.told_to_close && self.held_body.is_none() {
            if !self.asked.is_empty() && !self.plan.pipelined {
                return;
            }
            let request = &self.plan.requests[self.next];
            let (head, body) = request.bytes(self.cookie.as_deref());
            if let Some(cookie) = &self.cookie {
                desk.ledger.sessions.show(request.id, cookie);
            }
            desk.tell(&self.plan.name, format_args!("asks {} for {}", request.method, request.path()));
            desk.ledger.tally.asked += 1;
            self.told_to_close |= request.close;
            self.asked.push_back(self.next);
            self.next += 1;
            if request.expect_continue {
                self.held_body = Some(body);
                self.write(head, desk);
            } else {
                self.write([head, body].concat(), desk);
            }
        }
        if self.next == self.plan.requests.len() && self.plan.manner == Manner::HalfCloses && self.held_body.is_none() {
            self.finish_when_written(desk);
        }
    }

    /// Sends in pieces, with pauses between them.
    fn write(&mut self, mut bytes: Vec<u8>, desk: &mut Desk<'_>) {
        if let Manner::FallsSilent(after) = &mut self.plan.manner {
            bytes.truncate(*after);
            *after -= bytes.len();
        }
        if self.plan.pause_us > 0 && bytes.len() > 1 && desk.rng.chance(70) {
            let cut = desk.rng.between(1, bytes.len() as u64 - 1) as usize;
            let rest = bytes.split_off(cut);
            self.script.push_back(bytes);
            self.script.push_back(rest);
        } else if !bytes.is_empty() {
            self.script.push_back(bytes);
        }
        if !self.pacing {
            self.write_next(desk);
        }
    }

    fn write_next(&mut self, desk: &mut Desk<'_>) {
        self.pacing = false;
        while let Some(bytes) = self.script.pop_front() {
            let said = self.channel.say(&bytes);
            desk.send(said);
            if self.plan.pause_us > 0 && !self.script.is_empty() {
                self.pacing = true;
                let pause = Duration::from_micros(desk.rng.between(1, self.plan.pause_us));
                return desk.wake_after(pause);
            }
        }
        if self.quitting {
            desk.deeds.push(Deed::Finish);
        }
    }

    /// A half-close; TLS has none that its peers agree on, so there the client only falls silent.
    fn finish_when_written(&mut self, desk: &mut Desk<'_>) {
        if matches!(self.channel, Channel::Plain) && !std::mem::replace(&mut self.quitting, true) && !self.pacing {
            desk.deeds.push(Deed::Finish);
        }
    }

    fn hear(&mut self, bytes: Vec<u8>, desk: &mut Desk<'_>) {
        let is_promised = self.plan.calm && self.plan.manner == Manner::Polite;
        let plain = desk.open(&mut self.channel, bytes, &self.plan.name, is_promised);
        self.reader.push(&plain);
        while self.read(desk) {}
        if self.is_done() && !self.over {
            self.over = true;
            desk.send(self.channel.say_goodbye());
            desk.deeds.push(Deed::Close);
        }
    }

    fn is_done(&self) -> bool {
        let quiet = matches!(self.plan.manner, Manner::Polite | Manner::HalfCloses);
        quiet && self.asked.is_empty() && self.answer.is_none() && (self.next == self.plan.requests.len())
    }

    /// Reads a head or some of a body; false when more must come.
    fn read(&mut self, desk: &mut Desk<'_>) -> bool {
        if self.answer.is_none() {
            match self.reader.head() {
                Ok(Some(head)) => self.take_head(&head, desk),
                Ok(None) => return false,
                Err(wrong) => {
                    desk.ledger.violation(&self.plan.name, format_args!("got a malformed head: {}", wrong.0));
                    return false;
                }
            }
        }
        let Some(answer) = &mut self.answer else { return true };
        let whole = match self.reader.body(&mut answer.framing) {
            Ok((body, whole)) => {
                let unpacked = answer.unpacked.as_mut().map(|unpacked| unpacked.unpack(body));
                let body = unpacked.as_ref().map_or(Some(body), Option::as_deref);
                if answer.id.is_some() && !body.is_some_and(|body| answer.body.continues_with(body)) {
                    desk.ledger.violation(&self.plan.name, format_args!("got a wrong body for {:?}", answer.id));
                }
                whole
            }
            Err(wrong) => {
                desk.ledger.violation(&self.plan.name, format_args!("got a malformed body: {}", wrong.0));
                false
            }
        };
        if whole {
            self.take_answer(desk);
        }
        whole
    }

    fn take_head(&mut self, head: &Head, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, format_args!("gets {:?}", head.start));
        let status: u16 = head.word(1).parse().unwrap_or(0);
        let Some(request) = self.asked.front().map(|index| &self.plan.requests[*index]) else {
            if !matches!(self.plan.manner, Manner::Sends(..)) {
                // A timeout may be answered before the request is through; anything else is not ours.
                if head.field("X-Id").is_some() || status != 408 {
                    desk.ledger
                        .violation(&self.plan.name, format_args!("got an answer to no request: {:?}", head.start));
                }
            }
            return self.take_page(head, status, false);
        };
        if (100..200).contains(&status) {
            if request.http10 {
                desk.ledger.violation(&self.plan.name, "speaks HTTP/1.0 and got a 1xx");
            }
            if status == 100 {
                self.send_held_body(desk);
            }
            return;
        }
        let (id, head_only) = (head.number("X-Id"), request.method == "HEAD");
        match id {
            Some(id) if id != request.id => {
                desk.ledger.violation(&self.plan.name, format_args!("asked for {} and got {id}", request.id));
            }
            Some(id) => self.take_server_head(head, status, id, desk),
            None => {
                let swallowed = !self.plan.promises.keepalive && !request.is_repeatable();
                if self.plan.calm && self.plan.manner == Manner::Polite && !(swallowed && status == 502) {
                    desk.ledger
                        .violation(&self.plan.name, format_args!("got {:?} while nothing was wrong", head.start));
                }
                self.take_page(head, status, head_only);
            }
        }
    }

    fn take_server_head(&mut self, head: &Head, status: u16, id: u64, desk: &mut Desk<'_>) {
        let Some(request) = self.asked.front().map(|index| &self.plan.requests[*index]) else { return };
        let no_body = request.method == "HEAD" || matches!(status, 204 | 304);
        let framing = if no_body { Some(Framing::Length(0)) } else { head.framing() };
        let closes = head.says_close() || (request.http10 && head.field("Connection").is_none());
        self.told_to_close |= closes;
        if status == 503 && self.plan.calm && self.plan.promises.reselect && request.is_repeatable() {
            desk.ledger.violation(&self.plan.name, format_args!("was turned away with request {id}"));
        }
        let given = head.field("Set-Cookie").and_then(|line| line.split(';').next()?.split_once('='));
        if let Some((_, cookie)) = given.filter(|(name, _)| *name == sessions::NAME) {
            desk.ledger.sessions.give(id, cookie);
            self.cookie = Some(cookie.to_owned());
        }
        let coding = head.field("Content-Encoding").map(str::as_bytes);
        if coding.is_some() && (no_body || !takes_gzip(id)) {
            desk.ledger.violation(&self.plan.name, format_args!("got gzip for {id}"));
        }
        self.answer = Some(Answer {
            status,
            id: Some(id),
            framing: framing.unwrap_or(Framing::UntilClose),
            body: BodyOf::new(id),
            unpacked: Unpacked::of(coding),
            ends_by_close: framing.is_none(),
        });
    }

    fn take_page(&mut self, head: &Head, status: u16, head_only: bool) {
        self.told_to_close |= head.says_close();
        self.pages.push(status);
        let framing = if head_only { Framing::Length(0) } else { head.framing().unwrap_or(Framing::Length(0)) };
        self.answer =
            Some(Answer { status, id: None, framing, body: BodyOf::new(0), unpacked: None, ends_by_close: false });
    }

    fn send_held_body(&mut self, desk: &mut Desk<'_>) {
        if let Some(body) = self.held_body.take() {
            self.write(body, desk);
            self.ask(desk);
        }
    }

    fn take_answer(&mut self, desk: &mut Desk<'_>) {
        let Some(answer) = self.answer.take() else { return };
        let Some(index) = self.asked.pop_front() else { return };
        let request = &self.plan.requests[index];
        let expected = if request.has_no_response_body() { 0 } else { request.response_bytes };
        if answer.unpacked.as_ref().is_some_and(|unpacked| !unpacked.is_whole) {
            desk.ledger.violation(&self.plan.name, format_args!("got the end of {:?} amid gzip", answer.id));
        }
        if answer.id.is_none() {
            desk.ledger.tally.refused += 1;
        } else if answer.body.len < expected && !self.plan.calm && request.style == Style::UntilClose {
            // A server that dies in a body without a length looks as if it were done.
            desk.ledger.tally.cut += 1;
        } else {
            desk.ledger.tally.answered += 1;
            let content_bytes = answer.unpacked.as_ref().map_or(answer.body.len, |unpacked| unpacked.coded_bytes);
            desk.ledger.hear(request.id, answer.status, content_bytes);
            if answer.body.len != expected {
                let name = &self.plan.name;
                let got = answer.body.len;
                desk.ledger.violation(name, format_args!("got {got} of {expected} bytes ({})", answer.status));
            }
        }
        // A final answer without a 100: the server does not want the body.
        if self.asked.is_empty() && self.held_body.take().is_some() {
            self.told_to_close = true;
        }
        self.ask(desk);
    }

    fn end(&mut self, reset: bool, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, if reset { "is reset" } else { "sees the end" });
        if !reset && self.answer.as_ref().is_some_and(|answer| answer.ends_by_close) {
            self.take_answer(desk);
        }
        self.over = true;
        self.settle(desk.ledger);
        desk.deeds.push(Deed::Close);
    }

    /// Counts what will not be answered any more.
    fn settle(&mut self, ledger: &mut Ledger) {
        let mut told = self.told_to_close;
        if self.answer.take().is_some() && self.asked.pop_front().is_some() {
            ledger.tally.cut += 1;
            self.complain_if_calm(ledger, "an answer was cut");
        }
        for _ in std::mem::take(&mut self.asked) {
            if told {
                ledger.tally.unread += 1;
            } else {
                ledger.tally.failed += 1;
                self.complain_if_calm(ledger, "a request was not answered");
                told = false;
            }
        }
    }

    fn complain_if_calm(&self, ledger: &mut Ledger, what: &str) {
        let half_closes = self.plan.manner == Manner::HalfCloses && self.plan.promises.half_close;
        if self.plan.calm && (half_closes || self.plan.manner == Manner::Polite) {
            ledger.violation(&self.plan.name, format_args!("{what} while nothing was wrong"));
        }
    }
}

impl Peer for Client {
    fn wake(&mut self, wake: Wake, desk: &mut Desk<'_>) {
        if self.over {
            return;
        }
        match wake {
            Wake::Connected => self.begin(desk),
            Wake::Bytes(bytes) => self.hear(bytes, desk),
            Wake::Fin => self.end(false, desk),
            Wake::Reset => self.end(true, desk),
            Wake::Timer => match self.plan.manner {
                Manner::Resets(_) if !self.pacing => {
                    desk.deeds.push(Deed::Reset);
                    self.end(true, desk);
                }
                Manner::Closes(_) if !self.pacing => self.end(true, desk),
                _ => self.write_next(desk),
            },
        }
    }

    fn conclude(&mut self, ledger: &mut Ledger) {
        if !self.over && !self.plan.deaf && !matches!(self.plan.manner, Manner::Sends(..)) {
            ledger.violation(&self.plan.name, "was left waiting for ever");
        }
        self.settle(ledger);
        if let Manner::Sends(_, statuses) = &self.plan.manner {
            let right = match &self.pages[..] {
                [] => statuses.is_empty(),
                // An idle connection may swallow the start of a body that never comes whole.
                [502] => !self.plan.promises.keepalive && statuses.contains(&408),
                [status] => statuses.contains(status),
                _ => false,
            };
            if !right && self.plan.calm {
                ledger.violation(&self.plan.name, format_args!("got {:?}, deserved one of {statuses:?}", self.pages));
            }
        }
    }
}

impl Request {
    pub fn has_no_response_body(&self) -> bool {
        self.method == "HEAD" || matches!(self.style, Style::NoContent | Style::NotModified)
    }

    /// Whether it is sent again if an idle connection swallowed it: it is idempotent, and all of it is stored.
    pub fn is_repeatable(&self) -> bool {
        self.method != "POST" && self.body == RequestBody::None
    }

    /// Whether trailers follow its body, where they can.
    pub fn has_trailers(&self) -> bool {
        matches!(self.body, RequestBody::Chunked(_)) && self.id.is_multiple_of(3)
    }

    pub fn path(&self) -> String {
        format!("/{}/{}/{}", self.id, self.response_bytes, self.style.name())
    }

    fn bytes(&self, cookie: Option<&str>) -> (Vec<u8>, Vec<u8>) {
        let version = if self.http10 { "1.0" } else { "1.1" };
        let mut head = format!("{} {} HTTP/{version}\r\nHost: sim.test\r\n", self.method, self.path());
        if let Some(cookie) = cookie {
            head += &format!("Cookie: {}={cookie}\r\n", sessions::NAME);
        }
        let mut body = Vec::new();
        match self.body {
            RequestBody::None => {}
            RequestBody::Length(len) => {
                head += &format!("Content-Length: {len}\r\n");
                body = body_of(self.id ^ REQUEST_BODY, len);
            }
            RequestBody::Chunked(len) => {
                head += "Transfer-Encoding: chunked\r\n";
                body = chunked(&body_of(self.id ^ REQUEST_BODY, len), 1500);
            }
        }
        if takes_gzip(self.id) {
            head += "Accept-Encoding: gzip\r\n";
        }
        if self.expect_continue {
            head += "Expect: 100-continue\r\n";
        }
        if self.close {
            head += "Connection: close\r\n";
        } else if self.http10 {
            head += "Connection: keep-alive\r\n";
        }
        (format!("{head}\r\n").into_bytes(), body)
    }
}
