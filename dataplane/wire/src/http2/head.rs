//! Heads of messages (RFC 9113 §8): from the fields of a block to the head that every version has.
//!
//! A block is decoded to its end whatever is wrong with it, because the table must stay the peer's. What is wrong with a
//! message ends its stream only.

use super::{
    Code,
    hpack::{Block, Decoder, Kind, Line, Pseudo},
};
use crate::{
    Error,
    head::{
        BodyLength, FieldTable, Fields, Limits, Method, Name, NameSet, RequestHead, Span, Version, decimal, is_host,
        may_be_target,
    },
    scan::token_end,
};

/// A block may decode to so many times the limit of a head before its connection ends. Up to there, its stream is
/// refused.
const DECODED_MAX: usize = 4;

/// The fields of HTTP/1 that make a message malformed (§8.2.2).
const OF_HTTP1: NameSet =
    NameSet::of(&[Name::Connection, Name::KeepAlive, Name::ProxyConnection, Name::TransferEncoding, Name::Upgrade]);

/// A request head, and what it says beside.
#[derive(Clone, Copy, Debug)]
pub struct Request<'b> {
    pub head: RequestHead<'b>,
    pub scheme: &'b [u8],
    /// The client takes trailers (RFC 9110 §6.5.1).
    pub takes_trailers: bool,
}

/// Why a block is no head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The connection cannot go on.
    Connection(Code),
    /// The message is malformed or too large.
    Message(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Message(error)
    }
}

/// Reads a whole block as the head of a request. `is_all`: no body follows.
pub fn request<'b>(
    block: &[u8],
    is_all: bool,
    decoder: &mut Decoder,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Request<'b>, Refused> {
    let mut reader = Reader::new(*limits, table);
    reader.read(decoder.block(block))?;
    let Read { parts, pseudo, fields, facts } = reader.end()?;
    let part = |range: Option<(usize, usize)>| range.and_then(|(start, end)| parts.get(start..end));
    let method_text = part(pseudo.method).ok_or(Error::StartLine)?;
    if method_text == b"CONNECT" {
        return Err(Error::Connect.into());
    }
    if method_text.is_empty() || token_end(method_text, 0) < method_text.len() || pseudo.has_others {
        return Err(Error::StartLine.into());
    }
    let method = Method::of(method_text);
    let scheme = part(pseudo.scheme).filter(|scheme| [&b"http"[..], b"https"].contains(scheme));
    let scheme = scheme.ok_or(Error::Target)?;
    let path = part(pseudo.path).filter(|path| is_path(path, method)).ok_or(Error::Target)?;
    let host = fields.among(NameSet::of(&[Name::Host])).next().map(|field| field.value);
    let host = host.filter(|host| !host.is_empty() && is_host(host)).ok_or(Error::Host)?;
    let body = facts.body(is_all)?;
    let head = RequestHead {
        method,
        method_text,
        target: path,
        path,
        version: Version::Http2,
        fields,
        body,
        expect_continue: facts.expect_continue && !body.is_zero(),
        host: Some(host),
        absolute: false,
    };
    Ok(Request { head, scheme, takes_trailers: facts.takes_trailers })
}

/// A path, `*` of OPTIONS, and no other form (§8.3.1).
fn is_path(path: &[u8], method: Method) -> bool {
    let is_form = path.first() == Some(&b'/') || path == b"*" && method == Method::Options;
    is_form && may_be_target(path) && !path.contains(&b' ') && !path.contains(&b'\t')
}

/// What a block says.
struct Read<'b> {
    /// The values of pseudo-header fields.
    parts: &'b [u8],
    pseudo: Places,
    fields: Fields<'b>,
    facts: Facts,
}

/// Where the values of pseudo-header fields lie: start and end.
#[derive(Clone, Copy, Default)]
struct Places {
    method: Option<(usize, usize)>,
    scheme: Option<(usize, usize)>,
    path: Option<(usize, usize)>,
    authority: Option<(usize, usize)>,
    /// There are some that no request has.
    has_others: bool,
}

/// What fields say of the message itself.
#[derive(Clone, Copy, Default)]
struct Facts {
    length: Option<u64>,
    expect_continue: bool,
    takes_trailers: bool,
}

impl Facts {
    fn body(&self, is_all: bool) -> Result<BodyLength, Error> {
        match (is_all, self.length) {
            (true, None | Some(0)) => Ok(BodyLength::None),
            // The content that is announced never comes (§8.1.1).
            (true, Some(_)) => Err(Error::ContentLength),
            (false, Some(bytes)) => Ok(BodyLength::Bytes(bytes)),
            (false, None) => Ok(BodyLength::Unknown),
        }
    }
}

