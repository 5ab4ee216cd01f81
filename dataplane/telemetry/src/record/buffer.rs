//! The buffer of a worker: records one behind the other, until they are handed over.

use super::{Class, Others, Record, Texts, fixed::BYTES, texts::lengths};

/// The largest record.
const RECORD_BYTES_MAX: usize = 32 << 10;

#[derive(Debug, Default)]
pub struct Buffer {
    packed: Vec<u8>,
}

impl Buffer {
    pub const BYTES_MAX: usize = 1 << 20;

    /// Takes a buffer that was handed over before, or makes one.
    pub fn of(mut packed: Vec<u8>) -> Self {
        packed.clear();
        packed.reserve_exact(Self::BYTES_MAX);
        Self { packed }
    }

    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Whether it should be handed over before its time.
    pub fn is_half_full(&self) -> bool {
        self.packed.len() >= Self::BYTES_MAX / 2
    }

    /// Whether a record of a class may come in: when the buffer fills up, those of class `All` give way first, and then
    /// the filtered ones.
    pub fn admits(&self, class: Class) -> bool {
        let filled = self.packed.len();
        match class {
            Class::All => filled < Self::BYTES_MAX / 4 * 3,
            Class::Filtered => filled < Self::BYTES_MAX / 10 * 9,
            Class::Significant => filled + RECORD_BYTES_MAX <= self.packed.capacity(),
        }
    }

    /// Packs a record, for which [`admits`](Self::admits) has said that there is room. All texts together have less than
    /// 32 KiB.
    #[inline]
    pub fn pack(&mut self, record: &Record, texts: &Texts, others: Others<'_>) {
        let others = fitting(texts.run().len(), others);
        let bytes = BYTES + texts.run().len() + others.iter().map(|text| text.len()).sum::<usize>();
        let mut fixed = [0; BYTES];
        record.write(&mut fixed, bytes as u16, lengths(texts, &others));
        self.packed.extend_from_slice(&fixed);
        self.packed.extend_from_slice(texts.run());
        for text in others {
            if !text.is_empty() {
                self.packed.extend_from_slice(text);
            }
        }
    }

    pub fn into_packed(self) -> Vec<u8> {
        self.packed
    }
}

