//! HPACK against a library of others, on generated connections: what that writes is read here, and the other way round.

use httlib_hpack as peer;
use proptest::prelude::*;
use weir_wire::{
    head::HeadSink,
    http2::hpack::{Decoder, Encoder, Malformed, TABLE_BYTES},
};

/// A field, and how the peer writes it.
#[derive(Clone, Debug)]
struct Sent {
    name: String,
    value: String,
    huffman: bool,
    stored: bool,
    by_index: bool,
}

impl Sent {
    fn flags(&self) -> u8 {
        let flag = |is: bool, flag| if is { flag } else { 0 };
        flag(self.huffman, peer::Encoder::HUFFMAN_NAME | peer::Encoder::HUFFMAN_VALUE)
            | flag(self.stored, peer::Encoder::WITH_INDEXING)
            | flag(self.by_index, peer::Encoder::BEST_FORMAT)
    }

    fn line(&self) -> String {
        format!("{}: {}\r\n", self.name, self.value)
    }
}

fn sent() -> impl Strategy<Value = Sent> {
    let name = prop_oneof![
        Just(":method".to_owned()),
        Just("accept-encoding".to_owned()),
        Just("set-cookie".to_owned()),
        "x-[a-c]{1,2}",
        "[a-z]{1,40}",
    ];
    let value = prop_oneof![Just("GET".to_owned()), Just("gzip, deflate".to_owned()), "[ab]{0,2}", "[!-~]{1,300}"];
    (name, value, any::<[bool; 3]>()).prop_map(|(name, value, [huffman, stored, by_index])| Sent {
        name,
        value,
        huffman,
        stored,
        by_index,
    })
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<String, Malformed> {
    let (mut text, mut block) = (Vec::new(), decoder.block(block));
    while let Some(line) = block.next(&mut text)? {
        assert_eq!(line.start + line.name_bytes + line.value_bytes + 4, text.len());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

proptest! {
    #[test]
    fn reads_what_the_peer_writes(heads in prop::collection::vec(prop::collection::vec(sent(), 0..20), 1..20)) {
        let (mut encoder, mut decoder) = (peer::Encoder::with_dynamic_size(4096), Decoder::new(TABLE_BYTES));
        for head in heads {
            let mut block = Vec::new();
            for field in &head {
                let (name, value) = (field.name.clone().into_bytes(), field.value.clone().into_bytes());
                encoder.encode((name, value, field.flags()), &mut block).unwrap();
            }
            let want: String = head.iter().map(Sent::line).collect();
            prop_assert_eq!(decode(&mut decoder, &block), Ok(want));
        }
    }

    #[test]
    fn peer_reads_what_is_written(status in 100..600u16, fields in prop::collection::vec(sent(), 0..20)) {
        let mut bytes = vec![0; 16 * 1024];
        let mut out = Encoder::response(&mut bytes);
        out.status(status, b"");
        for field in &fields {
            out.field(field.name.to_ascii_uppercase().as_bytes(), [field.value.as_bytes()]);
        }
        let len = out.end().unwrap();
        let (mut block, mut got) = (bytes[..len].to_vec(), Vec::new());
        peer::Decoder::with_dynamic_size(4096).decode(&mut block, &mut got).unwrap();
        let got: Vec<_> = got.into_iter().map(|(name, value, _)| (name, value)).collect();
        let status = (b":status".to_vec(), status.to_string().into_bytes());
        let fields = fields.into_iter().map(|field| (field.name.into_bytes(), field.value.into_bytes()));
        prop_assert_eq!(got, [status].into_iter().chain(fields).collect::<Vec<_>>());
    }

    /// Nothing panics, and what one field takes is bounded by its bytes and by the table.
    #[test]
    fn any_bytes_are_read_or_refused(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..20)) {
        let mut decoder = Decoder::new(TABLE_BYTES);
        for block in blocks {
            let (mut text, mut fields) = (Vec::new(), decoder.block(&block));
            while let Ok(Some(_)) = fields.next(&mut text) {
                prop_assert!(text.len() <= TABLE_BYTES + 2 * block.len() + 4);
                text.clear();
            }
        }
    }
}