/// Reads a block line by line. The text keeps what stands among the fields: everything else moves into the parts.
struct Reader<'b> {
    text: &'b mut Vec<u8>,
    parts: &'b mut Vec<u8>,
    spans: &'b mut [Span],
    /// Where the parts hold the crumbs of cookies, joined (§8.2.3). They come last.
    cookies: Option<usize>,
    count: usize,
    seen: NameSet,
    pseudo: Places,
    facts: Facts,
    limits: Limits,
    decoded_bytes: usize,
    fault: Option<Error>,
}

impl<'b> Reader<'b> {
    fn new(limits: Limits, table: &'b mut FieldTable) -> Self {
        let FieldTable { spans, text, parts } = table;
        text.clear();
        parts.clear();
        Self {
            text,
            parts,
            spans: &mut spans[..limits.fields],
            cookies: None,
            count: 0,
            seen: NameSet::default(),
            pseudo: Places::default(),
            facts: Facts::default(),
            limits,
            decoded_bytes: 0,
            fault: None,
        }
    }

    fn read(&mut self, mut block: Block<'_>) -> Result<(), Refused> {
        let next = |block: &mut Block<'_>, text: &mut Vec<u8>| {
            block.next(text).map_err(|_| Refused::Connection(Code::CompressionError))
        };
        while let Some(line) = next(&mut block, self.text)? {
            self.decoded_bytes += self.text.len() - line.start;
            if self.decoded_bytes > DECODED_MAX * self.limits.head_bytes {
                return Err(Refused::Connection(Code::EnhanceYourCalm));
            }
            if self.fault.is_none() {
                self.fault = self.take(line).err();
            }
            if self.fault.is_some() {
                self.text.truncate(line.start);
            }
        }
        Ok(())
    }

    /// Everything of a block that is a head.
    fn end(mut self) -> Result<Read<'b>, Error> {
        if let (Some(start), None) = (self.cookies, self.fault) {
            self.fault = self.put(Name::Cookie, b"cookie", start).err();
        }
        let Self { text, parts, spans, count, seen, pseudo, facts, fault, .. } = self;
        match fault {
            Some(fault) => Err(fault),
            None => {
                let fields = Fields { head: text, spans: &spans[..count], seen, some_end_here: false };
                Ok(Read { parts, pseudo, fields, facts })
            }
        }
    }

    fn take(&mut self, line: Line) -> Result<(), Error> {
        if self.decoded_bytes > self.limits.head_bytes {
            return Err(Error::HeadTooLarge);
        }
        if self.text.len() - line.start > self.limits.field_bytes {
            return Err(Error::FieldTooLarge);
        }
        match line.kind {
            Kind::Malformed => Err(Error::Field),
            Kind::Pseudo(pseudo) => self.take_pseudo(pseudo, line),
            Kind::Field(name) => self.take_field(name, line),
        }
    }

    /// All of them come before all fields, none twice (§8.3). An authority becomes the Host field.
    fn take_pseudo(&mut self, pseudo: Pseudo, line: Line) -> Result<(), Error> {
        let only_authority = self.pseudo.authority.is_some() && self.count == 1;
        if self.count > 0 && !only_authority || self.cookies.is_some() {
            return Err(Error::Field);
        }
        let start = self.parts.len();
        self.parts.extend_from_slice(line.value(self.text));
        let place = match pseudo {
            Pseudo::Authority => &mut self.pseudo.authority,
            Pseudo::Method => &mut self.pseudo.method,
            Pseudo::Path => &mut self.pseudo.path,
            Pseudo::Scheme => &mut self.pseudo.scheme,
            Pseudo::Protocol | Pseudo::Status => {
                self.pseudo.has_others = true;
                self.text.truncate(line.start);
                return Ok(());
            }
        };
        if place.replace((start, self.parts.len())).is_some() {
            return Err(Error::Field);
        }
        self.text.truncate(line.start);
        match pseudo {
            Pseudo::Authority => self.put(Name::Host, b"host", start),
            _ => Ok(()),
        }
    }

    fn take_field(&mut self, name: Name, line: Line) -> Result<(), Error> {
        if OF_HTTP1.has(name) {
            return Err(Error::Field);
        }
        let value = line.value(self.text);
        match name {
            Name::Te if !value.eq_ignore_ascii_case(b"trailers") => return Err(Error::Field),
            Name::Te => self.facts.takes_trailers = true,
            Name::Expect => self.facts.expect_continue |= value.eq_ignore_ascii_case(b"100-continue"),
            Name::ContentLength => {
                let length = decimal(value).ok_or(Error::ContentLength)?;
                if self.facts.length.replace(length).is_some() {
                    return Err(Error::ContentLength);
                }
            }
            Name::Cookie => {
                match self.cookies {
                    Some(_) => self.parts.extend_from_slice(b"; "),
                    None => self.cookies = Some(self.parts.len()),
                }
                self.parts.extend_from_slice(value);
                self.text.truncate(line.start);
                return Ok(());
            }
            Name::Host if self.seen.has(Name::Host) => {
                let authority = self.pseudo.authority.and_then(|(start, end)| self.parts.get(start..end));
                if authority != Some(value) {
                    return Err(Error::Host);
                }
                // Says again what the authority says, and only that.
                self.text.truncate(line.start);
                return Ok(());
            }
            _ => {}
        }
        self.keep(name, line)
    }

    /// Appends a field whose value is what the parts hold from `start` on.
    fn put(&mut self, name: Name, text: &[u8], start: usize) -> Result<(), Error> {
        let line = Line {
            start: self.text.len(),
            name_bytes: text.len(),
            value_bytes: self.parts.len() - start,
            kind: Kind::Field(name),
        };
        for part in [text, b": ", &self.parts[start..], b"\r\n"] {
            self.text.extend_from_slice(part);
        }
        if self.text.len() - line.start > self.limits.field_bytes {
            return Err(Error::FieldTooLarge);
        }
        self.keep(name, line)
    }

    /// Notes where a field of the text lies.
    fn keep(&mut self, name: Name, line: Line) -> Result<(), Error> {
        let place = self.spans.get_mut(self.count).ok_or(Error::TooManyFields)?;
        *place = Span {
            line: line.start as u32,
            name_bytes: line.name_bytes as u32,
            value: line.value_start() as u32,
            value_bytes: line.value_bytes as u32,
            name,
            ends_here: false,
        };
        self.count += 1;
        self.seen = self.seen.with(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::hpack::TABLE_BYTES;

    const START: [(&str, &str); 4] = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/b?c")];

    /// Literals that are not stored.
    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let string = |text: &str| {
            assert!(text.len() < 127);
            [&[text.len() as u8], text.as_bytes()].concat()
        };
        fields.iter().flat_map(|(name, value)| [vec![0], string(name), string(value)].concat()).collect()
    }

    fn read_within<T>(
        limits: Limits,
        fields: &[(&str, &str)],
        is_all: bool,
        look: impl Fn(Request<'_>) -> T,
    ) -> Result<T, Refused> {
        let (mut decoder, mut table) = (Decoder::new(TABLE_BYTES), FieldTable::new());
        request(&block(fields), is_all, &mut decoder, &limits, &mut table).map(look)
    }

    fn read<T>(fields: &[(&str, &str)], is_all: bool, look: impl Fn(Request<'_>) -> T) -> Result<T, Refused> {
        read_within(Limits::new(0, 0, 0), fields, is_all, look)
    }

    fn refused(fields: &[(&str, &str)]) -> Option<Refused> {
        read(fields, false, |_| ()).err()
    }

    fn lines(request: Request<'_>) -> String {
        let mut all = String::new();
        request.head.fields.kept_lines(|_| true, |lines| all.push_str(&String::from_utf8_lossy(lines)));
        all
    }

    #[test]
    fn reads_a_request() {
        let fields = [&START[..], &[("x-a", "b"), ("te", "Trailers"), ("content-length", "3")]].concat();
        let request = read(&fields, false, |request| {
            let head = request.head;
            assert_eq!((head.method, head.version), (Method::Get, Version::Http2));
            assert_eq!((head.path, head.host), (&b"/b?c"[..], Some(&b"a"[..])));
            assert_eq!((head.body, head.expect_continue), (BodyLength::Bytes(3), false));
            assert_eq!((request.scheme, request.takes_trailers), (&b"https"[..], true));
            lines(request)
        });
        assert_eq!(request.as_deref(), Ok("host: a\r\nx-a: b\r\ncontent-length: 3\r\n"));
    }

    #[test]
    fn crumbs_of_cookies_become_one_field() {
        let fields = [&START[..], &[("cookie", "a=b"), ("x-a", "b"), ("cookie", "c=d"), ("cookie", "e=f")]].concat();
        assert_eq!(read(&fields, true, lines).as_deref(), Ok("host: a\r\nx-a: b\r\ncookie: a=b; c=d; e=f\r\n"),);
    }

    #[test]
    fn host_is_the_authority_or_stands_for_it() {
        let without = [START[0], START[1], START[3]];
        let with = |start: &[(&'static str, &'static str)], hosts: &[&'static str]| {
            [start, &hosts.iter().map(|host| ("host", *host)).collect::<Vec<_>>()].concat()
        };
        for (fields, host) in [
            (with(&START, &[]), Ok("host: a\r\n")),
            (with(&START, &["a"]), Ok("host: a\r\n")),
            (with(&without, &["c:80"]), Ok("host: c:80\r\n")),
            (with(&START, &["b"]), Err(Refused::Message(Error::Host))),
            (with(&without, &[]), Err(Refused::Message(Error::Host))),
            (with(&without, &[""]), Err(Refused::Message(Error::Host))),
            (with(&without, &["a", "a"]), Err(Refused::Message(Error::Host))),
            (with(&without, &["u@a"]), Err(Refused::Message(Error::Host))),
        ] {
            assert_eq!(read(&fields, true, lines).as_deref(), host.as_deref(), "{fields:?}");
        }
    }

    #[test]
    fn refuses_what_is_malformed() {
        let swapped = |at: usize, name: &'static str, value: &'static str| {
            let mut fields = START.to_vec();
            fields[at] = (name, value);
            fields
        };
        let added = |name: &'static str, value: &'static str| [&START[..], &[(name, value)]].concat();
        for (fields, error) in [
            (added("Upper", "a"), Error::Field),
            (added("connection", "close"), Error::Field),
            (added("transfer-encoding", "chunked"), Error::Field),
            (added("te", "gzip"), Error::Field),
            (added("a", "b\n"), Error::Field),
            (added(":path", "/"), Error::Field),
            (added(":other", "/"), Error::Field),
            ([&[("x-a", "b")], &START[..]].concat(), Error::Field),
            ([&[("cookie", "b")], &START[..]].concat(), Error::Field),
            (added(":status", "200"), Error::StartLine),
            (added("content-length", "+1"), Error::ContentLength),
            ([&added("content-length", "1")[..], &[("content-length", "1")]].concat(), Error::ContentLength),
            (swapped(0, ":method", "A B"), Error::StartLine),
            (swapped(0, ":method", "CONNECT"), Error::Connect),
            (swapped(0, "x-a", "b"), Error::Field),
            (swapped(1, ":scheme", "ftp"), Error::Target),
            (swapped(3, ":path", ""), Error::Target),
            (swapped(3, ":path", "*"), Error::Target),
            (swapped(3, ":path", "/a b"), Error::Target),
            (swapped(3, ":path", "/a#b"), Error::Target),
            (swapped(3, ":path", "http://a/"), Error::Target),
            (START[1..].to_vec(), Error::StartLine),
            (START[..3].to_vec(), Error::Target),
        ] {
            assert_eq!(refused(&fields), Some(Refused::Message(error)), "{fields:?}");
        }
        let announced = added("content-length", "1");
        assert_eq!(read(&announced, true, |_| ()), Err(Refused::Message(Error::ContentLength)));
    }

    #[test]
    fn limits_hold_for_what_is_decoded() {
        let long = "x".repeat(120);
        let many = |count: usize| [&START[..], &vec![("x-a", long.as_str()); count]].concat();
        let head = Limits::new(300, 0, 0);
        assert_eq!(read_within(head, &many(1), true, |_| ()), Ok(()));
        assert_eq!(read_within(head, &many(2), true, |_| ()), Err(Refused::Message(Error::HeadTooLarge)));
        assert_eq!(read_within(head, &many(10), true, |_| ()), Err(Refused::Connection(Code::EnhanceYourCalm)));
        let crumbs = [&START[..], &[("cookie", &long[..60]), ("cookie", &long[..60])]].concat();
        assert_eq!(
            read_within(Limits::new(0, 100, 0), &crumbs, true, |_| ()),
            Err(Refused::Message(Error::FieldTooLarge))
        );
        let field = Limits::new(0, 100, 0);
        assert_eq!(read_within(field, &many(1), true, |_| ()), Err(Refused::Message(Error::FieldTooLarge)));
        let fields = Limits::new(0, 0, 3);
        assert_eq!(read_within(fields, &many(2), true, |_| ()), Ok(()));
        assert_eq!(read_within(fields, &many(3), true, |_| ()), Err(Refused::Message(Error::TooManyFields)));
    }

    #[test]
    fn table_stays_the_peers_after_a_refusal() {
        let (mut decoder, mut table) = (Decoder::new(TABLE_BYTES), FieldTable::new());
        let limits = Limits::new(0, 0, 0);
        let stored = |name: &str, value: &str| {
            [&[0x40, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
        };
        let bad = [block(&[("Bad", "a")]), stored("x-a", "b")].concat();
        assert!(request(&bad, true, &mut decoder, &limits, &mut table).is_err());
        let good = [block(&START), vec![0xbe]].concat();
        assert_eq!(
            request(&good, true, &mut decoder, &limits, &mut table).map(lines).as_deref(),
            Ok("host: a\r\nx-a: b\r\n"),
        );
        assert_eq!(
            request(&[0x80], true, &mut decoder, &limits, &mut table).err(),
            Some(Refused::Connection(Code::CompressionError)),
        );
    }
}
