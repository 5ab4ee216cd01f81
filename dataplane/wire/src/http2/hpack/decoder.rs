//! Decodes blocks (RFC 7541 §3, §6).

use super::{Kind, LINE_END, Line, Malformed, SEPARATOR, dynamic::Table, fixed, huffman, integer};
use crate::{
    head::{Name, is_token, may_be_value},
    scan::is_blank,
};

/// The sizes that one block may set: the smallest since the last block, and the last (RFC 7541 §4.2).
const UPDATES_MAX: u8 = 2;

/// What both ends know of the fields of one direction of a connection.
pub struct Decoder {
    table: Table,
    /// The largest table that the peer may set.
    most: usize,
}

/// A block of which some fields are decoded. Every block must be decoded to its end, or the table differs from the
/// peer's.
pub struct Block<'d> {
    decoder: &'d mut Decoder,
    bytes: &'d [u8],
    at: usize,
    updates: u8,
}

impl Decoder {
    pub fn new(most: usize) -> Self {
        Self { table: Table::new(most), most }
    }

    pub fn block<'d>(&'d mut self, bytes: &'d [u8]) -> Block<'d> {
        Block { decoder: self, bytes, at: 0, updates: 0 }
    }

    /// Appends the line of an index.
    #[inline]
    fn append(&self, index: usize, text: &mut Vec<u8>) -> Result<Line, Malformed> {
        let start = text.len();
        let (line, name_bytes, kind) = self.entry(index)?;
        text.extend_from_slice(line);
        Ok(Line { start, name_bytes, value_bytes: line.len() - name_bytes - SEPARATOR.len() - LINE_END.len(), kind })
    }

    #[inline]
    fn entry(&self, index: usize) -> Result<(&[u8], usize, Kind), Malformed> {
        match index.checked_sub(fixed::COUNT + 1) {
            Some(index) => {
                let found = self.table.get(index).ok_or(Malformed::Index)?;
                Ok((found.line, found.name_bytes, found.kind))
            }
            None => {
                let entry = fixed::entry(index).ok_or(Malformed::Index)?;
                Ok((entry.line, entry.name_bytes, entry.kind))
            }
        }
    }
}

impl Block<'_> {
    /// Appends the next field to `text` as a line; `None`: the block has no more.
    #[inline]
    pub fn next(&mut self, text: &mut Vec<u8>) -> Result<Option<Line>, Malformed> {
        loop {
            let Some(&first) = self.bytes.get(self.at) else { return Ok(None) };
            if first & 0x80 != 0 {
                let index = integer::read(self.bytes, &mut self.at, 7)?;
                self.updates = UPDATES_MAX;
                return self.decoder.append(index, text).map(Some);
            }
            if first & 0xe0 != 0x20 {
                self.updates = UPDATES_MAX;
                return self.literal(first, text).map(Some);
            }
            self.update()?;
        }
    }

    /// A new size of the table.
    #[cold]
    fn update(&mut self) -> Result<(), Malformed> {
        let size = integer::read(self.bytes, &mut self.at, 5)?;
        if self.updates >= UPDATES_MAX || size > self.decoder.most {
            return Err(Malformed::TableSize);
        }
        self.updates += 1;
        self.decoder.table.resize(size);
        Ok(())
    }

    /// A field whose value stands in the block. Its name may be that of an entry.
    fn literal(&mut self, first: u8, text: &mut Vec<u8>) -> Result<Line, Malformed> {
        let is_stored = first & 0x40 != 0;
        let index = integer::read(self.bytes, &mut self.at, if is_stored { 6 } else { 4 })?;
        let start = text.len();
        let kind = if index == 0 {
            self.string(text)?;
            kind_of(&text[start..])
        } else {
            let (line, name_bytes, kind) = self.decoder.entry(index)?;
            text.extend_from_slice(&line[..name_bytes]);
            // An entry may be malformed for its value.
            if kind == Kind::Malformed { kind_of(&line[..name_bytes]) } else { kind }
        };
        let name_bytes = text.len() - start;
        text.extend_from_slice(SEPARATOR);
        let value_start = text.len();
        self.string(text)?;
        let value_bytes = text.len() - value_start;
        let kind = if is_value(&text[value_start..]) { kind } else { Kind::Malformed };
        text.extend_from_slice(LINE_END);
        if is_stored {
            self.decoder.table.insert(&text[start..], name_bytes, kind);
        }
        Ok(Line { start, name_bytes, value_bytes, kind })
    }

    /// Appends a string (RFC 7541 §5.2).
    fn string(&mut self, text: &mut Vec<u8>) -> Result<(), Malformed> {
        let is_coded = self.bytes.get(self.at).ok_or(Malformed::Cut)? & 0x80 != 0;
        let len = integer::read(self.bytes, &mut self.at, 7)?;
        let string = self.bytes.get(self.at..self.at + len).ok_or(Malformed::Cut)?;
        self.at += len;
        if is_coded {
            return huffman::decode(string, text);
        }
        text.extend_from_slice(string);
        Ok(())
    }
}

/// What a name stands for (RFC 9113 §8.2.1). No name has capitals.
fn kind_of(name: &[u8]) -> Kind {
    if name.first() == Some(&b':') {
        return fixed::pseudo(name).map_or(Kind::Malformed, Kind::Pseudo);
    }
    if is_token(name) && !name.iter().any(u8::is_ascii_uppercase) {
        Kind::Field(Name::of(name))
    } else {
        Kind::Malformed
    }
}

