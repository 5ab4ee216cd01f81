//! One end of a tunnel, at a client or a server. It sends bytes of its own, ends as planned, and checks what it
//! receives: the bytes of one other end, in order, and complete if nothing fails.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    message::Reader,
    network::Wake,
    peer::{Deed, Desk, Ledger, Peer, Tunnelled},
    rng::{BodyOf, Rng, body_of},
};

/// What goes before the bytes: whose they are, and how many.
const HEADER_BYTES: usize = 16;

/// The handshake of RFC 6455 §1.3, and the answers to it.
const ASKS: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The answer of a server to a key.
pub fn switches(key: &str) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{GUID}").as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        STANDARD.encode(hash)
    )
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub name: String,
    /// Tells its bytes from all others.
    pub id: u64,
    pub bytes: usize,
    /// Pause between two pieces of what it sends.
    pub pause_us: u64,
    pub ending: Ending,
    /// Reads nothing, so it may wait for ever.
    pub deaf: bool,
    /// Nothing goes wrong in this run: each end gets everything.
    pub calm: bool,
    /// The path at which it first asks a server of HTTP to be the other end.
    pub asks: Option<String>,
    /// Of a client whose tunnel leaves a record of its own.
    pub address: Option<SocketAddr>,
}

impl Plan {
    pub fn of_client(rng: &mut Rng, name: String, id: u64, deaf: bool, calm: bool, may_wait: bool) -> Self {
        let ending = Ending::of(rng, calm, may_wait);
        Self::of(rng, name, id, ending, deaf, calm)
    }

    pub fn of_server(rng: &mut Rng, name: String, deaf: bool, calm: bool, may_wait: bool) -> Self {
        let (id, ending) = (rng.next(), Ending::of(rng, calm, may_wait));
        Self::of(rng, name, id, ending, deaf, calm)
    }

