//! Reads a block of fields (RFC 9113 §8.2, §8.3) into the text and the spans that every version's head has.
//!
//! A block is decoded to its end whatever is wrong with it, because the table must stay the peer's. What is wrong with a
//! message ends its stream only.

use super::{
    Code,
    hpack::{Block, Decoder, Kind, LINE_END, Line, Pseudo, SEPARATOR},
};
use crate::{
    Error,
    head::{BodyLength, FieldTable, Fields, HOP_BY_HOP, Limits, Name, NameSet, Span, decimal},
    websocket,
};

/// A block may decode to so many times the limit of a head before its connection ends. Up to there, its stream is
/// refused.
const DECODED_MAX: usize = 4;

const HOST: &[u8; 4] = b"host";

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

/// What a block is the head of. Trailers are a head without a start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Message {
    Request,
    Response,
    Trailers,
}

/// What a block says.
pub(super) struct Read<'b> {
    pub fields: Fields<'b>,
    pub facts: Facts,
    pseudo: Places,
    parts: &'b [u8],
}

impl<'b> Read<'b> {
    /// The value of a pseudo-header field.
    pub fn pseudo(&self, pseudo: Pseudo) -> Option<&'b [u8]> {
        part(self.parts, &self.pseudo, pseudo)
    }
}

/// Where the value of each pseudo-header field lies: start and end.
type Places = [Option<(u32, u32)>; Pseudo::COUNT];

fn part<'b>(parts: &'b [u8], places: &Places, pseudo: Pseudo) -> Option<&'b [u8]> {
    places[pseudo as usize].and_then(|(start, end)| parts.get(start as usize..end as usize))
}

/// What fields say of the message itself.
#[derive(Clone, Copy, Default)]
pub(super) struct Facts {
    pub length: Option<u64>,
    pub expect_continue: bool,
}

impl Facts {
    pub fn body(&self, is_all: bool) -> Result<BodyLength, Error> {
        match (is_all, self.length) {
            (true, None) => Ok(BodyLength::None),
            (false, None) => Ok(BodyLength::Unknown),
            // The content that is announced never comes (§8.1.1).
            (true, Some(1..)) => Err(Error::ContentLength),
            (_, Some(bytes)) => Ok(BodyLength::Bytes(bytes)),
        }
    }
}

/// Reads a whole block as a head.
pub(super) fn read<'b>(
    block: &[u8],
    message: Message,
    decoder: &mut Decoder,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Read<'b>, Refused> {
    let mut reader = Reader::new(message, *limits, table);
    reader.read(decoder.block(block))?;
    Ok(reader.end()?)
}

/// A client that asks for WebSocket on a stream sends no key, because it could not be sure what the key proves (RFC 8441 §5).
/// If it does, the server gets only the key that Weir makes. Returns whether there was one.
fn drop_key(text: &[u8], spans: &mut [Span]) -> bool {
    let keys = spans.iter_mut().filter(|span| span.field(text).name_text.eq_ignore_ascii_case(websocket::KEY));
    keys.map(|span| span.ends_here = true).count() > 0
}

/// Decodes a block that nobody reads, so that the table stays the peer's.
pub(super) fn skip(block: &[u8], decoder: &mut Decoder, head_bytes: usize) -> Result<(), Code> {
    let (mut block, mut text, mut decoded_bytes) = (decoder.block(block), Vec::new(), 0);
    while block.next(&mut text).map_err(|_| Code::CompressionError)?.is_some() {
        decoded_bytes += text.len();
        text.clear();
        if decoded_bytes > DECODED_MAX * head_bytes {
            return Err(Code::EnhanceYourCalm);
        }
    }
    Ok(())
}

/// Reads a block line by line. The text keeps what stands among the fields: everything else moves into the parts.
struct Reader<'b> {
    message: Message,
    text: &'b mut Vec<u8>,
    parts: &'b mut Vec<u8>,
    spans: &'b mut [Span],
    asked_for_head: &'b mut bool,
    /// Where the parts hold the crumbs of cookies, joined (§8.2.3). They come last.
    cookies: Option<usize>,
    count: usize,
    seen: NameSet,
    pseudo: Places,
    /// A Host field that says the authority again was left out.
    repeats_host: bool,
    facts: Facts,
    limits: Limits,
    decoded_bytes: usize,
    fault: Option<Error>,
}