/// A value has no control characters but tabs, and no white space around it.
fn is_value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| byte.is_some_and(|&byte| is_blank(byte));
    may_be_value(value) && !blank(value.first()) && !blank(value.last())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::hpack::{Pseudo, TABLE_BYTES};

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).unwrap()).collect()
    }

    fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<String, Malformed> {
        let (mut text, mut block) = (Vec::new(), decoder.block(block));
        while let Some(line) = block.next(&mut text)? {
            assert_eq!(line.start + line.name_bytes + line.value_bytes + 4, text.len());
        }
        Ok(String::from_utf8(text).unwrap())
    }

    fn kind(block: &[u8]) -> Kind {
        Decoder::new(TABLE_BYTES).block(block).next(&mut Vec::new()).unwrap().unwrap().kind
    }

    /// A literal that is not stored, with a name and a value in plain text.
    fn literal(name: &str, value: &str) -> Vec<u8> {
        let string = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        [vec![0], string(name), string(value)].concat()
    }

    /// RFC 7541 appendix C.3 and C.4: the same requests, plain and coded.
    #[test]
    fn decodes_the_requests_of_the_standard() {
        let start = ":method: GET\r\n:scheme: http\r\n:path: /\r\n:authority: www.example.com\r\n";
        let third = ":method: GET\r\n:scheme: https\r\n:path: /index.html\r\n:authority: www.example.com\r\n";
        let texts = [
            start.to_owned(),
            format!("{start}cache-control: no-cache\r\n"),
            format!("{third}custom-key: custom-value\r\n"),
        ];
        let plain = [
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "8286 84be 5808 6e6f 2d63 6163 6865",
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
        ];
        let coded = [
            "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
            "8286 84be 5886 a8eb 1064 9cbf",
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
        ];
        for blocks in [plain, coded] {
            let mut decoder = Decoder::new(TABLE_BYTES);
            for (block, text) in blocks.iter().zip(&texts) {
                assert_eq!(decoded(&mut decoder, &bytes(block)).as_ref(), Ok(text));
            }
        }
    }

    /// RFC 7541 appendix C.6: responses that evict entries from a table of 256 bytes.
    #[test]
    fn decodes_the_responses_of_the_standard() {
        let mut decoder = Decoder::new(256);
        let start =
            "cache-control: private\r\ndate: Mon, 21 Oct 2013 20:13:21 GMT\r\nlocation: https://www.example.com\r\n";
        let blocks = [
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
             2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            "4883 640e ffc1 c0bf",
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
             77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
        ];
        let texts = [
            format!(":status: 302\r\n{start}"),
            format!(":status: 307\r\n{start}"),
            ":status: 200\r\ncache-control: private\r\ndate: Mon, 21 Oct 2013 20:13:22 GMT\r\n\
             location: https://www.example.com\r\ncontent-encoding: gzip\r\n\
             set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\r\n"
                .to_owned(),
        ];
        for (block, text) in blocks.iter().zip(&texts) {
            assert_eq!(decoded(&mut decoder, &bytes(block)).as_ref(), Ok(text));
        }
    }

    #[test]
    fn refuses_what_is_malformed() {
        let mut decoder = Decoder::new(TABLE_BYTES);
        for (block, wrong) in [
            (&[0x80][..], Malformed::Index),
            (&[0xbe], Malformed::Index),
            (&[0x0f, 0x30, 0x00], Malformed::Index),
            (&[0x00, 0x01], Malformed::Cut),
            (&[0x00, 0x01, b'a'], Malformed::Cut),
            (&[0x00, 0x81, 0xff], Malformed::Huffman),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Malformed::Number),
            // 4,097 bytes.
            (&[0x3f, 0xe2, 0x1f], Malformed::TableSize),
            (&[0x20, 0x20, 0x20], Malformed::TableSize),
            (&[0x82, 0x20], Malformed::TableSize),
        ] {
            assert_eq!(decoded(&mut decoder, block), Err(wrong), "{block:x?}");
        }
        assert_eq!(decoded(&mut decoder, &[0x20, 0x3f, 0xe1, 0x1f, 0x82]).as_deref(), Ok(":method: GET\r\n"));
    }

    #[test]
    fn knows_what_a_field_is() {
        for (name, value, is) in [
            ("host", "a", Kind::Field(Name::Host)),
            ("x-a", "", Kind::Field(Name::Other)),
            ("x_forwarded_for", "a", Kind::Field(Name::Shadow)),
            (":protocol", "websocket", Kind::Pseudo(Pseudo::Protocol)),
            (":path", "/", Kind::Pseudo(Pseudo::Path)),
            (":other", "/", Kind::Malformed),
            ("", "a", Kind::Malformed),
            ("Host", "a", Kind::Malformed),
            ("a b", "a", Kind::Malformed),
            ("a:", "a", Kind::Malformed),
            ("a", "b\r\nc: d", Kind::Malformed),
            ("a", "b\0", Kind::Malformed),
            ("a", " b", Kind::Malformed),
            ("a", "b\t", Kind::Malformed),
            ("a", "b c", Kind::Field(Name::Other)),
        ] {
            assert_eq!(kind(&literal(name, value)), is, "{name}: {value}");
        }
    }

    #[test]
    fn name_of_a_malformed_entry_can_be_used_again() {
        let mut decoder = Decoder::new(TABLE_BYTES);
        let stored = [&[0x40, 4][..], b"host", &[1, 0]].concat();
        let mut text = Vec::new();
        assert_eq!(decoder.block(&stored).next(&mut text).unwrap().unwrap().kind, Kind::Malformed);
        assert_eq!(decoder.block(&[0xbe]).next(&mut text).unwrap().unwrap().kind, Kind::Malformed);
        let by_name = [0x0f, 62 - 15, 1, b'a'];
        assert_eq!(decoder.block(&by_name).next(&mut text).unwrap().unwrap().kind, Kind::Field(Name::Host));
    }
}
