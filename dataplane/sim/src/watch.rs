//! What the frames of a connection prove, whoever wrote them: windows and the number of streams are kept, what the proxy
//! gives back as window was taken, and it answers SETTINGS and PING. Frames are read here without `weir-wire`, which it
//! checks.

use std::collections::{HashMap, VecDeque};

const HEADER_BYTES: usize = 9;
const PREFACE_BYTES: usize = 24;
const FRAME_BYTES_MAX: usize = 1 << 14;
const WINDOW_FIRST: i64 = 65_535;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const MAX_CONCURRENT_STREAMS: [u8; 2] = [0, 3];
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];
/// By so much the proxy opens the windows of a server's streams beyond their first size.
const SERVER_WINDOW: u64 = 1 << 20;

struct Frame<'f> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'f [u8],
}

/// Which end the proxy's peer is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Client,
    Server,
}

/// What a SETTINGS frame of the peer says.
#[derive(Clone, Copy, Default)]
struct Announced {
    initial: Option<i64>,
    streams: Option<u32>,
}

pub struct Watch {
    peer: Peer,
    /// The preface has not come yet, or not all of it.
    has_preface: bool,
    /// Of the proxy's next frame.
    unread: Vec<u8>,
    /// What the proxy may send, by stream, and on all together.
    windows: HashMap<u32, i64>,
    window: i64,
    /// The window of a new stream, as far as the proxy has acknowledged it.
    initial: i64,
    /// How many streams the proxy may open at a server, as far as it has acknowledged that.
    most: Option<u32>,
    /// What the proxy has not acknowledged, by SETTINGS.
    announced: VecDeque<Announced>,
    pings: VecDeque<Vec<u8>>,
    /// The streams that the proxy has opened at a server, and whether it has said all, and whether the server has.
    open: HashMap<u32, [bool; 2]>,
    /// What the peer has sent, and what it may send again, by stream; 0: all together.
    sent: HashMap<u32, u64>,
    given: HashMap<u32, u64>,
    /// How much larger than at first the proxy has made its window for all streams.
    widened: Option<u64>,
    last: u32,
}

impl Watch {
    pub fn new(peer: Peer) -> Self {
        Self {
            peer,
            has_preface: true,
            unread: Vec::new(),
            windows: HashMap::new(),
            window: WINDOW_FIRST,
            initial: WINDOW_FIRST,
            most: None,
            announced: VecDeque::new(),
            pings: VecDeque::new(),
            open: HashMap::new(),
            sent: HashMap::new(),
            given: HashMap::new(),
            widened: None,
            last: u32::MAX,
        }
    }

    /// The peer sends whole frames.
    pub fn said(&mut self, mut bytes: &[u8]) {
        if self.peer == Peer::Client && !bytes.is_empty() && std::mem::take(&mut self.has_preface) {
            bytes = &bytes[PREFACE_BYTES..];
        }
        while let Some((frame, rest)) = next(bytes) {
            self.note_said(&frame);
            bytes = rest;
        }
        debug_assert!(bytes.is_empty(), "a frame was cut");
    }

    fn note_said(&mut self, frame: &Frame<'_>) {
        self.note_ends(frame, 1);
        match frame.kind {
            DATA => {
                let bytes = frame.payload.len() as u64;
                *self.sent.entry(frame.stream).or_default() += bytes;
                *self.sent.entry(0).or_default() += bytes;
            }
            HEADERS => _ = self.windows.entry(frame.stream).or_insert(self.initial),
            SETTINGS if frame.flags & ACK == 0 => {
                let last =
                    |name| frame.payload.chunks(6).rfind(|entry| entry[..2] == name).map(|entry| number(&entry[2..]));
                let (initial, streams) = (last(INITIAL_WINDOW_SIZE), last(MAX_CONCURRENT_STREAMS));
                self.announced.push_back(Announced { initial: initial.map(i64::from), streams });
            }
            PING if frame.flags & ACK == 0 => self.pings.push_back(frame.payload.to_vec()),
            WINDOW_UPDATE if frame.stream == 0 => self.window += i64::from(number(frame.payload)),
            WINDOW_UPDATE => {
                if let Some(window) = self.windows.get_mut(&frame.stream) {
                    *window += i64::from(number(frame.payload));
                }
            }
            _ => {}
        }
    }