impl<'b> Reader<'b> {
    fn new(message: Message, limits: Limits, table: &'b mut FieldTable) -> Self {
        let FieldTable { spans, text, parts, asked_for_head } = table;
        text.clear();
        parts.clear();
        *asked_for_head = false;
        Self {
            message,
            text,
            parts,
            spans: &mut spans[..limits.fields],
            asked_for_head,
            cookies: None,
            count: 0,
            seen: NameSet::default(),
            pseudo: [None; Pseudo::COUNT],
            repeats_host: false,
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
            self.fault = self.put(Name::Other, b"cookie", start).err();
        }
        let Self { text, parts, spans, asked_for_head, count, seen, pseudo, facts, fault, .. } = self;
        match fault {
            Some(fault) => {
                *asked_for_head = part(parts, &pseudo, Pseudo::Method) == Some(b"HEAD");
                Err(fault)
            }
            None => {
                let spans = &mut spans[..count];
                let some_end_here = pseudo[Pseudo::Protocol as usize].is_some() && drop_key(text, spans);
                let fields = Fields { head: text, spans, seen, some_end_here };
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

    /// All of them come before all fields, none twice (§8.3). The authority of a request becomes its Host field.
    fn take_pseudo(&mut self, pseudo: Pseudo, line: Line) -> Result<(), Error> {
        let has_left_out = self.cookies.is_some() || self.repeats_host;
        let fields_have_begun = has_left_out || self.count > usize::from(self.has(Pseudo::Authority));
        let fits = match self.message {
            Message::Request => pseudo != Pseudo::Status,
            Message::Response => pseudo == Pseudo::Status,
            Message::Trailers => false,
        };
        if fields_have_begun || !fits || self.has(pseudo) {
            return Err(Error::Field);
        }
        let start = self.parts.len();
        self.parts.extend_from_slice(line.value(self.text));
        self.pseudo[pseudo as usize] = Some((start as u32, self.parts.len() as u32));
        if pseudo == Pseudo::Authority {
            return self.keep_as_host(line);
        }
        self.text.truncate(line.start);
        Ok(())
    }

    /// Keeps the line of the authority with the name of the field that it becomes.
    fn keep_as_host(&mut self, line: Line) -> Result<(), Error> {
        let name_end = line.start + HOST.len();
        self.text.copy_within(line.start + line.name_bytes.., name_end);
        self.text[line.start..name_end].copy_from_slice(HOST);
        self.text.truncate(self.text.len() + HOST.len() - line.name_bytes);
        self.keep(Name::Host, Line { name_bytes: HOST.len(), ..line })
    }

    fn has(&self, pseudo: Pseudo) -> bool {
        self.pseudo[pseudo as usize].is_some()
    }

    fn take_field(&mut self, name: Name, line: Line) -> Result<(), Error> {
        let value = line.value(self.text);
        match name {
            Name::Te if value.eq_ignore_ascii_case(b"trailers") => {}
            // HTTP/2 says these things of a connection in other ways (§8.2.2).
            _ if HOP_BY_HOP.has(name) => return Err(Error::Field),
            Name::Expect => self.facts.expect_continue |= value.eq_ignore_ascii_case(b"100-continue"),
            Name::ContentLength => {
                let length = decimal(value).ok_or(Error::ContentLength)?;
                if self.facts.length.replace(length).is_some() {
                    return Err(Error::ContentLength);
                }
            }
            Name::Other if line.name(self.text) == b"cookie" => {
                match self.cookies {
                    // No value may end with a space.
                    Some(_) if value.is_empty() => {}
                    Some(_) => self.parts.extend_from_slice(b"; "),
                    None => self.cookies = Some(self.parts.len()),
                }
                self.parts.extend_from_slice(value);
                self.text.truncate(line.start);
                return Ok(());
            }
            Name::Host if self.seen.has(Name::Host) => {
                if part(self.parts, &self.pseudo, Pseudo::Authority) != Some(value) {
                    return Err(Error::Host);
                }
                // Says again what the authority says, and only that.
                self.repeats_host = true;
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
        for part in [text, SEPARATOR, &self.parts[start..], LINE_END] {
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
