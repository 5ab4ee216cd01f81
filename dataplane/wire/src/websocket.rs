//! The opening handshake of WebSocket (RFC 6455 §4). Weir passes a handshake on, or makes one for a client that speaks
//! HTTP/2 (RFC 8441); it never reads what follows.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    head::{Fields, Method, Name, NameSet, RequestHead, ResponseHead, Version},
    http1::framing::list,
};

/// The fields of a key, and of the answer to it.
pub const KEY: &[u8] = b"Sec-WebSocket-Key";
pub const ACCEPT: &[u8] = b"Sec-WebSocket-Accept";

/// The only protocol that a client can have Weir switch to.
const PROTOCOL: &[u8] = b"websocket";
const VERSION: &[u8] = b"13";
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const NONCE_BYTES: usize = 16;
const KEY_BYTES: usize = 24;
const ACCEPT_BYTES: usize = 28;

/// What proves that a server has understood the handshake: its answer is made of this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key([u8; KEY_BYTES]);

impl Key {
    /// Bytes of its field.
    pub const FIELD_BYTES: usize = KEY.len() + 2 + KEY_BYTES + 2;

    pub fn of_nonce(nonce: [u8; NONCE_BYTES]) -> Self {
        let mut key = [0; KEY_BYTES];
        // The key has room for exactly this.
        let _ = STANDARD.encode_slice(nonce, &mut key);
        Self(key)
    }

    /// The key of a request that asks to switch to WebSocket and to nothing else; `None`: a request like any other.
    pub fn asked_by(head: &RequestHead<'_>) -> Option<Self> {
        let asks = head.method == Method::Get
            && head.version == Version::Http11
            && head.body.is_zero()
            && switches(&head.fields)
            && has_version(&head.fields);
        let key = only(&head.fields, KEY).filter(|_| asks)?;
        let nonce = STANDARD.decode(key).ok()?;
        (nonce.len() == NONCE_BYTES).then_some(Self(key.try_into().ok()?))
    }

    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// Whether a 101 is the answer to this key, and switches to WebSocket.
    pub fn is_accepted_by(&self, head: &ResponseHead<'_>) -> bool {
        switches(&head.fields) && only(&head.fields, ACCEPT) == Some(&self.accept())
    }

    fn accept(&self) -> [u8; ACCEPT_BYTES] {
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[&self.0, GUID].concat());
        let mut accept = [0; ACCEPT_BYTES];
        let _ = STANDARD.encode_slice(hash, &mut accept);
        accept
    }
}

/// Whether the fields name the one version of WebSocket that there is.
pub(crate) fn has_version(fields: &Fields<'_>) -> bool {
    only(fields, b"Sec-WebSocket-Version") == Some(VERSION)
}

/// Whether `name` is the protocol's, in any case of letters.
pub(crate) fn is_protocol(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(PROTOCOL)
}

/// Whether Upgrade lists this protocol alone, and Connection lists Upgrade.
fn switches(fields: &Fields<'_>) -> bool {
    let named = |name| fields.among(NameSet::of(&[name])).flat_map(|field| list(field.value));
    let mut upgrades = named(Name::Upgrade);
    upgrades.next().is_some_and(is_protocol)
        && upgrades.next().is_none()
        && named(Name::Connection).any(|option| Name::of(option) == Name::Upgrade)
}

/// The value of the only field of this name.
fn only<'b>(fields: &Fields<'b>, name: &[u8]) -> Option<&'b [u8]> {
    let mut values = fields.iter().filter(|field| field.name_text.eq_ignore_ascii_case(name)).map(|field| field.value);
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        head::{FieldTable, Limits},
        http1::{Parsed, request, response_or_switch},
    };

    /// The example of RFC 6455 §1.3.
    const SAMPLE: &str = "dGhlIHNhbXBsZSBub25jZQ==";
    const ANSWER: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

    fn asked(lines: &str) -> bool {
        let input = format!("{}\r\n\r\n", lines.replace('|', "\r\n"));
        match request(input.as_bytes(), &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(request)) => Key::asked_by(&request.head).is_some(),
            other => panic!("{other:?}"),
        }
    }

    fn accepted(lines: &str) -> bool {
        let key = Key::of_nonce(*b"the sample nonce");
        assert_eq!(key.text(), SAMPLE.as_bytes());
        let input = format!("HTTP/1.1 101 Switching Protocols\r\n{}\r\n\r\n", lines.replace('|', "\r\n"));
        match response_or_switch(input.as_bytes(), Method::Get, true, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(response)) => key.is_accepted_by(&response.head),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_a_whole_handshake_asks_for_websocket() {
        let whole = format!(
            "GET /chat HTTP/1.1|Host: a|Connection: keep-alive, Upgrade|Upgrade: websocket|\
             Sec-WebSocket-Version: 13|Sec-WebSocket-Key: {SAMPLE}"
        );
        for (from, to, asks) in [
            ("GET", "GET", true),
            ("keep-alive, Upgrade", "UPGRADE", true),
            ("Upgrade: websocket", "upgrade: WebSocket", true),
            ("|Host", "|Content-Length: 0|Host", true),
            ("GET", "POST", false),
            ("HTTP/1.1", "HTTP/1.0", false),
            ("|Host", "|Content-Length: 1|Host", false),
            ("keep-alive, Upgrade", "keep-alive", false),
            ("Upgrade: websocket", "Upgrade: h2c", false),
            ("Upgrade: websocket", "Upgrade: websocket, h2c", false),
            ("Upgrade: websocket", "Upgrade: websocket|Upgrade: h2c", false),
            ("Upgrade: websocket", "Upgrade:", false),
            ("Version: 13", "Version: 8", false),
            ("Version: 13", "Version: 13|Sec-WebSocket-Version: 13", false),
            (SAMPLE, "dGhlIHNhbXBsZSBub25jZQ", false),
            (SAMPLE, "dGhlIHNhbXBsZQ==", false),
            (SAMPLE, "dGhlIHNhbXBsZSBub25jZQ==|Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", false),
        ] {
            assert_eq!(asked(&whole.replacen(from, to, 1)), asks, "{from} → {to}");
        }
    }

    #[test]
    fn answer_must_match_the_key() {
        let whole = format!("Upgrade: websocket|Connection: Upgrade|Sec-WebSocket-Accept: {ANSWER}");
        for (from, to, is_accepted) in [
            ("websocket", "WebSocket", true),
            ("websocket", "h2c", false),
            ("Connection: Upgrade|", "", false),
            ("s3pP", "S3pP", false),
            ("Accept: ", "Accept: |Sec-WebSocket-Accept: ", false),
        ] {
            assert_eq!(accepted(&whole.replacen(from, to, 1)), is_accepted, "{from} → {to}");
        }
    }
}
