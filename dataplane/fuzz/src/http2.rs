//! What must hold for any blocks that a client sends on one connection.

use weir_wire::{
    head::{FieldTable, Fields, HeadSink, Limits},
    http1::{self, Framing, HeadWriter, Hop, Parsed},
    http2::{
        self, Refused,
        hpack::{Decoder, TABLE_BYTES},
    },
};

const LIMITS: Limits = Limits { head_bytes: 8192, field_bytes: 4096, fields: 64 };

/// Takes the input apart into blocks, each behind a byte that tells its length and whether a body follows.
pub fn check_blocks(mut input: &[u8]) {
    let mut decoder = Decoder::new(TABLE_BYTES);
    while let Some((&start, rest)) = input.split_first() {
        let (block, next) = rest.split_at(rest.len().min(usize::from(start >> 1)));
        if !check_block(&mut decoder, block, start & 1 == 0) {
            return;
        }
        input = next;
    }
}

/// False: the connection ends. A head that is read means the same to the reader of HTTP/1 that gets it.
pub fn check_block(decoder: &mut Decoder, block: &[u8], is_all: bool) -> bool {
    let mut table = FieldTable::new();
    let request = match http2::request(block, is_all, decoder, &LIMITS, &mut table) {
        Ok(request) => request,
        Err(Refused::Message(_)) => return true,
        Err(Refused::Connection(_)) => return false,
    };
    let head = &request.head;
    let framing = Framing::of(head.body);
    let mut room = vec![0; head.fields.text_bytes() + head.method_text.len() + head.path.len() + 100];
    let mut out = HeadWriter::new(&mut room, Hop::to_server(framing));
    out.request(head.method_text, head.path);
    out.kept_if(&head.fields, |_| true);
    let bytes = out.end().expect("there is room");
    let (limits, mut table) = (Limits::new(0, 0, 0), FieldTable::new());
    let seen = match http1::request(&room[..bytes], &limits, &mut table) {
        Ok(Parsed::Whole(seen)) => seen,
        other => panic!("{other:?} of {:?}", String::from_utf8_lossy(&room[..bytes])),
    };
    assert_eq!(seen.len, bytes);
    assert_eq!((seen.head.method, seen.head.method_text), (head.method, head.method_text));
    assert_eq!((seen.head.path, seen.head.host), (head.path, head.host));
    assert_eq!(seen.framing, framing);
    assert_eq!(passing(&seen.head.fields), passing(&head.fields));
    true
}

fn passing(fields: &Fields<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    fields.passing().map(|field| (field.name_text.to_vec(), field.value.to_vec())).collect()
}