    /// The proxy's bytes come, in any pieces. Error: what it must not do.
    pub fn heard(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut unread = std::mem::take(&mut self.unread);
        unread.extend_from_slice(bytes);
        let mut left = &unread[..];
        if self.peer == Peer::Server && self.has_preface {
            self.has_preface = left.len() < PREFACE_BYTES;
            left = left.get(PREFACE_BYTES..).unwrap_or_default();
            if self.has_preface {
                self.unread = unread;
                return Ok(());
            }
        }
        while let Some((frame, rest)) = next(left) {
            self.check(&frame)?;
            left = rest;
        }
        self.unread = left.to_vec();
        Ok(())
    }

    fn check(&mut self, frame: &Frame<'_>) -> Result<(), String> {
        let (stream, bytes) = (frame.stream, frame.payload.len());
        if bytes > FRAME_BYTES_MAX {
            return Err(format!("sends a frame of {bytes} bytes"));
        }
        match frame.kind {
            DATA => {
                self.note_ends(frame, 0);
                self.check_data(stream, bytes as i64)
            }
            HEADERS if self.peer == Peer::Server => self.check_opened(frame),
            RST_STREAM => {
                self.note_ends(frame, 0);
                Ok(())
            }
            HEADERS if stream > self.last => Err(format!("answers {stream} after it has gone away")),
            SETTINGS if frame.flags & ACK != 0 => self.acknowledge(),
            PING if frame.flags & ACK != 0 => match self.pings.pop_front() {
                Some(payload) if payload == frame.payload => Ok(()),
                expected => Err(format!("answers a PING with {:?}, not {expected:?}", frame.payload)),
            },
            GOAWAY => {
                let last = number(frame.payload);
                let before = std::mem::replace(&mut self.last, last);
                if last > before { Err(format!("goes away after {last}, and before after {before}")) } else { Ok(()) }
            }
            WINDOW_UPDATE => self.check_update(stream, number(frame.payload).into()),
            _ => Ok(()),
        }
    }

    /// Notes that one end says no more on a stream. `end`: 0 the proxy, 1 the peer.
    fn note_ends(&mut self, frame: &Frame<'_>, end: usize) {
        let is_last = matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0;
        if let Some(ends) = self.open.get_mut(&frame.stream) {
            ends[end] |= is_last;
            if frame.kind == RST_STREAM || *ends == [true; 2] {
                self.open.remove(&frame.stream);
            }
        }
    }

    /// The head of a request, or trailers.
    fn check_opened(&mut self, frame: &Frame<'_>) -> Result<(), String> {
        if !self.windows.contains_key(&frame.stream) {
            self.windows.insert(frame.stream, self.initial);
            self.open.insert(frame.stream, [false; 2]);
        }
        if let Some(most) = self.most.filter(|most| self.open.len() > *most as usize) {
            return Err(format!("has {} streams open, and may have {most}", self.open.len()));
        }
        self.note_ends(frame, 0);
        Ok(())
    }

    fn check_data(&mut self, stream: u32, bytes: i64) -> Result<(), String> {
        let window = self.windows.get_mut(&stream).ok_or(format!("sends content on {stream}, which never began"))?;
        *window -= bytes;
        self.window -= bytes;
        if bytes > 0 && (*window < 0 || self.window < 0) {
            return Err(format!("exceeds a window on {stream}: {window}, {} are left", self.window));
        }
        Ok(())
    }

    fn acknowledge(&mut self) -> Result<(), String> {
        let Announced { initial, streams } =
            self.announced.pop_front().ok_or("acknowledges SETTINGS that nobody sent")?;
        self.most = streams.or(self.most);
        if let Some(initial) = initial {
            let change = initial - std::mem::replace(&mut self.initial, initial);
            self.windows.values_mut().for_each(|window| *window += change);
        }
        Ok(())
    }

    fn check_update(&mut self, stream: u32, bytes: u64) -> Result<(), String> {
        if bytes == 0 {
            return Err("gives a window of nothing".into());
        }
        if stream == 0 && self.widened.is_none() {
            self.widened = Some(bytes);
            return Ok(());
        }
        let given = self.given.entry(stream).or_default();
        *given += bytes;
        let sent = self.sent.get(&stream).copied().unwrap_or_default();
        let wider = if self.peer == Peer::Server && stream > 0 { SERVER_WINDOW } else { 0 };
        if *given > sent + wider {
            return Err(format!("gives back {given} bytes of {sent} on {stream}"));
        }
        Ok(())
    }

