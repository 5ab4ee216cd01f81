//! The head of a response (RFC 9113 §8.3.2), and trailers (§8.1).

use super::{
    Refused,
    block::{self, Message},
    hpack::{Decoder, Pseudo},
};
use crate::{
    Error,
    head::{
        BodyLength, FieldTable, Fields, Limits, Method, Name, NameSet, ResponseHead, SWITCHING_PROTOCOLS, Version,
        check_status, has_no_content,
    },
};

/// Reads a whole block as the head of a response to a request with `method`. `is_all`: no body follows.
pub fn response<'b>(
    block: &[u8],
    method: Method,
    is_all: bool,
    decoder: &mut Decoder,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<ResponseHead<'b>, Refused> {
    let read = block::read(block, Message::Response, decoder, limits, table)?;
    let status = read.pseudo(Pseudo::Status).and_then(status).ok_or(Error::Status)?;
    check_status(status)?;
    if status == SWITCHING_PROTOCOLS {
        // It has no meaning in HTTP/2 (RFC 9113 §8.6).
        return Err(Error::SwitchedProtocols.into());
    }
    if status < 200 && is_all {
        // A head that another one follows ends no stream.
        return Err(Error::Status.into());
    }
    let body = if has_no_content(status, method) { BodyLength::None } else { read.facts.body(is_all)? };
    Ok(ResponseHead { status, reason: b"", version: Version::Http11, fields: read.fields, body })
}

/// Reads a whole block as trailers.
pub fn trailers<'b>(
    block: &[u8],
    decoder: &mut Decoder,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Fields<'b>, Refused> {
    let fields = block::read(block, Message::Trailers, decoder, limits, table)?.fields;
    // Who frames a message behind its end means another message.
    if fields.has_any(NameSet::of(&[Name::ContentLength])) { Err(Error::Trailer.into()) } else { Ok(fields) }
}

/// Three digits, and nothing else.
fn status(text: &[u8]) -> Option<u16> {
    let digits: &[u8; 3] = text.try_into().ok()?;
    let number = digits.iter().try_fold(0, |number, digit| Some(number * 10 + char::from(*digit).to_digit(10)?))?;
    u16::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::hpack::{Encoder, TABLE_BYTES};

    const LIMITS: Limits = Limits { head_bytes: 8192, field_bytes: 4096, fields: 64 };

    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let string = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        fields.iter().flat_map(|(name, value)| [vec![0], string(name), string(value)].concat()).collect()
    }

    fn read(fields: &[(&str, &str)], method: Method, is_all: bool) -> Result<(u16, BodyLength), Refused> {
        let (mut decoder, mut table) = (Decoder::new(TABLE_BYTES), FieldTable::new());
        let head = response(&block(fields), method, is_all, &mut decoder, &LIMITS, &mut table)?;
        Ok((head.status, head.body))
    }

    #[test]
    fn reads_a_response() {
        let three = [(":status", "200"), ("content-length", "3")];
        for (fields, method, is_all, body) in [
            (&three[..], Method::Get, false, BodyLength::Bytes(3)),
            (&three[..1], Method::Get, false, BodyLength::Unknown),
            (&three[..1], Method::Get, true, BodyLength::None),
            (&three[..], Method::Head, true, BodyLength::None),
        ] {
            assert_eq!(read(fields, method, is_all), Ok((200, body)));
        }
        assert_eq!(read(&[(":status", "103")], Method::Get, false), Ok((103, BodyLength::None)));
        assert_eq!(
            read(&[(":status", "304"), ("content-length", "3")], Method::Get, true),
            Ok((304, BodyLength::None))
        );
    }

    #[test]
    fn refuses_what_is_malformed() {
        for (fields, is_all, error) in [
            (&[("x-a", "b")][..], true, Error::Status),
            (&[(":status", "20")], true, Error::Status),
            (&[(":status", "+20")], true, Error::Status),
            (&[(":status", "600")], true, Error::Status),
            (&[(":status", "100")], true, Error::Status),
            (&[(":status", "101")], false, Error::SwitchedProtocols),
            (&[(":status", "200"), (":status", "200")], true, Error::Field),
            (&[(":status", "200"), (":path", "/")], true, Error::Field),
            (&[(":status", "200"), ("connection", "close")], true, Error::Field),
            (&[("x-a", "b"), (":status", "200")], true, Error::Field),
            (&[(":status", "200"), ("content-length", "3")], true, Error::ContentLength),
        ] {
            assert_eq!(read(fields, Method::Get, is_all), Err(Refused::Message(error)), "{fields:?}");
        }
    }

    #[test]
    fn trailers_have_no_start_and_frame_nothing() {
        let (mut decoder, mut table) = (Decoder::new(TABLE_BYTES), FieldTable::new());
        let mut read = |fields: &[(&str, &str)]| {
            trailers(&block(fields), &mut decoder, &LIMITS, &mut table).map(|fields| fields.len())
        };
        assert_eq!(read(&[("grpc-status", "0"), ("grpc-message", "")]), Ok(2));
        assert_eq!(read(&[]), Ok(0));
        assert_eq!(read(&[(":status", "200")]), Err(Refused::Message(Error::Field)));
        assert_eq!(read(&[("content-length", "1")]), Err(Refused::Message(Error::Trailer)));
        assert_eq!(read(&[("transfer-encoding", "chunked")]), Err(Refused::Message(Error::Field)));
    }

    #[test]
    fn reads_what_the_encoder_writes() {
        use crate::head::HeadSink;
        let mut bytes = [0; 100];
        let mut out = Encoder::response(&mut bytes);
        out.status(404, b"Not Found");
        out.number(b"Content-Length", 0);
        let len = out.end().unwrap();
        let (mut decoder, mut table) = (Decoder::new(TABLE_BYTES), FieldTable::new());
        let head = response(&bytes[..len], Method::Get, false, &mut decoder, &LIMITS, &mut table).unwrap();
        assert_eq!((head.status, head.body), (404, BodyLength::Bytes(0)));
    }
}