/// Cuts what exceeds the largest record. Those who bring texts keep to limits of their own that are far below.
#[inline]
fn fitting(texts_bytes: usize, mut others: Others<'_>) -> Others<'_> {
    let mut left = RECORD_BYTES_MAX - BYTES - texts_bytes;
    for text in &mut others {
        *text = &text[..text.len().min(left)];
        left -= text.len();
    }
    others
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Spans,
        record::{Flags, Kind, NO_SERVER, Packed, Reasons, Tls},
    };

    fn least() -> Record {
        Record {
            kind: Kind::Connection,
            class: Class::Significant,
            method: 0,
            http: 0,
            servers_tried: 0,
            weight: 1,
            flags: Flags::default(),
            sequence: 0,
            end_unix_us: 1,
            reasons: Reasons::CLIENT_TLS,
            service: 0,
            server: NO_SERVER,
            client: "[2001:db8::1]:1".parse().unwrap(),
            source: "2001:db8::1".parse().unwrap(),
            vip: "[2001:db8::2]:2".parse().unwrap(),
            server_local: None,
            status: 0,
            server_status: 0,
            cause: 0,
            filters: 0,
            tls: Tls::default(),
            request_bytes: 0,
            response_bytes: 0,
            server_response_bytes: 0,
            spans: Spans::default(),
            client_rtt_us: 0,
            client_rtt_age_ms: 0,
            connect_us: 0,
            trace: [0; 16],
            span: [0; 8],
        }
    }

    fn full() -> Record {
        let (mut trace, mut span) = ([0; 16], [0; 8]);
        trace[..3].copy_from_slice(&[1, 2, 3]);
        (trace[15], span[0], span[7]) = (16, 9, 8);
        Record {
            kind: Kind::Request,
            class: Class::Filtered,
            method: 3,
            http: 20,
            servers_tried: 2,
            weight: 7,
            flags: Flags::cut(1) | Flags::SERVER_REUSED | Flags::TLS | Flags::TRACED | Flags::SAMPLED,
            sequence: 0x0102_0304_0506_0708,
            end_unix_us: 1_795_534_980_123_456,
            reasons: Reasons::STATUS_5XX | Reasons::RETRIED,
            service: 0x0001_0002,
            server: 0x0003_0004,
            client: "192.0.2.7:40001".parse().unwrap(),
            source: "198.51.100.1".parse().unwrap(),
            vip: "203.0.113.9:443".parse().unwrap(),
            server_local: Some("10.0.0.1:50002".parse().unwrap()),
            status: 502,
            server_status: 500,
            cause: 24,
            filters: 0b101,
            tls: Tls { version: 0x0304, suite: 0x1302, group: 29, alert: 41 },
            request_bytes: 1001,
            response_bytes: 2002,
            server_response_bytes: 3003,
            spans: Spans { wait: 11_999, server_rtt: 14_001, app_response: 12_000, transfer: 13_500 },
            client_rtt_us: 15,
            client_rtt_age_ms: 16,
            connect_us: 17,
            trace,
            span,
        }
    }

    fn packed(records: &[(Record, [&[u8]; 12])]) -> Vec<u8> {
        let mut buffer = Buffer::of(Vec::new());
        for (record, texts) in records {
            let (coming, others) = texts.split_first_chunk().unwrap();
            let mut noted = Texts::default();
            noted.fill(*coming);
            buffer.pack(record, &noted, others.try_into().unwrap());
        }
        buffer.into_packed()
    }

    #[test]
    fn packs_what_others_read() {
        let texts: Vec<_> = (0..12).map(|at| vec![b'a' + at; usize::from(at) + 1]).collect();
        let all = std::array::from_fn(|at| &texts[at][..]);
        let golden = include_bytes!("../../../../api/record/testdata/records.bin");
        assert_eq!(packed(&[(full(), all), (least(), [&[]; 12])]), golden);
    }

    #[test]
    fn room_is_left_for_what_matters_most() {
        let mut buffer = Buffer::of(Vec::new());
        let mut admitted = [0, 0, 0];
        while buffer.admits(Class::Significant) {
            for (count, class) in admitted.iter_mut().zip(Class::ALL) {
                *count += usize::from(buffer.admits(class));
            }
            buffer.pack(&least(), &Texts::default(), [&[]; 6]);
        }
        // All but the room of the largest record, 90 % and 75 %.
        assert_eq!(admitted, [3969, 3687, 3072]);
        let packed = buffer.into_packed();
        assert!(packed.len() <= Buffer::BYTES_MAX && packed.capacity() == Buffer::BYTES_MAX);
    }

    fn text(most: usize) -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            (any::<u8>(), most - 1..=most + 1).prop_map(|(byte, len)| vec![byte; len]),
        ]
    }

    fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let most = [64, 256, 128, 128, 128, 64, 253, 64, 8192, 8192, 128, 64];
        most.map(text).into_iter().collect::<Vec<_>>()
    }

    proptest! {
        #[test]
        fn any_texts_come_back_cut_to_their_limits(texts in texts(), sequence: u64) {
            let all = std::array::from_fn(|at| &texts[at][..]);
            let records = [(Record { sequence, ..full() }, all), (least(), all)];
            let packed = packed(&records);
            let read = Packed::all(&packed).expect("what was packed can be read");
            prop_assert_eq!(read.len(), 2);
            prop_assert_eq!(read[0].sequence(), sequence);
            let most = [64, 256, 128, 128, 128, 64];
            for record in read {
                for (at, text) in texts.iter().enumerate() {
                    let kept = most.get(at).map_or(&text[..], |most| &text[..text.len().min(*most)]);
                    prop_assert_eq!(record.text(at), kept);
                }
            }
        }

        #[test]
        fn texts_beyond_the_largest_record_are_cut(lengths in prop::array::uniform6(0_usize..40_000)) {
            let long = vec![b'x'; 40_000];
            let mut buffer = Buffer::of(Vec::new());
            buffer.pack(&least(), &Texts::default(), lengths.map(|len| &long[..len]));
            let packed = buffer.into_packed();
            let read = Packed::all(&packed).expect("what was packed can be read");
            prop_assert_eq!(read.len(), 1);
            prop_assert!(packed.len() <= RECORD_BYTES_MAX);
            prop_assert!(packed.len() == RECORD_BYTES_MAX || packed.len() == BYTES + lengths.iter().sum::<usize>());
        }
    }
}