    fn of(rng: &mut Rng, name: String, id: u64, ending: Ending, deaf: bool, calm: bool) -> Self {
        let (bytes, pause_us) = (rng.length(200_000) as usize, rng.pick(&[0, 0, 300, 5_000]));
        Self { name, id, bytes, pause_us, ending, deaf, calm, asks: None, address: None }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Its end comes behind its last byte.
    AtOnce,
    /// Its end comes when it has seen the other's.
    Second,
    Never,
    /// Resets the connection after a while.
    Resets(Duration),
    /// Closes the connection after a while.
    Closes(Duration),
}

impl Ending {
    fn of(rng: &mut Rng, calm: bool, may_wait: bool) -> Self {
        let after = Duration::from_micros(rng.length(1_000_000));
        match rng.between(0, 9) {
            0 if !calm => Ending::Never,
            1 if !calm => Ending::Resets(after),
            2 if !calm => Ending::Closes(after),
            3..7 if may_wait => Ending::Second,
            _ => Ending::AtOnce,
        }
    }
}

pub struct Stream {
    plan: Plan,
    script: VecDeque<Vec<u8>>,
    pacing: bool,
    ended: bool,
    /// Reads the answer, while it waits for that.
    answer: Option<Reader>,
    header: Vec<u8>,
    heard: Option<(BodyOf, usize)>,
    heard_end: bool,
    over: bool,
}

impl Stream {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            script: VecDeque::new(),
            pacing: false,
            ended: false,
            answer: None,
            header: Vec::new(),
            heard: None,
            heard_end: false,
            over: false,
        }
    }

    fn ask(&mut self, path: &str, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, format_args!("asks for WebSocket at {path}"));
        self.answer = Some(Reader::default());
        desk.send(format!("GET {path} HTTP/1.1\r\nHost: sim.test\r\n{ASKS}\r\n"));
    }

    /// Takes the answer, and what comes behind it.
    fn hear_answer(&mut self, bytes: &[u8], desk: &mut Desk<'_>) {
        let Some(reader) = &mut self.answer else { return };
        reader.push(bytes);
        let head = match reader.head() {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(wrong) => {
                return desk.ledger.violation(&self.plan.name, format_args!("got a malformed head: {}", wrong.0));
            }
        };
        desk.tell(&self.plan.name, format_args!("gets {:?}", head.start));
        let rest = reader.rest();
        self.answer = None;
        if head.word(1) == "101" {
            if head.field("Sec-WebSocket-Accept") != Some(ACCEPT) || head.field("Upgrade") != Some("websocket") {
                desk.ledger.violation(&self.plan.name, "got another answer than its server's");
            }
            desk.ledger.tally.sockets += 1;
            self.begin(desk);
            return self.hear(&rest, desk);
        }
        if self.plan.calm {
            desk.ledger.violation(&self.plan.name, format_args!("got {:?} while nothing was wrong", head.start));
        }
        self.leave(desk);
    }

    /// The end comes before the answer.
    fn miss_answer(&mut self, desk: &mut Desk<'_>) {
        if self.plan.calm {
            desk.ledger.violation(&self.plan.name, "got no answer while nothing was wrong");
        }
        self.leave(desk);
    }

    fn begin(&mut self, desk: &mut Desk<'_>) {
        let mut bytes = self.plan.id.to_le_bytes().to_vec();
        bytes.extend((self.plan.bytes as u64).to_le_bytes());
        bytes.extend(body_of(self.plan.id, self.plan.bytes));
        while bytes.len() > 1 && self.plan.pause_us > 0 && self.script.len() < 4 {
            let cut = desk.rng.between(1, bytes.len() as u64 - 1) as usize;
            let rest = bytes.split_off(cut);
            self.script.push_back(bytes);
            bytes = rest;
        }
        self.script.push_back(bytes);
        if let Ending::Resets(after) | Ending::Closes(after) = self.plan.ending {
            desk.wake_after(after);
        } else {
            self.write(desk);
        }
    }

    fn write(&mut self, desk: &mut Desk<'_>) {
        self.pacing = false;
        while let Some(piece) = self.script.pop_front() {
            desk.send(piece);
            if self.plan.pause_us > 0 && !self.script.is_empty() {
                self.pacing = true;
                let pause = Duration::from_micros(desk.rng.between(1, self.plan.pause_us));
                return desk.wake_after(pause);
            }
        }
        let due = match self.plan.ending {
            Ending::AtOnce => true,
            Ending::Second => self.heard_end,
            _ => false,
        };
        if due && !std::mem::replace(&mut self.ended, true) {
            desk.tell(&self.plan.name, "ends");
            desk.deeds.push(Deed::Finish);
        }
        if self.ended && self.heard_end {
            self.leave(desk);
        }
    }

    fn hear(&mut self, mut bytes: &[u8], desk: &mut Desk<'_>) {
        let missing = HEADER_BYTES.saturating_sub(self.header.len()).min(bytes.len());
        self.header.extend_from_slice(&bytes[..missing]);
        bytes = &bytes[missing..];
        if let ([id @ .., _, _, _, _, _, _, _, _], HEADER_BYTES, None) =
            (&self.header[..], self.header.len(), &self.heard)
        {
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
            self.heard = Some((BodyOf::new(number(id)), number(&self.header[8..]) as usize));
        }
        if let Some((body, _)) = &mut self.heard
            && !body.continues_with(bytes)
        {
            desk.ledger.violation(&self.plan.name, "got bytes that nobody sent there");
        }
    }

    fn hear_end(&mut self, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, "sees the end");
        self.heard_end = true;
        let whole = self.heard.as_ref().is_some_and(|(body, bytes)| body.len == *bytes);
        desk.ledger.tally.carried += u64::from(whole);
        if self.plan.calm && !whole {
            desk.ledger.violation(&self.plan.name, "saw the end before all bytes");
        }
        if matches!(self.plan.ending, Ending::Never | Ending::Resets(_) | Ending::Closes(_)) {
            self.leave(desk);
        } else if !self.pacing {
            self.write(desk);
        }
    }

    fn leave(&mut self, desk: &mut Desk<'_>) {
        self.over = true;
        desk.deeds.push(Deed::Close);
    }
}

impl Peer for Stream {
    fn wake(&mut self, wake: Wake, desk: &mut Desk<'_>) {
        if self.over {
            return;
        }
        match (wake, self.plan.ending) {
            (Wake::Connected, _) => match self.plan.asks.take() {
                Some(path) => self.ask(&path, desk),
                None => self.begin(desk),
            },
            (Wake::Bytes(bytes), _) if self.answer.is_some() => self.hear_answer(&bytes, desk),
            (Wake::Fin, _) if self.answer.is_some() => self.miss_answer(desk),
            (Wake::Bytes(bytes), _) => self.hear(&bytes, desk),
            (Wake::Fin, _) => self.hear_end(desk),
            (Wake::Reset, _) => {
                desk.tell(&self.plan.name, "is reset");
                self.over = true;
                if self.plan.calm {
                    desk.ledger.violation(&self.plan.name, "was reset while nothing was wrong");
                }
            }
            (Wake::Timer, Ending::Resets(_)) => {
                self.over = true;
                desk.deeds.push(Deed::Reset);
            }
            (Wake::Timer, Ending::Closes(_)) => self.leave(desk),
            (Wake::Timer, _) => self.write(desk),
        }
    }

    fn conclude(&mut self, ledger: &mut Ledger) {
        if let (Some(address), Some((body, _))) = (self.plan.address, &self.heard) {
            let sent = HEADER_BYTES + self.plan.bytes;
            let heard = HEADER_BYTES + body.len;
            ledger.tunnels.insert(address, Tunnelled { sent: sent as u64, heard: heard as u64, calm: self.plan.calm });
        }
        if !self.over && !self.plan.deaf {
            ledger.violation(&self.plan.name, "was left waiting for ever");
        }
    }
}