    /// Whether more than the proxy may hold back is missing from its window for all streams.
    pub fn is_short(&self) -> bool {
        let all = |bytes: &HashMap<u32, u64>| bytes.get(&0).copied().unwrap_or_default();
        let most = WINDOW_FIRST as u64 + self.widened.unwrap_or_default();
        all(&self.sent) - all(&self.given) > most / 2
    }

    /// Whether the proxy owes no answer to SETTINGS or PING.
    pub fn is_answered(&self) -> bool {
        self.announced.is_empty() && self.pings.is_empty()
    }
}

/// The first frame, and what follows it; `None`: it is not whole.
fn next(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let header = bytes.get(..HEADER_BYTES)?;
    let len = number(&[0, header[0], header[1], header[2]]) as usize;
    let payload = bytes.get(HEADER_BYTES..HEADER_BYTES + len)?;
    let frame = Frame { kind: header[3], flags: header[4], stream: number(&header[5..]), payload };
    Some((frame, &bytes[HEADER_BYTES + len..]))
}

/// 31 bits.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0u32, |sum, byte| (sum << 8) | u32::from(*byte)) & (u32::MAX >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    }

    fn watch(window: u8) -> Watch {
        let mut watch = Watch::new(Peer::Client);
        let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, window]);
        watch.said(&[&[0; PREFACE_BYTES][..], &settings, &frame(HEADERS, 4, 1, b"")].concat());
        watch
    }

    #[test]
    fn window_counts_from_its_acknowledgement_on() {
        let mut watch = watch(3);
        assert_eq!(watch.heard(&frame(DATA, 0, 1, b"abcd")), Ok(()), "the first window still holds");
        let ack = frame(SETTINGS, ACK, 0, b"");
        assert_eq!(watch.heard(&ack), Ok(()));
        assert!(watch.heard(&frame(DATA, 0, 1, b"a")).is_err());
        assert!(watch.heard(&ack).is_err(), "there is nothing to acknowledge");
    }

    #[test]
    fn window_that_was_not_taken_is_not_given_back() {
        let mut watch = watch(9);
        let update = |stream, bytes| frame(WINDOW_UPDATE, 0, stream, &[0, 0, 0, bytes]);
        watch.said(&frame(DATA, 0, 1, b"abc"));
        for byte in update(1, 3) {
            assert_eq!(watch.heard(&[byte]), Ok(()));
        }
        assert!(watch.heard(&update(1, 1)).is_err());
        assert_eq!(watch.heard(&update(0, 200)), Ok(()), "the window becomes larger");
        assert!(watch.heard(&update(0, 4)).is_err());
    }

    #[test]
    fn servers_have_as_many_streams_as_they_allow() {
        let mut watch = Watch::new(Peer::Server);
        watch.said(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]));
        let begin = [&[0; PREFACE_BYTES][..], &frame(SETTINGS, ACK, 0, b"")].concat();
        for byte in begin {
            assert_eq!(watch.heard(&[byte]), Ok(()));
        }
        let head = |stream, flags| frame(HEADERS, 4 | flags, stream, b"");
        assert_eq!(watch.heard(&head(1, END_STREAM)), Ok(()));
        watch.said(&head(1, END_STREAM));
        assert_eq!(watch.heard(&head(3, 0)), Ok(()));
        watch.said(&head(3, END_STREAM));
        assert!(watch.heard(&head(5, 0)).is_err(), "the request on stream 3 goes on");
    }

    #[test]
    fn pings_are_owed_an_answer() {
        let mut watch = watch(9);
        watch.said(&frame(PING, 0, 0, b"12345678"));
        assert_eq!(watch.heard(&frame(SETTINGS, ACK, 0, b"")), Ok(()));
        assert!(!watch.is_answered());
        assert_eq!(watch.heard(&frame(PING, ACK, 0, b"12345678")), Ok(()));
        assert!(watch.is_answered());
    }
}
