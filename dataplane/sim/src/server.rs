//! A simulated server. It answers requests as their path asks, `/<id>/<bytes>/<style>`, with the body that belongs to
//! the id, and misbehaves as configured.

use std::{collections::VecDeque, time::Duration};

use crate::{
    message::{Framing, Head, Reader, chunked, chunked_with},
    network::Wake,
    peer::{Deed, Desk, Ledger, Peer},
    rng::{BodyOf, body_of},
    stream::{self, Stream, switches},
};

/// Request bodies are made of another id than the response to them.
pub const REQUEST_BODY: u64 = 1 << 63;

/// How a response is framed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    Length,
    Chunked,
    UntilClose,
    NoContent,
    NotModified,
    /// 1xx heads, then a length.
    Interim,
    /// Answers before it has read the body.
    Early,
    /// Chunked, with trailers.
    Trailers,
    /// Is never answered; not among [`ALL`](Self::ALL).
    Hang,
}

impl Style {
    pub const ALL: [(Style, &'static str); 8] = [
        (Style::Length, "length"),
        (Style::Chunked, "chunked"),
        (Style::UntilClose, "close"),
        (Style::NoContent, "204"),
        (Style::NotModified, "304"),
        (Style::Interim, "interim"),
        (Style::Early, "early"),
        (Style::Trailers, "trailers"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(style, _)| *style == self).map_or("hang", |(_, name)| name)
    }

    pub fn named(name: &str) -> Self {
        let known = Self::ALL.iter().find(|(_, known)| *known == name).map(|(style, _)| *style);
        known.unwrap_or(if name == "hang" { Style::Hang } else { Style::Length })
    }
}

/// What can go wrong with one response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Bytes that are no response.
    Garbage,
    /// Two lengths, or a head that never ends.
    BadHead,
    HugeHead,
    /// No answer, ever.
    Stall,
    /// Half an answer, and no more.
    StallHalfway,
    ResetBefore,
    ResetHalfway,
    /// Closes in the middle, as if done.
    CloseHalfway,
    /// A whole other response behind the one that is due.
    Surplus,
    /// Closes instead of answering.
    CloseBefore,
}

impl Fault {
    pub const ALL: [Fault; 10] = [
        Fault::Garbage,
        Fault::BadHead,
        Fault::HugeHead,
        Fault::Stall,
        Fault::StallHalfway,
        Fault::ResetBefore,
        Fault::ResetHalfway,
        Fault::CloseHalfway,
        Fault::Surplus,
        Fault::CloseBefore,
    ];
}

/// How often a server misbehaves, in percent of requests, and how.
#[derive(Clone, Debug)]
pub struct Temper {
    pub faults: Vec<Fault>,
    pub fault_percent: u64,
    /// How often a server of HTTP/2 says that it has not looked at a request, in percent of requests.
    pub refuse_percent: u64,
    /// It leaves no connection of HTTP/2 behind some requests, as it may otherwise.
    pub stays: bool,
    /// How often it answers that it is busy, in percent of requests.
    pub busy_percent: u64,
    /// Closes its connections after this many requests, or when idle for a while.
    pub requests_max: u64,
    pub idle_time: Duration,
    pub think_time_us: u64,
    /// Its chunks are no smaller.
    pub chunk_bytes_min: u64,
}

/// Up to this length, a response and the bytes after it arrive together on a connection that is not shredded.
const TOGETHER_BYTES: usize = 12_000;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\n";
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n";

pub struct Server {
    name: String,
    temper: Temper,
    /// Its bytes arrive a few at a time.
    shredded: bool,
    reader: Reader,
    request: Option<Request>,
    requests: u64,
    script: VecDeque<(Duration, Deed)>,
    /// Deeds are on their way: the next request waits.
    busy: bool,
    deaf: bool,
    activity: u64,
    idle_mark: u64,
    manners: Manners,
    /// Its end of a WebSocket, from the answer on.
    tunnel: Option<Box<Stream>>,
}

