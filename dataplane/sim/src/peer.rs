//! What simulated clients and servers have in common. They wake when something reaches them, and answer through a
//! [`Desk`]. They see only the bytes of their own connection.

use std::{
    collections::{HashMap, HashSet},
    fmt::Display,
    net::SocketAddr,
    time::Duration,
};

use weir_proxy::io::Time;

use crate::{channel::Channel, network::Wake, rng::Rng, sessions::Sessions};

pub trait Peer {
    fn wake(&mut self, wake: Wake, desk: &mut Desk<'_>);

    /// What is left at the end of the run.
    fn conclude(&mut self, _ledger: &mut Ledger) {}
}

/// What a peer does in one wake; the network carries it out in this order.
pub struct Desk<'a> {
    pub now: Time,
    pub rng: &'a mut Rng,
    pub ledger: &'a mut Ledger,
    pub deeds: Vec<Deed>,
}

#[derive(Debug)]
pub enum Deed {
    Send(Vec<u8>),
    /// Sends no more, reads on.
    Finish,
    Close,
    Reset,
    WakeAfter(Duration),
}

impl Desk<'_> {
    pub fn send(&mut self, bytes: impl Into<Vec<u8>>) {
        self.deeds.push(Deed::Send(bytes.into()));
    }

    /// Takes what has come to `who` out of its channel, and sends what the channel answers. `is_promised`: TLS may not fail.
    pub fn open(&mut self, channel: &mut Channel, bytes: Vec<u8>, who: &str, is_promised: bool) -> Vec<u8> {
        let heard = channel.hear(bytes);
        if !heard.reply.is_empty() {
            self.send(heard.reply);
        }
        if let Some(why) = heard.failed {
            self.tell(who, format_args!("cannot go on with TLS: {why}"));
            if is_promised {
                self.ledger.violation(who, format_args!("TLS fails: {why}"));
            }
        }
        heard.plain
    }

    pub fn wake_after(&mut self, span: Duration) {
        self.deeds.push(Deed::WakeAfter(span));
    }

    pub fn tell(&mut self, who: &str, what: impl Display) {
        self.ledger.tell(self.now, who, what);
    }
}

/// What all peers write down, and what it proves.
#[derive(Default)]
pub struct Ledger {
    pub verbose: bool,
    pub story: Vec<String>,
    /// How often a server has seen the head of a request, by its id.
    served: HashMap<u64, u32>,
    /// How often which server has turned which request away.
    turned_away: HashMap<(String, u64), u32>,
    /// What servers of a calm run have refused.
    refused: HashSet<u64>,
    /// Who knows of which requests that no server has got them.
    unserved: Vec<(String, u64)>,
    /// What clients have heard of servers in full, by request.
    pub heard: HashMap<u64, Heard>,
    /// What clients of tunnels have heard, by their addresses.
    pub tunnels: HashMap<SocketAddr, Tunnelled>,
    /// Which servers have got which request.
    servers: HashSet<(String, u64)>,
    pub sessions: Sessions,
    /// Some Plans have no records.
    pub records_pause: bool,
    pub violations: Vec<String>,
    pub tally: Tally,
}

/// What went through a tunnel, as its client sees it.
#[derive(Clone, Copy, Debug)]
pub struct Tunnelled {
    pub sent: u64,
    pub heard: u64,
    /// Nothing went wrong: all that was sent has come.
    pub calm: bool,
}

/// A server's answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    pub status: u16,
    pub body_bytes: u64,
}

/// What became of the requests.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    pub asked: u64,
    /// By a server, in full.
    pub answered: u64,
    /// By a page of the proxy.
    pub refused: u64,
    /// The response was cut.
    pub cut: u64,
    /// The connection ended without an answer.
    pub failed: u64,
    /// Left over on a connection that was announced to close: the client may ask again.
    pub unread: u64,
    /// Of those that were answered, the streams of clients.
    pub streams: u64,
    /// Requests that servers of HTTP/2 got.
    pub served_http2: u64,
    /// WebSockets that clients opened on connections of their own, and on streams.
    pub sockets: u64,
    pub stream_sockets: u64,
    /// Requests with a cookie that binds them to a server.
    pub bound: u64,
    /// Directions of tunnels that brought all their bytes and then their end.
    pub carried: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.refused += other.refused;
        self.cut += other.cut;
        self.failed += other.failed;
        self.unread += other.unread;
        self.streams += other.streams;
        self.served_http2 += other.served_http2;
        self.sockets += other.sockets;
        self.stream_sockets += other.stream_sockets;
        self.bound += other.bound;
        self.carried += other.carried;
    }

    pub fn accounted(&self) -> u64 {
        self.answered + self.refused + self.cut + self.failed + self.unread
    }
}

impl Ledger {
    pub fn new(verbose: bool) -> Self {
        Self { verbose, ..Self::default() }
    }

    pub fn tell(&mut self, now: Time, who: &str, what: impl Display) {
        if self.verbose {
            self.story.push(format!("{:>12.6}  {who:<12} {what}", now.nanos as f64 / 1e9));
        }
    }

    pub fn violation(&mut self, who: &str, what: impl Display) {
        self.violations.push(format!("{who}: {what}"));
    }

    /// A server answers that it is busy: another one may get the request. `who` is the server and its connection.
    pub fn turn_away(&mut self, who: &str, id: u64) {
        if let Some(times) = self.served.get_mut(&id) {
            *times -= 1;
        }
        let server = server_of(who);
        let times = self.turned_away.entry((server.to_owned(), id)).or_default();
        *times += 1;
        // Once more if the connection ended before the answer left.
        if *times > 2 {
            self.violation(who, format_args!("has turned request {id} away too often"));
        }
    }

    /// Whether a server may say that it has not looked at a request. In a calm run each is refused once: the proxy asks
    /// again, but not for ever.
    pub fn may_refuse(&mut self, id: u64, calm: bool) -> bool {
        !calm || self.refused.insert(id)
    }

    /// `who` was told that no server gets the request `id`.
    pub fn promise_unserved(&mut self, who: &str, id: u64) {
        self.unserved.push((who.to_owned(), id));
    }

    /// A client has the whole answer of a server.
    pub fn hear(&mut self, id: u64, status: u16, body_bytes: usize) {
        self.heard.insert(id, Heard { status, body_bytes: body_bytes as u64 });
    }

    /// Whether the server with this number has got a request.
    pub fn has_served(&self, server: usize, id: u64) -> bool {
        self.servers.contains(&(format!("server {server}"), id))
    }

    /// At the end of the run: no server has got what was refused.
    pub fn judge_promises(&mut self) {
        for (who, id) in std::mem::take(&mut self.unserved) {
            if self.served.get(&id).is_some_and(|times| *times > 0) {
                self.violation(&who, format_args!("request {id} came to a server after it was refused"));
            }
        }
    }

    /// A server receives the request `id`. `idempotent`: an idle connection may have swallowed it, so that it comes
    /// once more.
    pub fn serve(&mut self, who: &str, id: u64, idempotent: bool) {
        self.servers.insert((server_of(who).to_owned(), id));
        if let Some(number) = server_of(who).strip_prefix("server ").and_then(|number| number.parse().ok()) {
            self.sessions.serve(number, id);
        }
        let times = self.served.entry(id).or_default();
        *times += 1;
        if *times > 1 + u32::from(idempotent) {
            self.violation(who, format_args!("request {id} has come too often"));
        }
    }
}

/// Without its connection.
fn server_of(who: &str) -> &str {
    who.split('/').next().unwrap_or(who)
}