/// How servers end WebSockets.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    pub calm: bool,
    /// Only after they have seen the client's end.
    pub may_wait: bool,
}

struct Request {
    head: Head,
    id: u64,
    framing: Framing,
    body: BodyOf,
    answered: bool,
}

impl Server {
    pub fn new(name: String, temper: Temper, shredded: bool, manners: Manners) -> Self {
        Self {
            name,
            temper,
            shredded,
            reader: Reader::default(),
            request: None,
            requests: 0,
            script: VecDeque::new(),
            busy: false,
            deaf: false,
            activity: 0,
            idle_mark: 0,
            manners,
            tunnel: None,
        }
    }

    fn read(&mut self, desk: &mut Desk<'_>) {
        while !self.deaf && !self.busy {
            if self.request.is_none() && !self.read_head(desk) {
                return;
            }
            let whole = self.read_body(desk);
            let Some(request) = &mut self.request else { return };
            let early = request.head.word(1).ends_with("early");
            if !request.answered && (whole || early) {
                request.answered = true;
                self.answer(desk);
            }
            if !whole {
                return;
            }
            self.request = None;
        }
    }

    fn read_head(&mut self, desk: &mut Desk<'_>) -> bool {
        let head = match self.reader.head() {
            Ok(Some(head)) => head,
            Ok(None) => return false,
            Err(wrong) => {
                desk.ledger.violation(&self.name, format_args!("got a malformed request: {}", wrong.0));
                return false;
            }
        };
        let id = head.word(1).split('/').nth(1).and_then(|id| id.parse().ok());
        let Some(id) = id else {
            desk.ledger.violation(&self.name, format_args!("got a request that nobody sent: {:?}", head.start));
            return false;
        };
        desk.tell(&self.name, format_args!("gets {:?}", head.start));
        let idempotent = matches!(head.word(0), "GET" | "HEAD" | "PUT" | "DELETE");
        desk.ledger.serve(&self.name, id, idempotent);
        let switches = head.field("Upgrade") == Some("websocket");
        let usual = if switches { "upgrade" } else { "close" };
        if head.field("Connection").is_some_and(|value| !value.eq_ignore_ascii_case(usual)) {
            desk.ledger.violation(&self.name, "was handed a hop-by-hop field");
        }
        self.requests += 1;
        let framing = head.framing().unwrap_or(Framing::Length(0));
        if head.field("Expect").is_some() {
            desk.send("HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.request = Some(Request { head, id, framing, body: BodyOf::new(id ^ REQUEST_BODY), answered: false });
        true
    }

    fn read_body(&mut self, desk: &mut Desk<'_>) -> bool {
        let Some(request) = &mut self.request else { return false };
        match self.reader.body(&mut request.framing) {
            Ok((body, whole)) => {
                if !request.body.continues_with(body) {
                    desk.ledger.violation(&self.name, format_args!("got a wrong body for request {}", request.id));
                }
                let sum = request.head.field("Trailer").map(|_| request.id);
                if whole && self.reader.trailer("X-Sum") != sum {
                    desk.ledger.violation(&self.name, format_args!("got wrong trailers for request {}", request.id));
                }
                whole
            }
            Err(wrong) => {
                desk.ledger.violation(&self.name, format_args!("got a malformed body: {}", wrong.0));
                false
            }
        }
    }

    fn answer(&mut self, desk: &mut Desk<'_>) {
        let Some(request) = &self.request else { return };
        let fault = desk.rng.chance(self.temper.fault_percent).then(|| desk.rng.pick(&self.temper.faults));
        if fault.is_none() && request.head.field("Upgrade").is_some() {
            let key = request.head.field("Sec-WebSocket-Key").unwrap_or_default().to_owned();
            return self.switch(&key, desk);
        }
        let hangs = request.head.word(1).ends_with("hang");
        let last = self.requests >= self.temper.requests_max;
        let chunk_bytes = desk.rng.between(1, 4000).max(self.temper.chunk_bytes_min);
        let (head, body, closes) = response(&request.head, request.id, last, chunk_bytes as usize);
        let think = Duration::from_micros(desk.rng.between(0, self.temper.think_time_us));
        if let Some(fault) = fault {
            desk.tell(&self.name, format_args!("has a fault: {fault:?}"));
        }
        let may_be_busy = self.temper.busy_percent > 0 && fault.is_none() && head.starts_with(OK);
        let head = match may_be_busy && desk.rng.chance(self.temper.busy_percent) {
            true => {
                desk.ledger.turn_away(&self.name, request.id);
                [BUSY, &head[OK.len()..]].concat()
            }
            false => head,
        };
        let halfway = [&head[..], &body[..body.len() / 2]].concat();
        let whole = [head, body].concat();
        let closing = if closes { vec![Deed::Close] } else { vec![] };
        let mut deeds = match fault {
            None if hangs => vec![],
            None => vec![Deed::Send(whole)],
            Some(Fault::Garbage) => vec![Deed::Send(body_of(request.id, 300)), Deed::Close],
            Some(Fault::BadHead) => {
                vec![Deed::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd".to_vec())]
            }
            Some(Fault::HugeHead) => {
                vec![Deed::Send(format!("HTTP/1.1 200 OK\r\nX-Huge: {}\r\n\r\n", "x".repeat(300_000)).into_bytes())]
            }
            Some(Fault::Stall) => vec![],
            Some(Fault::StallHalfway) => vec![Deed::Send(halfway)],
            Some(Fault::ResetBefore) => vec![Deed::Reset],
            Some(Fault::ResetHalfway) => vec![Deed::Send(halfway), Deed::Reset],
            Some(Fault::CloseHalfway) => vec![Deed::Send(halfway), Deed::Close],
            Some(Fault::Surplus) => vec![Deed::Send(self.with_surplus(whole, &request.head))],
            Some(Fault::CloseBefore) => vec![Deed::Close],
        };
        if !hangs && fault.is_none_or(|fault| fault == Fault::Surplus) {
            deeds.extend(closing);
        } else {
            self.deaf = true;
        }
        self.play(think, deeds, desk);
    }

    /// Becomes one end of a tunnel. It sends its first bytes at once behind the answer.
    fn switch(&mut self, key: &str, desk: &mut Desk<'_>) {
        desk.tell(&self.name, "switches to WebSocket");
        desk.send(switches(key));
        let Manners { calm, may_wait } = self.manners;
        let plan = stream::Plan::of_server(desk.rng, self.name.clone(), false, calm, may_wait);
        let mut tunnel = Box::new(Stream::new(plan));
        tunnel.wake(Wake::Connected, desk);
        tunnel.wake(Wake::Bytes(self.reader.rest()), desk);
        self.tunnel = Some(tunnel);
        self.deaf = true;
    }

    /// Surplus bytes after the right response: a response that nobody asked for. If it may arrive after the next
    /// request on the connection was sent, no proxy could tell it from the right one; then the bytes are not a response
    /// at all.
    fn with_surplus(&self, whole: Vec<u8>, request: &Head) -> Vec<u8> {
        let together = !self.shredded && whole.len() < TOGETHER_BYTES;
        let surplus: &[u8] = match together {
            _ if request.word(1).ends_with("/close") => b"",
            true => b"HTTP/1.1 200 OK\r\nX-Id: 0\r\nContent-Length: 5\r\n\r\nwrong",
            false => b"\0\0\0\0",
        };
        [&whole[..], surplus].concat()
    }

    /// Does `deeds` after `pause`, the bytes in a few pieces.
    fn play(&mut self, pause: Duration, deeds: Vec<Deed>, desk: &mut Desk<'_>) {
        let mut pause = pause;
        for deed in deeds {
            match deed {
                Deed::Send(bytes) if desk.rng.chance(30) && bytes.len() > 1 && !bytes.ends_with(b"wrong") => {
                    let cut = desk.rng.between(1, bytes.len() as u64 - 1) as usize;
                    self.script.push_back((pause, Deed::Send(bytes[..cut].to_vec())));
                    pause = Duration::from_micros(desk.rng.between(0, 3000));
                    self.script.push_back((pause, Deed::Send(bytes[cut..].to_vec())));
                }
                other => self.script.push_back((pause, other)),
            }
            pause = Duration::ZERO;
        }
        self.busy = true;
        self.act(desk);
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        while let Some((pause, _)) = self.script.front_mut() {
            if !pause.is_zero() {
                let pause = std::mem::take(pause);
                return desk.wake_after(pause);
            }
            if let Some((_, deed)) = self.script.pop_front() {
                self.deaf |= matches!(deed, Deed::Close | Deed::Reset);
                desk.deeds.push(deed);
            }
        }
        self.busy = false;
        self.idle_mark = self.activity;
        desk.wake_after(self.temper.idle_time);
    }

    fn on_timer(&mut self, desk: &mut Desk<'_>) {
        if self.busy {
            self.act(desk);
            self.read(desk);
        } else if !self.deaf && self.request.is_none() && self.activity == self.idle_mark {
            desk.tell(&self.name, "closes an idle connection");
            self.deaf = true;
            desk.deeds.push(Deed::Close);
        }
    }
}

impl Peer for Server {
    fn wake(&mut self, wake: Wake, desk: &mut Desk<'_>) {
        if let Some(tunnel) = &mut self.tunnel {
            return tunnel.wake(wake, desk);
        }
        match wake {
            Wake::Connected => {}
            Wake::Bytes(bytes) => {
                self.activity += 1;
                self.reader.push(&bytes);
                self.read(desk);
            }
            Wake::Fin => {
                self.deaf = true;
                desk.deeds.push(Deed::Close);
            }
            Wake::Reset => self.deaf = true,
            Wake::Timer => self.on_timer(desk),
        }
    }

    fn conclude(&mut self, ledger: &mut Ledger) {
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.conclude(ledger);
        }
    }
}

/// Head and body of the response that a request asks for, and whether the connection ends after it.
fn response(request: &Head, id: u64, last: bool, chunk_bytes: usize) -> (Vec<u8>, Vec<u8>, bool) {
    let mut path = request.word(1).split('/').skip(2);
    let len = path.next().and_then(|len| len.parse().ok()).unwrap_or(0);
    let style = Style::named(path.next().unwrap_or_default());
    let body = body_of(id, len);
    let (status, framing, body, ends) = match style {
        Style::Chunked => ("200 OK", "Transfer-Encoding: chunked\r\n".to_owned(), chunked(&body, chunk_bytes), false),
        Style::Trailers => {
            let body = chunked_with(&body, chunk_bytes, &format!("X-Sum: {id}\r\n"));
            ("200 OK", "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n".to_owned(), body, false)
        }
        Style::UntilClose => ("200 OK", String::new(), body, true),
        Style::NoContent => ("204 No Content", String::new(), vec![], false),
        Style::NotModified => ("304 Not Modified", format!("Content-Length: {len}\r\n"), vec![], false),
        Style::Length | Style::Interim | Style::Early | Style::Hang => {
            ("200 OK", format!("Content-Length: {len}\r\n"), body, false)
        }
    };
    let closes = last || ends;
    let interim = match style {
        Style::Interim => "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n",
        _ => "",
    };
    let connection = if closes { "Connection: close\r\n" } else { "Keep-Alive: timeout=5\r\n" };
    let fields = format!("X-Id: {id}\r\nContent-Type: text/plain\r\n{framing}{connection}");
    let head = format!("{interim}HTTP/1.1 {status}\r\n{fields}\r\n").into_bytes();
    let body = if request.word(0) == "HEAD" { vec![] } else { body };
    (head, body, closes)
}
